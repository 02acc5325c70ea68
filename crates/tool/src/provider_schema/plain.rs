//! OpenAPI's subset of JSON Schema, which Gemini accepts: no lists of types, no null, and no
//! keywords beside `anyOf`.

use serde_json::{Map, Value, json};

use super::Effect;
use super::all_of::both;
use super::node::Rewriter;

impl Rewriter<'_> {
    /// Replaces lists of types by `nullable` and `anyOf`, and gives every schema a type.
    pub(super) fn without_type_lists(
        &mut self,
        mut schema: Map<String, Value>,
        at: &str,
    ) -> Map<String, Value> {
        let mut is_nullable = schema.remove("nullable") == Some(json!(true));
        if let Some(Value::Array(types)) = schema.get("type").cloned() {
            self.find(at, "a list of types", Effect::Rewritten);
            let mut types: Vec<Value> = types;
            is_nullable |= types.contains(&json!("null"));
            types.retain(|one| *one != json!("null"));
            schema.remove("type");
            match types.len() {
                0 => {}
                1 => drop(schema.insert("type".to_owned(), types.remove(0))),
                _ => {
                    let branches = types.into_iter().map(|one| {
                        if one == json!("array") {
                            json!({"type": one, "items": {"type": "string"}})
                        } else {
                            json!({"type": one})
                        }
                    });
                    schema.insert("anyOf".to_owned(), branches.collect());
                }
            }
        }
        self.without_null_and_other_enums(&mut schema, at, &mut is_nullable);
        if schema.get("type") == Some(&json!("null")) {
            schema.remove("type");
            is_nullable = true;
        }
        let mut schema = self.alone(schema);
        if !schema.contains_key("type") && !schema.contains_key("anyOf") {
            self.find(at, "a value of any type", Effect::Told);
            let any = ["string", "number", "boolean"].map(|one| json!({"type": one}));
            let described = schema.remove("description");
            schema = Map::from_iter([("anyOf".to_owned(), json!(any))]);
            if let Some(Value::Array(branches)) = schema.get_mut("anyOf")
                && let (Some(first), Some(text)) = (branches.first_mut(), described)
            {
                first["description"] = text;
            }
        }
        if is_nullable {
            // No keyword may stand beside `anyOf`, so each branch becomes nullable.
            match schema.get_mut("anyOf") {
                Some(Value::Array(branches)) => {
                    branches
                        .iter_mut()
                        .for_each(|branch| branch["nullable"] = json!(true));
                }
                _ => drop(schema.insert("nullable".to_owned(), json!(true))),
            }
        }
        self.keep_known_required(&mut schema);
        schema
    }

    /// Rewrites an enumeration, which may only contain strings. `null` becomes `nullable`. An
    /// enumeration with other values is put into the description.
    fn without_null_and_other_enums(
        &mut self,
        schema: &mut Map<String, Value>,
        at: &str,
        is_nullable: &mut bool,
    ) {
        let Some(Value::Array(values)) = schema.get_mut("enum") else {
            return;
        };
        let count = values.len();
        values.retain(|value| !value.is_null());
        *is_nullable |= values.len() < count;
        if values.is_empty() {
            schema.remove("enum");
        } else if !values.iter().all(Value::is_string) {
            let text: Vec<String> = values.iter().map(Value::to_string).collect();
            schema.remove("enum");
            self.tell(schema, at, &format!("one of: {}", text.join(", ")));
        }
    }

    /// Moves the keywords beside `anyOf` into each branch, because none may stand beside it.
    fn alone(&mut self, mut schema: Map<String, Value>) -> Map<String, Value> {
        let Some(Value::Array(branches)) = schema.remove("anyOf") else {
            return schema;
        };
        if branches.len() == 1
            && let Some(Value::Object(only)) = branches.first().cloned()
        {
            return both(schema, only).0;
        }
        let merged = branches.into_iter().map(|branch| match branch {
            Value::Object(branch) => Value::Object(both(branch, schema.clone()).0),
            other => other,
        });
        let merged: Vec<Value> = merged.collect();
        if merged.is_empty() {
            return schema;
        }
        Map::from_iter([("anyOf".to_owned(), Value::Array(merged))])
    }

    fn keep_known_required(&mut self, schema: &mut Map<String, Value>) {
        let known = schema.get("properties").and_then(Value::as_object).cloned();
        let known = known.unwrap_or_default();
        if let Some(Value::Array(required)) = schema.get_mut("required") {
            required.retain(|name| name.as_str().is_some_and(|name| known.contains_key(name)));
            if required.is_empty() {
                schema.remove("required");
            }
        }
    }
}
