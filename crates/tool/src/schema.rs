//! JSON Schema validator for tools whose parameters are a plain schema. A schema is compiled once,
//! and a check reports all faults at once.
//!
//! Schemas are data, so a remote `$ref` is never fetched: a schema that has one does not compile.
//! Refusals have the same words as those of JavaScript tools (`js-runtime/21_arguments.ts`), so
//! that a model sees one form for all tools.

mod faults;
pub mod walk;
mod words;

use jsonschema::paths::Location;
use jsonschema::{Keyword, ValidationError, ValidationOptions, Validator};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json;
use crate::error::{Error, ErrorKind};
pub use faults::{FaultKind, faults, is_pattern};

/// Limit of strings in the received arguments that a refusal shows, in characters. Longer ones are
/// cut.
const MAX_SHOWN_STRING: usize = 256;

/// A compiled schema.
#[derive(Debug)]
pub struct Schema(Validator);

/// Violation of a schema by a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The position in the value, as a JSON pointer. For a missing property, it is the pointer of
    /// that property.
    pub pointer: String,
    /// The violated keyword of the schema.
    pub keyword: String,
    /// The message, without the position.
    pub message: String,
}

impl Mismatch {
    /// Returns the position in the value for people: `a/b`, or `root` for the whole value.
    pub fn path(&self) -> String {
        shown_path(&self.pointer)
    }

    /// Returns the line of a refusal.
    pub fn line(&self) -> String {
        format!("  - {}: {}", self.path(), self.message)
    }
}

impl Schema {
    /// Compiles a schema. The error describes the fault of the schema.
    pub fn compile(schema: &Value) -> Result<Schema, String> {
        build(options(), schema).map(Schema).map_err(|error| {
            let faults = faults(schema);
            let first = faults.first();
            first.map_or(error, |fault| format!("{}: {}", fault.place(), fault.text))
        })
    }

    /// Compiles the valid parts of a schema that has faults: see [`faults`].
    pub fn compile_rest(schema: &Value) -> Result<Schema, String> {
        if let Ok(built) = build(options(), schema) {
            return Ok(Schema(built));
        }
        let rest = faults::without(schema, &faults(schema));
        let options = options()
            .with_keyword(faults::UNREADABLE, unreadable)
            .with_keyword(faults::UNREADABLE_TEXT, unreadable_text);
        build(options, &rest).map(Schema)
    }

    /// Returns all violations by `value`; empty if it is valid.
    pub fn mismatches(&self, value: &Value) -> Vec<Mismatch> {
        json::with_stack_for(value, || {
            let mut found = Vec::new();
            for error in self.0.iter_errors(value) {
                words::describe(&error, &mut found);
            }
            found
        })
    }

    /// Validates the arguments of a call of `tool`. The error's text lists all violations.
    pub fn check(&self, tool: &str, arguments: &Value) -> Result<(), Error> {
        // Nearly all arguments are valid, and this check alone is several times faster.
        if json::with_stack_for(arguments, || self.0.is_valid(arguments)) {
            return Ok(());
        }
        let mismatches = self.mismatches(arguments);
        let lines: Vec<String> = mismatches.iter().map(Mismatch::line).collect();
        Err(refusal(tool, &lines.join("\n"), arguments))
    }
}

/// Returns the faults of a schema for arguments, each with its consequence for calls; empty if the
/// schema compiles.
pub fn problems(schema: &Value) -> Vec<(String, &'static str)> {
    let faults = faults(schema);
    if !faults.is_empty() && build(options(), schema).is_ok() {
        return Vec::new();
    }
    let said = faults.iter().map(|fault| {
        let then = match fault.kind {
            FaultKind::Meaningless => "it is not checked",
            FaultKind::Pattern => "strings there are refused",
            FaultKind::Reference => "values there are refused",
        };
        (format!("{}: {}", fault.place(), fault.text), then)
    });
    said.collect()
}

/// Compiles a schema. References are URIs, but many schemas contain them unescaped:
/// `#/$defs/List<Item>`.
fn build(options: ValidationOptions<'_>, schema: &Value) -> Result<Validator, String> {
    json::with_stack_for(schema, || {
        let error = match options.build(schema) {
            Ok(built) => return Ok(built),
            Err(error) => error.to_string(),
        };
        let encoded = faults::with_encoded_references(schema);
        if encoded == *schema {
            Err(error)
        } else {
            options.build(&encoded).map_err(|error| error.to_string())
        }
    })
}

/// Returns the options. `format` is only an annotation and refuses nothing, which is the default in
/// 2020-12.
fn options() -> ValidationOptions<'static> {
    jsonschema::options().should_validate_formats(false)
}

/// Keyword that refuses every value, or only strings.
struct Unreadable {
    why: String,
    is_text: bool,
}

impl<'i> Keyword<'i> for Unreadable {
    fn validate(&self, value: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(value) {
            Ok(())
        } else {
            Err(ValidationError::custom(format!(
                "cannot be checked, so it is refused: in the tool's schema {}",
                self.why
            )))
        }
    }

    fn is_valid(&self, value: &'i Value) -> bool {
        self.is_text && !value.is_string()
    }
}

type Checks<'a> = Result<Box<dyn for<'i> Keyword<'i>>, ValidationError<'a>>;

fn unreadable<'a>(_: &'a Map<String, Value>, why: &'a Value, _: Location) -> Checks<'a> {
    Ok(Box::new(Unreadable {
        why: why.as_str().unwrap_or_default().to_owned(),
        is_text: false,
    }))
}

fn unreadable_text<'a>(_: &'a Map<String, Value>, why: &'a Value, _: Location) -> Checks<'a> {
    Ok(Box::new(Unreadable {
        why: why.as_str().unwrap_or_default().to_owned(),
        is_text: true,
    }))
}

/// Returns a JSON pointer with one more step.
pub fn below(pointer: &str, key: &str) -> String {
    format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// Returns the key that a step of a JSON pointer stands for.
pub fn unescaped(step: &str) -> String {
    step.replace("~1", "/").replace("~0", "~")
}

/// Returns a JSON pointer in the form for people.
fn shown_path(pointer: &str) -> String {
    match pointer.strip_prefix('/') {
        None => "root".to_owned(),
        Some(steps) => unescaped(steps),
    }
}

/// Parses the arguments of a call as an object. `null` becomes an empty object.
pub fn object_of(tool: &str, arguments: &RawValue) -> Result<Map<String, Value>, Error> {
    let parsed = json::parse(arguments.get()).map_err(|error| {
        let text = format!(
            "Validation failed for tool \"{tool}\": Tool call arguments are not valid JSON.\n\
             Parse Error: {error}"
        );
        Error::new(ErrorKind::BadArguments, text)
    })?;
    match parsed {
        Value::Object(object) => Ok(object),
        Value::Null => Ok(Map::new()),
        other => Err(refusal(tool, "  - root: must be an object", &other)),
    }
}

/// Returns the refusal of arguments that fit their schema but are invalid for the reason `why`.
pub fn refused(tool: &str, why: &str, arguments: &Value) -> Error {
    refusal(tool, &format!("  - root: {why}"), arguments)
}

fn refusal(tool: &str, lines: &str, arguments: &Value) -> Error {
    let received = format!("{:#}", shortened(arguments));
    let text = format!(
        "Validation failed for tool \"{tool}\":\n{lines}\n\nReceived arguments:\n{received}"
    );
    Error::new(ErrorKind::BadArguments, text)
}

/// Returns a copy whose long strings are cut, so that a refused file is not sent back to the model.
fn shortened(value: &Value) -> Value {
    match value {
        Value::String(text) => match text.char_indices().nth(MAX_SHOWN_STRING) {
            Some((end, _)) => {
                let rest = text[end..].chars().count();
                format!("{}… [truncated {rest} chars]", &text[..end]).into()
            }
            None => text.as_str().into(),
        },
        Value::Array(items) => items.iter().map(shortened).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            fields
                .map(|(key, value)| (key.clone(), shortened(value)))
                .collect()
        }
        other => other.clone(),
    }
}

/// Bytes that `encodeURIComponent` of JavaScript encodes.
const NOT_IN_COMPONENTS: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'_')
    .remove(b'.')
    .remove(b'!')
    .remove(b'~')
    .remove(b'*')
    .remove(b'\'')
    .remove(b'(')
    .remove(b')');

/// Encodes a text as `encodeURIComponent` of JavaScript does.
pub fn encode_component(text: &str) -> String {
    utf8_percent_encode(text, NOT_IN_COMPONENTS).to_string()
}

/// Decodes the percent-encoding (`%20`) of a part of an address, such as a pointer in a `$ref`.
pub fn percent_decoded(pointer: &str) -> String {
    let decoded = percent_decode_str(pointer);
    decoded.decode_utf8_lossy().into_owned()
}
