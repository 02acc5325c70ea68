//! `haft call`: calls one tool once and shows its updates while it runs.
//!
//! The result goes to standard output in the requested form. Updates go to standard error, unless
//! `--events` includes them as data.

use std::path::PathBuf;
use std::time::Duration;

use super::call_input::Input;
use super::call_session::CallSession;
use super::context::CommandContext;
use super::debug::DebugFlags;
use super::exit::{Answer, Failure};
use super::flags::Approval;
use super::run_call::{CALL_ID, CallOptions, Form, Frame, TestToSave};
use crate::tool_test::Recorder;
use haft_config::{Flags, parse_duration};
use haft_tool::Call;
use haft_tool::Error;

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
  haft call render --queue --detach           haft queue wait ID: docs/nats.md
  haft call greet --inspect-brk               waits for a debugger: docs/debugging.md

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

    /// Let the call load files of a trusted project that are not trusted yet, then offer to add them
    #[arg(long)]
    learn: bool,

    /// With --learn: trust the files without a question
    #[arg(long, requires = "learn")]
    yes: bool,

    /// Put the call where it waits for a host and survives a restart, print its id, and wait for its
    /// end; see docs/nats.md
    #[arg(long, conflicts_with_all = ["record", "session", "render", "learn", "timeout"])]
    queue: bool,

    /// With --queue: do not wait
    #[arg(long, requires = "queue")]
    detach: bool,

    /// Record the call and save it as a tool test, beside the tool's file or in this one; see
    /// docs/testing.md
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true)]
    record: Option<Option<PathBuf>>,

    /// With --record: the name of the test
    #[arg(long, value_name = "NAME", requires = "record")]
    test_name: Option<String>,

    #[command(flatten)]
    debugging: DebugFlags,

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

impl Args {
    /// Returns the name of the tool.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Returns the format in which a failure is reported if events are printed.
    pub(super) fn event_answer(&self) -> Option<Answer> {
        self.events.then(|| Answer::Event {
            call_id: CALL_ID,
            tool: self.name.clone(),
        })
    }

    /// Returns the global flags with the additions of this command.
    pub(super) fn over(&self, flags: Flags) -> Flags {
        Flags {
            by_name: true,
            spill_kb: self.full.then_some(0),
            ..self.approval.over(flags)
        }
    }

    /// Parses the arguments as given.
    pub(super) fn input(&self) -> Result<Input, Error> {
        Input::read(self.arguments.as_deref(), &self.pairs)
    }

    pub(super) async fn run(
        &self,
        input: Input,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        let mut manner = self.manner();
        // With `-` the arguments are piped in, but a user may still be at the terminal.
        let is_attended = session.is_attended || self.arguments.as_deref() == Some("-");
        if manner.form.is_for_people() && is_attended && crate::surface::terminal::is_terminal() {
            session.supports_pending_actions();
        }
        if self.learn {
            session.learns()?;
        }
        // Loaded first, so that loading is not part of the call's time and spinner.
        let entry = session.tool_to_call(&self.name).await?;
        let arguments = input.typed_by(&entry.tool)?;
        let debugged = self.debugging.begin(&entry, session).await?;
        if debugged.is_some() {
            // The host is another one now.
            session.tool_to_call(&self.name).await?;
        }
        let kept = match &self.session {
            Some(name) => Some(
                CallSession::open(name, self.from.as_deref(), &session.host, session.err).await?,
            ),
            None => None,
        };
        let call = Call {
            id: kept
                .as_ref()
                .map_or_else(|| CALL_ID.into(), CallSession::call_id),
            tool: self.name.clone(),
            arguments,
        };
        if self.queue {
            let queued = manner.queue(call, self.detach, is_attended, session).await;
            return queued.map(|called| called.code);
        }
        if let Some(file) = &self.record {
            let cwd = &session.host.config().cwd;
            let file = file.as_ref().map(|file| cwd.join(file));
            let recorder = Recorder::of(&session.host, &call).await?;
            recorder.check(self.test_name.as_deref(), file.as_deref())?;
            let name = self.test_name.clone();
            manner.test = Some(TestToSave {
                recorder,
                file,
                name,
            });
        }
        let ended = manner.call(call, is_attended, kept.as_ref(), session).await;
        if let Some(kept) = kept {
            kept.close(&session.host).await;
        }
        let profiled = match (debugged, &ended) {
            (Some(debugged), Ok(_)) => debugged.finish(&session.host).await,
            _ => Ok(()),
        };
        if self.learn {
            session.offer_learned(self.yes).await?;
        }
        match ended {
            Ok(called) => profiled.map(|()| called.code),
            Err(failure) => {
                // After a second Ctrl-C nothing else is waited for.
                session.killed |= matches!(&failure, Failure::Killed(_));
                Err(failure)
            }
        }
    }

    fn manner(&self) -> CallOptions {
        let form = if self.events {
            Form::Events
        } else if self.json {
            Form::Json
        } else if self.render {
            Form::Drawn(Frame {
                expanded: self.expanded,
                width: self.width,
            })
        } else {
            Form::Text
        };
        CallOptions {
            form,
            timeout: self.timeout,
            test: None,
        }
    }
}

fn columns(text: &str) -> Result<usize, String> {
    const MAX_WIDTH: usize = 10_000;
    match text.parse() {
        Ok(columns @ 1..=MAX_WIDTH) => Ok(columns),
        _ => Err(format!("it is a number from 1 to {MAX_WIDTH}")),
    }
}

/// Parses the timeout of calls.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    const MAX_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);
    let time = parse_duration(text)?;
    if time.is_zero() || time > MAX_TIMEOUT {
        return Err("it must be more than nothing and no more than a year".into());
    }
    Ok(time)
}
