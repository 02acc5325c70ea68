//! The text of a question for approval, the same on every surface.
//!
//! Lines of haft's own begin at the margin. Lines that a tool, a file or a caller wrote begin with
//! [`FRAME`], and invisible characters in them become escapes. So a reason, details or an argument
//! cannot pass for a question of haft. Nor can they push the question off the screen: each part has
//! a line limit, and beyond it only its first and last lines are shown.

use unicode_width::UnicodeWidthChar;

use super::ApprovalRequest;
use super::{FRAME, TerminalText, terminal_text, visible};

const FRAME_WIDTH: usize = 2;

/// Limits for the lines of a tool's words and for those of the arguments.
const MAX_TOOL_LINES: usize = 8;
const MAX_ARGUMENT_LINES: usize = 20;
/// Width in columns if the screen's width is unknown.
const USUAL_COLUMNS: usize = 100;
/// The smallest width in columns. Text in narrower lines cannot be read.
const LEAST_COLUMNS: usize = 20;
/// The smallest line limit of a part: its first line, its last line, and the number of omitted
/// lines.
const LEAST_LINES: usize = 3;
/// Number of haft's own lines around both parts.
const OWN_LINES: usize = 6;
/// The deepest indentation in columns. A deeper one would leave no room for text.
const MAX_INDENT: usize = 20;

/// Space for a question: columns, and a line limit for each part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Room {
    columns: usize,
    tool_lines: usize,
    argument_lines: usize,
}

impl Room {
    /// Returns the space on a screen; 0 stands for an unknown side.
    pub fn of(columns: usize, rows: usize) -> Room {
        let columns = match columns {
            0 => USUAL_COLUMNS,
            columns => columns.max(LEAST_COLUMNS),
        };
        let (tool_lines, argument_lines) = match rows {
            0 => (MAX_TOOL_LINES, MAX_ARGUMENT_LINES),
            rows => {
                let rows = rows.saturating_sub(OWN_LINES);
                let tool = (rows / 3).clamp(LEAST_LINES, MAX_TOOL_LINES);
                let arguments = rows.saturating_sub(tool);
                (tool, arguments.clamp(LEAST_LINES, MAX_ARGUMENT_LINES))
            }
        };
        Room {
            columns,
            tool_lines,
            argument_lines,
        }
    }

    /// Returns the same space without line limits.
    pub fn without_end(self) -> Room {
        Room {
            tool_lines: usize::MAX,
            argument_lines: usize::MAX,
            ..self
        }
    }
}

/// A question as lines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Consent {
    /// All lines except the first one, which is [`ApprovalRequest::title`].
    pub lines: Vec<TerminalText>,
    /// Set if lines were omitted.
    pub is_cut: bool,
}

impl ApprovalRequest {
    /// Returns the question as text for people, without the choice at its end. Every line that haft
    /// did not write begins with `│ `; control characters and invisible characters are shown as
    /// escapes. Long details and arguments are cut in the middle, with the number of omitted lines.
    pub fn to_text(&self) -> TerminalText {
        let consent = self.consent(Room::of(0, 0));
        let lines: Vec<_> = std::iter::once(self.title()).chain(consent.lines).collect();
        TerminalText::join(&lines, "\n")
    }

    /// Returns the first line.
    pub fn title(&self) -> TerminalText {
        terminal_text!("Allow tool: {}", self.tool)
    }

    /// Returns the lines below the title.
    pub fn consent(&self, room: Room) -> Consent {
        let mut consent = Consent {
            lines: vec![terminal_text!("Tier: {}", self.tier.as_str())],
            is_cut: false,
        };
        if let Some(caller) = &self.caller {
            let line = terminal_text!("Called by the tool: {caller}");
            consent.lines.push(line);
        }
        let reason = self
            .reason
            .as_ref()
            .map(|reason| format!("Reason: {reason}"));
        let said: Vec<&str> = [&reason, &self.details]
            .into_iter()
            .flatten()
            .flat_map(|text| text.lines())
            .collect();
        if !said.is_empty() {
            consent.lines.push("The tool says:".into());
            let said: Vec<String> = said.into_iter().map(foreign).collect();
            consent.add(&said, room.columns, room.tool_lines);
        }
        match arguments(self.arguments.get(), room.columns - FRAME_WIDTH) {
            lines if lines.is_empty() => consent.lines.push("Arguments: none".into()),
            lines => {
                consent.lines.push("Arguments:".into());
                consent.add(&lines, room.columns, room.argument_lines);
            }
        }
        consent
    }
}

impl Consent {
    /// Adds framed lines. If they exceed `most`, the middle is omitted.
    fn add(&mut self, lines: &[String], columns: usize, most: usize) {
        let mut framed = Vec::new();
        for line in lines {
            wrap(line, columns - FRAME_WIDTH, &mut framed);
        }
        if framed.len() <= most {
            return self.lines.append(&mut framed);
        }
        // Both ends are shown, because the important part may be at the end.
        let tail = ((most - 1) / 3).max(1);
        let head = most - 1 - tail;
        let left_out = framed.len() - head - tail;
        self.is_cut = true;
        self.lines.extend(framed.drain(..head));
        self.lines.push(terminal_text!("… {left_out} more lines"));
        self.lines.extend(framed.drain(left_out..));
    }
}

/// Returns a line that haft did not write, with invisible characters as escapes.
fn foreign(line: &str) -> String {
    visible::line(&line.replace('\t', "    ")).into_owned()
}

fn wrap(line: &str, columns: usize, framed: &mut Vec<TerminalText>) {
    let mut frame = |part: &mut String| {
        let part = TerminalText::from_line(&std::mem::take(part));
        framed.push(terminal_text!("{FRAME}{part}").trimmed_end());
    };
    let (mut part, mut width) = (String::new(), 0);
    for c in line.chars() {
        let wide = c.width().unwrap_or(0);
        if width + wide > columns {
            frame(&mut part);
            width = 0;
        }
        part.push(c);
        width += wide;
    }
    frame(&mut part);
}

/// Formats JSON text as lines, as a single line if that fits. Nothing is omitted, not even
/// duplicate keys. Characters that need no escape are shown as themselves, and invisible ones as
/// escapes.
fn arguments(text: &str, columns: usize) -> Vec<String> {
    let tokens = tokens(text);
    let is_empty = matches!(text.trim(), "" | "null") || tokens == ["{", "}"];
    if is_empty {
        return Vec::new();
    }
    let mut line = String::new();
    for token in &tokens {
        line.push_str(token);
        if matches!(token.as_str(), ":" | ",") {
            line.push(' ');
        }
        if line.len() > 4 * columns {
            break;
        }
    }
    let width: usize = line.chars().filter_map(UnicodeWidthChar::width).sum();
    if width <= columns {
        vec![line]
    } else {
        indented(&tokens)
    }
}

fn indented(tokens: &[String]) -> Vec<String> {
    let (mut lines, mut line, mut depth) = (Vec::new(), String::new(), 0usize);
    let indent = |depth: usize| "  ".repeat(depth.min(MAX_INDENT / 2));
    let mut tokens = tokens.iter().peekable();
    while let Some(token) = tokens.next() {
        match token.as_str() {
            "{" | "[" => {
                line.push_str(token);
                if let Some(end) = tokens.next_if(|next| matches!(next.as_str(), "}" | "]")) {
                    line.push_str(end);
                    continue;
                }
                depth += 1;
                lines.push(std::mem::replace(&mut line, indent(depth)));
            }
            "}" | "]" => {
                depth = depth.saturating_sub(1);
                lines.push(std::mem::replace(&mut line, indent(depth)));
                line.push_str(token);
            }
            "," => {
                line.push(',');
                lines.push(std::mem::replace(&mut line, indent(depth)));
            }
            ":" => line.push_str(": "),
            token => line.push_str(token),
        }
    }
    lines.push(line);
    lines
}

/// Splits JSON text into tokens. Escapes in strings that stand for a plain character are resolved.
fn tokens(text: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let len = match first {
            '{' | '}' | '[' | ']' | ':' | ',' => 1,
            '"' => end_of_string(rest),
            _ => {
                let end = rest.find(['{', '}', '[', ']', ':', ',', '"', ' ', '\t', '\n', '\r']);
                end.unwrap_or(rest.len()).max(first.len_utf8())
            }
        };
        let (token, after) = rest.split_at(len);
        tokens.push(match first {
            '"' => plain_string(token),
            _ => visible::json(token).into_owned(),
        });
        rest = after.trim_start();
    }
    tokens
}

fn end_of_string(text: &str) -> usize {
    let mut is_escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(1) {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = true,
            b'"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

fn plain_string(token: &str) -> String {
    let Ok(Ok(plain)) =
        serde_json::from_str::<String>(token).map(|text| serde_json::to_string(&text))
    else {
        // Half a surrogate pair: only its escape can be shown.
        return visible::json(token).into_owned();
    };
    visible::json(&plain).into_owned()
}
