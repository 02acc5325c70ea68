//! Faults of a schema itself, each with its position, and the schema without them.
//!
//! The validator refuses the whole schema because of one invalid keyword, so the faults are located
//! here. A keyword with an invalid value has no meaning and is not checked. An unreadable pattern
//! or reference stands for a check that the author intended, so values that it applies to are
//! refused.

use serde_json::{Map, Value};

use super::walk::{self, Form, MAX_DEPTH, REFERENCES};
use super::{below, unescaped};

/// Keyword of haft's own: values that it applies to are refused, and its text is the reason.
pub(super) const UNREADABLE: &str = "haft:unreadable";
/// The same keyword for strings only.
pub(super) const UNREADABLE_TEXT: &str = "haft:unreadable-text";

const TYPES: [&str; 7] = [
    "array", "boolean", "integer", "null", "number", "object", "string",
];

/// Kind of value that a keyword without schemas has.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Holds {
    Type,
    Reference,
    Text,
    Pattern,
    Names,
    /// Lists of names, by name.
    NamesByName,
    Values,
    Number,
    /// A number above 0.
    Positive,
    /// A whole number, 0 or more.
    Count,
    Flag,
}

const KEYWORDS: [(&str, Holds); 31] = [
    ("$anchor", Holds::Text),
    ("$comment", Holds::Text),
    ("$dynamicAnchor", Holds::Text),
    ("$dynamicRef", Holds::Reference),
    ("$id", Holds::Text),
    ("$ref", Holds::Reference),
    ("$schema", Holds::Text),
    ("dependentRequired", Holds::NamesByName),
    ("deprecated", Holds::Flag),
    ("description", Holds::Text),
    ("enum", Holds::Values),
    ("examples", Holds::Values),
    ("exclusiveMaximum", Holds::Number),
    ("exclusiveMinimum", Holds::Number),
    ("format", Holds::Text),
    ("maxContains", Holds::Count),
    ("maxItems", Holds::Count),
    ("maxLength", Holds::Count),
    ("maxProperties", Holds::Count),
    ("maximum", Holds::Number),
    ("minContains", Holds::Count),
    ("minItems", Holds::Count),
    ("minLength", Holds::Count),
    ("minProperties", Holds::Count),
    ("minimum", Holds::Number),
    ("multipleOf", Holds::Positive),
    ("pattern", Holds::Pattern),
    ("readOnly", Holds::Flag),
    ("required", Holds::Names),
    ("title", Holds::Text),
    ("type", Holds::Type),
];

/// A fault in a schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The position, as a JSON pointer; empty for the root.
    pub at: String,
    /// The reason, without the position.
    pub text: String,
    pub kind: FaultKind,
}

/// The consequence of a fault for calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultKind {
    /// The keyword has no meaning and is not checked.
    Meaningless,
    /// The validator does not understand a regular expression: strings at this position are
    /// refused.
    Pattern,
    /// A reference has no target: values at this position are refused.
    Reference,
}

impl Fault {
    /// Returns the position in the form for people.
    pub fn place(&self) -> &str {
        if self.at.is_empty() { "root" } else { &self.at }
    }
}

/// Returns all faults of `schema`, in the order in which they occur.
pub fn faults(schema: &Value) -> Vec<Fault> {
    let mut search = Search {
        root: schema,
        found: Vec::new(),
    };
    search.schema(schema, "", 0);
    search.found
}

/// Returns the schema without its faulty keywords, so that the rest can be checked.
pub(super) fn without(schema: &Value, faults: &[Fault]) -> Value {
    let mut schema = schema.clone();
    // From last to first, because removing an entry moves the entries after it.
    for fault in faults.iter().rev() {
        let Some((parent, key)) = fault.at.rsplit_once('/') else {
            return Value::Bool(true);
        };
        let key = unescaped(key);
        match schema.pointer_mut(parent) {
            Some(Value::Object(fields)) => take_out(fields, &key, fault),
            Some(Value::Array(items)) => {
                if let Some(item) = key
                    .parse()
                    .ok()
                    .and_then(|index: usize| items.get_mut(index))
                {
                    *item = Value::Bool(true);
                }
            }
            _ => {}
        }
    }
    schema
}

fn take_out(fields: &mut Map<String, Value>, key: &str, fault: &Fault) {
    fields.shift_remove(key);
    let marker = match fault.kind {
        FaultKind::Meaningless => return,
        FaultKind::Pattern => UNREADABLE_TEXT,
        FaultKind::Reference => UNREADABLE,
    };
    fields.insert(marker.to_owned(), fault.text.clone().into());
}

struct Search<'a> {
    root: &'a Value,
    found: Vec<Fault>,
}

impl Search<'_> {
    fn fault(&mut self, at: &str, text: impl Into<String>) {
        self.note(at, text, FaultKind::Meaningless);
    }

    fn note(&mut self, at: &str, text: impl Into<String>, kind: FaultKind) {
        self.found.push(Fault {
            at: at.to_owned(),
            text: text.into(),
            kind,
        });
    }

    fn schema(&mut self, node: &Value, at: &str, depth: usize) {
        let node = match node {
            Value::Object(node) => node,
            Value::Bool(_) => return,
            _ => return self.fault(at, "it is not a schema"),
        };
        if depth > MAX_DEPTH {
            return self.fault(at, "it nests too deeply");
        }
        for (key, value) in node {
            let at = below(at, key);
            match walk::form(key) {
                // The form of drafts before 2020-12. The validator does not know it.
                Some(_) if key == "dependencies" => {}
                Some(form) => self.inner(key, form, value, &at, depth),
                None => {
                    if let Some((_, holds)) = KEYWORDS.iter().find(|(name, _)| name == key) {
                        self.keyword(*holds, value, &at);
                    }
                }
            }
        }
    }

    /// Checks a keyword that holds schemas.
    fn inner(&mut self, key: &str, form: Form, value: &Value, at: &str, depth: usize) {
        match (form, value) {
            (_, Value::Array(items)) if walk::is_list(key) => {
                if items.is_empty() && form == Form::List && key != "prefixItems" {
                    return self.fault(at, "it is an empty list");
                }
                for (index, item) in items.iter().enumerate() {
                    self.schema(item, &format!("{at}/{index}"), depth + 1);
                }
            }
            (Form::One, one) => self.schema(one, at, depth + 1),
            (Form::List, _) => self.fault(at, "it is not a list of schemas"),
            (Form::Named, Value::Object(named)) => {
                for (name, item) in named {
                    let at = below(at, name);
                    if key == "patternProperties" && !is_pattern(name) {
                        self.fault(&at, not_a_pattern(name));
                    } else {
                        self.schema(item, &at, depth + 1);
                    }
                }
            }
            (Form::Named, _) => self.fault(at, "it holds no schemas by name"),
        }
    }

    fn keyword(&mut self, holds: Holds, value: &Value, at: &str) {
        match holds {
            Holds::Type => self.types(value, at),
            Holds::Reference => self.reference(value, at),
            Holds::Text if !value.is_string() => self.fault(at, "it is not a text"),
            Holds::Pattern => match value.as_str() {
                None => self.fault(at, "it is not a text"),
                Some(pattern) if !is_pattern(pattern) => {
                    self.note(at, not_a_pattern(pattern), FaultKind::Pattern);
                }
                Some(_) => {}
            },
            Holds::Names => {
                if let Err(why) = names(value) {
                    self.fault(at, why);
                }
            }
            Holds::NamesByName => {
                let lists = value.as_object().map(|lists| lists.values());
                let are_lists = lists.is_some_and(|mut lists| lists.all(|it| names(it).is_ok()));
                if !are_lists {
                    self.fault(at, "it holds no lists of names by name");
                }
            }
            Holds::Values if !value.is_array() => self.fault(at, "it is not a list of values"),
            Holds::Number if !value.is_number() => self.fault(at, "it is not a number"),
            Holds::Positive if !value.as_f64().is_some_and(|number| number > 0.0) => {
                self.fault(at, "it is not a number above 0");
            }
            Holds::Count if !is_count(value) => {
                self.fault(at, "it is not a whole number of 0 or more");
            }
            Holds::Flag if !value.is_boolean() => self.fault(at, "it is neither true nor false"),
            _ => {}
        }
    }

    fn types(&mut self, value: &Value, at: &str) {
        let is_type = |value: &Value| value.as_str().is_some_and(|name| TYPES.contains(&name));
        let fits = match value {
            Value::Array(names) => {
                !names.is_empty() && names.iter().all(is_type) && are_different(names)
            }
            one => is_type(one),
        };
        if !fits {
            self.fault(at, format!("{value} is not a type of JSON Schema"));
        }
    }

    /// Checks a reference. A reference to another document is a fault, because none is fetched. A
    /// reference into this document must have a target.
    fn reference(&mut self, value: &Value, at: &str) {
        let Some(reference) = value.as_str() else {
            return self.fault(at, "it is not a text");
        };
        if !reference.starts_with('#') {
            let text = format!("`{reference}` is in another document");
            return self.note(at, text, FaultKind::Reference);
        }
        if walk::target(self.root, reference).is_none() {
            let text = format!("`{reference}` leads nowhere");
            self.note(at, text, FaultKind::Reference);
        }
    }
}

fn names(value: &Value) -> Result<(), &'static str> {
    let list = value.as_array();
    match list.filter(|list| list.iter().all(Value::is_string)) {
        None => Err("it is not a list of names"),
        Some(list) if !are_different(list) => Err("it holds a name twice"),
        Some(_) => Ok(()),
    }
}

fn are_different(values: &[Value]) -> bool {
    let mut rest = values.iter().enumerate();
    rest.all(|(index, value)| !values[..index].contains(value))
}

fn is_count(value: &Value) -> bool {
    value.as_u64().is_some()
        || value
            .as_f64()
            .is_some_and(|number| number >= 0.0 && number.fract() == 0.0)
}

/// Returns true if the validator understands the regular expression.
pub fn is_pattern(pattern: &str) -> bool {
    let schema = serde_json::json!({ "pattern": pattern });
    jsonschema::options().build(&schema).is_ok()
}

fn not_a_pattern(pattern: &str) -> String {
    format!("`{pattern}` is not a regular expression that haft understands")
}

/// Returns the schema with its references percent-encoded where a URI requires it. Also those below
/// unknown keywords, which references may lead to (`#/components/schemas/Item`).
pub(super) fn with_encoded_references(schema: &Value) -> Value {
    match schema {
        Value::Object(fields) => {
            let fields = fields.iter().map(|(key, value)| {
                let value = match value {
                    Value::String(reference) if REFERENCES.contains(&key.as_str()) => {
                        percent_encoded(reference).into()
                    }
                    other => with_encoded_references(other),
                };
                (key.clone(), value)
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) => items.iter().map(with_encoded_references).collect(),
        other => other.clone(),
    }
}

fn percent_encoded(reference: &str) -> String {
    let mut encoded = String::with_capacity(reference.len());
    for byte in reference.bytes() {
        match byte {
            b'"' | b'<' | b'>' | b'[' | b'\\' | b']' | b'^' | b'`' | b'{' | b'|' | b'}' => {
                encoded.push_str(&format!("%{byte:02X}"));
            }
            0..=b' ' | 0x7f.. => encoded.push_str(&format!("%{byte:02X}")),
            byte => encoded.push(char::from(byte)),
        }
    }
    encoded
}
