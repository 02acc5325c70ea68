//! What clients are told of a listed tool beyond the protocol, in its `_meta`.
//!
//! The keys are those of Claude Code, which puts definitions behind a tool search.

use rmcp::model::MetaObject;

use crate::config::{Config, McpToolSettings};
use crate::render::text;
use crate::tool::Tool;

/// The whole definition is in the model's context from the start.
const ALWAYS_LOAD: &str = "anthropic/alwaysLoad";
/// A phrase for the tool search.
const SEARCH_HINT: &str = "anthropic/searchHint";
/// Text up to so many characters reaches the model whole.
const MAX_RESULT_SIZE: &str = "anthropic/maxResultSizeChars";

/// So few definitions cost less than looking for them.
const FEW_TOOLS: usize = 10;
/// The most that Claude Code lets through.
const MAX_RESULT_CHARS: u32 = 500_000;
/// What blocks that are not text may add to a result.
const RESULT_MARGIN: u32 = 2_000;
/// The most characters of a search hint.
const MAX_HINT_CHARS: usize = 200;
/// Tags that say how much harm a tool may do, and nothing of what it is for.
const RISK_TAGS: [&str; 3] = ["read", "write", "run"];

/// The hints for one tool of `count` that are offered.
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

/// What the user wrote, else the author's phrase, else the words that the tool is filed under.
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

/// The words that a tool is filed under, without those that say how dangerous it is.
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

/// Text of an author on one line, without control characters.
pub(super) fn one_line(written: &str) -> String {
    let clean = text::for_models(written);
    let words: Vec<&str> = clean.split_whitespace().collect();
    words.join(" ")
}
