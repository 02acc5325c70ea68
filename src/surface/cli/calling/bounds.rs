//! The beginning and the end of a call, which are the same however it is shown meanwhile.

use std::sync::Arc;
use std::time::Duration;

use super::{Called, Manner};
use crate::error::ErrorKind;
use crate::host::{Host, RunningCall};
use crate::render;
use crate::render::ink::Ink;
use crate::surface::cli::call_session::CallSession;
use crate::surface::cli::exit::{Failure, REFUSED, code_of, say};
use crate::surface::cli::progress::Spinner;
use crate::surface::cli::session::Session;
use crate::surface::cli::terminal::Terminal;
use crate::tool::{Call, Outcome, Stopped};

/// A call on its way, and the person at the terminal whom it may ask.
pub(super) struct Begun {
    pub(super) host: Host,
    pub(super) terminal: Terminal,
    pub(super) running: RunningCall,
}

/// How a call ended.
pub(super) struct End {
    pub(super) outcome: Outcome,
    pub(super) called: Called,
    /// What a failure did.
    failed: &'static str,
}

impl Manner {
    /// Starts a call. What it asks is asked in place of `spinner`.
    pub(super) fn begin(
        &self,
        call: &Call,
        spinner: Option<Spinner>,
        is_attended: bool,
        session: &Session<'_>,
    ) -> Begun {
        let terminal = Terminal::new(spinner, session.err, session.host.config(), is_attended);
        let host = session.host.asking(Arc::new(terminal.clone()));
        let host = host.with_ui(Arc::new(terminal.clone()));
        Begun {
            running: host.call(call.clone(), self.timeout),
            host,
            terminal,
        }
    }

    /// Says how a call ended that did not end well.
    pub(super) fn tell(&self, tool: &str, end: &End, session: &Session<'_>) {
        let outcome = &end.outcome;
        let message = match outcome.stopped {
            Some(why) => render::outcome::stopped(tool, why, outcome.duration),
            None if outcome.is_error => format!("`{tool}` {}", end.failed),
            None => return,
        };
        let mut lines = format!("{}: {message}\n", session.err.error("error"));
        // A limit of the tool's own system is not the call's to set.
        let limit = self.timeout.or(session.host.config().limits.call_timeout);
        if outcome.stopped == Some(Stopped::Deadline) && limit.is_some() {
            let hint = "`--timeout` sets how long a call may take";
            lines.push_str(&render::problem::hint_line(hint, session.err));
        }
        say(&lines);
    }
}

impl End {
    /// Keeps what the call came to in its session.
    pub(super) fn of(
        ended: Result<Outcome, Failure>,
        call: &Call,
        kept: Option<&CallSession>,
        ink: Ink,
    ) -> Result<End, Failure> {
        match ended {
            Ok(outcome) => {
                if let Some(kept) = kept {
                    kept.append(call, &outcome, ink);
                }
                Ok(End {
                    called: Called {
                        code: code_of(&outcome),
                        took: outcome.stopped.is_none().then_some(outcome.duration),
                    },
                    outcome,
                    failed: "reported an error",
                })
            }
            // A refusal is what a model would be given: a result. Nobody keeps it.
            Err(Failure::Haft(error)) if error.kind() == ErrorKind::Denied => Ok(End {
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
