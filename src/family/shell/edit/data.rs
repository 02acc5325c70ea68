//! Data of a file as it is shown: typed by the schema, without the values of secrets.

use super::super::definition::{Datum, Number};
use super::super::format::{Schema, Shape};
use super::super::yaml::{Node, Value};

/// Converts a whole file to data. Each value has the type of its key: `version: 1.0` is the text
/// `1.0`, not a number.
pub(super) fn data(root: &Node) -> Datum {
    typed(Schema::root(), root)
}

fn typed(schema: Schema<'_>, node: &Node) -> Datum {
    if node.is_null() {
        return Datum::Null;
    }
    let text = || node.text().map(|text| Datum::Text(text.to_owned()));
    let found = match (schema.shape(), &node.value) {
        (Shape::Text | Shape::Pattern | Shape::Word(_) | Shape::Size, _) => text(),
        (Shape::Flag, _) => node.flag().map(Datum::Bool),
        (Shape::Whole(..) | Shape::Millis(..) | Shape::Number, _) => {
            node.text().and_then(Number::parse).map(Datum::Number)
        }
        (Shape::List(item), Value::List(items)) => Some(Datum::List(
            items.iter().map(|node| typed(item, node)).collect(),
        )),
        (Shape::List(item), Value::Scalar(_)) if item.is_scalar() => text(),
        (Shape::Mapping | Shape::Named(_), Value::Map(entries)) => {
            let typed = entries.iter().map(|entry| {
                let value = match schema.below(&entry.key) {
                    Some(schema) => typed(schema, &entry.value),
                    None => entry.value.to_datum(),
                };
                (entry.key.clone(), value)
            });
            Some(Datum::Object(typed.collect()))
        }
        _ => None,
    };
    found.unwrap_or_else(|| node.to_datum())
}

/// A key of the format, for those who build a definition.
#[derive(Clone, Copy)]
pub(crate) struct Key(Schema<'static>);

impl Key {
    /// Returns the key at this path, whose names are separated by dots.
    pub(crate) fn at(path: &str) -> Key {
        let mut names = path.split('.');
        let found = names.try_fold(Schema::root(), |schema, name| schema.item().key(name));
        Key(found.unwrap_or(Schema::of(None)))
    }

    pub(crate) fn is_flag(self) -> bool {
        matches!(self.0.shape(), Shape::Flag)
    }

    pub(crate) fn is_list(self) -> bool {
        matches!(self.0.shape(), Shape::List(_))
    }

    /// Returns the kind of its values, for messages.
    pub(crate) fn wanted(self) -> &'static str {
        match self.0.shape() {
            Shape::Flag => "true or false",
            Shape::Whole(..) | Shape::Millis(..) => "a whole number",
            Shape::Number => "a number",
            _ => "a value",
        }
    }

    /// Converts a text to its type; `None` if it is not of that type. The parser of the format
    /// checks everything else.
    pub(crate) fn value(self, text: &str) -> Option<Datum> {
        let number = Number::parse(text);
        match self.0.shape() {
            Shape::Flag => text.parse().ok().map(Datum::Bool),
            Shape::Whole(..) | Shape::Millis(..) => {
                number.filter(Number::is_integer).map(Datum::Number)
            }
            Shape::Number => number.map(Datum::Number),
            _ => Some(Datum::Text(text.to_owned())),
        }
    }
}

/// Takes the values of secrets out of the data of a whole file (spec cycod 177) and returns their
/// names. A variable's value becomes a reference to the variable of that name in the host's
/// environment, so that an exported file works for every user who has the secret. A parameter loses
/// its default.
pub(super) fn mask(root: &mut Datum) -> Vec<String> {
    let mut masked = Vec::new();
    let secrets = secrets(root);
    environment(root, &secrets, &mut masked);
    if let Some(Datum::Object(parameters)) = get(root, "parameters") {
        for (name, parameter) in parameters {
            let Datum::Object(keys) = parameter else {
                continue;
            };
            let had = keys.len();
            if secrets.contains(name) {
                keys.retain(|(key, _)| key != "default" && key != "examples");
            }
            if keys.len() < had {
                masked.push(name.clone());
            }
        }
    }
    if let Some(Datum::List(steps)) = get(root, "steps") {
        for step in steps {
            let mut all = secrets.clone();
            all.extend(self::secrets(step));
            environment(step, &all, &mut masked);
        }
    }
    masked
}

fn environment(node: &mut Datum, secrets: &[String], masked: &mut Vec<String>) {
    let variables = get(node, "environment").and_then(|own| get(own, "variables"));
    let Some(Datum::Object(variables)) = variables else {
        return;
    };
    for (name, value) in variables {
        let is_reference = matches!(value, Datum::Text(text) if is_reference(text));
        if secrets.contains(name) && !is_reference && *value != Datum::Null {
            *value = Datum::Text(format!("{{{name}}}"));
            masked.push(name.clone());
        }
    }
}

/// Returns true if the text is only a reference, which holds no secret itself.
fn is_reference(text: &str) -> bool {
    let inner = text
        .strip_prefix('{')
        .and_then(|rest| rest.strip_suffix('}'));
    inner.is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'))
}

fn secrets(node: &Datum) -> Vec<String> {
    let find = |node: &Datum, key: &str| match node {
        Datum::Object(entries) => entries
            .iter()
            .find(|(own, _)| own == key)
            .map(|(_, value)| value.clone()),
        _ => None,
    };
    let named = find(node, "environment").and_then(|own| find(&own, "secrets"));
    match named {
        Some(Datum::Text(name)) => vec![name],
        Some(Datum::List(names)) => names
            .into_iter()
            .filter_map(|name| match name {
                Datum::Text(name) => Some(name),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

fn get<'a>(node: &'a mut Datum, key: &str) -> Option<&'a mut Datum> {
    let Datum::Object(entries) = node else {
        return None;
    };
    let entry = entries.iter_mut().find(|(own, _)| own == key)?;
    Some(&mut entry.1)
}

/// Returns indented JSON that keeps every number as it is.
pub(crate) fn pretty(value: &Datum) -> String {
    let mut text = String::new();
    write(value, 0, &mut text);
    text.push('\n');
    text
}

fn write(value: &Datum, depth: usize, out: &mut String) {
    let line = |depth: usize, out: &mut String| {
        out.push('\n');
        out.extend(std::iter::repeat_n("  ", depth));
    };
    match value {
        Datum::List(items) if !items.is_empty() => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(depth + 1, out);
                write(item, depth + 1, out);
            }
            line(depth, out);
            out.push(']');
        }
        Datum::Object(entries) if !entries.is_empty() => {
            out.push('{');
            for (index, (key, value)) in entries.iter().enumerate() {
                out.push_str(if index > 0 { "," } else { "" });
                line(depth + 1, out);
                out.push_str(&Datum::Text(key.clone()).to_json());
                out.push_str(": ");
                write(value, depth + 1, out);
            }
            line(depth, out);
            out.push('}');
        }
        other => out.push_str(&other.to_json()),
    }
}
