//! Edits one entry of a TOML file and leaves everything around it unchanged.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, InlineTable, Item, Table, TableLike};

use super::entry::{Entry, OWN_KEYS, Refusal, STATIC_HEADERS};

/// Returns a file with only this entry.
pub(super) fn alone(keys: &[String], name: &str, entry: &Entry) -> String {
    put("", keys, name, entry).unwrap_or_default()
}

/// Returns the text with the entry in it.
pub(super) fn put(
    text: &str,
    keys: &[String],
    name: &str,
    entry: &Entry,
) -> Result<String, Refusal> {
    let mut document = parse(text)?;
    let mut servers: &mut dyn TableLike = document.as_table_mut();
    let mut is_inline = false;
    for key in keys {
        let item = servers.entry(key).or_insert_with(|| empty(is_inline, true));
        is_inline = item.is_inline_table();
        servers = item.as_table_like_mut().ok_or_else(|| no_table(key))?;
    }
    let is_new = !servers.contains_key(name);
    let item = servers
        .entry(name)
        .or_insert_with(|| empty(is_inline, false));
    let table = item.as_table_like_mut().ok_or_else(|| no_table(name))?;
    for key in OWN_KEYS {
        if !entry.server.contains_key(key) {
            table.remove(key);
        }
    }
    for (key, value) in &entry.server {
        // New headers must be written. Without new ones, old headers stay: they may be the user's
        // own.
        if is_new || key == STATIC_HEADERS || OWN_KEYS.contains(&key.as_str()) {
            set(table, key, value);
        }
    }
    for setting in &entry.settings {
        if setting.is_given || !table.contains_key(setting.key) {
            set(table, setting.key, &setting.value);
        }
    }
    Ok(document.to_string())
}

/// Returns the text without the entry; `None` if it has no such entry.
pub(super) fn take(text: &str, keys: &[String], name: &str) -> Result<Option<String>, Refusal> {
    let mut document = parse(text)?;
    let mut servers: &mut dyn TableLike = document.as_table_mut();
    for key in keys {
        let Some(next) = servers.get_mut(key) else {
            return Ok(None);
        };
        servers = next.as_table_like_mut().ok_or_else(|| no_table(key))?;
    }
    let taken = servers.remove(name);
    Ok(taken.map(|_| document.to_string()))
}

fn parse(text: &str) -> Result<DocumentMut, Refusal> {
    text.parse::<DocumentMut>().map_err(|error| {
        let before = error.span().and_then(|span| text.get(..span.start));
        Refusal::at(before, error.message())
    })
}

fn no_table(key: &str) -> Refusal {
    Refusal::at(None, &format!("`{key}` is not a table there"))
}

/// Returns an empty table in the form of its parent. An implicit table has no header of its own.
fn empty(is_inline: bool, is_implicit: bool) -> Item {
    if is_inline {
        return Item::Value(InlineTable::new().into());
    }
    let mut table = Table::new();
    table.set_implicit(is_implicit);
    Item::Table(table)
}

/// Sets one value; the comments around an old value stay.
fn set(table: &mut dyn TableLike, key: &str, value: &Value) {
    let Some(Item::Value(old)) = table.get_mut(key) else {
        table.insert(key, Item::Value(written(value)));
        return;
    };
    if plain(old).as_ref() != Some(value) {
        let decor = old.decor().clone();
        *old = written(value);
        *old.decor_mut() = decor;
    }
}

/// Converts a value. Entries hold only texts, lists and tables of texts, booleans and whole
/// numbers.
fn written(value: &Value) -> toml_edit::Value {
    match value {
        Value::Array(words) => {
            let words = words.iter().filter_map(Value::as_str);
            toml_edit::Value::Array(Array::from_iter(words))
        }
        Value::Object(texts) => {
            let texts = texts.iter();
            let texts = texts.filter_map(|(key, text)| Some((key.as_str(), text.as_str()?)));
            toml_edit::Value::InlineTable(InlineTable::from_iter(texts))
        }
        Value::Bool(is_on) => (*is_on).into(),
        Value::Number(number) => number.as_i64().unwrap_or_default().into(),
        other => other.as_str().unwrap_or_default().into(),
    }
}

fn plain(value: &toml_edit::Value) -> Option<Value> {
    match value {
        toml_edit::Value::String(text) => Some(Value::from(text.value().as_str())),
        toml_edit::Value::Boolean(is_on) => Some(Value::from(*is_on.value())),
        toml_edit::Value::Integer(number) => Some(Value::from(*number.value())),
        toml_edit::Value::InlineTable(table) => table
            .iter()
            .map(|(key, text)| Some((key.to_owned(), Value::from(text.as_str()?))))
            .collect::<Option<_>>()
            .map(Value::Object),
        toml_edit::Value::Array(words) => words
            .iter()
            .map(|word| word.as_str().map(Value::from))
            .collect(),
        _ => None,
    }
}
