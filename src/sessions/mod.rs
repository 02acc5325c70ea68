//! Sessions of an agent: a prompt in, what it says and does out, its tools from here (spec aynd 74, 75).
//!
//! An agent is a program. It is told in its own configuration to start `haft serve mcp`, so it
//! calls the tools as every other MCP client does. Many sessions run side by side; a reader that is
//! slow or gone holds up none of them, and the end of the host ends them with all they started.

mod event;
mod log;
mod order;
mod run;
mod stream;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::credentials::random_id;
use crate::error::Error;
use crate::host::Host;
use crate::tool::{Tier, Tool};
pub(crate) use event::Happened;
pub(crate) use log::{Log, Next};
use order::Order;

/// Sessions that have ended are kept so that their events can still be read; so many.
const MOST_ENDED: usize = 50;

/// What a session is asked for. What is not said is as the configuration says.
pub(crate) struct Wish {
    /// What the agent is to do.
    pub(crate) prompt: String,
    /// Where it works: the host's directory or one below it.
    pub(crate) project: Option<PathBuf>,
    /// In the agent's own words.
    pub(crate) permission_mode: Option<String>,
    /// Only these of the host's tools.
    pub(crate) tools: Option<Vec<String>>,
    /// The client that asks for it.
    pub(crate) owner: String,
    /// Which tools that client may give it.
    pub(crate) allows: Arc<dyn Fn(&Tool) -> bool + Send + Sync>,
    /// The highest tier of a call of our tools; `None`: any.
    pub(crate) max_tier: Option<Tier>,
    /// Fires when the client has no right to it any more.
    pub(crate) ended: CancellationToken,
}

/// Why there is no session.
pub(crate) enum Refused {
    /// The user has turned sessions off.
    Off,
    /// So many run already.
    Busy(usize),
    /// The host is ending.
    Ending,
    /// Something about the wish, or about the machine.
    Because(Error),
}

/// How a session is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// One session.
pub(crate) struct Session {
    pub(crate) id: String,
    /// The client that asked for it.
    pub(crate) owner: String,
    pub(crate) prompt: String,
    pub(crate) project: PathBuf,
    pub(crate) permission_mode: String,
    /// The names under which the agent may call the tools.
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) started: SystemTime,
    /// What happened.
    pub(crate) log: Log,
    state: watch::Sender<State>,
    cancel: CancellationToken,
}

/// All sessions of a host. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Sessions(Arc<Inner>);

struct Inner {
    host: Host,
    /// How this haft was told which tools there are, for the one that the agent starts.
    words: Vec<String>,
    places: Arc<Semaphore>,
    closing: CancellationToken,
    known: Mutex<VecDeque<Arc<Session>>>,
}

impl Sessions {
    /// `words`: what a haft is told on its command line that is to have the same tools.
    pub(crate) fn new(host: Host, words: Vec<String>) -> Sessions {
        let most = host.config().sessions.most;
        Sessions(Arc::new(Inner {
            places: Arc::new(Semaphore::new(most)),
            closing: CancellationToken::new(),
            known: Mutex::default(),
            host,
            words,
        }))
    }

    /// Starts the agent. The session goes on whoever listens.
    pub(crate) async fn start(&self, wish: Wish) -> Result<Arc<Session>, Refused> {
        let inner = &self.0;
        let config = inner.host.config();
        if !config.sessions.enabled {
            return Err(Refused::Off);
        }
        if inner.closing.is_cancelled() {
            return Err(Refused::Ending);
        }
        let place = inner.places.clone().try_acquire_owned();
        let place = place.map_err(|_| Refused::Busy(config.sessions.most))?;
        // Not to be guessed; who may ask at all is for the surface.
        let id = random_id();
        let (owner, ended) = (wish.owner.clone(), wish.ended.clone());
        let catalog = inner.host.catalog().await;
        let order = Order::new(config, &catalog, &inner.words, wish, &id);
        let order = order.map_err(Refused::Because)?;
        let session = Arc::new(Session {
            id,
            owner,
            prompt: order.prompt.clone(),
            project: order.project.clone(),
            permission_mode: order.permission_mode.clone(),
            allowed_tools: order.allowed_tools.clone(),
            started: SystemTime::now(),
            log: Log::new(),
            state: watch::Sender::new(State::Running),
            cancel: inner.closing.child_token(),
        });
        let started = run::start(order, &session.cancel).await;
        let started = started.map_err(Refused::Because)?;
        self.remember(session.clone());
        let running = session.clone();
        tokio::spawn(async move {
            let following = run::follow(started, &running.log, &running.cancel);
            tokio::pin!(following);
            let state = tokio::select! {
                state = &mut following => state,
                () = ended.cancelled() => {
                    running.cancel();
                    following.await
                }
            };
            // Whoever hears the end may start another one at once.
            drop(place);
            running.state.send_replace(state);
            running.log.close();
        });
        Ok(session)
    }

    /// The session of that id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.known().iter().find(|one| one.id == id).cloned()
    }

    /// All that are known, the newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.known().iter().rev().cloned().collect()
    }

    /// Ends all of them with everything they started, and waits until they have.
    pub(crate) async fn shutdown(&self) {
        self.0.closing.cancel();
        for session in self.all() {
            session.ended().await;
        }
    }

    fn remember(&self, session: Arc<Session>) {
        let mut known = self.known();
        known.push_back(session);
        let is_ended = |one: &Arc<Session>| one.state() != State::Running;
        while known.iter().filter(|one| is_ended(one)).count() > MOST_ENDED {
            let Some(oldest) = known.iter().position(is_ended) else {
                break;
            };
            known.remove(oldest);
        }
    }

    fn known(&self) -> std::sync::MutexGuard<'_, VecDeque<Arc<Session>>> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Session {
    /// How it is now.
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Ends it with everything it started. Its last event says so.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) {
        let mut state = self.state.subscribe();
        // The sender lives as long as `self`.
        let _ = state.wait_for(|state| *state != State::Running).await;
    }
}

impl State {
    /// Its name on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            State::Running => "running",
            State::Completed => "completed",
            State::Failed => "failed",
            State::Cancelled => "cancelled",
        }
    }
}
