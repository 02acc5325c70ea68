//! Registry of the requests of one isolate that have no answer yet.
//!
//! Both the isolate's thread and the watchdog can answer, so a thread that is stuck in native code
//! blocks no caller. The registry tracks which requests JavaScript has seen: only the others may be
//! sent to another isolate.

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};
use tokio::sync::oneshot;
use url::Url;

use super::lock;
use super::messages::{Answer, HostProcess, Lost, Purpose, Termination, Withdrawn};
use super::worker_report::WorkerReport;
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

/// Receiver of the answer to a request.
pub(super) enum AnswerSink {
    Caller(oneshot::Sender<Answer>),
    /// haft's process, which gave the request this number.
    Host(Arc<dyn HostProcess>, u32),
}

impl AnswerSink {
    /// Sends the answer. `has_started` is set if the tool has started.
    pub(super) fn send(self, answer: Answer, has_started: bool) {
        match self {
            // The caller may have stopped waiting.
            AnswerSink::Caller(sender) => drop(sender.send(answer)),
            AnswerSink::Host(host, id) => host.answer(id, has_started, answer),
        }
    }
}

/// State of an open request.
pub(super) struct Slot {
    caller: Option<Caller>,
    pub(super) answer: AnswerSink,
    /// Kind of the request and its module, if that ties the module to this isolate.
    purpose: Option<Purpose>,
    /// Set if JavaScript has seen the request.
    is_taken: bool,
    /// Set if its tool runs.
    is_started: bool,
    /// Set if its tool must not start any more.
    is_withdrawn: bool,
    /// Set if its tool runs and the caller was not notified yet.
    is_start_untold: bool,
}

#[derive(Default)]
pub(super) struct Requests {
    table: Mutex<Table>,
    /// The report that says which requests JavaScript has seen. A worker process writes it, and
    /// haft's process reads it; `None` if both are the same.
    report: OnceLock<Arc<WorkerReport>>,
    /// The last request that JavaScript has seen, if there is no report.
    last_taken: AtomicU32,
}

#[derive(Default)]
struct Table {
    slots: FxHashMap<u32, Slot>,
    /// The modules in which something was called.
    used: FxHashSet<u32>,
    /// The modules that have moved to another isolate.
    evicted: FxHashSet<u32>,
    is_closed: bool,
    /// The last request that has arrived.
    last: u32,
    /// Requests that were withdrawn before they arrived from another process.
    withdrawn: FxHashSet<u32>,
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
    pub(super) fn new(
        caller: Option<Caller>,
        answer: AnswerSink,
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

    /// Returns true if the call was cancelled.
    fn has_to_end(&self) -> bool {
        let caller = self.caller.as_ref();
        self.is_withdrawn || caller.is_some_and(|caller| caller.cancellation.is_cancelled())
    }

    fn tell_start(&mut self) {
        if !std::mem::take(&mut self.is_start_untold) {
            return;
        }
        match (&self.caller, &self.answer) {
            (Some(caller), _) => caller.updates.send(Progress::Started),
            (None, AnswerSink::Host(host, id)) => host.started(*id),
            (None, AnswerSink::Caller(_)) => {}
        }
    }

    /// Sends the answer. The start is reported first, if it was not reported yet.
    fn answer(mut self, answer: Answer) {
        if self.caller.is_some() {
            self.tell_start();
        }
        self.answer.send(answer, self.is_started);
    }

    fn wants(&self, module: u32) -> bool {
        self.purpose
            .is_some_and(|purpose| purpose.module() == module)
    }
}

impl Table {
    fn is_unused(&self, module: u32) -> bool {
        let mut slots = self.slots.values();
        !self.used.contains(&module) && !slots.any(|slot| slot.is_taken && slot.wants(module))
    }
}

/// Answers a request whose call was cancelled before its tool started.
fn answer_withdrawn(mut table: MutexGuard<'_, Table>, id: u32) {
    let slot = table.slots.remove(&id);
    // Released first, because the answer may wake the waiting task at once.
    drop(table);
    if let Some(slot) = slot {
        slot.answer(Answer::Withdrawn);
    }
}

impl Requests {
    fn table(&self) -> MutexGuard<'_, Table> {
        // No code in this file can panic halfway through a change.
        lock(&self.table)
    }

    /// Sets the report of the worker process in which the isolate runs.
    pub(super) fn reported_by(&self, report: Arc<WorkerReport>) {
        // It is set only once.
        let _ = self.report.set(report);
    }

    /// Returns the table. What a worker process has reported since the last look is entered first.
    fn current_table(&self) -> MutexGuard<'_, Table> {
        let mut guard = self.table();
        if let Some(report) = self.report.get() {
            let last = report.taken();
            let table = &mut *guard;
            for (id, slot) in &mut table.slots {
                if *id <= last && !slot.is_taken {
                    slot.is_taken = true;
                    if let Some(Purpose::Call(module)) = slot.purpose {
                        table.used.insert(module);
                    }
                }
            }
        }
        guard
    }

    /// Returns the last request that JavaScript has seen.
    pub(super) fn last_taken(&self) -> u32 {
        match self.report.get() {
            Some(report) => report.taken(),
            None => self.last_taken.load(Ordering::Relaxed),
        }
    }

    /// Registers a request before it is sent to the isolate.
    pub(super) fn expect(&self, id: u32, slot: Slot) {
        let mut table = self.table();
        table.last = id;
        if table.withdrawn.remove(&id) {
            // haft's process knows already.
            return;
        }
        let is_elsewhere = slot
            .purpose
            .is_some_and(|purpose| table.evicted.contains(&purpose.module()));
        if table.is_closed || is_elsewhere {
            drop(table);
            slot.answer(Answer::NotStarted);
        } else {
            table.slots.insert(id, slot);
        }
    }

    /// Notes that JavaScript is about to see the request. Returns false if it was cancelled.
    pub(super) fn take(&self, id: u32) -> bool {
        match self.report.get() {
            Some(report) => report.set_taken(id),
            None => self.last_taken.store(id, Ordering::Relaxed),
        }
        self.unless_cancelled(id, |slot, used| {
            slot.is_taken = true;
            if let Some(Purpose::Call(module)) = slot.purpose {
                used.insert(module);
            }
        })
    }

    /// Returns true if nothing of the module was ever called, and nothing of it runs.
    pub(super) fn is_unused(&self, module: u32) -> bool {
        self.current_table().is_unused(module)
    }

    /// Answers all requests for the module, now and later, so that they are sent to its new
    /// isolate. Returns false, and changes nothing, if JavaScript has called the module: its state
    /// is here.
    pub(super) fn evict(&self, module: u32) -> bool {
        let mut table = self.current_table();
        if !table.is_unused(module) {
            return false;
        }
        table.evicted.insert(module);
        let waiting = table.slots.extract_if(|_, slot| slot.wants(module));
        let waiting: Vec<_> = waiting.collect();
        drop(table);
        for (_, slot) in waiting {
            slot.answer(Answer::NotStarted);
        }
        true
    }

    /// Accepts requests for the module again.
    pub(super) fn readmit(&self, module: u32) {
        self.table().evicted.remove(&module);
    }

    /// Returns true if the tool of a request may start, which means that its call was not
    /// cancelled. The start is reported together with the next message, because a message wakes
    /// another thread, and most tools end a moment later.
    pub(super) fn start(&self, id: u32) -> bool {
        self.unless_cancelled(id, |slot, _| {
            slot.is_started = true;
            slot.is_start_untold = true;
        })
    }

    /// Changes a request, or answers it if it was cancelled. Returns false if it does not go on.
    fn unless_cancelled(
        &self,
        id: u32,
        change: impl FnOnce(&mut Slot, &mut FxHashSet<u32>),
    ) -> bool {
        let mut guard = self.table();
        let table = &mut *guard;
        let Some(slot) = table.slots.get_mut(&id) else {
            return false;
        };
        if slot.has_to_end() {
            answer_withdrawn(guard, id);
            return false;
        }
        change(slot, &mut table.used);
        true
    }

    /// Withdraws a request, so that its tool does not start if it has not started yet.
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

    /// Withdraws a request of another process. It may not have arrived yet.
    pub(super) fn withdraw_sent(&self, id: u32) -> Withdrawn {
        let mut table = self.table();
        if id > table.last {
            table.withdrawn.insert(id);
            return Withdrawn::Unseen;
        }
        drop(table);
        self.withdraw(id)
    }

    /// Notes that the tool of a request runs in a worker process.
    pub(super) fn note_started(&self, id: u32) {
        let mut guard = self.table();
        let table = &mut *guard;
        if let Some(slot) = table.slots.get_mut(&id)
            && !slot.is_started
        {
            slot.is_taken = true;
            slot.is_started = true;
            slot.is_start_untold = true;
            if let Some(Purpose::Call(module)) = slot.purpose {
                table.used.insert(module);
            }
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

    /// Returns true if JavaScript has not seen the request yet.
    pub(super) fn is_waiting(&self, id: u32) -> bool {
        let is_reported = |report: &Arc<WorkerReport>| id <= report.taken();
        let table = self.table();
        let slot = table.slots.get(&id);
        slot.is_some_and(|slot| !slot.is_taken) && !self.report.get().is_some_and(is_reported)
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
