//! Settings of MCP: for clients (structured results, tasks, instructions, hints), and the servers
//! whose tools haft offers.
//!
//! The former affect only the wording and form of answers, so a trusted project's file may set them,
//! too. Servers of a project's file are kept apart from the user's, which they cannot change.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use globset::{Glob, GlobMatcher};
use strum::{EnumString, IntoStaticStr, VariantArray, VariantNames};

use super::declare::{
    self, Form, Slot, blocks, checked_map, default_settings, joined, map, optional_path, replaced,
    replaced_values, secrets, settings, values, whole,
};
use super::parse_duration;
use haft_tool::{Isolation, TaskMode, Tier};

/// Condition under which a result carries `structuredContent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Structured {
    /// Only if the author of the tool declared its schema.
    #[default]
    Declared,
    /// In every result that has details.
    Always,
    /// Never. Output schemas are not listed either.
    Never,
}

/// Tools that are listed in code mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum CodeListing {
    /// No code mode.
    #[default]
    Never,
    /// `run_code` and `search_tools`, and all tools if there are few of them.
    Auto,
    /// `run_code` and `search_tools` only.
    Only,
}

/// Store of the tokens of logins to servers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum LoginStore {
    /// The keyring of the system if there is one, else a private file.
    #[default]
    Auto,
    /// The keyring only. Without one there is no login.
    Keyring,
    /// A private file.
    File,
}

settings! {
    /// Settings for MCP clients besides the tools themselves.
    #[derive(Clone, Debug)]
    pub struct Mcp {
        /// Condition under which a result carries `structuredContent`: `declared`, `always`,
        /// `never`.
        pub structured: Structured = "declared", env "HAFT_MCP_STRUCTURED";
        /// Time after which a call becomes a task, for tools that do not set it; or `always`,
        /// `never`.
        // Below the time after which Claude Code moves a call to the background (120 s) and Codex
        // gives up.
        pub task_after: TaskMode = "60s", env "HAFT_MCP_TASK_AFTER";
        /// Instructions for models, at most 2,000 characters; empty: there are none. Default: made
        /// from the tools.
        pub instructions: Option<String> = "", env "HAFT_MCP_INSTRUCTIONS";
        /// True if clients load definitions from the start, for tools that do not set it. Default:
        /// only if at most 10 tools are offered.
        pub always_load: Option<bool> = "", env "HAFT_MCP_ALWAYS_LOAD";
        /// Maximum text of a result in KiB if the client is Codex; more goes to a file. 0: the
        /// limit for all clients.
        // Codex cuts results to 12,000 characters if it does not know the model, and writes them
        // with escapes.
        pub codex_spill_kb: u32 = "10" => whole(0..=u64::from(u32::MAX), " of KiB"),
            env "HAFT_MCP_CODEX_SPILL_KB";
        /// Code mode: `auto` lists `run_code`, `search_tools` and, if there are at most 30, all
        /// tools; `only` lists the two alone; `never`. See code-mode.md.
        pub code: CodeListing = "never", env "HAFT_MCP_CODE";
        /// Patterns of the names of tools that `code: auto` lists in any case.
        pub direct: Vec<String> = "" => joined, env "HAFT_MCP_DIRECT";
        /// Settings for the tools whose names match a pattern: `*`, `?`, `[abc]`, `{one,two}`. A
        /// more specific pattern overrides a less specific one.
        pub tools: BTreeMap<String, McpToolSettings> = "" => blocks("PATTERN", check_pattern);
        /// MCP servers whose tools haft offers. See mcp-servers.md.
        pub servers: BTreeMap<String, McpServer> = "" => blocks("SERVER", check_server_name);
        /// Configurations of other programs whose MCP servers haft offers, too: `project`
        /// (`.mcp.json`, trusted projects only), `claude-code`, `claude-desktop`, `cursor`, `vscode`,
        /// `codex`, `opencode`.
        // A project must not decide that the user's other servers are offered.
        pub import: Vec<McpImport> = "project" => replaced_values, user "--config";
        /// Store of the tokens of logins: `keyring` (that of the system), `file` (one that only you can
        /// read), or `auto`: the keyring, and the file if there is none.
        // A project must not decide that they are kept in a file.
        pub login_store: LoginStore = "auto",
            env "HAFT_MCP_LOGIN_STORE", user "HAFT_MCP_LOGIN_STORE";
        computed {
            /// Settings by pattern, from the weakest pattern to the strongest.
            matchers: Vec<(GlobMatcher, McpToolSettings)>,
            /// The servers of the project's own file.
            pub project_servers: BTreeMap<String, McpServer>,
        }
    }
}

settings! {
    /// An MCP server whose tools haft offers. Texts may have `${VAR}` and `${VAR:-default}`.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct McpServer {
        /// Transport: `stdio` (with `command`), `http` (with `url`), or `sse`.
        pub transport as "type": Option<McpTransport> = "";
        /// Program of the server.
        pub command: Option<String> = "";
        /// Arguments of the program.
        pub args: Vec<String> = "" => replaced(' ');
        /// Environment variables of the program, besides haft's own.
        pub env: BTreeMap<String, String> = "" => secrets;
        /// Working directory of the program. Default: the project.
        pub cwd: Option<PathBuf> = "" => optional_path;
        /// Address of the server.
        pub url: Option<String> = "";
        /// HTTP headers of each request.
        pub headers: BTreeMap<String, String> = "" => secrets;
        /// False: the server is not used. Default: true.
        pub enabled: Option<bool> = "";
        /// Patterns of the server's tools that are offered. Default: all.
        pub include: Vec<String> = "" => replaced(',');
        /// Patterns of the server's tools that are not offered.
        pub exclude: Vec<String> = "" => replaced(',');
        /// New names of tools, by the server's names.
        pub rename: BTreeMap<String, String> = "" => map;
        /// Prefix of the names of the server's tools.
        pub prefix: Option<String> = "";
        /// Tiers by patterns of the server's names: `read`, `write`, `exec`. Default: `exec`.
        pub approval: BTreeMap<String, Tier> = "" => checked_map(check_pattern);
        /// True if the server's hints are believed: tools that only read get the tier `read`.
        /// Default: false.
        pub trusted: Option<bool> = "";
        /// Tools that the server did not have when it was trusted: `hold` until the user trusts
        /// them, or `offer`. Default: `hold`.
        pub new_tools: Option<NewTools> = "";
        /// Maximum time from the start of the server until it is ready. Default: 30s.
        pub startup_timeout: Option<Duration> = "";
        /// Maximum time of a call. Default: as other tools.
        pub timeout: Option<Duration> = "";
        /// Time without a call after which the server is stopped. Default: 5m.
        pub idle: Option<Duration> = "";
        /// Separation of the program: `process` or `sandbox`, if its profile does not set it.
        pub isolation: Option<Isolation> = "";
    }
}

/// Transport of an MCP server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum McpTransport {
    /// A program that haft starts, over its standard streams.
    Stdio,
    /// Streamable HTTP.
    Http,
    /// HTTP with server-sent events, of MCP 2024-11-05.
    Sse,
}

/// Treatment of tools that a server did not have when it was trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, EnumString, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum NewTools {
    /// They wait until the user trusts them.
    #[default]
    Hold,
    /// They are offered at once.
    Offer,
}

/// Configuration of another program that has MCP servers.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, EnumString, IntoStaticStr, VariantArray, VariantNames,
)]
#[strum(serialize_all = "kebab-case")]
pub enum McpImport {
    /// `.mcp.json` of the project.
    Project,
    /// Claude Code's `~/.claude.json`.
    ClaudeCode,
    /// Claude Desktop's `claude_desktop_config.json`.
    ClaudeDesktop,
    /// Cursor's `~/.cursor/mcp.json`.
    Cursor,
    /// VS Code's `mcp.json` of the user.
    #[strum(serialize = "vscode")]
    VsCode,
    /// Codex' `~/.codex/config.toml`.
    Codex,
    /// opencode's `opencode.json` of the user.
    Opencode,
}

settings! {
    /// Settings for the tools whose names match a pattern.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct McpToolSettings {
        /// Time after which a call becomes a task; or `always`, `never`.
        pub task: Option<TaskMode> = "";
        /// True if clients load the definition from the start.
        pub always_load: Option<bool> = "";
        /// Phrase by which a client's tool search should find the tool.
        pub search_hint: Option<String> = "";
        /// Maximum number of characters of a result; longer text goes to a file.
        // Claude Code accepts at most 500,000.
        pub max_result_chars: Option<u32> = "" => result_chars;
    }
}
default_settings!(Mcp, McpToolSettings, McpServer);

impl McpTransport {
    const NAMES: [(&'static str, McpTransport); 4] = [
        ("stdio", McpTransport::Stdio),
        ("http", McpTransport::Http),
        ("sse", McpTransport::Sse),
        // The name that the specification has for it.
        ("streamable-http", McpTransport::Http),
    ];

    /// Returns the name of the transport as configurations write it.
    pub fn as_str(self) -> &'static str {
        let name = Self::NAMES.iter().find(|(_, one)| *one == self);
        name.map_or("", |(name, _)| name)
    }
}

impl FromStr for McpTransport {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let found = Self::NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, transport)| *transport).ok_or_else(|| {
            let names = Self::NAMES.map(|(name, _)| name);
            format!("`{text}` is not one of {}", names.join(", "))
        })
    }
}

impl McpImport {
    /// All programs.
    pub const ALL: &[McpImport] = <McpImport as VariantArray>::VARIANTS;

    /// Returns the name as configurations write it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}

/// Checks the name of an MCP server: it is part of file names, keys and commands.
///
/// # Errors
/// A description of the error, as a fragment for people.
pub fn check_server_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_');
    if name.is_empty() || name.len() > 64 || !name.chars().all(is_plain) {
        return Err(format!(
            "`{name}` cannot be the name of an MCP server: use 1 to 64 letters, digits, `-` and `_`"
        ));
    }
    Ok(())
}

/// The settings that the command line of `haft serve mcp` has.
#[derive(Clone, Debug, Default)]
pub struct McpFlags {
    /// Condition under which a result carries `structuredContent`.
    pub structured: Option<Structured>,
    /// Condition under which a call becomes a task.
    pub task_after: Option<TaskMode>,
    /// Tools that are listed in code mode.
    pub code: Option<CodeListing>,
}

/// Parses the name of a variant.
///
/// # Errors
/// Names all of them, as a sentence for people.
pub fn parse_word<T: FromStr + VariantNames>(text: &str) -> Result<T, String> {
    let text = text.trim();
    let word = text.parse();
    word.map_err(|_| format!("`{text}` is not one of {}", T::VARIANTS.join(", ")))
}

/// Parses `always`, `never` or a duration.
///
/// # Errors
/// A description of the error, as a fragment for people.
pub fn parse_task_mode(text: &str) -> Result<TaskMode, String> {
    match text.trim() {
        "always" => Ok(TaskMode::Always),
        "never" | "none" => Ok(TaskMode::Never),
        text => match parse_duration(text) {
            Ok(time) => Ok(TaskMode::After(time)),
            Err(_) => Err(format!(
                "`{text}` is not `always`, `never` or a duration like 90s"
            )),
        },
    }
}

impl Mcp {
    /// Sets what the flags set, and orders the patterns.
    pub(super) fn apply(&mut self, flags: McpFlags) {
        self.structured = flags.structured.unwrap_or(self.structured);
        self.task_after = flags.task_after.unwrap_or(self.task_after);
        self.code = flags.code.unwrap_or(self.code);
        let mut tools: Vec<_> = self.tools.iter().collect();
        // The sort is stable: of two equally strong patterns the later one in the alphabet wins.
        tools.sort_by_key(|(pattern, _)| strength(pattern));
        self.matchers = tools
            .into_iter()
            .filter_map(|(pattern, settings)| Some((matcher(pattern).ok()?, settings.clone())))
            .collect();
    }

    /// Returns true if code mode lists the tool in any case. A pattern that cannot be parsed matches
    /// only the name that it is.
    pub fn is_direct(&self, name: &str) -> bool {
        self.direct.iter().any(|pattern| match matcher(pattern) {
            Ok(matcher) => matcher.is_match(name),
            Err(_) => pattern == name,
        })
    }

    /// Returns the settings for the tool of this name. A more specific pattern overrides a less
    /// specific one.
    pub fn for_tool(&self, name: &str) -> McpToolSettings {
        let mut settings = McpToolSettings::default();
        let matching = self.matchers.iter().rev();
        for (_, own) in matching.filter(|(matcher, _)| matcher.is_match(name)) {
            settings.merge_from(own.clone());
        }
        settings
    }
}

impl McpToolSettings {
    fn merge_from(&mut self, lower: McpToolSettings) {
        self.task = self.task.or(lower.task);
        self.always_load = self.always_load.or(lower.always_load);
        self.search_hint = self.search_hint.take().or(lower.search_hint);
        self.max_result_chars = self.max_result_chars.or(lower.max_result_chars);
    }
}

/// Returns the rank of a pattern. A plain name outranks all patterns. Of two patterns the one with
/// more literal characters ranks higher.
pub fn strength(pattern: &str) -> usize {
    let is_special = |c: &char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',');
    if pattern.chars().any(|c| is_special(&c)) {
        pattern.chars().filter(|c| !is_special(c)).count()
    } else {
        usize::MAX
    }
}

/// Checks a pattern of tool names.
pub(super) fn check_pattern(pattern: &str) -> Result<(), String> {
    matcher(pattern).map(drop)
}

/// Parses a pattern of tool names.
///
/// # Errors
/// A description of the error, as a fragment for people.
pub fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!(
            "`{pattern}` is not a pattern of tool names: {}",
            error.kind()
        )),
    }
}

values! {
    Structured: Form::Word(Structured::VARIANTS), parse_word;
    CodeListing: Form::Word(CodeListing::VARIANTS), parse_word;
    LoginStore: Form::Word(LoginStore::VARIANTS), parse_word;
    TaskMode: Form::Text, parse_task_mode;
    McpTransport: Form::Word(&["stdio", "http", "sse", "streamable-http"]), str::parse;
    NewTools: Form::Word(NewTools::VARIANTS), parse_word;
    McpImport: Form::Word(<McpImport as VariantNames>::VARIANTS), parse_word;
}

fn result_chars(slot: &mut Option<u32>) -> Slot<'_> {
    let range = 1_000..=500_000;
    declare::scalar(Form::Whole(range.clone()), slot, move |text| {
        declare::whole_number(text, &range, " of characters").map(Some)
    })
}
