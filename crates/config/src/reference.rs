//! Reference of the settings, derived from their declaration: the JSON Schema of `config.yaml`, and
//! the list of settings with their values and sources.

use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::declare::{Field, Form, Settings, Slot, Write};
use super::{Config, McpToolSettings};
use haft_tool::error::Error;

/// Layer that sets a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SettingSource {
    /// A configuration file.
    File {
        /// Its path.
        file: PathBuf,
        /// The line of the key, 1-based; 0: unknown.
        line: u32,
    },
    /// An environment variable.
    Variable(&'static str),
    /// A flag of the command line.
    Flag(&'static str),
}

/// A setting with its value and the layers that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Dotted key of `config.yaml`, or the variable if there is no key.
    pub key: String,
    /// The default as a user would write it, if there is a fixed one.
    pub default: Option<&'static str>,
    /// The layers that set it with their values, the strongest first. Lists and maps add up; of the
    /// others the first one counts. Empty: the default holds.
    pub written: Vec<(SettingSource, String)>,
}

/// Calls `with` for each setting that a variable sets, with its dotted key or else the variable.
pub(super) fn each_variable(
    fields: Vec<Field<'_>>,
    prefix: &str,
    with: &mut dyn FnMut(&str, &'static str, &mut Slot<'_>) -> Result<(), Error>,
) -> Result<(), Error> {
    for mut field in fields {
        let key = name(prefix, &field);
        match field.slot.write {
            Write::Block(fields) | Write::Foreign(fields) => each_variable(fields, &key, with)?,
            _ => {
                if let Some(variable) = field.variable {
                    with(&key, variable, &mut field.slot)?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the dotted key, or the variable if the setting has no key.
fn name(prefix: &str, field: &Field<'_>) -> String {
    match (prefix, field.key) {
        (_, "") => field.variable.unwrap_or_default().to_owned(),
        ("", key) => key.to_owned(),
        (prefix, key) => format!("{prefix}.{key}"),
    }
}

impl Config {
    /// Returns every setting with its value and source, in the order of the reference.
    pub fn settings(&self) -> Vec<Setting> {
        let mut settings = Vec::new();
        self.list(Config::unset().fields(), "", &mut settings);
        settings
    }

    fn list(&self, fields: Vec<Field<'_>>, prefix: &str, settings: &mut Vec<Setting>) {
        for field in fields {
            let key = name(prefix, &field);
            let is_secret = matches!(field.slot.form, Form::Secret);
            let mut push = |key: &str| {
                let mut written = self.sources.get(key).cloned().unwrap_or_default();
                if is_secret {
                    written
                        .iter_mut()
                        .for_each(|(_, value)| *value = "…".to_owned());
                }
                let default = Some(field.default).filter(|text| !text.is_empty());
                settings.push(Setting {
                    key: key.to_owned(),
                    default,
                    written,
                });
            };
            match field.slot.write {
                Write::Block(fields) | Write::Foreign(fields) => self.list(fields, &key, settings),
                Write::Map(_) | Write::Lists(_) | Write::Patterns(_) => {
                    let start = format!("{key}.");
                    let entries = self.sources.keys().filter(|key| key.starts_with(&start));
                    entries.for_each(|key| push(key));
                }
                _ => push(&key),
            }
        }
    }

    /// Returns the JSON Schema of `config.yaml`. `x-variable` is the variable that overrides a
    /// setting, `x-variables` those of settings that files do not have.
    pub fn schema() -> Value {
        let mut config = Config::unset();
        let variables: Map<String, Value> = config
            .fields()
            .into_iter()
            .filter(|field| field.key.is_empty())
            .filter_map(|field| Some((field.variable?.to_owned(), described(field))))
            .collect();
        let mut schema = block(config.fields());
        schema["$schema"] = json!("https://json-schema.org/draft/2020-12/schema");
        schema["title"] = json!("Configuration of haft");
        schema["x-variables"] = Value::Object(variables);
        schema
    }
}

fn block(fields: Vec<Field<'_>>) -> Value {
    let fields = fields.into_iter().filter(|field| !field.key.is_empty());
    let properties: Map<String, Value> = fields
        .map(|field| (field.key.to_owned(), described(field)))
        .collect();
    json!({"type": ["object", "null"], "properties": properties, "additionalProperties": false})
}

/// Returns the schema of a setting with its description, default and variable.
fn described(field: Field<'_>) -> Value {
    let form = form(&field.slot.form);
    let map = |values: Value| json!({"type": "object", "additionalProperties": values});
    let list = |items: &Value| json!({"type": "array", "items": items});
    let mut schema = match field.slot.write {
        Write::Text(_) => form,
        Write::List { .. } => list(&form),
        Write::Map(_) => map(form),
        Write::Lists(_) => map(list(&form)),
        Write::Permission(_) => json!({"anyOf": [
            {"enum": ["all", "none", true, false]},
            list(&form),
            {
                "type": "object",
                "properties": {"allow": {}, "deny": list(&form)},
                "additionalProperties": false,
            },
        ]}),
        Write::Patterns(_) => map(block(McpToolSettings::unset().fields())),
        Write::Block(fields) | Write::Foreign(fields) => block(fields),
    };
    schema["description"] = json!(field.about.trim());
    if !field.default.is_empty() {
        schema["default"] = json!(field.default);
    }
    if let Some(variable) = field.variable {
        schema["x-variable"] = json!(variable);
    }
    if field.user_only.is_some() {
        schema["x-user-only"] = json!(true);
    }
    schema
}

fn form(form: &Form) -> Value {
    match form {
        Form::Flag => json!({"type": "boolean"}),
        Form::Text | Form::Path | Form::Secret => json!({"type": ["string", "number"]}),
        Form::Whole(range) => {
            json!({"type": "integer", "minimum": range.start(), "maximum": range.end()})
        }
        Form::Word(words) => json!({"enum": words}),
    }
}
