//! Types of the fields of a test file that are parsed by hand, for better messages. They are only for
//! the JSON Schema ([`super::json_schema`]); a test compares both.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

/// Expected result of a call. Only what is given is compared, and success.
#[derive(JsonSchema)]
#[schemars(deny_unknown_fields, rename_all = "camelCase")]
#[expect(dead_code, reason = "the schema is what it is for")]
pub(super) struct Expectation {
    /// All text blocks, one to a line.
    text: Option<TextMatch>,
    /// All blocks, exactly.
    content: Option<Vec<Value>>,
    /// Objects may have more keys than these.
    details: Option<Value>,
    /// True if the tool is to report a failure.
    is_error: Option<bool>,
    /// All updates in their order: their texts, or what they hold.
    updates: Option<Vec<Update>>,
    /// The call is to be refused, or cannot be run: the text of that.
    error: Option<TextMatch>,
    /// The call is to be stopped.
    stopped: Option<Stop>,
}

/// Why a call was stopped.
#[derive(JsonSchema)]
#[schemars(rename_all = "lowercase")]
#[expect(dead_code, reason = "the schema is what it is for")]
enum Stop {
    /// Its time was up.
    Deadline,
    /// It was cancelled.
    Cancelled,
    /// Its isolate was lost.
    Discarded,
}

/// The session when a test begins.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "the schema is what it is for")]
pub(super) struct Session {
    /// Event that `onSession` gets, as `{"reason": "start"}`.
    event: Option<Value>,
    /// The entries up to where the conversation stands.
    branch: Option<Vec<Value>>,
    /// All entries.
    entries: Option<Vec<Value>>,
}

/// A text: exactly this one, one with these parts, or one that matches a regular expression.
struct TextMatch;

/// An update: its text, or what it holds.
struct Update;

/// A text (also the option that is chosen), yes or no, or nothing.
pub(super) struct PersonsAnswer;

impl JsonSchema for TextMatch {
    fn schema_name() -> Cow<'static, str> {
        "TextMatch".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        let only = |key: &str, of: Value| {
            json!({
                "type": "object", "required": [key], "additionalProperties": false,
                "properties": {key: of},
            })
        };
        let texts = json!({"type": ["string", "array"], "items": {"type": "string"}});
        json_schema!({
            "description": "A text: exactly this one, one with these parts, or one that matches a regular expression.",
            "anyOf": [
                {"type": "string"},
                only("contains", texts),
                only("matches", json!({"type": "string", "format": "regex"})),
            ],
        })
    }
}

impl JsonSchema for Update {
    fn schema_name() -> Cow<'static, str> {
        "Update".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let text = generator.subschema_for::<TextMatch>();
        json_schema!({
            "description": "An update: its text, or what it holds.",
            "anyOf": [text, {
                "type": "object", "minProperties": 1, "additionalProperties": false,
                "properties": {"content": {"type": "array"}, "details": {}},
            }],
        })
    }
}

impl JsonSchema for PersonsAnswer {
    fn schema_name() -> Cow<'static, str> {
        "Answer".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["string", "boolean", "null"]})
    }
}
