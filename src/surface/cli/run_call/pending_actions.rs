//! Pending actions of a call at a terminal: the user applies or discards them before haft ends.

use std::sync::Arc;
use std::time::Duration;

use serde_json::json;
use serde_json::value::to_raw_value;
use tokio_util::sync::CancellationToken;

use super::{CallWaiter, WaitEvent};
use crate::host::Host;
use crate::surface::cli::context::CommandContext;
use crate::surface::cli::exit::Failure;
use crate::surface::cli::terminal::Terminal;
use crate::surface::terminal::say;
use haft_tool::{
    Answer, Approver, Call, Decision, Event, Outcome, Prompt, PromptOrigin, Question, TerminalText,
    UserInterface, terminal_text,
};
use haft_tool::{Error, ErrorKind};

const APPLY: &str = "Apply";
const DISCARD: &str = "Discard";

/// Asks about each pending action, the newest first. An action is discarded unless the user applies
/// it.
pub(super) async fn resolve(host: &Host, session: &mut CommandContext<'_>) -> Result<(), Failure> {
    // The call's spinner is gone, and an applied action may prompt the user as well.
    let terminal = Terminal::new(None, session.err, session.host.config(), true);
    let host = &host.with_ui(Arc::new(terminal.clone()));
    while let Some(label) = host.newest_pending() {
        let question = Question {
            from: PromptOrigin {
                call_id: None,
                tool: "resolve".to_owned(),
            },
            what: Prompt::Select {
                title: format!("Pending: {label}"),
                options: vec![APPLY.to_owned(), DISCARD.to_owned()],
            },
            timeout: None,
            withdrawn: CancellationToken::new(),
        };
        let answer = tokio::select! {
            biased;
            answer = UserInterface::ask(&terminal, question) => answer,
            () = session.signals.next() => Answer::Dismissed,
        };
        terminal.settle().await;
        let is_applied = answer == Answer::Text(APPLY.to_owned());
        let action = if is_applied { "apply" } else { "discard" };
        let outcome = run(host, action, session).await?;
        if outcome.is_error && is_applied {
            // The action is still pending. The user is asked again and may discard it.
            say(&terminal_text!(
                "{}: {}\n",
                session.err.error("error"),
                TerminalText::from_prose(&outcome.text()).framed()
            ));
            continue;
        }
        session
            .out
            .data(&haft_render::outcome::content(&outcome.content))?;
        session.out.flush()?;
    }
    Ok(())
}

async fn run(
    host: &Host,
    action: &str,
    session: &mut CommandContext<'_>,
) -> Result<Outcome, Failure> {
    let arguments = json!({ "action": action, "reason": "chosen at the terminal" });
    let call = Call {
        id: format!("resolve-{action}"),
        tool: "resolve".to_owned(),
        arguments: to_raw_value(&arguments).map_err(|error| {
            Error::new(ErrorKind::Internal, error.to_string()).with_source(error)
        })?,
    };
    // The user has just chosen the action, so it needs no further approval.
    let running = host.asking(Arc::new(Consent)).call(call, None);
    let mut following = CallWaiter::new(running, "resolve");
    loop {
        match following.next(&mut session.signals).await {
            WaitEvent::Event(Event::Started | Event::Update(_)) => {}
            WaitEvent::Event(Event::Finished(ended)) => match ended {
                Err(error) if error.kind() == ErrorKind::Denied => {
                    return Ok(Outcome::failure(error.message(), Duration::ZERO));
                }
                ended => return Ok(ended?),
            },
            WaitEvent::Cancelling(line) => say(&line),
            WaitEvent::Killed(error) => return Err(Failure::Killed(error)),
        }
    }
}

struct Consent;

#[async_trait::async_trait]
impl Approver for Consent {
    async fn ask(&self, _: haft_tool::ApprovalRequest) -> Decision {
        Decision::Approved
    }
}
