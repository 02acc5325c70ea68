//! Messages of queued calls as a host gets them.
//!
//! The server keeps a message until it is acknowledged. Only an [`EndedRecord`] does that, and nothing else
//! of this package sees the message of the library.

use std::time::Duration;

use async_nats::jetstream::consumer::pull::Batch;
use async_nats::jetstream::{self, AckKind};
use futures::StreamExt;

use super::error::QueueError;
use super::stored::EndedRecord;
use crate::message::Message;
use crate::serve_call::CALL;
use crate::subjects;

/// Beginning of the subjects on which the server takes acknowledgements.
const ACKS: &str = "$JS.ACK.";

/// Messages of one request for calls.
pub(super) struct CallDeliveries {
    messages: Batch,
    /// Name of the stream of calls.
    stream: String,
}

/// A message of a call.
pub(super) struct CallDelivery {
    message: jetstream::Message,
    id: String,
    sequence: u64,
    wire: Message,
}

impl CallDeliveries {
    pub(super) fn new(messages: Batch, stream: String) -> CallDeliveries {
        CallDeliveries { messages, stream }
    }

    /// Waits for the next call. `None` if the server has sent all, or if the message is not one of a call: such
    /// a message is taken out of the stream. Cancel safe.
    pub(super) async fn next(&mut self) -> Option<Result<CallDelivery, QueueError>> {
        match self.messages.next().await? {
            Ok(message) => self.read(message).await.map(Ok),
            Err(error) => Some(Err(QueueError::Server(error))),
        }
    }

    async fn read(&self, message: jetstream::Message) -> Option<CallDelivery> {
        let is_ack = |reply: &str| reply.starts_with(ACKS);
        let info = message.info().ok();
        let info = info.filter(|info| info.stream == self.stream);
        let has_ack = message.reply.as_ref().is_some_and(|reply| is_ack(reply));
        let Some(sequence) = info.map(|info| info.stream_sequence).filter(|_| has_ack) else {
            // Another client has sent it. An answer could be a request to the server.
            tracing::warn!("a message that is not one of the stream of calls is dropped");
            return None;
        };
        let wire = Message::from(message.message.clone());
        let id = wire.headers.get(CALL).filter(|id| subjects::is_token(id));
        let Some(id) = id.map(str::to_owned) else {
            // No haft has written it.
            tracing::warn!(
                subject = wire.subject,
                "a queued message without a call is dropped"
            );
            // Otherwise it comes again.
            let _ = message.ack_with(AckKind::Term).await;
            return None;
        };
        Some(CallDelivery {
            message,
            id,
            sequence,
            wire,
        })
    }
}

impl CallDelivery {
    /// Returns the id of the call.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Returns the number of the message in the stream.
    pub(super) fn sequence(&self) -> u64 {
        self.sequence
    }

    /// Returns the message as it was sent.
    pub(super) fn wire(&self) -> &Message {
        &self.wire
    }

    /// Takes the message of a call that has ended out of the stream.
    pub(super) async fn acknowledge(&self, ended: &EndedRecord) {
        debug_assert_eq!(ended.id(), self.id, "the record is that of the call");
        // If this is lost, the call comes again, and its record says that it has ended.
        let _ = self.message.ack().await;
    }

    /// Says that the call is still handled. Otherwise the server gives it to another host.
    pub(super) async fn keep_alive(&self) {
        let _ = self.message.ack_with(AckKind::Progress).await;
    }

    /// Leaves the call to another host, or to this one later.
    pub(super) async fn leave(&self, delay: Duration) {
        // If this is lost, the server does that after a while.
        let _ = self.message.ack_with(AckKind::Nak(Some(delay))).await;
    }
}
