//! Results and updates of a call as lines.
//!
//! An image is named but not written.

use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::units;
use haft_tool::{Block, Stopped, TerminalText, terminal_text};

/// Returns the content for the model as text of its author, each block on lines of its own.
pub fn content(content: &[Block]) -> String {
    let mut lines = String::new();
    for block in content {
        match block {
            Block::Text { text, .. } => lines.push_str(text),
            Block::Resource { resource, .. } => {
                lines.push_str(note_on(&resource.uri).as_str());
                if let Some(text) = &resource.text {
                    lines.push('\n');
                    lines.push_str(text);
                }
                lines.push('\n');
            }
            Block::Image {
                data, mime_type, ..
            } => lines.push_str(note_on_data("image", mime_type, data).as_str()),
            Block::Audio {
                data, mime_type, ..
            } => lines.push_str(note_on_data("audio", mime_type, data).as_str()),
            Block::ResourceLink(link) => lines.push_str(note_on(&link.uri).as_str()),
        }
        if !lines.is_empty() && !lines.ends_with('\n') {
            lines.push('\n');
        }
    }
    lines
}

fn note_on(uri: &str) -> TerminalText {
    terminal_text!("[{uri}]")
}

fn note_on_data(kind: &'static str, mime_type: &str, data: &str) -> TerminalText {
    let size = units::bytes(units::base64_len(data));
    terminal_text!("[{kind} {mime_type}, {size}]")
}

/// Returns the form for people instead, with a line feed at its end.
pub fn display(display: &str) -> TerminalText {
    let mut display = TerminalText::from_prose(display);
    if !display.is_empty() && !display.as_str().ends_with('\n') {
        display.push_literal("\n");
    }
    display
}

/// Describes the early end of a call, as a sentence without its period.
pub fn stopped(tool: &str, why: Stopped, after: Duration) -> TerminalText {
    let after = units::time(after);
    terminal_text!("`{tool}` was stopped after {after} ({})", why.as_str())
}

/// Returns the text of a partial result; `None` if it has none.
pub fn partial_text(partial: &RawValue) -> Option<String> {
    #[derive(Deserialize)]
    struct Partial {
        #[serde(default)]
        content: Vec<Piece>,
    }
    #[derive(Deserialize)]
    struct Piece {
        text: Option<String>,
    }
    let partial: Partial = serde_json::from_str(partial.get()).ok()?;
    let texts: Vec<_> = partial.content.into_iter().filter_map(|p| p.text).collect();
    let text = texts.join("\n");
    (!text.trim().is_empty()).then_some(text)
}
