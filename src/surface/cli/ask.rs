//! Asks the person at the terminal whether a call may run.
//!
//! The question goes to standard error, the answer comes from the terminal itself: standard input
//! may be the arguments. What was typed before the question is no answer to it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, IsTerminal};

use async_trait::async_trait;
use rustix::termios::{QueueSelector, tcflush};

use super::exit::say;
use super::progress::Spinner;
use crate::render::ink::Ink;
use crate::render::text;
use crate::tool::{ApprovalRequest, Approver, Decision};

/// Asks at the terminal, if there is one.
pub(super) struct Terminal {
    spinner: Option<Spinner>,
    ink: Ink,
}

impl Terminal {
    /// Asks in place of `spinner`.
    pub(super) fn new(spinner: Option<Spinner>, ink: Ink) -> Self {
        Terminal { spinner, ink }
    }
}

#[async_trait]
impl Approver for Terminal {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        if !io::stderr().is_terminal() {
            return Decision::NobodyToAsk;
        }
        if let Some(spinner) = &self.spinner {
            spinner.rest();
        }
        let question = question(&request, self.ink);
        let asked = tokio::task::spawn_blocking(move || ask(&question)).await;
        if let Some(spinner) = &self.spinner {
            spinner.go_on();
        }
        match asked {
            Ok(Ok(decision)) => decision,
            // No terminal to read from, or one that went away.
            Ok(Err(_)) | Err(_) => Decision::NobodyToAsk,
        }
    }
}

/// The words are the original's (spec omp 10). A tool's own are cleaned: they must not redraw the
/// question that they are part of.
fn question(request: &ApprovalRequest, ink: Ink) -> String {
    let tool = text::first_line(&request.tool);
    let mut lines = format!("Allow tool: {}\n", ink.bold(tool));
    if let Some(reason) = &request.reason {
        lines.push_str(&format!("Reason: {}\n", text::first_line(reason)));
    }
    for line in request.details.as_deref().unwrap_or_default().lines() {
        lines.push_str(&format!("{}\n", text::clean(line)));
    }
    lines
}

fn ask(question: &str) -> io::Result<Decision> {
    let terminal = File::open("/dev/tty")?;
    say(question);
    // An impatient Enter from before is not consent.
    let _ = tcflush(&terminal, QueueSelector::IFlush);
    let mut answers = BufReader::new(terminal);
    loop {
        // Standard error is not held while the user thinks: Ctrl-C is answered there too.
        say("Approve or Deny? [a/d] ");
        let mut answer = String::new();
        if answers.read_line(&mut answer)? == 0 {
            say("\n");
            return Ok(Decision::Denied);
        }
        match answer.trim().to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => return Ok(Decision::Approved),
            "d" | "deny" | "n" | "no" => return Ok(Decision::Denied),
            _ => {}
        }
    }
}
