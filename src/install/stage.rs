//! Staging folder in which npm works, and the move of its result into place.
//!
//! The staging folder is beside the final place, so that every move is one rename on one file
//! system. It is locked while in use; a folder that a killed process left is reused.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};
use rustix::io::Errno;

use super::manifest::{self, Manifest};
use super::survey::Site;
use haft_config::paths;
use haft_process::atomic_file::{Overwrite, write};
use haft_tool::{Error, ErrorKind};

const FOLDER: &str = ".haft-install";
const MODULES: &str = "node_modules";

/// Lock files that npm writes. A shrinkwrap comes first, as it does for npm.
const LOCKS: [&str; 2] = ["npm-shrinkwrap.json", "package-lock.json"];

/// Lock files of other package managers.
const OTHER_LOCKS: [(&str, &str); 4] = [
    ("pnpm-lock.yaml", "pnpm"),
    ("yarn.lock", "yarn"),
    ("bun.lock", "bun"),
    ("bun.lockb", "bun"),
];

/// A staging folder. Removed when it is dropped.
pub(super) struct Stage {
    directory: PathBuf,
    root: PathBuf,
    /// npm's working directory. It has the name of the final folder, which npm writes into the lock
    /// file.
    pub(super) work: PathBuf,
    /// Holds the lock.
    _lock: File,
}

/// Refuses folders whose content haft must not replace.
pub(super) fn check(site: &Site) -> Result<(), Error> {
    let directory = &site.directory;
    let shown = directory.display();
    let packages: Vec<&str> = site.added.keys().map(String::as_str).collect();
    let command = |install: &str, add: &str| match packages[..] {
        [] => format!("run `{install}` there"),
        _ => format!("run `{add} {}` there", packages.join(" ")),
    };
    let refused =
        |text: String, hint: String| Err(Error::new(ErrorKind::Load, text).with_hint(hint));
    for (file, manager) in OTHER_LOCKS {
        if directory.join(file).exists() {
            let text =
                format!("the packages in `{shown}` are managed by {manager}: it has a `{file}`");
            let install = format!("{manager} install --ignore-scripts");
            let add = format!("{manager} add --ignore-scripts");
            return refused(text, command(&install, &add));
        }
    }
    let npm = "npm install --ignore-scripts";
    let manifest = site.manifest.as_ref();
    if let Some(part) = manifest.and_then(Manifest::local_part) {
        let text = format!("the package.json in `{shown}` refers to folders beside it ({part})");
        return refused(text, command(npm, npm));
    }
    // Resolving these dependencies would already fetch what an untrusted file names.
    let remote = manifest.and_then(Manifest::remote_part);
    if let Some(part) = remote.filter(|_| site.needs_trust) {
        let text = format!(
            "the package.json in `{shown}` takes packages from elsewhere than a registry ({part})"
        );
        return refused(text, command(npm, npm) + ", if you trust the project");
    }
    for name in LOCKS.iter().chain([&manifest::FILE, &MODULES]) {
        let path = directory.join(name);
        if path.is_symlink() {
            let text = format!(
                "`{}` is a link, which haft does not replace",
                path.display()
            );
            return refused(text, command(npm, npm));
        }
    }
    Ok(())
}

impl Stage {
    /// Takes the staging folder of `directory`, with copies of npm's input files.
    pub(super) fn begin(directory: &Path, reads_npmrc: bool) -> Result<Stage, Error> {
        let root = directory.join(FOLDER);
        let lock = take(&root, directory)?;
        let name = directory.file_name().unwrap_or_else(|| "tools".as_ref());
        let work = root.join(name);
        let stage = Stage {
            directory: directory.to_owned(),
            work,
            root,
            _lock: lock,
        };
        stage
            .fill(reads_npmrc)
            .map_err(|error| refusal(directory, &error))?;
        Ok(stage)
    }

    fn fill(&self, reads_npmrc: bool) -> io::Result<()> {
        for entry in fs::read_dir(&self.root)? {
            remove(&entry?.path())?;
        }
        fs::create_dir(&self.work)?;
        // A project's own settings could send the user's tokens to another registry.
        let npmrc = reads_npmrc.then_some(".npmrc");
        for name in LOCKS.into_iter().chain(npmrc) {
            let from = self.directory.join(name);
            if from.is_file() {
                fs::copy(from, self.work.join(name))?;
            }
        }
        Ok(())
    }

    /// Writes the manifest that npm starts from.
    pub(super) fn write_manifest(&self, text: &str) -> Result<(), Error> {
        let path = self.work.join(manifest::FILE);
        fs::write(path, text).map_err(|error| refusal(&self.directory, &error))
    }

    /// Forgets what npm resolved.
    pub(super) fn reset(&self, reads_npmrc: bool, text: &str) -> Result<(), Error> {
        self.fill(reads_npmrc)
            .map_err(|error| refusal(&self.directory, &error))?;
        self.write_manifest(text)
    }

    /// Returns the text of the lock file that npm wrote.
    pub(super) fn lock_text(&self) -> Result<String, Error> {
        let mut texts = LOCKS
            .iter()
            .filter_map(|name| fs::read_to_string(self.work.join(name)).ok());
        texts.next().ok_or_else(|| {
            let text = "npm wrote no package-lock.json";
            let hint = "haft needs npm 7 or newer: `npm --version`";
            Error::new(ErrorKind::Load, text).with_hint(hint)
        })
    }

    /// Moves npm's result into place.
    pub(super) fn put_in_place(&self) -> Result<(), Error> {
        let moved = self.move_modules().and_then(|()| self.move_files());
        moved.map_err(|error| refusal(&self.directory, &error))
    }

    fn move_modules(&self) -> io::Result<()> {
        let (new, place) = (self.work.join(MODULES), self.directory.join(MODULES));
        if !new.exists() {
            return Ok(());
        }
        if !place.exists() {
            return fs::rename(new, place);
        }
        match renameat_with(CWD, &new, CWD, &place, RenameFlags::EXCHANGE) {
            // Some file systems cannot exchange two names; then the folder is missing for a moment.
            Err(Errno::INVAL | Errno::NOSYS) => {
                fs::rename(&place, self.root.join("old"))?;
                fs::rename(new, place)
            }
            exchanged => Ok(exchanged?),
        }
    }

    fn move_files(&self) -> io::Result<()> {
        for name in LOCKS.iter().chain([&manifest::FILE]) {
            let Ok(text) = fs::read_to_string(self.work.join(name)) else {
                continue;
            };
            let place = self.directory.join(name);
            if fs::read_to_string(&place).ok().as_ref() != Some(&text) {
                write(&place, &text, Overwrite::Yes)?;
            }
        }
        Ok(())
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // The next installation reuses a folder that cannot be removed.
        let _ = fs::remove_dir_all(&self.root);
    }
}

/// Creates the staging folder and locks it.
fn take(root: &Path, directory: &Path) -> Result<File, Error> {
    let refused = |error: io::Error| refusal(directory, &error);
    // The previous owner may remove the folder before we have locked it.
    for _ in 0..16 {
        match fs::create_dir(root) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(refused(error));
            }
            _ => {}
        }
        if root.is_symlink() {
            let text = format!("`{}` is a link", root.display());
            let hint = "remove it, and try again";
            return Err(Error::new(ErrorKind::Load, text).with_hint(hint));
        }
        let folder = match File::open(root) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            opened => opened.map_err(refused)?,
        };
        if let Err(errno) = flock(&folder, FlockOperation::NonBlockingLockExclusive) {
            if errno != Errno::WOULDBLOCK {
                return Err(refused(errno.into()));
            }
            let text = format!(
                "another `haft install` is at work in `{}`",
                directory.display()
            );
            let hint = "try again when it has ended";
            return Err(Error::new(ErrorKind::Load, text).with_hint(hint));
        }
        if is_at(&folder, root) {
            return Ok(folder);
        }
    }
    let text = format!("`{}` disappears again and again", root.display());
    Err(Error::new(ErrorKind::Load, text))
}

/// Returns true if the opened folder is still the one at the path.
fn is_at(folder: &File, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let (Ok(opened), Ok(found)) = (folder.metadata(), fs::symlink_metadata(path)) else {
        return false;
    };
    (opened.dev(), opened.ino()) == (found.dev(), found.ino())
}

fn remove(path: &Path) -> io::Result<()> {
    if fs::symlink_metadata(path)?.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

fn refusal(directory: &Path, error: &io::Error) -> Error {
    let text = format!(
        "cannot install into `{}`: {}",
        directory.display(),
        paths::plain(error)
    );
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "make the folder writable for this user, or name another one with `--into`"
        }
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "free some space; these packages are not installed"
        }
        _ => "these packages are not installed",
    };
    Error::new(ErrorKind::Load, text).with_hint(hint)
}
