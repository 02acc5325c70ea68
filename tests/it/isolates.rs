//! Modules over several isolates: a busy module does not block the others, and the state of a
//! module never exists twice.
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
HELPER
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
    /// A host with a module for each name; `helper` is a line of all of them but of `free`.
    fn with(names: &[&str], helper: &str, isolates: u32) -> Fixture {
        let dir = tempfile::tempdir().expect("the temporary directory can be written");
        for name in names {
            let helper = if *name == "free" { "" } else { helper };
            let module = COUNTER.replace("NAME", name).replace("HELPER", helper);
            let module = module.replace("DIR", &dir.path().display().to_string());
            let path = dir.path().join(format!("{name}.js"));
            std::fs::write(path, module).expect("a directory of ours");
        }
        std::fs::write(dir.path().join("helper.js"), "export const shared = {};\n")
            .expect("a directory of ours");
        let host = Host::new(config(dir.path(), names, isolates));
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

fn config(dir: &Path, names: &[&str], isolates: u32) -> Config {
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
    config.limits.isolates = isolates;
    // Nothing here may end because of another timeout.
    config.limits.grace = std::time::Duration::from_secs(60);
    config
}

/// Issue 3, 8: a busy module does not keep another from answering.
#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_was_never_called_gets_out_of_the_way() {
    let fixture = Fixture::with(&["one", "two"], "", 2);
    let computing = fixture.compute("one_compute").await;
    assert_eq!(fixture.text("two_count").await, "1");
    // A migrated module stays in its new isolate.
    assert_eq!(fixture.text("two_count").await, "2");
    fixture.host.kill().await;
    assert!(computing.outcome().await.is_err());
}

/// A tool sees the caller's session in every isolate.
#[tokio::test(flavor = "multi_thread")]
async fn all_isolates_know_the_same_session() {
    let fixture = Fixture::with(&["one", "two"], "", 2);
    let event = r#"{"event":{"reason":"start"},"branch":[{"id":"a"},{"id":"b"}]}"#;
    let event = RawValue::from_string(event.into()).expect("JSON");
    fixture.host.session_event(&event).await;
    let here = fixture.text("one_session").await;
    assert!(here.ends_with(" 2"), "{here}");
    let computing = fixture.compute("one_compute").await;
    assert_eq!(fixture.text("two_session").await, here);
    fixture.host.kill().await;
    assert!(computing.outcome().await.is_err());
}

/// Both compute at once, and a third one is answered only when an isolate becomes free.
#[tokio::test(flavor = "multi_thread")]
async fn there_are_as_many_isolates_as_were_allowed() {
    let fixture = Fixture::with(&["one", "two", "three"], "", 3);
    let one = fixture.compute("one_compute").await;
    let two = fixture.compute("two_compute").await;
    assert_eq!(fixture.text("three_count").await, "1");
    fixture.host.kill().await;
    assert!(one.outcome().await.is_err() && two.outcome().await.is_err());
}

/// A called module has state, so it waits instead of starting anew in another isolate.
#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_was_called_waits_for_its_isolate() {
    let fixture = Fixture::with(&["one", "two", "free"], "", 3);
    assert_eq!(fixture.text("two_count").await, "1");
    waits(&fixture, &fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_shares_a_file_waits_for_its_isolate() {
    let fixture = Fixture::with(&["one", "two", "free"], "import \"./helper.js\";", 3);
    waits(&fixture, &fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_module_that_touches_what_all_share_waits_for_its_isolate() {
    let fixture = Fixture::with(&["one", "two", "free"], "globalThis.here ??= 0;", 3);
    waits(&fixture, &fixture).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_change_of_the_environment_every_module_waits() {
    let fixture = Fixture::with(&["one", "two"], "process.env.HERE = \"1\";", 3);
    waits(&fixture, &Fixture::with(&["one", "free"], "", 2)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn with_one_isolate_every_module_waits() {
    let fixture = Fixture::with(&["one", "two"], "", 1);
    waits(&fixture, &Fixture::with(&["one", "free"], "", 2)).await;
}

/// The second module of `fixture` runs only when the first has stopped computing. Meanwhile a module of
/// `other` that was requested later has migrated, so there was time to do so.
async fn waits(fixture: &Fixture, other: &Fixture) {
    let mut computing = fixture.start("one_until_released");
    while !matches!(computing.next_event().await, Event::Update(_)) {}
    let mut waiting = Box::pin(fixture.text("two_is_released"));
    // Polled once, the call is requested.
    assert!(futures::poll!(&mut waiting).is_pending());
    let blocked = if std::ptr::eq(fixture, other) {
        None
    } else {
        Some(other.compute("one_compute").await)
    };
    assert_eq!(other.text("free_count").await, "1");
    std::fs::write(fixture.dir.path().join("released"), "").expect("a directory of ours");
    assert_eq!(waiting.await, "true");
    computing.outcome().await.expect("it ends by itself");
    if blocked.is_some() {
        other.host.kill().await;
    }
}
