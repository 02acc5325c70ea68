//! Quoting of values in bash and its relatives: no value ever is part of the source.
//!
//! A value is bound to a variable, and the source gets an expansion in the quotes that its place
//! needs. A syntax tree gives the place (`walk`). The shell does not parse the result of an
//! expansion, but some places read it again: arithmetic evaluates it (`a[$(id)]`), `eval` and the
//! like run it. Such a place takes only what the grammar proves to be safe: a calculation takes
//! whole numbers, and everything else the author's own text. Assignments of variables are followed
//! (`origin`); all other text that a script reads may hold every value. If the tree is not clear,
//! every value is refused.
//!
//! A here-document with a quoted delimiter has no expansions, so it is rewritten as one that has,
//! with the author's own text escaped. In backquotes the meaning of backslashes depends on the
//! depth, so a combination of both is refused.

mod command;
mod origin;
mod walk;
mod word;

use std::collections::HashMap;
use std::ops::Range;

use super::programs::base_name;
use super::{Piece, QuoteError, Quoted, variable};
use origin::{INPUT, Need, Rule};
use walk::{CALCULATES, Quote, Walked};

/// Shell that reads the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    Bash,
    /// Any other POSIX shell: no `$'…'`.
    Sh,
    /// ksh and zsh, which calculate in more places than bash.
    Ksh,
}

impl Dialect {
    /// Returns the dialect of a shell, by its name or path.
    pub fn of_shell(shell: &str) -> Option<Dialect> {
        match base_name(shell) {
            "bash" => Some(Dialect::Bash),
            "sh" | "dash" | "ash" => Some(Dialect::Sh),
            "ksh" | "mksh" | "zsh" => Some(Dialect::Ksh),
            _ => None,
        }
    }
}

/// A value that reaches the shell outside of its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The variable of the environment that holds it; without a name it is the standard input.
    pub variable: Option<String>,
    /// Name of the value in messages.
    pub name: String,
    /// Text of the value.
    pub text: String,
    /// As in [`Piece`].
    pub is_fixed: bool,
}

/// Puts the guarded pieces in their places.
///
/// # Errors
/// Where a place cannot be made safe for its value.
pub fn bash(pieces: &[Piece], dialect: Dialect) -> Result<Quoted, QuoteError> {
    bash_with(pieces, dialect, &[])
}

/// Puts the guarded pieces in their places, with other values in variables or the standard input.
///
/// # Errors
/// Where a place cannot be made safe for its value.
pub fn bash_with(
    pieces: &[Piece],
    dialect: Dialect,
    outside: &[Outside],
) -> Result<Quoted, QuoteError> {
    let guarded: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| piece.guarded.is_some())
        .collect();
    if guarded.is_empty() && outside.is_empty() {
        let text = pieces.iter().map(|piece| piece.text.as_str()).collect();
        return Ok(Quoted {
            text,
            values: Vec::new(),
        });
    }
    let marked = Marked::new(pieces);
    let walked = walked(&marked, &guarded, dialect, outside)?;
    for need in &walked.needs {
        match guarded.get(need.value) {
            Some(piece) => need.check(&piece.text, piece.is_fixed, piece.guarded.as_deref())?,
            None => {
                let outside = &outside[need.value - guarded.len()];
                need.check_outside(outside)?;
            }
        }
    }
    for (piece, place) in guarded.iter().zip(&walked.places) {
        if piece.text.contains('\0') {
            return Err(refused(piece, "it has a NUL character"));
        }
        // It becomes a part of the source there.
        let is_calculated = place.as_ref().is_some_and(|it| it.quote == Quote::Number);
        if is_calculated && !is_whole(&piece.text) {
            return Err(refused(piece, &format!("it reaches {CALCULATES}")));
        }
    }
    write(&marked, &walked, &guarded, dialect)
}

/// Reports the places where values cannot stand at all, and those that need a whole number.
pub fn survey(pieces: &[Piece], dialect: Dialect, outside: &[Outside]) -> Vec<Finding> {
    let guarded: Vec<&Piece> = pieces
        .iter()
        .filter(|piece| piece.guarded.is_some())
        .collect();
    if guarded.is_empty() && outside.is_empty() {
        return Vec::new();
    }
    let marked = Marked::new(pieces);
    let never = |error: QuoteError| {
        vec![Finding {
            name: error.name,
            why: error.why,
            is_number: false,
        }]
    };
    let walked = match walked(&marked, &guarded, dialect, outside) {
        Ok(walked) => walked,
        Err(error) => return never(error),
    };
    let mut found: Vec<Finding> = Vec::new();
    for need in &walked.needs {
        let (name, is_fixed) = match guarded.get(need.value) {
            Some(piece) => (piece.guarded.as_deref().unwrap_or_default(), piece.is_fixed),
            None => {
                let one = &outside[need.value - guarded.len()];
                (one.name.as_str(), one.is_fixed)
            }
        };
        let is_number = matches!(need.rule, Rule::Number | Rule::Operand);
        let finding = Finding {
            name: name.to_owned(),
            why: need.sentence(),
            is_number,
        };
        let is_place = is_number || need.rule == Rule::Never;
        // Text that the grammar does not show may hold every value: one of them is enough.
        let is_known = found
            .iter()
            .any(|known| known.why == finding.why && (need.through.is_some() || *known == finding));
        if is_place && !is_known && !is_fixed {
            found.push(finding);
        }
    }
    if let Err(error) = write(&marked, &walked, &guarded, dialect) {
        found.extend(never(error));
    }
    found
}

/// Result of `validate` about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Name of the value.
    pub name: String,
    pub why: String,
    /// A whole number may stand there.
    pub is_number: bool,
}

fn refused(piece: &Piece, why: &str) -> QuoteError {
    QuoteError {
        name: piece.guarded.clone().unwrap_or_default(),
        why: why.to_owned(),
    }
}

impl Need {
    fn check(&self, text: &str, is_fixed: bool, name: Option<&str>) -> Result<(), QuoteError> {
        if is_fixed || self.allows(text) {
            return Ok(());
        }
        Err(QuoteError {
            name: name.unwrap_or_default().to_owned(),
            why: self.sentence(),
        })
    }

    /// Checks text that the shell may split into words and lines.
    fn check_outside(&self, outside: &Outside) -> Result<(), QuoteError> {
        let mut words = outside.text.split_whitespace();
        let text = match self.rule {
            Rule::Number | Rule::Operand => words.find(|word| !self.allows(word)).unwrap_or("0"),
            Rule::Never | Rule::NoOption | Rule::NoVariable => outside.text.trim_start(),
        };
        self.check(text, outside.is_fixed, Some(&outside.name))
    }

    fn allows(&self, text: &str) -> bool {
        match self.rule {
            Rule::Number => is_whole(text),
            Rule::Operand => text.is_empty() || is_whole(text),
            Rule::Never => false,
            Rule::NoOption => !self.begins_option(text),
            Rule::NoVariable => !self.begins_option(text) && !text.contains('='),
        }
    }

    /// Returns true if a text may become an option. Text that a script takes apart begins anywhere.
    fn begins_option(&self, text: &str) -> bool {
        let is_option = |word: &str| word.starts_with('-') && !matches!(word, "-" | "--");
        text.starts_with('-') || self.through.is_some() && text.split_whitespace().any(is_option)
    }

    fn sentence(&self) -> String {
        let through = match self.through.as_deref() {
            None => String::new(),
            Some(INPUT) => " through the standard input".to_owned(),
            Some(name) if name.starts_with('<') => {
                " through what commands are given, read and write".to_owned()
            }
            Some(name) => format!(" through the variable `{name}`"),
        };
        let way_out = match (self.through.as_deref(), self.rule) {
            (None, _) | (_, Rule::Never | Rule::NoOption | Rule::NoVariable) => String::new(),
            (Some(name), Rule::Number | Rule::Operand) => {
                let name = if name.starts_with('<') { "text" } else { name };
                format!("; or calculate with its digits: `digits=${{{name}//[!0-9]/}}`")
            }
        };
        format!(
            "in line {} it {}{through} {}{way_out}",
            self.line,
            if self.through.is_some() {
                "may reach"
            } else {
                "reaches"
            },
            self.why
        )
    }
}

/// Returns true if a text is a whole number: a shell can calculate with it and do nothing else.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix('-').unwrap_or(text);
    !digits.is_empty() && digits.len() <= 18 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// The text with a mark in place of each value.
struct Marked {
    text: String,
    /// Ranges of the marks.
    marks: Vec<Range<usize>>,
    open: char,
    close: char,
}

impl Marked {
    fn new(pieces: &[Piece]) -> Marked {
        // Private characters are ordinary to a shell and cannot be part of a name.
        let mut free = ('\u{e000}'..='\u{f8ff}').filter(|c| {
            !pieces
                .iter()
                .any(|piece| piece.guarded.is_none() && piece.text.contains(*c))
        });
        let open = free.next().unwrap_or('\u{e000}');
        let close = free.next().unwrap_or('\u{e001}');
        let (mut text, mut marks) = (String::new(), Vec::new());
        for piece in pieces {
            if piece.guarded.is_none() {
                text.push_str(&piece.text);
                continue;
            }
            let start = text.len();
            text.push_str(&format!("{open}{}{close}", marks.len()));
            marks.push(start..text.len());
        }
        Marked {
            text,
            marks,
            open,
            close,
        }
    }
}

fn walked(
    marked: &Marked,
    guarded: &[&Piece],
    dialect: Dialect,
    outside: &[Outside],
) -> Result<Walked, QuoteError> {
    let names: Vec<Option<&str>> = outside.iter().map(|one| one.variable.as_deref()).collect();
    walk::walk(marked, dialect, &names).map_err(|why| {
        let first = guarded.first().and_then(|piece| piece.guarded.clone());
        let outside = || outside.first().map(|one| one.name.clone());
        QuoteError {
            name: first.or_else(outside).unwrap_or_default(),
            why,
        }
    })
}

/// Writes the source with an expansion in place of each mark.
fn write(
    marked: &Marked,
    walked: &Walked,
    guarded: &[&Piece],
    dialect: Dialect,
) -> Result<Quoted, QuoteError> {
    let mut values: Vec<String> = Vec::new();
    let mut bound: HashMap<&str, usize> = HashMap::new();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (index, (mark, place)) in marked.marks.iter().zip(&walked.places).enumerate() {
        let piece = guarded[index];
        let Some(place) = place else {
            return Err(refused(
                piece,
                "haft cannot tell where it stands; put it into a variable of its own with \
                 `environment.variables`",
            ));
        };
        if place.backquotes.as_ref().is_some_and(|range| {
            marked
                .text
                .get(range.clone())
                .is_none_or(|text| text.contains('\\'))
        }) {
            return Err(refused(
                piece,
                "there is a backslash in the backquotes; write `$(…)`",
            ));
        }
        let slashes = marked.text[..mark.start]
            .bytes()
            .rev()
            .take_while(|byte| *byte == b'\\')
            .count();
        // A backslash would escape our own quote or dollar sign.
        let is_escaped = slashes % 2 == 1;
        let has_dollar = marked.text[..mark.start].ends_with('$') && !is_escaped;
        let mut range = mark.clone();
        let mut text = String::new();
        match place.quote {
            Quote::Bare if is_escaped => range.start -= 1,
            Quote::Double | Quote::Ansi | Quote::Heredoc if is_escaped => text.push('\\'),
            Quote::Bare | Quote::Double | Quote::Heredoc if has_dollar => {
                // The dollar sign is the author's, not that of our expansion.
                range.start -= 1;
                text.push_str("\\$");
            }
            _ => {}
        }
        if place.quote == Quote::Number {
            // `5-{N}` and `${x:{N}}` mean a number, not the operators `--` and `:-`.
            if piece.text.starts_with('-') {
                text.push_str(&format!("({})", piece.text))
            } else {
                text.push_str(&piece.text)
            }
            edits.push((range, text));
            continue;
        }
        if place.quote == Quote::Comment {
            edits.push((range, text));
            continue;
        }
        let next = values.len();
        let at = *bound.entry(&piece.text).or_insert(next);
        if at == next {
            values.push(piece.text.clone());
        }
        let expansion = format!("${{{}}}", variable(at));
        text.push_str(&match place.quote {
            Quote::Bare => format!("\"{expansion}\""),
            Quote::Single => format!("'\"{expansion}\"'"),
            Quote::Ansi if dialect == Dialect::Sh => format!("'\"{expansion}\"'"),
            Quote::Ansi => format!("'\"{expansion}\"$'"),
            _ => expansion,
        });
        edits.push((range, text));
    }
    for document in &walked.documents {
        if walked.places.iter().flatten().any(|place| {
            place.document == Some(document.body.start) && place.quote == Quote::Literal
        }) {
            document
                .rewrite(&marked.text, &marked.marks, &mut edits)
                .ok_or_else(|| unclear_document(guarded))?;
        }
    }
    edits.sort_by_key(|(range, _)| (range.start, range.end));
    let (mut text, mut at) = (String::new(), 0);
    for (range, new) in edits {
        if range.start < at {
            return Err(unclear_document(guarded));
        }
        text.push_str(&marked.text[at..range.start]);
        text.push_str(&new);
        at = range.end;
    }
    text.push_str(&marked.text[at..]);
    Ok(Quoted { text, values })
}

fn unclear_document(guarded: &[&Piece]) -> QuoteError {
    let name = guarded.first().and_then(|piece| piece.guarded.clone());
    QuoteError {
        name: name.unwrap_or_default(),
        why: "haft cannot tell where a here-document ends; hand the value over by `input`"
            .to_owned(),
    }
}

/// A here-document whose delimiter is quoted.
#[derive(Clone, Debug)]
struct Document {
    /// The delimiter behind `<<`, with its quotes.
    delimiter: Range<usize>,
    /// The delimiter without them.
    cooked: String,
    body: Range<usize>,
    strips_tabs: bool,
}

impl Document {
    /// Rewrites the here-document as one in which only the expansions of the values expand.
    fn rewrite(
        &self,
        text: &str,
        marks: &[Range<usize>],
        edits: &mut Vec<(Range<usize>, String)>,
    ) -> Option<()> {
        let body = text.get(self.body.clone())?;
        for (at, c) in body.char_indices() {
            let at = self.body.start + at;
            let is_mark = marks.iter().any(|mark| mark.contains(&at));
            if !is_mark && matches!(c, '\\' | '$' | '`') {
                edits.push((at..at, "\\".to_owned()));
            }
        }
        let mut end = self.body.end;
        if self.strips_tabs {
            end += text[end..].len() - text[end..].trim_start_matches('\t').len();
        }
        let rest = text.get(end..)?;
        let line = rest.lines().next().unwrap_or_default();
        let delimiter = plain_delimiter(&self.cooked);
        edits.push((self.delimiter.clone(), delimiter.to_owned()));
        if !rest.is_empty() {
            // In a substitution its end may follow on the same line.
            if !line.starts_with(&self.cooked) {
                return None;
            }
            edits.push((end..end + self.cooked.len(), delimiter.to_owned()));
        }
        Some(())
    }
}

/// Returns a delimiter without quotes that ends the same body.
fn plain_delimiter(delimiter: &str) -> &str {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
    if !delimiter.is_empty() && delimiter.bytes().all(is_plain) {
        delimiter
    } else {
        "__HAFT_END_OF_DOCUMENT"
    }
}
