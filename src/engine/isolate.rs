//! The `Send` handle of one isolate: asks go in by a channel, answers come back one by one.
//!
//! Life: takes work → (retired: finishes what runs, takes nothing new) → gone; or terminated:
//! V8 is told to stop at once, everything that ran is lost, and the thread ends.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

use deno_core::v8;
use tokio::sync::{mpsc, oneshot, watch};

use super::pending::PendingActions;
use super::{EngineOptions, thread};
use crate::tool::Updates;

/// One isolate as the rest of the engine sees it.
pub(super) struct Isolate {
    shared: Arc<Shared>,
    asks: mpsc::UnboundedSender<Message>,
    v8: v8::IsolateHandle,
    next_id: AtomicU32,
    modules: Mutex<HashSet<u32>>,
    gone: watch::Receiver<bool>,
}

/// What the handle and the thread both see.
pub(super) struct Shared {
    /// Why the isolate must end now. Set before V8 is told, so that the thread believes it.
    pub(super) doomed: OnceLock<String>,
    /// No new work: end when the last call has.
    pub(super) retired: AtomicBool,
    /// What waits to be resolved, here and in other isolates.
    pub(super) pending: Arc<PendingActions>,
    /// The isolate's number there.
    pub(super) home: u64,
}

/// What travels to the thread: a request with the way back for its answer, or an order.
pub(super) enum Message {
    Ask(Ask, Option<Slot>),
    Ping(oneshot::Sender<()>),
    /// Forget this request: its caller has gone.
    Abandon(u32),
}

/// Where the answers to a request go.
pub(super) struct Slot {
    pub(super) updates: Option<Updates>,
    pub(super) answer: oneshot::Sender<Answer>,
}

/// What an isolate can be asked.
#[derive(Debug)]
pub enum Ask {
    /// Import a module and run its factory.
    Load { id: u32, module: u32, url: String },
    /// Call a tool.
    Invoke {
        id: u32,
        module: u32,
        tool: u32,
        call_id: String,
        arguments: String,
    },
    /// Check arguments and say what the tool thinks of the call; it waits for `Start` or `Forget`.
    Prepare {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
    },
    /// Start the call that the request `prepared` prepared.
    Start {
        id: u32,
        prepared: u32,
        call_id: String,
    },
    /// Drop it.
    Forget { prepared: u32 },
    /// Check arguments.
    Check {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
    },
    /// Read a tool's description again.
    Describe { id: u32, module: u32, tool: u32 },
    /// Fire the AbortSignal of a call.
    Cancel { id: u32, reason: String },
    /// Tell every `onSession`.
    Session { id: u32, event: String },
}

/// The last answer to a request.
#[derive(Debug)]
pub enum Answer {
    /// JSON text.
    Done(String),
    /// Bad arguments, in words.
    Refused(String),
    /// The request failed, in words or JSON.
    Failed(String),
    /// The isolate ended before the request did.
    Lost(Lost),
}

/// Why an isolate ended under a request.
#[derive(Clone, Debug)]
pub struct Lost(pub String);

/// A request on its way.
pub(super) struct Asked {
    pub(super) id: u32,
    pub(super) answer: oneshot::Receiver<Answer>,
}

/// Tells whether an isolate has answered a ping.
pub(super) struct Ping(oneshot::Receiver<()>);

impl Isolate {
    /// Starts a thread with an isolate and waits until it is ready.
    pub(super) async fn start(
        options: &EngineOptions,
        pending: Arc<PendingActions>,
    ) -> Result<Arc<Isolate>, String> {
        let home = pending.new_home();
        let shared = Arc::new(Shared {
            doomed: OnceLock::new(),
            retired: AtomicBool::new(false),
            pending,
            home,
        });
        let (asks, inbox) = mpsc::unbounded_channel();
        let (gone_sender, gone) = watch::channel(false);
        let v8 = thread::start(options.clone(), shared.clone(), inbox, gone_sender).await?;
        let isolate = Arc::new(Isolate {
            shared,
            asks,
            v8,
            next_id: AtomicU32::new(1),
            modules: Mutex::default(),
            gone,
        });
        isolate.shared.pending.moved_in(home, &isolate);
        Ok(isolate)
    }

    /// False when the isolate is retired, terminated or gone.
    pub(super) fn takes_work(&self) -> bool {
        self.shared.doomed.get().is_none()
            && !self.shared.retired.load(Ordering::Acquire)
            && !self.asks.is_closed()
    }

    /// Why it takes no more work.
    pub(super) fn why_not(&self) -> &str {
        self.shared
            .doomed
            .get()
            .map_or("the isolate was retired", String::as_str)
    }

    /// Sends a request; `make` gets its number.
    pub(super) fn ask(&self, make: impl FnOnce(u32) -> Ask, updates: Option<Updates>) -> Asked {
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        let (sender, answer) = oneshot::channel();
        let slot = Slot {
            updates,
            answer: sender,
        };
        // A closed channel drops the slot, and the receiver says so.
        let _ = self.asks.send(Message::Ask(make(id), Some(slot)));
        Asked { id, answer }
    }

    /// Sends an order that has no answer.
    pub(super) fn send(&self, ask: Ask) {
        let _ = self.asks.send(Message::Ask(ask, None));
    }

    /// Asks for a sign of life.
    pub(super) fn ping(&self) -> Ping {
        let (sender, receiver) = oneshot::channel();
        let _ = self.asks.send(Message::Ping(sender));
        Ping(receiver)
    }

    /// Takes no new work; ends when what runs has ended. The request `abandoned` does not count.
    pub(super) fn retire(&self, abandoned: u32) {
        self.shared.retired.store(true, Ordering::Release);
        let _ = self.asks.send(Message::Abandon(abandoned));
    }

    /// Ends the isolate whatever it is doing. Everything that runs in it is lost.
    pub(super) fn terminate(&self, why: &str) {
        // Only the first reason counts, and it must be there before V8 returns to the thread.
        let _ = self.shared.doomed.set(why.to_owned());
        self.v8.terminate_execution();
        // Wakes a thread that waits for work.
        let (sender, _) = oneshot::channel();
        let _ = self.asks.send(Message::Ping(sender));
    }

    /// Waits until the thread has ended.
    pub(super) async fn gone(&self) {
        let mut gone = self.gone.clone();
        // An error means that the sender is dropped, which is what is waited for.
        let _ = gone.wait_for(|gone| *gone).await;
    }

    pub(super) fn has_module(&self, module: u32) -> bool {
        self.modules
            .lock()
            .expect("no panic holds this lock")
            .contains(&module)
    }

    pub(super) fn module_loaded(&self, module: u32) {
        self.modules
            .lock()
            .expect("no panic holds this lock")
            .insert(module);
    }
}

impl Drop for Isolate {
    fn drop(&mut self) {
        self.terminate("nothing uses the isolate any more");
    }
}

impl Ping {
    /// True once the isolate has answered.
    pub(super) fn was_answered(mut self) -> bool {
        self.0.try_recv().is_ok()
    }
}
