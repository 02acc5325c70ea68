//! Declarations of the tools for scripts of code mode: the global `tools`, with one function for each
//! tool.
//!
//! A result has the type that the tool declares. Without one, it has the type that was observed in
//! recorded results, and says so. Without either, it is what any tool may give.

use std::fmt::Write;

use serde_json::Value;

use super::typescript::{Writer, comment, string};
use super::{Observed, TypeNames, capitalized, is_identifier};
use crate::Tool;

/// Type of the result of a tool that declares none.
const ANY_RESULT: &str = "ToolResult";

/// Declarations of all globals besides the tools.
const GLOBALS: &str = "\
/** Result of a tool without a declared type: its text, or all parts if there is more than text. */
type ToolResult = string | {
  text: string;
  images: Array<{ data: string; mimeType: string }>;
  details: unknown;
};

/** A tool. A call that fails throws a `ToolError`. */
interface ToolFunction<Call extends (...given: never[]) => unknown> {
  (...given: Parameters<Call>): ReturnType<Call>;
  /** Returns the whole result, also that of a failure, as MCP has it. */
  raw(...given: Parameters<Call>): Promise<{
    content: Array<Record<string, unknown>>;
    structuredContent?: unknown;
    isError: boolean;
  }>;
}

/** Failure of a tool. */
declare class ToolError extends Error {
  /** The name of the tool. */
  readonly tool: string;
  /** The blocks of the result. */
  readonly content: Array<Record<string, unknown>>;
}

/** The arguments that the script was started with. */
declare const args: Record<string, any>;
/** Adds a value to the result, as text. */
declare function text(value: unknown): void;
/** Adds an image to the result; the data is in base64, or a `data:` URL. */
declare function image(image: { data: string; mimeType: string } | string, mimeType?: string): void;
";

/// A tool of a script.
#[derive(Clone, Copy)]
pub struct ScriptTool<'a> {
    /// The name of the function.
    pub name: &'a str,
    /// The tool.
    pub tool: &'a Tool,
    /// The type of its results, if one was observed.
    pub observed: Option<&'a Observed>,
}

/// Returns the name as a JavaScript identifier: `the-name` becomes `the_name`. Property names may be
/// reserved words.
pub fn identifier(name: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' {
            c
        } else {
            '_'
        }
    };
    let mut identifier: String = name.chars().map(plain).collect();
    if !identifier.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        identifier.insert(0, '_');
    }
    identifier
}

/// Returns the declarations of the functions as models read them, and the types that they use.
pub fn declarations(tools: &[ScriptTool<'_>]) -> String {
    let (mut aliases, mut functions) = (String::new(), String::new());
    let mut names = TypeNames::default();
    for tool in tools {
        let (input, result) = types_of(tool, &mut names, &mut aliases, 0);
        functions.push_str(&comment(&described(tool), 0));
        let _ = writeln!(
            functions,
            "tools{}({input}): Promise<{result}>;",
            member(tool.name)
        );
    }
    let aliases = aliases.trim_start();
    if aliases.is_empty() {
        functions
    } else {
        format!("{aliases}\n{functions}")
    }
}

/// Returns a declaration file for editors, with everything that a script has.
pub fn file(tools: &[ScriptTool<'_>]) -> String {
    let (mut aliases, mut members) = (String::new(), String::new());
    let mut names = TypeNames::default();
    for name in ["ToolResult", "ToolFunction", "ToolError"] {
        names.free(name);
    }
    for tool in tools {
        let (input, result) = types_of(tool, &mut names, &mut aliases, 1);
        members.push_str(&comment(&described(tool), 1));
        let name = if is_identifier(tool.name) {
            tool.name.to_owned()
        } else {
            string(tool.name)
        };
        let _ = writeln!(
            members,
            "  readonly {name}: ToolFunction<({input}) => Promise<{result}>>;"
        );
    }
    format!(
        "// Written by `haft types --script`: run it again when the tools change.\n\n{GLOBALS}{aliases}\n\
         /** The tools. */\ndeclare const tools: {{\n{members}  \
         /** Finds tools by words. */\n  \
         $search(query?: string, options?: {{ limit?: number; detail?: \"names\" | \"types\" }}): Promise<string>;\n  \
         /** Returns the declaration of a tool. */\n  $types(name: string): Promise<string>;\n}};\n"
    )
}

/// Returns the parameter of the function and the type of its result.
fn types_of(
    tool: &ScriptTool<'_>,
    names: &mut TypeNames,
    aliases: &mut String,
    depth: usize,
) -> (String, String) {
    let base = names.free(&capitalized(&tool.tool.name));
    let mut writer = Writer { names, aliases };
    let schema = &tool.tool.input_schema;
    let input = writer.schema(schema, &base, depth);
    let input = if input == "Record<string, never>" {
        "args?: {}".to_owned()
    } else if is_required(schema) {
        format!("args: {input}")
    } else {
        format!("args?: {input}")
    };
    let output = tool.tool.output_schema.as_ref();
    let output = output.or_else(|| tool.observed.map(|observed| &observed.schema));
    let result = match output {
        Some(schema) => writer.schema(schema, &format!("{base}Output"), depth),
        None => ANY_RESULT.to_owned(),
    };
    (input, result)
}

/// Returns true if a call without arguments is refused. Schemas with unions are not looked into.
fn is_required(schema: &Value) -> bool {
    let has = |key: &str| schema.get(key).is_some();
    let required = schema["required"].as_array();
    required.is_some_and(|names| !names.is_empty())
        || ["anyOf", "oneOf", "allOf", "$ref"].into_iter().any(has)
}

fn described(tool: &ScriptTool<'_>) -> String {
    let description = tool.tool.description.trim();
    match tool.observed {
        Some(observed) if tool.tool.output_schema.is_none() => {
            let results = match observed.results {
                1 => "1 result".to_owned(),
                many => format!("{many} results"),
            };
            let note =
                format!("The type of the result was observed in {results}; it is not declared.");
            if description.is_empty() {
                note
            } else {
                format!("{description}\n\n{note}")
            }
        }
        _ => description.to_owned(),
    }
}

fn member(name: &str) -> String {
    if is_identifier(name) {
        format!(".{name}")
    } else {
        format!("[{}]", string(name))
    }
}
