//! `validation.pattern`: an ECMAScript regular expression that cannot run away (spec cycod 46).
//!
//! Two engines look at it. `regress` knows ECMAScript's grammar and says whether the author wrote
//! a valid expression; it has no bound on backtracking, so it never sees a value. What matches is
//! `jsonschema`'s translation to a linear engine, which backtracks only for lookaround and
//! backreferences, and then only so many steps. That translation is dear, so tools that have the same
//! expression share it, and it waits for the first value wherever it cannot fail.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, LazyLock, Mutex, OnceLock, PoisonError, Weak};

use jsonschema::error::ValidationErrorKind;
use jsonschema::{PatternOptions, Validator};
use serde_json::{Value, json};

/// Backtracking steps for one value: some milliseconds. The linear engine needs none.
const STEPS: usize = 100_000;

/// What a compiled expression may weigh. `\w{1,1000}` fits; `(\w{1,1000}){1,1000}` does not.
const SIZE: usize = 4 << 20;

/// No expression of so many bytes is too big unless it counts.
const SHORT: usize = 64;

/// An expression that can be matched, with its text.
#[derive(Clone)]
pub(crate) struct Pattern {
    text: String,
    matcher: Arc<Matcher>,
}

/// The translation, once it was needed; nothing if there is none.
type Matcher = OnceLock<Option<Validator>>;

/// Those that loaded tools have, by their texts.
static MATCHERS: LazyLock<Mutex<HashMap<String, Weak<Matcher>>>> = LazyLock::new(Mutex::default);

/// What came of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Matched {
    Yes,
    No,
    /// Nobody knows: deciding takes too long.
    TooExpensive,
}

impl Pattern {
    /// Compiles. The error says in a few words why it cannot be.
    pub(crate) fn compile(text: &str) -> Result<Pattern, String> {
        regress::Regex::with_flags(text, "u")
            .or_else(|_| regress::Regex::new(text))
            .map_err(|error| error.text)?;
        let pattern = Pattern {
            text: text.to_owned(),
            matcher: shared(text),
        };
        if !is_plain(text) && pattern.matcher().is_none() {
            return Err("it is too big, or uses what haft cannot match safely".to_owned());
        }
        Ok(pattern)
    }

    /// Searches `value` for it, unanchored (spec cycod 39).
    pub(crate) fn search(&self, value: &str) -> Matched {
        let Some(matcher) = self.matcher() else {
            return Matched::TooExpensive;
        };
        match matcher.validate(&Value::from(value)) {
            Ok(()) => Matched::Yes,
            Err(error) => match error.kind() {
                ValidationErrorKind::BacktrackLimitExceeded { .. } => Matched::TooExpensive,
                _ => Matched::No,
            },
        }
    }

    fn matcher(&self) -> Option<&Validator> {
        let made = self.matcher.get_or_init(|| {
            let options = PatternOptions::fancy_regex()
                .backtrack_limit(STEPS)
                .size_limit(SIZE)
                .dfa_size_limit(SIZE);
            jsonschema::options()
                .with_pattern_options(options)
                .build(&json!({ "pattern": self.text }))
                .ok()
        });
        made.as_ref()
    }

    /// As its author wrote it.
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

/// The matcher of this text that some tool has, or a new one.
fn shared(text: &str) -> Arc<Matcher> {
    let mut matchers = MATCHERS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(matcher) = matchers.get(text).and_then(Weak::upgrade) {
        return matcher;
    }
    if matchers.len() == matchers.capacity() {
        matchers.retain(|_, matcher| matcher.strong_count() > 0);
    }
    let matcher = Arc::<Matcher>::default();
    matchers.insert(text.to_owned(), Arc::downgrade(&matcher));
    matcher
}

/// Whether a valid expression is short and made of nothing but what every engine reads alike: no
/// counting, no lookaround or backreference, no class in a class, no escape that is a letter's other
/// than `\d`, `\s`, `\w` and their opposites.
fn is_plain(text: &str) -> bool {
    let mut characters = text.chars();
    let mut class: Option<u32> = None;
    let mut previous = ' ';
    while let Some(character) = characters.next() {
        let next = characters.clone().next().unwrap_or(' ');
        let is_read_alike = match character {
            '\\' => {
                characters.next();
                (next.is_ascii_punctuation() && !"<>".contains(next)) || "dDsSwW".contains(next)
            }
            '(' => class.is_some() || next != '?',
            '-' => previous != '-',
            '{' | '}' | '&' | '~' => false,
            '[' => class.is_none(),
            // An empty class is one in ECMAScript only.
            ']' => class.is_none_or(|length| length > 0),
            _ => character.is_ascii_graphic() || character == ' ',
        };
        if !is_read_alike || text.len() > SHORT {
            return false;
        }
        class = match (class, character) {
            (None, '[') => Some(0),
            (Some(_), ']') => None,
            (Some(0), '^') => Some(0),
            (class, _) => class.map(|length| length + 1),
        };
        previous = character;
    }
    true
}
