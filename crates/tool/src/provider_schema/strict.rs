//! OpenAI's `strict`: every object is closed, every property is required, and an optional property
//! may be null.

use serde_json::{Map, Value, json};

use super::Effect;
use super::node::Rewriter;
use super::upgrade::make_nullable;

/// Limit for the properties of all objects together.
const MAX_PROPERTIES: usize = 5000;

/// Limit for the nesting of objects.
const MAX_DEPTH: usize = 10;

/// Limit for the values of all enumerations together.
const MAX_ENUM_VALUES: usize = 1000;

/// Returns the schema closed. If it cannot be closed, the reason becomes a finding.
pub(super) fn closed(
    rewriter: &mut Rewriter<'_>,
    mut schema: Map<String, Value>,
    at: &str,
) -> Map<String, Value> {
    let says_something = ["type", "anyOf", "$ref", "enum"];
    if !says_something.iter().any(|key| schema.contains_key(*key)) {
        if schema.contains_key("properties") {
            schema.insert("type".to_owned(), json!("object"));
        } else {
            rewriter.find(at, "a value of any type", Effect::NotStrict);
            return schema;
        }
    }
    if !is_object(&schema) {
        return schema;
    }
    let rest = schema.insert("additionalProperties".to_owned(), json!(false));
    let was_closed = rest == Some(json!(false));
    let is_open = rest.is_some() && !was_closed;
    let has_properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|it| !it.is_empty());
    if is_open || (!has_properties && !was_closed && !at.is_empty()) {
        rewriter.find(
            at,
            "an object with properties of any name",
            Effect::NotStrict,
        );
    }
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else {
        return schema;
    };
    let mut is_rewritten = false;
    for (name, one) in properties.iter_mut() {
        if !required.contains(&json!(name))
            && let Value::Object(one) = one
        {
            make_nullable(one);
            is_rewritten = true;
        }
    }
    let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
    schema.insert("required".to_owned(), Value::Array(names));
    if is_rewritten {
        rewriter.find(at, "optional properties", Effect::Rewritten);
    }
    schema
}

fn is_object(schema: &Map<String, Value>) -> bool {
    match schema.get("type") {
        Some(Value::String(name)) => name == "object",
        Some(Value::Array(names)) => names.contains(&json!("object")),
        _ => false,
    }
}

/// Adds a finding for each exceeded limit.
pub(super) fn check_limits(rewriter: &mut Rewriter<'_>, schema: &Map<String, Value>) {
    let mut size = Size::default();
    size.add(schema, 0);
    let limits = [
        (size.properties, MAX_PROPERTIES, "properties"),
        (size.depth, MAX_DEPTH, "levels of objects"),
        (size.values, MAX_ENUM_VALUES, "values of enumerations"),
    ];
    for (count, limit, what) in limits {
        if count > limit {
            let text = format!("{count} {what}, of which {limit} are allowed");
            rewriter.find("", text, Effect::NotStrict);
        }
    }
}

#[derive(Default)]
struct Size {
    properties: usize,
    depth: usize,
    values: usize,
}

impl Size {
    fn add(&mut self, schema: &Map<String, Value>, depth: usize) {
        let depth = depth + usize::from(is_object(schema));
        self.depth = self.depth.max(depth);
        self.values += schema
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.properties += properties.len();
        }
        for key in ["properties", "$defs", "definitions"] {
            if let Some(Value::Object(inner)) = schema.get(key) {
                inner
                    .values()
                    .filter_map(Value::as_object)
                    .for_each(|it| self.add(it, depth));
            }
        }
        for inner in schema
            .get("anyOf")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            inner
                .as_object()
                .into_iter()
                .for_each(|it| self.add(it, depth));
        }
        if let Some(Value::Object(items)) = schema.get("items") {
            self.add(items, depth);
        }
    }
}
