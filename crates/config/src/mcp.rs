//! Settings for MCP clients: structured results, tasks, instructions, hints.
//!
//! They affect only the wording and form of answers, so a trusted project's file may set them, too.

use std::collections::BTreeMap;

use globset::{Glob, GlobMatcher};

use super::declare::{self, Form, Slot, blocks, default_settings, joined, settings, values, whole};
use super::parse_duration;
use haft_tool::TaskMode;

/// Condition under which a result carries `structuredContent`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CodeListing {
    /// No code mode.
    #[default]
    Never,
    /// `run_code` and `search_tools`, and all tools if there are few of them.
    Auto,
    /// `run_code` and `search_tools` only.
    Only,
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
        computed {
            /// Settings by pattern, from the weakest pattern to the strongest.
            matchers: Vec<(GlobMatcher, McpToolSettings)>,
        }
    }
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
default_settings!(Mcp, McpToolSettings);

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

impl CodeListing {
    const NAMES: [(&'static str, CodeListing); 3] = [
        ("never", CodeListing::Never),
        ("auto", CodeListing::Auto),
        ("only", CodeListing::Only),
    ];
}

impl std::str::FromStr for CodeListing {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&Self::NAMES, text)
    }
}

impl Structured {
    const NAMES: [(&'static str, Structured); 3] = [
        ("declared", Structured::Declared),
        ("always", Structured::Always),
        ("never", Structured::Never),
    ];
}

impl std::str::FromStr for Structured {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        named(&Self::NAMES, text)
    }
}

/// Returns the value of this name in a table.
fn named<T: Copy>(table: &[(&str, T)], text: &str) -> Result<T, String> {
    let text = text.trim();
    match table.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => {
            let names: Vec<&str> = table.iter().map(|(name, _)| *name).collect();
            Err(format!("`{text}` is not one of {}", names.join(", ")))
        }
    }
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
pub(super) fn strength(pattern: &str) -> usize {
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
pub(super) fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!(
            "`{pattern}` is not a pattern of tool names: {}",
            error.kind()
        )),
    }
}

values! {
    Structured: Form::Word(&["declared", "always", "never"]), str::parse;
    CodeListing: Form::Word(&["never", "auto", "only"]), str::parse;
    TaskMode: Form::Text, parse_task_mode;
}

fn result_chars(slot: &mut Option<u32>) -> Slot<'_> {
    let range = 1_000..=500_000;
    declare::scalar(Form::Whole(range.clone()), slot, move |text| {
        declare::whole_number(text, &range, " of characters").map(Some)
    })
}
