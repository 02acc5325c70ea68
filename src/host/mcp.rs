//! MCP servers and other hosts whose tools the host offers, for people who manage them.

use std::sync::Arc;

use super::Host;
use super::catalog::look_at_files;
use crate::family::mcp::{self, ServerState};
use crate::family::remote::RemoteHosts;
use haft_tool::{Error, ErrorKind, Family};

impl Host {
    /// Returns the other hosts of that name in the configuration. Nothing is connected.
    pub(crate) fn remote_hosts(&self, name: &str) -> Result<Arc<RemoteHosts>, Error> {
        let found = self
            .inner
            .connections
            .remote
            .named(&self.config_for_rights(), name);
        found.map_err(|why| {
            let names: Vec<String> = self.config().remote.keys().cloned().collect();
            let error = Error::new(ErrorKind::Usage, format!("the remote `{name}`: {why}"));
            match &names[..] {
                [] => error.with_hint("`remote: nats://HOST:4222` in config.yaml makes one"),
                names => error.with_hint(format!("the configuration has: {}", names.join(", "))),
            }
        })
    }

    /// Returns the other hosts of that name, or those of the only entry of the configuration.
    pub(crate) fn remote_hosts_or_only(
        &self,
        name: Option<&str>,
    ) -> Result<Arc<RemoteHosts>, Error> {
        let names: Vec<&String> = self.config().remote.keys().collect();
        match (name, &names[..]) {
            (Some(name), _) => self.remote_hosts(name),
            (None, [only]) => self.remote_hosts(only),
            (None, []) => {
                let error = Error::new(ErrorKind::Usage, "the configuration has no `remote`");
                Err(error.with_hint("`remote: nats://HOST:4222` in config.yaml makes one"))
            }
            (None, names) => {
                let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
                let text = "the configuration has several remotes";
                let hint = format!("--remote NAME says which: {}", names.join(", "));
                Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
            }
        }
    }

    /// Returns the other hosts of that name, or those of all entries of the configuration that are used.
    ///
    /// # Errors
    /// If the configuration has none.
    pub(crate) fn remote_hosts_or_all(
        &self,
        name: Option<&str>,
    ) -> Result<Vec<Arc<RemoteHosts>>, Error> {
        let remotes = self.config().remote.iter();
        let used = remotes.filter(|(_, remote)| remote.enabled != Some(false));
        let used: Vec<&String> = used.map(|(name, _)| name).collect();
        if name.is_some() || used.is_empty() {
            return self.remote_hosts_or_only(name).map(|hosts| vec![hosts]);
        }
        used.into_iter()
            .map(|name| self.remote_hosts(name))
            .collect()
    }

    /// Returns the MCP servers of all configuration files, in the order in which they claim names.
    /// Starts nothing.
    pub(crate) async fn mcp_servers(&self) -> Result<Vec<ServerState>, Error> {
        let config = self.config_for_rights();
        let (scan, judged) = look_at_files(config.clone()).await?;
        let mut candidates = Vec::new();
        let trusted = judged.trusted.into_iter();
        let mut allowed: Vec<_> = trusted.map(|candidate| (candidate, true)).collect();
        let doubted = judged.doubted.into_iter();
        allowed.extend(doubted.map(|doubted| (doubted.candidate, false)));
        // In the order of the scan.
        for found in &scan.candidates {
            let place = allowed
                .iter()
                .position(|(one, _)| one.resolved == found.resolved);
            if found.source.family == Family::Mcp
                && let Some(place) = place
            {
                candidates.push(allowed.remove(place));
            }
        }
        let engine = self.base();
        let means = self.means(&engine, &config);
        Ok(mcp::survey(
            &means,
            &self.inner.connections.mcp,
            &candidates,
        ))
    }
}
