//! Parser of a file's text to a [`Definition`], with everything that is wrong with it.
//!
//! Three passes over one tree: the shape of every value by the table of keys, the definition, and
//! the relations of its parts. A later pass runs even if an earlier one found errors, so that an
//! author gets all of them at once.

mod command;
mod parameter;
mod relations;
mod sections;
mod step;
mod tool;

use std::path::Path;

use super::definition::{Definition, Place};
use super::format::{self, TOOL};
use super::report::Report;
use super::yaml::{self, Broken, Node};
use haft_tool::{Problem, suggest};

/// Result of reading a file.
pub(crate) struct Read {
    /// `None` if the problems hold at least one error.
    pub(crate) definition: Option<Definition>,
    /// The problems, sorted by place.
    pub(crate) problems: Vec<Problem>,
}

/// Reads the text of the file at `path` without touching any file.
pub(crate) fn read(path: &Path, text: &str) -> Read {
    // A byte order mark before the first line is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut report = Report::new(path, text);
    let definition = tree(text, &mut report).map(|root| {
        format::check(&TOOL, &root, &mut report);
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        let definition = tool::tool(&root, &stem, &mut report);
        relations::check(&definition, &mut report);
        definition
    });
    let definition = definition.filter(|_| !report.has_errors());
    Read {
        definition,
        problems: report.finish(),
    }
}

/// Parses the file to a tree; if that fails, again with its command lines quoted (spec cycod 11).
fn tree(text: &str, report: &mut Report<'_>) -> Option<Node> {
    let parsed = match yaml::parse(text) {
        Ok(parsed) => parsed,
        Err(first) => match repaired(text) {
            Some((parsed, places)) => {
                for place in places {
                    report.warning(
                        place,
                        "not valid YAML as it stands: the rest of the line is taken as it is",
                        "put it into quotes, or write it below a `|`",
                    );
                }
                parsed
            }
            None => {
                report.error(first.place, first.message, first.hint);
                return None;
            }
        },
    };
    let (root, broken) = parsed;
    for Broken {
        message,
        place,
        hint,
    } in broken
    {
        report.error(place, message, hint);
    }
    let is_empty = root.is_none();
    if is_empty {
        let place = Place { line: 1, column: 1 };
        report.error(
            place,
            "the file is empty",
            "a tool has at least a `description` and a command",
        );
    }
    root.filter(|_| !is_empty)
}

type Parsed = (Option<Node>, Vec<Broken>);

fn repaired(text: &str) -> Option<(Parsed, Vec<Place>)> {
    let (text, places) = yaml::repair(text)?;
    Some((yaml::parse(&text).ok()?, places))
}

/// Returns the value that `word` names. An unknown name is an error at its place.
fn word<T: Copy>(
    node: Option<&Node>,
    key: &str,
    names: &[(&'static str, T)],
    report: &mut Report<'_>,
) -> Option<T> {
    let node = node?;
    let text = node.text()?;
    let found = names.iter().find(|(name, _)| *name == text);
    if found.is_none() {
        let known: Vec<&str> = names.iter().map(|(name, _)| *name).collect();
        let hint = match suggest(text, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "use one of these words".to_owned(),
        };
        report.error(
            node.place,
            format!("`{key}` must be one of: {}; not `{text}`", known.join(", ")),
            hint,
        );
    }
    found.map(|(_, value)| *value)
}

fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.text().map(str::to_owned)
}

fn texts(node: &Node, key: &str) -> Vec<String> {
    node.get(key).map(Node::texts).unwrap_or_default()
}

fn flag(node: &Node, key: &str) -> Option<bool> {
    node.get(key)?.flag()
}

fn millis(node: &Node, key: &str) -> Option<std::time::Duration> {
    let millis = node.get(key)?.whole()?;
    u64::try_from(millis)
        .ok()
        .map(std::time::Duration::from_millis)
}
