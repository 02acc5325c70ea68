//! Backend of Windows: job objects instead of sessions and signals. It was compiled, but never run.
//!
//! Every program is in a job of its own, which it cannot leave, so no process of a tree is ever
//! searched for. A job that is closed kills its processes, so they end with haft for any reason, and
//! no guard process is needed. There is no polite request to end: a stop kills at once.

mod ended;
mod helper;
mod job;
mod launch;
mod leader;
mod pipes;
mod processes;

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata, OpenOptions};
use std::io;
use std::os::windows::ffi::OsStrExt;
use std::os::windows::fs::OpenOptionsExt;
use std::os::windows::io::OwnedHandle;
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use windows_sys::Win32::Foundation::{ERROR_ACCESS_DENIED, ERROR_DIRECTORY};
use windows_sys::Win32::Storage::FileSystem::FILE_FLAG_OPEN_REPARSE_POINT;

pub(crate) use crate::no_cell::{Cell, limit_open_files, open_deleted_files};
pub(crate) use crate::owners::{create_private_folder, restrict};
pub(crate) use ended::{Ended, wait_for_end};
pub use helper::Helper;
pub(crate) use launch::{launch, start_at_once};
pub(crate) use leader::Leader;
pub(crate) use pipes::{
    OurEnd, Receiver, Sender, empty_input, input_pipe, output_pipe, pipe_between, read_now,
    receiver, sender,
};
pub(crate) use processes::{Stat, children_of, kill_tree, owned, private_bytes, size_of};

/// A handle that a child gets.
pub type Descriptor = OwnedHandle;

/// A string for the system.
pub(crate) type Text = OsString;

/// A variable of the environment: name and value.
pub(crate) type Variable = (OsString, OsString);

/// Search path of a child without a `PATH`.
pub(crate) const DEFAULT_PATH: &str = r"C:\Windows\System32;C:\Windows";

/// Extensions of programs, in the order of the search.
const PROGRAM_EXTENSIONS: [&str; 4] = ["com", "exe", "bat", "cmd"];

/// True: a job would let the allocations of a program fail. The tree is measured and killed, as on
/// the other systems.
pub(crate) const MEASURES_MEMORY: bool = true;

/// Number of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pid(u32);

impl Pid {
    /// Makes the number from its bits as `i32`; `None` for 0, which is the idle process.
    pub fn from_raw(raw: i32) -> Option<Pid> {
        (raw != 0).then(|| Pid(raw.cast_unsigned()))
    }

    /// Returns the bits of the number as `i32`.
    pub fn as_raw_pid(self) -> i32 {
        self.0.cast_signed()
    }
}

/// Code of a system error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Errno(u32);

impl Errno {
    pub(crate) const EACCES: Errno = Errno(ERROR_ACCESS_DENIED);
    /// The working directory cannot be entered.
    const DIRECTORY: Errno = Errno(ERROR_DIRECTORY);

    fn of(error: &io::Error) -> Errno {
        Errno(error.raw_os_error().unwrap_or_default().cast_unsigned())
    }
}

impl From<Errno> for io::Error {
    fn from(errno: Errno) -> io::Error {
        io::Error::from_raw_os_error(errno.0.cast_signed())
    }
}

/// Converts a string for the system; `None` if it contains a NUL character.
pub(crate) fn text(text: OsString) -> Option<Text> {
    let has_nul = text.encode_wide().any(|unit| unit == 0);
    (!has_nul).then_some(text)
}

pub(crate) fn as_os_str(text: &Text) -> &OsStr {
    text
}

/// Makes a variable; `None` if it contains a NUL character.
pub(crate) fn variable(name: OsString, value: OsString) -> Option<Variable> {
    Some((text(name)?, text(value)?))
}

/// Returns the name of an error as Node spells it: `ENOENT`.
pub(crate) fn error_code(source: &io::Error) -> String {
    let code = match source.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => "ENOENT",
        io::ErrorKind::PermissionDenied => "EACCES",
        io::ErrorKind::ArgumentListTooLong => "E2BIG",
        io::ErrorKind::InvalidFilename => "ENAMETOOLONG",
        io::ErrorKind::InvalidInput => "EINVAL",
        io::ErrorKind::OutOfMemory => "ENOMEM",
        _ => "UNKNOWN",
    };
    code.to_owned()
}

/// Returns the system's words for an error, in lower case.
pub(crate) fn error_text(source: &io::Error) -> String {
    source.to_string().to_lowercase()
}

/// Returns true if the name is a path, which is not looked up.
pub(crate) fn is_path(program: &OsStr) -> bool {
    program
        .as_encoded_bytes()
        .iter()
        .any(|byte| matches!(byte, b'/' | b'\\' | b':'))
}

/// Returns the names under which a folder of `PATH` may have a program.
pub(crate) fn file_names(program: &OsStr) -> impl Iterator<Item = OsString> {
    let as_given = has_program_extension(Path::new(program)).then(|| program.to_owned());
    let with_extension = PROGRAM_EXTENSIONS.iter().map(|extension| {
        let mut name = program.to_owned();
        name.push(".");
        name.push(extension);
        name
    });
    as_given.into_iter().chain(with_extension)
}

fn has_program_extension(path: &Path) -> bool {
    path.extension().is_some_and(|found| {
        let mut known = PROGRAM_EXTENSIONS.iter();
        known.any(|extension| found.eq_ignore_ascii_case(extension))
    })
}

/// Returns true if the system would start the file as a program.
pub fn is_program(path: &Path, _found: &Metadata) -> bool {
    has_program_extension(path)
}

/// Checks that a file can be started, or that a folder is there.
pub(crate) fn may_execute(path: &Path) -> io::Result<()> {
    if fs::metadata(path)?.is_dir() || has_program_extension(path) {
        Ok(())
    } else {
        Err(io::ErrorKind::PermissionDenied.into())
    }
}

/// Opens a file. Pipes are not in the file system of Windows.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Creates a file that is not there yet. `mode` has bits for others if they may read it.
pub(crate) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let file = File::options().write(true).create_new(true).open(path)?;
    if mode & 0o077 == 0 {
        restrict(path)?;
    }
    Ok(file)
}

/// Opens a file of haft's own, and never the target of a link. A new file is in a folder that only its
/// user can enter.
pub(crate) fn open_own(path: &Path, mut options: OpenOptions, _mode: u32) -> io::Result<File> {
    options
        .custom_flags(FILE_FLAG_OPEN_REPARSE_POINT)
        .open(path)
}

/// Returns `None`: Windows has lists of rights instead of modes.
pub(crate) fn mode_of(_found: &Metadata) -> Option<u32> {
    None
}

/// Does nothing: Windows has no modes.
pub(crate) fn set_mode(_path: &Path, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Returns false: no file of Windows is an answer of the kernel.
pub(crate) fn is_of_the_kernel(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Does nothing: the system keeps a child until its handle is closed.
pub(crate) fn keep_children() {}

/// Does nothing: Windows lets other processes of the same user read this one.
pub fn harden() {}

/// Does nothing, as [`harden`].
pub fn harden_worker() {}

/// Returns false: no control group limits processors on this system.
pub fn can_limit_processors() -> bool {
    false
}

/// Returns true if memory limits of whole trees are possible on this system: they are measured.
pub fn can_limit_trees() -> bool {
    true
}

/// Does nothing: the system does not record which thread started a program.
pub fn thread_starts_program(_thread_id: i32) {}

/// Does nothing: a program that a tool started by itself is in no job.
pub fn release_child(_pid: i32) {}

/// Does nothing: the system does not record which thread started a program.
pub fn kill_children_of_thread(_thread_id: i32) {}

/// Does nothing: the jobs end with this process, and their programs with them.
pub fn kill_all() {}

/// Returns false: what this process has started ends with its jobs.
pub fn has_children() -> bool {
    false
}

/// Runs `line`, a command line that the user configured, such as `code --wait`, with one more
/// argument, and waits for its end. Blocks the thread. The program has the console meanwhile.
///
/// # Errors
/// If the shell that splits the line cannot be started.
#[expect(
    clippy::disallowed_methods,
    reason = "`Spawn` takes the terminal away, which is what an editor needs"
)]
pub fn in_foreground(line: &str, argument: &OsStr) -> io::Result<ExitStatus> {
    let mut command = Command::new("cmd");
    if let Ok(console) = File::open("CONIN$") {
        command.stdin(console);
    }
    // `/s` removes the outer quotes and leaves those of the line.
    let mut whole = OsString::from(format!("\"{line} \""));
    whole.push(argument);
    whole.push("\"\"");
    command.args(["/d", "/s", "/c"]).raw_arg(whole).status()
}

/// Time for which a child keeps its processor: it is not measured.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Starvation {
    /// Time for which its threads were ready but did not run. Windows does not count it.
    pub(crate) waited: Duration,
}

impl Starvation {
    /// Measures nothing.
    pub(crate) fn of(_leader: Pid) -> Starvation {
        Starvation {
            waited: Duration::ZERO,
        }
    }

    /// Returns true: the tree may have waited for longer than was counted.
    pub(crate) fn is_understated(self) -> bool {
        true
    }

    /// Returns true: the tree may be working, so it keeps its permit.
    pub(crate) fn is_at_work(self) -> bool {
        true
    }
}

/// Returns nothing: the processes of a tree are in a job.
pub(crate) fn session_of(_leader: Pid) -> Vec<Pid> {
    Vec::new()
}

/// Does nothing: a job ends with its handle.
pub(crate) fn kill_session(_leader: Pid) {}

/// Returns false: nothing outlives a job.
pub(crate) fn has_group(_leader: Pid) -> bool {
    false
}

/// Returns the bytes of a file.
pub(crate) fn bytes_on_disk(found: &Metadata) -> u64 {
    found.len()
}
