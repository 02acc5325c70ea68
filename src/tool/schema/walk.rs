//! Walk over JSON Schemas: the keywords that hold schemas, the targets of references, and the
//! schemas that apply to one value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{below, percent_decoded};

/// Limit of the nesting. Deeper schemas overflow the stack of recursive readers.
pub(crate) const MAX_DEPTH: usize = 200;

/// Limit for the schemas that apply to one value. Real schemas have a handful.
const MAX_PARTS: usize = 256;

/// Keywords with schemas of which all, some or one must accept the value.
pub(crate) const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords with schemas for the value itself, and not for a part of it.
pub(crate) const IN_PLACE: [&str; 9] = [
    "allOf",
    "anyOf",
    "oneOf",
    "if",
    "then",
    "else",
    "not",
    "dependentSchemas",
    "dependencies",
];

/// Keywords whose value is a reference.
pub(crate) const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Form in which a keyword holds schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    One,
    List,
    /// Schemas by name or by regular expression.
    Named,
}

/// A schema directly inside another.
pub(crate) struct Child<'a> {
    pub(crate) keyword: &'a str,
    /// The name or the index, if the keyword holds several schemas.
    pub(crate) step: Option<Cow<'a, str>>,
    pub(crate) schema: &'a Value,
}

impl Child<'_> {
    /// Returns the JSON pointer of the schema; `parent` is that of the outer schema.
    pub(crate) fn at(&self, parent: &str) -> String {
        let at = below(parent, self.keyword);
        self.step
            .as_ref()
            .map_or(at.clone(), |step| below(&at, step))
    }
}

/// Returns the form in which the keyword holds schemas; `None` if it holds none.
pub(crate) fn form(keyword: &str) -> Option<Form> {
    let form = match keyword {
        "additionalItems"
        | "additionalProperties"
        | "contains"
        | "contentSchema"
        | "else"
        | "if"
        | "items"
        | "not"
        | "propertyNames"
        | "then"
        | "unevaluatedItems"
        | "unevaluatedProperties" => Form::One,
        "allOf" | "anyOf" | "oneOf" | "prefixItems" => Form::List,
        // `dependencies` is of drafts before 2020-12. It may hold lists of names too.
        "$defs" | "definitions" | "dependencies" | "dependentSchemas" | "patternProperties"
        | "properties" => Form::Named,
        _ => return None,
    };
    Some(form)
}

fn is_schema(value: &Value) -> bool {
    value.is_object() || value.is_boolean()
}

/// Returns the schemas directly inside `schema`, in their order.
pub(crate) fn children(schema: &Map<String, Value>) -> impl Iterator<Item = Child<'_>> {
    schema.iter().flat_map(|(key, value)| held(key, value))
}

/// Returns the schemas in the value of a keyword.
fn held<'a>(keyword: &'a str, value: &'a Value) -> Vec<Child<'a>> {
    let child = |step, schema| Child {
        keyword,
        step,
        schema,
    };
    let mut held: Vec<Child<'a>> = match (form(keyword), value) {
        (Some(Form::Named), Value::Object(named)) => named
            .iter()
            .map(|(name, one)| child(Some(name.as_str().into()), one))
            .collect(),
        // A list in `items` is the form of tuples before 2020-12.
        (Some(_), Value::Array(items)) if is_list(keyword) => items
            .iter()
            .enumerate()
            .map(|(index, one)| child(Some(index.to_string().into()), one))
            .collect(),
        (Some(Form::One), one) => vec![child(None, one)],
        _ => Vec::new(),
    };
    held.retain(|child| is_schema(child.schema));
    held
}

/// Returns true if the keyword may hold a list of schemas.
pub(crate) fn is_list(keyword: &str) -> bool {
    keyword == "items" || form(keyword) == Some(Form::List)
}

/// Returns the value of a keyword with the result of `each` in place of every schema in it. `each`
/// gets the schema and its JSON pointer; `parent` is that of the outer schema.
pub(crate) fn replaced(
    keyword: &str,
    value: &Value,
    parent: &str,
    mut each: impl FnMut(&Value, &str) -> Value,
) -> Value {
    let at = below(parent, keyword);
    let mut one = |value: &Value, at: &str| {
        if is_schema(value) {
            each(value, at)
        } else {
            value.clone()
        }
    };
    match (form(keyword), value) {
        (Some(Form::Named), Value::Object(named)) => named
            .iter()
            .map(|(name, schema)| (name.clone(), one(schema, &below(&at, name))))
            .collect(),
        (Some(_), Value::Array(items)) if is_list(keyword) => items
            .iter()
            .enumerate()
            .map(|(index, schema)| one(schema, &format!("{at}/{index}")))
            .collect(),
        (Some(Form::One), schema) => one(schema, &at),
        _ => value.clone(),
    }
}

/// Returns `schema` and all schemas inside it that are objects, from the outside in. Those below
/// [`MAX_DEPTH`] are left out.
pub(crate) fn all(schema: &Value) -> impl Iterator<Item = &Value> {
    let mut left = vec![(schema, 0)];
    std::iter::from_fn(move || {
        loop {
            let (schema, depth) = left.pop()?;
            let Value::Object(fields) = schema else {
                continue;
            };
            if depth < MAX_DEPTH {
                let start = left.len();
                left.extend(children(fields).map(|child| (child.schema, depth + 1)));
                left[start..].reverse();
            }
            return Some(schema);
        }
    })
}

/// Returns the reference of a schema, if it has one. A dynamic reference counts as a plain one,
/// which is the same within one document.
pub(crate) fn reference(schema: &Map<String, Value>) -> Option<&str> {
    let mut references = REFERENCES
        .iter()
        .filter_map(|key| schema.get(*key)?.as_str());
    references.next()
}

/// Returns the target of `reference`, or `None` if it is not in the schema `root`.
pub(crate) fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
    let pointer = reference.strip_prefix('#')?;
    if pointer.is_empty() || pointer.starts_with('/') {
        return root.pointer(&percent_decoded(pointer));
    }
    let is_named = |schema: &&Value| {
        let mut names = ["$anchor", "$dynamicAnchor"].into_iter();
        names.any(|key| schema[key] == *pointer)
    };
    all(root).find(is_named)
}

/// Returns `schema` and the schemas that apply to the same value: the targets of its references and
/// the schemas in `keywords`. References lead into `root`. No schema is returned twice.
pub(crate) fn parts<'a>(
    schema: &'a Value,
    root: &'a Value,
    keywords: &[&str],
) -> Vec<&'a Map<String, Value>> {
    let mut found = Vec::new();
    add_parts(schema, root, keywords, &mut found);
    found
}

fn add_parts<'a>(
    schema: &'a Value,
    root: &'a Value,
    keywords: &[&str],
    found: &mut Vec<&'a Map<String, Value>>,
) {
    let Value::Object(schema) = schema else {
        return;
    };
    // References can be cyclic.
    if found.len() >= MAX_PARTS || found.iter().any(|part| std::ptr::eq(*part, schema)) {
        return;
    }
    found.push(schema);
    let target = reference(schema).and_then(|reference| target(root, reference));
    if let Some(target) = target {
        add_parts(target, root, keywords, found);
    }
    for keyword in keywords {
        if let Some((keyword, value)) = schema.get_key_value(*keyword) {
            for child in held(keyword, value) {
                add_parts(child.schema, root, keywords, found);
            }
        }
    }
}
