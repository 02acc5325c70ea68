//! JSON Schema for tools whose parameters are a plain schema: compiled once, every problem at once.
//!
//! Schemas are data, so nothing here fetches a remote `$ref`: such a schema does not compile. The
//! words of a refusal are those that JavaScript tools have (`js-runtime/21_arguments.ts`), so that a
//! model meets one form whatever a tool is written in.

use jsonschema::Validator;
use jsonschema::error::ValidationErrorKind;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

use super::json;
use crate::error::{Error, ErrorKind};

/// Longer strings are cut where received arguments are shown, in characters.
const MAX_SHOWN_STRING: usize = 256;

/// A compiled schema.
#[derive(Debug)]
pub(crate) struct Schema(Validator);

/// One thing that is wrong with a value.
#[derive(Debug)]
pub(crate) struct Mismatch {
    /// Where in the value: `a/b`, or `root` for all of it.
    pub(crate) path: String,
    /// The keyword of the schema that it offends.
    pub(crate) keyword: String,
    /// What is wrong, in words.
    pub(crate) message: String,
    /// The property that has to be there and is not.
    pub(crate) missing: Option<String>,
}

impl Schema {
    /// Compiles; the error says what is wrong with the schema.
    pub(crate) fn compile(schema: &Value) -> Result<Schema, String> {
        json::with_stack_for(schema, || {
            jsonschema::options()
                .should_validate_formats(true)
                .build(schema)
                .map(Schema)
                .map_err(|error| error.to_string())
        })
    }

    /// Everything that is wrong with `value`; empty when it fits.
    pub(crate) fn mismatches(&self, value: &Value) -> Vec<Mismatch> {
        let found = self.0.iter_errors(value).map(|error| {
            let path = error.instance_path().as_str().trim_start_matches('/');
            Mismatch {
                path: if path.is_empty() { "root" } else { path }.to_owned(),
                keyword: error.kind().keyword().to_owned(),
                message: error.to_string(),
                missing: missing(error.kind()),
            }
        });
        json::with_stack_for(value, || found.collect())
    }

    /// Checks the arguments of a call of `tool`; all that is wrong is in the error's text.
    pub(crate) fn check(&self, tool: &str, arguments: &Value) -> Result<(), Error> {
        // Nearly all arguments fit, and to hear only that is several times faster.
        if json::with_stack_for(arguments, || self.0.is_valid(arguments)) {
            return Ok(());
        }
        let mismatches = self.mismatches(arguments);
        let lines = mismatches
            .iter()
            .map(|wrong| format!("  - {}: {}", wrong.path, wrong.message));
        let lines: Vec<String> = lines.collect();
        Err(refusal(tool, &lines.join("\n"), arguments))
    }
}

fn missing(kind: &ValidationErrorKind) -> Option<String> {
    match kind {
        ValidationErrorKind::Required { property } => property.as_str().map(str::to_owned),
        _ => None,
    }
}

/// The arguments of a call as an object. No arguments at all are an empty one.
pub(crate) fn object_of(tool: &str, arguments: &RawValue) -> Result<Map<String, Value>, Error> {
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

/// What is wrong with arguments that fit their schema, in the words of a refusal.
pub(crate) fn refused(tool: &str, why: &str, arguments: &Value) -> Error {
    refusal(tool, &format!("  - root: {why}"), arguments)
}

fn refusal(tool: &str, lines: &str, arguments: &Value) -> Error {
    let received = format!("{:#}", shortened(arguments));
    let text = format!(
        "Validation failed for tool \"{tool}\":\n{lines}\n\nReceived arguments:\n{received}"
    );
    Error::new(ErrorKind::BadArguments, text)
}

/// A copy whose long strings are cut: a refused file need not go back to the model.
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
