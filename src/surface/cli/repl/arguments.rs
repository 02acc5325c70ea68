//! Parser for the arguments after a tool's name: JSON, or words with types from the tool's schema.
//!
//! The words are `key=value`, `key:=JSON`, `--key value`, `--key=value` and `--flag`. `--arg
//! key=value` is accepted too, so that arguments of `haft call` can be pasted.

use serde_json::Value;
use serde_json::value::RawValue;

use super::words::{self, Word};
use crate::surface::cli::call_input::Input;
use crate::surface::cli::schema_kind::{Kind, names, property};
use haft_tool::Tool;
use haft_tool::{Error, ErrorKind};

/// Parses the arguments for `tool` as they were typed.
///
/// # Errors
/// [`ErrorKind::Usage`] for text that is neither JSON nor words of these kinds.
pub(super) fn read(text: &str, tool: &Tool) -> Result<Box<RawValue>, Error> {
    let input = if text.starts_with('{') {
        Input::read(Some(text), &[])
    } else {
        pairs(text, tool).and_then(|pairs| Input::read(None, &pairs))
    };
    input
        .and_then(|input| input.typed_by(tool))
        .map_err(|error| in_words_of_the_repl(&error))
}

fn pairs(text: &str, tool: &Tool) -> Result<Vec<String>, Error> {
    let cut = words::cut(text);
    if cut.is_open {
        let text = "a quote or a bracket is not closed";
        return Err(Error::new(ErrorKind::Usage, text));
    }
    let mut pairs = Vec::new();
    let mut words = cut.words.into_iter().peekable();
    while let Some(word) = words.next() {
        let Some(option) = word.text.strip_prefix("--") else {
            if !word.text.contains('=') {
                return Err(no_argument(&word, tool));
            }
            pairs.push(word.text);
            continue;
        };
        if is_call_flag(option, tool) {
            pairs.extend(words.next().map(|pair| pair.text));
        } else if option.contains('=') {
            pairs.push(option.to_owned());
        } else {
            let is_value = |next: &Word| is_value(&next.text, option, tool);
            let value = words.next_if(is_value).map(|value| value.text);
            pairs.push(format!("{option}={}", value.as_deref().unwrap_or("true")));
        }
    }
    Ok(pairs)
}

/// Returns true for `--arg` of `haft call`, unless the tool has an argument of that name.
fn is_call_flag(option: &str, tool: &Tool) -> bool {
    let schema = &tool.input_schema;
    matches!(option, "arg" | "param") && property(schema, option, schema).is_none()
}

/// Returns true if `word` is the value of `--option`. A switch only takes `true` or `false`.
fn is_value(word: &str, option: &str, tool: &Tool) -> bool {
    let schema = &tool.input_schema;
    let declared = property(schema, option, schema);
    let is_switch = declared.is_some_and(|declared| is_switch(declared, schema));
    if is_switch {
        matches!(word, "true" | "false")
    } else {
        !word.starts_with("--")
    }
}

fn is_switch(declared: &Value, schema: &Value) -> bool {
    let kind = Kind::of(declared, schema);
    kind.boolean && !(kind.string || kind.number || kind.integer || kind.array || kind.object)
}

fn no_argument(word: &Word, tool: &Tool) -> Error {
    let names = names(&tool.input_schema, &tool.input_schema);
    let text = format!("`{}` has no name", word.text);
    let error = Error::new(ErrorKind::Usage, text);
    match names.as_slice() {
        [] => error.with_hint("the tool takes no arguments"),
        [first, ..] => {
            let all = names.join("`, `");
            error.with_hint(format!("write `{first}={}`; there are `{all}`", word.text))
        }
    }
}

/// Returns the error without `--arg`, which the repl does not need.
fn in_words_of_the_repl(error: &Error) -> Error {
    let plain = |text: &str| text.replace("--arg ", "");
    let same = Error::new(error.kind(), plain(error.message()));
    match error.hint() {
        Some(hint) => same.with_hint(plain(hint)),
        None => same,
    }
}
