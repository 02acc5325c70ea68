//! Arguments of `haft call` as given: JSON text, standard input or pairs.
//!
//! JSON text passes through unchanged, so that numbers and key order reach the tool as they were
//! written. Invalid JSON is shown with a caret below the error.

use std::io::{self, Read};

use serde_json::value::RawValue;

use super::call_pairs::{self, Pair};
use haft_tool::provider_schema::PropertyNames;
use haft_tool::visible::is_harmful;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Family, Tool};

/// Number of characters of a long line that are shown on each side of an error.
const WINDOW: usize = 50;

/// Arguments as given by the user.
#[derive(Clone)]
pub(super) enum Input {
    /// A complete JSON object.
    Json(Box<RawValue>),
    /// Pairs. The schema of the tool determines the types of their values.
    Pairs(Vec<Pair>),
}

impl Input {
    /// Parses the arguments: `text` is JSON, or `-` for standard input.
    pub(super) fn read(text: Option<&str>, pairs: &[String]) -> Result<Self, Error> {
        match text {
            Some("-") => Ok(Input::Json(object(&from_stdin()?)?)),
            Some(text) => Ok(Input::Json(object(text)?)),
            None => Ok(Input::Pairs(call_pairs::parse(pairs)?)),
        }
    }

    /// Returns the arguments for this tool as JSON. Properties may have the aliases that models
    /// see.
    pub(super) fn typed_by(self, tool: &Tool) -> Result<Box<RawValue>, Error> {
        let schema = &tool.input_schema;
        let arguments = match self {
            Input::Json(json) => Ok(json),
            // YAML shell tools define lists as `a,b` on the command line (spec cycod 42).
            Input::Pairs(pairs) if tool.source.family == Family::Shell => {
                call_pairs::build(&call_pairs::divided(pairs, schema), schema)
            }
            Input::Pairs(pairs) => call_pairs::build(&pairs, schema),
        }?;
        let names = PropertyNames::of(schema);
        let real = names.and_then(|names| names.real_arguments(&arguments));
        Ok(real.unwrap_or(arguments))
    }
}

fn from_stdin() -> Result<String, Error> {
    let mut text = String::new();
    io::stdin().lock().read_to_string(&mut text).map_err(|e| {
        let text = format!("the arguments cannot be read from standard input: {e}");
        Error::new(ErrorKind::Usage, text)
    })?;
    Ok(text)
}

fn object(text: &str) -> Result<Box<RawValue>, Error> {
    let json: Box<RawValue> = serde_json::from_str(text).map_err(|error| not_json(text, &error))?;
    if json.get().starts_with('{') {
        return Ok(json);
    }
    let what = match json.get().as_bytes().first() {
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b't' | b'f') => "a boolean",
        Some(b'n') => "null",
        _ => "a number",
    };
    let text = format!("the arguments are {what}, a tool takes an object");
    Err(Error::new(ErrorKind::Usage, text).with_hint("for example '{\"path\": \"README.md\"}'"))
}

fn not_json(text: &str, error: &serde_json::Error) -> Error {
    let (line, column) = (error.line(), error.column());
    let reason = error.to_string();
    let place = format!(" at line {line} column {column}");
    let reason = match reason.strip_suffix(&place).unwrap_or(&reason) {
        "expected ident" => "a word without quotes",
        reason => reason,
    };
    let mut message = format!("the arguments are not valid JSON: {reason}{place}");
    if let Some(source) = text.lines().nth(line.saturating_sub(1)) {
        let (excerpt, caret) = excerpt(source, column);
        message.push_str(&format!("\n  {excerpt}\n  {:caret$}^", ""));
    }
    Error::new(ErrorKind::Usage, message).with_hint(advice(text))
}

/// Returns the part of `line` around the 1-based byte `column`, and the number of cells before the
/// caret.
fn excerpt(line: &str, column: usize) -> (String, usize) {
    let before = line.as_bytes().get(..column.saturating_sub(1));
    let before = String::from_utf8_lossy(before.unwrap_or(line.as_bytes()));
    let at = before.chars().count();
    let from = at.saturating_sub(WINDOW);
    let shown = |c: char| if is_harmful(c) { '\u{fffd}' } else { c };
    let part: String = line
        .chars()
        .skip(from)
        .take(2 * WINDOW)
        .map(shown)
        .collect();
    let head: String = part.chars().take(at - from).collect();
    let caret = haft_render::text::width(&head);
    (part, caret)
}

fn advice(text: &str) -> String {
    let text = text.trim();
    let is_pair = text.split_once('=').is_some_and(|(key, _)| {
        key.chars()
            .all(|c| c.is_alphanumeric() || "_.:-".contains(c))
    });
    if text.is_empty() {
        "nothing was given; an empty object is `{}`".into()
    } else if is_pair {
        format!("single values are written `--arg {text}`")
    } else if text.contains('\'') && !text.contains('"') {
        "JSON wants double quotes: '{\"path\": \"README.md\"}'".into()
    } else {
        "`--arg key=value` needs no JSON".into()
    }
}
