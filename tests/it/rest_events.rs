//! `/api/events`: calls of other surfaces of the same server, and listeners that do not read.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::mcp_client::mcp_2026;
use crate::rest::{resident_kb, sandbox};
use crate::sandbox::Sandbox;
use crate::served::{Events, Reply, Served};

const MODULE: &str = r#"
import { writeFile } from "node:fs/promises";
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
export default () => [
  tool("steps", async (_id, _args, onUpdate) => { onUpdate(says("half")); return says("done"); }),
  tool("fails", async () => { throw new Error("no"); }),
  tool("wait", (_id, _args, _onUpdate, _ctx, signal) =>
    new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("stopped"))))),
  // Says by a named pipe that it runs.
  tool("hold", async (_id, _args, _onUpdate, _ctx, signal) => {
    const ended = new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("stopped"))));
    await writeFile("started", "it runs");
    return ended;
  }),
  tool("n".repeat(4000), async () => says("done")),
];
"#;

/// REST and MCP on one port.
fn serve_both() -> (Sandbox, Served) {
    let sandbox = sandbox();
    sandbox.write("module.ts", MODULE);
    let mut command = sandbox.haft();
    command.args(["--tool", "module.ts", "serve", "--listen", "0"]);
    let served = Served::start(&mut command);
    (sandbox, served)
}

/// The head and the body of a call over MCP.
fn mcp_call(name: &str) -> (String, String) {
    let params = json!({"name": name, "arguments": {}, "_meta": mcp_2026(json!({}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n\
         Mcp-Method: tools/call\r\nMcp-Name: {name}\r\n"
    );
    (head, body.to_string())
}

#[test]
fn calls_over_mcp_are_published_and_listed_like_all_others() {
    let (_sandbox, served) = serve_both();
    let mut events = served.listen(None);
    for (name, is_error) in [("steps", false), ("fails", true)] {
        let (head, body) = mcp_call(name);
        let reply = served.send(&head, &body);
        assert_eq!(reply.json()["result"]["isError"], is_error, "{reply:?}");
        let started = events.wait_for("call.started").data;
        assert_eq!(started["tool"], name);
        let ended = events.wait_for("call.ended").data;
        assert_eq!(ended["callId"], started["callId"]);
        assert_eq!(
            (&ended["state"], &ended["isError"]),
            (&json!("finished"), &json!(is_error))
        );
        let id = started["callId"].as_str().expect("an id");
        let call = served.get(&format!("/api/calls/{id}")).json();
        assert_eq!(call["tool"], name);
        assert_eq!(call["result"]["content"][0]["type"], "text", "{call}");
    }
    let listed = served.get("/api/calls").json();
    let tools = listed["calls"].as_array().expect("a list").iter();
    let tools: Vec<&Value> = tools.map(|call| &call["tool"]).collect();
    assert_eq!(tools, ["fails", "steps"]);
}

#[test]
fn a_call_over_mcp_can_be_cancelled_over_rest() {
    let (sandbox, served) = serve_both();
    let runs = sandbox.fifo("started");
    let mut events = served.listen(None);
    let (head, body) = mcp_call("hold");
    let waiting = served.begin(&head, &body);
    let started = events.wait_for("call.started").data;
    let id = started["callId"].as_str().expect("an id");
    fs::read(runs).expect("a pipe");
    assert_eq!(served.delete(&format!("/api/calls/{id}")).status, 202);
    let reply = Reply::read(waiting);
    assert_eq!(reply.json()["result"]["content"][0]["text"], "stopped");
    assert_eq!(events.wait_for("call.ended").data["callId"], id);
}

#[test]
fn a_call_over_mcp_whose_client_disconnects_ends_in_the_call_log() {
    let (_sandbox, served) = serve_both();
    let mut events = served.listen(None);
    let (head, body) = mcp_call("wait");
    let waiting = served.begin(&head, &body);
    let started = events.wait_for("call.started").data;
    drop(waiting);
    let ended = events.wait_for("call.ended").data;
    assert_eq!(ended["callId"], started["callId"]);
    assert_eq!(ended["stopped"], "cancelled", "{ended}");
}

/// More calls than the events that sockets and the server hold, which is some megabytes.
const CALLS: usize = 2000;

/// Returns a long tool name, which makes events large.
fn long_name() -> String {
    "n".repeat(4000)
}

/// A listener that has sent its request and reads nothing.
fn deaf(served: &Served) -> TcpStream {
    served.begin("GET /api/events HTTP/1.0\r\nHost: localhost\r\n", "")
}

#[test]
fn listeners_that_do_not_read_use_bounded_memory_and_delay_no_other() {
    let (_sandbox, served) = serve_both();
    let mut kept = served.begin_keeping();
    let path = format!("/api/tools/{}/call", long_name());
    // Each call makes two events of four kilobytes: enough to fill sockets and the server's buffer.
    let mut call = |id: &str| kept.post(&path, &json!({"callId": id}));
    for number in 0..500 {
        call(&format!("before-{number}"));
    }
    let before = resident_kb(served.pid());
    let deaf: Vec<TcpStream> = (0..20).map(|_| deaf(&served)).collect();
    let mut reader = served.listen(None);
    reader.wait_for("ready");
    for number in 0..CALLS {
        // A listener that reads gets the events of every call, in order.
        let id = format!("call-no-{number}");
        call(&id);
        assert_eq!(reader.wait_for("call.ended").data["callId"], id);
    }
    let after = resident_kb(served.pid());
    // Keeping all events for each of them would take 300 MB.
    assert!(after < before + 40_000, "{before} KB, then {after} KB");
    // A listener that reads again gets the socket's content, the number of lost events, and the
    // newest.
    for stream in deaf {
        catches_up(stream, &format!("call-no-{}\"", CALLS - 1));
    }
}

/// Reads on: events in their order, one reported gap, and the last call.
fn catches_up(stream: TcpStream, last: &str) {
    let mut lines = BufReader::new(stream);
    let mut has_missed = false;
    loop {
        let mut line = String::new();
        assert!(lines.read_line(&mut line).expect("a line") > 0, "it ended");
        has_missed |= line == "event: missed\n";
        if line.starts_with("data: ") && line.contains(last) && line.contains("durationMs") {
            break;
        }
    }
    assert!(has_missed, "nothing was left out");
    // The connection stays open.
    lines.get_ref().set_nonblocking(true).expect("a socket");
    let end = lines.read(&mut [0; 1]);
    assert!(!matches!(end, Ok(0)), "it was closed");
}

/// The messages of the next `problems` event.
fn problems(events: &mut Events) -> Vec<String> {
    let told = events.wait_for("problems").data;
    let problems = told["problems"].as_array().expect("a list").iter();
    let messages = problems.map(|problem| problem["message"].as_str().expect("a text").to_owned());
    messages.collect()
}

#[test]
fn problems_are_notified_when_a_file_breaks_and_when_it_is_mended() {
    let sandbox = Sandbox::with_home();
    let tool = |name: &str| {
        format!(
            r#"{{"name":"{name}","description":"d","inputSchema":{{"type":"object"}},"handler":{{"type":"shell","command":"true"}}}}"#
        )
    };
    let plugin = format!(
        r#"{{"name":"p","version":"1.0.0","tools":[{}]}}"#,
        tool("one")
    );
    let module = "export default () => ({ name: 'm', description: 'd', parameters: { type: 'object' }, \
                  execute: async () => ({ content: [] }) });";
    let shell = "description: d\ntags: [read]\nbash: echo\n";
    let files = [
        ("home/.config/aynd/tools/p.json", plugin.as_str(), "{"),
        ("home/.omp/agent/tools/m.ts", module, "export default ("),
        ("home/.cycod/tools/s.yaml", shell, "description: ["),
    ];
    for (path, good, _) in files {
        sandbox.write(path, good);
    }
    let mut command = sandbox.haft();
    command.args(["serve", "--listen", "0"]);
    let served = Served::start(&mut command);
    let catalog = served.get("/api/catalog").json();
    assert_eq!(catalog["problems"], json!([]), "{catalog}");
    let mut events = served.listen(None);
    events.wait_for("ready");
    // Replaced in one step: a half-written file would have problems of its own.
    let replace = |path: &str, text: &str| {
        let written = sandbox.write("written", text);
        fs::rename(written, sandbox.path().join(path)).expect("a folder of ours");
    };
    for (path, good, bad) in files {
        replace(path, bad);
        let broken = problems(&mut events);
        assert_eq!(broken.len(), 1, "{path}: {broken:?}");
        replace(path, good);
        assert_eq!(problems(&mut events), [""; 0], "{path}");
    }
    // The problem of a new, broken file is reported as well, though no tool comes or goes.
    replace("home/.config/aynd/tools/new.json", "[");
    assert_eq!(problems(&mut events).len(), 1);
}
