//! Trace contexts in requests: the caller's span in HTTP headers, in the `_meta` of MCP and in the
//! fields of JSON-RPC.

use axum::http::HeaderMap;
use serde_json::{Map, Value};

use crate::host::{CallSource, Host};
use haft_tool::TraceContext;

/// Name of the caller's span, in all three places.
const PARENT: &str = "traceparent";
const STATE: &str = "tracestate";

/// Returns the span in the headers of a request.
pub(crate) fn of_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let text = |name| headers.get(name)?.to_str().ok();
    TraceContext::parse(text(PARENT)?, text(STATE))
}

/// Returns the span in the metadata of an MCP request.
pub(crate) fn of_meta(meta: &Map<String, Value>) -> Option<TraceContext> {
    let text = |name| meta.get(name)?.as_str();
    TraceContext::parse(text(PARENT)?, text(STATE))
}

/// Returns the host for calls of a caller with this span.
pub(crate) fn below(host: Host, parent: Option<TraceContext>) -> Host {
    match parent {
        Some(_) => host.in_trace(CallSource {
            parent,
            ..CallSource::default()
        }),
        None => host,
    }
}
