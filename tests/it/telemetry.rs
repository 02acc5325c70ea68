//! OpenTelemetry: the spans, metrics and logs that a collector receives, the places of the caller's
//! span, and the numbers for Prometheus.

use std::process::{Command, Output};

use serde_json::{Value, json};

use crate::loopback::{Answer, Server};
use crate::mcp_client::{Client, TEST_TIMEOUT, mcp_2026};
use crate::sandbox::Sandbox;
use crate::served::Served;

const TRACE: &str = "0af7651916cd43dd8448eb211c80319c";
const CALLER: &str = "b7ad6b7169203331";

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (pi, name, execute) =>
  ({ name, description: `Does ${name}`, parameters: pi.zod.object({ url: pi.zod.string().optional() }), execute });
const { trace } = globalThis[Symbol.for("opentelemetry.js.api.1")] ?? {};
export default (pi) => [
  tool(pi, "works", async (_id, { url }) => {
    const own = trace?.getTracer("tool").startSpan("own work");
    await fetch(url);
    own?.end();
    pi.logger.info("it works");
    const variables = await pi.exec("sh", ["-c", "printf %s \"$TRACEPARENT\""]);
    return says(variables.stdout);
  }),
  tool(pi, "fails", async () => { throw new Error("secret"); }),
];
"#;

/// A program with Kodelet's protocol that prints its span.
const PROGRAM: &str = "#!/bin/sh\n\
    if [ \"$1\" = description ]; then\n\
    echo '{\"name\": \"shows\", \"description\": \"Shows its span\", \"input_schema\": {\"type\": \"object\"}}'\n\
    else printf %s \"$TRACEPARENT\"; fi\n";

fn traceparent() -> String {
    format!("00-{TRACE}-{CALLER}-01")
}

/// A collector.
fn collector() -> Server {
    Server::start(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\n{}")
    })
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let program = sandbox.write("home/.kodelet/tools/shows", PROGRAM);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(program, mode).expect("a file of ours");
    sandbox
}

/// Makes `command` send to the collector.
fn sending<'a>(command: &'a mut Command, collector: &Server) -> &'a mut Command {
    command
        .env("HAFT_TELEMETRY", "1")
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url(""))
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")
        .env("OTEL_SERVICE_NAME", "haft-of-test")
}

/// Returns what was sent to `path`: the objects of the list `inner` in that of `outer` and `scopes`.
fn received(collector: &Server, path: &str, lists: [&str; 3]) -> Vec<Value> {
    let requests = collector.requests().into_iter();
    let requests = requests.filter(|request| request.starts_with(&format!("POST {path} ")));
    let bodies = requests.map(|request| {
        let (_, body) = request.split_once("\r\n\r\n").expect("an HTTP request");
        serde_json::from_str::<Value>(body).expect("JSON")
    });
    let [outer, scopes, inner] = lists;
    let list = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    let mut all = Vec::new();
    for body in bodies {
        for resource in list(&body, outer) {
            for scope in list(&resource, scopes) {
                all.extend(list(&scope, inner));
            }
        }
    }
    all
}

fn spans(collector: &Server) -> Vec<Value> {
    received(
        collector,
        "/v1/traces",
        ["resourceSpans", "scopeSpans", "spans"],
    )
}

fn span<'a>(spans: &'a [Value], name: &str) -> &'a Value {
    let found = spans.iter().find(|span| span["name"] == name);
    found.unwrap_or_else(|| panic!("there is no span `{name}`: {spans:#?}"))
}

fn attribute(span: &Value, key: &str) -> Value {
    let attributes = span["attributes"].as_array().cloned().unwrap_or_default();
    let found = attributes.into_iter().find(|one| one["key"] == key);
    found.map_or(Value::Null, |one| {
        let value = one["value"].as_object().cloned().unwrap_or_default();
        value.into_values().next().unwrap_or_default()
    })
}

fn is_child(child: &Value, parent: &Value) -> bool {
    child["traceId"] == parent["traceId"] && child["parentSpanId"] == parent["spanId"]
}

/// Calls the tool `works` as a part of the trace `parent`. Returns what haft printed, the collector of
/// its spans, and the site that the tool requests.
fn call_works(isolation: &str, parent: &str) -> (Output, Server, Server) {
    let (sandbox, collector) = (sandbox(), collector());
    let site = Server::start(|_| Answer::ok("here"));
    let mut haft = sandbox.haft();
    let called = sending(&mut haft, &collector)
        .env("HAFT_ISOLATION", isolation)
        .env("TRACEPARENT", parent)
        .args(["--tool", "tools.ts", "call", "works", "--arg"])
        .arg(format!("url={}", site.url("/page")))
        .output()
        .expect("haft can be started");
    (called, collector, site)
}

#[test]
fn the_spans_of_a_tool_are_in_the_trace_of_its_caller() {
    for isolation in ["process", "sandbox"] {
        let (called, collector, site) = call_works(isolation, &traceparent());
        assert_eq!(String::from_utf8_lossy(&called.stderr), "");
        let spans = spans(&collector);
        let call = span(&spans, "execute_tool works");
        assert_eq!(call["traceId"], TRACE);
        assert_eq!(call["parentSpanId"], CALLER);
        assert_eq!(call["kind"], 1);
        assert_eq!(attribute(call, "gen_ai.operation.name"), "execute_tool");
        assert_eq!(attribute(call, "gen_ai.tool.name"), "works");
        assert_eq!(attribute(call, "gen_ai.tool.description"), "Does works");
        assert_eq!(attribute(call, "gen_ai.tool.call.arguments"), Value::Null);
        assert_eq!(attribute(call, "error.type"), Value::Null);
        assert!(is_child(span(&spans, "own work"), call), "{spans:#?}");
        let fetched = span(&spans, "GET");
        assert!(is_child(fetched, call), "{spans:#?}");
        let sent = &site.requests()[0];
        let id = fetched["spanId"].as_str().expect("a text");
        assert!(
            sent.contains(&format!("traceparent: 00-{TRACE}-{id}-01")),
            "{sent}"
        );
        let own = call["spanId"].as_str().expect("a text");
        let program = String::from_utf8_lossy(&called.stdout);
        assert_eq!(program, format!("00-{TRACE}-{own}-01\n"));
        let logs = ["resourceLogs", "scopeLogs", "logRecords"];
        let logs = received(&collector, "/v1/logs", logs);
        let line = logs
            .iter()
            .find(|log| log["body"]["stringValue"] == "it works");
        let line = line.unwrap_or_else(|| panic!("no line: {logs:#?}"));
        assert_eq!(
            (&line["traceId"], &line["spanId"]),
            (&json!(TRACE), &json!(own))
        );
        let metrics = ["resourceMetrics", "scopeMetrics", "metrics"];
        let metrics = received(&collector, "/v1/metrics", metrics);
        let names: Vec<&Value> = metrics.iter().map(|metric| &metric["name"]).collect();
        assert!(
            names.contains(&&json!("gen_ai.execute_tool.duration")),
            "{names:?}"
        );
    }
}

#[test]
fn a_failure_names_its_kind_and_content_is_sent_only_if_that_is_configured() {
    let (sandbox, collector) = (sandbox(), collector());
    for content in [false, true] {
        let mut haft = sandbox.haft();
        sending(&mut haft, &collector)
            .env("HAFT_TELEMETRY_CONTENT", content.to_string())
            .args(["--tool=tools.ts", "call", "fails", "--arg", "url=hidden"])
            .output()
            .expect("haft can be started");
    }
    let spans = spans(&collector);
    let [plain, full] = &*spans else {
        panic!("two spans: {spans:#?}");
    };
    assert_eq!(attribute(plain, "error.type"), "tool_error");
    assert_eq!(plain["status"]["code"], 2);
    let text = plain.to_string();
    assert!(
        !text.contains("secret") && !text.contains("hidden"),
        "{text}"
    );
    assert_eq!(
        attribute(full, "gen_ai.tool.call.arguments"),
        r#"{"url":"hidden"}"#
    );
    assert_eq!(attribute(full, "gen_ai.tool.call.result"), "secret");
}

#[test]
fn an_unsampled_trace_is_passed_on_and_not_sent() {
    for isolation in ["process", "sandbox"] {
        let (called, collector, _) = call_works(isolation, &format!("00-{TRACE}-{CALLER}-00"));
        let program = String::from_utf8_lossy(&called.stdout);
        assert!(program.starts_with(&format!("00-{TRACE}-")), "{program}");
        assert!(program.ends_with("-00\n"), "{program}");
        assert_eq!(spans(&collector), Vec::<Value>::new());
    }
}

#[test]
fn nothing_is_sent_without_the_setting_and_a_program_gets_the_span_of_the_caller() {
    let (sandbox, collector) = (sandbox(), collector());
    let shows = |parent: &str| {
        let mut haft = sandbox.haft();
        haft.env("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url(""));
        if !parent.is_empty() {
            haft.env("TRACEPARENT", parent);
        }
        let called = haft.args(["call", "shows"]).output();
        let called = called.expect("haft can be started");
        String::from_utf8_lossy(&called.stdout).into_owned()
    };
    assert!(shows("").contains("(No output)"));
    assert!(shows(&traceparent()).contains(&traceparent()));
    assert_eq!(collector.requests(), Vec::<String>::new());
}

#[test]
fn a_call_over_mcp_is_one_span_with_the_attributes_of_both_conventions() {
    let (sandbox, collector) = (sandbox(), collector());
    let mut haft = sandbox.haft();
    let child = sending(&mut haft, &collector)
        .args(["serve", "mcp"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("haft can be started");
    let mut client = Client::from_child(child, sandbox);
    let mut meta = mcp_2026(json!({}));
    meta["traceparent"] = json!(traceparent());
    let params = json!({"name": "custom_tool_shows", "arguments": {}, "_meta": meta});
    let answer = client.ask("tools/call", params);
    let text = answer.to_string();
    client.hang_up();
    client.ends_within(TEST_TIMEOUT);
    let spans = spans(&collector);
    let [call] = &*spans else {
        panic!("one span: {spans:#?}");
    };
    assert_eq!(call["name"], "tools/call custom_tool_shows");
    assert_eq!(call["kind"], 2);
    assert_eq!(
        (&call["traceId"], &call["parentSpanId"]),
        (&json!(TRACE), &json!(CALLER))
    );
    for (key, value) in [
        ("mcp.method.name", "tools/call"),
        ("mcp.protocol.version", "2026-07-28"),
        ("network.transport", "pipe"),
        ("gen_ai.operation.name", "execute_tool"),
        ("gen_ai.tool.name", "custom_tool_shows"),
    ] {
        assert_eq!(attribute(call, key), value, "{key}");
    }
    let id = call["spanId"].as_str().expect("a text");
    assert!(text.contains(&format!("00-{TRACE}-{id}-01")), "{text}");
}

#[test]
fn rest_and_rpc_take_the_span_of_the_caller_and_the_log_has_its_trace() {
    let sandbox = sandbox();
    let mut served = Served::start(sandbox.haft().args(["serve", "--listen=127.0.0.1:0"]));
    let head = format!(
        "POST /api/tools/shows/call HTTP/1.1\r\nHost: localhost\r\n\
         Content-Type: application/json\r\ntraceparent: {}\r\n",
        traceparent()
    );
    let answer = served.send(&head, "{}").json();
    assert!(answer.to_string().contains(&traceparent()), "{answer}");
    served.signal("TERM");
    assert_eq!(served.wait(), Some(0));
    let rpc = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "shows", "traceparent": traceparent(),
    }});
    sandbox.write("request.json", &format!("{rpc}\n"));
    let ran = sandbox.sh("haft rpc < request.json");
    assert!(ran.output.contains(&traceparent()), "{}", ran.output);
    let ran = sandbox.sh("haft call shows > /dev/null; haft log --json -n 0");
    let all = ran
        .output
        .lines()
        .filter(|line| line.contains("\"event\":\"call\""))
        .count();
    assert_eq!(all, 3, "{}", ran.output);
    let ran = sandbox.sh(&format!("haft log --json -n 0 --trace {TRACE}"));
    let lines: Vec<Value> = ran
        .output
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let surfaces: Vec<&Value> = lines
        .iter()
        .map(|line| &line["caller"]["surface"])
        .collect();
    assert_eq!(surfaces, [&json!("rest"), &json!("rpc")]);
    assert!(lines.iter().all(|line| line["trace"] == TRACE));
}

#[test]
fn prometheus_gets_the_numbers_of_the_calls_with_the_token_of_the_user() {
    let sandbox = sandbox();
    let mut command = sandbox.haft();
    let served = Served::start(command.args(["--tool=tools.ts", "serve", "--listen=127.0.0.1:0"]));
    assert_eq!(served.post("/api/tools/shows/call", "{}").status, 200);
    assert_eq!(served.post("/api/tools/fails/call", "{}").status, 200);
    assert_eq!(served.post("/api/tools/none/call", "{}").status, 404);
    let text = served.get("/metrics").body;
    for line in [
        "haft_calls_active 0",
        "haft_calls_total{tool=\"\",outcome=\"no-such-tool\"} 1",
        "haft_calls_total{tool=\"fails\",outcome=\"tool_error\"} 1",
        "haft_calls_total{tool=\"custom_tool_shows\",outcome=\"ok\"} 1",
        "haft_call_duration_seconds_bucket{tool=\"custom_tool_shows\",le=\"+Inf\"} 1",
        "haft_call_duration_seconds_count{tool=\"custom_tool_shows\"} 1",
        "haft_tools 7",
    ] {
        assert!(
            text.lines().any(|one| one == line),
            "{line} is missing:\n{text}"
        );
    }
    let anyone = "GET /metrics HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer none\r\n";
    assert_eq!(served.send(anyone, "").status, 401);
}
