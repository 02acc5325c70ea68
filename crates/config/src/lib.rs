//! Configuration of haft: all sources, resolved once into a complete [`Config`].
//!
//! Precedence from high to low: flags, `HAFT_*` variables, `./.haft/config.yaml` (trusted projects
//! only), `~/.config/haft/config.yaml`, the approval settings of oh-my-pi, defaults. All defaults
//! of the program are in this module and its submodules. No module below reads a flag, a variable
//! or a configuration file of ours.

mod agents;
mod aynd;
mod code;
mod declare;
mod duration;
mod env;
mod file;
mod flags;
pub mod grants;
mod ikigai;
mod kodelet;
mod limits;
mod log;
mod mcp;
mod nats;
mod omp;
pub mod paths;
pub mod permits;
mod profiles;
mod reference;
mod repository;
mod rights_resolver;
mod roots;
mod serve;
mod sessions;
mod settings;
mod telemetry;
mod terminal;
pub mod yaml;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;
use std::{cell::RefCell, mem};

pub use agents::Agents;
pub use aynd::Aynd;
pub use code::CodeSettings;
pub use duration::format_duration;
pub use duration::parse_duration;
pub use env::Env;
pub use flags::Flags;
pub use haft_tool::{
    Isolation, Permission, PermissionKind, PermissionProfile, PermissionSource, ProfileSource,
};
pub use ikigai::Ikigai;
pub use kodelet::CustomTools;
pub use limits::{Limits, Narrowing, exceeded_limit};
pub use log::{LogSettings, LoggedArguments};
pub use mcp::{CodeListing, LoginStore, Mcp, McpFlags, McpToolSettings, Structured};
pub use mcp::{McpImport, McpServer, McpTransport, NewTools, check_server_name};
pub use mcp::{matcher as pattern_matcher, strength as pattern_strength};
pub use mcp::{parse_task_mode, parse_word};
pub use nats::{DEFAULT_TENANT, NatsUrls, Remote, ServeNats, ServeNatsFlags, ServedHistory};
pub use profiles::{
    FamilyProfiles, Profile, ProfileSettings, SAFE_VARIABLES, SandboxSettings, ToolPlace, WORKSPACE,
};
pub use reference::{Setting, SettingSource};
pub use rights_resolver::RightsResolver;
pub use roots::Roots;
pub use serve::{ListenAddress, Serve, ServeFlags, Token};
pub use sessions::Sessions;
pub use settings::settings;
pub use telemetry::TelemetrySettings;

use declare::{
    Field, Origin, Settings, block, blocks, foreign, joined, lists, map, negated, path,
    state_directory, tool_paths,
};
use haft_process::owners::FileAccess;
pub use haft_process::state_dir::{Durability, StateDir, StateFolder, StatePart, UserFolder};
use haft_tool::error::{Error, ErrorKind};
use haft_tool::{ApprovalPolicy, Debugging, Level, Problem, Screen, TraceContext};
use profiles::PROJECT_KEY;

/// Home directory of accounts that have none, as in Debian. It does not exist.
const NO_HOME: &str = "/nonexistent";

/// Path of a project's configuration, below its directory.
pub const PROJECT_FILE: &str = ".haft/config.yaml";

/// A project's configuration file before it is used, for the check whether it is trusted.
pub struct ProjectFile<'a> {
    /// Directory for data that must be kept.
    pub state: &'a StateDir,
    /// The user's home directory.
    pub home: &'a Path,
    /// The project's directory.
    pub project: &'a Path,
    /// The text of the whole file.
    pub text: &'a str,
}

declare::settings! {
    /// The resolved configuration. It is complete: nothing is looked up later.
    #[derive(Clone, Debug)]
    #[non_exhaustive]
    pub struct Config {
        /// Tool files and folders named one by one; relative ones start at this file's folder.
        pub configured_paths as "tools": Vec<String> = "" => tool_paths, env "HAFT_TOOLS";
        /// Run the tools of a project without asking.
        pub trust_project: bool = "false",
            env "HAFT_TRUST_PROJECT", user "--trust-project";
        /// Offer the system tools too: `bash`, `file_write` and similar ones. See system-tools.md.
        // Off by default, because they write files and run commands.
        pub system_tools: bool = "false",
            env "HAFT_SYSTEM_TOOLS", user "--system-tools";
        /// The new name of a tool whose name is taken, by `path#tool`, `path` or `provider:tool`.
        pub rename: BTreeMap<String, String> = "" => map;
        /// Named sets of tools for `haft serve mcp --toolset NAME`: globs, those after a `!`
        /// exclude. See mcp.md.
        pub toolsets: BTreeMap<String, Vec<String>> = "" => lists;
        /// Files that are not loaded: `tool:` and the file's name without its extension.
        pub disabled_extensions: Vec<String> = "" => joined, env "HAFT_DISABLED_EXTENSIONS";
        /// Providers that are not used: `native`, `omp-plugins`, `claude`, `claude-plugins`,
        /// `codex`, `plugin`, `config`, `kodelet`, `ikigai`, `cycod`, `aynd`, `pi`, `pi-packages`,
        /// `opencode`, `opencode-plugins`, `copilot`, `amp`, `gemini`, `mcp`, `mcp-project`,
        /// `mcp-import`, `remote`.
        pub disabled_providers: Vec<String> = "" => joined, env "HAFT_DISABLED_PROVIDERS";
        /// The folder of YAML shell tools for all users of the machine.
        // Its files are trusted as the user's own. Spec cycod 2 has the default.
        pub cycod_global_dir: PathBuf = "/usr/local/share/cycod/tools" => path,
            env "HAFT_CYCOD_GLOBAL_DIR", user "HAFT_CYCOD_GLOBAL_DIR";
        /// The image for YAML shell tools with `isolation: container`. See shell-tools-running.md.
        pub container_image: String = "docker.io/library/debian:stable-slim",
            env "HAFT_CONTAINER_IMAGE", user "HAFT_CONTAINER_IMAGE";
        /// Approval policy: which calls run, are refused, or need approval. See approval.md.
        pub approval: ApprovalPolicy = "" => block, user "--approval-mode";
        /// Limits of time and memory. See limits.md.
        pub limits: Limits = "" => block;
        /// Permissions of tools. Each is `all`, `none`, a list, or `{allow: …, deny: […]}`. See
        /// permissions.md.
        pub permissions: PermissionProfile = "" => block;
        /// Separation of tools from haft's process: `process` or `sandbox`, for tools whose profile
        /// does not set it. In a project's own file: the minimum for its tools. See sandbox.md.
        pub isolation: Isolation = "process", env "HAFT_ISOLATION";
        /// Named permissions with a separation, for `sandbox`. `full`, `workspace` and `read-only`
        /// are built in. See permissions.md.
        // A project must not define what its tools may do.
        pub profiles: BTreeMap<String, ProfileSettings> = "" => blocks("NAME", profiles::check_name),
            user "a profile that the user defined";
        /// Choice of the profile of each tool. See permissions.md.
        pub sandbox: SandboxSettings = "" => block;
        /// Kodelet's own block: an invalid key or value in it is a warning. See below.
        pub custom_tools: CustomTools = "" => foreign;
        /// ikigai's tools.
        pub ikigai: Ikigai = "" => block, user "HAFT_IKIGAI_PROJECT";
        /// aynd's plugin files and built-in tools. See plugins.md.
        pub aynd: Aynd = "" => block;
        /// Settings of a server. See serve.md and rest.md.
        // They decide who can run tools on this machine.
        pub serve: Serve = "" => block, user "the flags of `haft serve`";
        /// Settings for MCP clients. See mcp.md.
        pub mcp: Mcp = "" => block;
        /// Other hosts whose tools haft offers, by NATS: an address, or blocks by names. See nats.md.
        // A project must not decide which hosts run tools.
        pub remote: BTreeMap<String, Remote> = "" =>
            declare::blocks_or_text("NAME", check_server_name, (nats::SHORT_NAME, "url")),
            user "--config";
        /// Limits of scripts in code mode. See code-mode.md.
        // A project must not raise what its scripts may take.
        pub code: CodeSettings = "" => block, user "--config";
        /// Settings of agent sessions. See sessions.md.
        // They decide which program is started with the user's rights.
        pub sessions: Sessions = "" => block, user "--config";
        /// The log of calls. See log.md.
        // A project must not be able to hide what its tools do.
        pub log: LogSettings = "" => block, user "--config";
        /// Traces, metrics and logs for OpenTelemetry. See telemetry.md.
        // A project must not be able to send what its tools do to others.
        pub telemetry: TelemetrySettings = "" => block, user "HAFT_TELEMETRY";
        /// The user's configuration file. Default: `~/.config/haft/config.yaml`, or `haft` in
        /// `$XDG_CONFIG_HOME`.
        pub config_file as "": PathBuf = "" => path, env "HAFT_CONFIG";
        /// Directory for data that must be kept: trust, the audit log. Default:
        /// `~/.local/state/haft`, or `haft` in `$XDG_STATE_HOME`.
        pub state_dir as "": StateDir = "" => state_directory, env "HAFT_STATE_DIR";
        /// Directory for data that haft can make again. Default: `~/.cache/haft`, or `haft` in
        /// `$XDG_CACHE_HOME`.
        pub cache_dir as "": PathBuf = "" => path, env "HAFT_CACHE_DIR";
        /// Load every module again to see what it offers, and cache nothing.
        pub use_cache as "": bool = "false" => negated, env "HAFT_NO_CACHE";
        computed {
            /// The project's directory, absolute.
            pub cwd: PathBuf,
            /// The user's home directory; `/nonexistent` if the user has none.
            pub home: PathBuf,
            /// Directories of the systems whose tools haft runs.
            pub roots: Roots,
            /// Directory for the files by which the user's processes find a running server. Other
            /// users cannot read it.
            pub runtime_dir: StateFolder,
            /// The system's folder for temporary files.
            pub temp_dir: PathBuf,
            /// The entries of `configured_paths` that the project's own configuration names.
            pub project_paths: Vec<String>,
            /// State of the project's own configuration file.
            pub project_file: FileUse,
            /// Names that tools cannot take.
            pub built_in_tool_names: Vec<String>,
            /// The tool file that has all of the user's permissions, because its accesses are
            /// recorded.
            pub records_permissions_of: Option<PathBuf>,
            /// Debugging of the JavaScript of tools. No setting turns it on.
            pub debugging: Debugging,
            /// The tools of the project are only described, in the strictest sandbox.
            pub is_untrusted_listing: bool,
            /// Do not run the tools of the project, not even trusted ones.
            pub distrust_project: bool,
            /// Ids of the only providers that are used; `None`: all of them.
            pub only_providers: Option<Vec<String>>,
            /// Narrower permissions and limits of the project's configuration for its own tools.
            pub narrowing: Narrowing,
            /// Problems with settings that are not used because they are invalid.
            pub problems: Vec<Problem>,
            /// Span of the program that started haft.
            pub trace_parent: Option<TraceContext>,
            /// Command line of the user's editor, if it is set.
            pub editor: Option<String>,
            /// Words of the command that opens a page. Its address is added or put in place of
            /// `%s`. `None` if pages cannot be shown.
            pub browser: Option<Vec<String>>,
            /// Capabilities of the user's terminal, if haft has one.
            pub screen: Screen,
            /// The folder of YAML shell tools whose names precede those of the other folders.
            pub cycod_first: Option<PathBuf>,
            /// Paths of the user's settings of coding agents.
            pub agents: Agents,
            /// The flags and the environment that this was resolved from, and the rights of tools
            /// that resulted.
            resolved_from: Option<Arc<(Flags, Env, Rights)>>,
            /// The layers that set a setting, the strongest first, with their values. By dotted
            /// key, or by variable if there is no key.
            sources: BTreeMap<String, Vec<(SettingSource, String)>>,
        }
    }
}

impl Settings for ApprovalPolicy {
    fn unset() -> Self {
        ApprovalPolicy::default()
    }

    fn fields(&mut self) -> Vec<Field<'_>> {
        declare::fields!(self {
            /// Mode for tools without a rule: `always-ask`, `write`, `yolo`.
            mode = "yolo", env "HAFT_APPROVAL_MODE";
            /// Rules by tool name: `allow`, `deny`, `prompt`.
            tools = "" => map;
            /// Tiers by tool name: `read`, `write`, `exec`. They outweigh what the tool says.
            tiers = "" => map;
            /// Tools that run without a question, by tag or name: `tool:read`.
            approve = "" => joined, env "HAFT_AUTO_APPROVE";
            /// Tools that are refused, whatever approves them.
            deny = "" => joined, env "HAFT_AUTO_DENY";
        })
    }
}

impl Settings for PermissionProfile {
    fn unset() -> Self {
        PermissionProfile::default()
    }

    #[rustfmt::skip]
    fn fields(&mut self) -> Vec<Field<'_>> {
        use PermissionKind as Kind;
        let sources = Rc::new(RefCell::new(&mut self.sources));
        let fields = [
            (Kind::Read, "Paths that may be read.", &mut self.read),
            (Kind::Write, "Paths that may be written.", &mut self.write),
            (Kind::Net, "Hosts that may be connected to, as `name` or `name:port`.", &mut self.net),
            (Kind::Env, "Environment variables that may be read.", &mut self.env),
            (Kind::Run, "Programs that may be started.", &mut self.run),
            (Kind::Sys, "Facts about the system that may be queried.", &mut self.sys),
            (Kind::Ffi, "Native libraries and addons that may be loaded.", &mut self.ffi),
            (Kind::Import, "Hosts that modules may be imported from.", &mut self.import),
        ];
        let field = |(kind, about, slot): (Kind, _, _)| {
            let slot: &mut Permission = slot;
            let sources = Rc::clone(&sources);
            let default = if kind == Kind::Ffi { "none" } else { "all" };
            let slot = declare::permission(kind, move |granted, source| {
                *slot = granted;
                sources.borrow_mut().insert(kind, vec![source]);
            });
            Field::new(kind.as_str(), about, default, slot)
        };
        fields.into_iter().map(field).collect()
    }
}

/// The settings that take effect while a host runs: those that decide about the rights of tools, the
/// MCP servers and the other hosts.
#[derive(Clone, Debug)]
struct Rights {
    permissions: PermissionProfile,
    isolation: Isolation,
    profiles: BTreeMap<String, ProfileSettings>,
    sandbox: SandboxSettings,
    narrowing: Narrowing,
    servers: McpServers,
    remote: BTreeMap<String, Remote>,
}

/// The MCP servers of the configuration files, and the other files that have some.
#[derive(Clone, Debug, PartialEq)]
struct McpServers {
    user: BTreeMap<String, McpServer>,
    project: BTreeMap<String, McpServer>,
    import: Vec<McpImport>,
}

impl Rights {
    fn of(config: &Config) -> Rights {
        Rights {
            servers: McpServers {
                user: config.mcp.servers.clone(),
                project: config.mcp.project_servers.clone(),
                import: config.mcp.import.clone(),
            },
            remote: config.remote.clone(),
            permissions: config.permissions.clone(),
            isolation: config.isolation,
            profiles: config.profiles.clone(),
            sandbox: config.sandbox.clone(),
            narrowing: config.narrowing.clone(),
        }
    }
}

/// State of a configuration file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FileUse {
    /// The file does not exist.
    #[default]
    Absent,
    /// The file exists, but is not used because it is not trusted.
    Ignored,
    /// The file is used.
    Used,
}

impl Config {
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
        let (flags_of_start, env_of_start) = (flags.clone(), env.clone());
        let home = env.home.clone().unwrap_or_else(|| NO_HOME.into());
        let cwd = working_directory(&flags, env)?;
        let config_home = base_directory(&env.xdg_config_home, &home, ".config");
        let state_home = base_directory(&env.xdg_state_home, &home, ".local/state");
        let cache_home = base_directory(&env.xdg_cache_home, &home, ".cache");
        let started_in = env.current_dir.as_deref().unwrap_or(&cwd);
        let variables = Origin {
            file: None,
            base: started_in,
            home: &home,
        };
        let mut config = Config {
            config_file: config_home.join("haft/config.yaml"),
            state_dir: StateDir::new(state_home.join("haft")),
            cache_dir: cache_home.join("haft"),
            ..declare::defaults(&variables)
        };

        // The variables are stronger than the project's file, but say where the other files are.
        let mut early = config.clone();
        early.read_variables(env, &variables)?;
        let is_given = flags.config.is_some() || early.sources.contains_key("HAFT_CONFIG");
        let given = flags.config.as_ref().map(|given| started_in.join(given));
        config.config_file = given.unwrap_or(early.config_file);

        let mut roots = Roots::locate(env, &home, &cwd, config_home);
        omp::read(&roots, &mut config);
        let user_file = config.config_file.clone();
        match file::text(&user_file)? {
            Some(text) => {
                let base = user_file.parent().unwrap_or(&user_file);
                let origin = Origin {
                    file: Some(&user_file),
                    base,
                    home: &home,
                };
                let written = file::read(&mut config, &text, &origin, false)?;
                config.take(written, &user_file);
            }
            None if is_given => {
                let user_file = user_file.display();
                let text = format!("the configuration file {user_file} does not exist");
                return Err(Error::new(ErrorKind::Usage, text)
                    .with_hint("create it, or leave out --config and HAFT_CONFIG"));
            }
            None => {}
        }

        let says_trust = if early.sources.contains_key("trust_project") {
            early.trust_project
        } else {
            config.trust_project
        };
        let trust_project = !flags.distrust_project && (flags.trust_project || says_trust);
        let project_path = cwd.join(PROJECT_FILE);
        let project_text = match file::text(&project_path) {
            // An unreadable file is an error only if it would be used.
            Err(error) if trust_project => return Err(error),
            Err(_) => Some(None),
            Ok(text) => text.map(Some),
        };
        let is_used = |text: &str| {
            trust_project
                || !flags.distrust_project
                    && grants::allows(&ProjectFile {
                        // The project's file must not move it, because its grant is stored there.
                        state: &early.state_dir,
                        home: &home,
                        project: &cwd,
                        text,
                    })
        };
        config.project_file = match project_text {
            None => FileUse::Absent,
            Some(Some(text)) if is_used(&text) => {
                config.read_project(&project_path, &text, &home)?;
                FileUse::Used
            }
            Some(_) => FileUse::Ignored,
        };

        config.read_variables(env, &variables)?;
        config.distrust_project = flags.distrust_project;
        flags::apply(flags, &mut config, started_in);
        config.trust_project = trust_project;

        roots.cycod_global.clone_from(&config.cycod_global_dir);
        config.agents = Agents::locate(env, &home, &roots.config_home);
        config.roots = roots;
        config.runtime_dir = runtime_directory(env, &config.state_dir);
        config.temp_dir = base_directory(&env.tmpdir, Path::new("/"), "tmp");
        config.limits.check()?;
        config.limits = config.limits.shared_with(&config.narrowing.limits);
        anchor(&mut config.permissions, &cwd, &home);
        let temp_dir = &grants::real(&config.temp_dir);
        for permissions in [&mut config.permissions, &mut config.narrowing.permissions] {
            *permissions = mem::take(permissions).with_tmpdir(temp_dir);
        }
        config.check_profiles()?;
        let has_local_dir = config.sources.contains_key("custom_tools.local_dir");
        let custom_tools = &mut config.custom_tools;
        custom_tools.local_dir = paths::resolve(&cwd, &custom_tools.local_dir);
        custom_tools.dot_local_dir = (!has_local_dir).then(|| cwd.join(".kodelet/tools"));
        let user_home = env.home.as_deref();
        config
            .ikigai
            .locate(env.program.as_deref(), user_home, &cwd);
        config.sessions.complete(env)?;
        config.editor.clone_from(&env.editor);
        let parent = env.traceparent.as_deref();
        config.trace_parent =
            parent.and_then(|parent| TraceContext::parse(parent, env.tracestate.as_deref()));
        config.browser = browser(env);
        config.screen = terminal::screen(env);
        let rights = Rights::of(&config);
        Ok(Config {
            cwd,
            home,
            resolved_from: Some(Arc::new((flags_of_start, env_of_start, rights))),
            ..config
        })
    }

    /// Resolves the configuration again, with the flags and variables of this one and the files as
    /// they are now. `None` if a program made this one.
    pub fn resolve_again(&self) -> Option<Result<Config, Error>> {
        let from = self.resolved_from.as_deref();
        from.map(|(flags, env, _)| Config::resolve_with(flags.clone(), env))
    }

    /// Returns this configuration with the permissions, the profiles, the isolation and the MCP
    /// servers of another one. What a program has set in this one stays.
    #[must_use]
    pub fn with_rights_of(&self, other: &Config) -> Config {
        let Some((_, _, resolved)) = self.resolved_from.as_deref() else {
            return self.clone();
        };
        fn newer<T: PartialEq + Clone>(own: &T, resolved: &T, now: &T) -> T {
            if own == resolved { now } else { own }.clone()
        }
        let (own, now) = (Rights::of(self), Rights::of(other));
        let narrowing = newer(&own.narrowing, &resolved.narrowing, &now.narrowing);
        let servers = newer(&own.servers, &resolved.servers, &now.servers);
        let mut mcp = self.mcp.clone();
        mcp.servers = servers.user;
        mcp.project_servers = servers.project;
        mcp.import = servers.import;
        Config {
            mcp,
            remote: newer(&own.remote, &resolved.remote, &now.remote),
            permissions: newer(&own.permissions, &resolved.permissions, &now.permissions),
            isolation: newer(&own.isolation, &resolved.isolation, &now.isolation),
            profiles: newer(&own.profiles, &resolved.profiles, &now.profiles),
            sandbox: newer(&own.sandbox, &resolved.sandbox, &now.sandbox),
            narrowing: Narrowing {
                limits: self.narrowing.limits.clone(),
                custom_tools: self.narrowing.custom_tools.clone(),
                ..narrowing
            },
            ..self.clone()
        }
    }

    /// Returns true if another configuration differs in more than what [`Config::with_rights_of`]
    /// takes from it.
    pub fn differs_beyond_rights(&self, other: &Config) -> bool {
        let others = |config: &Config| {
            let others = config.sources.iter().filter(|(key, _)| !is_of_rights(key));
            let values = |sources: &Vec<(SettingSource, String)>| {
                let values = sources.iter().map(|(_, value)| value.clone());
                values.collect::<Vec<_>>()
            };
            let others = others.map(|(key, sources)| (key.clone(), values(sources)));
            others.collect::<BTreeMap<_, _>>()
        };
        others(self) != others(other)
            || self.narrowing.limits != other.narrowing.limits
            || self.narrowing.custom_tools != other.narrowing.custom_tools
            || self.project_file != other.project_file
    }

    /// Reads the file of a trusted project. Its permissions and limits never widen those of any
    /// tool: they narrow those of its own tools.
    fn read_project(&mut self, path: &Path, text: &str, home: &Path) -> Result<(), Error> {
        let user = self.clone();
        let widest = Narrowing::default();
        self.isolation = widest.isolation;
        self.sandbox.project = None;
        self.permissions = widest.permissions;
        self.limits = widest.limits;
        self.custom_tools.set_bounds(&widest.custom_tools);
        self.configured_paths.clear();
        // A project's server of the same name is another server.
        self.mcp.servers.clear();

        // Its relative paths start at the project.
        let base = path.parent().and_then(Path::parent).unwrap_or(path);
        let origin = Origin {
            file: Some(path),
            base,
            home,
        };
        let mut written = file::read(self, text, &origin, true)?;
        self.limits.check()?;
        anchor(&mut self.permissions, base, home);
        if let Some(name) = &self.sandbox.project {
            let line = written.line_of(PROJECT_KEY).unwrap_or_default();
            self.check_profile(name, &format!("{}:{line}", path.display()))?;
        }
        self.narrowing = Narrowing {
            isolation: mem::replace(&mut self.isolation, user.isolation),
            profile: mem::replace(&mut self.sandbox.project, user.sandbox.project),
            permissions: mem::replace(&mut self.permissions, user.permissions),
            limits: mem::replace(&mut self.limits, user.limits),
            custom_tools: self.custom_tools.clone(),
        };
        self.mcp.project_servers = mem::replace(&mut self.mcp.servers, user.mcp.servers);
        self.custom_tools.set_bounds(&user.custom_tools);
        // A project cannot turn tools on.
        self.custom_tools.enabled &= user.custom_tools.enabled;
        self.custom_tools.global_dir_is_projects = written.has("custom_tools.global_dir");
        // The user's sets replace the project's, so that a project cannot widen them.
        self.toolsets.extend(user.toolsets);
        self.project_paths.clone_from(&self.configured_paths);
        self.configured_paths.extend(user.configured_paths);
        // Bounds are not values of the settings.
        written.values.retain(|(key, ..)| !is_bound(key));
        self.take(written, path);
        Ok(())
    }

    /// Sets what the variables of the environment set.
    fn read_variables(&mut self, env: &Env, origin: &Origin<'_>) -> Result<(), Error> {
        let mut set = Vec::new();
        reference::each_variable(self.fields(), "", &mut |key, name, slot| {
            let Some(value) = env.variable(name) else {
                return Ok(());
            };
            slot.set_text(&value, origin).map_err(|problem| {
                Error::new(ErrorKind::Usage, format!("{name}: {problem}"))
                    .with_hint(format!("correct or unset the variable {name}"))
            })?;
            set.push((key.to_owned(), name, value));
            Ok(())
        })?;
        for (key, name, value) in set {
            self.record(&key, SettingSource::Variable(name), Some(value));
        }
        Ok(())
    }

    /// Records what a file sets.
    fn take(&mut self, written: file::Written, file: &Path) {
        self.problems.extend(written.problems);
        for (key, value, line) in written.values {
            let file = file.to_owned();
            self.record(&key, SettingSource::File { file, line }, Some(value));
        }
    }

    /// Records the value that a layer sets, if it sets one. It is stronger than the layers before.
    fn record(&mut self, key: &str, source: SettingSource, value: Option<String>) {
        if let Some(value) = value {
            let sources = self.sources.entry(key.to_owned()).or_default();
            sources.insert(0, (source, value));
        }
    }
}

/// Returns true for a setting that a project's file only narrows.
fn is_bound(key: &str) -> bool {
    let is_place = key.ends_with("_dir") || key.ends_with(".enabled");
    match key.split('.').next() {
        Some("limits" | "permissions" | "isolation" | "sandbox") => true,
        Some("custom_tools") => !is_place,
        _ => false,
    }
}

/// Returns true for a setting of [`Rights`].
fn is_of_rights(key: &str) -> bool {
    let block = key.split('.').next().unwrap_or(key);
    if key == "mcp.import" || key.starts_with("mcp.servers.") {
        return true;
    }
    matches!(
        block,
        "permissions" | "isolation" | "profiles" | "sandbox" | "remote" | "HAFT_ISOLATION"
    )
}

/// Makes the paths of permissions absolute. Relative ones start at `base`.
fn anchor(permissions: &mut PermissionProfile, base: &Path, home: &Path) {
    permissions.anchor(|entry| anchored(entry, base, home));
}

fn anchored(entry: &str, base: &Path, home: &Path) -> String {
    match paths::expand(entry, home) {
        Ok(path) if !PermissionProfile::is_below_tmpdir(entry) => {
            paths::resolve(base, &path).display().to_string()
        }
        _ => entry.to_owned(),
    }
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
fn runtime_directory(env: &Env, state: &StateDir) -> StateFolder {
    let given = env.xdg_runtime_dir.as_ref().filter(|given| {
        let access = FileAccess::of(given);
        given.is_absolute()
            && given.is_dir()
            && access.is_ok_and(|access| access.is_ours && !access.others_any)
    });
    match given {
        Some(given) => StateFolder::of_runtime(given.join("haft")),
        None => state.folder(StatePart::Runtime),
    }
}

/// Returns a base directory of the XDG specification, which says to ignore relative values.
fn base_directory(variable: &Option<PathBuf>, home: &Path, default: &str) -> PathBuf {
    match variable {
        Some(path) if path.is_absolute() => path.clone(),
        _ => home.join(default),
    }
}
