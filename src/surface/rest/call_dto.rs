//! Data of a call in responses, while it runs and for some time afterwards.

use std::time::{Instant, SystemTime};

use axum::body::Bytes;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;
use utoipa::ToSchema;
use utoipa::openapi::{ArrayBuilder, Object, ObjectBuilder, OneOfBuilder, Schema, Type};

use crate::audit::{CallOutcome, RecordedCall};
use crate::surface::http::{ProblemDetails, ProblemResponse};
use crate::surface::wire::OutcomeView;
use haft_tool::{Outcome, Stopped, Timestamp};

/// The response to a call: the outcome of the tool.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct CallResult<'a> {
    pub(super) call_id: &'a str,
    pub(super) tool: &'a str,
    #[serde(flatten)]
    pub(super) outcome: OutcomeView<'a>,
}

/// End of a call.
#[derive(Clone)]
pub(super) enum Ended {
    /// The tool was run: the complete response as JSON.
    Finished(Bytes),
    /// It could not be run, or was refused: the problem details as JSON.
    Failed(Bytes),
}

/// A known call.
pub(super) struct Record {
    /// The client that made it.
    pub(super) owner: String,
    pub(super) id: String,
    pub(super) tool: String,
    pub(super) started: Instant,
    /// Start time in ISO 8601 format.
    pub(super) started_at: String,
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
    /// When it was started, UTC.
    #[schema(format = DateTime)]
    started_at: &'a str,
    /// So far, or in all.
    duration_ms: f64,
    /// True if the call failed, by the tool's own word or in haft.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(nullable = false)]
    pub(super) is_error: Option<bool>,
    /// Why a call that ended was stopped, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(schema_with = stopped)]
    pub(super) stopped: Option<Stopped>,
    /// The newest update of a call that runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<Object>)]
    partial_result: Option<&'a RawValue>,
    /// Result of a finished call. Results that are too long are not kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<CallAnswer>)]
    result: Option<&'a RawValue>,
    /// Why it could not be run, of a call that failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schema(value_type = Option<ProblemDetails<'static>>)]
    error: Option<&'a RawValue>,
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

impl Record {
    pub(super) fn new(owner: String, id: String, tool: String) -> Record {
        Record {
            owner,
            id,
            tool,
            started: Instant::now(),
            started_at: Timestamp::of(SystemTime::now()).precise(),
        }
    }

    /// Serializes the response for this outcome.
    pub(super) fn answer(&self, outcome: &Outcome) -> Result<Bytes, ProblemResponse> {
        super::tools::bytes(&CallResult {
            call_id: &self.id,
            tool: &self.tool,
            outcome: outcome.into(),
        })
    }

    /// Returns the data for responses. The caller provides `duration_ms`.
    pub(super) fn view<'a>(
        &'a self,
        duration_ms: f64,
        partial_result: Option<&'a RawValue>,
    ) -> CallView<'a> {
        CallView {
            call_id: &self.id,
            tool: &self.tool,
            state: CallState::Running,
            started_at: &self.started_at,
            duration_ms,
            is_error: None,
            stopped: None,
            partial_result,
            result: None,
            error: None,
        }
    }

    /// Returns the milliseconds since the start.
    pub(super) fn millis(&self) -> f64 {
        self.started.elapsed().as_micros() as f64 / 1000.0
    }
}

impl<'a> CallView<'a> {
    /// Returns the data of a call that is only in the audit log.
    pub(super) fn recorded(call: &'a RecordedCall) -> CallView<'a> {
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
            started_at: &call.started,
            duration_ms: call.ms.unwrap_or_default(),
            is_error: Some(call.outcome != Some(CallOutcome::Ok)),
            stopped: call.reason.as_deref().and_then(Stopped::from_name),
            partial_result: None,
            result: None,
            error: None,
        }
    }

    /// Returns the data of an ended call. `None`: its result is not kept.
    pub(super) fn ended(self, state: CallState, text: Option<&'a RawValue>) -> CallView<'a> {
        let is_finished = state == CallState::Finished;
        CallView {
            state,
            result: text.filter(|_| is_finished),
            error: text.filter(|_| !is_finished),
            ..self
        }
    }
}

impl Ended {
    pub(super) fn state(&self) -> CallState {
        match self {
            Ended::Finished(_) => CallState::Finished,
            Ended::Failed(_) => CallState::Failed,
        }
    }

    pub(super) fn json(&self) -> &Bytes {
        match self {
            Ended::Finished(json) | Ended::Failed(json) => json,
        }
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
