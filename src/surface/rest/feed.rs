//! What happened lately, as frames, for whoever listens at `/api/events`.
//!
//! One ring for each client and a place in it for each listener: a slow one costs nothing and misses what
//! has left the ring, which it is told. The ids begin with a word of this process, so that a listener
//! of an earlier one is not taken for up to date.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use axum::body::Bytes;
use futures::{Stream, stream};
use serde::Serialize;
use serde_json::json;
use tokio::sync::watch;

use crate::surface::http::{Client, sse};

/// So many events stay.
const MOST: usize = 1024;
/// So many bytes of them stay.
const MOST_BYTES: usize = 1 << 20;

/// The events of one server, by the clients that may know of them. Even their numbers would tell one
/// client of another.
#[derive(Default)]
pub(super) struct Feeds {
    user: Arc<Feed>,
    /// By the ids of the clients that have asked for theirs.
    others: Mutex<HashMap<String, Other>>,
}

struct Other {
    client: Arc<Client>,
    feed: Arc<Feed>,
}

impl Feeds {
    /// What a client may hear.
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

    /// Tells the user.
    pub(super) fn publish(&self, event: &str, data: &impl Serialize) {
        self.user.publish(event, data);
    }

    /// Tells a client and the user of something that is the client's.
    pub(super) fn publish_for(&self, owner: &str, event: &str, data: &impl Serialize) {
        self.user.publish(event, data);
        if let Some(other) = self.others().get(owner) {
            other.feed.publish(event, data);
        }
    }

    /// Tells each client, and the user, what `data` gives for it.
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

    /// Those whose token is still valid.
    fn others(&self) -> MutexGuard<'_, HashMap<String, Other>> {
        let mut others = self.others.lock().unwrap_or_else(PoisonError::into_inner);
        others.retain(|_, other| !other.client.ended().is_cancelled());
        others
    }
}

/// The events that one client may know of.
pub(super) struct Feed {
    /// This process, in the ids.
    life: String,
    ring: Mutex<Ring>,
    /// The number of the next event.
    next: watch::Sender<u64>,
}

#[derive(Default)]
struct Ring {
    /// The number of the first frame.
    first: u64,
    frames: VecDeque<Bytes>,
    bytes: usize,
}

/// Where a listener is.
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
    /// Tells whoever listens.
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
        while ring.frames.len() > MOST || (ring.bytes > MOST_BYTES && ring.frames.len() > 1) {
            let gone = ring.frames.pop_front().map_or(0, |frame| frame.len());
            ring.bytes -= gone;
            ring.first += 1;
        }
        drop(ring);
        self.next.send_replace(number + 1);
    }

    /// What comes from now on; after `last_id` if that is one of ours and nothing since is lost.
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
        // With an id, so that whoever hears nothing more can still come back to this place.
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

    /// No code that holds the lock can panic, so a poisoned one is still whole.
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
