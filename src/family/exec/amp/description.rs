//! The answer to `TOOLBOX_ACTION=describe`: JSON, or lines of `key: value` (dialects 1.6).
//!
//! Bytes in, data out. The form of the description is also the form in which the tool reads its
//! arguments.

use serde_json::{Map, Value, json};

use super::super::program::{self, InputForm, Unusable};
use haft_process::Finished;

/// Names of types in a description. A word that is none of them belongs to the description.
const TYPES: [&str; 6] = ["string", "number", "integer", "boolean", "array", "object"];

/// Description of a tool.
#[derive(Debug)]
pub(super) struct Description {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) form: InputForm,
}

/// Parses the answer of a tool.
pub(super) fn read(finished: &Finished) -> Result<Description, Unusable> {
    let text = program::answer(finished)?;
    let text = text.trim();
    if text.starts_with('{') {
        let value =
            serde_json::from_str(text).map_err(|error| Unusable::NotJson(error.to_string()))?;
        return of_json(value);
    }
    of_lines(text)
}

fn of_json(value: Value) -> Result<Description, Unusable> {
    let Value::Object(mut fields) = value else {
        return Err(Unusable::NotJson("it is not an object".to_owned()));
    };
    let name = fields.shift_remove("name");
    let name = program::name(name.as_ref().and_then(Value::as_str).unwrap_or_default())?;
    let description = match fields.shift_remove("description") {
        Some(Value::String(text)) => text,
        _ => String::new(),
    };
    let schema = fields.shift_remove("inputSchema");
    let schema = schema.or_else(|| fields.shift_remove("input_schema"));
    let input_schema = match (schema, fields.shift_remove("args")) {
        (Some(Value::Object(schema)), _) => program::object_schema(schema)?,
        (Some(_), _) => return Err(Unusable::BadSchema("`inputSchema` is not an object")),
        (None, Some(Value::Object(args))) => of_args(args)?,
        (None, Some(_)) => return Err(Unusable::BadSchema("`args` is not an object")),
        (None, None) => object(Map::new(), Vec::new()),
    };
    Ok(Description {
        name,
        description,
        input_schema,
        form: InputForm::Json,
    })
}

/// Converts `{name: [type, text]}`. A value may also be the type alone, or a JSON Schema.
fn of_args(args: Map<String, Value>) -> Result<Value, Unusable> {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for (name, value) in args {
        let (kind, text) = match value {
            Value::Array(parts) => {
                let part = |index: usize| parts.get(index).and_then(Value::as_str);
                (
                    part(0).unwrap_or("string").to_owned(),
                    part(1).unwrap_or_default().to_owned(),
                )
            }
            Value::String(kind) => (kind, String::new()),
            Value::Object(schema) => {
                required.push(Value::String(name.clone()));
                properties.insert(name, Value::Object(schema));
                continue;
            }
            _ => {
                return Err(Unusable::BadSchema(
                    "each of `args` is a list of a type and a text",
                ));
            }
        };
        let kind = if kind.is_empty() {
            "string".to_owned()
        } else {
            kind
        };
        add(
            &name,
            &format!("{kind} {text}"),
            &mut properties,
            &mut required,
        );
    }
    Ok(object(properties, required))
}

fn of_lines(text: &str) -> Result<Description, Unusable> {
    let (mut name, mut description) = (None, String::new());
    let (mut properties, mut required) = (Map::new(), Vec::new());
    let mut keys = Vec::new();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((key, value)) = line.split_once(':') else {
            return Err(Unusable::BadLine(line.trim().to_owned()));
        };
        let (key, value) = (key.trim(), value.trim());
        match key {
            "name" if name.is_none() => name = Some(program::name(value)?),
            "description" => {
                let gap = if description.is_empty() { "" } else { "\n" };
                description.push_str(&format!("{gap}{value}"));
            }
            // A parameter may be called `name`, too: the first one is the tool's.
            _ => keys.push(add(key, value, &mut properties, &mut required)),
        }
    }
    Ok(Description {
        name: name.ok_or(Unusable::NoName)?,
        description,
        input_schema: object(properties, required),
        form: InputForm::Lines,
    })
}

/// Adds the parameter that `key: value` describes, and returns its name. It is optional by a `?`
/// after its name or its type, or by `(optional)` or `optional` before its text.
fn add(
    key: &str,
    value: &str,
    properties: &mut Map<String, Value>,
    required: &mut Vec<Value>,
) -> String {
    let (name, mut is_optional) = without(key, "?");
    let (first, rest) = value.split_once(char::is_whitespace).unwrap_or((value, ""));
    let (kind, by_type) = without(first, "?");
    is_optional |= by_type;
    let is_type = TYPES.contains(&kind);
    let (kind, text) = if is_type {
        (kind, rest.trim())
    } else {
        ("string", value)
    };
    let lower = text.to_ascii_lowercase();
    is_optional |= lower.contains("(optional)") || lower.starts_with("optional");
    let mut schema = json!({ "type": kind });
    if !text.is_empty() {
        schema["description"] = text.into();
    }
    properties.insert(name.to_owned(), schema);
    if !is_optional {
        required.push(name.into());
    }
    name.to_owned()
}

fn without<'a>(text: &'a str, end: &str) -> (&'a str, bool) {
    text.strip_suffix(end)
        .map_or((text, false), |rest| (rest, true))
}

fn object(properties: Map<String, Value>, required: Vec<Value>) -> Value {
    let mut schema = json!({"type": "object", "properties": properties});
    if !required.is_empty() {
        schema["required"] = Value::Array(required);
    }
    schema
}
