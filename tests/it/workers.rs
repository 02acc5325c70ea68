//! Worker processes: how one can end, what that costs, and a program that is no worker.

use std::os::unix::fs::PermissionsExt;

use haft::config::{Env, Isolation};
use haft::{Call, Error, Event, Flags, Host, Outcome, RunningCall};
use serde_json::value::RawValue;

use crate::arena;
use crate::sandbox::Sandbox;

/// A module that tells its process, and one that can end it in several ways.
const TOOLS: &str = r#"
import { execSync } from "node:child_process";
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({ how: pi.zod.string().optional() }), execute });
// Tools find Deno only in text that is compiled.
const { Deno } = (0, eval)("({ Deno })");
let calls = 0;
export default (pi) => [
  tool(pi, "pid", () => text(process.pid)),
  tool(pi, "count", () => text(++calls)),
  tool(pi, "waits", (_id, _params, onUpdate) => { onUpdate(text("waits")); return new Promise(() => {}); }),
  tool(pi, "ends", async (_id, { how }, onUpdate) => {
    if (how === "kill") await pi.exec("sh", ["-c", `kill -KILL ${process.pid}`]);
    if (how === "term") execSync(`kill -TERM ${process.pid}`);
    if (how === "abort") Deno.dlopen("libc.so.6", { abort: { parameters: [], result: "void" } }).symbols.abort();
    if (how === "exit") Deno.dlopen("libc.so.6", { _exit: { parameters: ["i32"], result: "void" } }).symbols._exit(7);
    if (how === "smash") {
      const bytes = new Uint8Array(64);
      const pointer = Deno.UnsafePointer.of(bytes);
      const libc = Deno.dlopen("libc.so.6", { memset: { parameters: ["pointer", "i32", "usize"], result: "pointer" } });
      libc.symbols.memset(pointer, 65, 1n << 30n);
    }
    return text("is still there");
  }),
];
"#;

/// Makes a host whose modules run in worker processes. Each of these files has tools.
fn host(sandbox: &Sandbox, files: &[&str]) -> Host {
    let env = Env {
        current_dir: Some(sandbox.path()),
        home: Some(sandbox.path().join("home")),
        ..Env::default()
    };
    let flags = Flags {
        tools: files.iter().map(|file| (*file).to_owned()).collect(),
        ..Flags::default()
    };
    let mut config = crate::sandbox::resolve(flags, &env).expect("a configuration");
    config.isolation = Isolation::Process;
    config.permissions = haft::config::PermissionProfile::everything();
    Host::new(config)
}

fn start(host: &Host, tool: &str, how: &str) -> RunningCall {
    let arguments = serde_json::json!({ "how": how }).to_string();
    let call = Call {
        id: tool.to_owned(),
        tool: tool.to_owned(),
        arguments: RawValue::from_string(arguments).expect("JSON"),
    };
    host.call(call, None)
}

async fn call(host: &Host, tool: &str, how: &str) -> Result<Outcome, Error> {
    start(host, tool, how).outcome().await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_worker_that_dies_costs_only_its_running_calls() {
    haft::use_worker(env!("CARGO_BIN_EXE_haft"));
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let host = host(&sandbox, &["tools.ts"]);
    let own = std::process::id().to_string();
    for (how, end) in [
        ("kill", "was ended by SIGKILL"),
        ("term", "was ended by SIGTERM"),
        ("abort", "was ended by SIGABRT"),
        ("exit", "exited with code 7"),
        ("smash", "was ended by SIGSEGV"),
    ] {
        let before = call(&host, "pid", "").await.expect("it runs").text();
        assert_ne!(before, own, "the module runs in haft's process");
        let mut beside = start(&host, "waits", "");
        while !matches!(beside.next_event().await, Event::Update(_)) {}
        let ended = call(&host, "ends", how).await;
        let error = ended.expect_err("its process has gone").to_string();
        let expected = format!("the call of `ends` was lost: its worker process {end}");
        assert_eq!(error, expected);
        let neighbour = beside.outcome().await.expect_err("its process has gone");
        let expected = format!("the call of `waits` was lost: its worker process {end}");
        assert_eq!(neighbour.to_string(), expected);
        let after = call(&host, "pid", "").await.expect("it runs again").text();
        assert_ne!(after, before);
    }
    host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_a_killed_worker_has_not_seen_are_answered_by_the_next() {
    haft::use_worker(env!("CARGO_BIN_EXE_haft"));
    let sandbox = Sandbox::with_home();
    let pipe = sandbox.fifo("pipe");
    let tools = TOOLS.replace(
        r#"if (how === "kill") await"#,
        r#"if (how === "waits") { onUpdate(text("waits")); execSync(`cat PIPE; kill -KILL ${process.pid}`); }
    if (how === "kill") await"#,
    );
    sandbox.write(
        "tools.ts",
        &tools.replace("PIPE", &pipe.display().to_string()),
    );
    let host = host(&sandbox, &["tools.ts"]);
    let first = call(&host, "count", "").await.expect("it runs").text();
    assert_eq!(first, "1");
    // The thread of the isolate waits for the program, so it sees none of the other calls.
    let mut dies = start(&host, "ends", "waits");
    while !matches!(dies.next_event().await, Event::Update(_)) {}
    let mut waiting: Vec<_> = (0..100)
        .map(|_| Box::pin(start(&host, "count", "").outcome()))
        .collect();
    for waiting in &mut waiting {
        // The first poll sends the call.
        assert!(futures::poll!(waiting).is_pending());
    }
    std::fs::write(pipe, "go").expect("the program reads");
    let error = dies.outcome().await.expect_err("its process has gone");
    assert!(
        error.to_string().ends_with("was ended by SIGKILL"),
        "{error}"
    );
    let mut counts = Vec::new();
    for waiting in waiting {
        let outcome = waiting.await.expect("it was repeated");
        counts.push(outcome.text().parse::<u32>().expect("a number"));
    }
    counts.sort_unstable();
    assert_eq!(counts, (1..=100).collect::<Vec<u32>>());
    host.shutdown().await;
}

/// Programs that are started as workers, and what is said about each.
const NO_WORKERS: [(&str, &str, &str); 4] = [
    (
        "ends",
        "exit 3",
        "the worker process ended while it started: its worker process exited with code 3",
    ),
    (
        "garbage",
        r"printf '\0\377\377\377\377' >&0; sleep 60",
        "its worker process broke the protocol",
    ),
    (
        "empty",
        r"printf '\0' >&0; sleep 60",
        "its worker process broke the protocol",
    ),
    (
        "error",
        // A `Booted` with an error of four letters.
        r"printf '\0\0\1\4oops' >&0; sleep 60",
        "oops",
    ),
];

#[test]
fn a_program_that_is_no_worker_is_an_error() {
    arena::alone(
        "workers::a_program_that_is_no_worker_is_an_error",
        async |arena| {
            let program = arena.folder().join("worker.sh");
            haft::use_worker(&program);
            for (name, body, expected) in NO_WORKERS {
                std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).expect("a folder");
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&program, mode).expect("a file of ours");
                let sandbox = Sandbox::with_home();
                sandbox.write("tools.ts", TOOLS);
                let host = host(&sandbox, &["tools.ts"]);
                let problems = host.catalog().await.problems.clone();
                let problem = problems.first().expect("the module cannot be loaded");
                assert!(problem.message.contains(expected), "{name}: {problem:?}");
                host.shutdown().await;
            }
            arena.assert_no_process_is_left();
        },
    );
}
