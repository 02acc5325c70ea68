//! `HAFT_V8`: the user's choice of where the archive comes from.

use std::env;

use crate::error::{Error, Result};

const VARIABLE: &str = "HAFT_V8";

/// Sources from which the archive may come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum ArchiveChoice {
    /// Each, in the usual order.
    Any,
    Download,
    Source,
    Bundle,
}

impl ArchiveChoice {
    /// # Errors
    /// If the variable has a value that is not one of its three.
    pub fn of_environment() -> Result<Self> {
        match env::var_os(VARIABLE) {
            Some(value) => Self::parse(&value.to_string_lossy()),
            None => Ok(Self::Any),
        }
    }

    fn parse(value: &str) -> Result<Self> {
        match value {
            "" => Ok(Self::Any),
            "download" => Ok(Self::Download),
            "source" => Ok(Self::Source),
            "bundle" => Ok(Self::Bundle),
            other => Err(Error::Missing {
                what: format!("{VARIABLE} is `{other}`"),
                hint: "set it to `download`, `source` or `bundle`, or unset it".into(),
            }),
        }
    }

    /// Tells whether a pinned archive in cargo's cache is one that was chosen.
    pub fn takes_pinned(self) -> bool {
        matches!(self, Self::Any | Self::Download)
    }

    pub fn takes_bundle(self) -> bool {
        matches!(self, Self::Any | Self::Bundle)
    }

    pub fn downloads(self) -> bool {
        matches!(self, Self::Any | Self::Download)
    }

    /// Tells whether an archive may be built, or may be one that was built.
    pub fn builds(self) -> bool {
        matches!(self, Self::Any | Self::Source)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_words_are_known() {
        for (value, choice) in [
            ("", ArchiveChoice::Any),
            ("download", ArchiveChoice::Download),
            ("source", ArchiveChoice::Source),
            ("bundle", ArchiveChoice::Bundle),
        ] {
            assert_eq!(ArchiveChoice::parse(value).expect("known"), choice);
        }
        for value in ["Source", "sources", "1"] {
            let error = ArchiveChoice::parse(value).expect_err("unknown");
            assert_eq!(error.to_string(), format!("HAFT_V8 is `{value}`"));
        }
    }
}
