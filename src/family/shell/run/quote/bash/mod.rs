//! Values in bash and its relatives: none of them ever is part of the source.
//!
//! A value is bound to a variable, and the source gets an expansion in the quotes that its place
//! needs. The shell does not look again at what an expansion gives, so a place that is misjudged
//! can split a value into words, but cannot run it. Three places are different. Arithmetic does
//! look again (`a[$(id)]`), so only whole numbers may stand there. A here-document with a quoted
//! delimiter has no expansions, so it is rewritten as one that has, with the author's own text
//! escaped. In backquotes backslashes mean something else at each depth, so both together are
//! refused.

mod command;
mod here;
mod text;
mod word;

use std::collections::HashMap;

use super::{Item, Piece, QuoteError, Quoted, items, variable};

/// Which shell reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// bash and zsh.
    Bash,
    /// Any other POSIX shell: no `$'…'`.
    Sh,
}

/// Puts the guarded pieces in their places.
///
/// # Errors
/// Where a place cannot be made safe for its value.
pub fn bash(pieces: &[Piece], dialect: Dialect) -> Result<Quoted, QuoteError> {
    let items = items(pieces);
    // The first reading finds the here-documents that must be rewritten.
    let first = read(pieces, &items, dialect, &[])?;
    if !first.rewritten.contains(&true) {
        return Ok(first.quoted);
    }
    Ok(read(pieces, &items, dialect, &first.rewritten)?.quoted)
}

struct Read {
    quoted: Quoted,
    rewritten: Vec<bool>,
}

fn read(
    pieces: &[Piece],
    items: &[Item],
    dialect: Dialect,
    rewritten: &[bool],
) -> Result<Read, QuoteError> {
    let mut reader = Reader {
        pieces,
        items,
        dialect,
        at: 0,
        end: items.len(),
        depth: 0,
        out: String::new(),
        values: Vec::new(),
        bound: HashMap::new(),
        pending: Vec::new(),
        rewritten,
        wants_rewriting: Vec::new(),
        backquotes: 0,
        has_backslash: false,
        arithmetic_until: 0,
    };
    while reader.at < items.len() {
        reader.command(Closer::None)?;
    }
    Ok(Read {
        quoted: Quoted {
            text: reader.out,
            values: reader.values,
        },
        rewritten: reader.wants_rewriting,
    })
}

struct Reader<'a> {
    pieces: &'a [Piece],
    items: &'a [Item],
    dialect: Dialect,
    at: usize,
    /// Nothing beyond it is seen: the end of a here-document.
    end: usize,
    depth: usize,
    out: String,
    values: Vec<String>,
    bound: HashMap<String, usize>,
    /// Here-documents whose bodies begin at the next line.
    pending: Vec<HereDocument>,
    /// By the order of the here-documents.
    rewritten: &'a [bool],
    wants_rewriting: Vec<bool>,
    backquotes: usize,
    /// There was a backslash in the outermost backquotes.
    has_backslash: bool,
    /// The `]]` of a test that compares numbers.
    arithmetic_until: usize,
}

struct HereDocument {
    index: usize,
    delimiter: String,
    is_quoted: bool,
    strips_tabs: bool,
}

/// What ends a piece of command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Closer {
    None,
    Parenthesis,
    Backquote,
}

/// Where an expansion stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Around {
    Nothing,
    DoubleQuotes,
    HereDocument,
}

/// Deeper nesting is not the work of a person.
const DEEPEST: usize = 200;

const ARITHMETIC: &str = "the shell would calculate with it, so it must be a whole number";

impl Reader<'_> {
    fn peek(&self, ahead: usize) -> Option<Item> {
        let at = self.at + ahead;
        (at < self.end).then(|| self.items[at])
    }

    fn is(&self, ahead: usize, c: char) -> bool {
        self.peek(ahead) == Some(Item::Char(c))
    }

    /// Copies the next character.
    fn copy(&mut self) {
        if let Some(Item::Char(c)) = self.peek(0) {
            self.out.push(c);
            self.at += 1;
        }
    }

    fn refuse<T>(&self, value: usize, why: &'static str) -> Result<T, QuoteError> {
        let name = self.pieces[value].guarded.clone().unwrap_or_default();
        Err(QuoteError { name, why })
    }

    /// Writes the expansion of a value between `before` and `after`.
    fn bind(&mut self, value: usize, before: &str, after: &str) -> Result<(), QuoteError> {
        if self.backquotes > 0 && self.has_backslash {
            return self.refuse(
                value,
                "there is a backslash in the backquotes; write `$(…)`",
            );
        }
        let text = &self.pieces[value].text;
        if text.contains('\0') {
            return self.refuse(value, "it has a NUL character");
        }
        let next = self.values.len();
        let index = *self.bound.entry(text.clone()).or_insert(next);
        if index == next {
            self.values.push(text.clone());
        }
        self.out.push_str(before);
        self.out.push_str(&format!("${{{}}}", variable(index)));
        self.out.push_str(after);
        self.at += 1;
        Ok(())
    }

    /// Writes a whole number as it is.
    fn number(&mut self, value: usize) -> Result<(), QuoteError> {
        let text = &self.pieces[value].text;
        let digits = text.strip_prefix('-').unwrap_or(text);
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return self.refuse(value, ARITHMETIC);
        }
        // `5-{N}` and `${x:{N}}` mean a number, not the operators `--` and `:-`.
        let number = match text.starts_with('-') {
            true => format!("({text})"),
            false => text.clone(),
        };
        self.out.push_str(&number);
        self.at += 1;
        Ok(())
    }

    fn deeper(
        &mut self,
        inner: impl FnOnce(&mut Self) -> Result<(), QuoteError>,
    ) -> Result<(), QuoteError> {
        if self.depth == DEEPEST {
            let value = self.pieces.iter().position(|piece| piece.guarded.is_some());
            return match value {
                Some(value) => self.refuse(value, "the command is nested too deeply"),
                // There is nothing to guard: the rest is the author's.
                None => {
                    while self.at < self.end {
                        self.copy();
                    }
                    Ok(())
                }
            };
        }
        self.depth += 1;
        let result = inner(self);
        self.depth -= 1;
        result
    }
}
