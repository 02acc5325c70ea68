//! Runs the console examples of the README and of `docs`, with exactly the output that they show.
//!
//! A comment before each block says how; `tests/specs/README.md` describes them. With
//! `HAFT_BLESS=1` blocks whose output differs are rewritten.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;
use crate::sessions;

/// Longer than an answer of `haft rpc` takes on a machine under load.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(90);

/// Home directory in the documents.
const HOME: &str = "/home/ada";

/// Working directory of the examples, below the home directory.
const PROJECT: &str = "work/site";

#[rstest]
fn examples_of(
    #[files("README.md")]
    #[files("docs/*.md")]
    page: PathBuf,
) {
    let text = fs::read_to_string(&page).expect("a page is text");
    let (rewritten, problems) = Page::default().run(&text);
    if problems.is_empty() {
        return;
    }
    if std::env::var_os("HAFT_BLESS").is_some() {
        fs::write(&page, rewritten).expect("the checkout can be written");
    }
    panic!("{}\n{}", page.display(), problems.join("\n"));
}

/// A block of code, and the comment before it.
struct Block {
    /// First line of the code, 1-based.
    line: usize,
    language: String,
    marker: String,
    /// The code in the page, without the fences.
    range: Range<usize>,
}

/// The way in which a block is run.
enum Marker<'a> {
    /// In a copy of `tests/specs/docs/NAME`, which the sessions of a page share. With an answer, at a
    /// terminal.
    Session(&'a str, Option<&'a str>),
    /// The block is this file in all sessions of the page.
    File(&'a str),
    /// A test, or a case, that runs the same.
    Tested(&'a str),
}

/// The state of the examples of one page.
#[derive(Default)]
struct Page {
    sandboxes: BTreeMap<String, Sandbox>,
    files: BTreeMap<String, String>,
}

impl Page {
    /// Runs the blocks. Returns the page with the real outputs, and the problems.
    fn run(mut self, text: &str) -> (String, Vec<String>) {
        let mut rewritten = String::new();
        let mut problems = Vec::new();
        let mut at = 0;
        for block in blocks(text) {
            let code = &text[block.range.clone()];
            let result = match marker(&block.marker) {
                None if block.language != "console" => continue,
                None => Err(("a comment has to say how this block is run".into(), None)),
                Some(Marker::File(path)) => {
                    self.write(path, code);
                    continue;
                }
                Some(Marker::Tested(test)) => is_a_test(test).map_err(|problem| (problem, None)),
                Some(Marker::Session(name, _)) if code.contains("→ {") => {
                    converse(self.sandbox(name), code).map_err(|problem| (problem, None))
                }
                Some(Marker::Session(name, answer)) => session(self.sandbox(name), code, answer)
                    .map_err(|(problem, actual)| (problem, Some(actual))),
            };
            if let Err((problem, actual)) = result {
                problems.push(format!("line {}: {problem}", block.line));
                if let Some(actual) = actual {
                    rewritten.push_str(&text[at..block.range.start]);
                    rewritten.push_str(&actual);
                    at = block.range.end;
                }
            }
        }
        rewritten.push_str(&text[at..]);
        (rewritten, problems)
    }

    /// Returns the copy of a folder that the sessions with this name share.
    fn sandbox(&mut self, name: &str) -> &Sandbox {
        let files = &self.files;
        self.sandboxes.entry(name.to_owned()).or_insert_with(|| {
            let folder = root().join("tests/specs/docs").join(name);
            let mut sandbox = Sandbox::with(&folder);
            sandbox.profile_of_the_project_is_configured();
            fs::create_dir_all(project(&sandbox)).expect("a directory of ours");
            for (path, text) in files {
                sandbox.write(path, text);
            }
            if folder.join("setup").exists() {
                let checkout = root().display();
                let setup = format!("cd ~/{PROJECT} && CHECKOUT='{checkout}' sh $CASE/setup");
                let ran = sandbox.sh(&setup);
                assert_eq!(ran.code, 0, "{}: {}", folder.display(), ran.output);
            }
            sandbox
        })
    }

    fn write(&mut self, path: &str, text: &str) {
        let path = match path.strip_prefix("~/") {
            Some(path) => format!("home/{path}"),
            None => format!("home/{PROJECT}/{path}"),
        };
        for sandbox in self.sandboxes.values() {
            sandbox.write(&path, text);
        }
        self.files.insert(path, text.to_owned());
    }
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    let mut before = "";
    let mut at = 0;
    for (number, line) in (1..).zip(text.split_inclusive('\n')) {
        let start = at;
        at += line.len();
        let line = line.trim_end();
        match (line.strip_prefix("```"), open.take()) {
            (Some(_), Some(mut block)) => {
                block.range.end = start;
                blocks.push(block);
            }
            (Some(language), None) => {
                open = Some(Block {
                    line: number + 1,
                    language: language.to_owned(),
                    marker: before.to_owned(),
                    range: at..at,
                });
            }
            (None, still) => open = still,
        }
        before = line;
    }
    blocks
}

fn marker(line: &str) -> Option<Marker<'_>> {
    let comment = line.strip_prefix("<!-- ")?.strip_suffix(" -->")?;
    let (kind, value) = comment.split_once(": ")?;
    match kind {
        "session" => Some(match value.split_once("; answer: ") {
            Some((name, answer)) => Marker::Session(name, Some(answer)),
            None => Marker::Session(value, None),
        }),
        "file" => Some(Marker::File(value)),
        "tested" => Some(Marker::Tested(value)),
        _ => None,
    }
}

/// Checks that there is a test `MODULE::FUNCTION` of this program, or a case `tests/specs/…`.
fn is_a_test(name: &str) -> Result<(), String> {
    let is_there = match name.split_once("::") {
        Some((module, function)) => {
            let path = root().join(format!("tests/it/{module}.rs"));
            fs::read_to_string(path).is_ok_and(|text| text.contains(&format!("fn {function}(")))
        }
        None => root().join(name).join("session.txt").exists(),
    };
    is_there
        .then_some(())
        .ok_or_else(|| format!("there is no test `{name}`"))
}

/// Runs the commands of a block.
///
/// # Errors
/// The differences, and the block as it would have to be.
fn session(sandbox: &Sandbox, code: &str, answer: Option<&str>) -> Result<(), (String, String)> {
    let (head, steps) = sessions::parse(code);
    let mut differences: Vec<String> = head;
    if steps.is_empty() {
        differences.push("there is no command".to_owned());
    }
    let mut rewritten = String::new();
    let mut code = 0;
    for step in &steps {
        let command = format!("cd ~/{PROJECT} && (exit {code})\n{}", step.command);
        let ran = match answer {
            Some(answer) => {
                let command = command.replace('\'', r"'\''");
                sandbox.sh(&format!("answer '{answer}' sh -c '{command}'"))
            }
            None => sandbox.sh(&command),
        };
        code = ran.code;
        let output = ran.output.replace("$CASE/home", HOME);
        let actual: Vec<String> = output.lines().map(str::to_owned).collect();
        let expected: Vec<String> = step.expected.iter().map(|line| pattern(line)).collect();
        let comparable: Vec<String> = actual.iter().map(|line| without_durations(line)).collect();
        let kept = if sessions::matches(&expected, &comparable) {
            &step.expected
        } else {
            differences.push(sessions::difference(step, &actual));
            &actual
        };
        rewritten.push_str(&format!("$ {}\n", step.command));
        for line in kept {
            rewritten.push_str(&format!("{line}\n"));
        }
    }
    if differences.is_empty() {
        return Ok(());
    }
    Err((differences.join("\n"), rewritten))
}

/// Returns the pattern for a line of a document, in which `…` is any text.
fn pattern(line: &str) -> String {
    match line.trim() {
        "…" | "..." => "...".to_owned(),
        _ => without_durations(line).replace('…', "[..]"),
    }
}

/// Replaces times, which differ with every run: `12 ms`, `3ms`, `1.0s`, `"durationMs":0.31`.
fn without_durations(line: &str) -> String {
    let mut text = String::new();
    let mut rest = line;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let (before, from) = rest.split_at(start);
        let is_number = |c: char| c.is_ascii_digit() || c == '.';
        let (number, after) = from.split_at(from.find(|c| !is_number(c)).unwrap_or(from.len()));
        let unit = after.trim_start_matches(' ');
        let unit = unit.split(|c: char| !c.is_alphanumeric()).next();
        let is_in_word = before.ends_with(|c: char| c.is_alphanumeric() || "-_./".contains(c));
        text.push_str(before);
        match unit {
            Some(unit @ ("ms" | "s")) if !is_in_word => {
                text.push_str("TIME");
                rest = &after[after.find(unit).unwrap_or(0) + unit.len()..];
                continue;
            }
            _ if before.ends_with("\"durationMs\":") => text.push_str("TIME"),
            _ => text.push_str(number),
        }
        rest = after;
    }
    text.push_str(rest);
    text
}

/// Sends the lines after `→` to `haft rpc`, and compares its messages with those after `←`.
///
/// Unless the block begins with `initialize`, the peer has done that, and answers questions.
fn converse(sandbox: &Sandbox, code: &str) -> Result<(), String> {
    let home = sandbox.path().join("home").display().to_string();
    let mut child = sandbox
        .haft()
        .arg("rpc")
        .current_dir(project(sandbox))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("haft starts");
    let mut input = child.stdin.take().expect("a pipe");
    let output = child.stdout.take().expect("a pipe");
    let (sender, messages) = channel();
    thread::spawn(move || {
        for line in BufReader::new(output).lines().map_while(Result::ok) {
            if sender.send(line).is_err() {
                return;
            }
        }
    });
    let mut send = |line: &str| {
        let line = line.replace(HOME, &home);
        writeln!(input, "{line}").map_err(|error| format!("haft does not read: {error}"))
    };
    let receive = || {
        let line = messages
            .recv_timeout(ANSWER_TIMEOUT)
            .map_err(|_| "there is no further message".to_owned())?;
        let line = line.replace(&home, HOME);
        serde_json::from_str::<Value>(&line).map_err(|error| format!("{error}: {line}"))
    };
    let mut result = Ok(());
    if !code.contains("\"initialize\"") {
        let capabilities = json!({"capabilities": {"approval": true, "ui": true}});
        let line =
            json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": capabilities});
        result = send(&line.to_string()).and_then(|()| receive()).map(drop);
    }
    for line in code.lines() {
        if result.is_err() {
            break;
        }
        if let Some(line) = line.strip_prefix("→ ") {
            result = send(line);
        } else if let Some(line) = line.strip_prefix("← ") {
            let expected: Value = serde_json::from_str(line).expect("an example is JSON");
            result = receive().and_then(|actual| {
                is_like(&expected, &actual)
                    .then_some(())
                    .ok_or_else(|| format!("- {line}\n+ {actual}"))
            });
        }
    }
    drop(input);
    child.kill().expect("haft is a child");
    child.wait().expect("haft is a child");
    result
}

/// Compares messages. In an expected text `…` is any text, and durations are not compared.
fn is_like(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::String(pattern), Value::String(text)) => {
            sessions::line_matches(&pattern.replace('…', "[..]"), text)
        }
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(one, other)| is_like(one, other))
        }
        (Value::Object(expected), Value::Object(actual)) => {
            expected.keys().eq(actual.keys())
                && expected
                    .iter()
                    .all(|(key, value)| key == "durationMs" || is_like(value, &actual[key]))
        }
        (expected, actual) => expected == actual,
    }
}

fn project(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("home").join(PROJECT)
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

#[test]
fn times_are_not_compared() {
    let line = r#"greet 12 ms (1.0s) v1.2.3 "durationMs":0.31, abi 7, 64 messages"#;
    assert_eq!(
        without_durations(line),
        r#"greet TIME (TIME) v1.2.3 "durationMs":TIME, abi 7, 64 messages"#
    );
}
