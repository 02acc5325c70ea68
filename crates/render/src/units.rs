//! Numbers with units in a short form for sentences.

use std::time::Duration;

use haft_tool::Timestamp;

/// Formats a size as `68 bytes`, `1.5 kB` or `12.0 MB`.
pub fn bytes(count: usize) -> String {
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

/// Formats a duration as `0.4ms`, `250ms`, `1.0s` or `2m 05s`.
pub fn time(duration: Duration) -> String {
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

/// Returns the number of bytes that a base64 text encodes.
pub fn base64_len(data: &str) -> usize {
    let digits = data
        .bytes()
        .filter(|b| !b.is_ascii_whitespace() && *b != b'=');
    digits.count() * 3 / 4
}

/// Formats a count as `1 tool` or `2 tools`.
pub fn count(amount: usize, noun: &str) -> String {
    if amount == 1 {
        format!("1 {noun}")
    } else {
        format!("{amount} {noun}s")
    }
}

/// Formats seconds since 1970 as a UTC date: `2026-11-21`.
pub fn date(seconds: u64) -> String {
    Timestamp::of_seconds(seconds).date()
}
