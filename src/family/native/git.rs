//! git in a repository that may be hostile: no program that its configuration names is run.
//!
//! `.git/config` can name programs for half of git's commands: a file system monitor, pagers, diff
//! drivers, filters, hooks. git has no way to ignore a key. So the keys of the repository are listed,
//! which runs nothing, and each that names a program is overridden by its name. The overrides are
//! variables of the environment (`GIT_CONFIG_KEY_0`), where a name with `=` stays whole. git is asked
//! once more whether they count; a name for which they do not is refused.
//!
//! Submodules have configurations of their own and are not entered. git runs in the sandbox of the
//! project's tools.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::family::rights::Confinement;
use haft_process::{Captured, End, Environment, Keep, Spawn};

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

/// Settings of every git.
const ALWAYS: &[(&str, &str)] = &[
    ("core.fsmonitor", "false"),
    ("core.hooksPath", "/dev/null"),
    ("core.quotePath", "false"),
    ("protocol.allow", "never"),
    ("status.submoduleSummary", "false"),
    ("submodule.recurse", "false"),
];

/// Sections of the configuration in which every key may name a program.
const PROGRAM_SECTIONS: &[&str] = &["alias", "filter", "guitool", "hook", "pager"];

/// Keys that name a program, in lower case, whatever their section. `command` stands for
/// `diff.<driver>.command`, `tar.<format>.command`, `trailer.<token>.command` and so on.
const PROGRAM_KEYS: &[&str] = &[
    "askpass",
    "browser",
    "clean",
    "difffilter",
    "driver",
    "external",
    "fsmonitor",
    "gitproxy",
    "httpd",
    "process",
    "receivepack",
    "smtpserver",
    "smudge",
    "textconv",
    "tunnel",
    "update",
    "uploadpack",
    "vcs",
];

/// Ends of further keys that name a program.
const PROGRAM_KEY_ENDS: &[&str] = &[
    "cmd",
    "command",
    "editor",
    "helper",
    "hook",
    "hookspath",
    "pager",
    "program",
];

/// Sections in which `path` names a program.
const PATH_SECTIONS: &[&str] = &["browser", "difftool", "man", "mergetool"];

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

/// git in a repository whose configuration starts no programs.
pub(super) struct NeutralGit<'a> {
    ask: &'a Ask<'a>,
    settings: Vec<(OsString, OsString)>,
}

/// Key of a configuration with its origin, as git lists it.
struct ListedKey {
    scope: Vec<u8>,
    name: Vec<u8>,
}

impl<'a> NeutralGit<'a> {
    /// Overrides the programs that the repository's own configuration names.
    pub(super) async fn open(ask: &'a Ask<'a>) -> Result<NeutralGit<'a>, Failed> {
        let always = ALWAYS.iter();
        let mut git = NeutralGit {
            ask,
            settings: always
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
        };
        // Programs that the user or the machine configured may run: git-lfs, for example.
        let mut named = BTreeMap::new();
        for key in git.list().await? {
            if key.is_of_repository()
                && let Some(value) = neutral_value(&key.name)
            {
                named.insert(key.name, value);
            }
        }
        if named.is_empty() {
            return Ok(git);
        }
        for (name, value) in &named {
            let key = os_string(name).ok_or_else(|| not_neutral(name))?;
            git.settings.push((key, value.into()));
        }
        let listed = git.list().await?;
        for name in named.keys() {
            let last = listed.iter().rfind(|key| key.name == *name);
            if last.is_none_or(|key| key.scope != b"command") {
                return Err(not_neutral(name));
            }
        }
        Ok(git)
    }

    /// Lists the keys of all configurations, the strongest last. This runs nothing.
    async fn list(&self) -> Result<Vec<ListedKey>, Failed> {
        let args = [
            "config",
            "--list",
            "--show-scope",
            "--includes",
            "--null",
            "--name-only",
        ];
        let listed = self.output(&args).await?;
        if listed.dropped > 0 {
            let text = "the repository's configuration is too large";
            return Err(Failed::Other(text.to_owned()));
        }
        let mut fields = listed.bytes.split(|byte| *byte == 0);
        let mut keys = Vec::new();
        while let (Some(scope), Some(name)) = (fields.next(), fields.next()) {
            keys.push(ListedKey {
                scope: scope.to_owned(),
                name: name.to_owned(),
            });
        }
        Ok(keys)
    }

    /// Output of git in the project, as text.
    pub(super) async fn run(&self, args: &[&str]) -> Result<String, Failed> {
        Ok(self.output(args).await?.text())
    }

    async fn output(&self, args: &[&str]) -> Result<Captured, Failed> {
        let ask = self.ask;
        let mut env = Environment::allow(VARIABLES.iter().copied())
            .with("LC_ALL", "C.UTF-8")
            .with("GIT_OPTIONAL_LOCKS", "0")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("GIT_NO_LAZY_FETCH", "1")
            .with("GIT_ALLOW_PROTOCOL", "none")
            .with("GIT_LITERAL_PATHSPECS", "1")
            .with("GIT_CONFIG_COUNT", self.settings.len().to_string());
        for (index, (key, value)) in self.settings.iter().enumerate() {
            env = env
                .with(format!("GIT_CONFIG_KEY_{index}"), key)
                .with(format!("GIT_CONFIG_VALUE_{index}"), value);
        }
        let spawn = ask.confinement.confined(Spawn {
            cwd: Some(ask.project.to_owned()),
            env,
            stdout: Keep::Head(OUTPUT),
            stderr: Keep::Head(OUTPUT),
            deadline: Some(TIMEOUT),
            chosen_by_haft: true,
            ..Spawn::new("git", [&["--no-pager"][..], args].concat())
        });
        let finished = spawn
            .run(ask.cancel)
            .await
            .map_err(|error| Failed::Other(error.to_string()))?;
        match finished.end {
            End::Exited(0) => Ok(finished.stdout),
            End::Cancelled(_) => Err(Failed::Cancelled),
            End::TimedOut(_) => Err(Failed::Other(format!("it took longer than {TIMEOUT:?}"))),
            end => Err(Failed::Code(end.shell_code(), finished.stderr.text())),
        }
    }
}

impl ListedKey {
    fn is_of_repository(&self) -> bool {
        !matches!(&self.scope[..], b"system" | b"global" | b"command")
    }
}

/// Value with which a key of the configuration starts no program; `None` for a key that
/// names none. git lists the section and the last part in lower case.
fn neutral_value(name: &[u8]) -> Option<&'static str> {
    let mut parts = name.split(|byte| *byte == b'.');
    let section = std::str::from_utf8(parts.next()?).ok()?;
    let key = std::str::from_utf8(parts.next_back()?).ok()?;
    let is_program = PROGRAM_SECTIONS.contains(&section)
        || PROGRAM_KEYS.contains(&key)
        || PROGRAM_KEY_ENDS.iter().any(|end| key.ends_with(end))
        || key == "path" && PATH_SECTIONS.contains(&section);
    is_program.then_some(match (section, key) {
        ("filter", "required") | ("pager", _) | (_, "fsmonitor") => "false",
        (_, "hookspath") => "/dev/null",
        ("submodule", "update") => "none",
        _ => "",
    })
}

fn not_neutral(name: &[u8]) -> Failed {
    let name = String::from_utf8_lossy(name);
    Failed::Other(format!(
        "the repository's configuration names a program that cannot be switched off: {name:?}"
    ))
}

#[cfg(unix)]
fn os_string(bytes: &[u8]) -> Option<OsString> {
    use std::os::unix::ffi::OsStrExt;
    Some(std::ffi::OsStr::from_bytes(bytes).to_owned())
}

#[cfg(not(unix))]
fn os_string(bytes: &[u8]) -> Option<OsString> {
    Some(std::str::from_utf8(bytes).ok()?.into())
}
