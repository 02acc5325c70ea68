//! `haft queue`: looks after calls that wait for a host, or run on one, and their results.

use std::io::Write;

use clap::Subcommand;
use serde::Serialize;

use super::context::{CommandContext, on_host};
use super::exit::{Failure, SUCCESS};
use super::flags::{Globals, With};
use super::run_call::{CallOptions, Form};
use crate::surface::stdout::Out;
use haft_nats::{Queue, QueuedCall};
use haft_render::table::{self, Column, Fit};
use haft_tool::{Error, Timestamp};

/// List queued calls, wait for them and cancel them
#[derive(clap::Args)]
#[command(subcommand_required = true, arg_required_else_help = true)]
#[command(after_help = "\
Examples:
  haft call render --arg scene=42 --queue --detach
  haft queue list
  haft queue wait 01JDQ7T4ZCNV0C5E8MZJ3R1F6K
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

/// Show the state of a call
#[derive(clap::Args)]
struct Show {
    #[command(flatten)]
    one: One,
}

/// Wait for the end of a call and print its result, as `haft call` does
#[derive(clap::Args)]
struct Wait {
    #[command(flatten)]
    one: One,
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

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallView<'a> {
    id: &'a str,
    tool: &'a str,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cancelling: Option<bool>,
    caller: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<String>,
    attempts: u32,
    queued_at: String,
}

impl Args {
    pub(super) async fn run(&self, globals: &Globals, out: &mut Out) -> Result<u8, Failure> {
        on_host(globals, out, async |session| match &self.verb {
            Verb::List(c) => c.args.run(session).await,
            Verb::Show(c) => c.args.run(session).await,
            Verb::Wait(c) => c.args.run(session).await,
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
            let views: Vec<_> = calls.iter().map(CallView::of).collect();
            out.json(&views)?;
        } else if calls.is_empty() {
            writeln!(
                out,
                "there are no queued calls; `haft call TOOL --queue` makes one"
            )?;
        } else {
            let rows: Vec<_> = calls.iter().map(row).collect();
            let page = table::render(&COLUMNS, &rows, out.width(), out.ink());
            out.write_all(page.as_bytes())?;
        }
        Ok(SUCCESS)
    }
}

impl Show {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let call = queue.show(&self.one.id).await?;
        self.one.print(&call, session)
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
        let waited = manner.wait_for_queued(&queue, &self.one.id, session).await;
        waited.map(|called| called.code)
    }
}

impl Cancel {
    async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let queue = self.one.place.queue(session).await?;
        let call = queue.cancel(&self.one.id).await?;
        self.one.print(&call, session)
    }
}

impl One {
    fn print(&self, call: &QueuedCall, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let out = &mut *session.out;
        if self.json {
            out.json(&CallView::of(call))?;
        } else {
            let page = table::render(&COLUMNS, &[row(call)], out.width(), out.ink());
            out.write_all(page.as_bytes())?;
        }
        Ok(SUCCESS)
    }
}

impl CallView<'_> {
    fn of(call: &QueuedCall) -> CallView<'_> {
        CallView {
            id: &call.id,
            tool: &call.tool,
            status: call.status.as_str(),
            cancelling: call.is_cancelling.then_some(true),
            caller: &call.caller,
            host: call
                .host
                .as_ref()
                .map(|host| haft_render::text::name(&host.name)),
            attempts: call.attempts,
            queued_at: Timestamp::of(call.queued).timestamp(),
        }
    }
}

fn row(call: &QueuedCall) -> Vec<String> {
    let state = if call.is_cancelling {
        "cancelling"
    } else {
        call.status.as_str()
    };
    let host = call
        .host
        .as_ref()
        .map(|host| haft_render::text::name(&host.name));
    vec![
        call.id.clone(),
        call.tool.clone(),
        state.to_owned(),
        host.unwrap_or_default(),
        Timestamp::of(call.queued).timestamp(),
    ]
}
