//! `haft serve rest` as its clients meet it: real sockets, real tools, real signals.

use std::fs;
use std::path::Path;
use std::thread;

use serde_json::json;

use crate::callers::until;
use crate::sandbox::{Sandbox, has_sandboxes};
use crate::served::{Events, Reply, Served};

/// The seed's own plugin file, and a tool that waits until it is stopped.
const PLUGIN: &str = r#"{"name": "my-tools", "version": "1.0.0", "tools": [
  {"name": "say", "description": "Says it", "inputSchema": {"type": "object",
     "properties": {"text": {"type": "string"}}, "required": ["text"]},
   "handler": {"type": "shell", "command": "echo {{text}}"}},
  {"name": "grumble", "description": "Fails", "inputSchema": {"type": "object"},
   "handler": {"type": "shell", "command": "false"}},
  {"name": "wait", "description": "Waits", "inputSchema": {"type": "object"},
   "handler": {"type": "shell", "command": "sleep 600"}}]}"#;

/// A module whose tools do what a surface has to carry.
const MODULE: &str = r#"
export default (pi) => [
  { name: "steps", description: "Tells of steps", parameters: pi.zod.object({}),
    async execute(_id, _params, onUpdate) {
      for (const step of [1, 2, 3]) onUpdate?.({ content: [{ type: "text", text: `step ${step}` }] });
      return { content: [{ type: "text", text: "done" }], details: { z: 1, a: [0.1, 1e21], "é": null } };
    } },
  { name: "picture", description: "Shows", parameters: pi.zod.object({}),
    async execute() {
      return { content: [{ type: "text", text: "a dot" }, { type: "image", data: "iVBORw0KGgo=", mimeType: "image/png" }] };
    } },
  { name: "echo", description: "Echoes", parameters: pi.zod.object({ text: pi.zod.string() }),
    async execute(_id, { text }) { return { content: [{ type: "text", text }] }; } },
  { name: "fails", description: "Fails", parameters: pi.zod.object({}),
    async execute() { throw new Error("no luck"); } },
];
"#;

/// An executable of Kodelet's that gives back its standard input.
const ECHO: &str = "#!/bin/sh
if [ \"$1\" = description ]; then
  echo '{\"name\":\"raw\",\"description\":\"Gives back\",\"input_schema\":{\"type\":\"object\"}}'
else
  cat
fi
";

pub fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("home/.config/aynd/tools/my.json", PLUGIN);
    sandbox.write("tools/module.ts", MODULE);
    let echo = sandbox.write("home/.kodelet/tools/raw", ECHO);
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(echo, mode).expect("a file of ours");
    sandbox
}

pub fn serve(sandbox: &Sandbox, arguments: &[&str]) -> Served {
    let mut command = sandbox.haft();
    command.args(["--tool", "tools/module.ts", "serve", "rest"]);
    let served = Served::start(command.args(["--listen", "127.0.0.1:0"]).args(arguments));
    // Afterwards the tools are loaded, and calls begin at once.
    served.get("/api/catalog");
    served
}

fn names(reply: &Reply) -> Vec<String> {
    let reply = reply.json();
    let tools = reply["tools"].as_array().expect("a list").iter();
    tools
        .map(|tool| tool["name"].as_str().expect("a name").to_owned())
        .collect()
}

// ---- aynd's three endpoints.

#[test]
fn the_list_is_aynds() {
    // aynd 68, 20, 61
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let reply = served.get("/api/tools");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let list = reply.json();
    assert_eq!(
        list["counts"],
        json!({"total": 12, "builtin": 4, "plugin": 8})
    );
    assert_eq!(
        names(&reply)[..4],
        [
            "git-status",
            "git-diff-summary",
            "workspace-info",
            "file-reader"
        ]
    );
    let tools = list["tools"].as_array().expect("a list");
    let say = tools.iter().find(|tool| tool["name"] == "say");
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    let whole = json!({"name": "say", "description": "Says it", "source": "plugin",
        "pluginName": "my-tools", "inputSchema": schema});
    assert_eq!(say, Some(&whole));
    assert_eq!(tools[0]["source"], "builtin");
    assert!(tools[0].get("pluginName").is_none());
    // A client that has the list need not get it again.
    let tag = reply.header("etag").expect("a tag");
    let head = format!("GET /api/tools HTTP/1.1\r\nHost: localhost\r\nIf-None-Match: {tag}\r\n");
    let again = served.send(&head, "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
}

#[test]
fn one_tool_is_not_wrapped() {
    // aynd 69, 72, c20
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let reply = served.get("/api/tools/git-status");
    assert_eq!(
        (reply.status, &reply.json()["name"]),
        (200, &json!("git-status"))
    );
    assert_eq!(served.get("/api/tools/s%61y").json()["name"], "say");
    let reply = served.get("/api/tools/x");
    assert_eq!(reply.status, 404);
    assert_eq!(reply.json()["error"], "Tool not found: x");
    assert_eq!(
        reply.header("content-type"),
        Some("application/problem+json")
    );
    let long = "x".repeat(5000);
    for name in [
        "%2e%2e%2f",
        "%2e%2e%2f%2e%2e%2fetc%2fpasswd",
        "a%2fb",
        "reload",
        "__proto__",
        long.as_str(),
    ] {
        assert_eq!(
            served.get(&format!("/api/tools/{name}")).status,
            404,
            "{name}"
        );
    }
    assert_eq!(served.get("/api/tools/%ff").status, 400);
    let reply = served.delete("/api/tools/say");
    assert_eq!(
        (reply.status, reply.header("allow")),
        (405, Some("GET,HEAD"))
    );
    assert_eq!(reply.json()["status"], 405);
}

#[test]
fn a_reload_finds_new_files_and_reports_problems() {
    // aynd 18, 19, 70, 71, c15, c20
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    assert_eq!(served.get("/api/tools").json()["counts"]["total"], 12);
    let broken = sandbox.write("home/.config/aynd/tools/broken.json", "{");
    sandbox.write(
        "home/.config/aynd/tools/new.json",
        &PLUGIN
            .replace("my-tools", "new")
            .replace("\"say\"", "\"reload\"")
            .replace("\"wait\"", "\"bad name\""),
    );
    let reply = served.post("/api/tools/reload", "");
    assert_eq!(reply.status, 200);
    let result = reply.json();
    assert_eq!(
        (&result["success"], &result["toolCount"]),
        (&json!(false), &json!(13))
    );
    let errors = result["errors"].as_array().expect("a list");
    assert_eq!(errors.len(), 3, "{errors:?}");
    assert_eq!(errors[0]["source"], broken.display().to_string());
    assert!(
        errors[0]["message"]
            .as_str()
            .is_some_and(|text| text.starts_with("Invalid JSON: "))
    );
    // `reload` can be a tool's name; reloading is another method.
    assert_eq!(served.get("/api/tools/reload").json()["pluginName"], "new");
    let hello = r#"{"arguments": {"text": "hello"}}"#;
    let called = served.post("/api/tools/reload/call", hello);
    assert_eq!(called.json()["content"][0]["text"], "hello\n");
    // An explicit reload drops the last good version of a broken file.
    sandbox.write("home/.config/aynd/tools/new.json", "{");
    let result = served.post("/api/tools/reload", "").json();
    assert_eq!(
        (&result["success"], &result["toolCount"]),
        (&json!(false), &json!(12))
    );
    assert_eq!(served.get("/api/tools/reload").status, 404);
    fs::remove_file(broken).expect("a file of ours");
    fs::remove_file(sandbox.path().join("home/.config/aynd/tools/new.json"))
        .expect("a file of ours");
    let result = served.post("/api/tools/reload", "").json();
    assert_eq!(
        result,
        json!({"success": true, "toolCount": 12, "errors": []})
    );
    assert_eq!(served.get("/api/tools/reload").status, 404);
}

// ---- Calls.

#[test]
fn a_script_calls_the_tools_of_its_client() {
    let sandbox = sandbox();
    sandbox.write("home/.config/haft/config.yaml", "approval: {mode: yolo}\n");
    let served = serve(&sandbox, &[]);
    let body = json!({
        "code": "(await tools.echo({ text: args.text })).length",
        "args": {"text": "a b"},
        "callId": "script",
    });
    let reply = served.post("/api/run", &body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    let answer = reply.json();
    assert_eq!(answer["tool"], "run_code");
    assert_eq!(answer["content"], json!([{"type": "text", "text": "3"}]));
    assert_eq!(answer["details"]["value"], 3);
    assert_eq!(
        answer["details"]["calls"],
        json!([{"tool": "echo", "state": "done"}])
    );
    let part = served.get("/api/calls/script.1").json();
    assert_eq!(
        (&part["tool"], &part["parentId"]),
        (&json!("echo"), &json!("script"))
    );
    // A script that fails has answered.
    let failed = served.post("/api/run", r#"{"code": "null.x"}"#);
    assert_eq!(
        (failed.status, &failed.json()["isError"]),
        (200, &json!(true))
    );
    for (body, status) in [
        ("", 422),
        ("[]", 422),
        (r#"{"cod": ""}"#, 422),
        (r#"{"code": ""#, 400),
        (r#"{"code": "1", "ownTimeMs": 0}"#, 422),
        (r#"{"code": "1", "callId": "../x"}"#, 422),
    ] {
        assert_eq!(served.post("/api/run", body).status, status, "{body}");
    }
}

#[test]
fn a_call_is_answered_with_what_the_tool_said() {
    // aynd 25, 26, 73: every outcome of a handler is a result; this is the endpoint for calls.
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let reply = served.post(
        "/api/tools/say/call",
        r#"{"arguments": {"text": "a b"}, "callId": "mine"}"#,
    );
    assert_eq!(reply.status, 200, "{reply:?}");
    let answer = reply.json();
    assert_eq!(
        (&answer["callId"], &answer["tool"]),
        (&json!("mine"), &json!("say"))
    );
    assert_eq!(
        answer["content"],
        json!([{"type": "text", "text": "a b\n"}])
    );
    assert_eq!(answer["isError"], false);
    let picture = served.post("/api/tools/picture/call", "").json();
    let image = json!({"type": "image", "data": "iVBORw0KGgo=", "mimeType": "image/png"});
    assert_eq!(picture["content"][1], image);
    // The tool's own failure is a normal answer.
    let reply = served.post("/api/tools/fails/call", "{}");
    assert_eq!(
        (reply.status, &reply.json()["isError"]),
        (200, &json!(true))
    );
    let reply = served.post("/api/tools/grumble/call", "{}");
    assert_eq!(
        (reply.status, &reply.json()["isError"]),
        (200, &json!(true))
    );
    let text = reply.json()["content"][0]["text"].to_string();
    assert!(text.contains("Command failed with exit code 1"), "{text}");
    // The call is kept in the history.
    let known = served.get("/api/calls/mine").json();
    assert_eq!(
        (&known["state"], &known["result"]),
        (&json!("finished"), &answer)
    );
    let calls = served.get("/api/calls").json();
    let calls = calls["calls"].as_array().expect("a list").iter();
    let tools: Vec<_> = calls.map(|call| call["tool"].clone()).collect();
    assert_eq!(tools, ["grumble", "fails", "picture", "say"]);
}

#[test]
fn numbers_and_the_order_of_keys_survive() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let arguments = r#"{"z": 1.0, "a": 12345678901234567890123, "é": {"y": 1e300, "b": -0.0}}"#;
    let body = format!(r#"{{"arguments":{arguments}}}"#);
    let reply = served.post("/api/tools/raw/call", &body);
    let text = format!("<result>\n{arguments}\n</result>");
    assert_eq!(reply.json()["content"][0]["text"], text);
    let reply = served.post("/api/tools/steps/call", "{}");
    assert!(
        reply.body.contains(r#""z":1,"a":[0.1,1e21],"é":null"#)
            || reply.body.contains(r#""z":1,"a":[0.1,1e+21],"é":null"#),
        "{}",
        reply.body
    );
}

#[test]
fn a_file_that_cannot_be_called_is_a_problem_with_the_reason() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let say = "/api/tools/say/call";
    let refused = |reply: Reply, status: u16, kind: Option<&str>, word: &str| {
        assert_eq!(reply.status, status, "{reply:?}");
        assert_eq!(
            reply.header("content-type"),
            Some("application/problem+json")
        );
        let problem = reply.json();
        assert_eq!(problem["status"], status);
        assert_eq!(problem["kind"].as_str(), kind, "{problem}");
        let detail = problem["detail"].as_str().expect("a text");
        assert!(detail.contains(word), "{detail}");
    };
    refused(
        served.post("/api/tools/sey/call", "{}"),
        404,
        Some("no-such-tool"),
        "sey",
    );
    refused(
        served.post(say, r#"{"arguments": {"text": 1}}"#),
        422,
        Some("bad-arguments"),
        "text",
    );
    refused(
        served.post(say, r#"{"arguments": []}"#),
        422,
        Some("bad-arguments"),
        "object",
    );
    refused(
        served.post(say, r#"{"text": "flat"}"#),
        422,
        None,
        "unknown field `text`",
    );
    refused(served.post(say, "[]"), 422, None, "object");
    refused(
        served.post(say, r#"{"timeoutMs": 0}"#),
        422,
        None,
        "timeoutMs",
    );
    refused(
        served.post(say, r#"{"timeoutMs": 1.5}"#),
        422,
        None,
        "timeoutMs",
    );
    refused(
        served.post(say, r#"{"callId": "../x"}"#),
        422,
        None,
        "callId",
    );
    refused(
        served.post(say, r#"{"callId": "a b"}"#),
        422,
        None,
        "callId",
    );
    refused(served.post(say, r#"{"arguments": {"#), 400, None, "EOF");
    let head = format!("POST {say} HTTP/1.1\r\nHost: localhost\r\n");
    refused(
        served.send(&format!("{head}Content-Type: text/plain\r\n"), "{}"),
        415,
        None,
        "JSON",
    );
    refused(served.send(&head, "{}"), 415, None, "JSON");
    refused(served.get(say), 405, None, "/api/tools/say/call");
    refused(served.get("/api/nothing"), 404, None, "/api/nothing");
    refused(served.get("/api/calls/nothing"), 404, None, "nothing");
    refused(served.delete("/api/calls/nothing"), 404, None, "nothing");
    let json = format!("{head}Content-Type: application/json; charset=utf-8\r\n");
    assert_eq!(
        served.send(&json, r#"{"arguments":{"text":"x"}}"#).status,
        200
    );
}

#[test]
fn a_body_that_is_too_large_is_refused() {
    let sandbox = sandbox();
    sandbox.write("config.yaml", "serve:\n  body_mb: 1\n");
    let served = serve(&sandbox, &["--config", "config.yaml"]);
    let body = |kb: usize| format!(r#"{{"arguments":{{"text":"{}"}}}}"#, "x".repeat(kb << 10));
    let reply = served.post("/api/tools/raw/call", &body(1024));
    assert_eq!(reply.status, 413);
    assert_eq!(
        reply.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(served.post("/api/tools/raw/call", &body(1000)).status, 200);
}

#[test]
fn without_a_user_the_answer_is_the_documented_refusal() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &["--approval-mode", "always-ask"]);
    let reply = served.post("/api/tools/raw/call", "{}");
    assert_eq!(reply.status, 403);
    let problem = reply.json();
    assert_eq!(problem["kind"], "denied");
    let detail = problem["detail"].as_str().expect("a text");
    assert!(
        detail.contains("requires approval but no interactive UI available"),
        "{detail}"
    );
    // A tool of the tier `read` runs without a question.
    assert_eq!(
        served.post("/api/tools/workspace-info/call", "{}").status,
        200
    );
    drop(served);
    sandbox.write(
        "home/.config/haft/config.yaml",
        "approval:\n  mode: always-ask\n",
    );
    let served = serve(&sandbox, &["--auto-approve"]);
    assert_eq!(served.post("/api/tools/raw/call", "{}").status, 200);
}

// ---- Questions.

/// A tool that asks in every way, and one that reads a file.
const ASKS: &str = r#"
import { readFile } from "node:fs/promises";
export default () => [
  { name: "asks", description: "Asks", parameters: { type: "object" }, approval: "read",
    async execute(_id, _params, _onUpdate, ctx) {
      if (!ctx.hasUI) return { content: [{ type: "text", text: "nobody is there" }] };
      const chosen = await ctx.ui.select("Which?", ["one", "two"]);
      const sure = await ctx.ui.confirm("Sure?", "It counts.");
      const name = await ctx.ui.input("Name?");
      return { content: [{ type: "text", text: JSON.stringify([chosen, sure, name ?? null]) }] };
    } },
  { name: "shows", description: "Shows a component", parameters: { type: "object" }, approval: "read",
    async execute(_id, _params, _onUpdate, ctx) {
      console.warn("a line", { of: "the log" });
      const key = await ctx.ui.custom((_tui, theme, _keys, done) => ({
        render: (width) => [`${width} columns`], invalidate() {}, handleInput: (data) => done(data),
      }));
      return { content: [{ type: "text", text: JSON.stringify(key ?? null) }] };
    },
    renderResult: (result) => ({ render: () => [`drawn: ${result.content[0].text}`], invalidate() {} }) },
  { name: "reads", description: "Reads", parameters: { type: "object" }, approval: "read",
    async execute() { return { content: [{ type: "text", text: await readFile("data", "utf8") }] }; } },
];
"#;

/// Serves the tools that ask, with this configuration.
fn asking(config: &str) -> (Sandbox, Served) {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools/module.ts", ASKS);
    sandbox.write("data", "the data");
    sandbox.write("home/.config/haft/config.yaml", config);
    let served = serve(&sandbox, &[]);
    (sandbox, served)
}

/// Starts a call whose questions are answered by `answers`: what each contains, and the answer.
fn call_with_answers(served: &Served, tool: &str, answers: &[(&str, &str)]) -> Reply {
    let mut events = served.listen(None);
    events.wait_for("ready");
    thread::scope(|scope| {
        let path = format!("/api/tools/{tool}/call");
        let call = scope.spawn(move || served.post(&path, r#"{"answersQuestions": true}"#));
        for (part, answer) in answers {
            let asked = events.wait_for("question.asked").data;
            assert!(asked.to_string().contains(part), "{asked}");
            let listed = served.get("/api/questions").json();
            assert_eq!(listed["questions"], json!([asked]));
            let id = asked["id"].as_str().expect("an id");
            let path = format!("/api/questions/{id}");
            let wrong = served.post(&path, r#"{"value": 7}"#);
            assert_eq!(wrong.status, 422, "{wrong:?}");
            assert_eq!(served.post(&path, answer).status, 200);
            assert_eq!(events.wait_for("question.closed").data, json!({"id": id}));
            // The first answer counts.
            assert_eq!(served.post(&path, answer).status, 404);
        }
        call.join().expect("the call is answered")
    })
}

fn text_of(reply: &Reply) -> String {
    let text = reply.json()["content"][0]["text"].clone();
    text.as_str().expect("a text").to_owned()
}

#[test]
fn questions_of_a_call_are_answered() {
    let (_sandbox, served) = asking("approval: {mode: yolo}\n");
    let answers = [
        (r#""options":["one","two"]"#, r#"{"value": "two"}"#),
        ("It counts.", r#"{"value": true}"#),
        ("Name?", r#"{"value": null}"#),
    ];
    let reply = call_with_answers(&served, "asks", &answers);
    assert_eq!(text_of(&reply), r#"["two",true,null]"#);
    let reply = served.post("/api/tools/asks/call", "{}");
    assert_eq!(text_of(&reply), "nobody is there");
    assert_eq!(served.get("/api/questions").json()["questions"], json!([]));
}

/// Listens like a page whose user answers questions.
fn listen_as_page(served: &Served) -> Events {
    let head = "GET /api/events?answersQuestions=true HTTP/1.1\r\nHost: localhost\r\n";
    let mut events = served.events(head, "");
    events.wait_for("ready");
    events
}

#[test]
fn a_listener_answers_for_calls_whose_client_cannot_be_asked() {
    let config = "approval: {mode: yolo, tools: {reads: prompt}}\n";
    let (_sandbox, served) = asking(config);
    let refused = served.post("/api/tools/reads/call", "{}");
    assert_eq!(refused.json()["kind"], "denied", "{refused:?}");
    let mut events = listen_as_page(&served);
    thread::scope(|scope| {
        let call = scope.spawn(|| served.post("/api/tools/reads/call", r#"{"callId": "c"}"#));
        let asked = events.wait_for("question.asked").data;
        assert_eq!(asked["kind"], "approval");
        assert_eq!(asked["callId"], "c");
        let path = format!("/api/questions/{}", asked["id"].as_str().expect("an id"));
        let answer = served.post(&path, r#"{"decision": "approve"}"#);
        assert_eq!(answer.status, 200);
        let reply = call.join().expect("the call is answered");
        assert_eq!(text_of(&reply), "the data");
    });
    // Without a listener the user is not there.
    drop(events);
    until("the listener is gone", || {
        text_of(&served.post("/api/tools/shows/call", "{}")) == "null"
    });
}

#[test]
fn a_component_of_a_tool_is_shown_and_gets_its_keys() {
    let (_sandbox, served) = asking("approval: {mode: yolo}\n");
    let alone = served.post("/api/tools/shows/call", "{}");
    assert_eq!(text_of(&alone), "null", "nobody sees it");
    let mut events = listen_as_page(&served);
    thread::scope(|scope| {
        let call = scope.spawn(|| served.post("/api/tools/shows/call", r#"{"callId": "c"}"#));
        let asked = events.wait_for("question.asked").data;
        assert_eq!(asked["kind"], "custom");
        assert_eq!(
            (&asked["columns"], &asked["rows"]),
            (&json!(80), &json!(24))
        );
        let id = asked["id"].as_str().expect("an id");
        let painted = events.wait_for("question.painted").data;
        assert_eq!(painted["id"], id);
        assert_eq!(painted["lines"], json!(["80 columns"]));
        let input = format!("/api/questions/{id}/input");
        assert_eq!(
            served.post(&input, r#"{"columns": 40, "rows": 9}"#).status,
            200
        );
        let painted = events.wait_for("question.painted").data;
        assert_eq!(painted["lines"], json!(["40 columns"]));
        let listed = served.get("/api/questions").json();
        assert_eq!(listed["questions"][0]["lines"], json!(["40 columns"]));
        for wrong in [r#"{"key": 1}"#, r#"{"columns": 3}"#, "7"] {
            assert_eq!(served.post(&input, wrong).status, 422, "{wrong}");
        }
        let answer = served.post(&format!("/api/questions/{id}"), r#"{"value": "x"}"#);
        assert_eq!(answer.status, 422, "it is only removed by null");
        assert_eq!(served.post(&input, r#"{"key": "\u001b[A"}"#).status, 200);
        assert_eq!(events.wait_for("question.closed").data, json!({"id": id}));
        assert_eq!(served.post(&input, r#"{"key": "a"}"#).status, 404);
        let reply = call.join().expect("the call is answered");
        assert_eq!(text_of(&reply), r#""\u001b[A""#);
    });
    // What the tool's own renderer makes of it.
    let drawn = served.get("/api/calls/c/drawing?width=60").json();
    assert_eq!(drawn["isOwn"], true);
    assert!(
        drawn["result"]
            .to_string()
            .contains(r#"drawn: \"\\u001b[A\""#),
        "{drawn}"
    );
    for width in ["x", "0", "501"] {
        let drawing = served.get(&format!("/api/calls/c/drawing?width={width}"));
        assert_eq!(drawing.status, 400, "{width}");
    }
    assert_eq!(served.get("/api/calls/none/drawing").status, 404);
}

#[test]
fn the_log_of_a_call_is_among_its_events() {
    let (_sandbox, served) = asking("approval: {mode: yolo}\n");
    let head = "POST /api/tools/shows/call HTTP/1.1\r\nHost: localhost\r\n\
        Content-Type: application/json\r\nAccept: text/event-stream\r\n";
    let mut events = served.events(head, r#"{"callId": "l"}"#);
    let line = events.wait_for("log").data;
    assert_eq!(line["callId"], "l");
    assert_eq!(line["level"], "warn");
    assert!(line["message"].to_string().contains("a line"), "{line}");
    assert_eq!(events.wait_for("result").data["callId"], "l");
}

#[test]
fn a_call_names_its_caller_and_its_arguments() {
    let (_sandbox, served) = asking("approval: {mode: yolo}\n");
    let mut events = served.listen(None);
    events.wait_for("ready");
    let long = "x".repeat(1000);
    for (id, text) in [("short", "12345678901234567890.10"), ("long", &*long)] {
        let body = format!(r#"{{"callId": "{id}", "arguments": {{"n": "{text}"}}}}"#);
        served.post("/api/tools/reads/call", &body);
    }
    let started = events.wait_for("call.started").data;
    assert_eq!(started["caller"]["surface"], "rest");
    assert_eq!(
        started["arguments"],
        json!({"n": "12345678901234567890.10"})
    );
    let calls = served.get("/api/calls").json();
    assert_eq!(calls["calls"][0]["callId"], "long");
    assert_eq!(calls["calls"][0].get("arguments"), None);
    assert_eq!(
        served.get("/api/calls/long").json()["arguments"],
        json!({"n": long})
    );
}

#[test]
fn a_call_is_approved_or_denied() {
    let (_sandbox, served) = asking("approval: {mode: yolo, tools: {reads: prompt}}\n");
    let approve = [("Allow tool: reads", r#"{"decision": "approve"}"#)];
    let reply = call_with_answers(&served, "reads", &approve);
    assert_eq!(text_of(&reply), "the data");
    let deny = [("Allow tool: reads", r#"{"decision": "deny"}"#)];
    let reply = call_with_answers(&served, "reads", &deny);
    assert_eq!(reply.json()["kind"], "denied", "{reply:?}");
}

#[test]
fn an_access_that_is_allowed_always_holds_from_then_on() {
    let config = "profiles: {closed: {extends: full, read: none}}\nsandbox: {user: closed}\n";
    let (_sandbox, served) = asking(config);
    let refused = served.post("/api/tools/reads/call", "{}");
    assert!(
        text_of(&refused).contains("`read` access to"),
        "{refused:?}"
    );
    let rights = |served: &Served| {
        let catalog = served.get("/api/catalog").json();
        let tools = catalog["tools"].as_array().cloned().expect("a list");
        let reads = tools.into_iter().find(|tool| tool["name"] == "reads");
        reads.expect("it is listed")["rights"].clone()
    };
    let before = rights(&served);
    assert_eq!(before["profile"], "closed");
    assert_eq!(before["permissions"]["read"], "none");
    let source = before["source"].as_str().expect("a text");
    assert!(source.contains("`sandbox.user` in"), "{source}");
    let mut events = served.listen(None);
    events.wait_for("ready");
    // The rules of a sandbox cannot be widened while it exists, so the call runs again.
    let answer = if has_sandboxes() {
        "yes, for this tool from its next call on"
    } else {
        "yes, always for this tool"
    };
    let value = json!({"value": answer}).to_string();
    let always = [("needs `read` access to", value.as_str())];
    let allowed = call_with_answers(&served, "reads", &always);
    assert_eq!(text_of(&allowed), "the data");
    // The module is loaded again with the grant.
    events.wait_for("rights.changed");
    let granted = rights(&served)["permissions"]["read"].to_string();
    assert!(granted.contains("/data"), "{granted}");
    let reply = served.post("/api/tools/reads/call", "{}");
    assert_eq!(text_of(&reply), "the data");
}

// ---- Events of one call.

#[test]
fn a_call_can_be_followed() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let head = "POST /api/tools/steps/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let mut events = served.events(
        &format!("{head}Accept: text/event-stream\r\n"),
        r#"{"callId":"s"}"#,
    );
    let mut seen = Vec::new();
    while let Some(event) = events.next() {
        let text = &event.data["partialResult"]["content"][0]["text"];
        seen.push(format!("{} {} {}", event.name, event.data["callId"], text));
        if event.name == "result" {
            assert_eq!(event.data["content"][0]["text"], "done");
        }
    }
    let expected = [
        r#"started "s" null"#,
        r#"update "s" "step 1""#,
        r#"update "s" "step 2""#,
        r#"update "s" "step 3""#,
        r#"result "s" null"#,
    ];
    assert_eq!(seen, expected);
    // Refused before the start: an answer like any other.
    let accept = "Accept: text/event-stream\r\n";
    let refused = served.send(
        &format!("{}{accept}", head.replace("steps", "nothing")),
        "{}",
    );
    assert_eq!(refused.status, 404);
    // A client that accepts both types gets the one that it names first.
    let both = "Accept: application/json, text/event-stream\r\n";
    let reply = served.send(&format!("{head}{both}"), "{}");
    assert_eq!(reply.header("content-type"), Some("application/json"));
}

// ---- The end of a call.

const WAIT: &str =
    "POST /api/tools/wait/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";

#[test]
fn a_client_that_goes_away_cancels_its_call() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let mut events = served.listen(None);
    for accept in ["", "Accept: text/event-stream\r\n"] {
        let client = served.begin(&format!("{WAIT}{accept}"), r#"{"callId":"gone"}"#);
        assert_eq!(events.wait_for("call.started").data["callId"], "gone");
        drop(client);
        let ended = events.wait_for("call.ended").data;
        assert_eq!(
            (&ended["callId"], &ended["stopped"]),
            (&json!("gone"), &json!("cancelled"))
        );
    }
}

#[test]
fn a_call_can_be_stopped_from_elsewhere() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let mut events = served.listen(None);
    let waiting = served.begin(WAIT, r#"{"callId":"w"}"#);
    events.wait_for("call.started");
    assert_eq!(served.get("/api/calls/w").json()["state"], "running");
    // The id is in use while the call runs.
    assert_eq!(
        served
            .post("/api/tools/say/call", r#"{"callId":"w"}"#)
            .status,
        409
    );
    let reply = served.delete("/api/calls/w");
    assert_eq!(
        (reply.status, reply.json()),
        (202, json!({"callId": "w", "cancelled": true}))
    );
    let answer = Reply::read(waiting);
    assert_eq!(
        (answer.status, &answer.json()["stopped"]),
        (200, &json!("cancelled"))
    );
    let known = served.get("/api/calls/w").json();
    assert_eq!(known["result"]["stopped"], "cancelled");
    // An ended call can be removed.
    let reply = served.delete("/api/calls/w");
    assert_eq!(
        (reply.status, reply.json()),
        (200, json!({"callId": "w", "cancelled": false}))
    );
    assert_eq!(served.get("/api/calls/w").status, 404);
    // Its own timeout ends a call, too.
    let late = served.post("/api/tools/wait/call", r#"{"timeoutMs": 50}"#);
    assert_eq!(
        (late.status, &late.json()["stopped"]),
        (200, &json!("deadline"))
    );
}

#[test]
fn a_signal_ends_the_server_and_what_runs() {
    for signal in ["TERM", "INT"] {
        let sandbox = sandbox();
        let mut served = serve(&sandbox, &[]);
        let mut events = served.listen(None);
        let waiting = served.begin(WAIT, "{}");
        events.wait_for("call.started");
        served.signal(signal);
        let answer = Reply::read(waiting);
        assert_eq!(
            (answer.status, &answer.json()["stopped"]),
            (200, &json!("host-shutdown"))
        );
        assert_eq!(served.wait(), Some(0));
        // Endless streams end as well.
        while events.next().is_some() {}
    }
}

// ---- Events.

#[test]
fn listeners_are_notified_of_tools_and_problems() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    served.get("/api/tools");
    let mut events = served.listen(None);
    let ready = events.next().expect("a greeting");
    assert_eq!(
        (ready.name.as_str(), &ready.data),
        ("ready", &json!({"resumed": false}))
    );
    sandbox.write(
        "home/.config/aynd/tools/new.json",
        &PLUGIN
            .replace("my-tools", "new")
            .replace("\"say\"", "\"more\""),
    );
    served.post("/api/tools/reload", "");
    // In either order.
    let news = [events.next(), events.next()].map(|event| event.expect("it goes on"));
    let of = |name: &str| {
        let named = news.iter().find(|event| event.name == name);
        &named.expect("it was told").data
    };
    assert_eq!(of("tools.changed")["added"], json!(["more"]));
    let problems = &of("problems")["problems"];
    assert_eq!(problems[0]["toolName"], "grumble");
    let last = news[1].id.clone().expect("an id");
    // A client that reconnects with its last id misses nothing.
    drop(events);
    served.post(
        "/api/tools/say/call",
        r#"{"arguments":{"text":"x"},"callId":"later"}"#,
    );
    let mut events = served.listen(Some(&last));
    assert_eq!(
        events.next().map(|event| event.data),
        Some(json!({"resumed": true}))
    );
    let started = events.wait_for("call.started").data;
    assert_eq!(started["callId"], "later");
    let ended = events.wait_for("call.ended").data;
    assert_eq!(
        (&ended["state"], &ended["isError"]),
        (&json!("finished"), &json!(false))
    );
    // An id of an earlier server run is not valid.
    let mut events = served.listen(Some("0-3"));
    assert_eq!(
        events.next().map(|event| event.data),
        Some(json!({"resumed": false}))
    );
}

/// Native code that V8 cannot stop ends with the worker process of its call.
#[test]
fn killed_native_code_blocks_no_other_tool() {
    let sandbox = sandbox();
    sandbox.write(
        "home/.omp/agent/tools/derive.js",
        r#"
import { pbkdf2Sync } from "node:crypto";
const says = (text) => ({ content: [{ type: "text", text: String(text) }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
export default () => [
  tool("derive", async () => says(pbkdf2Sync("a", "b", 2 ** 31 - 1, 64, "sha512"))),
  tool("answers", async () => says("here")),
];
"#,
    );
    let served = serve(&sandbox, &[]);
    let killed = served.post(
        "/api/tools/derive/call",
        r#"{"arguments":{},"timeoutMs":200}"#,
    );
    assert!(killed.body.contains("was killed after"), "{}", killed.body);
    let answer = served.post("/api/tools/answers/call", r#"{"arguments":{}}"#);
    assert_eq!(
        answer.json()["content"][0]["text"],
        "here",
        "{}",
        answer.body
    );
}

#[test]
fn the_server_reports_its_health() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    served.get("/api/tools");
    // A newly watched folder is scanned once more.
    let health = loop {
        let health = served.get("/api/health");
        if health.json()["tools"] != "IN_PROGRESS" {
            break health;
        }
    };
    assert_eq!(health.status, 200);
    assert_eq!(
        health.json(),
        json!({"status": "ok", "version": env!("CARGO_PKG_VERSION"), "tools": "COMPLETE"})
    );
    let catalog = served.get("/api/catalog").json();
    let tools = catalog["tools"].as_array().expect("a list");
    let raw = tools
        .iter()
        .find(|tool| tool["family"] == "kodelet")
        .expect("it is there");
    assert_eq!(
        (&raw["trusted"], &raw["approval"]),
        (&json!(true), &json!("exec"))
    );
    assert!(catalog["problems"].is_array());
}

#[test]
fn the_description_names_every_route() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let description = served.get("/api/openapi.json").json();
    assert_eq!(description["openapi"], "3.1.0");
    let paths = description["paths"].as_object().expect("paths");
    let routes: Vec<String> = paths
        .iter()
        .flat_map(|(path, item)| {
            let methods = item.as_object().expect("methods").keys();
            methods.map(move |method| format!("{method} {path}"))
        })
        .collect();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/surface/rest/mod.rs");
    let source = fs::read_to_string(source).expect("a file of the checkout");
    for path in source
        .split("\"/api/")
        .skip(1)
        .map(|rest| rest.split('"').next().expect("a path"))
    {
        assert!(
            paths.contains_key(&format!("/api/{path}")),
            "{path}: {routes:?}"
        );
    }
    assert_eq!(routes.len(), 28, "{routes:?}");
    let problem = &description["components"]["schemas"]["Problem"]["properties"];
    assert!(problem["detail"].is_object(), "{problem}");
}

// ---- Access.

#[test]
fn names_and_pages_of_others_are_refused() {
    // aynd c20
    let sandbox = sandbox();
    let served = serve(
        &sandbox,
        &[
            "--allow-host",
            "Haft.example",
            "--allow-origin",
            "https://app.example",
        ],
    );
    let port = served.address.port();
    let asks = |head: &str| served.send(&format!("GET /api/health HTTP/1.1\r\n{head}"), "");
    for host in [
        "localhost",
        "LOCALHOST:1",
        "127.0.0.1",
        "127.9.9.9:80",
        "[::1]:4238",
        "haft.example",
        "haft.example:443",
    ] {
        assert_eq!(asks(&format!("Host: {host}\r\n")).status, 200, "{host}");
    }
    for host in [
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "10.0.0.1",
        "localhost@evil.example",
        "evil.example#localhost",
        "",
    ] {
        let status = asks(&format!("Host: {host}\r\n")).status;
        assert!(status == 403 || status == 400, "{host}: {status}");
    }
    assert_eq!(asks("").status, 400);
    assert_eq!(asks("Host: localhost\r\nHost: localhost\r\n").status, 400);
    let absolute = "GET http://evil.example/api/health HTTP/1.1\r\nHost: localhost\r\n";
    assert_eq!(served.send(absolute, "").status, 403);

    let host = format!("Host: localhost:{port}\r\n");
    let reloads = |origin: &str| {
        let head = format!("POST /api/tools/reload HTTP/1.1\r\n{host}Origin: {origin}\r\n");
        served.send(&head, "")
    };
    assert_eq!(reloads(&format!("http://localhost:{port}")).status, 200);
    for origin in [
        "https://evil.example",
        "null",
        "http://localhost",
        "http://localhost:1",
        "file://",
        &format!("http://127.0.0.1:{port}"),
    ] {
        assert_eq!(reloads(origin).status, 403, "{origin}");
    }
    let guest = reloads("https://app.example");
    assert_eq!(guest.status, 200);
    assert_eq!(
        guest.header("access-control-allow-origin"),
        Some("https://app.example")
    );
    let asks = "Access-Control-Request-Method: POST\r\n";
    let preflight = |origin: &str| {
        let head =
            format!("OPTIONS /api/tools/say/call HTTP/1.1\r\n{host}Origin: {origin}\r\n{asks}");
        served.send(&head, "")
    };
    let allowed = preflight("https://app.example");
    assert_eq!(allowed.status, 204);
    assert!(
        allowed
            .header("access-control-allow-headers")
            .is_some_and(|names| names.contains("authorization"))
    );
    let refused = preflight("https://evil.example");
    assert_eq!(
        (
            refused.status,
            refused.header("access-control-allow-origin")
        ),
        (403, None)
    );
}

#[test]
fn where_others_can_reach_it_a_token_is_needed() {
    let sandbox = sandbox();
    let ran = sandbox.sh("haft serve rest --no-token --listen 0.0.0.0:0 2>&1 | sed 's/:[0-9]* can/:PORT can/'; haft serve --listen :80");
    insta::assert_snapshot!(ran.output, @r"
    error: 0.0.0.0:PORT can be reached by others, and there is no token
    hint: leave out --no-token, or listen on 127.0.0.1; --allow-anyone lets everyone in who reaches it
    error: invalid value ':80' for '--listen <ADDR>': `:80` does not say for whom: 127.0.0.1:80 is for this machine only, 0.0.0.0:80 for everybody who can reach it
    hint: `haft --help` shows every command and flag
    ");
    assert_eq!(ran.code, 2);
    sandbox.write("token", "open-sesame\n");
    let mut command = sandbox.haft();
    let mut served =
        Served::start(command.args(["serve", "--listen", "0.0.0.0:0", "--token-file", "token"]));
    served.address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
    let asks = |header: &str| {
        let head = format!("GET /api/tools HTTP/1.1\r\nHost: some.name\r\n{header}");
        served.send(&head, "")
    };
    let refused = asks("");
    assert_eq!(
        (refused.status, refused.header("www-authenticate")),
        (401, Some("Bearer realm=\"haft\""))
    );
    for wrong in [
        "Bearer open-sesam",
        "Bearer",
        "Bearer ",
        "Basic open-sesame",
        "open-sesame",
        "Bearer open-sesame open-sesame",
    ] {
        assert_eq!(
            asks(&format!("Authorization: {wrong}\r\n")).status,
            401,
            "{wrong}"
        );
    }
    for right in ["Bearer open-sesame", "bearer open-sesame"] {
        assert_eq!(
            asks(&format!("Authorization: {right}\r\n")).status,
            200,
            "{right}"
        );
    }
    // On the loopback address, too, where there is a token.
    drop(served);
    let mut command = sandbox.haft();
    command.env("HAFT_SERVE_TOKEN", "sesame");
    let served = Served::start(command.args(["serve", "rest", "--listen", "0"]));
    assert_eq!(served.get("/api/tools").status, 401);
}

// ---- Many.

#[test]
fn sixty_four_clients_lose_nothing_and_memory_stays_flat() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[]);
    let rounds = |calls: usize| {
        thread::scope(|scope| {
            for client in 0..64 {
                let served = &served;
                scope.spawn(move || {
                    let mut kept = served.begin_keeping();
                    for number in 0..calls {
                        let text = format!("{client}-{number}");
                        let reply = kept.post(
                            "/api/tools/echo/call",
                            &json!({"arguments": {"text": text}}),
                        );
                        assert_eq!(reply["content"][0]["text"], text.as_str());
                    }
                });
            }
        });
    };
    rounds(30);
    let before = resident_kb(served.pid());
    rounds(30);
    rounds(30);
    let after = resident_kb(served.pid());
    assert!(after < before + before / 3, "{before} KB, then {after} KB");
    let calls = served.get("/api/calls").json();
    assert_eq!(calls["calls"].as_array().map(Vec::len), Some(1000));
}

pub fn resident_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let number = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    number.expect("a number")
}
