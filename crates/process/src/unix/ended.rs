//! Notice of the end of a process.

use std::io;
use std::os::fd::OwnedFd;

use rustix::process::Pid;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use super::kernel::end_descriptor;

/// Descriptor that becomes readable when a process ends.
pub(crate) struct Ended(AsyncFd<OwnedFd>);

impl Ended {
    #[expect(
        deprecated,
        reason = "the successor is `unsafe` because of types that change or lend their descriptor; \
                  an `OwnedFd` does neither"
    )]
    pub(crate) fn of(process: Pid) -> io::Result<Ended> {
        AsyncFd::with_interest(end_descriptor(process)?, Interest::READABLE).map(Ended)
    }

    /// Waits for the end. Dropping this future loses nothing.
    pub(crate) async fn wait(&self) {
        let _ = self.0.readable().await;
    }
}
