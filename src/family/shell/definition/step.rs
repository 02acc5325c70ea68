//! One step of a tool with several (spec cycod J–L, 194–211).

use std::time::Duration;

use super::{Command, Datum, Environment, Place};

/// One entry of `steps:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Step {
    /// Unique in its tool, never empty.
    pub(crate) name: String,
    pub(crate) work: StepWork,
    pub(crate) continue_on_error: bool,
    /// `run-condition:` with `{references}`; `true` and `false` are kept as these words.
    pub(crate) run_condition: Option<String>,
    pub(crate) parallel: bool,
    /// Names of other steps of the tool, each once; without cycles.
    pub(crate) wait_for: Vec<String>,
    pub(crate) error_handling: ErrorHandling,
    pub(crate) output: Output,
    pub(crate) timeout: Option<Duration>,
    /// The step's own, with `{references}`.
    pub(crate) working_directory: Option<String>,
    /// The step's own, on top of the tool's.
    pub(crate) environment: Option<Environment>,
    /// The step's own standard input, with `{references}`.
    pub(crate) input: Option<String>,
    /// Place of the step in the file.
    pub(crate) place: Place,
}

impl Step {
    /// Returns every text of the step that references are filled into.
    pub(crate) fn texts(&self) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        match &self.work {
            StepWork::Command(command) => found.extend(command.texts()),
            StepWork::UseTool(uses) => {
                let values = uses.with.iter();
                values.for_each(|(_, value)| value.texts(&mut found));
            }
        }
        let own = [
            &self.run_condition,
            &self.error_handling.fallback,
            &self.input,
            &self.working_directory,
        ];
        found.extend(own.into_iter().filter_map(|text| text.as_deref()));
        if let Some(environment) = &self.environment {
            found.extend(environment.variables.iter().map(|(_, text)| text.as_str()));
        }
        found.extend(self.output.masked_values.iter().map(String::as_str));
        found
    }
}

/// Work of a step.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum StepWork {
    Command(Command),
    UseTool(UseTool),
}

/// `use-tool:` with `with:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct UseTool {
    pub(crate) tool: String,
    /// Parameter → value; texts in it may hold `{references}`. In the file's order.
    pub(crate) with: Vec<(String, Datum)>,
    /// Place of the tool's name.
    pub(crate) place: Place,
}

/// `error-handling:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ErrorHandling {
    /// `None`: one run.
    pub(crate) retry: Option<Retry>,
    /// With `{references}`; runs once after the last attempt failed, in the shell of the command.
    pub(crate) fallback: Option<String>,
}

/// `error-handling.retry:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    /// Number of runs after the first one.
    pub(crate) attempts: u32,
    /// Wait before the first retry; doubled each time.
    pub(crate) delay: Duration,
}

/// `output:`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Output {
    pub(crate) mode: OutputMode,
    /// Bytes.
    pub(crate) buffer_limit: u64,
    /// True if output beyond the limit is cut off; otherwise the step fails.
    pub(crate) truncation: bool,
    pub(crate) stream_to: StreamTo,
    /// Texts with `{references}` whose values become asterisks.
    pub(crate) masked_values: Vec<String>,
}

/// `output.mode:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutputMode {
    #[default]
    Buffer,
    Stream,
}

/// `output.stream-callback:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum StreamTo {
    #[default]
    Console,
    File,
    Function,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 3,
            delay: Duration::from_secs(1),
        }
    }
}

impl Default for Output {
    fn default() -> Self {
        Output {
            mode: OutputMode::default(),
            buffer_limit: Output::LIMIT,
            truncation: true,
            stream_to: StreamTo::default(),
            masked_values: Vec::new(),
        }
    }
}

impl Output {
    /// Default of `buffer-limit`: 10 MB (spec cycod 110).
    pub(crate) const LIMIT: u64 = 10 << 20;
}

impl OutputMode {
    /// Every mode by its name in files.
    pub(crate) const NAMES: [(&'static str, OutputMode); 2] = [
        ("buffer", OutputMode::Buffer),
        ("stream", OutputMode::Stream),
    ];
}

impl StreamTo {
    /// Every target by its name in files.
    pub(crate) const NAMES: [(&'static str, StreamTo); 3] = [
        ("console", StreamTo::Console),
        ("file", StreamTo::File),
        ("function", StreamTo::Function),
    ];
}
