//! `haft types --learn`: types of results that tools do not declare, from results that exist.
//!
//! Sources are the recorded runs of scripts, the sessions of `haft call` and `haft repl`, and what
//! the tests of the tools expect.

use std::collections::BTreeMap;
use std::fs;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;

use super::call_session::folder;
use crate::code::{Learned, Recorder, undeclared};
use crate::registry::Catalog;
use crate::tool_test::find;
use haft_config::Config;
use haft_process::atomic_file::Durability;
use haft_tool::json as safe_json;
use haft_tool::types::{Observations, Observed};
use haft_tool::{Block, Error, ErrorKind, Outcome, TerminalText, terminal_text};

/// Observations by tool name.
type Seen = BTreeMap<String, Observations>;

/// Learns the types and writes them to the user's state. Returns a summary.
pub(super) fn learn(config: &Config, catalog: &Catalog) -> Result<TerminalText, Error> {
    let mut seen = Seen::new();
    for run in Recorder::new(config).of_project(&config.cwd) {
        for (tool, observations) in run.results {
            seen.entry(tool).or_default().merge(observations);
        }
    }
    add_sessions(config, &mut seen);
    add_tests(config, catalog, &mut seen);
    let mut learned: BTreeMap<String, Observed> = BTreeMap::new();
    for (tool, observations) in seen {
        let known = catalog.find(&tool);
        let declares = known.is_none_or(|entry| entry.tool.output_schema.is_some());
        if !declares && let Some(observed) = observations.observed() {
            learned.insert(tool, observed);
        }
    }
    write(config, &learned)?;
    let mut summary: TerminalText = learned
        .iter()
        .map(|(tool, observed)| match observed.results {
            1 => terminal_text!("{tool}: 1 result\n"),
            many => terminal_text!("{tool}: {many} results\n"),
        })
        .collect();
    if learned.is_empty() {
        summary.push_literal("no results of tools without a declared type were found\n");
    }
    Ok(summary)
}

fn write(config: &Config, learned: &BTreeMap<String, Observed>) -> Result<(), Error> {
    let (folder, file) = Learned::file(config);
    let text = serde_json::to_string_pretty(learned).unwrap_or_default();
    let written = folder.replace(&file, text.as_bytes(), Durability::Unsynced);
    written.map_err(|error| {
        let text = format!("{folder}/{file} cannot be written: {error}");
        Error::new(ErrorKind::Internal, text)
    })
}

/// A line of a session, as far as it is needed.
#[derive(Deserialize)]
struct Line {
    message: Option<Message>,
    cwd: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Message {
    role: String,
    tool_name: Option<String>,
    #[serde(default)]
    content: Value,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    is_error: bool,
}

/// Adds the results in the sessions of this project.
fn add_sessions(config: &Config, seen: &mut Seen) {
    for file in fs::read_dir(folder(config)).into_iter().flatten().flatten() {
        let Ok(text) = fs::read_to_string(file.path()) else {
            continue;
        };
        let lines = text
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        let lines: Vec<Line> = lines.collect();
        let here = config.cwd.to_string_lossy();
        if lines
            .iter()
            .any(|line| line.cwd.as_deref().is_some_and(|cwd| cwd != here))
        {
            continue;
        }
        for message in lines.into_iter().filter_map(|line| line.message) {
            if message.role == "toolResult"
                && !message.is_error
                && let Some(tool) = message.tool_name
                && let Ok(content) = serde_json::from_value::<Vec<Block>>(message.content)
            {
                let outcome = Outcome {
                    content,
                    details: message.details,
                    ..Outcome::success("", Duration::ZERO)
                };
                let value = undeclared(&outcome);
                seen.entry(tool).or_default().add(&value);
            }
        }
    }
}

/// A test, as far as it is needed.
#[derive(Deserialize)]
struct Tests {
    #[serde(default)]
    tests: Vec<Test>,
}

#[derive(Deserialize)]
struct Test {
    tool: Option<String>,
    #[serde(default)]
    expect: Value,
    #[serde(default)]
    calls: Vec<TestCall>,
}

#[derive(Deserialize)]
struct TestCall {
    tool: Option<String>,
    #[serde(default)]
    expect: Value,
}

/// Adds the results that the tests of the tools expect.
fn add_tests(config: &Config, catalog: &Catalog, seen: &mut Seen) {
    for file in find(&[], &config.cwd).unwrap_or_default() {
        let Ok(text) = fs::read_to_string(&file.path) else {
            continue;
        };
        let Some(tests) = safe_json::read::<Tests>(&text).ok() else {
            continue;
        };
        let modules = file.loads();
        let of_module = catalog.entries.iter().find(|entry| {
            let module = entry.resolved_path.as_path();
            modules.iter().any(|own| own == module)
        });
        let only = of_module.map(|entry| entry.tool.name.clone());
        for test in tests.tests {
            let own = (test.tool, test.expect);
            let calls = test.calls.into_iter().map(|call| (call.tool, call.expect));
            for (tool, expect) in std::iter::once(own).chain(calls) {
                if let Some(tool) = tool.or_else(|| only.clone())
                    && let Some(value) = expected(&expect)
                {
                    seen.entry(tool).or_default().add(&value);
                }
            }
        }
    }
}

/// Returns the value that a script would get, if the test says enough about it.
fn expected(expect: &Value) -> Option<Value> {
    if expect.get("error").is_some() || expect["isError"] == true {
        return None;
    }
    let (text, details) = (expect["text"].as_str(), expect.get("details"));
    if text.is_none() && details.is_none() {
        return None;
    }
    let mut outcome = Outcome::success(text.unwrap_or_default(), Duration::ZERO);
    outcome.details = details.cloned().unwrap_or_default();
    Some(undeclared(&outcome))
}
