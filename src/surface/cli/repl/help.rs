//! Text of `/help`.

use super::commands::{self, Command};
use haft_render::style::Ink;
use haft_tool::{Error, TerminalText, terminal_text};

const LINES: &str = "\
NAME                             call a tool
NAME key=value list:=[1,2]       with arguments, typed by its schema; a.b=value inside an object
NAME --key value --flag          the same
NAME {\"key\": \"value\"}            the same as JSON, over several lines if need be

Tab completes, Up and Ctrl-R look back, Ctrl-C cancels a call or drops a line, Ctrl-D leaves.
A line that begins with a space is not remembered.
";

/// Returns the help for all commands or for one.
pub(super) fn page(words: &[String], ink: Ink) -> Result<TerminalText, Error> {
    let Some(name) = words.first() else {
        let rows: TerminalText = commands::ALL
            .iter()
            .map(|command| row(command, ink))
            .collect();
        return Ok(terminal_text!(
            "{}\n{rows}",
            TerminalText::from_literal(LINES)
        ));
    };
    let command = commands::get(name.trim_start_matches('/'))?;
    let mut page = row(command, ink);
    if command.takes == commands::Takes::Session {
        for (name, about) in commands::OF_SESSION {
            page.push(&terminal_text!("  {name:<8}  {about}\n"));
        }
    }
    Ok(page)
}

fn row(command: &Command, ink: Ink) -> TerminalText {
    let usage = format!("/{} {}", command.name, command.usage);
    // A long usage gets its own line.
    let (usage, about) = (usage.trim_end(), command.about);
    if usage.len() <= 30 {
        terminal_text!(
            "{}{}{about}\n",
            ink.bold(usage),
            " ".repeat(33 - usage.len())
        )
    } else {
        terminal_text!("{}\n{:33}{about}\n", ink.bold(usage), "")
    }
}
