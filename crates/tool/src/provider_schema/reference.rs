//! References within a schema.

use serde_json::{Map, Value};

use crate::schema::percent_decoded;

/// Returns the target of `reference`, or `None` if it is not in the schema.
pub(super) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.is_empty() {
        return Some(root);
    }
    if !pointer.starts_with('/') {
        return with_anchor(root, pointer);
    }
    let decoded = percent_decoded(pointer);
    root.pointer(&decoded)
}

fn with_anchor<'a>(schema: &'a Value, anchor: &str) -> Option<&'a Value> {
    match schema {
        Value::Object(fields) => {
            let names = ["$anchor", "$dynamicAnchor"].map(|key| fields.get(key));
            if names.contains(&Some(&Value::from(anchor))) {
                return Some(schema);
            }
            fields.values().find_map(|inner| with_anchor(inner, anchor))
        }
        Value::Array(items) => items.iter().find_map(|inner| with_anchor(inner, anchor)),
        _ => None,
    }
}

/// Returns the reference of a schema, if it has one.
pub(super) fn of(schema: &Map<String, Value>) -> Option<String> {
    let reference = schema.get("$ref").and_then(Value::as_str)?;
    Some(reference.to_owned())
}

/// Returns the last part of a reference, for people.
pub(super) fn name(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#" | "") | None => "the whole",
        Some(name) => name,
    }
}
