//! `tools/list` and `tools/call`: the tools and the results that clients get.

use std::process::Command;
use std::time::Instant;

use serde_json::{Value, json};

use crate::mcp_client::{Client, TEST_TIMEOUT, mcp_2026, text};
use crate::sandbox::Sandbox;

const TOOLS: &str = r##"
const says = (text, details) => ({ content: [{ type: "text", text }], details });
const tool = (name, execute, rest) =>
  ({ name, description: `${name}!`, parameters: { type: "object" }, execute, ...rest });

let aborted = 0;

export default (pi) => [
  tool("echo", async (_id, args) => says(JSON.stringify(args)), { label: "Echo it", approval: "read" }),
  tool("writes", async () => says("ok"), { approval: "write" }),
  tool("secret", async () => says("ok"), { hidden: true }),
  tool("with.dot", async () => says("dotted")),
  tool("with dot", async () => says("spaced")),
  tool(`long${"x".repeat(80)}`, async () => says("long")),
  tool("bad_list", async () => says("ok"), { parameters: { type: "object", properties: { a: { anyOf: "b" } } } }),
  tool("bad_reference", async () => says("ok"), { parameters: { type: "object", properties: { a: { $ref: "#/$defs/none" } } } }),
  tool("bad_root", async () => says("ok"), { parameters: { type: "string" } }),
  tool("details", async (_id, { details }) => says("see details", details)),
  tool("typed", async () => says("ok"), { parameters: pi.zod.object({ count: pi.zod.number().int() }) }),
  tool("throws", async () => { throw new Error("it broke"); }),
  tool("image", async () => ({ content: [{ type: "image", data: "aGFmdA==", mimeType: "image/png" }] })),
  tool("steps", async (_id, _args, onUpdate) => {
    onUpdate(says("first"));
    onUpdate(says("half", { progress: 50, total: 100 }));
    onUpdate(says("back", { progress: 10, total: 100 }));
    return says("done");
  }),
  tool("wait", (_id, _args, onUpdate, _ctx, signal) => {
    onUpdate(says("waiting"));
    return new Promise((resolve) => signal.addEventListener("abort", () => { aborted++; resolve(says("aborted")); }));
  }),
  tool("aborted", async () => says(String(aborted))),
];
"##;

fn names(list: &Value) -> Vec<&str> {
    let tools = list["result"]["tools"].as_array().expect("a list");
    tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect()
}

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let tools = list["result"]["tools"].as_array().expect("a list");
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {list}"))
}

#[test]
fn a_list_names_what_models_can_call_in_a_stable_order() {
    let mut client = Client::old(TOOLS, json!({}));
    let list = client.ask("tools/list", json!({}));
    let names = names(&list);
    let mut sorted = names.clone();
    sorted.sort_unstable();
    assert_eq!(names, sorted);
    for absent in ["secret", "bad_list", "bad_reference", "bad_root"] {
        assert!(!names.contains(&absent), "{absent}: {names:?}");
    }
    // Both names would become `with_dot`.
    let dotted = names.iter().filter(|name| name.starts_with("with_dot"));
    assert_eq!(dotted.count(), 2, "{names:?}");
    let long = names
        .iter()
        .find(|name| name.starts_with("longx"))
        .expect("it is offered");
    assert_eq!(long.len(), 64);
    assert_eq!(
        named(&list, long)["_meta"]["haft/name"],
        format!("long{}", "x".repeat(80))
    );
    assert_eq!(text(&client.call(long, json!({}))), "long");
    assert_eq!(text(&client.call("with.dot", json!({}))), "dotted");
    assert_eq!(client.ask("tools/list", json!({})), {
        let mut again = list.clone();
        again["id"] = json!(5);
        again
    });
}

#[test]
fn a_listed_tool_has_title_schema_and_hints() {
    let mut client = Client::old(TOOLS, json!({}));
    let list = client.ask("tools/list", json!({}));
    assert_eq!(
        named(&list, "echo"),
        &json!({
            "name": "echo",
            "title": "Echo it",
            "description": "echo!",
            "inputSchema": {"type": "object"},
            "annotations": {"readOnlyHint": true},
            "_meta": {"anthropic/maxResultSizeChars": 46 * 1024 + 2000},
        })
    );
    let hints = |name| named(&list, name)["annotations"].clone();
    assert_eq!(
        hints("writes"),
        json!({"readOnlyHint": false, "openWorldHint": false})
    );
    assert_eq!(
        hints("wait"),
        json!({"readOnlyHint": false, "destructiveHint": true, "openWorldHint": true})
    );
}

/// Nothing enforces the tier of a shell tool, so what a project declares is no hint for clients.
#[test]
fn a_shell_tool_of_a_project_cannot_declare_itself_read_only() {
    let sandbox = Sandbox::with_home();
    sandbox.write("p/tools.ts", TOOLS);
    let tool = |name: &str| format!("name: {name}\ndescription: d\nbash: echo hi\ntags: [read]\n");
    sandbox.write("p/.cycod/tools/theirs.yaml", &tool("theirs"));
    sandbox.write("p/.cycod/tools/allowed.yaml", &tool("allowed"));
    sandbox.write("home/.cycod/tools/mine.yaml", &tool("mine"));
    sandbox.write(
        "home/.config/haft/config.yaml",
        "approval:\n  tiers:\n    allowed: read\n",
    );
    let command = ["--cwd", "p", "--trust-project", "serve", "mcp"];
    let mut client = Client::of(sandbox, &command);
    client.initialize(json!({}));
    let list = client.ask("tools/list", json!({}));
    let is_read_only = |name| named(&list, name)["annotations"]["readOnlyHint"].clone();
    assert_eq!(is_read_only("theirs"), json!(false));
    assert_eq!(is_read_only("allowed"), json!(true));
    assert_eq!(is_read_only("mine"), json!(true));
}

/// Providers refuse a union at the root, and clients pass schemas on unchanged.
#[test]
fn a_union_at_the_root_is_one_object() {
    let module = r##"
const branch = (kind, name) => ({
  type: "object",
  properties: { kind: { const: kind }, [name]: { type: "string" } },
  required: ["kind", name],
});
const tool = (name, parameters) => ({
  name, description: name, parameters, execute: async (_id, args) => ({ content: [{ type: "text", text: JSON.stringify(args) }] }),
});
export default () => [
  tool("either", { $schema: "https://json-schema.org/draft/2020-12/schema", anyOf: [branch("file", "path"), branch("text", "text")] }),
  tool("named", { $ref: "#/$defs/one", $defs: { one: { oneOf: [branch("a", "b"), branch("c", "d")] } } }),
  tool("inside", { type: "object", properties: { x: { anyOf: [{ type: "string" }, { type: "null" }] } } }),
];
"##;
    let mut client = Client::silent(module, &[]);
    let new = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
    let mut client = Client::old(module, json!({}));
    let old = client.ask("tools/list", json!({}));
    assert_eq!(new["result"]["tools"], old["result"]["tools"]);
    let either = named(&old, "either");
    assert_eq!(
        either["inputSchema"],
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "kind": {"enum": ["file", "text"]},
                "path": {"type": "string"},
                "text": {"type": "string"},
            },
            "required": ["kind"],
        })
    );
    let description = either["description"].as_str().expect("a text");
    assert!(
        description.contains(r#"(kind = "file", path) or (kind = "text", text)"#),
        "{description}"
    );
    let whole = &either["_meta"]["haft/inputSchema"];
    assert_eq!(whole["anyOf"].as_array().map(Vec::len), Some(2));
    let schema = &named(&old, "named")["inputSchema"];
    for union in ["$ref", "anyOf", "oneOf"] {
        assert_eq!(schema[union], Value::Null, "{schema}");
    }
    // Providers accept a union deeper down, so it stays.
    let inside = named(&old, "inside");
    assert_eq!(
        inside["inputSchema"]["properties"]["x"]["anyOf"][1]["type"],
        "null"
    );
    assert_eq!(inside["_meta"]["haft/inputSchema"], Value::Null);
    // The tool accepts what its author's schema accepts.
    let taken = client.call("either", json!({"kind": "file", "path": "a"}));
    assert_eq!(text(&taken), r#"{"kind":"file","path":"a"}"#);
    let refused = client.call("either", json!({"kind": "file", "text": "a"}));
    assert_eq!(refused["isError"], true);
}

#[test]
fn what_is_left_out_is_named_in_the_log() {
    let mut client = Client::old(TOOLS, json!({}));
    client.request("tools/list", json!({}));
    for name in ["bad_list", "bad_reference", "bad_root"] {
        let message = client.next();
        assert_eq!(message["method"], "notifications/message", "{message}");
        assert_eq!(message["params"]["level"], "warning");
        let text = message["params"]["data"].as_str().expect("a text");
        assert!(text.contains(name), "{text}");
    }
    assert!(client.next()["result"].is_object());
    // The warnings come only once, and not at all to a client with a higher level.
    let id = client.request("tools/list", json!({}));
    assert_eq!(client.next()["id"], id);
    let mut client = Client::old(TOOLS, json!({}));
    client.ask("logging/setLevel", json!({"level": "error"}));
    let id = client.request("tools/list", json!({}));
    assert_eq!(client.next()["id"], id);
}

#[test]
fn doctor_reports_aliases_and_tools_that_are_left_out() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let ran = sandbox.sh("haft --tool tools.ts doctor");
    for expected in [
        "model providers refuse the name `with.dot`",
        "\"bad_list\" is left out for MCP clients: /properties/a/anyOf: it is not a list of schemas",
        "\"bad_reference\" is left out for MCP clients: /properties/a/$ref: `#/$defs/none` leads nowhere",
        "\"bad_root\" is left out for MCP clients: its root is of type \"string\", not an object",
    ] {
        assert!(ran.output.contains(expected), "{expected}\n{}", ran.output);
    }
}

#[test]
fn long_lists_come_in_pages() {
    let module = "export default () => Array.from({ length: 600 }, (_, number) => ({
        name: `tool_${String(number).padStart(3, '0')}`, description: 'one', parameters: { type: 'object' },
        execute: async () => ({ content: [] }) }));";
    let mut client = Client::old(module, json!({}));
    let (mut cursor, mut seen, mut pages) = (Value::Null, Vec::new(), 0);
    loop {
        let params = match &cursor {
            Value::Null => json!({}),
            cursor => json!({"cursor": cursor}),
        };
        let list = client.ask("tools/list", params);
        seen.extend(names(&list).into_iter().map(str::to_owned));
        pages += 1;
        cursor = list["result"]["nextCursor"].clone();
        if cursor.is_null() {
            break;
        }
    }
    assert_eq!((pages, seen.len()), (3, 600));
    assert!(seen.is_sorted());
    let refused = client.ask("tools/list", json!({"cursor": "*"}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[test]
fn arguments_keep_their_numbers_and_their_order() {
    let mut client = Client::silent(TOOLS, &[]);
    // An executable gets the text that the client wrote.
    let path = client.sandbox.write(
        "home/.kodelet/tools/verbatim",
        "#!/bin/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"verbatim\",\"description\":\"v\",\"input_schema\":{\"type\":\"object\"}}'\nelse\n  cat\nfi\n",
    );
    let made = Command::new("chmod").arg("+x").arg(path).status();
    assert!(made.expect("`chmod` is on every machine").success());
    let sandbox = std::mem::replace(&mut client.sandbox, Sandbox::empty());
    drop(client);
    let mut client = Client::within(sandbox, &[]);
    client.initialize(json!({}));
    let exact = r#"{"z":1.0,"a":123456789012345678901234567890,"m":1e3,"b":0.1}"#;
    let name = "custom_tool_verbatim";
    client.raw(
        format!(r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"{name}","arguments":{exact}}}}}"#)
            .as_bytes(),
    );
    let answer = loop {
        let message = client.next();
        if message["id"] == "x" {
            break message;
        }
    };
    assert_eq!(
        text(&answer["result"]),
        format!("<result>\n{exact}\n</result>")
    );
}

#[test]
fn results_carry_content_details_and_failures() {
    let mut client = Client::old(TOOLS, json!({}));
    for details in [json!({"rows": [1, 2]}), json!([1, 2])] {
        let result = client.call("details", json!({"details": details}));
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(result["_meta"]["haft/details"], details);
    }
    assert_eq!(
        client.call("image", json!({}))["content"],
        json!([{"type": "image", "data": "aGFmdA==", "mimeType": "image/png"}])
    );
    let result = client.call("throws", json!({}));
    assert_eq!(
        (text(&result), &result["isError"]),
        ("it broke", &json!(true))
    );
    let result = client.call("typed", json!({"count": "many"}));
    assert_eq!(result["isError"], true);
    assert!(
        text(&result).starts_with("Validation failed for tool \"typed\""),
        "{result}"
    );
}

#[test]
fn unknown_tools_and_methods_are_protocol_errors() {
    let mut client = Client::old(TOOLS, json!({}));
    let mut refused = |method: &str, params| client.ask(method, params)["error"].take();
    let error = refused("tools/call", json!({"name": "ecko"}));
    assert_eq!(error["code"], -32602);
    assert_eq!(error["message"], "Unknown tool: ecko. Did you mean echo?");
    assert_eq!(
        refused("tools/call", json!({"name": "secret"}))["code"],
        -32602
    );
    assert_eq!(
        refused("tools/call", json!({"arguments": {}}))["code"],
        -32602
    );
    for method in [
        "tools/fly",
        "prompts/list",
        "resources/list",
        "completion/complete",
    ] {
        let reference = json!({"type": "ref/prompt", "name": "x"});
        let argument = json!({"name": "x", "value": "y"});
        let error = refused(method, json!({"ref": reference, "argument": argument}));
        assert_eq!(error["code"], -32601, "{method}: {error}");
    }
}

#[test]
fn updates_are_progress_that_grows() {
    let mut client = Client::old(TOOLS, json!({}));
    let id = client.start("steps", json!({}));
    let mut told = Vec::new();
    loop {
        let message = client.next();
        if message["id"] == id {
            assert_eq!(text(&message["result"]), "done");
            break;
        }
        let params = &message["params"];
        assert_eq!(params["progressToken"], "steps");
        let update = &params["_meta"]["haft/update"];
        assert_eq!(update["content"][0]["text"], params["message"]);
        told.push(json!([
            params["progress"],
            params["total"],
            params["message"]
        ]));
    }
    assert_eq!(
        told,
        [
            json!([1.0, null, "first"]),
            json!([50.0, 100.0, "half"]),
            json!([51.0, null, "back"]),
        ]
    );
    // A call without a progress token gets no notifications of progress.
    let id = client.request("tools/call", json!({"name": "steps"}));
    assert_eq!(client.next()["id"], id);
}

#[test]
fn a_cancelled_call_is_aborted_and_not_answered() {
    let mut client = Client::old(TOOLS, json!({}));
    let id = client.start("wait", json!({}));
    assert_eq!(client.update(), "waiting");
    client.notify(
        "notifications/cancelled",
        json!({"requestId": id, "reason": "enough"}),
    );
    let start = Instant::now();
    loop {
        let asked = client.start("aborted", json!({}));
        // The first answer after the cancellation, and each one after it, belongs to this request.
        let answer = client.next();
        assert_eq!(answer["id"], asked, "{answer}");
        if text(&answer["result"]) == "1" {
            return;
        }
        assert!(
            start.elapsed() < TEST_TIMEOUT,
            "the tool was never asked to stop"
        );
    }
}

#[test]
fn both_protocol_versions_are_served_without_a_switch() {
    let mut client = Client::silent(TOOLS, &[]);
    let meta = mcp_2026(json!({}));
    let found = client.ask("server/discover", json!({"_meta": meta}));
    let versions = found["result"]["supportedVersions"]
        .as_array()
        .expect("versions");
    assert!(versions.contains(&json!("2026-07-28")) && versions.contains(&json!("2025-06-18")));
    let list = client.ask("tools/list", json!({"_meta": meta}));
    assert_eq!(list["result"]["resultType"], "complete");
    assert_eq!(list["result"]["cacheScope"], "private");
    assert!(list["result"]["ttlMs"].is_u64());
    let params = json!({"name": "details", "arguments": {"details": [1, 2]}, "_meta": meta});
    let result = client.ask("tools/call", params)["result"].take();
    assert_eq!(result["_meta"]["haft/details"], json!([1, 2]));
    // A request without `_meta`, so that its protocol version is unknown.
    let refused = client.ask("tools/list", json!({}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");

    let mut client = Client::silent(TOOLS, &[]);
    let begun = client.initialize(json!({}));
    assert_eq!(begun["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(begun["result"]["serverInfo"]["name"], "haft");
    let list = client.ask("tools/list", json!({}));
    assert_eq!(list["result"].get("resultType"), None);
}

#[test]
fn flags_and_sets_choose_what_is_offered() {
    let offered = |config: &str, flags: &[&str]| {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        sandbox.write("home/.config/haft/config.yaml", config);
        let mut client = Client::within(sandbox, flags);
        client.initialize(json!({}));
        let list = client.ask("tools/list", json!({}));
        let refused = client.ask("tools/call", json!({"name": "throws"}));
        assert_eq!(refused["error"]["code"], -32602, "{refused}");
        names(&list).join(" ")
    };
    assert_eq!(
        offered("", &["--include", "w*", "--exclude", "with*"]),
        "wait writes"
    );
    let config = "toolsets: {look: [echo, 'w*', '!with*'], more: [image]}";
    assert_eq!(offered(config, &["--toolset", "look"]), "echo wait writes");
    assert_eq!(
        offered(config, &["--toolset", "look", "--toolset", "more"]),
        "echo image wait writes"
    );
    assert_eq!(
        offered(config, &["--toolset", "look", "--include", "*o"]),
        "echo"
    );

    let sandbox = Sandbox::with_home();
    sandbox.write("home/.config/haft/config.yaml", config);
    let ran = sandbox.sh("haft serve mcp --toolset lock < /dev/null");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert_eq!(
        ran.output,
        "error: there is no toolset `lock`\nhint: the configuration has: look, more\n"
    );
}
