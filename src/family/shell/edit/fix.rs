//! Safe repairs in place: everything else of the file, comments included, stays as its author wrote
//! it (spec cycod 173).

use std::path::Path;

use super::super::definition::Place;
use super::super::format::{Schema, Shape};
use super::super::yaml::{Node, Value};
use super::{Opened, open, write};
use haft_tool::Severity;

/// Text of a file after its repairs.
pub(crate) struct Fixed {
    pub(crate) text: String,
    /// The changes, one line each; empty if the text is the same.
    pub(crate) what: Vec<String>,
}

/// Repairs what can be repaired in the file at `path`.
pub(crate) fn fix(path: &Path, opened: &Opened) -> Fixed {
    let nothing = || Fixed {
        text: opened.text.clone(),
        what: Vec::new(),
    };
    // A file that could be read only with its command lines quoted has no valid places.
    let is_yaml = super::super::yaml::parse(&opened.text).is_ok();
    let (Some(tree), true) = (&opened.tree, is_yaml) else {
        return nothing();
    };
    let mut fixes = Fixes {
        lines: opened.text.split_inclusive('\n').collect(),
        edits: Vec::new(),
        what: Vec::new(),
    };
    fixes.name(tree, &opened.name);
    fixes.mapping(Schema::root(), tree);
    fixes.types(tree);
    fixes.tags(tree);
    if fixes.edits.is_empty() {
        return nothing();
    }
    let text = fixes.apply();
    // If a repair makes anything worse, the file is left alone.
    let errors = |opened: &Opened| {
        let errors = opened.problems.iter();
        errors.filter(|one| one.severity == Severity::Error).count()
    };
    if errors(&open(path, text.clone())) > errors(opened) {
        nothing()
    } else {
        Fixed {
            text,
            what: fixes.what,
        }
    }
}

/// A change of one line; `column` counts characters from 0.
struct Edit {
    line: usize,
    column: usize,
    /// Number of characters to remove.
    remove: usize,
    insert: String,
}

struct Fixes<'a> {
    lines: Vec<&'a str>,
    edits: Vec<Edit>,
    what: Vec<String>,
}

impl<'a> Fixes<'a> {
    fn name(&mut self, root: &Node, stem: &str) {
        let has_name = root
            .entries()
            .iter()
            .any(|entry| is_meant(&entry.key, "name"));
        let Some(first) = root.entries().first() else {
            return;
        };
        if has_name || first.place.column != 1 || self.starts(first.place, "{") {
            return;
        }
        self.insert(first.place, format!("name: {stem}\n"));
        self.what.push(format!("added `name: {stem}`"));
    }

    /// Repairs keys in another spelling, and booleans in another notation.
    fn mapping(&mut self, schema: Schema<'_>, node: &Node) {
        for entry in node.entries() {
            let is_there = |name: &str| node.entries().iter().any(|other| other.key == name);
            let known = schema.key(&entry.key);
            let mut keys = schema.keys();
            let meant = keys.find(|(key, _)| is_meant(&entry.key, key) && !is_there(key));
            if known.is_none()
                && let Some((key, _)) = meant
                && self.starts(entry.place, &entry.key)
            {
                self.replace(entry.place, &entry.key, key.to_owned());
                let what = format!("line {}: `{}` is `{key}`", entry.place.line, entry.key);
                self.what.push(what);
            }
            if let Some(schema) = known.or(meant.map(|(_, schema)| schema)) {
                self.value(schema, &entry.value);
            }
        }
    }

    fn value(&mut self, schema: Schema<'_>, node: &Node) {
        match (schema.shape(), &node.value) {
            (Shape::Mapping, _) => self.mapping(schema, node),
            (Shape::List(item), Value::List(items)) => {
                items.iter().for_each(|node| self.value(item, node));
            }
            (Shape::Named(item), Value::Map(entries)) => {
                entries
                    .iter()
                    .for_each(|entry| self.value(item, &entry.value));
            }
            (Shape::Flag, Value::Scalar(scalar)) => {
                let Some(flag) = node.flag().filter(|_| scalar.as_bool().is_none()) else {
                    return;
                };
                let as_written = [
                    scalar.text.clone(),
                    format!("\"{}\"", scalar.text),
                    format!("'{}'", scalar.text),
                ];
                let place = node.place;
                let found = as_written.iter().find(|text| self.starts(place, text));
                if let Some(text) = found {
                    self.replace(place, text, flag.to_string());
                    let what = format!("line {}: `{text}` is `{flag}`", place.line);
                    self.what.push(what);
                }
            }
            _ => {}
        }
    }

    /// Adds the type to a parameter without one, which is a string.
    fn types(&mut self, root: &Node) {
        let parameters = root
            .entries()
            .iter()
            .find(|it| is_meant(&it.key, "parameters"));
        for parameter in parameters.map(|it| it.value.entries()).unwrap_or_default() {
            let keys = parameter.value.entries();
            let Some(first) = keys.first() else { continue };
            if keys.iter().any(|entry| is_meant(&entry.key, "type")) {
                continue;
            }
            let is_block = first.place.line > parameter.place.line;
            let text = if is_block {
                let column = usize::try_from(first.place.column).unwrap_or(1);
                format!("type: string\n{}", " ".repeat(column - 1))
            } else {
                "type: string, ".to_owned()
            };
            self.insert(first.place, text);
            self.what
                .push(format!("`{}` has `type: string`", parameter.key));
        }
    }

    fn tags(&mut self, root: &Node) {
        let Some(tags) = root.get("tags").filter(|node| !node.items().is_empty()) else {
            return;
        };
        let texts = tags.texts();
        let mut unique = texts.clone();
        let mut seen = std::collections::HashSet::new();
        unique.retain(|tag| seen.insert(tag.clone()));
        if unique.len() == texts.len() || texts.len() != tags.items().len() {
            return;
        }
        if self.starts(tags.place, "[") {
            let line = self.line(tags.place);
            let start = column(tags.place);
            let rest: String = line.chars().skip(start).collect();
            let Some(end) = rest.find(']') else { return };
            let list = write::one_line_of(&unique);
            self.replace(tags.place, &rest[..=end], list);
        } else {
            let mut seen = std::collections::HashSet::new();
            for item in tags.items() {
                let is_again = item.text().is_some_and(|text| !seen.insert(text));
                let line = self.line(item.place);
                if is_again && line.trim_start().starts_with('-') {
                    self.edits.push(Edit {
                        line: index(item.place),
                        column: 0,
                        remove: line.chars().count(),
                        insert: String::new(),
                    });
                }
            }
        }
        self.what
            .push("removed tags that were there twice".to_owned());
    }

    fn line(&self, place: Place) -> &'a str {
        self.lines.get(index(place)).copied().unwrap_or_default()
    }

    /// Returns true if the source has `text` at the place. It has not for a quoted key or one
    /// behind an anchor.
    fn starts(&self, place: Place, text: &str) -> bool {
        let line = self.line(place);
        let rest = line.char_indices().nth(column(place));
        rest.is_some_and(|(at, _)| line[at..].starts_with(text))
    }

    fn replace(&mut self, place: Place, old: &str, new: String) {
        self.edits.push(Edit {
            line: index(place),
            column: column(place),
            remove: old.chars().count(),
            insert: new,
        });
    }

    fn insert(&mut self, place: Place, text: String) {
        self.replace(place, "", text);
    }

    fn apply(&mut self) -> String {
        // Edits go from the end, so that no change moves the place of a later one. Of two edits at
        // one place, a replacement goes before an insertion.
        self.edits
            .sort_by_key(|edit| (edit.line, edit.column, edit.remove));
        let mut lines: Vec<String> = self.lines.iter().map(|line| (*line).to_owned()).collect();
        for edit in self.edits.iter().rev() {
            let Some(line) = lines.get_mut(edit.line) else {
                continue;
            };
            let before: String = line.chars().take(edit.column).collect();
            let after: String = line.chars().skip(edit.column + edit.remove).collect();
            *line = format!("{before}{}{after}", edit.insert);
        }
        lines.concat()
    }
}

fn index(place: Place) -> usize {
    usize::try_from(place.line.saturating_sub(1)).unwrap_or(usize::MAX)
}

fn column(place: Place) -> usize {
    usize::try_from(place.column.saturating_sub(1)).unwrap_or(usize::MAX)
}

/// Returns true if `written` is `key` apart from capitals, dashes and underscores.
fn is_meant(written: &str, key: &str) -> bool {
    let plain = |text: &str| text.replace(['-', '_'], "").to_lowercase();
    plain(written) == plain(key)
}
