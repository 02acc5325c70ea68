//! References within a schema.

use serde_json::{Map, Value};

/// What `reference` leads to; nothing for what is not in the schema.
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
            let is_it = fields.get("$anchor").and_then(Value::as_str) == Some(anchor);
            if is_it {
                return Some(schema);
            }
            fields.values().find_map(|inner| with_anchor(inner, anchor))
        }
        Value::Array(items) => items.iter().find_map(|inner| with_anchor(inner, anchor)),
        _ => None,
    }
}

fn percent_decoded(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let [first, tail @ ..] = rest {
        let code = match (first, tail) {
            (b'%', [high, low, ..]) => std::str::from_utf8(&[*high, *low])
                .ok()
                .and_then(|digits| u8::from_str_radix(digits, 16).ok()),
            _ => None,
        };
        match code {
            Some(byte) => {
                bytes.push(byte);
                rest = &tail[2..];
            }
            None => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The reference of a schema that has one.
pub(super) fn of(schema: &Map<String, Value>) -> Option<String> {
    let reference = schema.get("$ref").and_then(Value::as_str)?;
    Some(reference.to_owned())
}

/// The last part of a reference, for people.
pub(super) fn name(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#" | "") | None => "the whole",
        Some(name) => name,
    }
}
