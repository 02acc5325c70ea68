//! Builder by which an embedding program makes its host.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use super::{Host, Setup};
use crate::family::custom::CustomTool;
use crate::registry::NameRegistry;
use haft_config::{Config, Env, Flags, Limits, PermissionProfile};
use haft_tool::{ApprovalMode, ApprovalPolicy, Approver, Models, SessionProvider, UserInterface};
use haft_tool::{Error, ErrorKind};

/// Builder of a [`Host`]; [`Host::builder`] creates one.
///
/// Options that are not set are decided as for the program `haft`: by `HAFT_*` variables, the
/// configuration files, and the defaults.
///
/// The example of [`CustomTool`] begins with one; `examples/agent.rs` is a whole agent.
#[must_use = "nothing happens before `build`"]
#[derive(Default)]
pub struct HostBuilder {
    config: Option<Config>,
    env: Option<Env>,
    flags: Flags,
    trust: TrustPolicy,
    approval: Option<ApprovalPolicy>,
    limits: Option<Limits>,
    permissions: Option<PermissionProfile>,
    only_providers: Option<Vec<String>>,
    approver: Option<Arc<dyn Approver>>,
    tools: Vec<CustomTool>,
    ui: Option<Arc<dyn UserInterface>>,
    session: Option<Arc<dyn SessionProvider>>,
    models: Models,
    worker_program: Option<PathBuf>,
}

/// Policy for the tools of a project: which of them run without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TrustPolicy {
    /// Tools that the user granted with `haft trust`, byte for byte. The others are listed and
    /// refused.
    #[default]
    Granted,
    /// All tools. For programs whose users chose the project with its tools, and for CI.
    Always,
    /// No tools, granted or not.
    Never,
}

impl HostBuilder {
    /// Sets the project's directory: `pi.cwd` of tools, and the base of the search for `.omp/tools`
    /// and similar folders. The default is the process's own directory.
    pub fn cwd(mut self, cwd: impl Into<PathBuf>) -> HostBuilder {
        self.flags.cwd = Some(cwd.into());
        self
    }

    /// Sets a complete configuration: nothing is read from the environment or from files. It
    /// cannot be combined with [`HostBuilder::cwd`] and [`HostBuilder::env`]. Of
    /// [`HostBuilder::flags`] only the tools, the built-in names and the approval mode are used.
    pub fn config(mut self, config: Config) -> HostBuilder {
        self.config = Some(config);
        self
    }

    /// Sets another environment than the process's, for programs that must not depend on it.
    pub fn env(mut self, env: Env) -> HostBuilder {
        self.env = Some(env);
        self
    }

    /// Sets everything that the command line of `haft` can set. Replaces earlier values of
    /// [`HostBuilder::cwd`], [`HostBuilder::paths`] and [`HostBuilder::built_in_tool_names`].
    pub fn flags(mut self, flags: Flags) -> HostBuilder {
        self.flags = flags;
        self
    }

    /// Adds tool files and folders to those that are found by the search. Relative ones start at
    /// the project's directory. Files that are named here are trusted.
    pub fn paths<P: Into<String>>(mut self, paths: impl IntoIterator<Item = P>) -> HostBuilder {
        self.flags.tools.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Reserves names that found tools cannot take, because the program has tools of these names.
    pub fn built_in_tool_names<N: Into<String>>(
        mut self,
        names: impl IntoIterator<Item = N>,
    ) -> HostBuilder {
        let known = self.flags.built_in_tool_names.get_or_insert_default();
        known.extend(names.into_iter().map(Into::into));
        self
    }

    /// Sets which of the project's tools may run.
    pub fn trust(mut self, policy: TrustPolicy) -> HostBuilder {
        self.trust = policy;
        self
    }

    /// Sets the approval policy: which calls run, are refused, or need approval. Replaces what the
    /// user configured.
    pub fn approval(mut self, policy: ApprovalPolicy) -> HostBuilder {
        self.approval = Some(policy);
        self
    }

    /// Sets the approval mode for calls without a rule.
    pub fn approval_mode(mut self, mode: ApprovalMode) -> HostBuilder {
        self.flags.approval_mode = Some(mode);
        self
    }

    /// Sets the approver for calls that need approval. Without one the user interface is asked.
    /// Without both, such calls are refused.
    pub fn approver(mut self, approver: Arc<dyn Approver>) -> HostBuilder {
        self.approver = Some(approver);
        self
    }

    /// Sets the user interface of handles without their own. `pi.ui` and
    /// [`Invocation::ask`](crate::Invocation::ask) use it, and so does approval without an
    /// approver. Without it tools cannot ask a user; see [`Host::set_default_ui`].
    pub fn ui(mut self, ui: Arc<dyn UserInterface>) -> HostBuilder {
        self.ui = Some(ui);
        self
    }

    /// Sets the conversation that calls belong to; see [`Host::set_session`].
    pub fn session(mut self, session: Arc<dyn SessionProvider>) -> HostBuilder {
        self.session = Some(session);
        self
    }

    /// Sets the program's models, which tools see if the session has none; see
    /// [`Host::set_models`].
    pub fn models(mut self, models: Models) -> HostBuilder {
        self.models = models;
        self
    }

    /// Sets the program of the worker processes in which modules run: a `haft` of this version, or a
    /// program that calls [`run_worker_process`](crate::run_worker_process). For code that has no
    /// `main` of its own, such as an extension of another program. The default is the running
    /// program.
    pub fn worker_program(mut self, program: impl Into<PathBuf>) -> HostBuilder {
        self.worker_program = Some(program.into());
        self
    }

    /// Sets the limits of time and memory. Replaces what the user configured.
    pub fn limits(mut self, limits: Limits) -> HostBuilder {
        self.limits = Some(limits);
        self
    }

    /// Sets the permissions of the Web and Node APIs of JavaScript tools. Replaces what the user
    /// configured.
    pub fn permissions(mut self, permissions: PermissionProfile) -> HostBuilder {
        self.permissions = Some(permissions);
        self
    }

    /// Turns the search for tools off: only the tools of the program itself and named ones remain.
    pub fn without_discovery(self) -> HostBuilder {
        self.only_providers(["config"])
    }

    /// Searches only the places of these providers (`native`, `claude`, `kodelet`, `cycod`, …, and
    /// `config` for named tools).
    pub fn only_providers<N: Into<String>>(
        mut self,
        ids: impl IntoIterator<Item = N>,
    ) -> HostBuilder {
        self.only_providers = Some(ids.into_iter().map(Into::into).collect());
        self
    }

    /// Adds a tool of the program itself. It is always available and precedes all found tools.
    pub fn tool(mut self, tool: CustomTool) -> HostBuilder {
        self.tools.push(tool);
        self
    }

    /// Adds several tools of the program, in the order of the list.
    pub fn tools(mut self, tools: impl IntoIterator<Item = CustomTool>) -> HostBuilder {
        self.tools.extend(tools);
        self
    }

    /// Makes the host. Reads configuration files; runs nothing.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for an invalid configuration, for an invalid custom tool (without a
    /// name, or with parameters that are not an object), for two tools of one name, and for a name
    /// that is reserved or looks like another one.
    pub fn build(mut self) -> Result<Host, Error> {
        let tools = std::mem::take(&mut self.tools);
        let approver = self.approver.take();
        let (ui, session) = (self.ui.take(), self.session.take());
        let models = std::mem::take(&mut self.models);
        let worker_program = self.worker_program.take();
        let config = self.resolve()?;
        let mut names: BTreeSet<String> = config.built_in_tool_names.iter().cloned().collect();
        let mut registry = NameRegistry::new(&config.built_in_tool_names);
        let mut loaded = Vec::with_capacity(tools.len());
        for tool in tools {
            if !names.insert(tool.name().to_owned()) {
                let text = format!("two tools of the program have the name `{}`", tool.name());
                let hint = "custom tools and built-in names are one list: rename one of them";
                return Err(usage(text).with_hint(hint));
            }
            if let Err(problem) = registry.claim(tool.definition()) {
                let hint = problem.hint.unwrap_or_default();
                return Err(usage(problem.message).with_hint(hint));
            }
            loaded.push(tool.load(config.limits.grace).map_err(usage)?);
        }
        let mut setup = Setup {
            tools: loaded,
            ..Setup::lasting()
        };
        setup.world.worker_program = worker_program;
        let host = Host::with(config, setup);
        host.set_default_ui(ui);
        host.set_session(session);
        host.set_models(models);
        Ok(match approver {
            Some(approver) => host.asking(approver),
            None => host,
        })
    }

    fn resolve(self) -> Result<Config, Error> {
        let mut config = match self.config {
            Some(config) => {
                if self.flags.cwd.is_some() || self.env.is_some() {
                    let text = "a whole configuration leaves no room for `cwd` and `env`";
                    let hint = "resolve the configuration with them, or leave it out";
                    return Err(usage(text).with_hint(hint));
                }
                let mut config = config;
                config.configured_paths.extend(self.flags.tools);
                let names = self.flags.built_in_tool_names.unwrap_or_default();
                config.built_in_tool_names.extend(names);
                if let Some(mode) = self.flags.approval_mode {
                    config.approval.mode = mode;
                }
                config.distrust_project = self.trust == TrustPolicy::Never;
                config.trust_project = match self.trust {
                    TrustPolicy::Granted => config.trust_project,
                    TrustPolicy::Always => true,
                    TrustPolicy::Never => false,
                };
                config
            }
            None => {
                let mut flags = self.flags;
                flags.trust_project |= self.trust == TrustPolicy::Always;
                flags.distrust_project |= self.trust == TrustPolicy::Never;
                Config::resolve_with(flags, &self.env.unwrap_or_else(Env::from_process))?
            }
        };
        if let Some(approval) = self.approval {
            config.approval = approval;
        }
        if let Some(limits) = self.limits {
            config.limits = limits;
        }
        if let Some(permissions) = self.permissions {
            config.permissions = permissions.by_program();
        }
        if self.only_providers.is_some() {
            config.only_providers = self.only_providers;
        }
        Ok(config)
    }
}

fn usage(text: impl Into<String>) -> Error {
    Error::new(ErrorKind::Usage, text)
}
