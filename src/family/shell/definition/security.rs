//! Permissions of a tool and the risk that it declares (spec cycod 118–127, 234–237).

use haft_tool::Tier;

/// `security:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Security {
    pub(crate) privilege: Privilege,
    pub(crate) isolation: Isolation,
    /// With `{references}`, for example `filesystem:write:{DIRECTORY}`.
    pub(crate) required_permissions: Vec<String>,
    pub(crate) justification: Option<String>,
}

/// `security.execution-privilege:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Privilege {
    #[default]
    SameAsUser,
    Reduced,
    /// Every call needs an approval, even if it is approved by tags.
    Elevated,
}

/// `security.isolation:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Isolation {
    /// For a program the same as `Process`.
    None,
    #[default]
    Process,
    Container,
}

/// Risk by the security tags, in ascending order. A tool without a tag has the highest risk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Risk {
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// `run`.
    Run,
    /// None of the three: every call needs an explicit yes.
    Untagged,
}

impl Risk {
    /// Returns the highest of the security tags in `tags`. Tags are case-sensitive: `Read` is not a
    /// security tag.
    pub(crate) fn of(tags: &[String]) -> Risk {
        let known = tags.iter().filter_map(|tag| match tag.as_str() {
            "read" => Some(Risk::Read),
            "write" => Some(Risk::Write),
            "run" => Some(Risk::Run),
            _ => None,
        });
        known.max().unwrap_or(Risk::Untagged)
    }

    /// Returns the tier for the host's approval.
    pub(crate) const fn tier(self) -> Tier {
        match self {
            Risk::Read => Tier::Read,
            Risk::Write => Tier::Write,
            Risk::Run | Risk::Untagged => Tier::Exec,
        }
    }
}

impl Privilege {
    /// Every level by its name in files.
    pub(crate) const NAMES: [(&'static str, Privilege); 3] = [
        ("same-as-user", Privilege::SameAsUser),
        ("reduced", Privilege::Reduced),
        ("elevated", Privilege::Elevated),
    ];
}

impl Isolation {
    /// Every level by its name in files.
    pub(crate) const NAMES: [(&'static str, Isolation); 3] = [
        ("none", Isolation::None),
        ("process", Isolation::Process),
        ("container", Isolation::Container),
    ];
}
