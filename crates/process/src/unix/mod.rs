//! Backend of systems with POSIX processes: sessions, groups, signals and `posix_spawn`.
//!
//! What Linux and macOS do differently is in `kernel`: processes of the machine, notice of an end,
//! memory, and what `posix_spawn` cannot do.

mod descendants;
mod ended;
mod foreground;
mod group_leader;
mod guard;
mod helper;
mod inherited;
mod launch;
mod owned;
mod pipe_holders;
mod pipes;

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, DirBuilder, File, Metadata, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::Path;

use rustix::fs::{Access, OFlags};

#[cfg(target_os = "linux")]
pub(crate) use crate::linux as kernel;
#[cfg(target_os = "macos")]
pub(crate) use crate::macos as kernel;

pub(crate) use descendants::{has_group, kill_session, session_of};
pub(crate) use ended::Ended;
pub use foreground::in_foreground;
pub(crate) use group_leader::{Leader, wait_for_end};
pub use helper::Helper;
pub(crate) use inherited::keep_children;
pub(crate) use kernel::{
    Cell, MEASURES_MEMORY, Starvation, Stat, children_of, is_of_the_kernel, limit_open_files,
    open_deleted_files, private_bytes,
};
pub use kernel::{can_limit_processors, can_limit_trees, harden, harden_worker};
#[cfg(target_os = "linux")]
pub(crate) use launch::leader;
pub(crate) use launch::{launch, start_at_once};
pub(crate) use nix::errno::Errno;
pub(crate) use owned::kill_tree;
pub use owned::{
    has_children, kill_all, kill_children_of_thread, release_child, thread_starts_program,
};
pub(crate) use pipes::{
    OurEnd, Receiver, Sender, empty_input, input_pipe, output_pipe, pipe_between, read_now,
    receiver, sender,
};
pub use rustix::process::Pid;

/// A descriptor that a child gets.
pub type Descriptor = OwnedFd;

/// A string for the system.
pub(crate) type Text = CString;

/// A variable of the environment: `NAME=value`.
pub(crate) type Variable = CString;

const ANY_EXECUTE: u32 = 0o111;

/// Search path of a child without a `PATH`.
pub(crate) const DEFAULT_PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// Converts a string for the system; `None` if it contains a NUL byte.
pub(crate) fn text(text: OsString) -> Option<Text> {
    CString::new(text.into_vec()).ok()
}

pub(crate) fn as_os_str(text: &Text) -> &OsStr {
    OsStr::from_bytes(text.to_bytes())
}

/// Makes a variable; `None` if it contains a NUL byte.
pub(crate) fn variable(name: OsString, value: OsString) -> Option<Variable> {
    let mut pair = name;
    pair.push("=");
    pair.push(value);
    text(pair)
}

/// Returns the name of an error as Node spells it: `ENOENT`.
pub(crate) fn error_code(source: &io::Error) -> String {
    // The debug form of the enum is the name of the constant.
    format!("{:?}", errno(source))
}

/// Returns the system's words for an error, in lower case.
pub(crate) fn error_text(source: &io::Error) -> String {
    errno(source).desc().to_lowercase()
}

fn errno(source: &io::Error) -> Errno {
    source
        .raw_os_error()
        .map_or(Errno::UnknownErrno, Errno::from_raw)
}

/// Returns true if the name is a path, which is not looked up.
pub(crate) fn is_path(program: &OsStr) -> bool {
    program.as_bytes().contains(&b'/')
}

/// Returns the names under which a folder of `PATH` may have a program.
pub(crate) fn file_names(program: &OsStr) -> impl Iterator<Item = OsString> {
    std::iter::once(program.to_owned())
}

/// Returns the bytes that a file takes on the disk.
pub(crate) fn bytes_on_disk(found: &Metadata) -> u64 {
    std::os::unix::fs::MetadataExt::blocks(found).saturating_mul(512)
}

/// Returns true if the system would start the file as a program.
pub fn is_program(_path: &Path, found: &Metadata) -> bool {
    found.permissions().mode() & ANY_EXECUTE != 0
}

/// Checks the right to execute a file or to enter a folder.
pub(crate) fn may_execute(path: &Path) -> io::Result<()> {
    rustix::fs::access(path, Access::EXEC_OK).map_err(io::Error::from)
}

/// Opens a file without waiting for the other end of a pipe, and without getting a terminal.
pub(crate) fn open_without_waiting(path: &Path) -> io::Result<File> {
    let flags = OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    File::options().read(true).custom_flags(flags).open(path)
}

/// Creates a file that is not there yet, with these permissions.
pub(crate) fn create_new(path: &Path, mode: u32) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true).mode(mode).open(path)
}

/// Opens a file of haft's own, and never the target of a link. A new file gets these permissions.
pub(crate) fn open_own(path: &Path, mut options: OpenOptions, mode: u32) -> io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    options.mode(mode).custom_flags(flags).open(path)
}

/// Returns the permissions of a file or folder; `None` on systems without modes.
pub(crate) fn mode_of(found: &Metadata) -> Option<u32> {
    Some(found.permissions().mode() & 0o7777)
}

/// Sets the permissions of a file or folder of the current user.
pub(crate) fn set_mode(path: &Path, mode: u32) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
}

/// Creates a folder that only its user can enter.
pub(crate) fn create_private_folder(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(0o700).create(path)
}

/// Takes all permissions on a folder from other users.
pub(crate) fn restrict(path: &Path) -> io::Result<()> {
    fs::set_permissions(path, Permissions::from_mode(0o700))
}
