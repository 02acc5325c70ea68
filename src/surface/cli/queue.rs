//! `haft queue`: looks after calls that wait for a host, or run on one, and their results.

use clap::Subcommand;
use serde_json::Value;

use super::context::{CommandContext, on_host};
use super::exit::{Failure, SUCCESS};
use super::flags::{Globals, With};
use super::run_call::{CallOptions, Form};
use crate::surface::queued_view::{QueuedView, question_line};
use crate::surface::stdout::Out;
use haft_nats::{Asked, OpenQuestion, Queue, QueuedCall};
use haft_render::table::{self, Column, Fit};
use haft_render::text;
use haft_tool::{Error, ErrorKind, Prompt, Timestamp, terminal_text};

/// List queued calls, wait for them, answer their questions and cancel them
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  haft call render --arg scene=42 --queue --detach
  haft queue list
  haft queue wait 01JDQ7T4ZCNV0C5E8MZJ3R1F6K
  haft queue answer 01JDQ7T4ZCNV0C5E8MZJ3R1F6K yes
  haft queue cancel 01JDQ7T4ZCNV0C5E8MZJ3R1F6K

The NATS server of `remote` keeps the calls and their results, so any host with the same `remote` has
them. docs/nats.md has the rest.")]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Subcommand)]
enum Verb {
    List(With<List>),
    Show(With<Show>),
    Wait(With<Wait>),
    Answer(With<Give>),
    Cancel(With<Cancel>),
}

/// List the calls that are known, oldest first
#[derive(clap::Args)]
struct List {
    #[command(flatten)]
    place: Place,

    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// Show the state of a call, its open questions and what it has said last
#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    one: One,
}

/// Wait for the end of a call and print its result, as `haft call` does; at a terminal, ask what it asks
#[derive(clap::Args)]
struct Wait {
    #[command(flatten)]
    one: One,
}

/// Answer a question of a call
#[derive(clap::Args)]
struct Give {
    #[command(flatten)]
    one: One,

    /// The answer: an option, a text, or `yes` or `no`; for a request of an MCP server the result as JSON
    #[arg(required_unless_present = "dismiss")]
    value: Option<String>,

    /// The number of the question, if there are several
    #[arg(long, value_name = "NUMBER")]
    question: Option<u64>,

    /// Give no answer; the call goes on without one
    #[arg(long, conflicts_with = "value")]
    dismiss: bool,
}

/// Cancel a call: one that waits ends at once, and the host of one that runs is asked to end it
#[derive(clap::Args)]
struct Cancel {
    #[command(flatten)]
    one: One,
}

/// The place of the queue.
#[derive(clap::Args)]
struct Place {
    /// The entry of `remote` in the configuration, if there are several
    #[arg(long, value_name = "NAME")]
    remote: Option<String>,
}

impl Place {
    async fn queue(&self, session: &CommandContext<'_>) -> Result<Queue, Error> {
        let hosts = session.host.remote_hosts_or_only(self.remote.as_deref())?;
        hosts.queue().await
    }
}

/// One call.
#[derive(clap::Args)]
struct One {
    /// Its id
    id: String,

    #[command(flatten)]
    place: Place,

    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

const COLUMNS: [Column; 5] = [
    Column::new("ID", Fit::Whole),
    Column::new("TOOL", Fit::Whole),
    Column::new("STATE", Fit::Whole),
    Column::new("HOST", Fit::Whole),
    Column::new("QUEUED", Fit::Whole),
];

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        on_host(globals, out, async |session| match &self.verb {
            Verb::List(c) => c.args.run(session).await,
            Verb::Show(c) => c.args.run(session).await,
            Verb::Wait(c) => c.args.run(session).await,
            Verb::Answer(c) => c.args.run(session).await,
            Verb::Cancel(c) => c.args.run(session).await,
        })
        .await
    }
}

impl List {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.place.queue(session).await?;
        let calls = queue.list().await?;
        let out = &mut *session.out;
        if self.json {
            let views: Vec<_> = calls.iter().map(QueuedView::from).collect();
            out.json(&views)?;
        } else if calls.is_empty() {
            out.print_line(&terminal_text!(
                "there are no queued calls; `haft call TOOL --queue` makes one"
            ))?;
        } else {
            let rows: Vec<_> = calls.iter().map(row).collect();
            let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
            out.print(&page)?;
        }
        Ok(SUCCESS)
    }
}

impl Show {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let read = queue.read(&self.one.id).await?;
        self.one.print(&read.call, session)
    }
}

impl Wait {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let manner = CallOptions {
            form: if self.one.json {
                Form::Json
            } else {
                Form::Text
            },
            timeout: None,
            test: None,
        };
        let is_attended = session.is_attended;
        let waited = manner.wait_for_queued(&queue, &self.one.id, is_attended, session);
        let waited = waited.await;
        waited.map(|called| called.code)
    }
}

impl Give {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let read = queue.read(&self.one.id).await?;
        let open = &read.call.questions;
        let question = match self.question {
            Some(number) => open.iter().find(|question| question.id == number),
            None => open.first().filter(|_| open.len() == 1),
        };
        let question = question.ok_or_else(|| self.no_question(open))?;
        let value = match &self.value {
            Some(text) => answer_of(&question.asked, text)?,
            None => Value::Null,
        };
        let answered = queue.answer(&read, question.id, value).await?;
        self.one.print(&answered.call, session)
    }

    fn no_question(&self, open: &[OpenQuestion]) -> Error {
        let text = match (open, self.question) {
            ([], _) => "the call has no open question".to_owned(),
            (_, Some(number)) => format!("the call has no open question {number}"),
            (_, None) => "the call has several open questions".to_owned(),
        };
        let hint = format!("`haft queue show {}` shows them", self.one.id);
        Error::new(ErrorKind::Usage, text).with_hint(hint)
    }
}

/// Returns the value of an answer as it was typed.
fn answer_of(asked: &Asked, text: &str) -> Result<Value, Error> {
    let wrong = |text: &str| Error::new(ErrorKind::Usage, text);
    match asked {
        Asked::Prompt {
            prompt: Prompt::Confirm { .. },
            ..
        } => match text {
            "yes" | "true" => Ok(true.into()),
            "no" | "false" => Ok(false.into()),
            _ => Err(wrong("the answer is `yes` or `no`")),
        },
        Asked::Prompt { prompt, .. } => {
            let value = Value::from(text);
            if prompt.accepts(&value) {
                return Ok(value);
            }
            let error = wrong("the answer is not one of the options");
            Err(match prompt {
                Prompt::Select { options, .. } => error.with_hint(options.join(", ")),
                _ => error,
            })
        }
        Asked::Request { .. } => serde_json::from_str(text)
            .map_err(|error| wrong(&format!("the answer is not JSON: {error}"))),
    }
}

impl Cancel {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let read = queue.read(&self.one.id).await?;
        let cancelled = queue.cancel(&read).await?;
        self.one.print(&cancelled.call, session)
    }
}

impl One {
    fn print(&self, call: &QueuedCall, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let out = &mut *session.out;
        if self.json {
            out.json(&QueuedView::from(call))?;
        } else {
            let page = table::render(&COLUMNS, &[row(call)], out.width(), out.ink());
            out.print(&page)?;
            for question in &call.questions {
                let text = question_line(question);
                out.print_line(&terminal_text!("question {}: {text}", question.id))?;
            }
            if let Some(message) = &call.message {
                out.print_line(&terminal_text!("message: {}", text::last_line(message)))?;
            }
        }
        Ok(SUCCESS)
    }
}

fn row(call: &QueuedCall) -> Vec<String> {
    let state = if call.is_cancelling {
        "cancelling"
    } else {
        call.status.as_str()
    };
    let host = call.host.as_ref().map(|host| host.name.clone());
    vec![
        call.id.clone(),
        call.tool.clone(),
        state.to_owned(),
        host.unwrap_or_default(),
        Timestamp::of(call.queued).timestamp(),
    ]
}
