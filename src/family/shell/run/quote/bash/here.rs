//! Here-documents: their delimiters, their bodies, and those that are written anew.

use super::{Around, HereDocument, Item, QuoteError, Reader};

impl Reader<'_> {
    /// `<<`, perhaps `-`, and the delimiter.
    pub(super) fn here_operator(&mut self) -> Result<(), QuoteError> {
        self.copy();
        self.copy();
        let strips_tabs = self.is(0, '-');
        if strips_tabs {
            self.copy();
        }
        while self.is(0, ' ') || self.is(0, '\t') {
            self.copy();
        }
        let start = self.out.len();
        let (mut delimiter, mut is_quoted, mut quote) = (String::new(), false, None);
        while let Some(item) = self.peek(0) {
            let c = match item {
                Item::Value(value) => {
                    return self.refuse(value, "it would end a here-document");
                }
                Item::Char(c) => c,
            };
            match (quote, c) {
                (Some(open), c) if c == open => quote = None,
                (Some(_), c) => delimiter.push(c),
                (None, '\'' | '"') => {
                    is_quoted = true;
                    quote = Some(c);
                }
                (None, '\\') => {
                    is_quoted = true;
                    self.copy();
                    if let Some(Item::Char(c)) = self.peek(0) {
                        delimiter.push(c);
                    }
                }
                (None, ' ' | '\t' | '\n' | ';' | '&' | '|' | '<' | '>' | '(' | ')') => break,
                (None, c) => delimiter.push(c),
            }
            self.copy();
        }
        let index = self.wants_rewriting.len();
        self.wants_rewriting.push(false);
        if self.is_rewritten(index) {
            self.out.truncate(start);
            self.out.push_str(plain_delimiter(&delimiter));
        }
        self.pending.push(HereDocument {
            index,
            delimiter,
            is_quoted,
            strips_tabs,
        });
        Ok(())
    }

    pub(super) fn is_rewritten(&self, index: usize) -> bool {
        self.rewritten.get(index).copied().unwrap_or(false)
    }

    /// At the beginning of a line: the bodies of the here-documents of the line before.
    pub(super) fn here_documents(&mut self) -> Result<(), QuoteError> {
        for document in std::mem::take(&mut self.pending) {
            let last = self.terminator(&document);
            let outer = std::mem::replace(&mut self.end, last);
            if document.is_quoted {
                self.literal_body(&document)?;
            } else {
                while let Some(item) = self.peek(0) {
                    self.in_text(item, Around::HereDocument)?;
                }
            }
            self.end = outer;
            // The terminator's own line, without what ends it.
            let is_rewritten = self.is_rewritten(document.index);
            while let Some(Item::Char(c)) = self.peek(0) {
                if c == '\n' {
                    break;
                }
                match is_rewritten && c != '\t' {
                    true => self.at += 1,
                    false => self.copy(),
                }
            }
            if is_rewritten && self.at > last {
                self.out.push_str(plain_delimiter(&document.delimiter));
            }
            if self.is(0, '\n') {
                self.copy();
            }
        }
        Ok(())
    }

    /// Where the line begins that ends the document; the end of all where there is none.
    pub(super) fn terminator(&self, document: &HereDocument) -> usize {
        let mut start = self.at;
        while start < self.end {
            let rest = &self.items[start..self.end];
            let length = rest.iter().position(|item| *item == Item::Char('\n'));
            let line = &rest[..length.unwrap_or(rest.len())];
            let line: Option<String> = line
                .iter()
                .map(|item| match item {
                    Item::Char(c) => Some(*c),
                    Item::Value(_) => None,
                })
                .collect();
            let is_end = line.is_some_and(|line| {
                let line = match document.strips_tabs {
                    true => line.trim_start_matches('\t'),
                    false => &line,
                };
                line == document.delimiter
            });
            if is_end {
                return start;
            }
            start += length.map_or(rest.len(), |length| length + 1);
        }
        self.end
    }

    /// A body in which nothing acts. With a value in it it becomes one with expansions.
    pub(super) fn literal_body(&mut self, document: &HereDocument) -> Result<(), QuoteError> {
        let is_rewritten = self.is_rewritten(document.index);
        while let Some(item) = self.peek(0) {
            match item {
                Item::Value(value) => {
                    self.wants_rewriting[document.index] = true;
                    self.bind(value, "", "")?;
                }
                Item::Char(c) => {
                    if is_rewritten && matches!(c, '\\' | '$' | '`') {
                        self.out.push('\\');
                    }
                    self.copy();
                }
            }
        }
        Ok(())
    }
}

/// A delimiter without quotes that ends the same body.
fn plain_delimiter(delimiter: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    match !delimiter.is_empty() && delimiter.bytes().all(is_plain) {
        true => delimiter,
        false => "__HAFT_END_OF_DOCUMENT",
    }
}
