//! The system tools: `bash`, `file-read`, `file-write`, `file-edit`, `glob` and `grep`, in one
//! small program.
//!
//! It uses ikigai's protocol and is found like any other ikigai tool, so it shares no code with the
//! library: V8 is not linked, and a call starts in a millisecond. The tool is chosen by the
//! program's own name, else by its first argument. A tool answers with JSON and exit code 0, even
//! if its work failed. Only invalid parameters end with a message on standard error and code 1.

#![forbid(unsafe_code)]

mod params;
mod stop;
mod tool;

mod bash;
mod file_edit;
mod file_read;
mod file_write;
mod glob;
mod grep;

mod kept;
mod lines;
mod open;
mod replace;
mod text;
mod walk;

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use stop::Stop;
use tool::Tool;

/// All tools, in the order of `--names`.
const TOOLS: [&Tool; 6] = [
    &bash::TOOL,
    &file_edit::TOOL,
    &file_read::TOOL,
    &file_write::TOOL,
    &glob::TOOL,
    &grep::TOOL,
];

/// Exit code for invalid arguments.
const USAGE: u8 = 2;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    let called_as = words.first().and_then(|own| named(own));
    let skipped = match called_as {
        Some(_) => 1,
        None => words.len().min(2),
    };
    let asked_for = called_as.or_else(|| named(words.get(1)?));
    let rest = match asked_for {
        Some(_) => words.split_off(skipped),
        None => words.split_off(words.len().min(1)),
    };
    let written = match (asked_for, rest.as_slice()) {
        (Some(tool), []) => return run(tool),
        (Some(tool), [word]) if word == "--schema" => print(&tool.advertised().to_string()),
        (None, [word]) if word == "--names" => print(&TOOLS.map(|tool| tool.file).join("\n")),
        (None, [word]) if word == "--help" => print(&usage()),
        _ => {
            complain(&usage());
            return ExitCode::from(USAGE);
        }
    };
    ended(written)
}

/// Returns the tool that a program name or an argument means.
fn named(word: &OsString) -> Option<&'static Tool> {
    let name = Path::new(word).file_name()?.to_str()?.replace('_', "-");
    TOOLS.into_iter().find(|tool| tool.file == name)
}

fn run(tool: &Tool) -> ExitCode {
    let answer = params::read(io::stdin().lock())
        .map_err(Stop::from)
        .and_then(|params| (tool.run)(&params));
    match answer {
        Ok(result) => ended(print(&result.to_string())),
        Err(Stop::Failed(failure)) => ended(print(&failure.to_json().to_string())),
        Err(Stop::Params(wrong)) => {
            complain(&format!(
                "{}: {wrong}\nhint: `{} --schema` prints the parameters, which are read as one JSON object from standard input",
                tool.file, tool.file
            ));
            ExitCode::FAILURE
        }
    }
}

fn usage() -> String {
    format!(
        "usage: haft-system-tools TOOL [--schema]\n       haft-system-tools --names\n\n\
         The tools: {}. Each reads one JSON object from standard input.\n\
         A link with the name of a tool is that tool.",
        TOOLS.map(|tool| tool.file).join(", ")
    )
}

#[allow(
    clippy::disallowed_methods,
    reason = "a program of its own, whose output is JSON for haft"
)]
fn print(text: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

#[allow(
    clippy::disallowed_methods,
    reason = "a program of its own, whose errors haft reads"
)]
fn complain(text: &str) {
    // If standard error is closed too, the error cannot be reported.
    drop(writeln!(io::stderr(), "{text}"));
}

fn ended(written: io::Result<()>) -> ExitCode {
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            complain(&format!("the answer could not be written: {error}"));
            ExitCode::FAILURE
        }
    }
}
