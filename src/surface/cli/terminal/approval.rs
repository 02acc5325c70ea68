//! The question whether a call may run. It is answered with a whole line: no single key is consent.

use std::io;
use std::os::fd::OwnedFd;

use super::tty::{Heard, Tty};
use crate::render::ink::Ink;
use crate::render::text;
use crate::surface::cli::exit::say;
use crate::tool::{ApprovalRequest, Decision};

/// Asks until there is an answer, or `wake` fires.
pub(super) fn ask(request: &ApprovalRequest, ink: Ink, wake: &OwnedFd) -> io::Result<Decision> {
    let mut terminal = Tty::by_lines()?;
    say(&question(request, ink));
    loop {
        // Standard error is not held while the user thinks: Ctrl-C is answered there too.
        say("Approve or Deny? [a/d] ");
        let Heard::This(answer) = terminal.line(wake)? else {
            say("\n");
            return Ok(Decision::Denied);
        };
        match answer.trim().to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => return Ok(Decision::Approved),
            "d" | "deny" | "n" | "no" => return Ok(Decision::Denied),
            _ => {}
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
