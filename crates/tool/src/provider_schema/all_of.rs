//! Merges two schemas that must both hold into one.

use serde_json::{Map, Value, json};

/// Merges both schemas as far as one schema can express it. If two keywords cannot be merged, that
/// of `first` is kept and that of `second` is returned as text.
pub(super) fn both(
    mut first: Map<String, Value>,
    second: Map<String, Value>,
) -> (Map<String, Value>, Vec<String>) {
    let mut lost = Vec::new();
    for (key, theirs) in second {
        let Some(ours) = first.remove(&key) else {
            first.insert(key, theirs);
            continue;
        };
        let merged = merged(&key, ours, theirs, &mut lost);
        first.insert(key, merged);
    }
    (first, lost)
}

fn merged(key: &str, ours: Value, theirs: Value, lost: &mut Vec<String>) -> Value {
    if ours == theirs {
        return ours;
    }
    match (key, ours, theirs) {
        (
            "properties" | "patternProperties" | "$defs" | "definitions",
            Value::Object(ours),
            Value::Object(theirs),
        ) => fields(ours, theirs),
        ("required" | "allOf", Value::Array(mut ours), Value::Array(theirs)) => {
            for one in theirs {
                if !ours.contains(&one) {
                    ours.push(one);
                }
            }
            Value::Array(ours)
        }
        ("enum", Value::Array(mut ours), Value::Array(theirs)) => {
            ours.retain(|value| theirs.contains(value));
            Value::Array(ours)
        }
        ("type", ours, theirs) => types(ours, theirs),
        (
            "minimum" | "exclusiveMinimum" | "minLength" | "minItems" | "minProperties",
            ours,
            theirs,
        ) => either(ours, theirs, |ours, theirs| ours >= theirs),
        (
            "maximum" | "exclusiveMaximum" | "maxLength" | "maxItems" | "maxProperties",
            ours,
            theirs,
        ) => either(ours, theirs, |ours, theirs| ours <= theirs),
        ("additionalProperties" | "items", ours, theirs) => match (&ours, &theirs) {
            (Value::Bool(true), _) => theirs,
            (_, Value::Bool(true)) => ours,
            (Value::Bool(false), _) | (_, Value::Bool(false)) => json!(false),
            _ => json!({"allOf": [ours, theirs]}),
        },
        ("anyOf", Value::Array(ours), Value::Array(theirs)) => products(ours, &theirs),
        ("description" | "title" | "default" | "examples" | "$schema" | "$id", ours, _) => ours,
        (key, ours, theirs) => {
            lost.push(format!("{key}: {theirs}"));
            ours
        }
    }
}

fn fields(mut ours: Map<String, Value>, theirs: Map<String, Value>) -> Value {
    for (name, theirs) in theirs {
        let both = match ours.remove(&name) {
            Some(ours) if ours != theirs => json!({"allOf": [ours, theirs]}),
            _ => theirs,
        };
        ours.insert(name, both);
    }
    Value::Object(ours)
}

fn types(ours: Value, theirs: Value) -> Value {
    let list = |value: Value| match value {
        Value::Array(names) => names,
        one => vec![one],
    };
    let (ours, theirs) = (list(ours), list(theirs));
    let is_in = |name: &Value, others: &[Value]| {
        others.contains(name) || (*name == json!("integer") && others.contains(&json!("number")))
    };
    let mut both: Vec<Value> = ours
        .iter()
        .filter(|it| is_in(it, &theirs))
        .cloned()
        .collect();
    let more = theirs
        .iter()
        .filter(|it| is_in(it, &ours) && !both.contains(it));
    let more: Vec<Value> = more.cloned().collect();
    both.extend(more);
    match both.len() {
        1 => both.remove(0),
        _ => Value::Array(both),
    }
}

fn either(ours: Value, theirs: Value, keeps: fn(f64, f64) -> bool) -> Value {
    match (ours.as_f64(), theirs.as_f64()) {
        (Some(first), Some(second)) if !keeps(first, second) => theirs,
        _ => ours,
    }
}

/// Returns every combination of one branch of `ours` and one of `theirs`.
fn products(ours: Vec<Value>, theirs: &[Value]) -> Value {
    let pairs = ours.iter().flat_map(|ours| {
        theirs
            .iter()
            .map(move |theirs| json!({"allOf": [ours, theirs]}))
    });
    Value::Array(pairs.collect())
}
