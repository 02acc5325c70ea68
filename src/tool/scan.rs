//! How far the search for tools is (ikigai 13).

use serde::Serialize;

/// How far the search for tools is. A tool that cannot be used is a problem and no failure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ScanState {
    /// Nobody has needed the tools yet.
    #[default]
    NotStarted,
    /// Tools are being looked for, for the first time or again.
    InProgress,
    /// The catalog holds everything that was found.
    Complete,
    /// The host itself could not look.
    Failed,
}
