//! Stand-in for the connections to MCP servers and other hosts in a program without the feature
//! `cli`: their clients are not compiled.

use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::ToolLog;
use haft_tool::Problem;

/// Stand-in for the connections of a host.
pub(crate) struct Connections;

impl Connections {
    pub(crate) fn new(_config: &Config, _log: Arc<dyn ToolLog>) -> Connections {
        Connections
    }

    pub(super) async fn load_mcp(
        &self,
        _: &LoadContext<'_>,
        candidates: &[&Candidate],
    ) -> Vec<Loaded> {
        unused(candidates, "MCP servers")
    }

    pub(super) async fn load_remote(
        &self,
        _: &LoadContext<'_>,
        candidates: &[&Candidate],
    ) -> Vec<Loaded> {
        unused(candidates, "other hosts")
    }

    pub(crate) fn version(&self) -> u64 {
        0
    }

    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        Vec::new()
    }

    pub(crate) fn changes(&self) -> Vec<watch::Receiver<u64>> {
        Vec::new()
    }

    pub(crate) async fn close(&self) {}
}

/// Stand-in for the tools of MCP servers.
pub(crate) mod mcp {
    use std::path::{Path, PathBuf};

    use haft_config::Config;
    use haft_discover::Candidate;

    pub(crate) fn declared_hosts(_: &Config, _: &Candidate) -> Vec<(String, String)> {
        Vec::new()
    }

    pub(crate) fn server_names(_: &Config, _: &Candidate) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn described(_: &Config, _: &Candidate) -> Vec<String> {
        Vec::new()
    }

    pub(crate) fn named_files(_: &Config, _: &Candidate) -> Vec<PathBuf> {
        Vec::new()
    }
}

/// Reports that what the files configure is not used.
fn unused(candidates: &[&Candidate], what: &str) -> Vec<Loaded> {
    let unused = |candidate: &&Candidate| {
        let text =
            format!("its {what} are not used: this program is built without the feature `cli`");
        Loaded::failed(Problem::info(text).at(&candidate.path))
    };
    candidates.iter().map(unused).collect()
}
