//! Read permission for modules: for `import`, static or dynamic, and for `require`.
//!
//! The code that belongs to a module may be loaded without the permission: its packages, and the
//! files that it imports by literal specifiers. All other files need the permission. An imported
//! text file belongs to the module only if it is in a package or below the module's own folder.
//!
//! `require` also asks about folders and missing files on its way to a file. Those that its rules name
//! for the module's own files are not accesses: nothing is read from them.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use deno_error::JsErrorBox;

use super::assets::is_asset;
use crate::load_trace::record_access;
use haft_process::in_real_folder;
use haft_tool::{AccessTarget, PermissionKind, PermissionProfile};

/// Folders of the kernel's files, which describe every process and lead around other permissions.
const KERNEL: [&str; 3] = ["/proc", "/sys", "/dev"];

/// Names that a search looks for in each folder above a file.
const SEARCHED: [&str; 2] = ["node_modules", "package.json"];

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
    /// The manifests of the packages that contain the files.
    manifests: BTreeSet<PathBuf>,
    /// The folders that contain the files.
    containing: BTreeSet<PathBuf>,
    /// The folders above the files.
    above: BTreeSet<PathBuf>,
    /// The folders of the installed packages of the files.
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
        let real = entry.canonicalize().unwrap_or_else(|_| entry.to_owned());
        for file in [entry, &real] {
            (admitted.folders).extend(file.parent().map(Path::to_owned));
            admitted.add_above(file);
        }
        for file in files.into_iter().flatten().chain([real]) {
            admitted.add_above(&file);
            admitted.files.insert(file);
        }
    }

    /// Checks if `require` only asks whether a file or folder is there that its rules name for
    /// the module's own files.
    pub(super) fn is_search(&self, path: &Path) -> bool {
        let real = in_real_folder(path);
        let admitted = self.admitted.borrow();
        match real.metadata() {
            Ok(found) => found.is_dir() && admitted.passes(&real),
            Err(_) => {
                let missing = real.ancestors();
                let first = missing.take_while(|path| path.symlink_metadata().is_err());
                first.last().is_some_and(|first| admitted.passes(first))
            }
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
    /// Adds what is above one of the files.
    fn add_above(&mut self, file: &Path) {
        let Some(folder) = file.parent() else {
            return;
        };
        if self.containing.insert(folder.to_owned()) {
            // Its rules say of which kind the files are.
            let mut manifests = folder.ancestors().map(|folder| folder.join("package.json"));
            self.manifests.extend(manifests.find(|path| path.is_file()));
        }
        for folder in file.ancestors().skip(1) {
            if !self.above.insert(folder.to_owned()) {
                return;
            }
            self.packages.insert(folder.join("node_modules"));
        }
    }

    /// Checks if a search for the files, or for packages from them, comes by this folder or
    /// missing file.
    fn passes(&self, path: &Path) -> bool {
        let parent = path.parent().unwrap_or(path);
        let is_named = path
            .file_name()
            .is_some_and(|name| SEARCHED.iter().any(|it| name == *it));
        self.above.contains(path)
            || self.containing.contains(parent)
            || is_named && self.above.contains(parent)
            || path
                .ancestors()
                .any(|folder| self.packages.contains(folder))
    }

    fn holds(&self, real: &Path, is_data: bool) -> bool {
        let is_below = |folders: &BTreeSet<PathBuf>| {
            let mut above = real.ancestors().skip(1);
            above.any(|folder| folders.contains(folder))
        };
        is_below(&self.packages)
            || self.manifests.contains(real)
            || self.files.contains(real) && (!is_data || is_below(&self.folders))
    }
}
