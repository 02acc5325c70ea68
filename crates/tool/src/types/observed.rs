//! Type of results that was observed, for tools that declare none.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Number of different keys from which an object counts as a map from names to values.
const MAX_KEYS: usize = 64;
/// Depth from which values are not looked into.
const MAX_DEPTH: usize = 12;

/// The type of observed results as a schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Observed {
    /// The schema.
    pub schema: Value,
    /// The number of results that were observed.
    pub results: usize,
}

/// Kinds of values in observed results, without the values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Observations {
    results: usize,
    kinds: Kinds,
}

impl Observations {
    /// Adds a result.
    pub fn add(&mut self, value: &Value) {
        self.results += 1;
        self.kinds.add(value, 0);
    }

    /// Adds all results of `other`.
    pub fn merge(&mut self, other: Observations) {
        self.results += other.results;
        self.kinds.merge(other.kinds);
    }

    /// Returns the type of the results; `None` if there is none.
    pub fn observed(self) -> Option<Observed> {
        (self.results > 0).then(|| Observed {
            schema: self.kinds.schema(),
            results: self.results,
        })
    }
}

/// The kinds of values at one place.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Kinds {
    #[serde(skip_serializing_if = "is_false")]
    null: bool,
    #[serde(skip_serializing_if = "is_false")]
    boolean: bool,
    #[serde(skip_serializing_if = "is_false")]
    integer: bool,
    #[serde(skip_serializing_if = "is_false")]
    number: bool,
    #[serde(skip_serializing_if = "is_false")]
    string: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Box<Kinds>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fields: Option<Fields>,
    /// Set for a place that is too deep, or has too many keys.
    #[serde(skip_serializing_if = "is_false")]
    is_any: bool,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
struct Fields {
    objects: usize,
    named: BTreeMap<String, (usize, Kinds)>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

impl Kinds {
    fn add(&mut self, value: &Value, depth: usize) {
        if depth > MAX_DEPTH {
            self.is_any = true;
            return;
        }
        match value {
            Value::Null => self.null = true,
            Value::Bool(_) => self.boolean = true,
            Value::Number(number) if number.is_f64() => self.number = true,
            Value::Number(_) => self.integer = true,
            Value::String(_) => self.string = true,
            Value::Array(items) => {
                let kinds = self.items.get_or_insert_default();
                for item in items {
                    kinds.add(item, depth + 1);
                }
            }
            Value::Object(values) => {
                let fields = self.fields.get_or_insert_default();
                fields.objects += 1;
                for (name, value) in values {
                    let is_full = fields.named.len() > MAX_KEYS;
                    if is_full && !fields.named.contains_key(name) {
                        continue;
                    }
                    let (count, kinds) = fields.named.entry(name.clone()).or_default();
                    *count += 1;
                    kinds.add(value, depth + 1);
                }
            }
        }
    }

    fn merge(&mut self, other: Kinds) {
        self.null |= other.null;
        self.boolean |= other.boolean;
        self.integer |= other.integer;
        self.number |= other.number;
        self.string |= other.string;
        self.is_any |= other.is_any;
        if let Some(items) = other.items {
            self.items.get_or_insert_default().merge(*items);
        }
        if let Some(fields) = other.fields {
            let own = self.fields.get_or_insert_default();
            own.objects += fields.objects;
            for (name, (count, kinds)) in fields.named {
                let (own_count, own_kinds) = own.named.entry(name).or_default();
                *own_count += count;
                own_kinds.merge(kinds);
            }
        }
    }

    fn schema(self) -> Value {
        if self.is_any {
            return json!({});
        }
        let mut schemas = Vec::new();
        // A number that was once written with a fraction is a number.
        let is_integer = self.integer && !self.number;
        for (is_there, name) in [
            (self.string, "string"),
            (self.number, "number"),
            (is_integer, "integer"),
            (self.boolean, "boolean"),
        ] {
            if is_there {
                schemas.push(json!({"type": name}));
            }
        }
        if let Some(items) = self.items {
            schemas.push(json!({"type": "array", "items": items.schema()}));
        }
        if let Some(fields) = self.fields {
            schemas.push(fields.schema());
        }
        if self.null {
            schemas.push(json!({"type": "null"}));
        }
        match schemas.len() {
            // The items of arrays that were all empty.
            0 => json!({}),
            1 => schemas.remove(0),
            _ => json!({"anyOf": schemas}),
        }
    }
}

impl Fields {
    fn schema(self) -> Value {
        if self.named.len() > MAX_KEYS {
            return json!({"type": "object"});
        }
        let (mut properties, mut required) = (Map::new(), Vec::new());
        for (name, (count, kinds)) in self.named {
            if count == self.objects {
                required.push(name.clone());
            }
            properties.insert(name, kinds.schema());
        }
        json!({"type": "object", "properties": properties, "required": required})
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn type_of<'a>(values: impl IntoIterator<Item = &'a Value>) -> Observed {
        let mut all = Observations::default();
        for value in values {
            // Each result is stored and read again, as between two runs.
            let mut one = Observations::default();
            one.add(value);
            let text = serde_json::to_string(&one).expect("it is JSON");
            all.merge(serde_json::from_str(&text).expect("it is the same"));
        }
        all.observed().expect("there are values")
    }

    #[test]
    fn a_type_covers_all_values_that_were_observed() {
        let values = [
            json!({"text": "a", "details": {"count": 1, "tags": []}}),
            json!({"text": "b", "details": {"count": 1.5, "tags": ["x", null]}, "more": true}),
        ];
        let observed = type_of(&values);
        assert_eq!(observed.results, 2);
        assert_eq!(
            observed.schema,
            json!({
                "type": "object",
                "properties": {
                    "details": {
                        "type": "object",
                        "properties": {
                            "count": {"type": "number"},
                            "tags": {"type": "array", "items":
                                {"anyOf": [{"type": "string"}, {"type": "null"}]}},
                        },
                        "required": ["count", "tags"],
                    },
                    "more": {"type": "boolean"},
                    "text": {"type": "string"},
                },
                "required": ["details", "text"],
            })
        );
        let schema = crate::schema::Schema::compile(&observed.schema).expect("it compiles");
        assert!(
            values
                .iter()
                .all(|value| schema.mismatches(value).is_empty())
        );
        assert!(Observations::default().observed().is_none());
    }

    #[test]
    fn maps_and_deep_values_are_any() {
        let many: Map<String, Value> = (0..100).map(|n| (format!("k{n}"), json!(n))).collect();
        let many = Value::Object(many);
        let observed = type_of([&many]);
        assert_eq!(observed.schema, json!({"type": "object"}));
        let deep = (0..20).fold(json!(1), |inner, _| json!([inner]));
        let schema = type_of([&deep]).schema;
        assert!(schema.to_string().contains(r#""items":{}"#));
    }
}
