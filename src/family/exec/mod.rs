//! Executables that describe themselves: the tools of Kodelet, ikigai, Amp and Gemini CLI.
//!
//! This module has the parts that the protocols need: concurrent descriptions, arguments as bytes,
//! precedence of equal names, errors of programs that do not start. The meaning of the bytes
//! belongs to each protocol; the protocols do not depend on each other.

mod arguments;
mod describe;
mod load;
mod precedence;
mod program;
mod spawn_error;
mod verified;

pub(crate) mod amp;
pub(crate) mod gemini;
pub(crate) mod ikigai;
pub(crate) mod kodelet;

use std::time::Duration;

use super::rights::Confinement;
use super::{LoadContext, Loaded};

/// Limit of the time between TERM and KILL when a run's own timeout expired: enough to remove a
/// temporary file.
const MAX_GRACE: Duration = Duration::from_secs(2);
