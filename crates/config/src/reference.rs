//! Reference of the settings, derived from their declaration: the JSON Schema of `config.yaml`, and
//! the list of settings with their values and sources.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value, json};

use super::Config;
use super::declare::{Field, Form, Settings, Slot, Write};
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

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            SettingSource::File { file, line: 0 } => write!(f, "{}", file.display()),
            SettingSource::File { file, line } => write!(f, "{}:{line}", file.display()),
            SettingSource::Variable(name) | SettingSource::Flag(name) => f.write_str(name),
        }
    }
}

/// A setting with its value and the layers that set it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Setting {
    /// Dotted key of `config.yaml`, or the variable if there is no key.
    pub key: String,
    /// The default as a user would write it, if there is a fixed one.
    pub default: Option<&'static str>,
    /// The layers whose values count, the strongest first: lists and maps add up. Empty: the default
    /// holds.
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

/// Returns the parts of the dotted keys of secrets in blocks with names.
fn secret_keys(write: &mut Write<'_>) -> Vec<String> {
    let Write::Blocks(blocks) = write else {
        return Vec::new();
    };
    let placeholder = blocks.placeholder();
    let fields = blocks.entry(placeholder).into_iter();
    let secrets = fields.filter(|field| matches!(field.slot.form, Form::Secret));
    let parts = secrets.map(|field| match field.slot.write {
        // One value, whose key ends there.
        Write::Text(_) => format!(".{}", field.key),
        _ => format!(".{}.", field.key),
    });
    parts.collect()
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
        for mut field in fields {
            let key = name(prefix, &field);
            let is_secret = matches!(field.slot.form, Form::Secret);
            let secrets = secret_keys(&mut field.slot.write);
            let mut push = |key: &str| {
                let mut written = self.sources.get(key).cloned().unwrap_or_default();
                if is_secret || secrets.iter().any(|secret| key.contains(secret)) {
                    written
                        .iter_mut()
                        .for_each(|(_, value)| *value = "…".to_owned());
                }
                if matches!(field.slot.write, Write::Text(_) | Write::Permission(_)) {
                    // The strongest layer counts.
                    written.truncate(1);
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
                Write::Map(_) | Write::Lists(_) | Write::Blocks(_) => {
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
        Write::Blocks(mut blocks) => {
            let placeholder = blocks.placeholder();
            let mut schema = map(block(blocks.entry(placeholder)));
            schema["x-name"] = json!(placeholder);
            if blocks.short_form().is_some() {
                schema["type"] = json!(["object", "string"]);
            }
            schema
        }
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

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::declare::{self, Origin, settings, whole};
    use super::super::file;
    use super::*;

    settings! {
        /// Settings with one setting, which only this declares.
        #[derive(Debug)]
        pub struct Added {
            /// Number of things.
            pub things: u32 = "3" => whole(1..=9, " of things"), env "HAFT_THINGS";
        }
    }

    #[test]
    fn one_declaration_makes_a_setting() {
        let origin = Origin {
            file: Some(Path::new("/c.yaml")),
            base: Path::new("/"),
            home: Path::new("/home"),
        };
        let mut added: Added = declare::defaults(&origin);
        assert_eq!(added.things, 3);

        let written = file::read(&mut added, "# two\nthings: 5\n", &origin, false);
        let written = written.expect("a valid file");
        assert_eq!(added.things, 5);
        assert_eq!(written.values, [("things".to_owned(), "5".to_owned(), 2)]);

        let error = file::read(&mut added, "thinks: 1\nthings: 50\n", &origin, false);
        let error = error.expect_err("two mistakes");
        assert_eq!(error.message(), "/c.yaml:1:1: unknown key `thinks`");
        assert_eq!(
            error.hint(),
            Some("did you mean `things`?; also 2:9: `50` is not a number of things from 1 to 9")
        );

        each_variable(added.fields(), "", &mut |key, variable, slot| {
            assert_eq!((key, variable), ("things", "HAFT_THINGS"));
            assert_eq!(slot.set_text("7", &origin), Ok(()));
            Ok(())
        })
        .expect("no error");
        assert_eq!(added.things, 7);

        assert_eq!(
            block(added.fields())["properties"]["things"],
            json!({
                "type": "integer", "minimum": 1, "maximum": 9,
                "description": "Number of things.", "default": "3", "x-variable": "HAFT_THINGS",
            })
        );
    }

    const START: &str = "<!-- The settings: made by `HAFT_BLESS=1 cargo test -p haft-config` -->\n";
    const END: &str = "<!-- end -->\n";

    #[test]
    fn the_reference_and_the_schema_in_docs_follow_the_declarations() {
        let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
        let schema = Config::schema();
        check(&docs.join("config.schema.json"), &format!("{schema:#}\n"));

        let path = docs.join("configuration.md");
        let page = fs::read_to_string(&path).expect("the page");
        let (before, rest) = page.split_once(START).expect("a start");
        let (_, after) = rest.split_once(END).expect("an end");
        let mut table =
            "| setting | default | variable | meaning |\n| --- | --- | --- | --- |\n".to_owned();
        rows(&schema["properties"], "", &mut table);
        rows(&schema["x-variables"], "", &mut table);
        check(&path, &format!("{before}{START}{table}{END}{after}"));
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a switch of the tests, not a setting"
    )]
    fn check(path: &Path, expected: &str) {
        if std::env::var_os("HAFT_BLESS").is_some() {
            fs::write(path, expected).expect("written");
        }
        let found = fs::read_to_string(path).unwrap_or_default();
        assert!(found == expected, "{} is out of date", path.display());
    }

    fn rows(properties: &Value, prefix: &str, table: &mut String) {
        let text = |value: &Value| value.as_str().unwrap_or_default().replace('|', "\\|");
        let code = |text: &str| match text {
            "" => String::new(),
            text => format!("`{text}`"),
        };
        for (name, schema) in properties.as_object().into_iter().flatten() {
            let key = file::dotted(prefix, name);
            let variable = match text(&schema["x-variable"]) {
                variable if variable == key => String::new(),
                variable => code(&variable),
            };
            let meaning = text(&schema["description"]);
            let only = match schema["x-user-only"] {
                Value::Bool(true) => " The user's file only.",
                _ => "",
            };
            let default = code(&text(&schema["default"]));
            *table += &format!("| `{key}` | {default} | {variable} | {meaning}{only} |\n");
            rows(&schema["properties"], &key, table);
            let entries = &schema["additionalProperties"]["properties"];
            let name = schema["x-name"].as_str().unwrap_or_default();
            rows(entries, &file::dotted(&key, name), table);
        }
    }
}
