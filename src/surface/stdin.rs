//! Private standard input of haft.
//!
//! A tool that reads descriptor 0 finds it empty. Input of the user or of the calling program is
//! only for haft.

use std::fs::File;
use std::io;

/// Moves standard input to a private descriptor. From now on descriptor 0 is `/dev/null`.
///
/// # Errors
/// If the process has no free file descriptor, or `/dev/null` is missing.
pub(crate) fn claim() -> io::Result<File> {
    let private = rustix::io::fcntl_dupfd_cloexec(rustix::stdio::stdin(), 3)?;
    rustix::stdio::dup2_stdin(File::open("/dev/null")?)?;
    Ok(File::from(private))
}
