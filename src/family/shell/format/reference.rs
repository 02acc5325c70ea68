//! The reference of the format, as the Markdown table in `docs/shell-tools.md`.

use std::fmt::Write;

use super::{Shape, TOOL, Table};

/// Returns one row for each key, nested keys below their parents.
pub fn reference() -> String {
    let mut out = String::from("| key | value | meaning |\n| --- | --- | --- |\n");
    rows(&TOOL, "", &mut out);
    out
}

fn rows(table: &Table, prefix: &str, out: &mut String) {
    for key in table.keys {
        let name = format!("{prefix}{}", key.name);
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{name}` | {} | {} |", value(&key.shape), key.help);
        match key.shape {
            Shape::Table(table) => rows(table, &format!("{name}."), out),
            Shape::List(table) => rows(table, &format!("{name}[]."), out),
            Shape::Named(table) => rows(table, &format!("{name}.NAME."), out),
            _ => {}
        }
    }
}

fn value(shape: &Shape) -> String {
    let one_of = |words: &[&str]| {
        let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
        quoted.join(", ")
    };
    match shape {
        Shape::Text => "text".to_owned(),
        Shape::Flag => "`true`, `false`".to_owned(),
        Shape::Timeout | Shape::Delay => "milliseconds".to_owned(),
        Shape::Count | Shape::Whole => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Size => "size".to_owned(),
        Shape::Word(words) => one_of(words),
        Shape::Words(words) => format!("list of {}", one_of(words)),
        Shape::Texts => "list of texts".to_owned(),
        Shape::Any => "anything".to_owned(),
        Shape::Values => "list".to_owned(),
        Shape::TextMap => "name → text".to_owned(),
        Shape::ValueMap => "name → anything".to_owned(),
        Shape::Table(_) => "mapping".to_owned(),
        Shape::List(_) => "list of mappings".to_owned(),
        Shape::Named(_) => "name → mapping".to_owned(),
    }
}
