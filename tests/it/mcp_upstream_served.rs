//! Prompts, resources, subscriptions, tasks and errors of MCP servers behind haft, as clients of haft
//! get them. Tools themselves are in `mcp_upstream_passing`.

use std::process::Command;

use rstest::rstest;
use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};
use crate::mcp_upstream::Upstream;

/// Settings of a server whose calls need no approval.
const FREE: &str = r#"approval: {"*": read}"#;

/// Returns haft with the plain server, which speaks this era of the protocol.
fn plain(era: &str) -> Upstream {
    let upstream = Upstream::new().node("plain", &["plain.mjs", "--era", era], &[FREE]);
    upstream.connected(&["plain"])
}

/// Returns haft with the server of the conformance suite.
fn suite() -> Upstream {
    let upstream = Upstream::new().node("suite", &["conformance.mjs"], &[FREE, "new_tools: offer"]);
    upstream.connected(&["suite"])
}

/// Returns haft with two plain servers, whose prompts and resources have the same names.
fn twins() -> Upstream {
    let settings = |prefix| [FREE, prefix];
    Upstream::new()
        .node("one", &["plain.mjs"], &settings("prefix: one_"))
        .node("two", &["plain.mjs"], &settings("prefix: two_"))
        .connected(&["one", "two"])
}

/// Calls a tool as a client of MCP 2026-07 with these capabilities, and returns the answer.
fn call_2026(client: &mut Client, tool: &str, arguments: Value, capabilities: Value) -> Value {
    let meta = mcp_2026(capabilities);
    let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
    client.ask("tools/call", params)
}

/// Reads messages up to the notification of this method, and returns its parameters.
fn told(client: &mut Client, method: &str) -> Value {
    loop {
        let mut message = client.next();
        if message["method"] == method {
            return message["params"].take();
        }
    }
}

#[test]
fn what_servers_have_is_declared_at_the_start() {
    let mut client = plain("both").silent_client();
    let answer = client.initialize(json!({}));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
    let resources = json!({"subscribe": true, "listChanged": true});
    assert_eq!(capabilities["resources"], resources);
    assert_eq!(capabilities["completions"], json!({}));

    let mut client = plain("both").silent_client();
    let answer = client.ask("server/discover", json!({"_meta": mcp_2026(json!({}))}));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities["prompts"], json!({"listChanged": true}));
    assert_eq!(capabilities["resources"], resources);
    assert_eq!(capabilities["completions"], json!({}));
}

#[test]
fn a_client_with_a_selection_gets_tools_only() {
    let upstream = plain("both");
    let child = upstream
        .sandbox
        .haft()
        .args(["serve", "mcp", "--include", "echo"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("haft starts");
    let mut client = Client::from_child(child, upstream.sandbox);
    let answer = client.initialize(json!({}));
    let capabilities = &answer["result"]["capabilities"];
    assert_eq!(capabilities.get("prompts"), None);
    assert_eq!(capabilities.get("resources"), None);
    let refused = client.ask("prompts/list", json!({}));
    assert_eq!(refused["error"]["code"], -32601);
}

/// Returns the values under `key` of the entries of a list.
fn names(client: &mut Client, method: &str, list: &str, key: &str) -> Vec<String> {
    let listed = client.ask(method, json!({}));
    let entries = listed["result"][list].as_array().expect("a list");
    let name = |entry: &Value| entry[key].as_str().expect("a name").to_owned();
    entries.iter().map(name).collect()
}

#[test]
fn prompts_and_resources_keep_their_names() {
    let mut client = plain("both").client(json!({}));
    let prompts = names(&mut client, "prompts/list", "prompts", "name");
    assert_eq!(prompts, ["greet", "with_picture"]);
    let resources = names(&mut client, "resources/list", "resources", "uri");
    assert_eq!(resources, ["note://one", "note://two", "note://pixel"]);
    let params = json!({"name": "greet", "arguments": {"name": "Ada"}});
    let prompt = client.ask("prompts/get", params);
    let message = &prompt["result"]["messages"][0];
    assert_eq!(message["content"]["text"], "Say hello to Ada.");
    let read = client.ask("resources/read", json!({"uri": "note://one"}));
    let contents =
        json!([{"uri": "note://one", "mimeType": "text/plain", "text": "The first note."}]);
    assert_eq!(read["result"]["contents"], contents);
    // A resource of a template is in no list.
    let read = client.ask("resources/read", json!({"uri": "note://two/upper"}));
    assert_eq!(read["result"]["contents"][0]["text"], "THE SECOND NOTE.");
    let missing = client.ask("resources/read", json!({"uri": "note://three"}));
    // The server speaks MCP 2026-07, where this is the code.
    assert_eq!(missing["error"]["code"], -32602, "{missing}");
    let params = json!({
        "ref": {"type": "ref/prompt", "name": "greet"},
        "argument": {"name": "name", "value": "a"},
    });
    let completed = client.ask("completion/complete", params);
    let values = &completed["result"]["completion"]["values"];
    assert_eq!(*values, json!(["Ada", "Alan"]));
}

#[test]
fn names_of_two_servers_get_the_server_as_prefix() {
    let mut client = twins().client(json!({}));
    let prompts = names(&mut client, "prompts/list", "prompts", "name");
    let expected = [
        "one_greet",
        "one_with_picture",
        "two_greet",
        "two_with_picture",
    ];
    assert_eq!(prompts, expected);
    let resources = names(&mut client, "resources/list", "resources", "uri");
    assert_eq!(resources[0], "haft+mcp:one/note://one");
    assert_eq!(resources[3], "haft+mcp:two/note://one");
    client.call("one_write_note", json!({"name": "one", "text": "of one"}));
    client.call("two_write_note", json!({"name": "one", "text": "of two"}));
    for (server, expected) in [("one", "of one"), ("two", "of two")] {
        let uri = format!("haft+mcp:{server}/note://one");
        let read = client.ask("resources/read", json!({"uri": uri}));
        assert_eq!(read["result"]["contents"][0]["text"], expected);
    }
    let params = json!({"name": "two_greet", "arguments": {"name": "Ada"}});
    let prompt = client.ask("prompts/get", params);
    let message = &prompt["result"]["messages"][0];
    assert_eq!(message["content"]["text"], "Say hello to Ada.");
    let params = json!({
        "ref": {"type": "ref/resource", "uri": "haft+mcp:two/note://{name}/upper"},
        "argument": {"name": "name", "value": "t"},
    });
    let completed = client.ask("completion/complete", params);
    assert_eq!(completed["result"]["completion"]["values"], json!(["two"]));
}

#[rstest]
#[case::old("old")]
#[case::new("both")]
fn changes_of_a_watched_resource_are_told(#[case] era: &str) {
    let mut client = plain(era).client(json!({}));
    for uri in ["note://one", "note://two"] {
        let subscribed = client.ask("resources/subscribe", json!({"uri": uri}));
        assert_eq!(subscribed["result"], json!({}), "{subscribed}");
    }
    client.start("write_note", json!({"name": "one", "text": "1"}));
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, json!({"uri": "note://one"}));
    client.ask("resources/unsubscribe", json!({"uri": "note://one"}));
    client.start("write_note", json!({"name": "one", "text": "2"}));
    client.start("write_note", json!({"name": "two", "text": "2"}));
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, json!({"uri": "note://two"}));
    let missing = client.ask("resources/subscribe", json!({"uri": "haft+mcp:nobody/x"}));
    assert_eq!(missing["error"]["code"], -32002, "{missing}");
}

#[rstest]
#[case::old("old")]
#[case::new("both")]
fn a_watched_resource_of_a_server_that_died_is_watched_again(#[case] era: &str) {
    let mut client = plain(era).client(json!({}));
    let uri = json!({"uri": "note://one"});
    client.ask("resources/subscribe", uri.clone());
    let counted = client.call("count", json!({}));
    let server = text(&counted).split(' ').next().expect("its process");
    let killed = Command::new("kill").args(["-9", server]).status();
    assert!(killed.expect("kill is on every machine").success());
    // It may have changed meanwhile. No call starts the server again.
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, uri);
    client.start("write_note", json!({"name": "one", "text": "1"}));
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, uri);
}

#[test]
fn a_watched_resource_of_two_servers_has_its_prefix() {
    let mut client = twins().client(json!({}));
    let uri = "haft+mcp:two/note://one";
    client.ask("resources/subscribe", json!({"uri": uri}));
    client.start("one_write_note", json!({"name": "one", "text": "1"}));
    client.start("two_write_note", json!({"name": "one", "text": "2"}));
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, json!({"uri": uri}));
    let read = client.ask("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], "2");
}

#[rstest]
#[case::old("old")]
#[case::new("both")]
fn changes_of_the_resources_are_told(#[case] era: &str) {
    let mut client = plain(era).client(json!({}));
    client.start("write_note", json!({"name": "three", "text": "3"}));
    told(&mut client, "notifications/resources/list_changed");
    let resources = names(&mut client, "resources/list", "resources", "uri");
    assert!(
        resources.contains(&"note://three".to_owned()),
        "{resources:?}"
    );
}

#[test]
fn changes_of_the_prompts_are_told() {
    let mut client = suite().client(json!({}));
    client.start("test_trigger_prompt_change", json!({}));
    told(&mut client, "notifications/prompts/list_changed");
    let prompts = names(&mut client, "prompts/list", "prompts", "name");
    assert!(
        prompts.contains(&"changing_prompt".to_owned()),
        "{prompts:?}"
    );
}

#[test]
fn a_subscription_of_the_newer_protocol_gets_what_it_names() {
    let mut client = plain("both").silent_client();
    let wanted = json!({"resourcesListChanged": true, "resourceSubscriptions": ["note://one"]});
    let params = json!({"notifications": wanted, "_meta": mcp_2026(json!({}))});
    let listening = client.request("subscriptions/listen", params);
    let acknowledged = told(&mut client, "notifications/subscriptions/acknowledged");
    assert_eq!(acknowledged["notifications"], wanted);
    // haft subscribes at the server after it has acknowledged, and says then that it may have changed.
    let uri_and_subscription = json!({
        "uri": "note://one",
        "_meta": {"io.modelcontextprotocol/subscriptionId": listening},
    });
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, uri_and_subscription);
    let written = json!({"name": "one", "text": "1"});
    let params = json!({"name": "write_note", "arguments": written, "_meta": mcp_2026(json!({}))});
    client.request("tools/call", params);
    let updated = told(&mut client, "notifications/resources/updated");
    assert_eq!(updated, uri_and_subscription);
    call_2026(
        &mut client,
        "write_note",
        json!({"name": "new", "text": "1"}),
        json!({}),
    );
    told(&mut client, "notifications/resources/list_changed");
}

#[rstest]
#[case::old("old")]
#[case::new("both")]
fn a_page_that_must_be_opened_first_is_the_clients_to_open(#[case] era: &str) {
    let mut client = plain(era).client(json!({}));
    let id = client.start("url_required", json!({}));
    let error = &client.answer(id)["error"];
    assert_eq!(error["code"], -32042, "{error}");
    assert_eq!(error["message"], "Log in first");
    let page = &error["data"]["elicitations"][0];
    assert_eq!(page["url"], "https://example.org/login");
    assert_eq!(page["elicitationId"], "login-1");
}

#[test]
fn a_task_of_a_server_is_a_task_for_clients_that_know_them() {
    let mut client = plain("both").silent_client();
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    let created = call_2026(&mut client, "job", json!({"ms": 1}), tasks.clone());
    assert_eq!(created["result"]["resultType"], "task", "{created}");
    let task = created["result"]["taskId"]
        .as_str()
        .expect("an id")
        .to_owned();
    let ended = loop {
        let params = json!({"taskId": task, "_meta": mcp_2026(tasks.clone())});
        let got = client.ask("tasks/get", params);
        if got["result"]["status"] != "working" {
            break got;
        }
    };
    assert_eq!(ended["result"]["status"], "completed", "{ended}");
    assert_eq!(text(&ended["result"]["result"]), "the job is done");
    let result = call_2026(&mut client, "job", json!({"ms": 1}), json!({}));
    assert_eq!(text(&result["result"]), "the job is done");
}

#[test]
fn an_older_client_waits_for_the_end_of_a_task() {
    let mut client = plain("both").client(json!({}));
    let result = client.call("job", json!({"ms": 1}));
    assert_eq!(text(&result), "the job is done");
}

#[test]
fn a_server_sees_what_the_client_of_the_call_can_do() {
    let mut client = suite().silent_client();
    let refused = call_2026(&mut client, "test_missing_capability", json!({}), json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let required = json!({"requiredCapabilities": {"sampling": {}}});
    assert_eq!(refused["error"]["data"], required);
    let can = json!({"sampling": {}});
    let result = call_2026(&mut client, "test_missing_capability", json!({}), can);
    assert_eq!(text(&result["result"]), "The client has a model.");
    let refused = call_2026(&mut client, "failing_job", json!({}), json!({}));
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
}

#[test]
fn questions_keep_the_keys_of_the_server() {
    let mut client = suite().silent_client();
    let can = json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}});
    let tool = "test_input_required_result_multiple_inputs";
    let asked = call_2026(&mut client, tool, json!({}), can.clone());
    let requests = asked["result"]["inputRequests"]
        .as_object()
        .expect("requests");
    let keys: Vec<&String> = requests.keys().collect();
    assert_eq!(keys, ["client_roots", "greeting", "user_name"]);
    let answers = json!({
        "client_roots": {"roots": [{"uri": "file:///a"}]},
        "greeting": {"role": "assistant", "model": "m", "content": {"type": "text", "text": "Hi"}},
        "user_name": {"action": "accept", "content": {"name": "Ada"}},
    });
    let params = json!({
        "name": tool,
        "arguments": {},
        "inputResponses": answers,
        "requestState": asked["result"]["requestState"],
        "_meta": mcp_2026(can),
    });
    let result = client.ask("tools/call", params);
    let got: Value = serde_json::from_str(text(&result["result"])).expect("it is JSON");
    assert_eq!(got["user_name"], answers["user_name"]);
    assert_eq!(got["client_roots"], answers["client_roots"]);
    assert_eq!(got["greeting"]["content"]["text"], "Hi");
}

#[rstest]
#[case::old("old")]
#[case::new("both")]
fn the_span_of_the_client_reaches_the_server(#[case] era: &str) {
    let mut client = plain(era).client(json!({}));
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    let parent = format!("00-{trace}-00f067aa0ba902b7-01");
    let params = json!({"name": "trace", "arguments": {}, "_meta": {"traceparent": parent}});
    let result = client.ask("tools/call", params);
    let got = text(&result["result"]);
    assert!(got.starts_with(&format!("00-{trace}-")), "{got}");
    assert_eq!(text(&client.call("trace", json!({}))), "none");
}

#[test]
fn a_toolset_selects_tools_of_servers() {
    let upstream = twins();
    let config = "home/.config/haft/config.yaml";
    let before = std::fs::read_to_string(upstream.sandbox.path().join(config)).expect("ours");
    let sets = "toolsets: {review: [\"one_*note*\", \"two_e*\", \"!*environment\"]}";
    upstream.sandbox.write(config, &format!("{before}{sets}\n"));
    let child = upstream
        .sandbox
        .haft()
        .args(["serve", "mcp", "--toolset", "review"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("haft starts");
    let mut client = Client::from_child(child, upstream.sandbox);
    client.initialize(json!({}));
    let tools = names(&mut client, "tools/list", "tools", "name");
    assert_eq!(tools, ["one_write_note", "two_echo"]);
    let refused = client.ask(
        "tools/call",
        json!({"name": "one_echo", "arguments": {"text": "x"}}),
    );
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}
