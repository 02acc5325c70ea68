//! Parser of a text with `{references}` (spec cycod 50–58).
//!
//! Only known names are references; every other brace is the author's own text, and `${X}` always
//! belongs to the shell. The value of a reference is never parsed again. The end of a reference is
//! difficult to find: a JavaScript transform may hold braces, quotes and regular expressions.

use super::super::references::PROPERTIES;
use super::transform::{Named, Transform};

/// A text in parts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Template {
    pub(crate) parts: Vec<Part>,
}

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Part {
    Text(String),
    Reference(Reference),
}

/// One `{…}`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    pub(crate) head: Head,
    pub(crate) tail: Tail,
    /// `{RAW:X}`: put into a shell command unquoted, whatever it holds.
    pub(crate) is_raw: bool,
}

/// Target of a reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Head {
    Name(String),
    Step { step: String, property: String },
}

/// Modifiers of a reference.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tail {
    Plain,
    /// `{X:trim:lowercase}`.
    Transforms(Vec<Transform>),
    /// `{X ? 'a' : 'b'}`.
    Choice {
        yes: String,
        no: String,
    },
    /// The same with anything but two texts: JavaScript, after the head.
    Script(String),
}

/// Names that can be referred to.
pub(crate) trait Names {
    /// Returns true for a parameter, a predefined variable, or any other known name.
    fn knows(&self, name: &str) -> bool;
    /// Returns true for a step of the tool.
    fn has_step(&self, name: &str) -> bool;
}

impl Template {
    /// Parses `text`.
    pub(crate) fn parse(text: &str, names: &dyn Names) -> Template {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(open) = rest.find('{') {
            let (before, at) = rest.split_at(open);
            literal.push_str(before);
            // A `$` that ends the previous reference does not start an expansion of the shell.
            let is_shells = before.ends_with('$');
            let found = if is_shells {
                None
            } else {
                reference(&at[1..], names)
            };
            match found {
                Some((reference, length)) => {
                    if !literal.is_empty() {
                        parts.push(Part::Text(std::mem::take(&mut literal)));
                    }
                    parts.push(Part::Reference(reference));
                    rest = &at[1 + length..];
                }
                None => {
                    literal.push('{');
                    rest = &at[1..];
                }
            }
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Text(literal));
        }
        Template { parts }
    }

    /// Returns every reference in it.
    pub(crate) fn references(&self) -> impl Iterator<Item = &Reference> {
        self.parts.iter().filter_map(|part| match part {
            Part::Text(_) => None,
            Part::Reference(reference) => Some(reference),
        })
    }

    /// Returns the steps that it refers to.
    pub(crate) fn steps(&self) -> impl Iterator<Item = &str> {
        self.references().filter_map(|found| match &found.head {
            Head::Step { step, .. } => Some(step.as_str()),
            Head::Name(_) => None,
        })
    }
}

/// Parses a reference after its `{`; returns its length up to and including the `}`.
fn reference(text: &str, names: &dyn Names) -> Option<(Reference, usize)> {
    const RAW: &str = "RAW:";
    if let Some(inner) = text.strip_prefix(RAW)
        && !names.knows("RAW")
    {
        let (reference, length) = reference(inner, names)?;
        let reference = Reference {
            is_raw: true,
            ..reference
        };
        return Some((reference, RAW.len() + length));
    }
    let head_end = text.find(['}', ':', '?', '{', '\n'])?;
    let (head, tail) = text.split_at(head_end);
    let name = head.trim_end();
    let head = head_of(name, names)?;
    let made = |tail: Tail| Reference {
        head: head.clone(),
        tail,
        is_raw: false,
    };
    match tail.as_bytes()[0] {
        b'}' if name.len() == head_end => Some((made(Tail::Plain), head_end + 1)),
        b':' if name.len() == head_end => {
            let (body, length) = enclosed(&tail[1..])?;
            let transforms = transforms(body)?;
            Some((made(Tail::Transforms(transforms)), head_end + 1 + length))
        }
        b'?' if matches!(head, Head::Name(_)) => {
            let (body, length) = enclosed(&tail[1..])?;
            let tail = match choice(body) {
                Some((yes, no)) => Tail::Choice { yes, no },
                None if split(body, true).len() == 2 => Tail::Script(format!("?{body}")),
                None => return None,
            };
            Some((made(tail), head_end + 1 + length))
        }
        _ => None,
    }
}

fn head_of(name: &str, names: &dyn Names) -> Option<Head> {
    if names.knows(name) {
        return Some(Head::Name(name.to_owned()));
    }
    let (step, property) = name.rsplit_once('.')?;
    let is_one = PROPERTIES.contains(&property) && names.has_step(step);
    is_one.then(|| Head::Step {
        step: step.to_owned(),
        property: property.to_owned(),
    })
}

/// Returns the text before the `}` that ends it, and the length with that brace.
fn enclosed(text: &str) -> Option<(&str, usize)> {
    let mut depth = 0_usize;
    for (at, mark) in marks(text) {
        match mark {
            '{' | '(' | '[' => depth += 1,
            '}' if depth == 0 => return Some((&text[..at], at + 1)),
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    None
}

/// Parses `trim:lowercase:value + 1`. A colon that belongs to a `?` is not a separator.
fn transforms(body: &str) -> Option<Vec<Transform>> {
    let parts = split(body, false);
    parts
        .into_iter()
        .map(|part| {
            let part = part.trim();
            if part.is_empty() {
                return None;
            }
            Some(Transform::parse(part))
        })
        .collect()
}

/// Splits at the colons on the outermost level: those of `?` if `of_choice`, otherwise the rest.
fn split(body: &str, of_choice: bool) -> Vec<&str> {
    let (mut parts, mut start) = (Vec::new(), 0);
    let (mut depth, mut questions) = (0_usize, usize::from(of_choice));
    let bytes = body.as_bytes();
    for (at, mark) in marks(body) {
        match mark {
            '{' | '(' | '[' => depth += 1,
            '}' | ')' | ']' => depth = depth.saturating_sub(1),
            // `?.` and `??` are other operators.
            '?' if depth == 0 => {
                let is_pair = |at: Option<usize>| {
                    matches!(at.and_then(|at| bytes.get(at)), Some(b'?' | b'.'))
                };
                let after_pair = at.checked_sub(1).is_some_and(|at| bytes[at] == b'?');
                if !is_pair(Some(at + 1)) && !after_pair {
                    questions += 1;
                }
            }
            ':' if depth == 0 && questions == 0 => {
                parts.push(&body[start..at]);
                start = at + 1;
            }
            ':' if depth == 0 => {
                questions -= 1;
                if of_choice && questions == 0 {
                    parts.push(&body[start..at]);
                    start = at + 1;
                }
            }
            _ => {}
        }
    }
    parts.push(&body[start..]);
    parts
}

/// Parses two texts in quotes with a colon between them.
fn choice(body: &str) -> Option<(String, String)> {
    let parts = split(body, true);
    let [yes, no] = parts.as_slice() else {
        return None;
    };
    Some((quoted(yes.trim())?, quoted(no.trim())?))
}

/// Returns the text of a literal like `'it\'s'`, if `text` is only that.
fn quoted(text: &str) -> Option<String> {
    let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
    let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
    let mut plain = String::new();
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => plain.push(match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                other @ ('\\' | '\'' | '"' | '`' | '/') => other,
                // All other escapes are left to JavaScript.
                _ => return None,
            }),
            c if c == quote => return None,
            c => plain.push(c),
        }
    }
    Some(plain)
}

/// Returns the characters of JavaScript that are neither in a string nor in a regular expression.
fn marks(text: &str) -> impl Iterator<Item = (usize, char)> {
    let mut found = Vec::new();
    let mut chars = text.char_indices();
    // The previous token decides if a slash divides or begins a regular expression.
    let mut before = '(';
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' | '"' | '`' => skip_to(&mut chars, c),
            '/' if "(,=:?&|!{[;+-*<>~^%".contains(before) => skip_regex(&mut chars),
            _ => found.push((at, c)),
        }
        if !c.is_whitespace() {
            before = c;
        }
    }
    found.into_iter()
}

fn skip_to(chars: &mut std::str::CharIndices<'_>, end: char) {
    while let Some((_, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            c if c == end => return,
            _ => {}
        }
    }
}

fn skip_regex(chars: &mut std::str::CharIndices<'_>) {
    let mut in_class = false;
    while let Some((_, c)) = chars.next() {
        match c {
            '\\' => drop(chars.next()),
            '[' => in_class = true,
            ']' => in_class = false,
            '/' if !in_class => return,
            _ => {}
        }
    }
}

impl Transform {
    /// Parses a `transform:` or the part of a reference.
    pub(crate) fn parse(text: &str) -> Transform {
        if let Some(named) = Named::from_name(text) {
            return Transform::Named(named);
        }
        let picture = text
            .strip_prefix("format(")
            .and_then(|rest| rest.strip_suffix(')'));
        match picture {
            Some(picture) => Transform::Picture(picture.to_owned()),
            None => Transform::Script(text.to_owned()),
        }
    }
}
