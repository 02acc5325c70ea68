//! Conversion of a file's tree to data, each value of the type in the table of keys: `version: 1.0`
//! is the text `1.0`, not a number.

use super::super::definition::{Datum, Number};
use super::super::format::{Shape, TOOL, Table};
use super::super::yaml::{Node, Value};

/// Converts a whole file to data.
pub(super) fn data(root: &Node) -> Datum {
    table(&TOOL, root)
}

fn table(table: &Table, node: &Node) -> Datum {
    let Value::Map(entries) = &node.value else {
        return node.to_datum();
    };
    let typed = entries.iter().map(|entry| {
        let known = table.keys.iter().find(|key| key.name == entry.key);
        let value = match known {
            Some(key) => typed(&key.shape, &entry.value),
            None => entry.value.to_datum(),
        };
        (entry.key.clone(), value)
    });
    Datum::Object(typed.collect())
}

fn typed(shape: &Shape, node: &Node) -> Datum {
    if node.is_null() {
        return Datum::Null;
    }
    let text = || node.text().map(|text| Datum::Text(text.to_owned()));
    let found = match shape {
        Shape::Text | Shape::Word(_) | Shape::Size => text(),
        Shape::Flag => node.flag().map(Datum::Bool),
        Shape::Timeout | Shape::Delay | Shape::Count | Shape::Whole | Shape::Number => {
            node.text().and_then(Number::parse).map(Datum::Number)
        }
        Shape::Texts | Shape::Words(_) => match &node.value {
            Value::List(items) => Some(Datum::List(
                items.iter().map(|item| typed(&Shape::Text, item)).collect(),
            )),
            _ => text(),
        },
        Shape::TextMap => named(node, |value| typed(&Shape::Text, value)),
        Shape::Table(keys) => Some(table(keys, node)),
        Shape::Named(keys) => named(node, |value| table(keys, value)),
        Shape::List(keys) => match &node.value {
            Value::List(items) => Some(Datum::List(
                items.iter().map(|item| table(keys, item)).collect(),
            )),
            _ => None,
        },
        Shape::Any | Shape::Values | Shape::ValueMap => None,
    };
    found.unwrap_or_else(|| node.to_datum())
}

fn named(node: &Node, value: impl Fn(&Node) -> Datum) -> Option<Datum> {
    let Value::Map(entries) = &node.value else {
        return None;
    };
    let typed = entries
        .iter()
        .map(|entry| (entry.key.clone(), value(&entry.value)));
    Some(Datum::Object(typed.collect()))
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
