//! Behaviour for specific clients. Codex truncates results itself, so it gets shorter texts.

use rmcp::model::Implementation;

use super::tool_list::OfferedTool;
use crate::host::Host;

/// Client name that Codex sends in `initialize`.
const CODEX: &str = "codex-mcp-client";

/// Properties of a client that its responses depend on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ClientTraits {
    /// The client is Codex, which keeps some thousand characters of each end of a result.
    is_codex: bool,
}

/// Returns the host for calls of a client with this name. The call log contains the name.
pub(super) fn named(host: Host, client: Option<&Implementation>) -> Host {
    match client {
        Some(client) => host.called_by(|caller| caller.client = Some(client.name.clone())),
        None => host,
    }
}

impl ClientTraits {
    /// Returns the traits of the client with this name.
    pub(super) fn of(client: Option<&Implementation>) -> ClientTraits {
        let is_codex = client.is_some_and(|client| client.name == CODEX);
        ClientTraits { is_codex }
    }

    /// Returns the host for a call of `tool`, with the text limit that suits the tool and the
    /// client.
    pub(super) fn host_for(self, host: Host, tool: &OfferedTool) -> Host {
        match self.text_limit(&host, tool) {
            Some(bytes) => host.with_text_limit(bytes),
            None => host,
        }
    }

    /// Returns the text limit in bytes, which are never fewer than characters. `None`: the
    /// configured limit applies.
    fn text_limit(self, host: &Host, tool: &OfferedTool) -> Option<usize> {
        let config = host.config();
        let configured = config.limits.spill_kb as usize * 1024;
        let limit = tool
            .max_result_chars
            .map_or(configured, |most| most as usize);
        let codex = config.mcp.codex_spill_kb as usize * 1024;
        let limit = if self.is_codex && limit > 0 && codex > 0 {
            limit.min(codex)
        } else {
            limit
        };
        (limit != configured).then_some(limit)
    }
}
