//! Data of a call in responses and events, while it runs and for some time afterwards.

use std::borrow::Cow;
use std::sync::Arc;

use axum::body::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use super::event_ring::Feeds;
use crate::audit::{CallOutcome, Caller, RecordedCall};
use crate::host::{CallEnd, CallListener, CallRecord};
use crate::surface::http::ProblemDetails;
use crate::surface::wire::{OutcomeView, millis};
use haft_tool::Error;
use haft_tool::{Outcome, Stopped, Timestamp};

/// Maximum length of the arguments in lists and events, in bytes.
const MAX_LISTED_ARGUMENTS: usize = 400;

/// The response to a call: the outcome of the tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallResult<'a> {
    call_id: &'a str,
    tool: &'a str,
    #[serde(flatten)]
    outcome: OutcomeView<'a>,
}

/// A call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
#[schema(as = Call)]
pub(super) struct CallView<'a> {
    /// Its id.
    call_id: &'a str,
    /// The tool's name.
    tool: &'a str,
    state: CallState,
    caller: CallerView<'a>,
    /// The id of the call that this one is a part of.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    parent_id: Option<&'a str>,
    /// The name of the host that runs or ran the call, if it went to or came from another one.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    host: Option<Cow<'a, str>>,
    /// The tenant in whose queue the call was put.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    queue: Option<Cow<'a, str>>,
    /// The id of the trace that the call is a part of, once it has ended.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    trace_id: Option<Cow<'a, str>>,
    /// The arguments: in a list only short ones, otherwise up to 256 KiB.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    arguments: Option<Cow<'a, RawValue>>,
    /// When it was started, UTC.
    #[schema(value_type = String, format = DateTime)]
    started_at: Cow<'a, str>,
    /// So far, or in all.
    duration_ms: f64,
    /// True if the call failed, by the tool's own word or in haft.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    is_error: Option<bool>,
    /// Why a call that ended was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = stopped)]
    stopped: Option<Stopped>,
    /// The newest update of a call that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    partial_result: Option<Box<RawValue>>,
    /// Result of a finished call. Results that are too long are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CallAnswer>)]
    result: Option<&'a RawValue>,
    /// Why it could not be run, of a call that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemDetails<'static>>)]
    error: Option<&'a RawValue>,
}

/// The caller of a call.
#[derive(Serialize, ToSchema)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallerView<'a> {
    /// `rest`, `mcp-http`, …
    surface: &'a str,
    /// The name that an MCP client gives itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    client: Option<&'a str>,
    /// The name of its token.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    token: Option<&'a str>,
    /// The program at the other end of a local connection.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    program: Option<&'a str>,
}

impl<'a> From<&'a Caller> for CallerView<'a> {
    fn from(caller: &'a Caller) -> CallerView<'a> {
        CallerView {
            surface: &caller.surface,
            client: caller.client.as_deref(),
            token: caller.token.as_deref(),
            program: caller.program.as_deref(),
        }
    }
}

/// State of a call: it runs, the tool has returned a result, or haft could not run it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum CallState {
    Running,
    Finished,
    Failed,
}

/// Result of the tool. `isError` marks a failure that the tool reports.
#[derive(ToSchema)]
#[schema(rename_all = "camelCase")]
#[expect(
    dead_code,
    reason = "the description of `CallResult`, whose parts are not ours"
)]
pub(super) struct CallAnswer {
    /// The call's id.
    call_id: String,
    /// The tool's name.
    tool: String,
    /// Content for the model.
    #[schema(schema_with = content)]
    content: (),
    /// Anything else that the tool says.
    details: Value,
    /// The tool reports a failure.
    is_error: bool,
    /// The tool says that a model cannot use the result.
    #[schema(nullable = false)]
    useless: Option<bool>,
    /// From the start of the tool to its end.
    duration_ms: f64,
    /// Why the call was stopped, if it was.
    #[schema(schema_with = stopped)]
    stopped: Option<()>,
}

impl<'a> CallView<'a> {
    /// Returns the data of a call that is only in the audit log, with long arguments if `is_whole`.
    pub(super) fn recorded(call: &'a RecordedCall, is_whole: bool) -> CallView<'a> {
        let was_run = call.outcome != Some(CallOutcome::Refused)
            && !matches!(call.reason.as_deref(), Some("isolate lost" | "internal"));
        CallView {
            call_id: &call.call,
            tool: &call.tool,
            state: if was_run {
                CallState::Finished
            } else {
                CallState::Failed
            },
            caller: (&call.caller).into(),
            parent_id: call.parent.as_deref(),
            host: call.host.as_deref().map(Cow::Borrowed),
            queue: call.queue.as_deref().map(Cow::Borrowed),
            trace_id: call.trace.as_deref().map(Cow::Borrowed),
            arguments: recorded_arguments(call, is_whole).map(Cow::Owned),
            started_at: call.started.as_str().into(),
            duration_ms: call.ms.unwrap_or_default(),
            is_error: Some(call.outcome != Some(CallOutcome::Ok)),
            stopped: call.reason.as_deref().and_then(Stopped::from_name),
            partial_result: None,
            result: None,
            error: None,
        }
    }

    /// Returns the data of a call in the log of the host, with its update or its result if
    /// `is_whole`.
    pub(super) fn logged(call: &'a CallRecord, is_whole: bool) -> CallView<'a> {
        let end = call.end();
        let json = end.and_then(|end| end.json.as_ref()).filter(|_| is_whole);
        // haft wrote this JSON itself, so it is valid.
        let json = json.and_then(|json| serde_json::from_slice(json).ok());
        let was_run = end.is_some_and(|end| end.was_run);
        let place = call.place();
        CallView {
            call_id: &call.id,
            tool: &call.tool,
            state: end.map_or(CallState::Running, CallState::of),
            caller: call.caller().into(),
            parent_id: call.parent(),
            host: place.host.map(Cow::Owned),
            queue: place.queue.map(Cow::Owned),
            trace_id: place.trace.filter(|_| end.is_some()).map(Cow::Owned),
            arguments: call
                .arguments()
                .filter(|json| is_whole || is_short(json))
                .map(Cow::Borrowed),
            started_at: Timestamp::of(call.started_at).precise().into(),
            duration_ms: millis(end.map_or_else(|| call.started.elapsed(), |end| end.duration)),
            is_error: end.map(|end| end.is_error),
            stopped: end.and_then(|end| end.stopped),
            partial_result: if is_whole { call.update() } else { None },
            result: json.filter(|_| was_run),
            error: json.filter(|_| !was_run),
        }
    }
}

/// Returns true if the arguments are short enough for lists and events.
fn is_short(arguments: &RawValue) -> bool {
    arguments.get().len() <= MAX_LISTED_ARGUMENTS
}

/// Returns the arguments of a call in the audit log, if the configuration keeps them.
fn recorded_arguments(call: &RecordedCall, is_whole: bool) -> Option<Box<RawValue>> {
    let text = call.arguments.as_ref()?.text.as_ref()?;
    let json: Box<RawValue> = serde_json::from_str(text).ok()?;
    (is_whole || is_short(&json)).then_some(json)
}

impl CallState {
    fn of(end: &CallEnd) -> CallState {
        if end.was_run {
            CallState::Finished
        } else {
            CallState::Failed
        }
    }
}

/// Publishes the starts and ends of the calls of all surfaces, and writes the results that the log
/// keeps.
pub(super) struct Publisher(pub(super) Arc<Feeds>);

/// Data of the events about calls.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CallNews<'a> {
    call_id: &'a str,
    tool: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<CallState>,
    caller: CallerView<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    parent_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    queue: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stopped: Option<Stopped>,
    started_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    duration_ms: Option<f64>,
}

impl Publisher {
    fn publish(&self, event: &str, call: &CallRecord, end: Option<&CallEnd>) {
        let place = call.place();
        let news = CallNews {
            call_id: &call.id,
            tool: &call.tool,
            state: end.map(CallState::of),
            caller: call.caller().into(),
            parent_id: call.parent(),
            host: place.host.as_deref(),
            queue: place.queue.as_deref(),
            trace_id: place.trace.as_deref().filter(|_| end.is_some()),
            arguments: call.arguments().filter(|json| is_short(json)),
            is_error: end.map(|end| end.is_error),
            stopped: end.and_then(|end| end.stopped),
            started_at: Timestamp::of(call.started_at).precise(),
            duration_ms: end.map(|end| millis(end.duration)),
        };
        self.0.publish_for(call.owner(), event, &news);
    }
}

impl CallListener for Publisher {
    fn started(&self, call: &CallRecord) {
        self.publish("call.started", call, None);
    }

    fn moved(&self, call: &CallRecord) {
        self.publish("call.moved", call, None);
    }

    fn result(&self, call: &CallRecord, result: &Result<Outcome, Error>) -> Bytes {
        let written = match result {
            Ok(outcome) => super::response::bytes(&CallResult {
                call_id: &call.id,
                tool: &call.tool,
                outcome: outcome.into(),
            }),
            Err(error) => Err(error.into()),
        };
        written.unwrap_or_else(|problem_response| problem_response.json().into())
    }

    fn ended(&self, call: &CallRecord, end: &CallEnd) {
        self.publish("call.ended", call, Some(end));
    }
}

fn content() -> Schema {
    let text = |names: &[&str]| {
        let object = ObjectBuilder::new().property(
            "type",
            ObjectBuilder::new()
                .schema_type(Type::String)
                .enum_values(Some([names[0]])),
        );
        let mut object = object.required("type");
        for name in &names[1..] {
            let string = ObjectBuilder::new().schema_type(Type::String);
            object = object.property(*name, string).required(*name);
        }
        object.build()
    };
    let resource = text(&["resource"]);
    let block = OneOfBuilder::new()
        .item(text(&["text", "text"]))
        .item(text(&["image", "data", "mimeType"]))
        .item(text(&["audio", "data", "mimeType"]))
        .item(text(&["resource_link", "uri", "name"]))
        .item(with_contents(resource));
    ArrayBuilder::new().items(block).build().into()
}

/// Adds the content of the resource to its schema: the URI, and the text or the bytes.
fn with_contents(mut block: Object) -> Object {
    let string = || ObjectBuilder::new().schema_type(Type::String);
    let mut contents = ObjectBuilder::new().required("uri");
    for name in ["uri", "mimeType", "text", "blob"] {
        contents = contents.property(name, string());
    }
    let contents = contents.build();
    block.properties.insert("resource".into(), contents.into());
    block.required.push("resource".into());
    block
}

fn stopped() -> Schema {
    let reasons = ["deadline", "cancelled", "discarded", "host-shutdown"];
    ObjectBuilder::new()
        .schema_type(Type::String)
        .enum_values(Some(reasons))
        .build()
        .into()
}
