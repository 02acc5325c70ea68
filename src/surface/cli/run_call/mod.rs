//! Runs one call at the command line and shows its result.
//!
//! The result goes to standard output in the requested form. Updates go to standard error, unless
//! the form includes them.

mod bounds;
mod live_view;
mod waiter;

use std::io::Write;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::call_session::CallSession;
use super::context::CommandContext;
use super::exit::Failure;
use super::pending_actions;
use super::progress::Progress;
use super::terminal::Terminal;
use crate::host::RunningCall;
use crate::surface::wire::OutcomeView;
use bounds::{CallEnd, StartedCall};
use haft_tool::{Call, Event, Outcome};
pub(super) use waiter::{CallWaiter, WaitEvent};

/// Id of a call without a session.
pub(super) const CALL_ID: &str = "call-1";

/// Options for running and showing a call.
pub(super) struct CallOptions {
    pub(super) form: Form,
    /// Timeout of the call; `None` for the configured one.
    pub(super) timeout: Option<Duration>,
}

/// Output format of a result.
pub(super) enum Form {
    /// Text of the result.
    Text,
    /// One JSON object.
    Json,
    /// One JSON object per line for every event.
    Events,
    /// Rendering by the tool.
    Drawn(Frame),
}

/// Limits for the rendering.
pub(super) struct Frame {
    /// True to render everything instead of only the beginning.
    pub(super) expanded: bool,
    /// Width in columns; `None` for that of the terminal.
    pub(super) width: Option<usize>,
}

/// Summary of a finished call.
pub(super) struct Called {
    /// Exit code.
    pub(super) code: u8,
    /// Duration; `None` if the call was refused or stopped. The message about a stop contains the
    /// time.
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
    /// Returns true if the form is for people and not for programs.
    pub(super) fn is_for_people(&self) -> bool {
        matches!(self, Form::Text | Form::Drawn(_))
    }
}

impl CallOptions {
    /// Makes the call, appends it to the session, and resolves its pending actions.
    pub(super) async fn call(
        &self,
        call: Call,
        is_attended: bool,
        kept: Option<&CallSession>,
        session: &mut CommandContext<'_>,
    ) -> Result<Called, Failure> {
        if let Form::Drawn(frame) = &self.form {
            return self.draw(frame, call, is_attended, kept, session).await;
        }
        let tool = call.tool.clone();
        let mut progress = match self.form {
            Form::Events => Progress::Silent,
            _ => Progress::for_call(&tool, self.form.is_for_people()),
        };
        let StartedCall {
            host,
            terminal,
            running,
        } = self.begin(&call, progress.spinner(), is_attended, session);
        let ended = self
            .follow(running, &tool, &mut progress, &terminal, session)
            .await;
        terminal.settle().await;
        progress.end();
        let end = CallEnd::of(ended, &call, kept, session.err)?;
        self.print(&tool, &end.outcome, session)?;
        self.tell(&tool, &end, session);
        pending_actions::resolve(&host, session).await?;
        Ok(end.called)
    }

    /// Follows a call to its end.
    async fn follow(
        &self,
        running: RunningCall,
        tool: &str,
        progress: &mut Progress,
        terminal: &Terminal,
        session: &mut CommandContext<'_>,
    ) -> Result<Outcome, Failure> {
        let mut following = CallWaiter::new(running, tool);
        loop {
            match following.next(&mut session.signals).await {
                WaitEvent::Event(Event::Update(partial)) => {
                    let partial_result = &*partial;
                    self.line(tool, session, "update", PartialResult { partial_result })?;
                    if let Some(text) = haft_render::outcome::partial_text(&partial) {
                        progress.update(&text);
                    }
                }
                WaitEvent::Event(Event::Started) => {
                    self.line(tool, session, "started", Nothing {})?;
                }
                WaitEvent::Cancelling(line) => {
                    terminal.settle().await;
                    progress.note(&line);
                }
                WaitEvent::Event(Event::Finished(ended)) => {
                    // After a second Ctrl-C nothing else is waited for.
                    session.killed |= following.was_hurried();
                    return Ok(ended?);
                }
                WaitEvent::Killed(error) => return Err(Failure::Killed(error)),
            }
        }
    }

    fn line(
        &self,
        tool: &str,
        session: &mut CommandContext<'_>,
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

    /// Prints a result.
    fn print(
        &self,
        tool: &str,
        outcome: &Outcome,
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        let view = OutcomeView::from(outcome);
        match (&self.form, &outcome.display) {
            (Form::Events, _) => self.line(tool, session, "result", view)?,
            (Form::Json, _) => session.out.json(&view)?,
            (_, Some(display)) => haft_render::outcome::write_display(session.out, display)?,
            (_, None) => haft_render::outcome::write_content(session.out, &outcome.content)?,
        }
        session.out.flush()?;
        Ok(())
    }
}
