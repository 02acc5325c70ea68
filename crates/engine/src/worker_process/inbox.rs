//! The messages to the isolate of a worker process, which come from the main socket.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::task::{Context, Poll};

use rustix::net::RecvFlags;
use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::messages::Ask;
use crate::spin_wait;
use crate::verify::Verifier;
use crate::worker::protocol::{FromWorker, ToWorker};
use crate::worker::socket::{self, MessageReader, Received};
use crate::worker::{HostLink, HostSender, WorkerState};

/// Message to the isolate: a request or an order, or a ping with its number.
pub(super) enum ToIsolate {
    Ask(Ask),
    Ping(u32),
}

/// State of an inbox without a message.
pub(super) enum NoMessage {
    Empty,
    Closed,
}

/// Reader of the main socket, on the isolate's own thread.
pub(super) struct RequestInbox {
    pub(super) main: Arc<OwnedFd>,
    /// Made by the first poll, because it belongs to the runtime.
    pub(super) events: Option<AsyncFd<Arc<OwnedFd>>>,
    pub(super) reader: MessageReader,
    pub(super) state: Arc<WorkerState>,
    pub(super) link: Arc<HostLink>,
    pub(super) host: Arc<HostSender>,
    pub(super) verifier: Option<Arc<Verifier>>,
}

impl RequestInbox {
    /// Returns the next message, if one is there.
    pub(super) fn try_next(&mut self) -> Result<ToIsolate, NoMessage> {
        loop {
            match self.reader.read(&self.main, RecvFlags::DONTWAIT) {
                Ok(Received::Message(message)) => {
                    if let Some(message) = self.take(message) {
                        return Ok(message);
                    }
                }
                Ok(Received::Nothing) => return Err(NoMessage::Empty),
                Ok(Received::Closed) | Err(_) => return Err(NoMessage::Closed),
            }
        }
    }

    /// Waits for the next message; `None` after the last.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<ToIsolate>> {
        loop {
            match self.try_next() {
                Ok(message) => return Poll::Ready(Some(message)),
                Err(NoMessage::Closed) => return Poll::Ready(None),
                Err(NoMessage::Empty) => {}
            }
            if self.events.is_none() {
                self.events = socket::watch(self.main.clone(), Interest::READABLE).ok();
            }
            let Some(events) = &self.events else {
                return Poll::Ready(None);
            };
            match events.poll_read_ready(cx) {
                Poll::Ready(Ok(mut ready)) => ready.clear_ready(),
                Poll::Ready(Err(_)) => return Poll::Ready(None),
                Poll::Pending => return Poll::Pending,
            }
        }
    }

    /// Answers the ping with that number.
    pub(super) fn answer_ping(&self, number: u32) {
        self.host.send(&FromWorker::Pong(number));
    }

    /// Returns a message for the isolate; handles the others.
    fn take(&self, message: ToWorker) -> Option<ToIsolate> {
        match message {
            ToWorker::Ask(ask) => {
                spin_wait::request_sent_on(self.reader.sent_on());
                if let Some(id) = ask.id() {
                    self.state.requests.expect(id);
                }
                Some(ToIsolate::Ask(ask))
            }
            ToWorker::Ping(number) => Some(ToIsolate::Ping(number)),
            ToWorker::Reply(query, reply) => {
                self.link.replied(query, reply);
                None
            }
            ToWorker::Trust(files) => {
                if let Some(verifier) = &self.verifier {
                    verifier.trust(Arc::new(files.into()));
                }
                None
            }
        }
    }
}
