//! `haft rpc` as another program uses it, over real pipes (`docs/rpc.md`).
//!
//! The tests do not wait for times: a tool reports by an update that it runs, or waits itself at a
//! barrier or a named pipe. The few times here are bounds of the contract.

use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Longer than anything here takes on a machine under load.
const TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// The tools that the peer calls.
const TOOLS: &str = r#"
import { readFile, writeFile } from "node:fs/promises";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });

const heard = [];
let waiting = [];

export default (pi) => [
  { ...tool("echo", async (_id, { text }) => says(text)),
    parameters: pi.zod.object({ text: pi.zod.string() }),
    onSession(event) { heard.push(event.number); } },
  { ...tool("painted", async () => says("done")),
    renderCall: (args, _options, theme) => ({ render: (width) => [theme.bold(`painted ${args.a} ${width}`)] }),
    renderResult() { throw new Error("no ink"); } },
  tool("length", async (_id, { text }) => says(String(text.length))),
  tool("heard", async () => says(heard.join(" "))),
  // Ends when it is asked to.
  tool("wait", (_id, _params, onUpdate, _ctx, signal) => {
    onUpdate(says("waiting"));
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("asked to stop"))));
  }),
  // Hears that it is asked to end, and does not.
  tool("deaf", (_id, _params, onUpdate, _ctx, signal) => {
    signal.addEventListener("abort", () => onUpdate(says("heard it")));
    onUpdate(says("waiting"));
    return new Promise(() => {});
  }),
  // Ends when so many of them run at the same time.
  tool("meet", (_id, { party }) => new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === party) {
      for (const end of waiting) end(says(`met ${party}`));
      waiting = [];
    }
  })),
  // Ends when a writer opens the named pipe.
  tool("read", async (_id, { path }, onUpdate) => {
    onUpdate(says("reading"));
    return says(await readFile(path, "utf8"));
  }),
  tool("flood", async (_id, { updates, bytes, path }, onUpdate) => {
    const padding = "x".repeat(bytes);
    for (let number = 1; number <= updates; number++) onUpdate(says(`${number} ${padding}`));
    if (path) await writeFile(path, "done");
    return says("flooded");
  }),
];
"#;

/// A `haft rpc` and its messages.
struct Peer {
    child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    lines: Option<Receiver<Value>>,
    sandbox: Sandbox,
}

impl Peer {
    /// Starts a peer that reads.
    fn start() -> Peer {
        let mut peer = Peer::silent();
        peer.listen();
        peer
    }

    /// Starts a peer that does not read yet.
    fn silent() -> Peer {
        Peer::silent_in(Sandbox::with_home())
    }

    fn silent_in(sandbox: Sandbox) -> Peer {
        sandbox.write("tools.ts", TOOLS);
        let mut child = sandbox
            .haft()
            .args(["--tool", "tools.ts", "rpc"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("haft starts");
        Peer {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            lines: None,
            sandbox,
        }
    }

    /// Starts to read the output, and checks that every line is one JSON value.
    fn listen(&mut self) {
        let stdout = self.stdout.take().expect("nobody reads yet");
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("UTF-8");
                let message = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not JSON: {error}: {line}"));
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes).expect("haft reads");
        stdin.write_all(b"\n").expect("haft reads");
    }

    fn request(&mut self, id: impl Into<Value>, method: &str, params: Value) {
        let id: Value = id.into();
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw(message.to_string().as_bytes());
    }

    /// Sends a `tools/call` whose `callId` is its id.
    fn call(&mut self, id: u64, name: &str, arguments: Value) {
        self.request(
            id,
            "tools/call",
            json!({"name": name, "arguments": arguments}),
        );
    }

    fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.raw(message.to_string().as_bytes());
    }

    /// Returns the next message.
    fn next(&mut self) -> Value {
        self.next_if_any().expect("haft says something")
    }

    /// Returns the next message; `None` at the end of the output.
    fn next_if_any(&mut self) -> Option<Value> {
        let lines = self.lines.as_ref().expect("somebody reads");
        match lines.recv_timeout(TEST_TIMEOUT) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("haft says nothing and does not end"),
        }
    }

    /// Expects this update as the next message.
    fn hears(&mut self, text: &str) {
        let message = self.next();
        assert_eq!(message["method"], "tools/update", "{message}");
        let update = &message["params"]["partialResult"]["content"][0]["text"];
        assert_eq!(update, text, "{message}");
    }

    /// Starts a call that reports when it runs, and waits for that.
    fn call_and_listen(&mut self, id: u64, name: &str, arguments: Value, text: &str) {
        self.call(id, name, arguments);
        self.hears(text);
    }

    /// Closes the input.
    fn hang_up(&mut self) {
        self.stdin = None;
    }

    fn signal(&self) {
        kill_process(self.pid(), Signal::TERM).expect("it is still there");
    }

    fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Returns the remaining messages and the exit code.
    fn end(mut self) -> (Vec<Value>, Option<i32>) {
        let mut rest = Vec::new();
        while let Some(message) = self.next_if_any() {
            rest.push(message);
        }
        self.stdin = None;
        let status = self.child.wait().expect("it is our child");
        (rest, status.code())
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // A test that failed half-way leaves nothing behind; one that passed has waited for it.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn text(message: &Value) -> &str {
    message["result"]["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {message}"))
}

fn code(message: &Value) -> i64 {
    message["error"]["code"]
        .as_i64()
        .unwrap_or_else(|| panic!("no error: {message}"))
}

// ---- Invalid requests.

#[test]
fn malformed_lines_are_answered_and_hold_up_nothing() {
    let mut peer = Peer::start();
    let bad: [(&[u8], i64, Value); 12] = [
        (b"{\"a\":", -32700, Value::Null),
        (b"\xFF\xFE", -32700, Value::Null),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/list\"} x",
            -32700,
            Value::Null,
        ),
        (b"[]", -32600, Value::Null),
        (b"1", -32600, Value::Null),
        (b"{\"id\":7}", -32600, json!(7)),
        (
            b"{\"jsonrpc\":\"1.0\",\"id\":8,\"method\":\"tools/list\"}",
            -32600,
            json!(8),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":9,\"method\":5}",
            -32600,
            json!(9),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":{},\"method\":\"tools/list\"}",
            -32600,
            Value::Null,
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":\"x\",\"method\":\"tools/lst\"}",
            -32601,
            json!("x"),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":10,\"method\":\"tools/call\",\"params\":[1]}",
            -32602,
            json!(10),
        ),
        (
            b"{\"jsonrpc\":\"2.0\",\"id\":11,\"method\":\"tools/call\",\"params\":{}}",
            -32602,
            json!(11),
        ),
    ];
    for (line, expected, id) in bad {
        peer.raw(line);
        let answer = peer.next();
        let shown = String::from_utf8_lossy(line);
        assert_eq!((code(&answer), &answer["id"]), (expected, &id), "{shown}");
    }
    peer.call(12, "echo", json!({"text": "well"}));
    assert_eq!(text(&peer.next()), "well");
}

#[test]
fn what_asks_for_no_answer_gets_none() {
    let mut peer = Peer::start();
    peer.raw(b"");
    peer.raw(b"  \r");
    peer.raw(br#"{"jsonrpc":"2.0","method":"nope"}"#);
    peer.raw(br#"{"jsonrpc":"2.0","id":1,"result":5}"#);
    peer.raw(br#"[{"jsonrpc":"2.0","method":"nope"}]"#);
    peer.notify(
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "unheard"}}),
    );
    peer.notify("tools/cancel", json!({"callId": "nobody"}));
    peer.call(1, "echo", json!({"text": "first"}));
    let answer = peer.next();
    assert_eq!((&answer["id"], text(&answer)), (&json!(1), "first"));
}

#[test]
fn deep_nesting_neither_ends_nor_confuses_it() {
    let mut peer = Peer::start();
    peer.raw("[".repeat(100_000).as_bytes());
    assert_eq!(code(&peer.next()), -32700);
    let (open, close) = ("[".repeat(100_000), "]".repeat(100_000));
    let deep = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"t","d":{open}{close}}}}}}}"#
    );
    peer.raw(deep.as_bytes());
    peer.next();
    peer.call(2, "echo", json!({"text": "well"}));
    assert_eq!(text(&peer.next()), "well");
}

#[test]
fn a_batch_is_answered_in_one_array_in_the_order_of_its_requests() {
    let mut peer = Peer::start();
    let batch = json!([
        {"jsonrpc": "2.0", "id": 1, "method": "nope"},
        5,
        {"jsonrpc": "2.0", "method": "nope"},
        {"jsonrpc": "2.0", "id": "b", "method": "tools/call",
         "params": {"name": "meet", "arguments": {"party": 2}}},
        {"jsonrpc": "2.0", "id": 1.50, "method": "tools/call",
         "params": {"name": "meet", "arguments": {"party": 2}}},
    ]);
    // Each of the two waits for the other, so they run at the same time.
    peer.raw(batch.to_string().as_bytes());
    let answers = peer.next();
    let ids: Vec<&Value> = (0..4).map(|index| &answers[index]["id"]).collect();
    assert_eq!(answers.as_array().map(Vec::len), Some(4), "{answers}");
    assert_eq!(ids, [&json!(1), &Value::Null, &json!("b"), &json!(1.5)]);
    assert_eq!((code(&answers[0]), code(&answers[1])), (-32601, -32600));
    assert_eq!(text(&answers[3]), "met 2");
}

// ---- Length.

#[test]
fn a_line_of_60_mb_arrives_whole() {
    let mut peer = Peer::start();
    peer.call(1, "length", json!({"text": "x".repeat(60 << 20)}));
    assert_eq!(text(&peer.next()), (60 << 20).to_string());
}

#[test]
fn a_line_of_70_mb_is_skipped_and_the_next_is_read() {
    let mut peer = Peer::start();
    peer.call(1, "length", json!({"text": "x".repeat(70 << 20)}));
    let answer = peer.next();
    assert_eq!((code(&answer), &answer["id"]), (-32600, &Value::Null));
    peer.call(2, "length", json!({"text": "xyz"}));
    assert_eq!(text(&peer.next()), "3");
}

// ---- Many at once.

#[test]
fn two_hundred_calls_run_at_the_same_time() {
    let mut peer = Peer::start();
    // Not one of them ends before all of them have started.
    for id in 0..200 {
        peer.call(id, "meet", json!({"party": 200}));
    }
    let mut ids: Vec<u64> = (0..200)
        .map(|_| {
            let answer = peer.next();
            assert_eq!(text(&answer), "met 200");
            answer["id"].as_u64().expect("as sent")
        })
        .collect();
    ids.sort_unstable();
    assert!(ids.into_iter().eq(0..200));
}

#[test]
fn a_call_id_is_taken_until_its_call_has_ended() {
    let mut peer = Peer::start();
    let call = json!({"name": "wait", "callId": "mine"});
    peer.request(1, "tools/call", call.clone());
    peer.hears("waiting");
    peer.request(2, "tools/call", call.clone());
    let refused = peer.next();
    assert_eq!((&refused["id"], code(&refused)), (&json!(2), -32602));
    peer.notify("tools/cancel", json!({"callId": "mine"}));
    assert_eq!(peer.next()["result"]["stopped"], "cancelled");
    peer.request(3, "tools/call", call);
    peer.hears("waiting");
}

#[test]
fn a_running_call_holds_up_nothing() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.request(2, "tools/list", json!({}));
    let listed = peer.next();
    assert_eq!(listed["id"], 2);
    assert_eq!(listed["result"]["tools"].as_array().map(Vec::len), Some(9));
}

// ---- Stopping.

#[test]
fn a_cancel_on_the_next_line_finds_the_call() {
    let mut peer = Peer::start();
    // Before the tool is loaded, and again once it is.
    for id in [1, 2] {
        peer.call(id, "wait", json!({}));
        peer.request("c", "tools/cancel", json!({"callId": id.to_string()}));
        let mut answers = vec![peer.next(), peer.next()];
        // The update may come before or after the cancellation.
        answers.retain(|message| message.get("id").is_some());
        while answers.len() < 2 {
            answers.push(peer.next());
        }
        let found = answers.iter().find(|answer| answer["id"] == "c");
        assert_eq!(
            found.expect("answered")["result"],
            json!({"cancelled": true})
        );
        let ended = answers.iter().find(|answer| answer["id"] == id);
        let ended = ended.expect("the call is answered");
        let stopped = [
            &ended["result"]["stopped"],
            &ended["error"]["data"]["stopped"],
        ];
        assert!(stopped.contains(&&json!("cancelled")), "{ended}");
    }
    peer.request(3, "tools/cancel", json!({"callId": "nobody"}));
    assert_eq!(peer.next()["result"], json!({"cancelled": false}));
}

#[test]
fn a_cancelled_call_gives_what_the_tool_returns() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.notify("tools/cancel", json!({"callId": "1"}));
    let answer = peer.next();
    assert_eq!(text(&answer), "asked to stop");
    assert_eq!(answer["result"]["stopped"], "cancelled");
    // A tool that still returns keeps its result (spec omp 8).
    assert_eq!(answer["result"]["isError"], false);
}

#[test]
fn a_deadline_is_for_one_call() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.request(2, "tools/call", json!({"name": "wait", "timeoutMs": 50}));
    peer.hears("waiting");
    let answer = peer.next();
    assert_eq!(answer["id"], 2);
    assert_eq!(answer["result"]["stopped"], "deadline");
    peer.notify("tools/cancel", json!({"callId": "1"}));
    assert_eq!(peer.next()["result"]["stopped"], "cancelled");
}

// ---- Drawings.

#[test]
fn a_peer_with_a_terminal_has_calls_and_results_drawn() {
    let mut peer = Peer::start();
    let mut drawn = |params: Value| {
        peer.request(1, "tools/render", params);
        peer.next()
    };
    let call = json!({"name": "echo", "arguments": {"text": "hi"}, "width": 40});
    let by_host = json!({"lines": ["echo  text: hi"], "isFramed": false, "isOwn": false});
    assert_eq!(drawn(call)["result"], by_host);

    let painted = json!({"name": "painted", "arguments": {"a": 1}, "width": 20, "margin": 2, "screen": {"colors": "256"}});
    let own =
        json!({"lines": ["\u{1b}[1mpainted 1 18\u{1b}[22m"], "isFramed": false, "isOwn": true});
    assert_eq!(drawn(painted)["result"], own);

    let content = json!([{"type": "text", "text": "one\ntwo"}]);
    let result = json!({"name": "painted", "width": 20, "result": {"content": content}});
    let answer = drawn(result);
    assert_eq!(answer["result"]["lines"], json!(["one", "two"]));
    let problem = &answer["result"]["problem"]["message"];
    assert_eq!(problem, "`renderResult` of `painted` failed: no ink");

    assert_eq!(code(&drawn(json!({"name": "nobody", "width": 20}))), -32001);
    assert_eq!(code(&drawn(json!({"name": "echo"}))), -32602);
    let odd = json!({"name": "echo", "width": 20, "screen": {"colors": "many"}});
    assert_eq!(code(&drawn(odd)), -32602);
}

// ---- Order.

#[test]
fn session_events_reach_the_tools_in_their_order() {
    let mut peer = Peer::start();
    for number in 0..100 {
        let event = json!({"event": {"reason": "start", "number": number}});
        peer.request(number, "session/event", event);
    }
    for _ in 0..100 {
        assert_eq!(peer.next()["result"], Value::Null);
    }
    peer.call(100, "heard", json!({}));
    let expected: Vec<String> = (0..100).map(|number| number.to_string()).collect();
    assert_eq!(text(&peer.next()), expected.join(" "));
}

#[test]
fn updates_come_in_order_and_before_the_answer() {
    let mut peer = Peer::start();
    peer.call(1, "flood", json!({"updates": 300, "bytes": 10}));
    for number in 1..=300 {
        peer.hears(&format!("{number} xxxxxxxxxx"));
    }
    assert_eq!(text(&peer.next()), "flooded");
}

// ---- The end.

#[test]
fn shutdown_answers_what_runs_and_then_itself() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.request(2, "shutdown", Value::Null);
    let told = Instant::now();
    let (rest, code) = peer.end();
    assert!(
        told.elapsed() < Duration::from_secs(4),
        "{:?}",
        told.elapsed()
    );
    assert_eq!(code, Some(0));
    let ids: Vec<&Value> = rest.iter().map(|message| &message["id"]).collect();
    assert_eq!(ids, [&json!(1), &json!(2)], "{rest:?}");
    assert_eq!(rest[0]["result"]["stopped"], "cancelled");
    assert_eq!(rest[1]["result"], Value::Null);
}

#[test]
fn a_call_may_finish_after_the_end_of_the_input() {
    let mut peer = Peer::start();
    let path = peer.sandbox.fifo("answer");
    peer.call_and_listen(1, "read", json!({"path": path}), "reading");
    peer.hang_up();
    std::fs::write(&path, "late but read").expect("the tool reads");
    let (rest, code) = peer.end();
    assert_eq!(code, Some(0));
    assert_eq!(text(&rest[0]), "late but read");
}

#[test]
fn five_seconds_after_the_end_of_the_input_calls_are_cancelled() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.hang_up();
    let hung_up = Instant::now();
    let (rest, code) = peer.end();
    let waited = hung_up.elapsed();
    assert_eq!(code, Some(0));
    assert_eq!(rest[0]["result"]["stopped"], "cancelled");
    assert!(waited >= Duration::from_secs(5), "{waited:?}");
    assert!(waited < Duration::from_secs(9), "{waited:?}");
}

#[test]
fn an_input_that_ends_at_once_is_no_error() {
    let mut peer = Peer::start();
    peer.hang_up();
    assert_eq!(peer.end(), (Vec::new(), Some(0)));
    let mut peer = Peer::start();
    peer.request(1, "tools/list", Value::Null);
    peer.hang_up();
    let (rest, code) = peer.end();
    assert_eq!((rest.len(), code), (1, Some(0)));
}

#[test]
fn a_signal_cancels_and_ends_it() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "wait", json!({}), "waiting");
    peer.signal();
    let (rest, code) = peer.end();
    assert_eq!(code, Some(0));
    assert_eq!(rest[0]["result"]["stopped"], "cancelled");
}

#[test]
fn a_second_signal_waits_for_nothing() {
    let mut peer = Peer::start();
    peer.call_and_listen(1, "deaf", json!({}), "waiting");
    peer.signal();
    peer.hears("heard it");
    peer.signal();
    assert_eq!(peer.end().1, Some(130));
}

#[test]
fn a_peer_that_has_gone_ends_it() {
    let mut peer = Peer::silent();
    let path = peer.sandbox.fifo("flooded");
    peer.call(
        1,
        "flood",
        json!({"updates": 2000, "bytes": 10_000, "path": path}),
    );
    // The output has no reader any more; the input stays open, as with a host that hangs.
    drop(peer.stdout.take());
    let status = peer.child.wait().expect("it is our child");
    assert_eq!(status.code(), Some(0));
}

#[test]
fn a_peer_that_reads_nothing_costs_bounded_memory_and_loses_only_old_updates() {
    const UPDATES: usize = 6000;
    const BYTES: usize = 64 << 10;
    let mut peer = Peer::silent();
    let path = peer.sandbox.fifo("flooded");
    let flood = json!({"updates": UPDATES, "bytes": BYTES, "path": path});
    peer.call(1, "flood", flood);
    let mut done = String::new();
    let mut fifo = File::open(&path).expect("the tool writes at its end");
    fifo.read_to_string(&mut done).expect("the tool writes");
    assert_eq!(done, "done");
    let peak = peak_memory(peer.pid());
    assert!(
        peak < UPDATES * BYTES / 2 + (150 << 20),
        "{} MB",
        peak >> 20
    );

    peer.listen();
    let mut last = 0;
    let mut read = 0;
    let answer = loop {
        let message = peer.next();
        if message.get("id").is_some() {
            break message;
        }
        let update = &message["params"]["partialResult"]["content"][0]["text"];
        let number = update.as_str().and_then(|text| text.split(' ').next());
        let number: usize = number.and_then(|n| n.parse().ok()).expect("a number");
        assert!(number > last, "{number} after {last}");
        (last, read) = (number, read + 1);
    };
    assert_eq!(text(&answer), "flooded");
    assert_eq!(last, UPDATES, "the newest is never lost");
    assert!(
        read < UPDATES,
        "{read} were kept for a peer that reads nothing"
    );
}

/// Returns the peak memory of the process in bytes.
fn peak_memory(pid: Pid) -> usize {
    let path = format!("/proc/{}/status", pid.as_raw_nonzero());
    let status = std::fs::read_to_string(path).expect("Linux");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kib = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kib: Option<usize> = kib.and_then(|kib| kib.parse().ok());
    kib.expect("a number") << 10
}

// ---- Files that change.

#[test]
fn the_peer_is_notified_of_changed_files() {
    let mut peer = Peer::start();
    peer.request(1, "tools/list", json!({}));
    let listed = peer.next();
    let tools = listed["result"]["tools"].as_array().expect("tools").len();
    let changed = TOOLS.replace("tool(\"heard\"", "tool(\"new_name\"");
    peer.sandbox.write("tools.ts", &changed);
    let told = peer.next();
    assert_eq!(told["method"], "tools/changed", "{told}");
    let params = &told["params"];
    assert_eq!(params["generation"], 1, "{told}");
    assert_eq!(params["added"], json!(["new_name"]), "{told}");
    assert_eq!(params["removed"], json!(["heard"]), "{told}");
    peer.call(2, "new_name", json!({}));
    assert_eq!(text(&peer.next()), "");
    peer.sandbox.write("tools.ts", "export default (\n");
    let told = peer.next();
    assert_eq!(told["method"], "tools/changed", "{told}");
    assert_eq!(told["params"]["generation"], Value::Null, "{told}");
    assert_eq!(told["params"]["problems"][0]["severity"], "error", "{told}");
    peer.request(3, "tools/list", json!({}));
    let listed = peer.next();
    assert_eq!(
        listed["result"]["tools"].as_array().expect("tools").len(),
        tools
    );
    peer.hang_up();
    assert_eq!(peer.end(), (vec![], Some(0)));
}

#[test]
fn a_permit_counts_without_a_restart() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "home/.config/haft/config.yaml",
        "profiles: {closed: {extends: full, read: none}}\nsandbox: {user: closed}\n",
    );
    sandbox.write("data", "the data");
    let mut peer = Peer::silent_in(sandbox);
    peer.listen();
    let path = json!({"path": peer.sandbox.path().join("data")});
    // From then on the files are watched.
    peer.request(0, "tools/list", json!({}));
    peer.next();
    peer.call_and_listen(1, "read", path.clone(), "reading");
    let refused = peer.next();
    assert!(text(&refused).contains("`read` access to"), "{refused}");
    let ran = peer
        .sandbox
        .sh("haft --tool tools.ts permit read --allow read=data");
    assert_eq!(ran.code, 0, "{}", ran.output);
    let told = peer.next();
    assert_eq!(told["method"], "tools/changed", "{told}");
    let reloaded = told["params"]["reloaded"].as_array().expect("names");
    assert!(reloaded.contains(&json!("read")), "{told}");
    peer.call_and_listen(2, "read", path, "reading");
    assert_eq!(text(&peer.next()), "the data");
    peer.hang_up();
    assert_eq!(peer.end(), (vec![], Some(0)));
}

// ---- Code mode.

#[test]
fn a_script_is_a_call_whose_calls_the_peer_approves() {
    let mut peer = Peer::start();
    peer.request(1, "initialize", json!({"capabilities": {"approval": true}}));
    peer.next();
    let code = "(await Promise.all([1, 2].map((n) => tools.echo({ text: args.text + n })))).join()";
    let params = json!({"code": code, "args": {"text": "x"}, "callId": "s"});
    peer.request(2, "code/run", params);
    peer.hears("1 call, now: echo");
    let question = peer.next();
    assert_eq!(question["method"], "approval/ask", "{question}");
    let asked = &question["params"];
    assert_eq!(
        (&asked["callId"], &asked["tool"]),
        (&json!("s"), &json!("echo"))
    );
    assert_eq!(asked["arguments"], json!([{"text": "x1"}, {"text": "x2"}]));
    let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"decision": "approve"}});
    peer.raw(answer.to_string().as_bytes());
    let result = peer.next();
    assert_eq!(text(&result), "x1,x2");
    assert_eq!(result["result"]["details"]["value"], "x1,x2");
    peer.request(
        3,
        "code/search",
        json!({"query": "echo", "detail": "names"}),
    );
    assert_eq!(text(&peer.next()), "1 of 9 tools:\n\necho: echo");
    // Cancelling the script cancels its calls.
    peer.request(
        4,
        "code/run",
        json!({"code": "await tools.wait()", "callId": "w"}),
    );
    peer.hears("1 call, now: wait");
    let question = peer.next();
    assert_eq!(question["params"]["tool"], "wait");
    peer.notify("tools/cancel", json!({"callId": "w"}));
    let mut ended = peer.next();
    while ended["id"] != 4 {
        ended = peer.next();
    }
    assert_eq!(ended["result"]["stopped"], "cancelled", "{ended}");
    peer.request(5, "code/run", json!({"cod": "1"}));
    assert_eq!(self::code(&peer.next()), -32602);
}
