//! Failures in the embedder's own parts: the call gets an error, and no panic unwinds into the
//! host.

use std::sync::Arc;

use async_trait::async_trait;
use haft::approval::{ApprovalMode, ApprovalRequest, Approver, Decision};
use haft::config::Env;
use haft::render::{RenderOptions, Screen, TerminalText, safe_lines};
use haft::session::{Models, SessionProvider, SessionView};
use haft::ui::{
    Answer, InputEvent, NotificationFrom, Question, UserInterface, Widget, WidgetSurface,
};
use haft::{Call, Host};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value ?? null) }] });
const tool = (name, execute, more) => ({ name, description: name, parameters: { type: "object" }, execute, ...more });

export default (pi) => [
  tool("ui", async () => {
    pi.ui.notify("look");
    return says([
      pi.hasUI, pi.ui.getEditorText(), await pi.ui.input("Name?") ?? null,
      await pi.ui.custom(() => ({ render: () => ["there"] })) ?? null,
    ]);
  }),
  tool("branch", (_id, _params, _onUpdate, ctx) => says(ctx.sessionManager.getBranch().length)),
  tool("idle", (_id, _params, _onUpdate, ctx) => says(ctx.isIdle())),
  tool("abort", (_id, _params, _onUpdate, ctx) => { ctx.abort(); return says("aborted"); }),
  tool("careful", (_id, _params, _onUpdate, ctx) => { try { ctx.model; } catch (error) { return says(error.message); } }),
  tool("models", (_id, _params, _onUpdate, ctx) => says([ctx.model?.id, ctx.modelRegistry.getAll().map((model) => model.id)])),
  tool("drawn", () => says(1), { renderCall() { throw new Error("no ink"); }, renderResult() { return { render() { throw new Error("no paper"); } }; } }),
  tool("counter", async () => says(await pi.ui.custom((tui, theme, keys, done) => {
    let count = 0;
    return {
      render: (width) => [`${count} in ${width}`, "\x1b[2Jwide ".repeat(20)],
      handleInput: (data) => data === "+" ? count++ : done({ count }),
    };
  }))),
  tool("endless", async (_id, _params, _onUpdate, _ctx, signal) => {
    const value = await pi.ui.custom(() => ({ render: () => ["there"] }));
    return says([value ?? null, signal.aborted]);
  }),
  tool("fine", () => says("fine")),
];
"#;

struct Fixture {
    _sandbox: Sandbox,
    host: Host,
}

fn fixture(mode: ApprovalMode) -> Fixture {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let host = sandbox.host(|config| {
        config.configured_paths.push("tools.ts".into());
        config.approval.mode = mode;
    });
    Fixture {
        _sandbox: sandbox,
        host,
    }
}

fn env(sandbox: &Sandbox) -> Env {
    Env {
        current_dir: Some(sandbox.path()),
        home: Some(sandbox.path().join("home")),
        ..Env::default()
    }
}

fn call(tool: &str) -> Call {
    Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string("{}".into()).expect("it is JSON"),
    }
}

/// The text of the result, and whether it is an error.
async fn said(host: &Host, tool: &str) -> (String, bool) {
    let outcome = host.call(call(tool), None).outcome().await;
    let outcome = outcome.expect("it runs");
    (outcome.text(), outcome.is_error)
}

fn is(text: &str) -> (String, bool) {
    (text.to_owned(), false)
}

/// Panics in the function that is named.
struct Broken(&'static str);

impl Broken {
    fn in_function(&self, name: &str) {
        assert_ne!(self.0, name, "out of order");
    }
}

#[async_trait]
impl UserInterface for Broken {
    fn has_user(&self) -> bool {
        self.in_function("has_user");
        true
    }

    async fn ask(&self, _question: Question) -> Answer {
        self.in_function("ask");
        Answer::Text("Ada".into())
    }

    fn tell(&self, _notice: NotificationFrom) {
        self.in_function("tell");
    }

    fn editor_text(&self) -> String {
        self.in_function("editor_text");
        "draft".into()
    }

    fn canvas(&self) -> Option<WidgetSurface> {
        self.in_function("canvas");
        Some(canvas())
    }

    async fn show(&self, _widget: Widget) {
        self.in_function("show");
    }
}

fn canvas() -> WidgetSurface {
    WidgetSurface {
        columns: 20,
        rows: 5,
        screen: Screen::PLAIN,
    }
}

#[tokio::test]
async fn a_user_interface_that_panics_counts_as_no_user() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::Yolo);
    let all = r#"[true,"draft","Ada",null]"#;
    for (function, expected) in [
        ("nothing", all),
        ("has_user", r#"[false,"",null,null]"#),
        ("tell", all),
        ("editor_text", r#"[true,"","Ada",null]"#),
        ("ask", r#"[true,"draft",null,null]"#),
        ("canvas", all),
        ("show", all),
    ] {
        let broken = Arc::new(Broken(function));
        let with = host.with_ui(broken.clone());
        assert_eq!(said(&with, "ui").await, is(expected), "{function}");
        // The default user interface is asked on the tool's own thread, too.
        host.set_default_ui(Some(broken));
        assert_eq!(said(&host, "ui").await, is(expected), "{function}");
    }
    assert_eq!(said(&host, "fine").await, is("\"fine\""));
    host.shutdown().await;
}

struct NoSession;

impl SessionProvider for NoSession {
    fn view(&self) -> Arc<SessionView> {
        panic!("the disk is gone")
    }

    fn is_idle(&self) -> bool {
        panic!("who knows")
    }

    fn abort(&self) {
        panic!("not now")
    }
}

#[tokio::test]
async fn a_session_provider_that_panics_fails_the_call_that_looks() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::Yolo);
    host.set_session(Some(Arc::new(NoSession)));
    for (tool, why) in [
        ("branch", "the disk is gone"),
        ("idle", "who knows"),
        ("abort", "not now"),
    ] {
        let text = format!("the session provider failed: it panicked: {why}");
        assert_eq!(said(&host, tool).await, (text, true), "{tool}");
    }
    let text = "\"the session provider failed: it panicked: the disk is gone\"";
    assert_eq!(said(&host, "careful").await, is(text));
    assert_eq!(said(&host, "fine").await, is("\"fine\""));
    host.shutdown().await;
}

struct BrokenApprover;

#[async_trait]
impl Approver for BrokenApprover {
    async fn ask(&self, _request: ApprovalRequest) -> Decision {
        panic!("no pen")
    }
}

#[tokio::test]
async fn an_approver_that_panics_fails_the_call() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::AlwaysAsk);
    let asking = host.asking(Arc::new(BrokenApprover));
    let refused = asking.call(call("fine"), None).outcome().await;
    refused.expect_err("it was not approved");
    host.shutdown().await;
}

#[tokio::test]
async fn a_renderer_that_throws_leaves_the_drawing_to_the_host() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::Yolo);
    let look = RenderOptions::plain(40);
    let drawn = host.render_call(&call("drawn"), &look).await;
    let drawn = drawn.expect("there is such a tool");
    let problem = drawn.problem.expect("it failed");
    assert_eq!(problem.message, "`renderCall` of `drawn` failed: no ink");
    assert!(!drawn.is_own && !drawn.lines.is_empty());

    let result = RawValue::from_string(r#"{"content":[{"type":"text","text":"1"}]}"#.into());
    let result = result.expect("it is JSON");
    let drawn = host.render_result(&call("drawn"), &result, &look).await;
    let drawn = drawn.expect("there is such a tool");
    let problem = drawn.problem.expect("it failed");
    assert_eq!(
        problem.message,
        "`renderResult` of `drawn` failed: no paper"
    );
    assert_eq!(drawn.lines, ["1"]);
    host.shutdown().await;
}

/// A surface that shows one component, presses keys, and sends the lines that it sees.
struct Stage(mpsc::UnboundedSender<Vec<String>>);

#[async_trait]
impl UserInterface for Stage {
    async fn ask(&self, _question: Question) -> Answer {
        Answer::Dismissed
    }

    fn canvas(&self) -> Option<WidgetSurface> {
        Some(canvas())
    }

    async fn show(&self, mut widget: Widget) {
        assert_eq!(widget.from.call_id.as_deref(), Some("c"));
        widget.touch(InputEvent::Size {
            columns: 20,
            rows: 5,
        });
        let mut keys = ["+", "q"].into_iter();
        while let Some(painted) = widget.painted().await {
            let lines = safe_lines(&painted, 20, &Screen::PLAIN);
            let _ = self
                .0
                .send(lines.into_iter().map(TerminalText::into_string).collect());
            if let Some(key) = keys.next() {
                let data = key.into();
                widget.touch(InputEvent::Key { data });
            }
        }
    }
}

#[tokio::test]
async fn a_component_is_shown_by_the_program_around() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::Yolo);
    let (stage, mut seen) = mpsc::unbounded_channel();
    let with = host.with_ui(Arc::new(Stage(stage)));
    assert_eq!(said(&with, "counter").await, is(r#"{"count":1}"#));
    let wide = "wide wide wide wide ";
    for expected in [["0 in 20", wide], ["1 in 20", wide]] {
        assert_eq!(seen.recv().await.expect("it was shown"), expected);
    }

    let running = with.call(call("endless"), None);
    let cancel = running.cancellation();
    let ended = tokio::spawn(running.outcome());
    assert_eq!(seen.recv().await.expect("it is shown"), ["there"]);
    cancel.cancel();
    let outcome = ended.await.expect("no panic").expect("it runs");
    assert_eq!(outcome.text(), "[null,true]");
    // Without a screen the component is never made.
    assert_eq!(said(&host, "counter").await, is("null"));
    host.shutdown().await;
}

#[tokio::test]
async fn models_are_those_of_the_session_or_of_the_program() {
    let Fixture { _sandbox, host } = fixture(ApprovalMode::Yolo);
    assert_eq!(said(&host, "models").await, is("[null,[]]"));
    let model = |id: &str| json!({"provider": "p", "id": id});
    host.set_models(Models {
        current: Some(model("small")),
        available: vec![model("small"), model("big")],
    });
    let expected = is(r#"["small",["small","big"]]"#);
    assert_eq!(said(&host, "models").await, expected);
    assert_eq!(said(&host, "models").await, expected);

    struct Fixed(Arc<SessionView>);
    impl SessionProvider for Fixed {
        fn view(&self) -> Arc<SessionView> {
            self.0.clone()
        }
    }
    let view = SessionView {
        model: Some(model("own")),
        ..SessionView::default()
    };
    host.set_session(Some(Arc::new(Fixed(Arc::new(view)))));
    let expected = is(r#"["own",["small","big"]]"#);
    assert_eq!(said(&host, "models").await, expected);
    host.set_models(Models::default());
    assert_eq!(said(&host, "models").await, is(r#"["own",[]]"#));
    host.shutdown().await;
}

#[tokio::test]
async fn named_modules_are_loaded_with_the_source_that_is_given() {
    let sandbox = Sandbox::with_home();
    let module = |name: &str| {
        format!(
            "export default () => ({{ name: \"{name}\", description: \"\", parameters: {{ type: \"object\" }}, execute() {{}} }});"
        )
    };
    sandbox.write("one.ts", &module("one"));
    sandbox.write("two.ts", &module("two"));
    sandbox.write("bash.ts", &module("bash"));
    sandbox.write("notes.md", "# no tool");
    sandbox.write(".omp/tools/unasked.ts", &module("unasked"));
    let given: Vec<haft::compat::omp::ToolPath> = serde_json::from_value(json!([
        {"path": "two.ts", "source": {"provider": "mine", "providerName": "Mine", "level": "user"}},
        {"path": "one.ts"},
        {"path": "bash.ts"},
        {"path": "notes.md", "source": {"provider": "mine", "providerName": "Mine", "level": "user"}},
    ]))
    .expect("it is as the original has it");
    let root = sandbox.path();
    let builder = Host::builder()
        .env(env(&sandbox))
        .built_in_tool_names(["bash"]);
    let loaded = builder.load_custom_tools_at(given).await;
    let loaded = loaded.expect("there is such a folder");
    let tools = serde_json::to_value(&loaded.tools).expect("it is data");
    let tool = |name: &str| json!({"name": name, "label": name, "description": "", "parameters": {"type": "object"}, "hidden": false, "approval": "exec"});
    let mine = json!({"provider": "mine", "providerName": "Mine", "level": "user"});
    let expected = json!([
        {"path": "two.ts", "resolvedPath": root.join("two.ts"), "tool": tool("two"), "source": mine},
        {"path": "one.ts", "resolvedPath": root.join("one.ts"), "tool": tool("one")},
    ]);
    assert_eq!(tools, expected);
    let mut errors = serde_json::to_value(&loaded.errors).expect("it is data");
    for error in errors.as_array_mut().expect("a list") {
        error.as_object_mut().expect("an object").remove("hint");
    }
    let declarative = "Declarative tool files (.md, .json) cannot be loaded as executable modules";
    let expected: Value = json!([
        {"path": "bash.ts", "error": "Tool name \"bash\" conflicts with existing tool"},
        {"path": "notes.md", "error": declarative, "source": mine},
    ]);
    assert_eq!(errors, expected);
    loaded.host().shutdown().await;
}
