//! Numbers about the calls of a host, in the text format of Prometheus.
//!
//! Only a server collects them. The format is three kinds of lines, so a library would be more code
//! than this file.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use super::Host;
use super::span::failure;
use haft_tool::{Error, Outcome};

/// Limits of the buckets in seconds, by the conventions for MCP.
const BUCKETS: [f64; 14] = [
    0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 120.0, 300.0,
];

/// Numbers about the calls of a host.
#[derive(Default)]
pub(super) struct Measures {
    running: AtomicI64,
    tools: Mutex<BTreeMap<String, OfTool>>,
}

/// Numbers about the calls of one tool.
#[derive(Default)]
struct OfTool {
    /// Number of ended calls by outcome.
    outcomes: BTreeMap<&'static str, u64>,
    /// Number of calls in each bucket, not added up.
    buckets: [u64; BUCKETS.len()],
    count: u64,
    seconds: f64,
}

impl Host {
    /// Collects numbers about the calls from now on.
    pub(crate) fn measure_calls(&self) {
        // A second surface measures the same calls.
        let _ = self.inner.measures.set(Measures::default());
    }

    /// Returns the numbers so far in the text format of Prometheus.
    pub(crate) fn measures(&self) -> String {
        let mut text = String::new();
        if let Some(measures) = self.inner.measures.get() {
            measures.write(&mut text);
        }
        let tools = self.known_catalog();
        let tools = tools.map_or(0, |catalog| catalog.tools().count());
        gauge(
            &mut text,
            "haft_tools",
            "Tools in the catalog.",
            tools as i64,
        );
        text
    }
}

impl Measures {
    /// Counts a call that starts.
    pub(super) fn begin(&self) {
        self.running.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a call that has ended. `tool` is empty if no tool has the name that the caller gave:
    /// callers must not be able to fill the memory.
    pub(super) fn end(&self, tool: &str, duration: Duration, result: &Result<Outcome, Error>) {
        self.running.fetch_sub(1, Ordering::Relaxed);
        let mut tools = self.tools.lock();
        let of_tool = match tools.get_mut(tool) {
            Some(of_tool) => of_tool,
            None => tools.entry(tool.to_owned()).or_default(),
        };
        let outcome = failure(result).unwrap_or("ok");
        *of_tool.outcomes.entry(outcome).or_default() += 1;
        let seconds = duration.as_secs_f64();
        if let Some(bucket) = BUCKETS.iter().position(|limit| seconds <= *limit) {
            of_tool.buckets[bucket] += 1;
        }
        of_tool.count += 1;
        of_tool.seconds += seconds;
    }

    fn write(&self, text: &mut String) {
        let running = self.running.load(Ordering::Relaxed);
        gauge(text, "haft_calls_active", "Calls that run.", running);
        let tools = self.tools.lock();
        head(
            text,
            "haft_calls_total",
            "Calls that have ended.",
            "counter",
        );
        for (tool, of_tool) in &*tools {
            for (outcome, count) in &of_tool.outcomes {
                let labels = format!("tool={},outcome={}", quoted(tool), quoted(outcome));
                let _ = writeln!(text, "haft_calls_total{{{labels}}} {count}");
            }
        }
        let name = "haft_call_duration_seconds";
        head(
            text,
            name,
            "Time of calls, with waits for people.",
            "histogram",
        );
        for (tool, of_tool) in &*tools {
            let tool = quoted(tool);
            let mut total = 0;
            for (limit, count) in BUCKETS.iter().zip(of_tool.buckets) {
                total += count;
                let _ = writeln!(text, "{name}_bucket{{tool={tool},le=\"{limit}\"}} {total}");
            }
            let OfTool { count, seconds, .. } = of_tool;
            let _ = writeln!(text, "{name}_bucket{{tool={tool},le=\"+Inf\"}} {count}");
            let _ = writeln!(text, "{name}_sum{{tool={tool}}} {seconds}");
            let _ = writeln!(text, "{name}_count{{tool={tool}}} {count}");
        }
    }
}

fn head(text: &mut String, name: &str, about: &str, kind: &str) {
    let _ = writeln!(text, "# HELP {name} {about}\n# TYPE {name} {kind}");
}

fn gauge(text: &mut String, name: &str, about: &str, value: i64) {
    head(text, name, about, "gauge");
    let _ = writeln!(text, "{name} {value}");
}

/// Returns the value of a label with its quotes.
fn quoted(value: &str) -> String {
    let value = value.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{}\"", value.replace('\n', "\\n"))
}
