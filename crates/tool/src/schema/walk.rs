//! Walk over JSON Schemas: the keywords that hold schemas, the targets of references, and the
//! schemas that apply to one value.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::{below, percent_decoded};

/// Limit of the nesting. Deeper schemas overflow the stack of recursive readers.
pub const MAX_DEPTH: usize = 200;

/// Limit for the schemas that apply to one value. Real schemas have a handful.
const MAX_PARTS: usize = 256;

/// Keywords with schemas of which all, some or one must accept the value.
pub const UNIONS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Keywords with schemas for the value itself, and not for a part of it.
pub const IN_PLACE: [&str; 9] = [
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
pub const REFERENCES: [&str; 2] = ["$ref", "$dynamicRef"];

/// Form in which a keyword holds schemas.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Form {
    One,
    List,
    /// Schemas by name or by regular expression.
    Named,
}

/// A schema directly inside another.
pub struct Child<'a> {
    pub keyword: &'a str,
    /// The name or the index, if the keyword holds several schemas.
    pub step: Option<Cow<'a, str>>,
    pub schema: &'a Value,
}

impl Child<'_> {
    /// Returns the JSON pointer of the schema; `parent` is that of the outer schema.
    pub fn at(&self, parent: &str) -> String {
        let at = below(parent, self.keyword);
        self.step
            .as_ref()
            .map_or(at.clone(), |step| below(&at, step))
    }
}

/// Returns the form in which the keyword holds schemas; `None` if it holds none.
pub fn form(keyword: &str) -> Option<Form> {
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
pub fn children(schema: &Map<String, Value>) -> impl Iterator<Item = Child<'_>> {
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
pub fn is_list(keyword: &str) -> bool {
    keyword == "items" || form(keyword) == Some(Form::List)
}

/// Returns the value of a keyword with the result of `each` in place of every schema in it. `each`
/// gets the schema and its JSON pointer; `parent` is that of the outer schema.
pub fn replaced(
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
pub fn all(schema: &Value) -> impl Iterator<Item = &Value> {
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
pub fn reference(schema: &Map<String, Value>) -> Option<&str> {
    let mut references = REFERENCES
        .iter()
        .filter_map(|key| schema.get(*key)?.as_str());
    references.next()
}

/// Returns the target of `reference`, or `None` if it is not in the schema `root`.
pub fn target<'a>(root: &'a Value, reference: &str) -> Option<&'a Value> {
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

/// Returns a reference by JSON pointer to the target of `reference`, which may be an anchor. `None`
/// if the target is not in the schema `root`.
pub fn by_pointer(root: &Value, reference: &str) -> Option<String> {
    let target = target(root, reference)?;
    let mut left = vec![(root, String::new())];
    while let Some((schema, at)) = left.pop() {
        if std::ptr::eq(schema, target) {
            let pointer = at.replace('%', "%25").replace(' ', "%20");
            return Some(format!("#{pointer}"));
        }
        let children = schema.as_object().into_iter().flat_map(children);
        left.extend(children.map(|child| (child.schema, child.at(&at))));
    }
    None
}

/// Returns `schema` and the schemas that apply to the same value: the targets of its references and
/// the schemas in `keywords`. References lead into `root`. No schema is returned twice.
pub fn parts<'a>(
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn targets_are_found_by_pointer_and_by_anchor() {
        let root = json!({
            "$defs": {
                "a b": {"type": "string"},
                "n": {"$anchor": "n", "type": "null"},
                "d": {"$dynamicAnchor": "d", "type": "number"},
                "value": {"const": {"$anchor": "c"}},
            },
        });
        let target = |reference: &str| target(&root, reference).and_then(|it| it["type"].as_str());
        assert_eq!(super::target(&root, "#"), Some(&root));
        assert_eq!(target("#/$defs/a%20b"), Some("string"));
        assert_eq!(target("#n"), Some("null"));
        assert_eq!(target("#d"), Some("number"));
        assert_eq!(target("#c"), None, "a value is not a schema");
        assert_eq!(target("other.json#/$defs/n"), None);
        assert_eq!(by_pointer(&root, "#n").as_deref(), Some("#/$defs/n"));
        assert_eq!(
            by_pointer(&root, "#/$defs/a%20b").as_deref(),
            Some("#/$defs/a%20b")
        );
        assert_eq!(by_pointer(&root, "#c"), None);
    }

    #[test]
    fn parts_of_cyclic_schemas_are_returned_once() {
        let root = json!({
            "allOf": [{"$dynamicRef": "#/$defs/a"}, {"$ref": "#"}],
            "not": {"title": "not"},
            "$defs": {"a": {"title": "a", "anyOf": [{"$ref": "#/$defs/a"}]}},
        });
        let titles = |keywords: &[&str]| -> Vec<String> {
            let parts = parts(&root, &root, keywords);
            let titles = parts.iter().filter_map(|part| part.get("title")?.as_str());
            titles.map(str::to_owned).collect()
        };
        assert_eq!(titles(&UNIONS), ["a"]);
        assert_eq!(titles(&IN_PLACE), ["a", "not"]);
    }

    #[test]
    fn inner_schemas_have_places_and_can_be_replaced() {
        let schema = json!({
            "properties": {"a/b": {}, "c": true},
            "items": [{}, false],
            "dependencies": {"c": ["a/b"], "d": {}},
            "additionalProperties": false,
            "required": ["c"],
            "const": {"not": {}},
        });
        let fields = schema.as_object().expect("an object");
        let places: Vec<String> = children(fields).map(|child| child.at("/x")).collect();
        let expected = [
            "/x/properties/a~1b",
            "/x/properties/c",
            "/x/items/0",
            "/x/items/1",
            "/x/dependencies/d",
            "/x/additionalProperties",
        ];
        assert_eq!(places, expected);
        let fields = fields.iter().map(|(key, value)| {
            let value = replaced(key, value, "/x", |_, at| at.into());
            (key.clone(), value)
        });
        let written: Map<String, Value> = fields.collect();
        assert_eq!(
            Value::Object(written),
            json!({
                "properties": {"a/b": "/x/properties/a~1b", "c": "/x/properties/c"},
                "items": ["/x/items/0", "/x/items/1"],
                "dependencies": {"c": ["a/b"], "d": "/x/dependencies/d"},
                "additionalProperties": "/x/additionalProperties",
                "required": ["c"],
                "const": {"not": {}},
            })
        );
    }

    #[test]
    fn schemas_below_the_limit_are_left_out() {
        let mut schema = json!({});
        for _ in 0..2 * MAX_DEPTH {
            schema = json!({ "not": schema });
        }
        assert_eq!(all(&schema).count(), MAX_DEPTH + 1);
    }
}
