//! Formats problems and errors for people: the fault, its location, and the hint.

use std::path::Path;

use super::style::Ink;
use super::text;
use haft_tool::consent::FRAME;
use haft_tool::error::Error;
use haft_tool::{Problem, Severity};

/// Labels at the start of haft's own lines.
const LABELS: [&str; 4] = ["error:", "warning:", "info:", "hint:"];

/// Formats a problem with its location, the author's lines and the hint. Every line ends with a
/// newline.
pub fn problem(problem: &Problem, home: &Path, ink: Ink) -> String {
    let word = match problem.severity {
        Severity::Error => ink.error("error"),
        Severity::Warning => ink.warning("warning"),
        Severity::Info => ink.bold("info"),
    };
    let mut lines = format!("{word}: {}\n", message(problem));
    if let Some(path) = &problem.path {
        let place = place(problem.file.as_deref().unwrap_or(path), problem, home);
        lines.push_str(&format!("  {} {place}\n", ink.dim("at")));
    }
    if let Some(frame) = &problem.frame {
        lines.push_str(&text::indent(&text::message(frame), "  "));
    }
    if let (Some(_), Some(path)) = (&problem.file, &problem.path) {
        let user = text::path(path, home);
        lines.push_str(&format!("  {} {user}\n", ink.dim("loaded by")));
    }
    if let Some(hint) = &problem.hint {
        lines.push_str(&hint_line(hint, ink));
    }
    lines
}

/// Formats an error of haft with its hint. Every line ends with a newline.
pub fn error(error: &Error, ink: Ink) -> String {
    let message = behind(&text::message(error.message()));
    let mut lines = format!("{}: {}\n", ink.error("error"), message.trim_end());
    if let Some(hint) = error.hint() {
        lines.push_str(&hint_line(hint, ink));
    }
    lines
}

/// Formats one hint, with a newline at the end.
pub fn hint_line(hint: &str, ink: Ink) -> String {
    format!("{}: {}\n", ink.hint("hint"), text::message(hint).trim_end())
}

fn message(problem: &Problem) -> String {
    let message = behind(&text::message(&problem.message));
    let message = without_place(message.trim_end(), problem);
    match &problem.tool_name {
        // Most messages name the tool themselves.
        Some(name) if !message.contains(name.as_str()) => {
            format!("`{}`: {message}", text::name(name))
        }
        _ => message.to_owned(),
    }
}

/// Frames every further line of the message that begins with one of haft's labels, because a name
/// may contain line feeds.
fn behind(message: &str) -> String {
    let mut shown = String::with_capacity(message.len());
    for (index, line) in message.split('\n').enumerate() {
        let forged = |word: &&str| line.trim_start().starts_with(*word);
        if index > 0 {
            shown.push('\n');
            if LABELS.iter().any(forged) {
                shown.push_str(FRAME);
            }
        }
        shown.push_str(line);
    }
    shown
}

/// Removes the `(file:line:column)` at the end of a message about syntax. It is for hosts that get
/// only the message; here the location has its own line.
fn without_place<'a>(message: &'a str, problem: &Problem) -> &'a str {
    let (Some(line), Some(column)) = (problem.line, problem.column) else {
        return message;
    };
    match message.rsplit_once(" (") {
        Some((text, place)) if place.ends_with(&format!(":{line}:{column})")) => text,
        _ => message,
    }
}

fn place(path: &Path, problem: &Problem, home: &Path) -> String {
    let path = text::path(path, home);
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => format!("{path}:{line}:{column}"),
        (Some(line), None) => format!("{path}:{line}"),
        (None, _) => path,
    }
}
