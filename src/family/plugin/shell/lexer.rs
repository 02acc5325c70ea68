//! A command template cut into words and operators, by the rules of a shell and without one.
//!
//! Quotes and backslashes are syntax, placeholders are found everywhere. Anything else that a shell
//! would expand or redirect is refused or reported: a program has no use for `2>&1` as an argument.
//! A value never comes through here.

use std::collections::BTreeSet;

use super::Refused;
use crate::family::plugin::template::{Part, placeholder, push};

/// One word of a command: the pieces of one argument.
pub(super) type Word = Vec<Part>;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Token {
    Word(Word),
    Operator(Operator),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operator {
    And,
    Or,
    Then,
    Pipe,
}

impl Operator {
    const ALL: [(&'static str, Operator); 4] = [
        ("&&", Operator::And),
        ("||", Operator::Or),
        (";", Operator::Then),
        ("|", Operator::Pipe),
    ];

    pub(super) fn as_str(self) -> &'static str {
        let mut all = Operator::ALL.iter();
        all.find(|(_, operator)| *operator == self)
            .map_or("", |(text, _)| text)
    }
}

/// Tokens of a template, and the parts that a shell would have expanded.
pub(super) struct Lexed {
    pub(super) tokens: Vec<Token>,
    /// Texts that only a shell would expand; they are worth a warning.
    pub(super) unexpanded: BTreeSet<String>,
}

pub(super) fn lex(template: &str) -> Result<Lexed, Refused> {
    let mut lexer = Lexer {
        rest: template,
        word: None,
        done: Lexed {
            tokens: Vec::new(),
            unexpanded: BTreeSet::new(),
        },
    };
    while let Some(c) = lexer.rest.chars().next() {
        lexer.plain(c)?;
    }
    lexer.end_word();
    Ok(lexer.done)
}

struct Lexer<'a> {
    rest: &'a str,
    /// The word that has begun; it may still be empty, as `''` is.
    word: Option<Word>,
    done: Lexed,
}

impl Lexer<'_> {
    /// Handles a character outside of quotes.
    fn plain(&mut self, c: char) -> Result<(), Refused> {
        if self.take_placeholder() {
            return Ok(());
        }
        let operator = Operator::ALL
            .iter()
            .find(|(text, _)| self.rest.starts_with(text));
        if let Some((text, operator)) = operator {
            self.end_word();
            self.skip(text.len());
            self.done.tokens.push(Token::Operator(*operator));
            return Ok(());
        }
        match c {
            _ if c.is_whitespace() => {
                self.end_word();
                self.skip(c.len_utf8());
                Ok(())
            }
            '\'' => self.single_quoted(),
            '"' => self.double_quoted(),
            '\\' => self.escaped(),
            '<' | '>' => Err(Refused::new(
                format!("`{c}` redirects nothing: no shell runs this command"),
                "leave the redirection out (the standard error is reported anyway), or quote it",
            )),
            '(' | ')' => Err(Refused::new(
                format!("`{c}` groups nothing: no shell runs this command"),
                "quote it if it is part of an argument",
            )),
            '&' if self.ends_word_after(1) => Err(Refused::new(
                "`&` puts nothing into the background: no shell runs this command",
                "leave it out, or quote it",
            )),
            _ => {
                self.point_out(c, self.word.as_ref().is_none_or(Vec::is_empty));
                self.literal(c)
            }
        }
    }

    fn single_quoted(&mut self) -> Result<(), Refused> {
        self.open_quote();
        loop {
            match self.rest.chars().next() {
                None => return Err(unterminated('\'')),
                Some('\'') => return self.close_quote(),
                Some(c) => {
                    if !self.take_placeholder() {
                        self.keep(c);
                    }
                }
            }
        }
    }

    fn double_quoted(&mut self) -> Result<(), Refused> {
        self.open_quote();
        loop {
            match self.rest.chars().next() {
                None => return Err(unterminated('"')),
                Some('"') => return self.close_quote(),
                Some('\\') if self.rest[1..].starts_with(['"', '\\', '$', '`']) => {
                    self.escaped()?;
                }
                Some(c) => {
                    if !self.take_placeholder() {
                        if c == '$' {
                            self.point_out(c, false);
                        }
                        self.literal(c)?;
                    }
                }
            }
        }
    }

    /// Handles a backslash and the character that it protects.
    fn escaped(&mut self) -> Result<(), Refused> {
        self.skip(1);
        let Some(c) = self.rest.chars().next() else {
            let text = "the command ends in a backslash";
            return Err(Refused::new(text, "write `\\\\` for a backslash"));
        };
        self.keep(c);
        Ok(())
    }

    /// Keeps a character that is not in single quotes.
    fn literal(&mut self, c: char) -> Result<(), Refused> {
        if c == '`' || self.rest.starts_with("$(") {
            let sign = if c == '`' { "`" } else { "$(" };
            return Err(Refused::new(
                format!("\"{sign}\" substitutes nothing: no shell runs this command"),
                "put it in single quotes if it is meant as text",
            ));
        }
        self.keep(c);
        Ok(())
    }

    /// Records a character that a shell would have expanded.
    fn point_out(&mut self, c: char, begins_word: bool) {
        let rest = self.rest;
        let noted = match c {
            '$' => {
                let is_name =
                    |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '{' || c == '}';
                let end = rest[1..]
                    .find(|c| !is_name(c))
                    .map_or(rest.len(), |end| end + 1);
                &rest[..end]
            }
            '*' => "*",
            '~' if begins_word => "~",
            _ => return,
        };
        if noted != "$" {
            self.done.unexpanded.insert(noted.to_owned());
        }
    }

    fn take_placeholder(&mut self) -> bool {
        let Some((name, rest)) = placeholder(self.rest) else {
            return false;
        };
        let parameter = Part::Parameter(name.to_owned());
        self.rest = rest;
        self.word.get_or_insert_default().push(parameter);
        true
    }

    fn keep(&mut self, c: char) {
        push(self.word.get_or_insert_default(), c);
        self.skip(c.len_utf8());
    }

    fn open_quote(&mut self) {
        self.word.get_or_insert_default();
        self.skip(1);
    }

    #[expect(clippy::unnecessary_wraps, reason = "it ends functions that can fail")]
    fn close_quote(&mut self) -> Result<(), Refused> {
        self.skip(1);
        Ok(())
    }

    fn ends_word_after(&self, length: usize) -> bool {
        let next = self.rest[length..].chars().next();
        self.word.is_none() || next.is_none_or(|c| c.is_whitespace() || "<>&|;".contains(c))
    }

    fn end_word(&mut self) {
        let word = self.word.take();
        self.done.tokens.extend(word.map(Token::Word));
    }

    fn skip(&mut self, length: usize) {
        self.rest = &self.rest[length..];
    }
}

fn unterminated(quote: char) -> Refused {
    let text = format!("a {quote} in the command is never closed");
    Refused::new(text, "close it, or write a backslash before it")
}
