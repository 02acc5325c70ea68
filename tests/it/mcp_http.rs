//! Streamable HTTP at `/mcp`, for MCP 2025-11 and 2026-07, over real sockets.

use std::collections::VecDeque;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::thread;
use std::time::Instant;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, mcp_2026, text};
use crate::sandbox::Sandbox;

const TOOLS: &str = r##"
import { readFile, writeFile } from "node:fs/promises";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });

let aborted = 0;

export default (pi) => [
  tool("echo", async (_id, args) => ({ ...says(JSON.stringify(args)), details: args })),
  { ...tool("odd", async (_id, args) => says(JSON.stringify(args))), parameters: { type: "object", properties: { "ids[]": {} } } },
  tool("name", async (_id, _args, _onUpdate, ctx) => says(String(await ctx.ui.input("Name?")))),
  tool("wait", (_id, _args, onUpdate, _ctx, signal) => {
    onUpdate(says("waiting"));
    return new Promise((resolve) => signal.addEventListener("abort", () => { aborted++; resolve(says("aborted")); }));
  }),
  tool("aborted", async () => says(String(aborted))),
  // Reports by a named pipe that it runs, and ends when a writer opens another.
  tool("read", async (_id, { started, path }) => { await writeFile(started, "it runs"); return says(await readFile(path, "utf8")); }),
];
"##;

/// A server and its port.
struct Server {
    child: Child,
    port: u16,
    /// The token that the server made.
    token: String,
    sandbox: Sandbox,
}

/// An answer, whose head was read.
struct Answer {
    status: u16,
    head: String,
    body: BufReader<TcpStream>,
}

impl Server {
    fn start(arguments: &[&str]) -> Server {
        Server::start_with(arguments, &[])
    }

    /// Starts a server with these variables.
    fn start_with(arguments: &[&str], env: &[(&str, &str)]) -> Server {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        let mut child = sandbox
            .haft()
            .args(["--tool", "tools.ts", "serve"])
            .args(arguments)
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("haft starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let port = loop {
            let mut line = String::new();
            let read = stderr
                .read_line(&mut line)
                .expect("haft says where it listens");
            assert!(read > 0, "haft has ended");
            if let Some(address) = line.strip_prefix("listening on http://127.0.0.1:") {
                break address.trim().parse().expect("a port");
            }
        };
        let mut line = String::new();
        stderr.read_line(&mut line).expect("it is text");
        let path = line
            .strip_prefix("the token is in ")
            .and_then(|rest| rest.split_once(';'));
        let (path, _) = path.unwrap_or_else(|| panic!("no token: {line}"));
        let token = fs::read_to_string(path).expect("a private file of ours");
        thread::spawn(move || std::io::copy(&mut stderr, &mut std::io::sink()));
        Server {
            child,
            port,
            token,
            sandbox,
        }
    }

    fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Answer {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream
            .set_read_timeout(Some(TEST_TIMEOUT))
            .expect("a socket");
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\ncontent-length: {}\r\nconnection: close\r\n\
             accept: application/json, text/event-stream\r\n",
            body.len()
        );
        if !headers.iter().any(|(name, _)| *name == "content-type") {
            head += "content-type: application/json\r\n";
        }
        if !headers.iter().any(|(name, _)| *name == "host") {
            head += &format!("host: 127.0.0.1:{}\r\n", self.port);
        }
        if !headers.iter().any(|(name, _)| *name == "authorization") {
            head += &format!("authorization: Bearer {}\r\n", self.token);
        }
        for (name, value) in headers {
            head += &format!("{name}: {value}\r\n");
        }
        write!(stream, "{head}\r\n{body}").expect("it reads");
        Answer::read(stream)
    }

    /// Sends a request of MCP 2026-07.
    fn mcp_2026(&self, method: &str, params: Value) -> Answer {
        let mut params = params;
        let token = params["_meta"]["progressToken"].take();
        params["_meta"] = mcp_2026(json!({}));
        if !token.is_null() {
            params["_meta"]["progressToken"] = token;
        }
        let name = params["name"].as_str().unwrap_or_default().to_owned();
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let mut headers = vec![
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
        ];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        self.send("POST", "/mcp", &headers, &body.to_string())
    }

    /// Sends a message in a session of MCP 2025-11.
    fn in_session(&self, session: &str, message: &Value) -> Answer {
        let headers = [
            ("mcp-session-id", session),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        self.send("POST", "/mcp", &headers, &message.to_string())
    }

    /// Begins a session and returns its id.
    fn session(&self) -> String {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {"elicitation": {}},
            "clientInfo": {"name": "test", "version": "1"},
        });
        let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
        let mut answer = self.send("POST", "/mcp", &[], &body.to_string());
        let session = answer
            .header("mcp-session-id")
            .expect("a session")
            .to_owned();
        assert_eq!(answer.message()["result"]["protocolVersion"], "2025-11-25");
        let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(self.in_session(&session, &begun).status, 202);
        session
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Answer {
    fn read(stream: TcpStream) -> Answer {
        let mut body = BufReader::new(stream);
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(
                body.read_line(&mut head).expect("an answer") > 0,
                "no answer: {head}"
            );
        }
        let status = head
            .split(' ')
            .nth(1)
            .and_then(|status| status.parse().ok());
        Answer {
            status: status.expect("a status"),
            head: head.to_lowercase(),
            body,
        }
    }

    fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        let line = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        line.map(str::trim)
    }

    /// Returns the next message, from JSON or from events.
    fn message(&mut self) -> Value {
        if self.header("content-type") == Some("application/json") {
            let mut text = String::new();
            self.body.read_to_string(&mut text).expect("a body");
            return serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
        }
        loop {
            let mut line = String::new();
            let read = self.body.read_line(&mut line).expect("an event");
            assert!(read > 0, "the stream has ended");
            let data = line.strip_prefix("data:").map(str::trim);
            if let Some(data) = data.filter(|data| !data.is_empty()) {
                return serde_json::from_str(data)
                    .unwrap_or_else(|error| panic!("{error}: {data}"));
            }
        }
    }

    /// Returns the message with this id.
    fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.message();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }
}

#[test]
fn mcp_2026_needs_no_session() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let found = server.mcp_2026("server/discover", json!({})).message();
    assert!(found["result"]["supportedVersions"].is_array(), "{found}");
    let list = server.mcp_2026("tools/list", json!({})).message();
    assert_eq!(
        list["result"]["tools"].as_array().map(Vec::len),
        Some(6),
        "{list}"
    );
    let params = json!({"name": "echo", "arguments": {"b": 1, "a": 2}});
    let mut answer = server.mcp_2026("tools/call", params);
    assert_eq!(answer.header("mcp-session-id"), None);
    assert_eq!(text(&answer.message()["result"]), r#"{"b":1,"a":2}"#);
    let params = json!({"name": "odd", "arguments": {"ids_": [1]}});
    let mut answer = server.mcp_2026("tools/call", params);
    assert_eq!(text(&answer.message()["result"]), r#"{"ids[]":[1]}"#);
    // Methods that exist only in earlier revisions are unknown, whatever their parameters are.
    for method in ["initialize", "logging/setLevel", "ping"] {
        for params in [json!({}), json!({"level": "info"})] {
            let mut refused = server.mcp_2026(method, params);
            assert_eq!(
                (refused.status, &refused.message()["error"]["code"]),
                (404, &json!(-32601)),
                "{method}"
            );
        }
    }
    // A request whose headers and body differ is refused.
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": mcp_2026(json!({}))}});
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "tools/call"),
    ];
    let mut refused = server.send("POST", "/mcp", &headers, &body.to_string());
    assert_eq!(
        (refused.status, &refused.message()["error"]["code"]),
        (400, &json!(-32020))
    );
}

#[test]
fn mcp_2025_has_sessions() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let (one, two) = (server.session(), server.session());
    assert_ne!(one, two);
    let call = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "echo", "arguments": {"a": 1}}});
    for session in [&one, &two] {
        let answer = server.in_session(session, &call).answer(7);
        assert_eq!(text(&answer["result"]), r#"{"a":1}"#);
    }
    let headers = [("mcp-session-id", one.as_str())];
    assert!(server.send("DELETE", "/mcp", &headers, "").status < 300);
    assert_eq!(server.in_session(&one, &call).status, 404);
    assert_eq!(server.in_session(&two, &call).status, 200);
}

/// The same as over standard input and output: see `mcp_models`.
#[test]
fn models_see_texts_and_instructions_in_both_protocol_versions() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let expected = "Tools for: aborted, echo, name, odd, read, wait.\n\
        6 tools of this project and its user; where one fits the task, prefer it to doing the same by hand.\n\n\
        - aborted: aborted\n- echo: echo\n- name: name\n- odd: odd\n- read: read\n- wait: wait";
    let found = server.mcp_2026("server/discover", json!({})).message();
    assert_eq!(found["result"]["instructions"], expected);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "codex-mcp-client", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let mut begun = server.send("POST", "/mcp", &[], &body.to_string());
    let session = begun.header("mcp-session-id").expect("a session");
    let session = session.to_owned();
    assert_eq!(begun.message()["result"]["instructions"], expected);
    let begun = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    server.in_session(&session, &begun);

    let arguments = json!({"a": 1});
    let params = json!({"name": "echo", "arguments": arguments});
    let newer = server.mcp_2026("tools/call", params.clone()).message();
    let call = |id: u64, params: Value| {
        let call = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        server.in_session(&session, &call).answer(id)["result"].take()
    };
    for result in [newer["result"].clone(), call(1, params)] {
        assert_eq!(text(&result), r#"{"a":1}"#);
        assert_eq!(result.get("structuredContent"), None, "{result}");
        assert_eq!(result["_meta"]["haft/details"], arguments);
    }
    let params = json!({"name": "echo", "arguments": {"a": "x".repeat(60_000)}});
    let result = call(2, params);
    let text = text(&result);
    assert!(text.len() <= 10 * 1024, "{}", text.len());
    assert!(
        text.starts_with("[Showing") && text.ends_with("for full output]"),
        "{text}"
    );
}

/// A call that waits for its user, and a long one, for a client that supports tasks.
#[test]
fn questions_are_answers_and_long_calls_are_tasks() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0", "--task-after", "3s"]);
    let capabilities =
        json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
    let send = |method: &str, name: &str, mut params: Value| {
        params["_meta"] = mcp_2026(capabilities.clone());
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let headers = [
            ("mcp-protocol-version", "2026-07-28"),
            ("mcp-method", method),
            ("mcp-name", name),
        ];
        let mut answer = server.send("POST", "/mcp", &headers, &body.to_string());
        answer.answer(1)["result"].take()
    };
    // The tools are loaded first, so that the question comes in time.
    server
        .mcp_2026("tools/call", json!({"name": "aborted"}))
        .message();
    let asked = send("tools/call", "name", json!({"name": "name"}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let requests = asked["inputRequests"].as_object().expect("a question");
    let key = requests.keys().next().expect("a question");
    let answer = json!({"action": "accept", "content": {"answer": "Ada"}});
    let params = json!({
        "name": "name",
        "requestState": asked["requestState"],
        "inputResponses": {key: answer},
    });
    assert_eq!(text(&send("tools/call", "name", params)), "Ada");

    let begun = send("tools/call", "wait", json!({"name": "wait"}));
    assert_eq!(begun["resultType"], "task", "{begun}");
    let id = begun["taskId"].as_str().expect("an id");
    let task = || send("tasks/get", id, json!({"taskId": id}));
    assert_eq!(task()["status"], "working");
    send("tasks/cancel", id, json!({"taskId": id}));
    while task()["status"] != "cancelled" {}
}

#[test]
fn a_session_is_asked_on_the_stream_of_its_call() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let session = server.session();
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "name"}});
    let mut stream = server.in_session(&session, &call);
    let request = stream.message();
    assert_eq!(request["method"], "elicitation/create", "{request}");
    let result = json!({"action": "accept", "content": {"answer": "Ada"}});
    let reply = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
    assert_eq!(server.in_session(&session, &reply).status, 202);
    assert_eq!(text(&stream.answer(7)["result"]), "Ada");
}

#[test]
fn closing_the_answer_cancels_the_call() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let params = json!({"name": "wait", "_meta": {"progressToken": 1}});
    let mut stream = server.mcp_2026("tools/call", params);
    assert_eq!(stream.message()["params"]["message"], "waiting");
    drop(stream);
    let start = Instant::now();
    loop {
        let answer = server
            .mcp_2026("tools/call", json!({"name": "aborted"}))
            .message();
        if text(&answer["result"]) == "1" {
            return;
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "the call goes on");
    }
}

#[test]
fn running_calls_are_answered_at_a_signal_in_both_protocol_versions() {
    let mut server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let session = server.session();
    let pipe = |name: &str| server.sandbox.fifo(name);
    let started = [pipe("started-old"), pipe("started-new")];
    let paths = [pipe("old"), pipe("new")];
    let arguments = |era: usize| json!({"started": started[era], "path": paths[era]});
    thread::scope(|scope| {
        let server = &server;
        let old = json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call",
            "params": {"name": "read", "arguments": arguments(0)}});
        let new = json!({"name": "read", "arguments": arguments(1)});
        let session = &session;
        let old = scope.spawn(move || server.in_session(session, &old).answer(7));
        let new = scope.spawn(move || server.mcp_2026("tools/call", new).message());
        for path in &started {
            assert_eq!(fs::read_to_string(path).expect("a pipe"), "it runs");
        }
        // This call ends only when it is cancelled.
        let wait = json!({"name": "wait", "_meta": {"progressToken": 1}});
        let mut wait = server.mcp_2026("tools/call", wait);
        assert_eq!(wait.message()["params"]["message"], "waiting");

        kill_process(Pid::from_child(&server.child), Signal::TERM).expect("it runs");
        for path in &paths {
            fs::write(path, "late but read").expect("the tool reads");
        }
        for answer in [old, new] {
            let answer = answer.join().expect("an answer");
            assert_eq!(text(&answer["result"]), "late but read");
        }
        let stopped = wait.answer(1);
        assert_eq!(text(&stopped["result"]), "aborted");
        assert_eq!(stopped["result"]["_meta"]["haft/stopped"], "host-shutdown");
    });
    let status = server.child.wait().expect("it is our child");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn foreign_hosts_and_origins_and_large_bodies_are_refused() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "ping"}).to_string();
    for headers in [
        [("host", "evil.example")].as_slice(),
        &[("origin", "https://evil.example")],
    ] {
        let answer = server.send("POST", "/mcp", headers, &body);
        assert_eq!(answer.status, 403, "{headers:?}");
    }
    let huge = format!(r#"{{"a":"{}"}}"#, "x".repeat(17 << 20));
    assert_eq!(server.send("POST", "/mcp", &[], &huge).status, 413);
    let ran = server
        .sandbox
        .sh("haft serve mcp --no-token --http 0.0.0.0:0");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(ran.output.contains("there is no token"), "{}", ran.output);
}

#[test]
fn many_clients_are_served_at_once() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    thread::scope(|scope| {
        for number in 0..40 {
            let server = &server;
            scope.spawn(move || {
                let params = json!({"name": "echo", "arguments": {"number": number}});
                let answer = server.mcp_2026("tools/call", params).message();
                assert_eq!(
                    text(&answer["result"]),
                    json!({"number": number}).to_string()
                );
            });
        }
    });
}

#[test]
fn one_port_serves_both_and_changes_are_notified_in_both_protocol_versions() {
    let mut server = Server::start(&["--listen", "127.0.0.1:0"]);
    let session = server.session();
    let headers = [
        ("mcp-session-id", session.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let mut older = server.send("GET", "/mcp", &headers, "");
    // The tool list that its client has.
    let list = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/list"});
    server.in_session(&session, &list).answer(3);
    let filter = json!({"notifications": {"toolsListChanged": true}});
    let mut newer = server.mcp_2026("subscriptions/listen", filter);
    assert_eq!(
        newer.message()["method"],
        "notifications/subscriptions/acknowledged"
    );

    let added = "export default () => ({ name: 'added', description: 'a', parameters: { type: 'object' }, execute: async () => ({ content: [] }) });";
    server
        .sandbox
        .write("home/.omp/agent/tools/added.ts", added);
    assert_eq!(
        server.send("POST", "/api/tools/reload", &[], "").status,
        200
    );
    for stream in [&mut older, &mut newer] {
        assert_eq!(
            stream.message()["method"],
            "notifications/tools/list_changed"
        );
    }
    let list = server.mcp_2026("tools/list", json!({})).message();
    assert!(list.to_string().contains("\"added\""), "{list}");

    // A signal ends endless streams.
    kill_process(Pid::from_child(&server.child), Signal::TERM).expect("it runs");
    let ended = server.child.wait().expect("it is our child");
    assert!(ended.success());
}

/// A message that changes nothing.
fn ping() -> Value {
    json!({"jsonrpc": "2.0", "id": 2, "method": "ping"})
}

#[test]
fn sessions_are_bounded_in_number() {
    let server = Server::start_with(
        &["mcp", "--http", "127.0.0.1:0"],
        &[("HAFT_SERVE_MCP_SESSIONS", "5")],
    );
    let (called, listening, used) = (server.session(), server.session(), server.session());
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "name"}});
    let mut running = server.in_session(&called, &call);
    let question = running.message();
    let headers = [
        ("mcp-session-id", listening.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let stream = server.send("GET", "/mcp", &headers, "");
    assert_eq!(stream.status, 200);
    // For each new session the oldest unused one is removed.
    let flood: Vec<String> = (0..300).map(|_| server.session()).collect();
    let is_there = |session: &str| match server.in_session(session, &ping()).status {
        200 => true,
        404 => false,
        status => panic!("{status}"),
    };
    assert!(!is_there(&used));
    let left: Vec<bool> = flood.iter().map(|session| is_there(session)).collect();
    let (gone, last) = left.split_at(flood.len() - 3);
    assert!(gone.iter().all(|is_left| !is_left), "{left:?}");
    assert!(last.iter().all(|is_left| *is_left), "{left:?}");
    assert!(is_there(&listening));
    // A running call continues.
    let result = json!({"action": "accept", "content": {"answer": "Ada"}});
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": result});
    assert_eq!(server.in_session(&called, &reply).status, 202);
    assert_eq!(text(&running.answer(7)["result"]), "Ada");
    // A client whose session is gone begins a new one.
    let again = server.session();
    assert!(is_there(&again));
}

#[test]
fn a_new_client_is_refused_while_every_session_has_a_running_call() {
    let server = Server::start_with(
        &["mcp", "--http", "127.0.0.1:0"],
        &[("HAFT_SERVE_MCP_SESSIONS", "2")],
    );
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "name"}});
    let sessions = [server.session(), server.session()];
    let mut running = sessions.each_ref().map(|session| {
        let mut answer = server.in_session(session, &call);
        let question = answer.message();
        (answer, question)
    });
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    let body = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params});
    let refused = server.send("POST", "/mcp", &[], &body.to_string());
    assert_eq!(refused.status, 503);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let (answer, question) = &mut running[0];
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(server.in_session(&sessions[0], &reply).status, 202);
    answer.answer(7);
    server.session();
}

#[test]
fn a_session_that_is_not_used_ends() {
    let server = Server::start_with(
        &["mcp", "--http", "127.0.0.1:0"],
        &[
            ("HAFT_SERVE_MCP_SESSION_IDLE", "1s"),
            ("HAFT_SERVE_MCP_SESSIONS", "100000"),
        ],
    );
    let (called, listening) = (server.session(), server.session());
    let call =
        json!({"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": {"name": "name"}});
    let mut running = server.in_session(&called, &call);
    let question = running.message();
    let headers = [
        ("mcp-session-id", listening.as_str()),
        ("mcp-protocol-version", "2025-11-25"),
    ];
    let _stream = server.send("GET", "/mcp", &headers, "");
    // Each is asked only once, since a request counts as a use; the next one is older each time.
    let start = Instant::now();
    let mut idle = VecDeque::new();
    loop {
        idle.extend([(); 2].map(|()| (Instant::now(), server.session())));
        let (since, session) = idle.pop_front().expect("two were added");
        match server.in_session(&session, &ping()).status {
            404 => {
                assert!(since.elapsed().as_secs() >= 1);
                break;
            }
            status => assert_eq!(status, 200),
        }
        assert!(start.elapsed() < TEST_TIMEOUT, "no session ended");
    }
    // Neither of these was idle.
    assert_eq!(server.in_session(&listening, &ping()).status, 200);
    let reply = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "decline"}});
    assert_eq!(server.in_session(&called, &reply).status, 202);
    running.answer(7);
}

#[test]
fn what_is_not_a_message_gets_the_error_of_json_rpc() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{"a":{}{}}}}}}}"#,
        "[".repeat(200),
        "]".repeat(200)
    );
    let nested = "[".repeat(100_000);
    for (body, code) in [
        ("{bad", -32700),
        ("", -32700),
        (" ", -32700),
        (nested.as_str(), -32700),
        (deep.as_str(), -32600),
        ("[]", -32600),
        (
            r#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"ping"}]"#,
            -32600,
        ),
        (r#"[{"jsonrpc":"2.0","id":1,"method":"ping"}]"#, -32600),
        ("1", -32600),
        ("{}", -32600),
        (r#"{"jsonrpc":"1.0","id":1,"method":"ping"}"#, -32600),
        (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600),
    ] {
        let mut answer = server.send("POST", "/mcp", &[], body);
        let begins = &body[..body.len().min(60)];
        assert_eq!(answer.status, 400, "{begins}");
        assert_eq!(answer.message()["error"]["code"], code, "{begins}");
    }
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("it listens");
    stream
        .set_read_timeout(Some(TEST_TIMEOUT))
        .expect("a socket");
    stream
        .write_all(
            format!(
                "POST /mcp HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\n",
                server.token
            )
            .as_bytes(),
        )
        .expect("it reads");
    stream
        .write_all(
            b"connection: close\r\ncontent-type: application/json\r\naccept: application/json, text/event-stream\r\n\
            content-length: 4\r\n\r\n{\"\xff\"",
        )
        .expect("it reads");
    let mut answer = Answer::read(stream);
    assert_eq!(answer.status, 400);
    assert_eq!(answer.message()["error"]["code"], -32700);
    // Errors in the headers are reported before errors in the body.
    let headers = [("content-type", "text/plain")];
    let answer = server.send("POST", "/mcp", &headers, "{bad");
    assert_eq!(answer.status, 415);
}

#[test]
fn arguments_nest_as_deep_as_over_standard_input() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let session = server.session();
    let mut client = Client::silent(TOOLS, &[]);
    client.initialize(json!({}));
    for depth in [100, 124, 130, 300, 5000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let call = format!(
            r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"odd","arguments":{{"a":{open}{close}}}}}}}"#
        );
        let headers = [
            ("mcp-session-id", session.as_str()),
            ("mcp-protocol-version", "2025-11-25"),
        ];
        let over_http = server.send("POST", "/mcp", &headers, &call).answer(7);
        client.raw(call.as_bytes());
        let over_pipes = client.answer(7);
        assert_eq!(over_http, over_pipes, "{depth}");
    }
}

#[test]
fn notifications_of_mcp_2026_need_no_header_of_their_own() {
    let server = Server::start(&["mcp", "--http", "127.0.0.1:0"]);
    let params = json!({"requestId": 5, "_meta": mcp_2026(json!({}))});
    let body = json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params});
    let version = ("mcp-protocol-version", "2026-07-28");
    for headers in [
        [version].as_slice(),
        &[version, ("mcp-method", "notifications/cancelled")],
    ] {
        let answer = server.send("POST", "/mcp", headers, &body.to_string());
        assert_eq!(answer.status, 202, "{headers:?}");
    }
    // A header that is sent must be right.
    let headers = [version, ("mcp-method", "tools/list")];
    let answer = server.send("POST", "/mcp", &headers, &body.to_string());
    assert_eq!(answer.status, 400);
}
