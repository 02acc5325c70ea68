//! The open connections of one server. If there are too many, one of them is closed for a new one.
//!
//! Idle clients must not block others. So a new connection replaces the one that has been waiting,
//! not reading or only listening for the longest time. A connection on which a request is being
//! answered is never closed for another.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

/// A connection is spared for this time after entering its phase, if others can be closed: a new
/// client needs a moment to send its request.
const GRACE: Duration = Duration::from_secs(1);

/// Response extension for an endless stream that the client can request again: its connection may
/// be closed for another. Responses to GET do not need it.
#[derive(Clone)]
pub(crate) struct Standing;

/// Phase of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for the head of a request.
    Waiting,
    /// It waits for the rest of a request's body.
    Receiving,
    /// A request is being answered.
    Answering,
    /// Events are sent for as long as the client listens.
    Standing,
}

/// The connections of one server.
pub(super) struct Connections {
    limit: usize,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    next: u64,
    connections: HashMap<u64, Arc<Connection>>,
}

/// One connection.
pub(super) struct Connection {
    state: Mutex<State>,
    /// Fires when it is closed for another connection.
    evicted: CancellationToken,
}

struct State {
    phase: Phase,
    since: Instant,
    /// Time since which the client has not read the data that waits for it.
    stuck_since: Option<Instant>,
}

/// Slot of a connection, released when it is dropped.
pub(super) struct Ticket {
    connections: Arc<Connections>,
    id: u64,
    pub(super) connection: Arc<Connection>,
}

impl Connections {
    pub(super) fn new(limit: usize) -> Arc<Connections> {
        Arc::new(Connections {
            limit: limit.max(1),
            open: Mutex::default(),
        })
    }

    /// Returns a slot for a new connection, and closes another connection if necessary. Returns
    /// `None` if every connection is answering a request.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Ticket> {
        let mut open = self.open.lock();
        if open.connections.len() >= self.limit && !open.evict() {
            return None;
        }
        let id = open.next;
        open.next += 1;
        let connection = Arc::new(Connection::new());
        open.connections.insert(id, Arc::clone(&connection));
        Some(Ticket {
            connections: Arc::clone(self),
            id,
            connection,
        })
    }

    /// Closes the connection with the lowest rank, to free its descriptor. Returns false if none
    /// can be closed.
    pub(super) fn evict(&self) -> bool {
        self.open.lock().evict()
    }
}

impl Open {
    fn evict(&mut self) -> bool {
        let now = Instant::now();
        let ranked = self.connections.iter();
        let ranked = ranked.filter_map(|(id, one)| Some((one.rank(now)?, *id)));
        let Some((_, id)) = ranked.min() else {
            return false;
        };
        if let Some(victim) = self.connections.remove(&id) {
            victim.evicted.cancel();
        }
        true
    }
}

impl Connection {
    fn new() -> Connection {
        Connection {
            state: Mutex::new(State {
                phase: Phase::Waiting,
                since: Instant::now(),
                stuck_since: None,
            }),
            evicted: CancellationToken::new(),
        }
    }

    /// Records the phase that begins now.
    pub(super) fn turn(&self, phase: Phase) {
        let mut state = self.state.lock();
        state.phase = phase;
        state.since = Instant::now();
    }

    /// Records whether the client reads what is written to it.
    pub(super) fn note_write(&self, is_stuck: bool) {
        let mut state = self.state.lock();
        state.stuck_since = if is_stuck {
            state.stuck_since.or_else(|| Some(Instant::now()))
        } else {
            None
        };
    }

    pub(super) fn phase(&self) -> Phase {
        self.state.lock().phase
    }

    /// Waits until it is closed for another connection.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// Rank for closing: the smallest is closed first; `None` is never closed.
    fn rank(&self, now: Instant) -> Option<(u8, Instant)> {
        let state = self.state.lock();
        let is_old = |since: Instant| now.duration_since(since) >= GRACE;
        let (phase, since) = (state.phase, state.since);
        Some(match (phase, state.stuck_since) {
            (Phase::Answering, _) => return None,
            (Phase::Waiting, None) if is_old(since) => (0, since),
            (Phase::Receiving, _) if is_old(since) => (1, since),
            (Phase::Standing, Some(stuck)) if is_old(stuck) => (2, stuck),
            (Phase::Standing, _) if is_old(since) => (3, since),
            // The client does not read the end of a response.
            (Phase::Waiting, Some(stuck)) if is_old(stuck) => (4, stuck),
            (Phase::Waiting, None) => (5, since),
            (Phase::Receiving | Phase::Standing, _) => (6, since),
            (Phase::Waiting, Some(_)) => return None,
        })
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connections.open.lock().connections.remove(&self.id);
    }
}
