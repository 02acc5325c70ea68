//! Verified scripts: the interpreter gets a copy of the verified bytes in a folder that only this user
//! can write to.
//!
//! Scripts find neighbouring files by their own path (`dirname "$0"`, `BASH_SOURCE`, `__file__`,
//! `import "./x"`). So the copy stands in an image of its folders up to the project: the same names,
//! and a link to each neighbour.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use rustix::fs::Access;

#[cfg(target_os = "linux")]
use super::linux as kernel;
#[cfg(target_os = "macos")]
use super::macos as kernel;
use super::{NotVerified, Ready, Verified, make_images_of, place_of, unreadable};
use crate::state_dir::StatePart;
use crate::{lookup, owners, regular_files};

/// Size limit of a script in bytes.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Length of the part of a script's first line that is read. The kernel has the same limit.
const MAX_FIRST_LINE: usize = 256;

/// The folder in which the image of a project begins.
const IMAGE: &str = "project";

const PRIVATE: u32 = 0o700;
const READ_ONLY: u32 = 0o500;

/// Limit of the neighbours of a script that are linked in one folder.
const MAX_NEIGHBOURS: usize = 2000;

/// Verifies the program at `path`. `search` is the child's `PATH`.
pub(crate) fn ready(
    verified: &Verified,
    path: &Path,
    search: Option<&OsStr>,
) -> Result<Ready, NotVerified> {
    verified.verify(path, search)
}

impl Verified {
    fn verify(&self, path: &Path, search: Option<&OsStr>) -> Result<Ready, NotVerified> {
        let mut file = regular_files::open(path).map_err(unreadable)?;
        if is_script(&file)? {
            rustix::fs::access(path, Access::EXEC_OK)
                .map_err(|error| NotVerified::Unreadable(io::Error::from(error).to_string()))?;
            let bytes =
                regular_files::read_open(&mut file, MAX_SCRIPT_BYTES).map_err(unreadable)?;
            self.compare(&blake3::hash(&bytes))?;
            let (program, mut words) = self.interpreter(&bytes, search)?;
            let copy = self.copy(path, &bytes).map_err(NotVerified::Copy)?;
            words.push(copy.into());
            return Ok(Ready {
                file: program,
                words,
                held: None,
            });
        }
        kernel::ready(self, path, file)
    }

    /// Returns the interpreter of a script, and the words before the script.
    fn interpreter(
        &self,
        bytes: &[u8],
        search: Option<&OsStr>,
    ) -> Result<(PathBuf, Vec<OsString>), NotVerified> {
        let line = FirstLine::of(bytes);
        let as_written = PathBuf::from(line.interpreter);
        if !as_written.is_absolute() {
            let text = as_written.display().to_string();
            return Err(NotVerified::InterpreterRelative(text));
        }
        let found = line.by_env().and_then(|words| {
            let (name, _) = words.split_first()?;
            // Resolves the program as `env` does, so that it can be checked.
            let program = lookup::find(name, search, Path::new("/")).ok()?;
            Some((program, words.iter().map(OsString::from).collect()))
        });
        let (program, words) = found.unwrap_or_else(|| {
            let words = [Some(line.interpreter), line.argument];
            let words = words.into_iter().flatten().map(OsString::from).collect();
            (as_written, words)
        });
        let real = program.canonicalize().unwrap_or_else(|_| program.clone());
        if program.starts_with(&self.project) || real.starts_with(&self.project) {
            return Err(NotVerified::InterpreterInProject(program));
        }
        // The system reports a missing interpreter.
        if program.exists() {
            owners::check(&program)
                .map_err(|exposed| NotVerified::InterpreterExposed(exposed.to_string()))?;
        }
        Ok((program, words))
    }

    /// Copies the program at `path` among links to its neighbours, and returns the path of the copy.
    pub(crate) fn copy(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        let images = make_images_of(&self.state, path)?;
        // Other processes may make the same image at this moment. A program in a sandbox can lock what it
        // can read, so the lock is not in the image.
        let _lock = self.state.folder(StatePart::Locks).lock(&place_of(path))?;
        let digest = &self.digest.to_hex()[..32];
        remove_others(images.as_path(), digest);
        let folder = images.as_path().join(digest);
        make_private(&folder)?;
        // The path of the project is resolved already, so the script's path must be too.
        let folder_of_script = path.parent().unwrap_or(path).canonicalize()?;
        let path = &folder_of_script.join(path.file_name().unwrap_or(OsStr::new("script")));
        // A script outside of the project gets no links to neighbours.
        let inside = path.strip_prefix(&self.project).ok();
        let name = Path::new(path.file_name().unwrap_or(OsStr::new("script")));
        let inside = inside.unwrap_or(name);
        let is_inside = path.starts_with(&self.project);
        let (mut image, mut original) = (folder.join(IMAGE), self.project.clone());
        for part in inside.iter() {
            make_private(&image)?;
            if is_inside {
                link_neighbours(&original, &image, part)?;
            }
            image.push(part);
            original.push(part);
        }
        put(&image, bytes, &self.digest)?;
        Ok(image)
    }
}

fn is_script(file: &File) -> Result<bool, NotVerified> {
    let mut start = [0; 2];
    match file.read_at(&mut start, 0) {
        Ok(read) => Ok(&start[..read] == b"#!"),
        Err(error) => Err(NotVerified::Unreadable(error.to_string())),
    }
}

/// The first line of a script, as the kernel reads it.
struct FirstLine<'a> {
    interpreter: &'a OsStr,
    /// The rest of the line, as one word.
    argument: Option<&'a OsStr>,
}

impl FirstLine<'_> {
    fn of(script: &[u8]) -> FirstLine<'_> {
        let start = &script[..script.len().min(MAX_FIRST_LINE)];
        let line = start.strip_prefix(b"#!").unwrap_or(start);
        let end = line.iter().position(|byte| *byte == b'\n');
        let line = trim(&line[..end.unwrap_or(line.len())]);
        let end = line.iter().position(|byte| matches!(byte, b' ' | b'\t'));
        let (interpreter, rest) = line.split_at(end.unwrap_or(line.len()));
        let rest = trim(rest);
        FirstLine {
            interpreter: OsStr::from_bytes(interpreter),
            argument: (!rest.is_empty()).then(|| OsStr::from_bytes(rest)),
        }
    }

    /// Returns the words that `env` would run; `None` for syntax that only `env` understands.
    fn by_env(&self) -> Option<Vec<&OsStr>> {
        let argument = self.argument?.to_str()?;
        if Path::new(self.interpreter).file_name()? != "env" {
            return None;
        }
        let words: Vec<&str> = match argument.strip_prefix("-S") {
            Some(words) => words.split_ascii_whitespace().collect(),
            None => vec![argument],
        };
        let is_plain = |word: &&str| !word.contains(['"', '\'', '\\', '$', '#']);
        let is_name = |word: &&&str| !word.starts_with('-') && !word.contains('=');
        let is_known = words.iter().all(is_plain) && words.first().as_ref().is_some_and(is_name);
        is_known.then(|| words.into_iter().map(OsStr::new).collect())
    }
}

fn trim(bytes: &[u8]) -> &[u8] {
    let is_space = |byte: &u8| matches!(byte, b' ' | b'\t');
    let start = bytes.iter().position(|byte| !is_space(byte));
    let end = bytes.iter().rposition(|byte| !is_space(byte));
    match (start, end) {
        (Some(start), Some(end)) => &bytes[start..=end],
        _ => &[],
    }
}

/// Makes a folder that only this user can enter, in such a folder.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) => return Ok(()),
        Err(_) => {}
    }
    let found = folder.symlink_metadata()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        let text = format!("`{}` is not a folder of this user", folder.display());
        return Err(io::Error::other(text));
    }
    // The script can change the mode of its own image. `put` removes the right to write again.
    if found.mode() & 0o777 != READ_ONLY {
        fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

/// Links the content of `original` into `image`, except `own`.
///
/// The image is not writable, since files that a script writes beside itself would be lost there.
fn link_neighbours(original: &Path, image: &Path, own: &OsStr) -> io::Result<()> {
    let names = |folder: &Path| -> io::Result<BTreeSet<OsString>> {
        let entries = fs::read_dir(folder)?.flatten();
        Ok(entries.map(|entry| entry.file_name()).collect())
    };
    let there = names(image)?;
    let mut missing = names(original)?;
    missing.retain(|name| name != own && !there.contains(name));
    if missing.is_empty() && there.contains(own) {
        return Ok(());
    }
    let set_mode = |mode: u32| fs::set_permissions(image, Permissions::from_mode(mode));
    set_mode(PRIVATE)?;
    for name in missing.into_iter().take(MAX_NEIGHBOURS) {
        match symlink(original.join(&name), image.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Writes the copy, unless the same bytes are there already.
fn put(place: &Path, bytes: &[u8], digest: &blake3::Hash) -> io::Result<()> {
    let folder = place.parent().unwrap_or(place);
    let is_there = regular_files::hash(place).is_ok_and(|found| found == *digest)
        && fs::symlink_metadata(place).is_ok_and(|found| found.is_file());
    if !is_there {
        fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
        let mut fresh = tempfile::Builder::new()
            .permissions(Permissions::from_mode(READ_ONLY))
            .tempfile_in(folder)?;
        fresh.write_all(bytes)?;
        fresh.persist(place).map_err(|error| error.error)?;
    }
    for folder in place.ancestors().skip(1) {
        fs::set_permissions(folder, Permissions::from_mode(READ_ONLY))?;
        if folder.file_name() == Some(OsStr::new(IMAGE)) {
            break;
        }
    }
    Ok(())
}

/// Removes the copies of other versions of a script.
fn remove_others(images: &Path, digest: &str) {
    for entry in fs::read_dir(images).into_iter().flatten().flatten() {
        if entry.file_name() != digest {
            // A copy that cannot be removed does no harm.
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a folder whose folders may be read-only. Links are not followed.
fn remove(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    fs::remove_dir(folder)
}
