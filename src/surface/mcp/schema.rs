//! A tool's schema in the form that MCP clients read, or why it has none.
//!
//! Clients refuse a whole list for one schema that they cannot read, so each is looked at here: a
//! root that is no object, a keyword that holds the wrong thing, a reference into nothing.

use serde_json::{Map, Value};

use crate::tool::schema::faults;

/// Deeper schemas end clients that read them by recursion.
const MAX_DEPTH: usize = 64;

/// The schema of a tool's arguments or of its structured result.
///
/// # Errors
/// What is wrong with it, with the place.
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
        // A union of objects, or nothing said at all: arguments are an object in any case.
        None => {
            root.shift_insert(0, "type".to_owned(), "object".into());
        }
        Some(other) => return Err(format!("its root is of type {other}, not an object")),
    }
    if let Some(Value::Object(properties)) = root.get_mut("properties") {
        for property in properties.values_mut() {
            // Older clients know no schema but an object.
            match property {
                Value::Bool(true) => *property = Value::Object(Map::new()),
                Value::Bool(false) => *property = serde_json::json!({"not": {}}),
                _ => {}
            }
        }
    }
    Ok(root)
}

/// True for a value of more levels. A schema within another is two levels below it, mostly.
fn is_deeper_than(value: &Value, most: usize) -> bool {
    let mut inner: Box<dyn Iterator<Item = &Value>> = match value {
        Value::Array(items) => Box::new(items.iter()),
        Value::Object(fields) => Box::new(fields.values()),
        _ => return false,
    };
    inner.any(|inner| most == 0 || is_deeper_than(inner, most - 1))
}
