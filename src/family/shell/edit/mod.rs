//! Writing and repairing files of the format: the counterpart of `read`.
//!
//! Pure: texts in, texts out. `tool_files` decides where files lie and which may be replaced.

mod advice;
mod data;
mod fix;
mod write;

use std::path::Path;

use super::definition::{Datum, Definition};
use super::load;
use super::read::{Read, read};
use super::yaml::Node;
use haft_tool::Problem;

pub(crate) use advice::advice;
pub(crate) use data::{Key, pretty};
pub(crate) use fix::{Fixed, fix};
pub(crate) use write::yaml;

/// A file that was read, with its definition and its problems. It may be too broken to be a tool:
/// such files are the ones that people look at.
pub(crate) struct Opened {
    pub(crate) text: String,
    /// The name in the file, else the file's name without its extension.
    pub(crate) name: String,
    /// `None` if the problems hold an error.
    pub(crate) definition: Option<Definition>,
    pub(crate) problems: Vec<Problem>,
    tree: Option<Node>,
}

/// Reads `text` as the content of `path`, which need not exist.
pub(crate) fn open(path: &Path, text: String) -> Opened {
    let Read {
        definition,
        problems,
        tree,
    } = read(path, &text);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let written = tree.as_ref().and_then(|root| root.get("name")?.text());
    Opened {
        name: written.unwrap_or(&stem).to_owned(),
        definition,
        problems,
        text,
        tree,
    }
}

/// Reads the file at `path`. If it cannot be read, that is its only problem.
pub(crate) fn open_file(path: &Path) -> Opened {
    match load::text_at(path, path) {
        Ok(text) => open(path, text),
        Err(problem) => Opened {
            text: String::new(),
            name: path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            definition: None,
            problems: vec![*problem],
            tree: None,
        },
    }
}

impl Opened {
    /// Returns the data of the file, typed by the schema; `None` if it is not YAML.
    pub(crate) fn data(&self) -> Option<Datum> {
        self.tree.as_ref().map(data::data)
    }

    /// Returns the text that may be shown, and the names whose values were left out. The text is
    /// the file's own unless that holds the value of a secret (spec cycod 177).
    pub(crate) fn shown(&self) -> (String, Vec<String>) {
        let Some(mut data) = self.data() else {
            return (self.text.clone(), Vec::new());
        };
        match data::mask(&mut data) {
            names if names.is_empty() => (self.text.clone(), names),
            names => (yaml(&data), names),
        }
    }

    /// Returns the same as data.
    pub(crate) fn shown_data(&self) -> Option<(Datum, Vec<String>)> {
        let mut data = self.data()?;
        let names = data::mask(&mut data);
        Some((data, names))
    }
}

/// Renames a tool in its file's text and changes nothing else. Returns the text with the new name; `None` if its `name:` cannot be replaced in place.
pub(crate) fn renamed(path: &Path, text: &str, name: &str) -> Option<String> {
    let tree = open(path, text.to_owned()).tree?;
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    let line = format!("name: {name}\n");
    let place = |line: u32| usize::try_from(line).ok()?.checked_sub(1);
    match tree.entries().iter().find(|entry| entry.key == "name") {
        Some(entry) => {
            let at = place(entry.place.line)?;
            *lines.get_mut(at)? = line;
        }
        None => {
            let first = tree.entries().first()?;
            lines.insert(place(first.place.line)?, line);
        }
    }
    let text = lines.concat();
    // The replacement fails for a name over several lines and for a file in braces: check the
    // result.
    let after = open(path, text.clone());
    let is_same = after.name == name
        && after.tree.is_some_and(|after| {
            let others = |node: &Node| -> Vec<_> {
                let entries = node.entries().iter().filter(|entry| entry.key != "name");
                entries
                    .map(|entry| (entry.key.clone(), entry.value.to_datum()))
                    .collect()
            };
            others(&after) == others(&tree)
        });
    is_same.then_some(text)
}
