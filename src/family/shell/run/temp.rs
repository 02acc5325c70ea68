//! Folders that only their user may enter (spec cycod 78): made for one call, gone after it.
//!
//! Removing nothing else is the difficult part. The path of a tool's folder holds values of a call,
//! so it can be any path. Only folders that this very call made are ever removed. A folder of an
//! earlier call is used, for it has a mark inside; any other one is neither used nor given other
//! rights. A path with `..` is not accepted here.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// File that marks the owner of the folder.
const MARK: &str = ".haft-temporary";

/// A private folder. Dropping it removes it with all its contents.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(parent: &Path) -> io::Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("haft-shell-{}-{number}", std::process::id()));
            // An existing folder is never used: the next number is tried instead.
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => return Ok(Scratch(path)),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into the folder, which only our user can enter.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A tool may have put files into it that cannot be removed.
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a temporary folder is left behind");
        }
    }
}

/// A tool's own temporary directory, which haft created. No other directory of a tool is removed.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// Path without links and `..`.
    path: PathBuf,
    /// True if this call created it.
    is_new: bool,
}

impl Temporary {
    /// Creates the folder, or reuses one that haft created in an earlier call.
    pub(crate) fn make(path: &Path) -> Result<Temporary, String> {
        let refused = |why: &str| format!("the temporary directory `{}` {why}", path.display());
        let failed = |error: io::Error| refused(&format!("cannot be made: {error}"));
        let is_plain =
            |part: Component<'_>| matches!(part, Component::RootDir | Component::Normal(_));
        if !path.is_absolute() || !path.components().all(is_plain) {
            return Err(refused("must not have `..` in it"));
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(refused("is the root of everything"));
        };
        fs::create_dir_all(parent).map_err(failed)?;
        let path = parent.canonicalize().map_err(failed)?.join(name);
        let is_new = match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => true,
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                return Err(failed(error));
            }
            Err(_) if is_ours(&path) => false,
            Err(_) => {
                let why = "is there already and was not made by haft; remove it, or name another";
                return Err(refused(why));
            }
        };
        if is_new {
            File::create_new(path.join(MARK)).map_err(failed)?;
        }
        Ok(Temporary { path, is_new })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder with all its contents, if this call created it and it is still the same.
    /// A folder that contains any of `kept` is never removed.
    pub(crate) fn remove(&self, kept: &[&Path]) -> Result<(), String> {
        let left = |why: &str| format!("`{}` is not removed: {why}", self.path.display());
        if !self.is_new {
            return Err(left("it was there before this call"));
        }
        // Second safeguard, independent of the mark: these are never inside a temporary directory.
        let holds = |kept: &&Path| {
            kept.canonicalize()
                .is_ok_and(|kept| kept.starts_with(&self.path))
        };
        if kept.iter().any(holds) {
            return Err(left("it holds more than temporary files"));
        }
        match fs::symlink_metadata(&self.path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            _ if !is_ours(&self.path) => return Err(left("it is not the folder that haft made")),
            _ => {}
        }
        fs::remove_dir_all(&self.path).map_err(|error| left(&error.to_string()))
    }
}

/// Returns true for a folder (not a link) of this user that is closed to others and has haft's
/// mark.
fn is_ours(path: &Path) -> bool {
    let is_file = |found: fs::Metadata| found.is_file();
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o777 == 0o700
    }) && fs::symlink_metadata(path.join(MARK)).is_ok_and(is_file)
}
