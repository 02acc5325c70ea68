//! Durations as people write them: `30s`, `500ms`, `2m`, `1m30s`, `1.5h`.
//!
//! The unit is never optional: whether `30` means seconds or milliseconds is a question
//! that each tool of this world answers differently.

use std::time::Duration;

const UNITS: &[(&str, f64)] = &[
    ("ms", 0.001),
    ("us", 0.000_001),
    ("µs", 0.000_001),
    ("ns", 0.000_000_001),
    ("h", 3600.0),
    ("m", 60.0),
    ("s", 1.0),
];

/// Reads one or more numbers, each with its unit, and adds them up.
///
/// # Errors
/// What is wrong, as a fragment for people.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let refuse = || format!("`{text}` is not a duration: write it like 30s, 500ms or 1m30s");
    let mut rest = text.trim();
    let mut seconds = 0.0;
    if rest.is_empty() {
        return Err(refuse());
    }
    while !rest.is_empty() {
        let end = rest
            .find(|c: char| !c.is_ascii_digit() && c != '.')
            .ok_or_else(refuse)?;
        let number: f64 = rest[..end].parse().map_err(|_| refuse())?;
        let unit = UNITS.iter().find(|(unit, _)| rest[end..].starts_with(unit));
        let (unit, factor) = unit.ok_or_else(refuse)?;
        seconds += number * factor;
        rest = &rest[end + unit.len()..];
    }
    // Rounded to microseconds: 0.1s must not become 100.000001ms.
    Duration::try_from_secs_f64((seconds * 1e6).round() / 1e6).map_err(|_| refuse())
}
