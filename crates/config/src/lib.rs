//! Configuration of haft: all sources, resolved once into a complete [`Config`].
//!
//! Precedence from high to low: flags, `HAFT_*` variables, `./.haft/config.yaml` (trusted projects
//! only), `~/.config/haft/config.yaml`, the approval settings of oh-my-pi, defaults. All defaults
//! of the program are in this module and its submodules. No module below reads a flag, a variable
//! or a configuration file of ours.

mod agents;
mod aynd;
mod duration;
mod env;
mod file;
pub mod grants;
mod ikigai;
mod kodelet;
mod layers;
mod log;
mod mcp;
mod omp;
pub mod paths;
mod roots;
mod serve;
mod sessions;
mod settings;
mod terminal;
pub mod yaml;

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use agents::Agents;
pub use aynd::Aynd;
pub use duration::format_duration;
pub use duration::parse_duration;
pub use env::Env;
pub use haft_tool::{Permission, PermissionKind, PermissionProfile, PermissionSource};
pub use ikigai::Ikigai;
pub use kodelet::CustomTools;
pub use log::{LogSettings, LoggedArguments};
pub use mcp::parse_task_mode;
pub use mcp::{Mcp, McpFlags, McpToolSettings, Structured};
pub use roots::Roots;
pub use serve::{ListenAddress, Serve, ServeFlags, Token};
pub use sessions::Sessions;
pub use settings::settings;

use haft_tool::error::{Error, ErrorKind};
use haft_tool::{ApprovalMode, ApprovalPolicy, Level, Problem, Screen, ToolPattern};
use layers::ConfigLayer;

/// Timeout for loading a tool file. A cold import of a big npm tree needs seconds. A file that
/// needs longer hangs, and oh-my-pi's own loader would hang with it.
const LOAD_TIMEOUT: Duration = Duration::from_secs(30);

/// Grace period of a cancelled call: time to close a file or kill a child politely. It is short
/// enough that the user does not press Ctrl-C a second time.
const GRACE: Duration = Duration::from_secs(2);

/// Maximum JavaScript memory of one isolate, in MiB. It is plenty for tools, and two runaway
/// isolates still fit a small machine.
const HEAP_MB: u32 = 512;

/// Maximum number of isolates by default. More would fill a machine with many cores with copies of
/// the runtime.
const MAX_ISOLATES: usize = 8;

/// Minimum heap that boots the runtime and one zod module, in MiB.
const LEAST_HEAP_MB: u32 = 32;

/// Default image of containers for tools.
const CONTAINER_IMAGE: &str = "docker.io/library/debian:stable-slim";

/// Default limit of the text of a result, in KiB: about 12,000 tokens. More text goes to a file.
/// Claude Code puts results of more than 50,000 characters into a file of its own and shows 2 KB of
/// them. The text that remains, with its notice, therefore stays below 48 KB.
const SPILL_KB: u32 = 46;

/// Home directory of accounts that have none, as in Debian. It does not exist.
const NO_HOME: &str = "/nonexistent";

/// Path of a project's configuration, below its directory.
pub const PROJECT_FILE: &str = ".haft/config.yaml";

/// A project's configuration file before it is used, for the check whether it is trusted.
pub struct ProjectFile<'a> {
    /// Directory for data that must be kept.
    pub state_dir: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's directory.
    pub project: &'a Path,
    /// The text of the whole file.
    pub text: &'a str,
}

/// Settings that the program or the embedding host passes directly. `None` and empty: not set.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The directory to work in instead of the process's own.
    pub cwd: Option<PathBuf>,
    /// Tool files and folders named one by one.
    pub tools: Vec<String>,
    /// Run the tools of the project without asking.
    pub trust_project: bool,
    /// Do not run the tools of the project, not even trusted ones. Overrides all other settings.
    pub distrust_project: bool,
    /// Offer the system tools too: `bash`, `file_write` and similar ones.
    pub system_tools: bool,
    /// A configuration file instead of the user's.
    pub config: Option<PathBuf>,
    /// Neither read nor write the cache.
    pub no_cache: bool,
    /// Maximum duration of a call.
    pub call_timeout: Option<Duration>,
    /// Names that tools cannot take because the host has tools of these names.
    pub built_in_tool_names: Option<Vec<String>>,
    /// Maximum time to load a tool file.
    pub load_timeout: Option<Duration>,
    /// JavaScript memory of one isolate, in MiB.
    pub heap_mb: Option<u32>,
    /// Approval mode for tools without a rule of the user.
    pub approval_mode: Option<ApprovalMode>,
    /// Tools that run without a question.
    pub auto_approve: Vec<ToolPattern>,
    /// Tools that are refused, whatever approves them.
    pub auto_deny: Vec<ToolPattern>,
    /// The user names the tool to run on the command line. This is the explicit yes that a tool
    /// without a security tag needs, unless the user set how tools are approved.
    pub by_name: bool,
    /// Maximum text of a result in KiB; more goes to a file. 0: no limit.
    pub spill_kb: Option<u32>,
    /// Leave Kodelet's tools alone: no directory is read, nothing is started.
    pub no_custom_tools: bool,
    /// The folder with aynd's plugin files. A relative one starts at the process's directory.
    pub aynd_tools_dir: Option<PathBuf>,
    /// Set to turn aynd's built-in tools on or off.
    pub builtin_tools: Option<bool>,
    /// The folder of YAML shell tools whose names precede those of the other folders.
    pub cycod_first: Option<PathBuf>,
    /// Settings of a server.
    pub serve: ServeFlags,
    /// Settings for MCP clients.
    pub mcp: McpFlags,
}

/// The resolved configuration. It is complete: nothing is looked up later.
#[derive(Clone, Debug)]
pub struct Config {
    /// The project's directory, absolute.
    pub cwd: PathBuf,
    /// The user's home directory; `/nonexistent` if the user has none.
    pub home: PathBuf,
    /// Directories of the systems whose tools haft runs.
    pub roots: Roots,
    /// Directory for data that must be kept: trust, the audit log.
    pub state_dir: PathBuf,
    /// Directory for data that haft can make again.
    pub cache_dir: PathBuf,
    /// Directory for the files by which the user's processes find a running server. Other users
    /// cannot read it.
    pub runtime_dir: PathBuf,
    /// Cache in `cache_dir` what modules say about themselves.
    pub use_cache: bool,
    /// The system's folder for temporary files.
    pub temp_dir: PathBuf,
    /// Tool files and folders named one by one, as written.
    pub configured_paths: Vec<String>,
    /// The entries of `configured_paths` that the project's own configuration names.
    pub project_paths: Vec<String>,
    /// State of the project's own configuration file.
    pub project_file: FileUse,
    /// Names that tools cannot take.
    pub built_in_tool_names: Vec<String>,
    /// Run the tools of the project without asking.
    pub trust_project: bool,
    /// Do not run the tools of the project, not even trusted ones.
    pub distrust_project: bool,
    /// Offer the system tools too. Off by default, because they write files and run commands.
    pub system_tools: bool,
    /// The new name of a tool, by its path or source.
    pub rename: BTreeMap<String, String>,
    /// Named sets of tools, for surfaces that offer only some: globs, those after a `!` exclude.
    pub toolsets: BTreeMap<String, Vec<String>>,
    /// `tool:<key>` of files that are not to be loaded.
    pub disabled_extensions: Vec<String>,
    /// Ids of providers that are not used.
    pub disabled_providers: Vec<String>,
    /// Ids of the only providers that are used; `None`: all of them.
    pub only_providers: Option<Vec<String>>,
    /// Approval policy: which calls run, are refused, or need approval.
    pub approval: ApprovalPolicy,
    /// Limits of time and memory.
    pub limits: Limits,
    /// Permissions of tools. Those of the project may have fewer: see [`Config::permissions_of`].
    pub permissions: PermissionProfile,
    /// Narrower permissions and limits of the project's configuration for its own tools.
    pub narrowing: Narrowing,
    /// The image for tools that want to run in a container.
    pub container_image: String,
    /// Kodelet's tools.
    pub custom_tools: CustomTools,
    /// ikigai's tools.
    pub ikigai: Ikigai,
    /// Problems with settings that are not used because they are invalid.
    pub problems: Vec<Problem>,
    /// aynd's plugin files and built-in tools.
    pub aynd: Aynd,
    /// Command line of the user's editor, if it is set.
    pub editor: Option<String>,
    /// Words of the command that opens a page. Its address is added or put in place of `%s`. `None`
    /// if pages cannot be shown.
    pub browser: Option<Vec<String>>,
    /// Capabilities of the user's terminal, if haft has one.
    pub screen: Screen,
    /// The folder of YAML shell tools whose names precede those of the other folders.
    pub cycod_first: Option<PathBuf>,
    /// Settings of a server.
    pub serve: Serve,
    /// Settings for MCP clients.
    pub mcp: Mcp,
    /// Paths of the user's settings of coding agents.
    pub agents: Agents,
    /// Settings of agent sessions.
    pub sessions: Sessions,
    /// Settings of the log of calls.
    pub log: LogSettings,
}

/// Restrictions of a project's configuration for its own tools. It cannot extend their rights.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Maximum permissions.
    pub permissions: PermissionProfile,
    /// Maximum limits. A limit that the project does not mention has the largest value.
    pub limits: Limits,
    /// Maximum limits of its executables.
    pub custom_tools: kodelet::Bounds,
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

/// State of a configuration file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// The file does not exist.
    Absent,
    /// The file exists, but is not used because it is not trusted.
    Ignored,
    /// The file is used.
    Used,
}

/// Limits of time and memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Maximum duration of a call; `None`: no limit.
    pub call_timeout: Option<Duration>,
    /// Maximum time to load a tool file.
    pub load_timeout: Duration,
    /// Grace period: the time from the polite stop to the forced one.
    pub grace: Duration,
    /// Maximum JavaScript memory of one isolate, in MiB.
    pub heap_mb: u32,
    /// Maximum number of isolates for tools that get in each other's way; 1: all share one.
    pub isolates: u32,
    /// Maximum text of a result in KiB; more goes to a file. 0: no limit.
    pub spill_kb: u32,
    /// True if a program that a module started with `detached: true` and `unref()` outlives the
    /// host.
    pub keep_detached: bool,
}

impl Limits {
    /// Returns the largest possible limits.
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

    /// Returns the limits with the project's values for those that all tools of a host share.
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

    /// Returns the smaller of both values for each limit.
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
            // 0 means unlimited.
            spill_kb: spills.into_iter().filter(|kb| *kb > 0).min().unwrap_or(0),
            keep_detached: self.keep_detached && other.keep_detached,
        }
    }
}

/// Returns the number of isolates that can compute at once, at most [`MAX_ISOLATES`].
fn one_for_each_core() -> u32 {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    u32::try_from(cores.min(MAX_ISOLATES)).unwrap_or(1)
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            // A build or a test run may take an hour, and the caller can cancel it.
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
    /// Returns the permissions of tools of that level.
    pub fn permissions_of(&self, level: Level) -> PermissionProfile {
        match level {
            Level::User | Level::Host => self.permissions.clone(),
            Level::Project => self.permissions.narrowed(&self.narrowing.permissions),
        }
    }

    /// Returns the limits of tools of that level.
    pub fn limits_of(&self, level: Level) -> Limits {
        match level {
            Level::User | Level::Host => self.limits.clone(),
            Level::Project => self.limits.narrowed(&self.narrowing.limits),
        }
    }

    /// Returns the settings of executables of that level.
    pub fn custom_tools_of(&self, level: Level) -> CustomTools {
        match level {
            Level::User | Level::Host => self.custom_tools.clone(),
            Level::Project => self.custom_tools.narrowed(&self.narrowing.custom_tools),
        }
    }

    /// Reads the process's environment and the configuration files, and resolves the configuration.
    /// The project's own file counts only if the user trusts it.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid setting, with its position and a hint.
    pub fn resolve(flags: Flags) -> Result<Config, Error> {
        Config::resolve_with(flags, &Env::from_process())
    }

    /// Resolves the configuration with an environment of the caller's choice.
    ///
    /// # Errors
    /// As [`Config::resolve`].
    pub fn resolve_with(flags: Flags, env: &Env) -> Result<Config, Error> {
        Config::decide(flags, env, grants::allows)
    }

    /// Resolves the configuration. The project's own file is used if the user trusts the project,
    /// or if `trusts` returns true for exactly its text.
    fn decide(
        flags: Flags,
        env: &Env,
        trusts: impl FnOnce(&ProjectFile<'_>) -> bool,
    ) -> Result<Config, Error> {
        let home = env.home.clone().unwrap_or_else(|| NO_HOME.into());
        let cwd = working_directory(&flags, env)?;
        let config_home = base_directory(&env.xdg_config_home, &home, ".config");

        let from_env = ConfigLayer::from_env(env)?;
        let user_file = match flags.config.as_deref().or(from_env.config.as_deref()) {
            Some(given) => file::given(&started_in(env, &cwd).join(given), &home)?,
            None => file::user(&config_home.join("haft/config.yaml"), &home)?,
        };
        let distrust_project = flags.distrust_project;
        let says_trust = from_env.trust_project.or(user_file.trust_project);
        let trust_project =
            !distrust_project && (flags.trust_project || says_trust.unwrap_or(false));
        // The project's file must not move them, because its grant is stored there.
        let state_home = base_directory(&env.xdg_state_home, &home, ".local/state");
        let state_dir = from_env
            .state_dir
            .clone()
            .unwrap_or_else(|| state_home.join("haft"));
        let project_path = cwd.join(PROJECT_FILE);
        let project_text = match file::project_text(&project_path) {
            // An unreadable file is an error only if it would be used.
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
            None => (ConfigLayer::default(), FileUse::Absent),
            Some(Some(text)) if is_used(&text) => {
                let written = file::project(&project_path, &text, &home)?;
                (written, FileUse::Used)
            }
            Some(_) => (ConfigLayer::default(), FileUse::Ignored),
        };
        let project_paths = from_project.tools.clone();
        // Its permissions and limits never widen those of any tool.
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
        let mut written = ConfigLayer::from_flags(flags, started_in(env, &cwd));
        for lower in [from_env, from_project, user_file, omp::user(&roots)] {
            written.merge_from(lower);
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
            screen: terminal::screen(env),
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

/// Returns the directory at which relative paths of flags start.
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

/// Returns the command that opens a page: the user's `BROWSER`, else that of the desktop.
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

/// Returns the folder for files of running programs: that of the system if only the user can enter
/// it, as its specification demands, else one in the state directory.
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

/// Returns a base directory of the XDG specification, which says to ignore relative values.
fn base_directory(variable: &Option<PathBuf>, home: &Path, default: &str) -> PathBuf {
    match variable {
        Some(path) if path.is_absolute() => path.clone(),
        _ => home.join(default),
    }
}
