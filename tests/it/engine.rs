//! Promises of the host that need a clock or ten thousand calls: through the SDK, in this process.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use haft::call::Stopped;
use haft::config::Env;
use haft::{Call, Config, ErrorKind, Event, Flags, Host, Outcome};
use serde_json::value::RawValue;
use tempfile::TempDir;

/// Short, for a fast test suite, but long enough for a busy machine to deliver a cancellation.
const GRACE: Duration = Duration::from_millis(100);

/// Time that a loaded machine may add to a promise of 50 ms.
const MARGIN: Duration = Duration::from_millis(400);

/// A host with one module that has these tools: names and the bodies of `execute`.
struct Fixture {
    host: Host,
    _dir: TempDir,
}

impl Fixture {
    fn with(tools: &[(&str, &str)]) -> Self {
        let dir = tempfile::tempdir().expect("the temporary directory can be written");
        let functions: String = tools
            .iter()
            .map(|(name, body)| format!("  {name}: async ({{ n }}, signal) => {{ {body} }},\n"))
            .collect();
        let module = format!(
            "import fs from 'node:fs';\n\
             const text = (value) => ({{ content: [{{ type: 'text', text: String(value) }}] }});\n\
             const tools = {{\n{functions}}};\n\
             export default (pi) => Object.entries(tools).map(([name, execute]) => ({{\n\
               name, label: name, description: name,\n\
               parameters: pi.zod.object({{ n: pi.zod.number().optional() }}),\n\
               execute: (_id, params, _update, _ctx, signal) => execute(params, signal),\n\
             }}));\n"
        );
        std::fs::write(dir.path().join("tools.js"), module).expect("a directory of ours");
        Fixture {
            host: Host::new(config(dir.path())),
            _dir: dir,
        }
    }

    async fn call(&self, tool: &str, n: u32, timeout: Option<Duration>) -> Outcome {
        let call = call(tool, n);
        let outcome = self.host.call(call, timeout).outcome().await;
        outcome.expect("the tool could be run")
    }
}

fn config(dir: &Path) -> Config {
    let env = Env {
        current_dir: Some(dir.to_owned()),
        home: Some(dir.join("home")),
        ..Env::default()
    };
    let flags = Flags {
        tools: vec![dir.join("tools.js").display().to_string()],
        ..Flags::default()
    };
    let mut config = crate::sandbox::resolve(flags, &env).expect("this is a fine configuration");
    config.limits.grace = GRACE;
    config
}

fn call(tool: &str, n: u32) -> Call {
    Call {
        id: format!("{tool}-{n}"),
        tool: tool.to_owned(),
        arguments: RawValue::from_string(format!("{{\"n\":{n}}}")).expect("JSON"),
    }
}

/// Issue 3: grace + 50 ms. The figure is printed with `--nocapture`.
#[tokio::test(flavor = "multi_thread")]
async fn an_endless_loop_ends_soon_after_its_grace() {
    let fixture = Fixture::with(&[
        ("loops", "for (;;);"),
        ("good", "return text('still here')"),
    ]);
    fixture.host.catalog().await;
    let timeout = Duration::from_millis(100);
    let started = Instant::now();
    let outcome = fixture.call("loops", 0, Some(timeout)).await;
    let over = started.elapsed().saturating_sub(timeout + GRACE);
    println!("an endless loop ended {over:?} after its grace");
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
    assert!(outcome.duration >= timeout + GRACE);
    assert!(over < MARGIN, "{over:?}");
    assert_eq!(fixture.call("good", 0, None).await.text(), "still here");
    fixture.host.shutdown().await;
}

/// `kill` ends the grace period of its call; another call that still answers is not affected.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_is_killed_at_once_and_the_other_call_goes_on() {
    let mut fixture = Fixture::with(&[
        ("deaf", "await new Promise(() => {})"),
        (
            "waits",
            "return new Promise((done) => signal.addEventListener('abort', () => done(text('asked'))))",
        ),
        ("good", "return text('still here')"),
    ]);
    let mut config = config(fixture._dir.path());
    config.limits.grace = Duration::from_secs(3600);
    fixture.host = Host::new(config);
    for is_asked_first in [true, false] {
        let mut other = fixture.host.call(call("waits", 0), None);
        let mut deaf = fixture.host.call(call("deaf", 0), None);
        for running in [&mut other, &mut deaf] {
            assert!(matches!(running.next_event().await, Event::Started));
        }
        let stopper = deaf.cancellation();
        assert!(!stopper.is_cancelled());
        if is_asked_first {
            stopper.cancel();
        }
        stopper.kill();
        assert!(stopper.is_cancelled());
        let killed = deaf.outcome().await.expect("a stopped call is an outcome");
        assert_eq!(killed.stopped, Some(Stopped::Cancelled));
        assert!(killed.text().contains("it did not end by itself"));
        other.cancellation().cancel();
        let asked = other.outcome().await.expect("it was not lost");
        assert_eq!((asked.text(), asked.is_error), ("asked".into(), false));
        assert_eq!(fixture.call("good", 0, None).await.text(), "still here");
    }
    fixture.host.kill().await;
}

/// Ten thousand concurrent calls: each gets its own answer.
#[tokio::test(flavor = "multi_thread")]
async fn slow_ten_thousand_calls_at_once() {
    let fixture = Fixture::with(&[(
        "echo",
        "await new Promise((done) => setTimeout(done, n % 7)); return text(n)",
    )]);
    let running: Vec<_> = (0..10_000)
        .map(|n| fixture.host.call(call("echo", n), None))
        .collect();
    for (n, running) in running.into_iter().enumerate() {
        let outcome = running.outcome().await.expect("the tool could be run");
        assert_eq!(outcome.text(), n.to_string());
    }
    fixture.host.shutdown().await;
}

/// The end of a looping isolate ends the other calls in it, and each of them gets an error.
#[tokio::test(flavor = "multi_thread")]
async fn a_thousand_calls_of_an_isolate_that_loops_get_an_error() {
    let fixture = Fixture::with(&[
        ("loops", "for (;;);"),
        ("waits", "await new Promise(() => {})"),
        ("good", "return text('still here')"),
    ]);
    fixture.call("good", 0, None).await;
    let mut others = Vec::new();
    for n in 0..1000 {
        let mut running = fixture.host.call(call("waits", n), None);
        // Its start: from here on JavaScript has seen it.
        assert!(matches!(running.next_event().await, Event::Started));
        others.push(running);
    }
    fixture
        .call("loops", 0, Some(Duration::from_millis(100)))
        .await;
    for other in others {
        let error = other.outcome().await.expect_err("its isolate is gone");
        assert_eq!(error.kind(), ErrorKind::IsolateLost);
        assert!(
            error.message().contains("ignored its cancellation"),
            "{error}"
        );
    }
    assert_eq!(fixture.call("good", 0, None).await.text(), "still here");
    fixture.host.shutdown().await;
}

/// A pipe with a name in `folder`.
fn pipe_in(folder: &Path) -> PathBuf {
    let pipe = folder.join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    assert!(made.expect("`mkfifo` is on every machine").success());
    pipe
}

/// A thread that is stuck in a system call delays neither its call nor the host's end.
#[tokio::test(flavor = "multi_thread")]
async fn shutdown_does_not_wait_for_a_stuck_thread() {
    let dir = tempfile::tempdir().expect("the temporary directory can be written");
    let pipe = pipe_in(dir.path());
    // The pipe has no writer, so opening it does not return.
    let body = format!("fs.readFileSync({:?})", pipe.display().to_string());
    let fixture = Fixture::with(&[("stuck", &body)]);
    let outcome = fixture
        .call("stuck", 0, Some(Duration::from_millis(100)))
        .await;
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
    let started = Instant::now();
    fixture.host.shutdown().await;
    assert!(started.elapsed() < Duration::from_secs(2));
    // Lets the thread go. Opened for both directions, this does not wait for a reader: a worker
    // process was killed together with its thread.
    let both = std::fs::File::options().read(true).write(true).open(&pipe);
    drop(both.expect("a pipe of ours"));
}

/// Leftover code that never pauses belongs to no call: its isolate is ended, and calls without a
/// time limit are answered from a fresh one.
#[tokio::test(flavor = "multi_thread")]
async fn a_loop_that_an_ended_call_left_delays_no_call() {
    let dir = tempfile::tempdir().expect("the temporary directory can be written");
    let looping = pipe_in(dir.path());
    let body = format!(
        "setTimeout(() => {{ fs.writeFileSync({:?}, ''); for (;;); }}, 0); return text('left')",
        looping.display().to_string()
    );
    let fixture = Fixture::with(&[("leaves", &body), ("good", "return text('still here')")]);
    assert_eq!(fixture.call("leaves", 0, None).await.text(), "left");
    // Opening it waits for the loop's beginning.
    let begun = tokio::task::spawn_blocking(|| std::fs::read(looping)).await;
    begun.expect("no panic").expect("the pipe can be read");
    let running: Vec<_> = (0..100)
        .map(|n| fixture.host.call(call("good", n), None))
        .collect();
    for running in running {
        let outcome = running.outcome().await.expect("the tool could be run");
        assert_eq!(outcome.text(), "still here");
    }
    fixture.host.shutdown().await;
}
