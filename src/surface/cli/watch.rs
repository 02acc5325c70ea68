//! `haft watch`: watches the files and reports the result of every change.
//!
//! Prints one block of lines for each change, for people and for `| grep`. `--json` prints one line
//! each.

use std::time::Duration;

use serde::Serialize;
use tokio::sync::broadcast::error::RecvError;

use super::context::CommandContext;
use super::exit::{Failure, SUCCESS};
use crate::host::Reload;
use crate::surface::wire::{Listing, ReloadView};
use haft_render::style::Ink;
use haft_render::{problem, text, units};
use haft_tool::{TerminalText, terminal_text};

/// Watch the tools' files, and say what every change comes to
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft watch                         until Ctrl-C
  haft --tool ./draft.ts watch       while you write a tool
  haft watch --json | jq -r 'select(.event == \"reload\").reloaded[]'

Lines begin with + (new), - (gone), ~ (not what callers know), = (other code, same tool).
A file that is saved, a helper that it imports, a new tool, a removed one: each counts 150 ms after
the last write. A tool whose file is broken stays as it was until the file can be loaded.")]
pub(super) struct Args {
    /// Print a JSON object for the start and for each change
    #[arg(long)]
    pub(super) json: bool,
    /// Look at the files every so many seconds, for file systems that do not tell of changes
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    poll: Option<u64>,
}

#[derive(Serialize)]
#[serde(tag = "event", rename_all = "lowercase")]
enum Line<'a> {
    Ready(Listing<'a>),
    Reload(ReloadView<'a>),
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        let watching = match self.poll {
            Some(seconds) => session.host.watch_polling(Duration::from_secs(seconds)),
            None => session.host.watch(),
        };
        let mut reloads = watching.reloads();
        tokio::select! {
            biased;
            () = session.signals.next() => return Ok(SUCCESS),
            () = watching.ready() => {}
        }
        self.say_start(session).await?;
        let host = session.host.clone();
        // The user is about to change something, so load the cached modules in advance.
        tokio::spawn(async move { host.load_cached().await });
        loop {
            let reload = tokio::select! {
                biased;
                () = session.signals.next() => return Ok(SUCCESS),
                reload = reloads.recv() => reload,
            };
            match reload {
                Ok(reload) if self.json => {
                    let line = Line::Reload(ReloadView::from(&*reload));
                    session.out.json_line(&line)?;
                }
                Ok(reload) => {
                    let page = page(&reload, session, session.out.ink());
                    session.out.print(&page)?;
                    session.out.flush()?;
                }
                Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => return Ok(SUCCESS),
            }
        }
    }

    async fn say_start(&self, session: &mut CommandContext<'_>) -> Result<(), Failure> {
        let catalog = session.catalog().await?;
        if self.json {
            let line = Line::Ready(Listing::from(&*catalog));
            return Ok(session.out.json_line(&line)?);
        }
        let ink = session.out.ink();
        let mut page = TerminalText::new();
        for found in &catalog.problems {
            page.push(&problem::problem(found, session.home(), ink));
            page.push_literal("\n");
        }
        let tools = units::count(catalog.entries.len(), "tool");
        page.push(&terminal_text!("watching {tools}; Ctrl-C ends\n"));
        session.out.print(&page)?;
        Ok(session.out.flush()?)
    }
}

/// Renders a reload: one line per tool, and the problems below.
pub(super) fn page(reload: &Reload, session: &CommandContext<'_>, ink: Ink) -> TerminalText {
    let mut page = TerminalText::new();
    if let Some(change) = &reload.change {
        for added in &change.added {
            page.push(&terminal_text!("{} {added}\n", ink.good("+")));
        }
        for changed in &change.changed {
            page.push(&terminal_text!("{} {changed}\n", ink.warning("~")));
        }
        for removed in &change.removed {
            page.push(&terminal_text!("{} {removed}\n", ink.error("-")));
        }
    }
    let is_told = |name: &String| {
        let change = reload.change.as_deref();
        change.is_some_and(|change| change.changed.contains(name))
    };
    for reloaded in reload.reloaded.iter().filter(|name| !is_told(name)) {
        page.push(&terminal_text!("{} {reloaded}\n", ink.dim("=")));
    }
    for solved in &reload.solved {
        let message = text::first_line(&solved.message);
        page.push(&terminal_text!("{} {message}\n", ink.good("solved:")));
    }
    for found in &reload.problems {
        page.push(&problem::problem(found, session.home(), ink));
    }
    page
}
