//! The worker process for scripts and expressions.
//!
//! Each script has a thread, an isolate and a context of its own. There are no ops, no Deno, no
//! modules, no code from text, no WebAssembly and no shared memory. The globals are those of the
//! language, and the few of `globals.js`.
//!
//! A script ends when its function has returned and nothing that it has started is open: neither a
//! call nor a timer. It is terminated when it exceeds one of its limits, and when haft stops to write
//! to its socket.

mod clock;
mod compile;
mod expressions;
mod isolate;

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};
use std::thread;
use std::time::Instant;

use deno_core::v8;
use haft_process::receive_descriptors;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::net::RecvFlags;

use crate::boot::{self, Unconfigured};
use crate::platform::Threads;
use crate::script::protocol::{ScriptJob, ScriptReply, ScriptReport};
use crate::script::{ScriptEvent, ScriptFailure};
use crate::worker::HostSender;
use crate::worker::socket::{MessageReader, Received};
use expressions::{ExpressionJob, ExpressionThread};

/// Stack for V8's own limit on recursion and for the Rust frames below it.
const STACK_SIZE: usize = 4 << 20;

/// Starts a thread for each socket that comes through `main`, until haft's process has gone.
/// `isolate` was made before the process was forked; it runs nothing.
///
/// All isolates of a process share one read-only heap, which comes from the snapshot of the first.
/// Ours extends V8's own. So an isolate of either kind can use the heap of ours, but the heap of V8's
/// own lacks objects of ours, and V8 would abort the process. The heap is freed with the last isolate,
/// so one isolate with our snapshot stays for the life of the process.
///
/// # Errors
/// If `main` fails.
pub(super) fn serve(main: &OwnedFd, heap_mb: u32, isolate: Option<Unconfigured>) -> io::Result<()> {
    boot::start_v8(heap_mb, Threads::Several);
    let _isolate = isolate.unwrap_or_else(|| Unconfigured::new(heap_mb));
    let expression_thread = Arc::new(ExpressionThread::default());
    while let Some(sockets) = receive_descriptors(main)? {
        for socket in sockets {
            let expression_thread = expression_thread.clone();
            let serve = move || serve_job(socket, &expression_thread);
            // Without the thread, haft sees that the socket is closed.
            let _ = thread::Builder::new()
                .name("haft-script".into())
                .stack_size(STACK_SIZE)
                .spawn(serve);
        }
    }
    exit()
}

/// Ends the process although scripts run.
#[allow(
    clippy::disallowed_methods,
    reason = "haft's process has gone, and nobody waits for the exit code"
)]
fn exit() -> ! {
    std::process::exit(0)
}

/// Does what the first message of the socket says.
fn serve_job(socket: OwnedFd, expression_thread: &ExpressionThread) {
    let Ok(host) = socket.try_clone().map(HostSender::new) else {
        return;
    };
    let host = Arc::new(host);
    let mut reader = MessageReader::default();
    match reader.read(&socket, RecvFlags::empty()) {
        Ok(Received::Message(ScriptJob::Run { source, limits })) => {
            let control = Arc::new(ScriptControl {
                failure: OnceLock::new(),
                isolate: OnceLock::new(),
                host,
            });
            let mut inbox = ScriptInbox { socket, reader };
            if let Err(failure) = isolate::run(&source, limits, &control, &mut inbox) {
                control.finish(Err(failure));
            }
        }
        Ok(Received::Message(ScriptJob::Evaluate(expression))) => {
            expression_thread.evaluate(ExpressionJob { expression, host });
        }
        // haft has given it up, or is another version.
        Ok(Received::Nothing | Received::Closed) | Err(_) => {}
    }
}

/// Control of a script: it is ended by several threads, and reports to haft.
struct ScriptControl {
    failure: OnceLock<ScriptFailure>,
    isolate: OnceLock<v8::IsolateHandle>,
    host: Arc<HostSender>,
}

impl ScriptControl {
    /// Ends the script. The first reason counts.
    fn end(&self, failure: ScriptFailure) {
        if self.failure.set(failure.clone()).is_err() {
            return;
        }
        if let Some(isolate) = self.isolate.get() {
            isolate.terminate_execution();
        }
        self.host.send(&ScriptReport::Ending(failure));
        // The thread may wait for a reply.
        self.host.stop_reading();
    }

    fn is_ending(&self) -> bool {
        self.failure.get().is_some()
    }

    /// Reports the end of the script, unless it was terminated for another reason.
    fn finish(&self, ended: Result<Option<String>, ScriptFailure>) {
        let ended = match self.failure.get() {
            Some(failure) => Err(failure.clone()),
            None => ended,
        };
        // Nothing ends it any more.
        let _ = self.failure.set(ScriptFailure::Cancelled);
        self.host
            .send(&ScriptReport::Event(ScriptEvent::Ended(ended)));
        self.host.stop_reading();
    }
}

/// Replies of haft to one script.
struct ScriptInbox {
    socket: OwnedFd,
    reader: MessageReader,
}

/// Result of a wait for a reply.
enum Waited {
    Reply(ScriptReply),
    TimedOut,
    /// haft has stopped the script, or nothing that it sends can be read.
    Closed,
}

impl ScriptInbox {
    /// Returns a reply that is there already.
    fn take(&mut self) -> Option<ScriptReply> {
        match self.reader.read(&self.socket, RecvFlags::DONTWAIT) {
            Ok(Received::Message(reply)) => Some(reply),
            Ok(Received::Nothing | Received::Closed) | Err(_) => None,
        }
    }

    /// Waits for a reply until `deadline`.
    fn wait(&mut self, deadline: Option<Instant>) -> Waited {
        if let Some(deadline) = deadline {
            let left = deadline.saturating_duration_since(Instant::now());
            // The delays of timers are shorter than what the system can wait for.
            let left = Timespec::try_from(left).ok();
            let mut sockets = [PollFd::new(&self.socket, PollFlags::IN)];
            let is_ready = poll(&mut sockets, left.as_ref());
            if !matches!(is_ready, Ok(1..)) {
                return Waited::TimedOut;
            }
        }
        match self.reader.read(&self.socket, RecvFlags::empty()) {
            Ok(Received::Message(reply)) => Waited::Reply(reply),
            Ok(Received::Nothing) => Waited::TimedOut,
            Ok(Received::Closed) | Err(_) => Waited::Closed,
        }
    }
}
