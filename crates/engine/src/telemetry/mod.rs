//! OpenTelemetry: spans, metrics and log records of haft and of the JavaScript of tools.
//!
//! Deno's exporter sends all of them, because the spans of a tool (`fetch`, `@opentelemetry/api`) go
//! there. It reads the variables `OTEL_…` itself. A worker process has no network: its spans go to
//! haft's process (`relay`).
//!
//! Nothing is prepared before [`start`]. Without it, [`is_on`] is one load of a flag.

mod relay;

use std::borrow::Cow;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use deno_runtime::deno_telemetry::{
    self, OTEL_GLOBALS, OtelConfig, OtelConsoleConfig, OtelGlobals, OtelPropagators,
    OtelRuntimeConfig,
};
use opentelemetry::logs::{AnyValue, LogRecord as _, Logger as _, LoggerProvider as _, Severity};
use opentelemetry::metrics::{Histogram, MeterProvider as _};
use opentelemetry::trace::{
    Link, SpanContext, SpanId, SpanKind as OtelSpanKind, Status, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{InstrumentationScope, KeyValue, Value as OtelValue};
use opentelemetry_sdk::logs::{LogProcessor as _, SdkLoggerProvider};
use opentelemetry_sdk::trace::{
    IdGenerator as _, SpanData, SpanEvents, SpanLinks, SpanProcessor as _,
};
use sys_traits::impls::RealSys;

use haft_tool::{LogLevel, TraceContext};
pub(super) use relay::{RelayedSpan, forward, start_in_worker, unsampled};

/// Name of the instrumentation scope of haft's own spans and metrics.
const SCOPE: &str = "haft";

/// The histograms' limits in seconds, by the conventions for MCP.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

static IS_ON: AtomicBool = AtomicBool::new(false);
static SAMPLER: OnceLock<Sampler> = OnceLock::new();
static METRICS: OnceLock<[Histogram<f64>; 2]> = OnceLock::new();

/// Kind of a span.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SpanKind {
    /// Work inside of haft.
    Internal,
    /// The answer to a request of another program.
    Server,
}

/// Value of an attribute.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A text.
    Text(Cow<'static, str>),
    /// A whole number.
    Number(i64),
}

/// Attributes of a span or a measurement.
pub type Attributes = Vec<(&'static str, Value)>;

/// A span that has ended.
#[derive(Debug)]
pub struct Span {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: SpanKind,
    /// Its own ids.
    pub context: TraceContext,
    /// The span that it is a part of.
    pub parent: Option<TraceContext>,
    /// Spans of other traces that led to it.
    pub links: Vec<TraceContext>,
    /// Its start.
    pub started: SystemTime,
    /// Its end.
    pub ended: SystemTime,
    /// Its attributes.
    pub attributes: Attributes,
    /// True if it has failed. The text of the failure may be content, so it is not sent.
    pub has_failed: bool,
}

/// Durations that are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metric {
    /// Calls of tools.
    ExecuteTool,
    /// Requests of MCP clients.
    McpOperation,
}

/// Starts to send. Must be called before the first isolate.
///
/// # Errors
/// If the variables of OpenTelemetry are invalid; a sentence.
pub fn start() -> Result<(), String> {
    let runtime = OtelRuntimeConfig {
        runtime_name: SCOPE.into(),
        runtime_version: env!("CARGO_PKG_VERSION").into(),
    };
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // The exporter needs it. Another one may be installed meanwhile.
        let _ = rustls::crypto::aws_lc_rs::default_provider().install_default();
    }
    SAMPLER
        .set(Sampler::from_env()?)
        .map_err(|_| "telemetry was started before".to_owned())?;
    deno_telemetry::init(&Variables, runtime, config()).map_err(|error| error.to_string())?;
    IS_ON.store(true, Ordering::Release);
    Ok(())
}

/// Returns true if spans, metrics and logs are sent.
#[inline]
pub fn is_on() -> bool {
    IS_ON.load(Ordering::Relaxed)
}

/// Returns the options of isolates for OpenTelemetry.
pub(super) fn of_isolates() -> OtelConfig {
    match OTEL_GLOBALS.get() {
        Some(globals) => globals.config.clone(),
        None => OtelConfig::default(),
    }
}

fn config() -> OtelConfig {
    OtelConfig {
        tracing_enabled: true,
        metrics_enabled: true,
        // haft sends the lines of tools with the ids of their calls.
        console: OtelConsoleConfig::Ignore,
        deterministic_prefix: None,
        propagators: [OtelPropagators::TraceContext, OtelPropagators::Baggage].into(),
    }
}

/// Returns the ids of a new span below `parent`, which may be of another program.
pub fn begin(parent: Option<&TraceContext>) -> TraceContext {
    let Some(globals) = OTEL_GLOBALS.get() else {
        // The ids are not used.
        return TraceContext {
            trace: [1; 16],
            span: [1; 8],
            flags: 0,
            state: None,
        };
    };
    let span = globals.id_generator.new_span_id().to_bytes();
    if let Some(parent) = parent {
        let is_sampled = sampler().samples(Some(parent), parent.trace);
        return TraceContext {
            flags: u8::from(is_sampled),
            ..parent.with_span(span)
        };
    }
    let trace = globals.id_generator.new_trace_id().to_bytes();
    TraceContext {
        trace,
        span,
        flags: u8::from(sampler().samples(None, trace)),
        state: None,
    }
}

/// Sends a span, unless its trace is not recorded.
pub fn send(span: Span) {
    let Some(globals) = OTEL_GLOBALS.get() else {
        return;
    };
    if !span.context.is_sampled() {
        return;
    }
    let parent = span.parent.as_ref();
    let links = span.links.iter().map(|link| {
        let context = otel_context(link, true);
        Link::new(context, Vec::new(), 0)
    });
    let mut spans_links = SpanLinks::default();
    spans_links.links = links.collect();
    globals.span_processor.on_end(SpanData {
        span_context: otel_context(&span.context, false),
        parent_span_id: parent.map_or(SpanId::INVALID, |parent| SpanId::from_bytes(parent.span)),
        parent_span_is_remote: parent.is_some(),
        span_kind: match span.kind {
            SpanKind::Internal => OtelSpanKind::Internal,
            SpanKind::Server => OtelSpanKind::Server,
        },
        name: span.name.into(),
        start_time: span.started,
        end_time: span.ended,
        attributes: otel_attributes(span.attributes),
        dropped_attributes_count: 0,
        events: SpanEvents::default(),
        links: spans_links,
        status: if span.has_failed {
            Status::error("")
        } else {
            Status::Unset
        },
        instrumentation_scope: scope(),
    });
}

/// Adds a duration to a metric.
pub fn measure(metric: Metric, duration: Duration, attributes: Attributes) {
    let Some(globals) = OTEL_GLOBALS.get() else {
        return;
    };
    let histograms = METRICS.get_or_init(|| {
        [
            "gen_ai.execute_tool.duration",
            "mcp.server.operation.duration",
        ]
        .map(|name| {
            let meter = globals.meter_provider.meter(SCOPE);
            let histogram = meter.f64_histogram(name).with_unit("s");
            histogram.with_boundaries(BUCKETS.to_vec()).build()
        })
    });
    let [tools, operations] = histograms;
    let histogram = match metric {
        Metric::ExecuteTool => tools,
        Metric::McpOperation => operations,
    };
    histogram.record(duration.as_secs_f64(), &otel_attributes(attributes));
}

/// Sends a line that a tool logged in the call with the ids `call`.
pub(super) fn log(level: LogLevel, tool: &str, message: &str, call: Option<&TraceContext>) {
    let Some(globals) = OTEL_GLOBALS.get() else {
        return;
    };
    // Records are made by a logger; it sends nothing itself.
    static RECORDS: OnceLock<opentelemetry_sdk::logs::SdkLogger> = OnceLock::new();
    let records = RECORDS.get_or_init(|| SdkLoggerProvider::builder().build().logger(SCOPE));
    let mut record = records.create_log_record();
    let now = SystemTime::now();
    record.set_timestamp(now);
    record.set_observed_timestamp(now);
    let (severity, text) = match level {
        LogLevel::Debug => (Severity::Debug, "DEBUG"),
        LogLevel::Info => (Severity::Info, "INFO"),
        LogLevel::Warn => (Severity::Warn, "WARN"),
        LogLevel::Error => (Severity::Error, "ERROR"),
    };
    record.set_severity_number(severity);
    record.set_severity_text(text);
    record.set_body(AnyValue::from(message.to_owned()));
    if !tool.is_empty() {
        record.add_attribute("gen_ai.tool.name", tool.to_owned());
    }
    if let Some(call) = call {
        record.set_trace_context(
            TraceId::from_bytes(call.trace),
            SpanId::from_bytes(call.span),
            Some(TraceFlags::new(call.flags)),
        );
    }
    globals.log_processor.emit(&mut record, &scope());
}

/// Sends what waits, before the program ends. Blocks, at most for the time limit of the exporter.
pub fn finish() {
    if let Some(globals) = OTEL_GLOBALS.get() {
        let OtelGlobals {
            span_processor,
            log_processor,
            meter_provider,
            ..
        } = globals;
        let ended = (
            span_processor.shutdown(),
            log_processor.shutdown(),
            meter_provider.shutdown(),
        );
        tracing::debug!(?ended, "telemetry has ended");
    }
}

fn scope() -> InstrumentationScope {
    static SCOPES: OnceLock<InstrumentationScope> = OnceLock::new();
    let scope = SCOPES.get_or_init(|| {
        InstrumentationScope::builder(SCOPE)
            .with_version(env!("CARGO_PKG_VERSION"))
            .build()
    });
    scope.clone()
}

fn otel_context(context: &TraceContext, is_remote: bool) -> SpanContext {
    let state = context.state.as_deref();
    let state = state.and_then(|state| state.parse::<TraceState>().ok());
    SpanContext::new(
        TraceId::from_bytes(context.trace),
        SpanId::from_bytes(context.span),
        TraceFlags::new(context.flags),
        is_remote,
        state.unwrap_or_default(),
    )
}

fn otel_attributes(attributes: Attributes) -> Vec<KeyValue> {
    let attributes = attributes.into_iter();
    let attributes = attributes.map(|(key, value)| {
        let value = match value {
            Value::Text(Cow::Borrowed(text)) => OtelValue::from(text),
            Value::Text(Cow::Owned(text)) => OtelValue::from(text),
            Value::Number(number) => OtelValue::from(number),
        };
        KeyValue::new(key, value)
    });
    attributes.collect()
}

/// Variable that chooses the traces that are recorded.
const SAMPLER_VARIABLE: &str = "OTEL_TRACES_SAMPLER";

/// The sampler by OpenTelemetry's specification, if none is chosen. Deno's own default ignores what
/// the caller has decided.
const DEFAULT_SAMPLER: &str = "parentbased_always_on";

/// The variables of the process for Deno's exporter, with the default of the specification.
struct Variables;

impl sys_traits::BaseEnvVar for Variables {
    fn base_env_var_os(&self, key: &std::ffi::OsStr) -> Option<std::ffi::OsString> {
        let value = RealSys.base_env_var_os(key);
        let is_sampler = key == SAMPLER_VARIABLE;
        value
            .filter(|value| !(is_sampler && value.is_empty()))
            .or_else(|| is_sampler.then(|| DEFAULT_SAMPLER.into()))
    }
}

impl sys_traits::BaseFsRead for Variables {
    fn base_fs_read(&self, path: &std::path::Path) -> std::io::Result<Cow<'static, [u8]>> {
        RealSys.base_fs_read(path)
    }
}

/// Decides which traces are recorded, as Deno's sampler does for the spans of tools.
#[derive(Clone, Copy, Debug)]
struct Sampler {
    follows_parent: bool,
    /// The part of the traces that is recorded, from 0 to 1.
    ratio: f64,
}

impl Sampler {
    fn from_env() -> Result<Sampler, String> {
        use sys_traits::EnvVar as _;
        let text = |name: &str| Variables.env_var(name).unwrap_or_default();
        let name = text(SAMPLER_VARIABLE);
        let name = name.trim();
        let (follows_parent, root) = match name.strip_prefix("parentbased_") {
            Some(root) => (true, root),
            None => (false, name),
        };
        let ratio = match root {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => {
                let ratio = text("OTEL_TRACES_SAMPLER_ARG").trim().parse();
                ratio.unwrap_or(1.0_f64).clamp(0.0, 1.0)
            }
            _ => return Err(format!("`{name}` is no value of {SAMPLER_VARIABLE}")),
        };
        Ok(Sampler {
            follows_parent,
            ratio,
        })
    }

    fn samples(&self, parent: Option<&TraceContext>, trace: [u8; 16]) -> bool {
        if let Some(parent) = parent.filter(|_| self.follows_parent) {
            return parent.is_sampled();
        }
        // The lower half of the id is a random number, of which the highest bit is not used.
        let [.., a, b, c, d, e, f, g, h] = trace;
        let number = u64::from_be_bytes([a, b, c, d, e, f, g, h]) >> 1;
        (number as f64) < self.ratio * (1_u64 << 63) as f64
    }
}

fn sampler() -> Sampler {
    let sampler = SAMPLER.get().copied();
    sampler.unwrap_or(Sampler {
        follows_parent: true,
        ratio: 1.0,
    })
}
