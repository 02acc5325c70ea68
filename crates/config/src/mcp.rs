//! Settings for MCP clients: structured results, tasks, instructions, hints.
//!
//! They affect only the wording and form of answers, so a trusted project's file may set them, too.

use std::collections::BTreeMap;
use std::time::Duration;

use globset::{Glob, GlobMatcher};
use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use super::{Env, layers, parse_duration};
use haft_tool::TaskMode;
use haft_tool::error::{Error, ErrorKind};

/// Default time after which a call becomes a task. It is below the time after which Claude Code
/// moves a call to the background (120 s) and Codex gives up.
const TASK_AFTER: Duration = Duration::from_secs(60);

/// Default limit of text for Codex, in KiB. Codex cuts results to 12,000 characters if it does not
/// know the model, and writes them with escapes.
const CODEX_SPILL_KB: u32 = 10;

/// Range of `max_result_chars`: Claude Code accepts at most 500,000.
const RESULT_CHARS: std::ops::RangeInclusive<u32> = 1_000..=500_000;

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

/// Settings for MCP clients besides the tools themselves.
#[derive(Clone, Debug)]
pub struct Mcp {
    /// Condition under which a result carries `structuredContent`.
    pub structured: Structured,
    /// Condition under which a call becomes a task, for tools that do not set it.
    pub task_after: TaskMode,
    /// Instructions for models. `None`: they are made from the tools. Empty: there are none.
    pub instructions: Option<String>,
    /// True if definitions are to be loaded from the start, for tools that do not set it. `None`:
    /// only if there are few.
    pub always_load: Option<bool>,
    /// Maximum text of a result in KiB if the client is Codex; more goes to a file. 0: the limit
    /// for all clients.
    pub codex_spill_kb: u32,
    /// Settings by pattern, from the weakest pattern to the strongest.
    tools: Vec<(GlobMatcher, McpToolSettings)>,
}

/// The settings as the command line or one layer has them.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpFlags {
    /// Condition under which a result carries `structuredContent`.
    #[serde(deserialize_with = "structured")]
    pub structured: Option<Structured>,
    /// Condition under which a call becomes a task.
    #[serde(deserialize_with = "task")]
    pub task_after: Option<TaskMode>,
    /// The instructions for models.
    pub instructions: Option<String>,
    /// True if definitions are to be loaded from the start.
    pub always_load: Option<bool>,
    /// The limit of text for Codex, in KiB.
    pub codex_spill_kb: Option<u32>,
    /// Settings for the tools whose names match a pattern.
    #[serde(deserialize_with = "by_pattern")]
    pub tools: BTreeMap<String, McpToolSettings>,
}

/// Settings for the tools whose names match a pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpToolSettings {
    /// Condition under which a call becomes a task.
    #[serde(deserialize_with = "task")]
    pub task: Option<TaskMode>,
    /// True if the definition is to be loaded from the start.
    pub always_load: Option<bool>,
    /// Phrase by which a client's tool search should find the tool.
    pub search_hint: Option<String>,
    /// Maximum number of characters of a result; longer text goes to a file.
    #[serde(deserialize_with = "result_chars")]
    pub max_result_chars: Option<u32>,
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
        let text = text.trim();
        let known = Self::NAMES.iter().find(|(name, _)| *name == text);
        known
            .map(|(_, own)| *own)
            .ok_or_else(|| format!("`{text}` is not one of declared, always, never"))
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

impl McpFlags {
    pub(super) fn from_env(env: &Env) -> Result<McpFlags, Error> {
        let text = |name: &str| env.haft.get(name).map(String::as_str);
        Ok(McpFlags {
            structured: layers::parsed("MCP_STRUCTURED", text("MCP_STRUCTURED"), str::parse)?,
            task_after: layers::parsed("MCP_TASK_AFTER", text("MCP_TASK_AFTER"), parse_task_mode)?,
            instructions: text("MCP_INSTRUCTIONS").map(str::to_owned),
            always_load: layers::parsed(
                "MCP_ALWAYS_LOAD",
                text("MCP_ALWAYS_LOAD"),
                layers::yes_or_no,
            )?,
            codex_spill_kb: layers::parsed(
                "MCP_CODEX_SPILL_KB",
                text("MCP_CODEX_SPILL_KB"),
                layers::kibibytes,
            )?,
            tools: BTreeMap::new(),
        })
    }

    pub(super) fn merge_from(&mut self, lower: McpFlags) {
        self.structured = self.structured.or(lower.structured);
        self.task_after = self.task_after.or(lower.task_after);
        self.instructions = self.instructions.take().or(lower.instructions);
        self.always_load = self.always_load.or(lower.always_load);
        self.codex_spill_kb = self.codex_spill_kb.or(lower.codex_spill_kb);
        for (pattern, settings) in lower.tools {
            self.tools.entry(pattern).or_default().merge_from(settings);
        }
    }

    pub(super) fn resolve(self) -> Result<Mcp, Error> {
        let mut tools = Vec::with_capacity(self.tools.len());
        for (pattern, settings) in self.tools {
            let matcher = matcher(&pattern).map_err(|problem| {
                Error::new(ErrorKind::Usage, format!("mcp.tools: {problem}"))
                    .with_hint("write a name with `*`, `?`, `[abc]` or `{one,two}` in it")
            })?;
            tools.push((strength(&pattern), matcher, settings));
        }
        // The sort is stable: of two equally strong patterns the later one in the alphabet wins.
        tools.sort_by_key(|(strength, ..)| *strength);
        Ok(Mcp {
            structured: self.structured.unwrap_or_default(),
            task_after: self.task_after.unwrap_or(TaskMode::After(TASK_AFTER)),
            instructions: self.instructions,
            always_load: self.always_load,
            codex_spill_kb: self.codex_spill_kb.unwrap_or(CODEX_SPILL_KB),
            tools: tools
                .into_iter()
                .map(|(_, matcher, settings)| (matcher, settings))
                .collect(),
        })
    }
}

impl Mcp {
    /// Returns the settings for the tool of this name. A more specific pattern overrides a less
    /// specific one.
    pub fn for_tool(&self, name: &str) -> McpToolSettings {
        let mut settings = McpToolSettings::default();
        let matching = self.tools.iter().rev();
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
fn strength(pattern: &str) -> usize {
    let is_special = |c: &char| matches!(c, '*' | '?' | '[' | ']' | '{' | '}' | ',');
    if pattern.chars().any(|c| is_special(&c)) {
        pattern.chars().filter(|c| !is_special(c)).count()
    } else {
        usize::MAX
    }
}

fn matcher(pattern: &str) -> Result<GlobMatcher, String> {
    match Glob::new(pattern) {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => Err(format!(
            "`{pattern}` is not a pattern of tool names: {}",
            error.kind()
        )),
    }
}

fn by_pattern<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<BTreeMap<String, McpToolSettings>, D::Error> {
    let tools = Option::<BTreeMap<String, McpToolSettings>>::deserialize(deserializer)?;
    let tools = tools.unwrap_or_default();
    for pattern in tools.keys() {
        matcher(pattern).map_err(D::Error::custom)?;
    }
    Ok(tools)
}

fn structured<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Structured>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| text.parse().map_err(D::Error::custom))
        .transpose()
}

fn task<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<TaskMode>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse_task_mode(&text).map_err(D::Error::custom))
        .transpose()
}

fn result_chars<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u32>, D::Error> {
    match Option::<u32>::deserialize(deserializer)? {
        Some(number) if !RESULT_CHARS.contains(&number) => Err(D::Error::custom(format!(
            "`{number}` is not a number of characters from {} to {}",
            RESULT_CHARS.start(),
            RESULT_CHARS.end()
        ))),
        number => Ok(number),
    }
}
