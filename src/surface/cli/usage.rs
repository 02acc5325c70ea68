//! Usage errors of clap in haft's format: the error, then a hint with the nearest name.

use std::io;

use clap::error::{ContextKind, ContextValue, ErrorKind as Clap};

use super::exit::{SUCCESS, USAGE};
use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind, TerminalText};

/// Prints help and versions to standard output and errors to standard error. Returns the exit code.
pub(super) fn report(error: &clap::Error, out: &mut Out, ink: Ink) -> u8 {
    match error.kind() {
        Clap::DisplayHelp | Clap::DisplayVersion => {
            // A reader may close the pipe early. That is not a failure.
            let _ = print(error, out);
            SUCCESS
        }
        Clap::DisplayHelpOnMissingArgumentOrSubcommand => {
            say(&text(error, ink));
            USAGE
        }
        _ => {
            say(&haft_render::problem::error(&translate(error), ink));
            USAGE
        }
    }
}

fn print(error: &clap::Error, out: &mut Out) -> io::Result<()> {
    let text = text(error, out.ink());
    out.print(&text)?;
    out.flush()
}

fn text(error: &clap::Error, ink: Ink) -> TerminalText {
    let page = error.render().ansi().to_string();
    haft_render::sanitize::styled_text(&page, ink.is_on())
}

fn translate(error: &clap::Error) -> Error {
    let named = |kind| error.get(kind).and_then(name);
    let message = match error.kind() {
        Clap::InvalidSubcommand => named(ContextKind::InvalidSubcommand)
            .map(|command| format!("there is no command `{command}`")),
        Clap::UnknownArgument => named(ContextKind::InvalidArg).map(|arg| {
            if arg.starts_with('-') {
                format!("there is no flag `{arg}`")
            } else {
                format!("`{arg}` is one argument too many")
            }
        }),
        _ => None,
    };
    let suggest = [
        ContextKind::SuggestedSubcommand,
        ContextKind::SuggestedArg,
        ContextKind::SuggestedValue,
    ];
    let hint = match suggest.into_iter().find_map(named) {
        Some(name) => format!("did you mean `{name}`?"),
        None => usage_line(error),
    };
    Error::new(
        ErrorKind::Usage,
        message.unwrap_or_else(|| first_paragraph(error)),
    )
    .with_hint(hint)
}

/// Returns the best of several suggested names, which clap puts last.
fn name(value: &ContextValue) -> Option<String> {
    match value {
        ContextValue::String(name) => Some(name.clone()),
        ContextValue::Strings(names) => names.last().cloned(),
        _ => None,
    }
}

fn usage_line(error: &clap::Error) -> String {
    let Some(ContextValue::StyledStr(usage)) = error.get(ContextKind::Usage) else {
        return "`haft --help` shows every command and flag".into();
    };
    let usage = usage.to_string();
    let usage = usage.trim_start_matches("Usage:").trim();
    format!("usage: {}", usage.lines().next().unwrap_or(usage))
}

fn first_paragraph(error: &clap::Error) -> String {
    let page = error.render().to_string();
    let paragraph = page.split("\n\n").next().unwrap_or(&page);
    let lines = paragraph.lines().map(str::trim);
    let line = lines.collect::<Vec<_>>().join(" ");
    line.trim_start_matches("error: ").to_owned()
}
