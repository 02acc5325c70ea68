//! JSON Schema of the format, derived from the types in `definition`: the source of the checks of
//! files, of the help in editors (`types/cycod-tool.schema.json`) and of the reference in
//! `docs/shell-tools.md`.

mod check;

use std::fmt::Write;
use std::sync::LazyLock;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use serde_json::{Map, Value, json};

use super::definition::Definition;

pub(super) use check::check;

static SCHEMA: LazyLock<Value> = LazyLock::new(|| {
    let settings = SchemaSettings::draft07().with(|settings| settings.inline_subschemas = true);
    let settings = settings.with_transform(RecursiveTransform(adapt));
    let schema = settings
        .into_generator()
        .into_root_schema_for::<Definition>();
    // People who open the file look for these two first.
    let mut root = Map::new();
    for keyword in ["$schema", "title"] {
        root.extend(
            schema
                .get(keyword)
                .map(|value| (keyword.into(), value.clone())),
        );
    }
    root.extend(schema.as_object().cloned().unwrap_or_default());
    root.into()
});

/// Returns the schema of a whole file, for editors. It does not say that exactly one command is
/// needed: haft's own message is clearer than an editor's "must match exactly one schema".
pub fn json_schema() -> Value {
    SCHEMA.clone()
}

/// Adapts a schema that was derived from a type to the rules of the files.
fn adapt(schema: &mut schemars::Schema) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    // An empty value counts as a missing one, whatever the type.
    for keyword in ["type", "enum"] {
        if let Some(Value::Array(items)) = schema.get_mut(keyword) {
            items.retain(|item| item != "null" && !item.is_null());
        }
    }
    if let Some(Value::Array(types)) = schema.get_mut("type")
        && let [only] = types.as_mut_slice()
    {
        let only = only.take();
        schema.insert("type".into(), only);
    }
    if schema.get("format") == Some(&json!("uint32")) {
        schema.insert("maximum".into(), u32::MAX.into());
    }
    if let Some(Value::String(text)) = schema.get_mut("description") {
        *text = text.replace('\n', " ");
    }
    schema.retain(|key, value| match (key.as_str(), value) {
        // The formats of Rust's types say nothing to an author.
        ("format", Value::String(format)) => {
            ["size", "milliseconds", "regex"].contains(&format.as_str())
        }
        ("default", value) => match value {
            Value::String(text) => !text.is_empty(),
            value => value.is_number() || *value == true,
        },
        ("items" | "additionalProperties", value) => *value != true,
        _ => true,
    });
    if schema.contains_key("properties") {
        schema.insert("additionalProperties".into(), false.into());
    }
    let types = match Schema(Some(schema)).shape() {
        Shape::Text => json!(["string", "number", "boolean"]),
        Shape::List(item) if item.is_scalar() => json!(["array", "string"]),
        _ => return,
    };
    schema.insert("type".into(), types);
}

/// Schema of one value.
#[derive(Clone, Copy)]
pub(super) struct Schema<'a>(Option<&'a Map<String, Value>>);

/// Kinds of values.
#[derive(Clone, Copy)]
pub(super) enum Shape<'a> {
    /// Anything.
    Any,
    /// A scalar; its text counts, however it is written.
    Text,
    /// An ECMAScript regular expression.
    Pattern,
    /// Bytes: `512`, `10MB`.
    Size,
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds.
    Whole(i64, i64),
    /// Such a number of milliseconds.
    Millis(i64, i64),
    /// Any number.
    Number,
    /// One of these words.
    Word(&'a [Value]),
    /// A list; a single scalar counts as a list of one.
    List(Schema<'a>),
    /// A mapping of names that the author chooses.
    Named(Schema<'a>),
    /// A mapping with known keys.
    Mapping,
}

impl Schema<'static> {
    /// Returns the schema of a whole file.
    pub(super) fn root() -> Schema<'static> {
        Schema::of(Some(&SCHEMA))
    }
}

impl<'a> Schema<'a> {
    /// Wraps the value of a keyword; a missing one allows anything.
    pub(super) fn of(value: Option<&'a Value>) -> Schema<'a> {
        Schema(value.and_then(Value::as_object))
    }

    fn get(self, keyword: &str) -> Option<&'a Value> {
        self.0?.get(keyword)
    }

    fn text(self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str()
    }

    pub(super) fn shape(self) -> Shape<'a> {
        if self.get("properties").is_some() {
            return Shape::Mapping;
        }
        if let Some(Value::Array(words)) = self.get("enum") {
            return Shape::Word(words);
        }
        let bound = |keyword: &str| self.get(keyword).and_then(Value::as_i64);
        let least = bound("minimum").unwrap_or(i64::MIN);
        let most = bound("maximum").unwrap_or(i64::MAX);
        let types = self.get("type");
        let kind = match types {
            Some(Value::Array(types)) => types.first(),
            kind => kind,
        };
        match (self.text("format"), kind.and_then(Value::as_str)) {
            (Some("size"), _) => Shape::Size,
            (Some("regex"), _) => Shape::Pattern,
            (Some("milliseconds"), _) => Shape::Millis(least, most),
            (_, Some("string")) => Shape::Text,
            (_, Some("boolean")) => Shape::Flag,
            (_, Some("integer")) => Shape::Whole(least, most),
            (_, Some("number")) => Shape::Number,
            (_, Some("array")) => Shape::List(Schema::of(self.get("items"))),
            (_, Some("object")) => Shape::Named(Schema::of(self.get("additionalProperties"))),
            _ => Shape::Any,
        }
    }

    /// Returns true for texts and words, which may stand for a list of one.
    pub(super) fn is_scalar(self) -> bool {
        matches!(self.shape(), Shape::Text | Shape::Word(_))
    }

    /// Returns the known keys of a mapping with their schemas, in the order of the reference.
    pub(super) fn keys(self) -> impl Iterator<Item = (&'a str, Schema<'a>)> {
        let keys = self.get("properties").and_then(Value::as_object);
        let keys = keys.into_iter().flatten();
        keys.map(|(key, schema)| (key.as_str(), Schema::of(Some(schema))))
    }

    /// Returns the schema of a value of a mapping, known or named by the author.
    pub(super) fn below(self, key: &str) -> Option<Schema<'a>> {
        match self.shape() {
            Shape::Named(item) => Some(item),
            _ => self.key(key),
        }
    }

    /// Returns the schema of the items of a list or a mapping of names; else itself.
    pub(super) fn item(self) -> Schema<'a> {
        match self.shape() {
            Shape::List(item) | Shape::Named(item) => item,
            _ => self,
        }
    }

    /// Returns the schema of a known key.
    pub(super) fn key(self, key: &str) -> Option<Schema<'a>> {
        let schema = self.get("properties")?.get(key)?;
        Some(Schema::of(Some(schema)))
    }
}

/// Returns the reference as a Markdown table: one row for each key, nested keys below their
/// parents.
pub fn reference() -> String {
    let mut out = String::from("| key | value | meaning |\n| --- | --- | --- |\n");
    rows(Schema::root(), "", &mut out);
    out
}

fn rows(schema: Schema<'_>, prefix: &str, out: &mut String) {
    for (key, schema) in schema.keys() {
        let name = format!("{prefix}{key}");
        let mut help = schema.text("description").unwrap_or_default().to_owned();
        if let Some(default) = schema.get("default") {
            let _ = write!(help, "; `{}` if left out", text_of(default));
        }
        // Writing to a string cannot fail.
        let _ = writeln!(out, "| `{name}` | {} | {help} |", value(schema));
        match schema.shape() {
            Shape::Mapping => rows(schema, &format!("{name}."), out),
            Shape::List(item) => rows(item, &format!("{name}[]."), out),
            Shape::Named(item) => rows(item, &format!("{name}.NAME."), out),
            _ => {}
        }
    }
}

fn value(schema: Schema<'_>) -> String {
    match schema.shape() {
        Shape::Text | Shape::Pattern => "text".to_owned(),
        Shape::Flag => "`true`, `false`".to_owned(),
        Shape::Millis(..) => "milliseconds".to_owned(),
        Shape::Whole(..) => "whole number".to_owned(),
        Shape::Number => "number".to_owned(),
        Shape::Size => "size".to_owned(),
        Shape::Word(words) => {
            let words = words.iter().map(|word| format!("`{}`", text_of(word)));
            words.collect::<Vec<_>>().join(", ")
        }
        Shape::Any => "anything".to_owned(),
        Shape::Mapping => "mapping".to_owned(),
        Shape::Named(item) => format!("name → {}", value(item)),
        Shape::List(item) => match item.shape() {
            Shape::Any => "list".to_owned(),
            Shape::Text => "list of texts".to_owned(),
            Shape::Mapping => "list of mappings".to_owned(),
            _ => format!("list of {}", value(item)),
        },
    }
}

/// Returns the text of a word or a default.
fn text_of(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}
