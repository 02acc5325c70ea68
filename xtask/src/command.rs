//! Runs other programs, without keyboard input.
//!
//! A task that starts something long shows the command first, so that the user can repeat it by
//! hand.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use crate::error::{During, Error, Result};

/// Shows the command, runs it with its output on ours, and fails if it fails.
pub fn run(command: &mut Command) -> Result<()> {
    show(command);
    let status = status(command)?;
    if status.success() {
        return Ok(());
    }
    Err(failed(command, status))
}

/// Runs the command with its output on ours; the caller handles its exit status.
pub fn status(command: &mut Command) -> Result<ExitStatus> {
    command
        .stdin(Stdio::null())
        .status()
        .during(|| format!("start `{}`", display(command)))
}

/// Runs the command silently and returns its output; its error messages are shown if it fails.
pub fn output(command: &mut Command) -> Result<String> {
    let output = command
        .stdin(Stdio::null())
        .output()
        .during(|| format!("start `{}`", display(command)))?;
    if !output.status.success() {
        eprint!("{}", String::from_utf8_lossy(&output.stdout));
        eprint!("{}", String::from_utf8_lossy(&output.stderr));
        return Err(failed(command, output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

pub fn show(command: &Command) {
    eprintln!("$ {}", display(command));
}

/// Returns the command as a person would type it.
pub fn display(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(quote).collect::<Vec<_>>().join(" ")
}

/// Returns the path of the program with this name, if it is on the `PATH`.
pub fn on_path(name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH")?;
    env::split_paths(&path)
        .map(|directory| directory.join(name))
        .find(|candidate| candidate.is_file())
}

/// Returns the cargo that started us.
pub fn cargo(directory: &Path) -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(directory);
    cargo
}

pub fn failed(command: &Command, status: ExitStatus) -> Error {
    Error::Command {
        command: display(command),
        ended: status.to_string(),
        hint: None,
    }
}

fn quote(word: &OsStr) -> String {
    let word = word.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.into_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shown_commands_can_be_pasted_into_a_shell() {
        let mut command = Command::new("haft");
        command.args(["call", "greet", r#"{"name":"O'Hara"}"#, ""]);
        assert_eq!(
            display(&command),
            r#"haft call greet '{"name":"O'\''Hara"}' ''"#
        );
    }
}
