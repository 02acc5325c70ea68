//! What clients are known for: Codex cuts results itself, so it gets less text at once.

use rmcp::model::Implementation;

use super::offer::Offered;
use crate::host::Host;

/// How Codex introduces itself.
const CODEX: &str = "codex-mcp-client";

/// A client as far as its answers depend on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientTraits {
    /// It keeps some thousand characters of each end of a result.
    is_codex: bool,
}

/// The host for calls of a client that introduces itself like this: the log of calls has its name.
pub(super) fn named(host: Host, client: Option<&Implementation>) -> Host {
    match client {
        Some(client) => host.called_by(|caller| caller.client = Some(client.name.clone())),
        None => host,
    }
}

impl ClientTraits {
    /// The client that introduces itself like this.
    pub(super) fn of(client: Option<&Implementation>) -> ClientTraits {
        let is_codex = client.is_some_and(|client| client.name == CODEX);
        ClientTraits { is_codex }
    }

    /// The host for a call of `tool`, with the limit of text that suits the tool and the client.
    pub(super) fn host_for(self, host: Host, tool: &Offered) -> Host {
        match self.text_limit(&host, tool) {
            Some(bytes) => host.with_text_limit(bytes),
            None => host,
        }
    }

    /// In bytes, which are never fewer than characters; `None`: as the configuration says.
    fn text_limit(self, host: &Host, tool: &Offered) -> Option<usize> {
        let config = host.config();
        let configured = config.limits.spill_kb as usize * 1024;
        let limit = tool
            .max_result_chars
            .map_or(configured, |most| most as usize);
        let codex = config.mcp.codex_spill_kb as usize * 1024;
        let limit = match self.is_codex && limit > 0 && codex > 0 {
            true => limit.min(codex),
            false => limit,
        };
        (limit != configured).then_some(limit)
    }
}
