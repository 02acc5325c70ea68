//! Settings of the log of calls: whether there is one, its maximum size, the form of arguments.
//!
//! Only the user sets them, because a project must not be able to hide what it does.

use std::str::FromStr;

use serde::Deserialize;
use serde::de::IntoDeserializer;
use serde::de::value::{Error, StrDeserializer};

use super::declare::{self, Form, Slot, default_settings, settings, values, whole};

/// Minimum size of a file. A smaller one would be rotated with nearly every line.
const MIN_SIZE: u64 = 4 << 10;

settings! {
    /// Settings of the log of calls.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct LogSettings {
        /// True if the `haft` program keeps a log. Programs that embed haft decide for themselves.
        pub enabled: bool = "true";
        /// Maximum size of a file, like `512KB`, `10MB`, `1GB`. A file that would be longer is
        /// rotated.
        // About fifteen thousand calls.
        pub max_size: u64 = "10MB" => size;
        /// Number of rotated files that are kept.
        // With the current one about 110 MB.
        pub keep: u32 = "10" => whole(0..=u64::from(u32::MAX), "");
        /// Form in which arguments are recorded: `none`, `digest` (their hash and length), `full`.
        pub arguments: LoggedArguments = "digest";
    }
}
default_settings!(LogSettings);

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

values! {
    LoggedArguments: Form::Word(&["none", "digest", "full"]), |text: &str| {
        let word: StrDeserializer<'_, Error> = text.into_deserializer();
        LoggedArguments::deserialize(word).map_err(|error| error.to_string())
    };
}

fn size(slot: &mut u64) -> Slot<'_> {
    declare::scalar(Form::Text, slot, |text| match parse_size(text)? {
        size if size < MIN_SIZE => Err("less than 4KB is too small".to_owned()),
        size => Ok(size),
    })
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
