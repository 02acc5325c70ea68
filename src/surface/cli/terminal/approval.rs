//! The question whether a call may run. It is answered with a whole line: no single key is consent.

use std::io;
use std::os::fd::OwnedFd;

use super::tty::{Heard, Tty};
use crate::render::ink::Ink;
use crate::render::text;
use crate::surface::cli::exit::say;
use crate::surface::stdout::Size;
use crate::tool::consent::{FRAME, Room};
use crate::tool::{ApprovalRequest, Decision};

/// Asks until there is an answer, or `wake` fires.
pub(super) fn ask(request: &ApprovalRequest, ink: Ink, wake: &OwnedFd) -> io::Result<Decision> {
    let mut terminal = Tty::by_lines()?;
    let size = Size::of(io::stderr());
    let room = size.map_or(Room::of(0, 0), |size| Room::of(size.columns, size.rows));
    let (lines, is_cut) = question(request, room, ink);
    say(&lines);
    let choice = match is_cut {
        true => "Approve or Deny? [a/d, v: view all] ",
        false => "Approve or Deny? [a/d] ",
    };
    loop {
        // Standard error is not held while the user thinks: Ctrl-C is answered there too.
        say(choice);
        let Heard::This(answer) = terminal.line(wake)? else {
            say("\n");
            return Ok(Decision::Denied);
        };
        match answer.trim().to_lowercase().as_str() {
            "a" | "approve" | "y" | "yes" => return Ok(Decision::Approved),
            "d" | "deny" | "n" | "no" => return Ok(Decision::Denied),
            "v" | "view" if is_cut => {
                say(&question(request, room.without_end(), ink).0);
                // The first line may have left the screen.
                say(&format!("{}\n", title(request, ink)));
            }
            _ => {}
        }
    }
}

/// The words are the original's (spec omp 10); those of the tool and the arguments stand in a frame.
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
