//! haft's side of worker processes: their start, and the connection to each.

#[expect(clippy::module_inception, reason = "it has the type of that name")]
mod connection;
mod runtime;
mod spare;

pub(super) use connection::{Connection, describe_end};
pub(super) use runtime::ConnectionRuntime;
pub(super) use spare::{BootingWorker, Spares};
