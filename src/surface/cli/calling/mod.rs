//! One call at the command line, from its start to what is shown of its end.
//!
//! The result goes to standard output in the form that was asked for; what happens meanwhile goes to
//! standard error, unless the form has lines for it.

mod drawn;
mod following;

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::call_session::CallSession;
use super::exit::{Failure, REFUSED, code_of, say};
use super::pending;
use super::progress::Progress;
use super::session::Session;
use super::terminal::Terminal;
use crate::error::ErrorKind;
use crate::host::RunningCall;
use crate::render;
use crate::surface::wire::OutcomeView;
use crate::tool::{Call, Event, Outcome, Stopped};
pub(super) use following::{Following, Seen};

/// The id of a call that belongs to no session.
pub(super) const CALL_ID: &str = "call-1";

/// How a call is made and shown.
pub(super) struct Manner {
    pub(super) form: Form,
    /// The longest that it may take; without it the configuration's limit holds.
    pub(super) timeout: Option<Duration>,
}

/// In which form a result is printed.
pub(super) enum Form {
    /// Its text.
    Text,
    /// One JSON object.
    Json,
    /// One JSON object a line for everything that happens.
    Events,
    /// As the tool draws it.
    Drawn(Frame),
}

/// What a drawing has to fit.
pub(super) struct Frame {
    /// Draw everything, not only the beginning.
    pub(super) expanded: bool,
    /// Columns; `None`: those of the terminal.
    pub(super) width: Option<usize>,
}

/// How a call went.
pub(super) struct Called {
    /// The exit code for it.
    pub(super) code: u8,
    /// `None`: it was refused, or stopped, which has been said with the time.
    pub(super) took: Option<Duration>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct EventLine<'a, T> {
    event: &'static str,
    call_id: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    rest: T,
}

#[derive(Serialize)]
struct Nothing {}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PartialResult<'a> {
    partial_result: &'a RawValue,
}

impl Form {
    /// Whether a person reads it, and not a program.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Form::Text | Form::Drawn(_))
    }
}

impl Called {
    fn with(outcome: &Outcome) -> Called {
        Called {
            code: code_of(outcome),
            took: outcome.stopped.is_none().then_some(outcome.duration),
        }
    }

    const REFUSED: Called = Called {
        code: REFUSED,
        took: None,
    };
}

impl Manner {
    /// Makes the call, keeps it in the session, and ends what it leaves pending.
    pub(super) async fn call(
        &self,
        call: Call,
        is_attended: bool,
        kept: Option<&CallSession>,
        session: &mut Session<'_>,
    ) -> Result<Called, Failure> {
        if let Form::Drawn(frame) = &self.form {
            return self.draw(frame, call, is_attended, kept, session).await;
        }
        let tool = call.tool.clone();
        let mut progress = match self.form {
            Form::Events => Progress::Silent,
            _ => Progress::for_call(&tool, self.form.is_for_people()),
        };
        let (spinner, config) = (progress.spinner(), session.host.config());
        let terminal = Terminal::new(spinner, session.err, config, is_attended);
        let host = session.host.asking(Arc::new(terminal.clone()));
        let host = host.with_ui(Arc::new(terminal.clone()));
        let running = host.call(call.clone(), self.timeout);
        let ended = self
            .follow(running, &tool, &mut progress, &terminal, session)
            .await;
        terminal.settle().await;
        progress.end();
        if let (Some(kept), Ok(outcome)) = (kept, &ended) {
            kept.append(&call, outcome, session.err);
        }
        match ended {
            Ok(outcome) => {
                self.print(&tool, &outcome, session, "reported an error")?;
                pending::resolve(&host, session).await?;
                Ok(Called::with(&outcome))
            }
            // A refusal is what a model would be given: a result.
            Err(Failure::Haft(error)) if error.kind() == ErrorKind::Denied => {
                let outcome = Outcome::failure(error.message(), Duration::ZERO);
                self.print(&tool, &outcome, session, "was refused")?;
                Ok(Called::REFUSED)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Follows a call to its end.
    async fn follow(
        &self,
        running: RunningCall,
        tool: &str,
        progress: &mut Progress,
        terminal: &Terminal,
        session: &mut Session<'_>,
    ) -> Result<Outcome, Failure> {
        let mut following = Following::new(running, tool);
        loop {
            match following.next(&mut session.signals).await {
                Seen::Event(Event::Update(partial)) => {
                    let partial_result = &*partial;
                    self.line(tool, session, "update", PartialResult { partial_result })?;
                    if let Some(text) = render::outcome::partial_text(&partial) {
                        progress.update(&text);
                    }
                }
                Seen::Event(_) => self.line(tool, session, "started", Nothing {})?,
                Seen::Cancelling(line) => {
                    terminal.settle().await;
                    progress.note(&line);
                }
                Seen::Ended(ended) => return Ok(ended?),
                Seen::Killed(error) => return Err(Failure::Killed(error)),
            }
        }
    }

    fn line(
        &self,
        tool: &str,
        session: &mut Session<'_>,
        event: &'static str,
        rest: impl Serialize,
    ) -> Result<(), Failure> {
        if matches!(self.form, Form::Events) {
            session.out.json_line(&EventLine {
                event,
                call_id: CALL_ID,
                tool,
                rest,
            })?;
        }
        Ok(())
    }

    /// Prints a result; a failure is named by what it did (`failed`).
    fn print(
        &self,
        tool: &str,
        outcome: &Outcome,
        session: &mut Session<'_>,
        failed: &str,
    ) -> Result<(), Failure> {
        let view = OutcomeView::from(outcome);
        match (&self.form, &outcome.display) {
            (Form::Events, _) => self.line(tool, session, "result", view)?,
            (Form::Json, _) => session.out.json(&view)?,
            (_, Some(display)) => render::outcome::write_display(session.out, display)?,
            (_, None) => render::outcome::write_content(session.out, &outcome.content)?,
        }
        session.out.flush()?;
        self.tell_end(tool, outcome, session, failed);
        Ok(())
    }

    /// Says how a call ended that did not end well.
    fn tell_end(&self, tool: &str, outcome: &Outcome, session: &Session<'_>, failed: &str) {
        let message = match outcome.stopped {
            Some(why) => render::outcome::stopped(tool, why, outcome.duration),
            None if outcome.is_error => format!("`{tool}` {failed}"),
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
