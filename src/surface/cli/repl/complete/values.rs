//! What may stand for a value, as far as a schema says.

use serde_json::Value;

use crate::surface::cli::schema_kind::{Kind, names, property};

/// The values that the schema names one by one, as JSON; an array's are those of its elements.
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

/// The names of an object's properties, each with what there is to say of it.
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

/// The type of a property and what its author says.
fn said(schema: &Value, root: &Value) -> String {
    let kind = Kind::of(schema, root).describe(root);
    match schema.get("description").and_then(Value::as_str) {
        Some(description) => format!("{kind}: {description}"),
        None => kind,
    }
}

/// The schema at the end of a dotted key.
pub(super) fn at<'a>(key: &str, schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    if let Some(found) = property(schema, key, root) {
        return Some(found);
    }
    let (step, below) = key.split_once('.')?;
    at(below, property(schema, step, root)?, root)
}
