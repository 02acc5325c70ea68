//! Drawing of a call: haft's own renderer for calls that the tool does not draw, and the block
//! around each drawing.

use std::iter;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::palette::{self, Ground, Tone, bold, paint};
use super::width::{self, TAB};
use super::{image, sanitize, text};
use haft_tool::{
    RawRender, RenderOptions, RenderTarget, Screen, TerminalText, Tool, json, terminal_text,
};

/// Number of lines of a result that are shown unless the whole result is requested.
const PREVIEW: usize = 12;

/// Number of lines of one argument that are shown.
const ARGUMENT_LINES: usize = 6;

const SPINNER: [&str; 10] = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/// Returns the output of a tool's own renderer, ready to print.
pub fn of_painted(painted: &RawRender, look: &RenderOptions) -> Vec<TerminalText> {
    match &painted.text {
        Some(text) => sanitize::lines(text, look),
        None => Vec::new(),
    }
}

/// Returns the drawing by haft's own renderer.
pub fn by_host(tool: &Tool, scene: RenderTarget<'_>, look: &RenderOptions) -> Vec<TerminalText> {
    match scene {
        RenderTarget::Call(call) => of_call(tool, &call.arguments, look),
        RenderTarget::Result(_, result) => of_result(result, look),
    }
}

/// Draws the label and the arguments: as many as fit on one line, or in the expanded form each on
/// its own lines.
fn of_call(tool: &Tool, arguments: &RawValue, look: &RenderOptions) -> Vec<TerminalText> {
    let screen = &look.screen;
    let spinner = look.spinner_frame.filter(|_| look.is_partial);
    let spinner = spinner.map(|frame| SPINNER[frame as usize % SPINNER.len()]);
    let lead = spinner.map_or_else(TerminalText::new, |frame| terminal_text!("{frame} "));
    let lead_width = width::width(lead.as_str());
    let label = text::first_line(&tool.label);
    let label = width::cut(&label, look.width.saturating_sub(lead_width));
    let room = look
        .width
        .saturating_sub(lead_width + width::width(label.as_str()) + 2);
    let title = terminal_text!(
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
        .map(|(name, value)| terminal_text!("{name}: {}", short(value)))
        .collect();
    let pairs = TerminalText::join(&pairs, ", ");
    if pairs.is_empty() || room < 4 {
        return vec![title];
    }
    let pairs = paint(screen, Tone::Muted, &width::cut(&pairs, room));
    vec![terminal_text!("{title}  {pairs}")]
}

fn members(arguments: &RawValue) -> Vec<(String, Value)> {
    match json::parse(arguments.get()) {
        Ok(Value::Object(members)) => members.into_iter().collect(),
        _ => Vec::new(),
    }
}

/// Formats a value for a part of a line.
fn short(value: &Value) -> TerminalText {
    match value {
        Value::String(value) => text::first_line(value),
        other => TerminalText::from_prose(&other.to_string()),
    }
}

/// Formats an argument on its own lines.
fn argument(name: &str, value: &Value, look: &RenderOptions) -> Vec<TerminalText> {
    let value = match value {
        Value::String(value) => value.clone(),
        other => format!("{other:#}"),
    };
    let value = TerminalText::from_prose(&value).replacing("\t", TAB);
    let room = look.width.saturating_sub(2).max(1);
    let text = terminal_text!("{name}: {value}");
    let mut wrapped = text
        .lines()
        .into_iter()
        .flat_map(|line| wrapped(&line, room));
    let mut lines: Vec<TerminalText> = wrapped.by_ref().take(ARGUMENT_LINES).collect();
    if wrapped.next().is_some() {
        lines.push("…".into());
    }
    let indented = lines.iter().map(|line| {
        let line = width::cut(&terminal_text!("  {line}"), look.width);
        paint(&look.screen, Tone::Muted, &line)
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

fn of_result(result: &RawValue, look: &RenderOptions) -> Vec<TerminalText> {
    let Content { content, is_error } = serde_json::from_str(result.get()).unwrap_or_default();
    let tone = if is_error { Tone::Error } else { Tone::Output };
    let most = if look.expanded { usize::MAX } else { PREVIEW };
    let mut lines = Vec::new();
    for piece in content {
        match (piece.text, piece.data, piece.mime_type) {
            (Some(text), _, _) => {
                let text = TerminalText::from_prose(&text).replacing("\t", TAB);
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
fn of_text(
    text: &TerminalText,
    tone: Tone,
    most: usize,
    look: &RenderOptions,
    lines: &mut Vec<TerminalText>,
) {
    let written = text.trimmed_end().lines();
    let is_long = written.len() > most;
    let note = |lines: &mut Vec<TerminalText>, hidden: usize, what: &str| {
        let noun = if hidden == 1 { "line" } else { "lines" };
        let note = terminal_text!("… {hidden} {what} {noun}");
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
        lines.extend(wrapped.iter().map(|line| paint(&look.screen, tone, line)));
    }
    if is_long && !look.is_partial {
        note(lines, hidden, "more");
    }
}

/// Wraps a line; a character that is wider than the room becomes `…`.
fn wrapped(line: &TerminalText, room: usize) -> Vec<TerminalText> {
    line.parts(|line| {
        let lines = width::wrap(line, room).into_iter();
        let fitting = lines.map(|line| {
            if width::width(line) > room {
                "…"
            } else {
                line
            }
        });
        fitting.collect()
    })
}

/// Returns the width of a line of a drawing.
pub fn width(line: &TerminalText) -> usize {
    sanitize::width(line)
}

/// Returns the number of columns for the margins of a block of this width.
pub fn margin(width: usize) -> usize {
    if width > 2 { 2 } else { 0 }
}

/// Draws a block of the whole width: one column of margin on both sides, and a background if the
/// screen has colours.
pub fn block(
    lines: &[TerminalText],
    ground: Ground,
    width: usize,
    screen: &Screen,
) -> Vec<TerminalText> {
    let margin = if margin(width) > 0 { " " } else { "" };
    let opening = palette::ground(screen, ground);
    let framed = lines.iter().map(|line| match &opening {
        None if line.is_empty() => TerminalText::new(),
        None => terminal_text!("{margin}{line}").trimmed_end(),
        Some(opening) => {
            let free = width.saturating_sub(margin.len() + sanitize::width(line));
            let line = keep_ground(line, opening);
            terminal_text!("{opening}{margin}{line}{}\x1b[49m", " ".repeat(free))
        }
    });
    framed.collect()
}

/// Restores the background after each reset inside a line, because a reset ends it.
fn keep_ground(line: &TerminalText, opening: &TerminalText) -> TerminalText {
    let mut kept = TerminalText::new();
    let resets = ["\x1b[0m", "\x1b[49m", "\x1b[m"];
    for part in line.parts(|line| split_after(line, &resets)) {
        kept.push(&part);
        if resets.iter().any(|reset| part.as_str().ends_with(reset)) {
            kept.push(opening);
        }
    }
    kept
}

/// Splits `text` behind every one of `ends`.
fn split_after<'text>(text: &'text str, ends: &[&str]) -> Vec<&'text str> {
    let mut parts = Vec::new();
    let mut rest = text;
    loop {
        let found = ends
            .iter()
            .filter_map(|end| Some(rest.find(end)? + end.len()));
        let Some(end) = found.min() else {
            parts.push(rest);
            return parts;
        };
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after;
    }
}
