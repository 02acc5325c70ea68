//! Registry of the requests of one isolate that have no answer yet, beside their callers.
//!
//! The worker process answers them, and the end of the isolate does, so a worker that is stuck blocks
//! no caller. The registry tracks which requests JavaScript has seen: only the others may be sent to
//! another isolate.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rustc_hash::FxHashMap;
use tokio::sync::oneshot;
use url::Url;

use super::lock;
use super::messages::{Answer, Lost, Termination};
use super::worker::WorkerReport;
use haft_tool::{
    CallCtx, CallRecording, CallTrace, Cancellation, LogListener, NestedCalls, Progress,
    TraceContext, Updates, User,
};

/// Channels and options of the caller of a request.
pub(super) struct Caller {
    updates: Updates,
    user: Option<User>,
    nested: Option<Arc<dyn NestedCalls>>,
    log: Option<Arc<dyn LogListener>>,
    auto_approve: bool,
    trace: Option<Arc<CallTrace>>,
    recording: Option<Arc<CallRecording>>,
    cancellation: Cancellation,
    span: Option<TraceContext>,
    /// The file of the called tool.
    file: Option<PathBuf>,
}

/// A call that runs, for a question to its user.
pub(super) struct RunningCall {
    pub(super) user: Option<User>,
    pub(super) updates: Updates,
    pub(super) cancellation: Cancellation,
    /// The file of the tool.
    pub(super) file: Option<PathBuf>,
}

/// State of an open request.
pub(super) struct Slot {
    caller: Option<Caller>,
    answer: oneshot::Sender<Answer>,
    /// Set if JavaScript is known to have seen the request.
    is_taken: bool,
    /// Set if its tool is known to run.
    is_started: bool,
    /// Set if its tool runs and the caller was not notified yet.
    is_start_untold: bool,
}

#[derive(Default)]
pub(super) struct Requests {
    table: Mutex<Table>,
    /// The report of the worker process about the requests that JavaScript has seen; `None` before
    /// it was started.
    report: OnceLock<WorkerReport>,
}

#[derive(Default)]
struct Table {
    slots: FxHashMap<u32, Slot>,
    is_closed: bool,
}

impl From<&CallCtx> for Caller {
    fn from(ctx: &CallCtx) -> Caller {
        Caller {
            updates: ctx.updates.clone(),
            user: ctx.user.clone(),
            nested: ctx.nested.clone(),
            log: ctx.log.clone(),
            auto_approve: ctx.auto_approve,
            trace: ctx.trace.clone(),
            recording: ctx.recording.clone(),
            cancellation: ctx.cancellation().clone(),
            span: ctx.span.clone(),
            file: None,
        }
    }
}

impl Caller {
    /// Returns the caller of a tool of the module at `url`.
    pub(super) fn of_tool(ctx: &CallCtx, url: &Url) -> Caller {
        Caller {
            file: url.to_file_path().ok(),
            ..Caller::from(ctx)
        }
    }
}

impl Slot {
    pub(super) fn new(caller: Option<Caller>, answer: oneshot::Sender<Answer>) -> Self {
        Slot {
            caller,
            answer,
            is_taken: false,
            is_started: false,
            is_start_untold: false,
        }
    }

    fn tell_start(&mut self) {
        if std::mem::take(&mut self.is_start_untold)
            && let Some(caller) = &self.caller
        {
            caller.updates.send(Progress::Started);
        }
    }

    /// Sends the answer. The start is reported first, if it was not reported yet.
    fn answer(mut self, answer: Answer) {
        self.tell_start();
        // The caller may have stopped waiting.
        let _ = self.answer.send(answer);
    }
}

impl Requests {
    fn table(&self) -> MutexGuard<'_, Table> {
        // No code in this file can panic halfway through a change.
        lock(&self.table)
    }

    /// Sets the report of the worker process in which the isolate runs.
    pub(super) fn reported_by(&self, report: WorkerReport) {
        // It is set only once.
        let _ = self.report.set(report);
    }

    /// Returns the table. What the worker process has reported since the last look is entered first.
    fn current_table(&self) -> MutexGuard<'_, Table> {
        let mut table = self.table();
        let last = self.last_taken();
        for (id, slot) in &mut table.slots {
            slot.is_taken |= *id <= last;
        }
        table
    }

    /// Returns the last request that JavaScript has seen.
    pub(super) fn last_taken(&self) -> u32 {
        self.report.get().map_or(0, WorkerReport::taken)
    }

    /// Registers a request before it is sent to the isolate.
    pub(super) fn expect(&self, id: u32, slot: Slot) {
        let mut table = self.table();
        if table.is_closed {
            drop(table);
            slot.answer(Answer::NotStarted);
        } else {
            table.slots.insert(id, slot);
        }
    }

    /// Notes that the tool of a request runs.
    pub(super) fn note_started(&self, id: u32) {
        if let Some(slot) = self.table().slots.get_mut(&id)
            && !slot.is_started
        {
            slot.is_taken = true;
            slot.is_started = true;
            slot.is_start_untold = true;
        }
    }

    /// Returns true if the request is open.
    pub(super) fn is_open(&self, id: u32) -> bool {
        self.table().slots.contains_key(&id)
    }

    /// Reports that the tool of a request runs, unless that was reported already.
    pub(super) fn tell_start(&self, id: u32) {
        if let Some(slot) = self.table().slots.get_mut(&id) {
            slot.tell_start();
        }
    }

    /// Returns true if the request is open, and it is not known that its tool runs.
    pub(super) fn is_start_unknown(&self, id: u32) -> bool {
        let table = self.table();
        table.slots.get(&id).is_some_and(|slot| !slot.is_started)
    }

    /// Returns the sender for a request's updates, after it has reported the request's start.
    pub(super) fn updates(&self, id: u32) -> Option<Updates> {
        let mut table = self.table();
        let slot = table.slots.get_mut(&id)?;
        slot.tell_start();
        slot.caller.as_ref().map(|caller| caller.updates.clone())
    }

    /// Returns the user behind a request.
    pub(super) fn user(&self, id: u32) -> Option<User> {
        self.table().slots.get(&id)?.caller.as_ref()?.user.clone()
    }

    /// Returns what starts calls of tools as parts of a request.
    pub(super) fn nested(&self, id: u32) -> Option<Arc<dyn NestedCalls>> {
        let table = self.table();
        table.slots.get(&id)?.caller.as_ref()?.nested.clone()
    }

    /// Returns the calls that JavaScript has seen. The start of a call in a worker may not be known
    /// yet; without any known call, all of them count.
    pub(super) fn running_calls(&self) -> Vec<RunningCall> {
        let table = self.table();
        let is_known = |slot: &Slot| slot.is_taken || slot.is_started;
        let has_known = table.slots.values().any(is_known);
        let running = table.slots.values();
        let running = running.filter(|slot| is_known(slot) || !has_known);
        let callers = running.filter_map(|slot| slot.caller.as_ref());
        let running = callers.map(|caller| RunningCall {
            user: caller.user.clone(),
            updates: caller.updates.clone(),
            cancellation: caller.cancellation.clone(),
            file: caller.file.clone(),
        });
        running.collect()
    }

    /// Returns the span of a request's call.
    pub(super) fn span(&self, id: u32) -> Option<TraceContext> {
        self.table().slots.get(&id)?.caller.as_ref()?.span.clone()
    }

    /// Returns the listener for the log lines of a request.
    pub(super) fn log(&self, id: u32) -> Option<Arc<dyn LogListener>> {
        self.table().slots.get(&id)?.caller.as_ref()?.log.clone()
    }

    /// Returns true if the calls of this caller run without approval; `None` outside of calls.
    pub(super) fn auto_approve(&self, id: u32) -> Option<bool> {
        let table = self.table();
        let caller = table.slots.get(&id)?.caller.as_ref()?;
        Some(caller.auto_approve)
    }

    /// Returns the trace of a request's call; `None` also for an unknown call.
    pub(super) fn trace(&self, id: u32) -> Option<Arc<CallTrace>> {
        self.table().slots.get(&id)?.caller.as_ref()?.trace.clone()
    }

    /// Returns the recording of a request's call; `None` also for an unknown call.
    pub(super) fn recording(&self, id: u32) -> Option<Arc<CallRecording>> {
        let table = self.table();
        table.slots.get(&id)?.caller.as_ref()?.recording.clone()
    }

    /// Returns the traces of all calls that JavaScript has seen.
    pub(super) fn traces(&self) -> Vec<Arc<CallTrace>> {
        let table = self.current_table();
        let taken = table.slots.values().filter(|slot| slot.is_taken);
        let callers = taken.filter_map(|slot| slot.caller.as_ref());
        callers.filter_map(|caller| caller.trace.clone()).collect()
    }

    /// Answers a request; does nothing if it was forgotten or answered before.
    pub(super) fn answer(&self, id: u32, answer: Answer) {
        let slot = self.table().slots.remove(&id);
        if let Some(slot) = slot {
            slot.answer(answer);
        }
    }

    /// Forgets a request whose caller has gone.
    pub(super) fn forget(&self, id: u32) {
        self.table().slots.remove(&id);
    }

    /// Returns true if no request is open.
    pub(super) fn is_idle(&self) -> bool {
        self.table().slots.is_empty()
    }

    /// Returns true if one request is open.
    pub(super) fn has_one(&self) -> bool {
        self.table().slots.len() == 1
    }

    /// Returns true if JavaScript has not seen the request yet.
    pub(super) fn is_waiting(&self, id: u32) -> bool {
        let is_untaken = |slot: &Slot| !slot.is_taken;
        self.table().slots.get(&id).is_some_and(is_untaken) && id > self.last_taken()
    }

    /// Returns true if requests wait although none of them runs. Then leftover work of an ended
    /// call keeps the thread busy.
    pub(super) fn is_blocked_without_running_call(&self) -> bool {
        let table = self.current_table();
        !table.slots.is_empty() && table.slots.values().all(|slot| !slot.is_taken)
    }

    /// Answers all requests that still wait, and those that come later: the isolate has ended.
    pub(super) fn close(&self, terminate: &Termination) {
        let mut table = self.current_table();
        table.is_closed = true;
        let slots = std::mem::take(&mut table.slots);
        drop(table);
        let running = slots.values().filter(|slot| slot.is_taken).count();
        for slot in slots.into_values() {
            let why = || Lost(terminate.why.clone());
            let answer = match slot.is_taken {
                false => Answer::NotStarted,
                true if terminate.is_out_of_memory && running == 1 => Answer::OutOfMemory(why()),
                true => Answer::Lost(why()),
            };
            slot.answer(answer);
        }
    }
}
