//! The stream and the buckets of a queue.
//!
//! All operations are tried again until they succeed or cannot: a server that is away comes back. Their
//! callers limit the time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy, PullConsumer, pull};
use async_nats::jetstream::kv::{self, CreateErrorKind, UpdateErrorKind};
use async_nats::jetstream::message::{PublishMessage, StreamMessage};
use async_nats::jetstream::stream::{self, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, Context};
use bytes::{Bytes, BytesMut};
use futures::TryStreamExt;
use parking_lot::Mutex;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{QueueSettings, Quota, Record};
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

/// Answer of the server with a message as it is kept.
#[derive(Deserialize)]
struct Got {
    message: Option<stream::RawMessage>,
}

/// A record with the revision that a change of it names.
#[derive(Clone, Debug)]
pub(super) struct Kept {
    pub(super) record: Record,
    revision: u64,
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
    ) -> Result<Store, String> {
        if !client.keeps_calls() {
            return Err("the server has no JetStream".to_owned());
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
    ) -> Result<u64, String> {
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

    /// Takes a call out of the stream. A host that gets it sees that it has ended.
    pub(super) async fn drop_message(&self, sequence: u64) {
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
    ) -> Result<Result<u64, i64>, String> {
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

    async fn put_in(&self, client: &str, id: &str) -> Result<Option<u64>, String> {
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
    async fn recount(&self, client: &str) -> Result<bool, String> {
        {
            let mut recounted = self.recounted.lock();
            recounted.retain(|_, at| at.elapsed() < RECOUNTED);
            if recounted.contains_key(client) {
                return Ok(false);
            }
            recounted.insert(client.to_owned(), Instant::now());
        }
        let now = self.time().await?;
        let subject = subjects::quota(&self.tenant, client);
        let (mut next, mut are_fewer) = (1, false);
        for _ in 0..MAX_RECOUNTED {
            let Some(raw) = self.next_message(QUOTAS, &subject, next).await else {
                break;
            };
            next = raw.sequence + 1;
            // Its record comes after it.
            let age = now - raw.time.unix_timestamp_nanos();
            let is_new = age < nanos(self.settings.patience * WRITING);
            let number = raw.sequence;
            let call = StreamMessage::try_from(raw).ok();
            let id = call.and_then(|call| String::from_utf8(call.payload.to_vec()).ok());
            let has_ended = match id.filter(|id| subjects::is_token(id)) {
                Some(id) => match self.get(&id).await? {
                    Some(kept) => kept.record.status.is_end(),
                    None => !is_new,
                },
                // No haft has written it.
                None => true,
            };
            if has_ended {
                self.take_out(number).await;
                are_fewer = true;
            }
        }
        Ok(are_fewer)
    }

    /// Counts out a call that has ended.
    pub(super) async fn count_out(&self, record: &Record) {
        if let Some(number) = record.quota {
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

    /// Returns the first message of a subject from the number `from` on, as it is kept: its headers may be
    /// broken. `None` if there is none, or if the server does not answer.
    async fn next_message(
        &self,
        stream: &str,
        subject: &str,
        from: u64,
    ) -> Option<stream::RawMessage> {
        let name = format!("STREAM.MSG.GET.HAFT_{stream}_{}", self.tenant);
        let which = json!({"seq": from, "next_by_subj": subject});
        let got: Result<Got, _> = self.context.request(name, &which).await;
        got.ok()?.message
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
            let Some(raw) = self.next_message(CALLS, &subject, next).await else {
                return;
            };
            let sequence = raw.sequence;
            if sequence <= last && StreamMessage::try_from(raw).is_err() {
                tracing::warn!(tool, "a queued message with broken headers is dropped");
                self.drop_message(sequence).await;
            }
            next = sequence + 1;
        }
    }

    /// Returns the calls of one tool, which hosts with this definition share.
    pub(super) async fn consumer(&self, tool: &str, digest: &str) -> Result<PullConsumer, String> {
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

    /// Adds a record, or returns the one that there is. `None` if that cannot be read.
    pub(super) async fn create(&self, id: &str, record: &Record) -> Result<Option<Kept>, String> {
        let value = bytes_of(record)?;
        let create = async || match self.records.create(id, value.clone()).await {
            Ok(revision) => Ok(Some(revision)),
            Err(error) if error.kind() == CreateErrorKind::AlreadyExists => Ok(None),
            // What the server of a cluster says instead, which the client does not know.
            Err(error) if error.to_string().contains("wrong last sequence") => Ok(None),
            Err(error) => Err(error),
        };
        let Some(revision) = retried(self.settings.patience, create).await? else {
            return self.get(id).await;
        };
        let record = Record {
            updated: Some(SystemTime::now()),
            ..record.clone()
        };
        Ok(Some(Kept { record, revision }))
    }

    /// Reads a record.
    pub(super) async fn get(&self, id: &str) -> Result<Option<Kept>, String> {
        let entry = retried(self.settings.patience, || self.records.entry(id)).await?;
        let Some(entry) = entry.filter(|entry| entry.operation == kv::Operation::Put) else {
            return Ok(None);
        };
        match serde_json::from_slice::<Record>(&entry.value) {
            Ok(mut record) => {
                let time = u64::try_from(entry.created.unix_timestamp_nanos()).unwrap_or_default();
                record.updated = Some(UNIX_EPOCH + Duration::from_nanos(time));
                let revision = entry.revision;
                Ok(Some(Kept { record, revision }))
            }
            Err(error) => {
                tracing::warn!(id, "a record cannot be read: {error}");
                Ok(None)
            }
        }
    }

    /// Changes a record, unless `change` returns false. Returns the record as it is then.
    pub(super) async fn change(
        &self,
        id: &str,
        change: impl FnMut(&mut Record) -> bool,
    ) -> Result<Option<Record>, String> {
        let kept = self.change_read(id, None, change).await?;
        Ok(kept.map(|kept| kept.record))
    }

    /// Changes a record, unless `change` returns false. `read` is what is known of it: it is read again
    /// only if another process has changed it since. Returns the record as it is then.
    pub(super) async fn change_read(
        &self,
        id: &str,
        mut read: Option<Kept>,
        mut change: impl FnMut(&mut Record) -> bool,
    ) -> Result<Option<Kept>, String> {
        let begun = Instant::now();
        loop {
            let known = match read.take() {
                Some(read) => Some(read),
                None => self.get(id).await?,
            };
            let Some(mut kept) = known else {
                return Ok(None);
            };
            if !change(&mut kept.record) {
                return Ok(Some(kept));
            }
            let value = bytes_of(&kept.record)?;
            match self.records.update(id, value, kept.revision).await {
                Ok(revision) => {
                    kept.revision = revision;
                    kept.record.updated = Some(SystemTime::now());
                    return Ok(Some(kept));
                }
                // Another process has changed it meanwhile.
                Err(error) if error.kind() == UpdateErrorKind::WrongLastRevision => {}
                Err(error) if begun.elapsed() >= self.settings.patience => {
                    return Err(error.to_string());
                }
                // Perhaps only the answer was lost, and the change is seen then.
                Err(error) => {
                    tracing::debug!("a record is changed again: {error}");
                    sleep(AGAIN).await;
                }
            }
        }
    }

    pub(super) async fn ids(&self) -> Result<Vec<String>, String> {
        let keys = async || self.records.keys().await;
        let keys = retried(self.settings.patience, keys).await?;
        keys.try_collect().await.map_err(|error| error.to_string())
    }

    /// Keeps long bytes in parts, and returns their number.
    pub(super) async fn put_parts(&self, key: &str, mut bytes: Bytes) -> Result<u32, String> {
        if bytes.len() > MAX_LENGTH {
            return Err("it is too long".to_owned());
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

    pub(super) async fn get_parts(&self, key: &str, count: u32) -> Result<Bytes, String> {
        let mut bytes = BytesMut::new();
        for index in 0..count {
            let key = format!("{key}.{index}");
            let part = retried(self.settings.patience, || self.parts.get(&key)).await?;
            bytes.extend_from_slice(&part.ok_or("a part is missing: it is too old")?);
            if bytes.len() > MAX_LENGTH {
                return Err("it is too long".to_owned());
            }
        }
        Ok(bytes.freeze())
    }

    /// Gives a sign of life of a host.
    pub(super) async fn beat(&self, host: &str) -> Result<(), String> {
        let beat = self.parts.put(host_key(host), Bytes::new()).await;
        beat.map(|_| ()).map_err(|error| error.to_string())
    }

    /// Returns the server's time in nanoseconds since 1970.
    async fn time(&self) -> Result<i128, String> {
        retried(self.settings.patience, || {
            self.parts.put(CLOCK, Bytes::new())
        })
        .await?;
        let clock = retried(self.settings.patience, || self.parts.entry(CLOCK)).await?;
        let clock = clock.ok_or("the server's time cannot be read")?;
        Ok(clock.created.unix_timestamp_nanos())
    }

    /// Returns true if a host gives signs of life.
    ///
    /// A last sign that is too old is not enough to count it as gone: nothing arrives while the server is
    /// away. So the next one is awaited, with a connection.
    pub(super) async fn is_alive(&self, host: &str) -> Result<bool, String> {
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
}

/// Opens a bucket whose values come from the leader of its replicas. Others may lag behind, and a record
/// that they do not have yet would count as one that there is not.
async fn open_bucket(
    context: &Context,
    patience: Duration,
    config: kv::Config,
) -> Result<kv::Store, String> {
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

fn bytes_of(record: &Record) -> Result<Bytes, String> {
    let bytes = serde_json::to_vec(record).map_err(|error| error.to_string())?;
    Ok(bytes.into())
}

/// Tries an operation until it succeeds. While the server is away this takes some time.
async fn retried<T, E, F>(patience: Duration, operation: impl Fn() -> F) -> Result<T, String>
where
    F: Future<Output = Result<T, E>>,
    E: std::fmt::Display,
{
    let begun = Instant::now();
    loop {
        match operation().await {
            Ok(value) => return Ok(value),
            Err(error) => {
                let why = error.to_string();
                if !is_away(&why) || begun.elapsed() >= patience {
                    return Err(why);
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
