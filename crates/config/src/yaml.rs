//! Parses YAML, and explains its errors: the message in one line, and the place.

use serde_json::Value;

/// Parses a document.
///
/// # Errors
/// As [`explain`] returns them.
pub fn parse(text: &str) -> Result<Value, (String, Option<(u32, u32)>)> {
    serde_saphyr::from_str(text).map_err(|error| explain(&error))
}

/// Returns the message of `error` without the place that it repeats, and the place: line and
/// column, both 1-based.
pub fn explain(error: &serde_saphyr::Error) -> (String, Option<(u32, u32)>) {
    let error = error.without_snippet();
    let place = error.location().map(|at| {
        let number = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        (number(at.line()), number(at.column()))
    });
    let text = error.to_string();
    let text = text.lines().next().unwrap_or("not valid YAML").trim();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    (text[..end].to_owned(), place)
}
