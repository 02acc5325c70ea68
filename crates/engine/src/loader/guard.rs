//! Read permission for modules: for `import`, static or dynamic, and for `require`.
//!
//! The code that belongs to a module may be loaded without the permission: its packages, and the
//! files that it imports by literal specifiers. All other files need the permission. An imported
//! text file belongs to the module only if it is in a package or below the module's own folder.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deno_error::JsErrorBox;

use super::assets::is_asset;
use crate::load_trace::record_access;
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

/// Folders of the kernel's files, which describe every process and lead around other permissions.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Checks the `read` permission before a module is loaded. The default allows everything.
#[derive(Default)]
pub(crate) struct ReadGuard {
    permissions: Option<Arc<PermissionProfile>>,
    /// Returns the files that a module imports by literal specifiers.
    files_of: Option<fn(&Path) -> BTreeSet<PathBuf>>,
    admitted: RefCell<Admitted>,
}

/// Files that belong to the modules that were loaded on purpose.
#[derive(Default)]
struct Admitted {
    entries: BTreeSet<PathBuf>,
    /// The files that they import by literal specifiers.
    files: BTreeSet<PathBuf>,
    /// Their own folders.
    folders: BTreeSet<PathBuf>,
    /// The folders of their installed packages.
    packages: BTreeSet<PathBuf>,
}

/// Reason for which a load is allowed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// The file is part of a module that was loaded on purpose.
    OfModule,
    /// The permissions grant it.
    Granted,
}

impl ReadGuard {
    /// Returns a guard that enforces these permissions. `files_of` returns the files that a module
    /// imports by literal specifiers.
    pub(crate) fn new(
        permissions: Arc<PermissionProfile>,
        files_of: fn(&Path) -> BTreeSet<PathBuf>,
    ) -> ReadGuard {
        let is_bounded = PermissionKind::ALL
            .iter()
            .any(|kind| permissions.of(*kind).is_bounded());
        ReadGuard {
            permissions: is_bounded.then_some(permissions),
            files_of: Some(files_of),
            admitted: RefCell::default(),
        }
    }

    /// Admits the module at `entry`, which is loaded on purpose. Finds its imports, if that
    /// matters.
    pub(crate) fn admit(&self, entry: &Path) {
        let bounded = (self.permissions.as_ref()).is_some_and(|own| own.read.is_bounded());
        if !bounded || self.admitted.borrow().entries.contains(entry) {
            return;
        }
        let files = self.files_of.map(|files_of| files_of(entry));
        let mut admitted = self.admitted.borrow_mut();
        admitted.entries.insert(entry.to_owned());
        admitted.files.extend(files.into_iter().flatten());
        let real = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
        admitted.files.insert(real.clone());
        for file in [entry, &real] {
            let folders = file.ancestors().skip(1);
            (admitted.packages).extend(folders.map(|folder| folder.join("node_modules")));
            (admitted.folders).extend(file.parent().map(Path::to_owned));
        }
    }

    /// Fails if the file at `path` may not be loaded; `as_data` is set for a load that returns its
    /// text.
    pub(super) fn check(&self, path: &Path, as_data: bool) -> Result<Access, JsErrorBox> {
        let Some(permissions) = &self.permissions else {
            return Ok(Access::Granted);
        };
        // A missing file cannot be read; the loader reports it.
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let refused = |kind: PermissionKind, path: &Path| {
            let text = permissions.refusal(kind, &path.display().to_string());
            JsErrorBox::new("NotCapable", text)
        };
        if KERNEL.iter().any(|folder| real.starts_with(folder)) {
            let mut kinds = PermissionKind::ALL.into_iter();
            let bounded = kinds.find(|kind| permissions.of(*kind).is_bounded());
            if let Some(kind) = bounded {
                return Err(refused(kind, &real));
            }
        }
        if !permissions.read.is_bounded() {
            return Ok(Access::Granted);
        }
        let admitted = self.admitted.borrow();
        let decide =
            |path: &Path| permissions.decide(PermissionKind::Read, AccessTarget::Path(path));
        let decision = decide(&real);
        // A denied entry within the module's own files counts for them, too. One that contains the
        // module itself does not: then it could not be loaded at all.
        let is_denied = decision.is_denied()
            && !admitted
                .entries
                .iter()
                .any(|entry| decide(entry).is_denied());
        let is_own = !is_denied && admitted.holds(&real, as_data || is_asset(&real));
        match (is_own, decision.is_granted()) {
            (true, _) => Ok(Access::OfModule),
            (false, true) => {
                record_access(PermissionKind::Read, &real.display().to_string());
                Ok(Access::Granted)
            }
            (false, false) => Err(refused(PermissionKind::Read, path)),
        }
    }
}

impl Admitted {
    fn holds(&self, real: &Path, is_data: bool) -> bool {
        let is_below = |folders: &BTreeSet<PathBuf>| {
            let mut above = real.ancestors().skip(1);
            above.any(|folder| folders.contains(folder))
        };
        is_below(&self.packages)
            || self.files.contains(real) && (!is_data || is_below(&self.folders))
    }
}
