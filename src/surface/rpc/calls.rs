//! `tools/call` and `tools/cancel`: registry of the running calls by id.
//!
//! A call that was refused for its arguments or its name, by the policy or by the user is a result
//! with `isError`, so that the model can read it. A tool that haft could not run is an error.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::json;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::message::Notification;
use super::payload::{self, Answer};
use super::rpc_error::RpcError;
use crate::host::{Host, RunningCall};
use crate::surface::stdio::writer::Writer;
use crate::surface::wire::OutcomeView;
use haft_tool::{Call, Event, Outcome};
use haft_tool::{Error, ErrorKind};

/// Registry of the running calls.
#[derive(Default)]
pub(super) struct Calls(Arc<Mutex<HashMap<String, CancellationToken>>>);

/// The parameters of `tools/call`.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallParams {
    name: String,
    arguments: Option<Box<RawValue>>,
    call_id: Option<String>,
    timeout_ms: Option<u64>,
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

/// Registry entry of a call, removed when it is dropped.
struct Listed {
    calls: Arc<Mutex<HashMap<String, CancellationToken>>>,
    id: String,
}

impl Calls {
    /// Starts a call and registers it at once, so that a `tools/cancel` on the next line finds it.
    pub(super) fn start(
        &self,
        host: Host,
        asked: CallParams,
        request: Option<&RawValue>,
        writer: Writer,
    ) -> Result<impl Future<Output = Answer> + Send + 'static, RpcError> {
        let id = asked.call_id.unwrap_or_else(|| default_id(request));
        if lock(&self.0).contains_key(&id) {
            let text = format!("a call with the id `{id}` is running");
            return Err(RpcError::invalid_params(text));
        }
        let call = Call {
            id: id.clone(),
            tool: asked.name,
            arguments: asked.arguments.unwrap_or_else(Call::no_arguments),
        };
        let timeout = asked.timeout_ms.map(Duration::from_millis);
        let running = host.call(call, timeout);
        let listed = self.list(id, running.cancel_token());
        Ok(async move {
            let ended = follow(running, &listed.id, &writer).await;
            drop(listed);
            answer(ended)
        })
    }

    /// Cancels a call. The response states if a call with this id was running.
    pub(super) fn cancel(&self, params: Option<&RawValue>) -> Answer {
        let CancelParams { call_id } = payload::read("tools/cancel", params)?;
        let token = lock(&self.0).get(&call_id).cloned();
        if let Some(token) = &token {
            token.cancel();
        }
        payload::json(&Cancelled {
            cancelled: token.is_some(),
        })
    }

    /// Cancels every call.
    pub(super) fn cancel_all(&self) {
        for token in lock(&self.0).values() {
            token.cancel();
        }
    }

    fn list(&self, id: String, token: CancellationToken) -> Listed {
        lock(&self.0).insert(id.clone(), token);
        Listed {
            calls: Arc::clone(&self.0),
            id,
        }
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        lock(&self.calls).remove(&self.id);
    }
}

/// Forwards the updates until the call ends. A peer that reads too slowly misses some, but never
/// the newest.
async fn follow(
    mut running: RunningCall,
    call_id: &str,
    writer: &Writer,
) -> Result<Outcome, Error> {
    let send = |partial_result: &RawValue| {
        let params = UpdateParams {
            call_id,
            partial_result,
        };
        writer.send(&Notification::new("tools/update", params));
    };
    let mut held = None;
    while let Some(event) = running.next_event().await {
        match event {
            Event::Started => {}
            Event::Update(partial) if writer.is_behind() => held = Some(partial),
            Event::Update(partial) => {
                held = None;
                send(&partial);
            }
            Event::Finished | Event::Rejected { .. } => break,
        }
    }
    if let Some(partial) = held {
        send(&partial);
    }
    running.outcome().await
}

fn answer(ended: Result<Outcome, Error>) -> Answer {
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

/// Code that holds the lock cannot panic, so the data of a poisoned lock is still consistent.
fn lock(
    calls: &Mutex<HashMap<String, CancellationToken>>,
) -> MutexGuard<'_, HashMap<String, CancellationToken>> {
    calls.lock().unwrap_or_else(PoisonError::into_inner)
}
