//! A program that has the terminal while it runs: the user's editor.
//!
//! The opposite of every other child: our session, our terminal, no bounds, no deadline. It is the
//! user who ends it. Never for tools.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::process::ExitStatus;

/// Runs `line`, a command line of the user's own such as `code --wait`, with one more argument,
/// and waits for its end. Blocks.
///
/// # Errors
/// When not even the shell that splits the line can be started.
#[expect(
    clippy::disallowed_methods,
    reason = "`Spawn` takes the terminal away, which is what an editor needs"
)]
pub(crate) fn in_foreground(line: &str, argument: &OsStr) -> io::Result<ExitStatus> {
    // As git does it: quotes in the line mean what they mean to a shell, and the argument is one
    // whatever is in it.
    let mut command = std::process::Command::new("sh");
    // Our standard input may be data, or kept from tools.
    if let Ok(terminal) = File::open("/dev/tty") {
        command.stdin(terminal);
    }
    command
        .arg("-c")
        .arg(format!("{line} \"$@\""))
        .arg(line)
        .arg(argument)
        .status()
}
