//! Limit of the process's file descriptors: one for each connection, and some for calls.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Number of descriptors for everything but connections: a running program needs four, and hundreds
/// may run.
const OTHERS: u64 = 2048;

/// Raises the process's limit, as far as permitted, to fit this number of connections. Returns the
/// number that fits. A higher limit is kept.
pub(super) fn make_room(connections: u32) -> usize {
    let wanted = u64::from(connections) + OTHERS;
    let limit = getrlimit(Resource::Nofile);
    let is_enough = |current: Option<u64>| current.is_none_or(|current| current >= wanted);
    if !is_enough(limit.current) {
        let raised = Rlimit {
            current: Some(limit.maximum.map_or(wanted, |most| most.min(wanted))),
            maximum: limit.maximum,
        };
        if let Err(error) = setrlimit(Resource::Nofile, raised) {
            tracing::warn!(%error, "the limit of file descriptors stays as it is");
        }
    }
    let connections = u64::from(connections);
    let room = match getrlimit(Resource::Nofile).current {
        Some(current) if current < wanted => (current / 2).min(connections),
        _ => connections,
    };
    if room < connections {
        tracing::warn!(
            room,
            "fewer connections than configured: too few file descriptors"
        );
    }
    usize::try_from(room).unwrap_or(usize::MAX)
}
