//! The stream and the buckets of a queue.
//!
//! All operations are tried again until they succeed or cannot: a server that is away comes back. Their
//! callers limit the time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::kv::{self, CreateErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context, ErrorCode};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::delivery::CallDeliveries;
use super::error::QueueError;
use super::stored::{
    EndedRecord, QueueBackend, RecordRead, StoredRecord, StoredValue, WriteOutcome, read_record,
};
use super::transitions::misses_message;
use super::{QueueSettings, Quota};
use crate::client::Client;
use crate::message::Headers;
use crate::subjects;

/// Name of the stream of calls.
const CALLS: &str = "CALLS";

/// Name of the stream with a message for each call that has not ended.
const QUOTAS: &str = "QUOTAS";

/// Number of calls of one client that have not ended, if no host has said another one.
const DEFAULT_QUOTA: u32 = 10_000;

/// Number of the oldest calls of a client that are looked at when it has reached its quota.
const MAX_RECOUNTED: usize = 256;

/// Number of calls without a message that one sweep finds.
const MAX_MISSING: usize = 1024;

/// Number of operations, each as long as the patience, within which a counted call has its record.
const WRITING: u32 = 4;

/// Time between two of these looks.
const RECOUNTED: Duration = Duration::from_secs(1);

/// Time in which the server takes a message with the same id only once.
const DUPLICATES: Duration = Duration::from_secs(120);

/// Time for one answer of the server.
const ANSWER: Duration = Duration::from_secs(3);

/// Time before an operation is tried again.
const AGAIN: Duration = Duration::from_millis(250);

/// Room for headers in a message of the largest size.
const ROOM_FOR_HEADERS: usize = 8 << 10;

/// Limit of a message in bytes, whatever the server allows.
const MAX_MESSAGE: usize = 256 << 10;

/// Limit of arguments or a result in bytes.
pub(super) const MAX_LENGTH: usize = 256 << 20;

/// Key under which the server's time is read.
const CLOCK: &str = "clock";

/// Key of the last sweep. A change of it makes a host the only one that sweeps.
const SWEEP: &str = "sweep";

/// Answer of the server with a message as it is kept.
#[derive(Deserialize)]
struct RawMessageAnswer {
    message: Option<stream::RawMessage>,
    error: Option<jetstream::Error>,
}

/// A message of the stream of quotas.
struct CountedCall {
    number: u64,
    age: Duration,
    /// The id of the call. `None` if no haft has written it.
    id: Option<String>,
}

/// State of a counted call.
enum CountedState {
    /// It has ended, and does not count any more.
    Ended,
    Open(Box<StoredRecord>),
    /// Its record is not written yet.
    Unwritten,
}

#[derive(Clone)]
pub(super) struct Store {
    client: Client,
    context: Context,
    tenant: String,
    settings: QueueSettings,
    calls: stream::Stream,
    records: kv::Store,
    parts: kv::Store,
    quotas: stream::Stream,
    /// The clients whose calls were looked at not long ago.
    recounted: Arc<Mutex<HashMap<String, Instant>>>,
}

impl Store {
    pub(super) async fn open(
        client: &Client,
        tenant: &str,
        settings: QueueSettings,
    ) -> Result<Store, QueueError> {
        if !client.keeps_calls() {
            return Err(QueueError::NoJetStream);
        }
        let mut context = jetstream::new(client.library().clone());
        context.set_timeout(ANSWER);
        let stream = |name: &str, description: &str, subject: String| stream::Config {
            name: format!("HAFT_{name}_{tenant}"),
            description: Some(description.to_owned()),
            subjects: vec![subject],
            discard: DiscardPolicy::New,
            storage: StorageType::File,
            duplicate_window: DUPLICATES,
            max_age: settings.keep,
            ..stream::Config::default()
        };
        let subject = subjects::queued(tenant, "*", "*");
        let config = stream::Config {
            retention: RetentionPolicy::WorkQueue,
            ..stream(CALLS, "Calls of tools that must not be lost", subject)
        };
        let calls = retried(settings.patience, || {
            context.get_or_create_stream(config.clone())
        })
        .await?;
        let default = match settings.quota {
            Quota::Tenant => DEFAULT_QUOTA,
            Quota::Calls(calls) => calls,
        };
        let what = "A message for each queued call that has not ended";
        let config = stream::Config {
            max_messages_per_subject: i64::from(default),
            discard_new_per_subject: true,
            ..stream(QUOTAS, what, subjects::quota(tenant, "*"))
        };
        let quotas = retried(settings.patience, || {
            context.get_or_create_stream(config.clone())
        })
        .await?;
        let kept = &quotas.cached_info().config;
        if let Quota::Calls(_) = settings.quota
            && kept.max_messages_per_subject != config.max_messages_per_subject
        {
            let changed = stream::Config {
                max_messages_per_subject: config.max_messages_per_subject,
                ..kept.clone()
            };
            retried(settings.patience, || context.update_stream(changed.clone())).await?;
        }
        let bucket = |name: &str| kv::Config {
            bucket: format!("HAFT_{name}_{tenant}"),
            history: 1,
            max_age: settings.keep,
            storage: StorageType::File,
            ..kv::Config::default()
        };
        let records = open_bucket(&context, settings.patience, bucket("TASKS")).await?;
        let parts = open_bucket(&context, settings.patience, bucket("PARTS")).await?;
        Ok(Store {
            client: client.clone(),
            context,
            tenant: tenant.to_owned(),
            settings,
            calls,
            records,
            parts,
            quotas,
            recounted: Arc::default(),
        })
    }

    /// Returns the limit of a value in bytes.
    pub(super) fn limit(&self) -> usize {
        let limit = self.client.max_payload().saturating_sub(ROOM_FOR_HEADERS);
        limit.clamp(1 << 10, MAX_MESSAGE)
    }

    /// Adds a call to the stream, and returns its number there.
    pub(super) async fn put_message(
        &self,
        id: &str,
        tool: &str,
        digest: &str,
        headers: Headers,
        payload: Bytes,
    ) -> Result<u64, QueueError> {
        let subject = subjects::queued(&self.tenant, &subjects::token(tool), digest);
        let message = PublishMessage::build()
            .headers(headers.into_fields())
            .payload(payload)
            // The server takes it once, however often it is sent.
            .message_id(id);
        let put = async || {
            let message = message.clone();
            self.context
                .send_publish(subject.clone(), message)
                .await?
                .await
        };
        let ack = retried(self.settings.patience, put).await?;
        Ok(ack.sequence)
    }

    /// Takes the message of a call that has ended out of the stream. A host that has got it sees the record.
    pub(super) async fn drop_message(&self, ended: &EndedRecord) {
        if let Some(sequence) = ended.record().sequence {
            self.delete_message(sequence).await;
        }
    }

    async fn delete_message(&self, sequence: u64) {
        if let Err(error) = self.calls.delete_message(sequence).await {
            tracing::debug!("a call stays in the stream: {error}");
        }
    }

    /// Counts a call among those of its client that have not ended. Returns the number of its message, or
    /// the quota if the client has reached it.
    pub(super) async fn count_in(
        &self,
        client: &str,
        id: &str,
    ) -> Result<Result<u64, i64>, QueueError> {
        loop {
            if let Some(number) = self.put_in(client, id).await? {
                return Ok(Ok(number));
            }
            if !self.recount(client).await? {
                let info = retried(self.settings.patience, || self.quotas.get_info()).await?;
                return Ok(Err(info.config.max_messages_per_subject));
            }
        }
    }

    async fn put_in(&self, client: &str, id: &str) -> Result<Option<u64>, QueueError> {
        let subject = subjects::quota(&self.tenant, client);
        let message = PublishMessage::build()
            .payload(Bytes::copy_from_slice(id.as_bytes()))
            .message_id(id);
        let put = async || {
            let published = self.context.send_publish(subject.clone(), message.clone());
            match published.await?.await {
                Ok(ack) => Ok(Some(ack.sequence)),
                Err(error) if error.to_string().contains("per subject exceeded") => Ok(None),
                Err(error) => Err(error),
            }
        };
        retried(self.settings.patience, put).await
    }

    /// Looks at the oldest calls of a client, and takes out those that have ended: the process that noted
    /// their ends was killed then. Returns true if there were some.
    async fn recount(&self, client: &str) -> Result<bool, QueueError> {
        {
            let mut recounted = self.recounted.lock();
            recounted.retain(|_, at| at.elapsed() < RECOUNTED);
            if recounted.contains_key(client) {
                return Ok(false);
            }
            recounted.insert(client.to_owned(), Instant::now());
        }
        let now = self.time().await?;
        let (mut next, mut are_fewer) = (1, false);
        for _ in 0..MAX_RECOUNTED {
            let Some(counted) = self.next_counted(client, next, now).await? else {
                break;
            };
            next = counted.number + 1;
            are_fewer |= matches!(self.look_at(&counted).await?, CountedState::Ended);
        }
        Ok(are_fewer)
    }

    /// Returns the first counted call of a client from the number `from` on. `now` is the server's time.
    async fn next_counted(
        &self,
        client: &str,
        from: u64,
        now: i128,
    ) -> Result<Option<CountedCall>, QueueError> {
        let subject = subjects::quota(&self.tenant, client);
        let which = json!({"seq": from, "next_by_subj": subject});
        let Some(raw) = self.raw_message(QUOTAS, &which).await? else {
            return Ok(None);
        };
        let (number, counted) = (raw.sequence, raw.time.unix_timestamp_nanos());
        let message = StreamMessage::try_from(raw).ok();
        let id = message.and_then(|message| String::from_utf8(message.payload.to_vec()).ok());
        Ok(Some(CountedCall {
            number,
            age: Duration::from_nanos(u64::try_from(now - counted).unwrap_or_default()),
            id: id.filter(|id| subjects::is_token(id)),
        }))
    }

    /// Looks at the record of a counted call. A call that has ended is counted out.
    async fn look_at(&self, counted: &CountedCall) -> Result<CountedState, QueueError> {
        // Its record comes after it.
        let is_new = counted.age < self.settings.patience * WRITING;
        if let Some(id) = &counted.id {
            match read_record(self, id).await? {
                RecordRead::Present(stored) => {
                    if let Err(open) = stored.into_ended() {
                        return Ok(CountedState::Open(Box::new(open)));
                    }
                }
                RecordRead::Absent | RecordRead::Unreadable(_) if is_new => {
                    return Ok(CountedState::Unwritten);
                }
                RecordRead::Absent | RecordRead::Unreadable(_) => {}
            }
        }
        self.take_out(counted.number).await;
        Ok(CountedState::Ended)
    }

    /// Returns true if this process sweeps now: no other one does, or has done so not long ago.
    pub(super) async fn claim_sweep(&self) -> Result<bool, QueueError> {
        let last = retried(self.settings.patience, || self.parts.entry(SWEEP)).await?;
        let (revision, swept) = match &last {
            Some(last) => (last.revision, last.created.unix_timestamp_nanos()),
            None => (0, 0),
        };
        if self.time().await? - swept < nanos(self.settings.sweep) {
            return Ok(false);
        }
        // An error means that another process has claimed it, or that the server is away.
        let claimed = self.parts.update(SWEEP, Bytes::new(), revision).await;
        Ok(claimed.is_ok())
    }

    /// Counts out the calls of all clients that have ended, and returns the records of those that have not
    /// ended and whose messages are missing.
    pub(super) async fn sweep(&self) -> Result<Vec<StoredRecord>, QueueError> {
        let now = self.time().await?;
        let (mut next, mut missing) = (1, Vec::new());
        while missing.len() < MAX_MISSING
            && let Some(counted) = self.next_counted("*", next, now).await?
        {
            next = counted.number + 1;
            if counted.age >= self.settings.sweep
                && let CountedState::Open(stored) = self.look_at(&counted).await?
                && misses_message(self, &stored).await?
            {
                missing.push(*stored);
            }
        }
        Ok(missing)
    }

    /// Counts out a call that has ended.
    pub(super) async fn count_out(&self, ended: &EndedRecord) {
        if let Some(number) = ended.record().quota {
            self.take_out(number).await;
        }
    }

    /// Takes a message out of the stream of quotas. If the server is away, it is found when its client
    /// reaches the quota.
    pub(super) async fn take_out(&self, number: u64) {
        let name = format!("STREAM.MSG.DELETE.HAFT_{QUOTAS}_{}", self.tenant);
        // The library's own deletion also overwrites the message on the disk, which costs each call.
        let which = json!({"seq": number, "no_erase": true});
        let answer: Result<Value, _> = self.context.request(name, &which).await;
        if let Err(error) = answer {
            tracing::debug!("a call that has ended is not counted out: {error}");
        }
    }

    /// Returns a message of a stream as it is kept: its headers may be broken. `None` if there is none.
    async fn raw_message(
        &self,
        stream: &str,
        which: &Value,
    ) -> Result<Option<stream::RawMessage>, QueueError> {
        let name = format!("STREAM.MSG.GET.HAFT_{stream}_{}", self.tenant);
        let answer = retried(self.settings.patience, || {
            self.context.request(name.clone(), which)
        });
        let answer: RawMessageAnswer = answer.await?;
        match answer.error {
            Some(error) if error.error_code() != ErrorCode::NO_MESSAGE_FOUND => {
                Err(QueueError::of_server(error))
            }
            Some(_) => Ok(None),
            None => Ok(answer.message),
        }
    }

    /// Takes the messages of one tool out of the stream that this client cannot read. Each of them ends the
    /// connection on which it comes, so it is not acknowledged and would come again.
    pub(super) async fn drop_broken(&self, tool: &str, digest: &str) {
        let subject = subjects::queued(&self.tenant, &subjects::token(tool), digest);
        let Ok(mut consumer) = self.consumer(tool, digest).await else {
            return;
        };
        let Ok(info) = consumer.info().await else {
            return;
        };
        // It is among those that were sent and not acknowledged.
        let last = info.delivered.stream_sequence;
        let mut next = info.ack_floor.stream_sequence + 1;
        while next <= last {
            let which = json!({"seq": next, "next_by_subj": subject});
            let Ok(Some(raw)) = self.raw_message(CALLS, &which).await else {
                return;
            };
            let sequence = raw.sequence;
            if sequence <= last && StreamMessage::try_from(raw).is_err() {
                tracing::warn!(tool, "a queued message with broken headers is dropped");
                self.delete_message(sequence).await;
            }
            next = sequence + 1;
        }
    }

    /// Returns the calls of one tool, which hosts with this definition share.
    pub(super) async fn consumer(
        &self,
        tool: &str,
        digest: &str,
    ) -> Result<PullConsumer, QueueError> {
        let tool = subjects::token(tool);
        let short: String = tool.chars().take(64).collect();
        // Long names that begin with the same letters differ by their digest.
        let name = format!("{short}-{}", subjects::hash(&format!("{tool}.{digest}")));
        let config = pull::Config {
            durable_name: Some(name),
            filter_subject: subjects::queued(&self.tenant, &tool, digest),
            ack_policy: AckPolicy::Explicit,
            deliver_policy: DeliverPolicy::All,
            ack_wait: self.settings.ack_wait,
            // The record decides whether a call is begun, also again.
            max_deliver: -1,
            max_ack_pending: -1,
            ..pull::Config::default()
        };
        retried(self.settings.patience, || {
            self.calls.create_consumer(config.clone())
        })
        .await
    }

    /// Asks for the next call of a tool, for that time.
    pub(super) async fn next_calls(
        &self,
        consumer: &PullConsumer,
        time: Duration,
    ) -> Result<CallDeliveries, QueueError> {
        let asking = consumer.batch().max_messages(1).expires(time).messages();
        let messages = asking.await.map_err(QueueError::of_server)?;
        let stream = self.calls.cached_info().config.name.clone();
        Ok(CallDeliveries::new(messages, stream))
    }

    pub(super) async fn ids(&self) -> Result<Vec<String>, QueueError> {
        let keys = async || self.records.keys().await;
        let keys = retried(self.settings.patience, keys).await?;
        keys.try_collect().await.map_err(QueueError::of_server)
    }

    /// Keeps long bytes in parts, and returns their number.
    pub(super) async fn put_parts(&self, key: &str, mut bytes: Bytes) -> Result<u32, QueueError> {
        if bytes.len() > MAX_LENGTH {
            return Err(QueueError::TooLong);
        }
        let limit = self.limit();
        let mut count = 0;
        while !bytes.is_empty() {
            let part = bytes.split_to(bytes.len().min(limit));
            let key = format!("{key}.{count}");
            retried(self.settings.patience, || {
                self.parts.put(&key, part.clone())
            })
            .await?;
            count += 1;
        }
        Ok(count)
    }

    pub(super) async fn get_parts(&self, key: &str, count: u32) -> Result<Bytes, QueueError> {
        let mut bytes = BytesMut::new();
        for index in 0..count {
            let key = format!("{key}.{index}");
            let part = retried(self.settings.patience, || self.parts.get(&key)).await?;
            bytes.extend_from_slice(&part.ok_or(QueueError::PartMissing)?);
            if bytes.len() > MAX_LENGTH {
                return Err(QueueError::TooLong);
            }
        }
        Ok(bytes.freeze())
    }

    /// Gives a sign of life of a host.
    pub(super) async fn beat(&self, host: &str) -> Result<(), QueueError> {
        let beat = self.parts.put(host_key(host), Bytes::new()).await;
        beat.map(|_| ()).map_err(QueueError::of_server)
    }

    /// Returns the server's time in nanoseconds since 1970.
    async fn time(&self) -> Result<i128, QueueError> {
        retried(self.settings.patience, || {
            self.parts.put(CLOCK, Bytes::new())
        })
        .await?;
        let clock = retried(self.settings.patience, || self.parts.entry(CLOCK)).await?;
        let clock = clock.ok_or(QueueError::NoClock)?;
        Ok(clock.created.unix_timestamp_nanos())
    }
}

impl QueueBackend for Store {
    async fn read_value(&self, id: &str) -> Result<Option<StoredValue>, QueueError> {
        let entry = retried(self.settings.patience, || self.records.entry(id)).await?;
        let entry = entry.filter(|entry| entry.operation == kv::Operation::Put);
        Ok(entry.map(|entry| {
            let time = u64::try_from(entry.created.unix_timestamp_nanos()).unwrap_or_default();
            StoredValue {
                bytes: entry.value,
                revision: entry.revision,
                updated: UNIX_EPOCH + Duration::from_nanos(time),
            }
        }))
    }

    async fn write_value(
        &self,
        id: &str,
        value: Bytes,
        newest: Option<u64>,
    ) -> Result<WriteOutcome, QueueError> {
        match newest {
            // Its answer is lost with the record's revision, so it is not asked again.
            Some(revision) => write_outcome(self.records.update(id, value, revision).await),
            None => {
                retried(self.settings.patience, async || {
                    write_outcome(self.records.create(id, value.clone()).await)
                })
                .await
            }
        }
    }

    /// A last sign that is too old is not enough to count it as gone: nothing arrives while the server is
    /// away. So the next one is awaited, with a connection.
    async fn is_alive(&self, host: &str) -> Result<bool, QueueError> {
        if !subjects::is_token(host) {
            return Ok(false);
        }
        let key = host_key(host);
        let beat = async || retried(self.settings.patience, || self.parts.entry(&key)).await;
        let Some(last) = beat().await? else {
            return Ok(false);
        };
        // Both times are the server's.
        let age = self.time().await? - last.created.unix_timestamp_nanos();
        let silence = self.settings.silence;
        if age < nanos(silence) {
            return Ok(true);
        }
        let mut connection = self.client.state();
        connection.borrow_and_update();
        while let Ok(Ok(())) = timeout(silence, connection.changed()).await {}
        let next = beat().await?;
        Ok(next.is_some_and(|next| next.revision != last.revision))
    }

    async fn has_message(&self, sequence: u64) -> Result<bool, QueueError> {
        let found = self.raw_message(CALLS, &json!({"seq": sequence})).await?;
        Ok(found.is_some())
    }

    async fn pause(&self, time: Duration) {
        sleep(time).await;
    }

    fn patience(&self) -> Duration {
        self.settings.patience
    }
}

/// Opens a bucket whose values come from the leader of its replicas. Others may lag behind, and a record
/// that they do not have yet would count as one that there is not.
async fn open_bucket(
    context: &Context,
    patience: Duration,
    config: kv::Config,
) -> Result<kv::Store, QueueError> {
    let name = config.bucket.clone();
    let store = match context.get_key_value(&name).await {
        Ok(store) => store,
        Err(_) => match retried(patience, || context.create_key_value(config.clone())).await {
            Ok(store) => store,
            // Another process may have made it meanwhile.
            Err(why) => context.get_key_value(&name).await.map_err(|_| why)?,
        },
    };
    if !store.stream.cached_info().config.allow_direct {
        return Ok(store);
    }
    let by_leader = stream::Config {
        allow_direct: false,
        ..store.stream.cached_info().config.clone()
    };
    retried(patience, || context.update_stream(by_leader.clone())).await?;
    retried(patience, || context.get_key_value(&name)).await
}

fn nanos(time: Duration) -> i128 {
    i128::try_from(time.as_nanos()).unwrap_or(i128::MAX)
}

fn host_key(host: &str) -> String {
    format!("host.{host}")
}

/// Returns the outcome of a write. One that is refused because of another one is a conflict. A cluster also
/// refuses it while the other one is on its way to all servers.
fn write_outcome<E: std::error::Error + Send + Sync + 'static>(
    written: Result<u64, E>,
) -> Result<WriteOutcome, QueueError> {
    let codes = [
        ErrorCode::STREAM_WRONG_LAST_SEQUENCE,
        ErrorCode::STREAM_WRONG_LAST_SEQUENCE_CONSTANT,
    ];
    let error = match written {
        Ok(revision) => return Ok(WriteOutcome::Written(revision)),
        Err(error) => error,
    };
    let first: &(dyn std::error::Error + 'static) = &error;
    let mut errors = std::iter::successors(Some(first), |error| error.source());
    let is_conflict = errors.any(|error| {
        let is_one = |error: &jetstream::Error| codes.contains(&error.error_code());
        let exists = |error: &kv::CreateError| error.kind() == CreateErrorKind::AlreadyExists;
        error.downcast_ref().is_some_and(is_one) || error.downcast_ref().is_some_and(exists)
    });
    if is_conflict {
        Ok(WriteOutcome::Conflict)
    } else {
        Err(QueueError::of_server(error))
    }
}

/// Tries an operation until it succeeds. While the server is away this takes some time.
async fn retried<T, E, F>(patience: Duration, operation: impl Fn() -> F) -> Result<T, QueueError>
where
    F: Future<Output = Result<T, E>>,
    E: std::error::Error + Send + Sync + 'static,
{
    let begun = Instant::now();
    loop {
        match operation().await {
            Ok(value) => return Ok(value),
            Err(error) => {
                let why = error.to_string();
                if !is_away(&why) || begun.elapsed() >= patience {
                    return Err(QueueError::of_server(error));
                }
                tracing::debug!("the queue's server is asked again: {why}");
            }
        }
        sleep(AGAIN).await;
    }
}

/// Returns true if an error says that the server has not answered, and may later.
fn is_away(why: &str) -> bool {
    let signs = [
        "timed out",
        "no responders",
        "unavailable",
        "broken pipe",
        "no message found",
        // While a cluster chooses another leader, no server takes what is published.
        "no stream found",
    ];
    let why = why.to_lowercase();
    signs.iter().any(|sign| why.contains(sign))
}
