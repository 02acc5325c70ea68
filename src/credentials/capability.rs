//! Rights of the bearer of one token.

use std::time::Duration;

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use haft_tool::{Error, ErrorKind};
use haft_tool::{Tier, Tool, since_1970};

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

/// Patterns of tool names. A pattern after `!` excludes names.
#[derive(Clone, Debug)]
pub(crate) struct ToolNames {
    patterns: Vec<String>,
    included: GlobSet,
    excluded: GlobSet,
}

impl Capability {
    /// Returns true if the bearer may see and call the tool. A tool whose tier depends on the
    /// arguments counts as the highest tier.
    pub(crate) fn allows(&self, tool: &Tool) -> bool {
        tool.approval <= self.tier && self.tools.match_name(&tool.name)
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

impl ToolNames {
    /// Parses patterns: a name with `*`, `?`, `[abc]` or `{one,two}` in it, `!` before those that
    /// exclude.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid pattern.
    pub(crate) fn new(patterns: Vec<String>) -> Result<ToolNames, Error> {
        let excluded = patterns.iter().filter_map(|one| one.strip_prefix('!'));
        let excluded = compiled(excluded)?;
        let included = patterns.iter().filter(|one| !one.starts_with('!'));
        let included = compiled(included.map(String::as_str))?;
        // Patterns that only exclude mean all other tools.
        let included = if included.is_empty() {
            compiled(["*"].into_iter())?
        } else {
            included
        };
        Ok(ToolNames {
            patterns,
            included,
            excluded,
        })
    }

    /// Returns true if the patterns include the name.
    pub(crate) fn match_name(&self, name: &str) -> bool {
        self.included.is_match(name) && !self.excluded.is_match(name)
    }

    /// Returns the patterns as they were written.
    pub(crate) fn patterns(&self) -> &[String] {
        &self.patterns
    }
}

fn compiled<'a>(patterns: impl Iterator<Item = &'a str>) -> Result<GlobSet, Error> {
    let refused = |pattern: &str, error: &globset::Error| {
        let text = format!(
            "`{pattern}` is not a pattern of tool names: {}",
            error.kind()
        );
        Error::new(ErrorKind::Usage, text)
            .with_hint("write a name with `*`, `?`, `[abc]` or `{one,two}` in it, `!` before one that excludes")
    };
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        if pattern.trim().is_empty() {
            let text = "a pattern of tool names is empty";
            return Err(Error::new(ErrorKind::Usage, text).with_hint("write `*` for all tools"));
        }
        set.add(Glob::new(pattern).map_err(|error| refused(pattern, &error))?);
    }
    set.build().map_err(|error| refused("", &error))
}

impl Serialize for ToolNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.patterns.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let patterns = Vec::deserialize(deserializer)?;
        ToolNames::new(patterns).map_err(|error| D::Error::custom(error.message()))
    }
}
