//! Check of a tree by the schema: unknown keys, and values of the wrong kind.
//!
//! Not by a general validator: the schema decides how the text of a scalar is read (a quoted `5`
//! is a number, `1.10` is text), and the walk that does this knows the problems and their places.

use super::{Schema, Shape, text_of};
use crate::family::shell::definition::{Pattern, Size};
use crate::family::shell::report::Report;
use crate::family::shell::yaml::{Entry, Node, Value};
use haft_tool::did_you_mean;

/// A tree from which everything that its schema does not allow was removed.
pub(crate) struct Checked {
    /// `None` if the root is not a mapping.
    pub(crate) root: Option<Node>,
    /// Compiled expressions; they stay in their cache until the definition has them.
    _patterns: Vec<Pattern>,
}

/// Reports everything in the tree that the schema does not allow. Unknown keys are warnings: the
/// tool works without them.
pub(crate) fn check(root: &Node, report: &mut Report<'_>) -> Checked {
    let mut check = Check {
        report,
        parameter: None,
        patterns: Vec::new(),
    };
    Checked {
        root: check.mapping(Schema::root(), "a tool", root),
        _patterns: check.patterns,
    }
}

struct Check<'a, 'r> {
    report: &'a mut Report<'r>,
    /// Name of the parameter whose definition is checked.
    parameter: Option<&'a str>,
    patterns: Vec<Pattern>,
}

impl<'a> Check<'a, '_> {
    /// Checks a mapping with known keys. `what` is its name in messages.
    fn mapping(&mut self, schema: Schema<'_>, what: &str, node: &'a Node) -> Option<Node> {
        let Value::Map(entries) = &node.value else {
            let text = format!("{what} must be a mapping, not {}", node.kind());
            self.report
                .error(node.place, text, "write `key: value` lines");
            return None;
        };
        let mut checked = Vec::with_capacity(entries.len());
        for entry in entries {
            let Some(own) = schema.key(&entry.key) else {
                self.unknown(schema, what, entry);
                continue;
            };
            let value = if !entry.value.is_null() {
                self.value(own, &entry.key, &format!("`{}`", entry.key), &entry.value)
            } else {
                // `retry:` with nothing below it means the defaults (spec cycod 100).
                let is_mapping = matches!(own.shape(), Shape::Mapping);
                is_mapping.then(|| entry.value.with(Value::Map(Vec::new())))
            };
            checked.extend(value.map(|value| entry.with(value)));
        }
        Some(node.with(Value::Map(checked)))
    }

    fn unknown(&mut self, schema: Schema<'_>, what: &str, entry: &Entry) {
        let known = schema.keys().map(|(key, _)| key);
        let otherwise = format!("{what} has no such key; remove it");
        let hint = did_you_mean(&entry.key, known, otherwise);
        let text = format!("unknown key `{}` is ignored", entry.key);
        self.report.warning(entry.place, text, hint);
    }

    /// Checks a value below `key`. `what` is its name in messages.
    fn value(&mut self, schema: Schema<'_>, key: &str, what: &str, node: &'a Node) -> Option<Node> {
        match (schema.shape(), &node.value) {
            (Shape::Any, _) => return Some(node.clone()),
            (Shape::Mapping, _) => {
                return self.mapping(schema, schema.text("title").unwrap_or(what), node);
            }
            (Shape::List(item), Value::List(items)) => {
                let what = format!("an item of {what}");
                let items = items.iter();
                let items = items.filter_map(|node| self.value(item, key, &what, node));
                return Some(node.with(Value::List(items.collect())));
            }
            (Shape::List(item), Value::Scalar(_)) if item.is_scalar() => {
                return self.value(item, key, what, node);
            }
            (Shape::Named(item), Value::Map(entries)) => {
                return Some(node.with(Value::Map(self.named(item, entries))));
            }
            (Shape::Text, _) if node.text().is_some() => return Some(node.clone()),
            (Shape::Word(words), _) if node.text().is_some() => {
                return self.word(words, key, node);
            }
            (Shape::Pattern, _) if node.text().is_some() => return self.pattern(key, node),
            (shape, _) if is_valid(shape, node) => return Some(node.clone()),
            _ => {}
        }
        let is = match node.text() {
            Some(text) => format!("`{text}`"),
            None => node.kind().to_owned(),
        };
        let (wanted, hint) = wanted(schema);
        let text = format!("{what} must be {wanted}, not {is}");
        self.report.error(node.place, text, hint);
        None
    }

    /// Checks values below names that the author chose. Without a value, a text is empty.
    fn named(&mut self, item: Schema<'_>, entries: &'a [Entry]) -> Vec<Entry> {
        let mut checked = Vec::with_capacity(entries.len());
        for entry in entries {
            let is_empty = entry.value.is_null() && item.is_scalar();
            let is_parameter = item.text("title") == Some("a parameter");
            self.parameter = is_parameter.then_some(&entry.key);
            let value = if is_empty {
                Some(entry.value.clone())
            } else {
                self.value(item, &entry.key, &format!("`{}`", entry.key), &entry.value)
            };
            self.parameter = None;
            checked.extend(value.map(|value| entry.with(value)));
        }
        checked
    }

    fn word(&mut self, words: &[serde_json::Value], key: &str, node: &Node) -> Option<Node> {
        let text = node.text().unwrap_or_default();
        if words.iter().any(|word| word == text) {
            return Some(node.clone());
        }
        let all = words.iter().map(text_of).collect::<Vec<_>>().join(", ");
        let known = words.iter().filter_map(serde_json::Value::as_str);
        let hint = did_you_mean(text, known, "use one of these words");
        let text = match self.parameter {
            // In the words of the specification (spec cycod 34).
            Some(name) => {
                format!("Parameter '{name}' has invalid {key}: '{text}'. Must be one of: {all}.")
            }
            None => format!("`{key}` must be one of: {all}; not `{text}`"),
        };
        self.report.error(node.place, text, hint);
        None
    }

    fn pattern(&mut self, key: &str, node: &Node) -> Option<Node> {
        let text = node.text().unwrap_or_default();
        let why = match Pattern::compile(text) {
            Ok(pattern) => {
                self.patterns.push(pattern);
                return Some(node.clone());
            }
            Err(why) => why,
        };
        let of = self.parameter.unwrap_or_default();
        let text = format!("Parameter '{of}' has an invalid {key}: {text}: {why}");
        let hint = "write an ECMAScript regular expression; quote it, and double its backslashes \
                    in \"…\"";
        self.report.error(node.place, text, hint);
        None
    }
}

/// Returns true if the scalar can be read as such a value.
fn is_valid(shape: Shape<'_>, node: &Node) -> bool {
    match shape {
        Shape::Flag => node.flag().is_some(),
        Shape::Whole(least, most) | Shape::Millis(least, most) => node
            .whole()
            .is_some_and(|number| (least..=most).contains(&number)),
        Shape::Number => node.number().is_some(),
        Shape::Size => node.text().and_then(Size::parse).is_some(),
        _ => false,
    }
}

/// Returns the value that is wanted, and a hint.
fn wanted(schema: Schema<'_>) -> (&'static str, &'static str) {
    let other = "correct the value";
    match schema.shape() {
        Shape::Any => ("a value", other),
        Shape::Text | Shape::Pattern => ("text", "quote it, or write it below a `|`"),
        Shape::Size => ("a size such as `512MB`", "units are B, KB, MB and GB"),
        Shape::Flag => (
            "`true` or `false`",
            "write `true` or `false`, without quotes",
        ),
        Shape::Millis(1, _) => (
            "a whole number of milliseconds above 0",
            "one second is 1000",
        ),
        Shape::Millis(..) => ("a whole number of milliseconds", "one second is 1000"),
        Shape::Whole(0, _) => ("a whole number from 0", other),
        Shape::Whole(..) => ("a whole number", other),
        Shape::Number => ("a number", other),
        Shape::Word(_) => ("one word", other),
        Shape::Mapping => ("a mapping", "write `key: value` lines"),
        Shape::List(item) => match item.shape() {
            Shape::Mapping => ("a list of mappings", other),
            _ if item.is_scalar() => ("a list of texts", "write it as `[a, b]`"),
            _ => ("a list", "write it as `[a, b]`"),
        },
        Shape::Named(item) => match item.shape() {
            Shape::Any => ("a mapping of names to values", other),
            Shape::Text => ("a mapping of names to texts", other),
            _ => ("a mapping of names", other),
        },
    }
}
