//! One isolate's side of the ops: routes answers to whoever asked, starts programs, writes logs.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::extension::{ExecFuture, IsolateHost, LogLevel, ReplyKind};
use super::isolate::{Answer, Lost, Slot};
use super::pending::PendingActions;
use super::schema_check::SchemaChecker;
use super::{Programs, ToolLog};
use crate::tool::{Progress, Updates};

/// The [`IsolateHost`] of one isolate.
pub(super) struct Link {
    slots: RefCell<HashMap<u32, Slot>>,
    loading: RefCell<HashSet<u32>>,
    execs: Rc<RefCell<HashMap<u32, CancellationToken>>>,
    schemas: SchemaChecker,
    programs: Arc<dyn Programs>,
    log: Arc<dyn ToolLog>,
    pending: Arc<PendingActions>,
    /// The isolate's number among those that have pending actions.
    home: u64,
}

impl Link {
    pub(super) fn new(
        programs: Arc<dyn Programs>,
        log: Arc<dyn ToolLog>,
        pending: Arc<PendingActions>,
        home: u64,
    ) -> Self {
        Link {
            slots: RefCell::default(),
            loading: RefCell::default(),
            execs: Rc::default(),
            schemas: SchemaChecker::default(),
            programs,
            log,
            pending,
            home,
        }
    }

    /// Registers a request before JavaScript hears of it.
    pub(super) fn expect(&self, id: u32, slot: Slot) {
        self.slots.borrow_mut().insert(id, slot);
    }

    /// Marks that the request `id` loads a module; see [`IsolateHost::is_loading`].
    pub(super) fn loading(&self, id: u32) {
        self.loading.borrow_mut().insert(id);
    }

    /// Forgets a request whose caller has gone.
    pub(super) fn abandon(&self, id: u32) {
        self.slots.borrow_mut().remove(&id);
    }

    /// True when nothing is running.
    pub(super) fn is_idle(&self) -> bool {
        self.slots.borrow().is_empty()
    }

    /// Tells everyone who still waits that the isolate has ended.
    pub(super) fn fail_all(&self, why: &str) {
        for (_, slot) in self.slots.borrow_mut().drain() {
            let _ = slot.answer.send(Answer::Lost(Lost(why.to_owned())));
        }
        for (_, running) in self.execs.borrow_mut().drain() {
            running.cancel();
        }
        self.pending.home_lost(self.home, why);
    }

    /// Logs an error that no call can be blamed for.
    pub(super) fn report(&self, message: &str) {
        self.log.log(LogLevel::Warn, "", message, "");
    }
}

/// An empty text says that the tool has started; see `31_call.ts`.
fn send_progress(updates: &Updates, text: String) {
    if text.is_empty() {
        updates.send(Progress::Started);
    } else if let Ok(partial) = RawValue::from_string(text) {
        updates.send(Progress::Partial(partial));
    }
}

impl IsolateHost for Link {
    fn reply(&self, id: u32, kind: ReplyKind, text: String) {
        if kind == ReplyKind::Update {
            let slots = self.slots.borrow();
            if let Some(updates) = slots.get(&id).and_then(|slot| slot.updates.as_ref()) {
                send_progress(updates, text);
            }
            return;
        }
        self.loading.borrow_mut().remove(&id);
        let Some(slot) = self.slots.borrow_mut().remove(&id) else {
            return;
        };
        let answer = match kind {
            ReplyKind::Done | ReplyKind::Update => Answer::Done(text),
            ReplyKind::Refused => Answer::Refused(text),
            ReplyKind::Failed => Answer::Failed(text),
        };
        // The asker may have stopped waiting.
        let _ = slot.answer.send(answer);
    }

    fn exec(&self, id: u32, request: String) -> ExecFuture {
        let cancel = CancellationToken::new();
        self.execs.borrow_mut().insert(id, cancel.clone());
        let running = self.programs.exec(request, cancel);
        let execs = self.execs.clone();
        Box::pin(async move {
            let answer = running.await;
            execs.borrow_mut().remove(&id);
            answer
        })
    }

    fn abort_exec(&self, id: u32) {
        if let Some(running) = self.execs.borrow().get(&id) {
            running.cancel();
        }
    }

    fn check_schema(&self, schema: &str, value: &str) -> String {
        self.schemas.check(schema, value)
    }

    fn log(&self, level: LogLevel, tool: &str, message: &str, context: &str) {
        self.log.log(level, tool, message, context);
    }

    fn push_pending(&self, id: u32, label: &str) -> bool {
        self.pending.push(self.home, id, label)
    }

    fn pending_done(&self, id: u32) {
        self.pending.done(self.home, id);
    }

    fn is_loading(&self) -> bool {
        !self.loading.borrow().is_empty()
    }
}
