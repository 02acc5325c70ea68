//! The age of calls that a host reads: its caller may have given up an old one.
//!
//! A host that was stopped or cut off reads later what came for it meanwhile. What a server sends to a
//! client arrives in its order, so what a host reads after an echo of its own has left the server after
//! that echo was sent. Echoes cost the calls nothing: only one that may be too old is asked for.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::mpsc;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval};

use crate::client::{Client, Feed};
use crate::message::{Headers, Message};
use crate::subjects;

/// Interval of echoes. It is short beside half of the time after which callers give up a host.
const ECHO_INTERVAL: Duration = Duration::from_millis(500);

/// Time for which a delay counts after its end. Subscriptions have channels of their own, so an older
/// call can be read after a newer echo; it is read long before that time is over.
const DELAY_WINDOW: Duration = Duration::from_secs(10);

/// Number of echoes that are awaited.
const MAX_AWAITED: usize = 16;

/// The highest age of what a host reads now. Reading it costs two atomics.
pub(crate) struct Freshness {
    since: Instant,
    /// When the newest echo that came back was sent, in milliseconds. Before the first one nothing was
    /// subscribed.
    echoed: AtomicU64,
    /// The longest delay of the last time, in milliseconds.
    delay: AtomicU64,
}

impl Freshness {
    fn new() -> Freshness {
        Freshness {
            since: Instant::now(),
            echoed: AtomicU64::new(0),
            delay: AtomicU64::new(0),
        }
    }

    /// Returns true if what is read now may have left the server longer ago than that.
    pub(crate) fn may_be_older_than(&self, limit: Duration) -> bool {
        // In the reverse order of `note`: a new echo is not seen without the delay before it.
        let age = self.age();
        let delay = self.delay.load(Ordering::Acquire);
        age.max(delay) > millis(limit)
    }

    /// Returns the time since the newest echo that came back was sent, in milliseconds.
    fn age(&self) -> u64 {
        let echoed = self.echoed.load(Ordering::Acquire);
        millis(self.since.elapsed()).saturating_sub(echoed)
    }

    fn note(&self, sent: Instant, delay: u64) {
        self.delay.store(delay, Ordering::Release);
        let sent = millis(sent.duration_since(self.since));
        self.echoed.store(sent, Ordering::Release);
    }
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// The echoes of a host.
pub(crate) struct Echoes {
    freshness: Arc<Freshness>,
    client: Client,
    tenant: String,
    /// Beginning of the subjects on which they come back.
    inbox: String,
    /// The names of those that did not come back, and when they were sent.
    awaited: VecDeque<(String, Instant)>,
    /// When the delays of the last time ended, and their milliseconds.
    delays: VecDeque<(Instant, u64)>,
    /// Set until the server refuses what the host publishes for itself.
    may_be_direct: bool,
    ticks: Interval,
    _feed: Feed,
}

impl Echoes {
    /// Subscribes to the echoes of a host, which come with its calls. Nothing else may be subscribed
    /// before.
    pub(crate) async fn new(client: &Client, tenant: &str, to: mpsc::Sender<Message>) -> Echoes {
        let freshness = Arc::new(Freshness::new());
        let inbox = subjects::echoes(tenant, &subjects::new_id());
        let mut ticks = interval(ECHO_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Echoes {
            freshness,
            _feed: client.feed(format!("{inbox}*"), None, to).await,
            client: client.clone(),
            tenant: tenant.to_owned(),
            inbox,
            awaited: VecDeque::new(),
            delays: VecDeque::new(),
            may_be_direct: true,
            ticks,
        }
    }

    /// Returns what they tell.
    pub(crate) fn freshness(&self) -> Arc<Freshness> {
        self.freshness.clone()
    }

    /// Waits until the next one is to be sent. Cancel safe.
    pub(crate) async fn tick(&mut self) {
        self.ticks.tick().await;
    }

    /// Sends one.
    pub(crate) fn send(&mut self) {
        if !self.client.is_connected() {
            return;
        }
        // Its name is new, so that no other client can send it back before.
        let name = subjects::new_id();
        let back = format!("{}{name}", self.inbox);
        // No client listens to the events of a call of that name, and the server says so: a host needs no
        // further right for it. If the last one did not come back, a client may listen to all events.
        let is_direct = self.may_be_direct && !self.awaited.is_empty();
        let (to, reply) = if is_direct {
            (back, None)
        } else {
            (subjects::events(&self.tenant, &name), Some(back.as_str()))
        };
        if self.awaited.len() == MAX_AWAITED {
            self.awaited.pop_front();
        }
        self.awaited.push_back((name, Instant::now()));
        self.client
            .publish(to, reply, Headers::default(), Bytes::new());
    }

    /// Takes a message if it is an echo. Who has made it back does not matter: its name says when it was
    /// sent.
    pub(crate) fn receive(&mut self, subject: &str) -> bool {
        let Some(name) = subject.strip_prefix(&self.inbox) else {
            return false;
        };
        let found = self.awaited.iter().position(|(awaited, _)| awaited == name);
        if let Some(index) = found {
            let (_, sent) = self.awaited[index];
            self.awaited.drain(..=index);
            self.note(sent);
        }
        true
    }

    fn note(&mut self, sent: Instant) {
        let now = Instant::now();
        // What was read just before this one could be as old as that.
        self.delays.push_back((now, self.freshness.age()));
        self.delays.retain(|(ended, _)| now - *ended < DELAY_WINDOW);
        let longest = self.delays.iter().map(|(_, delay)| *delay).max();
        self.freshness.note(sent, longest.unwrap_or_default());
    }

    /// Notes that the host may not publish to a subject.
    pub(crate) fn refused(&mut self, subject: &str) {
        if subject.starts_with(&self.inbox) {
            self.may_be_direct = false;
        }
    }
}
