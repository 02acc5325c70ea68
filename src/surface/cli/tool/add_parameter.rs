//! Parser for `--parameter NAME DESCRIPTION key=value…` of `haft tool add` (spec cycod 160, 161,
//! 324–337).

use super::add_values::{flag, number, typed, whole};
use super::add_words::Words;
use super::usage;
use crate::tool_files::{Datum, push, set};
use haft_tool::Error;

/// A parameter whose values have no types yet.
pub(super) struct Parameter {
    pub(super) name: String,
    /// Key and value of each `key=value`.
    rules: Vec<(String, String)>,
    description: String,
}

/// Keys that may follow `--parameter NAME DESCRIPTION`.
const RULES: [&str; 13] = [
    "type",
    "required",
    "default",
    "min-length",
    "max-length",
    "pattern",
    "min",
    "max",
    "enum",
    "transform",
    "format",
    "example",
    "escape-shell",
];

impl Parameter {
    /// Parses the words after `--parameter`.
    pub(super) fn read(option: &str, words: &mut Words) -> Result<Parameter, Error> {
        let name = words.value(option, "a name and a description")?;
        // The second word is always the description.
        let description = words.value(option, "a description after the name")?;
        let mut rules = Vec::new();
        while let Some(word) = words.plain() {
            let Some((key, value)) = word.split_once('=') else {
                let text = format!("`{word}` after `--parameter {name}` is not KEY=VALUE");
                let hint = "a description with spaces needs quotes";
                return Err(usage(text).with_hint(hint));
            };
            if !RULES.contains(&key) {
                let text = format!("a parameter has no `{key}`");
                let hint = format!("there are {}", RULES.join(", "));
                return Err(usage(text).with_hint(hint));
            }
            rules.push((key.to_owned(), value.to_owned()));
        }
        Ok(Parameter {
            name,
            rules,
            description,
        })
    }

    pub(super) fn kind(&self) -> &str {
        let mut rules = self.rules.iter().rev();
        rules
            .find(|(key, _)| key == "type")
            .map_or("string", |(_, kind)| kind)
    }

    pub(super) fn data(&self) -> Result<Datum, Error> {
        let kind = self.kind();
        let mut data = Datum::Null;
        set(&mut data, &["type"], Datum::Text(kind.to_owned()));
        let description = Datum::Text(self.description.clone());
        set(&mut data, &["description"], description);
        for (key, value) in &self.rules {
            let text = || Datum::Text(value.clone());
            let said = format!("{key}=");
            match key.as_str() {
                "required" => set(&mut data, &["required"], flag(&said, value)?),
                "escape-shell" => {
                    set(
                        &mut data,
                        &["security", "escape-shell"],
                        flag(&said, value)?,
                    );
                }
                "default" => set(&mut data, &["default"], typed(kind, value)),
                "min-length" => set(
                    &mut data,
                    &["validation", "minLength"],
                    whole(&said, value)?,
                ),
                "max-length" => set(
                    &mut data,
                    &["validation", "maxLength"],
                    whole(&said, value)?,
                ),
                "pattern" => set(&mut data, &["validation", "pattern"], text()),
                "min" => set(&mut data, &["validation", "minimum"], number(&said, value)?),
                "max" => set(&mut data, &["validation", "maximum"], number(&said, value)?),
                "enum" => {
                    // For a list, the choices have the type of its items.
                    let choices = value.split(',').map(|choice| match kind {
                        "number" | "boolean" => typed(kind, choice.trim()),
                        _ => Datum::Text(choice.trim().to_owned()),
                    });
                    set(
                        &mut data,
                        &["validation", "enum"],
                        Datum::List(choices.collect()),
                    );
                }
                "transform" => set(&mut data, &["transform"], text()),
                "format" => set(&mut data, &["format"], text()),
                "example" => push(&mut data, &["examples"], typed(kind, value)),
                _ => {}
            }
        }
        Ok(data)
    }
}
