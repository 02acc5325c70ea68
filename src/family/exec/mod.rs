//! Executables that describe themselves: Kodelet's and ikigai's tools.
//!
//! Here is what both protocols need: asking many programs at once, arguments as bytes, who of two
//! equal names counts, words for a program that does not start. What the bytes mean is each
//! protocol's own; the two never see each other.

mod arguments;
mod ask;
mod claims;
mod load;
mod trouble;
mod verified;

pub(crate) mod ikigai;
pub(crate) mod kodelet;

use std::time::Duration;

use super::rights::rights;
use super::{Loaded, Means};

/// From TERM to KILL when a run's own time is up, at most: time to remove a temporary file.
const LONGEST_GRACE: Duration = Duration::from_secs(2);
