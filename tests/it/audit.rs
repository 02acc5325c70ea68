//! `haft log`: the recorded calls and their clients, and the detection of a changed log.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft::Call;
use haft::audit::{AuditLog, Caller};
use serde_json::{Value, json};

use crate::loopback::{Answer, Server};
use crate::mcp_client::Client;
use crate::sandbox::Sandbox;
use crate::served::Served;

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (pi, name, execute, more) =>
  ({ name, description: name, parameters: pi.zod.object({ text: pi.zod.string().optional(), url: pi.zod.string().optional() }), execute, ...more });
export default (pi) => [
  tool(pi, "echo", async (_id, { text }) => says(text ?? "nothing")),
  tool(pi, "fails", async () => { throw new Error("no luck"); }),
  tool(pi, "runs", async () => says((await pi.exec("uname", ["-s"])).stdout)),
  tool(pi, "spawns", async () => {
    const { execFileSync } = await import("node:child_process");
    return says(String(execFileSync("true")));
  }),
  tool(pi, "fetches", async (_id, { url }) => says(await (await fetch(url)).text())),
  tool(pi, "waits", (_id, _params, onUpdate, _ctx, signal) => {
    onUpdate?.(says("waiting"));
    return new Promise((resolve) => signal.addEventListener("abort", () => resolve(says("asked to stop"))));
  }),
  tool(pi, "careful", async () => says("done"), { approval: { tier: "exec", policy: "prompt" } }),
];
"#;

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox
}

fn configured(config: &str) -> Sandbox {
    let sandbox = sandbox();
    sandbox.write("home/.config/haft/config.yaml", config);
    sandbox
}

fn folder(sandbox: &Sandbox) -> PathBuf {
    sandbox.path().join("home/.local/state/haft/audit")
}

/// Ends a server by SIGTERM, as its user does.
fn stop(mut served: Served) {
    served.signal("TERM");
    assert_eq!(served.wait(), Some(0));
}

/// The files of the log, the oldest first.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "jsonl"));
    // `audit-…` comes before `audit.jsonl`.
    files.sort();
    files
}

/// The lines of the log.
fn lines(sandbox: &Sandbox) -> Vec<Value> {
    let texts = files(&folder(sandbox)).into_iter();
    let texts: Vec<String> = texts
        .map(|path| fs::read_to_string(path).expect("a file of the log"))
        .collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines
        .map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}")))
        .collect()
}

/// The lines of calls that ended.
fn calls(sandbox: &Sandbox) -> Vec<Value> {
    let mut lines = lines(sandbox);
    lines.retain(|line| line["event"] == "call");
    lines
}

/// The one call of a tool.
fn call_of(sandbox: &Sandbox, tool: &str) -> Value {
    let mut calls = calls(sandbox);
    calls.retain(|line| line["tool"] == tool);
    assert_eq!(calls.len(), 1, "calls of {tool}: {calls:?}");
    calls.remove(0)
}

fn run(sandbox: &Sandbox, line: &str) -> String {
    let ran = sandbox.sh(line);
    assert_eq!(ran.code, 0, "{line}\n{}", ran.output);
    ran.output
}

fn verifies(sandbox: &Sandbox) -> String {
    run(sandbox, "haft log --verify")
}

/// Checks that the log says that lines could not be written.
fn has_gap(sandbox: &Sandbox) {
    let verified = sandbox.sh("haft log --verify");
    let said = &verified.output;
    assert!(
        verified.code == 1 && said.contains("lines could not be written"),
        "{said}"
    );
    assert!(!said.contains("the chain holds"), "{said}");
}

/// Requests for `haft rpc`: so many calls of `echo`.
fn requests(count: usize) -> String {
    let request = |id: usize| {
        let params = json!({"name": "echo", "arguments": {"text": format!("text {id}")}});
        format!(
            "{}\n",
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
        )
    };
    (1..=count).map(request).collect()
}

#[test]
fn a_call_of_each_surface_is_recorded_once() {
    let sandbox = sandbox();
    run(&sandbox, "haft --tool tools.ts call echo --arg text=cli");
    sandbox.write("line", "echo text=repl\n");
    let repl = sandbox.sh("haft --tool tools.ts repl < line");
    assert_eq!(repl.code, 0, "{}", repl.output);
    sandbox.write("requests", &requests(1));
    run(&sandbox, "haft --tool tools.ts rpc < requests");

    let mut client = Client::within(sandbox, &[]);
    client.initialize(json!({}));
    // The fast path, and the one with progress.
    client.ask(
        "tools/call",
        json!({"name": "echo", "arguments": {"text": "short"}}),
    );
    client.call("echo", json!({"text": "long"}));
    client.hang_up();
    client.ends_within(Duration::from_secs(60));

    let sandbox = &client.sandbox;
    let mut serve = sandbox.haft();
    serve.args(["--tool", "tools.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(&mut serve);
    let reply = served.post("/api/tools/echo/call", r#"{"arguments": {"text": "rest"}}"#);
    assert_eq!(reply.status, 200, "{reply:?}");
    let head = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
                Accept: application/json, text/event-stream\r\n\
                MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
    let params = json!({"name": "echo", "arguments": {"text": "http"}, "_meta": crate::mcp_client::mcp_2026(json!({}))});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params});
    let reply = served.send(head, &body.to_string());
    assert_eq!(reply.status, 200, "{reply:?}");
    stop(served);

    let calls = calls(sandbox);
    let surfaces: Vec<_> = calls
        .iter()
        .map(|call| call["caller"]["surface"].as_str())
        .collect();
    let expected = ["cli", "repl", "rpc", "mcp", "mcp", "rest", "mcp-http"];
    assert_eq!(surfaces, expected.map(Some), "{calls:#?}");
    let runs: BTreeSet<_> = calls.iter().map(|call| call["run"].as_str()).collect();
    assert_eq!(runs.len(), calls.len());
    for call in &calls {
        assert_eq!(call["tool"], "echo");
        assert_eq!(call["outcome"], "ok");
        assert_eq!(call["family"], "js");
    }
    assert_eq!(calls[3]["caller"]["client"], "test");
    assert_eq!(calls[6]["caller"]["client"], "test");
    for call in &calls[5..] {
        let address = call["caller"]["address"].as_str();
        assert!(
            address.is_some_and(|it| it.starts_with("127.0.0.1:")),
            "{call}"
        );
    }
    let events: Vec<_> = lines(sandbox)
        .iter()
        .map(|line| line["event"].clone())
        .collect();
    let servers = events
        .iter()
        .filter(|event| **event == "server-started" || **event == "server-stopped");
    assert_eq!(servers.count(), 2, "{events:?}");
    verifies(sandbox);
}

#[tokio::test]
async fn an_embedder_decides_by_the_handle() {
    let sandbox = sandbox();
    let host = sandbox.host(|config| config.configured_paths = vec!["tools.ts".into()]);
    let call = || Call::new("echo", json!({"text": "a"}));
    host.call(call(), None).outcome().await.expect("it runs");
    assert!(!folder(&sandbox).exists());

    let log = AuditLog::of(host.config()).expect("it is on");
    let recorded = host.with_audit(&log, Caller::on("my-agent"));
    recorded
        .call(call(), None)
        .outcome()
        .await
        .expect("it runs");
    assert!(log.flush(Duration::from_secs(60)));
    assert_eq!(call_of(&sandbox, "echo")["caller"]["surface"], "my-agent");
    host.shutdown().await;
}

#[tokio::test]
async fn a_part_of_a_call_is_listed_with_its_parent() {
    let sandbox = sandbox();
    let host = sandbox.host(|config| config.configured_paths = vec!["tools.ts".into()]);
    let log = AuditLog::of(host.config()).expect("it is on");
    let whole = host.with_audit(&log, Caller::on("http"));
    for (handle, id) in [(&whole, "whole"), (&whole.with_parent("whole"), "part")] {
        let mut call = Call::new("echo", json!({}));
        call.id = id.to_owned();
        let outcome = handle.call(call, None).outcome().await;
        outcome.expect("it runs");
    }
    assert!(log.flush(Duration::from_secs(60)));
    host.shutdown().await;
    let recorded: Vec<Value> = calls(&sandbox)
        .iter()
        .map(|it| it["parent"].clone())
        .collect();
    assert_eq!(recorded, [Value::Null, json!("whole")]);
    let shown = sandbox.sh("haft log part").output;
    assert!(shown.contains("part of      whole\n"), "{shown}");

    // A server in the same directory reads the log.
    let mut serve = sandbox.haft();
    serve.args(["--tool", "tools.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(&mut serve);
    let call = served.get("/api/calls/part").json();
    assert_eq!(call["parentId"], "whole", "{call}");
    let call = served.get("/api/calls/whole").json();
    assert_eq!(call.get("parentId"), None, "{call}");
    stop(served);
}

#[test]
fn tests_of_tools_are_not_recorded() {
    let sandbox = sandbox();
    sandbox.write(
        "greet.ts",
        r#"export default (pi) => ({ name: "greet", description: "Greets", parameters: pi.zod.object({}),
          async execute() { return { content: [{ type: "text", text: "hello" }] }; } });"#,
    );
    sandbox.write(
        "greet.tool-test.json",
        r#"{"tests": [{"name": "says hello", "arguments": {}, "expect": {"text": "hello"}}]}"#,
    );
    let ran = sandbox.sh("haft test greet.ts");
    assert!(ran.output.contains("says hello"), "{}", ran.output);
    assert_eq!(calls(&sandbox), Vec::<Value>::new());
}

#[test]
fn eight_processes_make_one_chain() {
    // Small files: the chain goes over rotations, too.
    let sandbox = configured("log: {max_size: 64KB, keep: 1000}\n");
    sandbox.write("requests", &requests(200));
    run(
        &sandbox,
        "for i in 1 2 3 4 5 6 7 8; do haft --tool tools.ts rpc < requests > /dev/null & done; wait",
    );
    let calls = calls(&sandbox);
    assert_eq!(calls.len(), 8 * 200);
    let runs: BTreeSet<_> = calls.iter().map(|call| call["run"].as_str()).collect();
    assert_eq!(runs.len(), calls.len());
    let mut of_process = BTreeMap::<u64, usize>::new();
    for call in &calls {
        *of_process
            .entry(call["pid"].as_u64().expect("a number"))
            .or_default() += 1;
    }
    assert_eq!(of_process.into_values().collect::<Vec<_>>(), [200; 8]);
    assert!(files(&folder(&sandbox)).len() > 5);
    let said = verifies(&sandbox);
    assert!(said.starts_with("the chain holds: "), "{said}");
}

/// A change of the log, and what `haft log verify` says about it: its name, the change, the
/// message.
type Tampering = (&'static str, fn(&Path), &'static str);

fn edit(path: &Path, change: impl FnOnce(&mut Vec<String>)) {
    let text = fs::read_to_string(path).expect("a file of the log");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    change(&mut lines);
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    fs::write(path, text).expect("a file of ours");
}

const TAMPERINGS: [Tampering; 13] = [
    (
        "edits a line",
        |log| {
            edit(&files(log)[1], |lines| {
                lines[3] = lines[3].replace("\"ok\"", "\"failed\"")
            })
        },
        "was changed",
    ),
    (
        "edits the last line",
        |log| {
            edit(&log.join("audit.jsonl"), |lines| {
                let last = lines.last_mut().expect("a line");
                *last = last.replace("\"ok\"", "\"failed\"");
            });
        },
        "was changed",
    ),
    (
        "makes a line unreadable",
        |log| edit(&files(log)[1], |lines| lines[3].truncate(20)),
        "it is not a line of the log",
    ),
    (
        "deletes a line",
        |log| edit(&files(log)[1], |lines| drop(lines.remove(3))),
        "are missing before line",
    ),
    (
        "swaps two lines",
        |log| edit(&files(log)[1], |lines| lines.swap(3, 4)),
        "it was inserted or moved",
    ),
    (
        "inserts a line",
        |log| edit(&files(log)[1], |lines| lines.insert(3, lines[2].clone())),
        "it was inserted or moved",
    ),
    (
        "cuts off the end",
        |log| {
            edit(&log.join("audit.jsonl"), |lines| {
                lines.truncate(lines.len() - 1)
            })
        },
        "at the end are missing",
    ),
    (
        "cuts off the end within a line",
        |log| {
            let path = log.join("audit.jsonl");
            let text = fs::read_to_string(&path).expect("a file of the log");
            fs::write(&path, &text[..text.len() - 40]).expect("a file of ours");
        },
        "at the end are missing",
    ),
    (
        "deletes a file in the middle",
        |log| fs::remove_file(&files(log)[1]).expect("a file of the log"),
        "are missing before line",
    ),
    (
        "deletes the oldest file",
        |log| fs::remove_file(&files(log)[0]).expect("a file of the log"),
        "the lines up to #",
    ),
    (
        "deletes the newest file",
        |log| fs::remove_file(log.join("audit.jsonl")).expect("a file of the log"),
        "at the end are missing",
    ),
    (
        "deletes what says where the end is",
        |log| fs::remove_file(log.join("head.json")).expect("a file of the log"),
        "whether lines at the end are missing is unknown",
    ),
    (
        "deletes all lines",
        |log| {
            files(log)
                .iter()
                .for_each(|path| fs::remove_file(path).expect("a file"))
        },
        "at the end are missing",
    ),
];

#[test]
fn each_way_to_change_the_log_is_found() {
    let sandbox = configured("log: {max_size: 8KB, keep: 1000}\n");
    sandbox.write("requests", &requests(12));
    for _ in 0..4 {
        run(&sandbox, "haft --tool tools.ts rpc < requests > /dev/null");
    }
    let log = folder(&sandbox);
    assert!(files(&log).len() >= 4, "{:?}", files(&log));
    verifies(&sandbox);
    run(&sandbox, "cp -r home/.local/state/haft/audit kept");
    for (what, change, said) in TAMPERINGS {
        run(
            &sandbox,
            "rm -r home/.local/state/haft/audit && cp -r kept home/.local/state/haft/audit",
        );
        change(&log);
        let verified = sandbox.sh("haft log --verify");
        assert_eq!(verified.code, 1, "{what}: {}", verified.output);
        assert!(
            verified.output.contains(said),
            "{what}: {}",
            verified.output
        );
        // Later entries do not hide the change.
        run(&sandbox, "haft --tool tools.ts call echo");
        let verified = sandbox.sh("haft log --verify");
        assert_eq!(
            verified.code, 1,
            "{what}, after a call: {}",
            verified.output
        );
    }
}

/// A known limit (docs/log.md): a user who may write the files can rewrite all of them.
#[test]
fn an_end_that_is_cut_off_with_the_head_is_not_found() {
    let sandbox = sandbox();
    run(&sandbox, "haft --tool tools.ts call echo");
    let head = fs::read(folder(&sandbox).join("head.json")).expect("the head");
    let log = fs::read(folder(&sandbox).join("audit.jsonl")).expect("the log");
    run(&sandbox, "haft --tool tools.ts call fails || true");
    fs::write(folder(&sandbox).join("head.json"), head).expect("a file of ours");
    fs::write(folder(&sandbox).join("audit.jsonl"), log).expect("a file of ours");
    verifies(&sandbox);
}

#[test]
fn rotation_keeps_so_many_files_and_says_what_it_deleted() {
    let sandbox = configured("log: {max_size: 8KB, keep: 2}\n");
    sandbox.write("requests", &requests(12));
    for _ in 0..6 {
        run(&sandbox, "haft --tool tools.ts rpc < requests > /dev/null");
    }
    assert_eq!(files(&folder(&sandbox)).len(), 3);
    let lines = lines(&sandbox);
    assert!(lines[0]["n"].as_u64() > Some(1));
    assert!(lines.iter().any(|line| line["event"] == "log-dropped"));
    verifies(&sandbox);
    // With `keep: 0` the first line reports the deleted files.
    sandbox.write(
        "home/.config/haft/config.yaml",
        "log: {max_size: 4KB, keep: 0}\n",
    );
    run(&sandbox, "haft --tool tools.ts rpc < requests > /dev/null");
    assert_eq!(files(&folder(&sandbox)).len(), 1);
    verifies(&sandbox);
}

#[test]
fn a_line_that_was_not_finished_is_noted_and_the_chain_goes_on() {
    let sandbox = sandbox();
    run(&sandbox, "haft --tool tools.ts call echo");
    let path = folder(&sandbox).join("audit.jsonl");
    let whole = fs::read_to_string(&path).expect("the log");
    let half = &whole[..whole.len() / 2];
    fs::write(&path, format!("{whole}{}", &half[..100])).expect("a file of ours");
    let said = verifies(&sandbox);
    assert!(
        said.contains("a writer was stopped after 100 bytes of this line"),
        "{said}"
    );
    run(&sandbox, "haft --tool tools.ts call echo");
    let said = verifies(&sandbox);
    assert!(
        said.contains("a writer was stopped in the middle of this line"),
        "{said}"
    );
    assert!(said.contains("the chain holds"), "{said}");
}

#[test]
fn a_log_that_cannot_be_written_fails_no_call() {
    let sandbox = sandbox();
    sandbox.write("home/.local/state/haft/audit", "in the way");
    let ran = sandbox.sh("haft --tool tools.ts call echo --arg text=fine");
    assert_eq!(ran.code, 0, "{}", ran.output);
    assert!(ran.output.contains("fine"), "{}", ran.output);
    let told = ran.output.matches("calls are not recorded").count();
    assert_eq!(told, 1, "{}", ran.output);
    let doctor = sandbox.sh("haft --tool tools.ts doctor");
    assert!(
        doctor.output.contains("calls are not recorded"),
        "{}",
        doctor.output
    );
}

#[test]
fn what_could_not_be_written_is_counted() {
    let sandbox = sandbox();
    let in_the_way = sandbox.write("home/.local/state/haft/audit", "in the way");
    let mut serve = sandbox.haft();
    serve.args([
        "--tool",
        "tools.ts",
        "serve",
        "rest",
        "--listen",
        "127.0.0.1:0",
    ]);
    let served = Served::start(&mut serve);
    assert_eq!(served.post("/api/tools/echo/call", "{}").status, 200);
    fs::remove_file(in_the_way).expect("a file of ours");
    assert_eq!(served.post("/api/tools/fails/call", "{}").status, 200);
    stop(served);
    let lines = lines(&sandbox);
    let lost = lines.iter().filter(|line| line["event"] == "log-lost");
    let lost: u64 = lost
        .map(|line| line["lines"].as_u64().expect("a number"))
        .sum();
    // At least the server's start is lost, unless the writer was so slow that it saw the folder.
    let has = |event: &str| lines.iter().any(|line| line["event"] == event);
    assert!(has("call") && has("server-stopped"), "{lines:?}");
    assert!(lost > 0 || has("server-started"), "{lines:?}");
    if lost > 0 {
        has_gap(&sandbox);
    }
}

#[test]
fn a_full_disk_fails_no_call() {
    let sandbox = sandbox();
    run(&sandbox, "haft --tool tools.ts call echo");
    // No file may grow: writes fail in the middle, as on a full disk.
    let line =
        "(trap '' XFSZ; ulimit -f 0; haft --tool tools.ts call echo --arg text=fine) 2>&1 | cat";
    let ran = sandbox.sh(line);
    assert!(ran.output.contains("fine"), "{}", ran.output);
    assert!(
        ran.output.contains("calls are not recorded"),
        "{}",
        ran.output
    );
    assert_eq!(calls(&sandbox).len(), 1);
    run(&sandbox, "haft --tool tools.ts call echo");
    assert_eq!(calls(&sandbox).len(), 2);
    has_gap(&sandbox);
}

#[test]
fn a_call_that_haft_does_not_survive_has_a_line() {
    let sandbox = sandbox();
    let mut serve = sandbox.haft();
    serve.args([
        "--tool",
        "tools.ts",
        "serve",
        "rest",
        "--listen",
        "127.0.0.1:0",
    ]);
    let served = Served::start(&mut serve);
    let head = "POST /api/tools/waits/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n";
    let _running = served.begin(head, "{}");
    let started = Instant::now();
    let mut shown = String::new();
    while !shown.contains("running") {
        assert!(started.elapsed() < Duration::from_secs(60), "{shown}");
        shown = run(&sandbox, "haft log");
    }
    run(&sandbox, &format!("kill -9 {}", served.pid()));
    drop(served);
    let shown = run(&sandbox, "haft log --outcome unfinished");
    assert!(shown.contains("lost") && shown.contains("waits"), "{shown}");
    verifies(&sandbox);
}

#[test]
fn arguments_are_kept_as_the_configuration_says() {
    let secret = "hunter2-of-ada";
    let line = format!("haft --tool tools.ts call echo --arg text={secret}");
    let text = json!({"text": secret}).to_string();
    let digest = blake3_of(&text);
    for (settings, has_digest, has_text) in [
        ("", true, false),
        ("log: {arguments: none}", false, false),
        ("log: {arguments: full}", true, true),
    ] {
        let sandbox = configured(settings);
        run(&sandbox, &line);
        let call = call_of(&sandbox, "echo");
        assert_eq!(
            call["arguments"]["blake3"] == json!(digest),
            has_digest,
            "{call}"
        );
        assert_eq!(call["arguments"]["text"] == json!(text), has_text, "{call}");
        let log = fs::read_to_string(folder(&sandbox).join("audit.jsonl")).expect("the log");
        // The result contains it too, and is never logged.
        assert_eq!(log.contains(secret), has_text, "{log}");
        assert_eq!(call["result"]["blake3"], json!(blake3_of(secret)));
        let mode = |path: PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
        assert_eq!(mode(folder(&sandbox)), 0o700);
        for name in ["audit.jsonl", "head.json", "lock"] {
            assert_eq!(mode(folder(&sandbox).join(name)), 0o600, "{name}");
        }
    }
    let off = configured("log: {enabled: false}");
    run(&off, &line);
    assert!(!folder(&off).exists());
}

/// Returns the hash as `b3sum` prints it.
fn blake3_of(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

#[test]
fn a_project_cannot_turn_it_off() {
    let sandbox = sandbox();
    sandbox.write(".haft/config.yaml", "log: {enabled: false}\n");
    let ran = sandbox.sh("haft --trust-project list");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(
        ran.output
            .contains("`log` cannot stand in a project's file"),
        "{}",
        ran.output
    );
}

#[test]
fn how_a_call_ended_and_why_it_could_start_is_recorded() {
    let sandbox = configured("approval: {tools: {fails: allow, echo: deny}}\n");
    let haft = "haft --tool tools.ts";
    sandbox
        .sh(&format!("{haft} call echo"))
        .code
        .checked_sub(4)
        .expect("refused");
    sandbox
        .sh(&format!("{haft} call careful"))
        .code
        .checked_sub(4)
        .expect("refused");
    assert_eq!(sandbox.sh(&format!("{haft} call fails")).code, 1);
    assert_eq!(
        sandbox
            .sh(&format!("{haft} call waits --timeout 100ms"))
            .code,
        124
    );
    let of = |tool: &str| {
        let call = call_of(&sandbox, tool);
        (
            call["outcome"].clone(),
            call["reason"].clone(),
            call["approval"]["decision"].clone(),
            call["approval"]["rule"].clone(),
        )
    };
    let rule = json!("the user's deny rules");
    assert_eq!(
        of("echo"),
        (json!("refused"), json!("approval"), json!("denied"), rule)
    );
    assert_eq!(of("careful").2, json!("nobody to ask"));
    let rule = json!("the user's rule `fails: allow`");
    assert_eq!(
        of("fails"),
        (json!("failed"), Value::Null, json!("allowed"), rule)
    );
    let rule = json!("mode yolo, tier exec");
    assert_eq!(
        of("waits"),
        (json!("timeout"), json!("deadline"), json!("allowed"), rule)
    );

    let refused = run(&sandbox, "haft log --outcome refused");
    assert!(
        refused.contains("echo") && !refused.contains("waits"),
        "{refused}"
    );
    let named = run(&sandbox, "haft log --tool 'w*'");
    assert!(
        named.contains("waits") && !named.contains("echo"),
        "{named}"
    );
    let old = run(&sandbox, "haft log --json --since 2100-01-01");
    assert_eq!(old, "");
    let id = call_of(&sandbox, "waits")["run"]
        .as_str()
        .expect("an id")
        .to_owned();
    let all = run(&sandbox, &format!("haft log {id}"));
    assert!(
        all.contains("mode yolo, tier exec") && all.contains("timeout (deadline)"),
        "{all}"
    );
    assert_eq!(sandbox.sh("haft log no-such-call").code, 2);
}

#[test]
fn programs_and_hosts_are_recorded() {
    let sandbox = sandbox();
    let server = Server::start(|_| Answer::ok("hello"));
    let url = server.url("/path?token=hunter2");
    let address = url.trim_start_matches("http://").split('/').next();
    let address = address.expect("a host").to_owned();
    let haft = "haft --tool tools.ts";
    run(&sandbox, &format!("{haft} call runs"));
    run(&sandbox, &format!("{haft} call spawns"));
    run(&sandbox, &format!("{haft} call fetches --arg 'url={url}'"));
    let echo = sandbox.write(
        "home/.kodelet/tools/raw",
        "#!/bin/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"raw\",\"description\":\"d\",\"input_schema\":{\"type\":\"object\"}}'\nelse\n  cat\nfi\n",
    );
    fs::set_permissions(&echo, fs::Permissions::from_mode(0o755)).expect("a file of ours");
    run(&sandbox, "haft call custom_tool_raw");
    assert_eq!(call_of(&sandbox, "runs")["programs"], json!(["uname"]));
    let spawned = call_of(&sandbox, "spawns")["programs"].to_string();
    assert!(spawned.contains("true"), "{spawned}");
    assert_eq!(call_of(&sandbox, "fetches")["hosts"], json!([address]));
    let programs = call_of(&sandbox, "custom_tool_raw")["programs"].to_string();
    assert!(programs.contains("kodelet/tools/raw"), "{programs}");
    // A call that starts no program has no list of programs.
    assert_eq!(call_of(&sandbox, "fetches")["programs"], Value::Null);
}

#[test]
fn trust_is_recorded_and_names_the_grant() {
    let sandbox = sandbox();
    sandbox.write(".omp/tools/own.ts", TOOLS);
    run(&sandbox, "haft trust --yes");
    run(&sandbox, "haft call echo");
    run(&sandbox, "haft trust --revoke");
    let lines = lines(&sandbox);
    let of = |event: &str| {
        lines
            .iter()
            .find(|line| line["event"] == event)
            .expect("it is recorded")
    };
    let granted = of("trust-granted");
    assert_eq!(granted["tools"], 1);
    assert_eq!(granted["grant"].as_str().map(str::len), Some(64));
    assert_eq!(of("call")["grant"], granted["grant"]);
    assert_eq!(of("call")["level"], "project");
    assert_eq!(of("trust-revoked")["project"], granted["project"]);
}

#[test]
fn the_calls_of_a_server_are_known_to_the_next_one() {
    let sandbox = sandbox();
    let serve = || {
        let mut command = sandbox.haft();
        command.args([
            "--tool",
            "tools.ts",
            "serve",
            "rest",
            "--listen",
            "127.0.0.1:0",
        ]);
        Served::start(&mut command)
    };
    let first = serve();
    let body = r#"{"callId": "mine", "arguments": {"text": "a"}}"#;
    assert_eq!(first.post("/api/tools/echo/call", body).status, 200);
    assert_eq!(first.post("/api/tools/fails/call", "{}").status, 200);
    let listed = first.get("/api/calls").json();
    assert_eq!(
        listed["calls"].as_array().map(Vec::len),
        Some(2),
        "{listed}"
    );
    stop(first);
    // A call at the command line does not belong to a server.
    run(&sandbox, "haft --tool tools.ts call echo");

    let second = serve();
    let listed = second.get("/api/calls").json();
    let calls = listed["calls"].as_array().expect("a list");
    assert_eq!(calls.len(), 2, "{listed}");
    assert_eq!(
        (&calls[0]["tool"], &calls[0]["isError"]),
        (&json!("fails"), &json!(true))
    );
    assert_eq!(
        (&calls[1]["callId"], &calls[1]["state"]),
        (&json!("mine"), &json!("finished"))
    );
    let mine = second.get("/api/calls/mine").json();
    assert_eq!(
        (&mine["tool"], &mine["isError"]),
        (&json!("echo"), &json!(false))
    );
    // Results are not in the log.
    assert_eq!(mine["result"], Value::Null);
    assert_eq!(second.delete("/api/calls/mine").status, 200);
    assert_eq!(second.get("/api/calls/mine").status, 404);
    assert_eq!(
        second.get("/api/calls").json()["calls"]
            .as_array()
            .map(Vec::len),
        Some(1)
    );
}

#[test]
fn what_is_added_is_followed() {
    let sandbox = sandbox();
    let line = "haft --tool tools.ts call echo >/dev/null
      mkfifo seen
      haft log --follow --json > seen & follower=$!
      exec 3<seen
      read -r created <&3; read -r first <&3
      haft --tool tools.ts call fails >/dev/null 2>&1
      read -r second <&3
      kill $follower
      echo \"$second\" | grep -o '\"tool\":\"[a-z]*\"'";
    assert_eq!(run(&sandbox, line), "\"tool\":\"fails\"\n");
}
