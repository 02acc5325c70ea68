//! aynd's tools against real servers, repositories and processes: the cases that a session of shell
//! commands cannot test, because they need another side, a clock or a race.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use haft::call::Stopped;
use haft::compat::aynd::{ToolRegistrationError, ToolRegistry, ToolSource};
use haft::config::Env;
use haft::{Call, Flags, Host, Outcome, RunningCall};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::loopback::{Answer, Server};
use crate::sandbox::Sandbox;

/// A registry in a sandbox, with its own folder of plugin files.
struct Fixture {
    sandbox: Sandbox,
    registry: ToolRegistry,
}

impl Fixture {
    fn new(tools: Value) -> Fixture {
        let sandbox = Sandbox::with_home();
        let env = Env {
            current_dir: Some(sandbox.path()),
            home: Some(sandbox.path().join("home")),
            ..Env::default()
        };
        let config = crate::sandbox::resolve(Flags::default(), &env).expect("a configuration");
        let registry = ToolRegistry::with_config(config);
        let fixture = Fixture { sandbox, registry };
        fixture.plugin("p", tools);
        fixture
    }

    /// Makes a fixture with one tool, called `t`.
    fn with(handler: Value) -> Fixture {
        Fixture::new(json!([tool("t", handler)]))
    }

    fn plugin(&self, name: &str, tools: Value) {
        let file = json!({"name": name, "tools": tools}).to_string();
        self.sandbox.write(&plugin_path(name), &file);
    }

    fn host(&self) -> &Host {
        self.registry.host()
    }

    fn start(&self, name: &str, arguments: &str) -> RunningCall {
        let call = Call {
            id: "c".into(),
            tool: name.into(),
            arguments: RawValue::from_string(arguments.into()).expect("it is JSON"),
        };
        self.host().call(call, None)
    }

    async fn call(&self, arguments: &str) -> Outcome {
        let outcome = self.start("t", arguments).outcome().await;
        outcome.expect("the arguments are good")
    }

    async fn text(&self, arguments: Value) -> String {
        self.call(&arguments.to_string()).await.text()
    }
}

fn plugin_path(name: &str) -> String {
    format!("home/.config/aynd/tools/{name}.json")
}

fn tool(name: &str, handler: Value) -> Value {
    json!({"name": name, "description": name, "inputSchema": {"type": "object"}, "handler": handler})
}

fn http(url: &str, method: &str) -> Value {
    json!({"type": "http", "url": url, "method": method, "timeout": 20_000})
}

fn shell(command: &str) -> Value {
    json!({"type": "shell", "command": command})
}

// ---- HTTP: requests.

#[tokio::test]
async fn values_are_encoded_into_the_url() {
    // aynd 43, 44, 47
    let server = Server::start(|_| Answer::ok("fine"));
    let whole = Fixture::with(http("{{url}}/health", "GET"));
    assert_eq!(whole.text(json!({"url": server.url("")})).await, "fine");
    let parts = Fixture::with(http(&server.url("/x/{{a}}?q={{b}}"), "GET"));
    let arguments = json!({"a": "a/b?c", "b": "hello world&x=1#!'()*~-_.é", "more": [1, "é"], "n": 1e21, "no": null});
    assert_eq!(parts.text(arguments).await, "fine");
    // URLs encode the apostrophe as %27 in every query, in JavaScript too.
    assert_eq!(
        server.request_lines(),
        [
            "GET /health HTTP/1.1",
            "GET /x/a%2Fb%3Fc?q=hello%20world%26x%3D1%23!%27()*~-_.%C3%A9&more=%5B1%2C%22%C3%A9%22%5D&n=1e%2B21 HTTP/1.1",
        ]
    );
}

#[tokio::test]
async fn the_other_arguments_are_the_body() {
    // aynd 46, 48, c23: the caller's digits are kept.
    let server = Server::start(|_| Answer::ok("fine"));
    let fixture = Fixture::new(json!([
        tool(
            "t",
            json!({"type": "http", "url": server.url("/{{id}}"), "headers": {"X-Key": "k"}})
        ),
        tool(
            "put",
            json!({"type": "http", "url": server.url("/"), "method": "PUT",
                           "headers": {"Content-Type": "application/x"}})
        ),
    ]));
    fixture
        .call(r#"{"b": 1.0, "id": 7, "a": 12345678901234567890123, "c": {"z":1, "y":null}}"#)
        .await;
    fixture.call(r#"{"id": 8}"#).await;
    fixture
        .start("put", r#"{"a":1}"#)
        .outcome()
        .await
        .expect("it runs");
    let requests = server.requests();
    assert!(requests[0].starts_with("POST /7 "), "{}", requests[0]);
    assert!(
        requests[0].contains("\r\ncontent-type: application/json\r\n"),
        "{}",
        requests[0]
    );
    assert!(requests[0].contains("\r\nx-key: k\r\n"), "{}", requests[0]);
    let body = r#"{"b":1.0,"a":12345678901234567890123,"c":{"z":1, "y":null}}"#;
    assert!(
        requests[0].ends_with(&format!("\r\n\r\n{body}")),
        "{}",
        requests[0]
    );
    assert!(requests[1].ends_with("\r\n\r\n"), "{}", requests[1]);
    assert!(!requests[1].contains("content-type"), "{}", requests[1]);
    assert!(requests[2].starts_with("PUT / "), "{}", requests[2]);
    assert!(
        requests[2].contains("\r\ncontent-type: application/x\r\n"),
        "{}",
        requests[2]
    );
}

// ---- HTTP: responses.

#[tokio::test]
async fn an_error_status_is_an_error_with_its_body() {
    // aynd 49
    let server = Server::start(|_| {
        Answer::raw("HTTP/1.1 404 Gone Fishing\r\nContent-Length: 4\r\n\r\nnope")
    });
    let fixture = Fixture::with(http(&server.url("/"), "GET"));
    let outcome = fixture.call("{}").await;
    assert!(outcome.is_error);
    assert_eq!(outcome.text(), "HTTP 404 Not Found:\nnope");
}

#[tokio::test]
async fn one_clock_covers_headers_and_body() {
    // aynd 50, c9: a server that sends a byte now and then does not extend the timeout.
    let silent = Server::start(|_| Answer::Silence);
    let dripping = Server::start(|_| Answer::Drip);
    for server in [&silent, &dripping] {
        let handler = json!({"type": "http", "url": server.url("/"), "timeout": 300});
        let fixture = Fixture::with(handler);
        let started = Instant::now();
        let outcome = fixture.call("{}").await;
        assert_eq!(outcome.text(), "Request timed out after 300ms");
        assert!(outcome.is_error);
        assert!(started.elapsed() < Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_body_without_end_is_cut() {
    // aynd 52, c9
    let server = Server::start(|_| Answer::Endless);
    let fixture = Fixture::with(http(&server.url("/"), "GET"));
    let outcome = fixture.call("{}").await;
    let text = outcome.text();
    assert!(!outcome.is_error, "{}", &text[..200.min(text.len())]);
    assert!(text.contains("goes on beyond 8388608 bytes"));
}

#[tokio::test]
async fn a_compressed_body_is_refused() {
    // aynd c9: no compression is requested, so a response cannot be a decompression bomb.
    let server = Server::start(|_| {
        Answer::raw("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\nxx")
    });
    let fixture = Fixture::with(http(&server.url("/"), "GET"));
    let text = fixture.text(json!({})).await;
    assert_eq!(
        text,
        "Request failed: the body is compressed (gzip), which was not asked for"
    );
    assert!(server.requests()[0].contains("accept-encoding: identity\r\n"));
}

#[tokio::test]
async fn what_is_no_http_is_an_error() {
    // aynd 51
    let server = Server::start(|_| Answer::raw("220 smtp.example.org ESMTP\r\n"));
    let fixture = Fixture::with(http(&server.url("/"), "GET"));
    let outcome = fixture.call("{}").await;
    assert!(
        outcome.is_error && outcome.text().starts_with("Request failed: "),
        "{}",
        outcome.text()
    );
    let secure = server.url("/").replace("http:", "https:");
    let fixture = Fixture::with(http(&secure, "GET"));
    let outcome = fixture.call("{}").await;
    assert!(
        outcome.is_error && outcome.text().starts_with("Request failed: "),
        "{}",
        outcome.text()
    );
}

#[tokio::test]
async fn a_request_can_be_cancelled() {
    // aynd 27
    let server = Server::start(|_| Answer::Silence);
    let fixture = Fixture::with(http(&server.url("/"), "GET"));
    let running = fixture.start("t", "{}");
    server.wait_for_request().await;
    running.cancellation().cancel();
    let outcome = running.outcome().await.expect("it was running");
    assert_eq!(outcome.text(), "Request was cancelled");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
}

// ---- HTTP: redirects.

#[tokio::test]
async fn headers_stay_with_their_origin() {
    // aynd 52, c8: dropped for another origin, and not added again on a redirect back.
    let home = Server::start(|request| match request.path() {
        "/start" => Answer::redirect(307, "/same"),
        "/same" => Answer::redirect(307, request.header("x-there").unwrap_or("/none")),
        _ => Answer::ok("home again"),
    });
    let back = home.url("/back");
    let there = Server::start(move |_| Answer::redirect(307, &back));
    let handler = json!({
        "type": "http", "url": home.url("/start"),
        "headers": {"Authorization": "Bearer secret", "X-There": there.url("/")},
    });
    let fixture = Fixture::with(handler);
    assert_eq!(fixture.text(json!({"a": 1})).await, "home again");
    let has_secret = |request: &String| request.contains("secret");
    assert_eq!(
        home.requests().iter().map(has_secret).collect::<Vec<_>>(),
        [true, true, false]
    );
    assert_eq!(
        there.requests().iter().map(has_secret).collect::<Vec<_>>(),
        [false]
    );
    // 307 repeats the request.
    assert!(there.requests()[0].starts_with("POST / "));
    assert!(there.requests()[0].ends_with("{\"a\":1}"));
}

#[tokio::test]
async fn a_see_other_is_fetched_with_get() {
    let server = Server::start(|request| match request.path() {
        "/" => Answer::redirect(303, "/result"),
        _ => Answer::ok("result"),
    });
    let fixture = Fixture::with(http(&server.url("/"), "PUT"));
    assert_eq!(fixture.text(json!({"a": 1})).await, "result");
    let last = server.requests().pop().expect("a request");
    assert!(
        last.starts_with("GET /result ") && last.ends_with("\r\n\r\n"),
        "{last}"
    );
}

#[tokio::test]
async fn redirects_are_checked_at_each_hop() {
    // aynd 52, c8
    let scheme = "Invalid URL scheme: only http:// and https:// are allowed";
    for (location, expected) in [
        (
            "file:///etc/passwd",
            format!("redirect to file:///etc/passwd: {scheme}"),
        ),
        (
            "http://a:b@127.0.0.1/",
            "redirect to http://a:b@127.0.0.1/: Invalid URL: it must not contain credentials"
                .into(),
        ),
        ("/", "more than 10 redirects".into()),
    ] {
        let server = Server::start(move |_| Answer::redirect(302, location));
        let fixture = Fixture::with(http(&server.url("/"), "GET"));
        let outcome = fixture.call("{}").await;
        assert!(outcome.is_error);
        assert_eq!(outcome.text(), format!("Request failed: {expected}"));
    }
}

// ---- Shell.

#[tokio::test]
async fn a_timeout_ends_the_whole_tree() {
    // aynd 40, c4: the grandchild holds the pipe.
    let handler = json!({
        "type": "shell", "timeout": 500,
        "command": "sh -c 'sleep 60 & echo $! > pid; wait'",
    });
    let fixture = Fixture::with(handler);
    let started = Instant::now();
    let outcome = fixture.call("{}").await;
    assert_eq!(outcome.text(), "Command timed out after 500ms");
    assert!(outcome.is_error && started.elapsed() < Duration::from_secs(10));
    assert_gone(&fixture.sandbox.path().join("pid")).await;
}

#[tokio::test]
async fn a_cancel_ends_a_pipeline() {
    // aynd 27
    let fixture = Fixture::with(shell("sh -c 'echo $$ > pid; exec sleep 60' | cat"));
    let running = fixture.start("t", "{}");
    let pid = fixture.sandbox.path().join("pid");
    until(|| fs::read_to_string(&pid).is_ok_and(|text| text.ends_with('\n'))).await;
    running.cancellation().cancel();
    let outcome = running.outcome().await.expect("it was running");
    assert_eq!(outcome.text(), "Command was cancelled");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_gone(&pid).await;
}

#[tokio::test]
async fn a_flood_is_cut_and_drained() {
    // aynd 42, c5
    let fixture = Fixture::with(shell(
        "sh -c 'head -c 100000000 /dev/zero | tr \"\\0\" x; echo end >&2'",
    ));
    let outcome = fixture.call("{}").await;
    assert!(!outcome.is_error);
    let text = outcome.text();
    assert!(
        text.contains("[haft: 91611392 bytes of output dropped]"),
        "{}",
        text.len()
    );
    assert!(
        text.contains("--- stderr ---\nend\n"),
        "{}",
        &text[text.len() - 300..]
    );
}

// ---- Files.

#[tokio::test]
async fn a_link_that_is_swapped_in_leads_nowhere() {
    // aynd c10, c12: reads race with a thread that swaps a file and a folder with links to secrets.
    let fixture = Fixture::with(json!({"type": "file-read", "basePath": "data"}));
    let root = fixture.sandbox.path();
    fixture.sandbox.write("secret/x", "secret");
    fixture.sandbox.write("data/x", "open");
    fixture.sandbox.write("data/sub/x", "open");
    let done = Arc::new(AtomicBool::new(false));
    let swapping = {
        let done = done.clone();
        std::thread::spawn(move || {
            while !done.load(Ordering::Relaxed) {
                swap(&root.join("data/x"), &root.join("secret/x"));
                swap(&root.join("data/sub"), &root.join("secret"));
            }
        })
    };
    let mut opened = 0;
    for round in 0..400 {
        let path = if round % 2 == 0 { "x" } else { "sub/x" };
        let text = fixture.text(json!({"path": path})).await;
        assert_ne!(text, "secret");
        opened += usize::from(text == "open");
    }
    done.store(true, Ordering::Relaxed);
    swapping.join().expect("it swaps");
    assert!(opened > 0, "never was the file itself there");
}

/// Replaces `path` by a link for a moment.
fn swap(path: &Path, target: &Path) {
    let aside = path.with_extension("aside");
    fs::rename(path, &aside).expect("a file of ours");
    std::os::unix::fs::symlink(target, path).expect("a folder of ours");
    std::thread::yield_now();
    fs::remove_file(path).expect("a link of ours");
    fs::rename(&aside, path).expect("a file of ours");
}

// ---- Git.

#[tokio::test]
async fn a_hostile_repository_runs_nothing() {
    // aynd c17
    let fixture = Fixture::with(shell("true"));
    let root = fixture.sandbox.path();
    let pwned = root.join("pwned");
    let program = fixture.sandbox.write(
        "evil.sh",
        &format!("#!/bin/sh\necho \"$0 $*\" >> {}\ncat\n", pwned.display()),
    );
    let evil = program.display().to_string();
    let git = |args: &[&str]| {
        let status = fixture.sandbox.command("git").args(args).output();
        status.expect("git is needed to work here")
    };
    let _ = Command::new("chmod").arg("+x").arg(&program).status();
    git(&["init", "-q"]);
    fixture
        .sandbox
        .write(".gitattributes", "*.txt filter=evil diff=evil\n");
    fixture.sandbox.write("a.txt", "one\n");
    git(&["add", ".gitattributes", "a.txt"]);
    git(&["commit", "-qm", "first"]);
    for (key, value) in [
        ("core.fsmonitor", evil.as_str()),
        ("core.pager", &evil),
        ("core.hooksPath", "hooks"),
        ("diff.external", &evil),
        ("diff.evil.textconv", &evil),
        ("diff.evil.command", &evil),
        ("filter.evil.clean", &evil),
        ("filter.evil.process", &evil),
        ("filter.evil.required", "true"),
    ] {
        git(&["config", key, value]);
    }
    fixture.sandbox.write("a.txt", "two\n");
    for name in ["git-status", "git-diff-summary", "workspace-info"] {
        let outcome = fixture.start(name, "{}").outcome().await.expect("it runs");
        assert!(!outcome.is_error, "{name}: {}", outcome.text());
    }
    let staged = fixture.start("git-diff-summary", r#"{"staged":true}"#);
    assert!(!staged.outcome().await.expect("it runs").is_error);
    let ran = fs::read_to_string(&pwned).unwrap_or_default();
    assert_eq!(ran, "");
    // The trap works: git itself runs into it.
    git(&["status"]);
    assert!(pwned.exists(), "the repository is not hostile at all");
}

// ---- The registry.

#[tokio::test]
async fn the_registry_lists_its_tools() {
    // aynd 17, 20-24
    let fixture = Fixture::new(json!([
        tool("zeta", shell("true")),
        tool("alpha", shell("true"))
    ]));
    let registry = &fixture.registry;
    let result = serde_json::to_value(registry.initialize().await).expect("it is data");
    assert_eq!(
        result,
        json!({"success": true, "toolCount": 6, "errors": []})
    );
    let names: Vec<String> = registry
        .list_tools()
        .await
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(
        names,
        [
            "git-status",
            "git-diff-summary",
            "workspace-info",
            "file-reader",
            "zeta",
            "alpha"
        ]
    );
    let zeta = serde_json::to_value(registry.tool_info("zeta").await).expect("it is data");
    assert_eq!(
        zeta,
        json!({"name": "zeta", "description": "zeta", "source": "plugin", "pluginName": "p",
               "inputSchema": {"type": "object"}})
    );
    let status = serde_json::to_value(registry.tool_info("git-status").await).expect("it is data");
    assert_eq!(status["source"], "builtin");
    assert!(status.get("pluginName").is_none());
    assert!(registry.has_tool("alpha").await && !registry.has_tool("constructor").await);
    assert_eq!(registry.tool_count().await, 6);
    let server = registry.mcp_server_config().await;
    assert_eq!(
        (server.kind, server.name, server.version),
        ("sdk", "aynd-tools", "1.0.0")
    );
    assert_eq!(server.tools.len(), 6);
    let allowed = registry.allowed_tool_names().await;
    assert_eq!(allowed[0], "mcp__aynd-tools__git-status");
    assert_eq!(allowed[5], "mcp__aynd-tools__alpha");
}

#[tokio::test]
async fn a_reload_sees_what_changed() {
    // aynd 5, 13-15, 18, 19, c15
    let fixture = Fixture::with(shell("echo one"));
    let registry = &fixture.registry;
    assert_eq!(registry.initialize().await.tool_count, 5);
    assert_eq!(fixture.text(json!({})).await, "one\n");

    fixture.plugin("p", json!([tool("t", shell("echo two"))]));
    fixture.plugin(
        "q",
        json!([
            tool("t", shell("echo q")),
            tool("git-status", shell("true")),
            tool("new", shell("true"))
        ]),
    );
    let broken = fixture.sandbox.write(&plugin_path("r"), "{");
    let result = registry.reload_plugins().await;
    assert!(!result.success);
    assert_eq!(result.tool_count, 6);
    let q = fixture
        .sandbox
        .path()
        .join(plugin_path("q"))
        .display()
        .to_string();
    let error = |source: &str, tool_name: Option<&str>, message: &str| ToolRegistrationError {
        source: source.into(),
        tool_name: tool_name.map(str::to_owned),
        message: message.into(),
    };
    let conflict = "Plugin tool \"git-status\" conflicts with built-in tool of the same name";
    assert_eq!(
        result.errors,
        [
            error(&q, Some("t"), "Duplicate plugin tool name: t"),
            error(&q, Some("git-status"), conflict),
            error(
                &broken.display().to_string(),
                None,
                "Invalid JSON: EOF while parsing an object"
            ),
        ]
    );
    assert_eq!(fixture.text(json!({})).await, "two\n");

    fs::remove_file(fixture.sandbox.path().join(plugin_path("p"))).expect("a file of ours");
    registry.reload_plugins().await;
    assert_eq!(fixture.text(json!({})).await, "q\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_running_call_keeps_its_definition() {
    // aynd c14
    let fixture = Fixture::with(shell(
        "sh -c 'touch started; while ! test -e go; do sleep 0.01; done; echo old'",
    ));
    fixture.registry.initialize().await;
    let running = fixture.start("t", "{}");
    let root = fixture.sandbox.path();
    until(|| root.join("started").exists()).await;
    fixture.plugin("p", json!([tool("t", shell("echo new"))]));
    assert!(fixture.registry.reload_plugins().await.success);
    assert_eq!(fixture.text(json!({})).await, "new\n");
    fixture.sandbox.write("go", "");
    assert_eq!(running.outcome().await.expect("it runs").text(), "old\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn reloads_wait_for_each_other_and_hide_nothing() {
    // aynd c14: while eight reload at once, no list is without plugins.
    let fixture = Fixture::with(shell("true"));
    fixture.registry.initialize().await;
    let done = Arc::new(AtomicBool::new(false));
    let watching = {
        let (registry, done) = (fixture.registry.clone(), done.clone());
        tokio::spawn(async move {
            let mut looks = 0;
            while !done.load(Ordering::Relaxed) {
                let tools = registry.list_tools().await;
                assert!(tools.iter().any(|tool| tool.source == ToolSource::Plugin));
                looks += 1;
                tokio::task::yield_now().await;
            }
            looks
        })
    };
    let reloads = (0..8).map(|_| fixture.registry.reload_plugins());
    for result in futures::future::join_all(reloads).await {
        assert_eq!((result.success, result.tool_count), (true, 5));
    }
    done.store(true, Ordering::Relaxed);
    assert!(watching.await.expect("it only looks") > 0);
}

/// Waits until the condition is true, with a limit.
async fn until(mut is_so: impl FnMut() -> bool) {
    let started = Instant::now();
    while !is_so() {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "it never happened"
        );
        tokio::task::yield_now().await;
    }
}

/// Waits until the process whose id is in the file is gone.
async fn assert_gone(pid_file: &Path) {
    let pid = fs::read_to_string(pid_file).expect("it was started");
    let process = Path::new("/proc").join(pid.trim());
    until(|| !process.exists()).await;
}
