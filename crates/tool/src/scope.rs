//! Scope of a caller: the tools that exist for it, and the calls that it may see.
//!
//! A scope only narrows. It travels with each call into the calls that are parts of it, into scripts,
//! into queues and to other hosts.

use globset::{Glob, GlobSet, GlobSetBuilder};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::{Error, ErrorKind};
use crate::{Family, Tier, Tool};

/// Id of the user. No token has this id.
pub const USER_ID: &str = "user";

/// Tools that exist for a caller, and the calls that it may see.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CallerScope {
    /// Id of the client, which owns what it starts.
    id: String,
    /// True if it sees the calls of all clients.
    is_user: bool,
    /// The tenant whose host made the call, if another host did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
    /// Highest tier of its tools and calls.
    tier: Tier,
    /// The names of its tools: those that all of these include.
    tools: Vec<ToolNames>,
    /// True if tools of other hosts do not exist for it.
    is_local: bool,
}

/// Patterns of tool names. A pattern after `!` excludes names.
#[derive(Clone, Debug)]
pub struct ToolNames {
    patterns: Vec<String>,
    /// Text before the names of this host under which the caller knows its tools.
    prefix: String,
    /// Names of this host that are included as well: that of the tool that was called, which the caller
    /// may have renamed.
    called: Vec<String>,
    included: GlobSet,
    excluded: GlobSet,
}

fn any_tier() -> Tier {
    Tier::Exec
}

impl CallerScope {
    /// Returns the scope of the user, without limits.
    pub fn user() -> CallerScope {
        CallerScope {
            id: USER_ID.into(),
            is_user: true,
            tenant: None,
            tier: any_tier(),
            tools: Vec::new(),
            is_local: false,
        }
    }

    /// Returns the scope of the client with this id, which sees only its own calls.
    pub fn of_client(id: &str, tools: ToolNames, tier: Tier) -> CallerScope {
        CallerScope {
            id: id.into(),
            is_user: false,
            tier,
            tools: vec![tools],
            ..CallerScope::user()
        }
    }

    /// Returns a scope without any tool, for a caller whose scope cannot be read.
    pub fn nothing() -> CallerScope {
        CallerScope {
            id: String::new(),
            is_user: false,
            tier: Tier::Read,
            tools: vec![ToolNames {
                patterns: vec!["!*".to_owned()],
                prefix: String::new(),
                called: Vec::new(),
                included: GlobSet::empty(),
                excluded: GlobSet::empty(),
            }],
            ..CallerScope::user()
        }
    }

    /// Limits the scope to these names, too.
    #[must_use]
    pub fn with_tools(mut self, tools: ToolNames) -> CallerScope {
        self.tools.push(tools);
        self
    }

    /// Limits the scope to this tier, too.
    #[must_use]
    pub fn with_max_tier(mut self, tier: Tier) -> CallerScope {
        self.tier = self.tier.min(tier);
        self
    }

    /// Returns the scope of calls that a host of this tenant makes: without tools of other hosts, because
    /// two hosts would pass a call back and forth.
    #[must_use]
    pub fn of_tenant(mut self, tenant: &str) -> CallerScope {
        self.tenant = Some(tenant.into());
        self.is_local = true;
        self
    }

    /// Returns the scope with the limits of both. What it starts belongs to the client of the first one,
    /// unless that is the user.
    #[must_use]
    pub fn narrowed(&self, other: &CallerScope) -> CallerScope {
        let mut narrowed = self.clone().with_max_tier(other.tier);
        if self.is_user {
            (narrowed.id, narrowed.is_user) = (other.id.clone(), other.is_user);
        }
        narrowed.tools.extend_from_slice(&other.tools);
        narrowed.is_local |= other.is_local;
        narrowed.tenant = narrowed.tenant.or_else(|| other.tenant.clone());
        narrowed
    }

    /// Returns the scope for a call of the tool `called` at a host whose tools the caller knows with this
    /// prefix. The name is that host's.
    #[must_use]
    pub fn for_host(&self, prefix: &str, called: &str) -> CallerScope {
        let mut scope = self.clone();
        for tools in &mut scope.tools {
            tools.prefix.push_str(prefix);
            tools.called = vec![called.to_owned()];
        }
        scope
    }

    /// Returns true if the tool exists for the caller. A tool whose tier depends on the arguments counts
    /// as the highest tier.
    pub fn allows(&self, tool: &Tool) -> bool {
        tool.approval <= self.tier
            && self.allows_name(&tool.name)
            && !(self.is_local && tool.source.family == Family::Remote)
    }

    /// Returns true if a tool of this name may exist for the caller, depending on its tier.
    pub fn allows_name(&self, name: &str) -> bool {
        self.tools.iter().all(|tools| tools.match_name(name))
    }

    /// Returns true if every tool exists for the caller.
    pub fn is_unlimited(&self) -> bool {
        self.tools.is_empty() && self.tier == any_tier() && !self.is_local
    }

    /// Returns the highest tier that its calls may have; `None`: any.
    pub fn max_tier(&self) -> Option<Tier> {
        (self.tier < any_tier()).then_some(self.tier)
    }

    /// Returns the id that distinguishes the client from others.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns true for the user, who sees the calls of all clients.
    pub fn is_user(&self) -> bool {
        self.is_user
    }

    /// Returns true if the caller may see what the client `owner` started.
    pub fn may_see(&self, owner: &str) -> bool {
        self.is_user || self.id == owner
    }

    /// Returns the scope as one line of JSON.
    pub fn to_line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Returns the scope in a line that [`CallerScope::to_line`] made.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for another text. It must not count as the user's scope.
    pub fn from_line(line: &str) -> Result<CallerScope, Error> {
        serde_json::from_str(line).map_err(|error| {
            let text = format!("the scope of the caller cannot be read: {error}");
            Error::new(ErrorKind::Usage, text)
        })
    }
}

impl ToolNames {
    /// Parses patterns: a name with `*`, `?`, `[abc]` or `{one,two}` in it, `!` before those that
    /// exclude. Patterns that only exclude mean all other tools.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid pattern.
    pub fn new(patterns: Vec<String>) -> Result<ToolNames, Error> {
        let excluded = patterns.iter().filter_map(|one| one.strip_prefix('!'));
        let excluded = compiled(excluded)?;
        let included = patterns.iter().filter(|one| !one.starts_with('!'));
        let included = compiled(included.map(String::as_str))?;
        let included = if included.is_empty() {
            compiled(["*"].into_iter())?
        } else {
            included
        };
        Ok(ToolNames {
            patterns,
            prefix: String::new(),
            called: Vec::new(),
            included,
            excluded,
        })
    }

    /// Returns true if the patterns include the name.
    pub fn match_name(&self, name: &str) -> bool {
        let is_in = |name: &str| self.included.is_match(name) && !self.excluded.is_match(name);
        self.called.iter().any(|called| called == name)
            || match self.prefix.as_str() {
                "" => is_in(name),
                prefix => is_in(&format!("{prefix}{name}")),
            }
    }

    /// Returns the patterns as they were written.
    pub fn patterns(&self) -> &[String] {
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

/// Form of [`ToolNames`] in files and messages: the patterns, or an object for another host.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum WrittenNames {
    Patterns(Vec<String>),
    ForHost {
        patterns: Vec<String>,
        prefix: String,
        called: Vec<String>,
    },
}

impl Serialize for ToolNames {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let patterns = self.patterns.clone();
        let written = if self.called.is_empty() {
            WrittenNames::Patterns(patterns)
        } else {
            WrittenNames::ForHost {
                patterns,
                prefix: self.prefix.clone(),
                called: self.called.clone(),
            }
        };
        written.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for ToolNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (patterns, prefix, called) = match WrittenNames::deserialize(deserializer)? {
            WrittenNames::Patterns(patterns) => (patterns, String::new(), Vec::new()),
            WrittenNames::ForHost {
                patterns,
                prefix,
                called,
            } => (patterns, prefix, called),
        };
        let names = ToolNames::new(patterns);
        let names = names.map_err(|error| D::Error::custom(error.message()))?;
        Ok(ToolNames {
            prefix,
            called,
            ..names
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Level, Source};

    fn names(patterns: &[&str]) -> ToolNames {
        let patterns = patterns.iter().map(|&pattern| pattern.to_owned());
        ToolNames::new(patterns.collect()).expect("they are valid")
    }

    fn tool(name: &str, tier: Tier) -> Tool {
        let source = Source {
            family: Family::Native,
            provider: "test".to_owned(),
            provider_name: "test".to_owned(),
            level: Level::Host,
            path: "/test".into(),
            plugin: None,
        };
        Tool {
            approval: tier,
            ..Tool::new(name, "", serde_json::json!({"type": "object"}), source)
        }
    }

    #[test]
    fn each_limit_of_a_scope_counts() {
        let scope = CallerScope::of_client("ci", names(&["git_*", "!git_push"]), Tier::Write);
        let narrowed = scope.narrowed(&CallerScope::user().with_tools(names(&["*_log", "a"])));
        for (name, tier, of_scope, of_narrowed) in [
            ("git_log", Tier::Read, true, true),
            ("git_status", Tier::Read, true, false),
            ("git_push", Tier::Read, false, false),
            ("git_log", Tier::Exec, false, false),
            ("a", Tier::Read, false, false),
        ] {
            let tool = tool(name, tier);
            assert_eq!(
                (scope.allows(&tool), narrowed.allows(&tool)),
                (of_scope, of_narrowed),
                "{name}"
            );
        }
        assert!(CallerScope::user().allows(&tool("git_push", Tier::Exec)));
        assert!(narrowed.may_see("ci") && !narrowed.may_see("user"));
    }

    #[test]
    fn a_scope_survives_its_way_to_another_host() {
        let scope = CallerScope::of_client("ci", names(&["gpu_a", "b"]), Tier::Write);
        let there =
            CallerScope::from_line(&scope.for_host("gpu_", "a").to_line()).expect("it is ours");
        let next =
            CallerScope::from_line(&there.for_host("x_", "c").to_line()).expect("it is ours");
        assert!(there.allows_name("a") && !there.allows_name("b") && !there.allows_name("gpu_a"));
        assert!(
            !next.allows_name("a"),
            "the caller would know it as `gpu_x_a`"
        );
        assert!(
            next.allows_name("c"),
            "it was called, so its caller may have renamed it"
        );
        assert_eq!((there.max_tier(), there.id()), (Some(Tier::Write), "ci"));
        for damaged in ["", "{}", r#"{"id": "ci", "is_user": true}"#] {
            assert!(CallerScope::from_line(damaged).is_err(), "{damaged}");
        }
    }
}
