//! The queued calls of a host: from their message to their end in the record.

use std::collections::HashSet;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, sleep, timeout_at};

use haft_tool::{Block, Cancellation, Error, ErrorKind, LogLevel, Notification, Outcome, Stopped};

use super::delivery::CallDelivery;
use super::error::QueueError;
use super::record::{Asking, End, QueueStatus, Record};
use super::store::MAX_LENGTH;
use super::stored::{RecordRead, StoredRecord, change_record, read_record};
use super::transitions::{BeginOutcome, EndOutcome, begin_call, end_call, put_back_call};
use super::{PARTS, QUOTA, Queue, result_key};
use crate::client::ConnectionState;
use crate::frames::{Finished, HostFrame, HostInfo, known_method};
use crate::message::Message;
use crate::serve_call::{self, CALLER, InPlace, IncomingCall, LinkState, OWNER, USER};
use crate::subjects;

/// Time for which the server waits for the next call before it is asked again. What was asked is lost with
/// the server of a cluster that leads the tool's calls, and no connection shows that.
const ASKED: Duration = Duration::from_secs(10);

/// Time before the server is asked again after an error.
const AGAIN: Duration = Duration::from_secs(1);

/// Time after which another host gets a call that this one cannot begin now.
const ELSEWHERE: Duration = Duration::from_millis(500);

/// Time between two changes of a record that only change the last message.
const MESSAGES: Duration = Duration::from_secs(1);

/// Limit of the length of the last message in a record.
const MAX_MESSAGE: usize = 500;

/// Number of calls that wait for an answer of their user without a place among those that run.
const MAX_WAITING: usize = 1024;

/// Difference between the numbers of the first questions of two attempts, so that an answer to an
/// earlier one answers nothing else.
const QUESTIONS: u64 = 1 << 20;

/// Runs a call.
pub(crate) type RunCall =
    Arc<dyn Fn(IncomingCall) -> BoxFuture<'static, Result<Outcome, Error>> + Send + Sync>;

/// Takes queued calls for a host.
pub(crate) struct Worker {
    run: RunCall,
    queue: Queue,
    host: HostInfo,
    slots: Arc<Semaphore>,
    waiting: Arc<Semaphore>,
    running_calls: watch::Sender<usize>,
    /// Ids of the calls that run here. Their messages may come again.
    running: Mutex<HashSet<String>>,
}

/// The end of a guard is the end of what it guards.
pub(crate) struct Ends(AbortHandle);

impl Drop for Ends {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// The place of a running call among those of its host.
struct Running<'a>(&'a Worker, String);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.lock().remove(&self.1);
    }
}

/// The place of a call: among those that run, or among those that wait for their user.
enum Place {
    Running(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit),
    Waiting(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit),
}

/// Words of a running call, until they are in its record.
#[derive(Clone, Debug, Default)]
struct Said {
    questions: Vec<Asking>,
    message: Option<String>,
}

/// A tool whose calls are taken.
#[derive(Clone)]
pub(crate) struct QueuedTool {
    pub(crate) name: String,
    pub(crate) digest: String,
    /// Set if its calls may be made twice. The host knows, whatever a message says.
    pub(crate) is_idempotent: bool,
}

impl Worker {
    /// Creates a worker that runs that number of calls at the same time.
    /// `running_calls` counts them.
    pub(crate) fn new(
        queue: Queue,
        host: HostInfo,
        max_calls: usize,
        running_calls: watch::Sender<usize>,
        run: RunCall,
    ) -> Arc<Worker> {
        Arc::new(Worker {
            run,
            running_calls,
            queue,
            host,
            slots: Arc::new(Semaphore::new(max_calls)),
            waiting: Arc::new(Semaphore::new(MAX_WAITING)),
            running: Mutex::default(),
        })
    }

    /// Says that the host is there, until the guard is dropped.
    pub(crate) fn beat(self: &Arc<Worker>) -> Ends {
        let worker = self.clone();
        let beating = tokio::spawn(async move {
            let mut beats = interval(worker.queue.settings.silence / 4);
            loop {
                beats.tick().await;
                if let Err(why) = worker.queue.store.beat(&worker.host.id).await {
                    tracing::debug!("a sign of life was not taken: {why}");
                }
            }
        });
        Ends(beating.abort_handle())
    }

    /// Looks for calls whose messages are missing, until the guard is dropped.
    pub(crate) fn sweep(self: &Arc<Worker>) -> Ends {
        let worker = self.clone();
        let sweeping = tokio::spawn(async move {
            let mut ticks = interval(worker.queue.settings.sweep);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            loop {
                ticks.tick().await;
                if let Err(why) = worker.queue.sweep().await {
                    tracing::debug!("calls without a message are looked for later: {why}");
                }
            }
        });
        Ends(sweeping.abort_handle())
    }

    /// Takes the calls of a tool until the guard is dropped. Those that were begun go on.
    pub(crate) fn take(self: &Arc<Worker>, tool: QueuedTool) -> Ends {
        let worker = self.clone();
        let taking = tokio::spawn(async move {
            loop {
                if let Err(why) = worker.take_some(&tool).await {
                    tracing::warn!(tool = tool.name, "queued calls are not taken now: {why}");
                    sleep(AGAIN).await;
                }
            }
        });
        Ends(taking.abort_handle())
    }

    async fn take_some(self: &Arc<Worker>, tool: &QueuedTool) -> Result<(), QueueError> {
        let consumer = self.queue.store.consumer(&tool.name, &tool.digest).await?;
        let mut connection = self.queue.client.state();
        loop {
            connection.borrow_and_update();
            // A host without a free place asks for nothing.
            let slot = self.slots.acquire().await.map_err(QueueError::of_server)?;
            drop(slot);
            let mut deliveries = self.queue.store.next_calls(&consumer, ASKED).await?;
            let delivery = tokio::select! {
                delivery = deliveries.next() => delivery,
                // A new connection does not know what was asked.
                _ = connection.changed() => {
                    let back = |state: &ConnectionState| *state == ConnectionState::Connected;
                    let _ = connection.wait_for(back).await;
                    self.queue.store.drop_broken(&tool.name, &tool.digest).await;
                    continue;
                }
            };
            let Some(delivery) = delivery.transpose()? else {
                continue;
            };
            let Ok(slot) = self.slots.clone().try_acquire_owned() else {
                delivery.leave(ELSEWHERE).await;
                continue;
            };
            let (worker, tool) = (self.clone(), tool.clone());
            let place = InPlace::new(&self.running_calls);
            tokio::spawn(async move {
                let _place = place;
                worker.serve(delivery, &tool, slot).await;
            });
        }
    }

    /// Runs one call, if it is to be run.
    async fn serve(&self, delivery: CallDelivery, tool: &QueuedTool, slot: OwnedSemaphorePermit) {
        let id = delivery.id();
        if !self.running.lock().insert(id.to_owned()) {
            // It runs here, and its message came again.
            return delivery.keep_alive().await;
        }
        let _running = Running(self, id.to_owned());
        let headers = &delivery.wire().headers;
        let first = Record::queued(
            &tool.name,
            &tool.digest,
            (headers.get(CALLER).unwrap_or_default(), headers.get(OWNER)),
            (Some(delivery.sequence()), headers.number(QUOTA)),
            tool.is_idempotent,
        );
        match begin_call(&self.queue.store, id, &self.host, &first).await {
            Ok(BeginOutcome::Begun(record)) => self.run(delivery, &tool.name, *record, slot).await,
            Ok(BeginOutcome::Ended(ended)) => {
                delivery.acknowledge(&ended).await;
                // The process that has noted its end may have been killed then.
                self.queue.note_end(&ended).await;
            }
            Ok(BeginOutcome::Elsewhere) => delivery.leave(self.queue.settings.silence).await,
            Err(why) => {
                tracing::warn!(tool = tool.name, "a queued call is not begun: {why}");
                delivery.leave(AGAIN).await;
            }
        }
    }

    async fn run(
        &self,
        delivery: CallDelivery,
        tool: &str,
        stored: StoredRecord,
        slot: OwnedSemaphorePermit,
    ) {
        let (id, wire) = (delivery.id(), delivery.wire());
        let control = subjects::control(&self.queue.tenant, id);
        let mut news = self.queue.client.subscribe(control).await;
        let headers = &wire.headers;
        let (begun, record) = (Instant::now(), stored.record().clone());
        let known = Mutex::new(stored);
        let ended = match self.arguments(id, wire).await {
            Err(error) => Err(error),
            Ok(arguments) => {
                let first = u64::from(record.attempts) * QUESTIONS + 1;
                let (state, mut frames) = LinkState::new(headers.get(USER).is_some(), first);
                let mut call = IncomingCall::of(id, tool, arguments, headers, state.clone());
                call.is_queued = true;
                let cancellation = call.cancellation.clone();
                let said = watch::Sender::new(Said::default());
                let place = Mutex::new(Place::Running(slot));
                let (given, mut answers) = mpsc::unbounded_channel();
                let hearing = async {
                    while let Some(frame) = frames.recv().await {
                        self.hear(id, frame, &state, (&said, &place));
                    }
                    pending::<()>().await;
                };
                let answering = async {
                    while let Some((question, value)) = answers.recv().await {
                        let is_waiting = matches!(*place.lock(), Place::Waiting(_));
                        if is_waiting && let Ok(slot) = self.slots.clone().acquire_owned().await {
                            *place.lock() = Place::Running(slot);
                        }
                        state.answer(question, value);
                        said.send_modify(|said| said.forget(question));
                    }
                    pending::<()>().await;
                };
                // It never ends. The call goes on while it waits for the server.
                let watching = async {
                    let mut taken = HashSet::new();
                    let mut ticks = interval(self.queue.settings.ack_wait / 3);
                    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
                    loop {
                        tokio::select! {
                            _ = ticks.tick() => {
                                // Otherwise the server gives the call to another host.
                                delivery.keep_alive().await;
                            }
                            Some(_) = news.next() => {}
                        }
                        self.look(&known, begun, &cancellation, &mut taken, &given)
                            .await;
                    }
                };
                let ended = tokio::select! {
                    ended = (self.run)(call) => ended,
                    () = hearing => return,
                    () = answering => return,
                    () = self.note(&known, said.subscribe()) => return,
                    () = watching => return,
                };
                while let Ok(frame) = frames.try_recv() {
                    self.hear(id, frame, &state, (&said, &place));
                }
                ended
            }
        };
        let is_put_back = record.is_idempotent
            && matches!(&ended, Ok(outcome)
            if outcome.stopped == Some(Stopped::HostShutdown));
        if is_put_back {
            let stored = known.lock().clone();
            let put_back = put_back_call(&self.queue.store, &stored, &self.host).await;
            if matches!(put_back, Ok(true)) {
                return delivery.leave(Duration::ZERO).await;
            }
        }
        let (ended, status) = match ended {
            Ok(outcome) => {
                let status = match outcome.stopped {
                    Some(_) => QueueStatus::Cancelled,
                    None if outcome.is_error => QueueStatus::Failed,
                    None => QueueStatus::Completed,
                };
                (Finished::Outcome(outcome), status)
            }
            Err(error) => {
                let status = match error.kind() {
                    ErrorKind::Stopped(_) => QueueStatus::Cancelled,
                    _ => QueueStatus::Failed,
                };
                (Finished::Failed(error), status)
            }
        };
        let frame = HostFrame::Finished(self.host.clone(), ended);
        self.keep(&delivery, frame, status, &known.into_inner())
            .await;
    }

    /// Takes what a running call says: its questions and its last message go to the record, and the rest
    /// to those who wait.
    fn hear(
        &self,
        id: &str,
        frame: HostFrame,
        state: &LinkState,
        (said, place): (&watch::Sender<Said>, &Mutex<Place>),
    ) {
        let asks = |asking: Asking| {
            let mut all = said.borrow().questions.clone();
            all.push(asking.clone());
            // Its texts have any length, and a record has not.
            let length = serde_json::to_vec(&all).map_or(usize::MAX, |text| text.len());
            if length > self.queue.store.limit() / 2 {
                tracing::warn!(call = id, "a question of a queued call is too long");
                return state.answer(asking.id(), Value::Null);
            }
            if let Ok(waiting) = self.waiting.clone().try_acquire_owned() {
                *place.lock() = Place::Waiting(waiting);
            }
            said.send_modify(|said| said.questions.push(asking));
        };
        let says = |text: &str| {
            let text: String = text.chars().take(MAX_MESSAGE).collect();
            said.send_modify(|said| said.message = Some(text));
        };
        match frame {
            HostFrame::Ask(ask) => asks(Asking::Ask(ask)),
            HostFrame::Forward(forward) if known_method(&forward.method).is_none() => {
                state.answer(forward.id, Value::Null);
            }
            HostFrame::Forward(forward) => asks(Asking::Forward(forward)),
            HostFrame::Withdraw(question) => said.send_modify(|said| said.forget(question)),
            HostFrame::Update(update) => {
                if let Some(text) = text_of(&update) {
                    says(&text);
                }
                self.queue.send(id, HostFrame::Update(update));
            }
            HostFrame::Log(line) => {
                if line.level != LogLevel::Debug {
                    says(&line.message);
                }
                self.queue.send(id, HostFrame::Log(line));
            }
            HostFrame::Tell(notification) => {
                if let Notification::Notify { message, .. } = &notification {
                    says(message);
                }
                self.queue.send(id, HostFrame::Tell(notification));
            }
            HostFrame::Accepted(_) | HostFrame::Refused(_) | HostFrame::Finished(..) => {}
        }
    }

    /// Keeps what a running call says in its record. Never ends.
    async fn note(&self, known: &Mutex<StoredRecord>, mut said: watch::Receiver<Said>) {
        let id = known.lock().id().to_owned();
        let id = id.as_str();
        let mut written = Said::default();
        let mut next = Instant::now();
        while said.changed().await.is_ok() {
            // A message can wait, and a question cannot.
            let is_urgent = |now: &Said| now.questions != written.questions;
            let _ = timeout_at(next, said.wait_for(is_urgent)).await;
            let now = said.borrow_and_update().clone();
            let before = known.lock().clone();
            let noting = change_record(&self.queue.store, id, Some(before), |record| {
                let is_ours = record.host.as_ref() == Some(&self.host);
                if record.status != QueueStatus::Working || !is_ours {
                    return false;
                }
                record.questions.clone_from(&now.questions);
                let open = |id: &u64| now.questions.iter().any(|open| open.id() == *id);
                record.answers.retain(|id, _| open(id));
                record.message.clone_from(&now.message);
                true
            });
            match noting.await {
                Ok(RecordRead::Present(stored)) => *known.lock() = *stored,
                Ok(RecordRead::Absent | RecordRead::Unreadable(_)) => {}
                Err(why) => {
                    tracing::warn!(call = id, "what a queued call says is not kept: {why}");
                    // It is tried again.
                    said.mark_changed();
                    sleep(AGAIN).await;
                    continue;
                }
            }
            if now.questions != written.questions {
                self.queue.tell(id);
            }
            written = now;
            next = Instant::now() + MESSAGES;
        }
        pending().await
    }

    /// Cancels a call if its record says so, and takes the answers to its questions that are new.
    async fn look(
        &self,
        known: &Mutex<StoredRecord>,
        begun: Instant,
        cancellation: &Cancellation,
        taken: &mut HashSet<u64>,
        answers: &mpsc::UnboundedSender<(u64, Value)>,
    ) {
        let before = known.lock().clone();
        let stored = match read_record(&self.queue.store, before.id()).await {
            Ok(RecordRead::Present(stored)) if !stored.is_older_than(&before) => stored,
            Ok(RecordRead::Absent) if begun.elapsed() >= self.queue.settings.keep => {
                return cancellation.cancel();
            }
            _ => return,
        };
        let now = stored.record();
        for (&question, value) in &now.answers {
            if taken.insert(question) {
                // The receiver lives as long as the call.
                let _ = answers.send((question, value.clone()));
            }
        }
        known.lock().clone_from(&stored);
        if let Some(why) = now.cancel {
            cancellation.request(why);
        }
        if now.status != QueueStatus::Working || now.host.as_ref() != Some(&self.host) {
            // It is lost for all others, or another host has begun it.
            cancellation.cancel();
        }
    }

    async fn arguments(
        &self,
        id: &str,
        wire: &Message,
    ) -> Result<Box<serde_json::value::RawValue>, Error> {
        let Some(count) = wire.headers.number(PARTS) else {
            return serve_call::json_text(&wire.payload);
        };
        let count = u32::try_from(count).unwrap_or(u32::MAX);
        let key = format!("{id}.arguments");
        let bytes = self.queue.store.get_parts(&key, count).await;
        let bytes = bytes.map_err(|why| {
            let text = format!("the arguments cannot be read: {why}");
            Error::new(ErrorKind::Unavailable, text)
        })?;
        serve_call::json_text(&bytes)
    }

    /// Keeps the end of a call, until the server has it.
    async fn keep(
        &self,
        delivery: &CallDelivery,
        frame: HostFrame,
        status: QueueStatus,
        known: &StoredRecord,
    ) {
        let id = delivery.id();
        let mut bytes = frame.encoded();
        let mut status = status;
        if bytes.len() > MAX_LENGTH {
            let text = format!("the result has {} bytes", bytes.len());
            let failed = Finished::Failed(Error::new(ErrorKind::Internal, text));
            bytes = HostFrame::Finished(self.host.clone(), failed).encoded();
            status = QueueStatus::Failed;
        }
        let mut ticks = interval(self.queue.settings.ack_wait / 3);
        let keeping = async {
            loop {
                match self.write_end(&bytes, status, known).await {
                    Ok(outcome) => return outcome,
                    Err(why) => {
                        tracing::warn!(call = id, "the result is not kept yet: {why}");
                        sleep(AGAIN).await;
                    }
                }
            }
        };
        let mut keeping = std::pin::pin!(keeping);
        let outcome = loop {
            tokio::select! {
                outcome = &mut keeping => break outcome,
                _ = ticks.tick() => delivery.keep_alive().await,
            }
        };
        let EndOutcome::Ended(ended) = outcome else {
            let why = "another host has made it again";
            tracing::warn!(call = id, "the result of a call is dropped: {why}");
            return;
        };
        delivery.acknowledge(&ended).await;
        if ended.record().status == QueueStatus::Lost {
            let why = "it is noted as lost";
            tracing::warn!(call = id, "the result of a call is dropped: {why}");
        }
        self.queue.tell(id);
        self.queue.store.count_out(&ended).await;
    }

    async fn write_end(
        &self,
        bytes: &bytes::Bytes,
        status: QueueStatus,
        known: &StoredRecord,
    ) -> Result<EndOutcome, QueueError> {
        let store = &self.queue.store;
        let end = if bytes.len() > store.limit() {
            let key = result_key(known.id(), known.record().attempts);
            End::Parts(store.put_parts(&key, bytes.clone()).await?)
        } else {
            let frame = serde_json::from_slice(bytes)?;
            End::Frame(frame)
        };
        end_call(store, known, &self.host, status, end).await
    }
}

impl Said {
    fn forget(&mut self, question: u64) {
        self.questions.retain(|open| open.id() != question);
    }
}

/// Returns the text of an update, if it has any.
fn text_of(update: &serde_json::value::RawValue) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Update {
        content: Vec<Block>,
    }
    let update: Update = haft_tool::json::read(update.get()).ok()?;
    let texts = update.content.into_iter().filter_map(|block| match block {
        Block::Text { text, .. } => Some(text),
        _ => None,
    });
    let texts: Vec<String> = texts.collect();
    (!texts.is_empty()).then(|| texts.join("\n"))
}
