//! One call of one tool, from its checked arguments to its last cleanup command.
//!
//! What a tool uses with `use-tool` is a session inside of this one. The hard thing is the end:
//! whatever happens before it (success, failure, timeout, cancel), what was started is stopped
//! first and then the cleanup runs, with a clock of its own.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::super::arguments::Arguments;
use super::super::definition::{
    Cleanup, Command, Commands, Datum, Definition, Environment, ErrorHandling, Output, Platform,
    Step, StepWork, Work,
};
use super::super::shelf::{Shelf, Shelved};
use super::jail;
use super::mask::Mask;
use super::report::{Report, StepReport};
use super::step::Unit;
use super::temp::{Scratch, Temporary};
use super::values::Values;
use super::walk;
use crate::config::PermissionProfile;
use crate::engine::Engine;
use crate::process::inherited;
use crate::tool::{Moment, Updates};

/// The longest that one cleanup command may take.
const CLEANUP: Duration = Duration::from_secs(30);

/// The same after a cancel: whoever cancelled is waiting.
const HASTY_CLEANUP: Duration = Duration::from_secs(5);

/// What holds for all calls of one host.
#[derive(Clone)]
pub(crate) struct Ground {
    pub(crate) cwd: PathBuf,
    pub(crate) home: PathBuf,
    /// The system's folder for temporary files.
    pub(crate) temp: PathBuf,
    /// Between TERM and KILL.
    pub(crate) grace: Duration,
    pub(crate) permissions: PermissionProfile,
    /// What containers are made of.
    pub(crate) container_image: String,
    pub(crate) engine: Engine,
}

/// What a session is given from outside.
#[derive(Clone)]
pub(crate) struct Around {
    /// Fires when everything must end.
    pub(crate) stop: CancellationToken,
    /// Where streamed output goes.
    pub(crate) updates: Option<Updates>,
    /// What the tools around this one must not show.
    pub(crate) mask: Mask,
}

/// What becomes of the folders that a tool asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Folders {
    Made,
    /// Nothing is going to run.
    Imagined,
}

pub(crate) struct Session<'a> {
    pub(crate) definition: &'a Definition,
    pub(crate) shelf: &'a Shelf,
    pub(crate) ground: &'a Ground,
    pub(crate) values: Values,
    pub(crate) mask: Mask,
    pub(crate) cwd: PathBuf,
    /// The folder that the tool asked for.
    pub(crate) temp: Option<Temporary>,
    /// What the tool asks the host for.
    pub(crate) permissions: Vec<String>,
    pub(crate) stop: CancellationToken,
    pub(crate) updates: Option<Updates>,
    notes: Mutex<Vec<String>>,
    /// The folder behind `{TEMP_DIR}` where the tool names none.
    _scratch: Option<Scratch>,
}

/// Why nothing was started.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// The values do not fit.
    Arguments(String),
    /// The host does not grant what the tool needs.
    NotGranted(String),
    /// The machine lacks what the tool needs.
    Impossible(String),
}

impl Refusal {
    pub(crate) fn text(&self) -> &str {
        match self {
            Refusal::Arguments(text) | Refusal::NotGranted(text) | Refusal::Impossible(text) => {
                text
            }
        }
    }
}

/// Runs a tool to its end.
///
/// # Errors
/// When nothing was started.
pub(crate) async fn perform(
    tool: &Shelved,
    arguments: &Arguments,
    shelf: &Shelf,
    ground: &Ground,
    around: Around,
) -> Result<Report, Refusal> {
    let definition = &tool.definition;
    let session =
        Session::open(definition, arguments, shelf, ground, around, Folders::Made).await?;
    let ran = session.run().await?;
    Ok(session.report(ran))
}

/// What a run leaves, before it is put into words.
pub(crate) struct Ran {
    steps: Vec<StepReport>,
    is_late: bool,
    was_cancelled: bool,
    duration: Duration,
}

impl<'a> Session<'a> {
    /// Everything that must hold before the first process starts.
    pub(crate) async fn open(
        definition: &'a Definition,
        arguments: &Arguments,
        shelf: &'a Shelf,
        ground: &'a Ground,
        around: Around,
        folders: Folders,
    ) -> Result<Session<'a>, Refusal> {
        let wants_scratch =
            definition.file_paths.temp_directory.is_none() && mentions_temp_dir(definition);
        let scratch = match folders {
            Folders::Made if wants_scratch => {
                let made = Scratch::new(&ground.temp);
                Some(made.map_err(|error| {
                    Refusal::Impossible(format!("no temporary directory can be made: {error}"))
                })?)
            }
            _ => None,
        };
        let mut known = predefined(definition, ground);
        if let Some(scratch) = &scratch {
            known.push(("TEMP_DIR", scratch.path().display().to_string()));
        } else if wants_scratch {
            let path = ground.temp.join("haft-shell");
            known.push(("TEMP_DIR", path.display().to_string()));
        }
        let resolve = |known| Values::resolve(definition, arguments, known, &ground.engine);
        let refused = |problems: Vec<String>| Refusal::Arguments(problems.join("\n"));
        let mut values = resolve(known.clone()).await.map_err(refused)?;
        let fill = async |values: &Values, text: &str| {
            let filled = values.text(text).await;
            filled.map_err(|error| Refusal::Arguments(error.to_string()))
        };
        let mut temp = None;
        if let Some(text) = &definition.file_paths.temp_directory {
            let path = path(definition, ground, &fill(&values, text).await?);
            known.push(("TEMP_DIR", path.display().to_string()));
            // Only now it is known what parameters may refer to.
            values = resolve(known).await.map_err(refused)?;
            temp = Some(path);
        }
        let mut permissions = Vec::new();
        for text in &definition.security.required_permissions {
            permissions.push(fill(&values, text).await?);
        }
        if let Some(denied) = jail::not_granted(&permissions, &ground.permissions, &ground.cwd) {
            return Err(Refusal::NotGranted(format!(
                "Permission not granted: {denied}"
            )));
        }
        if folders == Folders::Imagined {
            values = values.imagined();
        }
        let mut session = Session {
            mask: around.mask.and(&secrets(definition, &values).await),
            definition,
            shelf,
            ground,
            values,
            cwd: ground.cwd.clone(),
            temp: None,
            permissions,
            stop: around.stop.child_token(),
            updates: around.updates,
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

    /// Runs everything, the cleanup too.
    pub(crate) async fn run(&self) -> Result<Ran, Refusal> {
        let started = Instant::now();
        let plan = walk::plan_of(self.definition).map_err(Refusal::Impossible)?;
        let work = walk::walk(self, &plan);
        tokio::pin!(work);
        let mut is_late = false;
        let steps = tokio::select! {
            steps = &mut work => steps,
            () = tokio::time::sleep_until(started + self.definition.timeout) => {
                is_late = true;
                self.stop.cancel();
                work.await
            }
        };
        let was_cancelled = !is_late && self.stop.is_cancelled();
        self.clean_up(was_cancelled).await;
        Ok(Ran {
            steps,
            is_late,
            was_cancelled,
            duration: started.elapsed(),
        })
    }

    /// A working directory, which must be there.
    pub(crate) async fn folder(&self, text: &str) -> Result<PathBuf, String> {
        let filled = self
            .values
            .text(text)
            .await
            .map_err(|error| error.to_string())?;
        let path = path(self.definition, self.ground, &filled);
        match path.is_dir() {
            true => Ok(path),
            false => Err(format!(
                "the working directory `{}` is not there",
                path.display()
            )),
        }
    }

    /// A path that a test names, from where the tool works.
    pub(crate) fn path_from_cwd(&self, text: &str) -> PathBuf {
        self.cwd
            .join(written_path(self.definition, self.ground, text))
    }

    /// Something that the caller should know although the call goes on; once is enough.
    pub(crate) fn note(&self, text: String) {
        let mut notes = self.notes.lock().unwrap_or_else(PoisonError::into_inner);
        if !notes.contains(&text) {
            notes.push(text);
        }
    }

    /// The tool's single command as a step without a name.
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
            timeout: step.timeout,
            working_directory: step.working_directory.as_deref(),
            environment: step.environment.as_ref(),
            input: step.input.as_deref(),
        }
    }

    /// Runs however the tool ended. What fails here is only told to the log.
    async fn clean_up(&self, was_cancelled: bool) {
        for entry in &self.definition.resources.cleanup {
            let result = match entry {
                Cleanup::DeleteTempFiles => match &self.temp {
                    Some(temp) => {
                        let kept: [&Path; 3] =
                            [&self.ground.cwd, &self.ground.home, &self.ground.temp];
                        temp.remove(&kept)
                    }
                    None => Ok(()),
                },
                Cleanup::FinalCommand(text) => self.finally(text, was_cancelled).await,
            };
            if let Err(error) = result {
                let error = self.mask.apply(&error);
                tracing::warn!(tool = self.definition.name, error, "a cleanup failed");
            }
        }
    }

    /// Runs one command of the end in the platform's default shell. Not one in which something is
    /// empty that should say what to remove: `rm -rf {DIRECTORY}/` (c23).
    pub(crate) async fn finally(&self, text: &str, was_cancelled: bool) -> Result<(), String> {
        let empty = self.values.first_empty(text).await;
        if let Some(name) = empty.map_err(|error| error.to_string())? {
            return Err(format!(
                "`{text}` is not run, because `{{{name}}}` is empty"
            ));
        }
        let command = Command::Commands(Commands {
            default: Some(text.to_owned()),
            ..Commands::default()
        });
        let mut unit = self.single(&command);
        let nothing = ErrorHandling::default();
        unit.error_handling = &nothing;
        unit.timeout = Some(if was_cancelled {
            HASTY_CLEANUP
        } else {
            CLEANUP
        });
        // The tool's own input is not for it.
        unit.input = Some("");
        let ended = self.attempt(&unit, &CancellationToken::new()).await;
        match ended.failure(None) {
            None => Ok(()),
            Some(why) => Err(why),
        }
    }

    pub(crate) fn report(self, ran: Ran) -> Report {
        let mut warnings = Vec::new();
        if let Some(deprecation) = &self.definition.deprecation {
            let name = &self.definition.name;
            warnings.push(match &deprecation.message {
                Some(message) => format!("Tool '{name}' is deprecated: {message}"),
                None => format!("Tool '{name}' is deprecated."),
            });
        }
        warnings.extend(
            self.notes
                .into_inner()
                .unwrap_or_else(PoisonError::into_inner),
        );
        Report {
            is_stepped: matches!(self.definition.work, Work::Steps(_)),
            timeout: ran.is_late.then_some(self.definition.timeout),
            was_cancelled: ran.was_cancelled,
            ignores_errors: self.definition.ignore_errors,
            warnings,
            mask: self.mask,
            steps: ran.steps,
            duration: ran.duration,
        }
    }
}

/// What a unit does.
pub(crate) enum UnitWork<'a> {
    Command(&'a Command),
    UseTool(&'a super::super::definition::UseTool),
}

/// The output of a tool with a single command: the defaults.
static WHOLE_OUTPUT: std::sync::LazyLock<Output> = std::sync::LazyLock::new(Output::default);

fn predefined(definition: &Definition, ground: &Ground) -> Vec<(&'static str, String)> {
    // One reading, so that the date and the time belong together.
    let now = Moment::of(SystemTime::now());
    let text = |path: &Path| path.display().to_string();
    vec![
        ("TOOL_NAME", definition.name.clone()),
        ("WORKSPACE", text(&ground.cwd)),
        ("TEMP", text(&ground.temp)),
        ("HOME", text(&ground.home)),
        ("OS", Platform::current().as_str().to_owned()),
        ("DATE", now.date()),
        ("TIME", now.time()),
        ("TIMESTAMP", now.timestamp()),
    ]
}

/// A path as the tool writes it, with `~`, absolute.
fn path(definition: &Definition, ground: &Ground, text: &str) -> PathBuf {
    ground.cwd.join(written_path(definition, ground, text))
}

fn written_path(definition: &Definition, ground: &Ground, text: &str) -> PathBuf {
    let paths = &definition.file_paths;
    let mut text = text.to_owned();
    if paths.normalize || paths.auto_convert {
        let foreign = paths.windows_separator.as_deref().unwrap_or("\\");
        let own = paths.unix_separator.as_deref().unwrap_or("/");
        if !foreign.is_empty() {
            text = text.replace(foreign, own);
        }
    }
    match text.strip_prefix('~') {
        Some("") => ground.home.clone(),
        Some(rest) if rest.starts_with('/') => ground.home.join(rest.trim_start_matches('/')),
        _ => PathBuf::from(text),
    }
}

/// The values of everything that the tool calls a secret.
async fn secrets(definition: &Definition, values: &Values) -> Mask {
    let environments = definition
        .steps()
        .iter()
        .filter_map(|step| step.environment.as_ref());
    let environments: Vec<&Environment> = environments.chain([&definition.environment]).collect();
    let mut found = Vec::new();
    for name in environments
        .iter()
        .flat_map(|environment| &environment.secrets)
    {
        found.extend(values.secret(name));
        found.extend(inherited(name));
        let variables = environments
            .iter()
            .flat_map(|environment| &environment.variables);
        for (_, text) in variables.filter(|(own, _)| own == name) {
            // One that cannot be filled is refused where it is used.
            found.extend(values.variable(text).await.ok().flatten());
        }
    }
    Mask::new(found)
}

/// Whether any text of the tool refers to a temporary directory that it does not name.
fn mentions_temp_dir(definition: &Definition) -> bool {
    const NAME: &str = "{TEMP_DIR";
    fn in_datum(value: &Datum) -> bool {
        match value {
            Datum::Text(text) => text.contains(NAME),
            Datum::List(items) => items.iter().any(in_datum),
            Datum::Object(entries) => entries.iter().any(|(_, value)| in_datum(value)),
            Datum::Null | Datum::Bool(_) | Datum::Number(_) => false,
        }
    }
    // The debug form holds every text there is; a mention too many costs an empty folder.
    format!(
        "{:?}{:?}{:?}",
        definition.work, definition.resources, definition.environment
    )
    .contains(NAME)
        || definition
            .input
            .as_ref()
            .is_some_and(|text| text.contains(NAME))
        || definition
            .working_directory
            .as_ref()
            .is_some_and(|text| text.contains(NAME))
        || definition
            .parameters
            .iter()
            .any(|own| own.default.as_ref().is_some_and(in_datum))
}

/// For whoever shares a session's outer things with another one.
impl Session<'_> {
    pub(crate) fn around(&self, stop: &CancellationToken) -> Around {
        Around {
            stop: stop.clone(),
            updates: self.updates.clone(),
            mask: self.mask.clone(),
        }
    }
}
