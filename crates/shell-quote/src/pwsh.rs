//! Quoting of values in PowerShell: bound to variables of the environment, as in bash.
//!
//! Single-quoted strings have no expansions; there a quote is doubled, and PowerShell treats four
//! typographic quotes the same. The end of a single-quoted here-string cannot be escaped, so a
//! value that holds it is refused there.

use super::{Item, Piece, QuoteError, Quoted, items, variable};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Code,
    Single,
    Double,
    SingleHere,
    DoubleHere,
    LineComment,
    BlockComment,
}

/// Puts the guarded pieces in their places.
///
/// # Errors
/// Where a place cannot be made safe for its value.
pub fn pwsh(pieces: &[Piece]) -> Result<Quoted, QuoteError> {
    refuse_code(pieces)?;
    let items = items(pieces);
    let mut quoted = Quoted::default();
    // A `$(` in a string begins code, which a `)` ends.
    let mut places = vec![(Place::Code, 0_usize)];
    let mut at = 0;
    while at < items.len() {
        let (place, depth) = *places.last().expect("the outermost place stays");
        let c = match items[at] {
            Item::Value(value) => {
                insert(&mut quoted, &pieces[value], place)?;
                at += 1;
                continue;
            }
            Item::Char(c) => c,
        };
        let is = |ahead: usize, wanted: char| items.get(at + ahead) == Some(&Item::Char(wanted));
        let top = places.len() - 1;
        let mut length = 1;
        match (place, c) {
            (Place::Code | Place::Double, '`') => {
                // A backtick before a value is left out: it would escape the variable that stands
                // for the value.
                if matches!(items.get(at + 1), Some(Item::Char(_))) {
                    length = 2;
                } else {
                    at += 1;
                    continue;
                }
            }
            // A name in braces may hold quotes, which do not start a string.
            (Place::Code | Place::Double | Place::DoubleHere, '$') if is(1, '{') => {
                length = braced(&items[at..]);
            }
            (Place::Code, '@') if is(1, '\'') || is(1, '"') => {
                let here = if is(1, '"') {
                    Place::DoubleHere
                } else {
                    Place::SingleHere
                };
                places.push((here, 0));
                length = 2;
            }
            (Place::SingleHere, '\n') if is(1, '\'') && is(2, '@') => {
                places.pop();
                length = 3;
            }
            (Place::DoubleHere, '\n') if is(1, '"') && is(2, '@') => {
                places.pop();
                length = 3;
            }
            (Place::Code, '<') if is(1, '#') => {
                places.push((Place::BlockComment, 0));
                length = 2;
            }
            (Place::BlockComment, '#') if is(1, '>') => {
                places.pop();
                length = 2;
            }
            (Place::Code, '#') => places.push((Place::LineComment, 0)),
            (Place::LineComment, '\n') => drop(places.pop()),
            (Place::Code, c) if is_single(c) => places.push((Place::Single, 0)),
            (Place::Code, c) if is_double(c) => places.push((Place::Double, 0)),
            (Place::Single, c) if is_single(c) => drop(places.pop()),
            (Place::Double, c) if is_double(c) => drop(places.pop()),
            (Place::Double | Place::DoubleHere, '$') if is(1, '(') => {
                places.push((Place::Code, 0));
                length = 2;
            }
            (Place::Code, '(') => places[top].1 += 1,
            (Place::Code, ')') if depth > 0 => places[top].1 -= 1,
            (Place::Code, ')') if top > 0 => drop(places.pop()),
            _ => {}
        }
        for item in &items[at..at + length] {
            if let Item::Char(c) = item {
                quoted.text.push(*c);
            }
        }
        at += length;
    }
    Ok(quoted)
}

/// Commands that run a text as code, and programs that take code as an argument.
const RUNS_TEXT: &[&str] = &[
    "invoke-expression",
    "invoke-command",
    "invokecommand",
    "invokescript",
    "expandstring",
    "scriptblock",
    "add-type",
    "new-module",
    "set-alias",
    "new-alias",
    "start-job",
    "start-threadjob",
    "register-engineevent",
    "pwsh",
    "powershell",
    "bash",
    "sh",
    "wsl",
    "cmd",
    "cmd.exe",
    "iex",
];

/// Refuses all values in a text that has one of these, and values in the place of a command.
fn refuse_code(pieces: &[Piece]) -> Result<(), QuoteError> {
    let own = pieces.iter().filter(|piece| piece.guarded.is_none());
    let text: String = own
        .map(|piece| format!("{} ", piece.text.to_lowercase()))
        .collect();
    // A backtick in the middle of a name has no effect: `i`ex`.
    let text = text.replace('`', "");
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    let found = text
        .split(|c: char| !is_part(c))
        .flat_map(|word| {
            [
                word,
                word.trim_matches('.'),
                word.rsplit('.').next().unwrap_or_default(),
            ]
        })
        .find_map(|word| RUNS_TEXT.iter().find(|known| **known == word));
    let mut before = "";
    for piece in pieces {
        let Some(name) = &piece.guarded else {
            before = &piece.text;
            continue;
        };
        let line = before
            .rsplit(['\n', ';', '|', '{'])
            .next()
            .unwrap_or_default();
        let start = line.trim().trim_end_matches(['"', '\'']).trim_end();
        let is_command = start.ends_with('&') || start == ".";
        let why = match found {
            _ if piece.is_fixed => None,
            Some(known) => Some(format!(
                "the command has `{known}`, which may run it; \
                 hand it over by `environment.variables` to a script"
            )),
            None if is_command => {
                Some("it is the name of a command, so it would choose what runs".to_owned())
            }
            None => None,
        };
        if let Some(why) = why {
            return Err(QuoteError {
                name: name.clone(),
                why,
            });
        }
    }
    Ok(())
}

/// Returns the length of `${…}`, or up to the next value or the end if it is not closed.
fn braced(items: &[Item]) -> usize {
    let end = items
        .iter()
        .position(|item| matches!(item, Item::Char('}') | Item::Value(_)));
    match end {
        Some(at) if items[at] == Item::Char('}') => at + 1,
        Some(at) => at,
        None => items.len(),
    }
}

fn is_single(c: char) -> bool {
    matches!(c, '\'' | '\u{2018}' | '\u{2019}' | '\u{201a}' | '\u{201b}')
}

fn is_double(c: char) -> bool {
    matches!(c, '"' | '\u{201c}' | '\u{201d}' | '\u{201e}')
}

fn insert(quoted: &mut Quoted, piece: &Piece, place: Place) -> Result<(), QuoteError> {
    let refuse = |why: &str| {
        let name = piece.guarded.clone().unwrap_or_default();
        let why = why.to_owned();
        Err(QuoteError { name, why })
    };
    if piece.text.contains('\0') {
        return refuse("it has a NUL character");
    }
    let line = quoted.text.rsplit('\n').next().unwrap_or_default();
    if line.contains("--%") {
        return refuse("behind `--%` PowerShell reads no quotes");
    }
    if quoted
        .text
        .rfind("${")
        .is_some_and(|open| !quoted.text[open..].contains('}'))
    {
        return refuse("it would be part of a variable's name");
    }
    if place == Place::Single {
        for c in piece.text.chars() {
            quoted.text.push(c);
            if is_single(c) {
                quoted.text.push(c);
            }
        }
        return Ok(());
    }
    if place == Place::SingleHere {
        if format!("\n{}", piece.text)
            .replace('\r', "\n")
            .contains("\n'@")
        {
            return refuse("it holds the end of the here-string; use `@\"`");
        }
        quoted.text.push_str(&piece.text);
        return Ok(());
    }
    let name = format!("${{env:{}}}", variable(quoted.values.len()));
    quoted.values.push(piece.text.clone());
    match place {
        // Quoted, so that an empty value is an empty argument.
        Place::Code => quoted.text.push_str(&format!("\"{name}\"")),
        _ => quoted.text.push_str(&name),
    }
    Ok(())
}
