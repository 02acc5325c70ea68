//! The conversation with a program on an inherited descriptor, beside another surface of the host.
//!
//! The other surface decides when haft ends. The end of the program removes its tools and changes
//! nothing else.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use rustix::fs::OFlags;
use rustix::io::FdFlags;
use rustix::net::SocketType;
use rustix::net::sockopt::socket_type;
use tokio::task::{JoinHandle, JoinSet};
use tokio::time::timeout;

use super::service::Service;
use super::{ANSWERING, FINISHING, WRITING, answered, shutdown_reply, take};
use crate::audit::Caller;
use crate::host::Host;
use crate::surface::stdio::input::Input;
use crate::surface::stdio::writer::Writer;
use haft_tool::{Error, ErrorKind};

/// Time for which the first list of tools waits for `tools/register`.
const REGISTRATION_TIMEOUT: Duration = Duration::from_secs(5);

/// The inherited descriptor.
pub(crate) struct Descriptor(OwnedFd);

/// A running conversation, until it is dropped.
pub(crate) struct Attached {
    task: JoinHandle<()>,
    writer: Writer,
}

impl Descriptor {
    /// Takes over the descriptor `number`, which must be a connected stream socket. Must run before
    /// a second thread exists, and once.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for any other number.
    pub(crate) fn claim(number: RawFd) -> Result<Descriptor, Error> {
        let usage = |what: &str| {
            let text = format!("--rpc-fd {number}: {what}");
            Error::new(ErrorKind::Usage, text).with_hint(
                "start haft with one end of a socket pair as this descriptor, and serve the other",
            )
        };
        if number < 3 {
            return Err(usage("descriptors 0 to 2 are the standard streams"));
        }
        // Closed descriptors must not be touched: a later file could get the number.
        let is_open = std::fs::read_link(format!("/proc/self/fd/{number}")).is_ok();
        if !is_open {
            return Err(usage("the descriptor is not open"));
        }
        #[allow(
            unsafe_code,
            reason = "no safe crate takes over an inherited descriptor"
        )]
        // SAFETY: the descriptor is open. It was inherited: this runs at the start of the program,
        // before other code opens files, and only once. So nothing else owns it.
        let socket = unsafe { OwnedFd::from_raw_fd(number) };
        let is_stream = socket_type(&socket).is_ok_and(|kind| kind == SocketType::STREAM);
        if !is_stream || rustix::net::getpeername(&socket).is_err() {
            return Err(usage("the descriptor is not a connected stream socket"));
        }
        let prepare = || -> rustix::io::Result<()> {
            // Programs of tools must not inherit it, and our writer expects a blocking descriptor.
            rustix::io::fcntl_setfd(&socket, FdFlags::CLOEXEC)?;
            let flags = rustix::fs::fcntl_getfl(socket.as_fd())?;
            rustix::fs::fcntl_setfl(&socket, flags - OFlags::NONBLOCK)
        };
        prepare().map_err(|why| usage(&why.to_string()))?;
        Ok(Descriptor(socket))
    }

    /// Serves the program on the descriptor. The first catalog of `host` waits for its tools.
    pub(crate) fn serve(self, host: &Host) -> io::Result<Attached> {
        let file = File::from(self.0);
        let writer = Writer::start(file.try_clone()?)?;
        let lines = Input::open(file)?;
        host.expect_program_tools(REGISTRATION_TIMEOUT);
        // The program chooses its call ids without knowledge of other clients.
        let own = host.owned_by("program").recorded(Caller::parent("rpc"));
        let service = Service::attached(own, writer.clone());
        let task = tokio::spawn(converse(lines, service, writer.clone(), host.clone()));
        Ok(Attached { task, writer })
    }
}

impl Attached {
    /// Waits briefly until the program has read the last messages, at the end of haft.
    pub(crate) async fn finish(self) {
        let _ = timeout(WRITING, self.writer.finish()).await;
    }
}

impl Drop for Attached {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn converse(mut lines: Input, mut service: Service, writer: Writer, host: Host) {
    let mut tasks = JoinSet::new();
    while !service.is_ending() {
        tokio::select! {
            line = lines.next() => match line {
                Some(line) => take(line, &mut service, &mut tasks, &writer),
                None => break,
            },
            Some(_) = tasks.join_next() => {}
            () = writer.closed() => break,
        }
    }
    service.no_more_replies();
    host.set_program_tools(Vec::new(), Vec::new());
    let removed = host.show_program_tools();
    // The program may still read the results of its calls, if it only closed its sending side.
    let finishing = async {
        let time = if service.is_ending() {
            ANSWERING
        } else {
            FINISHING
        };
        tokio::select! {
            _ = timeout(time, answered(&mut tasks)) => {}
            () = writer.closed() => {}
        }
        // Dropped calls are cancelled.
        tasks.shutdown().await;
        shutdown_reply(&mut service, &writer);
        let _ = timeout(WRITING, writer.finish()).await;
    };
    tokio::join!(removed, finishing);
}
