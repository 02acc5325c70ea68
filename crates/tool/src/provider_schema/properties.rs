//! Aliases for property names that models refuse, and the translation of arguments back to the real
//! names.
//!
//! Model providers refuse a request that contains a property outside `[a-zA-Z0-9_.-]{1,64}`, and
//! some clients leave out its tool. So such a property is offered under an alias, which is the same
//! at each depth and each time. The real name is restored in the arguments of a call before the
//! tool sees them. An alias is never the name of another property of the schema. Otherwise the text
//! of the arguments is kept: the order, the numbers, and every part without an alias.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::names::{MAX_NAME_CHARS, marked, plain};
use crate::schema::walk::{self, IN_PLACE};
use crate::schema::{percent_decoded, unescaped};

/// Limit of the nesting of values. Deeper ones keep their names.
const MAX_DEPTH: usize = 256;

/// Start of every refusal of arguments.
const REFUSED: &str = "Validation failed for tool \"";

/// Separator of the problems from the arguments in the text of a refusal.
const RECEIVED: &str = "\n\nReceived arguments:\n";

/// Properties of one tool that are offered under an alias.
#[derive(Clone, Debug)]
pub struct PropertyNames {
    /// The schema with its real names.
    schema: Value,
    /// Aliases by real name.
    aliases: BTreeMap<String, String>,
    /// Real names by alias.
    names: HashMap<String, String>,
}

/// Direction in which names are translated.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    ToAliases,
    ToNames,
}

/// Returns true if nearly all providers and clients accept the name.
pub(super) fn is_legal(name: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
    (1..=64).contains(&name.len()) && name.chars().all(is_allowed)
}

/// Returns true if Gemini accepts the name too. Gemini is stricter than all others.
pub(super) fn is_legal_start(name: &str) -> bool {
    is_legal(name) && name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
}

impl PropertyNames {
    /// Creates aliases for the properties of `schema`, at any depth, that some provider refuses.
    /// `None` if every property is accepted, which is nearly always the case.
    pub fn of(schema: &Value) -> Option<PropertyNames> {
        let properties = walk::all(schema).filter_map(|node| node.get("properties")?.as_object());
        let names: HashSet<&str> = properties.flat_map(Map::keys).map(String::as_str).collect();
        let mut refused: Vec<&str> = names.iter().copied().collect();
        refused.retain(|name| !is_legal_start(name));
        if refused.is_empty() {
            return None;
        }
        // Sorted, so that the order of the schema does not decide which property gets the plain
        // alias.
        refused.sort_unstable();
        let mut taken: HashSet<String> = names.iter().map(|&name| name.to_owned()).collect();
        let mut found = PropertyNames {
            schema: schema.clone(),
            aliases: BTreeMap::new(),
            names: HashMap::new(),
        };
        for name in refused {
            let alias = match plain(name) {
                alias if alias.len() <= MAX_NAME_CHARS && !taken.contains(&alias) => alias,
                alias => marked(&alias, name),
            };
            taken.insert(alias.clone());
            found.names.insert(alias.clone(), name.to_owned());
            found.aliases.insert(name.to_owned(), alias);
        }
        Some(found)
    }

    /// Returns only the aliases of names that `takes` refuses; `None` if there are none.
    pub fn refused_by(mut self, takes: fn(&str) -> bool) -> Option<PropertyNames> {
        self.aliases.retain(|name, _| !takes(name));
        self.names.retain(|_, name| !takes(name));
        (!self.aliases.is_empty()).then_some(self)
    }

    /// Returns every real name with its alias, in the order of the names.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        let aliases = self.aliases.iter();
        aliases.map(|(name, alias)| (name.as_str(), alias.as_str()))
    }

    /// Returns the schema with aliases in place of the real names.
    pub fn renamed(&self) -> Value {
        self.schema_with_aliases(&self.schema, 0)
    }

    /// Returns the arguments of a call with the real names; `None` if they contain no alias.
    pub fn real_arguments(&self, arguments: &RawValue) -> Option<Box<RawValue>> {
        let text = arguments.get();
        // Some clients encode the arguments twice.
        let encoded = if text.starts_with('"') {
            serde_json::from_str::<String>(text).ok()
        } else {
            None
        };
        let text = encoded.as_deref().unwrap_or(text);
        let real = self.converted(&[&self.schema], text, Way::ToNames, 0)?;
        RawValue::from_string(real).ok()
    }

    /// Puts the aliases into a text in place if it is a refusal of arguments.
    pub fn rename_refusal(&self, text: &mut String) {
        if text.contains(REFUSED) {
            *text = self.in_refusal(text);
        }
    }

    /// Returns the refusal of arguments with aliases, because the model does not know the real
    /// names.
    pub fn in_refusal(&self, text: &str) -> String {
        let (lines, received) = match text.rsplit_once(RECEIVED) {
            Some((lines, received)) => (lines, Some(received)),
            None => (text, None),
        };
        let lines: Vec<String> = lines.lines().map(|line| self.in_line(line)).collect();
        let mut text = lines.join("\n");
        if let Some(received) = received {
            text.push_str(RECEIVED);
            text.push_str(&self.in_received(received));
        }
        text
    }

    /// Puts the aliases into a line `  - path: message`.
    fn in_line(&self, line: &str) -> String {
        let Some(mut rest) = line.strip_prefix("  - ") else {
            return line.to_owned();
        };
        // The longest name first, because one name may be the start of another.
        let mut aliases: Vec<(&str, &str)> = self.aliases().collect();
        aliases.sort_by_key(|(name, _)| std::cmp::Reverse(name.len()));
        let mut renamed = "  - ".to_owned();
        loop {
            let alias = aliases.iter().find(|(name, _)| {
                let after = rest.strip_prefix(name);
                after.is_some_and(|after| after.starts_with('/') || after.starts_with(": "))
            });
            match alias {
                Some((name, alias)) => {
                    renamed.push_str(alias);
                    rest = &rest[name.len()..];
                }
                None => {
                    let end = rest.find(['/', ':']).unwrap_or(rest.len());
                    renamed.push_str(&rest[..end]);
                    rest = &rest[end..];
                }
            }
            match rest.strip_prefix('/') {
                Some(below) => {
                    renamed.push('/');
                    rest = below;
                }
                None => break,
            }
        }
        let mut message = rest.to_owned();
        // The message about a union contains properties of its branches.
        if message.starts_with(": must fit one of") {
            for (name, alias) in aliases {
                for before in ["(", ", "] {
                    let (old, new) = (format!("{before}{name}: "), format!("{before}{alias}: "));
                    message = message.replace(&old, &new);
                }
            }
        }
        renamed.push_str(&message);
        renamed
    }

    fn in_received(&self, received: &str) -> String {
        // A protocol may wrap the refusal, so text may follow the arguments.
        let mut values = serde_json::Deserializer::from_str(received).into_iter::<&RawValue>();
        let _ = values.next();
        let (received, rest) = received.split_at(values.byte_offset());
        let shown = |text: &str| self.converted(&[&self.schema], text, Way::ToAliases, 0);
        // The arguments before and after normalization.
        let both: Option<Both<'_>> = serde_json::from_str(received).ok();
        let converted = match both {
            Some(both) => {
                let [original, normalized] = [both.original, both.normalized].map(|one| {
                    let text = one.get();
                    shown(text).unwrap_or_else(|| text.to_owned())
                });
                Some(format!(
                    "{{\"original\":{original},\"normalized\":{normalized}}}"
                ))
            }
            None => shown(received),
        };
        let converted = converted.and_then(|text| serde_json::from_str::<Value>(&text).ok());
        match converted {
            Some(value) => format!("{value:#}{rest}"),
            None => format!("{received}{rest}"),
        }
    }

    /// Translates the names in the JSON `text`, whose schemas are `nodes`. `None` if no name
    /// changes.
    fn converted(&self, nodes: &[&Value], text: &str, way: Way, depth: usize) -> Option<String> {
        let text = text.trim_start();
        if depth > MAX_DEPTH || nodes.is_empty() {
            return None;
        }
        let parts = nodes
            .iter()
            .flat_map(|node| walk::parts(node, &self.schema, &IN_PLACE));
        let parts: Vec<&Map<String, Value>> = parts.collect();
        match text.as_bytes().first()? {
            b'{' => self.converted_object(&parts, text, way, depth),
            b'[' => self.converted_list(&parts, text, way, depth),
            _ => None,
        }
    }

    fn converted_object(
        &self,
        parts: &[&Map<String, Value>],
        text: &str,
        way: Way,
        depth: usize,
    ) -> Option<String> {
        let Fields(fields) = serde_json::from_str(text).ok()?;
        let mut is_changed = false;
        let mut written = Vec::with_capacity(fields.len());
        for (key, value) in &fields {
            // If both the alias and the real name are present, both stay as they are.
            let is_free = |name: &str| fields.iter().all(|(key, _)| key != name);
            let real = (self.names.get(key)).filter(|name| declares(parts, name) && is_free(name));
            let alias = self.aliases.get(key).filter(|_| declares(parts, key));
            let (name, shown) = match way {
                Way::ToNames => (real.unwrap_or(key), real.unwrap_or(key)),
                Way::ToAliases => (key, alias.unwrap_or(key)),
            };
            let below = schemas_of_property(parts, name);
            let changed = self.converted(&below, value.get(), way, depth + 1);
            is_changed |= changed.is_some() || shown != key;
            let value = changed.as_deref().unwrap_or(value.get());
            written.push(format!("{}:{value}", Value::from(shown.as_str())));
        }
        is_changed.then(|| format!("{{{}}}", written.join(",")))
    }

    fn converted_list(
        &self,
        parts: &[&Map<String, Value>],
        text: &str,
        way: Way,
        depth: usize,
    ) -> Option<String> {
        let items: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        let mut is_changed = false;
        let mut written = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let below = schemas_of_item(parts, index);
            let changed = self.converted(&below, item.get(), way, depth + 1);
            is_changed |= changed.is_some();
            written.push(changed.unwrap_or_else(|| item.get().to_owned()));
        }
        is_changed.then(|| format!("[{}]", written.join(",")))
    }

    fn schema_with_aliases(&self, schema: &Value, depth: usize) -> Value {
        let Value::Object(node) = schema else {
            return schema.clone();
        };
        if depth > walk::MAX_DEPTH {
            return schema.clone();
        }
        let mut written = Map::new();
        for (key, value) in node {
            let value = match (key.as_str(), value) {
                ("required" | "propertyOrdering", Value::Array(names)) => self.list(names),
                ("dependentRequired", Value::Object(lists)) => self.keyed_by_alias(lists.clone()),
                ("$ref" | "$dynamicRef", Value::String(reference)) => {
                    self.reference(reference).into()
                }
                ("propertyNames", names) => match self.property_names(node, names) {
                    Some(names) => names,
                    None => continue,
                },
                ("default" | "const", value) => self.value(schema, value),
                ("enum" | "examples", Value::Array(values)) => {
                    let values = values.iter();
                    values.map(|value| self.value(schema, value)).collect()
                }
                (key, value) => {
                    let inner = |inner: &Value, _: &str| self.schema_with_aliases(inner, depth + 1);
                    match (key, walk::replaced(key, value, "", inner)) {
                        (
                            "properties" | "dependentSchemas" | "dependencies",
                            Value::Object(named),
                        ) => self.keyed_by_alias(named),
                        (_, replaced) => replaced,
                    }
                }
            };
            written.insert(key.clone(), value);
        }
        Value::Object(written)
    }

    /// Returns the values by alias, and the aliases in values that are lists of names.
    fn keyed_by_alias(&self, named: Map<String, Value>) -> Value {
        let named = named.into_iter().map(|(name, value)| {
            let value = match &value {
                Value::Array(names) => self.list(names),
                _ => value,
            };
            (self.alias(&name), value)
        });
        named.collect()
    }

    fn alias(&self, name: &str) -> String {
        let alias = self.aliases.get(name).map(String::as_str);
        alias.unwrap_or(name).to_owned()
    }

    fn list(&self, names: &[Value]) -> Value {
        let names = names.iter().map(|name| match name.as_str() {
            Some(text) => self.alias(text).into(),
            None => name.clone(),
        });
        names.collect()
    }

    /// Translates the `propertyNames` of a node. `None` if the keyword would refuse an alias; then
    /// only the tool checks it.
    fn property_names(&self, node: &Map<String, Value>, names: &Value) -> Option<Value> {
        let allowed = names.get("enum").and_then(Value::as_array);
        if let (Some(allowed), Value::Object(names)) = (allowed, names) {
            let mut names = names.clone();
            names.insert("enum".to_owned(), self.list(allowed));
            return Some(Value::Object(names));
        }
        let properties = node.get("properties").and_then(Value::as_object);
        let mut own = properties.into_iter().flat_map(Map::keys);
        let has_aliases = own.any(|name| self.aliases.contains_key(name));
        (!has_aliases).then(|| names.clone())
    }

    /// Translates an example, a default or another value in the schema `node`.
    fn value(&self, node: &Value, value: &Value) -> Value {
        let converted = self.converted(&[node], &value.to_string(), Way::ToAliases, 0);
        let converted = converted.and_then(|text| serde_json::from_str(&text).ok());
        converted.unwrap_or_else(|| value.clone())
    }

    /// Translates the names of properties in the path of a reference.
    fn reference(&self, reference: &str) -> String {
        let mut steps: Vec<String> = Vec::new();
        for step in reference.split('/') {
            let is_name = steps.last().is_some_and(|last| last == "properties");
            let decoded = unescaped(&percent_decoded(step));
            match self.aliases.get(&decoded).filter(|_| is_name) {
                Some(alias) => steps.push(alias.clone()),
                None => steps.push(step.to_owned()),
            }
        }
        steps.join("/")
    }
}

fn declares(parts: &[&Map<String, Value>], name: &str) -> bool {
    parts
        .iter()
        .filter_map(|part| part.get("properties")?.as_object())
        .any(|properties| properties.contains_key(name))
}

fn schemas_of_property<'a>(parts: &[&'a Map<String, Value>], name: &str) -> Vec<&'a Value> {
    let declared = |part: &&'a Map<String, Value>| part.get("properties")?.get(name);
    let declared: Vec<&Value> = parts.iter().filter_map(declared).collect();
    if !declared.is_empty() {
        return declared;
    }
    let others = parts.iter().flat_map(|part| {
        let by_pattern = part.get("patternProperties").and_then(Value::as_object);
        let by_pattern = by_pattern.into_iter().flat_map(Map::values);
        let rest = ["additionalProperties", "unevaluatedProperties"];
        by_pattern.chain(rest.into_iter().filter_map(|key| part.get(key)))
    });
    others.collect()
}

fn schemas_of_item<'a>(parts: &[&'a Map<String, Value>], index: usize) -> Vec<&'a Value> {
    let of_item = parts.iter().flat_map(|part| {
        let listed = ["prefixItems", "items"].into_iter().filter_map(move |key| {
            let items = part.get(key)?.as_array()?;
            items.get(index)
        });
        let rest = ["items", "additionalItems", "unevaluatedItems", "contains"];
        listed.chain(rest.into_iter().filter_map(|key| part.get(key)))
    });
    of_item.collect()
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Both<'a> {
    #[serde(borrow)]
    original: &'a RawValue,
    #[serde(borrow)]
    normalized: &'a RawValue,
}

/// Fields of an object in their order, each with its JSON text.
struct Fields<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields<'de>, A::Error> {
        let mut fields = Vec::new();
        while let Some(field) = map.next_entry()? {
            fields.push(field);
        }
        Ok(Fields(fields))
    }
}
