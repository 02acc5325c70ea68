//! Global flags of all commands, and the `Config` that results from them.
//!
//! Nothing is decided here. A flag that was not typed stays unset, and `Config::resolve` has the
//! defaults.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};

use haft_config::{Config, Flags, paths};
use haft_tool::Error;
use haft_tool::{ApprovalMode, Isolation, ToolPattern};

const HEADING: &str = "Global options";

/// Options that may take several patterns, which [`with_patterns`] attaches to them.
const PATTERN_OPTIONS: [&str; 2] = ["--auto-approve", "--auto-deny"];

/// Id of a flag that commands with the global ones have.
pub(super) const ANY_GLOBAL: &str = "no_cache";

/// The flags that every command has, as typed.
#[derive(Args, Clone, Debug)]
pub(super) struct Globals {
    /// Work as if started in this directory
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    cwd: Option<PathBuf>,

    /// Also load this tool file or directory (may be repeated)
    #[arg(long = "tool", value_name = "PATH", help_heading = HEADING)]
    tools: Vec<String>,

    /// Run the tools that the project brings, for this once
    #[arg(long, help_heading = HEADING)]
    trust_project: bool,

    /// Offer the system tools too: bash, file_read, file_write, file_edit, glob, grep
    #[arg(long, help_heading = HEADING)]
    system_tools: bool,

    /// Leave Kodelet's tools alone: nothing of theirs is read or started
    #[arg(long, help_heading = HEADING)]
    no_custom_tools: bool,

    /// Read this configuration file instead of the user's
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    config: Option<PathBuf>,

    /// Read aynd's plugin files from this directory
    #[arg(long, value_name = "DIR", help_heading = HEADING)]
    aynd_tools: Option<PathBuf>,

    /// Bring aynd's built-in tools as well
    #[arg(long, help_heading = HEADING)]
    builtin_tools: bool,
    /// Run these tools without a question: `tool:TAG`, `tool:NAME`, `*` (alone: every tool)
    #[arg(long, value_name = "tool:TAG", value_parser = ToolPattern::parse, num_args = 0..=1,
        require_equals = true, default_missing_value = "*", help_heading = HEADING)]
    auto_approve: Vec<ToolPattern>,

    /// Refuse these tools, whatever approves them
    #[arg(long, value_name = "tool:TAG", value_parser = ToolPattern::parse, require_equals = true,
        help_heading = HEADING)]
    auto_deny: Vec<ToolPattern>,

    /// Separation from haft of tools whose profile does not say it: process, sandbox
    #[arg(long, value_name = "LEVEL", value_parser = Isolation::parse, help_heading = HEADING)]
    isolation: Option<Isolation>,

    /// Ask every module anew what it offers, and remember nothing
    #[arg(long, help_heading = HEADING)]
    no_cache: bool,

    /// Serve JSON-RPC on this descriptor too, a connected stream socket (for `mcp` and `serve`)
    #[arg(long, value_name = "N", help_heading = HEADING)]
    rpc_fd: Option<i32>,

    /// Say on standard error what happens inside (`HAFT_LOG=haft=trace` for more)
    #[arg(long, short, help_heading = HEADING)]
    verbose: bool,

    #[arg(long, env = "HAFT_LOG", hide = true)]
    log: Option<String>,
}

// A command's own arguments, and the global ones after its name. clap's own global
// arguments would forget a `--tool` before the name when another one follows it.
// (Not a doc comment: that would become the help text of every command.)
#[derive(clap::Args)]
pub(super) struct With<A: clap::Args> {
    #[command(flatten)]
    pub(super) globals: Globals,
    // The last one gives the command its help text.
    #[command(flatten)]
    pub(super) args: A,
}

impl Globals {
    /// Merges these flags with those that were typed after the command's name.
    pub(super) fn followed_by(self, later: &Globals) -> Globals {
        let later = later.clone();
        Globals {
            cwd: later.cwd.or(self.cwd),
            tools: [self.tools, later.tools].concat(),
            trust_project: self.trust_project || later.trust_project,
            system_tools: self.system_tools || later.system_tools,
            no_custom_tools: self.no_custom_tools || later.no_custom_tools,
            config: later.config.or(self.config),
            aynd_tools: later.aynd_tools.or(self.aynd_tools),
            builtin_tools: self.builtin_tools || later.builtin_tools,
            auto_approve: [self.auto_approve, later.auto_approve].concat(),
            auto_deny: [self.auto_deny, later.auto_deny].concat(),
            isolation: later.isolation.or(self.isolation),
            no_cache: self.no_cache || later.no_cache,
            rpc_fd: later.rpc_fd.or(self.rpc_fd),
            verbose: self.verbose || later.verbose,
            log: later.log.or(self.log),
        }
    }

    /// Resolves the configuration for these flags.
    pub(super) fn config(&self) -> Result<Config, Error> {
        Config::resolve(self.flags())
    }

    /// Returns the flags in the form that the configuration takes.
    pub(super) fn flags(&self) -> Flags {
        Flags {
            cwd: self.cwd.clone(),
            tools: self.tools.clone(),
            trust_project: self.trust_project,
            system_tools: self.system_tools,
            config: self.config.clone(),
            no_custom_tools: self.no_custom_tools,
            aynd_tools_dir: self.aynd_tools.clone(),
            builtin_tools: self.builtin_tools.then_some(true),
            auto_approve: self.auto_approve.clone(),
            auto_deny: self.auto_deny.clone(),
            isolation: self.isolation,
            no_cache: self.no_cache,
            ..Flags::default()
        }
    }

    /// Returns the flags as command line options for another haft process in the same project. If
    /// the options travel with the project, relative paths stay relative. The working directory is
    /// not included, since the process that starts that haft sets it.
    pub(super) fn words(&self, config: &Config, travels: bool) -> Vec<String> {
        let path = |path: &Path| {
            if travels {
                path.display().to_string()
            } else {
                std::path::absolute(path)
                    .unwrap_or_else(|_| path.to_owned())
                    .display()
                    .to_string()
            }
        };
        let mut words = Vec::new();
        let mut option = |name: &str, value: Option<String>| {
            if let Some(value) = value {
                words.extend([name.to_owned(), value]);
            }
        };
        for tool in &self.tools {
            let resolved = paths::expand(tool, &config.home);
            let resolved = resolved.map(|given| {
                if travels && given.is_relative() {
                    tool.clone()
                } else {
                    paths::resolve(&config.cwd, &given).display().to_string()
                }
            });
            // A value that is not a path is passed on unchanged; the code that uses it reports the
            // error.
            option("--tool", Some(resolved.unwrap_or_else(|_| tool.clone())));
        }
        option("--config", self.config.as_deref().map(path));
        option("--aynd-tools", self.aynd_tools.as_deref().map(path));
        option("--isolation", self.isolation.map(|level| level.to_string()));
        let switches = [
            ("--trust-project", self.trust_project),
            ("--system-tools", self.system_tools),
            ("--no-custom-tools", self.no_custom_tools),
            ("--builtin-tools", self.builtin_tools),
            ("--no-cache", self.no_cache),
        ];
        let on = switches.into_iter().filter(|(_, is_on)| *is_on);
        words.extend(on.map(|(name, _)| name.to_owned()));
        words
    }

    /// Returns the number of the descriptor on which a program is served too.
    pub(super) fn rpc_fd(&self) -> Option<i32> {
        self.rpc_fd
    }

    /// Returns true if `--verbose` was typed.
    pub(super) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// Resets `--verbose`, for a command in which it has another meaning.
    pub(super) fn without_verbose(self) -> Globals {
        Globals {
            verbose: false,
            ..self
        }
    }

    /// Adds these two options, which a command parsed without clap.
    pub(super) fn with(self, cwd: Option<PathBuf>, config: Option<PathBuf>) -> Globals {
        Globals {
            cwd: cwd.or(self.cwd),
            config: config.or(self.config),
            ..self
        }
    }

    /// Returns the log filter; `None` disables the log.
    pub(super) fn log_filter(&self) -> Option<&str> {
        let asked = self.log.as_deref().filter(|filter| !filter.is_empty());
        asked.or(self.verbose.then_some("haft=debug"))
    }
}

/// Which calls run without a question, as typed.
#[derive(Args, Clone, Debug, Default)]
pub(super) struct Approval {
    /// Which calls run without a question: always-ask, write, yolo
    #[arg(long, value_name = "MODE", value_parser = approval_mode)]
    approval_mode: Option<ApprovalMode>,

    /// Ask nothing: the same as `--approval-mode yolo`
    #[arg(long, conflicts_with = "approval_mode")]
    yolo: bool,
}

impl Approval {
    /// Merges with the flags that were typed later, which take precedence.
    pub(super) fn followed_by(&self, later: &Approval) -> Approval {
        match later.mode() {
            Some(_) => later.clone(),
            None => self.clone(),
        }
    }

    /// Returns the flags with the approval mode added.
    pub(super) fn over(&self, flags: Flags) -> Flags {
        Flags {
            approval_mode: self.mode(),
            ..flags
        }
    }

    fn mode(&self) -> Option<ApprovalMode> {
        let mode = self.yolo.then_some(ApprovalMode::Yolo);
        mode.or(self.approval_mode)
    }
}

fn approval_mode(text: &str) -> Result<ApprovalMode, String> {
    let names = ApprovalMode::NAMES.map(|(name, _)| name).join(", ");
    ApprovalMode::from_name(text).ok_or_else(|| format!("it is one of {names}"))
}

/// Parser of a flag that takes the name of one of `values`. For types of other packages, which
/// cannot implement `clap::ValueEnum` here.
pub(super) fn named<T, const N: usize>(
    values: [T; N],
    name: fn(T) -> &'static str,
) -> impl TypedValueParser<Value = T>
where
    T: Copy + Send + Sync + 'static,
{
    PossibleValuesParser::new(values.map(name)).try_map(move |typed| {
        let mut values = values.into_iter();
        values
            .find(|value| name(*value) == typed)
            .ok_or("unknown name")
    })
}

/// Attaches each pattern to its own option: `--auto-approve tool:read tool:weather` becomes
/// `--auto-approve=tool:read --auto-approve=tool:weather` (spec cycod 119, 372, 373).
///
/// The option alone means every tool, and the command itself may follow it. So a word becomes its
/// value only if it must be a pattern.
pub(super) fn with_patterns(args: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut joined: Vec<OsString> = Vec::new();
    let mut open = None;
    let mut args = args.into_iter();
    for arg in args.by_ref() {
        if arg == "--" {
            joined.push(arg);
            break;
        }
        let option = PATTERN_OPTIONS.into_iter().find(|option| arg == *option);
        match (option, open) {
            (Some(option), _) => {
                open = Some(Open {
                    option,
                    has_value: false,
                })
            }
            (None, Some(Open { option, has_value })) if is_pattern(&arg) => {
                if !has_value {
                    joined.pop();
                }
                open = Some(Open {
                    option,
                    has_value: true,
                });
                let mut own = OsString::from(option);
                own.push("=");
                own.push(arg);
                joined.push(own);
                continue;
            }
            (None, _) => open = None,
        }
        joined.push(arg);
    }
    joined.extend(args);
    joined
}

/// An option that may take further values.
#[derive(Clone, Copy)]
struct Open {
    option: &'static str,
    has_value: bool,
}

fn is_pattern(arg: &OsStr) -> bool {
    let text = arg.to_string_lossy();
    text.starts_with("tool:") || text == "*" || text == "all"
}
