//! UTC timestamps as text, in the forms of ISO 8601 (spec cycod 51, 84; kodelet 56).

use std::time::{SystemTime, UNIX_EPOCH};

/// A UTC timestamp.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timestamp {
    year: i64,
    month: u64,
    day: u64,
    /// Milliseconds since midnight.
    millis: u64,
}

impl Timestamp {
    pub(crate) fn of(time: SystemTime) -> Timestamp {
        let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
        let second = Timestamp::of_seconds(since.as_secs());
        Timestamp {
            millis: second.millis + u64::from(since.subsec_millis()),
            ..second
        }
    }

    /// Returns the timestamp `since` seconds after the beginning of 1970.
    pub(crate) fn of_seconds(since: u64) -> Timestamp {
        let (days, seconds) = (since / 86_400, since % 86_400);
        // Howard Hinnant's calendar algorithm: years begin in March, so that the leap day comes
        // last.
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let from_march = (5 * of_year + 2) / 153;
        let month = if from_march < 10 {
            from_march + 3
        } else {
            from_march - 9
        };
        Timestamp {
            year: (year_of_era + era * 400 + u64::from(month <= 2)) as i64,
            month,
            day: of_year - (153 * from_march + 2) / 5 + 1,
            millis: seconds * 1000,
        }
    }

    /// `2026-11-21`
    pub(crate) fn date(self) -> String {
        format!("{:04}-{:02}-{:02}", self.year, self.month, self.day)
    }

    /// `09:41:07`
    pub(crate) fn time(self) -> String {
        let seconds = self.millis / 1000;
        format!(
            "{:02}:{:02}:{:02}",
            seconds / 3600,
            seconds / 60 % 60,
            seconds % 60
        )
    }

    /// `2026-11-21T09:41:07Z`
    pub(crate) fn timestamp(self) -> String {
        format!("{}T{}Z", self.date(), self.time())
    }

    /// `2026-11-21T09:41:07.123Z`
    pub(crate) fn precise(self) -> String {
        format!("{}T{}.{:03}Z", self.date(), self.time(), self.millis % 1000)
    }
}
