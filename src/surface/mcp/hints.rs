//! Hints about a listed tool that are not part of the protocol, in its `_meta`.
//!
//! The keys are those of Claude Code, which loads definitions through a tool search.

use rmcp::model::MetaObject;

use haft_config::{Config, McpToolSettings};
use haft_render::text::one_line;
use haft_tool::Tool;

/// Puts the whole definition into the model's context from the start.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";
/// Phrase for the tool search.
const SEARCH_HINT: &str = "anthropic/searchHint";
/// Limit of the characters of a text that reach the model unshortened.
const MAX_RESULT_SIZE: &str = "anthropic/maxResultSizeChars";

/// Up to this number of tools, loading all definitions costs less than a search.
const FEW_TOOLS: usize = 10;
/// The highest limit that Claude Code accepts.
const MAX_RESULT_CHARS: u32 = 500_000;
/// Margin for blocks of a result that are not text.
const RESULT_MARGIN: u32 = 2_000;
/// Limit of the characters of a search hint.
const MAX_HINT_CHARS: usize = 200;
/// Tags that describe the risk of a tool, and not its purpose.
const RISK_TAGS: [&str; 3] = ["read", "write", "run"];

/// Returns the hints for one of `count` listed tools.
pub(super) fn meta(
    tool: &Tool,
    settings: &McpToolSettings,
    config: &Config,
    count: usize,
) -> MetaObject {
    let mut meta = MetaObject::new();
    let always_load = settings
        .always_load
        .or(tool.hints.always_load)
        .or(config.mcp.always_load)
        .unwrap_or(count <= FEW_TOOLS);
    if always_load {
        meta.insert(ALWAYS_LOAD.to_owned(), true.into());
    }
    if let Some(hint) = search_hint(tool, settings) {
        meta.insert(SEARCH_HINT.to_owned(), hint.into());
    }
    let most = match (settings.max_result_chars, config.limits.spill_kb) {
        (Some(most), _) => most,
        (None, 0) => MAX_RESULT_CHARS,
        (None, kib) => kib.saturating_mul(1024).saturating_add(RESULT_MARGIN),
    };
    meta.insert(
        MAX_RESULT_SIZE.to_owned(),
        most.min(MAX_RESULT_CHARS).into(),
    );
    meta
}

/// Returns the configured search hint, else the author's phrase, else the tool's keywords.
fn search_hint(tool: &Tool, settings: &McpToolSettings) -> Option<String> {
    let phrase = settings.search_hint.as_ref();
    let phrase = phrase.or(tool.hints.search_hint.as_ref());
    let hint = match phrase {
        Some(phrase) => one_line(phrase),
        None => keywords(tool).join(", "),
    };
    let hint: String = hint.chars().take(MAX_HINT_CHARS).collect();
    (!hint.is_empty()).then_some(hint)
}

/// Returns the tool's keywords and tags, without the tags that describe its risk.
pub(super) fn keywords(tool: &Tool) -> Vec<String> {
    let tags = tool.tags.iter();
    let tags = tags.filter(|tag| !RISK_TAGS.contains(&tag.as_str()));
    let mut words: Vec<String> = Vec::new();
    for word in tool.hints.keywords.iter().chain(tags) {
        let word = one_line(word);
        if !word.is_empty() && !words.contains(&word) {
            words.push(word);
        }
    }
    words
}
