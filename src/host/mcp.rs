//! MCP servers whose tools the host offers, for people who manage them.

use super::Host;
use super::load::look_at_files;
use crate::family::mcp::{self, ServerState};
use haft_tool::{Error, Family};

impl Host {
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
        Ok(mcp::survey(&self.means(&engine, &config), &candidates))
    }
}
