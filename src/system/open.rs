//! Opens regular files only: a pipe would block for ever, and a device may never end.

use std::fs::{File, OpenOptions};
use std::os::unix::fs::OpenOptionsExt;

use rustix::fs::OFlags;

use super::stop::Failure;

pub fn open(path: &str) -> Result<File, Failure> {
    // Without this flag, opening a named pipe waits for a writer.
    let waits_for_nobody = OFlags::NONBLOCK.bits().cast_signed();
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(waits_for_nobody)
        .open(path)
        .map_err(|error| Failure::opening(path, &error))?;
    let found = file
        .metadata()
        .map_err(|error| Failure::opening(path, &error))?;
    if found.is_file() {
        return Ok(file);
    }
    let what = if found.is_dir() {
        "Is a directory"
    } else {
        "Not a regular file"
    };
    Err(Failure::new("OPEN_FAILED", format!("{what}: {path}")))
}
