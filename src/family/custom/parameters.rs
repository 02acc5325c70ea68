//! Schema of a Rust type's arguments, and conversion of arguments to the type.

use std::collections::HashSet;

use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

/// Returns the schema for the model, and true if the type is `()`.
pub(super) fn schema_of<P: JsonSchema>() -> (Value, bool) {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        // Models handle references badly. Only recursive types keep them.
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.into_generator().into_root_schema_for::<P>();
    let mut schema = Value::from(schema);
    if schema["type"] == "null" {
        return (json!({"type": "object", "properties": {}}), true);
    }
    if schema == Value::Bool(true) || schema.as_object().is_some_and(only_a_title) {
        // `serde_json::Value` and similar types accept everything; arguments are an object.
        return (json!({"type": "object"}), false);
    }
    // The name of the Rust type has no meaning for a model.
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

/// Returns the properties that may be left out.
pub(super) fn optional(schema: &Value) -> HashSet<String> {
    let required = schema["required"].as_array();
    let required: Vec<&Value> = required.into_iter().flatten().collect();
    let declared = schema["properties"].as_object();
    let names = declared.into_iter().flat_map(|fields| fields.keys());
    let names = names.filter(|name| !required.iter().any(|required| *required == name.as_str()));
    names.cloned().collect()
}

/// Reads arguments that fit the schema. Stricter rules of the type are checked here.
pub(super) fn read<P: DeserializeOwned>(arguments: &str) -> Result<P, String> {
    serde_json::from_str(arguments).map_err(|error| error.to_string())
}
