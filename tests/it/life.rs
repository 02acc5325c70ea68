//! The end of calls, sessions and programs: every request is answered, tools are notified, and only
//! the processes that their author released remain.

use std::fs;
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, text};
use crate::programs::goes;
use crate::sandbox::Sandbox;
use crate::served::Served;

const TOOLS: &str = r#"
import { spawn } from "node:child_process";
import { appendFileSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
const pause = () => new Promise((resolve) => setTimeout(resolve, 5));

process.on("exit", () => appendFileSync("events", "exit\n"));

export default (pi) => [
  { ...tool("note", async () => { appendFileSync("events", "call\n"); return says("noted"); }),
    onSession(event) { appendFileSync("events", `${event.reason}\n`); } },
  // Ends when a writer opens the named pipe.
  tool("read", async (_id, { path }, onUpdate) => {
    onUpdate(says("reading"));
    return says(await readFile(path, "utf8"));
  }),
  // Never ends.
  tool("deaf", (_id, _params, onUpdate) => {
    onUpdate(says("waiting"));
    return new Promise(() => {});
  }),
  // Keeps its isolate busy until the file is there.
  tool("busy", (_id, { path }, onUpdate) => {
    onUpdate(says("busy"));
    while (!existsSync(path));
    return says("free");
  }),
  tool("canary", async (_id, { path }) => { writeFileSync(path, ""); return says("sung"); }),
  // Starts programs in all the ways that there are, and never ends.
  tool("starts", async (_id, { path }, onUpdate) => {
    const child = spawn("sleep", ["600"], { stdio: "ignore" });
    const detached = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
    pi.exec("sh", ["-c", `echo $$ > ${path}.new; mv ${path}.new ${path}; exec sleep 600`]);
    while (!existsSync(path)) await pause();
    onUpdate(says([child.pid, detached.pid, readFileSync(path, "utf8").trim()].join(" ")));
    return new Promise(() => {});
  }),
  // Leaves a program behind on purpose.
  tool("leaves", async () => {
    const child = spawn("sleep", ["600"], { stdio: "ignore", detached: true });
    child.unref();
    return says(String(child.pid));
  }),
];
"#;

fn signal(client: &Client, signal: Signal) {
    kill_process(Pid::from_child(&client.child), signal).expect("it runs");
}

/// Returns the session events that the tools wrote down.
fn events(sandbox: &Sandbox) -> String {
    fs::read_to_string(sandbox.path().join("events")).unwrap_or_default()
}

// ---- Waiting calls that were cancelled never start.

/// A `haft rpc`, whose answers come line by line.
struct Rpc(Client);

impl Rpc {
    fn start() -> Rpc {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        Rpc(Client::of(sandbox, &["rpc"]))
    }

    fn call(&mut self, name: &str, more: Value) -> u64 {
        let mut params = json!({"name": name, "callId": name});
        for (key, value) in more.as_object().expect("an object") {
            params[key] = value.clone();
        }
        self.0.request("tools/call", params)
    }

    fn hears(&mut self, text: &str) {
        let message = self.0.next();
        let heard = &message["params"]["partialResult"]["content"][0]["text"];
        assert_eq!(heard, text, "{message}");
    }
}

fn is_not_started(answer: &Value, why: &str, reason: &str) {
    let result = &answer["result"];
    let expected = format!("Tool was not executed because the run was aborted: {reason}.");
    assert_eq!(text(result), expected);
    assert_eq!(
        (&result["isError"], &result["stopped"]),
        (&json!(true), &json!(why))
    );
}

#[test]
fn a_call_that_is_cancelled_behind_a_busy_isolate_never_starts() {
    let mut rpc = Rpc::start();
    let busy = rpc.call("busy", json!({"arguments": {"path": "free"}}));
    rpc.hears("busy");
    let arguments = json!({"path": "canary"});
    let cancelled = rpc.call("canary", json!({"arguments": arguments}));
    rpc.0.notify("tools/cancel", json!({"callId": "canary"}));
    // The isolate is still busy.
    let answer = rpc.0.answer(cancelled);
    is_not_started(&answer, "cancelled", "Interrupted by user");
    let late = rpc.call("canary", json!({"arguments": arguments, "timeoutMs": 20}));
    let answer = rpc.0.answer(late);
    is_not_started(&answer, "deadline", "The call timed out");

    let folder = rpc.0.sandbox.path();
    fs::write(folder.join("free"), "").expect("a directory of ours");
    assert_eq!(text(&rpc.0.answer(busy)["result"]), "free");
    // Calls that waited before this one would have run earlier.
    let note = rpc.call("note", json!({}));
    assert_eq!(text(&rpc.0.answer(note)["result"]), "noted");
    assert!(!folder.join("canary").exists());
}

#[test]
fn a_call_that_is_cancelled_before_the_tools_are_loaded_never_starts() {
    let mut rpc = Rpc::start();
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
        "params": {"name": "canary", "callId": "c", "arguments": {"path": "canary"}}});
    let cancel = json!({"jsonrpc": "2.0", "method": "tools/cancel", "params": {"callId": "c"}});
    rpc.0.raw(format!("{call}\n{cancel}").as_bytes());
    let answer = rpc.0.answer(1);
    is_not_started(&answer, "cancelled", "Interrupted by user");
    let note = rpc.0.request("tools/call", json!({"name": "note"}));
    assert_eq!(text(&rpc.0.answer(note)["result"]), "noted");
    assert!(!rpc.0.sandbox.path().join("canary").exists());
}

// ---- Calls that run at the end are answered.

#[test]
fn calls_that_run_at_the_end_have_their_time_and_are_answered() {
    let ends: [Option<Signal>; 4] = [
        Some(Signal::TERM),
        Some(Signal::INT),
        Some(Signal::HUP),
        None,
    ];
    for end in ends {
        let mut client = Client::old(TOOLS, json!({}));
        let path = client.sandbox.fifo("answer");
        let deaf = client.start("deaf", json!({}));
        assert_eq!(client.update(), "waiting");
        // The others are handled by rmcp; this one takes the fast path.
        let plain = json!({"name": "deaf", "arguments": {}});
        let plain = client.request("tools/call", plain);
        let read = client.start("read", json!({"path": path}));
        assert_eq!(client.update(), "reading");
        match end {
            Some(end) => signal(&client, end),
            None => client.hang_up(),
        }
        fs::write(&path, "late but read").expect("the tool reads");
        assert_eq!(text(&client.answer(read)["result"]), "late but read");
        let mut left = [deaf, plain];
        while left != [0, 0] {
            let message = client.next();
            let error = message["error"]["message"].as_str();
            let error = error.unwrap_or_else(|| text(&message["result"]));
            assert!(error.contains("host is shutting down"), "{message}");
            let id = message["id"].as_u64().expect("a number");
            let place = left.iter().position(|left| *left == id);
            left[place.expect("a request of ours")] = 0;
        }
        assert_eq!(client.next_if_any(), None);
        assert_eq!(client.ends_within(TEST_TIMEOUT).code(), Some(0));
    }
}

// ---- Started processes end.

/// The ids of the processes that the tool `starts` has started.
fn started(client: &mut Client) -> Vec<String> {
    client.start("starts", json!({"path": "pid"}));
    let ids: Vec<_> = client.update().split(' ').map(str::to_owned).collect();
    assert_eq!(ids.len(), 3);
    ids
}

#[test]
fn a_second_signal_leaves_no_process() {
    let mut client = Client::old(TOOLS, json!({}));
    let ids = started(&mut client);
    // The kernel may merge two signals of one kind.
    signal(&client, Signal::TERM);
    signal(&client, Signal::INT);
    assert_eq!(client.ends_within(TEST_TIMEOUT).code(), Some(130));
    for id in ids {
        assert!(goes(&id), "{id} is left");
    }
}

#[test]
fn a_host_that_is_killed_leaves_no_process() {
    let mut client = Client::old(TOOLS, json!({}));
    let ids = started(&mut client);
    let since = Instant::now();
    while !guard_knows(client.child.id(), &ids) {
        assert!(
            since.elapsed() < TEST_TIMEOUT,
            "no guard knows the children"
        );
        thread::sleep(Duration::from_millis(2));
    }
    signal(&client, Signal::KILL);
    client.ends_within(TEST_TIMEOUT);
    for id in ids {
        assert!(goes(&id), "{id} is left");
    }
}

/// Returns true if the guard process of the process `host`, or that of its worker process, has a
/// line for each of these ids.
fn guard_knows(host: u32, ids: &[String]) -> bool {
    let workers = children_of(host).into_iter().filter(|pid| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline"));
        command.is_ok_and(|command| command.contains("\0--worker\0"))
    });
    let hosts = workers.filter_map(|pid| pid.parse().ok()).chain([host]);
    hosts.into_iter().any(|host| has_guard_for(host, ids))
}

/// Returns the processes that threads of the process `host` started.
fn children_of(host: u32) -> Vec<String> {
    let threads = fs::read_dir(format!("/proc/{host}/task")).expect("it runs");
    let lists = threads
        .flatten()
        .map(|thread| thread.path().join("children"));
    let lists = lists.flat_map(|list| fs::read_to_string(list).ok());
    let words = |list: String| {
        list.split_whitespace()
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    lists.flat_map(words).collect()
}

fn has_guard_for(host: u32, ids: &[String]) -> bool {
    let children = children_of(host);
    let is_guard = |pid: &&String| {
        let command = fs::read_to_string(format!("/proc/{pid}/cmdline"));
        command.is_ok_and(|command| command.ends_with("\0haft-guard\0"))
    };
    let Some(guard) = children.iter().find(is_guard) else {
        return false;
    };
    let table = fs::read_to_string(format!("/proc/{guard}/fd/3")).unwrap_or_default();
    let known = table.lines().filter_map(|line| line.split(' ').next());
    let known: Vec<&str> = known.collect();
    ids.iter().all(|id| known.contains(&id.as_str()))
}

#[test]
fn what_is_detached_and_released_goes_on_where_it_may() {
    for (keeps, is_left) in [("yes", true), ("no", false)] {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        let line = format!("HAFT_KEEP_DETACHED={keeps} haft --tool tools.ts call leaves --yolo");
        let ran = sandbox.sh(&line);
        assert_eq!(ran.code, 0, "{}", ran.output);
        let id = ran.output.trim();
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        if is_left {
            assert!(stat.contains("(sleep) S"), "{stat}");
            crate::programs::kill(id);
        }
        assert!(goes(id), "{id} is left");
    }
}

// ---- Sessions.

#[test]
fn tools_of_an_mcp_server_are_notified_of_start_and_shutdown() {
    let mut client = Client::old(TOOLS, json!({}));
    client.ask("tools/list", json!({}));
    assert_eq!(events(&client.sandbox), "");
    client.call("canary", json!({"path": "canary"}));
    client.call("note", json!({}));
    client.call("note", json!({}));
    client.hang_up();
    assert!(client.ends_within(TEST_TIMEOUT).success());
    assert_eq!(
        events(&client.sandbox),
        "start\ncall\ncall\nshutdown\nexit\n"
    );
}

#[test]
fn tools_of_a_rest_server_are_notified_of_start_and_shutdown() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let mut command = sandbox.haft();
    command.args(["--tool", "tools.ts", "serve", "rest"]);
    command.args(["--listen", "127.0.0.1:0"]);
    let mut served = Served::start(&mut command);
    assert_eq!(served.post("/api/tools/note/call", "{}").status, 200);
    served.signal("TERM");
    assert_eq!(served.wait(), Some(0));
    assert_eq!(events(&sandbox), "start\ncall\nshutdown\nexit\n");
}

#[test]
fn tools_of_an_rpc_host_get_the_peers_session_events_once() {
    let mut rpc = Rpc::start();
    let start = json!({"event": {"reason": "start"}});
    rpc.0.ask("session/event", start);
    let note = rpc.call("note", json!({}));
    rpc.0.answer(note);
    rpc.0
        .ask("session/event", json!({"event": {"reason": "shutdown"}}));
    rpc.0.ask("shutdown", json!({}));
    assert!(rpc.0.ends_within(TEST_TIMEOUT).success());
    assert_eq!(events(&rpc.0.sandbox), "start\ncall\nshutdown\nexit\n");
}
