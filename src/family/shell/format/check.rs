//! Check of a tree by the table: unknown keys, and values of the wrong shape.

use super::{Shape, Table};
use crate::family::shell::report::Report;
use crate::family::shell::yaml::{Entry, Node, Value};
use haft_tool::suggest;

/// Reports everything in `node` that the table does not allow. Unknown keys are warnings: the
/// tool works without them.
pub(crate) fn check(table: &Table, node: &Node, report: &mut Report) {
    let Value::Map(entries) = &node.value else {
        return report.error(
            node.place,
            format!("{} must be a mapping, not {}", table.what, node.kind()),
            "write `key: value` lines",
        );
    };
    for entry in entries {
        match table.keys.iter().find(|key| key.name == entry.key) {
            Some(key) if entry.value.is_null() && !matches!(key.shape, Shape::Any) => {}
            Some(key) => value(&key.shape, entry, &entry.value, report),
            None => unknown(table, entry, report),
        }
    }
}

fn unknown(table: &Table, entry: &Entry, report: &mut Report) {
    let hint = match suggest(&entry.key, table.keys.iter().map(|key| key.name)) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("{} has no such key; remove it", table.what),
    };
    let text = format!("unknown key `{}` is ignored", entry.key);
    report.warning(entry.place, text, hint);
}

fn value(shape: &Shape, entry: &Entry, node: &Node, report: &mut Report) {
    let wanted = match shape {
        Shape::Any => return,
        Shape::Table(table) => return check(table, node, report),
        Shape::List(table) => match &node.value {
            Value::List(items) => {
                return items.iter().for_each(|item| check(table, item, report));
            }
            _ => "a list of mappings",
        },
        Shape::Named(table) => match &node.value {
            Value::Map(entries) => {
                let named = entries.iter().map(|entry| &entry.value);
                return named.for_each(|node| check(table, node, report));
            }
            _ => "a mapping of names",
        },
        Shape::TextMap => match &node.value {
            Value::Map(entries) => {
                for entry in entries {
                    value(&Shape::Text, entry, &entry.value, report);
                }
                return;
            }
            _ => "a mapping of names to texts",
        },
        Shape::ValueMap if matches!(node.value, Value::Map(_)) => return,
        Shape::ValueMap => "a mapping of names to values",
        Shape::Values if matches!(node.value, Value::List(_)) => return,
        Shape::Values => "a list",
        Shape::Texts | Shape::Words(_) => match &node.value {
            Value::List(items) if items.iter().all(|item| item.text().is_some()) => return,
            Value::Scalar(_) => return,
            _ => "a list of texts",
        },
        Shape::Text => match &node.value {
            Value::Scalar(_) => return,
            _ => "text",
        },
        // `read` reports an unknown word with the words that are allowed, so only the type is
        // checked here.
        Shape::Word(_) => match &node.value {
            Value::Scalar(_) => return,
            _ => "one word",
        },
        Shape::Flag => match node.flag() {
            Some(_) => return,
            None => "`true` or `false`",
        },
        Shape::Timeout => match node.whole() {
            Some(1..) => return,
            _ => "a whole number of milliseconds above 0",
        },
        Shape::Delay => match node.whole() {
            Some(0..) => return,
            _ => "a whole number of milliseconds",
        },
        Shape::Count => match node.whole() {
            Some(0..=MAX_COUNT) => return,
            _ => "a whole number from 0",
        },
        Shape::Whole => match node.whole() {
            Some(_) => return,
            None => "a whole number",
        },
        Shape::Number => match node.number() {
            Some(_) => return,
            None => "a number",
        },
        Shape::Size => match node.size() {
            Some(_) => return,
            None => "a size such as `512MB`",
        },
    };
    let is = match node.text() {
        Some(text) => format!("`{text}`"),
        None => node.kind().to_owned(),
    };
    report.error(
        node.place,
        format!("`{}` must be {wanted}, not {is}", entry.key),
        hint(shape),
    );
}

/// Limit that no real count reaches.
const MAX_COUNT: i64 = u32::MAX as i64;

fn hint(shape: &Shape) -> &'static str {
    match shape {
        Shape::Size => "units are B, KB, MB and GB",
        Shape::Texts | Shape::Words(_) | Shape::Values => "write it as `[a, b]`",
        Shape::Text => "quote it, or write it below a `|`",
        Shape::Flag => "write `true` or `false`, without quotes",
        Shape::Timeout | Shape::Delay => "one second is 1000",
        _ => "correct the value",
    }
}
