//! `tools/call` and `tools/cancel`.
//!
//! A call that was refused for its arguments or its name, by the policy or by the user is a result
//! with `isError`, so that the model can read it. A tool that haft could not run is an error.

use std::sync::Arc;
use std::time::Duration;

use futures::future::Either;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};

use super::message::Notification;
use super::payload::{self, Answer};
use super::rpc_error::RpcError;
use super::ui::NoUser;
use crate::code::{RUN_CODE, SEARCH_TOOLS};
use crate::host::{Host, RunningCall};
use crate::surface::stdio::writer::Writer;
use crate::surface::traces;
use crate::surface::wire::OutcomeView;
use crate::tool_test::Recorder;
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
    /// The answer has the test of the call.
    record: Option<RecordParams>,
    /// The peer's span, for traces.
    traceparent: Option<String>,
    tracestate: Option<String>,
}

/// Options of a recorded call.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct RecordParams {
    /// The test is saved where `haft test` finds it.
    #[serde(default)]
    save: bool,
    /// The name of the test.
    name: Option<String>,
}

/// The answer to a recorded call.
#[derive(Serialize)]
struct RecordedAnswer<'a> {
    #[serde(flatten)]
    outcome: OutcomeView<'a>,
    recorded: RecordedView,
}

/// The test of a call.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct RecordedView {
    /// The reason for which there is no test, or for which it was not saved.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// The test file.
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    test: Option<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cassette: Option<Value>,
    notes: Vec<String>,
    is_saved: bool,
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
            record: None,
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
            record: None,
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
    let host = if asked.ui {
        host
    } else {
        host.with_ui(Arc::new(NoUser))
    };
    let taken = |taken: Error| RpcError::invalid_params(taken.message());
    let Some(params) = asked.record else {
        let running = host.call_with_free_id(call, timeout).map_err(taken)?;
        return Ok(Either::Left(async move {
            answer(follow(running, writer).await)
        }));
    };
    Ok(Either::Right(async move {
        // Its tool must be known first, so it can be cancelled a little later than other calls.
        let recorder = Recorder::of(&host, &call).await?;
        if params.save {
            recorder.check(params.name.as_deref(), None)?;
        }
        let running = recorder.host().call_with_free_id(call, timeout);
        let running = running.map_err(taken)?;
        let ended = follow(running, writer).await;
        recorded_answer(ended, &recorder, &params)
    }))
}

/// Converts the end of a recorded call to the answer of `tools/call`, and saves its test if that is
/// wanted.
fn recorded_answer(
    ended: Result<Outcome, Error>,
    recorder: &Recorder,
    params: &RecordParams,
) -> Answer {
    let mut view = RecordedView::default();
    match recorder.finish(ended.as_ref()) {
        Err(error) => view.problem = Some(error.message().to_owned()),
        Ok(test) => {
            let mut name = params.name.clone().unwrap_or_else(|| test.name.clone());
            view.path = Some(test.path.display().to_string());
            if params.save {
                match test.save(params.name.as_deref(), None) {
                    Ok(saved) => (view.is_saved, name) = (true, saved.name),
                    Err(error) => view.problem = Some(error.message().to_owned()),
                }
            }
            view.test = Some(test.test(&name));
            view.cassette = Some(test.cassette());
            view.notes = test.notes;
        }
    }
    let outcome = outcome_of(ended)?;
    payload::json(&RecordedAnswer {
        outcome: OutcomeView::from(&outcome),
        recorded: view,
    })
}

/// Cancels a call. The response states if a call with this id was running.
pub(super) fn cancel(host: Option<&Host>, params: Option<&RawValue>) -> Answer {
    let CancelParams { call_id } = payload::read("tools/cancel", params)?;
    payload::json(&Cancelled {
        cancelled: host.is_some_and(|host| host.abort(&call_id)),
    })
}

/// Forwards the updates until the call ends, and returns its end. A peer that reads too slowly
/// misses some updates, but never the newest.
async fn follow(mut running: RunningCall, writer: Writer) -> Result<Outcome, Error> {
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
                return ended;
            }
        }
    }
}

/// Converts the end of a call to the answer of `tools/call`.
pub(super) fn answer(ended: Result<Outcome, Error>) -> Answer {
    payload::json(&OutcomeView::from(&outcome_of(ended)?))
}

/// Returns the outcome that the peer gets: also of a call that was refused.
fn outcome_of(ended: Result<Outcome, Error>) -> Result<Outcome, RpcError> {
    match ended {
        Ok(outcome) => Ok(outcome),
        Err(error) => match error.kind() {
            ErrorKind::BadArguments | ErrorKind::NoSuchTool => Ok(refusal(error.message())),
            ErrorKind::Denied => Ok(Outcome::failure(error.message(), Duration::ZERO)),
            _ => Err(error.into()),
        },
    }
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
