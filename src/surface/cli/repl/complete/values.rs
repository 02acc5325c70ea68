//! Completion of values and property names, as far as a schema lists them.

use serde_json::Value;

use crate::surface::cli::schema_kind::{Kind, names, property};

/// Returns the values that the schema lists, as JSON; for an array those of its elements.
pub(super) fn named(schema: &Value, root: &Value) -> Vec<String> {
    let kind = Kind::of(schema, root);
    let mut values: Vec<String> = kind
        .literals
        .iter()
        .map(|value| value.to_string())
        .collect();
    if kind.boolean {
        values.extend(["true".to_owned(), "false".to_owned()]);
    }
    if let (true, Some(items)) = (kind.array && values.is_empty(), kind.items) {
        values = named_by_items(items, root);
    }
    if let Some(default) = schema.get("default").filter(|value| !value.is_object()) {
        values.push(default.to_string());
    }
    let mut seen = Vec::new();
    values.retain(|value| {
        let is_new = !seen.contains(value);
        seen.extend(is_new.then(|| value.clone()));
        is_new
    });
    values
}

fn named_by_items(items: &Value, root: &Value) -> Vec<String> {
    let kind = Kind::of(items, root);
    kind.literals
        .iter()
        .map(|value| value.to_string())
        .collect()
}

/// Returns the names of an object's properties with a description each.
pub(super) fn properties<'a>(schema: &'a Value, root: &'a Value) -> Vec<(&'a str, String)> {
    let mut known: Vec<(&str, String)> = Vec::new();
    for name in names(schema, root) {
        if known.iter().all(|(other, _)| *other != name) {
            let said = property(schema, name, root).map(|schema| said(schema, root));
            known.push((name, said.unwrap_or_default()));
        }
    }
    known
}

/// Returns the type of a property with its description.
fn said(schema: &Value, root: &Value) -> String {
    let kind = Kind::of(schema, root).describe(root);
    match schema.get("description").and_then(Value::as_str) {
        Some(description) => format!("{kind}: {description}"),
        None => kind,
    }
}

/// Returns the schema of a dotted key.
pub(super) fn at<'a>(key: &str, schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    if let Some(found) = property(schema, key, root) {
        return Some(found);
    }
    let (step, below) = key.split_once('.')?;
    at(below, property(schema, step, root)?, root)
}
