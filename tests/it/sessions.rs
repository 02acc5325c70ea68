//! Runs a `session.txt`: commands after `$ `, then exactly their output, then `[exit N]`.
//!
//! `[..]` in an expected line matches anything, a line `...` any number of lines. With
//! `HAFT_BLESS=1` lines that do not match are rewritten; lines with wildcards that still match
//! stay.

use std::fs;
use std::path::{Path, PathBuf};

use rstest::rstest;

use crate::sandbox::{Sandbox, has_sandboxes};

#[rstest]
fn example(#[files("example-tools/*/*/session.txt")] session: PathBuf) {
    run(&session);
}

#[rstest]
fn spec(#[files("tests/specs/*/*/session.txt")] session: PathBuf) {
    run(&session);
}

/// Line before the first command of a session in which the profile of the project's tools is the
/// default, or that of the configuration.
const BY_CONFIGURATION: &str = "# with the configured profile of the project";

/// Line before the first command of a session that has the same isolation in each run of the tests:
/// it prints the isolation, or what the kernel refuses.
const ONE_ISOLATION: &str = "# with the configured isolation";

/// One command with its expected output.
pub struct Step {
    pub command: String,
    pub expected: Vec<String>,
}

fn run(session: &Path) {
    let folder = session.parent().expect("a session is in a folder");
    let mut sandbox = Sandbox::with(folder);
    let text = fs::read_to_string(session).expect("a session is text");
    let (head, _) = parse(&text);
    if head.iter().any(|line| line == BY_CONFIGURATION) {
        sandbox.profile_of_the_project_is_configured();
    }
    if head.iter().any(|line| line == ONE_ISOLATION) {
        sandbox.isolation_is_configured();
    }
    run_in(&sandbox, session);
}

/// Runs a session in a sandbox that is ready for it.
pub fn run_in(sandbox: &Sandbox, session: &Path) {
    let text = fs::read_to_string(session).expect("a session is text");
    let (head, steps) = parse(&text);
    let mut rewritten = head;
    let mut differences = Vec::new();
    for step in &steps {
        let ran = sandbox.sh(&step.command);
        let mut actual: Vec<String> = ran.output.lines().map(str::to_owned).collect();
        if ran.code != 0 {
            actual.push(format!("[exit {}]", ran.code));
        }
        let kept = if matches(&step.expected, &actual) || differs_in_isolation(step, &actual) {
            &step.expected
        } else {
            differences.push(difference(step, &actual));
            &actual
        };
        rewritten.push(format!("$ {}", step.command));
        rewritten.extend(kept.iter().cloned());
    }
    if differences.is_empty() {
        return;
    }
    if std::env::var_os("HAFT_BLESS").is_some() {
        fs::write(session, rewritten.join("\n") + "\n").expect("the checkout can be written");
    }
    panic!("{}\n{}", session.display(), differences.join("\n"));
}

/// Returns true in a run of the tests with another isolation if only the lines that name the
/// isolation of a tool, and its profile for that reason, differ.
fn differs_in_isolation(step: &Step, actual: &[String]) -> bool {
    let names_it = |line: &str| {
        let line = line.trim_start();
        let is_right = line.starts_with("may: ") && line.contains("; isolation: ");
        is_right || line.starts_with("profile   `") || line.starts_with("isolated  ")
    };
    let others = |lines: &[String]| -> Vec<String> {
        let others = lines.iter().filter(|line| !names_it(line));
        others.cloned().collect()
    };
    has_sandboxes() && matches(&others(&step.expected), &others(actual))
}

/// Returns the lines before the first command, and the commands. A command goes on after a `\` at the
/// end of its line.
pub fn parse(text: &str) -> (Vec<String>, Vec<Step>) {
    let mut head = Vec::new();
    let mut steps: Vec<Step> = Vec::new();
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ ") {
            steps.push(Step {
                command: command.to_owned(),
                expected: Vec::new(),
            });
        } else if let Some(step) = steps.last_mut() {
            if step.expected.is_empty() && step.command.ends_with('\\') {
                step.command = format!("{}\n{line}", step.command);
                continue;
            }
            step.expected.push(line.to_owned());
        } else {
            head.push(line.to_owned());
        }
    }
    for step in &mut steps {
        while step.expected.last().is_some_and(String::is_empty) {
            step.expected.pop();
        }
    }
    (head, steps)
}

/// Returns true if the lines match those expected, in which `...` is any number of lines.
pub fn matches(expected: &[String], actual: &[String]) -> bool {
    match expected.split_first() {
        None => actual.iter().all(String::is_empty),
        Some((line, rest)) if line == "..." => {
            (0..=actual.len()).any(|skipped| matches(rest, &actual[skipped..]))
        }
        Some((line, rest)) => actual
            .split_first()
            .is_some_and(|(first, others)| line_matches(line, first) && matches(rest, others)),
    }
}

/// Returns true if the line matches the pattern, in which `[..]` is any text.
pub fn line_matches(pattern: &str, line: &str) -> bool {
    let mut parts = pattern.split("[..]");
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = line.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&str> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty();
    };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Returns both outputs of a command, line by line.
pub fn difference(step: &Step, actual: &[String]) -> String {
    let mut text = format!("$ {}\n", step.command);
    for line in &step.expected {
        text.push_str(&format!("- {line}\n"));
    }
    for line in actual {
        text.push_str(&format!("+ {line}\n"));
    }
    text
}
