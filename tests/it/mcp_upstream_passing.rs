//! MCP servers behind haft that behave: everything passes through, over each transport and in both
//! protocol variants.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use rstest::rstest;
use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};
use crate::mcp_upstream::{HttpServer, Upstream, processes};

/// Settings of a server whose calls need no approval.
const FREE: &str = r#"approval: {"*": read}"#;

/// Content of a picture.
const PIXEL: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

/// A way to the plain server.
#[derive(Clone, Copy)]
enum Way {
    /// Standard input and output, with `initialize`.
    Old,
    /// Standard input and output, with MCP 2026-07.
    New,
    /// Streamable HTTP with sessions.
    HttpOld,
    /// Streamable HTTP without sessions.
    HttpNew,
    /// The HTTP transport of 2024.
    Sse,
}

/// haft with the plain server, and the server if it is one of its own over HTTP.
struct Plain {
    upstream: Upstream,
    http: Option<HttpServer>,
}

impl Plain {
    fn over(way: Way, settings: &[&str]) -> Plain {
        let era = match way {
            Way::Old | Way::HttpOld | Way::Sse => "old",
            Way::New | Way::HttpNew => "both",
        };
        let flags = ["--era", era, "--page", "5"];
        let (upstream, http) = match way {
            Way::Old | Way::New => {
                let script = [&["plain.mjs"], flags.as_slice()].concat();
                (Upstream::new().node("plain", &script, settings), None)
            }
            Way::HttpOld | Way::HttpNew | Way::Sse => {
                let script = [&["plain_http.mjs"], flags.as_slice()].concat();
                let server =
                    HttpServer::start(&[&script[..], &["--require", "X-Key: key"]].concat());
                let is_sse = matches!(way, Way::Sse);
                let (path, kind) = if is_sse {
                    ("sse", "sse")
                } else {
                    ("mcp", "http")
                };
                let url = format!("{}/{path}", server.url);
                let kind = format!("type: {kind}");
                let settings = [settings, &["headers: {X-Key: key}", &kind]].concat();
                (Upstream::new().url("plain", &url, &settings), Some(server))
            }
        };
        let upstream = upstream.connected(&["plain"]);
        Plain { upstream, http }
    }

    /// Returns a client of MCP 2025-11, and the server that has to live as long.
    fn client(self, capabilities: Value) -> (Client, Option<HttpServer>) {
        (self.upstream.client(capabilities), self.http)
    }
}

/// Returns the plain server over standard input and output, without prefixes and approvals.
fn plain(settings: &[&str]) -> Upstream {
    Plain::over(Way::New, &[&[FREE], settings].concat()).upstream
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_old(Way::HttpOld)]
#[case::http_new(Way::HttpNew)]
#[case::sse(Way::Sse)]
fn every_kind_of_content_passes(#[case] way: Way) {
    let (mut client, _server) = Plain::over(way, &[FREE]).client(json!({}));
    let text = |text: &str| json!({"type": "text", "text": text});
    let image = json!({"type": "image", "data": PIXEL, "mimeType": "image/png"});
    let note = json!({"uri": "note://one", "mimeType": "text/plain", "text": "The first note."});
    let blob = json!({"uri": "note://pixel", "mimeType": "image/png", "blob": PIXEL});
    let audio = json!({
        "type": "audio",
        "data": "UklGRiQAAABXQVZFZm10IBAAAAABAAEARKwAAIhYAQACABAAZGF0YQAAAAA=",
        "mimeType": "audio/wav",
    });
    let link = json!({
        "type": "resource_link",
        "uri": "note://two",
        "name": "two",
        "description": "A note",
        "mimeType": "text/plain",
    });
    let mut after = text("after");
    after["annotations"] = json!({"audience": ["user"], "priority": 0.3});
    after["_meta"] = json!({"test/kept": [1]});
    for (tool, arguments, expected) in [
        ("echo", json!({"text": "hi"}), json!([text("hi")])),
        ("image", json!({}), json!([image.clone()])),
        ("audio", json!({}), json!([audio])),
        (
            "resource",
            json!({}),
            json!([{"type": "resource", "resource": note}]),
        ),
        (
            "blob",
            json!({}),
            json!([{"type": "resource", "resource": blob}]),
        ),
        ("link", json!({}), json!([link])),
        ("mixed", json!({}), json!([text("before"), image, after])),
        (
            "big",
            json!({"bytes": 20_000}),
            json!([text(&"x".repeat(20_000))]),
        ),
    ] {
        let result = client.call(tool, arguments);
        assert_eq!(result["content"], expected, "{tool}");
        assert_ne!(result["isError"], true, "{tool}");
    }
    let sum = client.call("add", json!({"a": 1, "b": 2}));
    assert_eq!(sum["structuredContent"], json!({"sum": 3}));
    let failed = client.call("fail", json!({"why": "no luck"}));
    assert_eq!(failed["isError"], true);
    assert_eq!(failed["content"], json!([text("no luck")]));
    let broken = client.call("protocol_error", json!({}));
    assert_eq!(broken["isError"], true);
    assert!(
        broken.to_string().contains("the server is broken"),
        "{broken}"
    );
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_old(Way::HttpOld)]
#[case::http_new(Way::HttpNew)]
#[case::sse(Way::Sse)]
fn progress_and_log_messages_pass(#[case] way: Way) {
    let (mut client, _server) = Plain::over(way, &[FREE]).client(json!({}));
    client.ask("logging/setLevel", json!({"level": "debug"}));
    let id = client.start("steps", json!({"count": 3}));
    let mut steps = Vec::new();
    let answer = loop {
        let message = client.next();
        match message["method"].as_str() {
            Some("notifications/progress") => steps.push(message["params"].clone()),
            Some(_) => {}
            None if message["id"] == id => break message,
            None => {}
        }
    };
    assert_eq!(text(&answer["result"]), "with a token");
    let of_step = |step: &Value| (step["progressToken"].clone(), step["message"].clone());
    let expected = [1, 2, 3].map(|step| (json!("steps"), json!(format!("step {step}"))));
    assert_eq!(steps.iter().map(of_step).collect::<Vec<_>>(), expected);
    let id = client.start("log", json!({"level": "warning", "text": "careful"}));
    let mut logged = Vec::new();
    loop {
        let message = client.next();
        if message["method"] == "notifications/message" {
            logged.push(message["params"]["data"].to_string());
        } else if message["id"] == id {
            break;
        }
    }
    assert!(logged.iter().any(|it| it.contains("careful")), "{logged:?}");
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_old(Way::HttpOld)]
#[case::http_new(Way::HttpNew)]
#[case::sse(Way::Sse)]
fn a_cancellation_reaches_the_server(#[case] way: Way) {
    let (mut client, _server) = Plain::over(way, &[FREE]).client(json!({}));
    let id = client.start("wait", json!({"id": "first"}));
    assert_eq!(client.update(), "waiting first");
    client.notify("notifications/cancelled", json!({"requestId": id}));
    // The server hears of it after haft has sent it, which nothing else waits for.
    let heard = (0..1000).any(|_| text(&client.call("cancelled", json!({}))) == "first");
    assert!(heard);
}

#[test]
fn all_pages_of_the_tools_are_listed() {
    let mut client = plain(&[]).client(json!({}));
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    assert_eq!(tools.len(), 33, "{listed}");
    let echo = tools.iter().find(|tool| tool["name"] == "echo");
    let echo = echo.expect("it is listed");
    assert_eq!(echo["title"], "Echo");
    assert_eq!(echo["description"], "Returns its text");
    let schema =
        json!({"type": "object", "properties": {"text": {"type": "string"}}, "required": ["text"]});
    assert_eq!(echo["inputSchema"], schema);
}

/// Waits for a notification of haft and returns the names of the tools then.
fn names_after_change(client: &mut Client) -> Vec<String> {
    while client.next()["method"] != "notifications/tools/list_changed" {}
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let name = |tool: &Value| tool["name"].as_str().unwrap_or_default().to_owned();
    tools.iter().map(name).collect()
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_old(Way::HttpOld)]
#[case::http_new(Way::HttpNew)]
fn a_new_tool_is_offered_while_the_server_runs(#[case] way: Way) {
    let settings = [FREE, "new_tools: offer"];
    let (mut client, _server) = Plain::over(way, &settings).client(json!({}));
    assert_eq!(text(&client.call("toggle_tool", json!({}))), "added");
    let names = names_after_change(&mut client);
    assert!(names.contains(&"extra".to_owned()), "{names:?}");
    assert_eq!(text(&client.call("extra", json!({}))), "extra");
    client.call("toggle_tool", json!({}));
    let names = names_after_change(&mut client);
    assert!(!names.contains(&"extra".to_owned()), "{names:?}");
}

/// Calls a tool with MCP 2025-11, answers haft's requests, and returns the result with the requests.
fn asked(client: &mut Client, tool: &str, answers: &[Value]) -> (Value, Vec<Value>) {
    let id = client.request(
        "tools/call",
        json!({"name": tool, "arguments": {"prompt": "Hi?"}}),
    );
    let mut requests = Vec::new();
    loop {
        let mut message = client.next();
        if message["id"] == id && message.get("method").is_none() {
            return (message["result"].take(), requests);
        }
        if message.get("id").is_some() {
            let answer = answers.get(requests.len()).cloned();
            client.reply(&message, answer.expect("so many questions"));
            requests.push(message);
        }
    }
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_old(Way::HttpOld)]
#[case::http_new(Way::HttpNew)]
#[case::sse(Way::Sse)]
fn questions_reach_an_older_client(#[case] way: Way) {
    let capabilities = json!({"elicitation": {}, "sampling": {}, "roots": {}});
    let (mut client, _server) = Plain::over(way, &[FREE]).client(capabilities);
    let accept = |content: Value| json!({"action": "accept", "content": content});

    let (result, requests) = asked(&mut client, "ask_name", &[accept(json!({"name": "Ada"}))]);
    assert_eq!(text(&result), "accept Ada");
    let schema = &requests[0]["params"]["requestedSchema"]["properties"];
    assert_eq!(schema["name"]["type"], "string", "{requests:?}");
    let (result, _) = asked(&mut client, "ask_name", &[json!({"action": "decline"})]);
    assert_eq!(text(&result), "decline");

    let answers = [
        accept(json!({"value": "one"})),
        accept(json!({"value": "two"})),
    ];
    let (result, requests) = asked(&mut client, "ask_twice", &answers);
    assert_eq!(text(&result), "one two");
    assert!(
        requests[1].to_string().contains("After one?"),
        "{requests:?}"
    );

    let filled = json!({"name": "Ada", "age": 3, "size": 1.5, "agrees": false, "colour": "g", "tags": ["a", "c"]});
    let (result, requests) = asked(&mut client, "ask_form", &[accept(filled.clone())]);
    let answer: Value = serde_json::from_str(text(&result)).expect("it is JSON");
    assert_eq!(answer, accept(filled));
    let schema = &requests[0]["params"]["requestedSchema"];
    assert_eq!(schema["required"], json!(["name", "age"]));
    let colours = json!([{"const": "r", "title": "Red"}, {"const": "g", "title": "Green"}]);
    assert_eq!(schema["properties"]["colour"]["oneOf"], colours);

    let content = json!({"type": "text", "text": "Hello."});
    let sampled = json!({"role": "assistant", "model": "fake", "content": content});
    let (result, requests) = asked(&mut client, "ask_model", &[sampled]);
    assert_eq!(text(&result), "fake: Hello.");
    assert_eq!(
        requests[0]["params"]["messages"][0]["content"]["text"],
        "Hi?"
    );

    let roots = json!({"roots": [{"uri": "file:///a"}, {"uri": "file:///b"}]});
    let (result, _) = asked(&mut client, "ask_roots", &[roots]);
    assert_eq!(text(&result), "file:///a file:///b");
}

#[rstest]
#[case::old(Way::Old)]
#[case::new(Way::New)]
#[case::http_new(Way::HttpNew)]
fn questions_reach_a_new_client(#[case] way: Way) {
    let plain = Plain::over(way, &[FREE]);
    let (mut client, _server) = (plain.upstream.silent_client(), plain.http);
    let meta = mcp_2026(json!({"elicitation": {"form": {}}, "sampling": {}, "roots": {}}));
    let ask = |client: &mut Client, tool: &str, more: Value| {
        let mut params = json!({"name": tool, "arguments": {}, "_meta": meta});
        for (key, value) in more.as_object().into_iter().flatten() {
            params[key] = value.clone();
        }
        client.ask("tools/call", params)["result"].take()
    };
    let mut result = ask(&mut client, "ask_twice", json!({}));
    for value in ["one", "two"] {
        assert_eq!(result["resultType"], "input_required", "{result}");
        let requests = result["inputRequests"].as_object().expect("questions");
        let (key, request) = requests.iter().next().expect("a question");
        assert_eq!(request["method"], "elicitation/create");
        let answer = json!({"action": "accept", "content": {"value": value}});
        let more = json!({"inputResponses": {key: answer}, "requestState": result["requestState"]});
        result = ask(&mut client, "ask_twice", more);
    }
    assert_eq!(text(&result), "one two");
}

#[test]
fn a_client_without_a_user_declines() {
    let mut client = plain(&[]).client(json!({}));
    let result = client.call("ask_name", json!({}));
    let said = text(&result);
    assert!(["cancel", "decline"].contains(&said), "{result}");
}

#[test]
fn variables_reach_the_program_and_no_other_place() {
    let upstream = Upstream::new();
    let script = upstream
        .sandbox
        .path()
        .join("plain.mjs")
        .display()
        .to_string();
    upstream
        .sandbox
        .write("home/.config/haft/below/note.txt", "");
    let config = format!(
        r#"
mcp:
  servers:
    plain:
      command: "${{PROGRAM:-node}}"
      args: ["{script}", "--name", "${{CALLED:-other}}"]
      env: {{A: "${{CASE}}/a", B: "${{MISSING_VARIABLE:-by default}}", C: plain-s3cret}}
      cwd: below
      approval: {{"*": read}}
    broken:
      command: "${{MISSING_VARIABLE}}"
"#
    );
    upstream
        .sandbox
        .write("home/.config/haft/config.yaml", &config);
    let case = upstream.sandbox.path().display().to_string();
    let upstream = upstream.connected(&["plain"]);
    let failed = upstream.sandbox.sh("haft mcp test broken");
    assert_eq!(failed.code, 1, "{}", failed.output);
    assert!(
        failed.output.contains("MISSING_VARIABLE"),
        "{}",
        failed.output
    );
    for line in [
        "haft mcp list",
        "haft mcp list --json",
        "haft list --json",
        "haft doctor",
    ] {
        let shown = upstream.sandbox.sh(line).output;
        assert!(!shown.contains("s3cret"), "{line}: {shown}");
    }
    let mut client = upstream.client(json!({}));
    let result = client.call("environment", json!({"names": ["A", "B", "C"]}));
    let seen: Value = serde_json::from_str(text(&result)).expect("it is JSON");
    let expected = json!({"A": format!("{case}/a"), "B": "by default", "C": "plain-s3cret"});
    assert_eq!(seen["env"], expected);
    assert_eq!(seen["args"], json!(["--name", "other"]));
    // It starts at the folder of the file that names the server.
    let cwd = seen["cwd"].as_str().expect("a path");
    assert!(cwd.ends_with("/below"), "{cwd}");
}

#[test]
fn names_follow_the_rules_of_each_server() {
    let upstream = Upstream::new()
        .node(
            "one",
            &["plain.mjs"],
            &[FREE, "include: [echo, add, image]", "exclude: [im*]"],
        )
        .node(
            "two",
            &["plain.mjs"],
            &[FREE, "include: [echo, add]", "rename: {add: sum}"],
        )
        .node(
            "three",
            &["plain.mjs"],
            &[FREE, "include: [echo]", "prefix: t_"],
        )
        .node("four", &["plain.mjs"], &[FREE, "enabled: false"])
        .connected(&["one", "two", "three"]);
    let mut client = upstream.client(json!({}));
    let listed = client.ask("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let mut names: Vec<&str> = tools
        .iter()
        .filter_map(|tool| tool["name"].as_str())
        .collect();
    names.sort_unstable();
    assert_eq!(names, ["add", "one_echo", "sum", "t_echo", "two_echo"]);
    for name in ["one_echo", "two_echo", "t_echo"] {
        assert_eq!(text(&client.call(name, json!({"text": name}))), name);
    }
    assert_eq!(
        client.call("sum", json!({"a": 1, "b": 1}))["structuredContent"]["sum"],
        2
    );
}

#[test]
fn hints_count_only_of_trusted_servers() {
    let tier = |upstream: &Upstream, tool: &str| {
        let shown = upstream.succeeds(&format!("haft show {tool} --json"));
        let shown: Value = serde_json::from_str(&shown).expect("it is JSON");
        shown["approval"].clone()
    };
    let stranger = Upstream::new()
        .node("plain", &["plain.mjs"], &[])
        .connected(&["plain"]);
    let believed = Upstream::new()
        .node(
            "plain",
            &["plain.mjs"],
            &["trusted: true", r#"approval: {"des*": write}"#],
        )
        .connected(&["plain"]);
    let tiers =
        ["echo", "destroy", "image"].map(|tool| (tier(&stranger, tool), tier(&believed, tool)));
    let of = |tier: &str| json!(tier);
    let expected = [("exec", "read"), ("exec", "write"), ("exec", "exec")];
    assert_eq!(tiers, expected.map(|(one, other)| (of(one), of(other))));
}

#[test]
fn an_idle_server_is_stopped_and_started_again() {
    let mut client = plain(&["idle: 1s"]).client(json!({}));
    let first = client.call("count", json!({}));
    assert_eq!(processes(&client.sandbox).len(), 1);
    // `haft serve` does not say when it stops a server.
    let started = std::time::Instant::now();
    while !processes(&client.sandbox).is_empty() {
        assert!(
            started.elapsed() < crate::mcp_client::TEST_TIMEOUT,
            "it runs on"
        );
        std::thread::yield_now();
    }
    let second = client.call("count", json!({}));
    assert_ne!(text(&first), text(&second));
    assert!(text(&second).ends_with(" 1"), "{second}");
}

#[test]
fn a_missing_header_is_a_problem_of_its_server() {
    let server = HttpServer::start(&["plain_http.mjs", "--require", "X-Key: key"]);
    let url = format!("{}/mcp", server.url);
    let upstream = Upstream::new().url("plain", &url, &[]);
    let failed = upstream.sandbox.sh("haft mcp test plain");
    assert_eq!(failed.code, 1, "{}", failed.output);
    assert!(
        failed.output.contains("401") || failed.output.contains("login"),
        "{}",
        failed.output
    );
}

/// Runs `haft mcp login` with a browser that is `curl`; returns its output and exit code.
fn log_in(upstream: &Upstream, flags: &[&str]) -> (String, Option<i32>) {
    let mut haft = upstream
        .sandbox
        .haft()
        .args(["mcp", "login", "oauth", "--no-browser"])
        .args(flags)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("haft starts");
    let mut printed = String::new();
    for line in BufReader::new(haft.stderr.take().expect("it is piped")).lines() {
        let line = line.expect("it is text");
        if line.starts_with("http") {
            let page = Command::new("curl")
                .args(["-sL", "-o", "/dev/null", &line])
                .status();
            assert!(page.expect("curl is on every machine").success());
        } else {
            printed.push_str(&format!("{line}\n"));
        }
    }
    let mut stdout = haft.stdout.take().expect("it is piped");
    stdout.read_to_string(&mut printed).expect("it is text");
    let status = haft.wait().expect("it is our child");
    (printed, status.code())
}

/// Makes haft with a server that demands a login. The machine has no keyring.
fn behind_oauth(flags: &[&str]) -> (Upstream, HttpServer) {
    let server = HttpServer::start(&[&["oauth.mjs"], flags].concat());
    let mut upstream = Upstream::new().url("oauth", &server.url, &[FREE]);
    let nowhere = upstream.sandbox.path().join("no-bus");
    let address = format!("unix:path={}", nowhere.display());
    upstream.sandbox.set(BUS, address);
    (upstream, server)
}

/// The variable with the address of the session bus, by which the keyring is found.
const BUS: &str = "DBUS_SESSION_BUS_ADDRESS";

/// A session bus with gnome-keyring, whose files are in the home directory of a sandbox.
struct Keyring {
    bus: Child,
}

impl Keyring {
    fn start(upstream: &mut Upstream) -> Keyring {
        let mut bus = upstream
            .sandbox
            .command("dbus-daemon")
            .args(["--session", "--nofork", "--print-address"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("dbus-daemon is installed");
        let mut address = String::new();
        let stdout = bus.stdout.as_mut().expect("it is piped");
        BufReader::new(stdout)
            .read_line(&mut address)
            .expect("it prints its address");
        upstream.sandbox.set(BUS, address.trim().to_owned());
        // It returns when the keyring is unlocked, and ends with the bus.
        upstream.succeeds("printf password | gnome-keyring-daemon --unlock --components=secrets");
        Keyring { bus }
    }
}

impl Drop for Keyring {
    fn drop(&mut self) {
        let _ = self.bus.kill();
        let _ = self.bus.wait();
    }
}

#[test]
fn tokens_are_in_the_keyring_where_there_is_one() {
    let (mut upstream, server) = behind_oauth(&["--expires", "3600"]);
    let keyring = Keyring::start(&mut upstream);
    let (printed, code) = log_in(&upstream, &[]);
    assert_eq!(code, Some(0), "{printed}");
    let place = "logged in to `oauth`; its tokens are in the system's keyring";
    assert!(printed.contains(place), "{printed}");
    let files = upstream.sandbox.sh("grep -rlE 'access-|refresh-' home");
    assert_eq!(files.output, "");
    assert_eq!(upstream.succeeds("haft call echo --arg text=hi"), "hi\n");
    let expire = server.url.replace("/mcp", "/expire");
    let status = Command::new("curl").args(["-s", &expire]).status();
    assert!(status.expect("curl is on every machine").success());
    for _ in 0..2 {
        assert_eq!(upstream.succeeds("haft call echo --arg text=hi"), "hi\n");
    }
    let events = server.printed().concat();
    assert_eq!(events.matches("refreshed").count(), 1, "{events}");
    assert_eq!(
        upstream.succeeds("haft mcp logout oauth"),
        "logged out of `oauth`\n"
    );
    assert_eq!(upstream.sandbox.sh("haft mcp test oauth").code, 1);
    drop(keyring);
    // A place that the user demands is not replaced by another one.
    upstream
        .sandbox
        .set("HAFT_MCP_LOGIN_STORE", "keyring".to_owned());
    let (printed, code) = log_in(&upstream, &[]);
    assert_ne!(code, Some(0), "{printed}");
    let why = "no login to `oauth`: the tokens cannot be stored: the system's keyring: ";
    assert!(printed.contains(why), "{printed}");
}

#[test]
fn a_keyring_that_is_gone_is_named() {
    let (mut upstream, _server) = behind_oauth(&[]);
    let keyring = Keyring::start(&mut upstream);
    let (printed, code) = log_in(&upstream, &[]);
    assert_eq!(code, Some(0), "{printed}");
    drop(keyring);
    let failed = upstream.sandbox.sh("haft mcp test oauth");
    assert_eq!(failed.code, 1, "{}", failed.output);
    let why = "the system's keyring: ";
    assert!(failed.output.contains(why), "{}", failed.output);
}

#[test]
fn a_login_registers_with_pkce_and_is_kept() {
    let (upstream, server) = behind_oauth(&[]);
    let failed = upstream.sandbox.sh("haft mcp test oauth");
    assert_eq!(failed.code, 1, "{}", failed.output);
    assert!(failed.output.contains("login"), "{}", failed.output);
    let (printed, code) = log_in(&upstream, &[]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(printed.contains("logged in to `oauth`"), "{printed}");
    let events: Vec<Value> = server
        .printed()
        .iter()
        .map(|line| serde_json::from_str(line).expect("it is JSON"))
        .collect();
    assert_eq!(events[0]["what"], "registered");
    assert_eq!(events[0]["loopback"], true);
    assert_eq!(events[0]["token_endpoint_auth_method"], "none");
    let authorized = json!({
        "what": "authorized",
        "code_challenge_method": "S256",
        "response_type": "code",
        "scope": "tools",
        "resource": "BASE/mcp",
        "state": true,
    });
    assert_eq!(events[1], authorized);
    assert_eq!(
        events[2],
        json!({"what": "exchanged", "resource": "BASE/mcp"})
    );
    let called = upstream.succeeds("haft call echo --arg text=hi");
    assert_eq!(called, "hi\n");
    // No other user can read the tokens, and no command prints them.
    let tokens = upstream.succeeds("find home -path '*mcp/tokens/*' -type f");
    assert!(!tokens.trim().is_empty());
    let others = upstream.succeeds("find home -path '*mcp/tokens/*' -perm /077");
    assert_eq!(others, "");
    for line in ["haft mcp list --json", "haft doctor"] {
        let shown = upstream.sandbox.sh(line).output;
        assert!(
            !shown.contains("access-") && !shown.contains("refresh-"),
            "{shown}"
        );
    }
    assert_eq!(
        upstream.succeeds("haft mcp logout oauth"),
        "logged out of `oauth`\n"
    );
    assert_eq!(upstream.sandbox.sh("haft mcp test oauth").code, 1);
}

#[test]
fn an_expired_token_is_refreshed_once_for_all_calls() {
    let (upstream, server) = behind_oauth(&["--expires", "3600"]);
    let (printed, code) = log_in(&upstream, &[]);
    assert_eq!(code, Some(0), "{printed}");
    let expire = server.url.replace("/mcp", "/expire");
    let mut client = upstream.client(json!({}));
    assert_eq!(text(&client.call("echo", json!({"text": "one"}))), "one");
    let status = Command::new("curl").args(["-s", &expire]).status();
    assert!(status.expect("curl is on every machine").success());
    let ids: Vec<u64> = (0..10)
        .map(|n| {
            client.request(
                "tools/call",
                json!({"name": "echo", "arguments": {"text": n.to_string()}}),
            )
        })
        .collect();
    let mut results = Vec::new();
    for _ in &ids {
        results.push(text(&client.next()["result"]).to_owned());
    }
    results.sort_unstable();
    assert_eq!(results, ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"]);
    let events = server.printed().concat();
    assert_eq!(events.matches("refreshed").count(), 1, "{events}");
}

#[test]
fn a_token_that_ends_at_once_is_refreshed_before_each_use() {
    let (upstream, _server) = behind_oauth(&["--expires", "1"]);
    let (printed, code) = log_in(&upstream, &[]);
    assert_eq!(code, Some(0), "{printed}");
    for _ in 0..3 {
        assert_eq!(upstream.succeeds("haft call echo --arg text=hi"), "hi\n");
    }
}

#[rstest]
#[case::refused(&["--refuse"])]
#[case::other_issuer(&["--wrong", "issuer"])]
#[case::other_state(&["--wrong", "state"])]
#[case::other_resource(&["--wrong", "resource"])]
#[case::without_tls(&["--wrong", "http"])]
#[case::no_registration(&["--no-registration"])]
fn a_wrong_login_gets_no_token(#[case] flags: &[&str]) {
    let (upstream, server) = behind_oauth(flags);
    let (printed, code) = log_in(&upstream, &[]);
    assert_ne!(code, Some(0), "{printed}");
    assert!(printed.contains("no login to `oauth`: "), "{printed}");
    let events = server.printed().concat();
    assert!(!events.contains("exchanged"), "{events}");
    let tokens = upstream
        .sandbox
        .sh("find home -path '*mcp/tokens/*' -type f");
    assert_eq!(tokens.output, "");
}

#[test]
fn a_client_that_was_registered_by_hand_logs_in() {
    let (upstream, server) = behind_oauth(&["--no-registration"]);
    let (printed, code) = log_in(&upstream, &["--client-id", "known-client"]);
    assert_eq!(code, Some(0), "{printed}");
    assert!(!server.printed().concat().contains("registered"));
}

#[test]
fn servers_of_a_project_count_only_if_it_is_trusted() {
    let upstream = Upstream::new();
    let starts = upstream.sandbox.path().join("starts");
    let server = json!({
        "command": "node",
        "args": ["plain.mjs"],
        "env": {"STARTS": starts},
    });
    let file = json!({"mcpServers": {"mine": server}}).to_string();
    upstream.sandbox.write(".mcp.json", &file);
    let _ = upstream.sandbox.sh("haft list");
    let _ = upstream.sandbox.sh("haft mcp list");
    let mut refused = upstream.sandbox.sh("haft call echo --arg text=hi");
    assert_ne!(refused.code, 0, "{}", refused.output);
    assert!(!starts.exists(), "an untrusted server was started");
    upstream.succeeds("haft trust --yes");
    upstream.succeeds("haft mcp test mine");
    let called = upstream.succeeds("haft call --yolo echo --arg text=hi");
    assert_eq!(called, "hi\n");
    // The program of the server is a file of the project, too.
    fs::remove_file(&starts).expect("it was started");
    let changed = format!(
        "// changed\n{}",
        fs::read_to_string(upstream.sandbox.path().join("plain.mjs")).expect("ours")
    );
    upstream.sandbox.write("plain.mjs", &changed);
    refused = upstream.sandbox.sh("haft call --yolo echo --arg text=hi");
    assert_ne!(refused.code, 0, "{}", refused.output);
    assert!(!starts.exists(), "a changed program was started");
}
