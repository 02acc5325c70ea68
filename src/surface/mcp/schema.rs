//! Converts a tool's schema to the form that MCP clients can read, or returns the reason why it has
//! none.
//!
//! Clients refuse a whole list for one schema that they cannot read. So each schema is checked for
//! a root that is not an object, keywords with invalid values, and dangling references.

use serde_json::{Map, Value};

use haft_tool::schema::faults;

/// Depth limit: deeper schemas crash clients that parse them recursively.
const MAX_DEPTH: usize = 64;

/// Converts the schema of a tool's arguments or of its structured result.
///
/// # Errors
/// The error in the schema, with its location.
pub(crate) fn of_object(schema: &Value) -> Result<Map<String, Value>, String> {
    let Value::Object(root) = schema else {
        return Err("the schema is not an object".to_owned());
    };
    if is_deeper_than(schema, 2 * MAX_DEPTH) {
        return Err("root: it nests too deeply".to_owned());
    }
    if let Some(fault) = faults(schema).first() {
        return Err(format!("{}: {}", fault.place(), fault.text));
    }
    let mut root = root.clone();
    match root.get("type") {
        Some(kind) if kind == "object" => {}
        // A union of objects, or no type: arguments are an object in any case.
        None => {
            root.shift_insert(0, "type".to_owned(), "object".into());
        }
        Some(other) => return Err(format!("its root is of type {other}, not an object")),
    }
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        for property in properties.values_mut() {
            // Older clients only accept an object as a schema.
            match property {
                Value::Bool(true) => *property = Value::Object(Map::new()),
                Value::Bool(false) => *property = serde_json::json!({"not": {}}),
                _ => {}
            }
        }
    }
    Ok(root)
}

/// Returns true if the value has more than `most` levels. A nested schema is mostly two levels
/// below its parent.
fn is_deeper_than(value: &Value, most: usize) -> bool {
    let mut inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return false,
    };
    inner.any(|inner| most == 0 || is_deeper_than(inner, most - 1))
}
