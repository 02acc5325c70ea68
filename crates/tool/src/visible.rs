//! Sanitizer that makes every character of a text visible. Characters that hide text, reorder it or
//! control a terminal become escapes such as `\u{202e}`.
//!
//! There are two rules. A name, a path or another text that a decision depends on is escaped
//! completely ([`name`]). Prose keeps the characters that languages and emoji need: joiners between
//! letters of scripts that join, variation selectors after emoji, marks beside right-to-left
//! letters ([`prose`]).

use std::borrow::Cow;
use std::fmt::Write;

/// Subdivision flags that have an emoji: a black flag and these tags.
const FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];
const BLACK_FLAG: char = '\u{1f3f4}';
const CANCEL_TAG: char = '\u{e007f}';

const ZERO_WIDTH_NON_JOINER: char = '\u{200c}';
const ZERO_WIDTH_JOINER: char = '\u{200d}';
const SOFT_HYPHEN: char = '\u{ad}';

/// Returns true for characters that hide, reorder or control text: invisible characters, control
/// characters (including line feeds and tabs), and other line separators.
pub fn is_harmful(c: char) -> bool {
    // Fast path, because most text is ASCII.
    if matches!(c, ' '..='~') {
        return false;
    }
    matches!(c,
        // C0, DEL and C1 with NEL and CSI.
        '\0'..='\u{9f}'
        | SOFT_HYPHEN
        | '\u{34f}'
        | '\u{61c}'
        // Fillers of Hangul, inherent vowels of Khmer, selectors of Mongolian.
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        // Zero width, marks and embeddings of direction, separators of lines and paragraphs.
        | '\u{200b}'..='\u{200f}'
        | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}'
        // Formats of shorthand and of music.
        | '\u{1bca0}'..='\u{1bca3}'
        | '\u{1d173}'..='\u{1d17a}'
        // Tags and the other variation selectors.
        | '\u{e0000}'..='\u{e0fff}')
}

/// Returns true for characters that are not a space but look like one, or like nothing.
fn looks_like_space(c: char) -> bool {
    matches!(
        c,
        '\u{a0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{2800}' | '\u{3000}'
    )
}

/// Returns `text` on one line, with every invisible character as an escape. For names, paths and
/// other texts that a decision depends on.
pub fn name(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_harmful(c) || looks_like_space(c);
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            escape(c, &mut shown)
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` on one line with harmful characters as escapes, including joiners of emoji.
/// Spaces of all kinds stay.
pub fn line(text: &str) -> Cow<'_, str> {
    if !text.contains(is_harmful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_harmful(c) {
            escape(c, &mut shown)
        } else {
            shown.push(c)
        }
    }
    Cow::Owned(shown)
}

/// Returns `text` with harmful characters as escapes. Line feeds and tabs stay, and so do the
/// characters that neighbouring letters and emoji need.
pub fn prose(text: &str) -> Cow<'_, str> {
    without(text, |c| is_harmful(c) && c != '\n' && c != '\t')
}

/// Returns output for a terminal with harmful characters as escapes, as in [`prose`]. ASCII control
/// characters stay, because haft writes escape sequences itself.
pub fn printed(text: &str) -> Cow<'_, str> {
    without(text, |c| is_harmful(c) && c > '\u{7f}')
}

fn without(text: &str, is_doubtful: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&is_doubtful) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    let (mut before, mut flag_left) = (None, 0usize);
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        let after = rest.clone().next();
        if c == '\r' && after == Some('\n') && is_doubtful(c) {
            // A line ending of Windows.
            continue;
        }
        let stays = if flag_left > 0 {
            flag_left -= 1;
            true
        } else {
            !is_doubtful(c) || belongs(before, c, after)
        };
        if c == BLACK_FLAG {
            flag_left = tags_of_flag(rest.as_str());
        }
        if stays {
            shown.push(c)
        } else {
            escape(c, &mut shown)
        }
        before = Some(c);
    }
    Cow::Owned(shown)
}

/// Escapes characters that could mislead a terminal or a reader of JSON text. The result is
/// equivalent JSON.
pub fn json(text: &str) -> Cow<'_, str> {
    let is_hidden = |c: char| is_harmful(c) && !matches!(c, '\n' | '\r' | '\t');
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if !is_hidden(c) {
            shown.push(c);
            continue;
        }
        for unit in c.encode_utf16(&mut [0; 2]) {
            let _ = write!(shown, "\\u{unit:04x}");
        }
    }
    Cow::Owned(shown)
}

fn escape(c: char, shown: &mut String) {
    match c {
        '\n' => shown.push_str("\\n"),
        '\t' => shown.push_str("\\t"),
        // Writing to a string never fails.
        c => {
            let _ = write!(shown, "\\u{{{:x}}}", c as u32);
        }
    }
}

/// Returns the number of characters at the start of `text` that form a flag with the black flag
/// before them.
fn tags_of_flag(text: &str) -> usize {
    let tags: String = text
        .chars()
        .take_while(|c| is_tag(*c))
        .map(untagged)
        .collect();
    let is_ended = text.chars().nth(tags.len()) == Some(CANCEL_TAG);
    if is_ended && FLAGS.contains(&tags.as_str()) {
        tags.len() + 1
    } else {
        0
    }
}

fn is_tag(c: char) -> bool {
    ('\u{e0061}'..='\u{e007a}').contains(&c)
}

fn untagged(c: char) -> char {
    char::from_u32(c as u32 - 0xe0000).unwrap_or(c)
}

/// Returns true if prose needs the character at this position.
fn belongs(before: Option<char>, c: char, after: Option<char>) -> bool {
    let Some(before) = before else {
        return false;
    };
    match c {
        SOFT_HYPHEN => before.is_alphabetic() && after.is_some_and(char::is_alphabetic),
        ZERO_WIDTH_JOINER if is_emoji(before) || is_emoji_modifier(before) => {
            after.is_some_and(is_emoji)
        }
        ZERO_WIDTH_JOINER | ZERO_WIDTH_NON_JOINER => {
            joins(before) && after.is_some_and(|after| joins(after) || !after.is_alphanumeric())
        }
        '\u{200e}' | '\u{200f}' => is_right_to_left(before) || after.is_some_and(is_right_to_left),
        '\u{fe0e}' | '\u{fe0f}' => is_emoji(before) || is_keycap(before, after),
        _ => false,
    }
}

fn is_keycap(before: char, after: Option<char>) -> bool {
    matches!(before, '0'..='9' | '#' | '*') && after == Some('\u{20e3}')
}

fn is_emoji_modifier(c: char) -> bool {
    matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}')
}

/// Returns true for pictographs and for symbols that have an emoji form.
fn is_emoji(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}'
        | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}'
        | '\u{24c2}'
        | '\u{25a0}'..='\u{27bf}'
        | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}'
        | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1faff}')
}

/// Returns true for letters of scripts in which joiners change the meaning of words.
fn joins(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{6ff}'
        | '\u{700}'..='\u{74f}'
        | '\u{750}'..='\u{77f}'
        | '\u{7c0}'..='\u{7ff}'
        | '\u{840}'..='\u{85f}'
        | '\u{8a0}'..='\u{8ff}'
        // Devanagari to Sinhala, Tibetan, Burmese, Khmer, Mongolian.
        | '\u{900}'..='\u{dff}'
        | '\u{f00}'..='\u{fff}'
        | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}'
        | '\u{1800}'..='\u{18af}'
        | '\u{fb50}'..='\u{fdff}'
        | '\u{fe70}'..='\u{fefc}')
        && !is_harmful(c)
}

fn is_right_to_left(c: char) -> bool {
    matches!(c,
        '\u{590}'..='\u{5ff}' | '\u{600}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && !is_harmful(c)
}
