//! The conversation that calls belong to, through the SDK (`docs/sessions.md`, spec omp 8).

use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use haft::approval::{ApprovalMode, ApprovalPolicy};
use haft::config::Env;
use haft::session::{SessionEvent, SessionFile, SessionProvider, SessionView};
use haft::{Call, Flags, Host};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
const events = [];
const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });

const begun = [];
let approvedAtStart;

export default () => [
  {
    name: "context", description: "", parameters: { type: "object" },
    execute: (_id, _params, _onUpdate, ctx) => {
      const session = ctx.sessionManager;
      return says({
        branch: session.getBranch().map((entry) => entry.id),
        from: session.getBranch("c").map((entry) => entry.id),
        entries: session.getEntries().length,
        leaf: [session.getLeafId(), session.getLeafEntry()?.type],
        entry: session.getEntry("b")?.type,
        label: session.getLabel("a"),
        tree: session.getTree().map(function names(node) {
          return [node.entry.id, node.label ?? null, node.children.map(names)];
        }),
        names: [session.getSessionId(), session.getSessionName(), session.getSessionFile(), session.getSessionDir(), session.getCwd()],
        header: session.getHeader(),
        more: [ctx.sessionId, ctx.cwd, ctx.model, ctx.isIdle(), ctx.hasQueuedMessages(), ctx.autoApprove],
        models: [ctx.modelRegistry.getAll().length, ctx.modelRegistry.find("p", "big")],
        settings: [ctx.settings.get("a.b"), ctx.settings.get("x.y"), ctx.settings.get("none.such")],
      });
    },
  },
  {
    name: "aborts", description: "", parameters: { type: "object" },
    execute: (_id, _params, _onUpdate, ctx, signal) => { ctx.abort(); return says([signal.aborted, signal.reason]); },
  },
  {
    name: "approves", description: "", parameters: { type: "object" }, approval: "read",
    execute: async (_id, _params, _onUpdate, ctx) => {
      const seen = [ctx.autoApprove];
      await new Promise((done) => { begun.push(done); if (begun.length === 2) begun.splice(0).forEach((go) => go()); });
      return says([...seen, ctx.autoApprove, approvedAtStart]);
    },
    onSession(_event, ctx) { approvedAtStart = ctx.autoApprove; },
  },
  {
    name: "events", description: "", parameters: { type: "object" },
    execute: () => says(events.splice(0)),
    async onSession(event, ctx) {
      const before = events.length;
      await new Promise((done) => setTimeout(done, 2));
      events.push([before, { ...event, keys: Object.keys(event).length }, ctx.sessionManager.getBranch().length]);
    },
  },
  { name: "broken", description: "", parameters: { type: "object" }, execute: () => says(1), onSession() { throw new Error("not for me"); } },
];
"#;

fn host(sandbox: &Sandbox, tool: &str, mode: Option<ApprovalMode>) -> Host {
    let root = sandbox.path();
    let env = Env {
        current_dir: Some(root.clone()),
        home: Some(root.join("home")),
        ..Env::default()
    };
    let flags = Flags {
        tools: vec![tool.to_owned()],
        approval_mode: mode,
        ..Flags::default()
    };
    Host::new(crate::sandbox::resolve(flags, &env).expect("a configuration"))
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox
}

fn call(tool: &str, arguments: Value) -> Call {
    Call {
        id: "c".into(),
        tool: tool.into(),
        arguments: RawValue::from_string(arguments.to_string()).expect("it is JSON"),
    }
}

async fn json_of(host: &Host, tool: &str) -> Value {
    let outcome = host.call(call(tool, json!({})), None).outcome().await;
    serde_json::from_str(&outcome.expect("it runs").text()).expect("it is JSON")
}

/// An agent with a session of its own.
struct Agent {
    view: Mutex<Arc<SessionView>>,
    aborts: AtomicUsize,
}

impl SessionProvider for Agent {
    fn view(&self) -> Arc<SessionView> {
        self.view.lock().expect("no panic").clone()
    }

    fn is_idle(&self) -> bool {
        true
    }

    fn has_queued_messages(&self) -> bool {
        true
    }

    fn abort(&self) {
        self.aborts.fetch_add(1, Ordering::Relaxed);
    }
}

fn entry(value: &Value) -> Arc<RawValue> {
    Arc::from(RawValue::from_string(value.to_string()).expect("it is JSON"))
}

fn agent() -> Arc<Agent> {
    let [a, b, c, d] = [
        json!({ "type": "message", "id": "a", "parentId": null }),
        json!({ "type": "custom", "id": "b", "parentId": "a" }),
        json!({ "type": "message", "id": "c", "parentId": "a" }),
        json!({ "type": "label", "id": "d", "parentId": "b", "targetId": "a", "label": "begin" }),
    ];
    let [a, b, c, d] = [&a, &b, &c, &d].map(entry);
    let view = SessionView {
        id: "s-1".into(),
        name: Some("The first".into()),
        file: Some("/tmp/sessions/s-1.jsonl".into()),
        cwd: Some("/tmp".into()),
        entries: vec![a.clone(), b.clone(), c, d.clone()],
        branch: vec![a, b, d],
        model: Some(json!({ "provider": "p", "id": "small" })),
        models: vec![
            json!({ "provider": "p", "id": "small" }),
            json!({ "provider": "p", "id": "big" }),
        ],
        settings: json!({ "a": { "b": 1 }, "x.y": 2 }),
        ..SessionView::default()
    };
    Arc::new(Agent {
        view: Mutex::new(Arc::new(view)),
        aborts: AtomicUsize::new(0),
    })
}

#[tokio::test]
async fn what_is_approved_is_what_holds_for_the_call() {
    let sandbox = sandbox();
    let host = host(&sandbox, "tools.ts", Some(ApprovalMode::Write));
    let freely = host.with_approval(ApprovalPolicy {
        mode: ApprovalMode::Yolo,
        ..host.config().approval.clone()
    });
    freely.emit(&SessionEvent::Start).await;
    // Both are in the same isolate at the same time, because neither ends before the other has
    // begun.
    let asked = |host: &Host| host.call(call("approves", json!({})), None);
    let (one, other) = (asked(&host), asked(&freely));
    let (one, other) = tokio::join!(one.outcome(), other.outcome());
    assert_eq!(one.expect("it runs").text(), "[false,false,false]");
    assert_eq!(other.expect("it runs").text(), "[true,true,false]");
}

#[tokio::test]
async fn tools_see_the_session_of_the_agent_as_it_is_at_that_moment() {
    let sandbox = sandbox();
    let host = host(&sandbox, "tools.ts", Some(ApprovalMode::Yolo));
    let agent = agent();
    host.set_session(Some(agent.clone()));
    let expected = json!({
        "branch": ["a", "b", "d"],
        "from": ["a", "c"],
        "entries": 4,
        "leaf": ["d", "label"],
        "entry": "custom",
        "label": "begin",
        "tree": [["a", "begin", [["b", null, [["d", null, []]]], ["c", null, []]]]],
        "names": ["s-1", "The first", "/tmp/sessions/s-1.jsonl", "/tmp/sessions", "/tmp"],
        "header": { "type": "session", "id": "s-1", "cwd": "/tmp" },
        "more": ["s-1", "/tmp", { "provider": "p", "id": "small" }, true, true, true],
        "models": [2, { "provider": "p", "id": "big" }],
        "settings": [1, 2, null],
    });
    assert_eq!(json_of(&host, "context").await, expected);

    assert_eq!(
        json_of(&host, "aborts").await,
        json!([true, "Interrupted by user"])
    );
    assert_eq!(agent.aborts.load(Ordering::Relaxed), 1);

    // The agent switches to another session without a notification.
    *agent.view.lock().expect("no panic") = Arc::default();
    let now = json_of(&host, "context").await;
    assert_eq!(now["branch"], json!([]));
    assert_eq!(now["leaf"], json!([null, null]));
    host.shutdown().await;
}

#[tokio::test]
async fn without_an_agent_everything_is_there_and_empty() {
    let sandbox = sandbox();
    let host = host(&sandbox, "tools.ts", None);
    let now = json_of(&host, "context").await;
    let (branch, models) = (&now["branch"], &now["models"]);
    assert_eq!((branch, models), (&json!([]), &json!([0, null])));
    let more = &now["more"];
    let id = more[0].as_str().expect("an id");
    assert_eq!(id.len(), 36, "{id}");
    let rest = [&more[2], &more[3], &more[4], &more[5]];
    assert_eq!(json!(rest), json!([null, false, false, true]));
    host.shutdown().await;
}

#[tokio::test]
async fn every_event_reaches_every_listener_with_its_fields_one_after_another() {
    let sandbox = sandbox();
    let host = host(&sandbox, "tools.ts", None);
    host.set_session(Some(agent()));
    let events = [
        SessionEvent::Start,
        SessionEvent::Switch {
            previous_session_file: Some("/tmp/old.jsonl".into()),
        },
        SessionEvent::Branch {
            previous_session_file: None,
        },
        SessionEvent::Tree,
        SessionEvent::AutoCompactionStart {
            trigger: "threshold".into(),
            action: "handoff".into(),
        },
        SessionEvent::AutoCompactionEnd {
            action: "handoff".into(),
            result: json!({ "kept": 3 }),
            aborted: false,
            will_retry: true,
            error_message: Some("too long".into()),
        },
        SessionEvent::AutoRetryStart {
            attempt: 1,
            max_attempts: 3,
            delay_ms: 500,
            error_message: "overloaded".into(),
            error_id: None,
        },
        SessionEvent::AutoRetryEnd {
            success: true,
            attempt: 2,
            final_error: None,
            retry_errors: vec![json!("overloaded")],
        },
        SessionEvent::TtsrTriggered {
            rules: vec![json!({ "name": "no-todo" })],
        },
        SessionEvent::TodoReminder {
            todos: vec![json!("write")],
            attempt: 1,
            max_attempts: 2,
        },
        SessionEvent::Shutdown,
    ];
    for event in &events {
        host.emit(event).await;
    }
    // `previousSessionFile` is always there, if only as `undefined`: two keys.
    let expected = [
        json!({ "reason": "start", "keys": 2 }),
        json!({ "reason": "switch", "previousSessionFile": "/tmp/old.jsonl", "keys": 2 }),
        json!({ "reason": "branch", "keys": 2 }),
        json!({ "reason": "tree", "keys": 2 }),
        json!({ "reason": "auto_compaction_start", "trigger": "threshold", "action": "handoff", "keys": 3 }),
        json!({ "reason": "auto_compaction_end", "action": "handoff", "result": { "kept": 3 },
                "aborted": false, "willRetry": true, "errorMessage": "too long", "keys": 6 }),
        json!({ "reason": "auto_retry_start", "attempt": 1, "maxAttempts": 3, "delayMs": 500,
                "errorMessage": "overloaded", "keys": 5 }),
        json!({ "reason": "auto_retry_end", "success": true, "attempt": 2,
                "retryErrors": ["overloaded"], "keys": 4 }),
        json!({ "reason": "ttsr_triggered", "rules": [{ "name": "no-todo" }], "keys": 2 }),
        json!({ "reason": "todo_reminder", "todos": ["write"], "attempt": 1, "maxAttempts": 2, "keys": 4 }),
        json!({ "reason": "shutdown", "keys": 2 }),
    ];
    let seen = json_of(&host, "events").await;
    let expected: Vec<Value> = expected
        .iter()
        .enumerate()
        .map(|(number, event)| json!([number, event, 3]))
        .collect();
    assert_eq!(seen, Value::Array(expected));
    host.shutdown().await;
}

/// The todo list of `example-tools/js/state`, as lines.
struct Todos<'a> {
    host: &'a Host,
    session: &'a SessionFile,
}

impl Todos<'_> {
    async fn call(&self, arguments: Value) -> (String, String) {
        let call = call("todo", arguments);
        let outcome = self.host.call(call.clone(), None).outcome().await;
        let outcome = outcome.expect("it runs");
        let entry = self.session.append(&call, &outcome);
        (outcome.text(), entry.expect("the file can be written"))
    }

    async fn add(&self, text: &str) -> (String, String) {
        self.call(json!({ "action": "add", "text": text })).await
    }

    async fn list(&self) -> String {
        self.call(json!({ "action": "list" })).await.0
    }
}

#[tokio::test]
async fn a_tool_builds_its_state_from_history_after_branch_switch_and_restart() {
    let sandbox = Sandbox::with(Path::new("example-tools/js/state"));
    let open = |name: &str| {
        let path = sandbox.path().join(name);
        Arc::new(SessionFile::open(path, &sandbox.path()).expect("a session"))
    };
    let first = host(&sandbox, "index.ts", None);
    let work = open("work.jsonl");
    first.set_session(Some(work.clone()));
    first.emit(&SessionEvent::Start).await;
    let todos = Todos {
        host: &first,
        session: &work,
    };
    let (_, fed) = todos.add("feed the cat").await;
    assert_eq!(
        todos.add("write home").await.0,
        "[ ] 1 feed the cat\n[ ] 2 write home"
    );

    // Back to the branch on which the list only had the cat.
    work.branch(&fed).expect("it is there");
    let previous_session_file = Some(work.path().to_owned());
    first
        .emit(&SessionEvent::Branch {
            previous_session_file,
        })
        .await;
    assert_eq!(
        todos.add("go out").await.0,
        "[ ] 1 feed the cat\n[ ] 2 go out"
    );

    // To another session, and back.
    let other = open("other.jsonl");
    first.set_session(Some(other.clone()));
    let previous_session_file = Some(work.path().to_owned());
    first
        .emit(&SessionEvent::Switch {
            previous_session_file,
        })
        .await;
    let elsewhere = Todos {
        host: &first,
        session: &other,
    };
    assert_eq!(elsewhere.list().await, "nothing to do");
    first.set_session(Some(work.clone()));
    let previous_session_file = Some(other.path().to_owned());
    first
        .emit(&SessionEvent::Switch {
            previous_session_file,
        })
        .await;
    assert_eq!(todos.list().await, "[ ] 1 feed the cat\n[ ] 2 go out");
    first.shutdown().await;

    // A new process, with a file that ends in half a line.
    let path = work.path().to_owned();
    let mut text = std::fs::read_to_string(&path).expect("it is text");
    let lines = text.lines().count();
    text.push_str("{\"type\":\"mess");
    std::fs::write(&path, &text).expect("a file of ours");
    let again = host(&sandbox, "index.ts", None);
    let work = open("work.jsonl");
    assert_eq!(work.unreadable(), 1);
    again.set_session(Some(work.clone()));
    again.emit(&SessionEvent::Start).await;
    let todos = Todos {
        host: &again,
        session: &work,
    };
    assert_eq!(todos.list().await, "[ ] 1 feed the cat\n[ ] 2 go out");
    // The old lines are unchanged, and the new ones are whole.
    let after = std::fs::read_to_string(&path).expect("it is text");
    assert!(after.starts_with(&text), "{after}");
    assert_eq!(after.lines().count(), lines + 3);
    assert_eq!(open("work.jsonl").unreadable(), 1);
    assert!(work.branch("nowhere").is_err());
    assert!(SessionFile::open(sandbox.path().join("index.ts"), &path).is_err());
    again.shutdown().await;
}
