//! Exit codes of commands, and messages for their failures.
//!
//! No other module knows the codes. The matches are exhaustive, so a new kind of error does not
//! compile without a code.

use std::io;
use std::process::ExitCode;

use serde::Serialize;

use crate::surface::stdout::Out;
use crate::surface::terminal::say;
use crate::surface::wire::ErrorView;
use haft_render::style::Ink;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Outcome, Stopped};

pub(super) const SUCCESS: u8 = 0;
pub(super) const FAILURE: u8 = 1;
pub(super) const USAGE: u8 = 2;
const NO_SUCH_TOOL: u8 = 3;
pub(super) const REFUSED: u8 = 4;
const TIMED_OUT: u8 = 124;
pub(super) const CANCELLED: u8 = 130;

/// Reasons for which a command did not complete.
pub(super) enum Failure {
    /// An error of haft.
    Haft(Error),
    /// The user gave up waiting for a call. Contains the message.
    Killed(Error),
    /// An I/O error, of standard output for example.
    System(io::Error),
}

/// Format in which standard output reports a failure.
pub(super) enum Answer {
    /// Nothing: the text on standard error is enough for people.
    Text,
    /// One object `{"error": …}`.
    Json,
    /// The last event line.
    Event {
        /// Id of the call.
        call_id: &'static str,
        /// Name of the tool.
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

/// Returns the exit code for the result of a call.
pub(super) fn code_of(outcome: &Outcome) -> u8 {
    match outcome.stopped {
        Some(why) => code_of_stop(why),
        None if outcome.is_error => FAILURE,
        None => SUCCESS,
    }
}

/// Reports a failure on standard error, and on standard output if `answer` asks for it. Returns the
/// exit code.
pub(super) fn report(ended: Result<u8, Failure>, answer: &Answer, out: &mut Out, ink: Ink) -> u8 {
    match ended {
        Ok(code) => code,
        // The reader closed the pipe early, as in `haft list | head -1`. That is not a failure.
        Err(Failure::System(error)) if error.kind() == io::ErrorKind::BrokenPipe => SUCCESS,
        Err(Failure::System(error)) => {
            say(&haft_render::problem::error(&system_error(&error), ink));
            FAILURE
        }
        Err(Failure::Haft(error) | Failure::Killed(error)) => {
            // Ignore a closed output, since the exit code reports the failure as well.
            let _ = tell(&error, answer, out);
            say(&haft_render::problem::error(&error, ink));
            code_of_kind(error.kind())
        }
    }
}

/// Reports that standard output cannot be used, and returns the exit code.
pub(super) fn without_output(error: &io::Error, ink: Ink) -> ExitCode {
    say(&haft_render::problem::error(&system_error(error), ink));
    ExitCode::from(FAILURE)
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
        // `Load`, `IsolateLost`, `Internal`, and any kind without a row here.
        _ => FAILURE,
    }
}

fn code_of_stop(why: Stopped) -> u8 {
    match why {
        Stopped::Deadline => TIMED_OUT,
        Stopped::Cancelled | Stopped::HostShutdown => CANCELLED,
        Stopped::Discarded => FAILURE,
    }
}
