//! Tools of a program that haft calls over JSON-RPC: `tools/register`, `program/call`, `--rpc-fd`.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;

use rustix::io::{FdFlags, fcntl_setfd};
use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, text};
use crate::sandbox::Sandbox;
use crate::served::Reply;

/// A found tool beside those of the program.
const TOOLS: &str = r#"
export default () => ({ name: "found", description: "Found", parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: "found it" }] }) });
"#;

/// The greeting tool of a program.
fn greet() -> Value {
    json!({
        "name": "greet", "label": "Greet", "description": "Greets.", "approval": "read",
        "parameters": {
            "type": "object",
            "properties": {"name": {"type": "string"}, "n": {"type": "number"}},
            "required": ["name"],
        },
    })
}

fn plain(name: &str) -> Value {
    json!({"name": name, "description": name, "approval": "read"})
}

fn says(text: &str) -> Value {
    json!({"content": [{"type": "text", "text": text}]})
}

/// A `haft rpc` whose peer offers these tools.
fn offering(tools: &[Value]) -> Client {
    let mut client = silent();
    let answer = client.ask("tools/register", json!({"tools": tools}));
    assert_eq!(answer["result"]["problems"], json!([]), "{answer}");
    client
}

fn silent() -> Client {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    Client::of(sandbox, &["rpc"])
}

/// Registers tools. Returns the answer and the notification of the change, which come in any order:
/// the watcher of the files may see the change first.
fn register(client: &mut Client, tools: Value) -> (Value, Value) {
    client.request("tools/register", json!({"tools": tools}));
    let (first, second) = (client.next(), client.next());
    if first["method"] == "tools/changed" {
        (second, first)
    } else {
        (first, second)
    }
}

/// Starts a call of a tool of the peer. Returns the id of the call and haft's request.
fn begin(client: &mut Client, name: &str, arguments: Value) -> (u64, Value) {
    let params = json!({"name": name, "arguments": arguments});
    let id = client.request("tools/call", params);
    let mut request = client.next();
    // The change by a registration may be reported after its answer.
    while request["method"] == "tools/changed" {
        request = client.next();
    }
    assert_eq!(request["method"], "program/call", "{request}");
    (id, request)
}

/// The names of the tools that a client lists.
fn names(listed: &Value) -> Vec<&str> {
    let tools = listed["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.map(|name| name.expect("a name")).collect()
}

// ---- Registration.

#[test]
fn registered_tools_are_listed_first_called_and_replaced() {
    let mut client = silent();
    let before = client.ask("tools/list", json!({}));
    assert_eq!(names(&before), ["found"]);
    let (answer, changed) = register(&mut client, json!([greet()]));
    assert_eq!(
        changed["params"],
        json!({"generation": 1, "added": ["greet"], "removed": [], "changed": [],
            "reloaded": [], "problems": [], "solved": []})
    );
    assert_eq!(
        answer["result"],
        json!({"tools": ["greet"], "problems": []})
    );
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(
        listed["result"]["tools"][0],
        json!({
            "name": "greet", "label": "Greet", "description": "Greets.", "family": "native",
            "provider": "sdk", "providerName": "SDK", "level": "host", "path": "sdk",
            "inputSchema": greet()["parameters"], "approval": "read", "hidden": false,
            "trusted": true,
        })
    );
    assert_eq!(names(&listed), ["greet", "found"]);
    let (id, request) = begin(
        &mut client,
        "greet",
        json!({"n": 12_345_678_901_234_567_u64, "name": "Ada"}),
    );
    assert_eq!(
        request,
        json!({"jsonrpc": "2.0", "id": "call-1", "method": "program/call", "params": {
            "callId": id.to_string(), "name": "greet",
            "arguments": {"n": 12_345_678_901_234_567_u64, "name": "Ada"}}})
    );
    client.reply(&request, says("Hello Ada"));
    let mut answer = client.answer(id)["result"].take();
    answer
        .as_object_mut()
        .expect("a result")
        .remove("durationMs");
    assert_eq!(
        answer,
        json!({"content": [{"type": "text", "text": "Hello Ada"}], "details": {}, "isError": false})
    );
    let (_, changed) = register(&mut client, json!([plain("other")]));
    assert_eq!(changed["params"]["added"], json!(["other"]));
    assert_eq!(changed["params"]["removed"], json!(["greet"]));
    let gone = client.call("greet", json!({}));
    assert!(text(&gone).starts_with("Tool greet not found"), "{gone}");
}

#[test]
fn arguments_keep_their_digits_and_order() {
    let sandbox = Sandbox::with_home();
    let mut child = sandbox
        .haft()
        .arg("rpc")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("haft starts");
    let arguments = r#"{"z":1.10,"name":"A","n":123456789012345678901234567890}"#;
    let mut stdin = child.stdin.take().expect("a pipe");
    let register =
        json!({"jsonrpc": "2.0", "method": "tools/register", "params": {"tools": [greet()]}});
    writeln!(stdin, "{register}").expect("haft reads");
    let call = format!(r#"{{"name":"greet","callId":"c","arguments":{arguments}}}"#);
    writeln!(
        stdin,
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{call}}}"#
    )
    .expect("haft reads");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().expect("a pipe"));
    stdout.read_line(&mut line).expect("haft writes");
    let params = format!(r#"{{"callId":"c","name":"greet","arguments":{arguments}}}"#);
    assert_eq!(
        line,
        format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":\"call-1\",\"method\":\"program/call\",\"params\":{params}}}\n"
        )
    );
    drop(stdin);
    assert!(child.wait().expect("it is our child").success());
}

#[test]
fn an_invalid_tool_is_a_problem_and_the_others_stay() {
    let mut client = silent();
    let tools = json!([
        greet(),
        5,
        {"description": "nameless"},
        {"name": ""},
        greet(),
        {"name": "a", "approval": "sudo"},
        {"name": "b", "parameters": {"type": "string"}},
        {"name": "c", "parameters": {"type": "object", "properties": {"x": {"type": "strin"}}}},
        plain("last"),
    ]);
    let answer = client.ask("tools/register", json!({"tools": tools}));
    assert_eq!(answer["result"]["tools"], json!(["greet", "last"]));
    let problems = answer["result"]["problems"].as_array().expect("a list");
    let problem = |at: usize| problems[at]["message"].as_str().expect("a text");
    assert_eq!(
        problem(0),
        "tool 2 of `tools/register` is invalid: invalid type: integer `5`, expected struct Declared at line 1 column 1"
    );
    assert_eq!(
        problem(1),
        "tool 3 of `tools/register` is invalid: missing field `name` at line 1 column 26"
    );
    assert_eq!(
        problem(2),
        "tool 6 of `tools/register` is invalid: unknown variant `sudo`, expected one of `read`, `write`, `exec` at line 1 column 29"
    );
    assert_eq!(problem(3), "a custom tool without a name");
    assert_eq!(
        problem(4),
        "Tool name \"greet\" conflicts with existing tool"
    );
    assert_eq!(
        problem(5),
        "the parameters of the custom tool `b` are not an object"
    );
    assert!(
        problem(6).starts_with("the schema of the custom tool `c` cannot be used: "),
        "{}",
        problem(6)
    );
    assert_eq!(problems.len(), 7);
    // A wrong list is refused as a whole, and changes nothing.
    let answer = client.ask("tools/register", json!({"tools": "greet"}));
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(names(&listed), ["greet", "last", "found"]);
}

#[test]
fn a_found_tool_with_the_name_of_a_registered_one_is_a_problem() {
    let mut client = offering(&[plain("found")]);
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(names(&listed), ["found"]);
    assert_eq!(listed["result"]["tools"][0]["provider"], "sdk");
    let problem = &listed["result"]["problems"][0];
    assert_eq!(
        problem["message"],
        "Tool name \"found\" conflicts with existing tool"
    );
    // It is there again when the program's tool is gone.
    client.request("tools/register", json!({"tools": []}));
    let changed = client.next();
    assert_eq!(changed["params"]["changed"], json!(["found"]), "{changed}");
    client.next();
    assert_eq!(text(&client.call("found", json!({}))), "found it");
}

#[test]
fn a_name_that_is_reserved_is_a_problem() {
    let mut client = silent();
    client.ask("initialize", json!({"builtInToolNames": ["greet"]}));
    let answer = client.ask("tools/register", json!({"tools": [greet()]}));
    assert_eq!(answer["result"]["tools"], json!([]));
    assert_eq!(
        answer["result"]["problems"][0]["message"],
        "Tool name \"greet\" conflicts with existing tool"
    );
}

// ---- Calls.

#[test]
fn invalid_arguments_and_refused_calls_do_not_reach_the_program() {
    let mut client = silent();
    client.ask("initialize", json!({"approvalMode": "always-ask"}));
    let tools = json!([greet(), {"name": "wipe", "approval": "exec"}]);
    client.ask("tools/register", json!({"tools": tools}));
    let wrong = client.call("greet", json!({"name": 5}));
    assert!(
        text(&wrong).starts_with("Validation failed for tool \"greet\":"),
        "{wrong}"
    );
    let refused = client.call("wipe", json!({}));
    assert_eq!(refused["isError"], true);
    assert!(text(&refused).contains("wipe"), "{refused}");
}

#[test]
fn updates_come_in_order_before_the_result_with_details_and_images() {
    let mut client = offering(&[greet()]);
    let (id, request) = begin(&mut client, "greet", json!({"name": "Ada"}));
    let call = request["params"]["callId"].clone();
    for number in 0..3 {
        client.notify(
            "program/update",
            json!({"callId": call, "partialResult": says(&number.to_string())}),
        );
    }
    client.reply(
        &request,
        json!({
            "content": [{"type": "text", "text": "a"},
                {"type": "image", "data": "aGk=", "mimeType": "image/png"}],
            "details": {"n": [1, {"deep": true}]}, "isError": true, "unknown": 1,
        }),
    );
    // After the result, nothing of the call counts.
    client.notify(
        "program/update",
        json!({"callId": call, "partialResult": says("late")}),
    );
    client.reply(&request, says("twice"));
    for number in 0..3 {
        let update = client.next();
        assert_eq!(update["method"], "tools/update", "{update}");
        assert_eq!(
            update["params"]["partialResult"],
            json!({"content": [{"type": "text", "text": number.to_string()}], "details": {}})
        );
    }
    let result = client.answer(id)["result"].take();
    assert_eq!(
        result["content"][1],
        json!({"type": "image", "data": "aGk=", "mimeType": "image/png"})
    );
    assert_eq!(result["details"], json!({"n": [1, {"deep": true}]}));
    assert_eq!(result["isError"], true);
    let (id, request) = begin(&mut client, "greet", json!({"name": "B"}));
    client.reply(&request, says("next"));
    assert_eq!(text(&client.answer(id)["result"]), "next");
}

#[test]
fn calls_run_at_the_same_time_and_ids_may_be_taken() {
    let mut client = offering(&[plain("slow")]);
    let calls: Vec<(u64, Value)> = (0..64)
        .map(|_| begin(&mut client, "slow", json!({})))
        .collect();
    for (id, request) in calls.iter().rev() {
        client.reply(request, says(&id.to_string()));
        assert_eq!(text(&client.answer(*id)["result"]), id.to_string());
    }
}

#[test]
fn an_error_of_the_program_is_the_text_of_the_result() {
    let mut client = offering(&[plain("broken")]);
    let answers = [
        (
            r#""error":{"code":1,"message":"no such city","data":[1]}"#,
            "no such city",
        ),
        (
            r#""error":{"code":1}"#,
            "the reply is an error without a message",
        ),
        (r#""error":"x""#, "the reply is an error without a message"),
        (
            r#""result":{}"#,
            "the program's answer is not a result of `broken`: missing field `content` at line 1 column 2",
        ),
        (
            r#""result":{"content":[{"type":"video"}]}"#,
            "the program's answer is not a result of `broken`: unknown variant `video`, expected one of `text`, `image`, `audio`, `resource`, `resource_link` at line 1 column 27",
        ),
        (
            r#""result":null"#,
            "the program's answer is not a result of `broken`: invalid type: null, expected struct ResultView at line 1 column 4",
        ),
    ];
    for (reply, expected) in answers {
        let (id, request) = begin(&mut client, "broken", json!({}));
        let line = format!(r#"{{"jsonrpc":"2.0","id":{},{reply}}}"#, request["id"]);
        client.raw(line.as_bytes());
        let result = client.answer(id)["result"].take();
        assert_eq!(
            (text(&result), &result["isError"]),
            (expected, &json!(true))
        );
    }
}

#[test]
fn an_invalid_answer_ends_its_call_at_once() {
    let mut client = offering(&[plain("broken")]);
    let invalid = [
        (r#"{"id":"ID","result":{}}"#, "`jsonrpc` must be \"2.0\""),
        (r#"{"jsonrpc":"2.0","id":"ID"}"#, "there is no `method`"),
        (
            r#"{"jsonrpc":"2.0","id":"ID","result":{"content":[],"details":NaN}}"#,
            "the message is not JSON: expected value at line 1 column 65",
        ),
    ];
    for (line, why) in invalid {
        let (id, request) = begin(&mut client, "broken", json!({}));
        let own = request["id"].as_str().expect("a text");
        client.raw(line.replace("ID", own).as_bytes());
        let result = client.answer(id)["result"].take();
        assert_eq!(
            text(&result),
            format!("the program's answer is invalid: {why}")
        );
    }
    // A request of the program with such an id is not an answer.
    let (id, request) = begin(&mut client, "broken", json!({}));
    let own = request["id"].as_str().expect("a text");
    client.raw(format!(r#"{{"id":"{own}","method":"tools/list"}}"#).as_bytes());
    assert_eq!(client.next()["error"]["code"], -32600);
    client.reply(&request, says("well"));
    assert_eq!(text(&client.answer(id)["result"]), "well");
}

#[test]
fn an_answer_of_more_than_64_mb_ends_only_its_call() {
    let mut client = offering(&[plain("big"), plain("small")]);
    let (small, request) = begin(&mut client, "small", json!({}));
    let (big, huge) = begin(&mut client, "big", json!({}));
    client.reply(&huge, says(&"x".repeat(65 << 20)));
    let result = client.answer(big)["result"].take();
    assert_eq!(
        text(&result),
        "the program's answer is invalid: the message is longer than 64 MB and was skipped"
    );
    client.reply(&request, says("well"));
    assert_eq!(text(&client.answer(small)["result"]), "well");
}

/// A tool that writes to a pipe of the test.
const SIGNALS: &str = r#"
import { writeFileSync } from "node:fs";
export default () => ({ name: "signals", description: "d", parameters: { type: "object" },
  execute: async () => { writeFileSync("pipe", "x"); return { content: [] }; } });
"#;

#[test]
fn a_program_that_stops_reading_gets_no_more_calls() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", SIGNALS);
    let pipe = sandbox.fifo("pipe");
    let mut client = Client::of(sandbox, &["rpc"]);
    client.request("tools/register", json!({"tools": [plain("big")]}));
    let arguments = json!({"text": "x".repeat(20 << 20)});
    let big = json!({"name": "big", "arguments": arguments});
    let calls = [(); 5].map(|()| client.request("tools/call", big.clone()));
    let signals = client.request("tools/call", json!({"name": "signals", "arguments": {}}));
    // The calls before this one have been handled then, and the client has read nothing.
    fs::read(pipe).expect("the tool's byte");
    // Four calls were sent before the limit of 64 MB.
    let refused = client.answer(calls[4])["result"].take();
    assert_eq!(
        text(&refused),
        "the program that offers `big` does not read: 80 MB wait for it"
    );
    client.answer(signals);
    let (id, request) = begin(&mut client, "big", json!({}));
    client.reply(&request, says("well"));
    assert_eq!(text(&client.answer(id)["result"]), "well");
}

#[test]
fn a_long_result_goes_to_a_file() {
    let mut client = offering(&[plain("long")]);
    let (id, request) = begin(&mut client, "long", json!({}));
    client.reply(&request, says(&"line\n".repeat(100_000)));
    let result = client.answer(id)["result"].take();
    let shown = text(&result);
    assert!(shown.len() < 50_000, "{}", shown.len());
    assert!(shown.contains("outputs"), "{shown}");
}

// ---- The end of calls.

#[test]
fn a_cancelled_call_is_asked_to_end_and_may_answer() {
    let mut client = offering(&[plain("wait")]);
    let (id, request) = begin(&mut client, "wait", json!({}));
    client.notify("tools/cancel", json!({"callId": id.to_string()}));
    let cancel = client.next();
    assert_eq!(cancel["method"], "program/cancel");
    assert_eq!(
        cancel["params"],
        json!({"callId": id.to_string(), "reason": "cancelled"})
    );
    client.reply(&request, says("half of it"));
    let result = client.answer(id)["result"].take();
    assert_eq!(text(&result), "half of it");
    assert_eq!(result["stopped"], "cancelled");
}

#[test]
fn a_call_that_does_not_end_is_left_behind_after_the_grace_period() {
    let mut client = offering(&[plain("deaf"), plain("other")]);
    let params = json!({"name": "deaf", "timeoutMs": 1});
    let id = client.request("tools/call", params);
    let request = client.next();
    // The deadline may have passed before the start.
    if request["method"] == "program/call" {
        let cancel = client.next();
        assert_eq!(cancel["params"]["reason"], "timed out", "{cancel}");
        let result = client.answer(id)["result"].take();
        assert!(text(&result).contains("did not end by itself"), "{result}");
        assert_eq!(result["stopped"], "deadline");
        client.reply(&request, says("late"));
    }
    let (id, request) = begin(&mut client, "other", json!({}));
    client.reply(&request, says("well"));
    assert_eq!(text(&client.answer(id)["result"]), "well");
}

#[test]
fn a_tool_may_have_a_timeout_of_its_own() {
    let mut tool = plain("slow");
    tool["timeoutMs"] = json!(50);
    let mut client = offering(&[tool]);
    let (id, request) = begin(&mut client, "slow", json!({}));
    let cancel = client.next();
    assert_eq!(cancel["params"]["reason"], "timed out", "{cancel}");
    client.reply(&request, says("so far"));
    let result = client.answer(id)["result"].take();
    assert_eq!(
        (text(&result), &result["stopped"]),
        ("so far", &json!("deadline"))
    );
}

#[test]
fn the_end_of_the_program_is_the_error_of_its_calls() {
    let mut client = offering(&[plain("wait")]);
    let (id, _) = begin(&mut client, "wait", json!({}));
    client.hang_up();
    let result = client.answer(id)["result"].take();
    assert_eq!(
        text(&result),
        "the program that offers `wait` ended before it answered"
    );
    assert_eq!(client.next_if_any(), None);
}

// ---- Questions.

#[test]
fn the_tool_of_a_program_asks_the_user_of_its_call() {
    let mut client = silent();
    client.ask("initialize", json!({"capabilities": {"ui": true}}));
    client.ask("tools/register", json!({"tools": [plain("choose")]}));
    let (id, request) = begin(&mut client, "choose", json!({}));
    let call = request["params"]["callId"].clone();
    let ask = |method: &str, rest: Value| {
        let mut params = json!({"callId": call, "method": method, "title": "Which?"});
        params
            .as_object_mut()
            .expect("an object")
            .extend(rest.as_object().expect("an object").clone());
        params
    };
    let cases = [
        (
            "select",
            json!({"options": ["a", "b"]}),
            json!("b"),
            json!("b"),
        ),
        (
            "select",
            json!({"options": ["a", "b"]}),
            json!("c"),
            Value::Null,
        ),
        (
            "confirm",
            json!({"message": "Sure?"}),
            json!(true),
            json!(true),
        ),
        (
            "input",
            json!({"placeholder": "Ada"}),
            json!("Eve"),
            json!("Eve"),
        ),
        ("editor", json!({"prefill": "x"}), json!("y"), json!("y")),
        ("confirm", json!({}), Value::Null, Value::Null),
    ];
    for (method, rest, value, expected) in cases {
        let asked = client.request("program/ask", ask(method, rest));
        let question = client.next();
        assert_eq!(question["method"], format!("ui/{method}"), "{question}");
        assert_eq!(question["params"]["tool"], "choose");
        client.reply(&question, json!({"value": value}));
        let answer = client.answer(asked);
        assert_eq!(answer["result"], json!({"value": expected}), "{method}");
    }
    // A question without an answer in time is withdrawn.
    let mut late = ask("input", json!({}));
    late["timeoutMs"] = json!(1);
    let asked = client.request("program/ask", late);
    let question = client.next();
    assert_eq!(question["method"], "ui/input");
    assert_eq!(question["params"]["timeoutMs"], 1);
    // The order of these two is not defined.
    let messages = [client.next(), client.next()];
    let is_withdrawn = |one: &Value| one["method"] == "ui/withdrawn";
    assert!(messages.iter().any(is_withdrawn), "{messages:?}");
    let answer = messages.iter().find(|one| one["id"] == asked);
    let answer = answer.expect("an answer");
    assert_eq!(answer["result"], json!({"value": null}));
    let wrong = client.ask("program/ask", ask("dance", json!({})));
    assert_eq!(wrong["error"]["code"], -32602, "{wrong}");
    client.reply(&request, says("done"));
    client.answer(id);
    let over = client.ask("program/ask", ask("input", json!({})));
    assert_eq!(
        over["error"]["message"],
        format!("no call `{id}` of a tool of this program is running")
    );
}

// ---- The descriptor.

/// A program that started `haft --rpc-fd`.
struct Program {
    stream: UnixStream,
    lines: Receiver<Value>,
}

impl Program {
    /// Starts `command` with a socket, and returns both ends.
    fn start(sandbox: &Sandbox, command: &[&str]) -> (Program, Child) {
        Program::start_with(sandbox, command, Stdio::null())
    }

    fn start_with(sandbox: &Sandbox, command: &[&str], stderr: Stdio) -> (Program, Child) {
        let (own, theirs) = UnixStream::pair().expect("a socket pair");
        fcntl_setfd(&theirs, FdFlags::empty()).expect("it is open");
        let number = theirs.as_raw_fd().to_string();
        let child = sandbox
            .haft()
            .args(["--tool", "tools.ts", "--rpc-fd", &number])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(stderr)
            .spawn()
            .expect("haft starts");
        drop(theirs);
        let (sender, lines) = channel();
        let reading = BufReader::new(own.try_clone().expect("a descriptor"));
        thread::spawn(move || {
            for line in reading.lines().map_while(Result::ok) {
                let message = serde_json::from_str(&line).expect("a line is JSON");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        let stream = own;
        (Program { stream, lines }, child)
    }

    fn send(&mut self, message: &Value) {
        let line = format!("{message}\n");
        self.stream.write_all(line.as_bytes()).expect("haft reads");
    }

    fn request(&mut self, id: u64, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
    }

    fn next(&mut self) -> Value {
        self.lines.recv_timeout(TEST_TIMEOUT).expect("a message")
    }

    /// Answers one call with this text.
    fn serve(&mut self, name: &str, text: &str) {
        let request = self.next();
        assert_eq!(request["method"], "program/call", "{request}");
        assert_eq!(request["params"]["name"], name);
        self.send(&json!({"jsonrpc": "2.0", "id": request["id"], "result": says(text)}));
    }
}

/// An initialized MCP client of `haft --rpc-fd N mcp` and the program.
fn mcp() -> (Program, Client) {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let (program, child) = Program::start(&sandbox, &["mcp"]);
    (program, Client::from_child(child, sandbox))
}

#[test]
fn mcp_waits_for_the_tools_of_the_program_on_the_descriptor() {
    let (mut program, mut client) = mcp();
    // The client is first, and still gets the tools of the program.
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"}});
    let hello = client.request("initialize", params);
    program.request(1, "initialize", json!({}));
    assert_eq!(program.next()["result"]["name"], "haft");
    program.request(2, "tools/register", json!({"tools": [greet()]}));
    assert_eq!(program.next()["result"]["tools"], json!(["greet"]));
    assert!(client.answer(hello)["result"]["instructions"].is_string());
    client.notify("notifications/initialized", json!({}));
    let listed = client.ask("tools/list", json!({}));
    assert_eq!(names(&listed), ["found", "greet"]);
    let id = client.start("greet", json!({"name": "Ada"}));
    program.serve("greet", "Hello Ada");
    assert_eq!(text(&client.answer(id)["result"]), "Hello Ada");
    // The program calls tools of the same host.
    program.request(3, "tools/call", json!({"name": "found"}));
    assert_eq!(text(&program.next()["result"]), "found it");
    // A changed list is announced.
    program.request(4, "tools/register", json!({"tools": [plain("other")]}));
    program.next();
    let told = client.next();
    assert_eq!(told["method"], "notifications/tools/list_changed", "{told}");
    assert_eq!(
        names(&client.ask("tools/list", json!({}))),
        ["found", "other"]
    );
    // The end of the program removes its tools, and nothing else.
    let id = client.start("other", json!({}));
    assert_eq!(program.next()["method"], "program/call");
    drop(program.stream.shutdown(std::net::Shutdown::Both));
    let failed = client.answer(id)["result"].take();
    assert_eq!(
        text(&failed),
        "the program that offers `other` ended before it answered"
    );
    let mut listed = client.ask("tools/list", json!({}));
    while names(&listed) != ["found"] {
        assert_eq!(client.next()["method"], "notifications/tools/list_changed");
        listed = client.ask("tools/list", json!({}));
    }
    assert_eq!(text(&client.call("found", json!({}))), "found it");
    client.hang_up();
    assert!(client.ends_within(TEST_TIMEOUT).success());
}

#[test]
fn a_server_shows_the_calls_of_the_program() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let serve = ["serve", "--listen", "127.0.0.1:0", "--no-token"];
    let (mut program, mut child) = Program::start_with(&sandbox, &serve, Stdio::piped());
    program.request(1, "initialize", json!({}));
    program.next();
    program.request(2, "tools/call", json!({"name": "found", "callId": "mine"}));
    assert_eq!(text(&program.next()["result"]), "found it");
    let lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
    let mut addresses = lines.map_while(Result::ok).filter_map(|line| {
        let address = line.strip_prefix("listening on http://")?;
        Some(address.to_owned())
    });
    let address = addresses.next().expect("it listens");
    let get = |path: &str| {
        let mut stream = TcpStream::connect(&address).expect("it listens");
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).expect("it reads");
        Reply::read(stream).json()
    };
    let calls = get("/api/calls");
    assert_eq!(calls["calls"][0]["callId"], "mine", "{calls}");
    assert_eq!(calls["calls"][0]["caller"]["surface"], "rpc");
    assert_eq!(text(&get("/api/calls/mine")["result"]), "found it");
    child.kill().expect("it runs");
    child.wait().expect("it ends");
}

#[test]
fn a_program_that_ends_before_it_registers_holds_nothing_up() {
    let (program, mut client) = mcp();
    drop(program.stream.shutdown(std::net::Shutdown::Both));
    client.initialize(json!({}));
    assert_eq!(names(&client.ask("tools/list", json!({}))), ["found"]);
}

#[test]
fn a_program_that_lists_before_it_registers_waits_for_nothing() {
    let (mut program, _client) = mcp();
    program.request(1, "tools/list", json!({}));
    assert_eq!(names(&program.next()), ["found"]);
    program.request(2, "initialize", json!({"cwd": "/"}));
    assert_eq!(
        program.next()["error"]["message"],
        "`cwd` cannot be set here: the command line of `haft --rpc-fd` configures the host"
    );
    // It is notified of changes from now on, and `shutdown` ends only its own conversation.
    program.request(3, "tools/register", json!({"tools": [greet()]}));
    let messages = [program.next(), program.next()];
    assert!(messages.iter().any(|one| one["method"] == "tools/changed"));
    program.request(4, "shutdown", json!({}));
    assert_eq!(
        program.next(),
        json!({"jsonrpc": "2.0", "id": 4, "result": null})
    );
}

#[test]
fn the_descriptor_must_be_a_connected_stream_socket() {
    let sandbox = Sandbox::with_home();
    let refused = |number: &str, command: &str| {
        let output = sandbox
            .haft()
            .args(["--rpc-fd", number, command])
            .stdin(Stdio::null())
            .output()
            .expect("haft starts");
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    let hint =
        "hint: start haft with one end of a socket pair as this descriptor, and serve the other\n";
    assert_eq!(
        refused("1", "mcp"),
        format!("error: --rpc-fd 1: descriptors 0 to 2 are the standard streams\n{hint}")
    );
    assert_eq!(
        refused("777", "serve"),
        format!("error: --rpc-fd 777: the descriptor is not open\n{hint}")
    );
    let file = std::fs::File::open("/dev/null").expect("a file");
    fcntl_setfd(&file, FdFlags::empty()).expect("it is open");
    let number = file.as_raw_fd().to_string();
    assert_eq!(
        refused(&number, "mcp"),
        format!(
            "error: --rpc-fd {number}: the descriptor is not a connected stream socket\n{hint}"
        )
    );
    assert_eq!(
        refused("3", "list"),
        "error: --rpc-fd is an option of `haft mcp` and `haft serve`\n\
         hint: `haft rpc` serves JSON-RPC on standard input and output\n"
    );
}
