//! Follows a queued call: its state in the record, and its progress in the messages of its host.

use std::time::Duration;

use serde_json::value::RawValue;
use tokio::time::{Instant, timeout_at};

use haft_tool::{Error, LogLine, Notification, Outcome};

use super::{Queue, QueueEntry, QueuedCall};
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
    /// The record, if it was read and not looked at yet.
    read: Option<QueueEntry>,
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

/// Next event of a call that is followed, or its end.
enum Step {
    Event(QueueEvent),
    Ended(Box<QueueEntry>),
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
            read: None,
            look_at: Instant::now(),
            shown: None,
        }
    }
}

impl Following {
    /// Returns the call as it is now. The next event does not read it again.
    ///
    /// # Errors
    /// As [`next`](Following::next).
    pub async fn read(&mut self) -> Result<&QueueEntry, Error> {
        let read = self.take_read().await?;
        self.is_due = true;
        Ok(self.read.insert(read))
    }

    /// Takes the record that was read, or reads it.
    async fn take_read(&mut self) -> Result<QueueEntry, Error> {
        match self.read.take() {
            Some(read) => Ok(read),
            None => self.queue.read(&self.id).await,
        }
    }

    /// Waits for the end, and returns the call as it is then. Cancel safe.
    ///
    /// # Errors
    /// As [`next`](Following::next).
    pub async fn ended(&mut self) -> Result<QueueEntry, Error> {
        loop {
            if let Step::Ended(entry) = self.step().await? {
                return Ok(*entry);
            }
        }
    }

    /// Waits for the next event. Cancel safe.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](haft_tool::ErrorKind) if there is no such call, or if the server does not
    /// answer.
    pub async fn next(&mut self) -> Result<QueueEvent, Error> {
        match self.step().await? {
            Step::Event(event) => Ok(event),
            Step::Ended(entry) => {
                let ended = self.queue.end_of(&self.id, entry.stored.record()).await;
                Ok(QueueEvent::Ended(ended))
            }
        }
    }

    /// Waits for what comes next. The end comes again whenever it is asked for.
    async fn step(&mut self) -> Result<Step, Error> {
        loop {
            if self.is_due {
                let entry = self.take_read().await?;
                if entry.call.status.is_end() {
                    return Ok(Step::Ended(Box::new(entry)));
                }
                self.is_due = false;
                self.look_at = Instant::now() + LOOK;
                if self.shown.as_ref() != Some(&entry.call) {
                    self.shown = Some(entry.call.clone());
                    return Ok(Step::Event(QueueEvent::State(Box::new(entry.call))));
                }
            }
            match timeout_at(self.look_at, self.news.next()).await {
                Ok(Some(message)) if !message.payload.is_empty() => {
                    if let Some(event) = self.heard(&message) {
                        return Ok(Step::Event(event));
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
