//! Parser of a file's text to a [`Definition`], with everything that is wrong with it.
//!
//! The tree of the file is checked by the schema, read into the definition, and then checked by the
//! rules that a schema cannot say. A later check runs even if an earlier one found errors, so that
//! an author gets all of them at once.

mod parameter;
mod relations;
mod work;

use std::collections::HashSet;
use std::path::Path;

use super::definition::{Definition, Place};
use super::format;
use super::report::Report;
use super::yaml::{self, Broken, Node, Value};
use haft_tool::Problem;

/// Result of reading a file.
pub(crate) struct Read {
    /// `None` if the problems hold at least one error.
    pub(crate) definition: Option<Definition>,
    /// The problems, sorted by place.
    pub(crate) problems: Vec<Problem>,
    /// The content of the file as it was written; `None` if it is not YAML.
    pub(crate) tree: Option<Node>,
}

/// Reads the text of the file at `path` without touching any file.
pub(crate) fn read(path: &Path, text: &str) -> Read {
    // A byte order mark before the first line is not part of the text.
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut report = Report::new(path, text);
    let tree = tree(text, &mut report);
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let definition = tree
        .as_ref()
        .and_then(|root| definition(root, &stem, &mut report));
    Read {
        definition: definition.filter(|_| !report.has_errors()),
        problems: report.finish(),
        tree,
    }
}

/// Reads the definition in `root`. Values that are not allowed are left out, and reported.
fn definition(root: &Node, stem: &str, report: &mut Report<'_>) -> Option<Definition> {
    let checked = format::check(root, report);
    let mut tree = checked.root?;
    parameter::remove_misfits(&mut tree, report);
    let mut definition: Definition = match yaml::from_node(&tree) {
        Ok(definition) => definition,
        Err(error) => {
            let text = format!("the file cannot be read: {error}");
            report.error(root.place, text, "correct the value");
            return None;
        }
    };
    name(root, stem, &mut definition, report);
    if root.filled_text("description").is_none() {
        report.error(
            root.place,
            "Tool description is required.",
            "add `description: …`: a model decides by it",
        );
    }
    if definition.version.is_empty() {
        definition.version = "1.0.0".to_owned();
    }
    if let Some(node) = root.get("version")
        && semver::Version::parse(&definition.version).is_err()
    {
        report.warning(
            node.place,
            format!("`{}` is not a semantic version", definition.version),
            "write three numbers, for example `1.0.0`",
        );
    }
    work::check(root, &mut definition, report);
    if let Some(node) = root.get("parameters") {
        parameter::check(node.entries(), &mut definition.parameters, report);
    }
    variables(root, report);
    let mut names = HashSet::new();
    let tests = root.get("tests").map(Node::items).unwrap_or_default();
    for test in tests {
        if matches!(test.value, Value::Map(_)) {
            work::unique_name("test", test, &mut names, report);
        }
    }
    relations::check(&definition, report);
    Some(definition)
}

/// Sets the name to the file's if it has none (spec cycod 3). It becomes part of paths and of
/// commands, so it is checked (spec cycod 12).
fn name(root: &Node, stem: &str, definition: &mut Definition, report: &mut Report<'_>) {
    let written = root.get("name").filter(|node| node.text().is_some());
    let (place, hint) = match written {
        Some(node) => (node.place, "use letters, digits, `-` and `_`"),
        None => {
            definition.name = stem.to_owned();
            (
                Place { line: 1, column: 1 },
                "rename the file, or add `name: …` with letters, digits, `-` and `_`",
            )
        }
    };
    let name = &definition.name;
    let is_harmless = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
    if !is_harmless {
        report.error(
            place,
            format!("`{name}` cannot be the name of a tool"),
            hint,
        );
    }
}

/// Reports invalid names and values below `environment.variables` of a tool or a step.
fn variables(node: &Node, report: &mut Report<'_>) {
    let variables = node.get("environment").and_then(|own| own.get("variables"));
    for entry in variables.map(Node::entries).unwrap_or_default() {
        let is_name = !entry.key.is_empty()
            && !entry.key.contains(['=', '\0'])
            && !entry.key.contains(char::is_whitespace);
        if !is_name {
            report.error(
                entry.place,
                format!("`{}` cannot be the name of a variable", entry.key),
                "a name holds no `=` and no spaces",
            );
        }
        if entry.value.text().is_some_and(|text| text.contains('\0')) {
            report.error(
                entry.value.place,
                format!("the value of `{}` holds a NUL", entry.key),
                "no program can be given a NUL; remove it",
            );
        }
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
