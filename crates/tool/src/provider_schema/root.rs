//! Rewrites the root of a tool's schema, which must be an object for every provider.

use serde_json::{Map, Value, json};

use super::all_of::both;
use super::node::{Rewriter, closed};
use super::{Effect, Finding};
use crate::schema::walk;

/// Limit for nested alternatives, and for references to references.
const MAX_DEPTH: usize = 16;

/// Returns the whole schema in the dialect.
pub(super) fn written(rewriter: &mut Rewriter<'_>) -> Result<Map<String, Value>, Finding> {
    let mut root = match rewriter.root {
        Value::Object(fields) => fields.clone(),
        _ => Map::new(),
    };
    if !rewriter.rules.root_unions {
        root = without_unions(rewriter, root, 0)?;
    }
    let mut root = rewriter.fields(root, "");
    if !rewriter.rules.root_unions && walk::UNIONS.iter().any(|key| root.contains_key(*key)) {
        // The unions were in the target of a reference.
        root = without_unions(rewriter, root, 0)?;
    }
    be_object(rewriter, &mut root)?;
    if !rewriter.rules.type_lists {
        root = rewriter.without_type_lists(root, "");
    }
    if rewriter.rules.is_closed {
        root = closed(rewriter, root, "");
    }
    keep_root_keywords(rewriter, &mut root);
    Ok(root)
}

fn be_object(rewriter: &mut Rewriter<'_>, root: &mut Map<String, Value>) -> Result<(), Finding> {
    match root.get("type") {
        Some(Value::String(name)) if name == "object" => return Ok(()),
        Some(Value::Array(names)) if names.contains(&json!("object")) => {}
        None => {}
        Some(other) => {
            return Err(Finding {
                at: String::new(),
                text: format!("arguments are an object, and this schema wants: {other}"),
                effect: Effect::Refused,
            });
        }
    }
    rewriter.find("", "a root without `type: object`", Effect::Rewritten);
    root.shift_insert(0, "type".to_owned(), json!("object"));
    Ok(())
}

/// Moves keywords that are not allowed at the root into the tool's description.
fn keep_root_keywords(rewriter: &mut Rewriter<'_>, root: &mut Map<String, Value>) {
    if !rewriter.rules.root_unions {
        root.remove("$schema");
    }
    let Some(kept) = rewriter.rules.root_keywords else {
        return;
    };
    root.entry("properties").or_insert_with(|| json!({}));
    let others: Vec<String> = root
        .keys()
        .filter(|key| !kept.contains(&key.as_str()))
        .cloned()
        .collect();
    for key in others {
        let value = root.remove(&key).unwrap_or_default();
        match (key.as_str(), value) {
            ("description", Value::String(text)) => rewriter.notes.push(text),
            ("$defs" | "definitions" | "$id" | "$schema" | "title" | "$comment", _)
            | ("additionalProperties", Value::Bool(_)) => {}
            (key, value) => {
                rewriter.find("", format!("`{key}` at the root"), Effect::Told);
                rewriter.notes.push(format!("{key}: {value}"));
            }
        }
    }
}

/// Replaces `anyOf`, `oneOf` and `allOf` at the root by one object that accepts everything that any
/// branch accepts.
fn without_unions(
    rewriter: &mut Rewriter<'_>,
    root: Map<String, Value>,
    depth: usize,
) -> Result<Map<String, Value>, Finding> {
    if depth > MAX_DEPTH {
        return Err(Finding {
            at: String::new(),
            text: "the alternatives at the root contain themselves without an end".to_owned(),
            effect: Effect::Refused,
        });
    }
    let mut root = resolved(rewriter, root, 0);
    while let Some(Value::Array(parts)) = root.remove("allOf") {
        rewriter.find("", "`allOf` at the root", Effect::Rewritten);
        for part in parts {
            let Value::Object(part) = part else {
                continue;
            };
            let part = resolved(rewriter, part, 0);
            let (merged, lost) = both(root, part);
            root = merged;
            rewriter.tell_lost(&mut root, "", &lost);
        }
    }
    for key in ["anyOf", "oneOf"] {
        let Some(Value::Array(branches)) = root.remove(key) else {
            continue;
        };
        rewriter.find("", format!("`{key}` at the root"), Effect::Rewritten);
        let mut objects = Vec::new();
        for branch in branches {
            let Value::Object(branch) = branch else {
                continue;
            };
            let branch = without_unions(rewriter, branch, depth + 1)?;
            if branch
                .get("type")
                .is_none_or(|kind| *kind == json!("object"))
            {
                objects.push(branch);
            }
        }
        if objects.is_empty() {
            return Err(Finding {
                at: format!("/{key}"),
                text: "arguments are an object, and none of these is".to_owned(),
                effect: Effect::Refused,
            });
        }
        let note = in_words(&objects);
        rewriter.notes.extend(note);
        one_of_all(&mut root, objects);
    }
    for key in ["not", "if", "then", "else", "enum"] {
        if let Some(value) = root.remove(key) {
            rewriter.find("", format!("`{key}` at the root"), Effect::Told);
            rewriter.notes.push(format!("{key}: {value}"));
        }
    }
    Ok(root)
}

/// Returns the target of a reference, merged with the keywords beside it.
fn resolved(
    rewriter: &mut Rewriter<'_>,
    mut schema: Map<String, Value>,
    depth: usize,
) -> Map<String, Value> {
    let reference = walk::reference(&schema).filter(|_| depth < MAX_DEPTH);
    let target = reference.and_then(|reference| walk::target(rewriter.root, reference));
    let Some(Value::Object(target)) = target.cloned() else {
        return schema;
    };
    for key in walk::REFERENCES {
        schema.remove(key);
    }
    let (mut merged, lost) = both(schema, target);
    rewriter.tell_lost(&mut merged, "", &lost);
    resolved(rewriter, merged, depth + 1)
}

/// Makes `root` accept everything that any of `branches` accepts.
fn one_of_all(root: &mut Map<String, Value>, branches: Vec<Map<String, Value>>) {
    let common = |name: &Value| {
        let mut all = branches.iter().map(|branch| branch.get("required"));
        all.all(|required| {
            required
                .and_then(Value::as_array)
                .is_some_and(|it| it.contains(name))
        })
    };
    let first = branches
        .first()
        .and_then(|branch| branch.get("required"))
        .and_then(Value::as_array);
    let mut required = root
        .remove("required")
        .and_then(|it| it.as_array().cloned())
        .unwrap_or_default();
    for name in first.into_iter().flatten().filter(|name| common(name)) {
        if !required.contains(name) {
            required.push(name.clone());
        }
    }
    let are_closed = branches
        .iter()
        .all(|branch| branch.get("additionalProperties") == Some(&json!(false)));
    let mut properties = root
        .remove("properties")
        .and_then(|it| it.as_object().cloned())
        .unwrap_or_default();
    let own: Vec<String> = properties.keys().cloned().collect();
    let mut found: Map<String, Value> = Map::new();
    for branch in &branches {
        for (name, schema) in branch
            .get("properties")
            .and_then(Value::as_object)
            .into_iter()
            .flatten()
        {
            let known = found.entry(name.clone()).or_insert_with(|| json!([]));
            if let Value::Array(known) = known
                && !known.contains(schema)
            {
                known.push(schema.clone());
            }
        }
    }
    for (name, variants) in found {
        // A property that the root declares keeps its schema, whatever the branches declare.
        if let Value::Array(variants) = variants
            && !own.contains(&name)
        {
            properties.insert(name, any_of(variants));
        }
    }
    for branch in branches {
        for key in ["$defs", "definitions"] {
            if let Some(Value::Object(definitions)) = branch.get(key) {
                let all = root.entry(key).or_insert_with(|| json!({}));
                if let Value::Object(all) = all {
                    all.extend(definitions.clone());
                }
            }
        }
    }
    root.insert("type".to_owned(), json!("object"));
    root.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        root.insert("required".to_owned(), Value::Array(required));
    }
    if are_closed {
        root.insert("additionalProperties".to_owned(), json!(false));
    }
}

/// Returns a union of the variants. Enumerations and constants are merged into one enumeration.
fn any_of(mut variants: Vec<Value>) -> Value {
    if variants.len() == 1 {
        return variants.remove(0);
    }
    let values = |variant: &Value| -> Option<Vec<Value>> {
        let fields = variant.as_object()?;
        let is_plain = fields.keys().all(|key| {
            ["type", "const", "enum", "description", "title", "default"].contains(&key.as_str())
        });
        let values = match (fields.get("const"), fields.get("enum")) {
            (Some(value), _) => vec![value.clone()],
            (None, Some(Value::Array(values))) => values.clone(),
            _ => return None,
        };
        is_plain.then_some(values)
    };
    let all: Option<Vec<Vec<Value>>> = variants.iter().map(values).collect();
    let Some(all) = all else {
        return json!({ "anyOf": variants });
    };
    let mut together: Vec<Value> = Vec::new();
    for value in all.into_iter().flatten() {
        if !together.contains(&value) {
            together.push(value);
        }
    }
    let kind = variants[0].get("type").cloned();
    let is_same_kind = variants
        .iter()
        .all(|variant| variant.get("type") == kind.as_ref());
    match kind.filter(|_| is_same_kind) {
        Some(kind) => json!({"type": kind, "enum": together}),
        None => json!({ "enum": together }),
    }
}

/// Describes the properties of each branch, for the description.
fn in_words(branches: &[Map<String, Value>]) -> Option<String> {
    let one = |branch: &Map<String, Value>| {
        let required = branch
            .get("required")
            .and_then(Value::as_array)
            .cloned()
            .unwrap_or_default();
        let properties = branch.get("properties").and_then(Value::as_object);
        let mut parts: Vec<String> = Vec::new();
        for (name, schema) in properties.into_iter().flatten() {
            let value = schema.get("const").or_else(|| match schema.get("enum") {
                Some(Value::Array(values)) if values.len() == 1 => values.first(),
                _ => None,
            });
            let mark = if required.contains(&json!(name)) {
                ""
            } else {
                "?"
            };
            parts.push(match value {
                Some(value) => format!("{name}{mark} = {value}"),
                None => format!("{name}{mark}"),
            });
        }
        let declared = |name: &Value| {
            properties.is_some_and(|it| name.as_str().is_some_and(|name| it.contains_key(name)))
        };
        parts.extend(
            required
                .iter()
                .filter(|name| !declared(name))
                .filter_map(Value::as_str)
                .map(str::to_owned),
        );
        format!("({})", parts.join(", "))
    };
    let ways: Vec<String> = branches.iter().map(one).collect();
    (ways.len() > 1).then(|| format!("Arguments that go together: {}.", ways.join(" or ")))
}
