//! Tokens that the user made: the tools that their clients see and call, the separation of the
//! clients, and the limits of each. These are attacks on a real server over real sockets.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};

use crate::callers::{Bearer, names, new_token, project, serve, serve_with, until};
use crate::served::{Events, Reply, Served};

// ---- Tokens of the user's.

#[test]
fn a_token_shows_and_calls_only_what_it_names() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ci = Bearer::new(
        &served,
        &sandbox,
        "--tools 'git_*,files,by_argument' --tier read",
    );
    assert_eq!(ci.names("/api/tools"), ["git_log"]);
    assert_eq!(ci.names("/api/catalog"), ["git_log"]);
    assert_eq!(ci.get("/api/catalog").json()["problems"], json!([]));
    assert_eq!(ci.call("git_log", json!({})).status, 200);
    // A hidden tool is answered like a missing one. A tool whose tier depends on its arguments
    // counts as the highest tier.
    for tool in ["git_push", "files", "by_argument", "secret", "no_such_tool"] {
        let (shown, called) = (
            ci.get(&format!("/api/tools/{tool}")),
            ci.call(tool, json!({})),
        );
        assert_eq!((shown.status, called.status), (404, 404), "{tool}");
        let said = called.json()["detail"].to_string().replace(tool, "TOOL");
        assert_eq!(said, "\"Tool TOOL not found\"", "{called:?}");
    }
    assert_eq!(ci.post("/api/tools/reload", &json!({})).status, 403);
    let writes = Bearer::new(&served, &sandbox, "--tools 'git_*,files' --tier write");
    assert_eq!(writes.names("/api/tools"), ["files", "git_log"]);
    assert_eq!(writes.call("files", json!({})).status, 200);
    assert_eq!(writes.call("git_push", json!({})).status, 404);
    // The same over MCP, in both versions.
    let list = ci.mcp("tools/list", json!({})).json();
    assert_eq!(names(&list["result"]["tools"]), ["git_log"]);
    let found = ci.mcp("server/discover", json!({}));
    assert!(
        !found.body.contains("secret") && !found.body.contains("git_push"),
        "{found:?}"
    );
    let unknown = ci.mcp("tools/call", json!({"name": "secret", "arguments": {}}));
    let text = unknown.json()["error"]["message"].clone();
    assert_eq!(text, "Unknown tool: secret", "{unknown:?}");
    for tool in ["git_push", "by_argument"] {
        let above = ci.mcp("tools/call", json!({"name": tool, "arguments": {}}));
        assert!(above.body.contains("Unknown tool"), "{above:?}");
    }
    let begun = ci.initialize();
    assert!(!begun.body.contains("secret"), "{begun:?}");
    let session = begun.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let listed = ci.old_mcp(Some(session), &list);
    assert!(
        listed.body.contains("git_log") && !listed.body.contains("secret"),
        "{listed:?}"
    );
    let call = json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call",
        "params": {"name": "secret", "arguments": {}}});
    let called = ci.old_mcp(Some(session), &call);
    assert!(called.body.contains("Unknown tool: secret"), "{called:?}");
    // The user's own token has no restrictions.
    assert_eq!(served.post("/api/tools/secret/call", "{}").status, 200);
    // Exclusions, and all the others.
    let others = Bearer::new(
        &served,
        &sandbox,
        "--tools '!git_*,!environment' --tier exec",
    );
    let seen = others.names("/api/tools");
    assert!(seen.contains(&"secret".to_owned()), "{seen:?}");
    assert!(
        !seen.iter().any(|name| name.starts_with("git_")),
        "{seen:?}"
    );
}

#[test]
fn a_token_that_was_not_made_opens_nothing() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let good = new_token(&sandbox, "--tools echo --name good");
    let folder = sandbox.path().join("home/.local/state/haft/tokens");
    let stored: Vec<_> = fs::read_dir(&folder).expect("a folder").flatten().collect();
    assert_eq!(stored.len(), 1);
    let path = stored[0].path();
    let text = fs::read_to_string(&path).expect("ours");
    let (_, secret) = good.rsplit_once('_').expect("its secret");
    assert!(!text.contains(secret), "what is stored does not suffice");
    let mode = |path: &Path| fs::metadata(path).expect("ours").permissions().mode() & 0o777;
    assert_eq!((mode(&folder), mode(&path)), (0o700, 0o600));
    let status = |token: &str| Bearer(&served, token.to_owned()).get("/api/tools").status;
    assert_eq!(status(&good), 200);
    let id = good.split('_').nth(1).expect("its id");
    let hash = serde_json::from_str::<Value>(&text).expect("JSON")["hash"].clone();
    let hash = hash.as_str().expect("a hash");
    for forged in [
        format!("haft_{id}_{hash}"),
        format!("haft_{id}_{}", "0".repeat(64)),
        format!("haft_{id}_"),
        format!("haft_{id}"),
        format!("haft_../tokens/{id}_{secret}"),
        format!("haft_{}_{secret}", id.to_uppercase()),
        format!("{good}0"),
        secret.to_owned(),
        hash.to_owned(),
    ] {
        assert_eq!(status(&forged), 401, "{forged}");
    }
    // A file that another user could have written or changed is not used.
    fs::set_permissions(&path, fs::Permissions::from_mode(0o622)).expect("ours");
    assert_eq!(status(&good), 401);
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("ours");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("ours");
    assert_eq!(status(&good), 401);
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).expect("ours");
    assert_eq!(status(&good), 200);
    // A file under another token's name is not that token.
    let other = folder.join("0123456789abcdef.json");
    fs::copy(&path, other).expect("ours");
    assert_eq!(status(&format!("haft_0123456789abcdef_{secret}")), 401);
}

#[test]
fn what_is_revoked_or_over_ends_at_once() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ci = Bearer::new(
        &served,
        &sandbox,
        "--tools wait,echo --expires never --name ci",
    );
    let mut events = ci.events();
    let mut call = ci.wait("of-ci");
    let begun = ci.initialize();
    let session = begun
        .header("mcp-session-id")
        .expect("a session")
        .to_owned();
    let mut all = served.listen(None);
    assert_eq!(
        sandbox.sh("haft token revoke ci").output,
        "revoked 1 token\n"
    );
    assert_eq!(ci.get("/api/tools").status, 401, "from the next request on");
    // Its running streams end, too.
    while events.next().is_some() {}
    while call.next().is_some() {}
    let ended = all.wait_for("call.ended").data;
    assert_eq!(
        (&ended["callId"], &ended["stopped"]),
        (&json!("of-ci"), &json!("cancelled"))
    );
    let again = Bearer::new(&served, &sandbox, "--tools echo --name ci");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    assert_eq!(again.old_mcp(Some(&session), &list).status, 404);
    let short = Bearer::new(&served, &sandbox, "--tools echo --expires 2s");
    let mut events = short.events();
    while events.next().is_some() {}
    until("it expires", || short.get("/api/tools").status == 401);
}

#[test]
fn nothing_of_one_client_reaches_another() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let mut heard = eve.events();
    let mut heard_by_ada = ada.events();
    let mut heard_by_user = served.listen(None);
    let running = ada.wait("shared-id");
    let finished = ada.call("echo", json!({"word": "of ada"})).json();
    let id = finished["callId"].as_str().expect("an id");
    assert!(id.len() >= 32, "{id}: not to be guessed");
    // Lists, results, cancellation.
    assert_eq!(eve.get("/api/calls").json()["calls"], json!([]));
    for id in [id, "shared-id"] {
        let path = format!("/api/calls/{id}");
        assert_eq!(eve.get(&path).status, 404, "{id}");
        assert_eq!(eve.delete(&path).status, 404, "{id}");
        assert_eq!(ada.get(&path).status, 200, "{id}");
        assert_eq!(served.get(&path).status, 200, "the user sees all: {id}");
    }
    // The same id means another call here; a client cannot even find out that it is in use.
    let own = eve.wait("shared-id");
    assert_eq!(eve.delete("/api/calls/shared-id").status, 202);
    drop(own);
    assert_eq!(ada.get("/api/calls/shared-id").json()["state"], "running");
    // Events: eve gets only those of her own calls.
    for expected in ["call.started", "call.ended"] {
        let event = heard.next().expect("an event");
        assert_eq!(
            (&*event.name, &event.data["tool"]),
            (expected, &json!("wait"))
        );
        assert_eq!(event.data["callId"], "shared-id");
    }
    let first = heard_by_ada.wait_for("call.started");
    assert_eq!(first.data["callId"], "shared-id");
    assert_eq!(heard_by_ada.wait_for("call.ended").data["callId"], id);
    assert_eq!(heard_by_user.wait_for("call.ended").data["callId"], id);
    // The numbers of events reveal nothing about other clients either.
    let last = first.id.expect("an id");
    let head = eve.head("GET", "/api/events") + format!("Last-Event-ID: {last}\r\n").as_str();
    let mut resumed = served.events(&head, "");
    assert_eq!(resumed.wait_for("ready").data["resumed"], false);
    assert_eq!(ada.delete("/api/calls/shared-id").status, 202);
    drop(running);
    // A session of MCP 2025-11 belongs to its client alone; even the user's own token has no
    // access.
    let begun = ada.initialize();
    let session = begun.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    for other in [&eve, &user] {
        assert_eq!(other.old_mcp(Some(session), &list).status, 404);
        let named = format!("Mcp-Session-Id: {session}\r\nAccept: text/event-stream\r\n");
        let stream = served.send(&(other.head("GET", "/mcp") + named.as_str()), "");
        assert_eq!(stream.status, 404);
        let end = served.send(&(other.head("DELETE", "/mcp") + named.as_str()), "");
        assert_eq!(end.status, 404);
    }
    assert_eq!(ada.old_mcp(Some(session), &list).status, 200);
}

#[test]
fn tasks_belong_to_the_client_that_made_the_call() {
    let sandbox = project();
    let mut command = sandbox.haft();
    command.args([
        "--tool",
        "module.ts",
        "serve",
        "mcp",
        "--task-after",
        "always",
    ]);
    let served = Served::start(command.args(["--http", "127.0.0.1:0"]));
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let made = ada
        .mcp("tools/call", json!({"name": "wait", "arguments": {}}))
        .json();
    let id = made["result"]["taskId"]
        .as_str()
        .unwrap_or_else(|| panic!("{made}"));
    let asks = |who: &Bearer<'_>, method: &str| {
        let params = match method {
            "tasks/update" => json!({"taskId": id, "inputResponses": {}}),
            _ => json!({"taskId": id}),
        };
        who.mcp(method, params).json()
    };
    for method in ["tasks/get", "tasks/update", "tasks/cancel"] {
        let refused = asks(&eve, method);
        let text = refused["error"]["message"].as_str().unwrap_or_default();
        assert_eq!(
            text,
            format!("there is no task `{id}`"),
            "{method}: {refused}"
        );
    }
    assert_eq!(asks(&ada, "tasks/get")["result"]["status"], "working");
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    assert_eq!(
        asks(&user, "tasks/get")["result"]["status"],
        "working",
        "the user sees all"
    );
    assert!(asks(&ada, "tasks/cancel").get("error").is_none());
    until("it is cancelled", || {
        asks(&ada, "tasks/get")["result"]["status"] == "cancelled"
    });
}

#[test]
fn a_question_is_answered_only_by_the_client_that_got_it() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let ada = Bearer::new(&served, &sandbox, "--name ada");
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    let asked = ada
        .mcp("tools/call", json!({"name": "ask", "arguments": {}}))
        .json();
    let asked = &asked["result"];
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let key = asked["inputRequests"]
        .as_object()
        .and_then(|all| all.keys().next());
    let key = key.expect("a question");
    let answer = |word: &str| {
        let content = json!({"action": "accept", "content": {"answer": word}});
        json!({"name": "ask", "arguments": {}, "requestState": asked["requestState"],
            "inputResponses": {key: content}})
    };
    for other in [&eve, &user] {
        let refused = other.mcp("tools/call", answer("Eve"));
        assert_eq!(refused.json()["error"]["code"], -32602, "{refused:?}");
    }
    let answered = ada.mcp("tools/call", answer("Ada"));
    assert_eq!(
        answered.json()["result"]["content"][0]["text"],
        "Ada",
        "{answered:?}"
    );
}

#[test]
fn a_client_above_its_limits_is_refused_and_others_are_served() {
    let sandbox = project();
    let env = [("HAFT_SERVE_BODY_MB", "4"), ("HAFT_SERVE_BODIES_MB", "16")];
    let served = serve_with(&sandbox, &[], &env);
    let eve = Bearer::new(&served, &sandbox, "--name eve");
    let is_too_much = |reply: &Reply| {
        assert_eq!(reply.status, 429, "{reply:?}");
        assert_eq!(reply.header("retry-after"), Some("1"));
        assert!(reply.json()["hint"].is_string(), "{reply:?}");
    };
    let mut streams: Vec<Events> = (0..16).map(|_| eve.events()).collect();
    is_too_much(&eve.get("/api/events"));
    let others = Bearer::new(&served, &sandbox, "--name ada");
    drop(others.events());
    drop(served.listen(None));
    streams.pop();
    until("the place is free again", || {
        let stream = served.begin(&eve.head("GET", "/api/events"), "");
        let mut head = [0; 12];
        (&stream).read_exact(&mut head).expect("an answer");
        head.ends_with(b"200")
    });
    // Calls.
    let calls: Vec<Events> = (0..256).map(|id| eve.wait(&format!("call-{id}"))).collect();
    is_too_much(&eve.call("echo", json!({})));
    is_too_much(&eve.mcp("tools/call", json!({"name": "echo", "arguments": {}})));
    assert_eq!(others.call("echo", json!({})).status, 200);
    drop(calls);
    // Sessions: a client's own oldest one is dropped, never another client's.
    let of_other = others.initialize();
    let of_other = of_other.header("mcp-session-id").expect("a session");
    let list = json!({"jsonrpc": "2.0", "id": 2, "method": "tools/list"});
    let sessions: Vec<String> = (0..65)
        .map(|_| {
            let begun = eve.initialize();
            begun
                .header("mcp-session-id")
                .expect("a session")
                .to_owned()
        })
        .collect();
    assert_eq!(eve.old_mcp(Some(&sessions[0]), &list).status, 404);
    assert_eq!(eve.old_mcp(Some(&sessions[64]), &list).status, 200);
    assert_eq!(others.old_mcp(Some(of_other), &list).status, 200);
    // Request bodies: a token's share is a quarter, and one body of the maximal size always fits.
    let begin = |who: &Bearer<'_>, length: usize| {
        let mut stream = TcpStream::connect(served.address).expect("it listens");
        let head = who.head("POST", "/api/tools/echo/call");
        let text = format!(
            "{head}Content-Length: 4000000\r\n\r\n{}",
            " ".repeat(length)
        );
        stream.write_all(text.as_bytes()).expect("it reads");
        stream
    };
    let held = begin(&eve, 3_900_000);
    // Wait until the server has read so much.
    until("the share is used up", || {
        let large = json!({"arguments": {"text": "x".repeat(3_000_000)}});
        let reply = eve.post("/api/tools/echo/call", &large);
        assert!(reply.status == 200 || reply.status == 429, "{reply:?}");
        reply.status == 429
    });
    let large = json!({"arguments": {"text": "x".repeat(3_000_000)}});
    assert_eq!(others.post("/api/tools/echo/call", &large).status, 200);
    drop(held);
    until("it is given back", || {
        eve.post("/api/tools/echo/call", &large).status == 200
    });
    // All together.
    let user = Bearer(&served, served.token.clone().expect("it made one"));
    let held: Vec<TcpStream> = (0..4).map(|_| begin(&user, 3_990_000)).collect();
    until("all memory is used up", || {
        let reply = others.post("/api/tools/echo/call", &large);
        assert!(reply.status == 200 || reply.status == 503, "{reply:?}");
        reply.status == 503
    });
    assert_eq!(
        others.call("echo", json!({})).status,
        200,
        "small ones go on"
    );
    drop(held);
}

// ---- Sessions of an agent.

#[test]
fn an_agent_is_started_only_with_the_right_and_below_the_limit() {
    let sandbox = project();
    let agent = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/fake_agent.mjs");
    let command = json!([
        "node",
        agent,
        "--mcp-config",
        "{mcp_config}",
        "--allowed-tools",
        "{allowed_tools}",
        "--permission-mode",
        "{permission_mode}"
    ]);
    let write = |mode: &str| {
        let config = format!("sessions:\n  enabled: true\n  command: {command}\n{mode}");
        sandbox.write("home/.config/haft/config.yaml", &config);
    };
    let modes = [
        "plan",
        "dontAsk",
        "default",
        "acceptEdits",
        "bypassPermissions",
    ];
    for (configured, line) in [
        ("plan", "  permission_mode: plan\n"),
        ("default", ""),
        ("acceptEdits", "  permission_mode: acceptEdits\n"),
        (
            "bypassPermissions",
            "  permission_mode: bypassPermissions\n",
        ),
    ] {
        write(line);
        let mut served = serve(&sandbox, &[]);
        let most = modes
            .iter()
            .position(|one| *one == configured)
            .expect("one of them");
        for (rank, mode) in modes.iter().enumerate() {
            let body = json!({"prompt": "say x", "permissionMode": mode}).to_string();
            let reply = served.post("/api/sessions", &body);
            let expected = if rank <= most { 201 } else { 403 };
            assert_eq!(reply.status, expected, "{configured}: {mode}: {reply:?}");
        }
        for mode in ["auto", "BypassPermissions", "bypasspermissions"] {
            let body = json!({"prompt": "say x", "permissionMode": mode}).to_string();
            assert_eq!(served.post("/api/sessions", &body).status, 403, "{mode}");
        }
        let unsaid = served.post("/api/sessions", &json!({"prompt": "say x"}).to_string());
        assert_eq!(unsaid.json()["permissionMode"], configured);
        served.signal("TERM");
        served.wait();
    }
    let mut served = serve(&sandbox, &[]);
    // A token allows only tools by default.
    let tools = Bearer::new(&served, &sandbox, "--tier exec");
    let body = json!({"prompt": "tools"});
    assert_eq!(tools.post("/api/sessions", &body).status, 403);
    assert_eq!(tools.get("/api/sessions").status, 403);
    let ada = Bearer::new(
        &served,
        &sandbox,
        "--sessions --tools 'git_*,files' --tier read",
    );
    let eve = Bearer::new(&served, &sandbox, "--sessions --tier exec");
    let begun = ada.post("/api/sessions", &body);
    assert_eq!(begun.status, 201, "{begun:?}");
    let begun = begun.json();
    assert_eq!(begun["allowedTools"], json!(["mcp__aynd-tools__git_log"]));
    let id = begun["sessionId"].as_str().expect("an id");
    assert!(id.len() >= 32, "{id}");
    let path = format!("/api/sessions/{id}");
    assert_eq!(eve.get("/api/sessions").json()["sessions"], json!([]));
    assert_eq!(eve.get(&path).status, 404);
    assert_eq!(eve.get(&format!("{path}/events")).status, 404);
    assert_eq!(eve.delete(&path).status, 404);
    assert_eq!(served.get(&path).status, 200);
    let wanted = json!({"prompt": "tools", "allowedTools": ["secret"]});
    assert_eq!(ada.post("/api/sessions", &wanted).status, 400);
    let head = ada.head("GET", &format!("{path}/events"));
    let mut events = served.events(&head, "");
    let said = std::iter::from_fn(|| events.next()).find(|event| event.data["role"] == "assistant");
    let said = said.expect("it says which tools it has");
    assert_eq!(
        said.data["text"], "git_log",
        "the agent itself gets no others"
    );
    while events.next().is_some() {}
    served.signal("TERM");
    served.wait();
}

// ---- The configuration of coding agents.

#[test]
fn an_agent_gets_a_lasting_token_in_a_private_file() {
    let sandbox = project();
    let served = serve(&sandbox, &[]);
    let url = format!("http://{}/mcp", served.address);
    for (agent, file) in [
        ("cursor", "home/.cursor/mcp.json"),
        ("codex", "home/.codex/config.toml"),
    ] {
        let path = sandbox.write(file, "");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).expect("ours");
        let write = format!("haft agents config {agent} --scope user --url {url} --write");
        let ran = sandbox.sh(&write);
        assert!(
            ran.output.contains(&format!("made the token `{agent}-")),
            "{}",
            ran.output
        );
        let text = fs::read_to_string(&path).expect("ours");
        let (_, rest) = text
            .split_once("Bearer ")
            .unwrap_or_else(|| panic!("{text}"));
        let token: String = rest
            .chars()
            .take_while(|c| c.is_ascii_alphanumeric() || *c == '_')
            .collect();
        assert!(
            !ran.output.contains(&token),
            "it is in the file and nowhere else"
        );
        let mode = fs::metadata(&path).expect("ours").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{agent}");
        let client = Bearer(&served, token);
        let listed = client.mcp("tools/list", json!({})).json();
        assert!(
            names(&listed["result"]["tools"]).contains(&"git_push".to_owned()),
            "{listed}"
        );
        assert_eq!(client.get("/api/sessions").status, 403, "tools only");
        // A second run changes nothing and makes no token.
        let again = sandbox.sh(&write);
        assert!(again.output.contains("nothing changed"), "{}", again.output);
        assert_eq!(fs::read_to_string(&path).expect("ours"), text);
        let ran = sandbox.sh(&format!("haft agents config {agent} --scope user --remove"));
        assert!(ran.output.contains("revoked the token"), "{}", ran.output);
        assert_eq!(client.mcp("tools/list", json!({})).status, 401);
        // A file in the checkout holds a variable's name, not the secret.
        let ran = sandbox.sh(&format!(
            "haft agents config {agent} --scope project --url {url} --write && cat .c*/*"
        ));
        assert!(ran.output.contains("HAFT_TOKEN"), "{}", ran.output);
        assert!(!ran.output.contains("haft_"), "{}", ran.output);
    }
    assert_eq!(
        sandbox.sh("haft token list").output,
        "there are no tokens; `haft token new` makes one\n"
    );
}

#[test]
fn tokens_are_made_listed_and_refused_in_words() {
    let sandbox = project();
    let says = |words: &str, code: i32, expected: &[&str]| {
        let ran = sandbox.sh(&format!("haft token {words}"));
        assert_eq!(ran.code, code, "{words}: {}", ran.output);
        for text in expected {
            assert!(ran.output.contains(text), "{words}: {}", ran.output);
        }
    };
    let made = "`ci`: tools git_*,!git_push, up to tier write, until 20";
    says(
        "new --name ci --tools 'git_*,!git_push' --tier write --expires 8h 2>&1 >/dev/null",
        0,
        &[made, " UTC; it is not shown again\n"],
    );
    says(
        "new --expires never --sessions",
        0,
        &["up to tier read, sessions of an agent, until it is revoked"],
    );
    says("list", 0, &["ID ", "EXPIRES", "git_*,!git_push", "never"]);
    let listed = sandbox.sh("haft token list --json");
    let mut listed: Vec<Value> = serde_json::from_str(&listed.output).expect("JSON");
    // Two of the same second are in the order of their random ids.
    listed.sort_by_key(|token| token["name"] != "ci");
    let of = |index: usize, key: &str| listed[index][key].clone();
    assert_eq!(of(0, "tools"), json!(["git_*", "!git_push"]));
    assert_eq!(
        (of(0, "name"), of(0, "tier")),
        (json!("ci"), json!("write"))
    );
    let lifetime = listed[0]["expiresAt"]
        .as_u64()
        .zip(listed[0]["createdAt"].as_u64());
    assert_eq!(lifetime.map(|(end, begin)| end - begin), Some(8 * 3600));
    assert_eq!(
        (of(1, "sessions"), of(1, "expiresAt")),
        (json!(true), Value::Null)
    );
    for (words, expected) in [
        ("new --name ci", "there is already a token `ci`"),
        ("new --tools '['", "`[` is not a pattern of tool names"),
        ("new --tools 'a,,b'", "a pattern of tool names is empty"),
        (
            "new --expires 8",
            "`8` is not a time: write it like 8h, 90m or 30d, or `never`",
        ),
        ("new --expires 0s", "must be between 1 second and 100 years"),
        ("new --expires 99999999999999999999d", "is not a time"),
        ("new --tier none", "invalid value 'none'"),
        ("new --name 'a b'", "`a b` cannot be the name of a token"),
        ("revoke nobody", "there is no token `nobody`"),
    ] {
        says(words, 2, &[expected]);
    }
    says("revoke ci", 0, &["revoked 1 token"]);
    // A user who has lost a token may have only its text, which no reply may contain.
    let token = new_token(&sandbox, "--name lost");
    says(&format!("revoke {token}"), 0, &["revoked 1 token"]);
    let again = sandbox.sh(&format!("haft token revoke {token}"));
    assert_eq!(again.code, 2);
    let (_, secret) = token.rsplit_once('_').expect("its secret");
    assert!(!again.output.contains(secret), "{}", again.output);
}
