//! Tools of the embedding program: Rust closures, and the loader's shapes for tools that are found.

use std::collections::BTreeMap;
use std::future::pending;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures::StreamExt;
use haft::approval::{ApprovalMode, ApprovalRequirement};
use haft::call::Stopped;
use haft::catalog::{Family, Level};
use haft::compat::omp::HostExt;
use haft::config::{Env, Limits};
use haft::ui::{Answer, Prompt, Question, UserInterface};
use haft::{
    Call, CustomTool, ErrorKind, Event, Flags, Host, HostBuilder, Invocation, Outcome, Tier,
    ToolOutput, TrustPolicy,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// The example of the documentation, run here so that it stays correct.
#[path = "../../examples/agent.rs"]
#[allow(
    dead_code,
    unreachable_pub,
    reason = "it is a program of its own, with a `main`"
)]
mod agent;

/// Name to greet, and the manner
#[derive(Deserialize, JsonSchema)]
struct Greet {
    /// The name
    name: String,
    /// Number of times, at most 10
    #[serde(default = "once")]
    #[schemars(range(min = 1, max = 10))]
    times: u8,
    tone: Option<Tone>,
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Tone {
    Warm,
    Cold,
}

fn once() -> u8 {
    1
}

fn greet() -> CustomTool {
    CustomTool::new("greet", "Greets someone", async |asked: Greet, _| {
        let mark = match asked.tone {
            Some(Tone::Warm) => "!",
            Some(Tone::Cold) => ".",
            None => "",
        };
        let one = format!("Hello {}{mark}", asked.name);
        Ok::<_, String>(vec![one; asked.times.into()].join(" "))
    })
    .label("Greet")
    .approval(Tier::Read)
}

/// Makes a tool that returns what `answer` returns.
fn tool<R: Into<ToolOutput> + 'static>(
    name: &str,
    answer: impl Fn() -> Result<R, String> + Send + Sync + 'static,
) -> CustomTool {
    let answer = Arc::new(answer);
    CustomTool::new(name, "", move |(): (), _| {
        let answer = answer.clone();
        async move { answer() }
    })
}

/// Returns the builder of a host that uses nothing of this machine.
fn builder(root: &Path) -> HostBuilder {
    Host::builder().cwd(root).env(env(root))
}

fn env(root: &Path) -> Env {
    Env {
        current_dir: Some(root.to_owned()),
        home: Some(root.join("home")),
        ..Env::default()
    }
}

fn host(tools: impl IntoIterator<Item = CustomTool>) -> (Sandbox, Host) {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox.path()).tools(tools).build();
    (sandbox, host.expect("a host"))
}

async fn ended(host: &Host, tool: &str, arguments: Value) -> Result<Outcome, haft::Error> {
    host.call(Call::new(tool, arguments), None).outcome().await
}

async fn outcome(host: &Host, tool: &str, arguments: Value) -> Outcome {
    ended(host, tool, arguments).await.expect("it runs")
}

// ---- Parameters.

#[tokio::test]
async fn a_rust_type_is_the_schema() {
    let (_sandbox, host) = host([greet()]);
    let catalog = host.catalog().await;
    let tool = &catalog.find("greet").expect("it is there").tool;
    assert_eq!(
        tool.input_schema,
        json!({
            "type": "object",
            "description": "Name to greet, and the manner",
            "properties": {
                "name": {"type": "string", "description": "The name"},
                "times": {
                    "type": "integer", "description": "Number of times, at most 10",
                    "minimum": 1, "maximum": 10, "default": 1
                },
                "tone": {"type": ["string", "null"], "enum": ["warm", "cold", null]},
            },
            "required": ["name"],
        })
    );
    assert_eq!((tool.label.as_str(), tool.approval), ("Greet", Tier::Read));
    assert_eq!(
        (tool.source.family, tool.source.level),
        (Family::Native, Level::Host)
    );
    assert!(tool.trusted && !tool.hidden);
}

#[tokio::test]
async fn arguments_are_read_into_it() {
    let (_sandbox, host) = host([greet()]);
    let said = outcome(&host, "greet", json!({"name": "Ada"})).await;
    assert_eq!((said.text().as_str(), said.is_error), ("Hello Ada", false));
    assert_eq!(said.details, json!({}));
    let said = outcome(
        &host,
        "greet",
        json!({"name": "Bo", "times": 2, "tone": "warm"}),
    )
    .await;
    assert_eq!(said.text(), "Hello Bo! Hello Bo!");
    // Models write null for parameters that they omit.
    let said = outcome(
        &host,
        "greet",
        json!({"name": "Cy", "times": null, "tone": null}),
    )
    .await;
    assert_eq!(said.text(), "Hello Cy");
}

#[tokio::test]
async fn every_bad_argument_is_named_and_nothing_runs() {
    let (_sandbox, host) = host([greet()]);
    let bad = json!({"times": 11, "tone": "loud"});
    let running = host.call(Call::new("greet", bad.clone()), None);
    let mut events: Vec<Event> = running.collect().await;
    let (Some(Event::Finished(Err(error))), true) = (events.pop(), events.is_empty()) else {
        panic!("not a refusal alone: {events:?}");
    };
    assert_eq!(error.kind(), ErrorKind::BadArguments);
    let text = error.message();
    for line in [
        "Validation failed for tool \"greet\":",
        "  - name: is required",
        "  - times: must be at most 10 (was 11)",
        "  - tone: ",
        "Received arguments:",
    ] {
        assert!(text.contains(line), "{text}");
    }
    let error = host.validate(&Call::new("greet", bad)).await;
    assert_eq!(
        error.expect_err("a refusal").kind(),
        ErrorKind::BadArguments
    );
    // Arguments that are not an object.
    let error = ended(&host, "greet", json!([1]))
        .await
        .expect_err("a refusal");
    assert!(
        error.message().contains("root: must be an object"),
        "{error}"
    );
}

#[tokio::test]
async fn what_the_type_itself_refuses_is_a_bad_argument() {
    #[derive(Deserialize, JsonSchema)]
    struct At {
        #[schemars(with = "String")]
        address: std::net::IpAddr,
    }
    let at = CustomTool::new("at", "", async |at: At, _| {
        Ok::<_, String>(at.address.to_string())
    });
    let (_sandbox, host) = host([at]);
    let error = ended(&host, "at", json!({"address": "nowhere"})).await;
    let error = error.expect_err("a refusal");
    assert_eq!(error.kind(), ErrorKind::BadArguments);
    assert!(
        error.message().contains("invalid IP address syntax"),
        "{error}"
    );
}

#[tokio::test]
async fn numbers_survive() {
    #[derive(Deserialize, JsonSchema)]
    struct Big {
        number: u64,
    }
    let big = CustomTool::new("big", "", async |big: Big, _| {
        Ok::<_, String>(big.number.to_string())
    });
    let (_sandbox, host) = host([big]);
    let said = outcome(&host, "big", json!({"number": u64::MAX})).await;
    assert_eq!(said.text(), u64::MAX.to_string());
}

#[tokio::test]
async fn values_and_nothing_are_parameters_too() {
    let value = CustomTool::new("value", "", async |all: Value, _| Ok::<_, String>(all))
        .parameters(json!({"type": "object", "properties": {"a": {"type": "integer"}}}));
    let map = CustomTool::new("map", "", async |all: BTreeMap<String, i32>, _| {
        Ok::<_, String>(format!("{all:?}"))
    });
    let (_sandbox, host) = host([value, map, tool("none", || Ok("nothing asked"))]);
    let said = outcome(&host, "value", json!({"a": 1, "b": [null]})).await;
    assert_eq!(said.text(), r#"{"a":1,"b":[null]}"#);
    assert_eq!(said.details, json!({"a": 1, "b": [null]}));
    let error = ended(&host, "value", json!({"a": "x"})).await;
    assert_eq!(
        error.expect_err("a refusal").kind(),
        ErrorKind::BadArguments
    );
    assert_eq!(
        outcome(&host, "map", json!({"x": 1})).await.text(),
        r#"{"x": 1}"#
    );
    for arguments in [json!({}), Value::Null] {
        assert_eq!(
            outcome(&host, "none", arguments).await.text(),
            "nothing asked"
        );
    }
}

// ---- Results, updates, events.

#[tokio::test]
async fn whatever_a_closure_returns_is_a_result() {
    let (_sandbox, host) = host([
        tool("text", || Ok("a text")),
        tool("unit", || Ok(())),
        tool("rich", || {
            Ok(ToolOutput::text("see")
                .with_image("aGk=", "image/png")
                .with_details(json!([1])))
        }),
        tool("no", || Err::<(), _>("I will not".to_owned())),
    ]);
    assert_eq!(outcome(&host, "text", json!({})).await.text(), "a text");
    assert_eq!(outcome(&host, "unit", json!({})).await.content, []);
    let rich = outcome(&host, "rich", json!({})).await;
    assert_eq!((rich.content.len(), rich.details), (2, json!([1])));
    let no = outcome(&host, "no", json!({})).await;
    assert_eq!((no.text().as_str(), no.is_error), ("I will not", true));
}

#[tokio::test]
async fn updates_come_before_the_end() {
    let count = CustomTool::new("count", "", async |(): (), invocation: Invocation| {
        for step in 1..=3 {
            invocation.update(format!("step {step}"));
            tokio::task::yield_now().await;
        }
        Ok::<_, String>(invocation.call_id().to_owned())
    });
    let (_sandbox, host) = host([count]);
    let running = host.call(Call::new("count", json!({})).with_id("mine"), None);
    let events: Vec<Event> = running.collect().await;
    let [
        Event::Started,
        Event::Update(_),
        Event::Update(second),
        Event::Update(_),
        Event::Finished(Ok(outcome)),
    ] = &events[..]
    else {
        panic!("not these events in this order: {events:?}");
    };
    assert!(second.get().contains("step 2"), "{second}");
    assert_eq!(outcome.text(), "mine");
}

// ---- The boundary.

#[tokio::test]
async fn a_panic_is_an_error_of_its_call() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let tools = [
        CustomTool::new(
            "at_once",
            "",
            |(): (), _| -> std::future::Ready<Result<(), String>> { panic!("at once") },
        ),
        CustomTool::new("later", "", async |(): (), _| -> Result<(), String> {
            tokio::task::yield_now().await;
            panic!("later, {}", 2)
        }),
        CustomTool::new("odd", "", async |(): (), _| -> Result<(), String> {
            std::panic::panic_any(Bomb)
        }),
        CustomTool::new("at_the_end", "", |(): (), _| {
            let bomb = Bomb;
            std::future::poll_fn(move |_| {
                let _held = &bomb;
                std::task::Poll::Ready(Ok::<_, String>("done"))
            })
        }),
        CustomTool::blocking("blocking", "", |(): (), _| -> Result<(), String> {
            panic!("below")
        }),
        greet(),
    ];
    let (_sandbox, host) = host(tools);
    for (tool, text) in [
        ("at_once", "Tool `at_once` failed: it panicked: at once"),
        ("later", "Tool `later` failed: it panicked: later, 2"),
        ("odd", "Tool `odd` failed: it panicked"),
        (
            "at_the_end",
            "Tool `at_the_end` failed: it panicked: in drop",
        ),
        ("blocking", "it panicked: below"),
    ] {
        let outcome = outcome(&host, tool, json!({})).await;
        assert_eq!((outcome.text().as_str(), outcome.is_error), (text, true));
    }
    // The host is unchanged.
    assert_eq!(
        outcome(&host, "greet", json!({"name": "Ada"})).await.text(),
        "Hello Ada"
    );
}

#[tokio::test]
async fn a_panic_after_a_cancel_stays_inside() {
    struct Bomb;
    impl Drop for Bomb {
        fn drop(&mut self) {
            panic!("in drop");
        }
    }
    let deaf = CustomTool::new("deaf", "", async |(): (), invocation: Invocation| {
        let _bomb = Bomb;
        invocation.update("deaf");
        pending::<Result<(), String>>().await
    });
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox.path())
        .tool(deaf)
        .limits(impatient())
        .build();
    let host = host.expect("a host");
    let outcome = host
        .call(
            Call::new("deaf", json!({})),
            Some(Duration::from_millis(20)),
        )
        .outcome()
        .await
        .expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
}

fn impatient() -> Limits {
    Limits {
        grace: Duration::from_millis(50),
        ..Limits::default()
    }
}

#[tokio::test]
async fn a_call_is_aborted_by_its_id() {
    let stops = CustomTool::new("stops", "", async |(): (), invocation: Invocation| {
        invocation.update("waiting");
        invocation.cancelled().await;
        Ok::<_, String>(format!("{:?}", invocation.stop_reason()))
    });
    let deaf = CustomTool::new("deaf", "", async |(): (), invocation: Invocation| {
        invocation.update("waiting");
        pending::<Result<(), String>>().await
    });
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox.path())
        .tools([stops, deaf])
        .limits(impatient())
        .build();
    let host = host.expect("a host");
    let mut polite = host.call(Call::new("stops", json!({})).with_id("one"), None);
    let mut deaf = host.call(Call::new("deaf", json!({})).with_id("two"), None);
    for running in [&mut polite, &mut deaf] {
        while !matches!(running.next().await, Some(Event::Update(_))) {}
    }
    assert!(!host.abort("three"));
    assert!(host.abort("one"));
    let outcome = polite.outcome().await.expect("an outcome");
    assert_eq!(outcome.text(), "Some(Cancelled)");
    assert_eq!(
        (outcome.stopped, outcome.is_error),
        (Some(Stopped::Cancelled), false)
    );
    assert_eq!(host.abort_all(), 1);
    let outcome = deaf.outcome().await.expect("an outcome");
    assert_eq!(
        (outcome.stopped, outcome.is_error),
        (Some(Stopped::Cancelled), true)
    );
    assert!(
        outcome.text().contains("it did not end by itself"),
        "{}",
        outcome.text()
    );
    assert!(!host.abort("one"), "what has ended is not known any more");
}

#[tokio::test]
async fn a_deadline_before_the_end_of_the_host_stays_the_reason() {
    let (release, released) = tokio::sync::oneshot::channel::<()>();
    let released = Arc::new(tokio::sync::Mutex::new(Some(released)));
    let slow = CustomTool::new("slow", "", move |(): (), invocation: Invocation| {
        let released = released.clone();
        async move {
            invocation.cancelled().await;
            invocation.update("late");
            let released = released.lock().await.take().ok_or("a second call")?;
            released.await.map_err(|_| "the test has ended")
        }
    });
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox.path()).tool(slow).build();
    let host = host.expect("a host");
    let timeout = Some(Duration::from_millis(1));
    let mut running = host.call(Call::new("slow", json!({})), timeout);
    while !matches!(running.next_event().await, Event::Update(_)) {}
    let mut shutdown = Box::pin(host.shutdown());
    assert!(futures::poll!(&mut shutdown).is_pending());
    release.send(()).expect("the tool waits");
    let outcome = running.outcome().await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Deadline));
    shutdown.await;
}

#[tokio::test]
async fn a_closure_is_dropped_at_once_after_a_kill() {
    let deaf = CustomTool::new("deaf", "", async |(): (), invocation: Invocation| {
        invocation.update("waiting");
        pending::<Result<(), String>>().await
    });
    let sandbox = Sandbox::with_home();
    let limits = Limits {
        grace: Duration::from_secs(3600),
        ..Limits::default()
    };
    let host = builder(&sandbox.path()).tool(deaf).limits(limits).build();
    let host = host.expect("a host");
    let mut running = host.call(Call::new("deaf", json!({})), None);
    while !matches!(running.next().await, Some(Event::Update(_))) {}
    let stopper = running.cancellation();
    stopper.cancel();
    stopper.kill();
    let outcome = running.outcome().await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert!(outcome.text().contains("it did not end by itself"));
}

#[tokio::test]
async fn blocking_work_leaves_the_caller_alone() {
    // This runtime has one thread, so a closure that blocked it would stop all other tasks.
    let (started, waits) = std::sync::mpsc::channel::<()>();
    let waits = std::sync::Mutex::new(waits);
    let blocks = CustomTool::blocking("blocks", "", move |(): (), invocation: Invocation| {
        invocation.update("begun");
        let waits = waits.lock().map_err(|_| "poisoned")?;
        waits.recv().map_err(|_| "nobody")?;
        Ok::<_, &str>("unblocked")
    });
    let (_sandbox, host) = host([blocks]);
    let mut running = host.call(Call::new("blocks", json!({})), None);
    while !matches!(running.next().await, Some(Event::Update(_))) {}
    started.send(()).expect("it waits");
    assert_eq!(
        running.outcome().await.expect("it runs").text(),
        "unblocked"
    );
}

#[test]
fn blocking_work_that_waits_for_a_thread_never_starts_once_it_is_cancelled() {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .max_blocking_threads(1)
        .build();
    runtime.expect("a runtime").block_on(async {
        let (free, waits) = std::sync::mpsc::channel::<()>();
        let waits = std::sync::Mutex::new(waits);
        let holds = CustomTool::blocking("holds", "", move |(): (), invocation: Invocation| {
            invocation.update("begun");
            let waits = waits.lock().map_err(|_| "poisoned")?;
            waits.recv().map_err(|_| "nobody")
        });
        let runs = Arc::new(AtomicUsize::new(0));
        let counted = runs.clone();
        let counts = CustomTool::blocking("counts", "", move |(): (), _| {
            Ok::<_, String>(counted.fetch_add(1, Ordering::SeqCst).to_string())
        });
        let (_sandbox, host) = host([holds, counts]);
        host.catalog().await;
        // The only thread is blocked.
        let mut holding = host.call(Call::new("holds", json!({})), None);
        while !matches!(holding.next().await, Some(Event::Update(_))) {}
        let cancelled = host.call(Call::new("counts", json!({})), None);
        cancelled.cancellation().cancel();
        let outcome = cancelled.outcome().await.expect("an outcome");
        let expected = "Tool was not executed because the run was aborted: Interrupted by user.";
        assert_eq!(outcome.text(), expected);
        assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
        free.send(()).expect("it waits");
        holding.outcome().await.expect("it runs");
        let next = host.call(Call::new("counts", json!({})), None).outcome();
        assert_eq!(next.await.expect("it runs").text(), "0");
        assert_eq!(runs.load(Ordering::SeqCst), 1);
    });
}

// ---- The builder.

#[tokio::test]
async fn tools_of_the_program_come_first() {
    let sandbox = Sandbox::with_home();
    sandbox.write("greet.ts", &module("greet"));
    sandbox.write("other.ts", &module("other"));
    let own = [greet(), tool("zeta", || Ok(()))];
    let host = builder(&sandbox.path())
        .tools(own)
        .paths(["greet.ts", "other.ts"])
        .build();
    let host = host.expect("a host");
    for _ in 0..2 {
        let catalog = host.catalog().await;
        let names: Vec<&str> = catalog.tools().map(|tool| tool.name.as_str()).collect();
        assert_eq!(names, ["greet", "zeta", "other"]);
        let problem = &catalog.problems[0];
        assert_eq!(
            problem.message,
            "Tool name \"greet\" conflicts with existing tool"
        );
        assert_eq!(
            outcome(&host, "greet", json!({"name": "Ada"})).await.text(),
            "Hello Ada"
        );
        assert_eq!(outcome(&host, "other", json!({})).await.text(), "other");
        host.refresh().await;
    }
    host.shutdown().await;
    let error = ended(&host, "greet", json!({"name": "Ada"})).await;
    let kind = error.expect_err("it is over").kind();
    assert_eq!(kind, ErrorKind::Stopped(Stopped::HostShutdown));
}

#[tokio::test]
async fn they_can_be_called_before_anything_is_looked_for() {
    let (_sandbox, host) = host([greet()]);
    assert_eq!(
        outcome(&host, "greet", json!({"name": "Ada"})).await.text(),
        "Hello Ada"
    );
}

#[test]
fn an_invalid_host_is_refused_with_the_reason() {
    let sandbox = Sandbox::with_home();
    let error = |builder: HostBuilder| {
        let error = builder.build().err().expect("it cannot be");
        assert_eq!(error.kind(), ErrorKind::Usage);
        error.message().to_owned()
    };
    let new = || builder(&sandbox.path());
    let twice = "two tools of the program have the name `greet`";
    assert_eq!(error(new().tools([greet(), greet()])), twice);
    assert_eq!(
        error(new().tool(greet()).built_in_tool_names(["greet"])),
        twice
    );
    assert_eq!(
        error(new().tool(tool("", || Ok(())))),
        "a custom tool without a name"
    );
    let list = CustomTool::new("list", "", async |_: Vec<u8>, _| Ok::<_, String>(()));
    assert_eq!(
        error(new().tool(list)),
        "the parameters of the custom tool `list` are not an object"
    );
    let odd = greet().parameters(json!({"type": "object", "properties": {"a": {"type": "text"}}}));
    assert!(
        error(new().tool(odd)).starts_with("the schema of the custom tool `greet` cannot be used")
    );
    assert!(error(new().cwd("/nowhere/at/all")).contains("/nowhere/at/all"));
    let config = crate::sandbox::resolve(Flags::default(), &env(&sandbox.path())).expect("one");
    assert!(error(new().config(config)).contains("leaves no room"));
}

#[tokio::test]
async fn trust_is_the_programs_to_decide() {
    let sandbox = Sandbox::with_home();
    sandbox.write(".omp/tools/project.ts", &module("project"));
    for (policy, is_trusted) in [
        (TrustPolicy::Granted, false),
        (TrustPolicy::Always, true),
        (TrustPolicy::Never, false),
    ] {
        let host = builder(&sandbox.path())
            .trust(policy)
            .build()
            .expect("a host");
        let catalog = host.catalog().await;
        let entry = catalog.find("project").expect("it is listed");
        assert_eq!(entry.tool.trusted, is_trusted, "{policy:?}");
        let ended = ended(&host, "project", json!({})).await;
        assert_eq!(ended.is_ok(), is_trusted, "{policy:?}");
    }
    // A grant counts for the first policy and not for the last.
    let trusted = sandbox.sh("haft trust --yes");
    assert_eq!(trusted.code, 0, "{}", trusted.output);
    for (policy, is_trusted) in [(TrustPolicy::Granted, true), (TrustPolicy::Never, false)] {
        let host = builder(&sandbox.path())
            .trust(policy)
            .build()
            .expect("a host");
        let catalog = host.catalog().await;
        let entry = catalog.find("project").expect("it is listed");
        assert_eq!(entry.tool.trusted, is_trusted, "{policy:?}");
    }
}

#[tokio::test]
async fn approval_looks_at_the_tier_or_at_the_arguments() {
    let sandbox = Sandbox::with_home();
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = asked.clone();
    let per_call = CustomTool::new("per_call", "", async |_: Value, _| Ok::<_, String>("ran"))
        .approval_for(move |arguments| {
            counter.fetch_add(1, Ordering::SeqCst);
            match arguments["harm"].as_bool() {
                Some(false) => ApprovalRequirement::of_tier(Tier::Read),
                Some(true) => ApprovalRequirement::of_tier(Tier::Exec),
                None => panic!("it does not know"),
            }
        });
    let host = builder(&sandbox.path())
        .approval_mode(ApprovalMode::AlwaysAsk)
        .tools([greet(), tool("unsaid", || Ok("ran")), per_call])
        .build()
        .expect("a host");
    assert_eq!(
        outcome(&host, "greet", json!({"name": "Ada"})).await.text(),
        "Hello Ada"
    );
    for (tool, arguments) in [
        ("unsaid", json!({})),
        ("per_call", json!({"harm": true})),
        ("per_call", json!({})),
    ] {
        let error = ended(&host, tool, arguments)
            .await
            .expect_err("nobody can be asked");
        assert_eq!(error.kind(), ErrorKind::Denied);
    }
    assert_eq!(
        outcome(&host, "per_call", json!({"harm": false}))
            .await
            .text(),
        "ran"
    );
    assert_eq!(asked.load(Ordering::SeqCst), 3);
}

/// A user that gives the same answer to every question.
struct Person(Answer);

#[async_trait::async_trait]
impl UserInterface for Person {
    async fn ask(&self, _question: Question) -> Answer {
        self.0.clone()
    }
}

#[tokio::test]
async fn the_words_of_the_sdk() {
    let asks = CustomTool::new("asks", "", async |(): (), invocation: Invocation| {
        let question = Prompt::Input {
            title: "Who?".into(),
            placeholder: None,
        };
        let has_user = invocation.has_user();
        let answer = invocation.ask(question).await;
        Ok::<_, String>(format!("{has_user} {answer:?}"))
    });
    let sandbox = Sandbox::with_home();
    sandbox.write("hears.ts", HEARS);
    let person = |text: &str| Arc::new(Person(Answer::Text(text.into())));
    let host = builder(&sandbox.path())
        .tool(asks)
        .paths(["hears.ts"])
        .ui(person("Ada"))
        .build()
        .expect("a host");
    let changes = host.subscribe();
    let names: Vec<String> = host
        .list()
        .await
        .into_iter()
        .map(|tool| tool.name)
        .collect();
    assert_eq!(names, ["asks", "hears"]);
    assert_eq!(host.reload().await.entries.len(), 2);
    assert_eq!(
        changes.borrow().generation,
        host.changes().borrow().generation
    );

    let asked = outcome(&host, "asks", json!({})).await.text();
    assert_eq!(asked, r#"true Text("Ada")"#);
    host.set_ui_context(Some(person("Bo")));
    let asked = outcome(&host, "asks", json!({})).await.text();
    assert_eq!(asked, r#"true Text("Bo")"#);
    let other = host.with_ui(person("Cy"));
    let asked = outcome(&other, "asks", json!({})).await.text();
    assert_eq!(asked, r#"true Text("Cy")"#);
    host.set_ui_context(None);
    let asked = outcome(&host, "asks", json!({})).await.text();
    assert_eq!(asked, "false Dismissed");

    let start = json!({"reason": "start"});
    host.emit_session_event(&start).await.expect("an event");
    let with_history = json!({"event": {"reason": "switch"}, "branch": [{"type": "x", "id": "7"}]});
    host.emit_session_event(&with_history)
        .await
        .expect("an event");
    let heard = outcome(&host, "hears", json!({})).await.text();
    assert_eq!(heard, "start 0, switch 1");
    let error = host.emit_session_event(&json!({"what": 1})).await;
    assert_eq!(error.expect_err("no event").kind(), ErrorKind::Usage);
}

const HEARS: &str = r#"
const heard = [];
export default () => ({
  name: "hears", description: "one", parameters: { type: "object" },
  execute: async () => ({ content: [{ type: "text", text: heard.join(", ") }] }),
  onSession: (event, ctx) => void heard.push(`${event.reason} ${ctx.sessionManager.getBranch().length}`),
});
"#;

// ---- The loader's shapes (spec omp 1).

#[tokio::test]
async fn the_loader_gives_tools_and_errors() {
    let sandbox = Sandbox::with_home();
    sandbox.write(".omp/tools/found.ts", &module("found"));
    sandbox.write("named.ts", &module("named"));
    sandbox.write("taken.ts", &module("bash"));
    sandbox.write("broken.ts", "throw new Error('no')");
    sandbox.write("empty.ts", "export const x = 1;");
    let loaded = builder(&sandbox.path())
        .trust(TrustPolicy::Always)
        .paths(["./named.ts", "taken.ts", "broken.ts", "empty.ts", "gone.ts"])
        .built_in_tool_names(["bash"])
        .load_custom_tools()
        .await
        .expect("it looks");
    let root = sandbox.path();
    let named = serde_json::to_value(&loaded.tools[1]).expect("it is data");
    assert_eq!(loaded.tools.len(), 2);
    let source = loaded.tools[0].source.as_ref().expect("it was found");
    assert_eq!(source.provider, "native");
    assert_eq!(
        named,
        json!({
            "path": root.join("named.ts"),
            "resolvedPath": root.join("named.ts"),
            "tool": {
                "name": "named", "label": "named", "description": "one",
                "parameters": {"type": "object"}, "hidden": false, "approval": "exec"
            },
            "source": {"provider": "config", "providerName": "Config", "level": "project"},
        })
    );
    let mut errors = loaded.errors.iter().map(|error| {
        let name = error.path.file_name().expect("a file").to_string_lossy();
        format!("{name}: {}", error.error)
    });
    assert_eq!(
        errors.next().as_deref(),
        Some("taken.ts: Tool name \"bash\" conflicts with existing tool")
    );
    assert_eq!(
        errors.next().as_deref(),
        Some("broken.ts: Failed to load tool: no")
    );
    assert_eq!(
        errors.next().as_deref(),
        Some("empty.ts: Tool must export a default function")
    );
    let missing = errors.next().expect("an error");
    assert!(
        missing.starts_with("gone.ts: Failed to load tool: Cannot find module"),
        "{missing}"
    );
    assert_eq!(errors.next(), None);
    assert_eq!(
        outcome(loaded.host(), "named", json!({})).await.text(),
        "named"
    );
}

#[tokio::test]
async fn an_untrusted_tool_is_an_error_of_the_loader() {
    let sandbox = Sandbox::with_home();
    sandbox.write(".omp/tools/found.ts", &module("found"));
    let loaded = builder(&sandbox.path())
        .load_custom_tools()
        .await
        .expect("it looks");
    assert_eq!(loaded.tools, []);
    assert_eq!(loaded.errors.len(), 1);
    let error = &loaded.errors[0];
    assert!(error.error.contains("is not trusted"), "{error:?}");
    assert!(
        error
            .hint
            .as_deref()
            .is_some_and(|hint| hint.contains("haft trust")),
        "{error:?}"
    );
}

#[tokio::test]
async fn paths_are_those_that_the_loader_takes_and_nothing_of_them_runs() {
    let sandbox = Sandbox::with_home();
    let root = sandbox.path();
    let ran = json!(root.join("ran"));
    let leaves = format!("import fs from 'node:fs'; fs.appendFileSync({ran}, 'it ran');");
    for (path, name) in [
        (".omp/tools/both.ts", "both"),
        (".omp/tools/last.ts", "last"),
        (".omp/tools/deep/index.ts", "deep"),
        ("home/.omp/agent/tools/both.ts", "hidden"),
        ("home/.omp/agent/tools/own.ts", "own"),
        (".claude/tools/more.ts", "more"),
        ("named.ts", "named"),
    ] {
        sandbox.write(path, &format!("{leaves}\n{}", module(name)));
    }
    sandbox.write(".omp/tools/broken.ts", "throw new Error('no')");
    let looks = |policy| {
        let named = ["./named.ts", "~/../.omp/tools/last.ts", "gone.ts"];
        builder(&root).trust(policy).paths(named)
    };
    for policy in [TrustPolicy::Never, TrustPolicy::Always] {
        let is_trusted = policy == TrustPolicy::Always;
        let listed = looks(policy).discover_custom_tool_paths().await;
        let listed = listed.expect("it looks");
        assert!(!root.join("ran").exists(), "something ran");
        let names = listed.iter().map(|found| {
            let path = Path::new(&found.path)
                .strip_prefix(&root)
                .expect("below it");
            let source = found.source.as_ref().expect("somebody found it");
            (path.display().to_string(), source.provider.as_str())
        });
        let names: Vec<_> = names.collect();
        let loaded = looks(policy).load_custom_tools().await.expect("it loads");
        let mut taken: Vec<_> = loaded.tools.iter().map(|tool| tool.path.clone()).collect();
        // The tools that run keep their order.
        let order = |path: &Path| {
            listed
                .iter()
                .position(|found| Path::new(&found.path) == path)
        };
        assert!(taken.iter().map(|path| order(path)).is_sorted());
        for tool in &loaded.tools {
            let found = &listed[order(&tool.path).expect("it is listed")];
            assert_eq!(found.source, tool.source);
        }
        taken.extend(loaded.errors.iter().map(|error| error.path.clone()));
        taken.sort();
        let mut paths: Vec<_> = listed
            .iter()
            .map(|found| Path::new(&found.path).to_owned())
            .collect();
        paths.sort();
        assert_eq!(taken, paths);
        let ran = std::fs::remove_file(root.join("ran"));
        assert!(ran.is_ok(), "the loader runs what may run");
        let hidden = ("home/.omp/agent/tools/both.ts".to_owned(), "native");
        // The user's file is restored if the project's may not run.
        assert_eq!(names.contains(&hidden), !is_trusted, "{names:?}");
        loaded.host().shutdown().await;
    }
    let nowhere =
        haft::compat::omp::discover_custom_tool_paths(["named.ts"], root.join("gone")).await;
    assert_eq!(nowhere.expect_err("no directory").kind(), ErrorKind::Usage);
}

fn module(name: &str) -> String {
    format!(
        "export default () => ({{ name: '{name}', description: 'one', parameters: {{ type: 'object' }}, \
         execute: async () => ({{ content: [{{ type: 'text', text: '{name}' }}] }}) }});"
    )
}

// ---- The example.

#[tokio::test]
async fn the_example_agent_works() {
    let sandbox = Sandbox::with_home();
    sandbox.write("README.md", "A short text about nothing\n");
    sandbox.write(".omp/tools/shout.ts", SHOUT);
    let root = sandbox.path();
    let host = agent::host(&root).env(env(&root)).build().expect("a host");
    let model = agent::ScriptedModel::new([
        agent::Turn::Call {
            tool: "count_words",
            arguments: json!({"path": "README.md", "at_least": 4}),
        },
        agent::Turn::Call {
            tool: "count_words",
            arguments: json!({"path": "none.md"}),
        },
        agent::Turn::Call {
            tool: "count_words",
            arguments: json!({"file": "README.md"}),
        },
        agent::Turn::Call {
            tool: "shout",
            arguments: json!({"text": "done"}),
        },
        agent::Turn::Say("It has 4 words that count."),
    ]);
    let transcript = agent::run(&host, model, "How long?")
        .await
        .expect("it runs");
    host.shutdown().await;
    insta::assert_snapshot!(transcript.join("\n"), @r#"
    user: How long?
    call: count_words {"path":"README.md","at_least":4}
    update: {"content":[{"type":"text","text":"reading README.md"}],"details":{}}
    result: 4 words
    call: count_words {"path":"none.md"}
    update: {"content":[{"type":"text","text":"reading none.md"}],"details":{}}
    result: the tool failed: No such file or directory (os error 2)
    call: count_words {"file":"README.md"}
    result: error: Validation failed for tool "count_words":
      - root: must not have the property "file"
      - path: is required

    Received arguments:
    {
      "file": "README.md"
    }
    call: shout {"text":"done"}
    result: DONE
    model: It has 4 words that count.
    "#);
}

const SHOUT: &str = r#"
export default (pi) => ({
  name: "shout",
  description: "Says it louder",
  parameters: pi.zod.object({ text: pi.zod.string() }),
  execute: async (_id, { text }) => ({ content: [{ type: "text", text: text.toUpperCase() }] }),
});
"#;
