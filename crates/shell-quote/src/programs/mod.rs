//! Tables of well-known programs: which of their arguments are text and which are code.
//!
//! A value that is one argument of one program cannot become a second command. It can still become
//! code if the program reads that argument as code (`sh -c`, `awk`), starts it as a program (`env`,
//! `xargs`), or has options that run something (`git --upload-pack=…`). The tables here name the
//! programs for which that is so. They are used for commands of YAML tools and of JSON plugins.

mod judge;
mod tables;

use std::ops::Range;

use judge::Judge;
use tables::{ALL_CODE, DANGEROUS_VARIABLES, RUN_COMMANDS, SHELLS};

/// Stands in a word for text that is not known when the command is judged.
pub const HOLE: char = '\0';

/// Effect that the text of a hole can have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Danger {
    /// The choice of the program that is started.
    Program,
    /// Text that the program runs as code.
    Code,
    /// An option, if it begins with `-`: some options of this program run other programs.
    Option,
    /// The same, or a variable if it holds `=`.
    OptionOrVariable,
}

/// A hole that is more than text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The index of the word.
    pub word: usize,
    /// The program that makes it so.
    pub program: String,
    pub danger: Danger,
}

/// Code for a shell that is an argument of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellScript {
    /// The index of the word with the code.
    pub code: usize,
    pub shell: String,
}

/// A program that takes its code from a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodeInput {
    pub program: String,
    /// The stream is the standard input.
    pub is_standard: bool,
}

impl CodeInput {
    fn standard(program: &str) -> CodeInput {
        CodeInput {
            program: program.to_owned(),
            is_standard: true,
        }
    }

    /// Returns the stream of a program that runs a file, if the file is one.
    pub fn of_file(program: &str, path: &str) -> Option<CodeInput> {
        let mut parts = path.split('/').filter(|part| !matches!(*part, "" | "."));
        let is_device = path.starts_with('/') && matches!(parts.next(), Some("dev" | "proc"));
        let name = base_name(path);
        let is_stream = name == "stdin" || path.ends_with(&format!("fd/{name}"));
        (path != "/dev/null" && (is_device || is_stream)).then(|| CodeInput {
            program: program.to_owned(),
            is_standard: matches!(path, "/dev/stdin" | "/dev/fd/0" | "/proc/self/fd/0"),
        })
    }
}

/// Result of judging a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub findings: Vec<Finding>,
    pub scripts: Vec<ShellScript>,
    /// The index of the program that the others start.
    pub program: usize,
    /// Words of a program that is in no table and may set variables for the one that it starts.
    pub may_set: Range<usize>,
    /// The index of the file with the code that an interpreter runs.
    pub file: Option<usize>,
    /// The program whose arguments do not show what it runs.
    pub unclear: Option<String>,
    /// The program that takes code from a stream.
    pub reads_code: Option<CodeInput>,
    /// The index of a program that is in no table.
    pub unknown: Option<usize>,
}

/// Judges the words of a command, the first of which is the program.
pub fn judge(words: &[String]) -> Judged {
    let mut judge = Judge {
        words,
        judged: Judged::default(),
    };
    judge.command(0);
    judge.judged
}

/// Returns true if the word at an index names a file that the command takes as code: a value in its
/// place would be code. A program that edits files or opens databases also takes data there, so
/// those of [`ALL_CODE`] do not count, and neither does a word with the code itself.
pub fn names_code(words: &[String], index: usize) -> bool {
    let Some(word) = words.get(index) else {
        return false;
    };
    let is_of_path = |c: char| c.is_alphanumeric() || "/._-+~=@%,".contains(c);
    if !word.chars().all(is_of_path) {
        return false;
    }
    // The value of an option may follow its letter or its name: `-ffile`, `--file=file`.
    let option = match word.split_once('=') {
        Some((name, _)) if name.starts_with("--") => name.len() + 1,
        _ if word.starts_with('-') => word.chars().take(2).map(char::len_utf8).sum(),
        _ => 0,
    };
    if option == word.len() {
        return false;
    }
    let mut words = words.to_vec();
    words[index].replace_range(option.., "\0");
    let findings = judge(&words).findings;
    findings.iter().any(|finding| {
        let is_code = matches!(finding.danger, Danger::Code | Danger::Program);
        is_code && finding.word == index && !ALL_CODE.contains(&finding.program)
    })
}

/// Adds holes where `xargs` puts its input: in place of a text, or as the last argument. Returns
/// the indexes of those words.
pub fn add_input_of_xargs(words: &mut Vec<String>) -> Vec<usize> {
    let mut place: Option<(usize, String)> = None;
    for (index, word) in words.iter().enumerate() {
        if let Some(rest) = word.strip_prefix("-I") {
            let given = match rest {
                "" => words.get(index + 1).cloned(),
                rest => Some(rest.to_owned()),
            };
            place = given.map(|given| (index + 2 - usize::from(!rest.is_empty()), given));
        } else if let Some(rest) = word.strip_prefix("--replace") {
            let given = rest.strip_prefix('=').unwrap_or("{}");
            place = Some((index + 1, given.to_owned()));
        } else if word == "-i" {
            place = Some((index + 1, "{}".to_owned()));
        }
    }
    let Some((from, place)) = place else {
        words.push(HOLE.to_string());
        return vec![words.len() - 1];
    };
    if place.is_empty() || place.contains(HOLE) {
        return (from..words.len()).collect();
    }
    let mut changed = Vec::new();
    for (index, word) in words.iter_mut().enumerate().skip(from) {
        if word.contains(&place) {
            *word = word.replace(&place, "\0");
            changed.push(index);
        }
    }
    changed
}

/// Adds holes where `find` puts the names of files into a longer text, or behind an option. Returns
/// the indexes of those words.
pub fn add_files_of_find(words: &mut [String]) -> Vec<usize> {
    let mut changed = Vec::new();
    for index in 1..words.len() {
        let is_part = words[index] != "{}" || words[index - 1].starts_with('-');
        if is_part && words[index].contains("{}") {
            words[index] = words[index].replace("{}", "\0");
            changed.push(index);
        }
    }
    changed
}

/// Returns true for the name of a shell.
pub(crate) fn is_shell(program: &str) -> bool {
    SHELLS.contains(program)
}

/// Returns true for the name of a program that gives its arguments or its input to a shell.
pub(crate) fn runs_commands(program: &str) -> bool {
    RUN_COMMANDS.contains(program) || matches!(program, "ssh" | "autossh" | "mosh" | "source")
}

/// Returns true if a variable of that name decides what programs run.
pub fn is_dangerous_variable(name: &str) -> bool {
    const PREFIXES: [&str; 6] = [
        "LD_",
        "DYLD_",
        "BASH_FUNC_",
        "GIT_CONFIG",
        "BASH_ALIASES",
        "BASH_CMDS",
    ];
    DANGEROUS_VARIABLES.contains(name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the last component of a program's path.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
