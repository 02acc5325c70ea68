//! Types and properties that a JSON Schema allows, as far as the command line needs them.
//!
//! This is enough to type `--arg` values and to describe parameters. It is not a validator: only
//! the tool decides if arguments are valid.

use serde_json::{Map, Value};

use haft_tool::schema::walk;

/// JSON types that a schema allows.
#[derive(Default)]
pub(super) struct Kind<'a> {
    pub(super) string: bool,
    pub(super) number: bool,
    pub(super) integer: bool,
    pub(super) boolean: bool,
    pub(super) null: bool,
    pub(super) object: bool,
    pub(super) array: bool,
    /// Schema of an array's elements.
    pub(super) items: Option<&'a Value>,
    /// Values of `enum` and `const`.
    pub(super) literals: Vec<&'a Value>,
}

impl<'a> Kind<'a> {
    /// Returns the kind of `schema`, whose references point into `root`.
    pub(super) fn of(schema: &'a Value, root: &'a Value) -> Self {
        let mut kind = Kind::default();
        for schema in branches(schema, root) {
            kind.add(schema);
        }
        kind
    }

    /// Returns true if the schema does not restrict the type.
    pub(super) fn is_any(&self) -> bool {
        !(self.string
            || self.number
            || self.integer
            || self.boolean
            || self.null
            || self.object
            || self.array
            || !self.literals.is_empty())
    }

    /// Describes the kind: `string`, `array of number`, `a | b`.
    pub(super) fn describe(&self, root: &'a Value) -> String {
        if !self.literals.is_empty() {
            let words = self.literals.iter().map(|literal| match literal {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            return words.collect::<Vec<_>>().join(" | ");
        }
        let array = match self.items {
            Some(items) => format!("array of {}", Kind::of(items, root).describe_plain()),
            None => "array".into(),
        };
        let names = [
            (self.string, "string"),
            (self.number, "number"),
            (self.integer, "integer"),
            (self.boolean, "boolean"),
            (self.array, array.as_str()),
            (self.object, "object"),
            (self.null, "null"),
        ];
        let names: Vec<_> = names.iter().filter(|n| n.0).map(|n| n.1).collect();
        if names.is_empty() {
            "anything".into()
        } else {
            names.join(" | ")
        }
    }

    fn describe_plain(&self) -> &'static str {
        match () {
            () if self.string => "string",
            () if self.number => "number",
            () if self.integer => "integer",
            () if self.boolean => "boolean",
            () if self.object => "object",
            () if self.array => "array",
            () => "anything",
        }
    }

    fn add(&mut self, schema: &'a Map<String, Value>) {
        match schema.get("type") {
            Some(Value::String(name)) => self.add_type(name),
            Some(Value::Array(names)) => {
                for name in names.iter().filter_map(Value::as_str) {
                    self.add_type(name);
                }
            }
            _ => {}
        }
        if let Some(Value::Array(values)) = schema.get("enum") {
            self.literals.extend(values);
        }
        self.literals.extend(schema.get("const"));
        self.items = self.items.or(schema.get("items"));
    }

    fn add_type(&mut self, name: &str) {
        match name {
            "string" => self.string = true,
            "number" => self.number = true,
            "integer" => self.integer = true,
            "boolean" => self.boolean = true,
            "null" => self.null = true,
            "object" => self.object = true,
            "array" => self.array = true,
            _ => {}
        }
    }
}

/// Returns the schema of the property `name`, from any branch of `schema` that declares it.
pub(super) fn property<'a>(schema: &'a Value, name: &str, root: &'a Value) -> Option<&'a Value> {
    branches(schema, root)
        .into_iter()
        .find_map(|branch| branch.get("properties")?.get(name))
}

/// Returns the schema of properties that are not declared by name.
pub(super) fn other_properties<'a>(schema: &'a Value, root: &'a Value) -> Option<&'a Value> {
    branches(schema, root)
        .into_iter()
        .find_map(|branch| branch.get("additionalProperties").filter(|s| s.is_object()))
}

/// Returns the declared names if `schema` allows no others.
pub(super) fn closed_names<'a>(schema: &'a Value, root: &'a Value) -> Option<Vec<&'a str>> {
    let branches = branches(schema, root);
    let closed = |branch: &&Map<String, Value>| {
        branch.get("additionalProperties") == Some(&Value::Bool(false))
            && !branch.contains_key("patternProperties")
    };
    let is_closed = branches.iter().any(closed);
    is_closed.then(|| names(schema, root))
}

/// Returns the names that `schema` declares.
pub(super) fn names<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a str> {
    let branches = branches(schema, root).into_iter();
    let declared = branches.filter_map(|branch| branch.get("properties")?.as_object());
    declared.flat_map(Map::keys).map(String::as_str).collect()
}

/// Returns `schema` and all its parts that apply to the same value.
fn branches<'a>(schema: &'a Value, root: &'a Value) -> Vec<&'a Map<String, Value>> {
    walk::parts(schema, root, &walk::UNIONS)
}
