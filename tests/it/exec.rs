//! Executable tools through the SDK: the cases that need a clock, many concurrent calls, or a look
//! at processes.
//!
//! The tools are real shell scripts. Processes of a tool are found by the sandbox's path, which is
//! in the command line of every script below it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::time::{Duration, Instant};

use haft::call::Stopped;
use haft::catalog::ScanState;
use haft::config::Env;
use haft::{Call, Config, ErrorKind, Flags, Host, Outcome, RunningCall, Severity, Tier};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const KODELET: &str = "home/.kodelet/tools";
const IKIGAI: &str = "home/.ikigai/tools";

struct Fixture {
    sandbox: Sandbox,
    host: Host,
}

impl Fixture {
    fn new() -> Fixture {
        Fixture::with(|_| {})
    }

    fn with(change: impl FnOnce(&mut Config)) -> Fixture {
        let sandbox = Sandbox::with_home();
        let host = sandbox.host(|config| {
            config.limits.grace = Duration::from_millis(200);
            change(config);
        });
        Fixture { host, sandbox }
    }

    /// One of Kodelet's tools with the name of its file; `body` is what `run` does.
    fn kodelet(&self, name: &str, body: &str) {
        let described = format!(r#"{{"name":"{name}","description":"d"}}"#);
        self.script(KODELET, name, "description", &described, body);
    }

    /// One of ikigai's tools with the name of its file.
    fn ikigai(&self, name: &str, body: &str) {
        let described = format!(r#"{{"name":"{name}","description":"d"}}"#);
        self.script(IKIGAI, name, "--schema", &described, body);
    }

    fn script(&self, folder: &str, name: &str, flag: &str, described: &str, body: &str) {
        let text = format!(
            "#!/bin/sh\nif [ \"$1\" = {flag} ]; then echo '{described}'; exit; fi\n{body}\n"
        );
        self.executable(&format!("{folder}/{name}"), &text);
    }

    fn executable(&self, path: &str, text: &str) {
        // Renamed into place, so that no reader sees a half-written file.
        let aside = self.sandbox.write("aside", text);
        let target = self.sandbox.path().join(path);
        fs::create_dir_all(target.parent().expect("it is in a folder")).expect("ours");
        fs::set_permissions(&aside, fs::Permissions::from_mode(0o755)).expect("ours");
        fs::rename(aside, target).expect("ours");
    }

    fn call(&self, tool: &str, arguments: Value) -> RunningCall {
        self.host.call(call(tool, arguments), None)
    }

    async fn outcome(&self, tool: &str, arguments: Value) -> Outcome {
        let ended = self.call(tool, arguments).outcome().await;
        ended.expect("it can be run")
    }

    async fn names(&self) -> Vec<String> {
        let catalog = self.host.catalog().await;
        catalog.tools().map(|tool| tool.name.clone()).collect()
    }

    /// Waits until a tool has made this file.
    async fn until_there(&self, path: &str) {
        let path = self.sandbox.path().join(path);
        let waited = Instant::now();
        while !path.exists() {
            assert!(waited.elapsed() < Duration::from_secs(20), "{path:?}");
            tokio::task::yield_now().await;
        }
    }

    /// Every process that is left of the sandbox's tools.
    fn processes(&self) -> Vec<String> {
        let root = self.sandbox.path();
        let ours = |path: &Path| {
            let line = fs::read(path.join("cmdline")).ok()?;
            let line = String::from_utf8_lossy(&line).replace('\0', " ");
            let environment = fs::read(path.join("environ")).unwrap_or_default();
            let environment = String::from_utf8_lossy(&environment);
            let root = root.to_str().expect("a path of ours");
            (line.contains(root) || environment.contains(root)).then_some(line)
        };
        let all = fs::read_dir("/proc").expect("there is one").flatten();
        all.filter_map(|entry| ours(&entry.path())).collect()
    }
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
    }
}

fn output(outcome: &Outcome) -> &str {
    let output = outcome.details["metadata"]["output"].as_str();
    output.unwrap_or_else(|| panic!("{}", outcome.details))
}

// ---- Looking for tools.

#[tokio::test]
async fn many_are_asked_at_once() {
    // ikigai 5, 6; issue 4: at most 1.3 times the time of a single one, plus the starts.
    let fixture = Fixture::new();
    for number in 0..24 {
        let schema = format!(r#"sleep 0.5; echo '{{"name":"t{number}","description":"d"}}'"#);
        fixture.executable(
            &format!("{IKIGAI}/t{number}"),
            &format!("#!/bin/sh\n{schema}\n"),
        );
    }
    for number in 0..5 {
        fixture.executable(&format!("{IKIGAI}/hangs{number}"), "#!/bin/sh\nsleep 30\n");
    }
    let started = Instant::now();
    let catalog = fixture.host.catalog().await;
    let took = started.elapsed();
    assert_eq!(catalog.entries.len(), 24, "{:#?}", catalog.problems);
    assert_eq!(catalog.problems.len(), 5);
    assert!(took < Duration::from_millis(2500), "{took:?}");
    assert!(fixture.processes().is_empty(), "{:?}", fixture.processes());
}

#[tokio::test]
async fn no_tool_is_missing_because_the_machine_is_busy() {
    // Each computes for a while and sleeps for more than half of its second. If all of them started
    // at once, they would miss their deadlines.
    let fixture = Fixture::new();
    let busy = "i=0; while [ $i -lt 40000 ]; do i=$((i+1)); done; sleep 0.6";
    for number in 0..64 {
        let text =
            format!("#!/bin/sh\n{busy}\necho '{{\"name\":\"t{number}\",\"description\":\"d\"}}'\n");
        fixture.executable(&format!("{IKIGAI}/t{number}"), &text);
    }
    let catalog = fixture.host.catalog().await;
    assert_eq!(catalog.entries.len(), 64, "{:#?}", catalog.problems);
    assert!(fixture.processes().is_empty(), "{:?}", fixture.processes());
}

#[tokio::test]
async fn an_executable_that_is_late_stays_what_it_was_and_is_asked_again() {
    let fixture = Fixture::new();
    let slow = fixture.sandbox.path().join("slow");
    fixture.executable(
        &format!("{IKIGAI}/tool"),
        &format!(
            "#!/bin/sh\n[ -e {slow:?} ] && sleep 30\necho '{{\"name\":\"tool\",\"description\":\"d\"}}'\n"
        ),
    );
    assert_eq!(fixture.names().await, ["tool"]);
    fixture.sandbox.write("slow", "");
    let catalog = fixture.host.refresh().await;
    assert_eq!(catalog.entries.len(), 1, "{:#?}", catalog.problems);
    let problem = &catalog.problems[0];
    assert_eq!(problem.message, "tool 'tool' schema failed (timeout)");
    let hint = problem.hint.as_deref().unwrap_or_default();
    assert!(hint.contains("last good version"), "{hint}");
    // A host that watches files asks again by itself, though no file of a tool changes.
    let watching = fixture.host.watch();
    watching.ready().await;
    fs::remove_file(&slow).expect("ours");
    let waited = Instant::now();
    while !fixture.host.catalog().await.problems.is_empty() {
        assert!(
            waited.elapsed() < Duration::from_secs(90),
            "it is not asked"
        );
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(fixture.names().await, ["tool"]);
    // Another file has no last good version.
    fixture.executable(&format!("{IKIGAI}/tool"), "#!/bin/sh\nsleep 30\n");
    let catalog = fixture.host.refresh().await;
    assert!(catalog.entries.is_empty(), "{:?}", catalog.entries.len());
}

#[tokio::test]
async fn the_directories_of_an_installation_are_read() {
    // ikigai 1; a tool that is installed for ikigai overrides haft's tool of that name.
    let fixture = Fixture::with(|config| {
        let prefix = config.cwd.join("prefix/libexec");
        config.ikigai.system_dir = Some(prefix.join("haft"));
        config.ikigai.installation_dir = Some(prefix.join("ikigai"));
    });
    let describe = |folder: &str, name: &str, text: &str| {
        let described = format!(r#"{{"name":"{name}","description":"{text}"}}"#);
        fixture.script(folder, name, "--schema", &described, "echo 1");
    };
    let (of_haft, of_ikigai) = ("prefix/libexec/haft", "prefix/libexec/ikigai");
    describe(of_haft, "bash", "of haft");
    describe(of_haft, "both", "of haft");
    describe(of_haft, "only", "of haft");
    describe(of_ikigai, "bash", "of ikigai");
    describe(of_ikigai, "both", "of ikigai");
    describe(of_ikigai, "glob", "of ikigai");
    describe(IKIGAI, "glob", "mine");
    let catalog = fixture.host.catalog().await;
    let tools = catalog.tools();
    let tools: Vec<_> = tools
        .map(|tool| (tool.name.as_str(), tool.description.as_str(), tool.approval))
        .collect();
    // haft's own `bash` is not enabled; the installation's `bash` is found in its folder.
    assert_eq!(
        tools,
        [
            ("bash", "of ikigai", Tier::Exec),
            ("both", "of ikigai", Tier::Exec),
            ("glob", "mine", Tier::Exec),
            ("only", "of haft", Tier::Exec),
        ]
    );
    let is_info = |problem: &haft::Problem| problem.severity == Severity::Info;
    assert!(
        catalog.problems.iter().all(is_info),
        "{:#?}",
        catalog.problems
    );
    assert_eq!(catalog.problems.len(), 2, "{:#?}", catalog.problems);
}

#[tokio::test]
async fn both_of_kodelets_directories_of_a_project_are_read() {
    let fixture = Fixture::with(|config| config.trust_project = true);
    let describe = |folder: &str, name: &str, text: &str| {
        let described = format!(r#"{{"name":"{name}","description":"{text}"}}"#);
        fixture.script(folder, name, "description", &described, "echo 1");
    };
    describe(KODELET, "a", "of the user");
    describe("kodelet-tools", "a", "older");
    describe("kodelet-tools", "b", "older");
    describe(".kodelet/tools", "b", "newer");
    describe(".kodelet/tools", "c", "newer");
    let catalog = fixture.host.catalog().await;
    let tools = catalog.tools();
    let tools: Vec<_> = tools
        .map(|tool| (tool.name.as_str(), tool.description.as_str()))
        .collect();
    assert_eq!(
        tools,
        [
            ("custom_tool_a", "older"),
            ("custom_tool_b", "newer"),
            ("custom_tool_c", "newer"),
        ]
    );
    let is_info = |problem: &haft::Problem| problem.severity == Severity::Info;
    assert!(
        catalog.problems.iter().all(is_info),
        "{:#?}",
        catalog.problems
    );
}

#[tokio::test]
async fn in_the_home_directory_the_users_tools_are_not_the_projects() {
    let fixture = Fixture::with(|config| {
        config.custom_tools.dot_local_dir = Some(config.home.join(".kodelet/tools"));
    });
    fixture.kodelet("one", "echo 1");
    let catalog = fixture.host.catalog().await;
    let trusted: Vec<bool> = catalog.tools().map(|tool| tool.trusted).collect();
    assert_eq!(trusted, [true], "{:#?}", catalog.problems);
}

#[tokio::test]
async fn what_a_program_says_of_its_failure_is_part_of_the_problem() {
    let fixture = Fixture::new();
    fixture.executable(
        &format!("{IKIGAI}/broken"),
        "#!/bin/sh\necho 'bun: not found' >&2\nexit 127\n",
    );
    let catalog = fixture.host.catalog().await;
    assert_eq!(
        catalog.problems[0].message,
        "tool 'broken' schema failed (crashed with exit code 127): bun: not found"
    );
}

#[tokio::test]
async fn the_state_of_the_search_can_be_seen() {
    // ikigai 2, 13, 14.
    let fixture = Fixture::new();
    fixture.ikigai("one", "echo 1");
    let mut state = fixture.host.scan_state();
    assert_eq!(*state.borrow_and_update(), ScanState::NotStarted);
    let host = fixture.host.clone();
    let (catalog, ()) = tokio::join!(host.catalog(), async {
        state.changed().await.expect("the host is there");
        assert_eq!(*state.borrow_and_update(), ScanState::InProgress);
    });
    assert_eq!(catalog.entries.len(), 1);
    assert_eq!(*state.borrow_and_update(), ScanState::Complete);
    let written = serde_json::to_string(&ScanState::NotStarted).expect("it is data");
    assert_eq!(written, r#""NOT_STARTED""#);
}

#[tokio::test]
async fn a_refresh_sees_what_is_new_gone_and_different() {
    // ikigai 46, 49; kodelet 11.
    let fixture = Fixture::new();
    fixture.ikigai("stays", "echo 1");
    fixture.ikigai("goes", "echo 1");
    fixture.kodelet("old", "echo old");
    assert_eq!(fixture.names().await, ["custom_tool_old", "goes", "stays"]);
    fs::remove_file(fixture.sandbox.path().join(IKIGAI).join("goes")).expect("ours");
    fs::remove_file(fixture.sandbox.path().join(KODELET).join("old")).expect("ours");
    fixture.kodelet("new", "echo new");
    let schema = r#"{"name":"stays","description":"other"}"#;
    fixture.script(IKIGAI, "stays", "--schema", schema, "echo 2");
    assert_eq!(fixture.host.refresh().await.usable(), 2);
    assert_eq!(fixture.names().await, ["custom_tool_new", "stays"]);
    // ikigai 36: a caller that still has the old list gets an envelope.
    assert_eq!(
        fixture.outcome("goes", json!({})).await.text(),
        r#"{"tool_success":false,"error":"Tool not found","error_code":"TOOL_NOT_FOUND"}"#
    );
    let never = fixture.call("never", json!({})).outcome().await;
    assert_eq!(
        never.expect_err("it never was").kind(),
        ErrorKind::NoSuchTool
    );
    let catalog = fixture.host.catalog().await;
    assert_eq!(
        catalog.find("stays").expect("it stays").tool.description,
        "other"
    );
}

#[tokio::test]
async fn a_refresh_keeps_modules_and_what_was_loaded_by_name() {
    let fixture = Fixture::new();
    let module = |name: &str| {
        format!(
            "let calls = 0; export default () => ({{ name: '{name}', description: '', \
             parameters: {{ type: 'object' }}, execute: async () => ({{ content: [{{ type: 'text', \
             text: String(++calls) }}] }}) }});"
        )
    };
    fixture
        .sandbox
        .write("home/.omp/agent/tools/found.ts", &module("found"));
    fixture.sandbox.write("given.ts", &module("given"));
    fixture.host.load_paths(&["given.ts".into()]).await;
    assert_eq!(fixture.names().await, ["given", "found"]);
    for tool in ["found", "given"] {
        assert_eq!(fixture.outcome(tool, json!({})).await.text(), "1");
    }
    fixture
        .sandbox
        .write("home/.omp/agent/tools/later.ts", &module("later"));
    fixture.host.refresh().await;
    assert_eq!(fixture.names().await, ["given", "found", "later"]);
    for tool in ["found", "given"] {
        assert_eq!(fixture.outcome(tool, json!({})).await.text(), "2");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn calls_go_on_while_tools_are_looked_for_again() {
    // kodelet 52, c18; ikigai 43, c12.
    let fixture = Fixture::new();
    fixture.ikigai(
        "waits",
        "touch started; while [ ! -e go ]; do sleep 0.01; done; echo '\"done\"'",
    );
    fixture.kodelet("quick", "echo quick");
    assert_eq!(fixture.host.catalog().await.usable(), 2);
    let waiting = fixture.call("waits", json!({}));
    fixture.until_there("started").await;
    fs::remove_file(fixture.sandbox.path().join(IKIGAI).join("waits")).expect("ours");
    let slow = "#!/bin/sh\nsleep 0.3; echo '{\"name\":\"slow\",\"description\":\"d\"}'\n";
    fixture.executable(&format!("{IKIGAI}/slow"), slow);
    let mut state = fixture.host.scan_state();
    state.borrow_and_update();
    let host = fixture.host.clone();
    let refreshing = tokio::spawn(async move { host.refresh().await.usable() });
    state.changed().await.expect("the host is there");
    // The old catalog stays in use until the new one is complete.
    assert_eq!(fixture.names().await, ["custom_tool_quick", "waits"]);
    assert_eq!(
        output(&fixture.outcome("quick", json!({})).await),
        "quick\n"
    );
    assert_eq!(*fixture.host.scan_state().borrow(), ScanState::InProgress);
    assert_eq!(refreshing.await.expect("no panic"), 2);
    assert_eq!(fixture.names().await, ["custom_tool_quick", "slow"]);
    fixture.sandbox.write("go", "");
    let ended = waiting.outcome().await.expect("it runs");
    assert_eq!(ended.text(), r#"{"tool_success":true,"result":"done"}"#);
}

#[tokio::test]
async fn two_searches_at_once_are_two_whole_ones() {
    // kodelet 52, c18.
    let fixture = Fixture::new();
    fixture.kodelet("one", "echo 1");
    fixture.ikigai("two", "echo 2");
    let host = &fixture.host;
    let (first, second, third) = tokio::join!(host.refresh(), host.catalog(), host.refresh());
    for catalog in [first, second, third, host.refresh().await] {
        assert_eq!(catalog.usable(), 2);
    }
}

#[test]
fn without_a_home_nothing_is_looked_for_at_home() {
    // kodelet 13, c20; ikigai 19, c21.
    let sandbox = Sandbox::empty();
    let env = |home: Option<&str>| Env {
        current_dir: Some(sandbox.path()),
        home: home.map(Into::into),
        program: Some(sandbox.path().join("bin/haft")),
        ..Env::default()
    };
    let resolve =
        |env: &Env| crate::sandbox::resolve(Flags::default(), env).expect("a configuration");
    let homeless = resolve(&env(None));
    assert_eq!(homeless.ikigai.user_dir, None);
    let global = &homeless.custom_tools.global_dir;
    assert!(!global.starts_with(sandbox.path()) && !global.exists());
    let at_home = resolve(&env(Some("/home/ada")));
    assert_eq!(
        at_home.custom_tools.global_dir,
        Path::new("/home/ada/.kodelet/tools")
    );
    // Nothing is there, then it is installed, then it is built.
    assert_eq!(at_home.ikigai.system_dir, None);
    for place in ["libexec/haft", "bin/libexec/haft"] {
        let place = sandbox.path().join(place);
        fs::create_dir_all(&place).expect("ours");
        assert_eq!(resolve(&env(None)).ikigai.system_dir, Some(place));
    }
}

// ---- Calls.

#[tokio::test]
async fn runs_are_processes_of_their_own() {
    // kodelet 51: each waits until all four have begun.
    let fixture = Fixture::new();
    let meet =
        "touch \"here-$$\"; while [ $(ls here-* | wc -l) -lt 4 ]; do sleep 0.01; done; echo met";
    fixture.kodelet("meet", meet);
    fixture.kodelet("meet_too", meet);
    fixture.host.catalog().await;
    let calls =
        ["meet", "meet_too", "meet", "meet_too"].map(|tool| fixture.outcome(tool, json!({})));
    for ended in futures::future::join_all(calls).await {
        assert_eq!(output(&ended), "met\n");
    }
}

#[tokio::test]
async fn what_is_no_object_starts_nothing() {
    // kodelet 31, 32; ikigai 37, c19.
    let fixture = Fixture::new();
    fixture.kodelet("custom", "touch ran; cat");
    fixture.ikigai("tool", "touch ran; cat");
    for arguments in [
        json!(null),
        json!([1]),
        json!("\"x\""),
        json!("{"),
        json!(1),
    ] {
        let refused = fixture.outcome("custom", arguments.clone()).await;
        assert!(refused.is_error);
        let details = &refused.details;
        assert_eq!(
            (
                &details["success"],
                &details["toolName"],
                details.get("metadata")
            ),
            (&json!(false), &json!("custom_tool_custom"), None)
        );
        assert!(details["timestamp"].is_string(), "{details}");
        let text = details["error"].as_str().unwrap_or_default();
        assert!(text.starts_with("invalid JSON input: "), "{text}");
        let checked = fixture
            .host
            .validate(&call("custom", arguments.clone()))
            .await;
        assert_eq!(
            checked.map_err(|error| error.kind()),
            Err(ErrorKind::BadArguments)
        );
        let envelope = fixture.outcome("tool", arguments).await;
        assert_eq!(envelope.details["error_code"], "INVALID_PARAMS");
    }
    assert!(!fixture.sandbox.path().join("ran").exists());
    let opened = fixture.outcome("custom", json!("{\"a\": 1.0}")).await;
    assert_eq!(output(&opened), "{\"a\": 1.0}");
}

#[tokio::test]
async fn arguments_that_are_not_read_delay_nothing() {
    // kodelet c1; ikigai c1: far more than a pipe holds.
    let fixture = Fixture::new();
    fixture.kodelet("deaf", "echo heard nothing");
    fixture.ikigai("deaf2", "exec <&-; echo 1");
    let arguments = json!({ "text": "x".repeat(1 << 20) });
    let said = fixture.outcome("deaf", arguments.clone()).await;
    assert_eq!(output(&said), "heard nothing\n");
    let said = fixture.outcome("deaf2", arguments).await;
    assert_eq!(said.text(), r#"{"tool_success":true,"result":1}"#);
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree() {
    // kodelet 44, 53, c4, c5, c6; ikigai 35, c4.
    let fixture = Fixture::with(|config| {
        config.custom_tools.timeout = Duration::from_millis(300);
        config.ikigai.timeout = Duration::from_millis(300);
    });
    let deaf = "trap '' TERM; sleep 30 & sleep 30";
    fixture.kodelet("deaf", deaf);
    fixture.kodelet("flood", "yes");
    fixture.kodelet("closes", "exec >&- 2>&-; sleep 30");
    fixture.ikigai("deaf2", deaf);
    fixture.ikigai("trickles", "while :; do echo 1; sleep 0.05; done");
    fixture.host.catalog().await;
    for tool in ["deaf", "flood", "closes", "deaf2", "trickles"] {
        let started = Instant::now();
        let ended = fixture.outcome(tool, json!({})).await;
        assert!(
            started.elapsed() < Duration::from_secs(2),
            "{tool}: {:?}",
            started.elapsed()
        );
        assert_eq!(ended.stopped, Some(Stopped::Deadline), "{tool}");
        let text = ended.text();
        assert!(text.contains("timed out after 300ms"), "{tool}: {text}");
    }
    assert!(fixture.processes().is_empty(), "{:?}", fixture.processes());
}

#[tokio::test]
async fn a_cancelled_call_leaves_nothing() {
    // kodelet 53; ikigai c4.
    let fixture = Fixture::new();
    let body = "trap '' TERM; sleep 30 & touch \"${0##*/}-started\"; sleep 30";
    fixture.kodelet("one", body);
    fixture.ikigai("two", body);
    fixture.host.catalog().await;
    for (tool, expected) in [
        (
            "one",
            "<error>\ntool execution was cancelled\n</error>\n<result>\n(No output)\n</result>",
        ),
        (
            "two",
            r#"{"tool_success":false,"error":"Tool 'two' was cancelled","error_code":"TOOL_CANCELLED"}"#,
        ),
    ] {
        let running = fixture.call(tool, json!({}));
        fixture.until_there(&format!("{tool}-started")).await;
        let cancelled = Instant::now();
        running.cancellation().cancel();
        let ended = running.outcome().await.expect("it began");
        let took = cancelled.elapsed();
        assert!(took < Duration::from_millis(800), "{took:?}");
        assert_eq!(
            (ended.text().as_str(), ended.stopped),
            (expected, Some(Stopped::Cancelled))
        );
    }
    assert!(fixture.processes().is_empty(), "{:?}", fixture.processes());
}

#[tokio::test]
async fn a_tool_that_is_gone_is_a_failure_of_its_own() {
    // ikigai 40, c13; kodelet c13.
    let fixture = Fixture::new();
    fixture.ikigai("gone", "echo 1");
    fixture.ikigai("locked", "echo 1");
    fixture.kodelet("custom", "echo 1");
    fixture.host.catalog().await;
    let path = |folder: &str, name: &str| fixture.sandbox.path().join(folder).join(name);
    fs::remove_file(path(IKIGAI, "gone")).expect("ours");
    fs::set_permissions(path(IKIGAI, "locked"), fs::Permissions::from_mode(0o644)).expect("ours");
    fs::remove_file(path(KODELET, "custom")).expect("ours");
    let text = fixture.outcome("gone", json!({})).await.text();
    assert_eq!(
        text,
        r#"{"tool_success":false,"error":"Tool 'gone' could not be started: it is not there any more","error_code":"TOOL_CRASHED"}"#
    );
    let text = fixture.outcome("locked", json!({})).await.text();
    assert!(
        text.contains("it may not be executed") && text.contains("TOOL_CRASHED"),
        "{text}"
    );
    let ended = fixture.outcome("custom", json!({})).await;
    assert_eq!(
        ended.details["error"],
        "failed to run tool: it is not there any more"
    );
}

#[tokio::test]
async fn a_program_with_its_own_requests_is_not_held_up() {
    // ikigai 43: a call that runs holds up neither lists nor other calls.
    let fixture = Fixture::new();
    fixture.ikigai("waits", "while [ ! -e go ]; do sleep 0.01; done; echo 1");
    fixture.ikigai("quick", "echo 2");
    fixture.host.catalog().await;
    let waiting = fixture.call("waits", json!({}));
    assert_eq!(fixture.names().await, ["quick", "waits"]);
    let quick = fixture.outcome("quick", json!({})).await;
    assert_eq!(quick.text(), r#"{"tool_success":true,"result":2}"#);
    fixture.sandbox.write("go", "");
    assert!(!waiting.outcome().await.expect("it runs").is_error);
}
