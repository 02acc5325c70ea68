//! haft's side of the worker process for scripts and expressions.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::thread;

use haft_process::send_descriptors;
use haft_tool::{Isolation, Permission, PermissionKind, PermissionProfile, TrustDomain};
use rustix::net::{RecvFlags, SendFlags, Shutdown, shutdown};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::unix::AsyncFd;
use tokio::io::{Interest, Ready};

use super::protocol::ScriptJob;
use crate::connection::{BootingWorker, describe_end};
use crate::services::WorkerProcess;
use crate::worker::protocol::WorkerTask;
use crate::worker::socket::{self, MessageReader, Received};
use crate::{EngineOptions, IsolateKey};

/// The worker process of an engine for scripts and expressions, which starts with the first of them.
#[derive(Default)]
pub(crate) struct ScriptWorkers {
    current: tokio::sync::Mutex<Option<Arc<ScriptWorker>>>,
    /// Held while an expression is evaluated.
    pub(super) expression_turn: tokio::sync::Mutex<()>,
}

impl ScriptWorkers {
    /// Starts the process if there is none.
    pub(super) async fn prepare(&self, options: &EngineOptions) {
        let mut current = self.current.lock().await;
        if current.is_none() {
            // The first script tries again and reports a failure.
            *current = ScriptWorker::start(options).await.ok();
        }
    }

    /// Starts a job on a thread of its own. Another process takes the place of one that has ended.
    pub(super) async fn start(
        &self,
        options: &EngineOptions,
        job: &ScriptJob,
    ) -> Result<(Arc<ScriptWorker>, JobSocket), String> {
        let mut current = self.current.lock().await;
        let (worker, mut socket) = match &*current {
            Some(worker) if let Ok(socket) = worker.open() => (worker, socket),
            _ => {
                let worker = current.insert(ScriptWorker::start(options).await?);
                let cannot = |error| format!("cannot connect a worker process: {error}");
                let socket = worker.open().map_err(cannot)?;
                (&*worker, socket)
            }
        };
        socket.send(job);
        Ok((worker.clone(), socket))
    }

    /// Uses another process from now on. The given one ends with its last script.
    pub(super) async fn retire(&self, worker: &Arc<ScriptWorker>) {
        let mut current = self.current.lock().await;
        current.take_if(|current| Arc::ptr_eq(current, worker));
    }

    /// Ends the process with its last script.
    pub(crate) async fn close(&self) {
        *self.current.lock().await = None;
    }
}

/// A worker process that runs scripts and expressions. Dropping it kills the process.
pub(super) struct ScriptWorker {
    main: OwnedFd,
    /// The process does not use it.
    _control: OwnedFd,
    process: Arc<dyn WorkerProcess>,
}

impl ScriptWorker {
    async fn start(options: &EngineOptions) -> Result<Arc<ScriptWorker>, String> {
        let key = IsolateKey {
            domain: TrustDomain::Project,
            permissions: Arc::new(without_permissions()),
            isolation: Isolation::Sandbox,
            code: None,
        };
        let heap_mb = options.heap_mb;
        let task = |_: &dyn WorkerProcess| WorkerTask::Scripts { heap_mb };
        let worker = BootingWorker::start(options, &key, task).await?;
        Ok(Arc::new(ScriptWorker {
            main: worker.main,
            _control: worker.control,
            process: worker.process,
        }))
    }

    fn open(&self) -> io::Result<JobSocket> {
        let (ours, theirs) = socket::pair()?;
        // haft does not wait for a process that reads nothing.
        send_descriptors(&self.main, &[theirs.as_fd()], SendFlags::DONTWAIT)?;
        JobSocket::new(ours)
    }

    /// Returns how the process ended, as a part of a sentence.
    pub(super) async fn describe_end(&self) -> String {
        describe_end(self.process.clone()).await
    }
}

impl Drop for ScriptWorker {
    fn drop(&mut self) {
        self.process.kill();
        let process = self.process.clone();
        // Without the thread, the process is reaped when haft ends.
        let _ = thread::Builder::new()
            .name("haft-script-end".into())
            .spawn(move || process.wait());
    }
}

/// Returns the permissions of scripts and expressions.
fn without_permissions() -> PermissionProfile {
    let mut profile = PermissionProfile::everything();
    for kind in PermissionKind::ALL {
        *profile.of_mut(kind) = Permission::None;
    }
    profile
}

/// Socket to one thread of the process. The thread ends when it is dropped.
pub(super) struct JobSocket {
    socket: AsyncFd<Arc<OwnedFd>>,
    reader: MessageReader,
    /// Packets that the socket had no room for.
    waiting: VecDeque<Vec<u8>>,
}

impl JobSocket {
    fn new(socket: OwnedFd) -> io::Result<JobSocket> {
        Ok(JobSocket {
            socket: socket::watch(Arc::new(socket), Interest::READABLE | Interest::WRITABLE)?,
            reader: MessageReader::default(),
            waiting: VecDeque::new(),
        })
    }

    /// Sends a message. What the socket has no room for is sent by [`JobSocket::receive`].
    pub(super) fn send(&mut self, message: &impl Serialize) {
        self.waiting.extend(socket::packets_of(message));
        socket::send_packets(self.socket.get_ref(), &mut self.waiting);
    }

    /// Tells the thread to end. It can still send.
    pub(super) fn stop(&mut self) {
        self.waiting.clear();
        // A socket that is closed has no reader.
        let _ = shutdown(self.socket.get_ref(), Shutdown::Write);
    }

    /// Waits for the next message; `None` if the process has closed the socket. Cancel safe.
    ///
    /// # Errors
    /// If the bytes are no message.
    pub(super) async fn receive<M: DeserializeOwned>(&mut self) -> io::Result<Option<M>> {
        loop {
            let interest = if self.waiting.is_empty() {
                Interest::READABLE
            } else {
                Interest::READABLE | Interest::WRITABLE
            };
            let mut ready = self.socket.ready(interest).await?;
            if ready.ready().is_writable()
                && !socket::send_packets(ready.get_inner(), &mut self.waiting)
            {
                ready.clear_ready_matching(Ready::WRITABLE);
            }
            if !ready.ready().is_readable() {
                continue;
            }
            match self.reader.read(ready.get_inner(), RecvFlags::DONTWAIT)? {
                Received::Message(message) => return Ok(Some(message)),
                Received::Nothing => ready.clear_ready_matching(Ready::READABLE),
                Received::Closed => return Ok(None),
            }
        }
    }
}
