//! Installs one file atomically: a program that opens it meanwhile gets the old or the new version.
//!
//! The new file is written beside the old one and then renamed to its name. So a running program
//! never makes the installation fail with "text file busy" either.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{During, Error, Result};
use crate::files;

/// The permissions of programs.
pub const PROGRAM: u32 = 0o755;

/// The permissions of everything else.
pub const DATA: u32 = 0o644;

/// Makes the folders, and checks that files can be created in them.
pub fn folders(prefix: &Path, folders: &[PathBuf]) -> Result<()> {
    for folder in folders {
        fs::create_dir_all(folder)
            .and_then(|()| tempfile::tempfile_in(folder).map(drop))
            .map_err(|error| refused(prefix, folder, error))?;
    }
    Ok(())
}

fn refused(prefix: &Path, folder: &Path, error: io::Error) -> Error {
    let hint = match error.kind() {
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a prefix of your own such as ~/.local, or build first and install as root: \
             `cargo build --release && sudo cargo xtask install --prefix … --from target/release`"
        }
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            "a file is in the way: move it, or choose another prefix"
        }
        _ => "choose another prefix",
    };
    Error::Missing {
        what: format!(
            "nothing can be installed below `{}`: `{}`: {error}",
            prefix.display(),
            folder.display()
        ),
        hint: hint.into(),
    }
}

pub fn copy(from: &Path, to: &Path, mode: u32) -> Result<()> {
    put(to, |new| {
        fs::copy(from, new)?;
        fs::set_permissions(new, Permissions::from_mode(mode))
    })
}

pub fn text(text: &str, to: &Path) -> Result<()> {
    text_with(text, to, DATA)
}

/// Writes a script that can be run.
pub fn program_text(text: &str, to: &Path) -> Result<()> {
    text_with(text, to, PROGRAM)
}

fn text_with(text: &str, to: &Path, mode: u32) -> Result<()> {
    put(to, |new| {
        fs::write(new, text)?;
        fs::set_permissions(new, Permissions::from_mode(mode))
    })
}

/// Links the same file under a second name, or copies it if the file system has no hard links.
pub fn same(first: &Path, to: &Path) -> Result<()> {
    put(to, |new| {
        fs::hard_link(first, new).or_else(|_| fs::copy(first, new).map(drop))
    })
}

fn put(to: &Path, make: impl FnOnce(&Path) -> io::Result<()>) -> Result<()> {
    let folder = to.parent().expect("a file is in a folder");
    let doing = || format!("install `{}`", to.display());
    files::make_folder(folder)?;
    // A folder of our own: its file has a unique name, and it is removed on failure.
    let beside = tempfile::Builder::new()
        .prefix(".haft-install-")
        .tempdir_in(folder)
        .during(doing)?;
    let new = beside.path().join("new");
    make(&new).and_then(|()| fs::rename(&new, to)).during(doing)
}
