//! The steps of a queued call with a simulated server: single answers, and all short schedules of a caller, two
//! hosts and a sweep, with a host that is killed and writes that are lost.

use std::collections::{BTreeSet, HashSet};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, SystemTime};

use bytes::Bytes;
use futures::FutureExt;
use parking_lot::Mutex;

use super::error::QueueError;
use super::record::{End, QueueStatus, Record};
use super::stored::{
    QueueBackend, RecordRead, StoredValue, WriteOutcome, create_record, read_record,
};
use super::transitions::{
    BeginOutcome, EndOutcome, begin_call, end_call, end_without_message, misses_message,
};
use super::{frame_of, no_host};
use crate::frames::{Finished, HostFrame, HostInfo};

/// Id of the call.
const CALL: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAV";

/// Number of the message of the call.
const SEQUENCE: u64 = 7;

/// Number of times that a host gets the message.
const DELIVERIES: usize = 2;

/// Number of decisions of a schedule that differ from the simplest one.
const MAX_DEVIATIONS: usize = 3;

/// The servers of a cluster: what they show, and what is on its way between them.
#[derive(Default)]
struct ClusterState {
    shown: Option<StoredValue>,
    /// A write that the leader has taken and not all servers have. Reads do not show it.
    proposed: Option<StoredValue>,
    last_revision: u64,
    has_message: bool,
    dead: BTreeSet<String>,
    /// Event that each process waits for.
    waits: Vec<Wait>,
    /// Revisions of the writes that came to nothing.
    dropped: HashSet<u64>,
    executions: u32,
    /// Number of reads that showed nothing after a write was refused.
    hidden_reads: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wait {
    /// Its next step.
    Step,
    /// The end of its write.
    Write(u64),
    /// A time in which no write is on its way.
    Pause,
    Message,
    Ended,
}

/// The server as one process sees it.
#[derive(Clone)]
struct SimulatedServer {
    cluster: Arc<Mutex<ClusterState>>,
    process: usize,
    was_refused: Arc<Mutex<bool>>,
}

impl SimulatedServer {
    async fn wait(&self, wait: Wait) {
        self.cluster.lock().waits[self.process] = wait;
        let mut has_waited = false;
        std::future::poll_fn(|_| {
            if std::mem::replace(&mut has_waited, true) {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    /// Takes the message out of the stream.
    async fn remove_message(&self) {
        self.wait(Wait::Step).await;
        self.cluster.lock().has_message = false;
    }
}

impl QueueBackend for SimulatedServer {
    async fn read_value(&self, _id: &str) -> Result<Option<StoredValue>, QueueError> {
        self.wait(Wait::Step).await;
        let mut cluster = self.cluster.lock();
        if cluster.shown.is_none() && *self.was_refused.lock() {
            cluster.hidden_reads += 1;
        }
        Ok(cluster.shown.clone())
    }

    async fn write_value(
        &self,
        _id: &str,
        bytes: Bytes,
        newest: Option<u64>,
    ) -> Result<WriteOutcome, QueueError> {
        loop {
            self.wait(Wait::Step).await;
            let revision = {
                let mut cluster = self.cluster.lock();
                let shown = cluster.shown.as_ref().map(|value| value.revision);
                if cluster.proposed.is_some() || shown != newest {
                    *self.was_refused.lock() = true;
                    return Ok(WriteOutcome::Conflict);
                }
                cluster.last_revision += 1;
                let revision = cluster.last_revision;
                cluster.proposed = Some(StoredValue {
                    bytes: bytes.clone(),
                    revision,
                    updated: SystemTime::UNIX_EPOCH,
                });
                revision
            };
            self.wait(Wait::Write(revision)).await;
            if !self.cluster.lock().dropped.contains(&revision) {
                return Ok(WriteOutcome::Written(revision));
            }
            // The real one tries again as long as there is no answer, if nothing was there before.
            if newest.is_some() {
                return Err(QueueError::of_server(std::io::Error::other("timed out")));
            }
        }
    }

    async fn is_alive(&self, host: &str) -> Result<bool, QueueError> {
        self.wait(Wait::Step).await;
        Ok(!self.cluster.lock().dead.contains(host))
    }

    async fn has_message(&self, sequence: u64) -> Result<bool, QueueError> {
        self.wait(Wait::Step).await;
        assert_eq!(sequence, SEQUENCE);
        Ok(self.cluster.lock().has_message)
    }

    async fn pause(&self, _time: Duration) {
        self.wait(Wait::Pause).await;
    }

    fn patience(&self) -> Duration {
        Duration::from_secs(3600)
    }
}

fn record(is_idempotent: bool) -> Record {
    let numbers = (Some(SEQUENCE), None);
    Record::queued("echo", "d1", ("desk", None), numbers, is_idempotent)
}

fn host(name: &str) -> HostInfo {
    HostInfo {
        id: name.to_owned(),
        name: name.to_owned(),
        version: String::new(),
    }
}

fn end() -> End {
    let outcome = haft_tool::Outcome::success("done", Duration::ZERO);
    let frame = HostFrame::Finished(no_host(), Finished::Outcome(outcome));
    End::Frame(frame_of(frame).expect("JSON"))
}

async fn queue_call(server: SimulatedServer) {
    server.wait(Wait::Step).await;
    server.cluster.lock().has_message = true;
    let stored = create_record(&server, CALL, &record(false)).await;
    stored.expect("the server answers");
}

/// Handles the messages of a host, as the worker does.
async fn serve_calls(
    server: SimulatedServer,
    name: String,
    is_idempotent: bool,
    deliveries: usize,
) {
    let host = host(&name);
    for _ in 0..deliveries {
        server.wait(Wait::Message).await;
        match begin_call(&server, CALL, &host, &record(is_idempotent)).await {
            Ok(BeginOutcome::Begun(begun)) => {
                server.wait(Wait::Step).await;
                server.cluster.lock().executions += 1;
                let ended = loop {
                    let status = QueueStatus::Completed;
                    let ended = end_call(&server, &begun, &host, status, end()).await;
                    match ended {
                        Ok(ended) => break ended,
                        Err(_) => server.wait(Wait::Pause).await,
                    }
                };
                if matches!(ended, EndOutcome::Ended(_)) {
                    server.remove_message().await;
                }
            }
            Ok(BeginOutcome::Ended(_)) => server.remove_message().await,
            Ok(BeginOutcome::Elsewhere) | Err(_) => {}
        }
    }
}

async fn sweep(server: SimulatedServer) {
    let read = read_record(&server, CALL).await.expect("it answers");
    let RecordRead::Present(stored) = read else {
        return;
    };
    if misses_message(&server, &stored).await.expect("it answers") {
        server.wait(Wait::Pause).await;
        end_without_message(&server, *stored)
            .await
            .expect("it answers");
    }
}

/// Decision of a schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Decision {
    Run(usize),
    /// The write that is on its way arrives.
    Apply,
    /// It comes to nothing: the leader has changed.
    Drop,
    /// The first host is killed.
    Kill,
}

struct Run {
    cluster: Arc<Mutex<ClusterState>>,
    processes: Vec<Option<Pin<Box<dyn Future<Output = ()>>>>>,
    current: usize,
    may_kill: bool,
    may_drop: bool,
}

const FIRST_HOST: usize = 1;

impl Run {
    fn new(is_idempotent: bool) -> Run {
        let cluster = Arc::new(Mutex::new(ClusterState {
            waits: vec![Wait::Step; 5],
            ..ClusterState::default()
        }));
        let mut run = Run {
            cluster,
            processes: Vec::new(),
            current: 0,
            may_kill: true,
            may_drop: true,
        };
        run.add(queue_call);
        run.add(|server| serve_calls(server, "one".to_owned(), is_idempotent, DELIVERIES));
        run.add(|server| serve_calls(server, "other".to_owned(), is_idempotent, DELIVERIES));
        run.add(sweep);
        run
    }

    /// Adds a process, up to its first step.
    fn add<F: Future<Output = ()> + 'static>(&mut self, start: impl FnOnce(SimulatedServer) -> F) {
        let server = SimulatedServer {
            cluster: self.cluster.clone(),
            process: self.processes.len(),
            was_refused: Arc::default(),
        };
        self.processes.push(Some(Box::pin(start(server))));
        self.advance(self.processes.len() - 1);
    }

    fn advance(&mut self, index: usize) {
        let mut context = Context::from_waker(Waker::noop());
        if let Some(process) = &mut self.processes[index]
            && process.poll_unpin(&mut context).is_ready()
        {
            self.processes[index] = None;
            self.cluster.lock().waits[index] = Wait::Ended;
        }
    }

    fn is_enabled(&self, index: usize) -> bool {
        let cluster = self.cluster.lock();
        let revision = cluster.shown.as_ref().map_or(0, |value| value.revision);
        self.processes[index].is_some()
            && match cluster.waits[index] {
                Wait::Step => true,
                Wait::Write(own) => revision >= own || cluster.dropped.contains(&own),
                Wait::Pause => cluster.proposed.is_none(),
                Wait::Message => cluster.has_message,
                Wait::Ended => false,
            }
    }

    /// Returns the decisions that can be made now, the simplest first.
    fn decisions(&self) -> Vec<Decision> {
        let count = self.processes.len();
        let mut all = Vec::new();
        if self.is_enabled(self.current) {
            all.push(Decision::Run(self.current));
        }
        let is_proposed = self.cluster.lock().proposed.is_some();
        if is_proposed {
            all.push(Decision::Apply);
        }
        let others = (1..count).map(|step| (self.current + step) % count);
        all.extend(
            others
                .filter(|index| self.is_enabled(*index))
                .map(Decision::Run),
        );
        if is_proposed && self.may_drop {
            all.push(Decision::Drop);
        }
        if self.may_kill && self.processes[FIRST_HOST].is_some() && !all.is_empty() {
            all.push(Decision::Kill);
        }
        all
    }

    fn make(&mut self, decision: Decision) {
        let had_message = self.cluster.lock().has_message;
        match decision {
            Decision::Run(index) => {
                self.current = index;
                self.advance(index);
            }
            Decision::Apply => {
                let mut cluster = self.cluster.lock();
                cluster.shown = cluster.proposed.take();
            }
            Decision::Drop => {
                self.may_drop = false;
                let mut cluster = self.cluster.lock();
                let dropped = cluster.proposed.take().expect("a write is on its way");
                cluster.dropped.insert(dropped.revision);
            }
            Decision::Kill => {
                self.may_kill = false;
                self.processes[FIRST_HOST] = None;
                self.cluster.lock().dead.insert("one".to_owned());
            }
        }
        let is_removed = had_message && !self.cluster.lock().has_message;
        assert!(!is_removed || self.status().is_some_and(QueueStatus::is_end));
    }

    fn status(&self) -> Option<QueueStatus> {
        let shown = self.cluster.lock().shown.clone()?;
        let record: Record = serde_json::from_slice(&shown.bytes).expect("a record");
        Some(record.status)
    }

    /// Makes the simplest decisions until there are none.
    fn finish(&mut self) {
        self.may_kill = false;
        self.may_drop = false;
        while let Some(decision) = self.decisions().first() {
            self.make(*decision);
        }
    }
}

/// Runs all schedules with few deviations. Returns their number, and that of the reads that showed nothing
/// after a write was refused.
fn explore(is_idempotent: bool) -> (usize, u32) {
    // For each decision of the last schedule: which one was made, and of how many.
    let mut path: Vec<(usize, usize)> = Vec::new();
    let (mut count, mut hidden) = (0, 0);
    loop {
        let mut run = Run::new(is_idempotent);
        let mut deviations = 0;
        let mut depth = 0;
        loop {
            let decisions = run.decisions();
            if decisions.is_empty() {
                break;
            }
            if depth == path.len() {
                let open = if deviations < MAX_DEVIATIONS {
                    decisions.len()
                } else {
                    1
                };
                path.push((0, open));
            }
            let (made, _) = path[depth];
            deviations += usize::from(made > 0);
            depth += 1;
            run.make(decisions[made]);
        }
        count += 1;
        hidden += run.cluster.lock().hidden_reads;
        check(run, is_idempotent, &path);
        loop {
            match path.pop() {
                None => return (count, hidden),
                Some((made, open)) if made + 1 < open => {
                    path.push((made + 1, open));
                    break;
                }
                Some(_) => {}
            }
        }
    }
}

/// Checks a schedule that has come to its end: a last host ends the call, and it was not run too often.
fn check(mut run: Run, is_idempotent: bool, path: &[(usize, usize)]) {
    run.add(|server| serve_calls(server, "last".to_owned(), is_idempotent, 2 * DELIVERIES));
    run.finish();
    let executions = run.cluster.lock().executions;
    let status = run.status();
    assert!(
        status.is_some_and(QueueStatus::is_end),
        "{status:?} {path:?}"
    );
    assert!(!run.cluster.lock().has_message, "{path:?}");
    let most = if is_idempotent { 3 } else { 1 };
    assert!(executions <= most, "{executions} {path:?}");
    let is_done = status == Some(QueueStatus::Completed);
    assert!(!is_done || executions > 0, "{path:?}");
}

#[test]
fn no_schedule_loses_a_call_or_runs_it_too_often() {
    for is_idempotent in [false, true] {
        let (count, hidden) = explore(is_idempotent);
        // Otherwise the schedules do not have the case that matters.
        assert!(hidden > 0, "{count} schedules");
    }
}

/// A server whose answers are written down.
#[derive(Default)]
struct ScriptedServer {
    reads: Mutex<Vec<Option<Record>>>,
    writes: Mutex<Vec<WriteOutcome>>,
    pauses: Mutex<Vec<Duration>>,
    patience: Duration,
}

impl ScriptedServer {
    /// Creates a server with these answers, the first one first.
    fn new(reads: &[Option<Record>], writes: &[WriteOutcome]) -> ScriptedServer {
        ScriptedServer {
            reads: Mutex::new(reads.iter().rev().cloned().collect()),
            writes: Mutex::new(writes.iter().rev().copied().collect()),
            patience: Duration::from_secs(3600),
            ..ScriptedServer::default()
        }
    }
}

impl QueueBackend for ScriptedServer {
    async fn read_value(&self, _id: &str) -> Result<Option<StoredValue>, QueueError> {
        let read = self.reads.lock().pop().ok_or(QueueError::RecordHidden)?;
        Ok(read.map(|record| StoredValue {
            bytes: serde_json::to_vec(&record).expect("JSON").into(),
            revision: 5,
            updated: SystemTime::UNIX_EPOCH,
        }))
    }

    async fn write_value(
        &self,
        _id: &str,
        _value: Bytes,
        _newest: Option<u64>,
    ) -> Result<WriteOutcome, QueueError> {
        self.writes.lock().pop().ok_or(QueueError::RecordHidden)
    }

    async fn is_alive(&self, _host: &str) -> Result<bool, QueueError> {
        Ok(true)
    }

    async fn has_message(&self, _sequence: u64) -> Result<bool, QueueError> {
        Ok(false)
    }

    async fn pause(&self, time: Duration) {
        self.pauses.lock().push(time);
    }

    fn patience(&self) -> Duration {
        self.patience
    }
}

/// Begins the call as the host `one`.
fn begin(server: &ScriptedServer) -> Result<BeginOutcome, QueueError> {
    let (host, first) = (host("one"), record(false));
    let begun = begin_call(server, CALL, &host, &first).now_or_never();
    begun.expect("it does not wait")
}

/// Ends a call that the host `one` has begun.
fn complete(
    server: &ScriptedServer,
    begun: Result<BeginOutcome, QueueError>,
) -> Result<EndOutcome, QueueError> {
    let Ok(BeginOutcome::Begun(begun)) = begun else {
        panic!("{begun:?}");
    };
    let (host, status) = (host("one"), QueueStatus::Completed);
    let ended = end_call(server, &begun, &host, status, end()).now_or_never();
    ended.expect("it does not wait")
}

#[test]
fn a_record_that_another_process_writes_is_read_until_it_is_there() {
    use WriteOutcome::{Conflict, Written};
    let queued = Some(record(false));
    let reads = [None, None, None, None, queued];
    let writes = [Conflict, Conflict, Conflict, Conflict, Written(2)];
    let server = ScriptedServer::new(&reads, &writes);
    let begun = begin(&server);
    assert!(matches!(begun, Ok(BeginOutcome::Begun(_))), "{begun:?}");
    let pauses = server.pauses.lock();
    assert_eq!(*pauses, [10, 20, 40].map(Duration::from_millis));
}

#[test]
fn a_record_whose_other_writer_has_failed_is_written() {
    use WriteOutcome::{Conflict, Written};
    let server = ScriptedServer::new(&[None, None], &[Conflict, Written(1), Written(2)]);
    let begun = begin(&server);
    assert!(matches!(begun, Ok(BeginOutcome::Begun(_))), "{begun:?}");
}

#[test]
fn a_record_that_is_never_there_leaves_the_message() {
    use WriteOutcome::Conflict;
    let server = ScriptedServer {
        patience: Duration::ZERO,
        ..ScriptedServer::new(&[None, None], &[Conflict])
    };
    assert_eq!(
        begin(&server).expect_err("it is not decided").to_string(),
        "the server neither takes nor shows its record"
    );
}

#[test]
fn the_end_of_a_call_whose_record_is_gone_is_kept() {
    use WriteOutcome::{Conflict, Written};
    let server = ScriptedServer {
        patience: Duration::ZERO,
        ..ScriptedServer::new(
            &[None, None],
            &[Written(1), Written(2), Conflict, Written(4)],
        )
    };
    let ended = complete(&server, begin(&server));
    let Ok(EndOutcome::Ended(ended)) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(ended.record().status, QueueStatus::Completed);
}

#[test]
fn the_message_of_a_call_that_another_host_has_begun_stays() {
    use WriteOutcome::{Conflict, Written};
    let again = Record {
        status: QueueStatus::Working,
        host: Some(host("other")),
        ..record(true)
    };
    let server = ScriptedServer::new(&[None, Some(again)], &[Written(1), Written(2), Conflict]);
    let ended = complete(&server, begin(&server));
    assert!(matches!(ended, Ok(EndOutcome::Elsewhere)), "{ended:?}");
}

#[test]
fn an_earlier_record_than_the_known_one_decides_nothing() {
    use WriteOutcome::{Conflict, Written};
    // The first revision is shown again, and then the second one.
    let reads = [None, Some(record(false)), None];
    let server = ScriptedServer::new(
        &reads,
        &[Written(6), Written(7), Conflict, Conflict, Written(8)],
    );
    let ended = complete(&server, begin(&server));
    let Ok(EndOutcome::Ended(ended)) = ended else {
        panic!("{ended:?}");
    };
    assert_eq!(ended.record().status, QueueStatus::Completed);
    assert_eq!(server.pauses.lock().len(), 2);
}
