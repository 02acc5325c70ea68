//! Approval prompt for a call. The answer is a whole line, since a single key could be accidental.

use std::io;
use std::os::fd::OwnedFd;

use super::tty::{Heard, Tty};
use crate::surface::terminal::{self, say};
use haft_render::style::Ink;
use haft_tool::FRAME;
use haft_tool::consent::Room;
use haft_tool::{ApprovalRequest, Decision, TerminalText, terminal_text};

/// Asks until the user answers or `wake` fires.
pub(super) fn ask(request: &ApprovalRequest, ink: Ink, wake: &OwnedFd) -> io::Result<Decision> {
    let mut terminal = Tty::by_lines()?;
    let size = terminal::size();
    let room = size.map_or(Room::of(0, 0), |size| Room::of(size.columns, size.rows));
    let (lines, is_cut) = question(request, room, ink);
    say(&lines);
    let can_be_remembered = request.can_be_remembered();
    if can_be_remembered {
        say(&"`always` approves later calls of this tool too.\n".into());
    }
    let choice = if is_cut {
        "Approve or Deny? [a/d, v: view all] "
    } else {
        "Approve or Deny? [a/d] "
    };
    loop {
        // Standard error is not locked while the user thinks, since the message about Ctrl-C goes
        // there too.
        say(&choice.into());
        let Heard::This(answer) = terminal.line(wake)? else {
            say(&"\n".into());
            return Ok(Decision::Denied);
        };
        match answer.trim().to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => return Ok(Decision::Approved),
            // The whole word, since it counts for more than this call.
            "always" if can_be_remembered => return Ok(Decision::AlwaysApproved),
            "d" | "deny" | "n" | "no" => return Ok(Decision::Denied),
            "v" | "view" if is_cut => {
                say(&question(request, room.without_end(), ink).0);
                // The title may have scrolled off the screen.
                say(&terminal_text!("{}\n", title(request, ink)));
            }
            _ => {}
        }
    }
}

/// Returns the text of the prompt, in oh-my-pi's words (spec omp 10). The tool's own text and the
/// arguments are framed.
fn question(request: &ApprovalRequest, room: Room, ink: Ink) -> (TerminalText, bool) {
    let consent = request.consent(room);
    let mut lines = terminal_text!("{}\n", title(request, ink));
    for line in &consent.lines {
        if line.as_str().starts_with(FRAME) {
            lines.push(&ink.dim(FRAME));
            lines.push(&line.part(|line| line.trim_start_matches(FRAME)));
        } else {
            lines.push(line);
        }
        lines.push_literal("\n");
    }
    (lines, consent.is_cut)
}

fn title(request: &ApprovalRequest, ink: Ink) -> TerminalText {
    terminal_text!("Allow tool: {}", ink.bold(&request.tool))
}
