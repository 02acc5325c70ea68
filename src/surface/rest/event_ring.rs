//! Recent events as frames, for the listeners at `/api/events`.
//!
//! Each client has a log of events, and each listener a position in it. Event ids begin with an id
//! of this process, so that ids of an earlier process are recognized as outdated.

use std::collections::HashMap;
use std::sync::Arc;

use axum::body::Bytes;
use futures::{Stream, StreamExt, stream};
use parking_lot::{Mutex, MutexGuard};
use serde::Serialize;
use serde_json::json;

use crate::event_log::{EventLog, Next};
use crate::surface::http::{Client, sse};
use haft_tool::since_1970;

/// Limit of the events in a ring.
const MAX_EVENTS: usize = 1024;
/// Limit of the bytes in a ring.
const MAX_BYTES: usize = 1 << 20;

/// The events of one server, separately for each client. Shared event numbers would reveal the
/// activity of other clients.
#[derive(Default)]
pub(super) struct Feeds {
    user: Arc<Feed>,
    /// Feeds of the clients that have requested events, by client id.
    others: Mutex<HashMap<String, Other>>,
}

struct Other {
    client: Arc<Client>,
    feed: Arc<Feed>,
}

impl Feeds {
    /// Returns the feed of a client.
    pub(super) fn of(&self, client: &Arc<Client>) -> Arc<Feed> {
        if client.is_user() {
            return Arc::clone(&self.user);
        }
        let mut others = self.others();
        let other = others
            .entry(client.id().to_owned())
            .or_insert_with(|| Other {
                client: Arc::clone(client),
                feed: Arc::default(),
            });
        Arc::clone(&other.feed)
    }

    /// Publishes an event to the user.
    pub(super) fn publish(&self, event: &str, data: &impl Serialize) {
        self.user.publish(event, data);
    }

    /// Publishes an event about a client's call to this client and to the user.
    pub(super) fn publish_for(&self, owner: &str, event: &str, data: &impl Serialize) {
        self.user.publish(event, data);
        if let Some(other) = self.others().get(owner) {
            other.feed.publish(event, data);
        }
    }

    /// Publishes to the user and to each client the value that `data` returns for it.
    pub(super) fn publish_to_each<T: Serialize>(
        &self,
        event: &str,
        data: impl Fn(Option<&Client>) -> Option<T>,
    ) {
        if let Some(data) = data(None) {
            self.user.publish(event, &data);
        }
        for other in self.others().values() {
            if let Some(data) = data(Some(&*other.client)) {
                other.feed.publish(event, &data);
            }
        }
    }

    /// Returns the feeds whose tokens are still valid.
    fn others(&self) -> MutexGuard<'_, HashMap<String, Other>> {
        let mut others = self.others.lock();
        others.retain(|_, other| !other.client.ended().is_cancelled());
        others
    }
}

/// The events that one client may see.
pub(super) struct Feed {
    /// Id of this process in the event ids.
    process: String,
    frames: EventLog<Bytes>,
}

impl Default for Feed {
    fn default() -> Self {
        Feed {
            process: format!("{:x}", since_1970().as_micros()),
            frames: EventLog::new(MAX_EVENTS, MAX_BYTES),
        }
    }
}

impl Feed {
    /// Publishes an event to the listeners.
    fn publish(&self, event: &str, data: &impl Serialize) {
        match serde_json::to_string(data) {
            Ok(data) => self.frames.add(|number| {
                let frame = sse::frame(event, Some(&self.id(number)), &data);
                let size = frame.len();
                (frame, size)
            }),
            Err(error) => tracing::error!(%error, "an event cannot be written as JSON"),
        }
    }

    /// Returns the events from now on. Continues after `last_id` if this id is known and no later
    /// event is lost.
    pub(super) fn listen(
        self: &Arc<Self>,
        last_id: Option<&str>,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let readable = self.frames.readable();
        let resumed = last_id.and_then(|id| self.number(id)).map(|last| last + 1);
        let resumed = resumed.filter(|at| readable.contains(at));
        let at = resumed.unwrap_or(*readable.end());
        // The first frame has an id, so that a listener that receives no further event can still
        // resume here.
        let id = at.checked_sub(1).map(|last| self.id(last));
        let data = json!({ "resumed": resumed.is_some() }).to_string();
        let ready = sse::frame("ready", id.as_deref(), &data);
        let rest = stream::unfold((Arc::clone(self), at), |(feed, at)| async move {
            let (frame, next) = match feed.frames.next(at).await {
                Next::Event(frame) => (frame, at + 1),
                Next::Gap(first) => {
                    let data = json!({ "missed": first - at }).to_string();
                    (sse::frame("missed", None, &data), first)
                }
                Next::End => return None,
            };
            Some((frame, (feed, next)))
        });
        stream::iter([ready]).chain(rest)
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.process)
    }

    fn number(&self, id: &str) -> Option<u64> {
        let (process, number) = id.trim().rsplit_once('-')?;
        let number: u64 = number.parse().ok()?;
        (process == self.process && number < u64::MAX).then_some(number)
    }
}
