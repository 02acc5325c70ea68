//! Tables of well-known programs: which of their arguments are text and which are code.
//!
//! A value that is one argument of one program cannot become a second command. It can still become
//! code if the program reads that argument as code (`sh -c`, `awk`), starts it as a program (`env`,
//! `xargs`), or has options that run something (`git --upload-pack=…`). The tables here name the
//! programs for which that is so. They are used for commands of YAML tools and of JSON plugins.

mod judge;
mod tables;

use judge::Judge;
use tables::{DANGEROUS_VARIABLES, WRITES_OUTPUT_ONLY};

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

/// Code for a shell that is an argument of the command, without a hole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Script {
    /// The index of the word with the code.
    pub code: usize,
    /// The index of the first argument, which the code sees as `$0`.
    pub args: usize,
}

/// Result of judging a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    pub findings: Vec<Finding>,
    pub scripts: Vec<Script>,
    /// The index of the file with the code that an interpreter runs.
    pub file: Option<usize>,
    /// The program that takes code from its standard input.
    pub reads_code: Option<String>,
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

/// Returns true if a program only writes to its standard output and keeps nothing of its arguments.
pub fn keeps_nothing(program: &str) -> bool {
    WRITES_OUTPUT_ONLY.contains(&base_name(program))
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
    DANGEROUS_VARIABLES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the last component of a program's path.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
