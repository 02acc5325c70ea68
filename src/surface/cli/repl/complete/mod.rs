//! Tab completion: commands, tools, arguments and the values that schemas list.
//!
//! It uses the line up to the cursor and the data that is already loaded. It never runs anything.

mod json;
mod values;

use std::sync::Arc;

use reedline::{Completer, CompletionResult, Span, Suggestion};
use serde_json::Value;

use super::commands::{self, Takes};
use super::completion_data::Known;
use super::words::{self, Word};
use crate::surface::cli::schema_kind::Kind;
use haft_render::text;
use haft_tool::visible::is_harmful;
use haft_tool::{ApprovalMode, TerminalText, Tool};
use json::Wants;

/// Completer for the line editor.
pub(super) struct Tab(pub(super) Arc<Known>);

/// A completion at the cursor.
struct Offer {
    value: String,
    about: TerminalText,
    /// True if the completion is a whole word, after which another one may follow.
    is_whole: bool,
}

impl Offer {
    fn whole(value: impl Into<String>, about: &str) -> Offer {
        Offer {
            value: value.into(),
            about: text::first_line(about),
            is_whole: true,
        }
    }

    /// Creates a completion that the user continues.
    fn open(value: String, about: &str) -> Offer {
        Offer {
            is_whole: false,
            ..Offer::whole(value, about)
        }
    }
}

impl Completer for Tab {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let before = line.get(..pos).unwrap_or(line);
        let (start, offers) = self.offers(before);
        let written = &before[start..];
        let suggestions: Vec<Suggestion> = offers
            .into_iter()
            // A name that could control the terminal is not inserted into the line.
            .filter(|offer| fits(&offer.value, written) && !offer.value.contains(is_harmful))
            .map(|offer| Suggestion {
                value: offer.value,
                description: (!offer.about.is_empty()).then(|| offer.about.into_string()),
                span: Span::new(start, before.len()),
                append_whitespace: offer.is_whole,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// Returns true if `written` may be completed to `value`, with or without its quote.
fn fits(value: &str, written: &str) -> bool {
    let bare = written.trim_start_matches(['"', '\'']);
    value.starts_with(written) || value.trim_start_matches('"').starts_with(bare)
}

impl Tab {
    /// Returns the completions at the end of `before`, and the position where they start.
    fn offers(&self, before: &str) -> (usize, Vec<Offer>) {
        let blank = before.len() - before.trim_start().len();
        let line = &before[blank..];
        let Some(end) = line.find(char::is_whitespace) else {
            return (blank, self.firsts(line));
        };
        let (first, rest) = line.split_at(end);
        let from = blank + end;
        if let Some(command) = first.strip_prefix('/') {
            return self.of_command(command, rest, from);
        }
        let Some(tool) = self.0.tool(first) else {
            return (before.len(), Vec::new());
        };
        if rest.trim_start().starts_with('{') {
            in_json(&tool, rest, from)
        } else {
            in_words(&tool, rest, from)
        }
    }

    /// Returns the names of tools and commands.
    fn firsts(&self, written: &str) -> Vec<Offer> {
        let commands = commands::ALL.iter();
        let commands =
            commands.map(|command| Offer::whole(format!("/{}", command.name), command.about));
        if written.starts_with('/') {
            return commands.collect();
        }
        self.tools()
            .chain(commands.filter(|_| written.is_empty()))
            .collect()
    }

    fn tools(&self) -> impl Iterator<Item = Offer> {
        let tools = self.0.tools().into_iter();
        tools.map(|(name, about)| Offer::whole(name, &about))
    }

    fn of_command(&self, name: &str, rest: &str, from: usize) -> (usize, Vec<Offer>) {
        let (done, start) = last_word(rest);
        let offers = match commands::find(name).map(|command| command.takes) {
            Some(Takes::Tool) if done.is_empty() => self.tools().collect(),
            Some(Takes::Command) if done.is_empty() => {
                let names = commands::ALL.iter();
                names.map(|one| Offer::whole(one.name, one.about)).collect()
            }
            Some(Takes::Approval) => {
                let modes = ApprovalMode::NAMES.iter();
                let modes = modes.map(|(mode, _)| Offer::whole(*mode, ""));
                let reset = Offer::whole("reset", "what the configuration says");
                let first = modes.chain([reset]).filter(|_| done.is_empty());
                first.chain(self.tools()).collect()
            }
            Some(Takes::Session) => match done.first().map(|word| word.text.as_str()) {
                None => commands::OF_SESSION
                    .iter()
                    .map(|(name, about)| Offer::whole(*name, about))
                    .collect(),
                Some("switch") if done.len() == 1 => {
                    let names = self.0.sessions().into_iter();
                    names.map(|name| Offer::whole(name, "")).collect()
                }
                Some("branch") if done.len() == 1 => {
                    let entries = self.0.entries().into_iter();
                    entries
                        .map(|(id, about)| Offer::whole(id, &about))
                        .collect()
                }
                Some(_) => Vec::new(),
            },
            _ => Vec::new(),
        };
        (from + start, offers)
    }
}

/// Returns the words before the last, incomplete one, and the position where that one starts.
fn last_word(rest: &str) -> (Vec<Word>, usize) {
    let cut = words::cut(rest);
    let mut done = cut.words;
    let is_between = !cut.is_open && rest.ends_with(char::is_whitespace);
    if is_between {
        (done, rest.len())
    } else {
        let start = done.pop().map_or(rest.len(), |word| word.start);
        (done, start)
    }
}

fn in_json(tool: &Tool, rest: &str, from: usize) -> (usize, Vec<Offer>) {
    let root = &tool.input_schema;
    let Some(place) = json::place(rest, root) else {
        return (from + rest.len(), Vec::new());
    };
    let offers = match place.wants {
        Wants::Key { object, used } => object
            .map(|object| values::properties(object, root))
            .unwrap_or_default()
            .into_iter()
            .filter(|(name, _)| used.iter().all(|used| used != name))
            .map(|(name, about)| Offer::open(format!("{}: ", Value::from(name)), &about))
            .collect(),
        Wants::Value(schema) => {
            let named = schema.map(|schema| values::named(schema, root));
            let named = named.unwrap_or_default().into_iter();
            named.map(|value| Offer::open(value, "")).collect()
        }
    };
    (from + place.start, offers)
}

fn in_words(tool: &Tool, rest: &str, from: usize) -> (usize, Vec<Offer>) {
    let root = &tool.input_schema;
    let (done, start) = last_word(rest);
    let written = &rest[start..];
    if let Some((key, _)) = written.split_once('=') {
        let at = from + start + key.len() + 1;
        return match key.strip_suffix(':') {
            Some(key) => (at, of_value(key, root, false)),
            None => (at, of_value(key, root, true)),
        };
    }
    let option = done.last().and_then(|word| word.text.strip_prefix("--"));
    if let Some(key) = option.filter(|key| !key.contains('=') && !written.starts_with("--")) {
        let values = of_value(key, root, true);
        if !values.is_empty() {
            return (from + start, values);
        }
    }
    let dashes = if written.starts_with('-') { "--" } else { "" };
    let name = written.trim_start_matches('-');
    let prefix = name.rfind('.').map_or("", |dot| &name[..=dot]);
    let object = match prefix.strip_suffix('.') {
        Some(key) => values::at(key, root, root),
        None => Some(root),
    };
    let object = object.map(|object| values::properties(object, root));
    let offers = object.unwrap_or_default().into_iter();
    let offers = offers.filter(|(name, _)| !is_done(&format!("{prefix}{name}"), &done, root));
    let offers = offers.map(|(name, about)| match dashes {
        "" => Offer::open(format!("{prefix}{name}="), &about),
        _ => Offer::whole(format!("{dashes}{prefix}{name}"), &about),
    });
    (from + start, offers.collect())
}

/// Returns true if `key` has a value already. An array may have several.
fn is_done(key: &str, done: &[Word], root: &Value) -> bool {
    let is_list = values::at(key, root, root).is_some_and(|schema| Kind::of(schema, root).array);
    let named = |word: &Word| {
        let name = word.text.trim_start_matches("--");
        let name = name.split('=').next().unwrap_or(name);
        name.trim_end_matches(':') == key
    };
    !is_list && done.iter().any(named)
}

/// Returns the values of `key`, as words or as JSON.
fn of_value(key: &str, root: &Value, as_words: bool) -> Vec<Offer> {
    let named = values::at(key, root, root).map(|schema| values::named(schema, root));
    let named = named.unwrap_or_default().into_iter();
    let offers = named.map(|json| {
        if as_words {
            Offer::whole(as_word(&json), "")
        } else {
            Offer::whole(json, "")
        }
    });
    offers.collect()
}

/// Returns a value as it is written after `key=`.
fn as_word(json: &str) -> String {
    match serde_json::from_str::<String>(json) {
        Ok(text) if text.contains(|c: char| c.is_whitespace() || "'\"\\".contains(c)) => {
            json.to_owned()
        }
        Ok(text) => text,
        Err(_) => json.to_owned(),
    }
}
