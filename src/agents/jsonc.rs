//! Edits one entry of a JSON file by changing the text at one place.
//!
//! The file is parsed only for its positions. Comments, the order of the keys, the indentation and
//! trailing commas stay; a new entry follows them.

use jsonc_parser::ast::{Object, ObjectProp, Value as Node};
use jsonc_parser::common::Ranged;
use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Map, Value};

use super::entry::{Entry, OWN_KEYS, Refusal};

const INDENT: &str = "  ";

/// Returns a file with only this entry.
pub(super) fn alone(keys: &[String], name: &str, entry: &Map<String, Value>) -> String {
    let mut value = Value::Object(Map::from_iter([(
        name.to_owned(),
        Value::Object(entry.clone()),
    )]));
    for key in keys.iter().rev() {
        value = Value::Object(Map::from_iter([(key.clone(), value)]));
    }
    pretty(&value, INDENT, "\n") + "\n"
}

/// Returns the text with the entry in it. An existing entry changes only in the keys that identify
/// the server, and in settings that are missing or that a flag gives.
pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Entry,
) -> Result<String, Refusal> {
    let mut path: Vec<&str> = keys.iter().map(String::as_str).collect();
    path.push(name);
    if !is_there(text, &path)? {
        return set(text, &path, &Value::Object(entry.whole()));
    }
    let mut text = text.to_owned();
    for key in OWN_KEYS {
        let path = [&path[..], &[key]].concat();
        text = match entry.server.get(key) {
            Some(value) => set(&text, &path, value)?,
            None => unset(&text, &path)?.unwrap_or(text),
        };
    }
    // New headers must be written. Without new ones, old headers stay: they may be the user's own.
    if let Some(headers) = entry.server.get("headers") {
        text = set(&text, &[&path[..], &["headers"]].concat(), headers)?;
    }
    for setting in &entry.settings {
        let path = [&path[..], &[setting.key]].concat();
        if setting.is_given || !is_there(&text, &path)? {
            text = set(&text, &path, &setting.value)?;
        }
    }
    Ok(text)
}

/// Returns the text without the entry; `None` if it has no such entry.
pub(super) fn take(text: &str, keys: &[String], name: &str) -> Result<Option<String>, Refusal> {
    let mut path: Vec<&str> = keys.iter().map(String::as_str).collect();
    path.push(name);
    unset(text, &path)
}

/// Parses the text as data.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    with_root(text, |root| match root {
        Some(root) => Ok(plain(root)),
        None => Ok(Value::Object(Map::new())),
    })
}

fn is_there(text: &str, path: &[&str]) -> Result<bool, Refusal> {
    with_root(text, |root| {
        let Some(root) = root else { return Ok(false) };
        Ok(walk(text, root, path)?.1.is_empty())
    })
}

/// Sets the value at `path`, and adds the missing objects on the way.
fn set(text: &str, path: &[&str], value: &Value) -> Result<String, Refusal> {
    with_root(text, |root| {
        let newline = if text.contains("\r\n") { "\r\n" } else { "\n" };
        let Some(root) = root else {
            // The text has only space and comments, which stay in front.
            let head = text.trim_end();
            let gap = if head.is_empty() { "" } else { newline };
            let body = pretty(&nested(path, value), INDENT, newline);
            return Ok(format!("{head}{gap}{body}{newline}"));
        };
        let (found, missing) = walk(text, root, path)?;
        let unit = unit(text, root);
        match (found, missing) {
            (Found::Prop(prop), []) => {
                if plain(&prop.value) == *value {
                    return Ok(text.to_owned());
                }
                let indent = indent_of(text, prop.range.start);
                let (start, end) = (prop.value.start(), prop.value.end());
                let new = pretty(value, unit, newline).replace('\n', &format!("\n{indent}"));
                Ok(format!("{}{new}{}", &text[..start], &text[end..]))
            }
            (Found::Object(object), [key, rest @ ..]) => {
                let value = nested(rest, value);
                Ok(insert(text, object, key, &value, unit, newline))
            }
            // `walk` ends at a property only if every key was found.
            _ => Ok(text.to_owned()),
        }
    })
}

/// Removes the property at `path`; `None` if there is none.
fn unset(text: &str, path: &[&str]) -> Result<Option<String>, Refusal> {
    with_root(text, |root| {
        let Some(root) = root else { return Ok(None) };
        let Some((_, parent)) = path.split_last() else {
            return Ok(None);
        };
        let (Found::Prop(prop), []) = walk(text, root, path)? else {
            return Ok(None);
        };
        let object = match walk(text, root, parent)?.0 {
            Found::Object(object) => object,
            Found::Prop(prop) => match &prop.value {
                Node::Object(object) => object,
                _ => return Ok(None),
            },
        };
        Ok(Some(remove(text, object, prop)))
    })
}

/// End of a path.
enum Found<'a, 'text> {
    /// At this property.
    Prop(&'a ObjectProp<'text>),
    /// In this object, which lacks the next key.
    Object(&'a Object<'text>),
}

/// Follows the path as far as it exists; returns the missing keys.
fn walk<'a, 'text, 'path>(
    text: &str,
    root: &'a Node<'text>,
    path: &'path [&'path str],
) -> Result<(Found<'a, 'text>, &'path [&'path str]), Refusal> {
    let mut node = root;
    let mut found = None;
    for (depth, key) in path.iter().enumerate() {
        let Node::Object(object) = node else {
            let what = match depth.checked_sub(1) {
                Some(above) => format!("`{}` is not an object there", path[above]),
                None => "the file does not hold an object".to_owned(),
            };
            return Err(Refusal::at(text.get(..node.start()), &what));
        };
        // If a key occurs twice, parsers use the last one.
        let mut props = object.properties.iter().rev();
        let Some(prop) = props.find(|prop| prop.name.as_str() == *key) else {
            return Ok((Found::Object(object), &path[depth..]));
        };
        node = &prop.value;
        found = Some(prop);
    }
    match (found, root) {
        (Some(prop), _) => Ok((Found::Prop(prop), &[])),
        (None, Node::Object(object)) => Ok((Found::Object(object), &[])),
        (None, _) => Err(Refusal::at(Some(""), "the file does not hold an object")),
    }
}

/// Adds a property at the end of an object.
fn insert(
    text: &str,
    object: &Object<'_>,
    key: &str,
    value: &Value,
    unit: &str,
    newline: &str,
) -> String {
    let close = object.range.end - 1;
    let inside = &text[object.range.start + 1..close];
    let name = Value::from(key).to_string();
    let Some(last) = object.properties.last() else {
        // An empty object, perhaps with comments in it.
        let outer = indent_of(text, object.range.start);
        let inner = format!("{outer}{unit}");
        let body = pretty(value, unit, newline).replace('\n', &format!("\n{inner}"));
        let kept = inside.trim_end();
        let start = object.range.start + 1;
        return format!(
            "{}{kept}{newline}{inner}{name}: {body}{newline}{outer}{}",
            &text[..start],
            &text[close..]
        );
    };
    if !inside.contains('\n') {
        // An object on a single line, as programs write it.
        let comma = if has_comma(text, last.range.end, close) {
            ""
        } else {
            ","
        };
        let kept = &text[..object.range.start + 1 + inside.trim_end().len()];
        let gap = if inside.starts_with(' ') || inside.contains(": ") {
            " "
        } else {
            ""
        };
        let tail = &text[kept.len()..];
        return format!("{kept}{comma}{gap}{name}:{gap}{value}{tail}");
    }
    let indent = indent_of(text, last.range.start);
    let body = pretty(value, unit, newline).replace('\n', &format!("\n{indent}"));
    let final_comma = has_comma(text, last.range.end, close);
    let (before, after) = if final_comma { ("", ",") } else { (",", "") };
    let rest = &text[last.range.end..close];
    let kept = rest.trim_end();
    let tail = match &rest[kept.len()..] {
        // The brace is directly behind the last property.
        tail if !tail.contains('\n') => format!("{newline}{}", outer_of(indent, unit)),
        tail => tail.to_owned(),
    };
    format!(
        "{}{before}{kept}{newline}{indent}{name}: {body}{after}{tail}{}",
        &text[..last.range.end],
        &text[close..]
    )
}

/// Removes a property from an object, with one comma and the line that becomes empty.
fn remove(text: &str, object: &Object<'_>, prop: &ObjectProp<'_>) -> String {
    let close = object.range.end - 1;
    let mut end = prop.range.end;
    let mut head = text[..prop.range.start].to_owned();
    if let Some(comma) = comma_after(text, end, close) {
        end = comma + 1;
    } else if let Some(before) = before(object, prop)
        && let Some(comma) = comma_after(text, before.range.end, prop.range.start)
    {
        head.remove(comma);
    }
    let tail = &text[end..];
    let line_is_empty = head.trim_end_matches([' ', '\t']).ends_with('\n')
        && tail.trim_start_matches([' ', '\t', '\r']).starts_with('\n');
    if !line_is_empty {
        let tail = if head.ends_with(' ') {
            tail.trim_start_matches(' ')
        } else {
            tail
        };
        return head + tail;
    }
    let kept = head.trim_end_matches([' ', '\t']);
    let next = tail.find('\n').map_or(tail, |newline| &tail[newline + 1..]);
    format!("{kept}{next}")
}

fn before<'a, 'text>(
    object: &'a Object<'text>,
    prop: &ObjectProp<'_>,
) -> Option<&'a ObjectProp<'text>> {
    let earlier = |other: &&ObjectProp<'_>| other.range.end <= prop.range.start;
    object.properties.iter().rfind(earlier)
}

fn has_comma(text: &str, from: usize, to: usize) -> bool {
    comma_after(text, from, to).is_some()
}

/// Returns the position of the comma between two places, ignoring comments.
fn comma_after(text: &str, from: usize, to: usize) -> Option<usize> {
    let mut at = from;
    while at < to {
        let rest = &text[at..to];
        let skipped = match rest.as_bytes()[0] {
            b',' => return Some(at),
            b'/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            b'/' if rest.starts_with("/*") => rest.find("*/").map_or(rest.len(), |end| end + 2),
            _ => 1,
        };
        at += skipped;
    }
    None
}

/// Returns the space at the beginning of the line.
fn indent_of(text: &str, at: usize) -> &str {
    let line = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
    let rest = &text[line..];
    &rest[..rest.len() - rest.trim_start_matches([' ', '\t']).len()]
}

fn outer_of<'a>(indent: &'a str, unit: &str) -> &'a str {
    indent.strip_suffix(unit).unwrap_or("")
}

/// Returns the file's indentation unit.
fn unit<'text>(text: &'text str, root: &Node<'_>) -> &'text str {
    let Node::Object(object) = root else {
        return INDENT;
    };
    let first = object.properties.first();
    let indent = first.map_or("", |prop| indent_of(text, prop.range.start));
    if indent.is_empty() { INDENT } else { indent }
}

fn nested(path: &[&str], value: &Value) -> Value {
    path.iter().rev().fold(value.clone(), |value, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), value)]))
    })
}

fn pretty(value: &Value, unit: &str, newline: &str) -> String {
    let text = serde_json::to_string_pretty(value).unwrap_or_default();
    let lines = text.lines().map(|line| {
        let words = line.trim_start_matches(' ');
        let depth = (line.len() - words.len()) / 2;
        format!("{}{words}", unit.repeat(depth))
    });
    lines.collect::<Vec<_>>().join(newline)
}

fn with_root<T>(
    text: &str,
    work: impl FnOnce(Option<&Node<'_>>) -> Result<T, Refusal>,
) -> Result<T, Refusal> {
    let options = ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    let parsed = parse_to_ast(text, &CollectOptions::default(), &options)
        .map_err(|error| Refusal::at(text.get(..error.range().start), &error.kind().to_string()))?;
    work(parsed.value.as_ref())
}

fn plain(node: &Node<'_>) -> Value {
    match node {
        Node::NullKeyword(_) => Value::Null,
        Node::BooleanLit(literal) => Value::Bool(literal.value),
        Node::StringLit(literal) => Value::from(literal.value.as_ref()),
        // A number stays text if it cannot be parsed; that suffices to compare it.
        Node::NumberLit(literal) => {
            serde_json::from_str(literal.value).unwrap_or_else(|_| Value::from(literal.value))
        }
        Node::Array(array) => array.elements.iter().map(plain).collect(),
        Node::Object(object) => {
            let props = object.properties.iter();
            let pairs = props.map(|prop| (prop.name.as_str().to_owned(), plain(&prop.value)));
            Value::Object(pairs.collect())
        }
    }
}
