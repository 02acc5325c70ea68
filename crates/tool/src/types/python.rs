//! Python declarations: a `TypedDict` for the arguments of each tool, and for its structured result.
//!
//! They need Python 3.10 and no package. A class with required and optional keys therefore has a
//! base class for the former. A `TypedDict` cannot declare keys without names: such keys are left
//! out if there are others.

use std::fmt::Write;

use serde_json::Value;

use super::shape::{Definition, Fields, Property, Rest, Shape, describe, union};
use super::{TypeNames, capitalized, is_identifier, lines_of, sorted};
use crate::{Tool, visible};

/// Names that the module imports.
const IMPORTS: [&str; 5] = ["Any", "Literal", "NoReturn", "TypeAlias", "TypedDict"];

/// Limit of the alternatives of an `allOf` with unions, and of its references. Beyond it the type
/// is `Any`.
const MAX_ALTERNATIVES: usize = 64;

/// Words that cannot be the name of a field.
const KEYWORDS: [&str; 35] = [
    "False", "None", "True", "and", "as", "assert", "async", "await", "break", "class", "continue",
    "def", "del", "elif", "else", "except", "finally", "for", "from", "global", "if", "import",
    "in", "is", "lambda", "nonlocal", "not", "or", "pass", "raise", "return", "try", "while",
    "with", "yield",
];

/// Returns a module with the types of `tools`.
pub fn declarations(tools: &[&Tool]) -> String {
    let mut writer = Writer::default();
    writer.names.0.extend(IMPORTS.map(str::to_owned));
    let mut index = String::new();
    for (base, tool) in sorted(tools, &mut TypeNames::default()) {
        let input = writer.schema(
            &tool.input_schema,
            &format!("{base}Input"),
            &tool.description,
        );
        let output = match &tool.output_schema {
            Some(schema) => writer.schema(schema, &format!("{base}Output"), ""),
            None => "Any".to_owned(),
        };
        let name = visible::name(&tool.name);
        let _ = writeln!(index, "#   {name}: {input} -> {output}");
    }
    let uses = |name: &&str| writer.classes.contains(*name);
    let imports: Vec<&str> = IMPORTS.into_iter().filter(uses).collect();
    let mut module = "# Written by `haft types --python`: run it again when the tools change.\n\
        #\n# The tools, with the types of their arguments and structured results:\n"
        .to_owned();
    module.push_str(&index);
    if !imports.is_empty() {
        let imports = imports.join(", ");
        let _ = write!(
            module,
            "\nfrom __future__ import annotations\n\nfrom typing import {imports}\n"
        );
    }
    module + &writer.classes
}

#[derive(Default)]
struct Writer {
    names: TypeNames,
    /// The declarations so far. Each one follows those that it inherits from.
    classes: String,
}

/// The definitions of a schema, with the names of their types.
struct Definitions<'a> {
    definitions: &'a [Definition],
    names: Vec<String>,
}

impl Writer {
    /// Adds the types of a schema and returns the type of its values.
    fn schema(&mut self, schema: &Value, base: &str, description: &str) -> String {
        let described = describe(schema);
        let name = self.names.free(base);
        let names = described.definitions.iter().map(|definition| {
            let title = capitalized(&definition.title);
            let title = title.strip_prefix("Tool").unwrap_or(&title);
            self.names.free(&format!("{base}{title}Type"))
        });
        let definitions = Definitions {
            names: names.collect(),
            definitions: &described.definitions,
        };
        for (index, definition) in described.definitions.iter().enumerate() {
            let name = definitions.names[index].clone();
            self.declare(
                &definition.shape,
                name,
                &definition.description,
                &definitions,
            );
        }
        self.declare(&described.shape, name, description, &definitions)
    }

    /// Declares a type under exactly this name, and returns the name.
    fn declare(
        &mut self,
        shape: &Shape,
        name: String,
        description: &str,
        definitions: &Definitions<'_>,
    ) -> String {
        let shape = definitions.merged(shape);
        if let Shape::Object(fields) = &shape
            && is_class(fields)
        {
            self.class(fields, &name, description, definitions);
        } else {
            let text = self.written(&shape, &name, definitions);
            let alias = string(&text);
            let comment = comment(description, "");
            let _ = write!(self.classes, "\n{comment}{name}: TypeAlias = {alias}\n");
        }
        name
    }

    /// Returns the type as an expression. `name` is the name for classes inside it.
    fn written(&mut self, shape: &Shape, name: &str, definitions: &Definitions<'_>) -> String {
        match shape {
            Shape::Unknown => "Any".to_owned(),
            Shape::Never => "NoReturn".to_owned(),
            Shape::Null => "None".to_owned(),
            Shape::Boolean => "bool".to_owned(),
            Shape::Integer => "int".to_owned(),
            Shape::Number => "float".to_owned(),
            Shape::String => "str".to_owned(),
            Shape::Literal(Value::String(text)) => format!("Literal[{}]", string(text)),
            Shape::Literal(Value::Bool(true)) => "Literal[True]".to_owned(),
            Shape::Literal(Value::Bool(false)) => "Literal[False]".to_owned(),
            Shape::Literal(Value::Number(number)) if number.is_f64() => "float".to_owned(),
            Shape::Literal(value) => format!("Literal[{value}]"),
            Shape::Array(item) => {
                let item = self.written(item, &format!("{name}Item"), definitions);
                format!("list[{item}]")
            }
            Shape::Tuple { items, rest, .. } => {
                // JSON has only lists.
                let rest = rest.as_deref().cloned();
                let items = union(items.iter().cloned().chain(rest).collect());
                let item = self.written(&items, &format!("{name}Item"), definitions);
                format!("list[{item}]")
            }
            Shape::Object(fields) if is_class(fields) => {
                let name = self.names.free(name);
                self.class(fields, &name, "", definitions);
                name
            }
            Shape::Object(fields) => {
                let value = match &fields.rest {
                    Rest::Typed(shape) => self.written(shape, &format!("{name}Value"), definitions),
                    Rest::Unspecified | Rest::Closed => "Any".to_owned(),
                };
                format!("dict[str, {value}]")
            }
            Shape::Union(parts) => {
                let mut texts: Vec<String> = Vec::new();
                for part in parts {
                    let text = self.written(part, name, definitions);
                    if !texts.contains(&text) {
                        texts.push(text);
                    }
                }
                texts.join(" | ")
            }
            Shape::All(_) => match definitions.merged(shape) {
                // Not of objects alone.
                Shape::All(_) => "Any".to_owned(),
                merged => self.written(&merged, name, definitions),
            },
            Shape::Named(index) => definitions.names[*index].clone(),
        }
    }

    fn class(
        &mut self,
        fields: &Fields,
        name: &str,
        description: &str,
        definitions: &Definitions<'_>,
    ) {
        let mut written = |is_required: bool| -> Vec<(&Property, String)> {
            let of_kind = fields.properties.iter();
            let of_kind = of_kind.filter(|property| property.is_required == is_required);
            of_kind
                .map(|property| {
                    let inner = format!("{name}{}", capitalized(&property.name));
                    (property, self.written(&property.shape, &inner, definitions))
                })
                .collect()
        };
        let (required, optional) = (written(true), written(false));
        let is_plain = |(property, _): &(&Property, String)| {
            is_identifier(&property.name)
                && !property.name.starts_with("__")
                && !KEYWORDS.contains(&property.name.as_str())
        };
        let is_plain = required.iter().chain(&optional).all(is_plain);
        let base = match (required.is_empty(), optional.is_empty()) {
            (false, false) => {
                let base = self.names.free(&format!("{name}Required"));
                self.part(&base, "TypedDict", true, &required, "", is_plain);
                base
            }
            _ => "TypedDict".to_owned(),
        };
        let (fields, is_total) = if optional.is_empty() {
            (&required, true)
        } else {
            (&optional, false)
        };
        if is_plain {
            self.part(name, &base, is_total, fields, description, true);
        } else if base == "TypedDict" {
            self.part(name, &base, is_total, fields, description, false);
        } else {
            let optional = self.names.free(&format!("{name}Optional"));
            self.part(&optional, "TypedDict", false, fields, "", false);
            let doc = docstring(description).unwrap_or_else(|| "    pass\n".to_owned());
            let _ = write!(self.classes, "\nclass {name}({base}, {optional}):\n{doc}");
        }
    }

    /// Adds one class. With `is_plain` the names of all fields are identifiers.
    fn part(
        &mut self,
        name: &str,
        base: &str,
        is_total: bool,
        fields: &[(&Property, String)],
        description: &str,
        is_plain: bool,
    ) {
        let total = if is_total { "" } else { ", total=False" };
        let out = &mut self.classes;
        if is_plain {
            let doc = docstring(description);
            let _ = write!(out, "\nclass {name}({base}{total}):\n");
            let is_empty = doc.is_none() && fields.is_empty();
            out.push_str(&doc.unwrap_or_default());
            for (property, shape) in fields {
                out.push_str(&comment(&property.description, "    "));
                let _ = writeln!(out, "    {}: {shape}", property.name);
            }
            if is_empty {
                out.push_str("    pass\n");
            }
            return;
        }
        let comment_of_class = comment(description, "");
        let _ = write!(
            out,
            "\n{comment_of_class}{name} = TypedDict(\n    \"{name}\",\n    {{\n"
        );
        for (property, shape) in fields {
            out.push_str(&comment(&property.description, "        "));
            let (key, shape) = (string(&property.name), string(shape));
            let _ = writeln!(out, "        {key}: {shape},");
        }
        out.push_str("    },\n");
        if !is_total {
            out.push_str("    total=False,\n");
        }
        out.push_str(")\n");
    }
}

impl Definitions<'_> {
    /// Returns the type with intersections of objects as one object or a union of some.
    fn merged(&self, shape: &Shape) -> Shape {
        let Shape::All(parts) = shape else {
            return shape.clone();
        };
        if let Some(alternatives) = self.alternatives(shape, 0) {
            return union(alternatives.into_iter().map(Shape::Object).collect());
        }
        // Of several scalars the narrowest one.
        let is_literal = |part: &&Shape| match part {
            Shape::Literal(_) => true,
            Shape::Union(parts) => parts.iter().all(|part| matches!(part, Shape::Literal(_))),
            _ => false,
        };
        parts
            .iter()
            .find(is_literal)
            .cloned()
            .unwrap_or_else(|| shape.clone())
    }

    /// Returns the objects of which a value is one; `None` if there are other values.
    fn alternatives(&self, shape: &Shape, depth: usize) -> Option<Vec<Fields>> {
        if depth > MAX_ALTERNATIVES {
            return None;
        }
        let of = |shape: &Shape| self.alternatives(shape, depth + 1);
        match shape {
            Shape::Object(fields) => Some(vec![fields.clone()]),
            Shape::Named(index) => of(&self.definitions[*index].shape),
            Shape::Union(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(of(part)?);
                }
                (all.len() <= MAX_ALTERNATIVES).then_some(all)
            }
            Shape::All(parts) => {
                let mut all = vec![Fields::default()];
                for part in parts {
                    let with = of(part)?;
                    if all.len() * with.len() > MAX_ALTERNATIVES {
                        return None;
                    }
                    let pairs = all
                        .iter()
                        .flat_map(|one| with.iter().map(|two| both(one, two)));
                    all = pairs.collect();
                }
                Some(all)
            }
            _ => None,
        }
    }
}

/// Returns the fields of an object that has both types.
fn both(one: &Fields, two: &Fields) -> Fields {
    let mut fields = one.clone();
    for property in &two.properties {
        let known = fields
            .properties
            .iter_mut()
            .find(|known| known.name == property.name);
        let Some(known) = known else {
            fields.properties.push(property.clone());
            continue;
        };
        known.is_required |= property.is_required;
        if known.shape == Shape::Unknown {
            known.shape = property.shape.clone();
        }
        if known.description.is_empty() {
            known.description.clone_from(&property.description);
        }
    }
    if fields.properties.is_empty() && fields.rest == Rest::Unspecified {
        fields.rest = two.rest.clone();
    }
    fields
}

/// Returns true for objects with declared keys, and for those without any key.
fn is_class(fields: &Fields) -> bool {
    !fields.properties.is_empty() || fields.rest == Rest::Closed
}

/// Returns the lines of a comment; empty for an empty description.
fn comment(description: &str, margin: &str) -> String {
    let lines = lines_of(description);
    let lines = lines
        .iter()
        .map(|line| format!("{margin}# {line}").trim_end().to_owned() + "\n");
    lines.collect()
}

/// Returns the documentation string of a class; `None` for an empty description.
fn docstring(description: &str) -> Option<String> {
    let lines = lines_of(description);
    let text = lines
        .join("\n    ")
        .replace("\n    \n", "\n\n")
        .replace('\\', "\\\\")
        .replace('"', "\\\"");
    let is_one = lines.len() == 1;
    let end = if is_one { "" } else { "\n    " };
    (!text.is_empty()).then(|| format!("    \"\"\"{text}{end}\"\"\"\n\n"))
}

/// Returns a string literal.
fn string(text: &str) -> String {
    let mut literal = "\"".to_owned();
    for c in text.chars() {
        match c {
            '"' | '\\' => literal.extend(['\\', c]),
            c if visible::is_harmful(c) => {
                let _ = write!(literal, "\\U{:08x}", u32::from(c));
            }
            c => literal.push(c),
        }
    }
    literal.push('"');
    literal
}
