//! A program that has the terminal while it runs: the user's editor.
//!
//! Unlike every other child it runs in haft's session with haft's terminal, without limits and
//! without a deadline. The user ends it. Tools never use it.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::process::ExitStatus;

/// Runs `line`, a command line that the user configured, such as `code --wait`, with one more
/// argument, and waits for its end. Blocks the thread.
///
/// # Errors
/// If the shell that splits the line cannot be started.
#[expect(
    clippy::disallowed_methods,
    reason = "`Spawn` takes the terminal away, which is what an editor needs"
)]
pub fn in_foreground(line: &str, argument: &OsStr) -> io::Result<ExitStatus> {
    // Git does the same: the shell interprets quotes in the line, and the argument stays one word
    // whatever it contains.
    let mut command = std::process::Command::new("sh");
    // Our standard input may contain data, or must not be read by programs.
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
