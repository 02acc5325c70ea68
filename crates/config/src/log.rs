//! Settings of the log of calls: whether there is one, its maximum size, the form of arguments.
//!
//! Only the user sets them, because a project must not be able to hide what it does.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _};

use haft_tool::error::{Error, ErrorKind};

/// Default size of a file: about fifteen thousand calls.
const MAX_SIZE: u64 = 10 << 20;
/// Minimum size of a file. A smaller one would be rotated with nearly every line.
const MIN_SIZE: u64 = 4 << 10;
/// Default number of rotated files: with the current one about 110 MB.
const KEEP: u32 = 10;

/// Settings of the log of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogSettings {
    /// True if the `haft` program keeps a log. Programs that embed haft decide for themselves.
    pub enabled: bool,
    /// Maximum size of a file, in bytes. A file that would be longer is rotated.
    pub max_size: u64,
    /// Number of rotated files that are kept.
    pub keep: u32,
    /// Form in which arguments are recorded.
    pub arguments: LoggedArguments,
}

/// Form in which the log records arguments.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LoggedArguments {
    /// Nothing.
    None,
    /// Their hash and their length.
    #[default]
    Digest,
    /// All of them, secrets included.
    Full,
}

impl Default for LogSettings {
    fn default() -> Self {
        LogSettings {
            enabled: true,
            max_size: MAX_SIZE,
            keep: KEEP,
            arguments: LoggedArguments::default(),
        }
    }
}

/// The settings as the user's file has them.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct LogLayer {
    enabled: Option<bool>,
    #[serde(deserialize_with = "size")]
    max_size: Option<u64>,
    keep: Option<u32>,
    arguments: Option<LoggedArguments>,
}

impl LogLayer {
    pub(super) fn resolve(self) -> Result<LogSettings, Error> {
        let default = LogSettings::default();
        let settings = LogSettings {
            enabled: self.enabled.unwrap_or(default.enabled),
            max_size: self.max_size.unwrap_or(default.max_size),
            keep: self.keep.unwrap_or(default.keep),
            arguments: self.arguments.unwrap_or(default.arguments),
        };
        if settings.max_size < MIN_SIZE {
            Err(
                Error::new(ErrorKind::Usage, "log.max_size: less than 4KB is too small")
                    .with_hint("write it like 10MB; `enabled: false` turns the log off"),
            )
        } else {
            Ok(settings)
        }
    }
}

fn size<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = Option::<String>::deserialize(deserializer)?;
    text.map(|text| parse_size(&text).map_err(D::Error::custom))
        .transpose()
}

/// Parses `512KB`, `10MB`, `1GB`, in powers of 1024.
fn parse_size(text: &str) -> Result<u64, String> {
    let refuse = || format!("`{text}` is not a size: write it like 512KB, 10MB or 1GB");
    let units = [("KB", 10), ("MB", 20), ("GB", 30)];
    let found = units.iter().find_map(|(unit, shift)| {
        let number = text.trim().strip_suffix(unit)?.trim_end();
        Some((u64::from_str(number).ok()?, *shift))
    });
    let (number, shift) = found.ok_or_else(refuse)?;
    number.checked_mul(1 << shift).ok_or_else(refuse)
}
