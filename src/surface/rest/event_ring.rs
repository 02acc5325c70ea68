//! Recent events as frames, for the listeners at `/api/events`.
//!
//! Each client has a ring of events, and each listener a position in it. A slow listener costs
//! nothing: it misses the events that left the ring, and is notified of that. Event ids begin with
//! an id of this process, so that ids of an earlier process are recognized as outdated.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use futures::{Stream, stream};
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;

use crate::surface::http::{Client, sse};

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
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.retain(|_, other| !other.client.ended().is_cancelled());
        others
    }
}

/// The events that one client may see.
pub(super) struct Feed {
    /// Id of this process in the event ids.
    life: String,
    ring: Mutex<Ring>,
    /// Number of the next event.
    next: watch::Sender<u64>,
}

#[derive(Default)]
struct Ring {
    /// Number of the first frame.
    first: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
}

/// Position of a listener.
struct Place {
    feed: Arc<Feed>,
    at: u64,
    news: watch::Receiver<u64>,
    greeting: Option<Bytes>,
}

impl Default for Feed {
    fn default() -> Self {
        let since = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default();
        Feed {
            life: format!("{:x}", since.as_micros()),
            ring: Mutex::default(),
            next: watch::Sender::new(0),
        }
    }
}

impl Feed {
    /// Publishes an event to the listeners.
    fn publish(&self, event: &str, data: &impl Serialize) {
        let data = match serde_json::to_string(data) {
            Ok(data) => data,
            Err(error) => {
                tracing::error!(%error, "an event cannot be written as JSON");
                return;
            }
        };
        let mut ring = self.ring();
        let number = ring.first + ring.frames.len() as u64;
        let frame = sse::frame(event, Some(&self.id(number)), &data);
        ring.bytes += frame.len();
        ring.frames.push_back(frame);
        while ring.frames.len() > MAX_EVENTS || (ring.bytes > MAX_BYTES && ring.frames.len() > 1) {
            let gone = ring.frames.pop_front().map_or(0, |frame| frame.len());
            ring.bytes -= gone;
            ring.first += 1;
        }
        drop(ring);
        self.next.send_replace(number + 1);
    }

    /// Returns the events from now on. Continues after `last_id` if this id is known and no later
    /// event is lost.
    pub(super) fn listen(
        self: &Arc<Self>,
        last_id: Option<&str>,
    ) -> impl Stream<Item = Bytes> + Send + 'static {
        let news = self.next.subscribe();
        let ring = self.ring();
        let end = ring.first + ring.frames.len() as u64;
        let resumed = last_id.and_then(|id| self.number(id)).map(|last| last + 1);
        let resumed = resumed.filter(|at| (ring.first..=end).contains(at));
        drop(ring);
        let at = resumed.unwrap_or(end);
        // The first frame has an id, so that a listener that receives no further event can still
        // resume here.
        let id = at.checked_sub(1).map(|last| self.id(last));
        let data = json!({ "resumed": resumed.is_some() }).to_string();
        let place = Place {
            feed: Arc::clone(self),
            at,
            news,
            greeting: Some(sse::frame("ready", id.as_deref(), &data)),
        };
        stream::unfold(place, |mut place| async {
            let frame = place.next().await?;
            Some((frame, place))
        })
    }

    fn id(&self, number: u64) -> String {
        format!("{}-{number}", self.life)
    }

    fn number(&self, id: &str) -> Option<u64> {
        let (life, number) = id.trim().rsplit_once('-')?;
        let number: u64 = number.parse().ok()?;
        (life == self.life && number < u64::MAX).then_some(number)
    }

    /// Code that holds the lock cannot panic, so the data of a poisoned lock is still consistent.
    fn ring(&self) -> MutexGuard<'_, Ring> {
        self.ring.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Place {
    async fn next(&mut self) -> Option<Bytes> {
        if let Some(greeting) = self.greeting.take() {
            return Some(greeting);
        }
        let at = self.at;
        self.news.wait_for(|next| *next > at).await.ok()?;
        let ring = self.feed.ring();
        if at < ring.first {
            self.at = ring.first;
            let data = json!({ "missed": ring.first - at }).to_string();
            return Some(sse::frame("missed", None, &data));
        }
        let place = usize::try_from(at - ring.first).ok()?;
        self.at += 1;
        ring.frames.get(place).cloned()
    }
}
