//! Code mode: scripts that call tools, their approval, limits and failures.

use std::sync::Arc;
use std::sync::Mutex;

use async_trait::async_trait;
use haft::approval::{
    AnswerScope, ApprovalMode, ApprovalPolicy, ApprovalRequest, Approver, Decision,
    RunApprovalRequest, RunDecision,
};
use haft::call::Stopped;
use haft::code::{self, CodeRun};
use haft::config::Env;
use haft::{CustomTool, Event, Host, HostBuilder, Invocation, Outcome, Tier, ToolOutput};
use serde_json::{Value, json};

use crate::pty::{Terminal, Tools};
use crate::sandbox::Sandbox;

/// Tools of the tests, as closures of the program.
pub(crate) fn builder(sandbox: &Sandbox) -> HostBuilder {
    let env = Env {
        current_dir: Some(sandbox.path()),
        home: Some(sandbox.path().join("home")),
        ..Env::default()
    };
    let tool = |name: &str, tier: Tier, answer: fn(Value) -> Result<ToolOutput, String>| {
        CustomTool::new(
            name,
            format!("The tool {name}"),
            move |given: Value, _call: Invocation| async move { answer(given) },
        )
        .parameters(json!({"type": "object", "properties": {"n": {"type": "number"}}}))
        .approval(tier)
    };
    Host::builder()
        .env(env)
        .without_discovery()
        .tool(tool("echo", Tier::Read, |given| {
            Ok(given.to_string().into())
        }))
        .tool(tool("git-log", Tier::Read, |_| Ok("two commits".into())))
        .tool(tool("fails", Tier::Read, |_| {
            Err("it does not work".to_owned())
        }))
        .tool(tool("write_file", Tier::Write, |_| Ok("written".into())))
        .tool(tool("push", Tier::Exec, |_| Ok("pushed".into())))
        .tool(tool("rich", Tier::Read, |_| {
            Ok(ToolOutput::text("seen")
                .with_image("aGFmdA==", "image/png")
                .with_details(json!({"k": 1})))
        }))
        .tool(
            tool("typed", Tier::Read, |given| {
                Ok(ToolOutput::from(json!({"n": given["n"]})))
            })
            .output_schema(json!({"type": "object", "properties": {"n": {"type": "number"}}})),
        )
        .tool(
            CustomTool::new(
                "waits",
                "Waits until it is stopped",
                async |(): (), call: Invocation| {
                    call.cancelled().await;
                    Ok::<_, String>("stopped")
                },
            )
            .approval(Tier::Read),
        )
}

pub(crate) async fn run(host: &Host, script: &str) -> Outcome {
    let running = code::run(host, CodeRun::new(script));
    running.outcome().await.expect("the script was run")
}

/// Answers as it is told, and notes what it was asked.
struct Answers {
    for_run: RunDecision,
    each: Decision,
    asked: Mutex<Vec<String>>,
    /// The tool and the scope of each question about one call.
    scopes: Mutex<Vec<(String, AnswerScope)>>,
}

impl Answers {
    fn new(for_run: RunDecision, each: Decision) -> Arc<Answers> {
        Arc::new(Answers {
            for_run,
            each,
            asked: Mutex::default(),
            scopes: Mutex::default(),
        })
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().expect("not poisoned").clone()
    }

    fn note(&self, text: String) {
        self.asked.lock().expect("not poisoned").push(text);
    }
}

#[async_trait]
impl Approver for Answers {
    async fn ask(&self, request: ApprovalRequest) -> Decision {
        self.note(format!("{} {}", request.tool, request.arguments));
        let mut scopes = self.scopes.lock().expect("not poisoned");
        scopes.push((request.tool, request.scope));
        self.each
    }

    async fn ask_for_run(&self, request: RunApprovalRequest) -> RunDecision {
        let calls = request.calls.iter();
        let calls: Vec<String> = calls
            .map(|call| format!("{} {}", call.tool, call.arguments))
            .collect();
        self.note(format!("run: {}", calls.join(", ")));
        self.for_run
    }
}

#[tokio::test]
async fn values_of_scripts_and_results_of_tools() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    for (script, text) in [
        ("return 1 + 1", "2"),
        // The last expression is the result.
        ("const a: number = 20;\na * 2", "40"),
        (
            "return { a: [1n, new Map([[1, 2]]), undefined] }",
            r#"{"a":["1",[[1,2]],null]}"#,
        ),
        ("async () => 'from a function'", "from a function"),
        ("```ts\nawait tools.git_log()\n```", "two commits"),
        ("await tools['git-log']({})", "two commits"),
        ("await tools.echo({ n: 1 })", r#"{"n":1}"#),
        ("(await tools.typed({ n: 3 })).n", "3"),
        ("(await tools.rich()).details", r#"{"k":1}"#),
        ("(await tools.rich()).text", "seen"),
        ("(await tools.fails.raw({})).isError", "true"),
        (
            "(await tools.typed.raw({ n: 1 })).structuredContent",
            r#"{"n":1}"#,
        ),
        (
            "console.log('a', { b: 1 }); text(2); console.error(new Error('c'))",
            "a {\"b\":1}\n2\nError: c",
        ),
        (
            "await new Promise((done) => setTimeout(done, 1)); 'late'",
            "late",
        ),
        (
            "let n = 0; for (const _ of [1, 2]) { n += (await tools.echo()).length } n",
            "4",
        ),
        ("'echo' in tools && !('nothing' in tools)", "true"),
        ("Object.keys(tools).length", "8"),
        ("typeof args", "object"),
        (
            "try { await tools.fails() } catch (e) { return `${e.name}: ${e.tool}: ${e.message}` }",
            "ToolError: fails: it does not work",
        ),
        // Calls that are not awaited are part of the run.
        (
            "tools.echo().then((value) => console.log('later', value)); undefined",
            "later {}",
        ),
        (
            "await tools.$types('typed')",
            "/** The tool typed */\ntools.typed(args?: {\n  n?: number;\n}): Promise<{\n  n?: number;\n}>;\n",
        ),
        (
            "(await tools.$search('log')).split('\\n')[0]",
            "1 of 8 tools:",
        ),
    ] {
        let outcome = run(&host, script).await;
        assert_eq!(outcome.text(), text, "{script}");
        assert!(!outcome.is_error, "{script}");
    }
    let empty = run(&host, "let x = 1;").await;
    assert!(
        empty.text().starts_with("The code ended without a result."),
        "{}",
        empty.text()
    );
    let image = run(
        &host,
        "const { images: [one] } = await tools.rich(); image(one); return 'x'",
    )
    .await;
    assert_eq!(image.content.len(), 2);
    assert_eq!(image.details["value"], "x");
    assert_eq!(
        image.details["calls"],
        json!([{"tool": "rich", "state": "done"}])
    );
    host.shutdown().await;
}

#[tokio::test]
async fn failures_name_the_place_in_the_text_of_the_author() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    for (script, begin) in [
        (
            "const a: number = 1;\nnull.x",
            "TypeError: Cannot read properties of null (reading 'x')\n    at script.ts:2:6",
        ),
        (
            "type A = {\n  b: string;\n};\nthrow new Error('here')",
            "Error: here\n    at script.ts:4:7",
        ),
        (
            "await tools.echo();\nawait tools.fails()",
            "ToolError: it does not work\n    at script.ts:2:",
        ),
        ("throw 'text'", "Thrown: text"),
        (
            "const x = ;",
            "SyntaxError: Expression expected\n    at script.ts:1:11",
        ),
        (
            "import fs from 'fs'",
            "SyntaxError: `import` and `export` are not available: a script has only `tools`\n    at script.ts:1:1",
        ),
        (
            "const fs = await import('fs')",
            "SyntaxError: `import()` is not available: a script has only `tools`\n    at script.ts:1:18",
        ),
        (
            "})(); (function () {",
            "SyntaxError: The brackets of the script do not match",
        ),
        (
            "await tools.gitlog()",
            "ToolError: there is no tool `gitlog`; the nearest are git_log",
        ),
        (
            "await tools.echo({ n: 'x' })",
            "ToolError: Validation failed for tool \"echo\":\n  - n: ",
        ),
        (
            "const a = {}; a.a = a; await tools.echo(a)",
            "TypeError: Converting circular structure to JSON",
        ),
        (
            "await tools.echo(() => 1)",
            "RangeError: the arguments of a tool are an object",
        ),
        (
            "Promise.reject(new Error('nobody hears')); 1",
            "Error: nobody hears\n    at script.ts:1:16",
        ),
        (
            "setTimeout(() => { throw new Error('in a timer') }, 1)",
            "Error: in a timer\n    at script.ts:1:26",
        ),
        (
            "await new Promise(() => {})",
            "the script waits for a promise that nothing settles",
        ),
    ] {
        let outcome = run(&host, script).await;
        assert!(outcome.is_error, "{script}");
        let text = outcome.text();
        assert!(
            text.starts_with(begin),
            "{script}:\n{text}\nexpected\n{begin}"
        );
    }
    host.shutdown().await;
}

#[tokio::test]
async fn a_failure_says_what_was_printed_and_what_is_not_undone() {
    let sandbox = Sandbox::with_home();
    let policy = ApprovalPolicy {
        mode: ApprovalMode::Yolo,
        is_chosen: true,
        ..ApprovalPolicy::default()
    };
    let host = builder(&sandbox).approval(policy).build().expect("a host");
    let script =
        "console.log('first');\nawait tools.write_file({ n: 1 });\nawait tools.echo();\nnull.x";
    let outcome = run(&host, script).await;
    assert_eq!(
        outcome.text(),
        "TypeError: Cannot read properties of null (reading 'x')\n    at script.ts:4:6\n\n\
         Printed before:\nfirst\n\n\
         Calls that were made and are not undone:\n- write_file {\"n\":1}"
    );
    host.shutdown().await;
}

#[tokio::test]
async fn writes_are_asked_about_once_for_each_tool_and_run_with_all_that_wait() {
    let sandbox = Sandbox::with_home();
    let script = "
        await tools.echo();
        await Promise.all([tools.write_file({ n: 1 }), tools.write_file({ n: 2 }), tools.push()]);
        await tools.write_file({ n: 3 });
        return 'all'";
    let host = builder(&sandbox).build().expect("a host");
    let yes = Answers::new(RunDecision::ApprovedForRun, Decision::Denied);
    let asking = host.asking(yes.clone());
    assert_eq!(run(&asking, script).await.text(), "all");
    let question = r#"run: write_file {"n":1}, write_file {"n":2}, push {}"#;
    assert_eq!(yes.asked(), [question]);
    // Another run asks again.
    assert_eq!(run(&asking, "await tools.push()").await.text(), "pushed");
    assert_eq!(yes.asked(), [question, "run: push {}"]);

    let each = Answers::new(RunDecision::EachCall, Decision::Approved);
    assert_eq!(run(&host.asking(each.clone()), script).await.text(), "all");
    assert_eq!(
        each.asked(),
        [
            question,
            r#"write_file {"n":1}"#,
            r#"write_file {"n":2}"#,
            "push {}",
            r#"write_file {"n":3}"#,
        ]
    );

    let no = Answers::new(RunDecision::Denied, Decision::Approved);
    let refused = "for (const n of [1, 2]) { try { await tools.push({ n }) } catch (e) { console.log(e.message) } }";
    assert_eq!(
        run(&host.asking(no.clone()), refused).await.text(),
        "Tool call denied by user: push\nTool call denied by user: push"
    );
    assert_eq!(no.asked().len(), 1);

    // Without a user, reading goes on, and everything else is refused.
    let alone = run(&host, "await tools.echo(); await tools.push()").await;
    let text = alone.text();
    assert!(
        text.contains("requires approval but no interactive UI available"),
        "{text}"
    );
    assert!(text.contains("--approval-mode yolo"), "{text}");
    assert!(!text.contains("not undone"), "{text}");
    host.shutdown().await;
}

#[tokio::test]
async fn a_rule_that_asks_each_time_is_asked_each_time() {
    let sandbox = Sandbox::with_home();
    let policy = ApprovalPolicy {
        tools: [("push".to_owned(), haft::approval::Rule::Prompt)].into(),
        ..ApprovalPolicy::default()
    };
    let host = builder(&sandbox).approval(policy).build().expect("a host");
    let answers = Answers::new(RunDecision::ApprovedForRun, Decision::Approved);
    let script = "await tools.push(); await tools.push(); return 1";
    assert_eq!(run(&host.asking(answers.clone()), script).await.text(), "1");
    assert_eq!(answers.asked(), ["push {}", "push {}"]);
    host.shutdown().await;
}

#[tokio::test]
async fn a_tool_that_needs_an_explicit_yes_is_asked_each_time() {
    let sandbox = Sandbox::with_home();
    // It declares no harm, so only an explicit yes lets it run.
    let yaml = sandbox.write("undeclared.yaml", "description: d\nbash: echo ran\n");
    let module = sandbox.write(
        "own.ts",
        r#"export default () => ["own", "forced"].map((name) => ({
          name, description: name, parameters: { type: "object" },
          approval: name === "own" ? "write" : { tier: "read", override: true },
          execute: async () => ({ content: [{ type: "text", text: name }] }) }))"#,
    );
    let host = builder(&sandbox)
        .paths([yaml.display().to_string(), module.display().to_string()])
        .build()
        .expect("a host");
    let answers = Answers::new(RunDecision::ApprovedForRun, Decision::Approved);
    let script = "
        for (const _ of [1, 2]) await tools.undeclared();
        for (const _ of [1, 2]) await tools.forced();
        for (const _ of [1, 2]) await tools.own();
        return 'all'";
    assert_eq!(
        run(&host.asking(answers.clone()), script).await.text(),
        "all"
    );
    let each = [
        "undeclared {}",
        "undeclared {}",
        "forced {}",
        "forced {}",
        "run: own {}",
    ];
    assert_eq!(answers.asked(), each);
    // Only an answer about a tool with a file, for which the mode asks, can hold for later calls.
    let scopes = [
        ("undeclared", AnswerScope::Call),
        ("forced", AnswerScope::Call),
        ("own", AnswerScope::Tool),
        ("push", AnswerScope::Run),
    ];
    let answers = Answers::new(RunDecision::EachCall, Decision::Approved);
    let script =
        "await tools.undeclared(); await tools.forced(); await tools.own(); await tools.push()";
    assert_eq!(
        run(&host.asking(answers.clone()), script).await.text(),
        "pushed"
    );
    let asked = answers.scopes.lock().expect("not poisoned").clone();
    assert_eq!(asked, scopes.map(|(tool, scope)| (tool.to_owned(), scope)));
    host.shutdown().await;
}

#[tokio::test]
async fn cancelling_a_run_cancels_its_calls() {
    let sandbox = Sandbox::with_home();
    let host = builder(&sandbox).build().expect("a host");
    let script = "await Promise.all([tools.waits(), tools.waits()])";
    let mut running = code::run(&host, CodeRun::new(script));
    let outcome = loop {
        match running.next_event().await {
            Event::Update(update) => {
                assert!(update.get().contains("now: waits"), "{update}");
                running.cancellation().cancel();
            }
            Event::Started => {}
            Event::Finished(ended) => break ended.expect("an outcome"),
        }
    };
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    // It may have been cancelled before its second call.
    let calls = outcome.details["calls"].as_array().expect("a list");
    let failed = json!({"tool": "waits", "state": "failed"});
    assert!(
        !calls.is_empty() && calls.iter().all(|call| *call == failed),
        "{calls:?}"
    );
    assert_eq!(host.abort_all(), 0);
    host.shutdown().await;
}

#[tokio::test]
async fn each_limit_has_its_own_error() {
    let sandbox = Sandbox::with_home();
    let others = builder(&sandbox).build().expect("a host");
    let other = others.clone();
    let slow = CustomTool::new(
        "slow",
        "Runs another script until the time of that one is up",
        move |(): (), _: Invocation| {
            let waits = CodeRun::new("await new Promise((done) => setTimeout(done, 60000))");
            let running = code::run(&other, waits.timeout_ms(1_000));
            async move {
                let outcome = running.outcome().await.expect("the script was run");
                Ok::<_, String>(outcome.text())
            }
        },
    );
    let host = builder(&sandbox)
        .tool(slow.approval(Tier::Read))
        .build()
        .expect("a host");
    let endless = CodeRun::new("while (true) {}").timeout_ms(300);
    let outcome = code::run(&host, endless).outcome().await.expect("run");
    let text = "the script took longer than 0.3 s of its own time; waits for tools do not count";
    assert_eq!(outcome.text(), text);
    // The call takes as long as this script may take itself, and does not count. Timers count.
    let waits = CodeRun::new("`called: ${await tools.slow()}`").timeout_ms(1_000);
    let outcome = code::run(&host, waits).outcome().await.expect("run");
    let text =
        "called: the script took longer than 1 s of its own time; waits for tools do not count";
    assert_eq!(outcome.text(), text);
    for (script, begin) in [
        (
            "const all = []; while (true) all.push(new Array(1e6).fill(1))",
            "the script ran out of memory: it may use 128 MiB",
        ),
        (
            "while (true) console.log('x'.repeat(1e6))",
            "the script printed more than 16 MiB",
        ),
        (
            "'x'.repeat(17 << 20)",
            "the value of the script is larger than 16 MiB",
        ),
        (
            "await Promise.all(Array.from({ length: 257 }, () => tools.echo()))",
            "RangeError: a run may make 256 calls, and this is one more",
        ),
        (
            "await tools.echo({ text: 'x'.repeat(33 << 20) })",
            "RangeError: the arguments of a call are too large",
        ),
    ] {
        let outcome = run(&host, script).await;
        assert!(
            outcome.text().contains(begin),
            "{script}: {:.300}",
            outcome.text()
        );
    }
    let long = code::run(&host, CodeRun::new(format!("//{}", "x".repeat(256 << 10))));
    let error = long.outcome().await.expect_err("it is refused");
    assert_eq!(
        error.message(),
        "the code has 256 KiB, and may have at most 256 KiB"
    );
    // A long result goes to a file, and both ends stay.
    let outcome = run(&host, "'begin' + 'x'.repeat(100000) + 'end'").await;
    let text = outcome.text();
    assert!(text.len() < 41_000, "{}", text.len());
    let whole = outcome.kept_in.expect("it is kept");
    assert_eq!(
        std::fs::read_to_string(whole).expect("a file").len(),
        100_008
    );
    host.shutdown().await;
}

#[tokio::test]
async fn a_thousand_calls_run_where_the_user_allows_them() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "home/.config/haft/config.yaml",
        "code: {calls: 1000, calls_at_once: 100}\n",
    );
    let host = builder(&sandbox).build().expect("a host");
    let script =
        "(await Promise.all(Array.from({ length: 1000 }, (_, n) => tools.echo({ n })))).length";
    assert_eq!(run(&host, script).await.text(), "1000");
    host.shutdown().await;
}

// ---- At a terminal.

const DOWN: &str = "\x1b[B";
const ESCAPE: &str = "\x1b";

const SAVE: &str = r#"
export default () => ({ name: "save", description: "Saves", approval: "write",
  parameters: { type: "object", properties: { n: { type: "number" } } },
  execute: async (_id, { n }) => ({ content: [{ type: "text", text: `saved ${n}` }] }) });
"#;

/// Starts a script that calls `save` three times, two of them at once.
fn saves(Tools(sandbox): &Tools) -> Terminal {
    let script = "const two = await Promise.all([tools.save({ n: 1 }), tools.save({ n: 2 })]);
                  [...two, await tools.save({ n: 3 })].join()";
    let mut command = sandbox.haft();
    command.args(["--tool", "tools.ts", "run", "-e", script]);
    let mut terminal = Terminal::start(100, command.env("NO_COLOR", "1"));
    terminal.shows("A script waits for the approval of 2 calls");
    terminal.shows("save: 2 calls, tier write");
    terminal.shows("{\"n\":1}");
    terminal.shows("{\"n\":2}");
    terminal.shows("❯ Approve for this run");
    terminal.shows("Ask for each call");
    terminal.shows("Deny");
    terminal
}

/// Returns the rest of the output, without control sequences, and the exit code.
fn end(terminal: Terminal) -> (String, Option<i32>) {
    let (written, code) = terminal.end();
    let written = console::strip_ansi_codes(&written).replace('\r', "");
    (written, code)
}

#[test]
fn the_user_at_a_terminal_answers_once_for_all_calls_of_a_tool() {
    let tools = Tools::new(SAVE);
    let mut terminal = saves(&tools);
    terminal.types("\r");
    let (written, code) = end(terminal);
    assert!(written.contains("saved 1,saved 2,saved 3\n"), "{written}");
    // No further question was asked.
    assert!(!written.contains("{\"n\":3}"), "{written}");
    assert_eq!(code, Some(0));
}

#[test]
fn the_user_at_a_terminal_is_asked_for_each_call_until_always_is_the_answer() {
    let tools = Tools::new(SAVE);
    let mut terminal = saves(&tools);
    terminal.types(DOWN);
    terminal.shows("❯ Ask for each call");
    terminal.types("\r");
    terminal.shows("Allow tool: save");
    terminal.shows("{\"n\": 1}");
    terminal.shows("Approve or Deny? [a/d] ");
    terminal.types("a\r");
    terminal.shows("Allow tool: save");
    terminal.shows("`always` approves later calls of this tool too.");
    terminal.types("always\r");
    let (written, code) = end(terminal);
    assert!(written.contains("saved 1,saved 2,saved 3\n"), "{written}");
    assert_eq!(code, Some(0));
}

#[test]
fn the_user_at_a_terminal_refuses_the_calls_of_a_tool() {
    for keys in [&[DOWN, DOWN, "\r"][..], &[ESCAPE]] {
        let tools = Tools::new(SAVE);
        let mut terminal = saves(&tools);
        for key in keys {
            terminal.types(key);
        }
        terminal.shows("ToolError: Tool call denied by user: save");
        let (written, code) = end(terminal);
        assert!(!written.contains("saved"), "{written}");
        assert_eq!(code, Some(1));
    }
}

#[test]
fn a_terminal_is_no_script() {
    let Tools(sandbox) = Tools::new(SAVE);
    let mut command = sandbox.haft();
    command.args(["--tool", "tools.ts", "run"]);
    let mut terminal = Terminal::start(100, command.env("NO_COLOR", "1"));
    terminal.shows("error: no script is given");
    let (written, code) = end(terminal);
    assert!(written.contains("`haft run FILE`"), "{written}");
    assert_eq!(code, Some(2));
}
