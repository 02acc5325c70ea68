//! UTC timestamps as text, in the forms of ISO 8601 (spec cycod 51, 84; kodelet 56).

use std::time::{Duration, SystemTime};

/// Returns the time since the beginning of 1970; zero if the clock is set to an earlier one.
pub fn since_1970() -> Duration {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    since.unwrap_or_default()
}

/// A UTC timestamp.
#[derive(Clone, Copy, Debug)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// Returns the timestamp of the current time.
    pub fn now() -> Timestamp {
        Timestamp::of(SystemTime::now())
    }

    /// Returns the timestamp of `time`; the beginning of 1970 for one that has no four-digit year.
    pub fn of(time: SystemTime) -> Timestamp {
        Timestamp(jiff::Timestamp::try_from(time).unwrap_or_default())
    }

    /// Returns the timestamp `since` seconds after the beginning of 1970.
    pub fn of_seconds(since: u64) -> Timestamp {
        let second = i64::try_from(since).unwrap_or(i64::MAX);
        Timestamp(jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX))
    }

    /// `2026-11-21`
    pub fn date(self) -> String {
        self.0.strftime("%Y-%m-%d").to_string()
    }

    /// `09:41:07`
    pub fn time(self) -> String {
        self.0.strftime("%H:%M:%S").to_string()
    }

    /// `2026-11-21T09:41:07Z`
    pub fn timestamp(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }

    /// `2026-11-21T09:41:07.123Z`
    pub fn precise(self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S%.3fZ").to_string()
    }
}
