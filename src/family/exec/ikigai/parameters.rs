//! Conversion of a tool's `parameters` and `returns` to the JSON Schemas that are advertised.
//!
//! The document has two forms for both: a JSON Schema, which is taken as it is, and a flat map of
//! fields, each with a `required` of its own. A field may well be called `type`; a schema is
//! therefore recognised by a `type` that is a text (for `returns` also a list).

use serde_json::{Map, Value, json};

/// Returns the schema of the arguments; `None` if `parameters` has neither of the two forms.
pub(super) fn input_schema(parameters: Value) -> Option<Value> {
    match parameters {
        Value::Null => Some(object(Map::new(), Vec::new())),
        Value::Object(fields) if fields.get("type").is_some_and(|kind| kind == "object") => {
            Some(Value::Object(fields))
        }
        Value::Object(fields) => from_flat(fields).ok(),
        _ => None,
    }
}

/// Returns the schema of the envelope around a result. The texts are the document's (ikigai 22).
pub(super) fn output_schema(returns: Value) -> Value {
    let mut result = Map::new();
    let description = "Present only when tool_success is true";
    result.insert("description".to_owned(), description.into());
    result.extend(declared(returns));
    json!({
        "type": "object",
        "properties": {
            "tool_success": {
                "type": "boolean",
                "description": "True if tool executed, false if ikigai error (timeout/crash)",
            },
            "result": result,
            "error": {
                "type": "string",
                "description": "Present only when tool_success is false",
            },
            "error_code": {
                "type": "string",
                "description": "Machine-readable error code when tool_success is false",
            },
        },
        "required": ["tool_success"],
    })
}

fn declared(returns: Value) -> Map<String, Value> {
    let Value::Object(fields) = returns else {
        return Map::new();
    };
    let is_schema = matches!(fields.get("type"), Some(Value::String(_) | Value::Array(_)));
    if is_schema || fields.is_empty() {
        return fields;
    }
    match from_flat(fields) {
        Ok(Value::Object(schema)) => schema,
        Ok(_) => Map::new(),
        // Something like `{"oneOf": […]}`.
        Err(fields) => fields,
    }
}

/// Converts a flat map to a schema; returns the map itself as the error if a field is not an
/// object.
fn from_flat(fields: Map<String, Value>) -> Result<Value, Map<String, Value>> {
    if !fields.values().all(Value::is_object) {
        return Err(fields);
    }
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, mut field) in fields {
        let own = field.as_object_mut();
        // A list is not the flag: it belongs to the schema of a field that is an object.
        let flag = own.and_then(|own| match own.get("required") {
            Some(Value::Bool(_)) => own.shift_remove("required"),
            _ => None,
        });
        if flag == Some(Value::Bool(true)) {
            required.push(Value::String(name.clone()));
        }
        properties.insert(name, field);
    }
    Ok(object(properties, required))
}

fn object(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}
