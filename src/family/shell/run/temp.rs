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

/// A folder of ours. Dropping it removes it with all that is in it.
#[derive(Debug)]
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    pub(crate) fn new(parent: &Path) -> io::Result<Scratch> {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        loop {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = parent.join(format!("haft-shell-{}-{number}", std::process::id()));
            // Never one that is there already.
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

    /// Writes a file that only we can reach.
    pub(crate) fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.0.join(name);
        fs::write(&path, text)?;
        Ok(path)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A tool may have filled it with what cannot be removed.
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::warn!(path = %self.0.display(), %error, "a temporary folder is left behind");
        }
    }
}

/// A tool's own temporary directory, which haft made. Nothing else can be removed here.
#[derive(Debug)]
pub(crate) struct Temporary {
    /// Without links and `..`.
    path: PathBuf,
    /// It was not there before this call.
    is_new: bool,
}

impl Temporary {
    /// Makes the folder, or takes the one that haft made in an earlier call.
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

    /// Removes it with all that is in it, if this call made it and it still is that one. Never one
    /// that holds any of `kept`.
    pub(crate) fn remove(&self, kept: &[&Path]) -> Result<(), String> {
        let left = |why: &str| format!("`{}` is not removed: {why}", self.path.display());
        if !self.is_new {
            return Err(left("it was there before this call"));
        }
        // The second lock: whatever the mark says, these are in no temporary directory.
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

/// A folder, no link, of this user, closed to others, with the mark of haft in it.
fn is_ours(path: &Path) -> bool {
    let is_file = |found: fs::Metadata| found.is_file();
    fs::symlink_metadata(path).is_ok_and(|found| {
        found.is_dir()
            && found.uid() == rustix::process::geteuid().as_raw()
            && found.mode() & 0o777 == 0o700
    }) && fs::symlink_metadata(path.join(MARK)).is_ok_and(is_file)
}
