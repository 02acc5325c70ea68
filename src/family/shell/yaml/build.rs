//! Builds a tree from the parser's events, within limits.
//!
//! An alias copies the content of its anchor, so ten short lines can produce a billion nodes. The
//! limit therefore applies to the tree, not to the text.

use std::collections::HashMap;

use granit_parser::{Event, Options, Parser, ScalarStyle, ScanError, Span};

use super::{Entry, Node, Scalar, Value};
use crate::family::shell::definition::Place;

/// Limit of nodes, far above any real tool; each node takes some hundred bytes.
const MAX_NODES: usize = 100_000;

/// Limit of nesting, far above any real tool and far below what the stack allows.
const MAX_DEPTH: usize = 64;

/// Reason why the tree is missing, or differs from what the author means.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Broken {
    pub(crate) message: String,
    pub(crate) place: Place,
    pub(crate) hint: &'static str,
}

/// Reads the one document of `text`. `Ok(None)` if it is empty. Problems that leave a tree (a key
/// twice) come with it; the first value of a key counts.
pub(crate) fn parse(text: &str) -> Result<(Option<Node>, Vec<Broken>), Broken> {
    let mut options = Options::default();
    options.set_emit_comments(false);
    options.block_nesting_limit = MAX_DEPTH;
    options.flow_nesting_limit = MAX_DEPTH;
    let mut builder = Builder {
        events: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
        broken: Vec::new(),
    };
    let root = builder.document()?;
    Ok((root, builder.broken))
}

struct Builder<'a> {
    events: Parser<'a, granit_parser::StrInput<'a>>,
    /// Content of an anchor, and the number of its nodes.
    anchors: HashMap<usize, (Node, usize)>,
    nodes: usize,
    broken: Vec<Broken>,
}

impl<'a> Builder<'a> {
    fn document(&mut self) -> Result<Option<Node>, Broken> {
        let mut root = None;
        let mut documents = 0;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::DocumentStart(..) => {
                    documents += 1;
                    if documents > 1 {
                        return Err(Broken {
                            message: "the file holds more than one document".to_owned(),
                            place: place(&span),
                            hint: "put each tool into a file of its own",
                        });
                    }
                }
                Event::StreamEnd => return Ok(root.filter(|node: &Node| !node.is_null())),
                Event::StreamStart | Event::DocumentEnd => {}
                event => root = Some(self.node(event, &span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), Broken> {
        match self.events.next_event() {
            Some(Ok(next)) => Ok(next),
            Some(Err(error)) => Err(unreadable(&error)),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn node(&mut self, event: Event<'a>, span: &Span, depth: usize) -> Result<Node, Broken> {
        let place = place(span);
        let before = self.nodes;
        self.count(1, place)?;
        if depth > MAX_DEPTH {
            return Err(too_much("it is nested too deeply", place));
        }
        let (value, anchor) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = Scalar {
                    text: text.into_owned(),
                    is_plain: style == ScalarStyle::Plain && tag.is_none(),
                };
                (Value::Scalar(scalar), anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Value::List(self.list(depth)?), anchor),
            Event::MappingStart(_, anchor, _) => (Value::Map(self.map(depth)?), anchor),
            Event::Alias(anchor) => {
                // An alias inside its own anchor is not found: the anchor is not complete yet.
                let Some((node, size)) = self.anchors.get(&anchor) else {
                    return Err(Broken {
                        message: "an alias stands inside what it refers to".to_owned(),
                        place,
                        hint: "write the value out",
                    });
                };
                let (value, size) = (node.value.clone(), *size);
                self.count(size, place)?;
                return Ok(Node { value, place });
            }
            other => {
                return Err(Broken {
                    message: format!("unexpected {other:?}"),
                    place,
                    hint: SYNTAX,
                });
            }
        };
        let node = Node { value, place };
        if anchor > 0 {
            let size = self.nodes - before;
            self.count(size, place)?;
            self.anchors.insert(anchor, (node.clone(), size));
        }
        Ok(node)
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Node>, Broken> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, _) => return Ok(items),
                (event, span) => items.push(self.node(event, &span, depth + 1)?),
            }
        }
    }

    fn map(&mut self, depth: usize) -> Result<Vec<Entry>, Broken> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged = Vec::new();
        let mut places: HashMap<String, Place> = HashMap::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let key = self.node(event, &span, depth + 1)?;
            let (event, span) = self.next()?;
            let value = self.node(event, &span, depth + 1)?;
            let Value::Scalar(scalar) = key.value else {
                self.broken.push(Broken {
                    message: "a key must be text".to_owned(),
                    place: key.place,
                    hint: "write the key as one word, or quote it",
                });
                continue;
            };
            if scalar.is_plain && scalar.text == "<<" {
                merged.push(value);
                continue;
            }
            if let Some(first) = places.insert(scalar.text.clone(), key.place) {
                self.broken.push(Broken {
                    message: format!(
                        "duplicate key `{}`: it stands in line {} already",
                        scalar.text, first.line
                    ),
                    place: key.place,
                    hint: "keep one of the two",
                });
                continue;
            }
            entries.push(Entry {
                key: scalar.text,
                place: key.place,
                value,
            });
        }
        for value in merged {
            merge(value, &mut entries);
        }
        Ok(entries)
    }

    fn count(&mut self, nodes: usize, place: Place) -> Result<(), Broken> {
        self.nodes += nodes;
        if self.nodes > MAX_NODES {
            Err(too_much("it holds too many values", place))
        } else {
            Ok(())
        }
    }
}

/// Applies `<<: *base`: missing keys are taken from the mapping, or from each of a list of
/// mappings.
fn merge(value: Node, entries: &mut Vec<Entry>) {
    match value.value {
        Value::Map(more) => {
            for entry in more {
                if !entries.iter().any(|own| own.key == entry.key) {
                    entries.push(entry);
                }
            }
        }
        Value::List(items) => items.into_iter().for_each(|item| merge(item, entries)),
        Value::Scalar(_) => {}
    }
}

const SYNTAX: &str =
    "correct the line; quote a text that holds `: ` or ` #`, or write it below a `|`";

fn unreadable(error: &ScanError) -> Broken {
    let mark = error.marker();
    let message = error.info();
    Broken {
        message: format!(
            "not valid YAML: {}",
            message.lines().next().unwrap_or_default()
        ),
        place: at(mark),
        hint: SYNTAX,
    }
}

fn too_much(message: &str, place: Place) -> Broken {
    Broken {
        message: message.to_owned(),
        place,
        hint: "a tool's file is short; are its anchors and aliases meant?",
    }
}

fn place(span: &Span) -> Place {
    at(&span.start)
}

fn at(mark: &granit_parser::Marker) -> Place {
    let number = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    Place {
        line: number(mark.line()),
        column: number(mark.col()).saturating_add(1),
    }
}
