//! Grants that users give tools for good when they are asked.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::lock;
use haft_tool::{Permission, PermissionKind, PermissionProfile, PermissionSource};

/// Stores what the user grants a tool for good. The host implements it.
pub trait PermitStore: Send + Sync {
    /// Grants the tools in `file` an access.
    ///
    /// # Errors
    /// When it cannot be stored; a sentence.
    fn grant(&self, file: &Path, kind: PermissionKind, what: &str) -> Result<(), String>;
}

/// Permissions that the user granted tool files for good since they were loaded. The files' own
/// permissions contain them after the next load.
#[derive(Default)]
pub struct GrantedNow(Mutex<HashMap<PathBuf, PermissionProfile>>);

impl GrantedNow {
    pub(super) fn has(&self, file: &Path, kind: PermissionKind, what: &str) -> bool {
        let granted = lock(&self.0);
        granted
            .get(file)
            .is_some_and(|granted| granted.grants(kind, what))
    }

    pub(super) fn add(&self, file: &Path, kind: PermissionKind, what: &str) {
        let mut granted = lock(&self.0);
        let granted = granted.entry(file.to_owned()).or_insert_with(nothing);
        granted.grant(kind, what);
    }

    pub(super) fn forget(&self, file: &Path) {
        lock(&self.0).remove(file);
    }
}

fn nothing() -> PermissionProfile {
    let mut nothing = PermissionProfile::everything();
    for kind in PermissionKind::ALL {
        nothing.set(kind, Permission::None, PermissionSource::Permit);
    }
    nothing
}
