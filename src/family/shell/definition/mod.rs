//! Definition of a YAML shell tool (spec cycod, appendix 1): the types that a file is read into.
//!
//! Each key of the format is declared once, as a field. Its doc comment is the help in editors and
//! in the reference, its type says which values it takes, and `format` derives the JSON Schema from
//! both. Fields named `$…` are explained in `yaml::de`. Text with `{references}` stays text here;
//! `run` fills it. A [`Definition`] from `read` is consistent.

mod datum;
mod parameter;
mod scalar;
mod work;

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use haft_tool::Tier;

pub(crate) use datum::{Datum, Number};
pub(crate) use parameter::{Kind, Parameter, Pattern, Validation};
pub(crate) use scalar::{Millis, Place, Placed, Size};
pub(crate) use work::{
    Alias, Command, Commands, ErrorHandling, Output, OutputMode, Platform, Step, StepWork,
    StreamTo, UseTool, Work,
};

/// A mapping of names that the author chooses, in the file's order.
pub(crate) type Named<T> = Vec<(String, T)>;

/// A YAML shell tool.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[schemars(title = "A YAML shell tool (.cycod/tools/*.yaml)", extend("required" = ["description"]))]
pub(crate) struct Definition {
    /// Name of the tool; the file's name without `.yaml` if left out
    pub(crate) name: String,
    /// Description of the tool, for the model; required
    pub(crate) description: String,
    /// The tool's own version, `1.0.0` if left out
    // Not necessarily a semantic version.
    pub(crate) version: String,
    /// The oldest version of the format's host that can run it
    #[serde(rename = "min-cycod-version")]
    pub(crate) min_host_version: Option<String>,
    #[serde(rename = "$self")]
    #[schemars(flatten)]
    pub(crate) work: Work,
    /// Values that a caller gives; name → description
    #[schemars(with = "BTreeMap<String, Parameter>")]
    pub(crate) parameters: Vec<Parameter>,
    /// The tool as a model sees it
    pub(crate) function_calling: FunctionCalling,
    /// Permissions of the tool
    pub(crate) security: Security,
    /// Variables that it runs with
    pub(crate) environment: Environment,
    /// Folders that it works in
    pub(crate) file_paths: FilePaths,
    /// Words for finding it
    pub(crate) metadata: Metadata,
    /// Calls of the tool and their expected results
    pub(crate) tests: Vec<TestCase>,
    /// Time limit of a call, in milliseconds; 60000 if left out
    pub(crate) timeout: Option<Millis>,
    /// Folder that it runs in; the project's folder if left out
    pub(crate) working_directory: Option<String>,
    /// Platforms that it can run on; all if left out
    pub(crate) platforms: Vec<Platform>,
    /// Categories, and its risk: `read`, `write` or `run`
    // [`Risk::of`] derives the risk from these, never from `metadata.tags`.
    pub(crate) tags: Vec<String>,
    /// `true` if a failure counts as success
    pub(crate) ignore_errors: bool,
    /// Its standard input
    pub(crate) input: Option<String>,
    /// `true` if it asks its user
    pub(crate) interactive: bool,
    /// Behaviour without an answer
    pub(crate) interactive_options: Interaction,
    /// Bounds, and the cleanup afterwards
    pub(crate) resources: Resources,
    /// Behaviour when its single command fails
    pub(crate) error_handling: ErrorHandling,
    /// Changes from version to version
    pub(crate) changelog: Vec<Change>,
    /// `true` if it should not be used any more
    pub(crate) deprecated: bool,
    /// The tool to use instead
    pub(crate) deprecated_message: Option<String>,
    /// More for people
    pub(crate) detailed_help: Option<String>,
}

impl Definition {
    /// Default time limit of a call (spec cycod 112).
    const TIMEOUT: Duration = Duration::from_secs(60);

    /// Returns the time limit of a call.
    pub(crate) fn time_limit(&self) -> Duration {
        let limits = [self.timeout, self.resources.timeout].into_iter().flatten();
        limits.map(|limit| limit.0).min().unwrap_or(Self::TIMEOUT)
    }

    /// Returns the options of a tool that asks its user.
    pub(crate) fn interaction(&self) -> Option<&Interaction> {
        self.interactive.then_some(&self.interactive_options)
    }

    /// Returns the rules for the schema that a model sees.
    pub(crate) fn exposure(&self) -> &Exposure {
        &self.function_calling.schema_generation
    }

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

/// `function-calling:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct FunctionCalling {
    /// Contents of the generated schema
    pub(crate) schema_generation: Exposure,
}

/// Schema of the tool for a model (spec cycod P).
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Exposure {
    /// Names of the types in the schema
    pub(crate) parameter_mapping: TypeNames,
    /// `true` if parameters have descriptions
    pub(crate) include_descriptions: bool,
    /// `true` if parameters have defaults
    pub(crate) include_defaults: bool,
    /// `true` if parameters have examples; not if left out
    // The specification's own generated schema has none.
    pub(crate) example_generation: bool,
    /// `true` if the schema is made safe for every provider
    pub(crate) sanitize_schemas: bool,
}

impl Default for Exposure {
    fn default() -> Self {
        Exposure {
            parameter_mapping: TypeNames::default(),
            include_descriptions: true,
            include_defaults: true,
            example_generation: false,
            sanitize_schemas: true,
        }
    }
}

/// Names of types in the schema; only those that differ.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct TypeNames {
    /// For `string`
    pub(crate) string: Option<String>,
    /// For `number`; `integer` is usual
    pub(crate) number: Option<String>,
    /// For `boolean`
    pub(crate) boolean: Option<String>,
    /// For `array`
    pub(crate) array: Option<String>,
    /// For `object`
    pub(crate) object: Option<String>,
}

/// `security:` of a tool (spec cycod 118–127).
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Security {
    /// Rights that it runs with; `elevated` is always asked about
    #[serde(rename = "execution-privilege")]
    pub(crate) privilege: Privilege,
    /// Isolation from the host
    pub(crate) isolation: Isolation,
    /// Permissions that it needs, for example `network:external:api.example.com`
    // With `{references}`, for example `filesystem:write:{DIRECTORY}`.
    pub(crate) required_permissions: Vec<String>,
    /// Reason why it needs them, for the one who is asked
    pub(crate) justification: Option<String>,
}

/// `security.execution-privilege:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Privilege {
    #[default]
    SameAsUser,
    Reduced,
    // Every call needs an approval, even if it is approved by tags.
    Elevated,
}

/// `security.isolation:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Isolation {
    // For a program the same as `Process`.
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

/// `environment:` of a tool or a step.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Environment {
    /// Name → value
    // With `{references}`. Names are valid and unique.
    #[schemars(with = "BTreeMap<String, String>")]
    pub(crate) variables: Named<String>,
    /// `true` if the host's own variables are kept
    pub(crate) inherit: bool,
    /// Variables and parameters whose values are masked
    pub(crate) secrets: Vec<String>,
}

impl Default for Environment {
    fn default() -> Self {
        Environment {
            variables: Vec::new(),
            inherit: true,
            secrets: Vec::new(),
        }
    }
}

/// `file-paths:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct FilePaths {
    /// `true` if separators in folders become the platform's own
    pub(crate) normalize: bool,
    /// Folder that it runs in, if there is no `working-directory` outside `file-paths`
    pub(crate) working_directory: Option<String>,
    /// Folder made for the call, `{TEMP_DIR}` in commands
    pub(crate) temp_directory: Option<String>,
    /// Separators of the platforms
    pub(crate) cross_platform: CrossPlatform,
}

/// `file-paths.cross-platform:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct CrossPlatform {
    /// On Windows; `\` if left out
    pub(crate) windows_separator: Option<String>,
    /// Elsewhere; `/` if left out
    pub(crate) unix_separator: Option<String>,
    /// `true` if they are converted without `normalize`, too
    pub(crate) auto_convert: bool,
}

/// `metadata:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Metadata {
    /// For lists
    pub(crate) category: Option<String>,
    /// For lists
    pub(crate) subcategory: Option<String>,
    /// For searching; without a meaning for the risk
    pub(crate) tags: Vec<String>,
    /// For searching
    pub(crate) search_keywords: Vec<String>,
}

/// A call of the tool and its expected result.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[schemars(title = "a test")]
pub(crate) struct TestCase {
    /// Name of the test; required
    pub(crate) name: String,
    /// Purpose of the test
    pub(crate) description: Option<String>,
    /// Arguments of the call
    #[schemars(with = "BTreeMap<String, Datum>")]
    pub(crate) parameters: Named<Datum>,
    /// Expected result, all of which must hold; an exit code of 0 if left out
    pub(crate) expected: Expected,
    /// Commands that are run afterwards, pass or fail
    // With `{references}`, for the platform's default shell.
    pub(crate) cleanup: Vec<String>,
    /// Platforms that it is run on; all if left out
    pub(crate) platforms: Vec<Platform>,
}

/// Expected result of a test; texts and paths may hold `{references}`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Expected {
    /// Exit code of the call
    pub(crate) exit_code: i64,
    /// All of these must be in the output
    pub(crate) output_contains: Vec<String>,
    /// One of these must be in the output
    pub(crate) output_contains_any: Vec<String>,
    /// None of these may be in the output
    pub(crate) output_not_contains: Vec<String>,
    /// Regular expressions that the output must match
    pub(crate) output_matches: Vec<String>,
    /// Files that must be there
    pub(crate) file_exists: Vec<String>,
    /// Files that must not be there
    pub(crate) file_not_exists: Vec<String>,
    /// Folders that must be there
    pub(crate) directory_exists: Vec<String>,
}

/// `interactive-options:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Interaction {
    /// Time that a person has for an answer, in milliseconds; 30000 if left out
    timeout: Option<Millis>,
    /// Line that is sent without an answer
    pub(crate) default_response: Option<String>,
}

impl Interaction {
    /// Returns the time limit of an answer.
    pub(crate) fn time_limit(&self) -> Duration {
        // Spec cycod 117.
        self.timeout
            .map_or(Duration::from_secs(30), |limit| limit.0)
    }
}

/// `resources:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Resources {
    /// Like `timeout`; the smaller one counts
    timeout: Option<Millis>,
    /// Memory limit, for example `512MB`
    pub(crate) max_memory: Option<Size>,
    /// Commands that are run however the call ends
    pub(crate) cleanup: Vec<Cleanup>,
}

/// One entry of `resources.cleanup`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Cleanup {
    /// `true` removes the folder of `temp-directory`
    pub(crate) delete_temp_files: bool,
    /// A last command, run before that
    // With `{references}`, for the platform's default shell.
    pub(crate) final_command: Option<String>,
}

/// One entry of `changelog:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Change {
    /// The version
    pub(crate) version: String,
    /// The changes in it
    pub(crate) changes: String,
}

/// Level that the tool belongs to, in order of precedence: the first one of a name counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Scope {
    Local,
    User,
    Global,
}

impl Scope {
    /// Every scope by its name on command lines.
    pub(crate) const NAMES: [(&'static str, Scope); 3] = [
        ("local", Scope::Local),
        ("user", Scope::User),
        ("global", Scope::Global),
    ];

    /// Returns its name on command lines.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}
