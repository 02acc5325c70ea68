//! Parser of `config.yaml`: stores its values in the declared settings, and names the exact place
//! of each error.
//!
//! Unknown keys are refused with the nearest known one as a hint, because a typo that is silently
//! ignored is hard to find. A relative tool path starts at the file's own folder (the user's file)
//! or at the project (the project's file), never at the current directory.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use serde::Deserialize;
use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::declare::{Field, Origin, Settings, Write};
use super::{Permission, kodelet, mcp, paths, yaml};
use crate::error::{Error, ErrorKind};
use crate::tool::{Problem, suggest};

/// Settings that a file has.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Dotted keys and their values.
    pub(super) values: Vec<(String, String)>,
    /// Warnings about settings that are not used.
    pub(super) problems: Vec<Problem>,
}

impl Written {
    /// Returns true if the file sets the setting.
    pub(super) fn has(&self, key: &str) -> bool {
        self.values.iter().any(|(written, _)| written == key)
    }
}

/// Returns the text of a configuration file, if it exists.
pub(super) fn text(path: &Path) -> Result<Option<String>, Error> {
    paths::read_text(path).map_err(|error| {
        let text = format!(
            "cannot read the configuration file {}: {}",
            path.display(),
            paths::plain(&error)
        );
        Error::new(ErrorKind::Usage, text).with_hint("make it a readable text file, or remove it")
    })
}

/// Reads the user's file. Its relative paths start at its folder.
pub(super) fn user(
    settings: &mut impl Settings,
    path: &Path,
    text: &str,
    home: &Path,
) -> Result<Written, Error> {
    let base = path.parent().unwrap_or(path);
    read(settings, path, text, base, home, false)
}

/// Reads the file of a trusted project. Its relative paths start at the project. It may set neither
/// its own trust nor the approval of its tools.
pub(super) fn project(
    settings: &mut impl Settings,
    path: &Path,
    text: &str,
    home: &Path,
) -> Result<Written, Error> {
    let base = path.parent().and_then(Path::parent).unwrap_or(path);
    read(settings, path, text, base, home, true)
}

fn read(
    settings: &mut impl Settings,
    path: &Path,
    text: &str,
    base: &Path,
    home: &Path,
    is_project: bool,
) -> Result<Written, Error> {
    let reader = Reader {
        origin: Origin {
            file: Some(path),
            base,
            home,
        },
        is_project,
        hint: RefCell::default(),
        written: RefCell::default(),
    };
    let block = Block {
        fields: &mut settings.fields(),
        prefix: "",
        reader: &reader,
    };
    let parsed = serde_saphyr::with_deserializer_from_str(text, |yaml| block.deserialize(yaml));
    let Err(error) = parsed else {
        return Ok(reader.written.into_inner());
    };
    let (message, place) = yaml::explain(&error);
    let place = place.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
    let text = format!("{}{place}: {message}", path.display());
    let hint = reader.hint.into_inner();
    let hint = hint.unwrap_or("correct the line, or use another file with --config".to_owned());
    Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
}

struct Reader<'a> {
    origin: Origin<'a>,
    is_project: bool,
    /// Hint of the error, if it has one of its own.
    hint: RefCell<Option<String>>,
    written: RefCell<Written>,
}

impl Reader<'_> {
    fn record(&self, key: &str, value: String) {
        let written = &mut self.written.borrow_mut().values;
        written.push((key.to_owned(), value));
    }
}

fn dotted(prefix: &str, key: &str) -> String {
    match prefix {
        "" => key.to_owned(),
        prefix => format!("{prefix}.{key}"),
    }
}

/// Reads a block, whose keys are fields.
struct Block<'r, 'f> {
    fields: &'r mut [Field<'f>],
    prefix: &'r str,
    reader: &'r Reader<'r>,
}

/// Reads the key of a field, and returns its index.
struct Key<'r, 'f> {
    fields: &'r [Field<'f>],
    prefix: &'r str,
    reader: &'r Reader<'r>,
}

/// Reads the value of a field.
struct FieldValue<'r, 'f> {
    field: &'r mut Field<'f>,
    key: &'r str,
    reader: &'r Reader<'r>,
}

/// Reads one value as text.
struct Text<F>(F);

/// Reads a list of texts.
struct List<'r>(&'r dyn Fn(&str) -> Result<(), String>);

/// Reads a map from names to texts.
struct Map<'r>(&'r mut dyn FnMut(&str, &str) -> Result<(), String>);

/// Reads settings by pattern.
struct Patterns<'r> {
    patterns: &'r mut BTreeMap<String, mcp::McpToolSettings>,
    prefix: &'r str,
    reader: &'r Reader<'r>,
}

impl<'de> DeserializeSeed<'de> for Block<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<(), D::Error> {
        yaml.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Block<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let (prefix, reader) = (self.prefix, self.reader);
        while let Some(index) = map.next_key_seed(Key {
            fields: self.fields,
            prefix,
            reader,
        })? {
            let field = &mut self.fields[index];
            let key = &dotted(prefix, field.key);
            map.next_value_seed(FieldValue { field, key, reader })?;
        }
        Ok(())
    }
}

impl<'de> DeserializeSeed<'de> for Key<'_, '_> {
    type Value = usize;

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<usize, D::Error> {
        yaml.deserialize_str(self)
    }
}

impl<'de> Visitor<'de> for Key<'_, '_> {
    type Value = usize;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a setting")
    }

    fn visit_str<E: de::Error>(self, key: &str) -> Result<usize, E> {
        let known = || self.fields.iter().map(|field| field.key);
        let fail = |message: String, hint: String| {
            self.reader.hint.replace(Some(hint));
            Err(E::custom(message))
        };
        let index = known().position(|known| known == key && !known.is_empty());
        let Some(index) = index else {
            let known = || known().filter(|known| !known.is_empty());
            let hint = match suggest(key, known()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("known here: {}", known().collect::<Vec<_>>().join(", ")),
            };
            return fail(format!("unknown key `{key}`"), hint);
        };
        match self.fields[index].user_only {
            Some(other) if self.reader.is_project => {
                let key = dotted(self.prefix, key);
                let hint = format!("move it to ~/.config/haft/config.yaml, or use {other}");
                fail(format!("`{key}` cannot stand in a project's file"), hint)
            }
            _ => Ok(index),
        }
    }
}

impl<'de> DeserializeSeed<'de> for FieldValue<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<(), D::Error> {
        let (key, reader) = (self.key, self.reader);
        let origin = &reader.origin;
        match &mut self.field.slot.write {
            Write::Text(set) => {
                let read = Text(|text: &str| set(text, origin).map(|()| text.to_owned()));
                if let Some(text) = yaml.deserialize_option(read)? {
                    reader.record(key, text);
                }
            }
            Write::List { check, set, .. } => {
                if let Some(items) = yaml.deserialize_option(List(check))? {
                    reader.record(key, items.join(", "));
                    set(items, origin);
                }
            }
            Write::Map(set) => yaml.deserialize_map(Map(&mut |name, text| {
                reader.record(&dotted(key, name), text.to_owned());
                set(name, text)
            }))?,
            Write::Lists(slot) => {
                let lists = Option::<BTreeMap<String, Vec<String>>>::deserialize(yaml)?;
                for (name, items) in lists.into_iter().flatten() {
                    reader.record(&dotted(key, &name), items.join(", "));
                    slot.insert(name, items);
                }
            }
            Write::Permission(set) => {
                if let Some(granted) = Option::<Permission>::deserialize(yaml)? {
                    reader.record(key, granted.to_string().replace('`', ""));
                    set(granted, origin);
                }
            }
            Write::Patterns(patterns) => yaml.deserialize_map(Patterns {
                patterns,
                prefix: key,
                reader,
            })?,
            Write::Block(fields) => yaml.deserialize_map(Block {
                fields,
                prefix: key,
                reader,
            })?,
            Write::Foreign(fields) => {
                let block = Option::<Value>::deserialize(yaml)?.unwrap_or_default();
                let read = kodelet::read(&block, fields, origin);
                reader.written.borrow_mut().problems.extend(read.problems);
                for (name, value) in read.values {
                    reader.record(&dotted(key, name), value);
                }
            }
        }
        Ok(())
    }
}

impl<'de, T, F: FnOnce(&str) -> Result<T, String>> DeserializeSeed<'de> for Text<F> {
    type Value = T;

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<T, D::Error> {
        let text = String::deserialize(yaml)?;
        self.0(&text).map_err(de::Error::custom)
    }
}

impl<'de, T, F: FnOnce(&str) -> Result<T, String>> Visitor<'de> for Text<F> {
    type Value = Option<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a single value")
    }

    fn visit_none<E>(self) -> Result<Option<T>, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, yaml: D) -> Result<Option<T>, D::Error> {
        self.deserialize(yaml).map(Some)
    }
}

impl<'de> Visitor<'de> for List<'_> {
    type Value = Option<Vec<String>>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_none<E>(self) -> Result<Self::Value, E> {
        Ok(None)
    }

    fn visit_some<D: Deserializer<'de>>(self, yaml: D) -> Result<Self::Value, D::Error> {
        yaml.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
        let mut items = Vec::new();
        let check = |text: &str| (self.0)(text).map(|()| text.to_owned());
        while let Some(item) = list.next_element_seed(Text(check))? {
            items.push(item);
        }
        Ok(Some(items))
    }
}

impl<'de> Visitor<'de> for Map<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(name) = map.next_key::<String>()? {
            map.next_value_seed(Text(|text: &str| (self.0)(&name, text)))?;
        }
        Ok(())
    }
}

impl<'de> Visitor<'de> for Patterns<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map from patterns of tool names to settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let pattern = |text: &str| mcp::matcher(text).map(|_| text.to_owned());
        while let Some(name) = map.next_key_seed(Text(pattern))? {
            let prefix = &dotted(self.prefix, &name);
            map.next_value_seed(Block {
                fields: &mut self.patterns.entry(name).or_default().fields(),
                prefix,
                reader: self.reader,
            })?;
        }
        Ok(())
    }
}
