//! Translates older forms of JSON Schema to 2020-12.

use serde_json::{Map, Value, json};

/// Rewrites forms of drafts before 2020-12 and of OpenAPI. No rule is lost.
pub(super) fn modernize(schema: &mut Map<String, Value>) {
    for (flag, bound) in [
        ("exclusiveMinimum", "minimum"),
        ("exclusiveMaximum", "maximum"),
    ] {
        let is_exclusive = schema.get(flag).and_then(Value::as_bool);
        if let Some(is_exclusive) = is_exclusive {
            schema.remove(flag);
            if is_exclusive && let Some(value) = schema.remove(bound) {
                schema.insert(flag.to_owned(), value);
            }
        }
    }
    if let Some(Value::Array(_)) = schema.get("items") {
        let places = schema.remove("items").unwrap_or_default();
        schema.insert("prefixItems".to_owned(), places);
        if let Some(rest) = schema.remove("additionalItems") {
            schema.insert("items".to_owned(), rest);
        }
    }
    if schema.remove("nullable") == Some(Value::Bool(true)) {
        make_nullable(schema);
    }
}

/// Makes the schema accept `null` too.
pub(super) fn make_nullable(schema: &mut Map<String, Value>) {
    if let Some(Value::Array(values)) = schema.get_mut("enum")
        && !values.contains(&Value::Null)
    {
        values.push(Value::Null);
    }
    match schema.get_mut("type") {
        Some(Value::Array(types)) => {
            if !types.contains(&json!("null")) {
                types.push(json!("null"));
            }
        }
        Some(one) if *one != json!("null") => *one = json!([one.take(), "null"]),
        Some(_) => {}
        None => nullable_without_type(schema),
    }
}

fn nullable_without_type(schema: &mut Map<String, Value>) {
    for key in ["anyOf", "oneOf"] {
        if let Some(Value::Array(branches)) = schema.get_mut(key) {
            if !branches.iter().any(lets_null_through) {
                branches.push(json!({"type": "null"}));
            }
            return;
        }
    }
    if let Some(reference) = schema.remove("$ref") {
        let either = json!([{"$ref": reference}, {"type": "null"}]);
        schema.insert("anyOf".to_owned(), either);
    }
}

fn lets_null_through(schema: &Value) -> bool {
    match &schema["type"] {
        Value::String(name) => name == "null",
        Value::Array(names) => names.contains(&json!("null")),
        _ => false,
    }
}

/// Returns the types of an enumeration's values.
pub(super) fn types_of(values: &[Value]) -> Vec<&'static str> {
    let mut types = Vec::new();
    for value in values {
        let name = match value {
            Value::Null => "null",
            Value::Bool(_) => "boolean",
            Value::Number(number) if number.is_f64() => "number",
            Value::Number(_) => "integer",
            Value::String(_) => "string",
            Value::Array(_) => "array",
            Value::Object(_) => "object",
        };
        if !types.contains(&name) {
            types.push(name);
        }
    }
    types
}
