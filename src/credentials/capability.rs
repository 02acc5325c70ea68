//! Rights of the bearer of one token.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use haft_tool::{CallerScope, Tier, ToolNames, since_1970};

/// Rights of the bearer of a token: which tools, up to which tier, until when.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Capability {
    /// Public part of the token.
    pub(crate) id: String,
    /// Name that the user gave to the token.
    pub(crate) name: String,
    /// The tools that can be seen and called.
    pub(crate) tools: ToolNames,
    /// The highest tier that a call may have.
    pub(crate) tier: Tier,
    /// True if the bearer may start agent sessions.
    pub(crate) sessions: bool,
    /// Creation time, in seconds since 1970.
    pub(crate) created: u64,
    /// Expiry time, in seconds since 1970; `None`: never.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub(crate) expires: Option<u64>,
}

impl Capability {
    /// Returns the scope of the bearer.
    pub(crate) fn scope(&self) -> CallerScope {
        CallerScope::of_client(&self.id, self.tools.clone(), self.tier)
    }

    /// Returns true if the token has expired.
    pub(crate) fn is_expired(&self) -> bool {
        self.expires.is_some_and(|expires| expires <= now())
    }

    /// Returns the time until the token expires; `None`: it does not expire.
    pub(crate) fn time_left(&self) -> Option<Duration> {
        let expires = self.expires?;
        Some(Duration::from_secs(expires.saturating_sub(now())))
    }
}

/// Returns the current time in seconds since 1970.
pub(super) fn now() -> u64 {
    since_1970().as_secs()
}
