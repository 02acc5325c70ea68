//! Work of a tool: one command, several steps, or an alias of another tool (spec cycod 19–25, J–L).

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Datum, Environment, Millis, Named, Place, Placed, Size};

/// Work of a tool: exactly one of these.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(from = "WorkKeys")]
#[schemars(with = "WorkKeys")]
pub(crate) enum Work {
    Command(Command),
    /// Never empty.
    Steps(Vec<Step>),
    /// Only in a file's own definition: what runs has its base's work (see `tool_set`).
    Alias(Alias),
}

impl Default for Work {
    fn default() -> Self {
        Work::Steps(Vec::new())
    }
}

/// `type: alias`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Alias {
    pub(crate) base_tool: String,
    /// Parameter of the base → default; texts in it may hold `{references}`.
    pub(crate) default_parameters: Named<Datum>,
    /// Place of the base's name.
    pub(crate) place: Place,
}

/// Keys of a tool's work.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
struct WorkKeys {
    #[serde(rename = "$self")]
    #[schemars(flatten)]
    command: CommandKeys,
    /// Several commands
    steps: Vec<Step>,
    /// `alias`: this is another tool with defaults of its own
    r#type: Option<ToolType>,
    /// The tool that an alias stands for
    base_tool: Option<Placed<String>>,
    /// The alias's own defaults for the parameters of its base
    #[schemars(with = "BTreeMap<String, Datum>")]
    default_parameters: Named<Datum>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum ToolType {
    Alias,
}

impl From<WorkKeys> for Work {
    fn from(keys: WorkKeys) -> Work {
        if keys.r#type.is_some() || keys.base_tool.is_some() {
            let base = keys.base_tool.unwrap_or_default();
            return Work::Alias(Alias {
                base_tool: base.value,
                default_parameters: keys.default_parameters,
                place: base.place,
            });
        }
        match keys.command.command() {
            Some(command) => Work::Command(command),
            None => Work::Steps(keys.steps),
        }
    }
}

/// A command with `{references}` in its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// `bash:` one text for `bash -c`.
    Bash(String),
    /// `cmd:` for Windows' own shell.
    Cmd(String),
    /// `pwsh:` for PowerShell.
    Pwsh(String),
    /// `run:` a program and its arguments without a shell; split into words before references are
    /// filled.
    Run(String),
    /// `script:` with `shell:`; `None`: the platform's default shell.
    Script { text: String, shell: Option<String> },
    /// `commands:` one text per platform, for that platform's default shell.
    Commands(Commands),
}

impl Command {
    /// Keys of the kinds, in the order of messages.
    pub(crate) const KEYS: [&str; 6] = ["bash", "cmd", "pwsh", "run", "script", "commands"];

    /// Returns the key of its kind in files.
    pub(crate) const fn key(&self) -> &'static str {
        match self {
            Command::Bash(_) => "bash",
            Command::Cmd(_) => "cmd",
            Command::Pwsh(_) => "pwsh",
            Command::Run(_) => "run",
            Command::Script { .. } => "script",
            Command::Commands(_) => "commands",
        }
    }

    /// Returns every text in it that `{references}` are filled into.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Command::Bash(text)
            | Command::Cmd(text)
            | Command::Pwsh(text)
            | Command::Run(text)
            | Command::Script { text, .. } => vec![text],
            Command::Commands(commands) => commands.texts().collect(),
        }
    }
}

/// Keys of a command, in a tool and in a step.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default)]
struct CommandKeys {
    /// A command for bash
    bash: Option<String>,
    /// A command for Windows' cmd
    cmd: Option<String>,
    /// A command for PowerShell
    pwsh: Option<String>,
    /// A program and its arguments, without a shell
    run: Option<String>,
    /// A script of several lines, for the program in `shell`
    script: Option<String>,
    /// Program for `script`: bash, sh, zsh, cmd, pwsh, python, node or any other
    shell: Option<String>,
    /// A command for each platform
    commands: Option<Commands>,
}

impl CommandKeys {
    /// Returns the first command; `read` reports a second one.
    fn command(self) -> Option<Command> {
        let shell = self.shell;
        let script = self.script.map(|text| Command::Script { text, shell });
        (self.bash.map(Command::Bash))
            .or(self.cmd.map(Command::Cmd))
            .or(self.pwsh.map(Command::Pwsh))
            .or(self.run.map(Command::Run))
            .or(script)
            .or(self.commands.map(Command::Commands))
    }
}

/// `commands:` a text for each platform.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Commands {
    /// For every platform that has no command of its own
    pub(crate) default: Option<String>,
    /// For one platform each
    pub(crate) platforms: PlatformCommands,
}

/// `commands.platforms:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct PlatformCommands {
    /// For Windows, in cmd
    pub(crate) windows: Option<String>,
    /// For Linux, in bash
    pub(crate) linux: Option<String>,
    /// For macOS, in bash
    pub(crate) macos: Option<String>,
}

impl Commands {
    /// Returns the commands of a text that is the same on every platform.
    pub(crate) fn everywhere(text: &str) -> Command {
        Command::Commands(Commands {
            default: Some(text.to_owned()),
            ..Commands::default()
        })
    }

    /// Returns the text for `platform`, or the default (spec cycod 24).
    pub(crate) fn on(&self, platform: Platform) -> Option<&str> {
        let own = match platform {
            Platform::Windows => &self.platforms.windows,
            Platform::Linux => &self.platforms.linux,
            Platform::Macos => &self.platforms.macos,
        };
        own.as_deref().or(self.default.as_deref())
    }

    /// Returns all texts that are set.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let own = &self.platforms;
        let all = [&self.default, &own.windows, &own.linux, &own.macos];
        all.into_iter().filter_map(|text| text.as_deref())
    }
}

/// Systems that the format knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub(crate) enum Platform {
    Windows,
    Linux,
    Macos,
}

impl Platform {
    /// Returns the platform that haft runs on. Systems other than Windows and macOS use Linux's
    /// commands.
    pub(crate) const fn current() -> Platform {
        if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::Macos
        } else {
            Platform::Linux
        }
    }

    /// Returns its name in files, which is also the value of `{OS}`.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

/// One entry of `steps:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
#[schemars(title = "a step")]
pub(crate) struct Step {
    /// Its name, unique in the tool; required
    pub(crate) name: String,
    #[serde(rename = "$self")]
    #[schemars(flatten)]
    pub(crate) work: StepWork,
    /// `true` if the tool goes on when this step fails
    pub(crate) continue_on_error: bool,
    /// A condition over earlier steps; without it the step always runs
    // With `{references}`; `true` and `false` are kept as these words.
    pub(crate) run_condition: Option<String>,
    /// `true` if it runs beside the steps before it
    pub(crate) parallel: bool,
    /// Steps that must have ended before it starts
    // Each once; without cycles.
    pub(crate) wait_for: Vec<String>,
    /// Behaviour when it fails
    pub(crate) error_handling: ErrorHandling,
    /// Treatment of its output
    pub(crate) output: Output,
    /// Time limit, in milliseconds
    pub(crate) timeout: Option<Millis>,
    /// Folder that it runs in
    pub(crate) working_directory: Option<String>,
    /// Variables on top of the tool's
    pub(crate) environment: Environment,
    /// Its standard input
    pub(crate) input: Option<String>,
    #[serde(rename = "$place")]
    #[schemars(skip)]
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
        let variables = self.environment.variables.iter();
        found.extend(variables.map(|(_, text)| text.as_str()));
        found.extend(self.output.masked_values.iter().map(String::as_str));
        found
    }
}

/// Work of a step.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(from = "StepKeys")]
#[schemars(with = "StepKeys")]
pub(crate) enum StepWork {
    Command(Command),
    UseTool(UseTool),
}

impl Default for StepWork {
    fn default() -> Self {
        StepWork::UseTool(UseTool::default())
    }
}

/// `use-tool:` with `with:`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct UseTool {
    pub(crate) tool: String,
    /// Parameter → value; texts in it may hold `{references}`.
    pub(crate) with: Named<Datum>,
    /// Place of the tool's name.
    pub(crate) place: Place,
}

/// Keys of a step's work.
#[derive(Default, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
struct StepKeys {
    #[serde(rename = "$self")]
    #[schemars(flatten)]
    command: CommandKeys,
    /// Another tool
    use_tool: Placed<String>,
    /// The parameters for that tool
    #[schemars(with = "BTreeMap<String, Datum>")]
    with: Named<Datum>,
}

impl From<StepKeys> for StepWork {
    fn from(keys: StepKeys) -> StepWork {
        match keys.command.command() {
            Some(command) => StepWork::Command(command),
            None => StepWork::UseTool(UseTool {
                tool: keys.use_tool.value,
                with: keys.with,
                place: keys.use_tool.place,
            }),
        }
    }
}

/// `error-handling:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct ErrorHandling {
    /// Further runs of it
    pub(crate) retry: Option<Retry>,
    /// A command for the case that all runs failed
    // With `{references}`; runs once, in the shell of the command.
    pub(crate) fallback: Option<String>,
}

/// `error-handling.retry:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Retry {
    /// Number of runs besides the first one
    pub(crate) attempts: u32,
    /// Milliseconds before the first retry, doubled each time; 1000 if left out
    #[schemars(range(min = 0))]
    pub(crate) delay: Millis,
}

impl Default for Retry {
    fn default() -> Self {
        Retry {
            attempts: 3,
            delay: Millis(Duration::from_secs(1)),
        }
    }
}

/// `output:`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default, rename_all = "kebab-case")]
pub(crate) struct Output {
    /// `stream` shows the output while it comes
    mode: Option<OutputMode>,
    /// Size of the output that is kept; `10MB` if left out
    buffer_limit: Option<Size>,
    /// Another name for `buffer-limit`
    max_size: Option<Size>,
    /// `true` if more than that is cut off; `false` makes it an error; `true` if left out
    truncation: Option<bool>,
    /// `true` is another way to write `mode: stream`
    streaming: bool,
    /// Target of a stream
    #[serde(rename = "stream-callback")]
    pub(crate) stream_to: StreamTo,
    /// Texts that become asterisks
    // With `{references}`.
    pub(crate) masked_values: Vec<String>,
}

/// `output.mode:`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum OutputMode {
    Buffer,
    Stream,
}

/// `output.stream-callback:`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StreamTo {
    #[default]
    Console,
    File,
    Function,
}

impl Output {
    /// Default of `buffer-limit` (spec cycod 110).
    const LIMIT: Size = Size(10 << 20);

    pub(crate) fn mode(&self) -> OutputMode {
        let streaming = self.streaming.then_some(OutputMode::Stream);
        self.mode.or(streaming).unwrap_or(OutputMode::Buffer)
    }

    /// Returns true if output beyond the limit is cut off, false if it is an error.
    pub(crate) fn truncates(&self) -> bool {
        self.truncation.unwrap_or(true)
    }

    /// Returns the limit of the output in bytes.
    pub(crate) fn limit(&self) -> u64 {
        let limit = self.buffer_limit.or(self.max_size);
        limit.unwrap_or(Self::LIMIT).0
    }
}
