//! `tools/call` and `tools/cancel`.
//!
//! A call that was refused for its arguments or its name, by the policy or by the user is a result
//! with `isError`, so that the model can read it. A tool that haft could not run is an error.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::{RawValue, to_raw_value};

use super::message::Notification;
use super::payload::{self, Answer};
use super::rpc_error::RpcError;
use super::ui::NoUser;
use crate::code::{RUN_CODE, SEARCH_TOOLS};
use crate::host::{Host, RunningCall};
use crate::surface::stdio::writer::Writer;
use crate::surface::traces;
use crate::surface::wire::OutcomeView;
use haft_tool::{Call, Event, Outcome, TraceContext};
use haft_tool::{Error, ErrorKind};

/// The parameters of `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallParams {
    name: String,
    arguments: Option<Box<RawValue>>,
    call_id: Option<String>,
    timeout_ms: Option<u64>,
    /// False if the peer does not answer questions of this call.
    #[serde(default = "yes")]
    ui: bool,
    /// The peer's span, for traces.
    traceparent: Option<String>,
    tracestate: Option<String>,
}

fn yes() -> bool {
    true
}

/// The parameters of `code/run`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RunParams {
    code: String,
    args: Option<Box<RawValue>>,
    /// Time that the script itself may take.
    own_time_ms: Option<u64>,
    max_output_tokens: Option<u64>,
    call_id: Option<String>,
    /// Time that the run may take, waits for tools included.
    timeout_ms: Option<u64>,
    #[serde(default = "yes")]
    ui: bool,
    traceparent: Option<String>,
    tracestate: Option<String>,
}

/// The parameters of `code/search`: those of `search_tools`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct SearchParams {
    query: Option<String>,
    limit: Option<u64>,
    detail: Option<String>,
    call_id: Option<String>,
}

impl RunParams {
    /// Returns the call of `run_code`.
    pub(super) fn into_call(self) -> CallParams {
        let mut arguments = json!({"code": self.code});
        if let Some(args) = self.args {
            arguments["args"] = json!(args);
        }
        if let Some(time) = self.own_time_ms {
            arguments["timeout_ms"] = json!(time);
        }
        if let Some(tokens) = self.max_output_tokens {
            arguments["max_output_tokens"] = json!(tokens);
        }
        CallParams {
            name: RUN_CODE.to_owned(),
            arguments: to_raw_value(&arguments).ok(),
            call_id: self.call_id,
            timeout_ms: self.timeout_ms,
            ui: self.ui,
            traceparent: self.traceparent,
            tracestate: self.tracestate,
        }
    }
}

impl SearchParams {
    /// Returns the call of `search_tools`.
    pub(super) fn into_call(self) -> CallParams {
        let mut arguments = json!({});
        if let Some(query) = self.query {
            arguments["query"] = json!(query);
        }
        if let Some(limit) = self.limit {
            arguments["limit"] = json!(limit);
        }
        if let Some(detail) = self.detail {
            arguments["detail"] = json!(detail);
        }
        CallParams {
            name: SEARCH_TOOLS.to_owned(),
            arguments: to_raw_value(&arguments).ok(),
            call_id: self.call_id,
            timeout_ms: None,
            ui: false,
            traceparent: None,
            tracestate: None,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct CancelParams {
    call_id: String,
}

#[derive(Serialize)]
struct Cancelled {
    cancelled: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct UpdateParams<'a> {
    call_id: &'a str,
    partial_result: &'a RawValue,
}

impl CallParams {
    /// Returns the name of the tool.
    pub(super) fn name(&self) -> &str {
        &self.name
    }
}

/// Starts a call. It is logged at once, so that a `tools/cancel` on the next line finds it.
pub(super) fn start(
    host: &Host,
    asked: CallParams,
    request: Option<&RawValue>,
    writer: Writer,
) -> Result<impl Future<Output = Answer> + Send + 'static, RpcError> {
    let call = Call {
        id: asked.call_id.unwrap_or_else(|| default_id(request)),
        tool: asked.name,
        arguments: asked.arguments.unwrap_or_else(Call::no_arguments),
    };
    let timeout = asked.timeout_ms.map(Duration::from_millis);
    let parent = asked.traceparent.as_deref();
    let parent = parent.and_then(|span| TraceContext::parse(span, asked.tracestate.as_deref()));
    let host = traces::below(host.clone(), parent);
    let running = if asked.ui {
        host.call_with_free_id(call, timeout)
    } else {
        let host = host.with_ui(Arc::new(NoUser));
        host.call_with_free_id(call, timeout)
    };
    let running = running.map_err(|taken| RpcError::invalid_params(taken.message()))?;
    Ok(follow(running, writer))
}

/// Cancels a call. The response states if a call with this id was running.
pub(super) fn cancel(host: Option<&Host>, params: Option<&RawValue>) -> Answer {
    let CancelParams { call_id } = payload::read("tools/cancel", params)?;
    payload::json(&Cancelled {
        cancelled: host.is_some_and(|host| host.abort(&call_id)),
    })
}

/// Forwards the updates until the call ends, and returns its answer. A peer that reads too slowly
/// misses some updates, but never the newest.
async fn follow(mut running: RunningCall, writer: Writer) -> Answer {
    let call = Arc::clone(running.record());
    let send = |partial_result: &RawValue| {
        let params = UpdateParams {
            call_id: &call.id,
            partial_result,
        };
        writer.send(&Notification::new("tools/update", params));
    };
    let mut held = None;
    loop {
        match running.next_event().await {
            Event::Started => {}
            Event::Update(partial) if writer.is_behind() => held = Some(partial),
            Event::Update(partial) => {
                held = None;
                send(&partial);
            }
            Event::Finished(ended) => {
                if let Some(partial) = held {
                    send(&partial);
                }
                return answer(ended);
            }
        }
    }
}

/// Converts the end of a call to the answer of `tools/call`.
pub(super) fn answer(ended: Result<Outcome, Error>) -> Answer {
    let outcome = match ended {
        Ok(outcome) => outcome,
        Err(error) => match error.kind() {
            ErrorKind::BadArguments | ErrorKind::NoSuchTool => refusal(error.message()),
            ErrorKind::Denied => Outcome::failure(error.message(), Duration::ZERO),
            _ => return Err(error.into()),
        },
    };
    payload::json(&OutcomeView::from(&outcome))
}

/// Returns the outcome of a call that was refused before its start, for the model.
fn refusal(text: &str) -> Outcome {
    Outcome {
        details: json!({ "isError": true, "error": text }),
        ..Outcome::failure(text, Duration::ZERO)
    }
}

/// Returns the request's own id, which a peer can use if it does not set `callId`.
fn default_id(request: Option<&RawValue>) -> String {
    let raw = request.map_or("notification", RawValue::get);
    serde_json::from_str(raw).unwrap_or_else(|_| raw.to_owned())
}
