//! Record of a queued call, which all hosts and callers of a tenant share.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use haft_tool::{Stopped, since_1970};

use crate::frames::HostInfo;

/// Limit of a time in milliseconds since 1970: the year 9999.
const MAX_TIME: u64 = 253_402_300_799_000;

/// State of a queued call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QueueStatus {
    /// No host has begun it.
    Queued,
    /// A host runs it.
    Working,
    /// It has a result.
    Completed,
    /// It has an error, or a result that is one.
    Failed,
    /// It was cancelled, before or after it was begun.
    Cancelled,
    /// Its host is gone, and it may not be made again. It is not known what it has done.
    Lost,
}

impl QueueStatus {
    /// Returns the name of the state.
    pub fn as_str(self) -> &'static str {
        match self {
            QueueStatus::Queued => "queued",
            QueueStatus::Working => "working",
            QueueStatus::Completed => "completed",
            QueueStatus::Failed => "failed",
            QueueStatus::Cancelled => "cancelled",
            QueueStatus::Lost => "lost",
        }
    }

    /// Returns true if nothing follows.
    pub fn is_end(self) -> bool {
        !matches!(self, QueueStatus::Queued | QueueStatus::Working)
    }
}

/// A queued call as people see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueuedCall {
    /// Its id.
    pub id: String,
    /// The hosts' name for the tool.
    pub tool: String,
    /// The name of the calling host. Nothing proves it.
    pub caller: String,
    /// Its state.
    pub status: QueueStatus,
    /// Set if its host is asked to cancel it.
    pub is_cancelling: bool,
    /// The host that runs it, or ran it last.
    pub host: Option<HostInfo>,
    /// Number of hosts that have begun it.
    pub attempts: u32,
    /// Time at which it was queued, by the clock of its caller.
    pub queued: SystemTime,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) tool: String,
    pub(super) digest: String,
    pub(super) caller: String,
    /// Milliseconds since 1970.
    pub(super) queued: u64,
    pub(super) status: QueueStatus,
    #[serde(default)]
    pub(super) attempts: u32,
    /// Number of the message in the stream of calls, which ends with the call.
    #[serde(default)]
    pub(super) sequence: Option<u64>,
    /// Set by the host, which knows the definition.
    #[serde(default)]
    pub(super) is_idempotent: bool,
    #[serde(default)]
    pub(super) host: Option<HostInfo>,
    /// Set if the host is asked to cancel the call.
    #[serde(default)]
    pub(super) cancel: Option<Stopped>,
    #[serde(default)]
    pub(super) end: Option<End>,
}

/// The last frame of a call.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum End {
    Frame(Box<RawValue>),
    /// It is kept in that number of parts, of this attempt.
    Parts(u32),
}

impl Record {
    /// Returns the record of a call that no host has begun. `sequence` is the number of its message.
    pub(super) fn queued(
        tool: &str,
        digest: &str,
        caller: &str,
        sequence: Option<u64>,
        is_idempotent: bool,
    ) -> Record {
        Record {
            tool: tool.to_owned(),
            digest: digest.to_owned(),
            caller: caller.to_owned(),
            queued: u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX),
            status: QueueStatus::Queued,
            attempts: 0,
            sequence,
            is_idempotent,
            host: None,
            cancel: None,
            end: None,
        }
    }

    pub(super) fn shown(&self, id: &str) -> QueuedCall {
        let text = |text: &str| {
            let text: String = text.chars().take(200).collect();
            haft_tool::visible::line(&text).into_owned()
        };
        QueuedCall {
            id: id.to_owned(),
            tool: text(&self.tool),
            caller: text(&self.caller),
            status: self.status,
            is_cancelling: self.cancel.is_some() && !self.status.is_end(),
            host: self.host.clone(),
            attempts: self.attempts,
            queued: UNIX_EPOCH + Duration::from_millis(self.queued.min(MAX_TIME)),
        }
    }

    /// Returns true if the call may be begun again after its host was lost.
    pub(super) fn may_repeat(&self) -> bool {
        self.is_idempotent && self.attempts < super::MAX_ATTEMPTS
    }
}
