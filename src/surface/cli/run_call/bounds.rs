//! Start and end of a call, which do not depend on how the call is shown.

use std::sync::Arc;
use std::time::Duration;

use super::{CallOptions, Called};
use crate::host::{Host, RunningCall};
use crate::surface::cli::call_session::CallSession;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::{Failure, REFUSED, code_of, say};
use crate::surface::cli::progress::Spinner;
use crate::surface::cli::terminal::Terminal;
use haft_render::style::Ink;
use haft_tool::ErrorKind;
use haft_tool::{Call, Outcome, Stopped};

/// A started call with the terminal that its prompts use.
pub(super) struct StartedCall {
    pub(super) host: Host,
    pub(super) terminal: Terminal,
    pub(super) running: RunningCall,
}

/// Result of a call with its exit code.
pub(super) struct CallEnd {
    pub(super) outcome: Outcome,
    pub(super) called: Called,
    /// Verb phrase for the message about a failure.
    failed: &'static str,
}

impl CallOptions {
    /// Starts a call. Its prompts replace `spinner` on the screen.
    pub(super) fn begin(
        &self,
        call: &Call,
        spinner: Option<Spinner>,
        is_attended: bool,
        session: &CommandContext<'_>,
    ) -> StartedCall {
        let terminal = Terminal::new(spinner, session.err, session.host.config(), is_attended);
        let host = session.host.asking(Arc::new(terminal.clone()));
        let host = host.with_ui(Arc::new(terminal.clone()));
        StartedCall {
            running: host.call(call.clone(), self.timeout),
            host,
            terminal,
        }
    }

    /// Prints a message if the call was stopped or has failed.
    pub(super) fn tell(&self, tool: &str, end: &CallEnd, session: &CommandContext<'_>) {
        let outcome = &end.outcome;
        let message = match outcome.stopped {
            Some(why) => haft_render::outcome::stopped(tool, why, outcome.duration),
            None if outcome.is_error => format!("`{tool}` {}", end.failed),
            None => return,
        };
        let mut lines = format!("{}: {message}\n", session.err.error("error"));
        // The user cannot change a limit that the tool's own system sets, so give the hint for
        // haft's limits only.
        let limit = self.timeout.or(session.host.config().limits.call_timeout);
        if outcome.stopped == Some(Stopped::Deadline) && limit.is_some() {
            let hint = "`--timeout` sets how long a call may take";
            lines.push_str(&haft_render::problem::hint_line(hint, session.err));
        }
        say(&lines);
    }
}

impl CallEnd {
    /// Converts the result of a call and appends it to the session.
    pub(super) fn of(
        ended: Result<Outcome, Failure>,
        call: &Call,
        kept: Option<&CallSession>,
        ink: Ink,
    ) -> Result<CallEnd, Failure> {
        match ended {
            Ok(outcome) => {
                if let Some(kept) = kept {
                    kept.append(call, &outcome, ink);
                }
                Ok(CallEnd {
                    called: Called {
                        code: code_of(&outcome),
                        took: outcome.stopped.is_none().then_some(outcome.duration),
                    },
                    outcome,
                    failed: "reported an error",
                })
            }
            // A refusal becomes a result, as a model would get it. It is not appended to the
            // session.
            Err(Failure::Haft(error)) if error.kind() == ErrorKind::Denied => Ok(CallEnd {
                outcome: Outcome::failure(error.message(), Duration::ZERO),
                called: Called {
                    code: REFUSED,
                    took: None,
                },
                failed: "was refused",
            }),
            Err(failure) => Err(failure),
        }
    }
}
