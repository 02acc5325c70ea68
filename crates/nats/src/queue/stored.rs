//! Records as the server has them.
//!
//! What is read or written here is the proof of later steps: only an [`EndedRecord`] takes the message of
//! its call out of the stream, and only the server's answer makes one.
//!
//! A record that is not found is not one that cannot exist. The leader of a cluster refuses a second write
//! while the first one is on its way to the other servers, and shows neither of the two until it is there.

use std::time::{Duration, SystemTime};

use bytes::Bytes;
use tokio::time::Instant;

use super::error::QueueError;
use super::record::Record;

/// Delay before a step is tried again because another process is writing the record. It doubles up to the other one.
const RETRY_DELAY: (Duration, Duration) = (Duration::from_millis(10), Duration::from_secs(1));

/// The answers of a server on which decisions about queued calls depend.
pub(super) trait QueueBackend: Sync {
    /// Reads the newest value of a record. `None` if the server shows none.
    fn read_value(
        &self,
        id: &str,
    ) -> impl Future<Output = Result<Option<StoredValue>, QueueError>> + Send;

    /// Writes the value of a record if the newest one has that revision, or if there is none.
    fn write_value(
        &self,
        id: &str,
        value: Bytes,
        newest: Option<u64>,
    ) -> impl Future<Output = Result<WriteOutcome, QueueError>> + Send;

    /// Returns true if a host gives signs of life.
    fn is_alive(&self, host: &str) -> impl Future<Output = Result<bool, QueueError>> + Send;

    /// Returns true if the stream of calls has the message with that number.
    fn has_message(&self, sequence: u64) -> impl Future<Output = Result<bool, QueueError>> + Send;

    /// Waits before a step is tried again.
    fn pause(&self, time: Duration) -> impl Future<Output = ()> + Send;

    /// Returns the time for which steps are tried again.
    fn patience(&self) -> Duration;
}

/// A value as the server has it.
#[derive(Clone, Debug)]
pub(super) struct StoredValue {
    pub(super) bytes: Bytes,
    pub(super) revision: u64,
    pub(super) updated: SystemTime,
}

/// Result of a write that depends on the newest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum WriteOutcome {
    /// It is written, with this revision.
    Written(u64),
    /// Another process has written before, or does so now.
    Conflict,
}

/// Result of one read of a record.
#[derive(Debug)]
pub(super) enum RecordRead {
    Present(Box<StoredRecord>),
    /// The server shows none: there is none, or another process writes it now.
    Absent,
    /// It is not a record of this version, for this reason.
    Unreadable(String),
}

/// A record as the server has it, with the revision that a change of it names.
#[derive(Clone, Debug)]
pub(super) struct StoredRecord {
    id: String,
    /// Boxed, because outcomes that have one are returned by value.
    record: Box<Record>,
    revision: u64,
}

/// A record of a call that has ended, as the server has it. Nothing follows in it.
#[derive(Debug)]
pub(super) struct EndedRecord(StoredRecord);

impl StoredRecord {
    fn written(id: &str, record: &Record, revision: u64) -> StoredRecord {
        let record = Box::new(Record {
            updated: Some(SystemTime::now()),
            ..record.clone()
        });
        StoredRecord {
            id: id.to_owned(),
            record,
            revision,
        }
    }

    pub(super) fn id(&self) -> &str {
        &self.id
    }

    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Returns true if a later change of the same record is known. A server of a cluster that has just begun to
    /// lead may show an earlier one.
    pub(super) fn is_older_than(&self, other: &StoredRecord) -> bool {
        self.revision < other.revision
    }

    /// Returns the proof that the call has ended, or the record if it has not.
    pub(super) fn into_ended(self) -> Result<EndedRecord, StoredRecord> {
        if self.record.status.is_end() {
            Ok(EndedRecord(self))
        } else {
            Err(self)
        }
    }
}

impl EndedRecord {
    pub(super) fn id(&self) -> &str {
        &self.0.id
    }

    pub(super) fn record(&self) -> &Record {
        &self.0.record
    }

    pub(super) fn into_stored(self) -> StoredRecord {
        self.0
    }
}

/// Reads a record.
pub(super) async fn read_record(
    backend: &impl QueueBackend,
    id: &str,
) -> Result<RecordRead, QueueError> {
    let Some(value) = backend.read_value(id).await? else {
        return Ok(RecordRead::Absent);
    };
    match serde_json::from_slice::<Record>(&value.bytes) {
        Ok(record) => Ok(RecordRead::Present(Box::new(StoredRecord {
            id: id.to_owned(),
            record: Box::new(Record {
                updated: Some(value.updated),
                ..record
            }),
            revision: value.revision,
        }))),
        Err(error) => {
            tracing::warn!(id, "a record cannot be read: {error}");
            Ok(RecordRead::Unreadable(error.to_string()))
        }
    }
}

/// Adds a record, or returns the one that there is. One that another process is writing is awaited; if that
/// write comes to nothing, the record is added.
///
/// # Errors
/// If the server does not answer, or the record cannot be read.
pub(super) async fn create_record(
    backend: &impl QueueBackend,
    id: &str,
    record: &Record,
) -> Result<StoredRecord, QueueError> {
    let value = bytes_of(record)?;
    let begun = Instant::now();
    let (mut delay, max_delay) = RETRY_DELAY;
    loop {
        if let WriteOutcome::Written(revision) =
            backend.write_value(id, value.clone(), None).await?
        {
            return Ok(StoredRecord::written(id, record, revision));
        }
        match read_record(backend, id).await? {
            RecordRead::Present(stored) => return Ok(*stored),
            RecordRead::Unreadable(why) => return Err(QueueError::RecordUnreadable(why)),
            RecordRead::Absent if begun.elapsed() >= backend.patience() => {
                return Err(QueueError::RecordHidden);
            }
            RecordRead::Absent => backend.pause(delay).await,
        }
        delay = (delay * 2).min(max_delay);
    }
}

/// Changes a record, unless `change` returns false. `read` is what is known of it: it is read again only if
/// another process has changed it since. Returns the record as it is then.
///
/// # Errors
/// If the server does not answer, or neither takes the change nor shows another one.
pub(super) async fn change_record(
    backend: &impl QueueBackend,
    id: &str,
    read: Option<StoredRecord>,
    mut change: impl FnMut(&mut Record) -> bool,
) -> Result<RecordRead, QueueError> {
    let begun = Instant::now();
    let (mut delay, max_delay) = RETRY_DELAY;
    let mut stored = match read {
        Some(read) => read,
        None => match read_record(backend, id).await? {
            RecordRead::Present(read) => *read,
            other => return Ok(other),
        },
    };
    loop {
        let mut record = stored.record.clone();
        if !change(&mut record) {
            return Ok(RecordRead::Present(Box::new(stored)));
        }
        let why = match write_record(backend, &stored, &record).await {
            Ok(Some(written)) => return Ok(RecordRead::Present(Box::new(written))),
            Ok(None) => QueueError::ChangeHidden,
            // Perhaps only the answer was lost, and the change is seen then.
            Err(why) => why,
        };
        let now = read_record(backend, id).await?;
        let is_late = begun.elapsed() >= backend.patience();
        match now {
            RecordRead::Present(now) if now.revision > stored.revision => stored = *now,
            RecordRead::Unreadable(_) => return Ok(now),
            // A user has removed it.
            RecordRead::Absent if is_late => return Ok(now),
            _ if is_late => return Err(why),
            // The other change is not shown yet, or comes to nothing.
            RecordRead::Present(_) | RecordRead::Absent => {
                tracing::debug!(id, "a record is changed again: {why}");
                backend.pause(delay).await;
                delay = (delay * 2).min(max_delay);
            }
        }
    }
}

/// Writes a record in place of the one that was read. `None` if another process has changed that one.
pub(super) async fn write_record(
    backend: &impl QueueBackend,
    read: &StoredRecord,
    record: &Record,
) -> Result<Option<StoredRecord>, QueueError> {
    let value = bytes_of(record)?;
    let written = backend.write_value(&read.id, value, Some(read.revision));
    Ok(match written.await? {
        WriteOutcome::Written(revision) => Some(StoredRecord::written(&read.id, record, revision)),
        WriteOutcome::Conflict => None,
    })
}

fn bytes_of(record: &Record) -> Result<Bytes, QueueError> {
    Ok(serde_json::to_vec(record)?.into())
}
