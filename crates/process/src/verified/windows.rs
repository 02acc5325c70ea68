//! Starts a verified program while no other process may write to its files.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::windows::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use windows_sys::Win32::Storage::FileSystem::FILE_SHARE_READ;

use super::{NotVerified, ReadyProgram, VerifiedFile, VerifiedProgram, unreadable};
use crate::lookup;
use crate::regular_files;
use crate::system::Descriptor;

/// Verifies a program. Its files are opened without the right of others to write, and stay so until
/// its call has ended. `search` is the child's `PATH`, `cwd` its working directory.
pub(super) fn prepare(
    program: &VerifiedProgram,
    search: Option<&OsStr>,
    cwd: &Path,
) -> Result<ReadyProgram, NotVerified> {
    let files = program.files().into_iter().map(open);
    let held = files.collect::<Result<_, _>>()?;
    let path_of = |file: &VerifiedFile| file.path.clone();
    let words = program.words.iter().map(|word| word.with_paths(path_of));
    let words = words.collect::<Result<_, _>>()?;
    let variables = program.variables.iter().map(|(name, value)| {
        let value = value.with_paths(path_of)?;
        Ok((name.clone(), value))
    });
    let first = program.words.first();
    let first = first.map_or(OsStr::new(""), |word| word.text());
    let file: PathBuf = lookup::find(first, search, cwd)
        .map_err(|_| NotVerified::ProgramMissing(first.to_string_lossy().into_owned()))?;
    let path = cwd.join(&file);
    let is_verified = program
        .words
        .first()
        .is_some_and(|word| word.files().next().is_some());
    if !is_verified && program.scope.contains(&path) {
        let name = first.to_string_lossy().into_owned();
        return Err(NotVerified::ProgramInProject(name, path));
    }
    Ok(ReadyProgram {
        file,
        path,
        words,
        variables: variables.collect::<Result<_, NotVerified>>()?,
        image: None,
        held,
    })
}

fn open(verified: &VerifiedFile) -> Result<Descriptor, NotVerified> {
    let path = &verified.path;
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
    Ok(file.into())
}
