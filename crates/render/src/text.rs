//! Texts of tools in the forms that lists, prompts and models need: a sentence, a line, a path.

use std::borrow::Cow;
use std::path::Path;

use haft_tool::TerminalText;

/// Removes escape sequences and control characters from prose for models. Newlines and tabs stay.
pub fn for_models(text: &str) -> Cow<'_, str> {
    let is_control = |c: char| c.is_control() && c != '\n' && c != '\t';
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    let plain = console::strip_ansi_codes(text);
    Cow::Owned(plain.chars().filter(|&c| !is_control(c)).collect())
}

/// Returns the part of a name before its first separator, or the whole name.
pub fn name_prefix(name: &str) -> &str {
    name.split(['_', '-', '.', '/']).next().unwrap_or(name)
}

/// Returns the first sentence of a description, on one line.
pub fn first_sentence(description: &str) -> String {
    let clean = for_models(description);
    let mut paragraphs = clean.split("\n\n").map(str::trim);
    let first = paragraphs.find(|text| !text.is_empty()).unwrap_or_default();
    let line = one_line(first);
    let end = line
        .match_indices(['.', '!', '?', '。'])
        .find(|(index, mark)| {
            let rest = &line[index + mark.len()..];
            let before = &line[..*index];
            // "e.g. this" does not end a sentence.
            let is_word = before.rsplit(' ').next().is_some_and(|word| {
                !word.contains('.') && word.chars().filter(|c| c.is_alphanumeric()).count() > 1
            });
            *mark == "。" || is_word && (rest.is_empty() || rest.starts_with(' '))
        });
    match end {
        Some((index, _)) => line[..index].to_owned(),
        None => line,
    }
}

/// Converts an author's text to one line without control characters.
pub fn one_line(written: &str) -> String {
    let clean = for_models(written);
    let words: Vec<&str> = clean.split_whitespace().collect();
    words.join(" ")
}

/// Returns the first line that is not blank, cleaned; empty if there is none.
pub fn first_line(text: &str) -> TerminalText {
    cleaned_line(text.lines())
}

/// Returns the last line that is not blank, cleaned; empty if there is none.
pub fn last_line(text: &str) -> TerminalText {
    cleaned_line(text.lines().rev())
}

fn cleaned_line<'a>(mut lines: impl Iterator<Item = &'a str>) -> TerminalText {
    let line = lines.find_map(|line| Some(line.trim()).filter(|line| !line.is_empty()));
    TerminalText::from_prose(line.unwrap_or_default()).replacing("\t", " ")
}

/// Formats a path for people: with `~` for the home directory, and invisible characters as escapes.
pub fn path(path: &Path, home: &Path) -> TerminalText {
    let short = match path.strip_prefix(home) {
        Ok(rest) if rest.as_os_str().is_empty() => "~".into(),
        // With the root directory as home, every path would begin with `~`.
        Ok(rest) if home.parent().is_some() => format!("~/{}", rest.display()),
        _ => path.display().to_string(),
    };
    TerminalText::from_value(&short)
}
