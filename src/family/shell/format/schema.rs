//! The JSON Schema of the format, for editors: `types/cycod-tool.schema.json`.
//!
//! It has the same rules as the table and no more. That exactly one command is needed is checked by
//! haft, whose message is clearer than an editor's "must match exactly one schema".

use serde_json::{Map, Value, json};

use super::{Shape, TOOL, Table};

/// Returns the schema of a whole file.
pub fn json_schema() -> Value {
    let mut schema = Map::new();
    schema.insert(
        "$schema".into(),
        "http://json-schema.org/draft-07/schema#".into(),
    );
    schema.insert(
        "title".into(),
        "A YAML shell tool (.cycod/tools/*.yaml)".into(),
    );
    schema.extend(of_table(&TOOL));
    schema.insert("required".into(), json!(["description"]));
    Value::Object(schema)
}

fn of_table(table: &Table) -> Map<String, Value> {
    let properties: Map<String, Value> = table
        .keys
        .iter()
        .map(|key| {
            let mut schema = of_shape(&key.shape);
            schema.insert("description".into(), key.help.into());
            (key.name.to_owned(), Value::Object(schema))
        })
        .collect();
    object(json!({
        "type": "object",
        "additionalProperties": false,
        "properties": properties,
    }))
}

fn of_shape(shape: &Shape) -> Map<String, Value> {
    let text = json!(["string", "number", "boolean"]);
    object(match shape {
        Shape::Text => json!({ "type": text }),
        Shape::Flag => json!({ "type": "boolean" }),
        Shape::Timeout => json!({ "type": "integer", "minimum": 1 }),
        Shape::Delay | Shape::Count => json!({ "type": "integer", "minimum": 0 }),
        Shape::Whole => json!({ "type": "integer" }),
        Shape::Number => json!({ "type": "number" }),
        Shape::Size => json!({
            "type": ["string", "integer"],
            "pattern": "^[0-9.]+ *([KkMmGg][Ii]?)?[Bb]?$",
        }),
        Shape::Word(words) => json!({ "enum": words }),
        Shape::Words(words) => json!({ "type": "array", "items": { "enum": words } }),
        Shape::Texts => json!({ "type": ["array", "string"], "items": { "type": text } }),
        Shape::Any => json!({}),
        Shape::Values => json!({ "type": "array" }),
        Shape::TextMap => json!({ "type": "object", "additionalProperties": { "type": text } }),
        Shape::ValueMap => json!({ "type": "object" }),
        Shape::Table(table) => return of_table(table),
        Shape::List(table) => json!({ "type": "array", "items": of_table(table) }),
        Shape::Named(table) => json!({
            "type": "object",
            "additionalProperties": of_table(table),
        }),
    })
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}
