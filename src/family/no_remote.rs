//! Stand-in for other hosts in a program without the feature `cli`: the client of NATS is not
//! compiled.

use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_tool::Problem;

/// Stand-in for the connections of a host.
pub(crate) struct Remotes {
    changes: tokio::sync::watch::Sender<u64>,
}

impl Remotes {
    pub(crate) fn new(_config: &Config) -> Remotes {
        Remotes {
            changes: tokio::sync::watch::Sender::default(),
        }
    }

    pub(crate) fn version(&self) -> u64 {
        0
    }

    pub(crate) fn folders(&self) -> Vec<std::path::PathBuf> {
        Vec::new()
    }

    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(crate) async fn close(&self) {}
}

/// Reports that the hosts are not used.
pub(super) async fn load_all(_: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let unused = |candidate: &&Candidate| {
        let text = "its other hosts are not used: this program is built without the feature `cli`";
        Loaded::failed(Problem::info(text).at(&candidate.path))
    };
    candidates.iter().map(unused).collect()
}
