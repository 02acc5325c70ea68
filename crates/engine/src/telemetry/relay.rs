//! Spans of a worker process on their way to haft's process, which sends them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use deno_runtime::deno_telemetry::{DenoIdGenerator, OTEL_GLOBALS, OtelGlobals, OtelSharedRuntime};
use opentelemetry::trace::TraceState;
use opentelemetry::trace::{
    Event, Link, SpanContext, SpanId, SpanKind, Status, TraceFlags, TraceId,
};
use opentelemetry::{Array, InstrumentationScope, KeyValue, StringValue, Value};
use opentelemetry_sdk::error::{OTelSdkError, OTelSdkResult};
use opentelemetry_sdk::logs::log_processor_with_async_runtime::BatchLogProcessor;
use opentelemetry_sdk::logs::{LogBatch, LogExporter};
use opentelemetry_sdk::metrics::SdkMeterProvider;
use opentelemetry_sdk::trace::span_processor_with_async_runtime::BatchSpanProcessor;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, RandomIdGenerator, SpanData, SpanEvents, SpanExporter, SpanLinks,
    SpanProcessor as _,
};
use serde::{Deserialize, Serialize};

use crate::lock;
use haft_tool::TraceContext;

/// Longest time for which a span waits for others in a worker.
const DELAY: Duration = Duration::from_millis(20);

/// Number of traces that a worker remembers as not recorded.
const MAX_UNSAMPLED: usize = 1024;

/// The newest traces of calls that are not recorded. Deno's sampler of a worker records all.
static UNSAMPLED: Mutex<VecDeque<[u8; 16]>> = Mutex::new(VecDeque::new());

/// A span as a worker sends it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct RelayedSpan {
    trace: [u8; 16],
    span: [u8; 8],
    parent: [u8; 8],
    has_remote_parent: bool,
    kind: u8,
    name: String,
    started: SystemTime,
    ended: SystemTime,
    attributes: Vec<(String, Attribute)>,
    events: Vec<(String, SystemTime, Vec<(String, Attribute)>)>,
    links: Vec<([u8; 16], [u8; 8], u8, Vec<(String, Attribute)>)>,
    /// 0: not set, 1: succeeded, 2: failed with this text.
    status: (u8, String),
    scope: (String, Option<String>),
}

#[derive(Debug, Serialize, Deserialize)]
enum Attribute {
    Flag(bool),
    Number(i64),
    Real(f64),
    Text(String),
    Flags(Vec<bool>),
    Numbers(Vec<i64>),
    Reals(Vec<f64>),
    Texts(Vec<String>),
}

/// Makes the spans of this worker process go to `send`.
pub(crate) fn start_in_worker(send: impl Fn(Vec<RelayedSpan>) + Send + Sync + 'static) {
    let exporter = Relay(Arc::new(send));
    let config = BatchConfigBuilder::default()
        .with_scheduled_delay(DELAY)
        .build();
    let span_processor = BatchSpanProcessor::builder(exporter, OtelSharedRuntime)
        .with_batch_config(config)
        .build();
    let globals = OtelGlobals {
        span_processor,
        log_processor: BatchLogProcessor::builder(NoLogs, OtelSharedRuntime).build(),
        id_generator: DenoIdGenerator::Random(RandomIdGenerator::default()),
        // A worker has no metrics.
        meter_provider: SdkMeterProvider::builder().build(),
        builtin_instrumentation_scope: InstrumentationScope::builder("deno").build(),
        span_event_count_limit: LIMIT,
        span_attribute_count_limit: LIMIT,
        span_attribute_value_length_limit: None,
        sampler: Default::default(),
        config: super::config(),
    };
    if OTEL_GLOBALS.set(globals).is_ok() {
        super::IS_ON.store(true, Ordering::Release);
    }
}

/// Limit of the events and of the attributes of a span, by OpenTelemetry's specification.
const LIMIT: usize = 128;

/// Notes in a worker that the spans of this call are not recorded.
pub(crate) fn unsampled(call: &TraceContext) {
    let mut traces = lock(&UNSAMPLED);
    if !traces.contains(&call.trace) {
        if traces.len() >= MAX_UNSAMPLED {
            traces.pop_front();
        }
        traces.push_back(call.trace);
    }
}

/// Sends spans of a worker process.
pub(crate) fn forward(spans: Vec<RelayedSpan>) {
    if let Some(globals) = OTEL_GLOBALS.get() {
        for span in spans {
            globals.span_processor.on_end(span.into());
        }
    }
}

/// Exporter of a worker.
struct Relay(Arc<dyn Fn(Vec<RelayedSpan>) + Send + Sync>);

impl fmt::Debug for Relay {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Relay")
    }
}

impl SpanExporter for Relay {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let spans = batch.into_iter().map(RelayedSpan::from);
        let unsampled = lock(&UNSAMPLED).clone();
        let spans = spans.filter(|span| !unsampled.contains(&span.trace));
        let spans: Vec<_> = spans.collect();
        if !spans.is_empty() {
            (self.0)(spans);
        }
        Ok(())
    }
}

/// Log exporter of a worker, whose lines haft's process sends.
#[derive(Debug)]
struct NoLogs;

impl LogExporter for NoLogs {
    async fn export(&self, _: LogBatch<'_>) -> OTelSdkResult {
        Err(OTelSdkError::AlreadyShutdown)
    }
}

impl From<SpanData> for RelayedSpan {
    fn from(span: SpanData) -> RelayedSpan {
        let kind = KINDS.iter().position(|kind| *kind == span.span_kind);
        RelayedSpan {
            trace: span.span_context.trace_id().to_bytes(),
            span: span.span_context.span_id().to_bytes(),
            parent: span.parent_span_id.to_bytes(),
            has_remote_parent: span.parent_span_is_remote,
            kind: kind.unwrap_or_default() as u8,
            name: span.name.into_owned(),
            started: span.start_time,
            ended: span.end_time,
            attributes: sent(span.attributes),
            events: span
                .events
                .events
                .into_iter()
                .map(|event| {
                    let attributes = sent(event.attributes);
                    (event.name.into_owned(), event.timestamp, attributes)
                })
                .collect(),
            links: span
                .links
                .links
                .into_iter()
                .map(|link| {
                    let context = &link.span_context;
                    (
                        context.trace_id().to_bytes(),
                        context.span_id().to_bytes(),
                        context.trace_flags().to_u8(),
                        sent(link.attributes),
                    )
                })
                .collect(),
            status: match span.status {
                Status::Unset => (0, String::new()),
                Status::Ok => (1, String::new()),
                Status::Error { description } => (2, description.into_owned()),
            },
            scope: (
                span.instrumentation_scope.name().to_owned(),
                span.instrumentation_scope.version().map(str::to_owned),
            ),
        }
    }
}

const KINDS: [SpanKind; 5] = [
    SpanKind::Internal,
    SpanKind::Server,
    SpanKind::Client,
    SpanKind::Producer,
    SpanKind::Consumer,
];

impl From<RelayedSpan> for SpanData {
    fn from(span: RelayedSpan) -> SpanData {
        let context = |trace, span, flags, is_remote| {
            SpanContext::new(
                TraceId::from_bytes(trace),
                SpanId::from_bytes(span),
                TraceFlags::new(flags),
                is_remote,
                TraceState::NONE,
            )
        };
        let mut events = SpanEvents::default();
        let received_events = span.events.into_iter();
        events.events = received_events
            .map(|(name, at, attributes)| Event::new(name, at, received(attributes), 0))
            .collect();
        let mut links = SpanLinks::default();
        let received_links = span.links.into_iter();
        links.links = received_links
            .map(|(trace, span, flags, attributes)| {
                Link::new(context(trace, span, flags, true), received(attributes), 0)
            })
            .collect();
        let (scope, version) = span.scope;
        let mut scope = InstrumentationScope::builder(scope);
        if let Some(version) = version {
            scope = scope.with_version(version);
        }
        SpanData {
            span_context: context(span.trace, span.span, TraceFlags::SAMPLED.to_u8(), false),
            parent_span_id: SpanId::from_bytes(span.parent),
            parent_span_is_remote: span.has_remote_parent,
            span_kind: KINDS
                .get(usize::from(span.kind))
                .cloned()
                .unwrap_or(SpanKind::Internal),
            name: span.name.into(),
            start_time: span.started,
            end_time: span.ended,
            attributes: received(span.attributes),
            dropped_attributes_count: 0,
            events,
            links,
            status: match span.status {
                (1, _) => Status::Ok,
                (2, why) => Status::error(why),
                _ => Status::Unset,
            },
            instrumentation_scope: scope.build(),
        }
    }
}

fn sent(attributes: Vec<KeyValue>) -> Vec<(String, Attribute)> {
    let texts = |texts: Vec<StringValue>| texts.into_iter().map(String::from).collect();
    let attributes = attributes.into_iter().filter_map(|attribute| {
        let value = match attribute.value {
            Value::Bool(flag) => Attribute::Flag(flag),
            Value::I64(number) => Attribute::Number(number),
            Value::F64(real) => Attribute::Real(real),
            Value::String(text) => Attribute::Text(text.into()),
            Value::Array(Array::Bool(flags)) => Attribute::Flags(flags),
            Value::Array(Array::I64(numbers)) => Attribute::Numbers(numbers),
            Value::Array(Array::F64(reals)) => Attribute::Reals(reals),
            Value::Array(Array::String(all)) => Attribute::Texts(texts(all)),
            _ => return None,
        };
        Some((attribute.key.to_string(), value))
    });
    attributes.collect()
}

fn received(attributes: Vec<(String, Attribute)>) -> Vec<KeyValue> {
    let texts = |texts: Vec<String>| texts.into_iter().map(StringValue::from).collect();
    let attributes = attributes.into_iter().map(|(key, value)| {
        let value = match value {
            Attribute::Flag(flag) => Value::Bool(flag),
            Attribute::Number(number) => Value::I64(number),
            Attribute::Real(real) => Value::F64(real),
            Attribute::Text(text) => Value::String(text.into()),
            Attribute::Flags(flags) => Value::Array(Array::Bool(flags)),
            Attribute::Numbers(numbers) => Value::Array(Array::I64(numbers)),
            Attribute::Reals(reals) => Value::Array(Array::F64(reals)),
            Attribute::Texts(all) => Value::Array(Array::String(texts(all))),
        };
        KeyValue::new(key, value)
    });
    attributes.collect()
}
