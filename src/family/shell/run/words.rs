//! Splits a `run:` command into words, before references are filled (spec cycod 22).
//!
//! Only quotes and backslashes have their meaning in a shell: `$HOME`, `*` and `|` are text. A
//! value stays in the word of its reference, whatever it contains.

use haft_tool::quotes::unquote;

/// Returns the words, each as a text with its references.
pub(crate) fn words(text: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = text.chars();
    // Inside of `{X ? 'a' : 'b'}` a space does not separate words and a quote does not quote.
    let mut braces = 0_usize;
    while let Some(c) = chars.next() {
        match c {
            '{' => {
                braces += 1;
                word.get_or_insert_default().push(c);
            }
            '}' => {
                braces = braces.saturating_sub(1);
                word.get_or_insert_default().push(c);
            }
            c if braces > 0 => word.get_or_insert_default().push(c),
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().extend(chars.next()),
            '\'' | '"' => {
                let rest = chars.as_str();
                let length = unquote(rest, c, word.get_or_insert_default())
                    .ok_or_else(|| format!("the quote {c} is not closed"))?;
                chars = rest[length..].chars();
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    if words.is_empty() {
        Err("it is empty".to_owned())
    } else {
        Ok(words)
    }
}
