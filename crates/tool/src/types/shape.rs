//! The type that a JSON Schema describes, independent of a language.

use serde_json::{Map, Value};

use crate::schema::walk;

/// Limit of the nesting of a type. Deeper parts are any value.
const MAX_DEPTH: usize = 64;

/// A type.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Shape {
    /// Any value.
    Unknown,
    /// No value.
    Never,
    Null,
    Boolean,
    Integer,
    Number,
    String,
    /// One scalar value.
    Literal(Value),
    Array(Box<Shape>),
    Tuple {
        items: Vec<Shape>,
        /// Number of items that must be there.
        required: usize,
        /// Type of further items; `None`: there are none.
        rest: Option<Box<Shape>>,
    },
    Object(Fields),
    Union(Vec<Shape>),
    /// A value of all these types.
    All(Vec<Shape>),
    /// The definition with this index.
    Named(usize),
}

/// The properties of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Fields {
    pub(super) properties: Vec<Property>,
    pub(super) rest: Rest,
}

/// Properties that are not declared by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Rest {
    /// The schema says nothing about them.
    #[default]
    Unspecified,
    Closed,
    Typed(Box<Shape>),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Property {
    pub(super) name: String,
    pub(super) shape: Shape,
    pub(super) is_required: bool,
    pub(super) description: String,
}

/// The type of a schema, and of the schemas that it refers to.
pub(super) struct Described {
    pub(super) shape: Shape,
    pub(super) definitions: Vec<Definition>,
}

/// The target of a reference.
pub(super) struct Definition {
    /// The last part of the reference, as a proposal for a name.
    pub(super) title: String,
    pub(super) description: String,
    pub(super) shape: Shape,
}

/// Returns the type of `schema`.
pub(super) fn describe(schema: &Value) -> Described {
    let mut reader = Reader {
        root: schema,
        targets: Vec::new(),
        definitions: Vec::new(),
    };
    let shape = reader.shape(schema, 0);
    let mut definitions = reader.definitions;
    for index in 0..definitions.len() {
        if is_circular(index, &definitions) {
            definitions[index].shape = Shape::Unknown;
        }
    }
    Described { shape, definitions }
}

/// Returns true if a definition is made of itself, and not only of parts of that type.
fn is_circular(index: usize, definitions: &[Definition]) -> bool {
    let (mut seen, mut left) = (vec![false; definitions.len()], vec![index]);
    while let Some(next) = left.pop() {
        let mut shapes = vec![&definitions[next].shape];
        while let Some(shape) = shapes.pop() {
            match shape {
                Shape::Union(parts) | Shape::All(parts) => shapes.extend(parts),
                Shape::Named(target) if *target == index => return true,
                Shape::Named(target) if !seen[*target] => {
                    seen[*target] = true;
                    left.push(*target);
                }
                _ => {}
            }
        }
    }
    false
}

struct Reader<'a> {
    root: &'a Value,
    /// The targets of references, in the order of `definitions`.
    targets: Vec<&'a Value>,
    definitions: Vec<Definition>,
}

impl<'a> Reader<'a> {
    fn shape(&mut self, schema: &'a Value, depth: usize) -> Shape {
        match schema {
            Value::Bool(false) => Shape::Never,
            Value::Object(fields) if depth < MAX_DEPTH => self.shape_of(fields, depth + 1),
            _ => Shape::Unknown,
        }
    }

    fn shape_of(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Shape {
        let mut parts = Vec::new();
        if let Some(reference) = walk::reference(schema) {
            parts.push(self.definition(reference, depth));
        }
        parts.push(self.own(schema, depth));
        for keyword in walk::UNIONS {
            let Some(Value::Array(branches)) = schema.get(keyword) else {
                continue;
            };
            let branches: Vec<Shape> = branches
                .iter()
                .map(|branch| self.shape(branch, depth))
                .collect();
            if keyword == "allOf" {
                parts.extend(branches);
            } else {
                parts.push(union(branches));
            }
        }
        let shape = intersection(parts);
        // The keyword is OpenAPI's.
        if schema.get("nullable") == Some(&Value::Bool(true)) {
            return union(vec![shape, Shape::Null]);
        }
        shape
    }

    /// Returns the type of a reference. The target becomes a definition, so it may refer to itself.
    fn definition(&mut self, reference: &'a str, depth: usize) -> Shape {
        let Some(target) = walk::target(self.root, reference) else {
            return Shape::Unknown;
        };
        let known = self
            .targets
            .iter()
            .position(|one| std::ptr::eq(*one, target));
        if let Some(index) = known {
            return Shape::Named(index);
        }
        let index = self.targets.len();
        self.targets.push(target);
        let title = reference.rsplit(['/', '#']).next().unwrap_or_default();
        self.definitions.push(Definition {
            title: title.to_owned(),
            description: description(target),
            shape: Shape::Unknown,
        });
        let shape = self.shape(target, depth);
        self.definitions[index].shape = shape;
        Shape::Named(index)
    }

    /// Returns the type by the schema's own keywords, without those in other schemas.
    fn own(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Shape {
        if let Some(Value::Array(values)) = schema.get("enum") {
            return union(values.iter().map(literal).collect());
        }
        if let Some(value) = schema.get("const") {
            return literal(value);
        }
        match schema.get("type") {
            Some(Value::String(name)) => self.of_type(name, schema, depth),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                let types = names.map(|name| self.of_type(name, schema, depth));
                union(types.collect())
            }
            _ => {
                let has = |keywords: &[&str]| keywords.iter().any(|key| schema.contains_key(*key));
                if has(&[
                    "properties",
                    "required",
                    "additionalProperties",
                    "patternProperties",
                ]) {
                    self.of_type("object", schema, depth)
                } else if has(&["items", "prefixItems"]) {
                    self.of_type("array", schema, depth)
                } else {
                    Shape::Unknown
                }
            }
        }
    }

    fn of_type(&mut self, name: &str, schema: &'a Map<String, Value>, depth: usize) -> Shape {
        match name {
            "null" => Shape::Null,
            "boolean" => Shape::Boolean,
            "integer" => Shape::Integer,
            "number" => Shape::Number,
            "string" => Shape::String,
            "array" => self.array(schema, depth),
            "object" => Shape::Object(self.fields(schema, depth)),
            _ => Shape::Unknown,
        }
    }

    fn array(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Shape {
        // Before 2020-12, a list in `items` was a tuple, and `additionalItems` its rest.
        let (items, rest) = match (schema.get("prefixItems"), schema.get("items")) {
            (Some(Value::Array(items)), rest) => (items, rest),
            (_, Some(Value::Array(items))) => (items, schema.get("additionalItems")),
            (_, Some(items)) => return Shape::Array(Box::new(self.shape(items, depth))),
            (_, None) => return Shape::Array(Box::new(Shape::Unknown)),
        };
        let least = schema.get("minItems").and_then(Value::as_u64);
        let least = least.and_then(|least| usize::try_from(least).ok());
        let rest = match rest {
            Some(rest) => self.shape(rest, depth),
            None => Shape::Unknown,
        };
        Shape::Tuple {
            required: least.unwrap_or(0).min(items.len()),
            items: items.iter().map(|item| self.shape(item, depth)).collect(),
            rest: (rest != Shape::Never).then(|| Box::new(rest)),
        }
    }

    fn fields(&mut self, schema: &'a Map<String, Value>, depth: usize) -> Fields {
        let required = schema.get("required").and_then(Value::as_array);
        let required = required.into_iter().flatten().filter_map(Value::as_str);
        let mut required: Vec<&str> = required.collect();
        let mut properties = Vec::new();
        if let Some(Value::Object(named)) = schema.get("properties") {
            for (name, property) in named {
                let is_required = required.contains(&name.as_str());
                required.retain(|one| one != name);
                properties.push(Property {
                    name: name.clone(),
                    shape: self.shape(property, depth),
                    is_required,
                    description: description(property),
                });
            }
        }
        required.dedup();
        properties.extend(required.into_iter().map(|name| Property {
            name: name.to_owned(),
            shape: Shape::Unknown,
            is_required: true,
            description: String::new(),
        }));
        let mut others = Vec::new();
        if let Some(Value::Object(patterns)) = schema.get("patternProperties") {
            others.extend(patterns.values().map(|schema| self.shape(schema, depth)));
        }
        let rest = match schema.get("additionalProperties") {
            Some(Value::Bool(false)) if others.is_empty() => Rest::Closed,
            Some(Value::Bool(false)) => Rest::Typed(Box::new(union(others))),
            Some(schema) => {
                others.push(self.shape(schema, depth));
                Rest::Typed(Box::new(union(others)))
            }
            None if others.is_empty() => Rest::Unspecified,
            None => Rest::Typed(Box::new(Shape::Unknown)),
        };
        Fields { properties, rest }
    }
}

fn description(schema: &Value) -> String {
    schema["description"]
        .as_str()
        .unwrap_or_default()
        .to_owned()
}

/// Returns the type of one value.
fn literal(value: &Value) -> Shape {
    match value {
        Value::Null => Shape::Null,
        Value::Bool(_) | Value::Number(_) | Value::String(_) => Shape::Literal(value.clone()),
        Value::Array(items) => Shape::Tuple {
            items: items.iter().map(literal).collect(),
            required: items.len(),
            rest: None,
        },
        Value::Object(fields) => Shape::Object(Fields {
            properties: fields
                .iter()
                .map(|(name, value)| Property {
                    name: name.clone(),
                    shape: literal(value),
                    is_required: true,
                    description: String::new(),
                })
                .collect(),
            rest: Rest::Closed,
        }),
    }
}

/// Returns the type of values of any of the types.
pub(super) fn union(shapes: Vec<Shape>) -> Shape {
    let mut found: Vec<Shape> = Vec::new();
    for shape in shapes {
        let parts = match shape {
            Shape::Union(parts) => parts,
            one => vec![one],
        };
        for part in parts {
            match part {
                Shape::Unknown => return Shape::Unknown,
                Shape::Never => {}
                part if found.contains(&part) => {}
                part => found.push(part),
            }
        }
    }
    match found.len() {
        0 => Shape::Never,
        1 => found.remove(0),
        _ => Shape::Union(found),
    }
}

/// Returns the type of values of all of the types.
fn intersection(shapes: Vec<Shape>) -> Shape {
    let mut found: Vec<Shape> = Vec::new();
    for shape in shapes {
        let parts = match shape {
            Shape::All(parts) => parts,
            one => vec![one],
        };
        for part in parts {
            match part {
                Shape::Never => return Shape::Never,
                Shape::Unknown => {}
                part if found.contains(&part) => {}
                part => found.push(part),
            }
        }
    }
    // `type: object` beside a union of objects adds nothing.
    if found.len() > 1 {
        let is_plain = |shape: &Shape| *shape == Shape::Object(Fields::default());
        found.retain(|shape| !is_plain(shape));
    }
    match found.len() {
        0 => Shape::Unknown,
        1 => found.remove(0),
        _ => Shape::All(found),
    }
}
