//! `haft repl`: a prompt for trying tools without a model.
//!
//! At a terminal there is a line editor, results are rendered by their tools, and changed files are
//! reloaded. Otherwise the lines come from standard input and run one after another.

mod approving;
mod arguments;
mod commands;
mod complete;
mod completion_data;
mod dispatch;
mod editor;
mod help;
mod highlight;
mod history;
mod interactive;
mod line;
mod notifications;
mod prompt;
mod script;
mod session;
mod state;
mod words;

use std::fs::File;
use std::time::Duration;

use super::call;
use super::context::CommandContext;
use super::exit::Failure;
use super::flags::Approval;
use super::run_call::{CallOptions, Form, Frame};
use haft_config::Flags;
use state::Shell;

/// Timeout for leaving, after which running work is killed.
const LEAVING: Duration = Duration::from_millis(500);

/// Try the tools at a prompt, without a model
#[derive(clap::Args)]
#[command(after_help = "\
At the prompt:
  NAME                       call a tool; Tab completes names, arguments and values
  NAME key=value list:=[1]   with arguments, typed by the tool's schema; also --key value
  NAME {\"key\": \"value\"}      the same as JSON, over several lines if need be
  /help                      the other commands: /tools /tool /refresh /problems /session
                             /approve /history /quit

Ctrl-C cancels a call, a second one ends it by force; Ctrl-D leaves.
Without a terminal the lines are read from standard input, results are printed as text, and the
exit code is 1 if one of them failed. Lines that begin with # are remarks.

Examples:
  haft repl
  haft --tool ./draft.ts repl        while you write a tool
  haft repl --session work           go on with a session
  printf 'greet name=Ada\\ngreet name=Bob\\n' | haft repl")]
pub(super) struct Args {
    /// The session that calls belong to: a name, or a file of JSON lines; default: a new one
    #[arg(long, value_name = "NAME|FILE")]
    session: Option<String>,

    /// Go on from this entry of the session, as a branch
    #[arg(long, value_name = "ENTRY", requires = "session")]
    from: Option<String>,

    /// Print results as text, not as the tools draw them
    #[arg(long)]
    plain: bool,

    /// Draw everything, not only the beginning
    #[arg(long, conflicts_with = "plain")]
    expanded: bool,

    /// Stop calls after this time (`500ms`, `30s`, `2m`)
    #[arg(long, value_name = "TIME", value_parser = call::time)]
    timeout: Option<Duration>,

    #[command(flatten)]
    approval: Approval,

    /// Print the whole text of results, however long it is
    #[arg(long)]
    full: bool,
}

impl Args {
    /// Returns the global flags with the additions of this command.
    pub(super) fn over(&self, flags: Flags) -> Flags {
        Flags {
            by_name: true,
            spill_kb: self.full.then_some(0),
            ..self.approval.over(flags)
        }
    }

    pub(super) async fn run(
        &self,
        session: &mut CommandContext<'_>,
        input: File,
    ) -> Result<u8, Failure> {
        let has_terminal = session.is_attended && crate::surface::terminal::is_terminal();
        session.shutdown_timeout = LEAVING;
        if has_terminal {
            session.supports_pending_actions();
        }
        let manner = self.manner(has_terminal && session.out.is_terminal());
        let mut shell = Shell::start(self, manner, has_terminal, session)?;
        let ended = if has_terminal {
            interactive::run(&mut shell).await
        } else {
            script::run(&mut shell, input).await
        };
        shell.leave().await;
        ended
    }

    fn manner(&self, is_drawn: bool) -> CallOptions {
        let form = if is_drawn && !self.plain {
            Form::Drawn(Frame {
                expanded: self.expanded,
                width: None,
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
