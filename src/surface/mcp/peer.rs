//! Requests that hosts which share their calls send to each other.

use rmcp::model::InputResponses;
use serde::{Deserialize, Serialize};

use haft_tool::CallerScope;

/// Mark between the id of a host and the rest of what its clients hold. Neither has one.
pub(super) const HOST_MARK: char = '.';

/// Length of the id of a host, and of a queued call.
pub(super) const ID_LEN: usize = 26;

/// A request about a call of another host.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PeerRequest {
    /// The answers to a suspended call.
    Resume {
        tool: String,
        /// JSON, which is a part of what the state is sealed for.
        arguments: String,
        state: String,
        answers: InputResponses,
        may_be_task: bool,
    },
    Get {
        task: String,
    },
    Answer {
        task: String,
        answers: InputResponses,
    },
    Cancel {
        task: String,
    },
}

/// A request with the client that sends it.
#[derive(Serialize, Deserialize)]
pub(super) struct Forwarded {
    pub(super) client: CallerScope,
    pub(super) request: PeerRequest,
}
