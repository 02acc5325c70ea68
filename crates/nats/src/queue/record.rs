//! Record of a queued call, which all hosts and callers of a tenant share.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;

use haft_tool::{Prompt, Stopped, since_1970};

use crate::frames::{Ask, Forward, HostInfo, known_method};

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
    /// A host runs it, and it waits for an answer of its user.
    InputRequired,
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
            QueueStatus::InputRequired => "input_required",
            QueueStatus::Completed => "completed",
            QueueStatus::Failed => "failed",
            QueueStatus::Cancelled => "cancelled",
            QueueStatus::Lost => "lost",
        }
    }

    /// Returns true if nothing follows.
    pub fn is_end(self) -> bool {
        use QueueStatus::{InputRequired, Queued, Working};
        !matches!(self, Queued | Working | InputRequired)
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
    /// The client that made it, by the calling host's own id for it. Others of that host do not see it.
    pub owner: Option<String>,
    /// Its state.
    pub status: QueueStatus,
    /// Its questions that have no answer yet.
    pub questions: Vec<OpenQuestion>,
    /// Its last message.
    pub message: Option<String>,
    /// Set if its host is asked to cancel it.
    pub is_cancelling: bool,
    /// The host that runs it, or ran it last.
    pub host: Option<HostInfo>,
    /// Number of hosts that have begun it.
    pub attempts: u32,
    /// Time at which it was queued, by the clock of its caller.
    pub queued: SystemTime,
    /// Time at which its record was changed last, by the server's clock.
    pub updated: SystemTime,
}

/// A question of a queued call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OpenQuestion {
    /// Its number among those of the call.
    pub id: u64,
    /// Its content.
    pub asked: Asked,
}

/// Content of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asked {
    /// A question to the user.
    Prompt {
        /// The question.
        prompt: Prompt,
        /// Time for the answer, if there is a limit.
        timeout: Option<Duration>,
    },
    /// A request of an MCP server to the program behind the user's interface.
    Request {
        /// The method.
        method: &'static str,
        /// The server's own key for the request.
        key: Option<String>,
        /// The parameters, as MCP defines them.
        params: Value,
    },
}

/// A question in a record, in the form of the frames.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Asking {
    Ask(Ask),
    Forward(Forward),
}

impl Asking {
    pub(super) fn id(&self) -> u64 {
        match self {
            Asking::Ask(ask) => ask.id,
            Asking::Forward(forward) => forward.id,
        }
    }

    /// Returns true if the value answers it. Null dismisses it.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        match self {
            Asking::Ask(ask) => ask.prompt.accepts(value),
            Asking::Forward(_) => true,
        }
    }

    fn shown(&self) -> Option<OpenQuestion> {
        let asked = match self.clone() {
            Asking::Ask(ask) => Asked::Prompt {
                prompt: ask.prompt,
                timeout: ask.timeout_ms.map(Duration::from_millis),
            },
            Asking::Forward(forward) => Asked::Request {
                method: known_method(&forward.method)?,
                key: forward.key,
                params: forward.params,
            },
        };
        let id = self.id();
        Some(OpenQuestion { id, asked })
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) tool: String,
    pub(super) digest: String,
    pub(super) caller: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    /// Milliseconds since 1970.
    pub(super) queued: u64,
    /// Time of the last change, which the server knows.
    #[serde(skip)]
    pub(super) updated: Option<SystemTime>,
    pub(super) status: QueueStatus,
    #[serde(default)]
    pub(super) attempts: u32,
    /// Number of the message in the stream of calls, which ends with the call.
    #[serde(default)]
    pub(super) sequence: Option<u64>,
    /// Number of the message in the stream of quotas, which ends with the call.
    #[serde(default)]
    pub(super) quota: Option<u64>,
    /// Set by the host, which knows the definition.
    #[serde(default)]
    pub(super) is_idempotent: bool,
    #[serde(default)]
    pub(super) host: Option<HostInfo>,
    /// Set if the host is asked to cancel the call.
    #[serde(default)]
    pub(super) cancel: Option<Stopped>,
    /// The questions of the host that runs the call.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(super) questions: Vec<Asking>,
    /// Answers that the host has not taken yet, by the numbers of the questions.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) answers: BTreeMap<u64, Value>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) message: Option<String>,
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
    /// Returns the record of a call that no host has begun. `sequence` and `quota` are the numbers of its
    /// messages.
    pub(super) fn queued(
        tool: &str,
        digest: &str,
        (caller, owner): (&str, Option<&str>),
        (sequence, quota): (Option<u64>, Option<u64>),
        is_idempotent: bool,
    ) -> Record {
        Record {
            tool: tool.to_owned(),
            digest: digest.to_owned(),
            caller: caller.to_owned(),
            owner: owner.map(str::to_owned),
            updated: None,
            queued: u64::try_from(since_1970().as_millis()).unwrap_or(u64::MAX),
            status: QueueStatus::Queued,
            attempts: 0,
            sequence,
            quota,
            is_idempotent,
            host: None,
            cancel: None,
            questions: Vec::new(),
            answers: BTreeMap::new(),
            message: None,
            end: None,
        }
    }

    /// Returns the questions that have no answer yet.
    pub(super) fn unanswered(&self) -> impl Iterator<Item = &Asking> {
        let questions = self.questions.iter();
        questions.filter(|question| !self.answers.contains_key(&question.id()))
    }

    /// Forgets all that an earlier attempt has asked and said.
    pub(super) fn forget_attempt(&mut self) {
        self.drop_questions();
        self.message = None;
    }

    /// Forgets the questions of a host that does not run the call any more.
    pub(super) fn drop_questions(&mut self) {
        self.questions.clear();
        self.answers.clear();
    }

    pub(super) fn shown(&self, id: &str) -> QueuedCall {
        let text = |text: &str| {
            let text: String = text.chars().take(200).collect();
            haft_tool::visible::line(&text).into_owned()
        };
        let queued = UNIX_EPOCH + Duration::from_millis(self.queued.min(MAX_TIME));
        let questions: Vec<OpenQuestion> = self.unanswered().filter_map(Asking::shown).collect();
        let status = match self.status {
            QueueStatus::Working if !questions.is_empty() => QueueStatus::InputRequired,
            status => status,
        };
        QueuedCall {
            id: id.to_owned(),
            tool: text(&self.tool),
            caller: text(&self.caller),
            owner: self.owner.clone(),
            status,
            questions,
            message: self.message.clone(),
            is_cancelling: self.cancel.is_some() && !self.status.is_end(),
            host: self.host.clone(),
            attempts: self.attempts,
            queued,
            updated: self.updated.unwrap_or(queued),
        }
    }

    /// Returns true if the call may be begun again after its host was lost.
    pub(super) fn may_repeat(&self) -> bool {
        self.is_idempotent && self.attempts < super::MAX_ATTEMPTS
    }
}
