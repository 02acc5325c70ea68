//! Questions with the answers yes and no, before a command changes something.

use std::fs::File;
use std::io::{self, BufRead, BufReader};

use rustix::termios::{QueueSelector, tcflush};

use super::exit::Failure;
use crate::surface::terminal::{self, say};
use haft_tool::{Error, ErrorKind, TerminalText};

/// Returns true if a user is there to answer.
pub(super) fn can_ask() -> bool {
    terminal::is_terminal() && File::open("/dev/tty").is_ok()
}

/// Returns the error of a question that no user can answer, about what the command has listed.
/// `unasked` is the command that does it without a question.
pub(super) fn nobody_can_be_asked(kind: ErrorKind, whether: &str, unasked: &str) -> Error {
    let text = format!("nobody can be asked whether {whether}");
    Error::new(kind, text).with_hint(format!("after a look at the list above: {unasked}"))
}

/// Asks like [`confirm`].
///
/// # Errors
/// With `refusal` if no user is there.
pub(super) async fn confirm_or(refusal: Error, question: TerminalText) -> Result<bool, Failure> {
    if !can_ask() {
        return Err(refusal.into());
    }
    confirm(question).await
}

/// Asks at the terminal. Returns true if the answer is yes. The answer comes from the terminal
/// itself, since standard input may be a tool's arguments.
pub(super) async fn confirm(question: TerminalText) -> Result<bool, Failure> {
    let answer = tokio::task::spawn_blocking(move || answer(&question)).await;
    let answer = answer.map_err(|error| {
        Error::new(
            ErrorKind::Internal,
            format!("the question was not answered: {error}"),
        )
    })??;
    Ok(matches!(answer.trim().to_lowercase().as_str(), "y" | "yes"))
}

fn answer(question: &TerminalText) -> io::Result<String> {
    let terminal = File::open("/dev/tty")?;
    // Discards input from before the prompt: an earlier Enter or `y` is not consent.
    let _ = tcflush(&terminal, QueueSelector::IFlush);
    say(question);
    let mut answer = String::new();
    if BufReader::new(terminal).read_line(&mut answer)? == 0 {
        say(&"\n".into());
    }
    Ok(answer)
}
