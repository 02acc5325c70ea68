//! Words as a command sees them, and the facts that follow from their text alone.

use shuck_ast::{
    BinaryOp, Command, LiteralText, RedirectKind, StmtSeq, Word, WordPart, WordPartNode,
};

use super::taint::Sources;
use crate::programs::HOLE;

/// A word of a command.
#[derive(Clone, Debug)]
pub(super) struct View {
    /// Text without its quotes, with a hole for everything that is not the author's own text.
    pub(super) text: String,
    pub(super) sources: Sources,
    pub(super) line: usize,
    /// True for `"$@"` or `"$*"`.
    pub(super) is_all_arguments: bool,
    /// Name of the variable, if the word is `"${variable[@]}"`.
    pub(super) all_of: Option<String>,
    /// Name of the file that the word refers to, if it refers to one.
    pub(super) file: String,
}

/// Returns a name for the content of a file, by the text that names the file in the script.
pub(super) fn file(written: &str) -> String {
    let plain: String = written
        .chars()
        .filter(|c| !matches!(c, '"' | '\'' | '\\' | '{' | '}'))
        .collect();
    let plain = plain.strip_prefix("./").unwrap_or(&plain);
    format!("<file {plain}>")
}

/// Returns the text of a word, with holes.
pub(super) fn text(word: &Word, source: &str, open: char, close: char) -> String {
    let mut text = String::new();
    add_parts(&word.parts, source, &mut text);
    let mut plain = String::new();
    let mut in_mark = false;
    for c in text.chars() {
        match c {
            c if c == open => {
                plain.push(HOLE);
                in_mark = true;
            }
            c if c == close => in_mark = false,
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

pub(super) fn is_all_arguments(word: &Word) -> bool {
    let is_it = |part: &WordPart| matches!(part, WordPart::Variable(name) if matches!(name.as_str(), "@" | "*"));
    match word.parts.as_slice() {
        [part] => match &part.kind {
            WordPart::DoubleQuoted { parts, .. } => {
                matches!(parts.as_slice(), [part] if is_it(&part.kind))
            }
            part => is_it(part),
        },
        _ => false,
    }
}

/// Returns the variable of `"${variable[@]}"`, by the text of the word.
pub(super) fn all_of(written: &str) -> Option<String> {
    let inner = written.strip_prefix("\"${")?.strip_suffix("[@]}\"")?;
    is_name(inner).then(|| inner.to_owned())
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
pub(super) fn is_setup(body: &StmtSeq, source: &str) -> bool {
    let [statement] = body.stmts.as_slice() else {
        return false;
    };
    let Command::Simple(simple) = &statement.command else {
        return false;
    };
    let words: Vec<String> = std::iter::once(&simple.name)
        .chain(&simple.args)
        .map(|word| text(word, source, HOLE, HOLE))
        .collect();
    let is_plain = simple.assignments.is_empty()
        && statement.redirects.is_empty()
        && !words.iter().any(|word| word.contains(HOLE));
    is_plain
        && words
            .first()
            .is_some_and(|name| WRITE_SETUP.contains(&name.as_str()))
}

/// Returns true if a substitution can only give a whole number, whatever input its commands get.
pub(super) fn is_count(body: &StmtSeq, source: &str) -> bool {
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
    if !reads_only {
        return false;
    }
    let words: Vec<String> = std::iter::once(&simple.name)
        .chain(&simple.args)
        .map(|word| text(word, source, HOLE, HOLE))
        .collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words.as_slice() {
        [
            "wc",
            "-l" | "-c" | "-w" | "-m" | "--lines" | "--bytes" | "--words" | "--chars",
        ]
        | ["nproc", ..]
        | ["id", "-u" | "-g"] => !words.iter().any(|word| word.contains(HOLE)),
        [
            "stat",
            "-c" | "--format",
            "%s" | "%Y" | "%a" | "%u" | "%g",
            "--",
            ..,
        ]
        | [
            "stat",
            "-c%s" | "-c%Y" | "--format=%s" | "--format=%Y",
            "--",
            ..,
        ] => true,
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
        ] => {
            // A `--printf=` after the file would write something else.
            !rest.iter().any(|word| word.starts_with([HOLE, '-']))
        }
        ["date", format] | ["date", "-u", format] => {
            let fields = format.strip_prefix('+').unwrap_or("x");
            !fields.is_empty()
                && fields.split('%').skip(1).all(|field| {
                    field.len() == 1
                        && field
                            .starts_with(['s', 'Y', 'm', 'd', 'H', 'M', 'S', 'j', 'u', 'N', 'y'])
                })
                && fields.starts_with('%')
        }
        [
            "grep" | "egrep" | "fgrep" | "rg",
            "-c" | "--count",
            "--",
            _,
            ..,
        ] if words.len() <= 5 => words.len() == 4 || words.len() == 5 && words[0] != "rg",
        [
            "grep" | "egrep" | "fgrep",
            "-c" | "--count" | "-ci" | "-ic" | "-cE" | "-Ec" | "-cF" | "-Fc",
            pattern,
        ]
        | [
            "grep" | "egrep" | "fgrep",
            "-c" | "--count" | "-ci" | "-ic" | "-cE" | "-Ec" | "-cF" | "-Fc",
            pattern,
            _,
        ] => !pattern.starts_with([HOLE, '-']) && !words[words.len() - 1].starts_with([HOLE, '-']),
        ["git", "rev-list", "--count", rest @ ..] => {
            !rest.iter().any(|word| word.starts_with([HOLE, '-']))
        }
        _ => false,
    }
}
