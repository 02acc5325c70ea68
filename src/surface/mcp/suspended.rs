//! Suspended calls of MCP 2026-07, which wait for the user's answers between two requests.
//!
//! The client holds a sealed state that names the call and expires. It is only valid for the same
//! client with the same tool and arguments. The suspended calls are kept here, bounded in number
//! and time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use rmcp::ErrorData;
use rmcp::model::{
    InputRequiredResult, InputResponses, RequestStateCodec, RequestStateError, SealOptions,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::time::sleep;

use super::elicitation::{self, Open};
use super::execution::Execution;
use super::message::{Sender, owner};
use super::peer::HOST_MARK;
use crate::credentials::{random, random_id};

/// Limit of the suspended calls of one client. Beyond it, tools cannot ask the user.
const MAX_SUSPENDED: usize = 64;
/// Time for which a call waits for its user.
const SUSPENDED_TIMEOUT: Duration = Duration::from_secs(15 * 60);

/// Registry of the suspended calls.
#[derive(Clone)]
pub(super) struct SuspendedCalls(Arc<Inner>);

struct Inner {
    codec: RequestStateCodec,
    /// The id of this host, if others forward what belongs to it.
    host: Option<String>,
    parked: Mutex<HashMap<String, Parked>>,
}

/// A suspended call.
pub(super) struct Parked {
    pub(super) execution: Execution,
    /// The questions without an answer.
    open: Vec<Open>,
    turn: u64,
}

/// The state that the client holds.
#[derive(Serialize, Deserialize)]
struct ResumeToken {
    call: String,
    /// Number of the round of questions. Each state is valid for one answer.
    turn: u64,
}

impl SuspendedCalls {
    /// Creates an empty registry with its own key. With `host` its states begin with this id.
    pub(super) fn new(host: Option<String>) -> Self {
        let inner = Inner {
            host,
            codec: RequestStateCodec::new_unchecked(random::<32>()),
            parked: Mutex::default(),
        };
        SuspendedCalls(Arc::new(inner))
    }

    /// Returns true if one more call of this client may be suspended.
    pub(super) fn has_room(&self, sender: Option<&Sender>) -> bool {
        let all = self.0.parked.lock();
        let is_own = |one: &&Parked| owner(one.execution.sender()) == owner(sender);
        all.values().filter(is_own).count() < MAX_SUSPENDED
    }

    /// Suspends a call and returns the response for its client. `origin`: see [`origin`].
    pub(super) fn park(
        &self,
        execution: Execution,
        open: Vec<Open>,
        origin: &[u8],
    ) -> InputRequiredResult {
        let parked = Parked {
            execution,
            open,
            turn: 0,
        };
        self.put(random_id(), parked, origin)
    }

    /// Resumes the call after delivering the client's answers. `Err(Ok(_))`: an answer is missing
    /// or invalid, so the question is asked again.
    ///
    /// # Errors
    /// −32602 for a state that is unknown, for another request, too old, or used.
    pub(super) fn resume(
        &self,
        state: &str,
        responses: InputResponses,
        origin: &[u8],
    ) -> Result<Result<Execution, InputRequiredResult>, ErrorData> {
        let sealed = match &self.0.host {
            Some(host) => state.strip_prefix(&format!("{host}{HOST_MARK}")),
            None => None,
        };
        let ticket = self.0.codec.open_json_with(sealed.unwrap_or(state), origin);
        let ResumeToken { call, turn } = ticket.map_err(|error| refusal(&error))?;
        let mut parked = {
            let mut all = self.0.parked.lock();
            match all.get(&call) {
                Some(parked) if parked.turn == turn => {}
                _ => return Err(gone()),
            }
            all.remove(&call).ok_or_else(gone)?
        };
        parked.open = elicitation::hand_over(parked.open, &responses);
        if parked.open.is_empty() {
            return Ok(Ok(parked.execution));
        }
        parked.turn += 1;
        Ok(Err(self.put(call, parked, origin)))
    }

    fn put(&self, call: String, parked: Parked, origin: &[u8]) -> InputRequiredResult {
        let requests = parked
            .open
            .iter()
            .map(|open| (open.key.clone(), open.request.clone()));
        let requests = requests.collect();
        let turn = parked.turn;
        let ticket = ResumeToken { call, turn };
        let options = SealOptions::new()
            .associated_data(origin)
            .ttl(SUSPENDED_TIMEOUT);
        let sealed = self.0.codec.seal_json_with(&ticket, &options);
        let call = ticket.call;
        let sender = parked.execution.sender();
        let ended = sender.map(|sender| sender.client.ended().clone());
        self.0.parked.lock().insert(call.clone(), parked);
        let suspended = self.clone();
        tokio::spawn(async move {
            let expiry = sleep(SUSPENDED_TIMEOUT);
            match ended {
                Some(ended) => drop(ended.run_until_cancelled_owned(expiry).await),
                None => expiry.await,
            }
            let mut all = suspended.0.parked.lock();
            if all.get(&call).is_some_and(|parked| parked.turn == turn) {
                // Dropping it cancels the call.
                all.remove(&call);
            }
        });
        let state = sealed.ok().map(|sealed| match &self.0.host {
            Some(host) => format!("{host}{HOST_MARK}{sealed}"),
            None => sealed,
        });
        InputRequiredResult::new(Some(requests), state)
    }
}

/// Returns a text that identifies the client, the tool and the arguments. Different JSON notations
/// of the same arguments give the same text.
pub(super) fn origin(owner: &str, tool: &str, arguments: &str) -> Vec<u8> {
    let arguments = match serde_json::from_str(arguments) {
        Ok(value) => sorted(value).to_string(),
        Err(_) => arguments.to_owned(),
    };
    let digest = blake3::hash(arguments.as_bytes()).to_hex();
    format!("tools/call\n{owner}\n{tool}\n{digest}").into_bytes()
}

/// Returns the value with sorted keys, and with whole numbers without a fraction.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.into_iter().collect();
            fields.sort_by(|a, b| a.0.cmp(&b.0));
            let fields = fields.into_iter();
            fields.map(|(key, value)| (key, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        Value::Number(number) => match number.as_f64() {
            Some(float) => Value::from(float),
            None => Value::Number(number),
        },
        other => other,
    }
}

fn refusal(error: &RequestStateError) -> ErrorData {
    match error {
        RequestStateError::Expired => {
            ErrorData::invalid_params("the request state has expired: call the tool again", None)
        }
        other => {
            let text = format!("this request state is not of this request: {other}");
            ErrorData::invalid_params(text, None)
        }
    }
}

fn gone() -> ErrorData {
    let text = "the call does not wait for these answers any more: call the tool again";
    ErrorData::invalid_params(text, None)
}
