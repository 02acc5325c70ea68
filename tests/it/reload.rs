//! What changes on disk while a host runs: what is loaded again, what stays, who is told.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use haft::{Call, CatalogChange, Config, Env, Flags, Host, Outcome, RunningCall};
use serde_json::value::RawValue;

use crate::sandbox::Sandbox;

const USER: &str = "home/.omp/agent/tools";

/// A module with one tool that answers `text` and how often it was called.
fn module(name: &str, text: &str) -> String {
    format!(
        "let calls = 0;\nexport default () => ({{ name: '{name}', description: 'd', \
         parameters: {{ type: 'object' }}, execute: async () => ({{ content: [{{ type: 'text', \
         text: '{text} ' + ++calls }}] }}) }});\n"
    )
}

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
        let root = sandbox.path();
        let env = Env {
            current_dir: Some(root.clone()),
            home: Some(root.join("home")),
            ..Env::default()
        };
        let mut config = Config::resolve_with(Flags::default(), &env).expect("a configuration");
        change(&mut config);
        Fixture {
            host: Host::new(config),
            sandbox,
        }
    }

    fn tool(&self, name: &str, text: &str) -> PathBuf {
        self.sandbox
            .write(&format!("{USER}/{name}.ts"), &module(name, text))
    }

    fn start(&self, tool: &str) -> RunningCall {
        let call = Call {
            id: "c".into(),
            tool: tool.into(),
            arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
        };
        self.host.call(call, None)
    }

    async fn outcome(&self, tool: &str) -> Outcome {
        self.start(tool).outcome().await.expect("it runs")
    }

    async fn text(&self, tool: &str) -> String {
        self.outcome(tool).await.text()
    }
}

fn names(change: &CatalogChange) -> (u64, Vec<&str>, Vec<&str>, Vec<&str>) {
    fn short(names: &[String]) -> Vec<&str> {
        names.iter().map(String::as_str).collect()
    }
    let CatalogChange {
        generation,
        added,
        removed,
        changed,
    } = change;
    (*generation, short(added), short(removed), short(changed))
}

// ---- Who is told.

#[tokio::test]
async fn what_callers_see_is_told_once() {
    let fixture = Fixture::new();
    fixture.tool("stays", "1");
    let goes = fixture.tool("goes", "1");
    let mut changes = fixture.host.changes();
    fixture.host.catalog().await;
    assert!(
        !changes.has_changed().expect("the host is there"),
        "the first look is no change"
    );
    fixture.sandbox.write("given.ts", &module("given", "1"));
    fixture.host.load_paths(&["given.ts".into()]).await;
    let first: Arc<CatalogChange> = changes.borrow_and_update().clone();
    assert_eq!(names(&first), (1, vec!["given"], vec![], vec![]));
    fs::remove_file(goes).expect("ours");
    fixture.tool("comes", "1");
    fixture.host.refresh().await;
    let second = changes.borrow_and_update().clone();
    assert_eq!(names(&second), (2, vec!["comes"], vec!["goes"], vec![]));
    fixture.host.refresh().await;
    assert!(
        !changes.has_changed().expect("the host is there"),
        "nothing is different"
    );
    assert_eq!(fixture.text("comes").await, "1 1");
}
