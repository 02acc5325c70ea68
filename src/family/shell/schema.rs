//! JSON Schema of a tool's arguments for models (spec cycod P), deep-equal to the specification's
//! example for its own tool.

use serde_json::{Map, Value, json};

use super::definition::{Datum, Definition, Exposure, Kind, Number, Parameter};
use super::references::references;

/// Types of a schema.
const TYPES: [&str; 7] = [
    "string", "number", "integer", "boolean", "array", "object", "null",
];

/// Returns the JSON Schema of the tool's arguments. Properties are in the file's order; `required`
/// is left out if it is empty.
pub(crate) fn input_schema(definition: &Definition) -> Value {
    let exposure = definition.exposure();
    let secrets = secrets(definition);
    let properties: Map<String, Value> = definition
        .parameters
        .iter()
        .map(|parameter| {
            let is_secret = secrets.contains(&parameter.name.as_str());
            (
                parameter.name.clone(),
                property(parameter, exposure, is_secret),
            )
        })
        .collect();
    let required: Vec<&str> = definition
        .parameters
        .iter()
        .filter(|parameter| parameter.required && parameter.default.is_none())
        .map(|parameter| parameter.name.as_str())
        .collect();
    let mut schema = Map::new();
    schema.insert("type".into(), "object".into());
    schema.insert("properties".into(), properties.into());
    if !required.is_empty() {
        schema.insert("required".into(), json!(required));
    }
    schema.into()
}

fn property(parameter: &Parameter, exposure: &Exposure, is_secret: bool) -> Value {
    let name = type_name(parameter.kind, exposure);
    let mut property = Map::new();
    property.insert("type".into(), name.into());
    if exposure.include_descriptions {
        property.insert(
            "description".into(),
            description(parameter, exposure).into(),
        );
    }
    let default = match &parameter.default {
        // A model would repeat a computed default as text, and values are never filled again.
        Some(value) if !parameter.is_default_computed && !is_secret => as_type(value, name),
        _ => None,
    };
    if let Some(value) = default.filter(|_| exposure.include_defaults) {
        property.insert("default".into(), value);
    }
    if exposure.example_generation && !is_secret {
        let examples = examples(parameter, name);
        if !examples.is_empty() {
            property.insert("examples".into(), examples.into());
        }
    }
    if name == parameter.kind.as_str() || (name == "integer" && parameter.kind == Kind::Number) {
        rules(parameter, &mut property);
    }
    if parameter.deprecated {
        property.insert("deprecated".into(), true.into());
    }
    property.into()
}

fn description(parameter: &Parameter, exposure: &Exposure) -> String {
    let mut text = parameter.description.clone();
    if exposure.include_defaults
        && parameter.is_default_computed
        && let Some(Datum::Text(default)) = &parameter.default
    {
        text.push_str(&format!(" (left out: {default})"));
    }
    text
}

fn type_name(kind: Kind, exposure: &Exposure) -> &str {
    let mapping = &exposure.parameter_mapping;
    let mapped = match kind {
        Kind::String => &mapping.string,
        Kind::Number => &mapping.number,
        Kind::Boolean => &mapping.boolean,
        Kind::Array => &mapping.array,
        Kind::Object => &mapping.object,
    };
    match mapped.as_deref() {
        None => kind.as_str(),
        Some(name) if exposure.sanitize_schemas && !TYPES.contains(&name) => "string",
        Some(name) => name,
    }
}

/// Returns the value if the schema's type allows it.
fn as_type(value: &Datum, name: &str) -> Option<Value> {
    match (name, value) {
        ("string", Datum::Text(text)) => Some(text.as_str().into()),
        ("string", other) => Some(other.to_json().into()),
        ("integer", Datum::Number(number)) => number.is_integer().then(|| value.to_value()),
        ("number", Datum::Number(_))
        | ("boolean", Datum::Bool(_))
        | ("array", Datum::List(_))
        | ("object", Datum::Object(_)) => Some(value.to_value()),
        _ if TYPES.contains(&name) => None,
        _ => Some(value.to_value()),
    }
}

/// Returns the author's examples, or the first values that the rules allow.
fn examples(parameter: &Parameter, name: &str) -> Vec<Value> {
    let given = &parameter.examples;
    let choices = &parameter.validation.choices;
    let from = if given.is_empty() { choices } else { given };
    let shown = if given.is_empty() { 2 } else { given.len() };
    let values = from.iter().take(shown);
    values.filter_map(|value| as_type(value, name)).collect()
}

fn rules(parameter: &Parameter, property: &mut Map<String, Value>) {
    let rules = &parameter.validation;
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            property.insert(key.into(), value);
        }
    };
    let exact = |number: Option<f64>| {
        let number = number.and_then(|number| Number::parse(&number.to_string()));
        number.map(|number| Datum::Number(number).to_value())
    };
    put("minLength", rules.min_length.map(Value::from));
    put("maxLength", rules.max_length.map(Value::from));
    let pattern = rules.pattern.as_ref();
    put("pattern", pattern.map(|pattern| pattern.as_str().into()));
    put("minimum", exact(rules.minimum));
    put("maximum", exact(rules.maximum));
    put("multipleOf", exact(rules.multiple_of));
    put("minItems", rules.min_items.map(Value::from));
    put("maxItems", rules.max_items.map(Value::from));
    put("uniqueItems", rules.unique_items.then(|| true.into()));
    let choices: Vec<Value> = rules.choices.iter().map(Datum::to_value).collect();
    let of_items = parameter.kind == Kind::Array;
    match (of_items, choices.is_empty()) {
        (false, false) => put("enum", Some(choices.into())),
        (false, true) => {}
        (true, false) => put("items", Some(json!({ "enum": choices }))),
        (true, true) => put("items", Some(json!({}))),
    }
}

/// Returns the parameters that are secret or part of a secret variable.
fn secrets(definition: &Definition) -> Vec<&str> {
    let environment = &definition.environment;
    let mut names: Vec<&str> = environment.secrets.iter().map(String::as_str).collect();
    for (variable, value) in &environment.variables {
        if environment.secrets.contains(variable) {
            names.extend(references(value).map(|reference| reference.name));
        }
    }
    names
}
