//! Modules that share a worker process: they wait for each other, and the end of one call loses none
//! that has not begun.
//!
//! The order of events is the proof, never a time: a loop ends when the test ends it, and only
//! then.

use std::path::Path;

use haft::config::Env;
use haft::{Call, Config, Event, Flags, Host, RunningCall};
use serde_json::value::RawValue;
use tempfile::TempDir;

/// A module that counts its calls, and computes for ever or until it is released.
const COUNTER: &str = r#"
import { existsSync } from "node:fs";
const text = (value) => ({ content: [{ type: "text", text: String(value) }] });
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({}), execute });
let calls = 0;
export default (pi) => [
  tool(pi, "NAME_count", () => text(++calls)),
  tool(pi, "NAME_session", (_id, _params, _onUpdate, ctx) =>
    text(`${ctx.sessionId} ${ctx.sessionManager.getBranch().length}`)),
  tool(pi, "NAME_compute", (_id, _params, onUpdate) => { onUpdate(text("computing")); for (;;); }),
  tool(pi, "NAME_until_released", (_id, _params, onUpdate) => {
    onUpdate(text("computing"));
    while (!existsSync("DIR/released"));
  }),
  tool(pi, "NAME_is_released", () => text(existsSync("DIR/released"))),
];
"#;

struct Fixture {
    host: Host,
    dir: TempDir,
}

impl Fixture {
    /// A host with a module for each name.
    fn with(names: &[&str]) -> Fixture {
        let dir = tempfile::tempdir().expect("the temporary directory can be written");
        for name in names {
            let module = COUNTER.replace("NAME", name);
            let module = module.replace("DIR", &dir.path().display().to_string());
            let path = dir.path().join(format!("{name}.js"));
            std::fs::write(path, module).expect("a directory of ours");
        }
        let host = Host::new(config(dir.path(), names));
        Fixture { host, dir }
    }

    fn start(&self, tool: &str) -> RunningCall {
        let call = Call {
            id: tool.to_owned(),
            tool: tool.to_owned(),
            arguments: RawValue::from_string("{}".into()).expect("JSON"),
        };
        self.host.call(call, None)
    }

    async fn text(&self, tool: &str) -> String {
        self.start(tool).outcome().await.expect("it runs").text()
    }

    /// Starts a call that never ends by itself, and waits until it computes.
    async fn compute(&self, tool: &str) -> RunningCall {
        let mut running = self.start(tool);
        loop {
            match running.next_event().await {
                Event::Started => {}
                Event::Update(_) => return running,
                Event::Finished(_) => panic!("{tool} ended without an update"),
            }
        }
    }
}

fn config(dir: &Path, names: &[&str]) -> Config {
    let env = Env {
        current_dir: Some(dir.to_owned()),
        home: Some(dir.join("home")),
        ..Env::default()
    };
    let tools = names.iter().map(|name| dir.join(format!("{name}.js")));
    let flags = Flags {
        tools: tools.map(|path| path.display().to_string()).collect(),
        ..Flags::default()
    };
    let mut config = crate::sandbox::resolve(flags, &env).expect("this is a fine configuration");
    // Nothing here may end because of another timeout.
    config.limits.grace = std::time::Duration::from_secs(60);
    config
}

/// Modules of one party share the state of one program, so they run one after another.
#[tokio::test(flavor = "multi_thread")]
async fn a_busy_module_delays_another_until_it_ends() {
    let fixture = Fixture::with(&["one", "two"]);
    let mut computing = fixture.start("one_until_released");
    while !matches!(computing.next_event().await, Event::Update(_)) {}
    let mut waiting = Box::pin(fixture.text("two_is_released"));
    // Polled once, the call is requested.
    assert!(futures::poll!(&mut waiting).is_pending());
    std::fs::write(fixture.dir.path().join("released"), "").expect("a directory of ours");
    assert_eq!(waiting.await, "true");
    computing.outcome().await.expect("it ends by itself");
    fixture.host.shutdown().await;
}

/// A call that JavaScript has not seen is not lost with the worker process of a call that is killed.
#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_waits_for_a_killed_one_runs_in_the_next_worker() {
    let fixture = Fixture::with(&["one", "two"]);
    assert_eq!(fixture.text("two_count").await, "1");
    let computing = fixture.compute("one_compute").await;
    let mut waiting = Box::pin(fixture.text("two_count"));
    assert!(futures::poll!(&mut waiting).is_pending());
    computing.cancellation().kill();
    assert!(
        computing
            .outcome()
            .await
            .expect("it is an outcome")
            .is_error
    );
    // The state of the module was lost with the worker.
    assert_eq!(waiting.await, "1");
    fixture.host.shutdown().await;
}

/// A tool sees the caller's session, also in a worker process that replaces another one.
#[tokio::test(flavor = "multi_thread")]
async fn all_isolates_know_the_same_session() {
    let fixture = Fixture::with(&["one", "two"]);
    let event = r#"{"event":{"reason":"start"},"branch":[{"id":"a"},{"id":"b"}]}"#;
    let event = RawValue::from_string(event.into()).expect("JSON");
    fixture.host.session_event(&event).await;
    let here = fixture.text("one_session").await;
    assert!(here.ends_with(" 2"), "{here}");
    let computing = fixture.compute("one_compute").await;
    computing.cancellation().kill();
    assert!(
        computing
            .outcome()
            .await
            .expect("it is an outcome")
            .is_error
    );
    assert_eq!(fixture.text("two_session").await, here);
    fixture.host.shutdown().await;
}
