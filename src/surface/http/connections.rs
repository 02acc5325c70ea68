//! The open connections of one server, and which of them gives way when there are too many.
//!
//! Clients that open connections and say nothing, read nothing or only listen must not keep others
//! out: the one that has done so for the longest time is closed for a new one. A connection on which
//! a request is being answered is never closed for another.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio_util::sync::CancellationToken;

/// A connection that has been in its phase for less than this is spared while there are others: a new
/// client needs a moment to send its request.
const GRACE: Duration = Duration::from_secs(1);

/// Marks an answer that streams without end and can be asked for again (an extension of the response):
/// its connection may be closed for another. Answers to GET need no mark.
#[derive(Clone)]
pub(crate) struct Standing;

/// What a connection is being used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// It waits for the head of a request.
    Waiting,
    /// It waits for the rest of a request's body.
    Receiving,
    /// A request is being answered.
    Answering,
    /// Events are sent, as long as the client listens.
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
    /// Fires when it is closed for another one.
    evicted: CancellationToken,
}

struct State {
    phase: Phase,
    since: Instant,
    /// Since when the client has read nothing of what waits for it.
    stuck_since: Option<Instant>,
}

/// A place among the connections, free again when it is dropped.
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

    /// A place for a new connection, if need be that of another one; `None` if every connection is
    /// answering a request.
    pub(super) fn admit(self: &Arc<Self>) -> Option<Ticket> {
        let mut open = self.open();
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

    /// Closes the connection that can best be spared, for its descriptor; false if there is none.
    pub(super) fn evict(&self) -> bool {
        self.open().evict()
    }

    fn open(&self) -> MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
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

    /// Notes what it is used for from now on.
    pub(super) fn turn(&self, phase: Phase) {
        let mut state = self.state();
        state.phase = phase;
        state.since = Instant::now();
    }

    /// Notes whether the client takes what is written to it.
    pub(super) fn note_write(&self, is_stuck: bool) {
        let mut state = self.state();
        state.stuck_since = match is_stuck {
            true => state.stuck_since.or_else(|| Some(Instant::now())),
            false => None,
        };
    }

    pub(super) fn phase(&self) -> Phase {
        self.state().phase
    }

    /// Waits until it is closed for another one.
    pub(super) async fn evicted(&self) {
        self.evicted.cancelled().await;
    }

    /// How well it can be spared: the smallest is closed first; `None` is never closed.
    fn rank(&self, now: Instant) -> Option<(u8, Instant)> {
        let state = self.state();
        let is_old = |since: Instant| now.duration_since(since) >= GRACE;
        let (phase, since) = (state.phase, state.since);
        Some(match (phase, state.stuck_since) {
            (Phase::Answering, _) => return None,
            (Phase::Waiting, None) if is_old(since) => (0, since),
            (Phase::Receiving, _) if is_old(since) => (1, since),
            (Phase::Standing, Some(stuck)) if is_old(stuck) => (2, stuck),
            (Phase::Standing, _) if is_old(since) => (3, since),
            // The end of an answer that its client does not read.
            (Phase::Waiting, Some(stuck)) if is_old(stuck) => (4, stuck),
            (Phase::Waiting, None) => (5, since),
            (Phase::Receiving | Phase::Standing, _) => (6, since),
            (Phase::Waiting, Some(_)) => return None,
        })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        self.connections.open().connections.remove(&self.id);
    }
}
