//! Assertions: compares the result of a call with the expected one and describes the differences.

use regress::Regex;
use serde_json::{Map, Value};
use similar::{ChangeTag, TextDiff};

use haft_tool::{Error, ErrorKind};
use haft_tool::{Outcome, Stopped};

/// Expected result of a call. Missing fields are not checked, except that the call must succeed
/// unless a failure is expected.
pub(super) struct Expectation {
    text: Option<TextMatch>,
    content: Option<Value>,
    details: Option<Value>,
    is_error: bool,
    updates: Option<Vec<Update>>,
    /// Text of the error, for a call that could not run or was refused.
    error: Option<TextMatch>,
    stopped: Option<String>,
}

enum TextMatch {
    Exactly(String),
    Contains(Vec<String>),
    Matches(String, Box<Regex>),
}

enum Update {
    Text(TextMatch),
    Partial(Value),
}

/// Actual result of a call.
pub(super) struct Came {
    pub(super) ended: Result<Outcome, Error>,
    /// Updates in the order of arrival.
    pub(super) updates: Vec<Value>,
}

const KNOWN: &[&str] = &[
    "text", "content", "details", "isError", "updates", "error", "stopped",
];

/// Parses the value of `expect` in a test file.
pub(super) fn read_expectation(written: Value) -> Result<Expectation, String> {
    let fields = match written {
        Value::Null => Map::new(),
        Value::Object(fields) => fields,
        _ => return Err("`expect` is an object".to_owned()),
    };
    if let Some(unknown) = fields.keys().find(|key| !KNOWN.contains(&key.as_str())) {
        return Err(format!(
            "`expect.{unknown}` is not known: there are {}",
            KNOWN.join(", ")
        ));
    }
    let text = |key: &str| -> Result<Option<TextMatch>, String> {
        let written = fields.get(key);
        written.map(|written| text_match(written, key)).transpose()
    };
    let updates = match fields.get("updates") {
        None => None,
        Some(Value::Array(updates)) => Some(updates.iter().map(update).collect::<Result<_, _>>()?),
        Some(_) => return Err("`expect.updates` is a list".to_owned()),
    };
    let is_error = match fields.get("isError") {
        None => false,
        Some(Value::Bool(is_error)) => *is_error,
        Some(_) => return Err("`expect.isError` is true or false".to_owned()),
    };
    let stopped = match fields.get("stopped") {
        None => None,
        Some(Value::String(why)) => Some(why.clone()),
        Some(_) => return Err("`expect.stopped` is a word, as `deadline`".to_owned()),
    };
    Ok(Expectation {
        text: text("text")?,
        content: fields.get("content").cloned(),
        details: fields.get("details").cloned(),
        is_error,
        updates,
        error: text("error")?,
        stopped,
    })
}

fn update(written: &Value) -> Result<Update, String> {
    match written {
        Value::Object(fields)
            if fields.contains_key("content") || fields.contains_key("details") =>
        {
            Ok(Update::Partial(written.clone()))
        }
        written => Ok(Update::Text(text_match(written, "updates")?)),
    }
}

fn text_match(written: &Value, key: &str) -> Result<TextMatch, String> {
    let wrong = || {
        format!(
            "`expect.{key}` is a text, {{\"contains\": …}} or {{\"matches\": \"a regular expression\"}}"
        )
    };
    match written {
        Value::String(text) => Ok(TextMatch::Exactly(text.clone())),
        Value::Object(fields) if fields.len() == 1 => match fields.iter().next() {
            Some((kind, Value::String(text))) if kind == "contains" => {
                Ok(TextMatch::Contains(vec![text.clone()]))
            }
            Some((kind, Value::Array(texts))) if kind == "contains" => {
                let texts = texts.iter().map(|text| text.as_str().map(str::to_owned));
                let texts: Option<Vec<_>> = texts.collect();
                texts.map(TextMatch::Contains).ok_or_else(wrong)
            }
            Some((kind, Value::String(pattern))) if kind == "matches" => {
                let regex = Regex::with_flags(pattern, "u")
                    .map_err(|error| format!("`expect.{key}.matches`: {error}"))?;
                Ok(TextMatch::Matches(pattern.clone(), Box::new(regex)))
            }
            _ => Err(wrong()),
        },
        _ => Err(wrong()),
    }
}

/// Returns the differences; empty if the result is as expected.
pub(super) fn differences(expected: &Expectation, came: &Came) -> Vec<String> {
    let mut found = Vec::new();
    match (&came.ended, &expected.error) {
        (Err(error), Some(text)) => found.extend(text.difference("the error", error.message())),
        (Err(error), None) => found.push(not_run(error)),
        (Ok(outcome), Some(_)) => {
            found.push(format!(
                "the call was to be refused, and ran:\n{}",
                indented(&outcome.text())
            ));
        }
        (Ok(outcome), None) => expected.compare(outcome, &mut found),
    }
    if let Some(updates) = &expected.updates {
        compare_updates(updates, &came.updates, &mut found);
    }
    found
}

impl Expectation {
    fn compare(&self, outcome: &Outcome, found: &mut Vec<String>) {
        let stopped = outcome.stopped.map(Stopped::as_str);
        if stopped != self.stopped.as_deref() {
            found.push(match (stopped, &self.stopped) {
                (Some("deadline"), None) => {
                    format!("it did not end in time:\n{}", indented(&outcome.text()))
                }
                (Some(why), _) => format!("it was stopped ({why}):\n{}", indented(&outcome.text())),
                (None, why) => format!(
                    "it was to be stopped ({})",
                    why.as_deref().unwrap_or_default()
                ),
            });
            return;
        }
        if outcome.is_error != self.is_error && self.stopped.is_none() {
            let how = if outcome.is_error {
                "the tool reports a failure"
            } else {
                "the tool was to report a failure"
            };
            found.push(format!("{how}:\n{}", indented(&outcome.text())));
        }
        if let Some(text) = &self.text {
            found.extend(text.difference("the text", &outcome.text()));
        }
        if let Some(content) = &self.content {
            let came = serde_json::to_value(&outcome.content).unwrap_or_default();
            if came != *content {
                found.push(format!(
                    "the content differs:\n{}",
                    diff(&pretty(content), &pretty(&came))
                ));
            }
        }
        if let Some(details) = &self.details
            && !holds(details, &outcome.details)
        {
            let came = trimmed(details, &outcome.details);
            found.push(format!(
                "the details differ:\n{}",
                diff(&pretty(details), &pretty(&came))
            ));
        }
    }
}

impl TextMatch {
    fn difference(&self, what: &str, came: &str) -> Option<String> {
        match self {
            TextMatch::Exactly(text) if text == came => None,
            TextMatch::Exactly(text) => Some(format!("{what} differs:\n{}", diff(text, came))),
            TextMatch::Contains(texts) => {
                let missing: Vec<_> = texts.iter().filter(|text| !came.contains(*text)).collect();
                if missing.is_empty() {
                    return None;
                }
                let missing: Vec<String> =
                    missing.iter().map(|text| format!("- {text}\n")).collect();
                Some(format!(
                    "{what} does not contain:\n{}it is:\n{}",
                    missing.concat(),
                    indented(came)
                ))
            }
            TextMatch::Matches(_, regex) if regex.find(came).is_some() => None,
            TextMatch::Matches(pattern, _) => Some(format!(
                "{what} does not match /{pattern}/:\n{}",
                indented(came)
            )),
        }
    }
}

fn compare_updates(expected: &[Update], came: &[Value], found: &mut Vec<String>) {
    let texts: Vec<String> = came.iter().map(text_of).collect();
    if expected.len() != came.len() {
        let listed = texts.iter().enumerate();
        let listed: Vec<String> = listed
            .map(|(at, text)| format!("{}: {text}\n", at + 1))
            .collect();
        found.push(format!(
            "updates: {} came, {} were expected:\n{}",
            came.len(),
            expected.len(),
            indented(&listed.concat())
        ));
        return;
    }
    for (at, (expected, came)) in expected.iter().zip(came).enumerate() {
        let what = format!("update {}", at + 1);
        match expected {
            Update::Text(text) => found.extend(text.difference(&what, &texts[at])),
            Update::Partial(partial) if holds(partial, came) => {}
            Update::Partial(partial) => {
                let came = trimmed(partial, came);
                found.push(format!(
                    "{what} differs:\n{}",
                    diff(&pretty(partial), &pretty(&came))
                ));
            }
        }
    }
}

fn text_of(partial: &Value) -> String {
    let blocks = partial["content"].as_array().into_iter().flatten();
    let texts = blocks.filter_map(|block| block["text"].as_str());
    texts.collect::<Vec<_>>().join("\n")
}

fn not_run(error: &Error) -> String {
    let how = match error.kind() {
        ErrorKind::BadArguments => "the arguments were refused",
        ErrorKind::NoSuchTool => "there is no such tool",
        ErrorKind::Load => "the module cannot be loaded",
        _ => "the call could not be run",
    };
    let hint = error.hint().map(|hint| format!("hint: {hint}\n"));
    format!(
        "{how}:\n{}{}",
        indented(error.message()),
        hint.unwrap_or_default()
    )
}

/// Returns true if `actual` contains `expected`. Objects may have more keys; everything else must
/// be equal.
fn holds(expected: &Value, actual: &Value) -> bool {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => expected
            .iter()
            .all(|(key, value)| actual.get(key).is_some_and(|actual| holds(value, actual))),
        (Value::Array(expected), Value::Array(actual)) => {
            expected.len() == actual.len()
                && expected
                    .iter()
                    .zip(actual)
                    .all(|(expected, actual)| holds(expected, actual))
        }
        (Value::Number(one), Value::Number(other)) => {
            one == other || one.as_f64() == other.as_f64()
        }
        (expected, actual) => expected == actual,
    }
}

/// Returns `actual` without the parts that `expected` does not mention, for a short difference.
fn trimmed(expected: &Value, actual: &Value) -> Value {
    match (expected, actual) {
        (Value::Object(expected), Value::Object(actual)) => {
            let named = expected.iter().filter_map(|(key, value)| {
                let actual = actual.get(key)?;
                Some((key.clone(), trimmed(value, actual)))
            });
            named.collect()
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let both = expected.iter().zip(actual);
            both.map(|(expected, actual)| trimmed(expected, actual))
                .collect()
        }
        _ => actual.clone(),
    }
}

fn pretty(value: &Value) -> String {
    format!("{value:#}")
}

/// Returns a line diff: `-` marks expected lines and `+` actual lines.
fn diff(expected: &str, came: &str) -> String {
    let mut text = String::new();
    for change in TextDiff::from_lines(expected, came).iter_all_changes() {
        let sign = match change.tag() {
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
            ChangeTag::Equal => ' ',
        };
        let line = change.value().trim_end_matches('\n');
        text.push_str(&format!("{sign} {line}\n"));
    }
    text
}

fn indented(text: &str) -> String {
    let lines = text.lines().map(|line| format!("  {line}\n"));
    lines.collect()
}
