//! One session: a tool that is run, with its checked values, its folders and its secrets.

use std::path::PathBuf;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::super::arguments::Arguments;
use super::super::definition::{
    Command, Definition, Environment, ErrorHandling, Output, Step, StepWork, UseTool,
};
use super::super::resolve::ToolSet;
use super::host_env::{HostEnv, mentions_temp_dir, path, predefined, secrets, written_path};
use super::mask::Mask;
use super::pausable_timer::Thinking;
use super::sandbox;
use super::temp::{Scratch, Temporary};
use super::values::Values;
use haft_tool::{Updates, User};

/// Context of a session that comes from outside.
#[derive(Clone)]
pub(crate) struct Around {
    /// Cancelled when everything must end.
    pub(crate) stop: CancellationToken,
    /// Cancelled when the grace period is over: the caller does not wait for a gentle end any more.
    pub(crate) force_token: CancellationToken,
    /// Destination of streamed output.
    pub(crate) updates: Option<Updates>,
    /// The user that answers the questions of interactive programs.
    pub(crate) user: Option<User>,
    /// Secrets of the tools around this one.
    pub(crate) mask: Mask,
}

/// Treatment of the folders that a tool asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folders {
    Made,
    /// Preview: nothing is going to run.
    Imagined,
}

pub(crate) struct Session<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) tool_set: &'a ToolSet,
    pub(crate) host_env: &'a HostEnv,
    pub(crate) values: Values,
    pub(crate) mask: Mask,
    pub(crate) cwd: PathBuf,
    /// The temporary folder that the tool requested.
    pub(crate) temp: Option<Temporary>,
    /// Permissions that the tool asks the host for.
    pub(crate) permissions: Vec<String>,
    pub(crate) stop: CancellationToken,
    pub(crate) force_token: CancellationToken,
    pub(crate) updates: Option<Updates>,
    pub(crate) user: Option<User>,
    /// Time that the user takes for answers; it does not count as the tool's.
    pub(crate) timer: Thinking,
    pub(super) notes: Mutex<Vec<String>>,
    /// The folder behind `{TEMP_DIR}` where the tool names none.
    _scratch: Option<Scratch>,
}

/// Reason why nothing was started.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The values are invalid.
    Arguments(String),
    /// The host does not grant what the tool needs.
    NotGranted(String, Option<String>),
    /// The permissions of its level do not allow it; the text has the hint.
    NotPermitted(String),
    /// The machine lacks what the tool needs.
    Impossible(String),
}

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        match self {
            Refusal::Arguments(text)
            | Refusal::NotGranted(text, _)
            | Refusal::NotPermitted(text)
            | Refusal::Impossible(text) => text,
        }
    }
}

impl<'a> Session<'a> {
    /// Prepares a session: checks everything that must hold before the first process starts.
    pub(crate) async fn open(
        definition: &'a Definition,
        arguments: &Arguments,
        tool_set: &'a ToolSet,
        host_env: &'a HostEnv,
        around: Around,
        folders: Folders,
    ) -> Result<Session<'a>, Refusal> {
        let wants_scratch =
            definition.file_paths.temp_directory.is_none() && mentions_temp_dir(definition);
        let scratch = match folders {
            Folders::Made if wants_scratch => {
                let made = Scratch::new(host_env.temp());
                Some(made.map_err(|error| {
                    Refusal::Impossible(format!("no temporary directory can be made: {error}"))
                })?)
            }
            _ => None,
        };
        let mut known = predefined(definition, host_env);
        if let Some(scratch) = &scratch {
            known.push(("TEMP_DIR", scratch.path().display().to_string()));
        } else if wants_scratch {
            let path = host_env.temp().join("haft-shell");
            known.push(("TEMP_DIR", path.display().to_string()));
        }
        let resolve = |known| Values::resolve(definition, arguments, known, &host_env.engine);
        let refused = |problems: Vec<String>| Refusal::Arguments(problems.join("\n"));
        let mut values = resolve(known.clone()).await.map_err(refused)?;
        let fill = async |values: &Values, text: &str| {
            let filled = values.text(text).await;
            filled.map_err(|error| Refusal::Arguments(error.to_string()))
        };
        let mut temp = None;
        if let Some(text) = &definition.file_paths.temp_directory {
            let path = path(definition, host_env, &fill(&values, text).await?);
            known.push(("TEMP_DIR", path.display().to_string()));
            // Only now the names are known that parameters may refer to.
            values = resolve(known).await.map_err(refused)?;
            temp = Some(path);
        }
        let mut permissions = Vec::new();
        for text in &definition.security.required_permissions {
            permissions.push(fill(&values, text).await?);
        }
        if let Some((denied, hint)) = sandbox::not_granted(
            &permissions,
            &host_env.confinement.permissions,
            &host_env.cwd,
        ) {
            let text = format!("Permission not granted: {denied}");
            return Err(Refusal::NotGranted(text, hint));
        }
        if let Some(refusal) = host_env.confinement.rights.refuse_all(&definition.name) {
            return Err(Refusal::NotPermitted(refusal));
        }
        if folders == Folders::Imagined {
            values = values.imagined();
        }
        let mut session = Session {
            mask: around.mask.and(&secrets(definition, &values).await),
            definition,
            tool_set,
            host_env,
            values,
            cwd: host_env.cwd.clone(),
            temp: None,
            permissions,
            stop: around.stop.child_token(),
            force_token: around.force_token,
            updates: around.updates,
            user: around.user,
            timer: Thinking::default(),
            notes: Mutex::default(),
            _scratch: scratch,
        };
        let own = definition.working_directory.as_ref();
        if let Some(text) = own.or(definition.file_paths.working_directory.as_ref()) {
            session.cwd = session.folder(text).await.map_err(Refusal::Impossible)?;
        }
        if let Some(path) = temp.filter(|_| folders == Folders::Made) {
            session.temp = Some(Temporary::make(&path).map_err(Refusal::Impossible)?);
        }
        for warning in &arguments.warnings {
            session.note(warning.clone());
        }
        Ok(session)
    }

    /// Returns a working directory, which must exist.
    pub(crate) async fn folder(&self, text: &str) -> Result<PathBuf, String> {
        let filled = self
            .values
            .text(text)
            .await
            .map_err(|error| error.to_string())?;
        let path = path(self.definition, self.host_env, &filled);
        if path.is_dir() {
            Ok(path)
        } else {
            Err(format!(
                "the working directory `{}` is not there",
                path.display()
            ))
        }
    }

    /// Resolves a path that a test names, relative to the tool's working directory.
    pub(crate) fn path_from_cwd(&self, text: &str) -> PathBuf {
        self.cwd
            .join(written_path(self.definition, self.host_env, text))
    }

    /// Adds a note for the caller about a call that goes on; duplicates are dropped.
    pub(crate) fn note(&self, text: String) {
        let mut notes = self.notes.lock();
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// Returns the tool's single command as a step without a name.
    pub(crate) fn single<'b>(&'b self, command: &'b Command) -> Unit<'b> {
        Unit {
            name: None,
            work: UnitWork::Command(command),
            error_handling: &self.definition.error_handling,
            output: &WHOLE_OUTPUT,
            timeout: None,
            working_directory: None,
            environment: None,
            input: None,
        }
    }

    pub(crate) fn unit<'b>(&'b self, step: &'b Step) -> Unit<'b> {
        Unit {
            name: Some(&step.name),
            work: match &step.work {
                StepWork::Command(command) => UnitWork::Command(command),
                StepWork::UseTool(uses) => UnitWork::UseTool(uses),
            },
            error_handling: &step.error_handling,
            output: &step.output,
            timeout: step.timeout.map(|limit| limit.0),
            working_directory: step.working_directory.as_deref(),
            environment: Some(&step.environment),
            input: step.input.as_deref(),
        }
    }
}

/// One command or tool to run, with all its settings.
pub(crate) struct Unit<'a> {
    /// `None`: the tool's single command.
    pub(crate) name: Option<&'a str>,
    pub(crate) work: UnitWork<'a>,
    pub(crate) error_handling: &'a ErrorHandling,
    pub(crate) output: &'a Output,
    pub(crate) timeout: Option<Duration>,
    pub(crate) working_directory: Option<&'a str>,
    pub(crate) environment: Option<&'a Environment>,
    pub(crate) input: Option<&'a str>,
}

/// Work of a unit.
pub(crate) enum UnitWork<'a> {
    Command(&'a Command),
    UseTool(&'a UseTool),
}

/// Default output settings of a tool with a single command.
static WHOLE_OUTPUT: std::sync::LazyLock<Output> = std::sync::LazyLock::new(Output::default);

/// Conversion for a session that shares its context with another one.
impl Session<'_> {
    pub(crate) fn around(&self, stop: &CancellationToken) -> Around {
        Around {
            stop: stop.clone(),
            force_token: self.force_token.clone(),
            updates: self.updates.clone(),
            user: self.user.clone(),
            mask: self.mask.clone(),
        }
    }
}
