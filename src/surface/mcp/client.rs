//! Properties of clients that responses depend on: the protocol version, forms, and the client's
//! name. Codex truncates results itself, so it gets shorter texts.

use rmcp::RoleServer;
use rmcp::model::{
    ClientCapabilities, ExtensionCapabilities, Implementation, JsonObject, ProtocolVersion,
    TASKS_EXTENSION_ID,
};
use rmcp::service::RequestContext;
use serde_json::Value;

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

/// Returns true if the request uses the protocol without sessions (MCP 2026-07).
pub(super) fn is_new(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| is_new_version(&version))
}

/// Returns true if `version` is MCP 2026-07 or later.
pub(super) fn is_new_version(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// Returns true if the client can show forms. A client that declares neither form nor URL supports
/// forms.
pub(super) fn can_ask(client: &ClientCapabilities) -> bool {
    let elicitation = client.elicitation.as_ref();
    elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// Returns true if the client answers requests of a call: forms, or what an MCP server behind haft
/// asks of it.
pub(super) fn answers(client: &ClientCapabilities) -> bool {
    client.elicitation.is_some() || client.sampling.is_some()
}

/// Returns the capabilities of a client as MCP servers behind haft see them. haft follows a task to its
/// end for a client of an older version (`is_new` is false), which knows no tasks.
pub(super) fn for_servers(client: &ClientCapabilities, is_new: bool) -> Value {
    let mut capabilities = client.clone();
    if !is_new {
        let tasks = (TASKS_EXTENSION_ID.to_owned(), JsonObject::new());
        capabilities.extensions = Some(ExtensionCapabilities::from([tasks]));
    }
    serde_json::to_value(capabilities).unwrap_or_default()
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
