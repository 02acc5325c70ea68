//! Log of a host's calls: the running ones, and the last ended ones if a surface keeps them.
//!
//! Every surface reads this log, and none has a registry of its own. Embedding programs and
//! JSON-RPC cancel calls by their ids. REST lists the calls of its clients and publishes their
//! starts and ends. The host waits for the end of all calls when it shuts down. The audit log,
//! which outlives the process, begins and ends its entries at the same place ([`CallEntry`]).
//!
//! Ended calls are limited in number, bytes and age for each owner; the newest are kept. Running
//! calls are limited by the callers that wait for them.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use parking_lot::{Mutex, MutexGuard};
use serde_json::value::RawValue;
use slab::Slab;
use tokio::sync::Notify;

use super::span::CallSpan;
use super::{Host, Inner, SHUT_DOWN};
use crate::audit::{self, AuditLog, Caller, Ending, OpenCall, Origin, ServedCall};
use haft_tool::{Call, CallTrace, Cancellation, Outcome, Stopped, TraceContext};
use haft_tool::{Error, ErrorKind};

/// Maximum number of kept ended calls of an owner.
const MAX_ENDED_CALLS: usize = 1000;
/// Maximum size of their results in bytes.
const MAX_ENDED_BYTES: usize = 32 << 20;
/// Maximum size of a kept result or update in bytes. A longer one is dropped, but its call is kept.
const MAX_RESULT_BYTES: usize = 4 << 20;
/// Maximum size of kept arguments in bytes. Longer ones are not kept.
const MAX_ARGUMENTS_BYTES: usize = 256 << 10;
/// Age at which an ended call is dropped.
const MAX_AGE: Duration = Duration::from_secs(3600);

/// Origin of the calls of a handle.
#[derive(Clone, Default)]
pub(crate) struct CallOrigin {
    /// The surface and its peer.
    pub(super) caller: Arc<Caller>,
    /// Id of the client that the calls belong to, on a surface with several clients. Each client
    /// may choose any call ids.
    pub(super) owner: Arc<str>,
    /// Id of the call that the calls are parts of.
    pub(super) parent: Option<Arc<str>>,
    /// Place of calls that the host serves to another one.
    pub(super) served: Option<Arc<ServedCall>>,
}

impl CallOrigin {
    /// Returns true if the calls are not parts of another call.
    pub(super) fn is_root(&self) -> bool {
        self.parent.is_none()
    }
}

/// A call in the log.
pub(crate) struct CallRecord {
    pub(crate) id: String,
    pub(crate) tool: String,
    pub(crate) started: Instant,
    pub(crate) started_at: SystemTime,
    origin: Arc<CallOrigin>,
    cancellation: Cancellation,
    /// The arguments, if ended calls are kept.
    arguments: Option<Box<RawValue>>,
    /// The newest update, if updates are kept.
    update: Option<Mutex<Option<Box<RawValue>>>>,
    /// Notes of the call, if it is recorded, if ended calls are kept, or if its handle has them.
    trace: Option<Arc<CallTrace>>,
    end: OnceLock<CallEnd>,
}

/// End of a call.
#[derive(Clone)]
pub(crate) struct CallEnd {
    /// True if the tool was run; false if haft could not run it, or refused to.
    pub(crate) was_run: bool,
    pub(crate) is_error: bool,
    pub(crate) stopped: Option<Stopped>,
    /// Time from the start of the call to its end, with the loading of the tool.
    pub(crate) duration: Duration,
    /// The result or the error as [`CallListener::result`] wrote it; `None` if it is not kept.
    pub(crate) json: Option<Bytes>,
    /// Place of the call among hosts, queues and traces.
    pub(crate) place: CallPlace,
}

/// Place of a call among hosts, queues and traces.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallPlace {
    /// Name of the host that runs or ran the call, if it went to or came from another one.
    pub(crate) host: Option<String>,
    /// Tenant in whose queue the call was put.
    pub(crate) queue: Option<String>,
    /// Id of its trace.
    pub(crate) trace: Option<String>,
}

/// Receives the starts and ends of a host's calls. With a listener the log keeps ended calls.
pub(crate) trait CallListener: Send + Sync {
    fn started(&self, call: &CallRecord);

    /// Another host runs the call, or another one than before.
    fn moved(&self, call: &CallRecord);

    /// Returns the JSON of a result or an error, which the log keeps.
    fn result(&self, call: &CallRecord, result: &Result<Outcome, Error>) -> Bytes;

    fn ended(&self, call: &CallRecord, end: &CallEnd);
}

/// Log of a host's calls.
#[derive(Default)]
pub(crate) struct CallLog {
    calls: Mutex<Calls>,
    /// Notified when the last call has ended.
    none_left: Notify,
    listener: OnceLock<Box<dyn CallListener>>,
}

#[derive(Default)]
struct Calls {
    running: Slab<Arc<CallRecord>>,
    /// Ended calls by owner, so that the calls of one owner do not displace those of another.
    ended: HashMap<Arc<str>, EndedCalls>,
}

/// The ended calls of one owner.
#[derive(Default)]
struct EndedCalls {
    /// Sorted from oldest to newest.
    calls: VecDeque<Arc<CallRecord>>,
    by_id: HashMap<String, Arc<CallRecord>>,
    bytes: usize,
}

/// Entry of a running call in the host's log and, if calls are recorded, in the audit log. If it is
/// dropped before its end, both note that the host's end cancelled the call.
pub(super) struct CallEntry {
    host: Arc<Inner>,
    slot: usize,
    pub(super) call: Arc<CallRecord>,
    recording: Option<OpenCall>,
    /// Id of the trace of OpenTelemetry that the call is a part of, if the call is logged.
    trace_id: Option<String>,
    span: Option<CallSpan>,
    is_measured: bool,
    has_ended: bool,
}

impl CallLog {
    /// Sets the listener, of which there is at most one.
    pub(crate) fn listen(&self, listener: impl CallListener + 'static) {
        // A second surface that keeps calls would show the same ones as the first.
        let _ = self.listener.set(Box::new(listener));
    }

    /// Returns the call with this id: a running one before an ended one, and one of `owner` before
    /// those of other owners that `may_see` accepts.
    pub(crate) fn find(
        &self,
        id: &str,
        owner: &str,
        may_see: impl Fn(&str) -> bool,
    ) -> Option<Arc<CallRecord>> {
        let mut calls = self.calls.lock();
        let running = calls.running.iter().map(|(_, call)| call);
        let running = running.filter(|call| call.id == id && may_see(call.owner()));
        let found = running.max_by_key(|call| call.owner() == owner).cloned();
        if found.is_some() {
            return found;
        }
        calls.drop_old();
        let ended = calls.ended.iter();
        let ended = ended.filter(|(of, _)| may_see(of));
        let ended = ended.filter_map(|(_, ended)| ended.by_id.get(id));
        ended.max_by_key(|call| call.owner() == owner).cloned()
    }

    /// Returns the calls of owners that `may_see` accepts: the running ones, then the
    /// ended ones, each with the newest first.
    pub(crate) fn all(&self, may_see: impl Fn(&str) -> bool) -> Vec<Arc<CallRecord>> {
        let mut calls = self.calls.lock();
        calls.drop_old();
        let running = calls.running.iter().map(|(_, call)| call);
        let ended = calls.ended.values().flat_map(|ended| &ended.calls);
        let seen = running.chain(ended).filter(|call| may_see(call.owner()));
        let mut seen: Vec<_> = seen.cloned().collect();
        drop(calls);
        seen.sort_by_cached_key(|call| {
            let ended = call.end.get().map(|end| call.started + end.duration);
            // A running call is newer than every ended one.
            std::cmp::Reverse((ended.is_none(), ended.unwrap_or(call.started)))
        });
        seen
    }

    /// Removes an ended call.
    pub(crate) fn forget(&self, call: &Arc<CallRecord>) {
        let mut calls = self.calls.lock();
        if let Some(ended) = calls.ended.get_mut(&call.origin.owner) {
            ended.remove(call);
        }
    }

    /// Cancels the running calls for which `is_meant` returns true. Returns their number.
    fn cancel(&self, why: Stopped, is_meant: impl Fn(&CallRecord) -> bool) -> usize {
        let calls = self.calls.lock();
        let running = calls.running.iter().map(|(_, call)| call);
        let meant: Vec<_> = running.filter(|call| is_meant(call)).cloned().collect();
        drop(calls);
        // Without the lock: cancelling wakes waiting tasks, which may end the call at once.
        for call in &meant {
            call.cancellation.request(why);
        }
        meant.len()
    }

    /// Cancels all calls because the host shuts down. Calls that were cancelled before keep their
    /// reason.
    pub(super) fn end_with_host(&self) {
        self.cancel(Stopped::HostShutdown, |_| true);
    }

    /// Waits until no call runs.
    pub(super) async fn ended(&self) {
        loop {
            let notified = self.none_left.notified();
            tokio::pin!(notified);
            // Enabled before the check, so that an end between check and wait is noticed.
            notified.as_mut().enable();
            if self.calls.lock().running.is_empty() {
                return;
            }
            notified.await;
        }
    }
}

impl Host {
    /// Returns the log of the calls.
    pub(crate) fn call_log(&self) -> &CallLog {
        &self.inner.call_log
    }

    /// Cancels the running call of that id, and kills it after the grace period. Returns false if
    /// the id is unknown. The outcome of the call says that it was cancelled.
    pub fn abort(&self, call_id: &str) -> bool {
        let log = self.call_log();
        log.cancel(Stopped::Cancelled, |call| call.id == call_id) > 0
    }

    /// Cancels all running calls in the same way, and returns their number.
    pub fn abort_all(&self) -> usize {
        self.call_log().cancel(Stopped::Cancelled, |_| true)
    }

    /// Returns a handle of the same host. Calls that start through it are recorded in `log` as
    /// calls of `caller`. Without this, calls are not recorded.
    pub fn with_audit(&self, log: &AuditLog, caller: Caller) -> Host {
        let mut host = self.with_origin(|origin| origin.caller = Arc::new(caller));
        host.options.audit = Some(log.clone());
        host
    }

    /// Returns the host with its calls recorded in the configured audit log, if there is one.
    pub(crate) fn recorded(self, caller: Caller) -> Host {
        match AuditLog::of(self.config()) {
            Some(log) => self.with_audit(&log, caller),
            None => self.with_origin(|origin| origin.caller = Arc::new(caller)),
        }
    }

    /// Returns a handle of the same host, after `change` was applied to the caller of its calls.
    pub(crate) fn called_by(&self, change: impl FnOnce(&mut Caller)) -> Host {
        self.with_origin(|origin| change(Arc::make_mut(&mut origin.caller)))
    }

    /// Returns a handle of the same host whose calls belong to the client `owner`.
    pub(crate) fn owned_by(&self, owner: &str) -> Host {
        self.with_origin(|origin| origin.owner = owner.into())
    }

    /// Returns a handle of the same host whose calls are those that it serves to another one.
    pub(crate) fn serving(&self, served: ServedCall) -> Host {
        self.with_origin(|origin| origin.served = Some(Arc::new(served)))
    }

    /// Returns a handle of the same host. Calls that start through it are logged as parts of the
    /// call with the id `parent`.
    pub fn with_parent(&self, parent: &str) -> Host {
        self.with_origin(|origin| origin.parent = Some(parent.into()))
    }

    fn with_origin(&self, change: impl FnOnce(&mut CallOrigin)) -> Host {
        let mut host = self.clone();
        change(Arc::make_mut(&mut host.options.origin));
        host
    }

    /// Returns the audit log of this handle, if it has one.
    pub(crate) fn audit_log(&self) -> Option<&AuditLog> {
        self.options.audit.as_ref()
    }
}

impl CallEntry {
    /// Logs the start of a call of `host`.
    pub(super) fn begin(host: &Host, call: &Call, cancellation: &Cancellation) -> CallEntry {
        let record = CallRecord::new(host, call, cancellation);
        let slot = host.call_log().calls.lock().running.insert(record.clone());
        CallEntry::new(host, call, record, slot)
    }

    /// Logs the start of a call, unless its owner has a running call with the same id.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it has one.
    pub(super) fn begin_if_free(
        host: &Host,
        call: &Call,
        cancellation: &Cancellation,
    ) -> Result<CallEntry, Error> {
        let record = CallRecord::new(host, call, cancellation);
        let mut calls = host.call_log().calls.lock();
        let mut running = calls.running.iter().map(|(_, running)| running);
        if running.any(|other| other.id == call.id && other.owner() == record.owner()) {
            let text = format!("a call with the id `{}` is running", call.id);
            return Err(Error::new(ErrorKind::Usage, text));
        }
        let slot = calls.running.insert(record.clone());
        drop(calls);
        Ok(CallEntry::new(host, call, record, slot))
    }

    fn new(host: &Host, call: &Call, record: Arc<CallRecord>, slot: usize) -> CallEntry {
        let listener = host.call_log().listener.get();
        if let Some(listener) = listener {
            listener.started(&record);
        }
        let span = CallSpan::begin(host, call);
        let is_logged = is_logged(host);
        let served = host.options.origin.served.as_deref();
        let trace_id = is_logged
            .then(|| {
                let span = span.as_ref().map(CallSpan::context);
                let span = span.or_else(|| host.caller_span());
                span.map(TraceContext::trace_id)
                    .or_else(|| served?.trace.clone())
            })
            .flatten();
        if let (Some(trace), Some(_)) = (&record.trace, listener) {
            // They have the function, and do not keep the call.
            let (host, call) = (Arc::downgrade(&host.inner), Arc::downgrade(&record));
            trace.when_moved(move || {
                if let (Some(host), Some(call)) = (host.upgrade(), call.upgrade())
                    && let Some(listener) = host.call_log.listener.get()
                    && call.end.get().is_none()
                {
                    listener.moved(&call);
                }
            });
        }
        let recording = record_start(host, call, trace_id.clone(), record.trace.as_ref());
        let measures = host.inner.measures.get();
        if let Some(measures) = measures {
            measures.begin();
        }
        let is_measured = measures.is_some();
        CallEntry {
            host: host.inner.clone(),
            slot,
            call: record,
            recording,
            trace_id,
            span,
            is_measured,
            has_ended: false,
        }
    }

    /// Returns the notes of the call, if there are any.
    pub(super) fn trace(&self) -> Option<Arc<CallTrace>> {
        self.call.trace.clone()
    }

    /// Returns where and in which trace the call ran, as far as that is known at its end.
    fn place(&self) -> CallPlace {
        let place = self.call.place();
        CallPlace {
            trace: self.trace_id.clone().or(place.trace),
            ..place
        }
    }

    /// Logs the end of the call.
    pub(super) fn end(mut self, result: &Result<Outcome, Error>) {
        self.leave(result);
    }

    /// Returns the span of the call, if there is one.
    pub(super) fn span(&self) -> Option<&TraceContext> {
        self.span.as_ref().map(CallSpan::context)
    }

    /// Sends the span of the call and counts the call.
    fn report(&mut self, result: &Result<Outcome, Error>) {
        let named = &self.call.tool;
        // The name may be an alias, and the tools may not have been known at the start.
        let entry = Host::from_inner(self.host.clone()).known_entry(named);
        if let Some(span) = self.span.take() {
            span.end(named, entry.as_deref(), result);
        }
        if let Some(measures) = self.host.measures.get().filter(|_| self.is_measured) {
            let tool = match &entry {
                Some(entry) => &*entry.tool.name,
                None if has_run(result) => named,
                None => "",
            };
            measures.end(tool, self.call.started.elapsed(), result);
        }
    }

    fn leave(&mut self, result: &Result<Outcome, Error>) {
        self.has_ended = true;
        if self.span.is_some() || self.is_measured {
            self.report(result);
        }
        if let Some(recording) = self.recording.take() {
            record_end(recording, result);
        }
        let log = &self.host.call_log;
        let listener = log.listener.get();
        let kept = listener.map(|listener| {
            let end = CallEnd::new(&self.call, &**listener, self.place(), result);
            self.call.end_with(end)
        });
        let mut calls = log.calls.lock();
        let _gone = calls.running.remove(self.slot);
        if let Some(kept) = kept {
            calls.keep(kept);
        }
        let is_last = calls.running.is_empty();
        drop(calls);
        if let (Some(listener), Some(end)) = (listener, self.call.end()) {
            listener.ended(&self.call, end);
        }
        if is_last {
            log.none_left.notify_waiters();
        }
    }
}

/// Returns true if a log shows the calls of a handle.
fn is_logged(host: &Host) -> bool {
    host.call_log().listener.get().is_some() || host.audit_log().is_some()
}

/// Returns true if a call has found its tool, as far as its result shows that.
fn has_run(result: &Result<Outcome, Error>) -> bool {
    match result {
        Ok(outcome) => outcome.stopped.is_none(),
        Err(error) => !matches!(error.kind(), ErrorKind::NoSuchTool | ErrorKind::Stopped(_)),
    }
}

impl Drop for CallEntry {
    fn drop(&mut self) {
        if !self.has_ended {
            self.leave(&Err(shut_down()));
        }
    }
}

/// Begins the entry of a call in the audit log, if this handle records calls.
fn record_start(
    host: &Host,
    call: &Call,
    trace_id: Option<String>,
    trace: Option<&Arc<CallTrace>>,
) -> Option<OpenCall> {
    let log = host.audit_log()?;
    let of_handle = &host.options.origin;
    let origin = Origin {
        call: call.id.clone(),
        parent: of_handle.parent.clone(),
        trace: trace_id,
        tool: call.tool.clone(),
        caller: of_handle.caller.clone(),
        served: of_handle.served.clone(),
        place: host.inner.place.clone(),
        arguments: audit::digest_of_arguments(&call.arguments, log.arguments()),
    };
    Some(log.begin(origin, trace?.clone()))
}

fn record_end(open: OpenCall, result: &Result<Outcome, Error>) {
    let (outcome, reason) = audit::outcome_of(result);
    open.end(Ending {
        outcome,
        reason,
        result: result.as_ref().ok().map(audit::digest_of_outcome),
    });
}

impl CallRecord {
    fn new(host: &Host, call: &Call, cancellation: &Cancellation) -> Arc<CallRecord> {
        let keeps_calls = host.call_log().listener.get().is_some();
        let is_kept = keeps_calls && call.arguments.get().len() <= MAX_ARGUMENTS_BYTES;
        Arc::new(CallRecord {
            id: call.id.clone(),
            tool: call.tool.clone(),
            started: Instant::now(),
            started_at: SystemTime::now(),
            origin: host.options.origin.clone(),
            cancellation: cancellation.clone(),
            arguments: is_kept.then(|| call.arguments.clone()),
            update: keeps_calls.then(Mutex::default),
            trace: (host.options.trace.clone()).or_else(|| is_logged(host).then(Arc::default)),
            end: OnceLock::new(),
        })
    }

    /// Returns the id of the client that the call belongs to; empty on a surface with one client.
    pub(crate) fn owner(&self) -> &str {
        &self.origin.owner
    }

    /// Returns the id of the call that this call is a part of.
    pub(crate) fn parent(&self) -> Option<&str> {
        self.origin.parent.as_deref()
    }

    /// Returns where the call runs or ran, as far as that is known by now.
    pub(crate) fn place(&self) -> CallPlace {
        if let Some(end) = self.end.get() {
            return end.place.clone();
        }
        let place = self.trace.as_ref().map(|trace| {
            trace.read(|notes| CallPlace {
                host: notes.ran_on.clone(),
                queue: notes.queue.clone(),
                trace: notes.trace_id.clone(),
            })
        });
        let place = place.unwrap_or_default();
        let served = self.origin.served.as_deref();
        let taken_from = served.filter(|served| served.is_queued);
        CallPlace {
            host: (place.host).or_else(|| served.map(|served| served.host.clone())),
            queue: (place.queue).or_else(|| taken_from.map(|served| served.tenant.clone())),
            ..place
        }
    }

    /// Returns the caller.
    pub(crate) fn caller(&self) -> &Caller {
        &self.origin.caller
    }

    /// Returns the arguments, if they are kept.
    pub(crate) fn arguments(&self) -> Option<&RawValue> {
        self.arguments.as_deref()
    }

    /// Returns the cancellation of the call.
    pub(crate) fn cancellation(&self) -> &Cancellation {
        &self.cancellation
    }

    /// Returns the end of the call; `None` while it runs, and if ended calls are not kept.
    pub(crate) fn end(&self) -> Option<&CallEnd> {
        self.end.get()
    }

    /// Returns the newest update, if the call sends any and updates are kept.
    pub(crate) fn update(&self) -> Option<Box<RawValue>> {
        self.updates()?.clone()
    }

    /// Keeps an update of the running call in place of the one before.
    pub(super) fn set_update(&self, update: &RawValue) {
        if let Some(mut newest) = self.updates()
            && self.end.get().is_none()
        {
            // Large updates, such as an image every second, are not kept: readers only need to see
            // the progress.
            *newest = (update.get().len() <= MAX_RESULT_BYTES).then(|| update.to_owned());
        }
    }

    /// Sets the end of the call. Returns what the log keeps of the call: itself, or a copy without
    /// its result if that is too long.
    fn end_with(self: &Arc<Self>, end: CallEnd) -> Arc<CallRecord> {
        let is_too_long = |json: &Bytes| json.len() > MAX_RESULT_BYTES;
        let kept = if end.json.as_ref().is_some_and(is_too_long) {
            Arc::new(CallRecord {
                id: self.id.clone(),
                tool: self.tool.clone(),
                started: self.started,
                started_at: self.started_at,
                origin: self.origin.clone(),
                cancellation: self.cancellation.clone(),
                arguments: self.arguments.clone(),
                update: None,
                trace: None,
                end: OnceLock::from(CallEnd {
                    json: None,
                    ..end.clone()
                }),
            })
        } else {
            self.clone()
        };
        // A call ends once.
        let _ = self.end.set(end);
        if let Some(mut update) = self.updates() {
            *update = None;
        }
        kept
    }

    fn updates(&self) -> Option<MutexGuard<'_, Option<Box<RawValue>>>> {
        let update = self.update.as_ref()?;
        Some(update.lock())
    }

    fn size(&self) -> usize {
        let json = self.end.get().and_then(|end| end.json.as_ref());
        let arguments = self.arguments.as_ref().map_or(0, |json| json.get().len());
        json.map_or(0, Bytes::len) + arguments
    }
}

impl CallEnd {
    fn new(
        call: &CallRecord,
        listener: &dyn CallListener,
        place: CallPlace,
        result: &Result<Outcome, Error>,
    ) -> CallEnd {
        let (is_error, stopped) = match result {
            Ok(outcome) => (outcome.is_error, outcome.stopped),
            Err(error) => match error.kind() {
                ErrorKind::Stopped(why) => (true, Some(why)),
                _ => (true, None),
            },
        };
        CallEnd {
            was_run: result.is_ok(),
            is_error,
            stopped,
            duration: call.started.elapsed(),
            json: Some(listener.result(call, result)),
            place,
        }
    }
}

impl Calls {
    /// Adds an ended call.
    fn keep(&mut self, call: Arc<CallRecord>) {
        let ended = self.ended.entry(call.origin.owner.clone()).or_default();
        ended.keep(call);
        self.drop_old();
    }

    fn drop_old(&mut self) {
        self.ended.retain(|_, ended| {
            ended.drop_old();
            !ended.calls.is_empty()
        });
    }
}

impl EndedCalls {
    fn keep(&mut self, call: Arc<CallRecord>) {
        self.bytes += call.size();
        // An owner may reuse an id.
        if let Some(before) = self.by_id.insert(call.id.clone(), call.clone()) {
            self.take(&before);
        }
        self.calls.push_back(call);
        while self.calls.len() > MAX_ENDED_CALLS || self.bytes > MAX_ENDED_BYTES {
            self.drop_oldest();
        }
    }

    fn remove(&mut self, call: &Arc<CallRecord>) {
        let kept = self.by_id.get(&call.id);
        if kept.is_some_and(|kept| Arc::ptr_eq(kept, call)) {
            self.by_id.remove(&call.id);
            self.take(call);
        }
    }

    /// Removes a call that was already removed from `by_id`.
    fn take(&mut self, gone: &Arc<CallRecord>) {
        self.calls.retain(|call| !Arc::ptr_eq(call, gone));
        self.bytes -= gone.size();
    }

    fn drop_old(&mut self) {
        let age = |call: &Arc<CallRecord>| {
            let duration = call.end().map_or(Duration::ZERO, |end| end.duration);
            call.started.elapsed().saturating_sub(duration)
        };
        while self.calls.front().is_some_and(|call| age(call) > MAX_AGE) {
            self.drop_oldest();
        }
    }

    fn drop_oldest(&mut self) {
        if let Some(call) = self.calls.pop_front() {
            self.bytes -= call.size();
            self.by_id.remove(&call.id);
        }
    }
}

pub(super) fn shut_down() -> Error {
    Error::new(ErrorKind::Stopped(Stopped::HostShutdown), SHUT_DOWN)
}

pub(super) fn defect() -> Error {
    let text = "the call met a defect of haft, or of what the program gave it: it panicked";
    Error::new(ErrorKind::Internal, text)
}
