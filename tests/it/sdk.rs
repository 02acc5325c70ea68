//! The library as an embedding host uses it: runtimes, threads and hosts of its own.
//!
//! Each test has its own host in this one process, so all of them together test that, too.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use haft::approval::{ApprovalMode, ApprovalRequest, Approver, Decision};
use haft::call::Stopped;
use haft::config::Env;
use haft::{Call, Config, Error, ErrorKind, Event, Flags, Host, Outcome, RunningCall, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::oneshot;

use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
import { readFile, writeFile } from "node:fs/promises";

const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
let calls = 0;

export default (pi) => [
  { ...tool("echo", async (_id, { text }) => says(text)), parameters: pi.zod.object({ text: pi.zod.string() }) },
  tool("number", async () => says(String(++calls))),
  tool("count", async (_id, { to }, onUpdate) => {
    for (let step = 1; step <= to; step++) onUpdate(says(`${step} of ${to}`));
    return says("counted");
  }),
  tool("wait", (_id, { path }, onUpdate, _ctx, signal) => {
    onUpdate(says("waiting"));
    return new Promise((resolve) => signal.addEventListener("abort", async () => {
      if (path) await writeFile(path, String(signal.reason?.message ?? signal.reason));
      resolve(says("asked to stop"));
    }));
  }),
  tool("deaf", (_id, _params, onUpdate) => {
    onUpdate(says("deaf"));
    return new Promise(() => {});
  }),
  tool("read", async (_id, { path }) => says(await readFile(path, "utf8"))),
];
"#;

/// A host with a sandbox for its tools.
struct Fixture {
    sandbox: Sandbox,
    host: Host,
}

impl Fixture {
    /// Makes a fixture with the tools of `tools.ts`.
    fn new() -> Fixture {
        Fixture::with(&["tools.ts"])
    }

    /// Makes a fixture with the configured tools only.
    fn with(configured: &[&str]) -> Fixture {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        let host = Host::new(config(&sandbox.path(), configured));
        Fixture { sandbox, host }
    }

    fn call(&self, tool: &str, arguments: Value) -> RunningCall {
        self.host.call(call(tool, arguments), None)
    }

    async fn text(&self, tool: &str, arguments: Value) -> String {
        let outcome = self.call(tool, arguments).outcome().await;
        outcome.expect("it runs").text()
    }
}

fn config(root: &Path, configured: &[&str]) -> Config {
    let env = Env {
        current_dir: Some(root.to_owned()),
        home: Some(root.join("home")),
        ..Env::default()
    };
    let flags = Flags {
        tools: configured.iter().map(|path| (*path).to_owned()).collect(),
        ..Flags::default()
    };
    crate::sandbox::resolve(flags, &env).expect("a configuration")
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
    }
}

/// Returns every event before the end, in short form, and the outcome.
async fn events(mut running: RunningCall) -> (Vec<String>, Result<Outcome, Error>) {
    let mut all = Vec::new();
    loop {
        all.push(match running.next_event().await {
            Event::Started => "started".into(),
            Event::Update(partial) => {
                let partial: Value = serde_json::from_str(partial.get()).expect("it is JSON");
                let text = partial["content"][0]["text"].as_str();
                format!("update: {}", text.expect("a text"))
            }
            Event::Finished(ended) => {
                let again = running.next_event().await;
                let Event::Finished(Err(again)) = again else {
                    panic!("an event after the last: {again:?}");
                };
                assert_eq!(again.message(), "the outcome of the call was read before");
                return (all, ended);
            }
        });
    }
}

/// Waits until the call reports that it runs.
async fn is_running(running: &mut RunningCall) {
    loop {
        match running.next_event().await {
            Event::Started => {}
            Event::Update(_) => return,
            Event::Finished(_) => panic!("it ended before it said anything"),
        }
    }
}

fn names(host_catalog: &haft::Catalog) -> BTreeSet<&str> {
    host_catalog
        .tools()
        .map(|tool| tool.name.as_str())
        .collect()
}

// ---- Runtimes and threads.

#[test]
fn any_runtime_will_do() {
    let single = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build();
    let many = tokio::runtime::Runtime::new();
    let (single, many) = (single.expect("a runtime"), many.expect("a runtime"));
    let fixture = Fixture::new();
    // The same host from both runtimes in turn: it depends on neither.
    for runtime in [&single, &many, &single] {
        let said = runtime.block_on(fixture.text("echo", json!({"text": "here"})));
        assert_eq!(said, "here");
    }
    many.block_on(fixture.host.shutdown());
}

#[tokio::test(flavor = "multi_thread")]
async fn hosts_in_one_process_know_nothing_of_each_other() {
    let fixtures: Vec<Fixture> = (0..4).map(|_| Fixture::new()).collect();
    let counted = fixtures.iter().map(async |fixture| {
        let mut last = String::new();
        for _ in 0..3 {
            last = fixture.text("number", json!({})).await;
        }
        last
    });
    assert_eq!(futures::future::join_all(counted).await, ["3"; 4]);

    fixtures[0].host.shutdown().await;
    for fixture in &fixtures[1..] {
        assert_eq!(fixture.text("number", json!({})).await, "4");
    }
}

#[test]
fn calls_come_from_many_threads() {
    let fixture = Arc::new(Fixture::new());
    let threads: Vec<_> = (0..8)
        .map(|number| {
            let fixture = fixture.clone();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Builder::new_current_thread()
                    .enable_all()
                    .build();
                let text = format!("from thread {number}");
                let arguments = json!({"text": text});
                let runtime = runtime.expect("a runtime");
                for _ in 0..10 {
                    assert_eq!(
                        runtime.block_on(fixture.text("echo", arguments.clone())),
                        text
                    );
                }
            })
        })
        .collect();
    for thread in threads {
        thread.join().expect("every call was answered");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_is_dropped_unused_starts_nothing() {
    let fixture = Fixture::new();
    assert_eq!(fixture.host.config().cwd, fixture.sandbox.path());
    drop(fixture);
}

// ---- Events.

#[tokio::test(flavor = "multi_thread")]
async fn events_come_in_order_and_the_outcome_after_them() {
    let fixture = Fixture::new();
    let (told, outcome) = events(fixture.call("count", json!({"to": 3}))).await;
    assert_eq!(
        told,
        [
            "started",
            "update: 1 of 3",
            "update: 2 of 3",
            "update: 3 of 3"
        ]
    );
    let outcome = outcome.expect("it runs");
    assert_eq!(
        (outcome.text().as_str(), outcome.is_error),
        ("counted", false)
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_refused_call_is_rejected_and_nothing_else() {
    let fixture = Fixture::new();
    for (tool, kind) in [
        ("echo", ErrorKind::BadArguments),
        ("ecko", ErrorKind::NoSuchTool),
    ] {
        let running = fixture.call(tool, json!({"text": 5.5, "more": true}));
        let (told, ended) = events(running).await;
        assert_eq!(ended.expect_err("a refusal").kind(), kind);
        assert!(told.is_empty(), "{told:?}");
    }
    let error = fixture.host.validate(&call("echo", json!({}))).await;
    assert_eq!(
        error.expect_err("a refusal").kind(),
        ErrorKind::BadArguments
    );
    let fits = fixture
        .host
        .validate(&call("echo", json!({"text": "x"})))
        .await;
    fits.expect("it fits");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_outcome_needs_no_listener() {
    let fixture = Fixture::new();
    let outcome = fixture.call("count", json!({"to": 1000})).outcome().await;
    assert_eq!(outcome.expect("it runs").text(), "counted");
}

// ---- Stopping.

#[tokio::test(flavor = "multi_thread")]
async fn a_dropped_call_is_cancelled() {
    let fixture = Fixture::new();
    let path = fixture.sandbox.fifo("stopped");
    let mut running = fixture.call("wait", json!({"path": path}));
    is_running(&mut running).await;
    drop(running);
    // The tool writes when it is cancelled; otherwise this would wait for ever.
    let reason = tokio::fs::read_to_string(&path)
        .await
        .expect("the tool writes");
    assert!(!reason.is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn the_token_cancels_one_call() {
    let fixture = Fixture::new();
    let mut cancelled = fixture.call("wait", json!({}));
    let mut other = fixture.call("wait", json!({}));
    is_running(&mut cancelled).await;
    is_running(&mut other).await;
    cancelled.cancellation().cancel();
    let outcome = cancelled.outcome().await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    // A tool that still returns keeps its result (spec omp 8).
    assert_eq!(
        (outcome.text().as_str(), outcome.is_error),
        ("asked to stop", false)
    );
    assert!(!other.cancellation().is_cancelled());
    other.cancellation().cancel();
    other.outcome().await.expect("an outcome");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deadline_is_part_of_the_outcome() {
    let fixture = Fixture::new();
    // The tools are loaded before the timeout starts.
    fixture.host.catalog().await;
    // Long enough for the tool to start on a busy machine: otherwise there is no outcome.
    let brief = Duration::from_millis(500);
    let since = Instant::now();
    let running = fixture.host.call(call("wait", json!({})), Some(brief));
    let outcome = running.outcome().await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
    // The time of the outcome begins with the tool, and that of the deadline with the call.
    assert!(since.elapsed() >= brief);
    assert!(outcome.duration <= since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn shutdown_ends_the_calls_that_run() {
    let fixture = Fixture::new();
    let mut polite = fixture.call("wait", json!({}));
    let mut deaf = fixture.call("deaf", json!({}));
    is_running(&mut polite).await;
    is_running(&mut deaf).await;
    fixture.host.shutdown().await;
    for running in [polite, deaf] {
        let ended = running.outcome().await;
        assert_eq!(stopped(&ended), Some(Stopped::HostShutdown), "{ended:?}");
    }
    // A second shutdown does nothing.
    fixture.host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_host_that_was_shut_down_says_so() {
    for is_loaded in [true, false] {
        let fixture = Fixture::new();
        if is_loaded {
            fixture.host.catalog().await;
        }
        fixture.host.shutdown().await;

        let (told, ended) = events(fixture.call("echo", json!({"text": "x"}))).await;
        let error = ended.expect_err("nothing runs any more");
        assert_eq!(error.kind(), ErrorKind::Stopped(Stopped::HostShutdown));
        assert_eq!(error.message(), "the host has been shut down");
        assert!(told.is_empty(), "{told:?}");

        let error = fixture.host.validate(&call("echo", json!({}))).await;
        let kind = error.expect_err("nothing runs any more").kind();
        assert_eq!(kind, ErrorKind::Stopped(Stopped::HostShutdown));

        let loaded = fixture.host.load_paths(&["tools.ts".into()]).await;
        assert_eq!(loaded.entries.len(), 0);
        let problem = &loaded.problems[0];
        assert_eq!(problem.message, "the host has been shut down");
        assert_eq!(problem.path.as_deref(), Some(Path::new("tools.ts")));

        // The known tools stay; the host does not search for new ones.
        let catalog = fixture.host.catalog().await;
        assert_eq!(catalog.entries.is_empty(), !is_loaded);
    }
}

fn stopped(ended: &Result<Outcome, Error>) -> Option<Stopped> {
    match ended {
        Ok(outcome) => outcome.stopped,
        Err(error) => match error.kind() {
            ErrorKind::Stopped(why) => Some(why),
            _ => None,
        },
    }
}

// ---- The catalog.

#[tokio::test(flavor = "multi_thread")]
async fn paths_may_be_loaded_before_the_catalog_is_wanted() {
    let fixture = Fixture::with(&["other.ts"]);
    fixture.sandbox.write("other.ts", &one_tool("other"));
    let loaded = fixture
        .host
        .load_paths(&["./tools.ts".into(), "none.ts".into()])
        .await;
    assert_eq!(loaded.entries.len(), 6);
    assert_eq!(loaded.problems.len(), 1);
    assert_eq!(
        loaded.problems[0].path.as_deref(),
        Some(Path::new("none.ts"))
    );
    let catalog = fixture.host.catalog().await;
    assert!(names(&catalog).is_superset(&BTreeSet::from(["echo", "wait", "other"])));
    assert_eq!(catalog.entries.len(), 7);
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_may_be_loaded_after_the_catalog() {
    let fixture = Fixture::new();
    fixture.sandbox.write("other.ts", &one_tool("other"));
    let before = fixture.host.catalog().await;
    let loaded = fixture.host.load_paths(&["other.ts".into()]).await;
    assert_eq!(loaded.entries.len(), 1);
    let after = fixture.host.catalog().await;
    assert!(before.find("other").is_none(), "a catalog never changes");
    assert!(after.find("other").is_some() && after.find("echo").is_some());
    assert_eq!(fixture.text("other", json!({})).await, "other");
    assert_eq!(fixture.text("number", json!({})).await, "1");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_name_is_taken_once() {
    let fixture = Fixture::new();
    fixture.sandbox.write("second.ts", &one_tool("echo"));
    fixture.host.catalog().await;
    let loaded = fixture.host.load_paths(&["second.ts".into()]).await;
    assert_eq!(loaded.entries.len(), 0);
    assert!(
        loaded.problems[0].message.contains("\"echo\""),
        "{:?}",
        loaded.problems
    );
    assert_eq!(
        fixture.text("echo", json!({"text": "the first"})).await,
        "the first"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_query_loads_the_same_file_afresh() {
    let fixture = Fixture::with(&[]);
    let module = |name: &str| one_tool(&format!("{name}_tool"));
    fixture.sandbox.write("changing.ts", &module("first"));
    let first = fixture.host.load_paths(&["changing.ts".into()]).await;
    fixture.sandbox.write("changing.ts", &module("second"));
    let second = fixture.host.load_paths(&["changing.ts?v=2".into()]).await;
    let name = |loaded: &haft::Loaded| loaded.entries[0].tool.name.clone();
    assert_eq!(
        (name(&first), name(&second)),
        ("first_tool".into(), "second_tool".into())
    );
    // Both work: the old catalog does not change under its callers.
    assert_eq!(fixture.text("first_tool", json!({})).await, "first_tool");
    assert_eq!(fixture.text("second_tool", json!({})).await, "second_tool");
}

#[tokio::test(flavor = "multi_thread")]
async fn concurrent_callers_get_the_same_catalog() {
    let fixture = Fixture::new();
    let asked = (0..8).map(|_| fixture.host.catalog());
    let catalogs = futures::future::join_all(asked).await;
    assert!(catalogs.iter().all(|one| Arc::ptr_eq(one, &catalogs[0])));
    assert_eq!(catalogs[0].entries.len(), 6);
}

fn one_tool(name: &str) -> String {
    format!(
        "export default () => ({{ name: '{name}', description: 'one', parameters: {{ type: 'object' }}, \
         execute: async () => ({{ content: [{{ type: 'text', text: '{name}' }}] }}) }});"
    )
}

/// A user who gives the same answer every time, and records the questions.
struct User {
    answer: Decision,
    asked: Mutex<Vec<ApprovalRequest>>,
}

#[async_trait::async_trait]
impl Approver for User {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        self.asked.lock().expect("nobody panicked").push(request);
        self.answer
    }
}

/// A user who approves, and cancels the call at the same moment.
struct Undecided(Mutex<Option<oneshot::Receiver<haft::Cancellation>>>);

#[async_trait::async_trait]
impl Approver for Undecided {
    async fn ask(&self, _: ApprovalRequest) -> Decision {
        let call = self.0.lock().expect("nobody panicked").take();
        let call = call.expect("asked once").await;
        call.expect("the test sends it").cancel();
        Decision::Approved
    }
}

#[tokio::test]
async fn what_is_approved_and_cancelled_at_once_never_starts() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let mut config = config(&sandbox.path(), &["tools.ts"]);
    config.approval.mode = ApprovalMode::AlwaysAsk;
    let host = Host::new(config);
    host.catalog().await;
    let (tell, told) = oneshot::channel();
    let host = host.asking(Arc::new(Undecided(Mutex::new(Some(told)))));
    let running = host.call(call("echo", json!({"text": "hi"})), None);
    let sent = tell.send(running.cancellation());
    assert!(sent.is_ok());
    let outcome = running.outcome().await.expect("an outcome");
    let expected = "Tool was not executed because the run was aborted: Interrupted by user.";
    assert_eq!(outcome.text(), expected);
}

#[tokio::test]
async fn an_embedding_host_asks_its_own_user() {
    // omp 10; the arguments are checked before the user is asked.
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let mut config = config(&sandbox.path(), &["tools.ts"]);
    config.approval.mode = ApprovalMode::AlwaysAsk;
    let host = Host::new(config);
    let user = |answer| {
        Arc::new(User {
            answer,
            asked: Mutex::default(),
        })
    };
    let echo = |host: &Host, arguments| host.call(call("echo", arguments), None).outcome();

    let yes = user(Decision::Approved);
    let asking = host.asking(yes.clone());
    let outcome = echo(&asking, json!({"text": "hi"})).await.expect("it runs");
    assert_eq!(outcome.text(), "hi");
    let refused = echo(&asking, json!({"text": 1})).await;
    assert_eq!(
        refused.expect_err("bad arguments").kind(),
        ErrorKind::BadArguments
    );
    let asked = std::mem::take(&mut *yes.asked.lock().expect("nobody panicked"));
    let [request] = asked.as_slice() else {
        panic!("asked once, not {asked:?}");
    };
    assert_eq!((request.tool.as_str(), request.tier), ("echo", Tier::Exec));
    assert_eq!(request.arguments.get(), r#"{"text":"hi"}"#);

    let asking = host.asking(user(Decision::Denied));
    let denied = echo(&asking, json!({"text": "hi"})).await;
    let denied = denied.expect_err("the user said no");
    assert_eq!(denied.kind(), ErrorKind::Denied);
    assert_eq!(denied.message(), "Tool call denied by user: echo");

    let nobody = echo(&host, json!({"text": "hi"})).await;
    let nobody = nobody.expect_err("there is nobody");
    assert!(
        nobody
            .message()
            .starts_with(r#"Tool "echo" requires approval but no interactive UI available."#),
        "{nobody}"
    );
}
