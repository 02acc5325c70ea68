//! Imports of files that are not code. JSON, YAML, TOML and text are imported as a value. All other
//! files are imported as their path, as in Bun.

use std::path::Path;

use deno_core::serde_json::{self, Map, Value};
use deno_core::url::Url;
use deno_error::JsErrorBox;

use super::files::read_text;
use crate::verify::Verifier;
use haft_tool::place_after;

/// Value of an import attribute that V8 does not support: `with { type: "yaml" }`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AssetKind {
    /// JSON, with comments and trailing commas.
    Json,
    /// YAML.
    Yaml,
    /// TOML.
    Toml,
    /// The path of the file.
    File,
}

/// Query parameter of a URL with the kind of an asset.
const MARK: &str = "haft-as";

impl AssetKind {
    const NAMES: &[(&str, AssetKind)] = &[
        ("jsonc", AssetKind::Json),
        ("json5", AssetKind::Json),
        ("yaml", AssetKind::Yaml),
        ("toml", AssetKind::Toml),
        ("file", AssetKind::File),
    ];

    /// Returns the kind with the name that authors write.
    pub(super) fn from_name(name: &str) -> Option<AssetKind> {
        let found = Self::NAMES.iter().find(|(known, _)| *known == name);
        found.map(|(_, kind)| *kind)
    }

    /// Returns the kind in the URL of a module.
    pub(super) fn of_url(url: &Url) -> Option<AssetKind> {
        let mark = url.query_pairs().find(|(key, _)| key == MARK)?.1;
        Self::from_name(&mark)
    }

    /// Returns the suffix that adds this kind to a specifier.
    pub(super) fn mark(self) -> String {
        format!("?{MARK}={}", self.name())
    }

    /// Splits a specifier into the part before its mark and the kind in the mark.
    pub(super) fn split(specifier: &str) -> (&str, Option<AssetKind>) {
        let marked = specifier
            .rsplit_once(['?', '&'])
            .and_then(|(rest, mark)| Some((rest, mark.strip_prefix(MARK)?.strip_prefix('=')?)));
        match marked {
            Some((rest, name)) => (rest, Self::from_name(name)),
            None => (specifier, None),
        }
    }

    /// Adds this kind to a URL.
    pub(super) fn ask_in(self, url: &mut Url) {
        url.query_pairs_mut().append_pair(MARK, self.name());
    }

    fn name(self) -> &'static str {
        let found = Self::NAMES.iter().find(|(_, kind)| *kind == self);
        found.map_or("file", |(name, _)| name)
    }

    /// Returns the JavaScript module for the file at `path`, whatever its extension is.
    pub(super) fn as_module(
        self,
        path: &Path,
        verifier: Option<&Verifier>,
    ) -> Result<String, JsErrorBox> {
        match self {
            AssetKind::Json => parsed(path, verifier, json_with_comments),
            AssetKind::Yaml => parsed(path, verifier, yaml),
            AssetKind::Toml => parsed(path, verifier, toml),
            AssetKind::File => {
                // The tool opens the file itself, but the file is a part of the module.
                if let Some(verifier) = verifier {
                    verifier.check_file(path)?;
                }
                Ok(default_export(&path.to_string_lossy().into()))
            }
        }
    }
}

/// Returns the JavaScript module for an asset; `None` if `path` names code.
pub(super) fn as_module(
    path: &Path,
    verifier: Option<&Verifier>,
) -> Option<Result<String, JsErrorBox>> {
    let extension = path.extension()?.to_str()?;
    let module = match extension {
        code if CODE.contains(&code) => return None,
        "json" | "jsonc" | "json5" => parsed(path, verifier, json_with_comments),
        "yaml" | "yml" => parsed(path, verifier, yaml),
        "toml" => parsed(path, verifier, toml),
        "txt" | "md" | "html" | "css" | "sql" | "graphql" | "csv" | "xml" | "svg" => {
            read_text(path, verifier).map(|text| default_export(&Value::String(text)))
        }
        _ => AssetKind::File.as_module(path, verifier),
    };
    Some(module)
}

/// Returns true if `path` names data.
pub(crate) fn is_asset(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| !CODE.contains(&extension))
}

/// The extensions of code. A file without an extension is code, too.
const CODE: &[&str] = &["ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "node"];

type Parse = fn(&str) -> Result<Value, Wrong>;

/// Syntax error of a text with its place: line and column, both 1-based.
struct Wrong {
    message: String,
    place: Option<(usize, usize)>,
}

fn parsed(path: &Path, verifier: Option<&Verifier>, parse: Parse) -> Result<String, JsErrorBox> {
    let text = read_text(path, verifier)?;
    let value = parse(&text).map_err(|wrong| syntax_error(path, &wrong))?;
    let mut module = default_export(&value);
    if let Value::Object(members) = &value {
        module.push_str(&named_exports(members));
    }
    Ok(module)
}

/// Returns an error in the form of errors in code, so that its place is found in the same way.
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

/// Returns the error's text up to the place, which is reported separately.
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

/// Returns exports of all top-level keys that are identifiers, as in Bun.
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
