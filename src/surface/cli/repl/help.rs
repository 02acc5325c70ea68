//! Text of `/help`.

use super::commands::{self, Command};
use haft_render::style::Ink;
use haft_tool::Error;

const LINES: &str = "\
NAME                             call a tool
NAME key=value list:=[1,2]       with arguments, typed by its schema; a.b=value inside an object
NAME --key value --flag          the same
NAME {\"key\": \"value\"}            the same as JSON, over several lines if need be

Tab completes, Up and Ctrl-R look back, Ctrl-C cancels a call or drops a line, Ctrl-D leaves.
A line that begins with a space is not remembered.
";

/// Returns the help for all commands or for one.
pub(super) fn page(words: &[String], ink: Ink) -> Result<String, Error> {
    let Some(name) = words.first() else {
        let rows: String = commands::ALL
            .iter()
            .map(|command| row(command, ink))
            .collect();
        return Ok(format!("{LINES}\n{rows}"));
    };
    let command = commands::get(name.trim_start_matches('/'))?;
    let mut page = row(command, ink);
    if command.takes == commands::Takes::Session {
        for (name, about) in commands::OF_SESSION {
            page.push_str(&format!("  {name:<8}  {about}\n"));
        }
    }
    Ok(page)
}

fn row(command: &Command, ink: Ink) -> String {
    let usage = format!("/{} {}", command.name, command.usage);
    // A long usage gets its own line.
    let (usage, about) = (usage.trim_end(), command.about);
    if usage.len() <= 30 {
        format!(
            "{}{:pad$}{about}\n",
            ink.bold(usage),
            "",
            pad = 33 - usage.len()
        )
    } else {
        format!("{}\n{:33}{about}\n", ink.bold(usage), "")
    }
}
