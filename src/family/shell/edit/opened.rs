//! One file as its manager needs it: its text, its data, its problems. Also for files that are too
//! broken to be a tool: those are the files that people look at.

use std::path::Path;

use super::super::definition::{Datum, Definition};
use super::super::load;
use super::super::read::read;
use super::super::yaml::{self, Node};
use super::{json, mask};
use haft_tool::Problem;

/// A file that was read, with its definition and its problems.
pub(crate) struct Opened {
    pub(crate) text: String,
    /// The name in the file, else the file's name without its extension.
    pub(crate) name: String,
    /// `None` if the problems hold an error.
    pub(crate) definition: Option<Definition>,
    pub(crate) problems: Vec<Problem>,
    pub(super) tree: Option<Node>,
}

/// Reads `text` as the content of `path`, which need not exist.
pub(crate) fn open(path: &Path, text: String) -> Opened {
    let read = read(path, &text);
    // Invalid YAML may still be a tool after a repair (spec cycod 11).
    let parsed = yaml::parse(&text)
        .or_else(|broken| match yaml::repair(&text) {
            Some((repaired, _)) => yaml::parse(&repaired),
            None => Err(broken),
        })
        .ok();
    let tree = parsed.and_then(|(root, _)| root);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let written = tree.as_ref().and_then(|root| root.get("name")?.text());
    Opened {
        name: written.unwrap_or(&stem).to_owned(),
        definition: read.definition,
        problems: read.problems,
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
    /// Returns the data of the file, typed by the table of keys; `None` if it is not YAML.
    pub(crate) fn data(&self) -> Option<Datum> {
        self.tree.as_ref().map(json::data)
    }

    /// Returns the text that may be shown, and the names whose values were left out. The text is
    /// the file's own unless that holds the value of a secret (spec cycod 177).
    pub(crate) fn shown(&self) -> (String, Vec<String>) {
        let Some(mut data) = self.data() else {
            return (self.text.clone(), Vec::new());
        };
        match mask::mask(&mut data) {
            names if names.is_empty() => (self.text.clone(), names),
            names => (super::yaml(&data), names),
        }
    }

    /// Returns the same as data.
    pub(crate) fn shown_data(&self) -> Option<(Datum, Vec<String>)> {
        let mut data = self.data()?;
        let names = mask::mask(&mut data);
        Some((data, names))
    }
}
