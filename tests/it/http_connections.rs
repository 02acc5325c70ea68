//! Clients that send nothing, read nothing or only listen: the server still serves the others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::json;

use crate::sandbox::Sandbox;
use crate::served::{Events, Reply, Served};

const MODULE: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
export default () => [
  tool("quick", async () => says("done")),
  tool("wait", (_id, _args, _onUpdate, _ctx, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("stopped"))))),
  tool("large", async () => ({ content: [{ type: "text", text: "t" }], details: { text: "x".repeat(12 << 20) } })),
];
"#;

/// More than a server takes by default.
const FLOOD: usize = 1100;

/// REST and MCP on one port, with these variables.
fn serve(env: &[(&str, &str)]) -> (Sandbox, Served) {
    let sandbox = Sandbox::with_home();
    sandbox.write("module.ts", MODULE);
    let mut command = sandbox.haft();
    command.args(["--tool", "module.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(command.envs(env.iter().copied()));
    // The request loads the tools, so that calls begin at once.
    served.get("/api/catalog");
    (sandbox, served)
}

/// Opens a connection and sends only these bytes.
fn begun(served: &Served, bytes: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(served.address).expect("it listens");
    let limit = Some(Duration::from_secs(120));
    stream.set_read_timeout(limit).expect("a socket");
    // Adds the user's token after the first line, if that line is complete.
    let text = String::from_utf8_lossy(bytes).into_owned();
    let who = served.authorization("");
    let text = match text.split_once("\r\n") {
        Some((first, rest)) if rest.contains("\r\n") => format!("{first}\r\n{who}{rest}"),
        _ => text,
    };
    // The server may have closed it in favour of another one.
    let _ = stream.write_all(text.as_bytes());
    stream
}

/// A call that runs until it is stopped.
fn waiting(served: &Served, id: &str) -> Events {
    let body = json!({ "callId": id }).to_string();
    let head = "POST /api/tools/wait/call HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let mut call = served.events(head, &body);
    assert_eq!(call.wait_for("started").data["callId"], id);
    call
}

fn stop(served: &Served, id: &str, mut call: Events) {
    assert_eq!(served.delete(&format!("/api/calls/{id}")).status, 202);
    let result = call.wait_for("result").data;
    assert_eq!(result["content"][0]["text"], "stopped", "{result}");
}

/// Reads to the end of the connection.
fn is_closed(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    match stream.read_to_end(&mut rest) {
        Ok(_) => true,
        Err(error) => error.kind() == std::io::ErrorKind::ConnectionReset,
    }
}

#[test]
fn hanging_connections_do_not_block_others() {
    let limit = getrlimit(Resource::Nofile);
    let raised = Rlimit {
        current: limit.maximum,
        ..limit
    };
    setrlimit(Resource::Nofile, raised).expect("one's own limit");
    let (_sandbox, served) = serve(&[]);
    let call = waiting(&served, "runs");
    let begins: [&[u8]; 5] = [
        b"",
        b"POST /mcp HTTP/1.1\r\nHost: loc",
        b"POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
          Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{",
        b"POST /api/tools/quick/call HTTP/1.1\r\nHost: localhost\r\n\
          Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
        b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n",
    ];
    for begin in begins {
        let _flood: Vec<TcpStream> = (0..FLOOD).map(|_| begun(&served, begin)).collect();
        for _ in 0..3 {
            let reply = served.post("/api/tools/quick/call", "{}");
            assert_eq!(reply.json()["content"][0]["text"], "done", "{reply:?}");
        }
    }
    stop(&served, "runs", call);
}

#[test]
fn the_stream_that_was_opened_first_gives_way() {
    let (_sandbox, served) = serve(&[("HAFT_SERVE_CONNECTIONS", "4")]);
    let call = waiting(&served, "runs");
    let get = b"GET /api/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
    let mut streams = Vec::new();
    for _ in 0..4 {
        let mut stream = begun(&served, get);
        // Each is answered before the next one is opened.
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("an answer");
        streams.push(stream);
    }
    assert_eq!(served.get("/api/health").status, 200);
    assert!(is_closed(streams.remove(0)));
    stop(&served, "runs", call);
}

#[test]
fn a_connection_with_a_running_call_is_not_closed_for_another() {
    let (_sandbox, served) = serve(&[("HAFT_SERVE_CONNECTIONS", "2")]);
    let (first, second) = (waiting(&served, "first"), waiting(&served, "second"));
    let refused = served.get("/api/tools");
    assert_eq!(
        (refused.status, refused.header("retry-after")),
        (503, Some("1"))
    );
    assert!(refused.json()["hint"].as_str().is_some(), "{refused:?}");
    // The health check is answered all the same.
    let alive = served.get("/api/health");
    assert_eq!((alive.status, &*alive.body), (200, r#"{"status":"ok"}"#));
    drop(first);
    // There is room as soon as the server has noticed the end.
    let started = std::time::Instant::now();
    while served.get("/api/tools").status == 503 {
        assert!(started.elapsed() < Duration::from_secs(60));
    }
    stop(&served, "second", second);
}

#[test]
fn a_body_has_its_time() {
    let (_sandbox, served) = serve(&[("HAFT_SERVE_BODY_TIMEOUT", "1s")]);
    for path in ["/mcp", "/api/tools/quick/call"] {
        let stream = begun(
            &served,
            format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                 Accept: application/json, text/event-stream\r\nContent-Length: 1000\r\n\r\n{{"
            )
            .as_bytes(),
        );
        let reply = Reply::read(stream);
        assert_eq!(reply.status, 408, "{reply:?}");
        let hint = reply.json()["hint"].to_string();
        assert!(hint.contains("serve.body_timeout"), "{hint}");
    }
}

#[test]
fn a_slow_reader_gets_all_of_it() {
    let (_sandbox, served) = serve(&[]);
    let head = "POST /api/tools/large/call HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\n";
    let unread: Vec<TcpStream> = (0..3).map(|_| served.begin(head, "{}")).collect();
    // Others are answered meanwhile.
    assert_eq!(
        served.post("/api/tools/quick/call", "{}").json()["content"][0]["text"],
        "done"
    );
    for stream in unread {
        let reply = Reply::read(stream);
        let text = reply.json()["details"]["text"].as_str().map(str::len);
        assert_eq!(text, Some(12 << 20));
    }
}
