//! Steps of a queued call from one state of its record to the next. Each is one change that names the
//! revision that it changes, so that of two hosts one takes it.
//!
//! None of them reads "absent" as "ended": the message of a call leaves the stream only with an
//! [`EndedRecord`].

use haft_tool::{Error, ErrorKind};

use super::error::QueueError;
use super::record::{End, QueueStatus, Record};
use super::stored::{
    EndedRecord, QueueBackend, RecordRead, StoredRecord, change_record, create_record, read_record,
    write_record,
};
use super::{frame_of, no_host};
use crate::caller;
use crate::frames::{Finished, HostFrame, HostInfo};

/// Result of a host's step to begin a call.
#[derive(Debug)]
pub(super) enum BeginOutcome {
    /// The call is begun by this host.
    Begun(Box<StoredRecord>),
    /// It has ended.
    Ended(EndedRecord),
    /// Another host runs it, as far as is known, or its record cannot be read now. Its message stays.
    Elsewhere,
}

/// Result of a host's step to end a call that it has run.
#[derive(Debug)]
pub(super) enum EndOutcome {
    /// It has ended, perhaps in another way than this host wanted.
    Ended(EndedRecord),
    /// Another host has begun it, and takes its message out of the stream.
    Elsewhere,
}

/// Notes that a host begins a call, if it may. `first` is the record of a call without one: its caller has
/// not written it yet, or has ended before it could.
///
/// # Errors
/// If the server does not answer, or the record cannot be read.
pub(super) async fn begin_call(
    backend: &impl QueueBackend,
    id: &str,
    host: &HostInfo,
    first: &Record,
) -> Result<BeginOutcome, QueueError> {
    let stored = match read_record(backend, id).await? {
        RecordRead::Present(stored) => *stored,
        RecordRead::Absent => create_record(backend, id, first).await?,
        RecordRead::Unreadable(_) => return Ok(BeginOutcome::Elsewhere),
    };
    let known = stored.record().clone();
    if let (QueueStatus::Working, Some(other)) = (known.status, &known.host) {
        if backend.is_alive(&other.id).await? {
            return Ok(BeginOutcome::Elsewhere);
        }
        if !known.may_repeat() {
            let lost = lose_call(backend, stored, other).await?;
            return Ok(ended_or_elsewhere(lost));
        }
    }
    let mut is_ours = false;
    let begun = change_record(backend, id, Some(stored), |record| {
        is_ours = record.host.as_ref() == Some(host) && record.status == QueueStatus::Working;
        let is_same = record.status == known.status && record.host == known.host;
        if is_ours || record.status.is_end() || !is_same {
            return false;
        }
        record.status = QueueStatus::Working;
        record.host = Some(host.clone());
        record.attempts += 1;
        record.forget_attempt();
        record.sequence = first.sequence;
        record.is_idempotent = first.is_idempotent;
        true
    });
    Ok(match begun.await? {
        RecordRead::Present(stored) if is_run_by(stored.record(), host) => {
            BeginOutcome::Begun(stored)
        }
        other => ended_or_elsewhere(other),
    })
}

/// Notes the end of a call that a host has run. `known` is the newest record that is known of it.
///
/// # Errors
/// If the server does not answer, or shows no record and takes none.
pub(super) async fn end_call(
    backend: &impl QueueBackend,
    known: &StoredRecord,
    host: &HostInfo,
    status: QueueStatus,
    end: End,
) -> Result<EndOutcome, QueueError> {
    let set_end = |record: &mut Record| {
        record.status = status;
        record.drop_questions();
        record.end = Some(end.clone());
    };
    let id = known.id();
    let changed = change_record(backend, id, Some(known.clone()), |record| {
        // Otherwise the call is known as lost, or another host has made it again.
        let is_ours = is_run_by(record, host);
        if is_ours {
            set_end(record);
        }
        is_ours
    });
    let stored = match changed.await? {
        RecordRead::Present(stored) => *stored,
        RecordRead::Absent => {
            // Its time is over, or a user has removed it. It must not be begun again by its message.
            let mut record = known.record().clone();
            set_end(&mut record);
            let stored = create_record(backend, id, &record).await?;
            if is_run_by(stored.record(), host) {
                return Err(QueueError::RecordNotShown);
            }
            stored
        }
        // The change of a later version of haft. That one decides.
        RecordRead::Unreadable(_) => return Ok(EndOutcome::Elsewhere),
    };
    Ok(match stored.into_ended() {
        Ok(ended) => EndOutcome::Ended(ended),
        Err(_) => EndOutcome::Elsewhere,
    })
}

/// Puts a call back that its host has stopped and that may be made again. `known` is the newest record that is
/// known of it. Returns true if it is queued then.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn put_back_call(
    backend: &impl QueueBackend,
    known: &StoredRecord,
    host: &HostInfo,
) -> Result<bool, QueueError> {
    let put_back = change_record(backend, known.id(), Some(known.clone()), |record| {
        if !is_run_by(record, host) || record.cancel.is_some() {
            return false;
        }
        record.status = QueueStatus::Queued;
        record.forget_attempt();
        record.attempts = record.attempts.saturating_sub(1);
        true
    });
    let is_queued = |stored: &StoredRecord| stored.record().status == QueueStatus::Queued;
    Ok(matches!(put_back.await?, RecordRead::Present(stored) if is_queued(&stored)))
}

/// Notes that the host of a call that was read is gone, unless the call has another state by now.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn lose_call(
    backend: &impl QueueBackend,
    stored: StoredRecord,
    host: &HostInfo,
) -> Result<RecordRead, QueueError> {
    let id = stored.id().to_owned();
    let lost = change_record(backend, &id, Some(stored), |record| {
        let is_lost = is_run_by(record, host) && !record.may_repeat();
        if is_lost {
            set_lost(record, host);
        }
        is_lost
    });
    lost.await
}

/// Returns true if no host runs or will begin a call that has not ended: its message is not in the stream.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn misses_message(
    backend: &impl QueueBackend,
    stored: &StoredRecord,
) -> Result<bool, QueueError> {
    let record = stored.record();
    let Some(sequence) = record.sequence.filter(|_| !record.status.is_end()) else {
        return Ok(false);
    };
    if backend.has_message(sequence).await? {
        return Ok(false);
    }
    match (record.status, &record.host) {
        (QueueStatus::Working, Some(host)) => Ok(!backend.is_alive(&host.id).await?),
        _ => Ok(true),
    }
}

/// Ends a call whose message is not in the stream any more, so that no host would ever begin it. `seen` is its
/// record when the message was missed for the first time. A call whose record has changed since then goes on.
///
/// The message has the arguments, so the call cannot be put again.
///
/// # Errors
/// If the server does not answer.
pub(super) async fn end_without_message(
    backend: &impl QueueBackend,
    seen: StoredRecord,
) -> Result<Option<EndedRecord>, QueueError> {
    if !misses_message(backend, &seen).await? {
        return Ok(None);
    }
    let mut record = seen.record().clone();
    match record.host.clone() {
        Some(host) if record.status == QueueStatus::Working => set_lost(&mut record, &host),
        _ => set_without_message(&mut record),
    }
    let written = write_record(backend, &seen, &record).await?;
    Ok(written.and_then(|written| written.into_ended().ok()))
}

fn is_run_by(record: &Record, host: &HostInfo) -> bool {
    record.status == QueueStatus::Working && record.host.as_ref() == Some(host)
}

fn ended_or_elsewhere(read: RecordRead) -> BeginOutcome {
    match read {
        RecordRead::Present(stored) => match stored.into_ended() {
            Ok(ended) => BeginOutcome::Ended(ended),
            Err(_) => BeginOutcome::Elsewhere,
        },
        RecordRead::Absent | RecordRead::Unreadable(_) => BeginOutcome::Elsewhere,
    }
}

fn set_lost(record: &mut Record, host: &HostInfo) {
    let (tool, by) = (&record.tool, caller::shown(host));
    let text = format!("host `{by}` was lost during the queued call of `{tool}`");
    let hint = "it may have done its work; calls of tools that can be repeated are made again";
    let error = Error::new(ErrorKind::Lost, text).with_hint(hint);
    let frame = HostFrame::Finished(host.clone(), Finished::Failed(error));
    record.status = QueueStatus::Lost;
    record.drop_questions();
    record.end = frame_of(frame).map(End::Frame);
}

fn set_without_message(record: &mut Record) {
    let tool = &record.tool;
    let text = format!("the server has no message of the queued call of `{tool}` any more");
    let hint = "no host has begun it; queue it again";
    let error = Error::new(ErrorKind::Unavailable, text).with_hint(hint);
    let frame = HostFrame::Finished(no_host(), Finished::Failed(error));
    record.status = QueueStatus::Failed;
    record.drop_questions();
    record.end = frame_of(frame).map(End::Frame);
}
