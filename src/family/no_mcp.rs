//! Stand-in for the MCP servers in a program without the feature `cli`: their client is not
//! compiled.

use std::sync::Arc;

use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::ToolLog;
use haft_tool::Problem;

/// Stand-in for an MCP server: there is none.
pub(crate) enum UpstreamServer {}

/// Stand-in for the connections of a host.
pub(crate) struct Upstream {
    changes: tokio::sync::watch::Sender<u64>,
}

impl Upstream {
    pub(crate) fn new(_config: &Config, _log: Arc<dyn ToolLog>) -> Upstream {
        Upstream {
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

/// Reports that the servers are not used.
pub(super) async fn load_all(_: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let unused = |candidate: &&Candidate| {
        let text = "its MCP servers are not used: this program is built without the feature `cli`";
        Loaded::failed(Problem::info(text).at(&candidate.path))
    };
    candidates.iter().map(unused).collect()
}

/// Returns nothing: the servers are not used.
pub(crate) fn described(_: &Config, _: &Candidate) -> Vec<String> {
    Vec::new()
}

/// Returns nothing: no file is run.
pub(crate) fn named_files(_: &std::path::Path) -> Vec<std::path::PathBuf> {
    Vec::new()
}
