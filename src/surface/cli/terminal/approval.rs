//! Approval prompt for a call. The answer is a whole line, since a single key could be accidental.

use std::io;
use std::os::fd::OwnedFd;

use super::tty::{Heard, Tty};
use crate::surface::cli::exit::say;
use crate::surface::stdout::Size;
use haft_render::style::Ink;
use haft_render::text;
use haft_tool::consent::{FRAME, Room};
use haft_tool::{ApprovalRequest, Decision};

/// Asks until the user answers or `wake` fires.
pub(super) fn ask(request: &ApprovalRequest, ink: Ink, wake: &OwnedFd) -> io::Result<Decision> {
    let mut terminal = Tty::by_lines()?;
    let size = Size::of(io::stderr());
    let room = size.map_or(Room::of(0, 0), |size| Room::of(size.columns, size.rows));
    let (lines, is_cut) = question(request, room, ink);
    say(&lines);
    let can_be_remembered = request.can_be_remembered();
    if can_be_remembered {
        say("`always` approves later calls of this tool too.\n");
    }
    let choice = if is_cut {
        "Approve or Deny? [a/d, v: view all] "
    } else {
        "Approve or Deny? [a/d] "
    };
    loop {
        // Standard error is not locked while the user thinks, since the message about Ctrl-C goes
        // there too.
        say(choice);
        let Heard::This(answer) = terminal.line(wake)? else {
            say("\n");
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
                say(&format!("{}\n", title(request, ink)));
            }
            _ => {}
        }
    }
}

/// Returns the text of the prompt, in oh-my-pi's words (spec omp 10). The tool's own text and the
/// arguments are framed.
fn question(request: &ApprovalRequest, room: Room, ink: Ink) -> (String, bool) {
    let consent = request.consent(room);
    let mut lines = format!("{}\n", title(request, ink));
    for line in &consent.lines {
        match line.strip_prefix(FRAME) {
            Some(rest) => lines.push_str(&format!("{}{rest}\n", ink.dim(FRAME))),
            None => lines.push_str(&format!("{line}\n")),
        }
    }
    (lines, consent.is_cut)
}

fn title(request: &ApprovalRequest, ink: Ink) -> String {
    format!("Allow tool: {}", ink.bold(text::name(&request.tool)))
}
