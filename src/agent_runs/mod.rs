//! Agent sessions: a prompt goes in, events come out, and the tools are those of this host (spec
//! aynd 74, 75).
//!
//! An agent is a program. Its configuration makes it start `haft serve mcp`, so it calls tools like
//! every other MCP client. Many sessions run in parallel. A slow or vanished reader delays none of
//! them. The shutdown of the host ends all sessions and everything that they started.

mod event;
mod launch_plan;
mod run;
mod stream;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::SystemTime;

use parking_lot::Mutex;
use tokio::sync::{Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::credentials::random_id;
use crate::host::Host;
pub(crate) use event::Happened;
use event::SessionLog;
use haft_tool::Error;
use haft_tool::{Tier, Tool};
use launch_plan::Order;

/// Maximum number of ended sessions that are kept so that their events can still be read.
const MAX_ENDED_RUNS: usize = 50;

/// Request for a session. Missing values come from the configuration.
pub(crate) struct Wish {
    /// Prompt for the agent.
    pub(crate) prompt: String,
    /// Working directory: the host's directory, one of `sessions.directories`, or a directory below
    /// one of these.
    pub(crate) project: Option<PathBuf>,
    /// Permission mode, as the agent names it.
    pub(crate) permission_mode: Option<String>,
    /// Names of the host's tools that the agent may use; `None` for all.
    pub(crate) tools: Option<Vec<String>>,
    /// Client that requests the session.
    pub(crate) owner: String,
    /// Filter for the tools that this client may pass on to the session.
    pub(crate) allows: Arc<dyn Fn(&Tool) -> bool + Send + Sync>,
    /// Highest tier that a call of our tools may have; `None` for any.
    pub(crate) max_tier: Option<Tier>,
    /// Fires when the client loses its right to the session.
    pub(crate) ended: CancellationToken,
}

/// Reasons for which a session is refused.
pub(crate) enum Refused {
    /// The user has turned sessions off.
    Off,
    /// This many sessions run already, which is the limit.
    Busy(usize),
    /// The host is shutting down.
    Ending,
    /// The request is invalid, or the machine cannot serve it.
    Because(Error),
}

/// State of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum State {
    Running,
    Completed,
    Failed,
    Cancelled,
}

/// One session.
pub(crate) struct Session {
    pub(crate) id: String,
    /// Client that requested the session.
    pub(crate) owner: String,
    pub(crate) prompt: String,
    pub(crate) project: PathBuf,
    pub(crate) permission_mode: String,
    /// Names under which the agent may call the tools.
    pub(crate) allowed_tools: Vec<String>,
    pub(crate) started: SystemTime,
    /// Events of the session so far.
    pub(crate) log: SessionLog,
    state: watch::Sender<State>,
    cancel: CancellationToken,
}

/// Registry of a host's sessions. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Sessions(Arc<Inner>);

struct Inner {
    host: Host,
    /// Command line options that give the agent's own haft the same tools as this one.
    words: Vec<String>,
    places: Arc<Semaphore>,
    closing: CancellationToken,
    known: Mutex<VecDeque<Arc<Session>>>,
}

impl Sessions {
    /// Creates the registry. `words` are the command line options that give another haft the same
    /// tools.
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

    /// Starts the agent. The session runs on without any reader.
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
        // The id cannot be guessed. The surface checks which client may use it.
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
            log: SessionLog::start(),
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
            // A client that sees the end may start another session at once, so free the place
            // first.
            drop(place);
            running.state.send_replace(state);
            running.log.close();
        });
        Ok(session)
    }

    /// Returns the session with that id.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Session>> {
        self.0.known.lock().iter().find(|one| one.id == id).cloned()
    }

    /// Returns all known sessions, the newest first.
    pub(crate) fn all(&self) -> Vec<Arc<Session>> {
        self.0.known.lock().iter().rev().cloned().collect()
    }

    /// Ends all sessions with everything that they started, and waits for their end.
    pub(crate) async fn shutdown(&self) {
        self.0.closing.cancel();
        for session in self.all() {
            session.ended().await;
        }
    }

    fn remember(&self, session: Arc<Session>) {
        let mut known = self.0.known.lock();
        known.push_back(session);
        let is_ended = |one: &Arc<Session>| one.state() != State::Running;
        while known.iter().filter(|one| is_ended(one)).count() > MAX_ENDED_RUNS {
            let Some(oldest) = known.iter().position(is_ended) else {
                break;
            };
            known.remove(oldest);
        }
    }
}

impl Session {
    /// Returns the current state.
    pub(crate) fn state(&self) -> State {
        *self.state.borrow()
    }

    /// Cancels the session and everything that it started. Its last event reports the cancellation.
    pub(crate) fn cancel(&self) {
        self.cancel.cancel();
    }

    /// Waits for the end of the session.
    pub(crate) async fn ended(&self) {
        let mut state = self.state.subscribe();
        // `self` owns the sender, so this cannot fail while `self` exists.
        let _ = state.wait_for(|state| *state != State::Running).await;
    }
}

impl State {
    /// Returns the name of the state on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}
