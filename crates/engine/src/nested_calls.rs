//! Calls that the tools of one isolate make of tools of the catalog (`ctx.executeTool` of pi).
//!
//! JavaScript starts a call under a number of its own, and then reads its events one by one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use futures::future::BoxFuture;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::isolate_state::IsolateState;
use super::lock;
use haft_tool::{Block, Cancellation, Event, Outcome, queue};

/// Limit of the calls of one isolate whose end JavaScript has not read.
const MAX_OPEN_CALLS: usize = 4096;
/// Limit of a result in bytes.
const MAX_RESULT_BYTES: usize = 32 << 20;

/// The open calls of one isolate.
pub(super) struct NestedBridge {
    shared: Arc<IsolateState>,
    open: Arc<Mutex<HashMap<u32, OpenCall>>>,
}

struct OpenCall {
    cancellation: Cancellation,
    events: Arc<tokio::sync::Mutex<queue::Receiver<Event>>>,
}

/// An event as `29_nested.ts` reads it.
#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
enum Written<'a> {
    Update(&'a RawValue),
    Result(ResultView<'a>),
    /// The tool could not be run.
    Failed(&'a str),
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResultView<'a> {
    content: &'a [Block],
    details: &'a Value,
    is_error: bool,
}

impl NestedBridge {
    pub(super) fn new(shared: Arc<IsolateState>) -> NestedBridge {
        NestedBridge {
            shared,
            open: Arc::default(),
        }
    }

    /// Starts a call for the request `request`. A call that cannot be started has one event, which
    /// says why.
    pub(super) fn start(&self, request: u32, id: u32, tool: &str, arguments: String) {
        let cancellation = Cancellation::default();
        let nested = self.shared.requests.nested(request);
        // The arguments are written by our own runtime, so parsing them does not fail.
        let Some((nested, arguments)) = nested.zip(RawValue::from_string(arguments).ok()) else {
            return;
        };
        let mut open = lock(&self.open);
        if open.len() >= MAX_OPEN_CALLS {
            return;
        }
        let events = nested.call(tool, arguments, cancellation.clone());
        let events = Arc::new(tokio::sync::Mutex::new(events));
        let call = OpenCall {
            cancellation,
            events,
        };
        open.insert(id, call);
    }

    /// Waits for the next event of a call, as JSON.
    pub(super) fn next(&self, id: u32) -> BoxFuture<'static, String> {
        let open = self.open.clone();
        let events = lock(&open).get(&id).map(|call| call.events.clone());
        Box::pin(async move {
            let Some(events) = events else {
                return written(&Written::Failed(
                    "tools can be called only while a call runs",
                ));
            };
            let mut events = events.lock().await;
            loop {
                let text = match events.recv().await {
                    Some(Event::Started) => continue,
                    Some(Event::Update(update)) => return written(&Written::Update(&update)),
                    Some(Event::Finished(Ok(outcome))) => result(&outcome),
                    Some(Event::Finished(Err(error))) => written(&Written::Failed(error.message())),
                    None => written(&Written::Failed("the host ends")),
                };
                lock(&open).remove(&id);
                return text;
            }
        })
    }

    /// Cancels a call.
    pub(super) fn cancel(&self, id: u32) {
        if let Some(call) = lock(&self.open).get(&id) {
            call.cancellation.cancel();
        }
    }
}

impl Drop for OpenCall {
    fn drop(&mut self) {
        self.cancellation.cancel();
    }
}

fn result(outcome: &Outcome) -> String {
    let text = written(&Written::Result(ResultView {
        content: &outcome.content,
        details: &outcome.details,
        is_error: outcome.is_error || outcome.stopped.is_some(),
    }));
    if text.len() > MAX_RESULT_BYTES {
        let most = MAX_RESULT_BYTES >> 20;
        let text = format!("the result of the tool is larger than {most} MiB");
        return written(&Written::Failed(&text));
    }
    text
}

fn written(event: &Written<'_>) -> String {
    serde_json::to_string(event).expect("JSON values and texts have a JSON form")
}
