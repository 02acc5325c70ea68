//! Private file by which programs of the same user find a running server and its token.
//!
//! The file is named by the address and locked as long as the server runs. A file without a lock is
//! left over: the process that listens at its address now is not the server that wrote it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::secret::random_id;
use haft_process::StateFolder;
use haft_process::atomic_file::{Durability, write_private};
use haft_tool::{Error, ErrorKind};

/// Suffix of the files' names.
const SUFFIX: &str = ".token";
/// Maximum size of a file. A token is shorter.
const MAX_FILE: u64 = 4 << 10;

/// The file of a running server. Dropping this removes the file.
#[derive(Debug)]
pub(crate) struct Announcement {
    path: PathBuf,
    /// Locked.
    file: File,
}

/// A running server.
#[derive(Debug)]
pub(crate) struct Running {
    /// `HOST:PORT`.
    pub(crate) address: String,
    /// The token; `None` if the server needs none.
    pub(crate) token: Option<String>,
    /// Path for a page that leads to the server. The server removes the page when it ends.
    page: PathBuf,
}

impl Running {
    /// Writes a page that leads to the server and that only the user can read. Returns its path.
    pub(crate) fn write_page(&self, html: &str) -> io::Result<&Path> {
        write_private(&self.page, html.as_bytes(), Durability::Unsynced)?;
        Ok(&self.page)
    }
}

/// Announces a server at this address.
///
/// # Errors
/// [`ErrorKind::Load`] if the folder is not private or the file cannot be written.
pub(crate) fn announce(
    folder: &StateFolder,
    address: &str,
    token: Option<&str>,
) -> Result<Announcement, Error> {
    let failed = |error: io::Error| {
        let text = format!("cannot write {folder}/{address}{SUFFIX}: {error}");
        Error::new(ErrorKind::Load, text)
            .with_hint("XDG_RUNTIME_DIR or HAFT_STATE_DIR must be a folder of your own")
    };
    let folder = folder.make_private().map_err(failed)?;
    let path = folder.join(format!("{address}{SUFFIX}"));
    let aside = folder.join(format!(".{}", random_id()));
    let write = || {
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&aside)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        file.write_all(token.unwrap_or_default().as_bytes())?;
        // This replaces the file of a killed server, because its address is ours now.
        fs::rename(&aside, &path)?;
        Ok(file)
    };
    match write() {
        Ok(file) => Ok(Announcement { path, file }),
        Err(error) => {
            let _ = fs::remove_file(&aside);
            Err(failed(error))
        }
    }
}

/// Returns the running servers of this user.
pub(crate) fn running(folder: &StateFolder) -> Vec<Running> {
    let Ok(folder) = folder.check_private() else {
        return Vec::new();
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<Running> = entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let address = name.strip_suffix(SUFFIX)?;
            let token = token_if_running(&entry.path()).ok()??;
            Some(Running {
                page: page_of(&entry.path()),
                token: Some(token).filter(|token| !token.is_empty()),
                address: address.to_owned(),
            })
        })
        .collect();
    found.sort_by(|a, b| a.address.cmp(&b.address));
    found
}

/// Returns the token in the file; `None` if its server has ended or the file is not private.
fn token_if_running(path: &Path) -> io::Result<Option<String>> {
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(nix::libc::O_NOFOLLOW | nix::libc::O_NONBLOCK)
        .open(path)?;
    let found = file.metadata()?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if !found.is_file() || !is_ours || found.mode() & 0o077 != 0 {
        return Ok(None);
    }
    match flock(&file, FlockOperation::NonBlockingLockShared) {
        Ok(()) => return Ok(None),
        Err(rustix::io::Errno::WOULDBLOCK) => {}
        Err(error) => return Err(error.into()),
    }
    let mut text = String::new();
    file.take(MAX_FILE).read_to_string(&mut text)?;
    Ok(Some(text))
}

fn page_of(path: &Path) -> PathBuf {
    path.with_extension("html")
}

impl Announcement {
    /// Returns the path of the file with the token.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Announcement {
    fn drop(&mut self) {
        // Another server may have taken the address, and the file's name with it.
        let is_ours = match (fs::symlink_metadata(&self.path), self.file.metadata()) {
            (Ok(there), Ok(ours)) => (there.dev(), there.ino()) == (ours.dev(), ours.ino()),
            _ => false,
        };
        if is_ours {
            let _ = fs::remove_file(page_of(&self.path));
            let _ = fs::remove_file(&self.path);
        }
    }
}
