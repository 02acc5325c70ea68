//! Messages as lines on standard input and output.
//!
//! Both ends of a pipe may misbehave: a line may be garbage or endless, the peer may stop reading
//! or go away. Nothing of that holds up anybody here. What the lines mean is their reader's business.

mod assembly;
pub(crate) mod input;
pub(crate) mod writer;

use std::fs::File;
use std::io;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Whether a read or a write, as `what` says, would not wait.
fn is_ready(file: &File, what: PollFlags) -> io::Result<bool> {
    let mut asked = [PollFd::new(file, what)];
    Ok(poll(&mut asked, Some(&Timespec::default()))? > 0)
}
