//! Values in bash and its relatives: none of them ever is part of the source.
//!
//! A value is bound to a variable, and the source gets an expansion in the quotes that its place
//! needs. The shell does not look again at what an expansion gives, so a place that is misjudged
//! can split a value into words, but cannot run it. Three places are different. Arithmetic does
//! look again (`a[$(id)]`), so only whole numbers may stand there. A here-document with a quoted
//! delimiter has no expansions, so it is rewritten as one that has, with the author's own text
//! escaped. In backquotes backslashes mean something else at each depth, so both together are
//! refused.

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

/// The word that is being read.
struct Word {
    text: String,
    is_command: bool,
    /// `case`s that are open: their patterns end with a `)` that nothing opened.
    cases: usize,
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

    fn command(&mut self, closer: Closer) -> Result<(), QuoteError> {
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

    fn in_command(&mut self, value: usize, word: &Word) -> Result<(), QuoteError> {
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
    fn test(&mut self) {
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

    /// A backslash and what it escapes. Before a value it would escape our own quote.
    fn backslash(&mut self, around: Around) {
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

    fn single(&mut self) -> Result<(), QuoteError> {
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
    fn ansi(&mut self) -> Result<(), QuoteError> {
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

    fn double(&mut self) -> Result<(), QuoteError> {
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
    fn in_text(&mut self, item: Item, around: Around) -> Result<(), QuoteError> {
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

    fn dollar(&mut self, around: Around) -> Result<(), QuoteError> {
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

    fn backquoted(&mut self) -> Result<(), QuoteError> {
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
    fn parameter(&mut self, around: Around) -> Result<(), QuoteError> {
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
    fn parameter_word(&mut self, around: Around) -> Result<(), QuoteError> {
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
    fn arithmetic(&mut self, closer: char) -> Result<(), QuoteError> {
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

    fn comment(&mut self, closer: Closer) -> Result<(), QuoteError> {
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

    /// `<<`, perhaps `-`, and the delimiter.
    fn here_operator(&mut self) -> Result<(), QuoteError> {
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

    fn is_rewritten(&self, index: usize) -> bool {
        self.rewritten.get(index).copied().unwrap_or(false)
    }

    /// At the beginning of a line: the bodies of the here-documents of the line before.
    fn here_documents(&mut self) -> Result<(), QuoteError> {
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
    fn terminator(&self, document: &HereDocument) -> usize {
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
    fn literal_body(&mut self, document: &HereDocument) -> Result<(), QuoteError> {
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

impl Word {
    fn first() -> Word {
        Word {
            text: String::new(),
            is_command: true,
            cases: 0,
        }
    }

    /// The word is complete.
    fn ends(&mut self) {
        if self.text.is_empty() {
            return;
        }
        if self.is_command {
            match self.text.as_str() {
                "case" => self.cases += 1,
                "esac" => self.cases = self.cases.saturating_sub(1),
                _ => {}
            }
        }
        let goes_on = [
            "if", "then", "else", "elif", "while", "until", "do", "!", "{", "time", "in",
        ];
        self.is_command = self.is_command && goes_on.contains(&self.text.as_str())
            || self.cases > 0 && self.text == "in";
        self.text.clear();
    }

    /// Whether what follows is in the brackets of `name[…`.
    fn is_subscript(&self) -> bool {
        let Some((name, rest)) = self.text.split_once('[') else {
            return false;
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
        !name.is_empty() && name.chars().all(is_name) && !rest.contains(']')
    }
}
