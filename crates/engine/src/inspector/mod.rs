//! Debugging of isolates by the protocol of V8's inspector, which Chrome and VS Code speak.
//!
//! The [`Inspector`] of an engine lists its isolates, and connects a debugger to one of them. The
//! sessions of an isolate in a worker process go through the sockets of the worker, so a worker
//! opens no port.
//!
//! A paused isolate waits inside V8: it takes no request, answers no ping and runs no timer.
//! [`Target`] notes that, so that the clocks of its calls stand still and nothing takes the isolate
//! for one that hangs.

mod profile;
mod sessions;

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, Weak};

use deno_core::InspectorMsg;
use futures::StreamExt;
use futures::channel::mpsc::{UnboundedReceiver, UnboundedSender, unbounded};
use tokio::sync::watch;
use url::Url;

use super::isolate::Shared;
use super::lock;
use haft_tool::Updates;
pub(super) use profile::Profiler;
pub(super) use sessions::Sessions;

/// The isolates of an engine to which debuggers can attach.
#[derive(Default)]
pub struct Inspector {
    isolates: Mutex<Vec<Weak<Shared>>>,
}

/// An isolate to which a debugger can attach.
#[derive(Clone, Debug)]
pub struct InspectedIsolate {
    /// Id that no one can guess. It stays the same as long as the isolate lives.
    pub id: String,
    /// The names of the files of its modules.
    pub title: String,
    /// The URL of its first module; empty before one is loaded.
    pub url: String,
}

/// Connection of a debugger to an isolate. Ends the session when it is dropped.
pub struct InspectorSession {
    shared: Arc<Shared>,
    id: u32,
    messages: UnboundedReceiver<InspectorMsg>,
}

impl Inspector {
    /// Adds an isolate that is ready.
    pub(super) fn add(&self, isolate: &Arc<Shared>) {
        let mut isolates = lock(&self.isolates);
        isolates.retain(|isolate| isolate.upgrade().is_some_and(|isolate| !isolate.is_gone()));
        isolates.push(Arc::downgrade(isolate));
    }

    /// Returns the isolates that run now, the oldest first.
    pub fn isolates(&self) -> Vec<InspectedIsolate> {
        let targets = self.targets();
        targets.map(|(_, target)| target.description()).collect()
    }

    /// Connects a debugger to the isolate with that id; `None` if there is none.
    pub fn connect(&self, id: &str) -> Option<InspectorSession> {
        let (shared, target) = self.targets().find(|(_, target)| target.id == id)?;
        let session = target.next_session.fetch_add(1, Ordering::Relaxed);
        let (outgoing, messages) = unbounded();
        match (shared.connection(), &shared.sessions) {
            (Some(connection), _) => {
                lock(&target.outgoing).insert(session, outgoing);
                connection.open_inspector(session);
            }
            (None, Some(sessions)) => sessions.open(session, outgoing),
            (None, None) => return None,
        }
        Some(InspectorSession {
            shared,
            id: session,
            messages,
        })
    }

    fn targets(&self) -> impl Iterator<Item = (Arc<Shared>, Arc<Target>)> {
        let isolates = lock(&self.isolates).clone().into_iter();
        isolates
            .filter_map(|isolate| isolate.upgrade())
            .filter(|isolate| !isolate.is_gone())
            .filter_map(|isolate| {
                let target = isolate.target.clone()?;
                Some((isolate, target))
            })
    }
}

impl InspectorSession {
    /// Sends a message of the debugger.
    pub fn send(&self, message: String) {
        match (self.shared.connection(), &self.shared.sessions) {
            (Some(connection), _) => connection.inspect(self.id, message),
            (None, Some(sessions)) => sessions.send(self.id, message),
            (None, None) => {}
        }
    }

    /// Waits for the next message to the debugger; `None` when the isolate ends. Cancel safe.
    pub async fn next(&mut self) -> Option<String> {
        let message = tokio::select! {
            biased;
            message = self.messages.next() => message?,
            () = self.shared.gone() => return None,
        };
        if let Some(target) = &self.shared.target {
            target.note(self.id, &message.content);
        }
        Some(message.content)
    }
}

impl Drop for InspectorSession {
    fn drop(&mut self) {
        match (self.shared.connection(), &self.shared.sessions) {
            (Some(connection), _) => connection.close_inspector(self.id),
            (None, Some(sessions)) => sessions.close(self.id),
            (None, None) => {}
        }
        if let Some(target) = &self.shared.target {
            lock(&target.outgoing).remove(&self.id);
            // V8 goes on when the debugger that has paused it leaves.
            target.change(|pauses| pauses.sessions.remove(&self.id));
        }
    }
}

/// State of an isolate to which a debugger can attach, in haft's process.
pub(super) struct Target {
    id: String,
    modules: Mutex<Vec<Url>>,
    next_session: AtomicU32,
    /// The senders to debuggers, by session, of an isolate in a worker process.
    outgoing: Mutex<HashMap<u32, UnboundedSender<InspectorMsg>>>,
    pauses: Mutex<Pauses>,
    is_paused: watch::Sender<bool>,
}

/// Reasons for which JavaScript stands still.
#[derive(Default)]
struct Pauses {
    /// A module waits for a debugger.
    waits: bool,
    /// The sessions that were told of a pause.
    sessions: HashSet<u32>,
}

impl Target {
    pub(super) fn new() -> Arc<Target> {
        Arc::new(Target {
            id: uuid::Uuid::new_v4().to_string(),
            modules: Mutex::default(),
            next_session: AtomicU32::new(1),
            outgoing: Mutex::default(),
            pauses: Mutex::default(),
            is_paused: watch::Sender::new(false),
        })
    }

    /// Notes that the module at `url` runs in the isolate.
    pub(super) fn runs(&self, url: &Url) {
        let mut modules = lock(&self.modules);
        if url.scheme() == "file" && !modules.contains(url) {
            modules.push(url.clone());
        }
    }

    fn description(&self) -> InspectedIsolate {
        let modules = lock(&self.modules);
        let names = modules
            .iter()
            .filter_map(|url| url.path_segments()?.next_back());
        let names: Vec<&str> = names.collect();
        InspectedIsolate {
            id: self.id.clone(),
            title: names.join(", "),
            url: modules.first().map(Url::to_string).unwrap_or_default(),
        }
    }

    /// Passes a message of a worker process to its debugger.
    pub(super) fn deliver(&self, session: u32, message: InspectorMsg) {
        if let Some(outgoing) = lock(&self.outgoing).get(&session) {
            // A debugger that has gone needs no message.
            let _ = outgoing.unbounded_send(message);
        }
    }

    /// Notes whether the message to a debugger reports a pause. V8 writes the name of a
    /// notification first.
    fn note(&self, session: u32, message: &str) {
        if message.starts_with(r#"{"method":"Debugger.paused""#) {
            self.change(|pauses| pauses.sessions.insert(session));
        } else if message.starts_with(r#"{"method":"Debugger.resumed""#) {
            self.change(|pauses| pauses.sessions.remove(&session));
        }
    }

    /// Notes that a module waits for a debugger, or has one.
    pub(super) fn set_waiting(&self, waits: bool) {
        self.change(|pauses| std::mem::replace(&mut pauses.waits, waits));
    }

    fn change(&self, change: impl FnOnce(&mut Pauses) -> bool) {
        let mut pauses = lock(&self.pauses);
        change(&mut pauses);
        let is_paused = pauses.waits || !pauses.sessions.is_empty();
        self.is_paused
            .send_if_modified(|before| std::mem::replace(before, is_paused) != is_paused);
    }

    /// Returns true if JavaScript stands still.
    pub(super) fn is_paused(&self) -> bool {
        *self.is_paused.borrow()
    }

    /// Waits until JavaScript runs.
    pub(super) async fn running(&self) {
        // The channel cannot close: `self` holds the sender.
        let _ = self.is_paused.subscribe().wait_for(|paused| !paused).await;
    }

    /// Holds the clock of a call whenever JavaScript stands still. Never ends.
    pub(super) async fn hold_clock(&self, updates: &Updates) -> Infallible {
        let mut is_paused = self.is_paused.subscribe();
        loop {
            let _ = is_paused.wait_for(|paused| *paused).await;
            let _held = updates.hold_clock();
            let _ = is_paused.wait_for(|paused| !paused).await;
        }
    }
}
