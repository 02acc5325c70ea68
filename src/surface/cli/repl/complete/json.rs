//! Parser for incomplete JSON: finds the schema and the kind of token at its end.

use serde_json::Value;

use crate::surface::cli::schema_kind::{Kind, property};

/// Position at the end of the text.
pub(super) struct Place<'a> {
    pub(super) wants: Wants<'a>,
    /// Start of the incomplete key or value, in bytes.
    pub(super) start: usize,
}

/// Kind of token that may follow.
pub(super) enum Wants<'a> {
    /// A key of an object with this schema, except the used ones.
    Key {
        object: Option<&'a Value>,
        used: Vec<String>,
    },
    /// A value of this schema.
    Value(Option<&'a Value>),
}

/// Unclosed object or array around the position.
enum Frame<'a> {
    Object {
        schema: Option<&'a Value>,
        used: Vec<String>,
        next: Next,
    },
    Array {
        items: Option<&'a Value>,
        next: Next,
    },
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Key,
    Colon,
    Value,
    Comma,
}

/// Parses `text`, the beginning of JSON with the schema `root`. Returns `None` if completion is
/// impossible.
pub(super) fn place<'a>(text: &str, root: &'a Value) -> Option<Place<'a>> {
    let mut open: Vec<Frame<'a>> = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let start = at;
        at += first.len_utf8();
        match first {
            '{' => {
                let schema = expected(&open, root);
                open.push(Frame::Object {
                    schema,
                    used: Vec::new(),
                    next: Next::Key,
                });
            }
            '[' => {
                let schema = expected(&open, root);
                open.push(Frame::Array {
                    items: schema.and_then(|schema| Kind::of(schema, root).items),
                    next: Next::Value,
                });
            }
            '}' | ']' => {
                open.pop();
                set(&mut open, Next::Comma);
            }
            ':' => set(&mut open, Next::Value),
            ',' => {
                let next = match open.last()? {
                    Frame::Object { .. } => Next::Key,
                    Frame::Array { .. } => Next::Value,
                };
                set(&mut open, next);
            }
            '"' => match end_of_string(&text[at..]) {
                Some(length) => {
                    at += length;
                    took(&mut open, &text[start..at]);
                }
                None => return wants(open, start, root),
            },
            space if space.is_whitespace() => {}
            _ => {
                let rest = &text[at..];
                let is_end = |c: char| c.is_whitespace() || ",:{}[]\"".contains(c);
                match rest.find(is_end) {
                    Some(length) => {
                        at += length;
                        took(&mut open, &text[start..at]);
                    }
                    None => return wants(open, start, root),
                }
            }
        }
    }
    wants(open, text.len(), root)
}

fn wants<'a>(mut open: Vec<Frame<'a>>, start: usize, root: &'a Value) -> Option<Place<'a>> {
    let value = expected(&open, root);
    let wants = match open.pop()? {
        Frame::Object {
            schema,
            used,
            next: Next::Key,
        } => Wants::Key {
            object: schema,
            used,
        },
        Frame::Object {
            next: Next::Value, ..
        }
        | Frame::Array {
            next: Next::Value, ..
        } => Wants::Value(value),
        Frame::Object { .. } | Frame::Array { .. } => return None,
    };
    Some(Place { wants, start })
}

/// Returns the schema of the next value.
fn expected<'a>(open: &[Frame<'a>], root: &'a Value) -> Option<&'a Value> {
    match open.last() {
        None => Some(root),
        Some(Frame::Array { items, .. }) => *items,
        Some(Frame::Object { schema, used, .. }) => property((*schema)?, used.last()?, root),
    }
}

/// Records that a key or a value is complete.
fn took(open: &mut [Frame<'_>], text: &str) {
    match open.last_mut() {
        Some(Frame::Object { used, next, .. }) if *next == Next::Key => {
            let key = serde_json::from_str(text).unwrap_or_else(|_| text.to_owned());
            used.push(key);
            *next = Next::Colon;
        }
        _ => set(open, Next::Comma),
    }
}

fn set(open: &mut [Frame<'_>], comes: Next) {
    if let Some(Frame::Object { next, .. } | Frame::Array { next, .. }) = open.last_mut() {
        *next = comes;
    }
}

/// Returns the number of bytes up to and including the closing quote of a string.
fn end_of_string(text: &str) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => return Some(at + 1),
            _ => {}
        }
    }
    None
}
