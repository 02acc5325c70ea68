//! Progress of the search for tools (ikigai 13).

use serde::Serialize;

/// Progress of the search for tools. A tool that cannot be used is a problem, not a failure of the
/// search.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ScanState {
    /// The search has not been needed yet.
    #[default]
    NotStarted,
    /// The search runs, for the first time or again.
    InProgress,
    /// The catalog contains everything that was found.
    Complete,
    /// The host itself could not search.
    Failed,
}
