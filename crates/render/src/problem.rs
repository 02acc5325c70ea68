//! Formats problems and errors for people: the fault, its location, and the hint.

use std::path::Path;

use super::style::Ink;
use super::text;
use haft_tool::error::Error;
use haft_tool::{Problem, Severity, TerminalText, terminal_text};

/// Formats a problem with its location, the author's lines and the hint. Every line ends with a
/// newline.
pub fn problem(problem: &Problem, home: &Path, ink: Ink) -> TerminalText {
    let word = match problem.severity {
        Severity::Error => ink.error("error"),
        Severity::Warning => ink.warning("warning"),
        Severity::Info => ink.bold("info"),
    };
    let mut lines = terminal_text!("{word}: {}\n", message(problem));
    if let Some(path) = &problem.path {
        let place = place(problem.file.as_deref().unwrap_or(path), problem, home);
        lines.push(&terminal_text!("  {} {place}\n", ink.dim("at")));
    }
    if let Some(frame) = &problem.frame {
        lines.push(&TerminalText::from_message(frame).indented("  "));
    }
    if let (Some(_), Some(path)) = (&problem.file, &problem.path) {
        let user = text::path(path, home);
        lines.push(&terminal_text!("  {} {user}\n", ink.dim("loaded by")));
    }
    if let Some(hint) = &problem.hint {
        lines.push(&hint_line(hint, ink));
    }
    lines
}

/// Formats an error of haft with its hint. Every line ends with a newline.
pub fn error(error: &Error, ink: Ink) -> TerminalText {
    let message = TerminalText::from_message(error.message()).trimmed_end();
    let mut lines = terminal_text!("{}: {message}\n", ink.error("error"));
    if let Some(hint) = error.hint() {
        lines.push(&hint_line(hint, ink));
    }
    lines
}

/// Formats one hint, with a newline at the end.
pub fn hint_line(hint: &str, ink: Ink) -> TerminalText {
    let hint = TerminalText::from_message(hint).trimmed_end();
    terminal_text!("{}: {hint}\n", ink.hint("hint"))
}

fn message(problem: &Problem) -> TerminalText {
    let message = without_place(&problem.message, problem);
    let shown = TerminalText::from_message(message).trimmed_end();
    match &problem.tool_name {
        // Most messages name the tool themselves.
        Some(name) if !message.contains(name.as_str()) => terminal_text!("`{name}`: {shown}"),
        _ => shown,
    }
}

/// Removes the `(file:line:column)` at the end of a message about syntax. It is for hosts that get
/// only the message; here the location has its own line.
fn without_place<'a>(message: &'a str, problem: &Problem) -> &'a str {
    let message = message.trim_end();
    let (Some(line), Some(column)) = (problem.line, problem.column) else {
        return message;
    };
    match message.rsplit_once(" (") {
        Some((text, place)) if place.ends_with(&format!(":{line}:{column})")) => text,
        _ => message,
    }
}

fn place(path: &Path, problem: &Problem, home: &Path) -> TerminalText {
    let path = text::path(path, home);
    match (problem.line, problem.column) {
        (Some(line), Some(column)) => terminal_text!("{path}:{line}:{column}"),
        (Some(line), None) => terminal_text!("{path}:{line}"),
        (None, _) => path,
    }
}
