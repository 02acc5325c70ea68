//! Starts a verified program while no other process may write to it.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::Path;

use windows_sys::Win32::Storage::FileSystem::FILE_SHARE_READ;

use super::{NotVerified, Ready, Verified, unreadable};
use crate::regular_files;

/// Verifies the program at `path`. It is opened without the right of others to write, and stays so
/// until its call has ended.
pub(crate) fn ready(
    verified: &Verified,
    path: &Path,
    _search: Option<&OsStr>,
) -> Result<Ready, NotVerified> {
    if !fs::metadata(path).is_ok_and(|found| found.is_file()) {
        let text = "it is not a regular file on a disk";
        return Err(NotVerified::Unreadable(text.to_owned()));
    }
    let mut options = File::options();
    let opened = options.read(true).share_mode(FILE_SHARE_READ).open(path);
    let mut file = opened.map_err(|error| match error.kind() {
        io::ErrorKind::ResourceBusy => NotVerified::Busy,
        _ => NotVerified::Unreadable(error.to_string()),
    })?;
    verified.compare(&regular_files::hash_open(&mut file).map_err(unreadable)?)?;
    Ok(Ready {
        file: path.to_owned(),
        words: vec![path.into()],
        held: Some(file.into()),
    })
}
