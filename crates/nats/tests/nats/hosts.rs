//! Hosts with tools for the tests, and callers.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use haft_nats::{
    Client, Fleet, HistoryEntry, HistoryFeed, HistoryPage, HistoryQuestion, InboxPrefix,
    IncomingCall, OfferedTool, Provider, RemoteCall, Service, ServiceOptions,
};
use haft_tool::{
    Answer, CallCtx, CallerScope, Cancellation, Error, ErrorKind, Event, LogLevel, LogLine,
    LogListener, NoticeLevel, Notification, Outcome, Prompt, Question, Stopped, Updates, User,
    UserInterface, queue,
};
use parking_lot::Mutex;
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use tokio::sync::{Notify, Semaphore, watch};

/// The digest of all tools of the tests.
pub const DIGEST: &str = "d1";

/// The end of the names of tools whose calls may be made twice.
pub const AGAIN: &str = "_again";

/// A host whose tools are written here.
pub struct Host {
    name: String,
    tools: Mutex<Vec<String>>,
    changed: Notify,
    /// Set if it takes what others forward.
    pub is_shared: AtomicBool,
    /// Number of calls that it got.
    pub calls: AtomicUsize,
    /// The calls that have started.
    pub started: watch::Sender<usize>,
    /// The reason for which the last call was cancelled.
    pub stopped: watch::Sender<Option<Stopped>>,
    /// Permits for calls of `hold` to end.
    pub held: Semaphore,
    /// The last call, without its link.
    pub last: Mutex<Option<Seen>>,
    pub problems: Mutex<Vec<String>>,
    /// The lines of its log, oldest first. Reading waits while a test holds it.
    pub log: Arc<Mutex<Vec<Value>>>,
}

/// A call as a host sees it.
#[derive(Clone, Debug)]
pub struct Seen {
    pub caller: String,
    pub timeout: Option<Duration>,
    pub trace: Option<String>,
    pub has_user: bool,
    pub scope: CallerScope,
}

const TOOLS: [&str; 13] = [
    "echo",
    "rich",
    "fail",
    "refuse",
    "updates",
    "logs",
    "ask",
    "tell",
    "forward",
    "hold",
    "says_and_holds",
    "deaf",
    "big",
];

impl Host {
    pub fn new(name: &str) -> Arc<Host> {
        Arc::new(Host {
            name: name.to_owned(),
            tools: Mutex::new(TOOLS.map(str::to_owned).to_vec()),
            changed: Notify::new(),
            is_shared: AtomicBool::new(false),
            calls: AtomicUsize::new(0),
            started: watch::Sender::new(0),
            stopped: watch::Sender::new(None),
            held: Semaphore::new(0),
            last: Mutex::default(),
            problems: Mutex::default(),
            log: Arc::default(),
        })
    }

    /// Offers these tools instead.
    pub fn offer(&self, tools: &[&str]) {
        *self.tools.lock() = tools.iter().map(|&tool| tool.to_owned()).collect();
        self.changed.notify_one();
    }

    pub fn count(&self) -> usize {
        self.calls.load(Ordering::SeqCst)
    }

    /// Serves as this host.
    pub async fn serve(self: &Arc<Host>, client: &Client) -> Service {
        self.serve_with(client, |_| {}).await
    }

    pub async fn serve_with(
        self: &Arc<Host>,
        client: &Client,
        change: impl FnOnce(&mut ServiceOptions),
    ) -> Service {
        let mut options = ServiceOptions {
            tenant: "default".to_owned(),
            name: self.name.clone(),
            version: "1.2.3".to_owned(),
            max_calls: 64,
            caller_silence: Duration::from_secs(60),
            inbox: InboxPrefix::default(),
            queue: None,
        };
        change(&mut options);
        Service::start(client, options, self.clone()).await
    }

    async fn run(&self, call: &IncomingCall) -> Result<Outcome, Error> {
        let text = |text: String| Ok(Outcome::success(text, Duration::ZERO));
        let arguments: Value = serde_json::from_str(call.arguments.get()).expect("JSON");
        let number = || arguments["n"].as_u64().expect("a number");
        match call.tool.trim_end_matches(AGAIN) {
            "echo" => text(call.arguments.get().to_owned()),
            "rich" => Ok(Outcome {
                content: serde_json::from_value(json!([
                    {"type": "text", "text": "über\n"},
                    {"type": "image", "data": "AAAA", "mimeType": "image/png"},
                ]))
                .expect("blocks"),
                details: json!({"b": 1.0, "a": [null]}),
                is_error: true,
                useless: true,
                display: Some("for people".to_owned()),
                ..Outcome::success("", Duration::from_nanos(1))
            }),
            "fail" => {
                let error = Error::new(ErrorKind::Denied, "the policy refuses it");
                Err(error.with_hint("ask the owner"))
            }
            "refuse" => Err(Error::new(
                ErrorKind::Stopped(Stopped::Deadline),
                "too late",
            )),
            "updates" => {
                for index in 0..number() {
                    let update = json!({"content": [{"type": "text", "text": index.to_string()}],
                        "details": {"index": index}});
                    call.link.update(to_raw_value(&update).expect("JSON"));
                }
                text("done".to_owned())
            }
            "logs" => {
                let levels = [
                    LogLevel::Debug,
                    LogLevel::Info,
                    LogLevel::Warn,
                    LogLevel::Error,
                ];
                for level in levels {
                    let context = RawValue::from_string(r#"{"k":1}"#.to_owned()).expect("JSON");
                    call.link.log(LogLine {
                        level,
                        tool: "other".to_owned(),
                        message: format!("{level:?}"),
                        context: Some(context),
                    });
                }
                text(String::new())
            }
            "ask" => {
                let prompts = [
                    Prompt::Confirm {
                        title: "Sure?".to_owned(),
                        message: String::new(),
                    },
                    Prompt::Input {
                        title: "Name?".to_owned(),
                        placeholder: None,
                    },
                    Prompt::Select {
                        title: "Which?".to_owned(),
                        options: vec!["one".to_owned(), "two".to_owned()],
                    },
                ];
                let mut answers = Vec::new();
                for prompt in prompts {
                    answers.push(call.link.ask(prompt, Some(Duration::from_secs(100))).await);
                }
                let editor = Prompt::Editor {
                    title: "Never answered".to_owned(),
                    prefill: None,
                };
                let asking = call.link.ask(editor, None);
                // Withdrawn when the caller has shown it, which it says with a cancelled call.
                tokio::select! {
                    answer = asking => answers.push(answer),
                    () = call.cancellation.requested() => {}
                }
                text(format!("{answers:?}"))
            }
            "tell" => {
                call.link.tell(Notification::Notify {
                    message: "almost".to_owned(),
                    level: NoticeLevel::Warning,
                });
                text(String::new())
            }
            "forward" => {
                let value = call.link.forward("roots/list", None, json!({"x": 1})).await;
                let unknown = call.link.forward("tools/call", None, json!({})).await;
                text(format!("{value:?} {unknown:?}"))
            }
            "hold" | "says_and_holds" => {
                if call.tool == "says_and_holds" {
                    let update = json!({"content": [{"type": "text", "text": "holding"}]});
                    call.link.update(to_raw_value(&update).expect("JSON"));
                }
                tokio::select! {
                    permit = self.held.acquire() => {
                        permit.expect("it is open").forget();
                        text(self.name.clone())
                    }
                    () = call.cancellation.requested() => {
                        let why = call.cancellation.reason().expect("it was cancelled");
                        self.stopped.send_replace(Some(why));
                        Ok(Outcome::stopped(why, "stopped", Duration::ZERO))
                    }
                }
            }
            // Notes that it was begun, in a file.
            "note" => {
                let notes = arguments["notes"].as_str().expect("a file");
                let notes = std::fs::OpenOptions::new().append(true).open(notes);
                let mut notes = notes.expect("the file is there");
                writeln!(notes, "{}", call.id).expect("it is noted");
                text(call.id.clone())
            }
            // Ends when it is killed, and not before.
            "deaf" => {
                call.cancellation.force_token().cancelled().await;
                self.stopped.send_replace(call.cancellation.reason());
                text(String::new())
            }
            "big" => {
                let n = usize::try_from(number()).expect("it is small");
                text("ä".repeat(n / 2))
            }
            other => panic!("there is no tool {other}"),
        }
    }
}

fn entry(n: usize, line: &Value) -> HistoryEntry {
    HistoryEntry {
        n: n as u64,
        is_running: false,
        line: to_raw_value(line).expect("JSON"),
    }
}

#[async_trait]
impl Provider for Host {
    async fn tools(&self) -> Vec<OfferedTool> {
        let tools = self.tools.lock().clone();
        let tool = |name: String| OfferedTool {
            definition: if name.ends_with(AGAIN) {
                json!({"name": name, "annotations": {"idempotentHint": true}})
            } else {
                json!({"name": name, "inputSchema": {"type": "object"}})
            },
            digest: DIGEST.to_owned(),
            metadata: BTreeMap::from([("tier".to_owned(), "exec".to_owned())]),
            name,
        };
        tools.into_iter().map(tool).collect()
    }

    async fn changed(&self) {
        self.changed.notified().await;
    }

    async fn call(&self, call: IncomingCall) -> Result<Outcome, Error> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        *self.last.lock() = Some(Seen {
            caller: call.caller.clone(),
            timeout: call.timeout,
            trace: call.trace.as_ref().map(ToString::to_string),
            has_user: call.link.has_user(),
            scope: call.scope.clone(),
        });
        self.started.send_modify(|started| *started += 1);
        self.run(&call).await
    }

    fn takes_forwarded(&self) -> bool {
        self.is_shared.load(Ordering::SeqCst)
    }

    async fn forwarded(&self, request: IncomingCall) -> Result<Outcome, Error> {
        let arguments: Value = serde_json::from_str(request.arguments.get()).expect("JSON");
        if arguments == "hold" {
            request.cancellation.requested().await;
            self.stopped.send_replace(request.cancellation.reason());
        }
        request
            .link
            .update(to_raw_value(&json!({"content": []})).expect("JSON"));
        Ok(Outcome {
            details: json!({"by": self.name, "asked": arguments}),
            ..Outcome::success("", Duration::ZERO)
        })
    }

    fn report(&self, problem: &str) {
        self.problems.lock().push(problem.to_owned());
    }

    fn history(&self, question: &HistoryQuestion) -> HistoryPage {
        let log = self.log.lock();
        let before = question.before.unwrap_or(u64::MAX);
        let lines = log.iter().enumerate().rev();
        let mut older = lines.filter(|(n, _)| (*n as u64) < before);
        let taken: Vec<HistoryEntry> = { older.by_ref().take(question.limit) }
            .map(|(n, line)| entry(n, line))
            .collect();
        let next = taken.last().map(|last| last.n);
        HistoryPage {
            entries: taken,
            next: next.filter(|_| older.next().is_some()),
            problem: None,
        }
    }

    fn follow_history(&self) -> Option<HistoryFeed> {
        let log = self.log.clone();
        let mut told = log.lock().len();
        Some(Box::new(move || {
            let log = log.lock();
            let new = log.iter().enumerate().skip(told);
            let new = new.map(|(n, line)| entry(n, line)).collect();
            told = log.len();
            new
        }))
    }
}

/// A caller: what its calls get besides the outcome.
pub struct Caller {
    pub ctx: CallCtx,
    pub events: queue::Receiver<Event>,
    pub person: Arc<Person>,
}

/// A person who answers: yes to questions, the last option, a name. Editors stay open.
#[derive(Debug, Default)]
pub struct Person {
    pub asked: Mutex<Vec<Prompt>>,
    pub told: Mutex<Vec<Notification>>,
    pub lines: Mutex<Vec<LogLine>>,
    /// Cancels the call when an editor is open, and notes its withdrawal.
    pub cancellation: Mutex<Option<Cancellation>>,
    pub withdrawn: Notify,
}

/// Notifies when a question is not shown any more.
struct Shown<'a>(&'a Notify);

impl Drop for Shown<'_> {
    fn drop(&mut self) {
        self.0.notify_one();
    }
}

#[async_trait]
impl UserInterface for Person {
    async fn ask(&self, question: Question) -> Answer {
        self.asked.lock().push(question.what.clone());
        match question.what {
            Prompt::Confirm { .. } => Answer::Yes,
            Prompt::Input { .. } => Answer::Text("Ada".to_owned()),
            Prompt::Select { options, .. } => Answer::Text(options[1].clone()),
            Prompt::Editor { .. } => {
                let cancellation = self.cancellation.lock().clone();
                cancellation.expect("it is set").cancel();
                let _shown = Shown(&self.withdrawn);
                std::future::pending().await
            }
        }
    }

    fn tell(&self, notice: haft_tool::NotificationFrom) {
        self.told.lock().push(notice.what);
    }

    async fn forward(&self, request: haft_tool::Forwarded) -> Option<Value> {
        Some(json!({"method": request.method, "params": request.params}))
    }
}

impl LogListener for Person {
    fn hear(&self, line: LogLine) {
        self.lines.lock().push(line);
    }
}

impl Caller {
    /// Returns a caller without a user.
    pub fn new() -> Caller {
        let (sender, events) = queue::channel();
        let updates = Updates::new(sender, None);
        Caller {
            ctx: CallCtx::new(Cancellation::default(), updates),
            events,
            person: Arc::default(),
        }
    }

    /// Returns a caller with a user and a listener for log lines.
    pub fn with_person() -> Caller {
        let mut caller = Caller::new();
        let person = caller.person.clone();
        *person.cancellation.lock() = Some(caller.ctx.cancellation().clone());
        caller.ctx.log = Some(person.clone());
        caller.ctx.user = Some(User::of_call(
            person,
            "call",
            "tool",
            tokio_util::sync::CancellationToken::new(),
            caller.ctx.updates.clone(),
        ));
        caller
    }

    pub async fn call(&self, fleet: &Fleet, tool: &str, arguments: &str) -> Result<Outcome, Error> {
        self.call_with(fleet, tool, arguments, |_| {}).await
    }

    pub async fn call_with(
        &self,
        fleet: &Fleet,
        tool: &str,
        arguments: &str,
        change: impl FnOnce(&mut RemoteCall<'_>),
    ) -> Result<Outcome, Error> {
        let mut call = RemoteCall {
            tool,
            digest: DIGEST,
            arguments: RawValue::from_string(arguments.to_owned()).expect("JSON"),
            is_idempotent: false,
            timeout: None,
        };
        change(&mut call);
        fleet.call(call, &self.ctx).await
    }
}

/// Calls a tool without a user.
pub async fn call(fleet: &Fleet, tool: &str, arguments: &str) -> Result<Outcome, Error> {
    Caller::new().call(fleet, tool, arguments).await
}

/// Waits until a host has started that number of calls.
pub async fn started(host: &Host, count: usize) {
    let mut started = host.started.subscribe();
    started
        .wait_for(|started| *started >= count)
        .await
        .expect("the host is there");
}
