//! State of an isolate for debuggers: its modules, its sessions, and whether JavaScript is paused.

use std::collections::{HashMap, HashSet};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use deno_core::InspectorMsg;
use futures::channel::mpsc::UnboundedSender;
use tokio::sync::watch;
use url::Url;

use crate::lock;
use haft_tool::Updates;

/// An isolate to which a debugger can attach.
#[derive(Clone, Debug)]
pub struct InspectedIsolate {
    /// Id that cannot be guessed. It stays the same as long as the isolate lives.
    pub id: String,
    /// The names of the files of its modules.
    pub title: String,
    /// The URL of its first module; empty before one is loaded.
    pub url: String,
}

/// State of an isolate to which a debugger can attach, in haft's process.
pub(crate) struct Target {
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
    pub(crate) fn new() -> Arc<Target> {
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
    pub(crate) fn runs(&self, url: &Url) {
        let mut modules = lock(&self.modules);
        if url.scheme() == "file" && !modules.contains(url) {
            modules.push(url.clone());
        }
    }

    pub(crate) fn has_id(&self, id: &str) -> bool {
        self.id == id
    }

    /// Returns the isolate as a debugger's list of isolates has it.
    pub(crate) fn description(&self) -> InspectedIsolate {
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

    /// Returns the number of a new session.
    pub(crate) fn new_session(&self) -> u32 {
        self.next_session.fetch_add(1, Ordering::Relaxed)
    }

    /// Passes the messages of a session in a worker process to a debugger.
    pub(crate) fn delivers_to(&self, session: u32, outgoing: UnboundedSender<InspectorMsg>) {
        lock(&self.outgoing).insert(session, outgoing);
    }

    /// Notes that the debugger of a session has left. V8 goes on if it was paused by that one.
    pub(crate) fn session_ended(&self, session: u32) {
        lock(&self.outgoing).remove(&session);
        self.change(|pauses| pauses.sessions.remove(&session));
    }

    /// Passes a message of a worker process to its debugger.
    pub(crate) fn deliver(&self, session: u32, message: InspectorMsg) {
        if let Some(outgoing) = lock(&self.outgoing).get(&session) {
            // A debugger that has gone needs no message.
            let _ = outgoing.unbounded_send(message);
        }
    }

    /// Notes whether the message to a debugger reports a pause. V8 writes the name of a
    /// notification first.
    pub(crate) fn note(&self, session: u32, message: &str) {
        if message.starts_with(r#"{"method":"Debugger.paused""#) {
            self.change(|pauses| pauses.sessions.insert(session));
        } else if message.starts_with(r#"{"method":"Debugger.resumed""#) {
            self.change(|pauses| pauses.sessions.remove(&session));
        }
    }

    /// Notes that a module waits for a debugger, or has one.
    pub(crate) fn set_waiting(&self, waits: bool) {
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
    pub(crate) fn is_paused(&self) -> bool {
        *self.is_paused.borrow()
    }

    /// Waits until JavaScript runs.
    pub(crate) async fn running(&self) {
        // The channel cannot close: `self` holds the sender.
        let _ = self.is_paused.subscribe().wait_for(|paused| !paused).await;
    }

    /// Holds the clock of a call whenever JavaScript stands still. Never ends.
    pub(crate) async fn hold_clock(&self, updates: &Updates) -> Infallible {
        let mut is_paused = self.is_paused.subscribe();
        loop {
            let _ = is_paused.wait_for(|paused| *paused).await;
            let _held = updates.hold_clock();
            let _ = is_paused.wait_for(|paused| !paused).await;
        }
    }
}
