//! MCP servers by other authors behind haft. `cargo xtask test` installs them.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::judges::installed;
use crate::mcp_client::{Client, text};
use crate::mcp_upstream::{Upstream, processes};

/// Settings of a server whose calls need no approval.
const FREE: &str = r#"approval: {"*": read}"#;

/// Returns the command of a server in an npm package: the script and its arguments.
fn npm(script: &str) -> Vec<String> {
    let script = installed().join("mcp-servers/node_modules").join(script);
    assert!(script.exists(), "`cargo xtask test` installs {script:?}");
    vec!["node".into(), script.display().to_string()]
}

/// Returns the command of a program in a Python package.
fn python(program: &str) -> Vec<String> {
    let program = installed().join("mcp-servers/python/bin").join(program);
    assert!(program.exists(), "`cargo xtask test` installs {program:?}");
    vec![program.display().to_string()]
}

/// Returns the command of our server that uses FastMCP.
fn fastmcp() -> Vec<String> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/judges/mcp_servers/fast.py");
    let mut command = python("python");
    command.push(script.display().to_string());
    command
}

/// Adds a server to others.
fn with(upstream: Upstream, name: &str, command: &[String]) -> Upstream {
    let command: Vec<&str> = command.iter().map(String::as_str).collect();
    upstream.program(name, &command, &[FREE])
}

/// Connects one server and returns a client that can do everything.
fn client_of(name: &str, command: &[String]) -> Client {
    let upstream = with(Upstream::new(), name, command).connected(&[name]);
    upstream.client(json!({"elicitation": {}, "sampling": {}, "roots": {}}))
}

/// Returns the names of the listed tools that are not haft's own, in order.
fn names(client: &mut Client) -> Vec<String> {
    let mut answer = client.ask("tools/list", json!({}));
    let Value::Array(tools) = answer["result"]["tools"].take() else {
        panic!("{answer}");
    };
    let name = |tool: &Value| tool["name"].as_str().expect("a name").to_owned();
    tools.iter().map(name).collect()
}

/// Answers haft's requests until the answer of the call comes, and returns it with the notifications
/// before.
fn served(client: &mut Client, id: u64) -> (Value, Vec<Value>) {
    let mut notifications = Vec::new();
    loop {
        let mut message = client.next();
        if message["id"] == id && message.get("method").is_none() {
            return (message["result"].take(), notifications);
        }
        match message["method"].as_str().unwrap_or_default() {
            "elicitation/create" => {
                let content = json!({"name": "Ada", "check": true});
                client.reply(&message, json!({"action": "accept", "content": content}));
            }
            "sampling/createMessage" => {
                let content = json!({"type": "text", "text": "A short answer."});
                let result = json!({"role": "assistant", "model": "fake", "content": content});
                client.reply(&message, result);
            }
            "roots/list" => {
                client.reply(
                    &message,
                    json!({"roots": [{"uri": "file:///work", "name": "work"}]}),
                );
            }
            _ => notifications.push(message),
        }
    }
}

#[test]
fn everything_passes_through() {
    let command = npm("@modelcontextprotocol/server-everything/dist/index.js");
    let mut client = client_of("everything", &command);
    assert_eq!(names(&mut client).len(), 17);
    assert_eq!(
        text(&client.call("echo", json!({"message": "hi"}))),
        "Echo: hi"
    );
    let sum = client.call("get-sum", json!({"a": 2, "b": 3}));
    assert_eq!(text(&sum), "The sum of 2 and 3 is 5.");
    let weather = client.call("get-structured-content", json!({"location": "New York"}));
    let expected = json!({"temperature": 33, "conditions": "Cloudy", "humidity": 82});
    assert_eq!(weather["structuredContent"], expected);
    let picture = client.call("get-tiny-image", json!({}));
    assert_eq!(picture["content"][1]["type"], "image");
    assert_eq!(picture["content"][1]["mimeType"], "image/png");
    let links = client.call("get-resource-links", json!({"count": 2}));
    let kinds: Vec<&Value> = (0..3).map(|it| &links["content"][it]["type"]).collect();
    assert_eq!(kinds, ["text", "resource_link", "resource_link"]);
    let id = client.start(
        "trigger-long-running-operation",
        json!({"duration": 0.2, "steps": 2}),
    );
    let (result, notifications) = served(&mut client, id);
    assert!(
        text(&result).starts_with("Long running operation completed."),
        "{result}"
    );
    let steps: Vec<Option<f64>> = notifications
        .iter()
        .map(|it| it["params"]["progress"].as_f64())
        .collect();
    assert_eq!(steps, [Some(1.0), Some(2.0)]);
}

#[test]
fn questions_of_a_real_server_reach_the_client() {
    let command = npm("@modelcontextprotocol/server-everything/dist/index.js");
    let mut client = client_of("everything", &command);
    let id = client.start("trigger-elicitation-request", json!({}));
    let (answer, _) = served(&mut client, id);
    assert!(answer.to_string().contains("Ada"), "{answer}");
    let id = client.start(
        "trigger-sampling-request",
        json!({"prompt": "Hello?", "maxTokens": 10}),
    );
    let (answer, _) = served(&mut client, id);
    assert!(answer.to_string().contains("A short answer."), "{answer}");
    let id = client.start("get-roots-list", json!({}));
    let (answer, _) = served(&mut client, id);
    assert!(answer.to_string().contains("file:///work"), "{answer}");
}

#[test]
fn a_file_server_reads_its_folder() {
    let mut command = npm("@modelcontextprotocol/server-filesystem/dist/index.js");
    let upstream = Upstream::new();
    upstream.sandbox.write("files/a.txt", "the first file\n");
    let files = upstream.sandbox.path().join("files").display().to_string();
    command.push(files.clone());
    let upstream = with(upstream, "files", &command).connected(&["files"]);
    let mut client = upstream.client(json!({}));
    assert_eq!(names(&mut client).len(), 14);
    let read = client.call("read_text_file", json!({"path": format!("{files}/a.txt")}));
    assert_eq!(text(&read), "the first file\n");
    let refused = client.call("read_text_file", json!({"path": "/etc/passwd"}));
    assert_eq!(refused["isError"], true);
    let written = json!({"path": format!("{files}/b.txt"), "content": "the second"});
    assert_ne!(client.call("write_file", written)["isError"], true);
    let second = fs::read_to_string(client.sandbox.path().join("files/b.txt"));
    assert_eq!(second.expect("the tool wrote it"), "the second");
}

#[test]
fn a_memory_server_keeps_what_it_is_told() {
    let command = npm("@modelcontextprotocol/server-memory/dist/index.js");
    let upstream = Upstream::new();
    let file = upstream
        .sandbox
        .path()
        .join("memory.json")
        .display()
        .to_string();
    let command = [
        vec!["env".into(), format!("MEMORY_FILE_PATH={file}")],
        command,
    ]
    .concat();
    let upstream = with(upstream, "memory", &command).connected(&["memory"]);
    let mut client = upstream.client(json!({}));
    assert_eq!(names(&mut client).len(), 9);
    let entity = json!({"name": "Ada", "entityType": "person", "observations": ["likes sums"]});
    client.call("create_entities", json!({"entities": [entity]}));
    let graph = client.call("read_graph", json!({}));
    assert_eq!(graph["structuredContent"]["entities"][0], entity);
}

#[test]
fn the_browser_server_lists_its_tools() {
    let mut client = client_of("browser", &npm("@playwright/mcp/cli.js"));
    let names = names(&mut client);
    assert_eq!(names.len(), 25, "{names:?}");
    assert!(
        names.iter().all(|name| name.starts_with("browser_")),
        "{names:?}"
    );
}

#[test]
fn a_git_server_reads_a_repository() {
    let upstream = Upstream::new();
    let repository = upstream
        .sandbox
        .path()
        .join("repository")
        .display()
        .to_string();
    upstream.succeeds(
        "git init -q -b main repository && cd repository && echo one > a.txt && git add a.txt && git commit -qm First",
    );
    let upstream = with(upstream, "git", &python("mcp-server-git")).connected(&["git"]);
    let mut client = upstream.client(json!({}));
    assert_eq!(names(&mut client).len(), 12);
    let status = client.call("git_status", json!({"repo_path": repository}));
    let expected = "Repository status:\nOn branch main\nnothing to commit, working tree clean";
    assert_eq!(text(&status), expected);
    let log = client.call("git_log", json!({"repo_path": repository, "max_count": 1}));
    assert!(text(&log).contains("First"), "{log}");
}

#[test]
fn a_time_server_converts_times() {
    let mut client = client_of("time", &python("mcp-server-time"));
    assert_eq!(names(&mut client), ["convert_time", "get_current_time"]);
    let arguments = json!({
        "source_timezone": "Asia/Tokyo",
        "time": "12:00",
        "target_timezone": "Asia/Kolkata",
    });
    let converted = client.call("convert_time", arguments);
    let converted: Value = serde_json::from_str(text(&converted)).expect("it is JSON");
    assert_eq!(converted["time_difference"], "-3.5h");
}

#[test]
fn a_fastmcp_server_passes_through() {
    let mut client = client_of("fast", &fastmcp());
    assert_eq!(names(&mut client), ["add", "city", "count", "fails"]);
    let sum = client.call("add", json!({"a": 2, "b": 3}));
    assert_eq!(sum["structuredContent"], json!({"result": 5}));
    let city = client.call("city", json!({"name": "Ulm"}));
    assert_eq!(
        city["structuredContent"],
        json!({"name": "Ulm", "people": 1000})
    );
    let id = client.start("count", json!({"to": 2}));
    let (result, notifications) = served(&mut client, id);
    assert_eq!(text(&result), "counted to 2");
    let progress = notifications
        .iter()
        .filter(|it| it["method"] == "notifications/progress")
        .map(|it| &it["params"]["progress"]);
    assert_eq!(progress.collect::<Vec<_>>(), [1.0, 2.0]);
    let failed = client.call("fails", json!({}));
    assert_eq!(failed["isError"], true);
    assert!(text(&failed).contains("no luck"), "{failed}");
    let bad = client.call("add", json!({"a": "two", "b": 3}));
    assert_eq!(bad["isError"], true);
}

/// Names of the servers of ours in the tests of many servers.
fn twenty() -> Vec<String> {
    (1..=20).map(|number| format!("server_{number}")).collect()
}

/// Makes haft with twenty servers, each of which has one tool with its own name.
fn of_twenty() -> Upstream {
    let mut upstream = Upstream::new();
    let starts = upstream.sandbox.path().join("starts").display().to_string();
    for name in twenty() {
        let script = ["plain.mjs", "--name", &name, "--starts", &starts];
        let rename = format!("rename: {{count: {name}}}");
        upstream = upstream.node(&name, &script, &[FREE, "include: [count]", &rename]);
    }
    upstream
}

#[test]
fn listing_twenty_servers_starts_none() {
    let upstream = of_twenty();
    let names = twenty();
    let upstream = upstream.connected(&names.iter().map(String::as_str).collect::<Vec<_>>());
    let starts = upstream.sandbox.path().join("starts");
    fs::remove_file(&starts).expect("they were started");
    let listed = upstream.succeeds("haft list");
    assert!(names.iter().all(|name| listed.contains(name)), "{listed}");
    upstream.succeeds("haft mcp list");
    let mut client = upstream.client(json!({}));
    let answer = client.ask("tools/list", json!({}));
    assert_eq!(answer["result"]["tools"].as_array().map(Vec::len), Some(20));
    assert!(!starts.exists(), "{:?}", fs::read_to_string(&starts));
    // The first call of one starts that one only.
    client.call("server_7", json!({}));
    let started = fs::read_to_string(&starts).expect("one was started");
    assert_eq!(started.lines().count(), 1, "{started}");
    assert!(started.starts_with("server_7 "), "{started}");
}

#[test]
fn twenty_servers_answer_at_once() {
    let names = twenty();
    let upstream = of_twenty();
    let mut client = upstream
        .connected(&names.iter().map(String::as_str).collect::<Vec<_>>())
        .client(json!({}));
    let mut waiting: Vec<u64> = Vec::new();
    for _ in 0..5 {
        waiting.extend(
            names
                .iter()
                .map(|name| client.request("tools/call", json!({"name": name, "arguments": {}}))),
        );
    }
    let mut pids = std::collections::BTreeMap::<String, Vec<u64>>::new();
    while !waiting.is_empty() {
        let message = client.next();
        let Some(id) = message["id"].as_u64() else {
            continue;
        };
        waiting.retain(|waits| *waits != id);
        let said = text(&message["result"]);
        let (pid, count) = said.split_once(' ').expect("two numbers");
        pids.entry(pid.to_owned())
            .or_default()
            .push(count.parse().expect("a number"));
    }
    // Each server has one process, which got all of its calls.
    assert_eq!(pids.len(), 20);
    for counts in pids.values_mut() {
        counts.sort_unstable();
        assert_eq!(counts, &[1, 2, 3, 4, 5]);
    }
    assert_eq!(processes(&client.sandbox).len(), 20);
}
