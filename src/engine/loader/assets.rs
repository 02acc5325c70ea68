//! Files that are not code: JSON, YAML, TOML and text, imported as a value.

use std::path::Path;

use deno_core::serde_json::{self, Map, Value};
use deno_error::JsErrorBox;

use super::files::read_text;
use crate::tool::place_after;

/// The JavaScript module for an asset; nothing if `path` names code.
pub(super) fn as_module(path: &Path) -> Option<Result<String, JsErrorBox>> {
    let extension = path.extension()?.to_str()?;
    let module = match extension {
        "json" | "jsonc" | "json5" => parsed(path, json_with_comments),
        "yaml" | "yml" => parsed(path, yaml),
        "toml" => parsed(path, toml),
        "txt" | "md" | "html" | "css" | "sql" | "graphql" | "csv" | "xml" | "svg" => {
            read_text(path).map(|text| default_export(&Value::String(text)))
        }
        _ => return None,
    };
    Some(module)
}

/// Whether `path` names data.
pub(super) fn is_asset(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| DATA.contains(&extension))
}

/// The extensions that [`as_module`] knows.
const DATA: &[&str] = &[
    "json", "jsonc", "json5", "yaml", "yml", "toml", "txt", "md", "html", "css", "sql", "graphql",
    "csv", "xml", "svg",
];

type Parse = fn(&str) -> Result<Value, Wrong>;

/// What is wrong with a text, and where: line and column, both 1-based.
struct Wrong {
    message: String,
    place: Option<(usize, usize)>,
}

fn parsed(path: &Path, parse: Parse) -> Result<String, JsErrorBox> {
    let text = read_text(path)?;
    let value = parse(&text).map_err(|wrong| syntax_error(path, &wrong))?;
    let mut module = default_export(&value);
    if let Value::Object(members) = &value {
        module.push_str(&named_exports(members));
    }
    Ok(module)
}

/// In the form of the errors in code, so that the place is found in the same way.
fn syntax_error(path: &Path, wrong: &Wrong) -> JsErrorBox {
    let (path, message) = (path.display(), &wrong.message);
    let text = match wrong.place {
        Some((line, column)) => format!("{message} ({path}:{line}:{column})"),
        None => format!("{message} in {path}"),
    };
    JsErrorBox::new("SyntaxError", text)
}

fn json_with_comments(text: &str) -> Result<Value, Wrong> {
    // Plain JSON first: it is the common case and its errors have exact places.
    serde_json::from_str(text).or_else(|plain| {
        let options = Default::default();
        match jsonc_parser::parse_to_serde_value::<Value>(text, &options) {
            Ok(value) => Ok(value),
            Err(_) => Err(Wrong {
                place: Some((plain.line(), plain.column().max(1))),
                message: before(&plain.to_string(), " at line "),
            }),
        }
    })
}

fn yaml(text: &str) -> Result<Value, Wrong> {
    serde_saphyr::from_str(text).map_err(|error| {
        let error = error.without_snippet();
        let number = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let place = error.location();
        let message = error.to_string();
        Wrong {
            place: place.map(|at| (number(at.line()), number(at.column()))),
            message: before(message.lines().next().unwrap_or_default(), " at line "),
        }
    })
}

fn toml(text: &str) -> Result<Value, Wrong> {
    toml::from_str(text).map_err(|error: toml::de::Error| Wrong {
        place: error
            .span()
            .map(|span| place_after(text.get(..span.start).unwrap_or(text))),
        message: error.message().replace('\n', ", "),
    })
}

/// The error's text up to the place that it repeats.
fn before(message: &str, place: &str) -> String {
    let end = message.rfind(place).unwrap_or(message.len());
    message[..end].to_owned()
}

// `JSON.parse` of a string is faster for V8 than an object literal of any size, and makes
// `__proto__` an ordinary key.
fn default_export(value: &Value) -> String {
    let json = value.to_string();
    let literal = Value::String(json).to_string();
    format!("const data = JSON.parse({literal});\nexport default data;\n")
}

/// Bun also exports every top-level key that can be a name.
fn named_exports(members: &Map<String, Value>) -> String {
    let names = members.keys().filter(|key| is_identifier(key));
    names
        .map(|name| format!("const _{name} = data[\"{name}\"];\nexport {{ _{name} as {name} }};\n"))
        .collect()
}

fn is_identifier(key: &str) -> bool {
    let mut chars = key.chars();
    key != "default"
        && chars
            .next()
            .is_some_and(|c| c.is_ascii_alphabetic() || c == '_' || c == '$')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '$')
}
