//! One entry of `tests:` (spec cycod 146–150, 251–260).

use super::{Datum, Platform};

/// A call of the tool and its expected result.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct TestCase {
    pub(crate) name: String,
    pub(crate) description: Option<String>,
    pub(crate) parameters: Vec<(String, Datum)>,
    pub(crate) expected: Expected,
    /// Commands with `{references}` for the platform's default shell; run after a pass and after a
    /// failure.
    pub(crate) cleanup: Vec<String>,
    /// Platforms that the test runs on; empty: all of them.
    pub(crate) platforms: Vec<Platform>,
}

/// `expected:` all of it must hold. Texts and paths may hold `{references}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Expected {
    /// 0 by default.
    pub(crate) exit_code: i64,
    pub(crate) output_contains: Vec<String>,
    /// At least one of them must occur; empty: not checked.
    pub(crate) output_contains_any: Vec<String>,
    pub(crate) output_not_contains: Vec<String>,
    /// Regular expressions.
    pub(crate) output_matches: Vec<String>,
    pub(crate) file_exists: Vec<String>,
    pub(crate) file_not_exists: Vec<String>,
    pub(crate) directory_exists: Vec<String>,
}
