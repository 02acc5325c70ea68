//! How a command ends: its exit code, and the words for a failure.
//!
//! The only place that knows the codes. The matches are exhaustive, so a new kind of
//! error does not compile before it has one.

use std::io::{self, Write};
use std::process::ExitCode;

use serde::Serialize;

use crate::error::{Error, ErrorKind};
use crate::render;
use crate::render::ink::Ink;
use crate::surface::stdout::Out;
use crate::surface::wire::ErrorView;
use crate::tool::{Outcome, Stopped, visible};

pub(super) const SUCCESS: u8 = 0;
pub(super) const FAILURE: u8 = 1;
pub(super) const USAGE: u8 = 2;
const NO_SUCH_TOOL: u8 = 3;
pub(super) const REFUSED: u8 = 4;
const TIMED_OUT: u8 = 124;
pub(super) const CANCELLED: u8 = 130;

/// Why a command did not come to its end.
pub(super) enum Failure {
    /// Haft could not do it.
    Haft(Error),
    /// The user did not want to wait for the end of a call any more; the words for it.
    Killed(Error),
    /// Standard output, or another thing of the system, refused.
    System(io::Error),
}

/// In which form standard output tells of a failure.
pub(super) enum Answer {
    /// Not at all: the text on standard error is for people.
    Text,
    /// One object `{"error": …}`.
    Json,
    /// The last of the event lines.
    Event {
        /// The call's id.
        call_id: &'static str,
        /// The tool's name.
        tool: String,
    },
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    call_id: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tool: Option<&'a str>,
    error: ErrorView<'a>,
}

impl Answer {
    pub(super) fn json_if(json: bool) -> Self {
        if json { Answer::Json } else { Answer::Text }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure::Haft(error)
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::System(error)
    }
}

/// The exit code for the result of a call.
pub(super) fn code_of(outcome: &Outcome) -> u8 {
    match outcome.stopped {
        Some(why) => code_of_stop(why),
        None if outcome.is_error => FAILURE,
        None => SUCCESS,
    }
}

/// Says what went wrong, to people and where asked to programs, and gives the exit code.
pub(super) fn report(ended: Result<u8, Failure>, answer: &Answer, out: &mut Out, ink: Ink) -> u8 {
    match ended {
        Ok(code) => code,
        // Whoever read our output has enough of it: `haft list | head -1`.
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::BrokenPipe => SUCCESS,
        Err(Failure::System(error)) => {
            say(&render::problem::error(&system_error(&error), ink));
            FAILURE
        }
        Err(Failure::Haft(error) | Failure::Killed(error)) => {
            // The exit code says it too, should nobody be reading any more.
            let _ = tell(&error, answer, out);
            say(&render::problem::error(&error, ink));
            code_of_kind(error.kind())
        }
    }
}

/// The end of a program that could not even get hold of its standard output.
pub(super) fn without_output(error: &io::Error, ink: Ink) -> ExitCode {
    say(&render::problem::error(&system_error(error), ink));
    ExitCode::from(FAILURE)
}

/// Writes to standard error. If even that is gone there is nobody to tell.
pub(super) fn say(text: &str) {
    let _ = io::stderr()
        .lock()
        .write_all(visible::printed(text).as_bytes());
}

fn tell(error: &Error, answer: &Answer, out: &mut Out) -> io::Result<()> {
    let view = ErrorView::from(error);
    match answer {
        Answer::Text => {}
        Answer::Json => out.json(&ErrorAnswer {
            event: None,
            call_id: None,
            tool: None,
            error: view,
        })?,
        Answer::Event { call_id, tool } => out.json_line(&ErrorAnswer {
            event: Some("error"),
            call_id: Some(call_id),
            tool: Some(tool),
            error: view,
        })?,
    }
    out.flush()
}

fn system_error(error: &io::Error) -> Error {
    Error::new(
        ErrorKind::Internal,
        format!("the system refused: {}", error.to_string().to_lowercase()),
    )
}

fn code_of_kind(kind: ErrorKind) -> u8 {
    match kind {
        ErrorKind::Usage | ErrorKind::BadArguments => USAGE,
        ErrorKind::NoSuchTool => NO_SUCH_TOOL,
        ErrorKind::Untrusted | ErrorKind::Denied => REFUSED,
        ErrorKind::Stopped(why) => code_of_stop(why),
        ErrorKind::Load | ErrorKind::IsolateLost | ErrorKind::Internal => FAILURE,
    }
}

fn code_of_stop(why: Stopped) -> u8 {
    match why {
        Stopped::Deadline => TIMED_OUT,
        Stopped::Cancelled | Stopped::HostShutdown => CANCELLED,
        Stopped::Discarded => FAILURE,
    }
}
