//! Checks the words of comments and documents: plain technical English, by the project's vocabulary.
//!
//! Comments of Rust and TypeScript, and Markdown outside of code, tables and headings. Text in
//! backticks is a name or a value and is not checked.

use std::fmt::{self, Display};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::error::{During, Error, Result};

/// Words for persons, which code is not.
const PERSONS: [&str; 6] = [
    "whoever",
    "nobody",
    "somebody",
    "anybody",
    "everybody",
    "whom",
];

/// Words that a doc comment does not begin with. It begins with a verb or a noun phrase.
const FIRST_WORDS: [&str; 7] = ["What", "Who", "Whether", "How", "Where", "Whom", "Whose"];

/// Names that were metaphors, in code and in file names, each with the name in use today.
const RETIRED: [(&str, &str); 11] = [
    ("undertaker", "termination"),
    ("last_stand", "panic_guard"),
    ("kinship", "isolation"),
    ("open_eyes", "install_recorder"),
    ("bring_back", "restore"),
    ("OutcomeOnly", "InlineCall"),
    ("Herald", "LogForwarder"),
    ("Puppet", "WidgetHandle"),
    ("Stopper", "Cancellation"),
    ("Ledger", "CallLog"),
    ("RanAway", "OutOfMemory"),
];

/// Width of Markdown prose.
const MAX_COLUMNS: usize = 120;

/// A line that breaks a rule.
struct Finding {
    path: PathBuf,
    line: usize,
    problem: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.problem)
    }
}

/// Checks all files that git knows.
///
/// # Errors
/// If a rule is broken; the lines are on standard error.
pub fn check(root: &Path) -> Result<()> {
    let mut findings = Vec::new();
    for path in tracked(root)? {
        let text = fs::read_to_string(root.join(&path)).during(|| format!("read `{path}`"))?;
        let problems = match Path::new(&path).extension().and_then(|it| it.to_str()) {
            Some("md") => in_markdown(&text),
            _ => in_source(&text),
        };
        findings.extend(problems.into_iter().map(|(line, problem)| Finding {
            path: PathBuf::from(&path),
            line,
            problem,
        }));
    }
    for finding in &findings {
        eprintln!("{finding}");
    }
    if findings.is_empty() {
        return Ok(());
    }
    let count = findings.len();
    Err(Error::unexpected(format!(
        "{count} lines break the rules of prose"
    )))
}

/// Returns the files to check, below `root`.
fn tracked(root: &Path) -> Result<Vec<String>> {
    let mut git = Command::new("git");
    git.current_dir(root).args([
        "ls-files",
        "*.rs",
        "js-runtime/*.ts",
        "docs/*.md",
        "README.md",
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
    ]);
    let output = git
        .output()
        .during(|| "list the files with git".to_owned())?;
    let names = String::from_utf8_lossy(&output.stdout);
    // This file names what is forbidden; a deleted file is still known until it is committed.
    let names = names.lines().filter(|name| *name != "xtask/src/prose.rs");
    let names = names.filter(|name| root.join(name).exists());
    Ok(names.map(str::to_owned).collect())
}

/// Returns the lines of a source file that break a rule, 1-based.
fn in_source(text: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let mut was_doc = false;
    for (line, text) in (1..).zip(text.lines()) {
        for (old, new) in RETIRED {
            if words(text).any(|word| word == old) {
                problems.push((line, format!("`{old}` is called `{new}` today")));
            }
        }
        let Some(comment) = comment_of(text) else {
            was_doc = false;
            continue;
        };
        problems.extend(of_sentence(comment.text).map(|problem| (line, problem)));
        let first = words(comment.text).next().unwrap_or_default();
        if comment.is_doc && !was_doc && FIRST_WORDS.contains(&first) {
            let problem = format!("a doc comment begins with a verb or a noun, not `{first}`");
            problems.push((line, problem));
        }
        was_doc = comment.is_doc;
    }
    problems
}

/// Returns the lines of a Markdown file that break a rule, 1-based.
fn in_markdown(text: &str) -> Vec<(usize, String)> {
    let mut problems = Vec::new();
    let mut is_code = false;
    for (line, text) in (1..).zip(text.lines()) {
        let start = text.trim_start();
        if start.starts_with("```") {
            is_code = !is_code;
        }
        if is_code || start.starts_with(['|', '#', '<']) {
            continue;
        }
        problems.extend(of_sentence(text).map(|problem| (line, problem)));
        let columns = text.chars().count();
        // A line that is one word, as a link, cannot be shorter.
        if columns > MAX_COLUMNS && start.contains(' ') && !start.starts_with('`') {
            problems.push((line, format!("{columns} columns; {MAX_COLUMNS} at most")));
        }
    }
    problems
}

fn of_sentence(text: &str) -> impl Iterator<Item = String> {
    let text = without_code(text).to_lowercase();
    let persons: Vec<&str> = words(&text)
        .filter_map(|word| PERSONS.into_iter().find(|person| word == *person))
        .collect();
    let persons = persons.into_iter();
    persons.map(|word| format!("`{word}` is a person; write caller, user, process or client"))
}

/// A comment that fills its line.
struct Comment<'a> {
    text: &'a str,
    is_doc: bool,
}

fn comment_of(line: &str) -> Option<Comment<'_>> {
    let line = line.trim_start();
    let (rest, is_doc) = match line.strip_prefix("//")? {
        rest if rest.starts_with("//") => return None,
        rest => match rest.strip_prefix(['/', '!']) {
            Some(doc) => (doc, true),
            None => (rest, false),
        },
    };
    Some(Comment { text: rest, is_doc })
}

/// Removes what stands in backticks.
fn without_code(text: &str) -> String {
    text.split('`').step_by(2).collect::<Vec<_>>().join(" ")
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| !c.is_alphanumeric() && c != '_');
    words.filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(text: &str) -> Vec<String> {
        let problems = in_source(text).into_iter();
        problems
            .map(|(line, problem)| format!("{line}: {problem}"))
            .collect()
    }

    #[test]
    fn a_doc_comment_begins_with_a_verb_or_a_noun() {
        assert_eq!(
            problems(
                "/// Whether it is.\nfn a() {}\n\n/// Returns it.\n/// How is below.\nfn b() {}"
            ),
            ["1: a doc comment begins with a verb or a noun, not `Whether`"]
        );
        // Only documentation has a first sentence.
        assert_eq!(problems("// How it is: so."), [""; 0]);
    }

    #[test]
    fn code_is_not_a_person() {
        assert_eq!(
            problems("// Nobody waits.\nlet nobody = 1; // as `nobody`"),
            ["1: `nobody` is a person; write caller, user, process or client"]
        );
    }

    #[test]
    fn old_names_do_not_come_back() {
        assert_eq!(
            problems("struct Herald;\nstruct HeraldOfTests;"),
            ["1: `Herald` is called `LogForwarder` today"]
        );
    }

    #[test]
    fn prose_has_a_width_and_tables_have_none() {
        let long = "word ".repeat(30);
        let text = format!("{long}\n| {long} |\n```\n{long}\n```\n# {long}");
        assert_eq!(
            in_markdown(&text),
            [(1, "150 columns; 120 at most".to_owned())]
        );
    }
}
