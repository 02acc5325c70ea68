//! Words as a command sees them, and the facts that follow from their text alone.

use shuck_ast::{
    BinaryOp, Command, LiteralText, RedirectKind, SimpleCommand, StmtSeq, Word, WordPart,
    WordPartNode,
};

use super::Marked;
use super::origin::TextOrigin;
use crate::programs::{HOLE, base_name};

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) struct CommandWord {
    /// Text without its quotes, with a hole for everything that is not the author's own text.
    pub(super) text: String,
    pub(super) origin: TextOrigin,
    pub(super) line: usize,
    /// Last component of the file that the word names, if it names one.
    pub(super) file: String,
}

impl CommandWord {
    /// Returns a word of the author that is empty.
    pub(super) fn own(line: usize) -> CommandWord {
        CommandWord {
            text: String::new(),
            origin: TextOrigin::default(),
            line,
            file: String::new(),
        }
    }

    /// Returns true if something in the text is not the author's own text.
    pub(super) fn has_hole(&self) -> bool {
        self.text.contains(HOLE)
    }

    /// Returns the variables that the word sets for another program if it is `NAME=…`, with the
    /// texts behind the signs.
    pub(super) fn variables(&self) -> Vec<(&str, &str)> {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let mut found = Vec::new();
        for (at, _) in self.text.match_indices('=') {
            let (before, value) = (&self.text[..at], &self.text[at + 1..]);
            let prefix = before.trim_end_matches(is_part);
            let name = match prefix {
                // `-ek=…` sets `k`, and `--max=…` sets none.
                "-" => before.get(2..).unwrap_or_default(),
                _ if prefix.ends_with('-') => continue,
                _ => &before[prefix.len()..],
            };
            if is_name(name) {
                found.push((name, value));
            }
        }
        found
    }
}

/// Returns the last component of the file that a word names, by its spelling in the script.
pub(super) fn file_name(written: &str) -> String {
    let plain: String = written
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '\\' | '{' | '}'))
        .collect();
    base_name(&plain).to_owned()
}

/// Returns the text of a word, with holes.
pub(super) fn text(word: &Word, source: &str, marked: &Marked) -> String {
    let mut text = String::new();
    add_parts(&word.parts, source, &mut text);
    let mut plain = String::new();
    let mut in_mark = false;
    for c in text.chars() {
        match c {
            c if c == marked.open => {
                plain.push(HOLE);
                in_mark = true;
            }
            c if c == marked.close => in_mark = false,
            c if !in_mark => plain.push(c),
            _ => {}
        }
    }
    plain
}

fn add_parts(parts: &[WordPartNode], source: &str, text: &mut String) {
    for part in parts {
        match &part.kind {
            WordPart::Literal(literal) => {
                let span = part.span;
                let written = source.get(span.start.offset()..span.end.offset());
                let (LiteralText::Owned(it) | LiteralText::CookedSource(it)) = literal else {
                    let mut chars = written.unwrap_or("\0").chars();
                    while let Some(c) = chars.next() {
                        text.extend(if c == '\\' { chars.next() } else { Some(c) });
                    }
                    continue;
                };
                text.push_str(it);
            }
            WordPart::SingleQuoted { value, dollar } => {
                let value = value.slice(source);
                // Escapes of `$'…'` can produce any text.
                if *dollar && value.contains('\\') {
                    text.push(HOLE)
                } else {
                    text.push_str(value)
                }
            }
            WordPart::DoubleQuoted { parts, .. } => add_parts(parts, source, text),
            WordPart::ZshQualifiedGlob(_)
            | WordPart::Variable(_)
            | WordPart::CommandSubstitution { .. }
            | WordPart::ArithmeticExpansion { .. }
            | WordPart::Parameter(_)
            | WordPart::ParameterExpansion { .. }
            | WordPart::Length(_)
            | WordPart::ArrayAccess(_)
            | WordPart::ArrayLength(_)
            | WordPart::ArrayIndices(_)
            | WordPart::Substring { .. }
            | WordPart::ArraySlice { .. }
            | WordPart::IndirectExpansion { .. }
            | WordPart::PrefixMatch { .. }
            | WordPart::ProcessSubstitution { .. }
            | WordPart::Transformation { .. } => text.push(HOLE),
        }
    }
}

pub(super) fn is_name(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !text.is_empty() && !text.starts_with(|c: char| c.is_ascii_digit()) && text.chars().all(is_part)
}

/// Returns every name in arithmetic; a text with substitutions gives some false positives.
pub(super) fn identifiers(text: &str) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let words = text.split(|c: char| !is_part(c) && c != '#');
    words
        .filter(|word| is_name(word))
        .map(str::to_owned)
        .collect()
}

/// Returns true if text that should be literal has the beginning of an expansion.
pub(super) fn holds_syntax(text: &str) -> bool {
    let mut before = ' ';
    let mut is_escaped = false;
    for c in text.chars() {
        if is_escaped {
            is_escaped = false;
            before = ' ';
            continue;
        }
        match c {
            '\\' => is_escaped = true,
            '`' => return true,
            '(' | '{' | '[' if before == '$' => return true,
            _ => {}
        }
        before = c;
    }
    false
}

/// Returns true for `${x//[!0-9]/}` or `${x%%[!0-9]*}`: only digits are left.
pub(super) fn keeps_digits(expansion: &str) -> bool {
    let Some(inner) = expansion
        .strip_prefix("${")
        .and_then(|it| it.strip_suffix('}'))
    else {
        return false;
    };
    let name = inner
        .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .unwrap_or(inner.len());
    matches!(
        &inner[name..],
        "//[!0-9]/"
            | "//[^0-9]/"
            | "//[!0-9]"
            | "//[^0-9]"
            | "//[![:digit:]]/"
            | "//[^[:digit:]]/"
            | "//[![:digit:]]"
            | "//[^[:digit:]]"
            | "%%[!0-9]*"
            | "%%[^0-9]*"
    )
}

/// Programs that write the set-up of a shell, for `eval "$(ssh-agent -s)"`.
const WRITE_SETUP: &[&str] = &[
    "asdf",
    "brew",
    "conda",
    "dircolors",
    "direnv",
    "fnm",
    "gpg-agent",
    "keychain",
    "lesspipe",
    "luarocks",
    "mise",
    "nodenv",
    "opam",
    "pyenv",
    "rbenv",
    "ssh-agent",
    "starship",
    "zoxide",
];

/// Returns true if a substitution is one of these with nothing but the author's words.
pub(super) fn is_setup(body: &StmtSeq, source: &str, marked: &Marked) -> bool {
    let [statement] = body.stmts.as_slice() else {
        return false;
    };
    let Command::Simple(simple) = &statement.command else {
        return false;
    };
    let words = texts(simple, source, marked);
    let is_plain = simple.assignments.is_empty()
        && statement.redirects.is_empty()
        && !words.iter().any(|word| word.contains(HOLE));
    is_plain && WRITE_SETUP.contains(&words[0].as_str())
}

/// Programs whose output the grammar may prove: numbers, or the author's own text.
pub(super) const KNOWN_OUTPUT: &[&str] = &[
    "cat", "date", "echo", "grep", "egrep", "fgrep", "git", "id", "nproc", "printf", "stat", "tr",
    "wc",
];

/// Returns true if a substitution can only give a whole number, whatever input its commands get.
pub(super) fn is_count(body: &StmtSeq, source: &str, marked: &Marked) -> bool {
    let [statement] = body.stmts.as_slice() else {
        return false;
    };
    let mut last = statement;
    while let Command::Binary(binary) = &last.command {
        if !matches!(binary.op, BinaryOp::Pipe) {
            return false;
        }
        last = &binary.right;
    }
    let reads_only = last.redirects.iter().all(|redirect| {
        matches!(
            redirect.kind,
            RedirectKind::Input
                | RedirectKind::HereString
                | RedirectKind::HereDoc
                | RedirectKind::HereDocStrip
        ) || redirect.fd == Some(2)
    });
    let Command::Simple(simple) = &last.command else {
        return false;
    };
    let words = texts(simple, source, marked);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    reads_only
        && match words.as_slice() {
            ["wc", option] => ["-l", "-c", "-w", "-m", "--lines", "--bytes"].contains(option),
            ["nproc"] | ["id", "-u" | "-g"] | ["tr", "-cd" | "-dc", "0-9" | "[:digit:]"] => true,
            ["date", format] | ["date", "-u", format] => is_numeric_date(format),
            [
                "stat",
                "-c" | "--format",
                "%s" | "%Y" | "%a" | "%u" | "%g",
                rest @ ..,
            ]
            | [
                "stat",
                "-c%s" | "-c%Y" | "--format=%s" | "--format=%Y",
                rest @ ..,
            ]
            | ["git", "rev-list", "--count", rest @ ..] => are_operands(rest),
            [
                "grep" | "egrep" | "fgrep",
                "-c" | "--count" | "-ci" | "-ic" | "-cE" | "-Ec" | "-cF" | "-Fc",
                rest @ ..,
            ] => {
                // With more than one file it writes their names.
                let most = 2 + usize::from(rest.first() == Some(&"--"));
                rest.len() <= most && are_operands(rest)
            }
            _ => false,
        }
}

/// Returns true if no word can be an option.
fn are_operands(words: &[&str]) -> bool {
    words.first() == Some(&"--") || !words.iter().any(|word| word.starts_with([HOLE, '-']))
}

/// Returns true for a format of `date` that gives digits only.
fn is_numeric_date(format: &str) -> bool {
    let fields = format.strip_prefix("+%").unwrap_or("x");
    fields
        .split('%')
        .all(|field| field.len() == 1 && "sYmdHMSjuNy".contains(field))
}

/// Returns the texts of the words of a simple command, with holes.
pub(super) fn texts(simple: &SimpleCommand, source: &str, marked: &Marked) -> Vec<String> {
    let words = std::iter::once(&simple.name).chain(&simple.args);
    words.map(|word| text(word, source, marked)).collect()
}
