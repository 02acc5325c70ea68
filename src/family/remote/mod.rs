//! Tools of other hosts, over NATS (spec scale).
//!
//! The candidate is the user's configuration file. Definitions are cached and pinned as those of MCP
//! servers are, so a list waits for no server, and a changed definition is neither shown nor called.
//! `haft-nats` has the client.

mod hosts;
mod runner;

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Weak};

use futures::future::join_all;
use parking_lot::Mutex;
use tokio::sync::watch;

use super::http_tls;
use super::pinned::{self, Offered, PinnedSource};
use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_nats::MachineRoots;
use haft_process::{StateFolder, StatePart};
use haft_tool::{Problem, Runner};
pub(crate) use hosts::RemoteHosts;
use hosts::remote_of;
use runner::RemoteRunner;

/// Returns the authorities that the machine trusts, for connections with NATS servers.
pub(crate) fn machine_roots() -> MachineRoots {
    Arc::new(http_tls::roots)
}

/// The connections of one host with others. They stay across reloads of the catalog.
pub(crate) struct Remotes {
    by_key: Mutex<HashMap<String, Weak<RemoteHosts>>>,
    /// Those of the newest catalog. They are followed also while they offer nothing.
    in_use: Mutex<Vec<Arc<RemoteHosts>>>,
    /// Folders of what is known of hosts and of what is trusted of them.
    folders: [StateFolder; 2],
    /// Folder of the hosts that were seen.
    seen: StateFolder,
    changes: watch::Sender<u64>,
}

impl Remotes {
    pub(crate) fn new(config: &Config) -> Remotes {
        Remotes {
            by_key: Mutex::default(),
            in_use: Mutex::default(),
            folders: [
                StateFolder::of_cache(config.cache_dir.join("remote")),
                config.state_dir.folder(StatePart::RemotePins),
            ],
            seen: StateFolder::of_cache(config.cache_dir.join("remote-hosts")),
            changes: watch::Sender::default(),
        }
    }

    /// Returns a number that changes with what is known of other hosts, and with what is trusted of
    /// them, also if another process has changed it.
    pub(crate) fn version(&self) -> u64 {
        pinned::version(*self.changes.borrow(), &self.folders)
    }

    /// Returns the folders whose changes are changes of tools.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        pinned::watched(&self.folders)
    }

    /// Returns a counter that changes with what is known of other hosts.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// Ends the connections.
    pub(crate) async fn close(&self) {
        let all: Vec<Arc<RemoteHosts>> = {
            let by_key = self.by_key.lock();
            by_key.values().filter_map(Weak::upgrade).collect()
        };
        join_all(all.iter().map(|hosts| hosts.close())).await;
        self.in_use.lock().clear();
    }

    /// Returns the hosts of that name in the configuration. Nothing is connected.
    ///
    /// # Errors
    /// If the configuration does not say how.
    pub(crate) fn named(&self, config: &Config, name: &str) -> Result<Arc<RemoteHosts>, String> {
        let remote = config.remote.get(name);
        let remote = remote.ok_or_else(|| format!("there is no remote `{name}`"))?;
        let options = remote_of(config, name, remote, machine_roots())?;
        let mut by_key = self.by_key.lock();
        by_key.retain(|_, hosts| hosts.strong_count() > 0);
        if let Some(hosts) = by_key.get(&options.key).and_then(Weak::upgrade) {
            return Ok(hosts);
        }
        let key = options.key.clone();
        let hosts = RemoteHosts::new(
            options,
            &self.folders,
            self.seen.clone(),
            self.changes.clone(),
        );
        by_key.insert(key, Arc::downgrade(&hosts));
        Ok(hosts)
    }
}

/// Loads the tools of the other hosts that each file names; there is one file.
pub(super) async fn load_all(
    means: &LoadContext<'_>,
    remotes: &Remotes,
    candidates: &[&Candidate],
) -> Vec<Loaded> {
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    // Tools of other hosts are not a part of a project.
    let (Some(candidate), Some(loaded)) = (candidates.first(), all.first_mut()) else {
        return all;
    };
    if means.config.is_untrusted_listing {
        return all;
    }
    let mut used = Vec::new();
    for (name, remote) in &means.config.remote {
        if remote.enabled == Some(false) {
            continue;
        }
        match remotes.named(means.config, name) {
            Ok(hosts) => used.push(hosts),
            Err(why) => {
                let text = format!("the remote `{name}` cannot be used: {why}");
                let hint = format!("correct `remote.{name}` in the configuration");
                let problem = Problem::warning(text).at(&candidate.path).hint(hint);
                loaded.problems.push(problem);
            }
        }
    }
    join_all(used.iter().map(|hosts| hosts.look())).await;
    *remotes.in_use.lock() = used.clone();
    let offered: Vec<Offered> = used.iter().map(|hosts| offer(hosts, candidate)).collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (name, ..) in offered.iter().flat_map(|offered| &offered.tools) {
        *uses.entry(name).or_default() += 1;
    }
    for (hosts, offered) in used.iter().zip(&offered) {
        loaded.problems.extend(offered.problems.iter().cloned());
        for (name, definition, standing) in &offered.tools {
            let name = if uses.get(&**name).copied() > Some(1) {
                // Otherwise it would depend on the order of names which tool is meant.
                format!("{}_{name}", hosts.name())
            } else {
                name.clone()
            };
            let (tool, problems) = pinned::tool(
                &name,
                definition,
                hosts.name(),
                hosts.rules(),
                &candidate.source,
            );
            loaded.problems.extend(problems);
            let runner = RemoteRunner::new(hosts, definition, tool.approval, standing.clone());
            let runner: Arc<dyn Runner> = Arc::new(runner);
            loaded.tools.push((Arc::new(tool), runner));
        }
    }
    all
}

/// Compares what the hosts offer with what is trusted of them.
fn offer(hosts: &RemoteHosts, candidate: &Candidate) -> Offered {
    let name = hosts.name();
    let source = PinnedSource {
        kind: "remote",
        prefix: "remote",
        name,
        path: &candidate.path,
        pins: hosts.pins(),
        settings: hosts.rules(),
    };
    let failure = hosts.failure().map(|failure| {
        let text = format!("the remote `{name}` cannot be reached: {}", failure.message);
        let hint = match hosts.definitions() {
            Some(_) => "its tools are those of the last time; calls fail until it is back",
            None => "start the NATS server and a host (`haft serve nats`), then `haft refresh`",
        };
        Problem::warning(text).at(&candidate.path).hint(hint)
    });
    let mut offered = match hosts.definitions() {
        Some(definitions) => source.compare(&definitions),
        None => Offered::default(),
    };
    offered.problems.splice(0..0, failure);
    offered
}
