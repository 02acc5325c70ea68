//! `haft tool test`: runs the tests that a tool file contains, one after the other.

use std::sync::Arc;

use super::super::context::CommandContext;
use super::super::exit::{FAILURE, Failure, SUCCESS};
use super::super::flags::Globals;
use super::super::run_call::{CallWaiter, WaitEvent};
use super::super::terminal::Terminal;
use super::failed;
use super::run::{first, the_tool};
use super::scope::ScopeArgs;
use crate::host::Host;
use crate::registry::Entry;
use crate::surface::stdout::Out;
use haft_config::Flags;
use haft_render::{text, units};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};
use haft_tool::{Event, Outcome, Stopped, Test};

/// Test a tool with its defined tests
#[derive(clap::Args)]
pub(super) struct Args {
    /// The tool's name
    name: String,

    #[command(flatten)]
    scope: ScopeArgs,

    /// Only this test
    #[arg(long, value_name = "TEST_NAME")]
    test: Option<String>,

    /// Stop after the first failure
    #[arg(long)]
    stop_on_failure: bool,
}

#[derive(Default)]
struct Count {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Args {
    pub(super) async fn run(
        &self,
        is_verbose: bool,
        globals: &Globals,
        out: &mut Out,
    ) -> Result<u8, Failure> {
        let scope = self.scope.to_search()?;
        let flags = Flags {
            by_name: true,
            ..first(globals.flags(), globals, &self.name, scope)?
        };
        CommandContext::with(flags, out, async |session| {
            let entry = the_tool(session, &self.name, scope).await?;
            self.run_all(&entry, is_verbose, session).await
        })
        .await
    }

    async fn run_all(
        &self,
        entry: &Entry,
        is_verbose: bool,
        session: &mut CommandContext<'_>,
    ) -> Result<u8, Failure> {
        if !entry.tool.trusted {
            // The tests would run code that the user has not reviewed.
            let text = format!("`{}` comes from a project that is not trusted", self.name);
            let hint = "`haft trust` shows what would run, and asks";
            return Err(Error::new(ErrorKind::Untrusted, text)
                .with_hint(hint)
                .into());
        }
        let name = &self.name;
        let mut tests = entry.tests();
        if let Some(wanted) = &self.test {
            let known: Vec<String> = tests.iter().map(|test| test.name.clone()).collect();
            tests.retain(|test| test.name == *wanted);
            if tests.is_empty() {
                let error = failed(format!("Tool '{name}' has no test '{wanted}'"));
                let hint = if known.is_empty() {
                    "it has none at all".to_owned()
                } else {
                    format!("there are `{}`", known.join("`, `"))
                };
                return Err(error.with_hint(hint).into());
            }
        }
        if tests.is_empty() {
            session
                .out
                .print_line(&terminal_text!("Tool '{name}' has no tests."))?;
            return Ok(SUCCESS);
        }
        let (err, is_attended) = (session.err, session.is_attended);
        let terminal = Terminal::new(None, err, session.host.config(), is_attended);
        let host = session.host.asking(Arc::new(terminal));
        let mut count = Count::default();
        for test in &tests {
            self.run_one(entry, test, is_verbose, &host, &mut count, session)
                .await?;
            if self.stop_on_failure && count.failed > 0 {
                break;
            }
        }
        let mut summary = format!("{} passed, {} failed", count.passed, count.failed);
        if count.skipped > 0 {
            summary.push_str(&format!(", {} skipped", count.skipped));
        }
        session.out.print_line(&terminal_text!("\n{summary}"))?;
        Ok(if count.failed > 0 { FAILURE } else { SUCCESS })
    }

    async fn run_one(
        &self,
        entry: &Entry,
        test: &Test,
        is_verbose: bool,
        host: &Host,
        count: &mut Count,
        session: &mut CommandContext<'_>,
    ) -> Result<(), Failure> {
        let name = &test.name;
        let ink = session.out.ink();
        if let Some(why) = &test.skipped {
            count.skipped += 1;
            session
                .out
                .print_line(&terminal_text!("{} {name} ({why})", ink.dim("skip")))?;
            return Ok(());
        }
        let outcome = outcome(entry, test, host, session).await?;
        if !outcome.is_error {
            count.passed += 1;
            let time = units::time(outcome.duration);
            session.out.print_line(&terminal_text!(
                "{} {name} {}",
                ink.good("pass"),
                ink.dim(time)
            ))?;
        } else {
            count.failed += 1;
            session
                .out
                .print_line(&terminal_text!("{} {name}", ink.error("FAIL")))?;
            let why = TerminalText::from_prose(&outcome.text()).indented("  ");
            session.out.print(&why)?;
        }
        let notes = outcome.details["notes"].as_array();
        for note in notes.into_iter().flatten().filter_map(|note| note.as_str()) {
            session
                .out
                .print_line(&terminal_text!("  note: {}", text::first_line(note)))?;
        }
        if is_verbose {
            if let Some(description) = &test.description {
                session
                    .out
                    .print_line(&terminal_text!("  {}", text::first_line(description)))?;
            }
            let output = outcome.details["output"].as_str().unwrap_or_default();
            let output = TerminalText::from_prose(output).indented("  | ");
            session.out.print(&output)?;
        }
        session.out.flush()?;
        Ok(())
    }
}

/// Runs one test. Ctrl-C ends it and all following tests.
async fn outcome(
    entry: &Entry,
    test: &Test,
    host: &Host,
    session: &mut CommandContext<'_>,
) -> Result<Outcome, Failure> {
    let mut following = CallWaiter::new(host.test(entry, test), &test.name);
    let outcome = loop {
        match following.next(&mut session.signals).await {
            WaitEvent::Event(Event::Finished(ended)) => break ended?,
            WaitEvent::Event(_) | WaitEvent::Cancelling(_) => {}
            WaitEvent::Killed(_) => {
                session.killed = true;
                return Err(interrupted(&test.name));
            }
        }
    };
    match outcome.stopped {
        Some(Stopped::Cancelled | Stopped::HostShutdown) => Err(interrupted(&test.name)),
        _ => Ok(outcome),
    }
}

fn interrupted(test: &str) -> Failure {
    let text = format!("interrupted at the test `{test}`");
    Error::new(ErrorKind::Stopped(Stopped::Cancelled), text).into()
}
