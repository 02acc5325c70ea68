//! From a Rust type to the schema of its arguments, and from arguments to the type.

use std::collections::HashSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// The schema as a model is shown it, and whether the type is `()`.
pub(super) fn schema_of<P: JsonSchema>() -> (Value, bool) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Models follow references badly; types that hold themselves keep them.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<P>();
    let mut schema = Value::from(schema);
    if schema["type"] == "null" {
        return (json!({"type": "object", "properties": {}}), true);
    }
    if schema == Value::Bool(true) || schema.as_object().is_some_and(only_a_title) {
        // `serde_json::Value` and its kind take everything; arguments are an object.
        return (json!({"type": "object"}), false);
    }
    // The name of the Rust type says nothing to a model.
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
    }
    without_rust_formats(&mut schema);
    (schema, false)
}

fn only_a_title(schema: &Map<String, Value>) -> bool {
    schema.keys().all(|key| key == "title")
}

/// Removes `uint32` and the like: they are not formats of JSON Schema, and strict providers refuse
/// them. Their bounds stay as `minimum` and `maximum`.
fn without_rust_formats(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_number = |kind: &Value| kind == "integer" || kind == "number";
            let is_number = match fields.get("type") {
                Some(Value::Array(kinds)) => kinds.iter().any(is_number),
                Some(kind) => is_number(kind),
                None => false,
            };
            if is_number {
                fields.remove("format");
            }
            fields.values_mut().for_each(without_rust_formats);
        }
        Value::Array(items) => items.iter_mut().for_each(without_rust_formats),
        _ => {}
    }
}

/// The properties that may be left out.
pub(super) fn optional(schema: &Value) -> HashSet<String> {
    let required = schema["required"].as_array();
    let required: Vec<&Value> = required.into_iter().flatten().collect();
    let declared = schema["properties"].as_object();
    let names = declared.into_iter().flat_map(|fields| fields.keys());
    let names = names.filter(|name| !required.iter().any(|required| *required == name.as_str()));
    names.cloned().collect()
}

/// Reads arguments that fit the schema. What a type demands beyond it is refused here.
pub(super) fn read<P: DeserializeOwned>(arguments: &str) -> Result<P, String> {
    serde_json::from_str(arguments).map_err(|error| error.to_string())
}
