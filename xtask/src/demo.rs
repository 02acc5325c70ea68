//! `cargo xtask demo`: from a fresh clone to tools that run, on the terminal.
//!
//! The commands are shown as a person would type them. They work on a temporary git repository, a
//! copy of the examples that is removed afterwards.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use clap::Args;

use crate::error::{During, Error, Result};
use crate::{command, programs, workspace};

/// Get what is missing, build haft, then list and call a tool of `example-tools/`.
#[derive(Args)]
pub struct Demo {}

const EXAMPLES: &str = "example-tools/js";
const TOOL: &str = "example-tools/js/repo-stats/index.ts";

impl Demo {
    pub fn run(self) -> Result<()> {
        let haft = programs::build_haft(false)?;
        let project = project(&workspace::root())?;
        let calls: [&[&str]; 3] = [
            &["list"],
            &["show", "repo_stats"],
            &["call", "repo_stats", "--arg", "top=3"],
        ];
        calls
            .iter()
            .try_for_each(|call| shown(&haft, project.path(), call))
    }
}

/// Makes a git repository with one commit, which holds the examples.
fn project(root: &Path) -> Result<tempfile::TempDir> {
    let making = || "make a repository to show the tool on".to_owned();
    let project = tempfile::Builder::new()
        .prefix("haft-demo-")
        .tempdir()
        .during(making)?;
    copy(&root.join(EXAMPLES), &project.path().join(EXAMPLES)).during(making)?;
    let identity = ["-c", "user.name=haft", "-c", "user.email=demo@haft.invalid"];
    let steps: [&[&str]; 3] = [
        &["init", "--quiet"],
        &["add", "--all"],
        &[
            "-c",
            "commit.gpgsign=false",
            "commit",
            "--quiet",
            "--message",
            "The examples",
        ],
    ];
    for step in steps {
        let mut git = Command::new("git");
        command::output(git.current_dir(project.path()).args(identity).args(step))?;
    }
    Ok(project)
}

/// Copies an example, without the packages that npm may have put beside it.
fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_name() == "node_modules" {
            continue;
        }
        let target = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Prints the command, then runs it on the terminal, where it draws its progress.
fn shown(haft: &Path, project: &Path, call: &[&str]) -> Result<()> {
    let arguments = [&["--tool", TOOL], call].concat();
    println!(
        "\n$ {}",
        command::display(Command::new("haft").args(&arguments))
    );
    let mut command = Command::new(haft);
    command
        .current_dir(project)
        .args(&arguments)
        .stdin(Stdio::null());
    let status = command::status(&mut command)?;
    if status.success() {
        return Ok(());
    }
    Err(Error::Command {
        command: command::display(&command),
        ended: status.to_string(),
        hint: Some("`haft doctor` says what is wrong with a tool".into()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tool_is_shown_on_a_repository_that_holds_it() {
        let project = project(&workspace::root()).expect("made");
        let mut git = Command::new("git");
        git.current_dir(project.path())
            .args(["ls-files", "--", TOOL]);
        assert_eq!(
            command::output(&mut git).expect("a repository").trim(),
            TOOL
        );
    }
}
