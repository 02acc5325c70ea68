//! Parser of one tool of a plugin file; its error messages have aynd's words.
//!
//! All faults of an entry are found at once. The words are aynd's (spec aynd 7), so that a search
//! for them finds its documentation; the places and hints are ours.

use serde_json::{Map, Value};

use super::Ground;
use super::file_read::FileRead;
use super::http::Http;
use super::json::{Fault, Fields, Json, Place};
use super::shell::Shell;
use haft_tool::Tier;
use haft_tool::schema::Schema;

/// Keys of a tool.
const KEYS: [&str; 4] = ["name", "description", "inputSchema", "handler"];

/// A tool that can be called.
pub(super) struct Definition {
    pub(super) name: String,
    pub(super) description: String,
    pub(super) input_schema: Value,
    pub(super) schema: Schema,
    /// Defaults of the schema for parameters that are missing.
    pub(super) defaults: Map<String, Value>,
    pub(super) handler: Handler,
}

/// The three ways of running a tool.
pub(super) enum Handler {
    Shell(Shell),
    Http(Http),
    FileRead(FileRead),
}

/// Parsed entry, with everything that is wrong with it.
pub(super) struct Entry {
    pub(super) definition: Option<Definition>,
    /// The tool's name, if the entry has one.
    pub(super) name: Option<String>,
    /// Place of the name, for the fault of a duplicate.
    pub(super) name_place: Place,
    /// Reasons why the definition is missing.
    pub(super) faults: Vec<Fault>,
    /// Warnings for the author.
    pub(super) warnings: Vec<Fault>,
}

/// Reads the entry at `index`.
pub(super) fn read(index: usize, entry: Json<'_>, ground: &Ground) -> Entry {
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    let place = entry.place();
    let Some(fields) = entry.fields() else {
        faults.push(entry.fault("Tool definition must be an object"));
        return finish(index, None, None, place, faults, warnings);
    };
    let name_place = fields.get("name").map_or(place, |name| name.place());
    let name = name(&fields, &mut faults);
    let description = fields.string("description").filter(|text| !text.is_empty());
    if description.is_none() {
        let text = "Tool description is required and must be a non-empty string";
        faults.push(fields.fault("description", text));
    }
    let schema = schema(&fields, &mut faults);
    let handler = handler(&fields, ground, &mut faults, &mut warnings);
    warnings.extend(fields.unknown(&KEYS));
    let definition = (|| {
        let (input_schema, schema) = schema?;
        let handler = handler?;
        Some(Definition {
            name: name.clone()?,
            description: description?,
            defaults: defaults(&input_schema, &handler),
            input_schema,
            schema,
            handler,
        })
    })();
    // The name is escaped because it is shown and may hold any character.
    let name = fields.string("name");
    let name = name.map(|name| name.escape_debug().to_string());
    finish(index, definition, name, name_place, faults, warnings)
}

fn finish(
    index: usize,
    definition: Option<Definition>,
    name: Option<String>,
    place: Place,
    mut faults: Vec<Fault>,
    mut warnings: Vec<Fault>,
) -> Entry {
    for fault in faults.iter_mut().chain(&mut warnings) {
        fault.message = format!("Tool [{index}]: {}", fault.message);
    }
    Entry {
        definition: definition.filter(|_| faults.is_empty()),
        name,
        name_place: place,
        faults,
        warnings,
    }
}

fn name(fields: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<String> {
    let Some(name) = fields.string("name") else {
        faults.push(fields.fault("name", "Tool name is required and must be a string"));
        return None;
    };
    let is_good = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    if !name.is_empty() && name.chars().all(is_good) {
        return Some(name);
    }
    let shown = name.escape_debug();
    let text = format!("Tool name \"{shown}\" must match pattern ^[a-zA-Z0-9_-]+$");
    faults.push(fields.fault("name", text));
    None
}

fn schema(fields: &Fields<'_>, faults: &mut Vec<Fault>) -> Option<(Value, Schema)> {
    let value = fields.get("inputSchema").map(|schema| schema.value());
    let Some(Value::Object(object)) = &value else {
        let text = "Tool inputSchema is required and must be an object";
        faults.push(fields.fault("inputSchema", text));
        return None;
    };
    if !object.contains_key("type") {
        let text = "Tool inputSchema must have a 'type' property";
        faults.push(
            fields
                .fault("inputSchema", text)
                .hint("add \"type\": \"object\""),
        );
        return None;
    }
    let value = value?;
    match Schema::compile(&value) {
        Ok(schema) => Some((value, schema)),
        Err(error) => {
            let text = format!("Tool inputSchema is not a valid JSON Schema: {error}");
            faults.push(fields.fault("inputSchema", text));
            None
        }
    }
}

fn handler(
    fields: &Fields<'_>,
    ground: &Ground,
    faults: &mut Vec<Fault>,
    warnings: &mut Vec<Fault>,
) -> Option<Handler> {
    let Some(handler) = fields.get("handler").and_then(Json::fields) else {
        let text = "Tool handler is required and must be an object";
        faults.push(fields.fault("handler", text));
        return None;
    };
    let kind = handler.string("type");
    let known: &[&str] = match kind.as_deref() {
        Some("shell") => &["type", "command", "timeout", "cwd", "trustedArgs"],
        Some("http") => &["type", "url", "method", "headers", "timeout"],
        Some("file-read") => &["type", "basePath", "maxSize"],
        _ => &[],
    };
    if !known.is_empty() {
        warnings.extend(handler.unknown(known));
    }
    match kind.as_deref() {
        Some("shell") => Shell::read(&handler, ground, faults, warnings).map(Handler::Shell),
        Some("http") => Http::read(&handler, faults, warnings).map(Handler::Http),
        Some("file-read") => FileRead::read(&handler, ground, faults).map(Handler::FileRead),
        _ => {
            let text = format!(
                "Handler type must be \"shell\", \"http\", or \"file-read\", got: {}",
                handler.shown("type")
            );
            faults.push(handler.fault("type", text));
            None
        }
    }
}

/// Returns the schema's defaults of the handler's placeholders. Defaults of a request's body are
/// left to the server.
fn defaults(schema: &Value, handler: &Handler) -> Map<String, Value> {
    let names: Vec<&str> = match handler {
        Handler::Shell(shell) => shell.parameters().collect(),
        Handler::Http(http) => http.parameters().collect(),
        Handler::FileRead(_) => vec!["path"],
    };
    let default = |name: &&str| {
        let default = schema.get("properties")?.get(name)?.get("default")?;
        Some(((*name).to_owned(), default.clone()))
    };
    names.iter().filter_map(default).collect()
}

impl Handler {
    /// Returns the tier of calls. Programs may do anything. POST and PUT change something; a GET
    /// sends data only in its URL.
    pub(super) fn tier(&self) -> Tier {
        match self {
            Handler::Shell(_) => Tier::Exec,
            Handler::Http(http) if http.writes() => Tier::Write,
            Handler::Http(_) | Handler::FileRead(_) => Tier::Read,
        }
    }
}
