//! Tools of MCP servers (issue 24; spec gateway).
//!
//! A candidate is a configuration file with servers. Their tools come from the cache of definitions;
//! only a server that was never connected is started for a list. Definitions are pinned: what differs
//! from what the user trusts is neither shown to models nor called. `haft-mcp` has the client.

mod runner;
mod servers;
mod survey;

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Arc;

use futures::future::join_all;

use super::http_tls;
use super::pinned::{self, Offered, PinnedSource};
use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::ToolLog;
use haft_mcp::{Pool, ServerAddress, TlsConfig, Unusable};
use haft_process::{StateFolder, StatePart};
use haft_tool::{Problem, Runner};
use runner::McpRunner;
use servers::{Configured, Prepared};

pub(crate) use servers::named_files;
pub(crate) use survey::{ServerState, survey};

/// The connections of one host.
pub(crate) struct Upstream {
    pool: Pool,
    log: Arc<dyn ToolLog>,
    tls: TlsConfig,
    /// Folders of what is known of servers and of what is trusted of them.
    folders: [StateFolder; 2],
}

impl Upstream {
    pub(crate) fn new(config: &Config, log: Arc<dyn ToolLog>) -> Upstream {
        Upstream {
            pool: Pool::new(&config.cache_dir),
            log,
            tls: Arc::new(http_tls::config),
            folders: [
                Pool::folder_in(&config.cache_dir),
                config.state_dir.folder(StatePart::McpPins),
            ],
        }
    }

    /// Returns a number that changes with what is known of servers, and with what is trusted of them,
    /// also if another process has changed it.
    pub(crate) fn version(&self) -> u64 {
        pinned::version(self.pool.version(), &self.folders)
    }

    /// Returns the folders whose changes are changes of tools.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        pinned::watched(&self.folders)
    }

    /// Returns a counter that changes with what is known of servers.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.pool.changes()
    }

    /// Stops all servers.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Loads the tools of the servers in each file.
pub(super) async fn load_all(
    means: &LoadContext<'_>,
    upstream: &Upstream,
    candidates: &[&Candidate],
) -> Vec<Loaded> {
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    // A server runs code of the project.
    if means.config.is_untrusted_listing {
        return all;
    }
    let mut prepared = Vec::new();
    let mut names = HashSet::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let configured = match servers::read(means.config, candidate) {
            Ok(configured) => configured,
            Err(problem) => {
                all[place].problems.push(*problem);
                continue;
            }
        };
        for configured in configured {
            let name = configured.name.clone();
            if configured.is_off() {
                continue;
            }
            if !names.insert(name.clone()) {
                let text = format!("the MCP server `{name}` is not used: another has the name");
                let hint = "an earlier file has it; rename one of the two";
                let problem = Problem::warning(text).at(&candidate.path).hint(hint);
                all[place].problems.push(problem);
                continue;
            }
            match servers::prepare(means, upstream, candidate, configured) {
                Ok(server) => {
                    server.server.read_again();
                    prepared.push((place, server));
                }
                Err(problem) => all[place].problems.push(*problem),
            }
        }
    }
    let starts = prepared.iter().filter(|(_, server)| server.needs_start());
    join_all(starts.map(|(_, prepared)| prepared.server.list())).await;
    let offered: Vec<Offered> = prepared
        .iter()
        .map(|(place, server)| offer(server, candidates[*place]))
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (name, ..) in offered.iter().flat_map(|offered| &offered.tools) {
        *uses.entry(name).or_default() += 1;
    }
    for ((place, server), offered) in prepared.iter().zip(&offered) {
        let loaded = &mut all[*place];
        loaded.servers.push(server.server.clone());
        loaded.problems.extend(offered.problems.iter().cloned());
        loaded.problems.extend(server.warning.clone());
        for (name, definition, standing) in &offered.tools {
            let name = if uses.get(&**name).copied() > Some(1) {
                // Otherwise it would depend on the order of servers which tool the name means.
                format!("{}_{name}", server.name)
            } else {
                name.clone()
            };
            let source = &candidates[*place].source;
            let settings = &server.settings;
            let (tool, problems) = pinned::tool(&name, definition, &server.name, settings, source);
            let runner = McpRunner::new(server, definition, tool.approval, standing.clone());
            loaded.problems.extend(problems);
            let runner: Arc<dyn Runner> = Arc::new(runner);
            loaded.tools.push((Arc::new(tool), runner));
        }
    }
    all
}

/// Compares what the server offers with what is trusted of it.
fn offer(prepared: &Prepared, candidate: &Candidate) -> Offered {
    let name = &prepared.name;
    let source = PinnedSource {
        kind: "MCP server",
        prefix: "mcp",
        name,
        path: &candidate.path,
        pins: &prepared.pins,
        settings: &prepared.settings,
    };
    let failure = prepared.server.failure().map(|failure| {
        let unusable = Unusable(name, failure);
        let problem = Problem::warning(unusable.to_string()).at(&candidate.path);
        problem.hint(unusable.hint())
    });
    let mut offered = match prepared.server.definitions() {
        Some(definitions) => source.compare(&definitions),
        None => Offered::default(),
    };
    offered.problems.splice(0..0, failure);
    offered
}

/// Returns a line for each server in a file: its name, and what is started or contacted.
pub(crate) fn described(config: &Config, candidate: &Candidate) -> Vec<String> {
    let configured = servers::read(config, candidate).unwrap_or_default();
    let used = configured.iter().filter(|server| !server.is_off());
    let line = |server: &Configured| match &server.settings {
        Ok(settings) => format!("{}: {}", server.name, survey::shown(settings)),
        Err(why) => format!("{}: {why}", server.name),
    };
    used.map(line).collect()
}

/// Lists the names of the servers of a candidate's file.
pub(crate) fn server_names(config: &Config, candidate: &Candidate) -> Vec<String> {
    let configured = servers::read(config, candidate).unwrap_or_default();
    configured.into_iter().map(|server| server.name).collect()
}

/// Lists the hosts that the servers of a candidate's file are reached at, by the names of the
/// servers: `(server, host:port)`. One whose address has variables is not among them.
pub(crate) fn declared_hosts(config: &Config, candidate: &Candidate) -> Vec<(String, String)> {
    let configured = servers::read(config, candidate).unwrap_or_default();
    let used = configured.iter().filter(|server| !server.is_off());
    let hosts = used.filter_map(|server| {
        let settings = server.settings.as_ref().ok()?;
        // A variable in the address would name another host each time.
        let address = ServerAddress::of(settings, &|_| Some(String::new()));
        let url = settings.url.as_deref()?;
        match address.ok()? {
            ServerAddress::Http { url: address, .. } if !url.contains("${") => {
                let port = address.port_or_known_default()?;
                Some((
                    server.name.clone(),
                    format!("{}:{port}", address.host_str()?),
                ))
            }
            _ => None,
        }
    });
    hosts.collect()
}
