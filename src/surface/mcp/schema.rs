//! A tool's schema in the form that MCP clients read, or why it has none.
//!
//! Clients refuse a whole list for one schema that they cannot read, so each is looked at here: a
//! root that is no object, a keyword that holds the wrong thing, a reference into nothing.

use serde_json::{Map, Value};

/// Deeper schemas end clients that read them by recursion.
const DEEPEST: usize = 64;

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];
/// Keywords that hold one schema.
const ONE: [&str; 11] = [
    "additionalProperties",
    "contains",
    "contentSchema",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
];
/// Keywords that hold a list of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords that hold schemas by name.
const MAPS: [&str; 5] = [
    "$defs",
    "definitions",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The schema of a tool's arguments or of its structured result.
///
/// # Errors
/// What is wrong with it, with the place.
pub(crate) fn of_object(schema: &Value) -> Result<Map<String, Value>, String> {
    let Value::Object(root) = schema else {
        return Err("the schema is not an object".to_owned());
    };
    check(schema, schema, "", 0)?;
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

fn check(node: &Value, root: &Value, path: &str, depth: usize) -> Result<(), String> {
    if depth > DEEPEST {
        return Err(format!("{}: it nests too deeply", place(path)));
    }
    let node = match node {
        Value::Object(node) => node,
        Value::Bool(_) => return Ok(()),
        _ => return Err(format!("{}: this is no schema", place(path))),
    };
    for (key, value) in node {
        let at = || format!("{path}/{key}");
        match key.as_str() {
            "type" => check_type(value).map_err(|why| format!("{}: {why}", place(&at())))?,
            "$ref" => {
                check_reference(value, root).map_err(|why| format!("{}: {why}", place(&at())))?
            }
            "required" if !is_list_of_texts(value) => {
                return Err(format!("{}: it is not a list of names", place(&at())));
            }
            "enum" if !value.is_array() => {
                return Err(format!("{}: it is not a list of values", place(&at())));
            }
            "pattern" | "description" | "title" | "format" if !value.is_string() => {
                return Err(format!("{}: it is not a text", place(&at())));
            }
            key if ONE.contains(&key) => match value {
                // The form that lists had before 2020-12.
                Value::Array(items) if key == "items" => {
                    for (index, item) in items.iter().enumerate() {
                        check(item, root, &format!("{}/{index}", at()), depth + 1)?;
                    }
                }
                one => check(one, root, &at(), depth + 1)?,
            },
            key if LISTS.contains(&key) => {
                let Value::Array(items) = value else {
                    return Err(format!("{}: it is not a list of schemas", place(&at())));
                };
                for (index, item) in items.iter().enumerate() {
                    check(item, root, &format!("{}/{index}", at()), depth + 1)?;
                }
            }
            key if MAPS.contains(&key) => {
                let Value::Object(named) = value else {
                    return Err(format!("{}: it holds no schemas by name", place(&at())));
                };
                for (name, item) in named {
                    check(item, root, &format!("{}/{name}", at()), depth + 1)?;
                }
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_type(value: &Value) -> Result<(), String> {
    let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
    let fits = match value {
        Value::Array(names) => !names.is_empty() && names.iter().all(is_type),
        one => is_type(one),
    };
    match fits {
        true => Ok(()),
        false => Err(format!("{value} is no type of JSON Schema")),
    }
}

/// References to other documents are never fetched; those into this one must lead somewhere.
fn check_reference(value: &Value, root: &Value) -> Result<(), String> {
    let Some(reference) = value.as_str() else {
        return Err("it is not a text".to_owned());
    };
    match reference.strip_prefix('#') {
        Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
            match root.pointer(pointer) {
                Some(_) => Ok(()),
                None => Err(format!("`{reference}` leads nowhere")),
            }
        }
        // An anchor.
        Some(_) => Ok(()),
        None => Err(format!("`{reference}` is in another document")),
    }
}

fn is_list_of_texts(value: &Value) -> bool {
    let list = value.as_array();
    list.is_some_and(|list| list.iter().all(Value::is_string))
}

fn place(path: &str) -> &str {
    if path.is_empty() { "root" } else { path }
}
