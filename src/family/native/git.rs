//! git in a repository that may be hostile: no program that its configuration names is run.
//!
//! `.git/config` can name programs for half of git's commands: a file system monitor, pagers, diff
//! drivers, filters, hooks. Most are switched off by a flag or a variable. Filters can only be
//! switched off by their names, so those of the repository are looked up first. Submodules have
//! configurations of their own and are not entered.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::family::rights::Confinement;
use haft_process::{End, Environment, Keep, Spawn};

/// Timeout of one git: a status of a huge tree on a cold disk.
const TIMEOUT: Duration = Duration::from_secs(30);

/// Limit of the output in bytes that is kept.
const OUTPUT: usize = 8 << 20;

/// Environment variables of ours that are passed to git. None of them moves the repository or names
/// a program.
const VARIABLES: &[&str] = &[
    "PATH",
    "HOME",
    "USER",
    "TMPDIR",
    "XDG_CONFIG_HOME",
    "GIT_CONFIG_NOSYSTEM",
];

/// Arguments of every git.
const ALWAYS: &[&str] = &[
    "--no-pager",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.quotePath=false",
    "-c",
    "protocol.allow=never",
];

/// One call of a built-in tool.
pub(super) struct Ask<'a> {
    /// The project's directory.
    pub(super) project: &'a Path,
    pub(super) confinement: &'a Confinement,
    pub(super) args: &'a Map<String, Value>,
    pub(super) cancel: &'a CancellationToken,
}

/// Error of a git command without output.
pub(super) enum Failed {
    /// It ended with another code than 0.
    Code(i32, String),
    /// It never ran, or did not end in time.
    Other(String),
    Cancelled,
}

impl Failed {
    /// Returns the error text for the tool that ran `command`.
    pub(super) fn text(&self, command: &str) -> String {
        match self {
            Failed::Code(code, said) => {
                format!("git {command} failed with exit code {code}:\n{said}")
            }
            Failed::Other(why) => format!("git {command} failed: {why}"),
            Failed::Cancelled => format!("git {command} was cancelled"),
        }
    }
}

/// Returns the output of git in the project, as text.
pub(super) async fn git(ask: &Ask<'_>, args: &[&str]) -> Result<String, Failed> {
    run(ask, &[ALWAYS, args].concat()).await
}

/// Does the same for commands that read files: without the filters of the repository.
pub(super) async fn git_on_files(ask: &Ask<'_>, args: &[&str]) -> Result<String, Failed> {
    let mut settings = Vec::new();
    for driver in filters(ask).await? {
        for key in ["clean", "smudge", "process"] {
            settings.push(format!("filter.{driver}.{key}="));
        }
        settings.push(format!("filter.{driver}.required=false"));
    }
    let mut all = ALWAYS.to_vec();
    for setting in &settings {
        all.extend(["-c", setting]);
    }
    all.extend(args);
    run(ask, &all).await
}

/// Returns the filters in the repository's own configuration. Reading a configuration runs nothing.
async fn filters(ask: &Ask<'_>) -> Result<BTreeSet<String>, Failed> {
    let mut names = BTreeSet::new();
    let args = [
        "config",
        "--list",
        "--show-scope",
        "--includes",
        "--null",
        "--name-only",
    ];
    let listed = match git(ask, &args).await {
        Ok(listed) => listed,
        Err(Failed::Cancelled) => return Err(Failed::Cancelled),
        // No repository, or no configuration that git can read: the command itself will report
        // that.
        Err(_) => return Ok(names),
    };
    let mut fields = listed.split('\0');
    while let (Some(scope), Some(key)) = (fields.next(), fields.next()) {
        // Programs that the user or the machine configured may run: git-lfs, for example.
        if scope != "local" && scope != "worktree" {
            continue;
        }
        let name = key
            .strip_prefix("filter.")
            .and_then(|key| key.rsplit_once('.'));
        names.extend(name.map(|(name, _)| name.to_owned()));
    }
    Ok(names)
}

async fn run(ask: &Ask<'_>, args: &[&str]) -> Result<String, Failed> {
    let spawn = ask.confinement.confined(Spawn {
        cwd: Some(ask.project.to_owned()),
        env: Environment::allow(VARIABLES.iter().copied())
            .with("LC_ALL", "C.UTF-8")
            .with("GIT_OPTIONAL_LOCKS", "0")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GIT_NO_LAZY_FETCH", "1")
            .with("GIT_ALLOW_PROTOCOL", "none")
            .with("GIT_LITERAL_PATHSPECS", "1"),
        stdout: Keep::Head(OUTPUT),
        stderr: Keep::Head(OUTPUT),
        deadline: Some(TIMEOUT),
        chosen_by_haft: true,
        ..Spawn::new("git", args.iter().copied())
    });
    let finished = spawn
        .run(ask.cancel)
        .await
        .map_err(|error| Failed::Other(error.to_string()))?;
    match finished.end {
        End::Exited(0) => Ok(finished.stdout.text()),
        End::Cancelled(_) => Err(Failed::Cancelled),
        End::TimedOut(_) => Err(Failed::Other(format!("it took longer than {TIMEOUT:?}"))),
        end => Err(Failed::Code(end.shell_code(), finished.stderr.text())),
    }
}
