//! The answer to a discovery command: a JSON array of function declarations (dialects 1.6).
//!
//! Bytes in, data out. An element is a declaration, or a group of declarations.

use serde_json::{Map, Value};

use super::super::program::{self, Unusable};
use haft_process::Finished;

/// Declaration of a tool, or the name of one that cannot be used and the reason.
pub(super) type Declared = Result<Declaration, (String, Unusable)>;

#[derive(Debug)]
pub(super) struct Declaration {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
}

/// Parses the answer of a discovery command.
pub(super) fn read(finished: &Finished) -> Result<Vec<Declared>, Unusable> {
    let text = program::answer(finished)?;
    let value = serde_json::from_str(text.trim());
    let value = value.map_err(|error| Unusable::NotJson(error.to_string()))?;
    let Value::Array(elements) = value else {
        return Err(Unusable::NotJson("it is not an array".to_owned()));
    };
    let declarations = elements.into_iter().flat_map(|element| {
        let groups = ["function_declarations", "functionDeclarations"];
        let group = groups
            .iter()
            .find_map(|key| element.get(key)?.as_array().cloned());
        group.unwrap_or_else(|| vec![element])
    });
    Ok(declarations.map(declaration).collect())
}

fn declaration(value: Value) -> Declared {
    let Value::Object(mut fields) = value else {
        return Err((String::new(), Unusable::NoName));
    };
    let name = fields.shift_remove("name").unwrap_or_default();
    let name = name.as_str().unwrap_or_default().to_owned();
    let schema = [
        "parametersJsonSchema",
        "parameters_json_schema",
        "parameters",
    ]
    .into_iter()
    .find_map(|key| fields.shift_remove(key).filter(|value| !value.is_null()));
    let named = |why| (name.clone(), why);
    let schema = match schema {
        None => Map::new(),
        Some(Value::Object(schema)) => schema,
        Some(_) => return Err(named(Unusable::BadSchema("`parameters` is not an object"))),
    };
    let mut schema = Value::Object(schema);
    lower_types(&mut schema);
    let Value::Object(schema) = schema else {
        return Err(named(Unusable::NoName));
    };
    Ok(Declaration {
        input_schema: program::object_schema(schema).map_err(named)?,
        description: match fields.shift_remove("description") {
            Some(Value::String(text)) => text,
            _ => String::new(),
        },
        name: program::name(&name).map_err(named)?,
    })
}

/// Writes the types of Gemini's own schemas (`OBJECT`) as JSON Schema has them.
fn lower_types(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(kind) if key == "type" => kind.make_ascii_lowercase(),
                    value => lower_types(value),
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(lower_types),
        _ => {}
    }
}
