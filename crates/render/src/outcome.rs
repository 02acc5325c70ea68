//! Results and updates of a call as lines.
//!
//! Text blocks are written unchanged, because they contain no control sequences by contract. An
//! image is named but not written.

use std::io::{self, Write};
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::{text, units};
use haft_tool::{Block, Stopped};

/// Writes the content for the model, each block on lines of its own.
pub fn write_content(out: &mut impl Write, content: &[Block]) -> io::Result<()> {
    for block in content {
        match block {
            Block::Text { text, .. } if text.is_empty() => {}
            Block::Text { text, .. } => {
                out.write_all(text.as_bytes())?;
                if !text.ends_with('\n') {
                    out.write_all(b"\n")?;
                }
            }
            Block::Image {
                data, mime_type, ..
            } => {
                let size = units::bytes(units::base64_len(data));
                writeln!(out, "[image {}, {size}]", text::name(mime_type))?;
            }
            Block::Audio {
                data, mime_type, ..
            } => {
                let size = units::bytes(units::base64_len(data));
                writeln!(out, "[audio {}, {size}]", text::name(mime_type))?;
            }
            Block::Resource { resource, .. } => {
                writeln!(out, "[{}]", text::name(&resource.uri))?;
                if let Some(text) = &resource.text {
                    writeln!(out, "{text}")?;
                }
            }
            Block::ResourceLink(link) => writeln!(out, "[{}]", text::name(&link.uri))?,
        }
    }
    Ok(())
}

/// Writes the form for people instead, without characters that could redraw their terminal.
pub fn write_display(out: &mut impl Write, display: &str) -> io::Result<()> {
    let display = text::clean(display);
    out.write_all(display.as_bytes())?;
    if display.is_empty() || display.ends_with('\n') {
        Ok(())
    } else {
        out.write_all(b"\n")
    }
}

/// Describes the early end of a call, as a sentence without its period.
pub fn stopped(tool: &str, why: Stopped, after: Duration) -> String {
    let after = units::time(after);
    format!("`{tool}` was stopped after {after} ({})", why.as_str())
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
