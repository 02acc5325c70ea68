//! Standard input and output with clients that misbehave: no answer is lost, no process is left.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, mcp_2026, text};

/// Time limit for haft's exit.
const END: Duration = Duration::from_secs(2);

const TOOLS: &str = r#"
import { writeSync } from "node:fs";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });

let waiting = [];
let aborted = [];

export default (pi) => [
  tool("length", async (_id, { text }) => says(String(text.length))),
  tool("long", async (_id, { bytes }) => says("y".repeat(bytes))),
  tool("loud", async () => {
    console.log('{"jsonrpc":"2.0","id":1,"result":{}}');
    process.stdout.write("not a message\n");
    writeSync(1, "nor this\n");
    return says("said");
  }),
  tool("fails", async () => { throw new Error("no luck"); }),
  tool("patient", (_id, { name }, _onUpdate, _ctx, signal) => new Promise((resolve) => {
    signal.addEventListener("abort", () => { aborted.push(name); resolve(says("too late")); });
  })),
  tool("aborted", async () => says(aborted.join())),
  // Ends when so many of them run at the same time.
  tool("meet", (_id, { party, number }) => new Promise((resolve) => {
    waiting.push(() => resolve(says(String(number))));
    if (waiting.length === party) for (const end of waiting.splice(0)) end();
  })),
  tool("sleep", async (_id, { file }, onUpdate, _ctx, signal) => {
    // Neither the shell nor its child ends by itself.
    const running = pi.exec("sh", ["-c", `trap '' TERM; sleep 1000 & echo $! $$ > ${file}.new; mv ${file}.new ${file}; wait; wait`]);
    const { stat } = await import("node:fs/promises");
    while (!(await stat(file).catch(() => null))) await new Promise((resolve) => setTimeout(resolve, 5));
    onUpdate(says("sleeping"));
    await running;
    return says("woken");
  }),
  tool("flood", async (_id, { updates, bytes }, onUpdate) => {
    const padding = "x".repeat(bytes);
    for (let number = 1; number <= updates; number++) {
      onUpdate(says(`${number} ${padding}`));
      await null;
    }
    return says("flooded");
  }),
];
"#;

/// Asserts that the processes whose ids a tool wrote are gone.
fn are_gone(client: &Client, file: &str) {
    let path = client.sandbox.path().join(file);
    let ids = fs::read_to_string(path).expect("the tool wrote it");
    for id in ids.split_whitespace() {
        // An orphan stays a zombie until the machine's first process reaps it.
        let stat = fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
        let state = stat.rsplit(')').next().unwrap_or_default().trim_start();
        assert!(
            state.is_empty() || state.starts_with('Z'),
            "{id} is left: {stat}"
        );
    }
}

#[test]
fn garbage_is_answered_and_passed_over() {
    let mut client = Client::silent(TOOLS, &[]);
    // All of this comes too early.
    client.notify("notifications/initialized", json!({}));
    client.raw(br#"{"jsonrpc":"2.0","id":9,"result":{}}"#);
    let refused = client.ask("tools/list", json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
    client.initialize(json!({}));
    let cases: [(&[u8], i64); 9] = [
        (b"garbage", -32700),
        (br#"{"jsonrpc":"2.0","id":1"#, -32700),
        (b"\xff\xfe{}", -32700),
        (b"[]", -32600),
        (b"5", -32600),
        (b"{}", -32600),
        (br#"{"id":7,"method":"tools/list"}"#, -32600),
        (
            br#"{"jsonrpc":"2.0","id":{},"method":"tools/list"}"#,
            -32600,
        ),
        (
            br#"{"jsonrpc":"2.0","id":7,"method":"tools/list","params":5}"#,
            -32600,
        ),
    ];
    for (line, code) in cases {
        client.raw(line);
        let answer = client.next();
        assert_eq!(
            answer["error"]["code"],
            code,
            "{}: {answer}",
            String::from_utf8_lossy(line)
        );
    }
    client.raw(b"");
    client.raw(b"  \r");
    assert_eq!(text(&client.call("length", json!({"text": "abc"}))), "3");
}

#[test]
fn half_messages_are_waited_for_and_huge_ones_survive() {
    let mut client = Client::old(TOOLS, json!({}));
    client.part(br#"{"jsonrpc":"2.0","id":100,"method":"#);
    client.part(br#""ping"}"#);
    client.raw(b"");
    assert_eq!(
        client.next(),
        json!({"jsonrpc": "2.0", "id": 100, "result": {}})
    );
    let bytes = 20 << 20;
    let result = client.call("length", json!({"text": "x".repeat(bytes)}));
    assert_eq!(text(&result), bytes.to_string());
    // A line beyond every limit is skipped, and the next line is read.
    client.raw(&vec![b'x'; (64 << 20) + 1]);
    assert_eq!(client.next()["error"]["code"], -32600);
    assert_eq!(text(&client.call("length", json!({"text": "abc"}))), "3");
}

#[test]
fn a_batch_is_several_messages() {
    let mut client = Client::old(TOOLS, json!({}));
    client.raw(br#"[{"jsonrpc":"2.0","id":50,"method":"ping"},5,{"jsonrpc":"2.0","id":51,"method":"ping"}]"#);
    let mut answers = [client.next(), client.next(), client.next()].map(|answer| {
        let code = &answer["error"]["code"];
        if code.is_null() {
            answer["id"].clone()
        } else {
            code.clone()
        }
    });
    answers.sort_by_key(Value::as_i64);
    assert_eq!(answers, [json!(-32600), json!(50), json!(51)]);
}

#[test]
fn what_tools_print_stays_out_of_the_protocol() {
    let mut client = Client::old(TOOLS, json!({}));
    assert_eq!(text(&client.call("loud", json!({}))), "said");
    client.hang_up();
    assert_eq!(client.next_if_any(), None);
}

#[test]
fn two_hundred_calls_run_at_once() {
    let mut client = Client::old(TOOLS, json!({}));
    let party = 200;
    let ids: Vec<u64> = (0..party)
        .map(|number| client.start("meet", json!({"party": party, "number": number})))
        .collect();
    let mut answered = vec![false; party];
    for _ in 0..party {
        let answer = client.next();
        let place = ids
            .iter()
            .position(|id| answer["id"] == *id)
            .expect("one of ours");
        assert_eq!(text(&answer["result"]), place.to_string());
        answered[place] = true;
    }
    assert!(answered.iter().all(|answered| *answered));
}

#[test]
fn a_call_that_asks_for_nothing_is_answered_as_any_other() {
    let mut client = Client::old(TOOLS, json!({}));
    for call in [
        json!({"name": "length", "arguments": {"text": "four"}}),
        json!({"name": "length", "arguments": null}),
        json!({"name": "aborted"}),
        json!({"name": "fails", "arguments": {}}),
        json!({"name": "lenght", "arguments": {}}),
        json!({"name": "length", "arguments": ["x"]}),
        json!({"name": 7}),
    ] {
        let mut plain = client.ask("tools/call", call.clone());
        let mut marked = call.clone();
        marked["_meta"] = json!({"client/mark": 1});
        let mut marked = client.ask("tools/call", marked);
        let mut watched = call.clone();
        watched["_meta"] = json!({"progressToken": "t"});
        let mut watched = client.ask("tools/call", watched);
        for answer in [&mut plain, &mut marked, &mut watched] {
            answer["id"].take();
        }
        assert_eq!(plain, watched, "{call}");
        assert_eq!(marked, watched, "{call}");
    }
    client.raw(br#"{"jsonrpc":"2.0","id":"a text","method":"tools/call","params":{"name":"length","arguments":{"text":"x"}}}"#);
    let answer = client.next();
    assert_eq!(answer["id"], "a text");
    assert_eq!(text(&answer["result"]), "1");
}

#[test]
fn a_plain_call_that_is_taken_back_stops_and_is_not_answered() {
    let mut client = Client::old(TOOLS, json!({}));
    client.ask("tools/list", json!({}));
    for name in ["first", "second"] {
        // The id is free again as soon as its call is cancelled.
        client.raw(format!(r#"{{"jsonrpc":"2.0","id":900,"method":"tools/call","params":{{"name":"patient","arguments":{{"name":"{name}"}}}}}}"#).as_bytes());
        // It runs once a later call has run.
        client.ask("tools/call", json!({"name": "aborted"}));
        client.notify("notifications/cancelled", json!({"requestId": 900}));
    }
    let answer = loop {
        let answer = client.ask("tools/call", json!({"name": "aborted"}));
        if text(&answer["result"]).contains("second") {
            break answer;
        }
    };
    assert_eq!(text(&answer["result"]), "first,second");
    client.hang_up();
    while let Some(message) = client.next_if_any() {
        assert_ne!(message["id"], 900, "{message}");
    }
    assert!(client.ends_within(END).success());
}

#[test]
fn an_id_that_is_taken_is_refused() {
    let mut client = Client::old(TOOLS, json!({}));
    let id = client.start("meet", json!({"party": 2, "number": 1}));
    let same = json!({"jsonrpc": "2.0", "id": id, "method": "ping"});
    client.raw(same.to_string().as_bytes());
    let refused = client.next();
    assert_eq!(refused["error"]["code"], -32600, "{refused}");
    client.start("meet", json!({"party": 2, "number": 2}));
    assert_eq!(text(&client.answer(id)["result"]), "1");
}

#[test]
fn a_client_that_does_not_read_loses_no_answer() {
    let mut client = Client::silent(TOOLS, &[]);
    // The client does not read yet; a pipe holds 64 KB.
    let meta = |token: Option<&str>| {
        let mut meta = mcp_2026(json!({}));
        if let Some(token) = token {
            meta["progressToken"] = token.into();
        }
        meta
    };
    let flood = json!({"updates": 2000, "bytes": 20_000});
    let params = json!({"name": "flood", "arguments": flood, "_meta": meta(Some("f"))});
    let flood = client.request("tools/call", params);
    let params = json!({"name": "long", "arguments": {"bytes": 40_000}, "_meta": meta(None)});
    let long: Vec<u64> = (0..50)
        .map(|_| client.request("tools/call", params.clone()))
        .collect();
    let mut left: Vec<u64> = long.into_iter().chain([flood]).collect();
    let (mut last, mut updates) = (0.0, 0);
    while !left.is_empty() {
        let message = client.next();
        if let Some(progress) = message["params"]["progress"].as_f64() {
            assert!(progress > last, "{last} is followed by {progress}");
            (last, updates) = (progress, updates + 1);
        } else {
            let id = message["id"].as_u64().expect("an answer");
            left.retain(|open| *open != id);
        }
    }
    assert!(updates > 0);
}

#[test]
fn what_was_asked_before_the_end_of_the_input_is_answered() {
    let mut client = Client::silent(TOOLS, &[]);
    let meta = mcp_2026(json!({}));
    let params = json!({"name": "length", "arguments": {"text": "abc"}, "_meta": meta});
    // The time after the end of the input is short for the first start of a worker process.
    client.ask("tools/call", params.clone());
    client.request("tools/call", params);
    client.hang_up();
    assert_eq!(text(&client.next()["result"]), "3");
    assert_eq!(client.next_if_any(), None);
    assert!(client.ends_within(TEST_TIMEOUT).success());
}

#[test]
fn the_end_of_the_input_ends_calls_and_their_children() {
    let mut client = Client::old(TOOLS, json!({}));
    client.start("sleep", json!({"file": "ids"}));
    assert_eq!(client.update(), "sleeping");
    client.hang_up();
    assert!(client.ends_within(END).success());
    are_gone(&client, "ids");
}

#[test]
fn a_signal_ends_calls_and_their_children() {
    let mut client = Client::old(TOOLS, json!({}));
    client.start("sleep", json!({"file": "ids"}));
    assert_eq!(client.update(), "sleeping");
    let pid = Pid::from_child(&client.child);
    kill_process(pid, Signal::TERM).expect("it runs");
    let status = client.ends_within(END);
    assert_eq!(status.signal(), None);
    are_gone(&client, "ids");
}

#[test]
fn a_client_that_goes_away_ends_it() {
    let mut client = Client::silent(TOOLS, &[]);
    client.hang_up();
    assert!(client.ends_within(END).success());

    let mut client = Client::old(TOOLS, json!({}));
    client.start("sleep", json!({"file": "ids"}));
    assert_eq!(client.update(), "sleeping");
    client.part(br#"{"jsonrpc":"2.0","id":1,"me"#);
    client.hang_up();
    assert!(client.ends_within(END).success());
    are_gone(&client, "ids");
}

#[test]
fn a_handshake_is_answered_before_what_comes_after_it() {
    let mut client = Client::silent(TOOLS, &[]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    // In one write, while the tools of the first answer still load.
    let begin = client.request("initialize", params);
    client.notify("notifications/initialized", json!({}));
    let call = client.request("tools/call", json!({"name": "aborted", "arguments": {}}));
    let list = client.request("tools/list", json!({}));
    let first = client.next();
    assert_eq!(first["id"], begin, "{first}");
    let rest = [client.next(), client.next()];
    for id in [call, list] {
        assert!(rest.iter().any(|answer| answer["id"] == id), "{rest:?}");
    }
}

/// haft does not wait for clients that give up while a module still loads.
#[test]
fn the_end_of_the_input_ends_a_handshake_that_waits_for_tools() {
    let mut client = Client::silent("await new Promise(() => {});", &[]);
    let params = json!({
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    });
    client.request("initialize", params);
    client.hang_up();
    assert!(client.ends_within(Duration::from_secs(4)).success());
}
