//! The requests of one isolate that have no answer yet.
//!
//! Both the isolate's thread and whoever gives up on that thread can answer, so a thread that is
//! stuck in native code keeps nobody waiting. The hard thing is to tell apart what the tool has
//! seen from what it has not: only the latter may be sent to another isolate.

use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;

use super::isolate::{Answer, Lost};
use crate::tool::{CallCtx, CallTrace, Ending, LogListener, Progress, Updates, User};

/// Who is behind a call.
pub(super) struct Caller {
    updates: Updates,
    user: Option<User>,
    log: Option<Arc<dyn LogListener>>,
    auto_approve: bool,
    trace: Option<Arc<CallTrace>>,
    ending: Arc<Ending>,
}

/// Where the answers to a request go.
pub(super) struct Slot {
    caller: Option<Caller>,
    pub(super) answer: oneshot::Sender<Answer>,
    /// What it wants of which module, where that ties the module to this isolate.
    purpose: Option<Purpose>,
    /// JavaScript has seen it.
    is_taken: bool,
    /// Its tool runs.
    is_started: bool,
    /// Its tool must not start any more.
    is_withdrawn: bool,
    /// Its tool runs, and nobody has been told.
    is_start_untold: bool,
}

/// A request that can as well be made elsewhere as long as JavaScript has not seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purpose {
    /// Import the module and run its factory.
    Load(u32),
    /// Run something that may change what the module remembers.
    Call(u32),
}

/// Why an isolate must end now.
#[derive(Clone, Debug)]
pub(super) struct Doom {
    pub(super) why: String,
    /// What runs in the isolate has eaten its memory, so whoever runs alone is the culprit.
    pub(super) is_out_of_memory: bool,
}

/// What taking a request back came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Withdrawn {
    /// JavaScript never sees it.
    Unseen,
    /// JavaScript checks its arguments; its tool does not start afterwards.
    BeforeStart,
    /// Its tool runs, or has ended.
    TooLate,
}

#[derive(Default)]
pub(super) struct Requests(Mutex<Table>);

#[derive(Default)]
struct Table {
    slots: FxHashMap<u32, Slot>,
    /// The modules that something was called in.
    used: FxHashSet<u32>,
    /// The modules that live elsewhere now.
    evicted: FxHashSet<u32>,
    is_closed: bool,
}

impl From<&CallCtx> for Caller {
    fn from(ctx: &CallCtx) -> Caller {
        Caller {
            updates: ctx.updates.clone(),
            user: ctx.user.clone(),
            log: ctx.log.clone(),
            auto_approve: ctx.auto_approve,
            trace: ctx.trace.clone(),
            ending: ctx.ending().clone(),
        }
    }
}

impl Slot {
    pub(super) fn new(
        caller: Option<Caller>,
        answer: oneshot::Sender<Answer>,
        purpose: Option<Purpose>,
    ) -> Self {
        Slot {
            caller,
            answer,
            purpose,
            is_taken: false,
            is_started: false,
            is_withdrawn: false,
            is_start_untold: false,
        }
    }

    /// Whether the call behind it was asked to end.
    fn has_to_end(&self) -> bool {
        let caller = self.caller.as_ref();
        self.is_withdrawn || caller.is_some_and(|caller| caller.ending.is_wanted())
    }

    fn tell_start(&mut self) {
        if std::mem::take(&mut self.is_start_untold)
            && let Some(caller) = &self.caller
        {
            caller.updates.send(Progress::Started);
        }
    }

    fn wants(&self, module: u32) -> bool {
        self.purpose
            .is_some_and(|purpose| purpose.module() == module)
    }
}

impl Purpose {
    fn module(self) -> u32 {
        match self {
            Purpose::Load(module) | Purpose::Call(module) => module,
        }
    }
}

impl Table {
    fn is_unused(&self, module: u32) -> bool {
        let mut slots = self.slots.values();
        !self.used.contains(&module) && !slots.any(|slot| slot.is_taken && slot.wants(module))
    }
}

/// Answers a request whose call was asked to end before its tool started.
fn answer_withdrawn(mut table: MutexGuard<'_, Table>, id: u32) {
    let slot = table.slots.remove(&id);
    // The waiting task may be woken at once.
    drop(table);
    if let Some(slot) = slot {
        let _ = slot.answer.send(Answer::Withdrawn);
    }
}

impl Requests {
    fn table(&self) -> MutexGuard<'_, Table> {
        // Nothing in this file can panic halfway through a change.
        self.0
            .lock()
            .unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Registers a request before the isolate hears of it.
    pub(super) fn expect(&self, id: u32, slot: Slot) {
        let mut table = self.table();
        let is_elsewhere = slot
            .purpose
            .is_some_and(|purpose| table.evicted.contains(&purpose.module()));
        if table.is_closed || is_elsewhere {
            drop(table);
            // Whoever asks may have stopped waiting.
            let _ = slot.answer.send(Answer::NotStarted);
        } else {
            table.slots.insert(id, slot);
        }
    }

    /// Notes that JavaScript is about to see the request; false if it is not wanted any more.
    pub(super) fn take(&self, id: u32) -> bool {
        let mut table = self.table();
        let Some(slot) = table.slots.get_mut(&id) else {
            return false;
        };
        if slot.has_to_end() {
            answer_withdrawn(table, id);
            return false;
        }
        slot.is_taken = true;
        if let Some(Purpose::Call(module)) = slot.purpose {
            table.used.insert(module);
        }
        true
    }

    /// True if nothing of the module was ever called, and nothing of it runs.
    pub(super) fn is_unused(&self, module: u32) -> bool {
        self.table().is_unused(module)
    }

    /// Sends whoever waits for the module, now and later, to where it lives then. False, and nothing
    /// happens, if JavaScript has called it: what it remembers is here.
    pub(super) fn evict(&self, module: u32) -> bool {
        let mut table = self.table();
        if !table.is_unused(module) {
            return false;
        }
        table.evicted.insert(module);
        let waiting = table.slots.extract_if(|_, slot| slot.wants(module));
        let waiting: Vec<_> = waiting.collect();
        drop(table);
        for (_, slot) in waiting {
            let _ = slot.answer.send(Answer::NotStarted);
        }
        true
    }

    /// The module may live here again.
    pub(super) fn readmit(&self, module: u32) {
        self.table().evicted.remove(&module);
    }

    /// Decides whether the tool of a request starts: it does not once its call was asked to end. The
    /// start is told together with what comes next, because telling wakes another thread and most
    /// tools have ended a moment later.
    pub(super) fn start(&self, id: u32) -> bool {
        let mut table = self.table();
        let Some(slot) = table.slots.get_mut(&id) else {
            return false;
        };
        if slot.has_to_end() {
            answer_withdrawn(table, id);
            return false;
        }
        slot.is_started = true;
        slot.is_start_untold = true;
        true
    }

    /// Takes a request back, so that its tool does not start if it has not started yet.
    pub(super) fn withdraw(&self, id: u32) -> Withdrawn {
        let mut table = self.table();
        match table.slots.get_mut(&id) {
            Some(slot) if !slot.is_taken => {
                table.slots.remove(&id);
                Withdrawn::Unseen
            }
            Some(slot) if !slot.is_started => {
                slot.is_withdrawn = true;
                Withdrawn::BeforeStart
            }
            Some(_) | None => Withdrawn::TooLate,
        }
    }

    /// Tells that the tool of a request runs, if nobody has been told.
    pub(super) fn tell_start(&self, id: u32) {
        if let Some(slot) = self.table().slots.get_mut(&id) {
            slot.tell_start();
        }
    }

    /// Where the updates of a request go.
    pub(super) fn updates(&self, id: u32) -> Option<Updates> {
        let mut table = self.table();
        let slot = table.slots.get_mut(&id)?;
        slot.tell_start();
        slot.caller.as_ref().map(|caller| caller.updates.clone())
    }

    /// Whom the call behind a request can ask.
    pub(super) fn user(&self, id: u32) -> Option<User> {
        self.table().slots.get(&id)?.caller.as_ref()?.user.clone()
    }

    /// Who listens to what the call behind a request logs.
    pub(super) fn log(&self, id: u32) -> Option<Arc<dyn LogListener>> {
        self.table().slots.get(&id)?.caller.as_ref()?.log.clone()
    }

    /// Whether calls like the one behind a request run without a question; `None` outside of calls.
    pub(super) fn auto_approve(&self, id: u32) -> Option<bool> {
        let table = self.table();
        let caller = table.slots.get(&id)?.caller.as_ref()?;
        Some(caller.auto_approve)
    }

    /// Where is noted what the call behind a request does; `None` also where there is no such call.
    pub(super) fn trace(&self, id: u32) -> Option<Arc<CallTrace>> {
        self.table().slots.get(&id)?.caller.as_ref()?.trace.clone()
    }

    /// The same of all calls that JavaScript has seen.
    pub(super) fn traces(&self) -> Vec<Arc<CallTrace>> {
        let table = self.table();
        let taken = table.slots.values().filter(|slot| slot.is_taken);
        let callers = taken.filter_map(|slot| slot.caller.as_ref());
        callers.filter_map(|caller| caller.trace.clone()).collect()
    }

    /// Answers a request; forgotten ones and those answered before are let go.
    pub(super) fn answer(&self, id: u32, answer: Answer) {
        let slot = self.table().slots.remove(&id);
        if let Some(mut slot) = slot {
            slot.tell_start();
            let _ = slot.answer.send(answer);
        }
    }

    /// Forgets a request whose caller has gone.
    pub(super) fn forget(&self, id: u32) {
        self.table().slots.remove(&id);
    }

    /// True when nothing waits.
    pub(super) fn is_idle(&self) -> bool {
        self.table().slots.is_empty()
    }

    /// True when JavaScript has not seen the request yet.
    pub(super) fn is_waiting(&self, id: u32) -> bool {
        let table = self.table();
        table.slots.get(&id).is_some_and(|slot| !slot.is_taken)
    }

    /// True when requests wait although none of them runs: what keeps the thread busy is left over
    /// from a call that has ended.
    pub(super) fn is_blocked_by_nobody(&self) -> bool {
        let table = self.table();
        !table.slots.is_empty() && table.slots.values().all(|slot| !slot.is_taken)
    }

    /// Answers everyone who still waits, now and later: the isolate is no more.
    pub(super) fn close(&self, doom: &Doom) {
        let mut table = self.table();
        table.is_closed = true;
        let slots = std::mem::take(&mut table.slots);
        drop(table);
        let running = slots.values().filter(|slot| slot.is_taken).count();
        for mut slot in slots.into_values() {
            slot.tell_start();
            let why = || Lost(doom.why.clone());
            let answer = match slot.is_taken {
                false => Answer::NotStarted,
                true if doom.is_out_of_memory && running == 1 => Answer::RanAway(why()),
                true => Answer::Lost(why()),
            };
            let _ = slot.answer.send(answer);
        }
    }
}
