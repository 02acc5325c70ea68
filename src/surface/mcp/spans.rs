//! The span of an MCP request: the client's span in `_meta`, and the attributes of the conventions
//! for MCP.

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::model::{JsonObject, RequestId};
use rmcp::service::RequestContext;

use crate::host::telemetry::{Attributes, Value};
use crate::host::{CallSource, Host};
use crate::surface::traces;

/// Header with the session of the older protocol.
const SESSION: &str = "mcp-session-id";

/// Returns the host for the call of this request.
pub(super) fn host_for(host: Host, context: &RequestContext<RoleServer>) -> Host {
    let parts = context.extensions.get::<Parts>();
    let parent = traces::of_meta(&context.meta);
    if parent.is_none() && !Host::sends_telemetry() {
        return host;
    }
    let headers = parts.map(|parts| &parts.headers);
    let session = headers.and_then(|headers| headers.get(SESSION)?.to_str().ok());
    let transport = if parts.is_some() { "tcp" } else { "pipe" };
    let version = context.protocol_version();
    let version = version
        .map(|version| version.to_string())
        .unwrap_or_default();
    host.in_trace(CallSource {
        parent,
        // The span of the HTTP request may be of a proxy, which knows nothing of the call.
        link: headers.and_then(traces::of_headers),
        mcp: Some(attributes(&context.id, transport, version, session)),
    })
}

/// Returns the host for a call that takes the fast path.
pub(super) fn host_for_plain(host: Host, id: &RequestId, meta: Option<&JsonObject>) -> Host {
    let parent = meta.and_then(traces::of_meta);
    if parent.is_none() && !Host::sends_telemetry() {
        return host;
    }
    host.in_trace(CallSource {
        parent,
        link: None,
        mcp: Some(attributes(id, "pipe", String::new(), None)),
    })
}

fn attributes(
    id: &RequestId,
    transport: &'static str,
    version: String,
    session: Option<&str>,
) -> Attributes {
    let text = |text: String| Value::Text(text.into());
    let mut attributes = vec![
        ("mcp.method.name", Value::Text("tools/call".into())),
        ("network.transport", Value::Text(transport.into())),
        ("jsonrpc.request.id", text(id.to_string())),
    ];
    if !version.is_empty() {
        attributes.push(("mcp.protocol.version", text(version)));
    }
    if let Some(session) = session {
        attributes.push(("mcp.session.id", text(session.to_owned())));
    }
    attributes
}
