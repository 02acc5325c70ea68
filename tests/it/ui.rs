//! `pi.ui` over a host with several users at once (`docs/ui.md`, spec omp 5.2).
//!
//! The users are scripted; real surfaces have tests of their own.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use haft::approval::ApprovalMode;
use haft::call::Stopped;
use haft::config::Env;
use haft::ui::{Answer, MAX_QUESTIONS, NotificationFrom, Prompt, Question, UserInterface};
use haft::{Call, Config, ErrorKind, Flags, Host, RunningCall};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::sync::{mpsc, watch};

use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
import { AsyncLocalStorage } from "node:async_hooks";
import { EventEmitter } from "node:events";
import { spawn } from "node:child_process";

const says = (value) => ({ content: [{ type: "text", text: typeof value === "string" ? value : `${JSON.stringify(value)}` }] });
const tool = (name, execute, more) => ({ name, description: name, parameters: { type: "object" }, execute, ...more });
const bus = new EventEmitter();

export default (pi) => {
  bus.on("ask", async (done) => done(await pi.ui.input("bus")));
  const ways = {
    direct: () => pi.ui.input("direct"),
    context: (ctx) => ctx.ui.input("context"),
    timer: () => new Promise((done) => setTimeout(async () => done(await pi.ui.input("timer")), 1)),
    microtask: () => Promise.resolve().then(() => pi.ui.input("microtask")),
    bus: () => new Promise((done) => bus.emit("ask", done)),
    storage: () => new AsyncLocalStorage().run(1, () => pi.ui.input("storage")),
    program: (ctx) => new Promise((done) => {
      const child = spawn("echo", ["out"]);
      child.stdout.on("data", async () => done(await ctx.ui.input("program")));
    }),
  };
  return [
    tool("whose", async (_id, { way }, _onUpdate, ctx) => says(await ways[way](ctx))),
    tool("all", async () => {
      const { ui } = pi;
      return says({
        hasUI: pi.hasUI,
        select: await ui.select("Which?", ["red", { label: "green", description: "like grass" }]),
        confirm: await ui.confirm("Sure?", "Really?"),
        input: await ui.input("Name?", "Ada"),
        editor: await ui.editor("Text", "first\nsecond"),
        notify: ui.notify("look", "warning"),
        status: ui.setStatus("key", "busy"),
        off: ui.setStatus("key", undefined),
        set: ui.setEditorText("draft"),
        get: ui.getEditorText(),
        theme: typeof ui.theme?.fg,
      });
    }),
    tool("nothing", async () => says({ none: await pi.ui.select("Which?", []), no: await pi.ui.confirm("Sure?", "") })),
    tool("signal", async () => {
      const stop = new AbortController();
      const asked = pi.ui.confirm("Sure?", "", { signal: stop.signal });
      const late = pi.ui.select("Late?", ["a"], { signal: stop.signal });
      await pi.ui.input("Both there?");
      stop.abort();
      return says({ confirmed: await asked, late: await late, after: await pi.ui.input("after", undefined, { signal: stop.signal }) });
    }),
    tool("timeout", async () => says({ answer: await pi.ui.input("Quick!", undefined, { timeout: 5 }) })),
    tool("floating", async () => { pi.ui.confirm("Still there?", ""); await pi.ui.input("Is it?"); return says("gone"); }),
    tool("many", async (_id, { count }) => {
      const asked = Array.from({ length: count }, (_, at) => pi.ui.confirm(`${at}`, ""));
      return says((await Promise.allSettled(asked)).map((one) => one.reason?.message ?? one.value));
    }),
    tool("cancelled", async (_id, _params, _onUpdate, _ctx, signal) => {
      const answer = await pi.ui.confirm("Go on?", "");
      return says({ answer, aborted: signal.aborted });
    }),
    tool("careful", async () => says("done"), {
      approval: () => ({ tier: "exec", reason: "touches production" }),
      formatApprovalDetails: () => ["target: web", "when: now"],
    }),
  ];
};
"#;

/// A user: the messages that were shown, and a function for the answers.
struct Person {
    said: watch::Sender<Vec<String>>,
    answers: fn(&Prompt) -> Option<Answer>,
    /// Receives the titles of withdrawn questions.
    withdrawn: mpsc::UnboundedSender<String>,
}

/// Returns the user, and the titles of the questions that were withdrawn.
fn person(
    answers: fn(&Prompt) -> Option<Answer>,
) -> (Arc<Person>, mpsc::UnboundedReceiver<String>) {
    let (withdrawn, titles) = mpsc::unbounded_channel();
    let person = Person {
        said: watch::Sender::default(),
        answers,
        withdrawn,
    };
    (Arc::new(person), titles)
}

impl Person {
    fn note(&self, line: String) {
        self.said.send_modify(|said| said.push(line));
    }

    fn said(&self) -> Vec<String> {
        self.said.borrow().clone()
    }

    /// Waits until the shown messages satisfy `is_so`.
    async fn has_said(&self, is_so: impl FnMut(&Vec<String>) -> bool) {
        let waited = self.said.subscribe().wait_for(is_so).await.map(drop);
        waited.expect("the person is here");
    }
}

fn title(asked: &Prompt) -> String {
    match asked {
        Prompt::Select { title, .. }
        | Prompt::Confirm { title, .. }
        | Prompt::Input { title, .. }
        | Prompt::Editor { title, .. } => title.clone(),
    }
}

#[async_trait]
impl UserInterface for Person {
    async fn ask(&self, question: Question) -> Answer {
        let from = &question.from;
        let call = from.call_id.as_deref().unwrap_or("-");
        self.note(format!("{call} {}: {:?}", from.tool, question.what));
        match (self.answers)(&question.what) {
            Some(answer) => answer,
            None => {
                let (token, sender) = (question.withdrawn.clone(), self.withdrawn.clone());
                let title = title(&question.what);
                tokio::spawn(async move {
                    token.cancelled().await;
                    let _ = sender.send(title);
                });
                std::future::pending().await
            }
        }
    }

    fn tell(&self, notice: NotificationFrom) {
        self.note(format!("{}: {:?}", notice.from.tool, notice.what));
    }

    fn editor_text(&self) -> String {
        "half a sent".into()
    }
}

struct Fixture {
    _sandbox: Sandbox,
    host: Host,
}

fn fixture(change: impl FnOnce(&mut Flags)) -> Fixture {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let host = Host::new(config(&sandbox.path(), change));
    Fixture {
        _sandbox: sandbox,
        host,
    }
}

fn config(root: &Path, change: impl FnOnce(&mut Flags)) -> Config {
    let env = Env {
        current_dir: Some(root.to_owned()),
        home: Some(root.join("home")),
        ..Env::default()
    };
    let mut flags = Flags {
        tools: vec!["tools.ts".into()],
        ..Flags::default()
    };
    change(&mut flags);
    crate::sandbox::resolve(flags, &env).expect("a configuration")
}

fn call(host: &Host, id: &str, tool: &str, arguments: Value) -> RunningCall {
    let call = Call {
        id: id.into(),
        tool: tool.into(),
        arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
    };
    host.call(call, None)
}

async fn text(host: &Host, tool: &str, arguments: Value) -> String {
    let outcome = call(host, "c", tool, arguments).outcome().await;
    outcome.expect("it runs").text()
}

/// Makes a user who writes their name into every line.
macro_rules! named {
    ($name:literal) => {
        person(|asked| {
            let Prompt::Input { title, .. } = asked else {
                return Some(Answer::Dismissed);
            };
            Some(Answer::Text(format!("{} of {title}", $name)))
        })
    };
}

#[tokio::test(flavor = "multi_thread")]
async fn each_handle_has_its_own_user_however_the_tool_gets_to_pi_ui() {
    let fixture = fixture(|_| {});
    let ((ada, _), (bob, _)) = (named!("Ada"), named!("Bob"));
    let hosts = [
        ("Ada", fixture.host.with_ui(ada)),
        ("Bob", fixture.host.with_ui(bob)),
    ];
    let ways = [
        "direct",
        "context",
        "timer",
        "microtask",
        "bus",
        "storage",
        "program",
    ];
    let mut running = Vec::new();
    for way in ways {
        for (name, host) in &hosts {
            let call = call(
                host,
                &format!("{way}-{name}"),
                "whose",
                json!({ "way": way }),
            );
            running.push((format!("{name} of {way}"), call));
        }
    }
    for (expected, call) in running {
        let text = call.outcome().await.expect("it runs").text();
        assert_eq!(text, expected);
    }
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn every_question_and_notice_reaches_the_user_with_the_call_that_asks() {
    let fixture = fixture(|_| {});
    let (ada, _) = person(|asked| {
        Some(match asked {
            Prompt::Select { options, .. } => Answer::Text(options[1].clone()),
            Prompt::Confirm { .. } => Answer::Yes,
            Prompt::Input { .. } => Answer::Text("Ada".into()),
            Prompt::Editor { prefill, .. } => {
                Answer::Text(prefill.clone().unwrap_or_default().replace("first", "one"))
            }
        })
    });
    let host = fixture.host.with_ui(ada.clone());
    let said: Value = serde_json::from_str(&text(&host, "all", json!({})).await).expect("JSON");
    let expected = json!({
        "hasUI": true, "select": "green", "confirm": true, "input": "Ada",
        "editor": "one\nsecond", "get": "half a sent", "theme": "function",
    });
    assert_eq!(said, expected);
    let expected = [
        r#"c all: Select { title: "Which?", options: ["red", "green"] }"#,
        r#"c all: Confirm { title: "Sure?", message: "Really?" }"#,
        r#"c all: Input { title: "Name?", placeholder: Some("Ada") }"#,
        r#"c all: Editor { title: "Text", prefill: Some("first\nsecond") }"#,
        r#"all: Notify { message: "look", level: Warning }"#,
        r#"all: Status { key: "key", text: Some("busy") }"#,
        r#"all: Status { key: "key", text: None }"#,
        r#"all: EditorText { text: "draft" }"#,
    ];
    assert_eq!(ada.said(), expected);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn an_answer_that_was_not_offered_is_none() {
    let fixture = fixture(|_| {});
    let (eve, _) = person(|asked| {
        Some(match asked {
            Prompt::Select { .. } => Answer::Text("blue".into()),
            Prompt::Confirm { .. } => Answer::Text("yes".into()),
            Prompt::Input { .. } | Prompt::Editor { .. } => Answer::Yes,
        })
    });
    let host = fixture.host.with_ui(eve.clone());
    let said: Value = serde_json::from_str(&text(&host, "all", json!({})).await).expect("JSON");
    assert_eq!(
        said,
        json!({ "hasUI": true, "confirm": false, "get": "half a sent", "theme": "function" })
    );
    // A choice without options is not shown at all.
    let before = eve.said().len();
    let nothing = text(&host, "nothing", json!({})).await;
    assert_eq!(nothing, r#"{"no":false}"#);
    assert_eq!(eve.said().len(), before + 1);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_question_goes_when_its_signal_its_time_or_its_call_does() {
    let fixture = fixture(|_| {});
    let (silent, mut withdrawn) = person(|asked| match asked {
        Prompt::Input { title, .. } if title != "Quick!" => Some(Answer::Dismissed),
        _ => None,
    });
    let host = fixture.host.with_ui(silent.clone());
    assert_eq!(
        text(&host, "signal", json!({})).await,
        r#"{"confirmed":false}"#
    );
    let mut titles = [withdrawn.recv().await, withdrawn.recv().await];
    titles.sort();
    assert_eq!(titles, [Some("Late?".into()), Some("Sure?".into())]);
    // A signal that is already aborted shows no question.
    assert_eq!(silent.said().len(), 3);

    assert_eq!(text(&host, "timeout", json!({})).await, "{}");

    assert_eq!(text(&host, "floating", json!({})).await, "gone");
    while withdrawn.recv().await.as_deref() != Some("Still there?") {}

    let running = call(&host, "c", "cancelled", json!({}));
    let cancel = running.cancellation();
    let ended = tokio::spawn(running.outcome());
    silent
        .has_said(|said| said.iter().any(|line| line.contains("Go on?")))
        .await;
    cancel.cancel();
    let outcome = ended.await.expect("no panic").expect("it runs");
    assert_eq!(outcome.text(), r#"{"answer":false,"aborted":true}"#);
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!(withdrawn.recv().await.as_deref(), Some("Go on?"));
    fixture.host.shutdown().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_call_stands_still_while_its_user_thinks() {
    let fixture = fixture(|flags| flags.call_timeout = Some(Duration::from_secs(1)));
    let (slow, _) = person(|asked| {
        // Longer than the call's timeout; each of several questions at once.
        std::thread::sleep(Duration::from_millis(match title(asked).as_str() {
            "0" => 1300,
            _ => 1,
        }));
        Some(Answer::Yes)
    });
    let host = fixture.host.with_ui(slow);
    fixture.host.catalog().await;
    let running = call(&host, "c", "many", json!({ "count": 3 }));
    let outcome = running.outcome().await.expect("it runs");
    assert_eq!(
        (outcome.text().as_str(), outcome.stopped),
        ("[true,true,true]", None)
    );
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_call_cannot_flood_its_user() {
    let fixture = fixture(|_| {});
    let (silent, mut withdrawn) = person(|_| None);
    let host = fixture.host.with_ui(silent.clone());
    let count = MAX_QUESTIONS + 2;
    let running = call(&host, "c", "many", json!({ "count": count }));
    silent.has_said(|said| said.len() >= MAX_QUESTIONS).await;
    // Answered after the tool has asked everything: withdrawn questions make room.
    let asked = call(&host, "d", "many", json!({ "count": 0 })).outcome();
    assert_eq!(asked.await.expect("it runs").text(), "[]");
    running.cancellation().cancel();
    let text = running.outcome().await.expect("it runs").text();
    assert_eq!(text.matches("false").count(), MAX_QUESTIONS, "{text}");
    let refusal = "a call may have 16 open questions to the user; wait for an answer first";
    assert_eq!(text.matches(refusal).count(), 2, "{text}");
    for _ in 0..MAX_QUESTIONS {
        assert!(withdrawn.recv().await.is_some());
    }
    assert_eq!(silent.said().len(), MAX_QUESTIONS);
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_host_has_a_default_user_that_can_be_replaced() {
    let fixture = fixture(|_| {});
    let host = &fixture.host;
    let way = json!({ "way": "direct" });
    let whose = || async {
        let outcome = call(host, "c", "whose", json!({ "way": "direct" }))
            .outcome()
            .await;
        outcome.expect("it runs").text()
    };
    assert_eq!(whose().await, "undefined");
    let (ada, _) = named!("Ada");
    host.set_default_ui(Some(ada));
    assert_eq!(whose().await, "Ada of direct");
    let (bob, _) = named!("Bob");
    assert_eq!(
        text(&host.with_ui(bob), "whose", way).await,
        "Bob of direct"
    );
    host.set_default_ui(None);
    assert_eq!(whose().await, "undefined");
    host.shutdown().await;
}

#[tokio::test]
async fn approval_asks_the_user_if_there_is_no_approver() {
    let fixture = fixture(|flags| flags.approval_mode = Some(ApprovalMode::AlwaysAsk));
    let (ada, _) = person(|_| Some(Answer::Text("Approve".into())));
    let host = fixture.host.with_ui(ada.clone());
    assert_eq!(text(&host, "careful", json!({})).await, "done");
    let expected = r#"c careful: Select { title: "Allow tool: careful\nTier: exec\nThe tool says:\n│ Reason: touches production\n│ target: web\n│ when: now\nArguments: none", options: ["Approve", "Deny", "Approve, always for this tool"] }"#;
    assert_eq!(ada.said(), [expected]);
    for answer in [
        |_: &Prompt| Some(Answer::Text("Deny".into())),
        |_: &Prompt| Some(Answer::Dismissed),
    ] {
        let (bob, _) = person(answer);
        let refused = call(&fixture.host.with_ui(bob), "c", "careful", json!({}));
        let error = refused.outcome().await.expect_err("it was denied");
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert_eq!(error.message(), "Tool call denied by user: careful");
    }
    fixture.host.shutdown().await;
}

#[tokio::test]
async fn a_user_interface_that_panics_has_no_answer() {
    let fixture = fixture(|_| {});
    let (broken, _) = person(|_| panic!("out of paper"));
    let host = fixture.host.with_ui(broken);
    assert_eq!(text(&host, "nothing", json!({})).await, r#"{"no":false}"#);
    fixture.host.shutdown().await;
}
