//! Worker processes: how one can end, what that costs, and a program that is no worker.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::sync::Arc;

use haft::code::{self, CodeRun};
use haft::config::{Env, Isolation};
use haft::{
    Call, Config, CustomTool, Error, Event, Flags, Host, Invocation, Outcome, RunningCall, Tier,
};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::value::RawValue;
use tokio::sync::Notify;

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
    if (how === "exit of the process") Deno.dlopen("libc.so.6", { exit: { parameters: ["i32"], result: "void" } }).symbols.exit(9);
    if (how === "illegal") Deno.dlopen("libc.so.6", { raise: { parameters: ["i32"], result: "i32" } }).symbols.raise(4);
    if (how === "addon") process.dlopen({ exports: {} }, `${process.cwd()}/addon.node`);
    if (how === "close") {
      const libc = Deno.dlopen("libc.so.6", { close: { parameters: ["i32"], result: "i32" } });
      for (let descriptor = 3; descriptor < 256; descriptor++) libc.symbols.close(descriptor);
    }
    if (how === "smash") {
      const libc = Deno.dlopen("libc.so.6", { memset: { parameters: ["pointer", "i32", "usize"], result: "pointer" } });
      libc.symbols.memset(Deno.UnsafePointer.create(8n), 65, 1n);
    }
    return text("is still there");
  }),
];
"#;

/// Makes a host whose modules run in worker processes. Each of these files has tools.
fn host(sandbox: &Sandbox, files: &[&str]) -> Host {
    host_with(sandbox, files, Isolation::Process)
}

fn host_with(sandbox: &Sandbox, files: &[&str], isolation: Isolation) -> Host {
    host_limited(sandbox, files, isolation, |_| {})
}

fn host_limited(
    sandbox: &Sandbox,
    files: &[&str],
    isolation: Isolation,
    change: impl FnOnce(&mut haft::config::Limits),
) -> Host {
    Host::new(config(sandbox, files, isolation, change))
}

fn config(
    sandbox: &Sandbox,
    files: &[&str],
    isolation: Isolation,
    change: impl FnOnce(&mut haft::config::Limits),
) -> Config {
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
    config.isolation = isolation;
    config.permissions = haft::config::PermissionProfile::everything();
    config.limits.worker_mb = 700;
    config.limits.worker_processes = 60;
    change(&mut config.limits);
    config
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
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let host = host(&sandbox, &["tools.ts"]);
    // Code of a native add-on runs as soon as it is loaded.
    sandbox.write(
        "addon.c",
        "#include <signal.h>\n__attribute__((constructor)) void run(void) { raise(SIGFPE); }\n",
    );
    let compiled = std::process::Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([
            sandbox.path().join("addon.node"),
            sandbox.path().join("addon.c"),
        ])
        .status();
    assert!(compiled.expect("Rust needs `cc`, too").success());
    let own = std::process::id().to_string();
    for (how, end) in [
        ("kill", "was ended by SIGKILL"),
        ("term", "was ended by SIGTERM"),
        ("abort", "was ended by SIGABRT"),
        ("exit", "exited with code 7"),
        ("smash", "was ended by SIGSEGV"),
        ("illegal", "was ended by SIGILL"),
        ("close", "was ended by SIGABRT"),
        ("addon", "was ended by SIGFPE"),
        ("exit of the process", "exited with code 9"),
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

/// A tool that never gives its thread back reports nothing, so haft's process asks.
#[tokio::test(flavor = "multi_thread")]
async fn the_start_of_a_tool_that_blocks_its_thread_is_reported() {
    let sandbox = Sandbox::with_home();
    let spins = r#"tool(pi, "spins", () => { for (;;); }),"#;
    let tools = TOOLS.replace("(pi) => [", &format!("(pi) => [ {spins}"));
    sandbox.write("tools.ts", &tools);
    let host = host(&sandbox, &["tools.ts"]);
    let mut spins = start(&host, "spins", "");
    assert!(matches!(spins.next_event().await, Event::Started));
    spins.cancellation().kill();
    let killed = spins.outcome().await.expect("it is an outcome");
    assert!(killed.is_error, "{killed:?}");
    host.shutdown().await;
}

/// Programs that are started as workers, and what is said about each.
const NO_WORKERS: [(&str, &str, &str); 5] = [
    (
        "ends",
        "exit 3",
        "the worker process ended while it started: its worker process exited with code 3",
    ),
    (
        "garbage",
        r"printf '\0\0\0\377\377\377\377' >&0; sleep 60",
        "its worker process broke the protocol",
    ),
    (
        "empty",
        r"printf '\0\0\0' >&0; sleep 60",
        "its worker process broke the protocol",
    ),
    (
        "short",
        r"printf '\0\0' >&0; sleep 60",
        "its worker process broke the protocol",
    ),
    (
        "error",
        // A `Booted` with an error of four letters.
        r"printf '\0\0\0\0\1\4oops' >&0; sleep 60",
        "oops",
    ),
];

#[test]
fn a_program_that_is_no_worker_is_an_error() {
    arena::alone(
        "workers::a_program_that_is_no_worker_is_an_error",
        async |arena| {
            let program = arena.folder().join("worker.sh");
            for (name, body, expected) in NO_WORKERS {
                std::fs::write(&program, format!("#!/bin/sh\n{body}\n")).expect("a folder");
                let mode = std::fs::Permissions::from_mode(0o755);
                std::fs::set_permissions(&program, mode).expect("a file of ours");
                let sandbox = Sandbox::with_home();
                sandbox.write("tools.ts", TOOLS);
                let config = config(&sandbox, &["tools.ts"], Isolation::Process, |_| {});
                let builder = Host::builder().config(config).worker_program(&program);
                let host = builder.build().expect("a configuration");
                let problems = host.catalog().await.problems.clone();
                let problem = problems.first().expect("the module cannot be loaded");
                assert!(problem.message.contains(expected), "{name}: {problem:?}");
                host.shutdown().await;
            }
            arena.assert_no_process_is_left();
        },
    );
}

/// The program of this test runs again, without the line of its `main` that serves workers.
#[tokio::test(flavor = "multi_thread")]
async fn a_program_without_the_hook_is_shown_the_line() {
    if std::env::var_os(crate::WITHOUT_WORKERS).is_none() {
        let again = std::process::Command::new(std::env::current_exe().expect("Linux"))
            .args([
                "--exact",
                "workers::a_program_without_the_hook_is_shown_the_line",
            ])
            .env(crate::WITHOUT_WORKERS, "1")
            .output()
            .expect("it starts");
        let output = String::from_utf8_lossy(&again.stdout);
        assert!(again.status.success(), "{output}");
        assert!(output.contains("1 passed"), "{output}");
        return;
    }
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox.write("home/.cycod/tools/said.yaml", SAID);
    let host = host(&sandbox, &["tools.ts"]);
    let catalog = host.catalog().await;
    let [problem] = &catalog.problems[..] else {
        panic!("{:?}", catalog.problems);
    };
    assert_eq!(
        problem.message,
        "Failed to load tool: modules run in worker processes, which this program does not serve: the first line of its `main` \
         must be `haft::run_worker_process();`"
    );
    // What needs no worker works.
    let said = call(&host, "said", "").await.expect("it runs");
    assert_eq!(said.text(), "started\n");
    host.shutdown().await;
}

/// A tool that is no module.
const SAID: &str = "name: said\ndescription: Says it\nbash: echo started\ntags: [read]\nparameters: {how: {type: string, description: How}}\n";

/// Returns the numbers of the children of this process.
fn children_now() -> Vec<String> {
    let threads = std::fs::read_dir("/proc/self/task").expect("Linux");
    let lists = threads.flatten().filter_map(|thread| {
        let children = std::fs::read_to_string(thread.path().join("children"));
        children.ok()
    });
    let lists: Vec<String> = lists.collect();
    let children = lists.iter().flat_map(|list| list.split_whitespace());
    children.map(str::to_owned).collect()
}

/// Returns the worker processes of this process, by number.
fn workers_now() -> BTreeSet<u32> {
    let is_worker = |pid: &String| {
        if name_of(pid) == "haft-zygote" {
            return false;
        }
        let line = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        // The version of haft follows.
        line.split(|byte| *byte == 0)
            .any(|word| word == b"--worker")
    };
    let children = children_now().into_iter().filter(is_worker);
    children.map(|pid| pid.parse().expect("a number")).collect()
}

/// Returns the name of a process.
fn name_of(pid: &str) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.unwrap_or_default().trim().to_owned()
}

/// Waits for one worker process besides `known`.
async fn another_worker(known: &BTreeSet<u32>) -> u32 {
    loop {
        if let Some(pid) = workers_now().difference(known).next() {
            return *pid;
        }
        tokio::task::yield_now().await;
    }
}

async fn pid_of(host: &Host) -> u32 {
    let outcome = call(host, "pid", "").await.expect("it runs");
    outcome.text().parse().expect("a number")
}

#[test]
fn a_spare_worker_serves_the_next_module_that_needs_one() {
    arena::alone(
        "workers::a_spare_worker_serves_the_next_module_that_needs_one",
        async |arena| {
            serve_by_spares().await;
            arena.assert_no_process_is_left();
        },
    );
}

#[test]
fn a_spare_worker_is_started_where_the_zygote_is_turned_off() {
    arena::alone_with(
        "workers::a_spare_worker_is_started_where_the_zygote_is_turned_off",
        &[("HAFT_ZYGOTE", "0")],
        async |arena| {
            serve_by_spares().await;
            arena.assert_no_process_is_left();
        },
    );
}

/// Returns true if a child of this process is a zygote.
fn has_zygote() -> bool {
    children_now()
        .iter()
        .any(|pid| name_of(pid) == "haft-zygote")
}

async fn serve_by_spares() {
    for isolation in [Isolation::Process, Isolation::Sandbox] {
        let sandbox = Sandbox::with_home();
        sandbox.write("own/tools.ts", TOOLS);
        let host = || host_with(&sandbox, &["own/tools.ts"], isolation);
        // The description is in the cache from here on.
        let first = host();
        let _ = first.catalog().await;
        first.shutdown().await;
        assert_eq!(workers_now(), BTreeSet::new());

        let host = host();
        host.keep_spare_worker();
        let _ = host.catalog().await;
        let spare = another_worker(&BTreeSet::new()).await;
        let is_off = std::env::var("HAFT_ZYGOTE").is_ok_and(|value| value == "0");
        assert_eq!(has_zygote(), !is_off);
        assert_eq!(pid_of(&host).await, spare, "{isolation:?}");
        // The next one replaces a worker that was killed.
        let next = another_worker(&[spare].into()).await;
        call(&host, "ends", "kill").await.expect_err("it ends");
        assert_eq!(pid_of(&host).await, next, "{isolation:?}");
        // A spare that has ended is not used.
        let dead = another_worker(&[next].into()).await;
        kill(dead);
        call(&host, "ends", "kill").await.expect_err("it ends");
        let current = pid_of(&host).await;
        assert_ne!(current, dead, "{isolation:?}");
        let last = another_worker(&[dead, current].into()).await;
        // Nor is one that could not read what a worker can read now.
        sandbox.write("node_modules/new/package.json", "{}");
        call(&host, "ends", "kill").await.expect_err("it ends");
        let now = pid_of(&host).await;
        assert_eq!(now == last, isolation == Isolation::Process);
        host.shutdown().await;
    }
}

/// A module that tells facts that must differ between processes, and uses what a fork could break.
const FACTS: &str = r#"
import * as crypto from "node:crypto";
import * as fs from "node:fs";
import { execSync } from "node:child_process";
const wasm = new Uint8Array([0, 97, 115, 109, 1, 0, 0, 0, 1, 7, 1, 96, 2, 127, 127, 1, 127, 3, 2, 1, 0, 7, 7, 1, 3,
  97, 100, 100, 0, 0, 10, 9, 1, 7, 0, 32, 0, 32, 1, 106, 11]);
const attempt = (run) => { try { run(); return "works"; } catch (error) { return "refused"; } };
export default (pi) => ({
  name: "facts", label: "facts", description: "tells facts", parameters: pi.zod.object({ how: pi.zod.string().optional() }),
  execute: async (_id, { how }) => {
    const { privateKey, publicKey } = crypto.generateKeyPairSync("ed25519");
    const signature = crypto.sign(null, Buffer.from("text"), privateKey);
    // The optimising compiler, several collections, and compilation of WebAssembly.
    let sum = 0;
    for (let i = 0; i < 3e6; i++) sum = (sum + i) % 1000003;
    let kept = [];
    for (let i = 0; i < 400000; i++) { kept.push({ i }); if (i % 50000 === 0) kept = []; }
    const added = (await WebAssembly.instantiate(wasm)).instance.exports.add(2, 3);
    const woken = await Atomics.waitAsync(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 20).value;
    const facts = {
      name: fs.readFileSync("/proc/self/comm", "utf8").trim(),
      pid: process.pid,
      different: [
        Math.random(), crypto.randomUUID(), globalThis.crypto.randomUUID(), crypto.randomBytes(8).toString("hex"),
        crypto.randomInt(1e12), publicKey.export({ type: "spki", format: "der" }).toString("hex"),
      ],
      same: [crypto.verify(null, Buffer.from("text"), publicKey, signature), sum, kept.length, added, woken,
        crypto.createHash("sha256").update("a").digest("hex").slice(0, 8), execSync("echo ran").toString()],
      // Of another worker.
      others: how ? [
        attempt(() => fs.readFileSync(`/proc/${how}/environ`)),
        attempt(() => fs.readFileSync(`/proc/${how}/maps`)),
        attempt(() => fs.readlinkSync(`/proc/${how}/fd/0`)),
        attempt(() => execSync(`kill -URG ${how}`, { stdio: "ignore" })),
        attempt(() => execSync(`head -c 1 /proc/${how}/environ`, { stdio: "ignore" })),
        attempt(() => execSync(`renice -n 1 -p ${how}`, { stdio: "ignore" })),
      ] : [],
    };
    return { content: [{ type: "text", text: JSON.stringify(facts) }] };
  },
});
"#;

async fn facts(host: &Host, how: &str) -> serde_json::Value {
    let outcome = call(host, "facts", how).await.expect("it runs");
    serde_json::from_str(&outcome.text()).expect("JSON")
}

#[test]
fn workers_that_are_forked_share_no_random_numbers_and_no_rights() {
    arena::alone(
        "workers::workers_that_are_forked_share_no_random_numbers_and_no_rights",
        async |arena| {
            compare_workers().await;
            arena.assert_no_process_is_left();
        },
    );
}

#[test]
fn workers_that_are_started_share_no_random_numbers_and_no_rights() {
    arena::alone_with(
        "workers::workers_that_are_started_share_no_random_numbers_and_no_rights",
        &[("HAFT_ZYGOTE", "0")],
        async |arena| {
            compare_workers().await;
            arena.assert_no_process_is_left();
        },
    );
}

/// Compares three workers.
async fn compare_workers() {
    for isolation in [Isolation::Process, Isolation::Sandbox] {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", FACTS);
        let first = host_with(&sandbox, &["tools.ts"], isolation);
        let second = host_with(&sandbox, &["tools.ts"], isolation);
        first.keep_spare_worker();
        second.keep_spare_worker();
        let one = facts(&first, "").await;
        let other = facts(&second, &one["pid"].to_string()).await;
        kill(other["pid"].as_u64().expect("a number") as u32);
        // The spare, which is forked from the same process.
        let third = loop {
            if let Ok(outcome) = call(&second, "facts", "").await {
                break serde_json::from_str(&outcome.text()).expect("JSON");
            }
        };
        let all: [&serde_json::Value; 3] = [&one, &other, &third];
        for (index, facts) in all.iter().enumerate() {
            assert_eq!(facts["name"], "haft-worker", "{isolation:?}");
            let same = serde_json::json!([true, 45, 49999, 5, "timed-out", "ca978112", "ran\n"]);
            assert_eq!(facts["same"], same, "{isolation:?}");
            for later in &all[index + 1..] {
                assert_ne!(facts["pid"], later["pid"]);
                let numbers = facts["different"].as_array().expect("a list").iter();
                let others = later["different"].as_array().expect("a list").iter();
                for (number, other) in numbers.zip(others) {
                    assert_ne!(number, other, "{isolation:?}");
                }
            }
        }
        if isolation == Isolation::Sandbox {
            let refused = vec!["refused"; 6];
            assert_eq!(other["others"], serde_json::json!(refused));
        }
        first.shutdown().await;
        second.shutdown().await;
    }
}

/// A module whose programs use too much.
const GREEDY: &str = r#"
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({ how: pi.zod.string().optional() }), execute });
export default (pi) => [
  tool(pi, "memory", async () => { await pi.exec("perl", ["-e", "my $kept = 'x' x 1_500_000_000; sleep 600"]); return text("done"); }),
  tool(pi, "forks", async () => { await pi.exec("sh", ["-c", "i=0; while [ $i -lt 200 ]; do sleep 600 & i=$((i+1)); done; wait"]); return text("done"); }),
  tool(pi, "modest", async () => text((await pi.exec("echo", ["fine"])).stdout.trim())),
];
"#;

#[test]
fn a_worker_ends_with_programs_that_use_too_much() {
    arena::alone(
        "workers::a_worker_ends_with_programs_that_use_too_much",
        async |arena| {
            for isolation in [Isolation::Process, Isolation::Sandbox] {
                let sandbox = Sandbox::with_home();
                sandbox.write("tools.ts", GREEDY);
                let host = host_with(&sandbox, &["tools.ts"], isolation);
                for (tool, reason) in [
                    (
                        "memory",
                        "it and its programs ran out of memory (`limits.worker_mb` is 700)",
                    ),
                    (
                        "forks",
                        "its programs were too many processes (`limits.worker_processes` is 60)",
                    ),
                ] {
                    let outcome = call(&host, tool, "").await.expect("it is ended");
                    let message = outcome.text();
                    assert!(message.contains(reason), "{isolation:?}: {message}");
                    let outcome = call(&host, "modest", "").await.expect("it runs");
                    assert_eq!(outcome.text(), "fine");
                }
                host.shutdown().await;
            }
            arena.assert_no_process_is_left();
        },
    );
}

/// A module that counts its processors, and tries to get all of them.
const PROCESSORS: &str = r#"
import { execSync } from "node:child_process";
const all = "taskset -pc 0-$(($(getconf _NPROCESSORS_ONLN) - 1)) $$ >/dev/null 2>&1";
export default (pi) => ({
  name: "processors", label: "processors", description: "counts", parameters: pi.zod.object({ how: pi.zod.string().optional() }),
  execute: async () => {
    const counts = ["nproc", `${all}; nproc`, "nproc"].map((line) => Number(execSync(line)));
    return { content: [{ type: "text", text: JSON.stringify(counts) }] };
  },
});
"#;

#[test]
fn a_worker_and_its_programs_use_only_the_processors_of_the_limit() {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    for zygote in ["0", "1"] {
        let name = "workers::a_worker_and_its_programs_use_only_the_processors_of_the_limit";
        arena::alone_with(name, &[("HAFT_ZYGOTE", zygote)], async |arena| {
            for (isolation, regained) in [(Isolation::Process, all), (Isolation::Sandbox, 1)] {
                let sandbox = Sandbox::with_home();
                sandbox.write("tools.ts", PROCESSORS);
                let host = host_limited(&sandbox, &["tools.ts"], isolation, |limits| {
                    limits.worker_cpus = 1;
                });
                host.keep_spare_worker();
                let outcome = call(&host, "processors", "").await.expect("it runs");
                // Without a sandbox a program can undo it for itself.
                assert_eq!(outcome.text(), format!("[1,{regained},1]"), "{isolation:?}");
                host.shutdown().await;
            }
            arena.assert_no_process_is_left();
        });
    }
}

/// A program may have several hosts: each has its own directory, rights and environment.
#[test]
fn two_hosts_of_one_program_have_workers_of_their_own() {
    let name = "workers::two_hosts_of_one_program_have_workers_of_their_own";
    arena::alone(name, async |arena| {
        const WHERE: &str = r#"
import fs from "node:fs";
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({ how: pi.zod.string().optional() }), execute });
export default (pi) => [
  tool(pi, "where", () => text(process.cwd() === pi.cwd && fs.readFileSync("data.txt", "utf8"))),
  tool(pi, "moves", () => { process.chdir("/"); process.umask(0o077); return text(process.cwd()); }),
  tool(pi, "mask", () => text(process.umask().toString(8))),
];
"#;
        let sandboxes = [Sandbox::with_home(), Sandbox::with_home()];
        let hosts = [0, 1].map(|index| {
            sandboxes[index].write("tools.ts", WHERE);
            sandboxes[index].write("data.txt", &index.to_string());
            host(&sandboxes[index], &["tools.ts"])
        });
        let said = async |index: usize, tool: &str| {
            let outcome = call(&hosts[index], tool, "").await;
            outcome.expect("it runs").text()
        };
        for index in [0, 1, 0] {
            assert_eq!(said(index, "where").await, index.to_string());
        }
        let mask = said(1, "mask").await;
        assert_eq!(said(0, "moves").await, "/");
        assert_eq!(said(0, "mask").await, "77");
        assert_eq!(said(1, "where").await, "1");
        assert_eq!(said(1, "mask").await, mask);
        for host in &hosts {
            host.shutdown().await;
        }
        arena.assert_no_process_is_left();
    });
}

/// Kills a process and waits until it has ended.
fn kill(pid: u32) {
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).expect("above zero");
    let held = rustix::process::pidfd_open(pid, rustix::process::PidfdFlags::empty());
    let held = held.expect("it runs");
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).expect("it is ours");
    let ended = rustix::event::PollFlags::IN;
    rustix::event::poll(&mut [rustix::event::PollFd::new(&held, ended)], None).expect("it ends");
}

/// Scripts whose only call is native code of V8 that does not look whether it is to end.
const UNSTOPPABLE: [&str; 2] = [
    "Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)",
    "Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
];

/// State of the tool `gate`, which waits until it is opened.
#[derive(Default)]
struct Gate {
    reached: Notify,
    opened: Notify,
}

fn host_with_gate(sandbox: &Sandbox, gate: &Arc<Gate>) -> Host {
    let gate = gate.clone();
    let gate = CustomTool::new("gate", "Waits", move |(): (), _: Invocation| {
        let gate = gate.clone();
        async move {
            gate.reached.notify_one();
            gate.opened.notified().await;
            Ok::<_, String>("open")
        }
    });
    let builder = crate::code::builder(sandbox).tool(gate.approval(Tier::Read));
    builder.build().expect("a host")
}

#[test]
fn a_script_that_cannot_be_stopped_ends_with_its_process() {
    arena::alone(
        "workers::a_script_that_cannot_be_stopped_ends_with_its_process",
        async |arena| {
            let sandbox = Sandbox::with_home();
            let gate = Arc::new(Gate::default());
            let host = host_with_gate(&sandbox, &gate);
            for script in UNSTOPPABLE {
                let beside = code::run(&host, CodeRun::new("await tools.gate()"));
                gate.reached.notified().await;
                let process = another_worker(&BTreeSet::new()).await;
                let stuck = code::run(&host, CodeRun::new(script).timeout_ms(300));
                let stuck = stuck.outcome().await.expect("it was run");
                assert!(stuck.text().contains("took longer"), "{}", stuck.text());
                // The next script has another process.
                assert_eq!(crate::code::run(&host, "1").await.text(), "1");
                let known = BTreeSet::from([process]);
                assert!(workers_now().is_superset(&known));
                let next = another_worker(&known).await;
                // The script beside goes on, and its process ends with it.
                gate.opened.notify_one();
                let beside = beside.outcome().await.expect("it was run");
                assert_eq!(beside.text(), "open");
                while workers_now().contains(&process) {
                    tokio::task::yield_now().await;
                }
                signal(next, Signal::KILL);
                while !workers_now().is_empty() {
                    tokio::task::yield_now().await;
                }
            }
            host.shutdown().await;
            arena.assert_no_process_is_left();
        },
    );
}

#[test]
fn a_process_of_scripts_that_is_killed_costs_only_them() {
    arena::alone(
        "workers::a_process_of_scripts_that_is_killed_costs_only_them",
        async |arena| {
            let sandbox = Sandbox::with_home();
            let gate = Arc::new(Gate::default());
            let host = host_with_gate(&sandbox, &gate);
            let running = code::run(&host, CodeRun::new("await tools.gate()"));
            gate.reached.notified().await;
            signal(another_worker(&BTreeSet::new()).await, Signal::KILL);
            let outcome = running.outcome().await.expect("it was run");
            assert_eq!(
                outcome.text(),
                "the process of the script was ended by SIGKILL"
            );
            assert_eq!(crate::code::run(&host, "1").await.text(), "1");
            host.shutdown().await;
            arena.assert_no_process_is_left();
        },
    );
}

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(pid.cast_signed()).expect("a number");
    kill_process(pid, signal).expect("it is ours");
}
