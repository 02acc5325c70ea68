//! `tools/call`: runs one call from its request to its response, including its questions to the
//! user.
//!
//! Under MCP up to 2025-11 the client is asked while the call waits. Under MCP 2026-07 the
//! questions are the response, and the client sends the request again with the answers. If a client
//! supports neither, its tools cannot ask the user.

use std::time::Duration;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, ClientResult, InputRequest, ServerRequest,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext};
use rmcp::{ErrorData, RoleServer};
use serde_json::value::RawValue;
use tokio::time::{sleep, timeout};

use super::client::{self, ClientTraits};
use super::elicitation::Open;
use super::execution::{Execution, Step};
use super::log;
use super::message::{Sender, owner};
use super::peer::PeerRequest;
use super::progress::Reporter;
use super::server::Server;
use super::{message, spans, suspended};
use crate::credentials::random_id;
use haft_nats::CallLink;
use haft_tool::{Call, Cancellation, LogLine, TaskMode};

/// Questions that arrive within this time are sent to the client together.
const COALESCE_WINDOW: Duration = Duration::from_millis(20);

/// Runs the call until it ends, asks its first question, or is cancelled by the client.
pub(super) async fn run(
    server: &Server,
    params: CallToolRequestParams,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let sender = Sender::of(&context.extensions);
    let client = sender.as_ref().map(|sender| &*sender.client);
    let tool_list = tokio::select! {
        biased;
        () = context.ct.cancelled() => return Err(taken_back()),
        tool_list = server.offer_for_call(&params.name, client) => tool_list,
    };
    let tool = tool_list.require(&params.name)?;
    let arguments = message::arguments(&params, &context.extensions)?;
    let arguments = tool.real_arguments(arguments);
    let is_new = client::is_new(&context);
    let abilities = context.client_capabilities().unwrap_or_default();
    let can_ask = client::answers(&abilities);
    let task = (is_new && abilities.supports_tasks()).then_some(tool.task);
    // Only a request that may suspend a call, or resumes one, needs it.
    let origin = if is_new && (can_ask || params.request_state.is_some()) {
        suspended::origin(owner(sender.as_ref()), &tool.name, arguments.get())
    } else {
        Vec::new()
    };
    if let (Some(state), true) = (&params.request_state, is_new) {
        let answers = params.input_responses.unwrap_or_default();
        if let Some(host) = server.other_host(state) {
            let request = PeerRequest::Resume {
                tool: tool.name.clone(),
                arguments: arguments.get().to_owned(),
                state: state.clone(),
                answers,
                may_be_task: task.is_some(),
            };
            let forwarding = server.forward_call(host, request, sender.as_ref(), context);
            return forwarding.await;
        }
        return match server.suspended().resume(state, answers, &origin)? {
            Ok(execution) => {
                let asker = Asker::client(context);
                call_with_input_required(server, execution, &origin, task, asker).await
            }
            Err(again) => Ok(again.into()),
        };
    }
    let call = Call {
        // Clients that share a server must not be able to guess the ids of each other's calls.
        id: match client {
            Some(_) => format!("mcp-{}", random_id()),
            None => Server::next_call_id(),
        },
        tool: tool.name.clone(),
        arguments,
    };
    let traits = ClientTraits::of(context.client_info().as_ref());
    let host = match client {
        Some(client) => {
            let host = client.host(server.host());
            match message::peer(&context.extensions) {
                Some(peer) => host.called_by(|caller| peer.describe(caller)),
                None => host,
            }
        }
        None => server.host().clone(),
    };
    let host = tool_list.host_for(traits.host_for(host, tool), &tool.name);
    let host = client::named(host, context.client_info().as_ref());
    let host = spans::host_for(host, &context);
    if task == Some(TaskMode::Always) {
        let answers = can_ask;
        let queued = server.queue_task(&host, tool, &call, sender.as_ref(), answers);
        if let Some(created) = queued.await {
            return created;
        }
    }
    let form = server.result_form(is_new);
    let of = (tool_list.clone(), tool.name.clone());
    let log = server.log().listen(&context);
    let execution = Execution::start(&host, (call, sender), of, log, abilities, form);
    if is_new {
        call_with_input_required(server, execution, &origin, task, Asker::client(context)).await
    } else {
        call_with_elicitation(server, execution, context).await
    }
}

/// Runs a call under MCP up to 2025-11: questions go to the client while the call waits.
async fn call_with_elicitation(
    server: &Server,
    mut execution: Execution,
    context: RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    let mut reporter = Reporter::new(&context);
    let mut asking = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            () = context.ct.cancelled() => return Err(taken_back()),
            Some(()) = asking.next(), if !asking.is_empty() => {}
            step = execution.step() => match step {
                // A client that reads too slowly misses updates and lines of the log.
                Step::Update(_) | Step::Said(_) if server.is_behind() => {}
                Step::Update(update) => reporter.tell(&update).await,
                Step::Said(line) => log::tell(&context.peer, line).await,
                // Sent from this task, so that the client can relate the question to its call.
                Step::Prompt(open) => asking.push(ask(context.peer.clone(), open)),
                Step::Ended(result) => return result.map(Into::into),
            }
        }
    }
}

async fn ask(peer: Peer<RoleServer>, mut open: Open) {
    let request = match open.request.clone() {
        InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
        InputRequest::CreateMessage(request) => ServerRequest::CreateMessageRequest(request),
        InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
        _ => return,
    };
    let options = PeerRequestOptions::no_options();
    let Ok(mut asked) = peer.send_cancellable_request(request, options).await else {
        return;
    };
    tokio::select! {
        answer = &mut asked.rx => {
            let answer = match answer {
                Ok(Ok(ClientResult::ElicitResult(result))) => serde_json::to_value(result),
                Ok(Ok(ClientResult::CreateMessageResult(result))) => serde_json::to_value(result),
                Ok(Ok(ClientResult::ListRootsResult(result))) => serde_json::to_value(result),
                _ => return,
            };
            if let Ok(answer) = answer {
                open.answer(answer);
            }
        }
        () = open.withdrawn() => {
            let _ = asked.cancel(Some("the answer is not wanted any more".to_owned())).await;
        }
    }
}

/// Runs a call under MCP 2026-07: questions are the response, and the call is suspended until the
/// client sends the request again. Without a response within the time that `task` sets, or when an MCP
/// server behind haft makes a task of the call, the response is a task. The call continues as that
/// task and asks further questions there. `None`: the client knows no tasks.
pub(super) async fn call_with_input_required(
    server: &Server,
    mut execution: Execution,
    origin: &[u8],
    task: Option<TaskMode>,
    mut asker: Asker,
) -> Result<CallToolResponse, ErrorData> {
    let mut asked: Vec<Open> = Vec::new();
    let wait = match task {
        Some(TaskMode::Always) => Some(Duration::ZERO),
        Some(TaskMode::After(time)) => Some(time),
        Some(TaskMode::Never) | None => None,
    };
    if wait == Some(Duration::ZERO) {
        match server.tasks().create(server.next_task_id(), execution) {
            Ok(created) => return Ok(created),
            Err(full) => execution = *full,
        }
    }
    // The time counts for each request separately: while the user thinks, no request is waiting.
    let task_is_due = async {
        match wait {
            Some(time) if !time.is_zero() => sleep(time).await,
            _ => std::future::pending().await,
        }
    };
    tokio::pin!(task_is_due);
    let mut may_be_task = task.is_some();
    loop {
        let client = execution.client().clone();
        let next = async {
            if asked.is_empty() {
                Some(execution.step().await)
            } else {
                timeout(COALESCE_WINDOW, execution.step()).await.ok()
            }
        };
        let step = tokio::select! {
            biased;
            () = asker.gone() => return Err(taken_back()),
            step = next => step,
            () = async {
                tokio::select! {
                    () = &mut task_is_due => {}
                    () = client.has_task() => {}
                }
            }, if may_be_task && asked.is_empty() => {
                match server.tasks().create(server.next_task_id(), execution) {
                    Ok(created) => return Ok(created),
                    // If no task can be created, a long request is better than an error.
                    Err(full) => execution = *full,
                }
                may_be_task = false;
                continue;
            }
        };
        match step {
            // A client that reads too slowly misses updates and lines of the log.
            Some(Step::Update(_) | Step::Said(_)) if server.is_behind() => {}
            Some(Step::Update(update)) => asker.update(update).await,
            Some(Step::Said(line)) => asker.say(line).await,
            Some(Step::Prompt(open)) if server.suspended().has_room(execution.sender()) => {
                asked.push(open);
            }
            Some(Step::Prompt(nobody)) => drop(nobody),
            Some(Step::Ended(result)) => return result.map(Into::into),
            None => {
                asked.retain(|open| !open.is_withdrawn());
                if !asked.is_empty() {
                    let told = server.suspended().park(execution, asked, origin);
                    return Ok(told.into());
                }
            }
        }
    }
}

/// The request that a call answers.
pub(super) enum Asker {
    /// A client of this host.
    Client(Box<RequestContext<RoleServer>>, Reporter),
    /// A client of another host, which forwards its request.
    Host(CallLink, Cancellation),
}

impl Asker {
    fn client(context: RequestContext<RoleServer>) -> Asker {
        let reporter = Reporter::new(&context);
        Asker::Client(Box::new(context), reporter)
    }

    /// Waits until the client does not wait for the answer any more.
    async fn gone(&self) {
        match self {
            Asker::Client(context, _) => context.ct.cancelled().await,
            Asker::Host(_, cancellation) => cancellation.requested().await,
        }
    }

    async fn update(&mut self, update: Box<RawValue>) {
        match self {
            Asker::Client(_, reporter) => reporter.tell(&update).await,
            Asker::Host(link, _) => link.update(update),
        }
    }

    async fn say(&self, line: LogLine) {
        match self {
            Asker::Client(context, _) => log::tell(&context.peer, line).await,
            Asker::Host(link, _) => link.log(line),
        }
    }
}

/// The error of a cancelled request. The client does not read it. The dropped call is stopped in
/// the background.
pub(super) fn taken_back() -> ErrorData {
    ErrorData::internal_error("cancelled", None)
}
