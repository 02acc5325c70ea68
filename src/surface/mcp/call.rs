//! `tools/call`: one call from its request to its answer, with its questions to the user.
//!
//! A client of the older era is asked beside the call; one of the newer gets the questions as its
//! answer, and comes again. A client that can do neither leaves its tools nobody to ask.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientCapabilities, ClientResult, ElicitRequest,
    ProtocolVersion, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::asking::Open;
use super::entry::Entry;
use super::execution::{self, Execution, Step};
use super::log::{self, Lines};
use super::progress::Reporter;
use super::server::Server;
use super::{parked, request};
use crate::error::Error;
use crate::tool::{Call, LogListener, Outcome};

/// Questions that come within this time go to the client together.
const TOGETHER: Duration = Duration::from_millis(20);
/// A call that takes longer becomes a task, where the client knows tasks.
const PROMPT: Duration = Duration::from_millis(250);

/// Runs the call to its end, to its first question, or until the client takes it back.
pub(super) async fn run(
    server: &Server,
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let offer = server.offer_for_call(&params.name).await;
    let Some(tool) = offer.find(&params.name) else {
        return Err(unknown(&params.name, offer.names()));
    };
    let arguments = request::arguments(&params, &context.extensions)?;
    let arguments = tool.real_arguments(arguments);
    let is_new = is_new(&context);
    let client = context.client_capabilities().unwrap_or_default();
    let can_ask = can_ask(&client);
    // Only who may park a call, or comes back to one, needs it.
    let origin = match is_new && (can_ask || params.request_state.is_some()) {
        true => parked::origin(&tool.name, arguments.get()),
        false => Vec::new(),
    };
    if let (Some(state), true) = (&params.request_state, is_new) {
        let answers = params.input_responses.unwrap_or_default();
        return match server.parking().resume(state, answers, &origin)? {
            Ok(execution) => in_turns(server, execution, &origin, context).await,
            Err(again) => Ok(again.into()),
        };
    }
    let call = Call {
        id: next_id(),
        tool: tool.name.clone(),
        arguments,
    };
    let knows_tasks = is_new && client.supports_tasks();
    if !can_ask && !knows_tasks && context.meta.get_progress_token().is_none() {
        let log = server.log().listen(&context);
        let ended = outcome_only(server, call, log, &context.peer, &context.ct).await?;
        return execution::answer(ended, Some(tool), is_new).map(Into::into);
    }
    let of = (offer.clone(), tool.name.clone());
    let log = server.log().listen(&context);
    let execution = Execution::start(server, call, of, log, can_ask, is_new);
    match (is_new, knows_tasks) {
        (_, true) => as_task(server, execution, context).await,
        (true, false) => in_turns(server, execution, &origin, context).await,
        (false, _) => beside(server, execution, context).await,
    }
}

/// The short way: nothing is waited for but the outcome, and what the tool logs until then.
async fn outcome_only(
    server: &Server,
    call: Call,
    (listener, mut lines): (Option<Arc<dyn LogListener>>, Lines),
    peer: &Peer<RoleServer>,
    cancel: &CancellationToken,
) -> Result<Result<Outcome, Error>, ErrorData> {
    let host = log::heard(server.host(), listener);
    let (running, mut entry) = Entry::start(&host, call, server.book());
    let outcome = running.outcome();
    tokio::pin!(outcome);
    let ended = loop {
        tokio::select! {
            biased;
            ended = &mut outcome => break ended,
            line = lines.next() => log::tell(server, peer, line).await,
            () = cancel.cancelled() => return Err(taken_back()),
        }
    };
    entry.end(&ended);
    while let Some(line) = lines.waiting() {
        log::tell(server, peer, line).await;
    }
    Ok(ended)
}

/// Whether the request is of the protocol without sessions.
pub(super) fn is_new(context: &RequestContext<RoleServer>) -> bool {
    context
        .protocol_version()
        .is_some_and(|version| is_new_version(&version))
}

/// Whether `version` is of that protocol, or a later one.
pub(super) fn is_new_version(version: &ProtocolVersion) -> bool {
    version.as_str() >= ProtocolVersion::V_2026_07_28.as_str()
}

/// The older era: questions go to the client while the call waits.
async fn beside(
    server: &Server,
    mut execution: Execution,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let mut reporter = Reporter::new(server, &context);
    let mut asking = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(taken_back()),
            Some(()) = asking.next(), if !asking.is_empty() => {}
            step = execution.step() => match step {
                Step::Update(update) => reporter.tell(&update).await,
                Step::Said(line) => log::tell(server, &context.peer, line).await,
                // On this task: a question must be seen to belong to its call.
                Step::Asked(open) => asking.push(ask(context.peer.clone(), open)),
                Step::Ended(result) => return result.map(Into::into),
            }
        }
    }
}

async fn ask(peer: Peer<RoleServer>, mut open: Open) {
    let request = ServerRequest::ElicitRequest(ElicitRequest::new(open.form.clone()));
    let options = PeerRequestOptions::no_options();
    let Ok(mut asked) = peer.send_cancellable_request(request, options).await else {
        return;
    };
    tokio::select! {
        answer = &mut asked.rx => if let Ok(Ok(ClientResult::ElicitResult(result))) = answer {
            open.answer(result);
        },
        () = open.withdrawn() => {
            let _ = asked.cancel(Some("the answer is not wanted any more".to_owned())).await;
        }
    }
}

/// The newer era: questions are the answer, and the call waits for the client to come again.
async fn in_turns(
    server: &Server,
    mut execution: Execution,
    origin: &[u8],
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let mut reporter = Reporter::new(server, &context);
    let mut asked: Vec<Open> = Vec::new();
    loop {
        let next = async {
            match asked.is_empty() {
                true => Some(execution.step().await),
                false => timeout(TOGETHER, execution.step()).await.ok(),
            }
        };
        let step = tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(taken_back()),
            step = next => step,
        };
        match step {
            Some(Step::Update(update)) => reporter.tell(&update).await,
            Some(Step::Said(line)) => log::tell(server, &context.peer, line).await,
            Some(Step::Asked(open)) if server.parking().has_room() => asked.push(open),
            Some(Step::Asked(nobody)) => drop(nobody),
            Some(Step::Ended(result)) => return result.map(Into::into),
            None => {
                asked.retain(|open| !open.is_withdrawn());
                if !asked.is_empty() {
                    let told = server.parking().park(execution, asked, origin);
                    return Ok(told.into());
                }
            }
        }
    }
}

/// The newer era with tasks: what is not over soon, or asks, goes on as a task.
async fn as_task(
    server: &Server,
    mut execution: Execution,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let mut reporter = Reporter::new(server, &context);
    let soon = tokio::time::sleep(PROMPT);
    tokio::pin!(soon);
    loop {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(taken_back()),
            step = execution.step() => match step {
                Step::Update(update) => reporter.tell(&update).await,
                Step::Said(line) => log::tell(server, &context.peer, line).await,
                Step::Ended(result) => return result.map(Into::into),
                Step::Asked(open) => return server.tasks().create(execution, Some(open)),
            },
            () = &mut soon => return server.tasks().create(execution, None),
        }
    }
}

/// Whether the client can show forms. Naming neither form nor URL means forms.
pub(super) fn can_ask(client: &ClientCapabilities) -> bool {
    let elicitation = client.elicitation.as_ref();
    elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none())
}

/// Unique among running calls, over all clients of this process.
pub(super) fn next_id() -> String {
    static CALLS: AtomicU64 = AtomicU64::new(1);
    format!("mcp-{}", CALLS.fetch_add(1, Ordering::Relaxed))
}

/// Nobody reads it. What was dropped goes on to its end by the stop ladder.
fn taken_back() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}

/// The refusal of a name that is not offered, with the one that may be meant.
pub(super) fn unknown<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> ErrorData {
    let scored = known.map(|known| (strsim::jaro_winkler(name, known), known));
    let best = scored.max_by(|a, b| a.0.total_cmp(&b.0));
    let text = match best {
        Some((score, known)) if score > 0.75 => {
            format!("Unknown tool: {name}. Did you mean {known}?")
        }
        _ => format!("Unknown tool: {name}"),
    };
    ErrorData::invalid_params(text, None)
}
