//! Rewrites one schema inside another for a dialect, from the outside in.

use serde_json::{Map, Value, json};

use super::all_of::both;
use super::rules::Rules;
use super::upgrade::{has_type, make_nullable, modernize, types_of};
use super::{Effect, Finding};
use crate::schema::walk::{self, Form, children};

/// Limit for the expansions of a reference within itself.
const MAX_REFERENCE_EXPANSIONS: usize = 2;

/// Limit for the schemas that the expansion of one schema produces.
const MAX_NODES: usize = 20_000;

/// Rewriter of one schema.
pub(super) struct Rewriter<'a> {
    pub(super) root: &'a Value,
    pub(super) rules: &'a Rules,
    pub(super) findings: Vec<Finding>,
    /// Rules about the tool as a whole, for its description.
    pub(super) notes: Vec<String>,
    /// The references that are being expanded.
    following: Vec<String>,
    nodes: usize,
}

impl<'a> Rewriter<'a> {
    pub(super) fn new(root: &'a Value, rules: &'a Rules) -> Rewriter<'a> {
        Rewriter {
            root,
            rules,
            findings: Vec::new(),
            notes: Vec::new(),
            following: Vec::new(),
            nodes: 0,
        }
    }

    pub(super) fn find(&mut self, at: &str, text: impl Into<String>, effect: Effect) {
        let finding = Finding {
            at: at.to_owned(),
            text: text.into(),
            effect,
        };
        if !self.findings.contains(&finding) {
            self.findings.push(finding);
        }
    }

    /// Returns the schema at `at` in the dialect.
    pub(super) fn schema(&mut self, schema: &Value, at: &str) -> Value {
        self.nodes += 1;
        if self.nodes > MAX_NODES {
            let text = "it is too large with its references written out";
            self.find("", text, Effect::Refused);
            return json!({});
        }
        let written = match schema {
            Value::Object(fields) => self.fields(fields.clone(), at),
            Value::Bool(false) => Map::from_iter([("not".to_owned(), json!({}))]),
            _ => Map::new(),
        };
        Value::Object(self.shaped(written, at))
    }

    /// Rewrites the fields of a schema, without the steps that apply only to a schema inside
    /// another.
    pub(super) fn fields(
        &mut self,
        mut schema: Map<String, Value>,
        at: &str,
    ) -> Map<String, Value> {
        modernize(&mut schema);
        self.replace_anchor(&mut schema);
        if !self.rules.references {
            // References are expanded at each use.
            schema.remove("$defs");
            schema.remove("definitions");
        }
        if let Some(followed) = self.followed(&mut schema, at) {
            return followed;
        }
        self.merge_all_of(&mut schema, at);
        // The merged schema may be a reference again.
        if let Some(followed) = self.followed(&mut schema, at) {
            return followed;
        }
        self.say_otherwise(&mut schema, at);
        self.children(&mut schema, at);
        self.tell_patterns(&mut schema, at);
        self.tell_formats(&mut schema, at);
        self.drop_keywords(&mut schema, at);
        schema
    }

    /// Replaces a reference to an anchor by its JSON pointer if the dialect has no anchors.
    fn replace_anchor(&self, schema: &mut Map<String, Value>) {
        let has_anchors = (self.rules.keywords).is_none_or(|taken| taken.contains(&"$anchor"));
        if !has_anchors
            && let Some(Value::String(reference)) = schema.get_mut("$ref")
            && !reference.starts_with("#/")
            && let Some(pointer) = walk::by_pointer(self.root, reference)
        {
            *reference = pointer;
        }
    }

    /// Expands a reference if the dialect has no references, or does not allow them beside other
    /// keywords.
    fn followed(
        &mut self,
        schema: &mut Map<String, Value>,
        at: &str,
    ) -> Option<Map<String, Value>> {
        let reference = walk::reference(schema)?.to_owned();
        let is_alone = schema.keys().all(|key| key == "$ref");
        if self.rules.references && (is_alone || !self.rules.is_closed) {
            return None;
        }
        let turns = self.following.iter().filter(|it| **it == reference).count();
        if self.rules.references && turns > 0 {
            // A recursive reference must stay. Only the description is kept beside it.
            let rest = schema.clone();
            *schema = Map::from_iter([("anyOf".to_owned(), json!([{"$ref": reference}]))]);
            schema.extend(rest.into_iter().filter(|(key, _)| key == "description"));
            return None;
        }
        self.find(
            at,
            format!("a reference to `{}`", name_of(&reference)),
            Effect::Rewritten,
        );
        if turns >= MAX_REFERENCE_EXPANSIONS {
            let name = name_of(&reference);
            let text = format!("it contains itself without an end (`{name}`)");
            self.find(at, text, Effect::Told);
            return Some(cut_off(self.root, &reference));
        }
        schema.remove("$ref");
        let target = walk::target(self.root, &reference);
        let target = target.and_then(Value::as_object).cloned();
        let target = without_definitions(target.unwrap_or_default());
        let beside = std::mem::take(schema);
        let (mut merged, lost) = both(beside, target);
        self.tell_lost(&mut merged, at, &lost);
        self.following.push(reference);
        let written = self.fields(merged, at);
        self.following.pop();
        Some(written)
    }

    fn merge_all_of(&mut self, schema: &mut Map<String, Value>, at: &str) {
        if self.rules.all_of {
            return;
        }
        let mut left = MAX_NODES;
        while let Some(Value::Array(parts)) = schema.remove("allOf") {
            self.find(at, "`allOf`", Effect::Rewritten);
            for part in parts {
                left = left.saturating_sub(1);
                let Value::Object(mut part) = part else {
                    continue;
                };
                modernize(&mut part);
                let (merged, lost) = both(std::mem::take(schema), part);
                *schema = merged;
                self.tell_lost(schema, at, &lost);
            }
            if left == 0 {
                return self.find("", "`allOf` within `allOf` without an end", Effect::Refused);
            }
        }
    }

    /// Rewrites keywords that have another form in the dialect.
    fn say_otherwise(&mut self, schema: &mut Map<String, Value>, at: &str) {
        if !self.rules.constants
            && let Some(value) = schema.remove("const")
        {
            self.find(at, "`const`", Effect::Rewritten);
            schema.insert("enum".to_owned(), json!([value]));
        }
        if !self.rules.one_of
            && let Some(Value::Array(branches)) = schema.remove("oneOf")
        {
            self.find(at, "`oneOf`", Effect::Rewritten);
            let either = Map::from_iter([("anyOf".to_owned(), Value::Array(branches))]);
            let (merged, lost) = both(std::mem::take(schema), either);
            *schema = merged;
            self.tell_lost(schema, at, &lost);
        }
        if !self.rules.type_lists
            && let Some(Value::Array(branches)) = schema.get_mut("anyOf")
        {
            let count = branches.len();
            branches.retain(|branch| branch["type"] != json!("null"));
            if branches.len() < count {
                schema.insert("nullable".to_owned(), json!(true));
            }
        }
        if self.rules.keywords.is_some()
            && !schema.contains_key("type")
            && let Some(Value::Array(values)) = schema.get("enum")
        {
            let types = types_of(values);
            let types = match types.as_slice() {
                [one] => json!(one),
                several => json!(several),
            };
            schema.insert("type".to_owned(), types);
        }
        if self.rules.wants_items && has_type(schema, "array") && !schema.contains_key("items") {
            self.find(
                at,
                "an array that does not say what it holds",
                Effect::Rewritten,
            );
            schema.insert("items".to_owned(), json!({}));
        }
    }

    fn children(&mut self, schema: &mut Map<String, Value>, at: &str) {
        for (key, value) in schema {
            let Some(form) = walk::form(key) else {
                continue;
            };
            let is_taken = self
                .rules
                .keywords
                .is_none_or(|taken| taken.contains(&key.as_str()));
            let is_rewritten = match form {
                // `true` and `false` have a meaning of their own as the value of such a keyword.
                Form::One => is_taken && value.is_object(),
                Form::List => true,
                Form::Named => is_taken || key == "patternProperties",
            };
            if is_rewritten {
                *value = walk::replaced(key, value, at, |inner, at| self.schema(inner, at));
            }
        }
    }

    /// Adds the keywords that dialects with few keywords require.
    fn shaped(&mut self, schema: Map<String, Value>, at: &str) -> Map<String, Value> {
        if self.rules.is_closed {
            return closed(self, schema, at);
        }
        if self.rules.type_lists {
            schema
        } else {
            self.without_type_lists(schema, at)
        }
    }
}

/// Returns the last part of a reference, for people.
fn name_of(reference: &str) -> &str {
    match reference.rsplit('/').next() {
        Some("#" | "") | None => "the whole",
        Some(name) => name,
    }
}

/// Returns a placeholder for a recursive schema.
fn cut_off(root: &Value, reference: &str) -> Map<String, Value> {
    let name = name_of(reference);
    let kind = walk::target(root, reference).and_then(|target| target.get("type"));
    let mut schema = Map::new();
    if let Some(kind) = kind {
        schema.insert("type".to_owned(), kind.clone());
        if *kind == json!("array") {
            schema.insert("items".to_owned(), json!({"type": "object"}));
        }
    }
    schema.insert(
        "description".to_owned(),
        json!(format!("(again like {name})")),
    );
    schema
}

fn without_definitions(mut schema: Map<String, Value>) -> Map<String, Value> {
    for key in [
        "$defs",
        "definitions",
        "$schema",
        "$id",
        "$anchor",
        "$dynamicAnchor",
    ] {
        schema.remove(key);
    }
    schema
}

/// Limit for the properties of all objects together.
const MAX_PROPERTIES: usize = 5000;

/// Limit for the nesting of objects.
const MAX_OBJECT_DEPTH: usize = 10;

/// Limit for the values of all enumerations together.
const MAX_ENUM_VALUES: usize = 1000;

/// Returns the schema closed. If it cannot be closed, the reason becomes a finding.
pub(super) fn closed(
    rewriter: &mut Rewriter<'_>,
    mut schema: Map<String, Value>,
    at: &str,
) -> Map<String, Value> {
    let says_something = ["type", "anyOf", "$ref", "enum"];
    if !says_something.iter().any(|key| schema.contains_key(*key)) {
        if schema.contains_key("properties") {
            schema.insert("type".to_owned(), json!("object"));
        } else {
            rewriter.find(at, "a value of any type", Effect::NotStrict);
            return schema;
        }
    }
    if !has_type(&schema, "object") {
        return schema;
    }
    let rest = schema.insert("additionalProperties".to_owned(), json!(false));
    let was_closed = rest == Some(json!(false));
    let is_open = rest.is_some() && !was_closed;
    let has_properties = schema
        .get("properties")
        .and_then(Value::as_object)
        .is_some_and(|it| !it.is_empty());
    if is_open || (!has_properties && !was_closed && !at.is_empty()) {
        rewriter.find(
            at,
            "an object with properties of any name",
            Effect::NotStrict,
        );
    }
    let required = schema.get("required").and_then(Value::as_array).cloned();
    let required = required.unwrap_or_default();
    let properties = schema.entry("properties").or_insert_with(|| json!({}));
    let Value::Object(properties) = properties else {
        return schema;
    };
    let mut is_rewritten = false;
    for (name, one) in properties.iter_mut() {
        if !required.contains(&json!(name))
            && let Value::Object(one) = one
        {
            make_nullable(one);
            is_rewritten = true;
        }
    }
    let names: Vec<Value> = properties.keys().map(|name| json!(name)).collect();
    schema.insert("required".to_owned(), Value::Array(names));
    if is_rewritten {
        rewriter.find(at, "optional properties", Effect::Rewritten);
    }
    schema
}

/// Adds a finding for each exceeded limit.
pub(super) fn check_limits(rewriter: &mut Rewriter<'_>, schema: &Map<String, Value>) {
    let mut size = Size::default();
    size.add(schema, 0);
    let limits = [
        (size.properties, MAX_PROPERTIES, "properties"),
        (size.depth, MAX_OBJECT_DEPTH, "levels of objects"),
        (size.values, MAX_ENUM_VALUES, "values of enumerations"),
    ];
    for (count, limit, what) in limits {
        if count > limit {
            let text = format!("{count} {what}, of which {limit} are allowed");
            rewriter.find("", text, Effect::NotStrict);
        }
    }
}

#[derive(Default)]
struct Size {
    properties: usize,
    depth: usize,
    values: usize,
}

impl Size {
    fn add(&mut self, schema: &Map<String, Value>, depth: usize) {
        let depth = depth + usize::from(has_type(schema, "object"));
        self.depth = self.depth.max(depth);
        self.values += schema
            .get("enum")
            .and_then(Value::as_array)
            .map_or(0, Vec::len);
        if let Some(Value::Object(properties)) = schema.get("properties") {
            self.properties += properties.len();
        }
        for inner in children(schema).filter_map(|child| child.schema.as_object()) {
            self.add(inner, depth);
        }
    }
}
