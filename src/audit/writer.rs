//! Writer of a log in this process: a queue, and a thread that writes it in batches.
//!
//! A call only adds to the queue and, at most once per [`BATCH_WINDOW`], wakes the thread. The
//! thread makes the JSON, hashes the lines and writes them.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Condvar, Mutex, MutexGuard};

use super::chain::{self, Chain};
use super::folder::{GapCounter, LogFolder, process_key};
use super::line::{
    Caller, Content, DecisionRecord, Digest, Event, Outcome, RecordedCall, cut, rights,
};
use haft_config::{Config, LogSettings};
use haft_tool::{CallTrace, Isolation, Problem, Timestamp};

/// Time for which the thread collects events before it writes. A crash can lose those events.
pub(super) const BATCH_WINDOW: Duration = Duration::from_millis(20);

/// Maximum number of queued items. Further ones are dropped and counted, so that a hanging disk
/// does not fill the memory.
const QUEUE_CAPACITY: usize = 65_536;

/// Writer of the log of one folder.
pub(super) struct Writer {
    folder: LogFolder,
    /// Number among the writers of this process.
    number: usize,
    settings: LogSettings,
    queue: Mutex<Queue>,
    /// Wakes the thread.
    work: Condvar,
    /// Wakes the callers that wait for a flush.
    written: Condvar,
}

#[derive(Default)]
struct Queue {
    items: Vec<Item>,
    /// True if the thread runs.
    has_thread: bool,
    /// True if the thread waits for items, so that it has to be woken.
    is_idle: bool,
    /// Number of items that are being written.
    in_work: usize,
    /// True if a flush waits: the thread then writes at once.
    is_urgent: bool,
    /// Number of lost lines since the last line that notes a loss.
    lost: u64,
    problem: Option<Problem>,
    has_reported: bool,
    /// Keeps `lost` for other processes; `None` before the first loss.
    gap: Option<GapCounter>,
}

enum Item {
    Event(Event),
    Started(Arc<Open>),
    Ended(Arc<Open>, Box<Ended>),
}

/// A call that starts, and its caller.
pub(crate) struct Origin {
    /// Id that the caller gave to the call.
    pub(crate) call: String,
    /// Id of the call that the call is a part of.
    pub(crate) parent: Option<Arc<str>>,
    /// Id of the trace that the call is a part of.
    pub(crate) trace: Option<String>,
    /// The name of the tool.
    pub(crate) tool: String,
    /// The caller.
    pub(crate) caller: Arc<Caller>,
    /// Place of a call that this host serves to another one.
    pub(crate) served: Option<Arc<ServedCall>>,
    /// The fields that all calls of a host share.
    pub(crate) place: Arc<Place>,
    /// The arguments, as far as they are recorded.
    pub(crate) arguments: Option<Content>,
}

/// Place of a call that this host serves to another one.
#[derive(Debug)]
pub(crate) struct ServedCall {
    /// Name of this host, which others see.
    pub(crate) host: String,
    /// The tenant of the caller.
    pub(crate) tenant: String,
    /// Set if the call was taken from the tenant's queue.
    pub(crate) is_queued: bool,
    /// Id of the trace by which the caller has recorded the call, if the call is in no trace of
    /// telemetry.
    pub(crate) trace: Option<String>,
}

/// Fields of the log that all calls of a host share.
pub(crate) struct Place {
    cwd: String,
    rights: String,
}

impl Place {
    /// Returns the fields for a host with this configuration.
    pub(crate) fn of(config: &Config) -> Place {
        Place {
            cwd: config.cwd.to_string_lossy().into_owned(),
            rights: rights(&config.permissions),
        }
    }
}

/// A running call.
struct Open {
    origin: Origin,
    /// Collects notes while the call runs.
    trace: Arc<CallTrace>,
    at: SystemTime,
    since: Instant,
    /// Unique in this process.
    run: u64,
}

/// End of a call, as the log records it.
pub(crate) struct Ending {
    /// Outcome of the call.
    pub(crate) outcome: Outcome,
    /// Reason of the outcome: the kind of error or stop.
    pub(crate) reason: Option<&'static str>,
    /// Hash and length of the result.
    pub(crate) result: Option<Digest>,
}

/// A recorded call, from its start to [`OpenCall::end`].
pub(crate) struct OpenCall {
    writer: Arc<Writer>,
    open: Arc<Open>,
}

/// End of a call, and its duration.
struct Ended {
    ending: Ending,
    took: Duration,
}

impl OpenCall {
    /// Records the end of the call.
    pub(crate) fn end(self, ending: Ending) {
        let took = self.open.since.elapsed();
        let ended = Box::new(Ended { ending, took });
        self.writer.put(Item::Ended(self.open, ended));
    }
}

/// Function that reports a log that cannot be written. Each writer calls it at most once.
static REPORTER: OnceLock<fn(&Problem)> = OnceLock::new();

/// Writers of this process.
static WRITERS: Mutex<Vec<Arc<Writer>>> = Mutex::new(Vec::new());

/// Sets the function that reports a log that cannot be written. Only the first call counts.
pub(crate) fn set_reporter(report: fn(&Problem)) {
    // A second call comes from the same program.
    let _ = REPORTER.set(report);
}

/// Lets the threads of all logs write now. Does not wait.
pub(crate) fn write_now() {
    for writer in &*writers() {
        writer.queue.lock().is_urgent = true;
        writer.work.notify_all();
    }
}

/// Waits until all logs of this process are written, but no longer than `timeout`.
pub(crate) fn flush_all(timeout: Duration) {
    let until = Instant::now() + timeout;
    for writer in writers().clone() {
        if !writer.flush(until.saturating_duration_since(Instant::now())) {
            let error =
                std::io::Error::other("another haft process holds the log, or the disk hangs");
            let mut queue = writer.queue.lock();
            // The thread may still write those that it has taken.
            queue.lost += (queue.items.len() + queue.in_work) as u64;
            writer.failed(&mut queue, &error);
        }
    }
}

fn writers() -> MutexGuard<'static, Vec<Arc<Writer>>> {
    WRITERS.lock()
}

impl Writer {
    /// Returns the shared writer for `folder` and `settings`.
    pub(super) fn shared(folder: &LogFolder, settings: &LogSettings) -> Arc<Writer> {
        let mut writers = writers();
        let known = writers
            .iter()
            .find(|writer| writer.folder == *folder && writer.settings == *settings);
        if let Some(writer) = known {
            return writer.clone();
        }
        let writer = Arc::new(Writer {
            folder: folder.clone(),
            number: writers.len(),
            settings: settings.clone(),
            queue: Mutex::default(),
            work: Condvar::new(),
            written: Condvar::new(),
        });
        writers.push(writer.clone());
        writer
    }

    pub(super) fn settings(&self) -> &LogSettings {
        &self.settings
    }

    pub(super) fn event(self: &Arc<Self>, event: Event) {
        self.put(Item::Event(event));
    }

    pub(super) fn begin(self: &Arc<Self>, origin: Origin, trace: Arc<CallTrace>) -> OpenCall {
        static RUNS: AtomicU64 = AtomicU64::new(1);
        let open = Arc::new(Open {
            origin,
            trace,
            at: SystemTime::now(),
            since: Instant::now(),
            run: RUNS.fetch_add(1, Ordering::Relaxed),
        });
        self.put(Item::Started(open.clone()));
        OpenCall {
            writer: self.clone(),
            open,
        }
    }

    pub(super) fn problem(&self) -> Option<Problem> {
        self.queue.lock().problem.clone()
    }

    pub(super) fn flush(&self, timeout: Duration) -> bool {
        let until = Instant::now() + timeout;
        let mut queue = self.queue.lock();
        while !queue.items.is_empty() || queue.in_work > 0 {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            queue.is_urgent = true;
            self.work.notify_all();
            self.written.wait_for(&mut queue, left);
        }
        queue.problem.is_none()
    }

    fn put(self: &Arc<Self>, item: Item) {
        let mut queue = self.queue.lock();
        if queue.items.len() >= QUEUE_CAPACITY {
            // The line of its end also records the start.
            queue.lost += u64::from(!matches!(item, Item::Started(_)));
            return;
        }
        queue.items.push(item);
        if !queue.has_thread {
            queue.has_thread = true;
            let writer = self.clone();
            let thread = std::thread::Builder::new()
                .name("haft-audit".to_owned())
                .spawn(move || writer.work());
            if let Err(error) = thread {
                queue.has_thread = false;
                queue.lost += queue.items.len() as u64;
                queue.items.clear();
                self.failed(&mut queue, &error);
            }
        } else if queue.is_idle {
            queue.is_idle = false;
            drop(queue);
            self.work.notify_all();
        }
    }

    /// Runs the thread: collects batches and appends them.
    fn work(&self) {
        let mut chain = Chain::new(&self.folder, &self.settings);
        // Running calls whose start is not in the log yet.
        let mut untold: HashMap<u64, Arc<Open>> = HashMap::new();
        loop {
            let (items, lost) = self.next_batch(!untold.is_empty());
            let mut events = Vec::with_capacity(items.len() + usize::from(lost > 0));
            if lost > 0 {
                events.push(Event::LogLost {
                    lines: lost,
                    why: self.why_lost(),
                });
            }
            for item in items {
                match item {
                    Item::Event(event) => events.push(event),
                    Item::Started(open) => {
                        untold.insert(open.run, open);
                    }
                    Item::Ended(open, ending) => {
                        untold.remove(&open.run);
                        events.push(ended(&open, *ending));
                    }
                }
            }
            let is_urgent = self.queue.lock().is_urgent;
            let is_due = |open: &Open| is_urgent || open.since.elapsed() >= BATCH_WINDOW;
            let mut due: Vec<_> = untold.extract_if(|_, open| is_due(open)).collect();
            due.sort_by_key(|(run, _)| *run);
            events.extend(due.iter().map(|(_, open)| started(open)));
            let written = if events.is_empty() {
                Ok(())
            } else {
                chain.append(&events)
            };
            let mut queue = self.queue.lock();
            queue.in_work = 0;
            match written {
                Ok(()) if !events.is_empty() => {
                    queue.problem = None;
                    let lost = queue.lost;
                    if let Some(gap) = &mut queue.gap {
                        gap.set(lost);
                    }
                }
                Ok(()) => {}
                Err(error) => {
                    // A note of lost lines that cannot be written counts as those lines.
                    let before = events.iter().map(|event| match event {
                        Event::LogLost { lines, .. } => *lines,
                        _ => 1,
                    });
                    queue.lost += before.sum::<u64>();
                    self.failed(&mut queue, &error);
                }
            }
            if queue.items.is_empty() {
                queue.is_urgent = false;
                self.written.notify_all();
            }
        }
    }

    /// Waits for items, and then for [`BATCH_WINDOW`], because calls often follow each other. With
    /// `has_untold` it may return without items.
    fn next_batch(&self, has_untold: bool) -> (Vec<Item>, u64) {
        let mut queue = self.queue.lock();
        while queue.items.is_empty() && !has_untold {
            queue.is_idle = true;
            self.work.wait(&mut queue);
        }
        queue.is_idle = false;
        let until = Instant::now() + BATCH_WINDOW;
        while !queue.is_urgent {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            self.work.wait_for(&mut queue, left);
        }
        let items = std::mem::take(&mut queue.items);
        // At least one, because a line may be due without any items.
        queue.in_work = items.len().max(1);
        let lost = if items.is_empty() {
            0
        } else {
            std::mem::take(&mut queue.lost)
        };
        (items, lost)
    }

    fn why_lost(&self) -> String {
        let queue = self.queue.lock();
        let problem = queue.problem.as_ref();
        problem.map_or_else(
            || "too many at once".to_owned(),
            |problem| problem.message.clone(),
        )
    }

    /// Keeps the problem. Reports it if it is the first of this writer.
    fn failed(&self, queue: &mut Queue, error: &std::io::Error) {
        let problem = chain::problem(&self.folder, error);
        tracing::warn!(problem = %problem.message, "the log of calls cannot be written");
        if !std::mem::replace(&mut queue.has_reported, true)
            && let Some(report) = REPORTER.get()
        {
            report(&problem);
        }
        queue.problem = Some(problem);
        let lost = queue.lost;
        let gap = &mut queue.gap;
        gap.get_or_insert_with(|| self.folder.gap_counter(self.number))
            .set(lost);
    }
}

/// Returns the line of a running call.
fn started(open: &Open) -> Event {
    Event::CallStarted(Box::new(call(open)))
}

/// Returns the line of a call that ended.
fn ended(open: &Open, Ended { ending, took }: Ended) -> Event {
    Event::Call(Box::new(RecordedCall {
        ended: Some(Timestamp::of(open.at + took).precise()),
        ms: Some((took.as_secs_f64() * 1e6).round() / 1e3),
        outcome: Some(ending.outcome),
        reason: ending.reason.map(str::to_owned),
        result: ending.result,
        ..call(open)
    }))
}

/// Returns the fields of a call that are known by now.
fn call(open: &Open) -> RecordedCall {
    let Origin {
        call,
        parent,
        trace,
        tool: name,
        caller,
        served,
        place,
        arguments,
    } = &open.origin;
    let notes = open.trace.notes();
    let served = served.as_deref();
    let taken_from = served.filter(|served| served.is_queued);
    let source = notes.tool.as_ref().map(|tool| &tool.source);
    RecordedCall {
        run: format!("{:08x}-{}", process_key(), open.run),
        call: cut(call),
        parent: parent.as_deref().map(cut),
        trace: trace.clone().or(notes.trace_id),
        host: (notes.ran_on.as_deref())
            .or(served.map(|served| served.host.as_str()))
            .map(cut),
        tenant: served.map(|served| served.tenant.clone()),
        queue: notes
            .queue
            .or_else(|| taken_from.map(|served| served.tenant.clone())),
        tool: cut(name),
        caller: (**caller).clone(),
        cwd: place.cwd.clone(),
        family: source.map(|source| source.family.as_str().to_owned()),
        level: source.map(|source| source.level.as_str().to_owned()),
        path: source.map(|source| source.path.to_string_lossy().into_owned()),
        grant: notes.grant.as_deref().map(str::to_owned),
        rights: match &notes.bounds {
            Some(bounds) => rights(&bounds.rights.permissions),
            None => place.rights.clone(),
        },
        isolation: notes
            .bounds
            .filter(|bounds| bounds.rights.isolation == Isolation::Sandbox)
            .map(|bounds| bounds.summary()),
        arguments: arguments.clone(),
        approval: notes.approval.map(|(decision, rule)| DecisionRecord {
            decision: decision.to_owned(),
            rule,
        }),
        started: Timestamp::of(open.at).precise(),
        programs: notes.programs.into_iter().collect(),
        hosts: notes.hosts.into_iter().collect(),
        more: notes.has_more,
        ..RecordedCall::default()
    }
}
