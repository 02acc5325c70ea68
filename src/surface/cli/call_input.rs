//! Arguments of `haft call` as given: JSON text, standard input or pairs.
//!
//! JSON text passes through unchanged, so that numbers and key order reach the tool as they were
//! written. Invalid JSON is shown with a caret below the error.
//!
//! Pairs (`--arg key=value`) become JSON with the types of the tool's schema. A value stays a string
//! wherever the schema allows a string. A value that fits none of the types is also sent as a
//! string. The tool then reports the error, so there is only one message for it. Numbers are copied
//! digit by digit.

use std::io::{self, Read};

use serde_json::Value;
use serde_json::value::RawValue;

use super::schema_kind::{Kind, closed_names, names, other_properties, property};
use haft_tool::json::kind_of;
use haft_tool::provider_schema::PropertyNames;
use haft_tool::visible::is_harmful;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Family, Tool, suggest};

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
            None => Ok(Input::Pairs(parse_pairs(pairs)?)),
        }
    }

    /// Returns the arguments for this tool as JSON. Properties may have the aliases that models
    /// see.
    pub(super) fn typed_by(self, tool: &Tool) -> Result<Box<RawValue>, Error> {
        let schema = &tool.input_schema;
        let arguments = match self {
            Input::Json(json) => json,
            // YAML shell tools define lists as `a,b` on the command line (spec cycod 42), and suggest
            // names themselves.
            Input::Pairs(pairs) if tool.source.family == Family::Shell => {
                written(properties(&divided(pairs, schema), schema)?)?
            }
            Input::Pairs(pairs) => {
                let given = properties(&pairs, schema)?;
                refuse_misspelled(&given, schema)?;
                written(given)?
            }
        };
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
    let what = kind_of(json.get());
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
    let caret = haft_render::width::width(&head);
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

/// One `key=value` or `key:=json` as typed.
#[derive(Clone)]
pub(super) struct Pair {
    key: String,
    value: Text,
}

#[derive(Clone)]
enum Text {
    Typed(String),
    Json(Box<RawValue>),
}

/// JSON under construction. Leaves hold JSON text.
enum Node {
    Leaf(String),
    List(Vec<String>),
    Object(Vec<(String, Node)>),
}

/// Parses the pairs. Reports all errors that do not depend on the tool.
fn parse_pairs(pairs: &[String]) -> Result<Vec<Pair>, Error> {
    pairs.iter().map(|pair| parse_pair(pair)).collect()
}

/// Splits the values of lists: `list=a,b` becomes `list=a list=b`.
fn divided(pairs: Vec<Pair>, schema: &Value) -> Vec<Pair> {
    let is_list = |key: &str| {
        let declared = property(schema, key, schema);
        declared.is_some_and(|declared| Kind::of(declared, schema).array)
    };
    let mut divided = Vec::new();
    for pair in pairs {
        let parts: Vec<String> = match &pair.value {
            Text::Typed(text) if is_list(&pair.key) && !is_json(text, '[') => {
                text.split(',').map(|part| part.trim().to_owned()).collect()
            }
            _ => {
                divided.push(pair);
                continue;
            }
        };
        for part in parts {
            divided.push(Pair {
                key: pair.key.clone(),
                value: Text::Typed(part),
            });
        }
    }
    divided
}

/// Returns the properties of the JSON object for the pairs.
fn properties(pairs: &[Pair], schema: &Value) -> Result<Vec<(String, Node)>, Error> {
    let mut root = Vec::new();
    for pair in pairs {
        let (steps, kind) = locate(&pair.key, schema)?;
        insert(&mut root, &steps, pair, &kind, schema)?;
    }
    Ok(root)
}

/// Returns the JSON object with these properties.
fn written(root: Vec<(String, Node)>) -> Result<Box<RawValue>, Error> {
    let mut text = String::new();
    write(&Node::Object(root), &mut text);
    RawValue::from_string(text)
        .map_err(|error| Error::new(ErrorKind::Internal, error.to_string()).with_source(error))
}

fn parse_pair(pair: &str) -> Result<Pair, Error> {
    let Some((key, value)) = pair.split_once('=') else {
        let text = format!("`--arg {pair}` has no value");
        let hint = format!("write `--arg {pair}=…`, or `--arg {pair}:=…` for JSON");
        return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
    };
    let (key, value) = match key.strip_suffix(':') {
        None => (key, Text::Typed(value.to_owned())),
        Some(key) => {
            let json = serde_json::from_str(value).map_err(|error| {
                let text = format!("the value of `{key}` is not valid JSON: {error}");
                let hint = format!("without the colon it is text: `--arg {key}={value}`");
                Error::new(ErrorKind::Usage, text).with_hint(hint)
            })?;
            (key, Text::Json(json))
        }
    };
    if key.is_empty() {
        let text = format!("`--arg {pair}` has no name before the `=`");
        return Err(Error::new(ErrorKind::Usage, text));
    }
    Ok(Pair {
        key: key.to_owned(),
        value,
    })
}

/// Resolves a dotted key to its steps into the object and the kind of the value there.
///
/// A property whose name contains the dot takes precedence.
fn locate<'a>(key: &str, root: &'a Value) -> Result<(Vec<String>, Kind<'a>), Error> {
    let mut steps = Vec::new();
    let mut here = Some(root);
    let mut rest = key;
    loop {
        let whole = here.and_then(|schema| property(schema, rest, root));
        let (step, below) = match rest.split_once('.') {
            Some((step, below)) if whole.is_none() => (step, Some(below)),
            _ => (rest, None),
        };
        if let Some(schema) = here {
            refuse_unknown(schema, root, step, key)?;
        }
        let declared = here.and_then(|schema| property(schema, step, root));
        here = declared.or_else(|| here.and_then(|schema| other_properties(schema, root)));
        steps.push(step.to_owned());
        match below {
            Some(below) => rest = below,
            None => break,
        }
    }
    let kind = here
        .map(|schema| Kind::of(schema, root))
        .unwrap_or_default();
    Ok((steps, kind))
}

fn refuse_unknown(schema: &Value, root: &Value, step: &str, key: &str) -> Result<(), Error> {
    let Some(names) = closed_names(schema, root) else {
        return Ok(());
    };
    if names.contains(&step) {
        return Ok(());
    }
    let error = Error::new(ErrorKind::Usage, format!("there is no argument `{key}`"));
    Err(match suggest(step, names.iter().copied()) {
        Some(name) => error.with_hint(format!("did you mean `{name}`?")),
        None if names.is_empty() => error.with_hint("the tool takes none"),
        None => error.with_hint(format!("there are `{}`", names.join("`, `"))),
    })
}

/// Refuses a name that is not declared if a required argument with a similar name is missing: the
/// tool would refuse the call, often without naming either.
fn refuse_misspelled(given: &[(String, Node)], schema: &Value) -> Result<(), Error> {
    if PropertyNames::of(schema).is_some() {
        // A name may be the alias of another one.
        return Ok(());
    }
    let is_given = |name: &str| given.iter().any(|(given, _)| given == name);
    let required = schema["required"].as_array().into_iter().flatten();
    let missing = required
        .filter_map(Value::as_str)
        .filter(|name| !is_given(name));
    let declared = names(schema, schema);
    for (name, _) in given {
        if declared.contains(&name.as_str()) {
            continue;
        }
        if let Some(meant) = suggest(name, missing.clone()) {
            let text = format!("the argument `{meant}` is missing");
            let hint = format!("did you mean `{meant}` instead of `{name}`?");
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
    }
    Ok(())
}

fn insert(
    object: &mut Vec<(String, Node)>,
    steps: &[String],
    pair: &Pair,
    kind: &Kind,
    root: &Value,
) -> Result<(), Error> {
    let Some((step, below)) = steps.split_first() else {
        return Ok(());
    };
    let index = object.iter().position(|(name, _)| name == step);
    match (index.map(|i| &mut object[i].1), below.is_empty()) {
        (None, true) => object.push((step.clone(), leaf(pair, kind, root))),
        (None, false) => {
            let mut inner = Vec::new();
            insert(&mut inner, below, pair, kind, root)?;
            object.push((step.clone(), Node::Object(inner)));
        }
        (Some(Node::Object(inner)), false) => insert(inner, below, pair, kind, root)?,
        (Some(Node::List(items)), true) => match &pair.value {
            Text::Typed(text) => items.push(element(text, kind, root)),
            Text::Json(_) => return Err(given_twice(pair, "write the whole array as JSON once")),
        },
        (Some(_), _) => {
            let hint = "only an argument that takes an array can be repeated";
            return Err(given_twice(pair, hint));
        }
    }
    Ok(())
}

fn given_twice(pair: &Pair, hint: &str) -> Error {
    let text = format!("the argument `{}` is given twice", pair.key);
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

fn leaf(pair: &Pair, kind: &Kind, root: &Value) -> Node {
    let text = match &pair.value {
        Text::Json(json) => return Node::Leaf(json.get().to_owned()),
        Text::Typed(text) => text,
    };
    if !kind.array {
        Node::Leaf(scalar(text, kind))
    } else if is_json(text, '[') {
        Node::Leaf(text.trim().to_owned())
    } else {
        Node::List(vec![element(text, kind, root)])
    }
}

fn element(text: &str, kind: &Kind, root: &Value) -> String {
    match kind.items {
        Some(items) => scalar(text, &Kind::of(items, root)),
        None => scalar(text, &Kind::default()),
    }
}

/// Returns the JSON text of `text` where `kind` is expected.
fn scalar(text: &str, kind: &Kind) -> String {
    let literal = kind.literals.iter().find(|literal| match literal {
        Value::String(word) => word == text,
        other => other.to_string() == text,
    });
    if let Some(literal) = literal {
        return literal.to_string();
    }
    let number = (kind.number || kind.integer) && is_number(text);
    let boolean = kind.boolean && matches!(text, "true" | "false");
    let null = kind.null && text == "null";
    let object = kind.object && is_json(text, '{');
    let anything = kind.is_any()
        && (is_number(text)
            || matches!(text, "true" | "false" | "null")
            || is_json(text, '{')
            || is_json(text, '['));
    if !kind.string && (number || boolean || null || object || anything) {
        return text.trim().to_owned();
    }
    Value::String(text.to_owned()).to_string()
}

fn is_number(text: &str) -> bool {
    let starts = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    starts && serde_json::from_str::<&RawValue>(text).is_ok_and(|json| json.get() == text)
}

fn is_json(text: &str, opening: char) -> bool {
    text.trim_start().starts_with(opening) && serde_json::from_str::<&RawValue>(text).is_ok()
}

fn write(node: &Node, text: &mut String) {
    match node {
        Node::Leaf(json) => text.push_str(json),
        Node::List(items) => {
            text.push('[');
            text.push_str(&items.join(","));
            text.push(']');
        }
        Node::Object(members) => {
            text.push('{');
            for (index, (name, node)) in members.iter().enumerate() {
                if index > 0 {
                    text.push(',');
                }
                text.push_str(&Value::String(name.clone()).to_string());
                text.push(':');
                write(node, text);
            }
            text.push('}');
        }
    }
}
