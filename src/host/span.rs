//! Span of a call: its place in a trace of OpenTelemetry.
//!
//! Each call has one span, whatever surface it came from. For an MCP client it has the attributes of
//! its request too. Without telemetry a call only passes on the span of its caller.

use std::borrow::Cow;
use std::sync::{Arc, Once};
use std::time::{Instant, SystemTime};

use super::Host;
use crate::registry::Entry;
use haft_config::Config;
use haft_engine::telemetry::{self, Attributes, Metric, Span, SpanKind, Value};
use haft_process::StartObserver;
use haft_tool::{Call, CallTrace, Error, ErrorKind, Outcome, TraceContext};

/// Request that a call answers, as its span describes it.
#[derive(Clone, Debug, Default)]
pub(crate) struct CallSource {
    /// The caller's span.
    pub(crate) parent: Option<TraceContext>,
    /// Another span that led to the call, such as that of the HTTP request of an MCP message.
    pub(crate) link: Option<TraceContext>,
    /// Attributes of the request of an MCP client; `None` for other callers.
    pub(crate) mcp: Option<Attributes>,
}

/// Span of a running call.
pub(super) struct CallSpan {
    context: TraceContext,
    source: CallSource,
    started: SystemTime,
    since: Instant,
    attributes: Attributes,
    has_content: bool,
}

impl Host {
    /// Returns a handle of the same host, whose calls answer the request `source`.
    pub(crate) fn in_trace(&self, source: CallSource) -> Host {
        let mut host = self.clone();
        host.options.source = Some(source.into());
        host
    }

    /// Returns true if traces, metrics and logs are sent.
    pub(crate) fn sends_telemetry() -> bool {
        telemetry::is_on()
    }

    /// Returns the span of the caller, if it is known.
    pub(crate) fn caller_span(&self) -> Option<&TraceContext> {
        self.options.source.as_ref()?.parent.as_ref()
    }
}

impl CallSpan {
    /// Begins the span of a call of `host`, if telemetry is on.
    pub(super) fn begin(host: &Host, call: &Call) -> Option<CallSpan> {
        if !telemetry::is_on() {
            return None;
        }
        let source = host.options.source.as_deref().cloned().unwrap_or_default();
        let text = |text: &str| Value::Text(Cow::Owned(text.to_owned()));
        let mut attributes = vec![
            ("gen_ai.operation.name", Value::Text("execute_tool".into())),
            ("gen_ai.tool.call.id", text(&call.id)),
            ("gen_ai.tool.type", Value::Text("function".into())),
        ];
        let has_content = host.config().telemetry.content;
        if has_content {
            let arguments = text(call.arguments.get());
            attributes.push(("gen_ai.tool.call.arguments", arguments));
        }
        Some(CallSpan {
            context: telemetry::begin(source.parent.as_ref()),
            source,
            started: SystemTime::now(),
            since: Instant::now(),
            attributes,
            has_content,
        })
    }

    /// Returns its ids.
    pub(super) fn context(&self) -> &TraceContext {
        &self.context
    }

    /// Sends the span and the duration of the call. `named` is the name that the caller used, and
    /// `entry` the tool, if it is known.
    pub(super) fn end(self, named: &str, entry: Option<&Entry>, result: &Result<Outcome, Error>) {
        let tool = entry.map_or(named, |entry| &entry.tool.name);
        let failure = failure(result);
        let mut attributes = self.attributes;
        let of_tool = || ("gen_ai.tool.name", Value::Text(Cow::Owned(tool.to_owned())));
        let of_error = failure
            .as_ref()
            .map(|kind| ("error.type", Value::Text(Cow::Borrowed(*kind))));
        let duration = self.since.elapsed();
        let mut measured = vec![of_tool()];
        measured.extend(of_error.clone());
        telemetry::measure(Metric::ExecuteTool, duration, measured);
        let is_mcp = self.source.mcp.is_some();
        if let Some(mcp) = self.source.mcp {
            // Ids would make a series of each request.
            let shared = mcp.iter().filter(|(key, _)| !key.ends_with(".id"));
            let mut measured: Attributes = shared.cloned().collect();
            measured.push(of_tool());
            measured.extend(of_error.clone());
            telemetry::measure(Metric::McpOperation, duration, measured);
            attributes.extend(mcp);
        }
        attributes.push(of_tool());
        if let Some(entry) = entry {
            let description = Value::Text(Cow::Owned(entry.tool.description.clone()));
            attributes.push(("gen_ai.tool.description", description));
        }
        attributes.extend(of_error);
        if let (true, Ok(outcome)) = (self.has_content, result) {
            let text = Value::Text(Cow::Owned(outcome.text()));
            attributes.push(("gen_ai.tool.call.result", text));
        }
        let (name, kind) = if is_mcp {
            (format!("tools/call {tool}"), SpanKind::Server)
        } else {
            (format!("execute_tool {tool}"), SpanKind::Internal)
        };
        telemetry::send(Span {
            name,
            kind,
            context: self.context,
            parent: self.source.parent,
            links: self.source.link.into_iter().collect(),
            started: self.started,
            ended: self.started + duration,
            attributes,
            has_failed: failure.is_some(),
        });
    }
}

/// Returns the kind of the failure, if the call has failed.
pub(super) fn failure(result: &Result<Outcome, Error>) -> Option<&'static str> {
    match result {
        Ok(outcome) => match outcome.stopped {
            Some(why) => Some(why.as_str()),
            None => outcome.is_error.then_some("tool_error"),
        },
        Err(error) => Some(match error.kind() {
            ErrorKind::Stopped(why) => why.as_str(),
            kind => kind.as_str(),
        }),
    }
}

/// Starts telemetry if the configuration wants it, once in the life of the process.
pub(super) fn start_telemetry(config: &Config) {
    static STARTED: Once = Once::new();
    if config.telemetry.enabled {
        STARTED.call_once(|| {
            if let Err(error) = telemetry::start() {
                tracing::warn!(%error, "no telemetry is sent");
            }
        });
    }
}

/// Notes the programs that a call starts in its trace, and gives them the span of the call.
struct TracedStarts {
    trace: Option<Arc<CallTrace>>,
    span: Option<TraceContext>,
}

impl StartObserver for TracedStarts {
    fn starts(&self, program: &str) {
        if let Some(trace) = &self.trace {
            trace.starts(program);
        }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let Some(span) = &self.span else {
            return Vec::new();
        };
        let state = span.state.as_ref();
        let state = state.map(|state| ("TRACESTATE", state.to_string()));
        let parent = ("TRACEPARENT", span.to_string());
        std::iter::once(parent).chain(state).collect()
    }
}

/// Runs a call. `trace` notes the programs that the call starts, and `span` is theirs, too.
pub(super) async fn traced<T>(
    trace: Option<Arc<CallTrace>>,
    span: Option<TraceContext>,
    running: impl Future<Output = T>,
) -> T {
    if trace.is_none() && span.is_none() {
        return running.await;
    }
    let observer = Arc::new(TracedStarts { trace, span });
    haft_process::observed(observer, running).await
}
