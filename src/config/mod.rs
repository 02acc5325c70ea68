//! Everything haft can be told, resolved once into a [`Config`] without gaps.
//!
//! High to low: flags, `HAFT_*` variables, `./.haft/config.yaml` (trusted projects only),
//! `~/.config/haft/config.yaml`, what oh-my-pi's own settings say of approval, defaults. Every default of the program is in this file.
//! No module below reads a flag, a variable or a configuration file of ours.

mod agents;
mod aynd;
mod duration;
mod env;
mod file;
mod ikigai;
mod kodelet;
mod layers;
mod log;
mod mcp;
mod omp;
pub(crate) mod paths;
mod roots;
mod screen;
mod serve;
mod sessions;
mod settings;
pub(crate) mod yaml;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use crate::tool::{Permission, PermissionKind, PermissionProfile, PermissionSource};
pub use agents::Agents;
pub use aynd::Aynd;
pub(crate) use duration::format_duration;
pub use duration::parse_duration;
pub use env::Env;
pub use ikigai::Ikigai;
pub use kodelet::CustomTools;
pub use log::{LogSettings, LoggedArguments};
pub(crate) use mcp::parse_task_mode;
pub use mcp::{Mcp, McpFlags, McpToolSettings, Structured};
pub use roots::Roots;
pub use serve::{ListenAddress, Serve, ServeFlags, Token};
pub use sessions::Sessions;
pub(crate) use settings::settings;

use crate::error::{Error, ErrorKind};
use crate::tool::{ApprovalMode, ApprovalPolicy, Level, Problem, Screen, ToolPattern};
use layers::Written;

/// How long a tool file may take to load. A cold import of a big npm tree needs seconds;
/// whoever needs more than this hangs, and oh-my-pi's own loader would hang with it.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// How long a call that was asked to stop may go on: time to close a file or kill a
/// child politely, short enough that a person does not reach for a second Ctrl-C.
const GRACE: Duration = Duration::from_secs(2);

/// JavaScript memory of one isolate, in MiB: plenty for tools, and two runaway isolates
/// still fit a small machine.
const HEAP_MB: u32 = 512;

/// Isolates beyond this would fill a machine with many cores with copies of the runtime.
const MOST_ISOLATES: usize = 8;

/// The least heap that boots the runtime and one zod module.
const LEAST_HEAP_MB: u32 = 32;

/// What containers of tools are made of where nothing else is said.
const CONTAINER_IMAGE: &str = "docker.io/library/debian:stable-slim";

/// Text of a result beyond this goes to a file, in KiB: about 12,000 tokens, which no model wants
/// without having asked. Claude Code puts what has more than 50,000 characters into a file of its own
/// and shows 2 KB of it, so what remains, with its notice, stays below 48 KB.
const SPILL_KB: u32 = 46;

/// A home for accounts that have none; Debian gives them the same. Nothing is found there.
const NO_HOME: &str = "/nonexistent";

/// Where a project keeps its configuration, below its directory.
pub(crate) const PROJECT_FILE: &str = ".haft/config.yaml";

/// A project's configuration file before it is used, for whoever decides whether it is.
pub(crate) struct ProjectFile<'a> {
    /// Where haft keeps what must survive.
    pub(crate) state_dir: &'a Path,
    /// The user's home directory.
    pub(crate) home: &'a Path,
    /// The project's directory.
    pub(crate) project: &'a Path,
    /// All of the file.
    pub(crate) text: &'a str,
}

/// What the program or the embedding host was told directly. `None` and empty: not told.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The directory to work in instead of the process's own.
    pub cwd: Option<PathBuf>,
    /// Tool files and folders named one by one.
    pub tools: Vec<String>,
    /// Run the tools of the project without asking.
    pub trust_project: bool,
    /// Run none of them, not even those that the user trusts. Outweighs all that says otherwise.
    pub distrust_project: bool,
    /// Offer the system tools too: `bash`, `file_write` and their kind.
    pub system_tools: bool,
    /// A configuration file instead of the user's.
    pub config: Option<PathBuf>,
    /// Remember nothing, and use nothing that was remembered.
    pub no_cache: bool,
    /// The longest that a call may take.
    pub call_timeout: Option<Duration>,
    /// Names that tools cannot take because the host has tools of these names.
    pub built_in_tool_names: Option<Vec<String>>,
    /// The longest that a tool file may take to load.
    pub load_timeout: Option<Duration>,
    /// JavaScript memory of one isolate, in MiB.
    pub heap_mb: Option<u32>,
    /// What happens to calls of tools that the user has no rule for.
    pub approval_mode: Option<ApprovalMode>,
    /// Tools that run without a question.
    pub auto_approve: Vec<ToolPattern>,
    /// Tools that are refused, whatever approves them.
    pub auto_deny: Vec<ToolPattern>,
    /// Whoever runs the program says by name which tool is to run. That is the explicit yes that a
    /// tool without a security tag needs, unless they said otherwise how tools are approved.
    pub by_name: bool,
    /// Text of a result beyond so many KiB goes to a file; 0: never.
    pub spill_kb: Option<u32>,
    /// Leave Kodelet's tools alone: no directory is read, nothing is started.
    pub no_custom_tools: bool,
    /// The folder with aynd's plugin files; a relative one starts where the process was started.
    pub aynd_tools_dir: Option<PathBuf>,
    /// Whether aynd's built-in tools are wanted.
    pub builtin_tools: Option<bool>,
    /// The folder of YAML shell tools that claims names before the others of its kind.
    pub cycod_first: Option<PathBuf>,
    /// What a server is told.
    pub serve: ServeFlags,
    /// What MCP clients get beside the tools.
    pub mcp: McpFlags,
}

/// What haft goes by: complete, nothing is looked up later.
#[derive(Clone, Debug)]
pub struct Config {
    /// The project's directory, absolute.
    pub cwd: PathBuf,
    /// The user's home directory; `/nonexistent` where there is none.
    pub home: PathBuf,
    /// Where the systems whose tools we run keep their things.
    pub roots: Roots,
    /// Where haft keeps what must survive: trust, the audit log.
    pub state_dir: PathBuf,
    /// Where haft keeps what it can make again.
    pub cache_dir: PathBuf,
    /// Where haft keeps what a running server needs others of the same user to find, and nobody else.
    pub runtime_dir: PathBuf,
    /// Remember there what modules say about themselves.
    pub use_cache: bool,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Tool files and folders named one by one, as written.
    pub configured_paths: Vec<String>,
    /// Those of them that the project's own configuration names.
    pub project_paths: Vec<String>,
    /// What became of the project's own configuration file.
    pub project_file: FileUse,
    /// Names that tools cannot take.
    pub built_in_tool_names: Vec<String>,
    /// Run the tools of the project without asking.
    pub trust_project: bool,
    /// Run none of them, not even those that the user trusts.
    pub distrust_project: bool,
    /// Offer the system tools too. Off unless asked for: they write files and run commands.
    pub system_tools: bool,
    /// A tool's path or source → the name it gets.
    pub rename: BTreeMap<String, String>,
    /// Named sets of tools, for whoever offers only some: globs, those after a `!` exclude.
    pub toolsets: BTreeMap<String, Vec<String>>,
    /// `tool:<key>` of files that are not to be loaded.
    pub disabled_extensions: Vec<String>,
    /// Ids of providers that are not to be asked.
    pub disabled_providers: Vec<String>,
    /// Ids of the only providers to be asked; `None`: all of them.
    pub only_providers: Option<Vec<String>>,
    /// Which calls run, are refused, or are asked about.
    pub approval: ApprovalPolicy,
    /// Bounds in time and memory.
    pub limits: Limits,
    /// What tools may touch. Those of the project may touch less: see [`Config::permissions_of`].
    pub permissions: PermissionProfile,
    /// By how much the project's configuration narrows that, and other bounds, for its own tools.
    pub narrowing: Narrowing,
    /// The image for tools that want to run in a container.
    pub container_image: String,
    /// Kodelet's tools.
    pub custom_tools: CustomTools,
    /// ikigai's tools.
    pub ikigai: Ikigai,
    /// What was written and is not used, because it cannot be.
    pub problems: Vec<Problem>,
    /// aynd's plugin files and built-in tools.
    pub aynd: Aynd,
    /// The command line of the user's editor, if they have said.
    pub editor: Option<String>,
    /// The words of a command that opens a page, which is added or put in place of `%s`; `None` where no
    /// page could be seen.
    pub browser: Option<Vec<String>>,
    /// What the user's terminal can show, if haft has one.
    pub screen: Screen,
    /// The folder of YAML shell tools that claims names before the others of its kind.
    pub cycod_first: Option<PathBuf>,
    /// What a server goes by.
    pub serve: Serve,
    /// What MCP clients get beside the tools.
    pub mcp: Mcp,
    /// Where coding agents keep the user's settings.
    pub agents: Agents,
    /// Sessions of an agent.
    pub sessions: Sessions,
    /// The log of calls.
    pub log: LogSettings,
}

/// What a project's configuration takes away from its own tools. It can give them nothing.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Nothing beyond this may be touched.
    pub permissions: PermissionProfile,
    /// Nothing beyond this may be used; what the project does not mention is as large as can be.
    pub limits: Limits,
    /// How its executables are run.
    pub(crate) custom_tools: kodelet::Bounds,
}

impl Default for Narrowing {
    /// Takes nothing away.
    fn default() -> Self {
        Narrowing {
            permissions: PermissionProfile::everything(),
            limits: Limits::largest(),
            custom_tools: kodelet::Bounds::default(),
        }
    }
}

/// What became of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// There is none.
    Absent,
    /// It is there, and not used because it is not trusted.
    Ignored,
    /// What it says counts.
    Used,
}

/// Bounds in time and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The longest that a call may take; `None`: as long as it wants.
    pub call_timeout: Option<Duration>,
    /// The longest that a tool file may take to load.
    pub load_timeout: Duration,
    /// From the polite stop to the forced one.
    pub grace: Duration,
    /// JavaScript memory of one isolate, in MiB.
    pub heap_mb: u32,
    /// How many isolates there may be for tools that get in each other's way; 1: all share one.
    pub isolates: u32,
    /// Text of a result beyond so many KiB goes to a file; 0: never.
    pub spill_kb: u32,
    /// A program that a module started with `detached: true` and `unref()` outlives the host.
    pub keep_detached: bool,
}

impl Limits {
    /// No limit is larger.
    fn largest() -> Limits {
        Limits {
            call_timeout: None,
            load_timeout: Duration::MAX,
            grace: Duration::MAX,
            heap_mb: u32::MAX,
            isolates: u32::MAX,
            spill_kb: 0,
            keep_detached: true,
        }
    }

    /// With the project's limits where there is one for all tools of a host.
    #[must_use]
    fn shared_with(self, project: &Limits) -> Limits {
        let narrowed = self.narrowed(project);
        Limits {
            isolates: narrowed.isolates,
            spill_kb: narrowed.spill_kb,
            keep_detached: narrowed.keep_detached,
            ..self
        }
    }

    /// The smaller of both, one by one.
    #[must_use]
    fn narrowed(&self, other: &Limits) -> Limits {
        let timeouts = [self.call_timeout, other.call_timeout];
        let spills = [self.spill_kb, other.spill_kb];
        Limits {
            call_timeout: timeouts.into_iter().flatten().min(),
            load_timeout: self.load_timeout.min(other.load_timeout),
            grace: self.grace.min(other.grace),
            heap_mb: self.heap_mb.min(other.heap_mb),
            isolates: self.isolates.min(other.isolates),
            // 0 is no limit.
            spill_kb: spills.into_iter().filter(|kb| *kb > 0).min().unwrap_or(0),
            keep_detached: self.keep_detached && other.keep_detached,
        }
    }
}

/// As many as can compute at once.
fn one_for_each_core() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores.min(MOST_ISOLATES)).unwrap_or(1)
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // A build or a test run may take an hour; whoever waits can cancel.
            call_timeout: None,
            load_timeout: LOAD_TIMEOUT,
            grace: GRACE,
            heap_mb: HEAP_MB,
            isolates: one_for_each_core(),
            spill_kb: SPILL_KB,
            keep_detached: true,
        }
    }
}

impl Config {
    /// What tools of that level may touch.
    pub fn permissions_of(&self, level: Level) -> PermissionProfile {
        match level {
            Level::User | Level::Host => self.permissions.clone(),
            Level::Project => self.permissions.narrowed(&self.narrowing.permissions),
        }
    }

    /// The bounds of tools of that level.
    pub fn limits_of(&self, level: Level) -> Limits {
        match level {
            Level::User | Level::Host => self.limits.clone(),
            Level::Project => self.limits.narrowed(&self.narrowing.limits),
        }
    }

    /// How executables of that level are run.
    pub(crate) fn custom_tools_of(&self, level: Level) -> CustomTools {
        match level {
            Level::User | Level::Host => self.custom_tools.clone(),
            Level::Project => self.custom_tools.narrowed(&self.narrowing.custom_tools),
        }
    }

    /// Decides. The project's own file counts if the user said so, or if `trusts` says so of
    /// exactly its bytes; whoever may ask the store of grants has [`Config::resolve_with`].
    pub(crate) fn decide(
        flags: Flags,
        env: &Env,
        trusts: impl FnOnce(&ProjectFile<'_>) -> bool,
    ) -> Result<Config, Error> {
        let home = env.home.clone().unwrap_or_else(|| NO_HOME.into());
        let cwd = working_directory(&flags, env)?;
        let config_home = base_directory(&env.xdg_config_home, &home, ".config");

        let from_env = Written::from_env(env)?;
        let user_file = match flags.config.as_deref().or(from_env.config.as_deref()) {
            Some(given) => file::given(&started_in(env, &cwd).join(given), &home)?,
            None => file::user(&config_home.join("haft/config.yaml"), &home)?,
        };
        let distrust_project = flags.distrust_project;
        let says_trust = from_env.trust_project.or(user_file.trust_project);
        let trust_project =
            !distrust_project && (flags.trust_project || says_trust.unwrap_or(false));
        // Neither may be moved by the project's file: they say where its grant is.
        let state_home = base_directory(&env.xdg_state_home, &home, ".local/state");
        let state_dir = from_env
            .state_dir
            .clone()
            .unwrap_or_else(|| state_home.join("haft"));
        let project_path = cwd.join(PROJECT_FILE);
        let project_text = match file::project_text(&project_path) {
            // What is not used cannot be in the way either.
            Err(error) if trust_project => return Err(error),
            Err(_) => Some(None),
            Ok(text) => text.map(Some),
        };
        let is_used = |text: &str| {
            trust_project
                || !distrust_project
                    && trusts(&ProjectFile {
                        state_dir: &state_dir,
                        home: &home,
                        project: &cwd,
                        text,
                    })
        };
        let (mut from_project, project_file) = match project_text {
            None => (Written::default(), FileUse::Absent),
            Some(Some(text)) if is_used(&text) => {
                let written = file::project(&project_path, &text, &home)?;
                (written, FileUse::Used)
            }
            Some(_) => (Written::default(), FileUse::Ignored),
        };
        let project_paths = from_project.tools.clone();
        // What it says of rights and limits never widens what the user's own tools, or its own, have.
        let narrowing = Narrowing {
            permissions: std::mem::take(&mut from_project.permissions).resolve(
                PermissionProfile::everything(),
                &cwd,
                &home,
            ),
            limits: std::mem::take(&mut from_project.limits).resolve_within(Limits::largest())?,
            custom_tools: from_project.custom_tools.take_bounds(),
        };

        let cycod_global = from_env
            .cycod_global_dir
            .clone()
            .or_else(|| user_file.cycod_global_dir.clone());
        let agents = Agents::locate(env, &home, &config_home);
        let roots = Roots::locate(env, &home, &cwd, config_home, cycod_global);
        let cycod_first = flags.cycod_first.clone();
        let by_name = flags.by_name;
        let mut written = Written::from_flags(flags, started_in(env, &cwd));
        for lower in [from_env, from_project, user_file, omp::user(&roots)] {
            written.fill_from(lower);
        }
        let cache_home = base_directory(&env.xdg_cache_home, &home, ".cache");
        Ok(Config {
            roots,
            runtime_dir: runtime_directory(env, &state_dir),
            state_dir,
            cache_dir: written.cache_dir.unwrap_or_else(|| cache_home.join("haft")),
            use_cache: !written.no_cache.unwrap_or(false),
            temp_dir: base_directory(&env.tmpdir, Path::new("/"), "tmp"),
            configured_paths: written.tools,
            project_paths,
            project_file,
            built_in_tool_names: written.built_in_tool_names.unwrap_or_default(),
            trust_project,
            distrust_project,
            system_tools: written.system_tools.unwrap_or(false),
            rename: written.rename,
            toolsets: written.toolsets,
            disabled_extensions: written.disabled_extensions,
            disabled_providers: written.disabled_providers,
            only_providers: None,
            approval: ApprovalPolicy {
                is_chosen: written.approval_mode.is_some()
                    || by_name && written.auto_approve.is_empty(),
                mode: written.approval_mode.unwrap_or_default(),
                tools: written.approval_rules,
                approve: written.auto_approve,
                deny: written.auto_deny,
                tiers: written.approval_tiers,
                max_tier: None,
            },
            limits: written.limits.resolve()?.shared_with(&narrowing.limits),
            permissions: written
                .permissions
                .resolve(PermissionProfile::default(), &cwd, &home),
            narrowing,
            container_image: written
                .container_image
                .unwrap_or_else(|| CONTAINER_IMAGE.to_owned()),
            custom_tools: written.custom_tools.resolve(&home, &cwd),
            ikigai: written
                .ikigai
                .resolve(env.program.as_deref(), env.home.as_deref(), &cwd),
            problems: written.problems,
            aynd: written
                .aynd
                .resolve(&home, written.serve.with_builtin_tools),
            editor: env.editor.clone(),
            browser: browser(env),
            screen: screen::screen(env),
            cycod_first,
            serve: written.serve.resolve(),
            mcp: written.mcp.resolve()?,
            agents,
            sessions: written.sessions.unwrap_or_default().resolve(env)?,
            log: written.log.unwrap_or_default().resolve()?,
            cwd,
            home,
        })
    }
}

/// The directory that relative paths of flags mean.
fn started_in<'a>(env: &'a Env, cwd: &'a Path) -> &'a Path {
    env.current_dir.as_deref().unwrap_or(cwd)
}

fn working_directory(flags: &Flags, env: &Env) -> Result<PathBuf, Error> {
    let usage = |text: String| Error::new(ErrorKind::Usage, text);
    let here = env.current_dir.as_deref();
    let Some(given) = &flags.cwd else {
        return here.map(Path::to_owned).ok_or_else(|| {
            usage("the current directory does not exist any more".into())
                .with_hint("change to another directory, or name one with --cwd")
        });
    };
    if here.is_none() && given.is_relative() {
        let text = format!(
            "--cwd {}: the current directory does not exist any more",
            given.display()
        );
        return Err(usage(text).with_hint("give an absolute path"));
    }
    let resolved = paths::resolve(here.unwrap_or(Path::new("/")), given);
    match std::fs::metadata(&resolved) {
        Ok(found) if found.is_dir() => Ok(resolved),
        Ok(_) => Err(
            usage(format!("--cwd {}: not a directory", resolved.display()))
                .with_hint("name the project's directory, not a file in it"),
        ),
        Err(error) => Err(usage(format!(
            "--cwd {}: {}",
            resolved.display(),
            paths::plain(&error)
        ))
        .with_hint("name a directory that exists")),
    }
}

/// How a page is opened: as the user says, else by the desktop.
fn browser(env: &Env) -> Option<Vec<String>> {
    if let Some(first) = env.browser.as_ref().and_then(|line| line.split(':').next()) {
        let words: Vec<String> = first.split_whitespace().map(str::to_owned).collect();
        return (!words.is_empty()).then_some(words);
    }
    let desktop = match (cfg!(target_os = "macos"), env.has_display) {
        (true, _) => "open",
        (false, true) => "xdg-open",
        (false, false) => return None,
    };
    Some(vec![desktop.to_owned()])
}

/// The folder for files of running programs: that of the system if it is the user's alone, as its
/// specification wants it, else one in the state directory.
fn runtime_directory(env: &Env, state_dir: &Path) -> PathBuf {
    let given = env.xdg_runtime_dir.as_ref().filter(|given| {
        let found = std::fs::metadata(given);
        let user = rustix::process::geteuid().as_raw();
        given.is_absolute()
            && found.is_ok_and(|it| it.is_dir() && it.uid() == user && it.mode() & 0o077 == 0)
    });
    match given {
        Some(given) => given.join("haft"),
        None => state_dir.join("run"),
    }
}

/// A base directory of the XDG specification, which says to ignore relative values.
fn base_directory(variable: &Option<PathBuf>, home: &Path, default: &str) -> PathBuf {
    match variable {
        Some(path) if path.is_absolute() => path.clone(),
        _ => home.join(default),
    }
}
