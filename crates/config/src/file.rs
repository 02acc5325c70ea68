//! Parser of `config.yaml`: stores its values in the declared settings, and names the exact place
//! of each error. All errors of a file are reported at once.
//!
//! Unknown keys are refused with the nearest known one as a hint, because a typo that is silently
//! ignored is hard to find.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use haft_tool::error::{Error, ErrorKind};
use haft_tool::{Problem, known_here};
use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;
use serde_saphyr::{Location, Spanned};

use super::declare::{Blocks, Field, Origin, Settings, Write};
use super::{Permission, kodelet, paths, yaml};

/// Settings that a file has.
#[derive(Debug, Default)]
pub(super) struct Written {
    /// Dotted keys, their values and their lines.
    pub(super) values: Vec<(String, String, u32)>,
    /// Warnings about settings that are not used.
    pub(super) problems: Vec<Problem>,
}

impl Written {
    /// Returns true if the file sets the setting.
    pub(super) fn has(&self, key: &str) -> bool {
        self.line_of(key).is_some()
    }

    /// Returns the line of the setting, if the file sets it.
    pub(super) fn line_of(&self, key: &str) -> Option<u32> {
        let mut values = self.values.iter();
        let (_, _, line) = values.find(|(written, ..)| written == key)?;
        Some(*line)
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

/// Sets the settings that the file has. A project's file may set neither its own trust nor the
/// approval of its tools.
pub(super) fn read(
    settings: &mut impl Settings,
    text: &str,
    origin: &Origin<'_>,
    is_project: bool,
) -> Result<Written, Error> {
    let reader = Reader {
        origin,
        is_project,
        errors: RefCell::default(),
        written: RefCell::default(),
    };
    let block = Block {
        keys: Keys::Fields(&mut settings.fields()),
        prefix: "",
        reader: &reader,
    };
    let parsed = serde_saphyr::with_deserializer_from_str(text, |yaml| block.deserialize(yaml));
    let mut errors = reader.errors.into_inner();
    if let Err(error) = parsed {
        let (message, place) = yaml::explain(&error);
        let hint = "correct the line, or use another file with --config".to_owned();
        errors.push((message, place, hint));
    }
    let mut errors = errors.into_iter();
    let Some((message, place, mut hint)) = errors.next() else {
        return Ok(reader.written.into_inner());
    };
    let numbers = |place: Option<(u32, u32)>| {
        place.map_or(String::new(), |(line, column)| format!("{line}:{column}: "))
    };
    for (message, place, _) in errors {
        hint = format!("{hint}; also {}{message}", numbers(place));
    }
    let file = origin.file.unwrap_or(origin.base).display();
    let text = match place {
        Some((line, column)) => format!("{file}:{line}:{column}: {message}"),
        None => format!("{file}: {message}"),
    };
    Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
}

/// Message, place (line and column) and hint.
type Mistake = (String, Option<(u32, u32)>, String);

struct Reader<'a> {
    origin: &'a Origin<'a>,
    is_project: bool,
    errors: RefCell<Vec<Mistake>>,
    written: RefCell<Written>,
}

impl Reader<'_> {
    fn record(&self, key: &str, value: impl Into<String>, at: Location) {
        let line = u32::try_from(at.line()).unwrap_or_default();
        let mut written = self.written.borrow_mut();
        written.values.push((key.to_owned(), value.into(), line));
    }

    fn fail(&self, message: String, at: Location, hint: String) {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        let place = Some((number(at.line()), number(at.column())));
        self.errors.borrow_mut().push((message, place, hint));
    }

    /// Reports a wrong value.
    fn check(&self, result: Result<(), String>, at: Location) {
        if let Err(message) = result {
            let hint = "correct the line, or use another file with --config";
            self.fail(message, at, hint.to_owned());
        }
    }
}

pub(super) fn dotted(prefix: &str, key: &str) -> String {
    match prefix {
        "" => key.to_owned(),
        prefix => format!("{prefix}.{key}"),
    }
}

/// Reader of a block.
struct Block<'r, 'f> {
    keys: Keys<'r, 'f>,
    prefix: &'r str,
    reader: &'r Reader<'r>,
}

enum Keys<'r, 'f> {
    Fields(&'r mut [Field<'f>]),
    /// Names or patterns, each with a block.
    Blocks(&'r mut (dyn Blocks + 'f)),
}

/// Reader of the value of a setting.
struct FieldValue<'r, 'f> {
    field: &'r mut Field<'f>,
    key: &'r str,
    at: Location,
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

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<(), A::Error> {
        let (prefix, reader) = (self.prefix, self.reader);
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let (key, at) = (key.value, key.referenced);
            let full = &dotted(prefix, &key);
            match &mut self.keys {
                Keys::Fields(fields) => match find(fields, &key, full, reader.is_project) {
                    Ok(field) => map.next_value_seed(FieldValue {
                        field,
                        key: full,
                        at,
                        reader,
                    })?,
                    Err((message, hint)) => {
                        reader.fail(message, at, hint);
                        map.next_value::<IgnoredAny>()?;
                    }
                },
                Keys::Blocks(blocks) => {
                    reader.check(blocks.check(&key), at);
                    map.next_value_seed(Block {
                        keys: Keys::Fields(&mut blocks.entry(&key)),
                        prefix: full,
                        reader,
                    })?;
                }
            }
        }
        Ok(())
    }
}

/// Reader of blocks, in whose place a text can be.
struct BlockOrText<'r, 'f> {
    block: Block<'r, 'f>,
    /// The block and its setting that the text is for.
    place: (&'static str, &'static str),
    at: Location,
}

impl<'de> Visitor<'de> for BlockOrText<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text or a map of settings")
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<(), A::Error> {
        self.block.visit_map(map)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        let Block {
            keys,
            prefix,
            reader,
        } = self.block;
        let (name, key) = self.place;
        if let Keys::Blocks(blocks) = keys {
            let mut fields = blocks.entry(name);
            if let Some(field) = fields.iter_mut().find(|field| field.key == key) {
                reader.check(field.slot.set_text(text, reader.origin), self.at);
                reader.record(&dotted(&dotted(prefix, name), key), text, self.at);
            }
        }
        Ok(())
    }
}

/// Returns the field of that key, else a message and a hint.
fn find<'r, 'f>(
    fields: &'r mut [Field<'f>],
    key: &str,
    full: &str,
    is_project: bool,
) -> Result<&'r mut Field<'f>, (String, String)> {
    let known = fields.iter().map(|field| field.key);
    let known: Vec<&str> = known.filter(|key| !key.is_empty()).collect();
    if !known.contains(&key) {
        let hint = known_here(key, &known);
        return Err((format!("unknown key `{key}`"), hint));
    }
    match fields.iter_mut().find(|field| field.key == key) {
        Some(Field {
            user_only: Some(other),
            ..
        }) if is_project => Err((
            format!("`{full}` cannot stand in a project's file"),
            format!("move it to ~/.config/haft/config.yaml, or use {other}"),
        )),
        Some(field) => Ok(field),
        None => Err((format!("unknown key `{key}`"), known.join(", "))),
    }
}

type Word = Spanned<String>;

impl<'de> DeserializeSeed<'de> for FieldValue<'_, '_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, yaml: D) -> Result<(), D::Error> {
        let (key, reader) = (self.key, self.reader);
        let origin = reader.origin;
        match &mut self.field.slot.write {
            Write::Text(set) => {
                if let Some(text) = Option::<Word>::deserialize(yaml)? {
                    reader.check(set(&text.value, origin), text.referenced);
                    reader.record(key, text.value, text.referenced);
                }
            }
            Write::List { check, set, .. } => {
                if let Some(items) = Option::<Vec<Word>>::deserialize(yaml)? {
                    for item in &items {
                        reader.check(check(&item.value), item.referenced);
                    }
                    let items: Vec<String> = items.into_iter().map(|item| item.value).collect();
                    reader.record(key, items.join(", "), self.at);
                    set(items, origin);
                }
            }
            Write::Map(set) => {
                let entries = Option::<BTreeMap<String, Word>>::deserialize(yaml)?;
                for (name, text) in entries.into_iter().flatten() {
                    reader.check(set(&name, &text.value), text.referenced);
                    reader.record(&dotted(key, &name), text.value, text.referenced);
                }
            }
            Write::Lists(slot) => {
                let lists = Option::<BTreeMap<String, Vec<String>>>::deserialize(yaml)?;
                for (name, items) in lists.into_iter().flatten() {
                    reader.record(&dotted(key, &name), items.join(", "), self.at);
                    slot.insert(name, items);
                }
            }
            Write::Permission(set) => {
                if let Some(granted) = Option::<Permission>::deserialize(yaml)? {
                    reader.record(key, granted.to_string().replace('`', ""), self.at);
                    reader.check(set(granted, origin), self.at);
                }
            }
            Write::Blocks(blocks) => {
                let short_form = blocks.short_form();
                let block = Block {
                    keys: Keys::Blocks(&mut **blocks),
                    prefix: key,
                    reader,
                };
                match short_form {
                    None => yaml.deserialize_map(block)?,
                    Some(place) => {
                        let at = self.at;
                        yaml.deserialize_any(BlockOrText { block, place, at })?;
                    }
                }
            }
            Write::Block(fields) => yaml.deserialize_map(Block {
                keys: Keys::Fields(fields),
                prefix: key,
                reader,
            })?,
            Write::Foreign(fields) => {
                let block = Option::<Value>::deserialize(yaml)?.unwrap_or_default();
                let read = kodelet::read(&block, fields, origin);
                reader.written.borrow_mut().problems.extend(read.problems);
                for (name, value) in read.values {
                    reader.record(&dotted(key, name), value, self.at);
                }
            }
        }
        Ok(())
    }
}
