//! Sessions of an agent over REST (spec aynd 74, 75; `docs/agents.md`), with `fake_agent.mjs` as
//! the agent: it prints the stream of Claude Code and calls tools over MCP.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::programs::goes;
use crate::sandbox::Sandbox;
use crate::served::{Events, Reply, Served};

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
export default (pi) => [
  { ...tool("greet", async (_id, { name }) => says(`Hello, ${name}!`)),
    parameters: pi.zod.object({ name: pi.zod.string() }) },
  tool("refuse", async () => ({ ...says("not today"), isError: true })),
  tool("where", async () => says(pi.cwd)),
];
"#;

/// A project with tools, a configuration with our agent, and a server.
struct Site {
    sandbox: Sandbox,
    server: Served,
    is_over: bool,
}

impl Site {
    fn open() -> Site {
        Site::with("")
    }

    /// Starts a site. `more` are further lines of `sessions:`.
    fn with(more: &str) -> Site {
        Site::serving(more, &[])
    }

    fn serving(more: &str, args: &[&str]) -> Site {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_agent.mjs");
        let command = json!([
            "node",
            agent,
            "--mcp-config",
            "{mcp_config}",
            "--allowed-tools",
            "{allowed_tools}",
            "--permission-mode",
            "{permission_mode}",
        ]);
        let config = format!("sessions:\n  enabled: true\n  command: {command}\n{more}");
        sandbox.write("home/.config/haft/config.yaml", &config);
        let mut all = vec!["--tool", "tools.ts", "serve", "--listen", "127.0.0.1:0"];
        all.extend(args);
        let server = Served::start(sandbox.haft().args(all));
        Site {
            sandbox,
            server,
            is_over: false,
        }
    }

    /// Sends one request.
    fn ask(&self, method: &str, path: &str, body: Option<&Value>) -> Reply {
        match (method, body) {
            ("POST", Some(body)) => self.server.post(path, &body.to_string()),
            ("DELETE", _) => self.server.delete(path),
            _ => self.server.get(path),
        }
    }

    /// Starts a session and returns its id.
    fn start(&self, body: Value) -> String {
        let answer = self.ask("POST", "/api/sessions", Some(&body));
        assert_eq!(answer.status, 201, "{}", answer.body);
        let view = answer.json();
        let id = view["sessionId"].as_str().expect("a session has an id");
        assert_eq!(
            answer.header("location"),
            Some(&*format!("/api/sessions/{id}"))
        );
        id.to_owned()
    }

    fn events(&self, id: &str) -> Heard {
        self.events_after(id, None)
    }

    fn events_after(&self, id: &str, last: Option<&str>) -> Heard {
        let last = last.map_or(String::new(), |last| format!("Last-Event-ID: {last}\r\n"));
        let head = format!("GET /api/sessions/{id}/events HTTP/1.1\r\nHost: localhost\r\n{last}");
        Heard::of(self.server.events(&head, ""))
    }

    /// Runs a session with this prompt and returns all of its events.
    fn whole(&self, prompt: &str) -> Vec<(String, Value)> {
        let id = self.start(json!({"prompt": prompt}));
        self.events(&id).rest()
    }

    fn state(&self, id: &str) -> String {
        let answer = self.ask("GET", &format!("/api/sessions/{id}"), None);
        answer.json()["state"].as_str().expect("a state").to_owned()
    }
}

impl Drop for Site {
    fn drop(&mut self) {
        // SIGTERM first: a server that is killed cannot end its agents.
        if !self.is_over {
            self.server.signal("TERM");
            self.server.wait();
        }
    }
}

/// The events of a session, as they come.
struct Heard {
    events: Events,
    last_id: Option<String>,
}

impl Heard {
    fn of(events: Events) -> Heard {
        Heard {
            events,
            last_id: None,
        }
    }

    /// Returns the next event; `None` at the end.
    fn next(&mut self) -> Option<(String, Value)> {
        let event = self.events.next()?;
        self.last_id = event.id.or(self.last_id.take());
        Some((event.name, event.data))
    }

    /// Returns the next event of that name.
    fn until(&mut self, wanted: &str) -> Value {
        loop {
            let (name, data) = self.next().unwrap_or_else(|| panic!("no {wanted} came"));
            if name == wanted {
                return data;
            }
        }
    }

    /// Returns the agent's next message.
    fn said(&mut self) -> String {
        loop {
            let data = self.until("message");
            if data["role"] == "assistant" {
                return data["text"].as_str().expect("text").to_owned();
            }
        }
    }

    fn rest(mut self) -> Vec<(String, Value)> {
        std::iter::from_fn(|| self.next()).collect()
    }
}

fn names(events: &[(String, Value)]) -> Vec<&str> {
    events.iter().map(|(name, _)| name.as_str()).collect()
}

fn last(events: &[(String, Value)]) -> &Value {
    let (name, data) = events.last().expect("something happened");
    assert_eq!(name, "completed");
    data
}

/// Returns the id of the process that the agent leaves behind.
fn child_told(events: &mut Heard) -> String {
    let mut texts = std::iter::from_fn(|| Some(events.said()));
    let pid = texts.find_map(|text| text.strip_prefix("child ").map(str::to_owned));
    pid.expect("it says so")
}

/// aynd 75: the events of the agent under their names.
#[test]
fn an_agent_calls_our_tools_and_its_events_are_published() {
    let site = Site::open();
    let events =
        site.whole("say Good morning\ncall greet {\"name\": \"Ada\"}\ncall refuse\ncall greet {}");
    assert_eq!(
        names(&events),
        [
            "session",
            "message",
            "message",
            "message",
            "tool_use",
            "tool_result",
            "message",
            "tool_use",
            "tool_result",
            "message",
            "tool_use",
            "tool_result",
            "completed",
        ]
    );
    let data: Vec<&Value> = events.iter().map(|(_, data)| data).collect();
    assert_eq!(data[1]["role"], "system");
    assert_eq!(data[2]["text"], "Good morning");
    assert_eq!(data[3]["text"], "I call greet.");
    assert_eq!(
        data[4],
        &json!({"id": "toolu_2", "name": "mcp__aynd-tools__greet", "input": {"name": "Ada"}, "tool": "greet"})
    );
    assert_eq!(
        data[5],
        &json!({"toolUseId": "toolu_2", "content": [{"type": "text", "text": "Hello, Ada!"}], "isError": false})
    );
    assert_eq!(data[8]["isError"], true);
    assert_eq!(data[8]["content"][0]["text"], "not today");
    assert_eq!(
        data[11]["isError"], true,
        "a bad argument is told to the agent"
    );
    let end = last(&events);
    assert_eq!(end["state"], "completed");
    assert_eq!(end["exitCode"], 0);
    assert_eq!(end["result"], "all done");
    assert_eq!(end["turns"], 4);
    assert_eq!(end["costUsd"], 0.25);
    assert_eq!(end["agentSessionId"], "fake-1");
}

/// aynd 74: the servers, the allowed tools, the folder and the permission mode.
#[test]
fn the_agent_gets_the_same_options_as_from_aynd() {
    let site = Site::serving("  permission_mode: bypassPermissions\n", &[]);
    let body = json!({"prompt": "told\nconfig\ntools"});
    let head = "POST /api/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: text/event-stream\r\n";
    let mut events = Heard::of(site.server.events(head, &body.to_string()));
    let told: Value = serde_json::from_str(&events.said()).expect("JSON");
    assert_eq!(told["permission-mode"], "bypassPermissions");
    assert_eq!(told["cwd"], site.sandbox.path().display().to_string());
    assert_eq!(
        told["token"],
        Value::Null,
        "our token is no business of the agent's"
    );
    let allowed = told["allowed-tools"].as_str().expect("a list");
    let allowed: Vec<&str> = allowed.split(',').collect();
    for name in ["greet", "refuse", "where", "git-status", "file-reader"] {
        assert!(
            allowed.contains(&&*format!("mcp__aynd-tools__{name}")),
            "{allowed:?}"
        );
    }
    let config: Value = serde_json::from_str(&events.said()).expect("JSON");
    let server = &config["mcpServers"]["aynd-tools"];
    assert_eq!(server["type"], "stdio");
    assert!(
        server["command"]
            .as_str()
            .is_some_and(|it| it.ends_with("/haft"))
    );
    // The agent finds exactly the tools that it may call.
    let mut found: Vec<String> = events.said().split(',').map(str::to_owned).collect();
    let mut wanted: Vec<String> = allowed
        .iter()
        .map(|name| name.replace("mcp__aynd-tools__", ""))
        .collect();
    found.sort();
    wanted.sort();
    assert_eq!(found, wanted);
    assert_eq!(events.until("completed")["state"], "completed");
    let folder = site.sandbox.path().join("home/.local/state/haft/sessions");
    let left = fs::read_dir(folder).map_or(0, Iterator::count);
    assert_eq!(left, 0, "what a session needs goes with it");
}

#[test]
fn a_session_gets_the_tools_the_mode_and_the_place_that_it_asks_for() {
    let site = Site::open();
    fs::create_dir(site.sandbox.path().join("sub")).expect("ours");
    let body = json!({
        "prompt": "told\ntools\ncall where\ncall refuse",
        "projectPath": "sub",
        "permissionMode": "plan",
        "allowedTools": ["where"],
    });
    let id = site.start(body);
    let mut events = site.events(&id);
    let told: Value = serde_json::from_str(&events.said()).expect("JSON");
    let sub = site.sandbox.path().join("sub").display().to_string();
    assert_eq!(told["permission-mode"], "plan");
    assert_eq!(told["allowed-tools"], "mcp__aynd-tools__where");
    assert_eq!(told["cwd"], sub);
    assert_eq!(events.said(), "where", "others are not even served");
    assert_eq!(events.until("tool_result")["content"][0]["text"], sub);
    assert_eq!(
        events.until("tool_result")["content"][0]["text"],
        "not allowed"
    );
}

/// aynd 75: a session can be aborted.
#[test]
fn a_cancelled_session_ends_with_its_whole_tree() {
    let site = Site::with("limits:\n  grace: 200ms\n");
    let file = site.sandbox.path().join("child");
    let prompt = format!("tools\ndeaf\nchild {}\nhang", file.display());
    let id = site.start(json!({"prompt": prompt}));
    let mut events = site.events(&id);
    let pid = child_told(&mut events);
    assert_eq!(site.state(&id), "running");
    let path = format!("/api/sessions/{id}");
    let answer = site.ask("DELETE", &path, None);
    assert_eq!(
        (answer.status, &answer.json()["cancelled"]),
        (202, &json!(true))
    );
    let end = events.until("completed");
    assert_eq!(end["state"], "cancelled");
    assert!(events.next().is_none(), "nothing comes after it");
    assert!(goes(&pid), "{pid} is still there");
    let answer = site.ask("DELETE", &path, None);
    assert_eq!(
        (answer.status, &answer.json()["cancelled"]),
        (200, &json!(false))
    );
    assert_eq!(site.state(&id), "cancelled");
}

#[test]
fn the_end_of_the_server_ends_its_sessions() {
    let site = Site::with("limits:\n  grace: 200ms\n");
    let files: Vec<PathBuf> = (0..3)
        .map(|n| site.sandbox.path().join(format!("c{n}")))
        .collect();
    let ids: Vec<String> = files
        .iter()
        .map(|file| site.start(json!({"prompt": format!("child {}\nhang", file.display())})))
        .collect();
    let mut streams: Vec<Heard> = ids.iter().map(|id| site.events(id)).collect();
    let pids: Vec<String> = streams.iter_mut().map(child_told).collect();
    let events = &mut streams[0];
    let mut site = site;
    site.server.signal("TERM");
    // A connected reader gets the `completed` event.
    assert_eq!(events.until("completed")["state"], "cancelled");
    assert_eq!(site.server.wait(), Some(0));
    site.is_over = true;
    for pid in pids {
        assert!(goes(&pid), "{pid} is still there");
    }
}

#[test]
fn invalid_output_of_an_agent_is_reported_and_ends_nothing() {
    let site = Site::open();
    let events = site.whole("line {\"type\": \"assistant\"\nline [1]\nline\nsay still here");
    let errors: Vec<&Value> = events
        .iter()
        .filter(|(name, _)| name == "error")
        .map(|(_, data)| data)
        .collect();
    assert_eq!(errors.len(), 1);
    assert_eq!(
        errors[0]["message"],
        "a line of the agent is not JSON: {\"type\": \"assistant\""
    );
    assert_eq!(errors[0]["fatal"], false);
    assert_eq!(last(&events)["state"], "completed");

    let events = site.whole("long 17000000\nsay after");
    let error = &events
        .iter()
        .find(|(name, _)| name == "error")
        .expect("told")
        .1;
    assert_eq!(
        error["message"],
        "a line of the agent has more than 16 MiB and was skipped"
    );
    assert_eq!(last(&events)["state"], "completed");

    let events = site.whole("complain out of luck\nexit 3");
    let error = &events
        .iter()
        .find(|(name, _)| name == "error")
        .expect("told")
        .1;
    assert_eq!(
        *error,
        json!({"message": "`node` ended with exit code 3:\nout of luck", "fatal": true})
    );
    let end = last(&events);
    assert_eq!(
        (&end["state"], &end["exitCode"]),
        (&json!("failed"), &json!(3))
    );

    let events = site.whole("fail no more money");
    let error = &events
        .iter()
        .find(|(name, _)| name == "error")
        .expect("told")
        .1;
    assert_eq!(*error, json!({"message": "no more money", "fatal": true}));
    assert_eq!(last(&events)["state"], "failed");
}

/// Replays what Claude Code 2.1.197 prints without a login, as far as haft reads it: the last line
/// has the subtype `success`.
#[test]
fn an_agent_that_is_not_logged_in_has_failed() {
    let site = Site::open();
    let said = json!({
        "type": "assistant",
        "message": {
            "model": "<synthetic>",
            "role": "assistant",
            "type": "message",
            "content": [{"type": "text", "text": "Not logged in · Please run /login"}],
        },
        "parent_tool_use_id": null,
        "error": "authentication_failed",
    });
    let result = json!({
        "type": "result",
        "subtype": "success",
        "is_error": true,
        "num_turns": 1,
        "result": "Not logged in · Please run /login",
        "total_cost_usd": 0,
        "permission_denials": [],
    });
    let events = site.whole(&format!("line {said}\nline {result}\nexit 1"));
    assert_eq!(
        names(&events)[1..],
        ["message", "message", "error", "completed"]
    );
    assert_eq!(
        events[3].1,
        json!({"message": "Not logged in · Please run /login", "fatal": true})
    );
    let end = last(&events);
    assert_eq!(
        (&end["state"], &end["exitCode"]),
        (&json!("failed"), &json!(1))
    );
}

#[test]
fn readers_come_late_leave_and_come_back() {
    let site = Site::open();
    let id = site.start(json!({"prompt": "say one\nsay two\nsay three\nhang"}));
    let mut first = site.events(&id);
    assert_eq!(first.said(), "one");
    let place = first.last_id.clone().expect("events have ids");
    drop(first);
    // The session goes on, and a reader that reconnects loses nothing.
    let mut again = site.events_after(&id, Some(&place));
    assert_eq!(again.said(), "two");
    assert_eq!(again.said(), "three");
    let mut late = site.events(&id);
    assert_eq!(late.said(), "one");
    let list = site.ask("GET", "/api/sessions", None).json();
    assert_eq!(list["sessions"][0]["sessionId"], id);
    assert_eq!(site.state(&id), "running");
    site.ask("DELETE", &format!("/api/sessions/{id}"), None);
    assert_eq!(again.until("completed")["state"], "cancelled");
    assert_eq!(late.until("completed")["state"], "cancelled");
    // Afterwards all of it can still be read.
    let whole = site.events(&id).rest();
    assert_eq!(last(&whole)["state"], "cancelled");
}

#[test]
fn a_reader_that_does_not_read_delays_no_other_reader() {
    let site = Site::open();
    let id = site.start(json!({"prompt": "flood 12000"}));
    let slow = site.events(&id);
    // Another reader gets the end although the first one does not read.
    site.events(&id).until("completed");
    // The oldest events are dropped, and the stream reports it.
    let events = site.events(&id).rest();
    assert_eq!(events[1].0, "error");
    let lost = events[1].1["message"].as_str().expect("words");
    assert!(lost.ends_with("events are not kept any more"), "{lost}");
    assert_eq!(last(&events)["state"], "completed");
    drop(slow);
}

#[test]
fn as_many_sessions_as_may_run_side_by_side() {
    let site = Site::with("  most: 3\n");
    let ids: Vec<String> = (0..3)
        .map(|_| site.start(json!({"prompt": "say ready\nhang"})))
        .collect();
    let body = json!({"prompt": "say too many"});
    let answer = site.ask("POST", "/api/sessions", Some(&body));
    assert_eq!(answer.status, 429, "{}", answer.body);
    let mut streams: Vec<Heard> = ids.iter().map(|id| site.events(id)).collect();
    for stream in &mut streams {
        assert_eq!(stream.said(), "ready");
    }
    site.ask("DELETE", &format!("/api/sessions/{}", ids[0]), None);
    assert_eq!(streams[0].until("completed")["state"], "cancelled");
    assert!(streams[0].next().is_none(), "nothing comes after it");
    // Once a reader has got the end, the session's slot is free again.
    site.start(json!({"prompt": "say now"}));
}

#[test]
fn an_invalid_request_starts_no_agent() {
    let site = Site::open();
    let outside = tempfile::tempdir().expect("a temporary folder");
    for (body, status, words) in [
        (json!({}), 422, "missing field `prompt`"),
        (json!({"prompt": "  "}), 400, "there is no prompt"),
        (json!({"prompt": "say x\u{0}"}), 400, "NUL"),
        (
            json!({"prompt": "say x", "colour": "red"}),
            422,
            "unknown field `colour`",
        ),
        (
            json!({"prompt": "say x", "projectPath": "nowhere"}),
            400,
            "does not exist",
        ),
        (
            json!({"prompt": "say x", "projectPath": "tools.ts"}),
            400,
            "not a directory",
        ),
        (
            json!({"prompt": "say x", "projectPath": outside.path()}),
            403,
            "is not below",
        ),
        (
            json!({"prompt": "say x", "projectPath": "../.."}),
            403,
            "is not below",
        ),
        (
            json!({"prompt": "say x", "permissionMode": "--dangerous"}),
            400,
            "is not a permission mode",
        ),
        (
            json!({"prompt": "say x", "allowedTools": ["nope"]}),
            400,
            "there is no tool `nope`",
        ),
    ] {
        let answer = site.ask("POST", "/api/sessions", Some(&body));
        assert_eq!(answer.status, status, "{body}: {}", answer.body);
        assert!(answer.body.contains(words), "{body}: {}", answer.body);
    }
    let list = site.ask("GET", "/api/sessions", None).json();
    assert_eq!(list["sessions"], json!([]));
    for (method, path) in [
        ("GET", "/api/sessions/x"),
        ("DELETE", "/api/sessions/x"),
        ("GET", "/api/sessions/x/events"),
    ] {
        assert_eq!(site.ask(method, path, None).status, 404, "{method} {path}");
    }
}

#[test]
fn an_agent_that_is_not_there_is_no_fault_of_ours() {
    let sandbox = Sandbox::with_home();
    let serve = ["serve", "rest", "--listen", "127.0.0.1:0"];
    let config = "sessions:\n  enabled: true\n  command: [no-such-agent, -p]\n";
    sandbox.write("home/.config/haft/config.yaml", config);
    let body = json!({"prompt": "x"}).to_string();
    let server = Served::start(sandbox.haft().args(serve));
    let answer = server.post("/api/sessions", &body);
    assert_eq!(answer.status, 424);
    assert!(answer.body.contains("sessions.command"), "{}", answer.body);
    drop(server);
    // Sessions are off by default.
    for config in ["", "sessions:\n  enabled: false\n"] {
        sandbox.write("home/.config/haft/config.yaml", config);
        let server = Served::start(sandbox.haft().args(serve));
        let answer = server.post("/api/sessions", &body);
        assert_eq!(answer.status, 403);
        assert!(
            answer.body.contains("`sessions: {enabled: true}`"),
            "{}",
            answer.body
        );
    }
}
