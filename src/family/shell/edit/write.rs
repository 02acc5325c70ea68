//! Writer of readable YAML: keys in the order of the reference, commands of several lines below a
//! `|`, quotes only where a value would be read as something else.

use super::super::definition::Datum;
use super::super::format::{Schema, Shape};
use super::super::yaml::Scalar;

/// Limit of the length of a list on one line, in characters.
const ONE_LINE: usize = 72;

/// Writes a whole file.
pub(crate) fn yaml(tool: &Datum) -> String {
    let mut text = String::new();
    match ordered(Schema::root(), tool) {
        Datum::List(items) if !items.is_empty() => list(&items, 0, &mut text),
        Datum::Object(entries) if !entries.is_empty() => object(&entries, 0, &mut text),
        other => text = format!("{}\n", flow(&other)),
    }
    text
}

/// Returns the same data with every mapping of known keys in the schema's order.
fn ordered(schema: Schema<'_>, value: &Datum) -> Datum {
    match (schema.shape(), value) {
        (Shape::List(item), Datum::List(items)) => {
            Datum::List(items.iter().map(|value| ordered(item, value)).collect())
        }
        (Shape::Mapping | Shape::Named(_), Datum::Object(entries)) => {
            let mut entries: Vec<(String, Datum)> = entries
                .iter()
                .map(|(key, value)| {
                    let below = schema.below(key);
                    let value = below.map_or_else(|| value.clone(), |own| ordered(own, value));
                    (key.clone(), value)
                })
                .collect();
            // Other keys stay at the end, in their own order.
            let place = |name: &str| schema.keys().position(|(key, _)| key == name);
            entries.sort_by_cached_key(|(name, _)| place(name).unwrap_or(usize::MAX));
            Datum::Object(entries)
        }
        (_, other) => other.clone(),
    }
}

fn object(entries: &[(String, Datum)], depth: usize, out: &mut String) {
    for (index, (key, value)) in entries.iter().enumerate() {
        // The first line of an item follows its dash.
        if index > 0 || !out.ends_with("- ") {
            indent(depth, out);
        }
        out.push_str(&scalar(key));
        out.push(':');
        below(value, depth, out);
    }
}

/// Writes the value that follows `key:`.
fn below(value: &Datum, depth: usize, out: &mut String) {
    match value {
        Datum::Object(entries) if !entries.is_empty() => {
            out.push('\n');
            object(entries, depth + 1, out);
        }
        Datum::List(items) if !items.is_empty() => match one_line(items) {
            Some(line) => out.push_str(&format!(" {line}\n")),
            None => {
                out.push('\n');
                list(items, depth + 1, out);
            }
        },
        Datum::Text(text) if is_block(text) => block(text, depth + 1, out),
        other => out.push_str(&format!(" {}\n", flow(other))),
    }
}

fn list(items: &[Datum], depth: usize, out: &mut String) {
    for item in items {
        indent(depth, out);
        out.push_str("- ");
        match item {
            Datum::Object(entries) if !entries.is_empty() => object(entries, depth + 1, out),
            Datum::Text(text) if is_block(text) => {
                out.pop();
                block(text, depth + 1, out);
            }
            other => out.push_str(&format!("{}\n", flow(other))),
        }
    }
}

fn indent(depth: usize, out: &mut String) {
    out.extend(std::iter::repeat_n("  ", depth));
}

/// Writes a short list of plain values as `[a, b]`.
fn one_line(items: &[Datum]) -> Option<String> {
    let is_short = items.iter().all(|item| match item {
        Datum::Text(text) => !text.contains(['\n', ' ']) || items.len() > 1 && !text.contains('\n'),
        Datum::List(_) | Datum::Object(_) => false,
        Datum::Null | Datum::Bool(_) | Datum::Number(_) => true,
    });
    let line = flow(&Datum::List(items.to_vec()));
    (is_short && line.len() <= ONE_LINE).then_some(line)
}

/// Writes any value on one line.
fn flow(value: &Datum) -> String {
    match value {
        Datum::Text(text) => scalar(text),
        Datum::List(items) => {
            let items: Vec<String> = items.iter().map(inside).collect();
            format!("[{}]", items.join(", "))
        }
        Datum::Object(entries) if entries.is_empty() => "{}".to_owned(),
        Datum::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| format!("{}: {}", quoted_inside(key), inside(value)));
            format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
        }
        other => other.to_json(),
    }
}

/// Writes a value between brackets, where commas and brackets end a plain text.
fn inside(value: &Datum) -> String {
    match value {
        Datum::Text(text) => quoted_inside(text),
        other => flow(other),
    }
}

fn quoted_inside(text: &str) -> String {
    if text.contains([',', '[', ']', '{', '}', ':']) {
        quoted(text)
    } else {
        scalar(text)
    }
}

/// Writes a text on one line, with quotes if it needs them.
fn scalar(text: &str) -> String {
    if is_plain(text) {
        text.to_owned()
    } else {
        quoted(text)
    }
}

fn quoted(text: &str) -> String {
    if text.chars().any(|c| c.is_control() || is_break(c)) {
        double_quoted(text)
    } else {
        format!("'{}'", text.replace('\'', "''"))
    }
}

fn double_quoted(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            c if c.is_control() || is_break(c) => out.push_str(&format!("\\u{:04X}", c as u32)),
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Returns true for line ends that only some readers know, and for the byte order mark.
fn is_break(c: char) -> bool {
    matches!(c, '\u{85}' | '\u{2028}' | '\u{2029}' | '\u{feff}')
}

/// Returns true if the text, written without quotes, is read as itself.
fn is_plain(text: &str) -> bool {
    let as_written = Scalar {
        text: text.to_owned(),
        is_plain: true,
    };
    let means_more = as_written.is_null()
        || as_written.as_bool().is_some()
        || as_written.as_number().is_some()
        // Other YAML readers take these for booleans and numbers.
        || matches!(
            text.to_ascii_lowercase().as_str(),
            "yes" | "no" | "on" | "off" | "y" | "n" | ".inf" | "-.inf" | ".nan"
        )
        // Dates, times, versions: readers differ in how they read these.
        || text.contains(|c: char| c.is_ascii_digit())
            && text.chars().all(|c| c.is_ascii_digit() || "+-.:_eExXoO".contains(c))
        || text.starts_with(['+', '.']);
    let starts_well = text.starts_with(|c: char| {
        c.is_alphanumeric() || matches!(c, '_' | '/' | '$' | '(' | '<' | '^' | '\\' | '~' | '.')
    });
    !means_more
        && starts_well
        && !text.ends_with([' ', ':'])
        && !text.contains(": ")
        && !text.contains(" #")
        && !text.chars().any(|c| c.is_control() || is_break(c))
}

/// Returns true if a text is best written below a `|`, where it needs no quotes at all.
fn is_block(text: &str) -> bool {
    let is_clean = |c: char| c == '\n' || c == '\t' || !c.is_control() && !is_break(c);
    text.trim_end_matches('\n').contains('\n') && text.chars().all(is_clean)
}

fn block(text: &str, depth: usize, out: &mut String) {
    out.push_str(" |");
    // Leading spaces of the first line would be read as indentation.
    let first = text.trim_start_matches('\n');
    if first.len() < text.len() || text.starts_with([' ', '\t']) || first.starts_with(' ') {
        out.push('2');
    }
    let body = text.trim_end_matches('\n');
    let ends = text.len() - body.len();
    out.push_str(match ends {
        0 => "-",
        1 => "",
        _ => "+",
    });
    out.push('\n');
    for line in body.split('\n') {
        if !line.is_empty() {
            indent(depth, out);
            out.push_str(line);
        }
        out.push('\n');
    }
    out.extend(std::iter::repeat_n('\n', ends.saturating_sub(1)));
}

/// Writes texts as `[a, b]`.
pub(super) fn one_line_of(texts: &[String]) -> String {
    let items = texts.iter().cloned().map(Datum::Text).collect();
    flow(&Datum::List(items))
}
