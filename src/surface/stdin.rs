//! Our own standard input, kept away from everything else in the process.
//!
//! A tool that reads descriptor 0 finds it empty: what the user or the calling program
//! sends is for haft alone.

use std::fs::File;
use std::io;

/// Takes standard input for haft alone; from here on descriptor 0 is `/dev/null`.
///
/// # Errors
/// When the process has no file descriptor left, or there is no `/dev/null`.
pub(crate) fn claim() -> io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(private))
}
