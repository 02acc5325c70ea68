//! Edits an agent's configuration file: reads it, changes one place, checks it, replaces it whole.

use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value};

use super::agent::{Agent, Format, Place};
use super::entry::{Entry, Refusal, STATIC_HEADERS};
use super::{jsonc, toml, yaml};
use haft_config::paths;
use haft_process::atomic_file::{self, Durability, Overwrite};
use haft_tool::{Error, ErrorKind};

/// Result for the entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    Added,
    Updated,
    /// The file already has the same entry.
    Unchanged,
    Removed,
    /// The entry to remove was missing.
    Absent,
}

/// Writes the entry into the agent's file; everything else in it stays.
///
/// With `is_secret`, only the user can read the file afterwards.
///
/// # Errors
/// [`ErrorKind::Load`] if the file cannot be read, parsed or written. The file is then unchanged.
pub(crate) fn add(
    agent: Agent,
    place: &Place,
    name: &str,
    entry: &Entry,
    is_secret: bool,
) -> Result<Change, Error> {
    let text = read(place)?;
    let had_one = match &text {
        Some(text) => servers(place, text)?.contains_key(name),
        None => false,
    };
    let old = match (&text, place.preamble) {
        (Some(text), _) => text.clone(),
        (None, Some((key, value))) => format!("{{\n  \"{key}\": \"{value}\"\n}}\n"),
        (None, None) => String::new(),
    };
    let new = with_entry(place, &old, name, entry);
    let new = new.map_err(|refusal| refused(agent, place, &refusal))?;
    if text.is_some() && new == old {
        return Ok(Change::Unchanged);
    }
    is_only_this(place, &old, &new, name)?;
    write(place, &new, is_secret)?;
    Ok(if had_one {
        Change::Updated
    } else {
        Change::Added
    })
}

fn with_entry(place: &Place, old: &str, name: &str, entry: &Entry) -> Result<String, Refusal> {
    match place.format {
        Format::Json => jsonc::put(old, &place.keys, name, entry),
        Format::Toml => toml::put(old, &place.keys, name, entry),
        Format::Yaml => yaml::put(old, &place.keys, name, entry),
    }
}

/// Writes an entry of haft's own file.
///
/// # Errors
/// Like [`add`].
pub(super) fn put(place: &Place, name: &str, entry: &Entry) -> Result<(), Error> {
    let old = read(place)?.unwrap_or_default();
    let new = with_entry(place, &old, name, entry);
    let new = new.map_err(|refusal| unreadable(place, &refusal))?;
    is_only_this(place, &old, &new, name)?;
    write(place, &new, false)
}

/// Removes an entry of haft's own file.
///
/// # Errors
/// Like [`add`].
pub(super) fn take(place: &Place, name: &str) -> Result<Change, Error> {
    remove_with(place, name, |refusal| unreadable(place, &refusal))
}

/// Removes the entry from the agent's file.
///
/// # Errors
/// Like [`add`].
pub(crate) fn remove(agent: Agent, place: &Place, name: &str) -> Result<Change, Error> {
    remove_with(place, name, |refusal| refused(agent, place, &refusal))
}

fn remove_with(
    place: &Place,
    name: &str,
    refused: impl Fn(Refusal) -> Error,
) -> Result<Change, Error> {
    let Some(old) = read(place)? else {
        return Ok(Change::Absent);
    };
    let new = match place.format {
        Format::Json => jsonc::take(&old, &place.keys, name),
        Format::Toml => toml::take(&old, &place.keys, name),
        Format::Yaml => yaml::take(&old, &place.keys, name),
    };
    let Some(new) = new.map_err(refused)? else {
        return Ok(Change::Absent);
    };
    is_only_this(place, &old, &new, name)?;
    write(place, &new, false)?;
    Ok(Change::Removed)
}

/// Returns true if the file has a server of that name; `None` if the file does not exist.
///
/// # Errors
/// Like [`add`].
pub(crate) fn lists(place: &Place, name: &str) -> Result<Option<bool>, Error> {
    match read(place)? {
        Some(text) => Ok(Some(servers(place, &text)?.contains_key(name))),
        None => Ok(None),
    }
}

/// Returns the token in the entry of that name, if it has one.
///
/// # Errors
/// Like [`add`].
pub(crate) fn token(place: &Place, name: &str) -> Result<Option<String>, Error> {
    let Some(text) = read(place)? else {
        return Ok(None);
    };
    let servers = servers(place, &text)?;
    let headers = ["headers", STATIC_HEADERS].into_iter();
    let mut headers = headers.filter_map(|key| servers.get(name)?.get(key)?.get("Authorization"));
    let token = headers.find_map(|value| value.as_str()?.strip_prefix("Bearer "));
    Ok(token.map(str::to_owned))
}

/// Returns a whole file with only this entry, for people to copy from.
pub(crate) fn snippet(place: &Place, name: &str, entry: &Entry) -> String {
    match place.format {
        Format::Json => jsonc::alone(&place.keys, name, &entry.whole()),
        Format::Toml => toml::alone(&place.keys, name, entry),
        Format::Yaml => yaml::alone(&place.keys, name, entry),
    }
}

/// Returns a whole file for an agent that reads its servers from a separate file.
pub(crate) fn own_file(name: &str, entry: &Map<String, Value>) -> String {
    jsonc::alone(&["mcpServers".to_owned()], name, entry)
}

fn read(place: &Place) -> Result<Option<String>, Error> {
    paths::read_text(&place.path).map_err(|error| {
        let path = place.path.display();
        let text = format!("cannot read {path}: {}", paths::plain(&error));
        Error::new(ErrorKind::Load, text).with_hint("nothing was changed")
    })
}

fn write(place: &Place, text: &str, is_secret: bool) -> Result<(), Error> {
    let failed = |error: std::io::Error| {
        let path = place.path.display();
        let text = format!("cannot write {path}: {}", paths::plain(&error));
        Error::new(ErrorKind::Load, text).with_hint("the file is as it was")
    };
    if let Some(folder) = place.path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    // A user who links the file to another place keeps the link.
    let real = fs::canonicalize(&place.path).unwrap_or_else(|_| place.path.clone());
    if is_secret {
        atomic_file::write_private(&real, text.as_bytes(), Durability::Synced)
    } else {
        atomic_file::write(&real, text, Overwrite::Yes)
    }
    .map_err(failed)
}

/// Returns the servers in a file.
fn servers(place: &Place, text: &str) -> Result<Map<String, Value>, Error> {
    let mut value = data(place, text)?;
    for key in &place.keys {
        value = value.get_mut(key).map(Value::take).unwrap_or_default();
    }
    Ok(match value {
        Value::Object(servers) => servers,
        _ => Map::new(),
    })
}

/// Checks before writing that both texts mean the same, apart from the entry.
fn is_only_this(place: &Place, old: &str, new: &str, name: &str) -> Result<(), Error> {
    let without = |text: &str| -> Result<Value, Error> {
        let mut value = data(place, text)?;
        prune(&mut value, &place.keys, name);
        Ok(value)
    };
    if without(old)? == without(new)? {
        return Ok(());
    }
    let path: PathBuf = place.path.clone();
    let text = format!(
        "{}: the change would touch more than `{name}`",
        path.display()
    );
    Err(Error::new(ErrorKind::Internal, text)
        .with_hint("nothing was changed; add by hand what the command prints without --write"))
}

/// Removes the entry, and objects that are empty without it.
fn prune(value: &mut Value, keys: &[String], name: &str) {
    let Some(object) = value.as_object_mut() else {
        return;
    };
    let Some((key, rest)) = keys.split_first() else {
        object.shift_remove(name);
        return;
    };
    if let Some(inner) = object.get_mut(key) {
        prune(inner, rest, name);
        // A key without a value is null in YAML.
        if inner.is_null() || inner.as_object().is_some_and(Map::is_empty) {
            object.shift_remove(key);
        }
    }
}

fn data(place: &Place, text: &str) -> Result<Value, Error> {
    match place.format {
        Format::Json => jsonc::value(text).map_err(|refusal| unreadable(place, &refusal)),
        Format::Toml => ::toml::from_str(text).map_err(|error| {
            let before = error.span().and_then(|span| text.get(..span.start));
            unreadable(place, &Refusal::at(before, error.message()))
        }),
        Format::Yaml => yaml::value(text).map_err(|refusal| unreadable(place, &refusal)),
    }
}

fn refused(agent: Agent, place: &Place, refusal: &Refusal) -> Error {
    let hint = format!(
        "nothing was changed; correct the file, or add by hand what `haft agents config {}` prints",
        agent.id()
    );
    unreadable(place, refusal).with_hint(hint)
}

fn unreadable(place: &Place, refusal: &Refusal) -> Error {
    let at = refusal.place;
    let at = at.map_or(String::new(), |(line, column)| format!(":{line}:{column}"));
    let text = format!("{}{at}: {}", place.path.display(), refusal.message);
    Error::new(ErrorKind::Load, text).with_hint("nothing was changed; correct the file")
}
