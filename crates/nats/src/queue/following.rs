//! Follows a queued call: its state in the record, and its progress in the messages of its host.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use haft_tool::{Error, LogLine, Notification, Outcome};

use super::{Queue, QueuedCall};
use crate::client::Subscription;
use crate::frames::HostFrame;
use crate::message::Message;
use crate::subjects;

/// Time between two looks at the record. A message makes it shorter, and may be lost.
const LOOK: Duration = Duration::from_secs(2);

/// A queued call that is followed to its end. Dropping it does not cancel the call.
pub struct Following {
    queue: Queue,
    id: String,
    news: Subscription,
    /// Set if the record is to be looked at.
    is_due: bool,
    /// Time at which it is looked at in any case.
    look_at: Instant,
    shown: Option<QueuedCall>,
}

/// Event of a queued call.
#[derive(Debug)]
pub enum QueueEvent {
    /// Its state, at first and after each change.
    State(Box<QueuedCall>),
    /// A partial result.
    Update(Box<RawValue>),
    /// A line that it logs.
    Log(LogLine),
    /// A notification for the user.
    Tell(Notification),
    /// Its end, which is the last event.
    Ended(Result<Outcome, Error>),
}

impl Queue {
    /// Follows a call to its end.
    pub async fn follow(&self, id: &str) -> Following {
        // Others may be asked for by what is not a token.
        let subject = if subjects::is_token(id) { id } else { "none" };
        let events = subjects::events(&self.tenant, subject);
        Following {
            news: self.client.subscribe(events).await,
            queue: self.clone(),
            id: id.to_owned(),
            is_due: true,
            look_at: Instant::now(),
            shown: None,
        }
    }
}

impl Following {
    /// Waits for the next event. Cancel safe.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](haft_tool::ErrorKind) if there is no such call, or if the server does not
    /// answer.
    pub async fn next(&mut self) -> Result<QueueEvent, Error> {
        loop {
            if self.is_due {
                let record = self.queue.known(&self.id).await?;
                if record.status.is_end() {
                    let ended = self.queue.end_of(&self.id, record).await;
                    return Ok(QueueEvent::Ended(ended));
                }
                self.is_due = false;
                self.look_at = Instant::now() + LOOK;
                let now = record.shown(&self.id);
                if self.shown.as_ref() != Some(&now) {
                    self.shown = Some(now.clone());
                    return Ok(QueueEvent::State(Box::new(now)));
                }
            }
            match timeout_at(self.look_at, self.news.next()).await {
                Ok(Some(message)) if !message.payload.is_empty() => {
                    if let Some(event) = self.heard(&message) {
                        return Ok(event);
                    }
                }
                _ => self.is_due = true,
            }
        }
    }

    fn heard(&self, message: &Message) -> Option<QueueEvent> {
        let tool = self.shown.as_ref()?.tool.as_str();
        match HostFrame::read(&message.payload, tool) {
            Ok(HostFrame::Update(update)) => Some(QueueEvent::Update(update)),
            Ok(HostFrame::Log(line)) => Some(QueueEvent::Log(line)),
            Ok(HostFrame::Tell(notification)) => Some(QueueEvent::Tell(notification)),
            // A question is in the record.
            Ok(_) => None,
            Err(why) => {
                tracing::warn!(call = self.id, "a host sent what cannot be read: {why}");
                None
            }
        }
    }
}
