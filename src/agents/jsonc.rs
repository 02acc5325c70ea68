//! Edits one entry of a JSON file. Comments, the order of the keys, the indentation and trailing
//! commas stay (`jsonc_parser::cst`).

use jsonc_parser::ParseOptions;
use jsonc_parser::cst::{CstInputValue, CstNode, CstObject, CstObjectProp, CstRootNode};
use serde_json::{Map, Value};

use super::entry::{Entry, OWN_KEYS};
use super::file::Refusal;

/// JSON with comments and trailing commas, and no other extension.
const OPTIONS: ParseOptions = ParseOptions {
    allow_comments: true,
    allow_trailing_commas: true,
    allow_loose_object_property_names: false,
    allow_missing_commas: false,
    allow_single_quoted_strings: false,
    allow_hexadecimal_numbers: false,
    allow_unary_plus_numbers: false,
};

/// Returns a file with only this entry.
pub(super) fn alone(keys: &[String], name: &str, entry: &Map<String, Value>) -> String {
    let path = keys.iter().map(String::as_str).chain([name]).rev();
    let value = path.fold(Value::Object(entry.clone()), |value, key| {
        Value::Object(Map::from_iter([(key.to_owned(), value)]))
    });
    format!("{value:#}\n")
}

/// Returns the text with the entry in it. An existing entry changes only in the keys that identify
/// the server, and in settings that are missing or that a flag gives.
pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Entry,
) -> Result<String, Refusal> {
    let root = parse(text)?;
    let file = root.object_value_or_create();
    let mut object =
        file.ok_or_else(|| Refusal::at(Some(""), "the file does not hold an object"))?;
    for key in keys {
        object = match property(&object, key) {
            Some(property) => object_of(&property, key)?,
            None => object.object_value_or_set(key),
        };
    }
    let Some(server) = property(&object, name) else {
        object.append(name, input(&Value::Object(entry.whole())));
        return Ok(root.to_string());
    };
    let server = object_of(&server, name)?;
    for key in OWN_KEYS {
        match entry.server.get(key) {
            Some(value) => set(&server, key, value),
            None => drop(property(&server, key).map(CstObjectProp::remove)),
        }
    }
    // New headers must be written. Without new ones, old headers stay: they may be the user's own.
    if let Some(headers) = entry.server.get("headers") {
        set(&server, "headers", headers);
    }
    for setting in &entry.settings {
        if setting.is_given || property(&server, setting.key).is_none() {
            set(&server, setting.key, &setting.value);
        }
    }
    Ok(root.to_string())
}

/// Returns the text without the entry; `None` if it has no such entry.
pub(super) fn take(text: &str, keys: &[String], name: &str) -> Result<Option<String>, Refusal> {
    let root = parse(text)?;
    let Some(mut object) = root.object_value() else {
        return Ok(None);
    };
    for key in keys {
        let Some(property) = property(&object, key) else {
            return Ok(None);
        };
        object = object_of(&property, key)?;
    }
    let Some(server) = property(&object, name) else {
        return Ok(None);
    };
    server.remove();
    Ok(Some(root.to_string()))
}

/// Parses the text as data.
pub(super) fn value(text: &str) -> Result<Value, Refusal> {
    let value = parse(text)?.value();
    Ok(value.map_or_else(|| Value::Object(Map::new()), |value| plain(&value)))
}

fn parse(text: &str) -> Result<CstRootNode, Refusal> {
    CstRootNode::parse(text, &OPTIONS)
        .map_err(|error| Refusal::at(text.get(..error.range().start), &error.kind().to_string()))
}

/// Returns the property `key`. If it occurs twice, parsers use the last one.
fn property(object: &CstObject, key: &str) -> Option<CstObjectProp> {
    let is_it = |property: &CstObjectProp| {
        let name = property.name().and_then(|name| name.decoded_value().ok());
        name.as_deref() == Some(key)
    };
    object.properties().into_iter().rfind(is_it)
}

fn object_of(property: &CstObjectProp, key: &str) -> Result<CstObject, Refusal> {
    let refusal = || {
        let value = property.value();
        let before = value.map(|value| text_before(&value));
        Refusal::at(
            before.as_deref(),
            &format!("`{key}` is not an object there"),
        )
    };
    property.object_value().ok_or_else(refusal)
}

/// Sets a property, and leaves one with this value as it is written.
fn set(object: &CstObject, key: &str, value: &Value) {
    match property(object, key) {
        Some(known) if known.value().is_some_and(|known| plain(&known) == *value) => {}
        Some(known) => known.set_value(input(value)),
        None => drop(object.append(key, input(value))),
    }
}

/// Returns the text in front of a node.
fn text_before(node: &CstNode) -> String {
    let mut before: Vec<CstNode> = node.previous_siblings().collect();
    before.reverse();
    let here: String = before.iter().map(ToString::to_string).collect();
    let parent = node.parent().map(CstNode::Container);
    parent.map_or_else(String::new, |parent| text_before(&parent)) + here.as_str()
}

fn input(value: &Value) -> CstInputValue {
    match value {
        Value::Null => CstInputValue::Null,
        Value::Bool(value) => CstInputValue::Bool(*value),
        Value::Number(number) => CstInputValue::Number(number.to_string()),
        Value::String(text) => CstInputValue::String(text.clone()),
        Value::Array(values) => CstInputValue::Array(values.iter().map(input).collect()),
        Value::Object(fields) => {
            let fields = fields.iter();
            CstInputValue::Object(
                fields
                    .map(|(key, value)| (key.clone(), input(value)))
                    .collect(),
            )
        }
    }
}

fn plain(node: &CstNode) -> Value {
    if let Some(object) = node.as_object() {
        let properties = object.properties().into_iter();
        let pairs = properties.filter_map(|property| {
            let name = property.name()?.decoded_value().ok()?;
            Some((name, plain(&property.value()?)))
        });
        return Value::Object(pairs.collect());
    }
    if let Some(array) = node.as_array() {
        return array.elements().iter().map(plain).collect();
    }
    let text = node.to_string();
    // A number stays text if it cannot be parsed; that suffices to compare it.
    serde_json::from_str(&text).unwrap_or(Value::String(text))
}
