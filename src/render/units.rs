//! Numbers with units, short enough to sit inside a sentence.

use std::time::Duration;

use crate::tool::Moment;

/// `68 bytes`, `1.5 kB`, `12.0 MB`.
pub(crate) fn bytes(count: usize) -> String {
    const UNITS: [&str; 3] = ["kB", "MB", "GB"];
    if count == 1 {
        return "1 byte".into();
    }
    if count < 1000 {
        return format!("{count} bytes");
    }
    let mut amount = count as f64 / 1000.0;
    let mut unit = 0;
    // 999.95 would be printed as 1000.0 of the smaller unit.
    while amount >= 999.95 && unit + 1 < UNITS.len() {
        amount /= 1000.0;
        unit += 1;
    }
    format!("{amount:.1} {}", UNITS[unit])
}

/// `0.4ms`, `250ms`, `1.0s`, `2m 05s`.
pub(crate) fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    if seconds < 0.000_95 {
        format!("{:.1}ms", seconds * 1000.0)
    } else if seconds < 0.999_5 {
        format!("{:.0}ms", seconds * 1000.0)
    } else if seconds < 59.95 {
        format!("{seconds:.1}s")
    } else {
        let whole = seconds.round() as u64;
        format!("{}m {:02}s", whole / 60, whole % 60)
    }
}

/// How many bytes a base64 text stands for.
pub(crate) fn base64_len(data: &str) -> usize {
    let digits = data
        .bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'=');
    digits.count() * 3 / 4
}

/// `1 tool`, `2 tools`.
pub(crate) fn count(amount: usize, noun: &str) -> String {
    if amount == 1 {
        format!("1 {noun}")
    } else {
        format!("{amount} {noun}s")
    }
}

/// `2026-11-21`, in UTC, of seconds since 1970.
pub(crate) fn date(seconds: u64) -> String {
    Moment::of_seconds(seconds).date()
}
