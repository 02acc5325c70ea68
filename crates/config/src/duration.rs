//! Durations as people write them: `30s`, `500ms`, `2m`, `1m30s`, `1.5h`; and as Go prints them.
//!
//! The unit is never optional, because tools differ in whether `30` means seconds or milliseconds.

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

/// Parses one or more numbers, each with its unit, and adds them up.
///
/// # Errors
/// A description of the error, as a fragment for people.
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

/// Returns a duration as Go prints it: `1m30s`, `500ms`, `1.5s`, `1h0m0s`.
pub fn format_duration(duration: Duration) -> String {
    let nanos = duration.subsec_nanos();
    let seconds = duration.as_secs();
    if seconds > 0 {
        let (hours, minutes) = (seconds / 3600, seconds / 60 % 60);
        let second = decimal(seconds % 60, nanos, 9);
        return match (hours, minutes) {
            (0, 0) => format!("{second}s"),
            (0, _) => format!("{minutes}m{second}s"),
            _ => format!("{hours}h{minutes}m{second}s"),
        };
    }
    match nanos {
        0 => "0s".to_owned(),
        1..1_000 => format!("{nanos}ns"),
        1_000..1_000_000 => format!("{}µs", decimal(u64::from(nanos / 1_000), nanos % 1_000, 3)),
        _ => {
            let whole = u64::from(nanos / 1_000_000);
            format!("{}ms", decimal(whole, nanos % 1_000_000, 6))
        }
    }
}

/// Returns `whole` with a fraction of so many digits, without trailing zeros.
fn decimal(whole: u64, fraction: u32, digits: usize) -> String {
    if fraction == 0 {
        return whole.to_string();
    }
    let text = format!("{whole}.{fraction:0digits$}");
    text.trim_end_matches('0').to_owned()
}
