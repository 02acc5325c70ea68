//! `tools/call`: one call from its request to its answer.

use std::sync::atomic::{AtomicU64, Ordering};

use rmcp::model::{CallToolRequestParams, CallToolResult, ProtocolVersion};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer};

use super::progress::Reporter;
use super::request;
use super::result;
use super::server::Server;
use crate::error::Error;
use crate::host::RunningCall;
use crate::tool::{Call, Event, Outcome};

/// Updates beyond so many that still wait are passed over, the oldest first.
const WAITING: usize = 64;

/// Runs the call to its end, or until the client takes it back.
pub(super) async fn run(
    server: &Server,
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResult, ErrorData> {
    let offer = server.offer().await;
    let Some(tool) = offer.find(&params.name) else {
        return Err(unknown(server, &params.name).await);
    };
    let call = Call {
        id: next_id(),
        tool: tool.name.clone(),
        arguments: request::arguments(&params, &context.extensions)?,
    };
    let any_json = is_new(&context);
    let reporter = context.meta.get_progress_token();
    let reporter = reporter.map(|token| Reporter::new(context.peer.clone(), token));
    let running = server.host().call(call, None);
    let ended = tokio::select! {
        biased;
        ended = follow(server, running, reporter) => ended,
        // Nobody waits for the answer. What was dropped goes on to its end by the stop ladder.
        () = context.ct.cancelled() => return Err(ErrorData::internal_error("cancelled", None)),
    };
    match ended {
        Ok(outcome) => Ok(result::of_outcome(outcome, tool, any_json)),
        Err(error) => result::of_error(&error),
    }
}

/// Whether the request is of the protocol without sessions.
pub(super) fn is_new(context: &RequestContext<RoleServer>) -> bool {
    let version = context.protocol_version();
    version.is_some_and(|version| version.as_str() >= ProtocolVersion::V_2026_07_28.as_str())
}

async fn follow(
    server: &Server,
    mut running: RunningCall,
    reporter: Option<Reporter>,
) -> Result<Outcome, Error> {
    let Some(mut reporter) = reporter else {
        return running.outcome().await;
    };
    while let Some(event) = running.next_event().await {
        match event {
            Event::Update(update) => {
                let is_late = running.events.len() > WAITING || server.is_behind();
                if !is_late {
                    reporter.tell(&update).await;
                }
            }
            Event::Started => {}
            Event::Finished | Event::Rejected { .. } => break,
        }
    }
    running.outcome().await
}

/// Unique among running calls, over all clients of this process.
fn next_id() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    format!("mcp-{}", CALLS.fetch_add(1, Ordering::Relaxed))
}

/// The refusal of a name that is not offered, with what the host knows of it.
async fn unknown(server: &Server, name: &str) -> ErrorData {
    let offer = server.offer().await;
    let names = offer.tools.iter().map(|tool| &*tool.listed.name);
    let scored = names.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    let text = match best {
        Some((score, known)) if score > 0.75 => {
            format!("Unknown tool: {name}. Did you mean {known}?")
        }
        _ => format!("Unknown tool: {name}"),
    };
    ErrorData::invalid_params(text, None)
}
