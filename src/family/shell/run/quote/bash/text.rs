//! Quotes, expansions and arithmetic: whatever is inside of a word.

use super::{Around, Closer, Dialect, Item, QuoteError, Reader};

impl Reader<'_> {
    /// A backslash and what it escapes. Before a value it would escape our own quote.
    pub(super) fn backslash(&mut self, around: Around) {
        self.has_backslash |= self.backquotes > 0;
        match (self.peek(1), around) {
            (Some(Item::Value(_)), Around::Nothing) => self.at += 1,
            (Some(Item::Value(_)), _) => {
                self.copy();
                self.out.push('\\');
            }
            _ => {
                self.copy();
                self.copy();
            }
        }
    }

    pub(super) fn single(&mut self) -> Result<(), QuoteError> {
        self.copy();
        loop {
            match self.peek(0) {
                None => return Ok(()),
                Some(Item::Value(value)) => self.bind(value, "'\"", "\"'")?,
                Some(Item::Char('\'')) => {
                    self.copy();
                    return Ok(());
                }
                Some(Item::Char(_)) => self.copy(),
            }
        }
    }

    /// After `$'`.
    pub(super) fn ansi(&mut self) -> Result<(), QuoteError> {
        loop {
            match self.peek(0) {
                None => return Ok(()),
                Some(Item::Value(value)) => self.bind(value, "'\"", "\"$'")?,
                Some(Item::Char('\'')) => {
                    self.copy();
                    return Ok(());
                }
                Some(Item::Char('\\')) => self.backslash(Around::DoubleQuotes),
                Some(Item::Char(_)) => self.copy(),
            }
        }
    }

    pub(super) fn double(&mut self) -> Result<(), QuoteError> {
        self.copy();
        loop {
            match self.peek(0) {
                None => return Ok(()),
                Some(Item::Char('"')) => {
                    self.copy();
                    return Ok(());
                }
                Some(item) => self.in_text(item, Around::DoubleQuotes)?,
            }
        }
    }

    /// One item of a text with expansions.
    pub(super) fn in_text(&mut self, item: Item, around: Around) -> Result<(), QuoteError> {
        match item {
            Item::Value(value) => self.bind(value, "", ""),
            Item::Char('\\') => {
                self.backslash(around);
                Ok(())
            }
            Item::Char('$') => self.dollar(around),
            Item::Char('`') => self.backquoted(),
            Item::Char(_) => {
                self.copy();
                Ok(())
            }
        }
    }

    pub(super) fn dollar(&mut self, around: Around) -> Result<(), QuoteError> {
        let Some(next) = self.peek(1) else {
            self.copy();
            return Ok(());
        };
        let is_bash = self.dialect == Dialect::Bash;
        match next {
            // It is the author's dollar, not that of our expansion.
            Item::Value(_) => {
                self.out.push('\\');
                self.copy();
                Ok(())
            }
            Item::Char('(') if self.is(2, '(') => {
                (0..3).for_each(|_| self.copy());
                self.deeper(|reader| reader.arithmetic(')'))
            }
            Item::Char('(') => {
                self.copy();
                self.copy();
                self.deeper(|reader| reader.command(Closer::Parenthesis))
            }
            Item::Char('{') => {
                self.copy();
                self.copy();
                self.deeper(|reader| reader.parameter(around))
            }
            Item::Char('[') if is_bash => {
                self.copy();
                self.copy();
                self.deeper(|reader| reader.arithmetic(']'))
            }
            Item::Char('\'') if is_bash && around == Around::Nothing => {
                self.copy();
                self.copy();
                self.ansi()
            }
            Item::Char('#' | '$') => {
                self.copy();
                self.copy();
                Ok(())
            }
            Item::Char(_) => {
                self.copy();
                Ok(())
            }
        }
    }

    pub(super) fn backquoted(&mut self) -> Result<(), QuoteError> {
        self.copy();
        if self.backquotes == 0 {
            self.has_backslash = false;
        }
        self.backquotes += 1;
        let result = self.deeper(|reader| reader.command(Closer::Backquote));
        self.backquotes -= 1;
        result
    }

    /// After `${`, to the `}`.
    pub(super) fn parameter(&mut self, around: Around) -> Result<(), QuoteError> {
        // `${#x}` and `${!x}`
        if matches!(self.peek(0), Some(Item::Char('#' | '!'))) && !self.is(1, '}') {
            self.copy();
        }
        loop {
            match self.peek(0) {
                None => return Ok(()),
                Some(Item::Value(value)) => self.number(value)?,
                Some(Item::Char('}')) => {
                    self.copy();
                    return Ok(());
                }
                Some(Item::Char('[')) => {
                    self.copy();
                    self.arithmetic(']')?;
                }
                Some(Item::Char(':')) => {
                    self.copy();
                    if !matches!(self.peek(0), Some(Item::Char('-' | '=' | '?' | '+'))) {
                        return self.arithmetic('}');
                    }
                    self.copy();
                    return self.parameter_word(around);
                }
                Some(Item::Char(c)) if c.is_alphanumeric() || c == '_' => self.copy(),
                Some(Item::Char(_)) => {
                    self.copy();
                    return self.parameter_word(around);
                }
            }
        }
    }

    /// After the operator of `${x:-…}`, to the `}`.
    pub(super) fn parameter_word(&mut self, around: Around) -> Result<(), QuoteError> {
        loop {
            match self.peek(0) {
                None => return Ok(()),
                Some(Item::Char('}')) => {
                    self.copy();
                    return Ok(());
                }
                Some(Item::Char('"')) if around != Around::HereDocument => self.double()?,
                Some(Item::Char('\'')) if around == Around::Nothing => self.single()?,
                // Quoted even inside of quotes: a pattern must not be made of it.
                Some(Item::Value(value)) if around != Around::HereDocument => {
                    self.bind(value, "\"", "\"")?;
                }
                Some(item) => self.in_text(item, around)?,
            }
        }
    }

    /// To the `))`, `]` or `}` that ends a calculation.
    pub(super) fn arithmetic(&mut self, closer: char) -> Result<(), QuoteError> {
        let mut depth = 0_usize;
        while let Some(item) = self.peek(0) {
            match item {
                Item::Value(value) => self.number(value)?,
                Item::Char(c) if c == closer && depth == 0 => {
                    self.copy();
                    if closer == ')' && self.is(0, ')') {
                        self.copy();
                    }
                    return Ok(());
                }
                Item::Char('$') => self.dollar(Around::DoubleQuotes)?,
                Item::Char('`') => self.backquoted()?,
                Item::Char('\\') => self.backslash(Around::DoubleQuotes),
                Item::Char('(' | '[') => {
                    depth += 1;
                    self.copy();
                }
                Item::Char(')' | ']') => {
                    depth = depth.saturating_sub(1);
                    self.copy();
                }
                Item::Char(_) => self.copy(),
            }
        }
        Ok(())
    }
}
