//! Runs one call at the command line and shows its result.
//!
//! The result goes to standard output in the requested form. Updates go to standard error, unless
//! the form includes them. The first Ctrl-C cancels the call, and the second one kills it.

mod live_view;
mod pending_actions;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::{Instant, sleep_until};
use tokio_util::sync::{CancellationToken, DropGuard};

use super::call_session::CallSession;
use super::context::CommandContext;
use super::exit::{Failure, REFUSED, code_of};
use super::progress::{Progress, Spinner};
use super::terminal::Terminal;
use crate::host::{Host, RunningCall};
use crate::surface::queued_view::{QueuedQuestionView, question_line};
use crate::surface::signals::Signals;
use crate::surface::terminal::say;
use crate::surface::wire::OutcomeView;
use crate::tool_test::Recorder;
use haft_nats::{Asked, OpenQuestion, Queue, QueueEvent};
use haft_render::style::Ink;
use haft_tool::{
    Call, Cancellation, Event, NotificationFrom, Outcome, PromptOrigin, Question, Stopped,
    TerminalText, UserInterface, terminal_text,
};
use haft_tool::{Error, ErrorKind};

/// Id of a call without a session.
pub(super) const CALL_ID: &str = "call-1";

/// Exit code of a wait that a signal ended.
const INTERRUPTED: u8 = 130;

/// Time to wait for a call after it was killed. A call that hangs in the system, or a container
/// that stops slowly, must not block the prompt.
const FORCE_TAKES: Duration = Duration::from_millis(500);

/// Options for running and showing a call.
pub(super) struct CallOptions {
    pub(super) form: Form,
    /// Timeout of the call; `None` for the configured one.
    pub(super) timeout: Option<Duration>,
    /// The test that the call becomes, if it is recorded.
    pub(super) test: Option<TestToSave>,
}

/// A recorded call that is saved as a test.
pub(super) struct TestToSave {
    pub(super) recorder: Recorder,
    /// The file of the test, if it is not the one beside the tool.
    pub(super) file: Option<PathBuf>,
    /// The name of the test, if it is not made of the call.
    pub(super) name: Option<String>,
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

/// A started call with the terminal that its prompts use.
struct StartedCall {
    host: Host,
    terminal: Terminal,
    running: RunningCall,
}

/// Result of a call with its exit code.
struct CallEnd {
    outcome: Outcome,
    called: Called,
    /// Verb phrase for the message about a failure.
    failed: &'static str,
    /// Hint of the message about a refusal.
    hint: Option<String>,
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

/// Details of the outcome of a call that was put into a queue.
#[derive(Deserialize)]
struct Place {
    queued: Queued,
}

#[derive(Deserialize, Serialize)]
struct Queued {
    id: String,
    remote: String,
}

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
        let (host, ended) = self.run(&call, is_attended, session).await;
        let end = CallEnd::of(ended, &call, kept, session.err)?;
        self.print(&tool, &end.outcome, session)?;
        self.tell(&tool, &end, session);
        self.save_test(&end, session)?;
        pending_actions::resolve(&host, session).await?;
        Ok(end.called)
    }

    /// Puts a call into the queue of the hosts that have the tool, and waits for its end, unless it is
    /// left there.
    pub(super) async fn queue(
        &self,
        call: Call,
        is_detached: bool,
        is_attended: bool,
        session: &mut CommandContext<'_>,
    ) -> Result<Called, Failure> {
        let tool = call.tool.clone();
        session.host = session.host.queueing();
        let (_, ended) = self.run(&call, is_attended, session).await;
        let end = CallEnd::of(ended, &call, None, session.err)?;
        let Ok(Place { queued }) = serde_json::from_value(end.outcome.details.clone()) else {
            // It was refused, or stopped before it was put there.
            self.print(&tool, &end.outcome, session)?;
            self.tell(&tool, &end, session);
            return Ok(end.called);
        };
        if is_detached {
            match self.form {
                Form::Text | Form::Drawn(_) => {
                    session.out.print_line(&terminal_text!("{}", queued.id))?
                }
                Form::Json => session.out.json(&queued)?,
                Form::Events => self.line(&tool, session, "queued", &queued)?,
            }
            session.out.flush()?;
            return Ok(end.called);
        }
        match self.form {
            Form::Events => self.line(&tool, session, "queued", &queued)?,
            _ => say(&terminal_text!("queued as {}\n", queued.id)),
        }
        let queue = session.host.remote_hosts(&queued.remote)?.queue().await?;
        self.wait_for_queued(&queue, &queued.id, is_attended, session)
            .await
    }

    /// Waits for the end of a queued call and shows it. Meanwhile it shows the progress, and asks the
    /// user what the call asks. A signal ends the waiting and not the call.
    pub(super) async fn wait_for_queued(
        &self,
        queue: &Queue,
        id: &str,
        is_attended: bool,
        session: &mut CommandContext<'_>,
    ) -> Result<Called, Failure> {
        let mut following = queue.follow(id).await;
        let tool = following.read().await?.call.tool.clone();
        let mut progress = match self.form {
            Form::Events => Progress::Silent,
            _ => Progress::for_call(&tool, self.form.is_for_people()),
        };
        let config = session.host.config();
        let terminal = Terminal::new(progress.spinner(), session.err, config, is_attended);
        let mut questions = QueuedQuestions::new(queue, id, &tool, &terminal);
        let ended = loop {
            let event = tokio::select! {
                biased;
                () = session.signals.next() => break None,
                () = questions.answered() => continue,
                event = following.next() => event?,
            };
            match event {
                QueueEvent::State(call) => {
                    if let Some(message) = &call.message {
                        progress.update(message);
                    }
                    for question in questions.look(&call.questions) {
                        let view = QueuedQuestionView::from(question);
                        self.line(&tool, session, "question", view)?;
                        if !terminal.has_user() && self.form.is_for_people() {
                            let text = question_line(question);
                            progress.note(&terminal_text!(
                                "the call asks: {text}\nit waits: `haft queue answer {id} VALUE`\n"
                            ));
                        }
                    }
                }
                QueueEvent::Update(partial) => {
                    let partial_result = &*partial;
                    self.line(&tool, session, "update", PartialResult { partial_result })?;
                    if let Some(text) = haft_render::outcome::partial_text(&partial) {
                        progress.update(&text);
                    }
                }
                QueueEvent::Tell(what) => {
                    let from = questions.from.clone();
                    terminal.tell(NotificationFrom { from, what });
                }
                // As with other calls, the log file has them.
                QueueEvent::Log(_) => {}
                QueueEvent::Ended(ended) => break Some(ended),
            }
        };
        drop(questions);
        terminal.settle().await;
        progress.end();
        let Some(ended) = ended else {
            say(&terminal_text!(
                "the call goes on: `haft queue wait {id}`, `haft queue cancel {id}`\n"
            ));
            return Ok(Called {
                code: INTERRUPTED,
                took: None,
            });
        };
        let made = Call {
            id: id.to_owned(),
            tool: tool.clone(),
            arguments: Box::default(),
        };
        let end = CallEnd::of(ended.map_err(Failure::from), &made, None, session.err)?;
        self.print(&tool, &end.outcome, session)?;
        self.tell(&tool, &end, session);
        Ok(end.called)
    }

    /// Makes the call and shows its progress. Returns the host that made it.
    async fn run(
        &self,
        call: &Call,
        is_attended: bool,
        session: &mut CommandContext<'_>,
    ) -> (Host, Result<Outcome, Failure>) {
        let mut progress = match self.form {
            Form::Events => Progress::Silent,
            _ => Progress::for_call(&call.tool, self.form.is_for_people()),
        };
        let StartedCall {
            host,
            terminal,
            running,
        } = self.begin(call, progress.spinner(), is_attended, session);
        let ended = self
            .follow(running, &call.tool, &mut progress, &terminal, session)
            .await;
        terminal.settle().await;
        progress.end();
        (host, ended)
    }

    /// Starts a call. Its prompts replace `spinner` on the screen.
    fn begin(
        &self,
        call: &Call,
        spinner: Option<Spinner>,
        is_attended: bool,
        session: &CommandContext<'_>,
    ) -> StartedCall {
        let terminal = Terminal::new(spinner, session.err, session.host.config(), is_attended);
        let test = self.test.as_ref();
        let host = test.map_or(&session.host, |test| test.recorder.host());
        let host = host.asking(Arc::new(terminal.clone()));
        let host = host.with_ui(Arc::new(terminal.clone()));
        StartedCall {
            running: host.call(call.clone(), self.timeout),
            host,
            terminal,
        }
    }

    /// Saves a recorded call as a test, and says where.
    fn save_test(&self, end: &CallEnd, session: &CommandContext<'_>) -> Result<(), Failure> {
        let Some(TestToSave {
            recorder,
            file,
            name,
        }) = &self.test
        else {
            return Ok(());
        };
        let config = session.host.config();
        let test = recorder.finish(Ok(&end.outcome))?;
        let saved = test.save(name.as_deref(), file.as_deref())?;
        let path = saved.path.strip_prefix(&config.cwd).unwrap_or(&saved.path);
        let answers = match test.answers() {
            0 => "without recorded answers".to_owned(),
            1 => "with 1 recorded answer".to_owned(),
            many => format!("with {many} recorded answers"),
        };
        let path = path.display();
        let name = haft_render::text::first_line(&saved.name);
        let mut lines = terminal_text!("test `{name}` {answers}: {path}\n");
        for note in &test.notes {
            let note = haft_render::text::first_line(note);
            lines.push(&terminal_text!("{}: {note}\n", session.err.warning("note")));
        }
        say(&lines);
        Ok(())
    }

    /// Prints a message if the call was stopped or has failed.
    fn tell(&self, tool: &str, end: &CallEnd, session: &CommandContext<'_>) {
        let outcome = &end.outcome;
        let message = match outcome.stopped {
            Some(why) => haft_render::outcome::stopped(tool, why, outcome.duration),
            None if outcome.is_error => terminal_text!("`{tool}` {}", end.failed),
            None => return,
        };
        let mut lines = terminal_text!("{}: {message}\n", session.err.error("error"));
        // The user cannot change a limit that the tool's own system sets, so give the hint for
        // haft's limits only.
        let limit = self.timeout.or(session.host.config().limits.call_timeout);
        if outcome.stopped == Some(Stopped::Deadline) && limit.is_some() {
            let hint = "`--timeout` sets how long a call may take";
            lines.push(&haft_render::problem::hint_line(hint, session.err));
        }
        if let Some(hint) = &end.hint {
            lines.push(&haft_render::problem::hint_line(hint, session.err));
        }
        say(&lines);
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
            (_, Some(display)) => session.out.print(&haft_render::outcome::display(display))?,
            (_, None) => session
                .out
                .data(&haft_render::outcome::content(&outcome.content))?,
        }
        session.out.flush()?;
        Ok(())
    }
}

/// The questions of a queued call at the terminal. Dropping it withdraws them.
struct QueuedQuestions<'a> {
    queue: &'a Queue,
    id: &'a str,
    terminal: &'a Terminal,
    from: PromptOrigin,
    /// The open questions with what withdraws them. The call may be answered elsewhere.
    open: HashMap<u64, DropGuard>,
    asked: FuturesUnordered<BoxFuture<'a, u64>>,
}

impl<'a> QueuedQuestions<'a> {
    fn new(queue: &'a Queue, id: &'a str, tool: &str, terminal: &'a Terminal) -> Self {
        QueuedQuestions {
            queue,
            id,
            terminal,
            from: PromptOrigin {
                call_id: Some(id.to_owned()),
                tool: tool.to_owned(),
            },
            open: HashMap::new(),
            asked: FuturesUnordered::new(),
        }
    }

    /// Asks the user what is new, and withdraws what is not asked any more. Returns what is new.
    fn look<'q>(&mut self, now: &'q [OpenQuestion]) -> Vec<&'q OpenQuestion> {
        let ids: Vec<u64> = now.iter().map(|question| question.id).collect();
        self.open.retain(|id, _| ids.contains(id));
        let mut new = Vec::new();
        for question in now {
            if self.open.contains_key(&question.id) {
                continue;
            }
            let withdrawn = CancellationToken::new();
            self.open
                .insert(question.id, withdrawn.clone().drop_guard());
            new.push(question);
            if self.terminal.has_user() {
                self.asked
                    .push(Box::pin(self.ask(question.clone(), withdrawn)));
            }
        }
        new
    }

    /// Asks one question and gives the answer to the call.
    fn ask(
        &self,
        question: OpenQuestion,
        withdrawn: CancellationToken,
    ) -> impl Future<Output = u64> + 'a {
        let (queue, terminal, id) = (self.queue, self.terminal, self.id);
        let from = self.from.clone();
        async move {
            let answer = match question.asked {
                Asked::Prompt { prompt, timeout } => {
                    let asked = Question {
                        from,
                        what: prompt,
                        timeout,
                        withdrawn: withdrawn.clone(),
                    };
                    tokio::select! {
                        biased;
                        () = withdrawn.cancelled() => return question.id,
                        answer = UserInterface::ask(terminal, asked) => answer.into(),
                    }
                }
                // A terminal shows no such forms.
                Asked::Request { .. } => Value::Null,
            };
            let answered = async {
                let asking = queue.read(id).await?;
                queue.answer(&asking, question.id, answer).await
            };
            if let Err(error) = answered.await {
                // Others may have answered it.
                tracing::debug!("an answer was not taken: {error}");
            }
            question.id
        }
    }

    /// Waits until a question has its answer.
    async fn answered(&mut self) {
        match self.asked.next().await {
            Some(_) => {}
            None => std::future::pending().await,
        }
    }
}

impl CallEnd {
    /// Converts the result of a call and appends it to the session.
    fn of(
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
                    hint: None,
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
                hint: error.hint().map(str::to_owned),
            }),
            Err(failure) => Err(failure),
        }
    }
}

/// A call that is followed to its end. Dropping it cancels the call.
pub(super) struct CallWaiter {
    running: RunningCall,
    cancellation: Cancellation,
    /// Deadline for the end of the call, once it was killed.
    until: Option<Instant>,
    tool: String,
}

/// Event for the caller to show.
pub(super) enum WaitEvent {
    /// The next event of the call.
    Event(Event),
    /// The call was asked to stop. Contains the message for the user.
    Cancelling(TerminalText),
    /// The call was killed but has not ended, so the wait was given up.
    Killed(Error),
}

impl CallWaiter {
    /// Starts to follow a call to `tool`.
    pub(super) fn new(running: RunningCall, tool: &str) -> Self {
        CallWaiter {
            cancellation: running.cancellation(),
            running,
            until: None,
            tool: tool.to_owned(),
        }
    }

    /// Waits for the next event. Cancel safe.
    pub(super) async fn next(&mut self, signals: &mut Signals) -> WaitEvent {
        loop {
            // The end comes first, so that an ended call does not count as killed.
            if self.was_hurried()
                && let Some(event) = self.running.next_event().now_or_never()
            {
                return WaitEvent::Event(event);
            }
            tokio::select! {
                biased;
                // Signals come first, so that many updates cannot delay Ctrl-C.
                () = signals.next() => if let Some(seen) = self.interrupted() {
                    return seen;
                },
                () = passed(self.until) => return self.given_up(),
                event = self.running.next_event() => return WaitEvent::Event(event),
            }
        }
    }

    /// Returns true after the second Ctrl-C.
    pub(super) fn was_hurried(&self) -> bool {
        self.until.is_some()
    }

    fn interrupted(&mut self) -> Option<WaitEvent> {
        if self.was_hurried() {
            return Some(self.given_up());
        }
        if self.cancellation.is_cancelled() {
            self.cancellation.kill();
            self.until = Some(Instant::now() + FORCE_TAKES);
            return None;
        }
        self.cancellation.cancel();
        let tool = &self.tool;
        let line = terminal_text!("cancelling `{tool}`; Ctrl-C again kills it\n");
        Some(WaitEvent::Cancelling(line))
    }

    fn given_up(&self) -> WaitEvent {
        let kind = ErrorKind::Stopped(Stopped::Cancelled);
        WaitEvent::Killed(Error::new(
            kind,
            format!("`{}` was killed, but has not ended yet", self.tool),
        ))
    }
}

async fn passed(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
