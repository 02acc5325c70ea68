//! Settings that the program or the embedding host passes directly.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Config, McpFlags, ServeFlags, SettingSource, paths};
use haft_tool::{ApprovalMode, Isolation, ToolPattern};

/// Settings that the program or the embedding host passes directly. `None` and empty: not set.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    /// The directory to work in instead of the process's own.
    pub cwd: Option<PathBuf>,
    /// Tool files and folders named one by one, as written: `~/x.ts` and `file:` URLs are allowed.
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
    /// Separation of tools whose profile does not set it.
    pub isolation: Option<Isolation>,
    /// Settings of a server.
    pub serve: ServeFlags,
    /// Settings for MCP clients.
    pub mcp: McpFlags,
}

/// Sets what the flags set. Relative paths start at `base`. `cwd`, `config` and the trust are
/// looked at before.
pub(super) fn apply(flags: Flags, config: &mut Config, base: &Path) {
    record(&flags, config);
    let limits = &mut config.limits;
    limits.call_timeout = flags.call_timeout.or(limits.call_timeout);
    limits.load_timeout = flags.load_timeout.unwrap_or(limits.load_timeout);
    limits.heap_mb = flags.heap_mb.unwrap_or(limits.heap_mb);
    limits.spill_kb = flags.spill_kb.unwrap_or(limits.spill_kb);

    let approval = &mut config.approval;
    approval.is_chosen = flags.approval_mode.is_some() || config.sources.contains_key(MODE);
    approval.mode = flags.approval_mode.unwrap_or(approval.mode);
    approval.approve.splice(0..0, flags.auto_approve);
    approval.deny.splice(0..0, flags.auto_deny);
    approval.is_named = flags.by_name && approval.approve.is_empty();

    let aynd = &mut config.aynd;
    if let Some(folder) = flags.aynd_tools_dir {
        aynd.tools_dir = paths::resolve(base, &folder);
    }
    if flags.serve.with_builtin_tools && !config.sources.contains_key("aynd.builtin_tools") {
        aynd.builtin_tools = true;
    }
    aynd.builtin_tools = flags.builtin_tools.unwrap_or(aynd.builtin_tools);

    config.configured_paths.splice(0..0, flags.tools);
    config.built_in_tool_names = flags.built_in_tool_names.unwrap_or_default();
    config.system_tools |= flags.system_tools;
    config.custom_tools.enabled &= !flags.no_custom_tools;
    config.use_cache &= !flags.no_cache;
    config.cycod_first = flags.cycod_first;
    config.isolation = flags.isolation.unwrap_or(config.isolation);
    config.serve.apply(flags.serve);
    config.mcp.apply(flags.mcp);
}

/// Records the flags that every command has as sources.
fn record(flags: &Flags, config: &mut Config) {
    let on = |is_on: bool| is_on.then(|| "true".to_owned());
    let off = |is_off: bool| is_off.then(|| "false".to_owned());
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    let list = |items: &[String]| (!items.is_empty()).then(|| items.join(", "));
    let patterns = |items: &[ToolPattern]| {
        let items: Vec<String> = items.iter().map(ToString::to_string).collect();
        list(&items)
    };
    for (key, flag, value) in [
        ("tools", "--tool", list(&flags.tools)),
        ("trust_project", "--trust-project", on(flags.trust_project)),
        ("system_tools", "--system-tools", on(flags.system_tools)),
        (
            "custom_tools.enabled",
            "--no-custom-tools",
            off(flags.no_custom_tools),
        ),
        (
            "aynd.tools_dir",
            "--aynd-tools",
            path(&flags.aynd_tools_dir),
        ),
        (
            "aynd.builtin_tools",
            "--builtin-tools",
            on(flags.builtin_tools == Some(true)),
        ),
        (
            "approval.approve",
            "--auto-approve",
            patterns(&flags.auto_approve),
        ),
        ("approval.deny", "--auto-deny", patterns(&flags.auto_deny)),
        (
            "isolation",
            "--isolation",
            flags.isolation.map(|level| level.to_string()),
        ),
        ("HAFT_CONFIG", "--config", path(&flags.config)),
        ("HAFT_NO_CACHE", "--no-cache", on(flags.no_cache)),
    ] {
        config.record(key, SettingSource::Flag(flag), value);
    }
}

/// Key of the approval mode.
const MODE: &str = "approval.mode";
