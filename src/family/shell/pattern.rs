//! `validation.pattern`: an ECMAScript regular expression with a bound on its run time (spec cycod
//! 46).
//!
//! Two engines are used. `regress` knows ECMAScript's grammar and checks that the expression is
//! valid; it has no bound on backtracking, so it never gets a value. Values are matched by
//! `jsonschema`'s translation to a linear engine. That one backtracks only for lookaround and
//! backreferences, and only up to a limit of steps. The translation is expensive, so tools with the
//! same expression share it.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Weak};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use parking_lot::Mutex;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Deserialize;
use serde_json::{Value, json};

/// Limit of backtracking steps for one value: some milliseconds. The linear engine needs none.
const STEPS: usize = 100_000;

/// Limit of the memory of a compiled expression, in bytes. `\w{1,1000}` fits;
/// `(\w{1,1000}){1,1000}` does not.
const SIZE: usize = 4 << 20;

/// A compiled expression with its text.
#[derive(Clone, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Pattern {
    text: String,
    matcher: Arc<Validator>,
}

/// Cache of the compiled expressions of loaded tools, by their texts.
static MATCHERS: LazyLock<Mutex<HashMap<String, Weak<Validator>>>> = LazyLock::new(Mutex::default);

/// Result of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    Yes,
    No,
    /// Undecided: the match takes too long.
    TooExpensive,
}

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Pattern, String> {
        Pattern::compile(&text)
    }
}

impl JsonSchema for Pattern {
    fn schema_name() -> Cow<'static, str> {
        "Pattern".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "format": "regex" })
    }
}

impl Pattern {
    /// Compiles the expression. The error is a short reason.
    pub(crate) fn compile(text: &str) -> Result<Pattern, String> {
        regress::Regex::with_flags(text, "u")
            .or_else(|_| regress::Regex::new(text))
            .map_err(|error| error.text)?;
        Ok(Pattern {
            text: text.to_owned(),
            matcher: matcher(text)?,
        })
    }

    /// Searches `value` for the expression, unanchored (spec cycod 39).
    pub(crate) fn search(&self, value: &str) -> Matched {
        match self.matcher.validate(&Value::from(value)) {
            Ok(()) => Matched::Yes,
            Err(error) => match error.kind() {
                ValidationErrorKind::BacktrackLimitExceeded { .. } => Matched::TooExpensive,
                _ => Matched::No,
            },
        }
    }

    /// Returns the expression as its author wrote it.
    pub(crate) fn as_str(&self) -> &str {
        &self.text
    }
}

impl fmt::Debug for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/", self.text)
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Pattern) -> bool {
        self.text == other.text
    }
}

/// Returns the matcher of this text from the cache, or a new one.
fn matcher(text: &str) -> Result<Arc<Validator>, String> {
    let matchers = || MATCHERS.lock();
    let known = matchers().get(text).and_then(Weak::upgrade);
    if let Some(matcher) = known {
        return Ok(matcher);
    }
    // The lock is not held here, so that other threads can translate theirs meanwhile.
    let options = PatternOptions::fancy_regex()
        .backtrack_limit(STEPS)
        .size_limit(SIZE)
        .dfa_size_limit(SIZE);
    let matcher = jsonschema::options()
        .with_pattern_options(options)
        .build(&json!({ "pattern": text }))
        .map_err(|_| "it is too big, or uses what haft cannot match safely".to_owned())?;
    let matcher = Arc::new(matcher);
    let mut matchers = matchers();
    if matchers.len() == matchers.capacity() {
        matchers.retain(|_, matcher| matcher.strong_count() > 0);
    }
    matchers.insert(text.to_owned(), Arc::downgrade(&matcher));
    Ok(matcher)
}
