//! `haft call`: one tool, once, with its updates while it runs.
//!
//! The result goes to standard output in the form that was asked for; what happens
//! meanwhile goes to standard error, unless `--events` wants it as data.

mod drawn;

use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;
use serde_json::value::RawValue;

use super::call_input::Input;
use super::call_session::CallSession;
use super::exit::{Answer, Failure, REFUSED, code_of, say};
use super::flags::Approval;
use super::pending;
use super::progress::Progress;
use super::session::Session;
use super::terminal::Terminal;
use crate::config::{Flags, parse_duration};
use crate::error::{Error, ErrorKind};
use crate::host::RunningCall;
use crate::render;
use crate::surface::wire::OutcomeView;
use crate::tool::{Call, Event, Outcome, Stopped};

/// There is one call in the life of the program.
pub(super) const CALL_ID: &str = "call-1";

/// Call a tool
#[derive(clap::Args)]
#[command(after_help = "\
Values of --arg are typed by the tool's schema; a repeated one makes an array.
  key=value     number, boolean, null or text, as the schema says
  key:=JSON     exactly this JSON
  a.b=value     inside an object

Examples:
  haft call greet --arg name=Ada --arg times=2
  haft call search --arg tags=new --arg tags=open --arg 'range:=[1,10]'
  haft call greet '{\"name\": \"Ada\"}'
  jq -n '{name: \"Ada\"}' | haft call greet -
  haft call build --timeout 2m --json | jq .content
  haft call deploy --approval-mode always-ask

Exit codes:
  0 result    1 the tool reported an error    2 usage or bad arguments
  3 no such tool    4 refused    124 timed out    130 cancelled")]
pub(super) struct Args {
    /// The tool's name
    name: String,

    /// The arguments as a JSON object, or `-` to read it from standard input
    #[arg(conflicts_with = "pairs")]
    arguments: Option<String>,

    /// One argument (may be repeated)
    #[arg(long = "arg", alias = "param", value_name = "KEY=VALUE")]
    pairs: Vec<String>,

    /// Print the whole result as one JSON object
    #[arg(long)]
    json: bool,

    /// Print one JSON object a line: started, every update, the result
    #[arg(long, conflicts_with = "json")]
    events: bool,

    /// Stop the call after this time (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = time)]
    timeout: Option<Duration>,

    #[command(flatten)]
    approval: Approval,

    /// Print the whole text, however long it is
    #[arg(long)]
    full: bool,

    /// Show call and result as the tool draws them, with its updates while it runs
    #[arg(long, conflicts_with_all = ["json", "events"])]
    render: bool,

    /// Draw everything, not only the beginning
    #[arg(long, requires = "render")]
    expanded: bool,

    /// Draw in so many columns; default: those of the terminal, else 80
    #[arg(long, value_name = "COLUMNS", requires = "render", value_parser = columns)]
    width: Option<usize>,

    /// The session that the call belongs to: a name, or a file of JSON lines
    #[arg(long, value_name = "NAME|FILE")]
    session: Option<String>,

    /// Go on from this entry of the session, as a branch
    #[arg(long, value_name = "ENTRY", requires = "session")]
    from: Option<String>,
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

impl Args {
    /// The tool's name.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// In which form a failure is told.
    pub(super) fn answer(&self) -> Answer {
        if self.events {
            Answer::Event {
                call_id: CALL_ID,
                tool: self.name.clone(),
            }
        } else {
            Answer::json_if(self.json)
        }
    }

    /// The global flags and what this command adds to them.
    pub(super) fn over(&self, flags: Flags) -> Flags {
        Flags {
            by_name: true,
            spill_kb: self.full.then_some(0),
            ..self.approval.over(flags)
        }
    }

    /// The arguments as given.
    pub(super) fn input(&self) -> Result<Input, Error> {
        Input::read(self.arguments.as_deref(), &self.pairs)
    }

    pub(super) async fn run(&self, input: Input, session: &mut Session<'_>) -> Result<u8, Failure> {
        let lines = !self.json && !self.events;
        // Whoever pipes the arguments in by name sits there all the same.
        let is_attended = session.is_attended || self.arguments.as_deref() == Some("-");
        if lines && is_attended && io::stderr().is_terminal() {
            session.has_later();
        }
        // Loaded before the clock and the spinner of the call start.
        let entry = session.tool_to_call(&self.name).await?;
        let arguments = input.typed_by(&entry.tool)?;
        let kept = match &self.session {
            Some(name) => Some(
                CallSession::open(name, self.from.as_deref(), &session.host, session.err).await?,
            ),
            None => None,
        };
        let ended = self
            .call(
                Call {
                    id: kept
                        .as_ref()
                        .map_or_else(|| CALL_ID.into(), CallSession::call_id),
                    tool: self.name.clone(),
                    arguments,
                },
                is_attended,
                kept.as_ref(),
                session,
            )
            .await;
        if let Some(kept) = kept {
            kept.close(&session.host).await;
        }
        ended
    }

    /// Makes the call, and ends what it leaves pending.
    async fn call(
        &self,
        call: Call,
        is_attended: bool,
        kept: Option<&CallSession>,
        session: &mut Session<'_>,
    ) -> Result<u8, Failure> {
        if self.render {
            return self.run_drawn(call, is_attended, kept, session).await;
        }
        let lines = !self.json && !self.events;
        let mut progress = match self.events {
            true => Progress::Silent,
            false => Progress::for_call(&self.name, lines),
        };
        let (spinner, config) = (progress.spinner(), session.host.config());
        let terminal = Terminal::new(spinner, session.err, config, is_attended);
        let host = session.host.asking(Arc::new(terminal.clone()));
        let host = host.with_ui(Arc::new(terminal.clone()));
        let running = host.call(call.clone(), self.timeout);
        let ended = self
            .follow(running, &mut progress, &terminal, session)
            .await;
        terminal.settle().await;
        progress.end();
        if let (Some(kept), Ok(outcome)) = (kept, &ended) {
            kept.append(&call, outcome, session.err);
        }
        match ended {
            Ok(outcome) => {
                self.print(&outcome, session, "reported an error")?;
                pending::resolve(&host, session).await?;
                Ok(code_of(&outcome))
            }
            // A refusal is what a model would be given: a result.
            Err(Failure::Haft(error)) if error.kind() == ErrorKind::Denied => {
                let outcome = Outcome::failure(error.message(), Duration::ZERO);
                self.print(&outcome, session, "was refused")?;
                Ok(REFUSED)
            }
            Err(failure) => Err(failure),
        }
    }

    /// Follows a call to its end. Ctrl-C once asks it to stop, twice does not wait for it.
    async fn follow(
        &self,
        mut running: RunningCall,
        progress: &mut Progress,
        terminal: &Terminal,
        session: &mut Session<'_>,
    ) -> Result<Outcome, Failure> {
        let cancel = running.cancel_token();
        loop {
            let event = tokio::select! {
                biased;
                () = session.signals.next() => {
                    if cancel.is_cancelled() {
                        return Err(self.killed(session));
                    }
                    cancel.cancel();
                    terminal.settle().await;
                    progress.note(&self.cancelling());
                    continue;
                }
                event = running.next_event() => event,
            };
            match event {
                Some(Event::Started) => self.line(session, "started", Nothing {})?,
                Some(Event::Update(partial)) => {
                    let partial_result = &*partial;
                    self.line(session, "update", PartialResult { partial_result })?;
                    if let Some(text) = render::outcome::partial_text(&partial) {
                        progress.update(&text);
                    }
                }
                Some(Event::Finished | Event::Rejected { .. }) | None => break,
            }
        }
        let outcome = running.outcome();
        tokio::pin!(outcome);
        loop {
            tokio::select! {
                biased;
                ended = &mut outcome => return Ok(ended?),
                () = session.signals.next() => {
                    if cancel.is_cancelled() {
                        return Err(self.killed(session));
                    }
                    cancel.cancel();
                    terminal.settle().await;
                    progress.note(&self.cancelling());
                }
            }
        }
    }

    fn cancelling(&self) -> String {
        format!("cancelling `{}`; Ctrl-C again kills it\n", self.name)
    }

    fn killed(&self, session: &mut Session<'_>) -> Failure {
        session.killed = true;
        let text = format!("`{}` was killed", self.name);
        Error::new(ErrorKind::Stopped(Stopped::Cancelled), text).into()
    }

    fn line(
        &self,
        session: &mut Session<'_>,
        event: &'static str,
        rest: impl Serialize,
    ) -> Result<(), Failure> {
        if self.events {
            session.out.json_line(&EventLine {
                event,
                call_id: CALL_ID,
                tool: &self.name,
                rest,
            })?;
        }
        Ok(())
    }

    /// Prints a result; a failure is named by what it did (`failed`).
    fn print(
        &self,
        outcome: &Outcome,
        session: &mut Session<'_>,
        failed: &str,
    ) -> Result<(), Failure> {
        let view = OutcomeView::from(outcome);
        if self.events {
            self.line(session, "result", view)?;
        } else if self.json {
            session.out.json(&view)?;
        } else if let Some(display) = &outcome.display {
            render::outcome::write_display(session.out, display)?;
        } else {
            render::outcome::write_content(session.out, &outcome.content)?;
        }
        session.out.flush()?;
        self.tell_end(outcome, session, failed);
        Ok(())
    }

    /// Says how a call ended that did not end well.
    fn tell_end(&self, outcome: &Outcome, session: &Session<'_>, failed: &str) {
        let message = match outcome.stopped {
            Some(why) => render::outcome::stopped(&self.name, why, outcome.duration),
            None if outcome.is_error => format!("`{}` {failed}", self.name),
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

fn columns(text: &str) -> Result<usize, String> {
    const MOST: usize = 10_000;
    match text.parse() {
        Ok(columns @ 1..=MOST) => Ok(columns),
        _ => Err(format!("it is a number from 1 to {MOST}")),
    }
}

fn time(text: &str) -> Result<Duration, String> {
    const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);
    let time = parse_duration(text)?;
    if time.is_zero() || time > LONGEST {
        return Err("it must be more than nothing and no more than a year".into());
    }
    Ok(time)
}
