//! Type declarations of tools, from the JSON Schemas of their arguments and results: TypeScript for
//! the npm package, `TypedDict`s for Python.
//!
//! A declared type accepts every value that its schema accepts. Keywords that no type can express
//! (bounds, patterns, `not`, `if`) are left out. The output depends only on the tools.

mod observed;
mod python;
mod script;
mod shape;
mod typescript;

use std::collections::BTreeSet;

use crate::{Tool, visible};
pub use observed::{Observations, Observed};
pub use python::declarations as python;
pub use script::{
    ScriptTool, declarations as script, file as script_file, identifier as script_identifier,
};
pub use typescript::declarations as typescript;

/// Returns the tools sorted by name, each with the first part of the names of its types.
fn sorted<'a>(tools: &[&'a Tool], names: &mut TypeNames) -> Vec<(String, &'a Tool)> {
    let mut sorted = tools.to_vec();
    sorted.sort_by(|a, b| a.name.cmp(&b.name));
    let named = sorted.into_iter();
    named
        .map(|tool| (names.free(&capitalized(&tool.name)), tool))
        .collect()
}

/// The names of types that are taken.
#[derive(Default)]
struct TypeNames(BTreeSet<String>);

impl TypeNames {
    /// Returns `name`, with a number behind it if it is taken.
    fn free(&mut self, name: &str) -> String {
        let numbered = (2..).map(|number| format!("{name}{number}"));
        let mut names = std::iter::once(name.to_owned()).chain(numbered);
        let free = names.find(|name| !self.0.contains(name));
        let free = free.unwrap_or_default();
        self.0.insert(free.clone());
        free
    }
}

/// Converts any text to the name of a type: `git-log` to `GitLog`.
fn capitalized(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    let mut name = String::new();
    for word in words {
        let mut letters = word.chars();
        name.extend(letters.next().map(|first| first.to_ascii_uppercase()));
        name.push_str(letters.as_str());
    }
    if !name.starts_with(|c: char| c.is_ascii_alphabetic()) {
        name.insert_str(0, "Tool");
    }
    name
}

/// Returns true if the text is an ASCII identifier.
fn is_identifier(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Returns the lines of a description, without characters that hide or reorder text.
fn lines_of(description: &str) -> Vec<String> {
    let text = visible::prose(description.trim());
    let lines = text.lines().map(|line| line.trim_end().to_owned());
    lines.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{Family, Level, Source};

    /// The expected declarations, which `tests/it/types.rs` checks with the compilers.
    const TYPESCRIPT: &str = include_str!("types/expected.d.ts");
    const PYTHON: &str = include_str!("types/expected.py");

    fn tool(name: &str, description: &str, input: Value, output: Option<Value>) -> Tool {
        let source = Source {
            family: Family::Native,
            provider: "test".to_owned(),
            provider_name: "Test".to_owned(),
            level: Level::Host,
            path: "test".into(),
            plugin: None,
        };
        Tool {
            output_schema: output,
            ..Tool::new(name, description, input, source)
        }
    }

    fn tools() -> Vec<Tool> {
        let described = json!({
            "type": "object",
            "properties": {
                "n": {"type": "integer", "description": "How many.\nAt most 100."},
                "ratio": {"type": "number"},
                "all": {"type": "boolean"},
                "since": {"type": ["string", "null"]},
                "kind": {"enum": ["a", "b\"\\\u{202e}", 1, 1.5, -2, true, null]},
                "only": {"const": "x"},
                "class": {"type": "string", "description": "A word of Python"},
                "not-a-name": {"type": "string", "description": "*/ hostile \"\"\" \u{202e}"},
                "tags": {"type": "array", "items": {"type": ["string", "number"]}},
                "pair": {"type": "array", "prefixItems": [{"type": "number"}, {"type": "string"}],
                    "minItems": 1, "items": false},
                "old_pair": {"type": "array", "items": [{"type": "number"}],
                    "additionalItems": {"type": "string"}},
                "map": {"type": "object", "additionalProperties": {"type": "number"}},
                "nested": {"type": "object", "properties": {"deep": {"type": "object",
                    "properties": {"x": true}, "required": ["x"]}}, "additionalProperties": false},
                "later": {"type": "string", "nullable": true},
                "nothing": false,
                "fixed": {"const": {"a": [1, "b"]}},
            },
            "required": ["n", "not-a-name", "undeclared"],
            "additionalProperties": false,
        });
        let tree = json!({
            "type": "object",
            "properties": {
                "root": {"$ref": "#/$defs/node"},
                "same": {"$ref": "#/$defs/node"},
                "loop": {"$ref": "#/$defs/loop"},
                "lost": {"$ref": "https://example.com/x"},
                "self": {"$ref": "#"},
            },
            "$defs": {
                "node": {"description": "A node.", "type": "object",
                    "properties": {"children": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
                    "required": ["children"]},
                "loop": {"anyOf": [{"$ref": "#/$defs/loop"}, {"type": "string"}]},
            },
        });
        let unions = json!({
            "type": "object",
            "properties": {"base": {"type": "string"}},
            "required": ["base"],
            "oneOf": [
                {"properties": {"kind": {"const": "circle"}, "r": {"type": "number"}},
                    "required": ["kind", "r"]},
                {"properties": {"kind": {"const": "square"}, "side": {"type": "number"}},
                    "required": ["kind"]},
            ],
            "allOf": [{"$ref": "#/$defs/more"}, {"required": ["more"]}],
            "$defs": {"more": {"type": "object", "properties": {"more": {"type": "integer"}}}},
            "not": {"required": ["less"]},
            "if": {"required": ["x"]},
        });
        let rest = json!({
            "type": "object",
            "properties": {"a": {"type": "string"}},
            "patternProperties": {"^x-": {"type": "number"}},
            "additionalProperties": false,
        });
        let output = json!({"type": "array", "items": {"type": "object",
            "properties": {"sha": {"type": "string"}}, "required": ["sha"]}});
        vec![
            tool("unions", "", unions, None),
            tool(
                "git_log",
                "Reads the log. */\n\n  \"\"\" Second \\ line.",
                described,
                Some(output),
            ),
            tool("git-log", "", json!({"type": "object"}), Some(json!({}))),
            tool("1 \"odd\" name\u{202e}", "Odd", tree, None),
            tool("rest", "", rest, None),
            tool(
                "empty",
                "",
                json!({"type": "object", "additionalProperties": false}),
                None,
            ),
        ]
    }

    #[test]
    #[allow(
        clippy::disallowed_methods,
        reason = "a switch of the tests, not a setting"
    )]
    fn declarations_are_as_expected_whatever_the_order_of_the_tools() {
        let mut tools = tools();
        for _ in 0..2 {
            let all: Vec<&Tool> = tools.iter().collect();
            let (typescript, python) = (typescript(&all), python(&all));
            if std::env::var_os("HAFT_BLESS").is_some() {
                let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/src/types");
                std::fs::write(format!("{folder}/expected.d.ts"), &typescript).expect("written");
                std::fs::write(format!("{folder}/expected.py"), &python).expect("written");
            } else {
                assert_eq!(typescript, TYPESCRIPT);
                assert_eq!(python, PYTHON);
            }
            tools.reverse();
        }
    }

    #[test]
    fn no_tools_are_a_valid_file() {
        assert_eq!(
            typescript(&[]),
            "// Written by `haft types`: run it again when the tools change.\n\n\
             export {};\n\ndeclare module \"haft\" {\n  interface Tools {\n  }\n}\n"
        );
        assert!(python(&[]).lines().all(|line| line.starts_with('#')));
    }

    #[test]
    fn deep_schemas_end_in_unknown() {
        let mut schema = json!({"type": "string"});
        for _ in 0..50 {
            schema = json!({"type": "array", "items": schema});
        }
        let deep = tool(
            "deep",
            "",
            json!({"type": "object", "properties": {"x": schema}}),
            None,
        );
        assert!(typescript(&[&deep]).contains("Array<string>"));
        let mut schema = deep.input_schema;
        for _ in 0..100 {
            schema = json!({"type": "object", "properties": {"x": schema}});
        }
        let deeper = tool("deeper", "", schema, None);
        assert!(typescript(&[&deeper]).contains("x?: unknown;"));
        assert!(python(&[&deeper]).contains("x: Any"));
    }
}
