//! Connections of a host to MCP servers and to other hosts. What they offer changes without a change
//! of a file.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use std::sync::Arc;

use tokio::sync::watch;

use super::mcp::{self, Upstream};
use super::remote::{self, Remotes};
use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::ToolLog;

/// The connections of one host.
pub(crate) struct Connections {
    /// Those to MCP servers.
    pub(crate) mcp: Upstream,
    /// Those to other hosts.
    pub(crate) remote: Remotes,
}

impl Connections {
    /// Returns the connections for a configuration. Nothing is connected yet.
    pub(crate) fn new(config: &Config, log: Arc<dyn ToolLog>) -> Connections {
        Connections {
            mcp: Upstream::new(config, log),
            remote: Remotes::new(config),
        }
    }

    /// Loads the tools of the MCP servers in each file.
    pub(super) async fn load_mcp(
        &self,
        means: &LoadContext<'_>,
        candidates: &[&Candidate],
    ) -> Vec<Loaded> {
        mcp::load_all(means, &self.mcp, candidates).await
    }

    /// Loads the tools of the other hosts that each file names.
    pub(super) async fn load_remote(
        &self,
        means: &LoadContext<'_>,
        candidates: &[&Candidate],
    ) -> Vec<Loaded> {
        remote::load_all(means, &self.remote, candidates).await
    }

    /// Returns a number that changes with what is known of the servers and hosts, and with what is
    /// trusted of them.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.mcp.version(), self.remote.version()).hash(&mut hasher);
        hasher.finish()
    }

    /// Returns the folders whose changes are changes of tools.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        [self.mcp.folders(), self.remote.folders()].concat()
    }

    /// Returns counters, one of which changes whenever something new is known.
    pub(crate) fn changes(&self) -> Vec<watch::Receiver<u64>> {
        vec![self.mcp.changes(), self.remote.changes()]
    }

    /// Ends the connections, and all servers that were started.
    pub(crate) async fn close(&self) {
        tokio::join!(self.mcp.close(), self.remote.close());
    }
}
