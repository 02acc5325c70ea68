//! Starts a program only if its file has the bytes that the user trusted.
//!
//! The file is opened once, hashed through that descriptor, and the same descriptor is executed
//! (`/proc/self/fd/N`). A read lease blocks every writer from before the hash until the program has
//! started, so the bytes cannot change in between. From then on the kernel refuses to write to a
//! running program. If the system grants no lease, a sealed copy in memory is hashed and executed
//! instead.
//!
//! The interpreter of a script reads it later and by path. So the interpreter gets a copy of the
//! verified bytes in a folder that only this user can write to. Scripts find neighbouring files by
//! their own path (`dirname "$0"`, `BASH_SOURCE`, `__file__`, `import "./x"`). So the copy stands
//! in an image of its folders up to the project: the same names, and a link to each neighbour.

#![expect(
    unsafe_code,
    reason = "a lease is set by two calls of `fcntl` that no safe crate wraps"
)]

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, File, Permissions};
use std::io::{self, Seek, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::errno::Errno;
use rustix::fs::{Access, MemfdFlags, SealFlags, fcntl_add_seals, memfd_create};

use crate::owners;
use crate::regular_files::{self, Refused};
use crate::{Spawn, SpawnError, lookup};

/// Size limit of a script in bytes.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Length of the part of a script's first line that is read. The kernel has the same limit.
const MAX_FIRST_LINE: usize = 256;

/// The lowest number of a descriptor that a program is started from.
const FIRST_DESCRIPTOR: i32 = 10;

/// The last pause before a file that is being written counts as busy.
const LAST_BUSY_PAUSE: Duration = Duration::from_millis(32);

/// The folder in which the image of a project begins.
const IMAGE: &str = "project";

/// Command of `fcntl` that chooses the signal of a lease (fcntl(2)). `libc` has no name for it.
const F_SETSIG: i32 = 10;

const PRIVATE: u32 = 0o700;
const READ_ONLY: u32 = 0o500;

/// Limit of the neighbours of a script that are linked in one folder.
const MAX_NEIGHBOURS: usize = 2000;

/// The content that a program must have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// The hash of the file that was trusted.
    pub digest: blake3::Hash,
    /// The project that the file belongs to. Interpreters of scripts must lie outside of it.
    pub project: PathBuf,
    /// The folder for copies of scripts; private to this user.
    pub copies: PathBuf,
}

/// Reasons for which a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// The file has other bytes than the trusted ones.
    #[error("it changed since you trusted it")]
    Changed,
    /// The file is being written.
    #[error("somebody is still writing it")]
    Busy,
    /// The file cannot be hashed.
    #[error("{0}")]
    Unreadable(String),
    /// The interpreter lies in the project, where it can change.
    #[error("its interpreter `{0}` lies in the project, where it can change unnoticed")]
    InterpreterInProject(PathBuf),
    /// Other users can replace the interpreter.
    #[error("its interpreter is not safe: {0}")]
    InterpreterExposed(String),
    /// The interpreter is a relative path.
    #[error("its interpreter `{0}` is not an absolute path")]
    InterpreterRelative(String),
    /// The copy of the script cannot be made.
    #[error("the verified copy of the script cannot be made: {0}")]
    Copy(io::Error),
}

/// A verified program, ready to start.
pub(super) struct Ready {
    /// The file to execute.
    pub(super) file: PathBuf,
    /// The words before the call's arguments: the program's name, and for an interpreter also the
    /// script.
    pub(super) words: Vec<OsString>,
    /// The descriptor that `file` names and that the program is started from.
    pub(super) held: Option<OwnedFd>,
}

impl Verified {
    /// Verifies the program at `path`. `search` is the child's `PATH`.
    pub(super) fn verify(&self, path: &Path, search: Option<&OsStr>) -> Result<Ready, NotVerified> {
        let mut file = open(path)?;
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
        if !take_lease(&file)? {
            file = sealed_copy(&mut file)?;
        }
        self.compare(&regular_files::hash_open(&mut file).map_err(unreadable)?)?;
        Ok(Ready {
            file: format!("/proc/self/fd/{}", file.as_raw_fd()).into(),
            words: vec![path.into()],
            held: Some(file.into()),
        })
    }

    fn compare(&self, found: &blake3::Hash) -> Result<(), NotVerified> {
        if *found == self.digest {
            Ok(())
        } else {
            Err(NotVerified::Changed)
        }
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

    /// Copies the script at `path` among links to its neighbours, and returns the path of the copy.
    fn copy(&self, path: &Path, bytes: &[u8]) -> io::Result<PathBuf> {
        make_private(&self.copies)?;
        let short = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
        let (place, digest) = (short(path.as_os_str().as_bytes()), self.digest.to_hex());
        let folder = self.copies.join(format!("{place}-{}", &digest[..32]));
        if !folder.exists() {
            forget_others(&self.copies, &place);
        }
        make_private(&folder)?;
        // Other processes may make the same image at this moment. The lock is released when the
        // file is closed.
        let lock = File::open(&folder)?;
        lock.lock()?;
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

/// Verifies the program of `spawn`, if `spawn.verified` is set.
pub(super) async fn verify(spawn: &Spawn) -> Result<Option<Ready>, SpawnError> {
    let Some(verified) = spawn.verified.clone() else {
        return Ok(None);
    };
    let (path, search) = (
        PathBuf::from(&spawn.program),
        spawn.env.resolve(&spawn.rights),
    );
    let program = path.clone();
    // A large file takes a while to hash.
    let verify = move || verified.verify(&path, search.path());
    let answer = tokio::task::spawn_blocking(verify).await;
    let answer = answer.unwrap_or_else(|error| Err(NotVerified::Unreadable(error.to_string())));
    answer
        .map(Some)
        .map_err(|source| SpawnError::NotVerified { program, source })
}

/// Opens the file for reading, with a descriptor above the standard streams.
fn open(path: &Path) -> Result<File, NotVerified> {
    above_streams(regular_files::open(path).map_err(unreadable)?.into())
}

/// Duplicates a descriptor to a number above those of the child's streams.
fn above_streams(file: OwnedFd) -> Result<File, NotVerified> {
    rustix::io::fcntl_dupfd_cloexec(&file, FIRST_DESCRIPTOR)
        .map(File::from)
        .map_err(|error| NotVerified::Unreadable(io::Error::from(error).to_string()))
}

/// Takes a read lease. A writer that opens the file while the lease is held must wait, and we get a
/// signal that has no effect. Waits a moment if the file is being written. Returns false if the
/// system grants no lease: the file belongs to another user, or its file system has no leases.
fn take_lease(file: &File) -> Result<bool, NotVerified> {
    let mut pause = Duration::from_millis(1);
    loop {
        match set_lease(file) {
            Ok(()) => return Ok(true),
            Err(Errno::EAGAIN) if pause > LAST_BUSY_PAUSE => return Err(NotVerified::Busy),
            Err(Errno::EAGAIN) => std::thread::sleep(pause),
            Err(_) => return Ok(false),
        }
        pause *= 2;
    }
}

fn set_lease(file: &File) -> Result<(), Errno> {
    let descriptor = file.as_raw_fd();
    // SAFETY: both calls take numbers only, and the descriptor is open.
    let result = unsafe {
        // The default signal, SIGIO, would end the process.
        match nix::libc::fcntl(descriptor, F_SETSIG, nix::libc::SIGURG) {
            0 => nix::libc::fcntl(descriptor, nix::libc::F_SETLEASE, nix::libc::F_RDLCK),
            failed => failed,
        }
    };
    Errno::result(result).map(drop)
}

/// Returns a sealed copy in memory, which cannot be changed.
fn sealed_copy(file: &mut File) -> Result<File, NotVerified> {
    let bytes = regular_files::read_open(file, regular_files::MAX_HASHED_BYTES);
    let bytes = bytes.map_err(unreadable)?;
    let copied = || -> io::Result<OwnedFd> {
        let flags = MemfdFlags::CLOEXEC | MemfdFlags::ALLOW_SEALING;
        let mut copy = File::from(memfd_create("haft-verified", flags)?);
        copy.write_all(&bytes)?;
        let all = SealFlags::WRITE | SealFlags::GROW | SealFlags::SHRINK | SealFlags::SEAL;
        fcntl_add_seals(&copy, all)?;
        copy.rewind()?;
        Ok(copy.into())
    };
    above_streams(copied().map_err(NotVerified::Copy)?)
}

fn is_script(file: &File) -> Result<bool, NotVerified> {
    let mut start = [0; 2];
    match file.read_at(&mut start, 0) {
        Ok(read) => Ok(&start[..read] == b"#!"),
        Err(error) => Err(NotVerified::Unreadable(error.to_string())),
    }
}

fn unreadable(error: Refused) -> NotVerified {
    NotVerified::Unreadable(error.to_string())
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

/// Makes a folder that only this user can enter. A folder of another user is refused.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new()
        .recursive(true)
        .mode(PRIVATE)
        .create(folder)
    {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) | Err(_) => {}
    }
    let found = fs::symlink_metadata(folder)?;
    let is_ours = found.uid() == rustix::process::geteuid().as_raw();
    if found.is_dir() && is_ours && found.mode() & 0o077 == 0 {
        Ok(())
    } else {
        Err(io::Error::other(format!(
            "`{}` is not a private folder of this user",
            folder.display()
        )))
    }
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
fn forget_others(copies: &Path, place: &str) {
    let entries = fs::read_dir(copies).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        if name.to_string_lossy().split('-').next() == Some(place) {
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
