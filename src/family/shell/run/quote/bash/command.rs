//! Commands: words, operators, comments, and where a value stands among them.

use super::word::Word;
use super::{Around, Closer, Item, QuoteError, Reader};

impl Reader<'_> {
    pub(super) fn command(&mut self, closer: Closer) -> Result<(), QuoteError> {
        let mut word = Word::first();
        while let Some(item) = self.peek(0) {
            let c = match item {
                Item::Value(value) => {
                    self.in_command(value, &word)?;
                    word.text.push('\0');
                    continue;
                }
                Item::Char(c) => c,
            };
            match c {
                '\\' => {
                    self.backslash(Around::Nothing);
                    word.text.push('\\');
                }
                '\'' => {
                    self.single()?;
                    word.text.push('\'');
                }
                '"' => {
                    self.double()?;
                    word.text.push('"');
                }
                '$' => {
                    self.dollar(Around::Nothing)?;
                    word.text.push('$');
                }
                '`' if closer == Closer::Backquote => {
                    self.copy();
                    return Ok(());
                }
                '`' => {
                    self.backquoted()?;
                    word.text.push('`');
                }
                '#' if word.text.is_empty() => self.comment(closer)?,
                '(' if word.text.is_empty() && self.is(1, '(') => {
                    self.copy();
                    self.copy();
                    self.deeper(|reader| reader.arithmetic(')'))?;
                }
                '(' => {
                    self.copy();
                    self.deeper(|reader| reader.command(Closer::Parenthesis))?;
                    word.text.clear();
                    word.is_command = true;
                }
                ')' => {
                    word.ends();
                    self.copy();
                    if word.cases == 0 && closer == Closer::Parenthesis {
                        return Ok(());
                    }
                    word.is_command = true;
                }
                '<' if self.is(1, '<') && self.is(2, '<') => {
                    word.ends();
                    (0..3).for_each(|_| self.copy());
                }
                '<' if self.is(1, '<') => {
                    word.ends();
                    self.here_operator()?;
                }
                '\n' => {
                    word.ends();
                    word.is_command = true;
                    self.copy();
                    self.here_documents()?;
                }
                ';' | '|' | '&' => {
                    word.ends();
                    word.is_command = true;
                    self.copy();
                }
                '<' | '>' | ' ' | '\t' => {
                    if word.is_command && word.text == "[[" {
                        self.test();
                    }
                    word.ends();
                    self.copy();
                }
                c => {
                    word.text.push(c);
                    self.copy();
                }
            }
        }
        Ok(())
    }

    pub(super) fn in_command(&mut self, value: usize, word: &Word) -> Result<(), QuoteError> {
        if self.at < self.arithmetic_until {
            let is_negative = self.pieces[value].text.starts_with('-');
            self.number(value)?;
            if is_negative {
                // A test knows no parentheses around numbers.
                let end = self.out.trim_end_matches(')').len();
                self.out.truncate(end);
                let open = self.out.rfind('(').expect("`number` wrote it");
                self.out.remove(open);
            }
            return Ok(());
        }
        if word.is_subscript() {
            return self.number(value);
        }
        self.bind(value, "\"", "\"")
    }

    /// After `[[ `: whether it compares numbers, and where it ends.
    pub(super) fn test(&mut self) {
        let text: String = self.items[self.at..self.end]
            .iter()
            .map(|item| match item {
                Item::Char(c) => *c,
                Item::Value(_) => '\0',
            })
            .collect();
        let inner = text.split("]]").next().unwrap_or_default();
        let calculates = ["-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-v"];
        if inner
            .split_whitespace()
            .any(|word| calculates.contains(&word))
        {
            self.arithmetic_until = self.at + inner.chars().count();
        }
    }

    pub(super) fn comment(&mut self, closer: Closer) -> Result<(), QuoteError> {
        while let Some(item) = self.peek(0) {
            match item {
                Item::Char('\n') => return Ok(()),
                Item::Char('`') if closer == Closer::Backquote => return Ok(()),
                Item::Char(_) => self.copy(),
                Item::Value(value) => self.bind(value, "", "")?,
            }
        }
        Ok(())
    }
}
