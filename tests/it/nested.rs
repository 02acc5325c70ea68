//! Calls that tools make of other tools (`ctx.executeTool` of pi): their end, their questions, their
//! place in the log, and what a tool cannot reach by them.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use haft::approval::{ApprovalMode, ApprovalRequest, Approver, Decision};
use haft::call::Stopped;
use haft::config::{Env, Isolation};
use haft::{Call, CustomTool, Event, Host, HostBuilder, Invocation, Tier};
use serde_json::json;
use tokio::sync::mpsc;

use crate::sandbox::Sandbox;

/// An extension of pi that calls the tool that it is told to call.
const RELAY: &str = r#"
import { Type } from "typebox";
export default (pi) => {
  const relay = (name, more) => pi.registerTool({
    name, label: name, description: name, parameters: Type.Object({ tool: Type.String(), times: Type.Optional(Type.Number()) }),
    ...more,
    async execute(_id, { tool, times = 1 }, signal, onUpdate, ctx) {
      const calls = Array.from({ length: times }, (_, n) => ctx.executeTool(tool, { n }, { onUpdate }));
      const texts = (await Promise.allSettled(calls)).map(({ value, reason }) => value?.content[0].text ?? reason.message);
      return { content: [{ type: "text", text: [...new Set(texts)].join() }], details: { aborted: signal.aborted } };
    },
  });
  relay("relay");
  relay("quiet", { annotations: { readOnlyHint: true } });
};
"#;

fn builder(sandbox: &Sandbox) -> HostBuilder {
    let env = Env {
        current_dir: Some(sandbox.path()),
        home: Some(sandbox.path().join("home")),
        ..Env::default()
    };
    let module = sandbox.write("relay.ts", RELAY);
    Host::builder()
        .env(env)
        .without_discovery()
        .paths([module.display().to_string()])
}

fn tool(name: &str, tier: Tier) -> CustomTool {
    let said = format!("{name} ran");
    CustomTool::new(name, name, move |_: serde_json::Value, _: Invocation| {
        let said = said.clone();
        async move { Ok::<_, String>(said) }
    })
    .parameters(json!({"type": "object"}))
    .approval(tier)
}

fn relay(name: &str, tool: &str, times: u32) -> Call {
    Call::new(name, json!({"tool": tool, "times": times}))
}

async fn text(host: &Host, call: Call) -> String {
    host.call(call, None)
        .outcome()
        .await
        .expect("it runs")
        .text()
}

/// Approves everything, and keeps what it was asked.
#[derive(Default)]
struct Approves(Mutex<Vec<ApprovalRequest>>);

#[async_trait]
impl Approver for Approves {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        self.0.lock().expect("not poisoned").push(request);
        Decision::Approved
    }
}

#[tokio::test]
async fn the_calls_of_a_tool_end_with_its_own_call() {
    let sandbox = Sandbox::with_home();
    let (started, mut starts) = mpsc::unbounded_channel();
    let (ended, mut ends) = mpsc::unbounded_channel();
    let waits = CustomTool::new(
        "waits",
        "Waits until it is cancelled",
        move |_: serde_json::Value, call: Invocation| {
            let (started, ended) = (started.clone(), ended.clone());
            async move {
                call.update("waiting");
                let _ = started.send(call.call_id().to_owned());
                call.cancelled().await;
                let _ = ended.send(());
                Ok::<_, String>("cancelled")
            }
        },
    );
    let waits = waits
        .parameters(json!({"type": "object"}))
        .approval(Tier::Read);
    let host = builder(&sandbox).tool(waits).build().expect("a host");
    let mut running = host.call(relay("relay", "waits", 2).with_id("outer"), None);
    let mut ids = [starts.recv().await, starts.recv().await].map(Option::unwrap_or_default);
    ids.sort();
    assert_eq!(ids, ["outer.1", "outer.2"]);
    while !matches!(running.next_event().await, Event::Update(_)) {}
    running.cancellation().cancel();
    let outcome = running.outcome().await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!([ends.recv().await, ends.recv().await], [Some(()), Some(())]);
    host.shutdown().await;
    assert_eq!(host.abort_all(), 0);
}

#[tokio::test]
async fn reads_run_and_the_user_is_asked_about_the_rest() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox)
        .tool(tool("look", Tier::Read))
        .tool(tool("change", Tier::Write))
        .build()
        .expect("a host");
    assert_eq!(text(&host, relay("relay", "look", 3)).await, "look ran");
    let refused = text(&host, relay("relay", "change", 1)).await;
    assert!(refused.contains("requires approval"), "{refused}");

    let approves = Arc::new(Approves::default());
    let asking = host.asking(approves.clone());
    let call = relay("relay", "change", 2).with_id("outer");
    assert_eq!(text(&asking, call).await, "change ran");
    let asked = std::mem::take(&mut *approves.0.lock().expect("not poisoned"));
    assert_eq!(asked.len(), 2);
    for request in asked {
        assert_eq!(
            (request.call_id.as_str(), request.tool.as_str()),
            ("outer", "change")
        );
        assert_eq!(request.caller.as_deref(), Some("relay"));
        let text = request.to_text();
        assert!(
            text.contains("\nCalled by the tool: relay\n"),
            "{}",
            text.as_str()
        );
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_tool_does_nothing_through_others_that_it_may_not_do_itself() {
    for isolation in [Isolation::Process, Isolation::Sandbox] {
        let sandbox = Sandbox::with_home();
        sandbox.write(
            "home/.config/haft/config.yaml",
            &format!(
                "isolation: {}\npermissions: {{write: none}}\n",
                isolation.as_str()
            ),
        );
        // The tools of the program have all rights.
        let host = builder(&sandbox)
            .tool(tool("look", Tier::Read))
            .tool(tool("change", Tier::Exec))
            .approval_mode(ApprovalMode::Yolo)
            .build()
            .expect("a host");
        let approves = Arc::new(Approves::default());
        for (caller, called) in [("relay", "look"), ("relay", "change"), ("quiet", "change")] {
            let refused = text(&host, relay(caller, called, 1)).await;
            assert!(
                refused.contains("requires approval"),
                "{isolation:?}: {refused}"
            );
            let asking = host.asking(approves.clone());
            let ran = text(&asking, relay(caller, called, 2)).await;
            assert_eq!(ran, format!("{called} ran"), "{isolation:?}");
        }
        // About each call, whatever the mode is.
        assert_eq!(approves.0.lock().expect("not poisoned").len(), 6);
        host.shutdown().await;
    }
}

#[tokio::test]
async fn the_calls_of_a_call_are_counted() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox)
        .tool(tool("look", Tier::Read))
        .build()
        .expect("a host");
    assert_eq!(text(&host, relay("relay", "look", 256)).await, "look ran");
    assert_eq!(
        text(&host, relay("relay", "look", 257)).await,
        "look ran,a call may make 256 calls, and this is one more"
    );
    host.shutdown().await;
}
