//! A whole tool definition.

use std::time::Duration;

use super::{
    Command, Datum, Environment, ErrorHandling, Exposure, FilePaths, Interaction, Parameter,
    Platform, Resources, Risk, Security, Step, TestCase,
};

/// Definition of a tool with the defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Definition {
    /// `name:`, else the file's name without its extension.
    pub(crate) name: String,
    pub(crate) description: String,
    /// `1.0.0` unless the file says otherwise; not necessarily a semantic version.
    pub(crate) version: String,
    pub(crate) min_host_version: Option<String>,
    pub(crate) changelog: Vec<Change>,
    pub(crate) deprecation: Option<Deprecation>,
    pub(crate) work: Work,
    /// In the file's order; names are unique.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) exposure: Exposure,
    pub(crate) security: Security,
    pub(crate) environment: Environment,
    pub(crate) file_paths: FilePaths,
    pub(crate) metadata: Metadata,
    pub(crate) tests: Vec<TestCase>,
    /// The smaller of `timeout` and `resources.timeout`, else [`Definition::TIMEOUT`].
    pub(crate) timeout: Duration,
    /// `working-directory:` with `{references}`.
    pub(crate) working_directory: Option<String>,
    /// Platforms that the tool runs on; empty: all of them.
    pub(crate) platforms: Vec<Platform>,
    /// `tags:`. [`Risk::of`] derives the risk from these, never from `metadata.tags`.
    pub(crate) tags: Vec<String>,
    pub(crate) ignore_errors: bool,
    /// `input:` with `{references}`: the standard input.
    pub(crate) input: Option<String>,
    /// `interactive: true`.
    pub(crate) interaction: Option<Interaction>,
    pub(crate) resources: Resources,
    /// `error-handling:` of a tool with a single command.
    pub(crate) error_handling: ErrorHandling,
    /// `detailed-help:`.
    pub(crate) detailed_help: Option<String>,
}

/// Work of a tool: exactly one of these.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Work {
    Command(Command),
    /// Never empty.
    Steps(Vec<Step>),
    /// Only in a file's own definition: what runs has its base's work (see `tool_set`).
    Alias(Alias),
}

/// `type: alias`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alias {
    pub(crate) base_tool: String,
    /// Parameter of the base → default; texts in it may hold `{references}`.
    pub(crate) default_parameters: Vec<(String, Datum)>,
    /// Place of the base's name.
    pub(crate) place: Place,
}

/// One entry of `changelog:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Change {
    pub(crate) version: String,
    pub(crate) changes: String,
}

/// `deprecated: true`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Deprecation {
    pub(crate) message: Option<String>,
}

/// `metadata:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Metadata {
    pub(crate) category: Option<String>,
    pub(crate) subcategory: Option<String>,
    pub(crate) tags: Vec<String>,
    pub(crate) search_keywords: Vec<String>,
}

/// A place in the file, both 1-based.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) line: u32,
    pub(crate) column: u32,
}

/// Level that the tool belongs to, in order of precedence: the first one of a name counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Scope {
    Local,
    User,
    Global,
}

impl Definition {
    /// Default timeout of a tool (spec cycod 112).
    pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);

    /// Returns the risk by its security tags.
    pub(crate) fn risk(&self) -> Risk {
        Risk::of(&self.tags)
    }

    /// Returns true if the tool can run on `platform`.
    pub(crate) fn runs_on(&self, platform: Platform) -> bool {
        self.platforms.is_empty() || self.platforms.contains(&platform)
    }

    /// Returns the parameter of that name; names are case-sensitive (spec cycod 58).
    pub(crate) fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters
            .iter()
            .find(|parameter| parameter.name == name)
    }

    /// Returns the steps; empty for a tool with a single command.
    pub(crate) fn steps(&self) -> &[Step] {
        match &self.work {
            Work::Steps(steps) => steps,
            Work::Command(_) | Work::Alias(_) => &[],
        }
    }
}

impl Scope {
    /// Every scope by its name on command lines.
    pub(crate) const NAMES: [(&'static str, Scope); 3] = [
        ("local", Scope::Local),
        ("user", Scope::User),
        ("global", Scope::Global),
    ];

    /// Returns its name on command lines.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Scope::Local => "local",
            Scope::User => "user",
            Scope::Global => "global",
        }
    }
}
