//! The first line of a script: which interpreter it starts, and with which options.
//!
//! The kernel starts the interpreter with the rest of the line as one argument, and then the
//! script's path. A line is accepted only if it can start nothing else: the interpreter takes the
//! script as its code, and no option loads, evaluates or starts something. Whatever is not in the
//! tables here is refused.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Length of the part of a script's first line that is read. The kernel has the same limit.
const MAX_FIRST_LINE: usize = 256;

/// Interpreter of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InterpreterLine {
    pub(super) interpreter: Interpreter,
    /// The options between the interpreter and the script.
    pub(super) options: Vec<String>,
}

/// Interpreter as a line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Interpreter {
    /// A path.
    Path(String),
    /// A name that `env` looks up; the path is that of `env`.
    Name(String, String),
}

/// Options of an interpreter that only change how it runs the script.
struct InterpreterOptions {
    /// Names of the program, without a version.
    names: &'static [&'static str],
    /// Letters that may stand together behind one `-`.
    letters: &'static str,
    /// Letter that must end one of them, since it takes the script as its value.
    last: Option<char>,
    /// Other words.
    words: &'static [&'static str],
}

const fn options(
    names: &'static [&'static str],
    letters: &'static str,
    last: Option<char>,
    words: &'static [&'static str],
) -> InterpreterOptions {
    InterpreterOptions {
        names,
        letters,
        last,
        words,
    }
}

const INTERPRETERS: &[InterpreterOptions] = &[
    options(
        &[
            "sh", "bash", "dash", "ash", "ksh", "mksh", "yash", "zsh", "rbash",
        ],
        "abefhkmnpuvxBCEHPT",
        None,
        &["--norc", "--noprofile", "--posix"],
    ),
    options(&["fish"], "N", None, &["--no-config"]),
    options(&["python", "pypy"], "bBdEIOPRsSuvx", None, &[]),
    options(&["perl"], "wWtTnpaX", None, &[]),
    options(&["ruby"], "wWnpla", None, &[]),
    options(
        &["node", "nodejs"],
        "",
        None,
        &[
            "--no-warnings",
            "--no-deprecation",
            "--trace-warnings",
            "--trace-uncaught",
            "--trace-deprecation",
            "--throw-deprecation",
            "--enable-source-maps",
            "--experimental-strip-types",
            "--experimental-transform-types",
            "--experimental-sqlite",
            "--expose-gc",
            "--use-system-ca",
        ],
    ),
    options(
        &["deno"],
        "AqRWNES",
        None,
        &[
            "run",
            "--allow-all",
            "--allow-read",
            "--allow-write",
            "--allow-net",
            "--allow-env",
            "--allow-run",
            "--allow-sys",
            "--no-check",
            "--no-config",
            "--no-lock",
            "--no-prompt",
            "--quiet",
        ],
    ),
    options(&["bun"], "", None, &["run", "--bun", "--silent"]),
    options(
        &["uv"],
        "qs",
        None,
        &["run", "--script", "--quiet", "--no-project", "--no-config"],
    ),
    options(
        &["Rscript"],
        "",
        None,
        &[
            "--vanilla",
            "--no-init-file",
            "--no-environ",
            "--no-site-file",
        ],
    ),
    options(&["lua", "luajit"], "E", None, &[]),
    options(&["php"], "qn", None, &[]),
    options(&["awk", "gawk", "mawk", "nawk"], "f", Some('f'), &[]),
    options(&["sed"], "nErsuf", Some('f'), &[]),
    options(&["jq"], "nrRscSCMejaf", Some('f'), &[]),
    options(&["make", "gmake", "bmake"], "skBf", Some('f'), &[]),
    options(&["expect"], "f", None, &[]),
];

/// Programs that run what they find in the working directory, or start their arguments. As an
/// interpreter they would start more than the script.
const OTHER_PROGRAMS: &[&str] = &[
    "ansible-playbook",
    "ant",
    "bazel",
    "bundle",
    "busybox",
    "cargo",
    "chroot",
    "chrt",
    "cmake",
    "composer",
    "coreutils",
    "direnv",
    "doas",
    "docker",
    "env",
    "eval",
    "find",
    "flock",
    "gdb",
    "git",
    "go",
    "gradle",
    "hatch",
    "ionice",
    "just",
    "ld.so",
    "meson",
    "mise",
    "mvn",
    "nice",
    "ninja",
    "nix",
    "nix-shell",
    "nohup",
    "nox",
    "npm",
    "npx",
    "nsenter",
    "parallel",
    "pdm",
    "pipenv",
    "pipx",
    "pnpm",
    "pnpx",
    "podman",
    "poetry",
    "rake",
    "runuser",
    "sbt",
    "script",
    "setarch",
    "setpriv",
    "setsid",
    "ssh",
    "stdbuf",
    "strace",
    "su",
    "sudo",
    "systemd-run",
    "task",
    "taskset",
    "time",
    "timeout",
    "tox",
    "toybox",
    "unshare",
    "uvx",
    "watch",
    "xargs",
    "yarn",
];

impl InterpreterLine {
    /// Parses the first line of a script, which begins with `#!`. The error is the line.
    pub(super) fn parse(script: &[u8]) -> Result<InterpreterLine, String> {
        let start = &script[..script.len().min(MAX_FIRST_LINE)];
        let line = start.strip_prefix(b"#!").unwrap_or(start);
        let end = line.iter().position(|byte| *byte == b'\n');
        let is_whole = end.is_some() || script.len() < MAX_FIRST_LINE;
        let line = &line[..end.unwrap_or(line.len())];
        let shown = || String::from_utf8_lossy(line).trim().to_owned();
        let text = std::str::from_utf8(line).map_err(|_| shown())?;
        let is_printable = text
            .trim_end_matches('\r')
            .chars()
            .all(|c| c == '\t' || !c.is_control());
        let text = text.trim_matches([' ', '\t']);
        if !is_whole || !is_printable {
            return Err(shown());
        }
        let (path, rest) = text.split_once([' ', '\t']).unwrap_or((text, ""));
        let rest = rest.trim_matches([' ', '\t']);
        let line = InterpreterLine::of(path, rest);
        line.filter(InterpreterLine::starts_the_script)
            .ok_or_else(shown)
    }

    fn of(path: &str, rest: &str) -> Option<InterpreterLine> {
        let is_env = base_name(path) == "env";
        let mut words = match rest.strip_prefix("-S").filter(|_| is_env) {
            Some(words) => words
                .split([' ', '\t'])
                .filter(|it| !it.is_empty())
                .collect(),
            None if rest.is_empty() => Vec::new(),
            // The kernel makes one argument of it.
            None => vec![rest],
        };
        let is_plain = |word: &&str| {
            let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.+/\r".contains(c);
            word.chars().all(is_plain)
        };
        if !words.iter().all(is_plain) {
            return None;
        }
        let interpreter = if is_env && words.is_empty() {
            return None;
        } else if is_env {
            Interpreter::Name(words.remove(0).to_owned(), path.to_owned())
        } else {
            Interpreter::Path(path.to_owned())
        };
        Some(InterpreterLine {
            interpreter,
            options: words.into_iter().map(str::to_owned).collect(),
        })
    }

    /// Returns true if the interpreter runs the script, and its options start nothing else.
    fn starts_the_script(&self) -> bool {
        let name = match &self.interpreter {
            Interpreter::Path(path) => path,
            Interpreter::Name(name, _) if name.starts_with('-') => return false,
            Interpreter::Name(name, _) => name,
        };
        let (name, plain) = (base_name(name), without_version(base_name(name)));
        let is_other = |name: &str| OTHER_PROGRAMS.contains(&name) || name.starts_with("ld-");
        let mut known = INTERPRETERS.iter();
        match known.find(|known| known.names.contains(&name) || known.names.contains(&plain)) {
            Some(known) => known.allow(&self.options),
            None => self.options.is_empty() && !is_other(name) && !is_other(plain),
        }
    }

    /// Returns the name by which the interpreter is looked up, or its path.
    pub(super) fn name(&self) -> &OsStr {
        match &self.interpreter {
            Interpreter::Path(name) | Interpreter::Name(name, _) => OsStr::new(name),
        }
    }
}

impl InterpreterOptions {
    fn allow(&self, options: &[String]) -> bool {
        let is_taken = match (self.last, options) {
            (Some(last), [options @ .., taker]) => {
                taker.ends_with(last) && !options.iter().any(|option| option.contains(last))
            }
            (Some(_), []) => false,
            (None, _) => true,
        };
        is_taken && options.iter().all(|option| self.allows(option))
    }

    fn allows(&self, option: &str) -> bool {
        let letters = option.strip_prefix('-').unwrap_or_default();
        let (Some(first), last) = (letters.get(..letters.len().saturating_sub(1)), self.last)
        else {
            return false;
        };
        let is_cluster = !letters.is_empty() && letters.chars().all(|c| self.letters.contains(c));
        // The letter takes what follows it in the word.
        let is_early = last.is_some_and(|last| first.contains(last));
        self.words.contains(&option) || is_cluster && !is_early
    }
}

fn base_name(path: &str) -> &str {
    let name = Path::new(path).file_name().unwrap_or_default();
    std::str::from_utf8(name.as_bytes()).unwrap_or_default()
}

/// Removes a version from the end of a name: `python3.12`.
fn without_version(name: &str) -> &str {
    let plain = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.' || c == '-');
    if plain.is_empty() { name } else { plain }
}
