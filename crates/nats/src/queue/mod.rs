//! Calls that must not be lost: they are kept by the server (JetStream) until a host runs them, and
//! their results until they are old.
//!
//! - A stream of the tenant has the calls as messages, until a host has ended them.
//! - A bucket has a *record* of each call: its state, its host, its end. Every change names the revision
//!   that it changes, so that two hosts never begin the same call: the record decides, and the message
//!   only makes a host look. Only a record that was read or written with an end takes its message out.
//! - A bucket has what is too long for a message, in parts, and a sign of life of each host.
//! - A stream has a message for each call that has not ended, on a subject of its client. The server
//!   refuses more of them than the quota of a client, so that all hosts together keep it exactly, and no
//!   call costs more than one message. One that is left over by a process that was killed counts until its
//!   client reaches the quota and the record says that the call has ended.
//!
//! Questions of a call and their answers are in its record, so that nothing is lost with a message. The
//! messages of a running call only make others look, and carry its progress to those who wait.
//!
//! A call whose record says that a host runs it is begun again only if its definition says that this
//! does no harm. Otherwise it is lost when its host gives no sign of life. The times of these signs are
//! compared with each other and never with a clock of this machine.

mod delivery;
mod error;
mod following;
mod record;
#[cfg(test)]
mod simulation;
mod store;
mod stored;
mod transitions;
mod worker;

use std::time::Duration;

use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use haft_tool::{CallTrace, CallerScope, Error, ErrorKind, Outcome, Stopped, TraceContext};

use crate::caller::{self, RemoteCall};
use crate::client::Client;
use crate::frames::{Finished, HostFrame, HostInfo};
use crate::message::Headers;
use crate::serve_call::{CALL, CALLER, OWNER, TIMEOUT, USER, scoped};
use crate::subjects;
use error::QueueError;
use transitions::{end_without_message, lose_call};

pub use following::{Following, QueueEvent};
pub use record::{Asked, OpenQuestion, QueueStatus, QueuedCall};
use record::{End, Record};
use store::Store;
use stored::{
    EndedRecord, QueueBackend as _, RecordRead, StoredRecord, change_record, create_record,
    read_record,
};
pub(crate) use worker::{Ends, QueuedTool, RunCall, Worker};

/// Number of hosts that may begin a call that does no harm when it is made twice.
const MAX_ATTEMPTS: u32 = 3;

/// Number of parts of arguments, in the message of a call.
const PARTS: &str = "Haft-Parts";

/// Number of the message in the stream of quotas, in the message of a call.
const QUOTA: &str = "Haft-Quota";

/// Number of records that are looked at at the same time.
const LOOKS: usize = 64;

/// Settings of a queue. All of one tenant should have the same.
#[derive(Clone, Copy, Debug)]
pub struct QueueSettings {
    /// Time after which the server gives a call to another host if its host says nothing about it.
    pub ack_wait: Duration,
    /// Time without a sign of life after which a host is lost.
    pub silence: Duration,
    /// Time for which calls wait, and results are kept.
    pub keep: Duration,
    /// Time for a server that is away to come back.
    pub patience: Duration,
    /// Time between two searches for calls whose messages are missing, at all hosts together.
    pub sweep: Duration,
    /// Number of calls of one client that have not ended.
    pub quota: Quota,
}

/// Number of calls of one client that have not ended.
#[derive(Clone, Copy, Debug)]
pub enum Quota {
    /// The one that the tenant has, or the default if it has none.
    Tenant,
    /// This one, which the tenant has from now on.
    Calls(u32),
}

impl Default for QueueSettings {
    fn default() -> QueueSettings {
        QueueSettings {
            ack_wait: Duration::from_secs(30),
            silence: Duration::from_secs(10),
            keep: Duration::from_secs(7 * 24 * 60 * 60),
            patience: Duration::from_secs(30),
            sweep: Duration::from_secs(60),
            quota: Quota::Tenant,
        }
    }
}

/// The caller of a queued call.
#[derive(Clone, Copy, Debug)]
pub struct QueueCaller<'a> {
    /// Name of the calling host for people.
    pub name: &'a str,
    /// The client that makes the call, by that host's own id for it.
    pub owner: Option<&'a str>,
    /// Set if questions wait for an answer. Otherwise there is no user to ask.
    pub has_user: bool,
    /// The tools that exist for the caller, with the names of the queue's hosts.
    pub scope: &'a CallerScope,
    /// Span of the caller.
    pub span: Option<&'a TraceContext>,
    /// Record of the call at the caller.
    pub trace: Option<&'a CallTrace>,
}

impl<'a> QueueCaller<'a> {
    /// Returns a caller without a user to ask, of the host with this name.
    pub fn new(name: &'a str, scope: &'a CallerScope) -> QueueCaller<'a> {
        QueueCaller {
            name,
            owner: None,
            has_user: false,
            scope,
            span: None,
            trace: None,
        }
    }
}

/// A queued call as it was read at one time.
#[derive(Clone, Debug)]
pub struct QueueEntry {
    /// The call.
    pub call: QueuedCall,
    stored: StoredRecord,
}

impl QueueEntry {
    fn new(stored: StoredRecord) -> QueueEntry {
        let call = stored.record().shown(stored.id());
        QueueEntry { call, stored }
    }
}

/// The queue of one tenant.
#[derive(Clone)]
pub struct Queue {
    client: Client,
    tenant: String,
    settings: QueueSettings,
    store: Store,
}

impl Queue {
    /// Opens the queue of a tenant. It is made if there is none.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if the server keeps none, or is not reached.
    pub async fn open(
        client: &Client,
        tenant: &str,
        settings: QueueSettings,
    ) -> Result<Queue, Error> {
        let store = Store::open(client, tenant, settings).await;
        let store = store.map_err(|why| unusable(tenant, &why))?;
        Ok(Queue {
            client: client.clone(),
            tenant: tenant.to_owned(),
            settings,
            store,
        })
    }

    /// Queues a call and returns it. Then it is kept by the server.
    ///
    /// # Errors
    /// - [`ErrorKind::Limited`] if the client has as many calls that have not ended as it may have.
    /// - [`ErrorKind::Unavailable`] if the server does not take it.
    pub async fn put(
        &self,
        call: &RemoteCall<'_>,
        caller: QueueCaller<'_>,
    ) -> Result<QueuedCall, Error> {
        let id = subjects::new_id();
        let mut headers = Headers::default()
            .with(CALL, id.clone())
            .with(CALLER, caller.name);
        if let Some(owner) = caller.owner {
            headers = headers.with(OWNER, owner);
        }
        if caller.has_user {
            headers = headers.with(USER, "1");
        }
        headers = scoped(headers, caller.scope);
        if let Some(timeout) = call.timeout {
            headers = headers.with(TIMEOUT, timeout.as_millis().to_string());
        }
        headers = caller::traced(headers, caller.span, caller.trace);
        let quota = self.count_in(&id, caller).await?;
        headers = headers.with(QUOTA, quota.to_string());
        let arguments = call.arguments.get().as_bytes();
        let putting = async {
            let mut payload = bytes::Bytes::copy_from_slice(arguments);
            if arguments.len() > self.store.limit() {
                let key = format!("{id}.arguments");
                let parts = self.store.put_parts(&key, payload).await?;
                headers = headers.clone().with(PARTS, parts.to_string());
                payload = bytes::Bytes::new();
            }
            let sequence = self
                .store
                .put_message(&id, call.tool, call.digest, headers, payload)
                .await?;
            let (tool, digest) = (call.tool, call.digest);
            let by = (caller.name, caller.owner);
            let numbers = (Some(sequence), Some(quota));
            let record = Record::queued(tool, digest, by, numbers, call.is_idempotent);
            // A host may have begun it already.
            create_record(&self.store, &id, &record).await
        };
        let put = putting.await;
        if put.is_err() {
            self.store.take_out(quota).await;
        }
        Ok(QueueEntry::new(self.answered(put)?).call)
    }

    /// Counts a call among those of its client, and returns the number of the message that does so.
    async fn count_in(&self, id: &str, caller: QueueCaller<'_>) -> Result<u64, Error> {
        // A token is the same client at all hosts that share their calls. A command line is the user of
        // its machine.
        let client = match caller.owner {
            Some(owner) => format!("of-{}", subjects::token(owner)),
            None => format!("at-{}", subjects::token(caller.name)),
        };
        let client = if subjects::is_short(&client) {
            client
        } else {
            subjects::hash(&client)
        };
        let counted = self.answered(self.store.count_in(&client, id).await)?;
        counted.map_err(|quota| {
            let text = format!(
                "this client has {quota} queued calls that have not ended, which is as many as it \
                 may have"
            );
            let hint = "wait for one to end, or cancel one; `serve.nats.queue_per_client` of the \
                        hosts is the limit";
            Error::new(ErrorKind::Limited, text).with_hint(hint)
        })
    }

    /// Returns the time for which calls wait, and results are kept.
    pub fn keeps(&self) -> Duration {
        self.settings.keep
    }

    /// Returns the calls, oldest first.
    ///
    /// # Errors
    /// If the server does not answer.
    pub async fn list(&self) -> Result<Vec<QueuedCall>, Error> {
        let listing = async {
            let mut ids = self.store.ids().await?;
            ids.retain(|id| subjects::is_token(id));
            ids.sort();
            // The server of a cluster can name one twice.
            ids.dedup();
            let looks = ids.into_iter().map(|id| async move {
                Ok::<_, QueueError>(match self.judged(&id).await? {
                    RecordRead::Present(stored) => Some(QueueEntry::new(*stored).call),
                    RecordRead::Absent | RecordRead::Unreadable(_) => None,
                })
            });
            // Those of hosts that are gone take some time.
            let calls: Vec<Option<QueuedCall>> =
                stream::iter(looks).buffered(LOOKS).try_collect().await?;
            Ok(calls.into_iter().flatten().collect())
        };
        self.answered(listing.await)
    }

    /// Reads a call. What is read is also the base of changes to it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is none with this id, or if the server does not answer.
    pub async fn read(&self, id: &str) -> Result<QueueEntry, Error> {
        if !subjects::is_token(id) {
            return Err(unknown(id));
        }
        self.entry(id, self.judged(id).await)
    }

    /// Returns the end of a call as it was read. `None` if it had none.
    ///
    /// The error is that of [`wait`](Queue::wait).
    pub async fn outcome(&self, entry: &QueueEntry) -> Option<Result<Outcome, Error>> {
        if entry.call.status.is_end() {
            Some(self.end_of(&entry.call.id, entry.stored.record()).await)
        } else {
            None
        }
    }

    /// Waits for the end of a call. Giving up does not cancel the call.
    ///
    /// # Errors
    /// - The call's own error.
    /// - [`ErrorKind::Lost`] if its host was lost, and the call may not be made again.
    /// - [`ErrorKind::Usage`] if there is none with this id, or if the server does not answer.
    pub async fn wait(&self, id: &str) -> Result<Outcome, Error> {
        let ended = self.follow(id).await.ended().await?;
        self.end_of(id, ended.stored.record()).await
    }

    /// Answers a question of a call: with a text, true or false, with the result of a request, or with
    /// null, which dismisses it. The first answer counts. Returns the call as it is then.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the call is not known any more, if it has no such question, or if the value
    /// does not answer it.
    pub async fn answer(
        &self,
        entry: &QueueEntry,
        question: u64,
        value: Value,
    ) -> Result<QueueEntry, Error> {
        if value.to_string().len() > self.store.limit() / 4 {
            return Err(Error::new(ErrorKind::Usage, "the answer is too long"));
        }
        let mut fault = None;
        let answered = self.change(entry, |record| {
            let open = record.unanswered().find(|open| open.id() == question);
            fault = match open {
                Some(open) if open.accepts(&value) => None,
                Some(_) => Some(format!("the value does not answer question {question}")),
                None => Some(format!("the call has no open question {question}")),
            };
            if fault.is_none() {
                record.answers.insert(question, value.clone());
            }
            fault.is_none()
        });
        let answered = answered.await?;
        if let Some(fault) = fault {
            return Err(Error::new(ErrorKind::Usage, fault));
        }
        // Its host looks at the record then, and so do others who show the question.
        let id = &answered.call.id;
        self.notify(subjects::control(&self.tenant, id));
        self.tell(id);
        Ok(answered)
    }

    /// Cancels a call. One that is queued has ended then; the host of one that runs is asked. Returns the
    /// call as it is then.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the call is not known any more, or if the server does not answer.
    pub async fn cancel(&self, entry: &QueueEntry) -> Result<QueueEntry, Error> {
        let cancelled = self.change(entry, |record| match record.status {
            QueueStatus::Queued => {
                let tool = record.tool.clone();
                let why = Stopped::Cancelled;
                let text = format!("The call of `{tool}` was cancelled before a host began it.");
                let outcome = Outcome::stopped(why, text, Duration::ZERO);
                let frame = HostFrame::Finished(no_host(), Finished::Outcome(outcome));
                record.status = QueueStatus::Cancelled;
                record.end = frame_of(frame).map(End::Frame);
                true
            }
            QueueStatus::Working if record.cancel.is_none() => {
                record.cancel = Some(Stopped::Cancelled);
                true
            }
            _ => false,
        });
        let cancelled = cancelled.await?;
        let call = cancelled.call;
        let stored = match cancelled.stored.into_ended() {
            Ok(ended) => {
                if call.status == QueueStatus::Cancelled {
                    self.note_end(&ended).await;
                }
                ended.into_stored()
            }
            Err(stored) => {
                // The host looks at the record then.
                self.notify(subjects::control(&self.tenant, &call.id));
                stored
            }
        };
        Ok(QueueEntry { call, stored })
    }

    /// Changes a call that was read. It is read again only if another process has changed it meanwhile.
    async fn change(
        &self,
        entry: &QueueEntry,
        change: impl FnMut(&mut Record) -> bool,
    ) -> Result<QueueEntry, Error> {
        let id = &entry.call.id;
        let changed = change_record(&self.store, id, Some(entry.stored.clone()), change);
        self.entry(id, changed.await)
    }

    fn entry(&self, id: &str, read: Result<RecordRead, QueueError>) -> Result<QueueEntry, Error> {
        match self.answered(read)? {
            RecordRead::Present(stored) => Ok(QueueEntry::new(*stored)),
            RecordRead::Absent => Err(unknown(id)),
            RecordRead::Unreadable(why) => {
                let text = format!("the record of the queued call `{id}` cannot be read: {why}");
                Err(Error::new(ErrorKind::Internal, text))
            }
        }
    }

    fn answered<T>(&self, answer: Result<T, QueueError>) -> Result<T, Error> {
        answer.map_err(|why| unusable(&self.tenant, &why))
    }

    /// Reads a record. A call whose host is gone is lost by this.
    async fn judged(&self, id: &str) -> Result<RecordRead, QueueError> {
        let stored = match read_record(&self.store, id).await? {
            RecordRead::Present(stored) => *stored,
            other => return Ok(other),
        };
        let record = stored.record();
        let host = match (record.status, &record.host) {
            (QueueStatus::Working, Some(host)) if !record.may_repeat() => host.clone(),
            _ => return Ok(RecordRead::Present(Box::new(stored))),
        };
        if self.store.is_alive(&host.id).await? {
            return Ok(RecordRead::Present(Box::new(stored)));
        }
        let stored = match lose_call(&self.store, stored, &host).await? {
            RecordRead::Present(stored) => *stored,
            other => return Ok(other),
        };
        let stored = match stored.into_ended() {
            Ok(ended) => {
                self.note_end(&ended).await;
                ended.into_stored()
            }
            Err(stored) => stored,
        };
        Ok(RecordRead::Present(Box::new(stored)))
    }

    /// Ends the calls that no host will ever begin, because their messages are not in the stream any more. One
    /// process at a time does so for the tenant.
    async fn sweep(&self) -> Result<(), QueueError> {
        if !self.store.claim_sweep().await? {
            return Ok(());
        }
        let missing = self.store.sweep().await?;
        if missing.is_empty() {
            return Ok(());
        }
        // A server that has just begun to lead its cluster may show them late.
        self.store.pause(self.settings.silence).await;
        for stored in missing {
            if let Some(ended) = end_without_message(&self.store, stored).await? {
                let (call, tool) = (ended.id(), ended.record().tool.as_str());
                tracing::warn!(
                    call,
                    tool,
                    "a queued call has lost its message and is ended"
                );
                self.note_end(&ended).await;
            }
        }
        Ok(())
    }

    /// Takes the message of a call that has ended out of the stream, tells those who wait, and counts the call
    /// out.
    async fn note_end(&self, ended: &EndedRecord) {
        self.store.drop_message(ended).await;
        self.tell(ended.id());
        self.store.count_out(ended).await;
    }

    /// Tells those who wait for a call that its record has changed.
    fn tell(&self, id: &str) {
        self.notify(subjects::events(&self.tenant, id));
    }

    /// Sends a frame of a running call to those who wait for it. One that is too long is not sent.
    fn send(&self, id: &str, frame: HostFrame) {
        let frame = frame.encoded();
        if frame.len() <= self.store.limit() {
            let subject = subjects::events(&self.tenant, id);
            self.client
                .publish(subject, None, Headers::default(), frame);
        }
    }

    /// Publishes an empty message: who gets it looks at the record.
    fn notify(&self, subject: String) {
        let nothing = bytes::Bytes::new();
        self.client
            .publish(subject, None, Headers::default(), nothing);
    }

    async fn end_of(&self, id: &str, record: &Record) -> Result<Outcome, Error> {
        let frame = match &record.end {
            Some(End::Frame(frame)) => bytes::Bytes::copy_from_slice(frame.get().as_bytes()),
            Some(End::Parts(count)) => {
                let key = result_key(id, record.attempts);
                self.answered(self.store.get_parts(&key, *count).await)?
            }
            None => bytes::Bytes::new(),
        };
        match HostFrame::read(&frame, &record.tool) {
            Ok(HostFrame::Finished(by, finished)) if by == no_host() => match finished {
                Finished::Outcome(outcome) => Ok(outcome),
                Finished::Failed(error) => Err(error),
                Finished::Definitions(_) => Err(unreadable(id)),
            },
            Ok(HostFrame::Finished(by, finished)) if record.status != QueueStatus::Lost => {
                caller::ended(finished, &by)
            }
            Ok(HostFrame::Finished(_, Finished::Failed(error))) => Err(error),
            _ => Err(unreadable(id)),
        }
    }
}

/// The host of a call that was never begun.
fn no_host() -> HostInfo {
    HostInfo {
        id: String::new(),
        name: String::new(),
        version: String::new(),
    }
}

fn result_key(id: &str, attempt: u32) -> String {
    format!("{id}.result{attempt}")
}

fn frame_of(frame: HostFrame) -> Option<Box<serde_json::value::RawValue>> {
    serde_json::from_slice(&frame.encoded()).ok()
}

fn unknown(id: &str) -> Error {
    let id: String = id.chars().take(100).collect();
    let id = haft_tool::visible::name(&id);
    let text = format!("there is no queued call `{id}`");
    let hint = "`haft queue list` shows those that are known; results are kept for some days";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

fn unreadable(id: &str) -> Error {
    let text = format!("the end of the queued call `{id}` cannot be read");
    Error::new(ErrorKind::Internal, text)
}

fn unusable(tenant: &str, why: &QueueError) -> Error {
    let text = format!("the queue of the tenant `{tenant}` cannot be used: {why}");
    let hint = "the NATS server keeps calls with JetStream (`nats-server --jetstream`), and this client \
                needs the permissions of docs/nats.md";
    Error::new(ErrorKind::Unavailable, text).with_hint(hint)
}
