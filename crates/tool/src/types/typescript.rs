//! TypeScript declarations: the interface `Tools` of the npm package `haft`, which maps the name of
//! each tool to the types of its arguments and its result.

use std::fmt::Write;

use serde_json::Value;

use super::shape::{Definition, Fields, Rest, Shape, describe, union};
use super::{TypeNames, capitalized, is_identifier, lines_of, sorted};
use crate::{Tool, visible};

const HEADER: &str = "\
// Written by `haft types`: run it again when the tools change.

export {};
";

/// Returns a declaration file for `tools`.
pub fn declarations(tools: &[&Tool]) -> String {
    let mut names = TypeNames::default();
    let mut file = HEADER.to_owned();
    let mut members = String::new();
    for (base, tool) in sorted(tools, &mut names) {
        let mut writer = Writer {
            names: &mut names,
            aliases: &mut file,
        };
        let input = writer.schema(&tool.input_schema, &base, 3);
        let output = match &tool.output_schema {
            Some(schema) => writer.schema(schema, &format!("{base}Output"), 3),
            None => "unknown".to_owned(),
        };
        members.push_str(&comment(&tool.description, 2));
        let name = string(&tool.name);
        let _ = writeln!(
            members,
            "    {name}: {{\n      input: {input};\n      output: {output};\n    }};"
        );
    }
    let _ = write!(
        file,
        "\ndeclare module \"haft\" {{\n  interface Tools {{\n{members}  }}\n}}\n"
    );
    file
}

pub(super) struct Writer<'a> {
    pub(super) names: &'a mut TypeNames,
    /// The file, to which the definitions of schemas are added.
    pub(super) aliases: &'a mut String,
}

impl Writer<'_> {
    /// Returns the type of `schema`, and adds its definitions to the file.
    pub(super) fn schema(&mut self, schema: &Value, base: &str, depth: usize) -> String {
        let described = describe(schema);
        let aliases: Vec<String> = described
            .definitions
            .iter()
            .map(|definition| {
                let title = capitalized(&definition.title);
                let title = title.strip_prefix("Tool").unwrap_or(&title);
                self.names.free(&format!("{base}{title}Type"))
            })
            .collect();
        for (
            Definition {
                description, shape, ..
            },
            alias,
        ) in described.definitions.iter().zip(&aliases)
        {
            let shape = written(shape, &aliases, 0);
            let _ = write!(
                self.aliases,
                "\n{}type {alias} = {shape};\n",
                comment(description, 0)
            );
        }
        written(&described.shape, &aliases, depth)
    }
}

/// Returns the text of a type; `depth` is the indentation of its line.
fn written(shape: &Shape, aliases: &[String], depth: usize) -> String {
    let inner = |shape: &Shape| written(shape, aliases, depth);
    match shape {
        Shape::Unknown => "unknown".to_owned(),
        Shape::Never => "never".to_owned(),
        Shape::Null => "null".to_owned(),
        Shape::Boolean => "boolean".to_owned(),
        Shape::Integer | Shape::Number => "number".to_owned(),
        Shape::String => "string".to_owned(),
        Shape::Literal(Value::String(text)) => string(text),
        Shape::Literal(value) => value.to_string(),
        Shape::Array(item) => format!("Array<{}>", inner(item)),
        Shape::Tuple {
            items,
            required,
            rest,
        } => {
            let items = items.iter().enumerate();
            let mut parts: Vec<String> = items
                .map(|(index, item)| {
                    if index < *required {
                        inner(item)
                    } else {
                        format!("({})?", inner(item))
                    }
                })
                .collect();
            parts.extend(rest.iter().map(|rest| format!("...Array<{}>", inner(rest))));
            format!("[{}]", parts.join(", "))
        }
        Shape::Object(fields) => object(fields, aliases, depth),
        Shape::Union(parts) => {
            let parts: Vec<String> = parts.iter().map(inner).collect();
            parts.join(" | ")
        }
        Shape::All(parts) => {
            let parts = parts.iter().map(|part| match part {
                Shape::Union(_) => format!("({})", inner(part)),
                _ => inner(part),
            });
            parts.collect::<Vec<_>>().join(" & ")
        }
        Shape::Named(index) => aliases[*index].clone(),
    }
}

fn object(fields: &Fields, aliases: &[String], depth: usize) -> String {
    if fields.properties.is_empty() {
        let value = match &fields.rest {
            Rest::Unspecified => "unknown".to_owned(),
            Rest::Closed => "never".to_owned(),
            Rest::Typed(shape) => written(shape, aliases, depth),
        };
        return format!("Record<string, {value}>");
    }
    let margin = "  ".repeat(depth + 1);
    let mut text = "{\n".to_owned();
    for property in &fields.properties {
        text.push_str(&comment(&property.description, depth + 1));
        let name = if is_identifier(&property.name) {
            property.name.clone()
        } else {
            string(&property.name)
        };
        let mark = if property.is_required { "" } else { "?" };
        let shape = written(&property.shape, aliases, depth + 1);
        let _ = writeln!(text, "{margin}{name}{mark}: {shape};");
    }
    if let Rest::Typed(rest) = &fields.rest {
        // TypeScript wants an index signature to include the declared properties.
        let declared = fields.properties.iter();
        let mut all = vec![(**rest).clone()];
        all.extend(declared.map(|property| property.shape.clone()));
        let all = written(&union(all), aliases, depth + 1);
        let _ = if fields.properties.iter().all(|one| one.is_required) {
            writeln!(text, "{margin}[name: string]: {all};")
        } else {
            writeln!(text, "{margin}[name: string]: {all} | undefined;")
        };
    }
    text.push_str(&"  ".repeat(depth));
    text.push('}');
    text
}

/// Returns a documentation comment on lines of its own; empty for an empty description.
pub(super) fn comment(description: &str, depth: usize) -> String {
    let margin = "  ".repeat(depth);
    let lines = lines_of(description);
    let mut lines = lines.iter().map(|line| line.replace("*/", "*\\/"));
    let text = match (lines.next(), lines.len()) {
        (None, _) => return String::new(),
        (Some(line), 0) => return format!("{margin}/** {line} */\n"),
        (Some(first), _) => std::iter::once(first).chain(lines),
    };
    let text: String = text
        .map(|line| format!("{margin} * {line}").trim_end().to_owned() + "\n")
        .collect();
    format!("{margin}/**\n{text}{margin} */\n")
}

/// Returns a string literal.
pub(super) fn string(text: &str) -> String {
    let mut literal = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            c if visible::is_harmful(c) => {
                let _ = write!(literal, "\\u{{{:x}}}", u32::from(c));
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
