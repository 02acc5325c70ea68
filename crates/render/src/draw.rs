//! Drawing of a call: haft's own renderer for calls that the tool does not draw, and the block
//! around each drawing.

use std::iter;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::palette::{self, Ground, Tone, bold, paint};
use super::width::{self, TAB};
use super::{image, sanitize, text};
use haft_tool::{RawRender, RenderOptions, RenderTarget, Screen, Tool, json};

/// Number of lines of a result that are shown unless the whole result is requested.
const PREVIEW: usize = 12;

/// Number of lines of one argument that are shown.
const ARGUMENT_LINES: usize = 6;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Returns the output of a tool's own renderer, ready to print.
pub fn of_painted(painted: &RawRender, look: &RenderOptions) -> Vec<String> {
    match &painted.text {
        Some(text) => sanitize::lines(text, look),
        None => Vec::new(),
    }
}

/// Returns the drawing by haft's own renderer.
pub fn by_host(tool: &Tool, scene: RenderTarget<'_>, look: &RenderOptions) -> Vec<String> {
    match scene {
        RenderTarget::Call(call) => of_call(tool, &call.arguments, look),
        RenderTarget::Result(_, result) => of_result(result, look),
    }
}

/// Draws the label and the arguments: as many as fit on one line, or in the expanded form each on
/// its own lines.
fn of_call(tool: &Tool, arguments: &RawValue, look: &RenderOptions) -> Vec<String> {
    let screen = &look.screen;
    let spinner = look.spinner_frame.filter(|_| look.is_partial);
    let spinner = spinner.map(|frame| SPINNER[frame as usize % SPINNER.len()]);
    let lead = spinner.map_or_else(String::new, |frame| format!("{frame} "));
    let label = text::first_line(&tool.label);
    let label = width::cut(&label, look.width.saturating_sub(width::width(&lead)));
    let room = look
        .width
        .saturating_sub(width::width(&lead) + width::width(&label) + 2);
    let title = format!(
        "{lead}{}",
        bold(screen, &paint(screen, Tone::Title, &label))
    );
    let arguments = members(arguments);
    if look.expanded {
        let lines = arguments
            .iter()
            .flat_map(|(name, value)| argument(name, value, look));
        return iter::once(title).chain(lines).collect();
    }
    let pairs: Vec<_> = arguments
        .iter()
        .map(|(name, value)| format!("{}: {}", text::name(name), short(value)))
        .collect();
    let pairs = pairs.join(", ");
    if pairs.is_empty() || room < 4 {
        return vec![title];
    }
    let pairs = paint(screen, Tone::Muted, &width::cut(&pairs, room));
    vec![format!("{title}  {pairs}")]
}

fn members(arguments: &RawValue) -> Vec<(String, Value)> {
    match json::parse(arguments.get()) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Formats a value for a part of a line.
fn short(value: &Value) -> String {
    match value {
        Value::String(value) => text::first_line(value),
        other => text::clean(&other.to_string()).into_owned(),
    }
}

/// Formats an argument on its own lines.
fn argument(name: &str, value: &Value, look: &RenderOptions) -> Vec<String> {
    let value = match value {
        Value::String(value) => value.clone(),
        other => format!("{other:#}"),
    };
    let value = text::clean(&value).replace('\t', TAB);
    let room = look.width.saturating_sub(2).max(1);
    let text = format!("{}: {value}", text::name(name));
    let mut wrapped = text.lines().flat_map(|line| wrapped(line, room));
    let mut lines: Vec<String> = wrapped.by_ref().take(ARGUMENT_LINES).collect();
    if wrapped.next().is_some() {
        lines.push("…".into());
    }
    let indented = lines.iter().map(|line| {
        let line = format!("  {line}");
        paint(&look.screen, Tone::Muted, &width::cut(&line, look.width))
    });
    indented.collect()
}

/// The parts of a result that are drawn. All are optional, because an invalid result is drawn here
/// too.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    #[serde(default)]
    content: Vec<Piece>,
    #[serde(default)]
    is_error: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Piece {
    text: Option<String>,
    data: Option<String>,
    mime_type: Option<String>,
}

fn of_result(result: &RawValue, look: &RenderOptions) -> Vec<String> {
    let Content { content, is_error } = serde_json::from_str(result.get()).unwrap_or_default();
    let tone = if is_error { Tone::Error } else { Tone::Output };
    let most = if look.expanded { usize::MAX } else { PREVIEW };
    let mut lines = Vec::new();
    for piece in content {
        match (piece.text, piece.data, piece.mime_type) {
            (Some(text), _, _) => {
                let text = text::clean(&text).replace('\t', TAB);
                of_text(&text, tone, most, look, &mut lines);
            }
            (None, Some(data), Some(mime_type)) => {
                lines.extend(image::lines(&data, &mime_type, look));
            }
            _ => {}
        }
    }
    lines
}

/// Draws a text: the newest lines while the call runs, the first lines afterwards.
fn of_text(text: &str, tone: Tone, most: usize, look: &RenderOptions, lines: &mut Vec<String>) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let written: Vec<&str> = text.lines().collect();
    let is_long = written.len() > most;
    let note = |lines: &mut Vec<String>, hidden: usize, what: &str| {
        let note = format!(
            "… {hidden} {what} {}",
            if hidden == 1 { "line" } else { "lines" }
        );
        let note = width::cut(&note, look.width);
        lines.push(paint(&look.screen, Tone::Dim, &note));
    };
    let shown = match (is_long, look.is_partial) {
        (false, _) => &written[..],
        (true, true) => &written[written.len() - most..],
        (true, false) => &written[..most],
    };
    let hidden = written.len() - shown.len();
    if is_long && look.is_partial {
        note(lines, hidden, "earlier");
    }
    for line in shown {
        let wrapped = wrapped(line, look.width);
        lines.extend(wrapped.map(|line| paint(&look.screen, tone, &line)));
    }
    if is_long && !look.is_partial {
        note(lines, hidden, "more");
    }
}

/// Wraps a line; a character that is wider than the room becomes `…`.
fn wrapped(line: &str, room: usize) -> impl Iterator<Item = String> {
    let lines = width::wrap(line, room).into_iter();
    lines.map(move |line| {
        if width::width(line) > room {
            "…".to_owned()
        } else {
            line.to_owned()
        }
    })
}

/// Returns the width of a line of a drawing.
pub fn width(line: &str) -> usize {
    sanitize::width(line)
}

/// Returns the number of columns for the margins of a block of this width.
pub fn margin(width: usize) -> usize {
    if width > 2 { 2 } else { 0 }
}

/// Draws a block of the whole width: one column of margin on both sides, and a background if the
/// screen has colours.
pub fn block(lines: &[String], ground: Ground, width: usize, screen: &Screen) -> Vec<String> {
    let margin = if margin(width) > 0 { " " } else { "" };
    let opening = palette::ground(screen, ground);
    let framed = lines.iter().map(|line| match &opening {
        None if line.is_empty() => String::new(),
        None => format!("{margin}{line}").trim_end().to_owned(),
        Some(opening) => {
            let free = width.saturating_sub(margin.len() + sanitize::width(line));
            let line = keep_ground(line, opening);
            format!("{opening}{margin}{line}{}\x1b[49m", " ".repeat(free))
        }
    });
    framed.collect()
}

/// Restores the background after each reset inside a line, because a reset ends it.
fn keep_ground(line: &str, opening: &str) -> String {
    if !line.contains("\x1b[0m") && !line.contains("\x1b[49m") && !line.contains("\x1b[m") {
        return line.to_owned();
    }
    let mut kept = line.to_owned();
    for reset in ["\x1b[0m", "\x1b[49m", "\x1b[m"] {
        kept = kept.replace(reset, &format!("{reset}{opening}"));
    }
    kept
}
