//! Calls that become tasks: after a time, at once or never, by the settings of user and author; and
//! the questions of tasks.

use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};
use crate::sandbox::Sandbox;

const TOOLS: &str = r##"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute, rest) =>
  ({ name, description: name, parameters: { type: "object" }, execute, ...rest });

let heard = "nothing";

// Ends when it is aborted.
const endless = (_id, _args, onUpdate, _ctx, signal) => {
  heard = "started";
  onUpdate(says("working"));
  return new Promise((resolve) => signal.addEventListener("abort", () => { heard = "abort"; resolve(says("aborted")); }));
};
const quick = async () => ({ ...says("quick"), details: { n: 1 } });

export default (pi) => [
  tool("quick", quick),
  tool("heard", async () => says(heard)),
  tool("endless", endless),
  tool("slow", async (_id, _args, onUpdate) => {
    onUpdate(says("slowly"));
    await new Promise((resolve) => setTimeout(resolve, 400));
    return says("slow");
  }),
  tool("ask", async (_id, _args, _onUpdate, ctx) => says(String(await ctx.ui.input("Name?")))),
  tool("ask_then_endless", async (id, args, onUpdate, ctx, signal) => {
    const name = await ctx.ui.input("Name?");
    onUpdate(says(`hello ${name}`));
    return endless(id, args, onUpdate, ctx, signal);
  }),
  tool("quick_long", quick, { long: true }),
  tool("endless_never", endless, { mcp: { task: "never" } }),
  tool("endless_soon", endless, { mcp: { task: 0.05 } }),
  tool("ask_long", async (_id, _args, _onUpdate, ctx) => {
    const first = await ctx.ui.input("First?");
    return says(`${first} ${await ctx.ui.input(`After ${first}?`)}`);
  }, { mcp: { task: "always" } }),
  tool("odd", quick, { mcp: { task: "often", alwaysLoad: 1, searchHint: ["a"] } }),
  tool("odder", quick, { mcp: "always" }),
];
"##;

fn tasks() -> Value {
    json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}})
}

fn call(client: &mut Client, params: Value) -> Value {
    let mut params = params;
    params["_meta"] = mcp_2026(tasks());
    client.ask("tools/call", params)
}

fn kind(answer: &Value) -> &str {
    answer["result"]["resultType"]
        .as_str()
        .unwrap_or_else(|| panic!("no result: {answer}"))
}

/// Polls the task of the answer with `method` until `fits` accepts it.
fn task_until(client: &mut Client, created: &Value, fits: impl Fn(&Value) -> bool) -> Value {
    assert_eq!(kind(created), "task", "{created}");
    let params = json!({"taskId": created["result"]["taskId"], "_meta": mcp_2026(tasks())});
    loop {
        let task = client.ask("tasks/get", params.clone())["result"].take();
        if fits(&task) {
            return task;
        }
    }
}

fn update(client: &mut Client, created: &Value, responses: Value) {
    let params = json!({
        "taskId": created["result"]["taskId"],
        "inputResponses": responses,
        "_meta": mcp_2026(tasks()),
    });
    let told = client.ask("tasks/update", params);
    assert_eq!(told["result"], json!({"resultType": "complete"}), "{told}");
}

fn cancel(client: &mut Client, created: &Value) {
    let params = json!({"taskId": created["result"]["taskId"], "_meta": mcp_2026(tasks())});
    client.ask("tasks/cancel", params);
    task_until(client, created, |task| task["status"] == "cancelled");
}

/// Returns the one question of an answer or a task, with its key.
fn question(result: &Value) -> (String, String) {
    let requests = result["inputRequests"].as_object().expect("questions");
    let (key, request) = requests.iter().next().expect("a question");
    let message = request["params"]["message"].as_str().expect("a text");
    (key.clone(), message.to_owned())
}

fn accept(value: &str) -> Value {
    json!({"action": "accept", "content": {"answer": value}})
}

#[test]
fn a_call_waits_for_its_result_and_is_no_task_by_default() {
    let mut client = Client::silent(TOOLS, &[]);
    let found = client.ask("server/discover", json!({"_meta": mcp_2026(json!({}))}));
    let extensions = &found["result"]["capabilities"]["extensions"];
    assert!(
        extensions.get("io.modelcontextprotocol/tasks").is_some(),
        "{found}"
    );
    let mut meta = mcp_2026(tasks());
    meta["progressToken"] = json!("slow");
    let slow = client.request("tools/call", json!({"name": "slow", "_meta": meta}));
    let progress = client.next();
    assert_eq!(progress["method"], "notifications/progress", "{progress}");
    assert_eq!(progress["params"]["message"], "slowly");
    let ended = client.answer(slow);
    assert_eq!(kind(&ended), "complete", "{ended}");
    assert_eq!(text(&ended["result"]), "slow");
}

#[test]
fn a_call_becomes_a_task_when_its_time_is_over() {
    let mut client = Client::silent(TOOLS, &["--task-after", "50ms"]);
    let begun = call(&mut client, json!({"name": "endless"}));
    let task = task_until(&mut client, &begun, |_| true);
    assert_eq!(task["status"], "working");
    let wait_until = |client: &mut Client, heard: &str| {
        // A call that takes longer becomes a task, too.
        while call(client, json!({"name": "heard"}))["result"]["content"][0]["text"] != heard {}
    };
    // A call that is cancelled before its tool has started never reaches the tool.
    wait_until(&mut client, "started");
    cancel(&mut client, &begun);
    wait_until(&mut client, "abort");

    // Not for a client without support for tasks.
    let params = json!({"name": "slow", "_meta": mcp_2026(json!({}))});
    assert_eq!(kind(&client.ask("tools/call", params)), "complete");

    let refused = client.ask(
        "tasks/get",
        json!({"taskId": "x", "_meta": mcp_2026(json!({}))}),
    );
    assert_eq!(refused["error"]["code"], -32021, "{refused}");
    let refused = client.ask(
        "tasks/get",
        json!({"taskId": "x", "_meta": mcp_2026(tasks())}),
    );
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[test]
fn a_question_is_an_answer_and_no_task() {
    // Long enough for the question to come before the task.
    let mut client = Client::silent(TOOLS, &["--task-after", "3s"]);
    call(&mut client, json!({"name": "heard"}));
    for (name, rest) in [("ask", false), ("ask_then_endless", true)] {
        let asked = call(&mut client, json!({"name": name}));
        assert_eq!(kind(&asked), "input_required", "{asked}");
        let (key, message) = question(&asked["result"]);
        assert_eq!(message, format!("[{name}] Name?"));
        let params = json!({
            "name": name,
            "requestState": asked["result"]["requestState"],
            "inputResponses": {key: accept("Ada")},
        });
        let next = call(&mut client, params);
        if !rest {
            assert_eq!(text(&next["result"]), "Ada", "{next}")
        } else {
            task_until(&mut client, &next, |task| {
                let message = &task["statusMessage"];
                task["status"] == "working" && (message == "working" || message.is_null())
            });
            cancel(&mut client, &next);
        }
    }
}

#[test]
fn what_a_task_asks_is_asked_in_the_task() {
    let mut client = Client::silent(TOOLS, &[]);
    let begun = call(&mut client, json!({"name": "ask_long"}));
    for (message, value) in [
        ("[ask_long] First?", "one"),
        ("[ask_long] After one?", "two"),
    ] {
        let task = task_until(&mut client, &begun, |task| {
            task["status"] == "input_required" && question(task).1 == message
        });
        let (key, _) = question(&task);
        update(&mut client, &begun, json!({key: accept(value)}));
    }
    let done = task_until(&mut client, &begun, |task| task["status"] == "completed");
    assert_eq!(text(&done["result"]), "one two");
}

#[test]
fn author_and_user_say_when_a_tool_becomes_a_task() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox.write(
        "home/.config/haft/config.yaml",
        "mcp:\n  task_after: never\n  tools:\n    'q*': {task: always}\n    quick: {task: never}\n    '*_soon': {search_hint: soon}\n",
    );
    let mut client = Client::within(sandbox, &[]);
    let long = call(&mut client, json!({"name": "quick_long"}));
    let done = task_until(&mut client, &long, |task| task["status"] == "completed");
    assert_eq!(text(&done["result"]), "quick");
    assert_eq!(done["result"].get("structuredContent"), None, "{done}");
    assert_eq!(done["result"]["_meta"]["haft/details"], json!({"n": 1}));
    // The user's setting for a name outranks the one for a pattern.
    let quick = call(&mut client, json!({"name": "quick"}));
    assert_eq!(kind(&quick), "complete");
    let soon = call(&mut client, json!({"name": "endless_soon"}));
    task_until(&mut client, &soon, |task| task["status"] == "working");
    cancel(&mut client, &soon);

    let mut client = Client::silent(TOOLS, &["--task-after", "always"]);
    let quick = call(&mut client, json!({"name": "quick"}));
    task_until(&mut client, &quick, |task| task["status"] == "completed");
    let mut meta = mcp_2026(tasks());
    meta["progressToken"] = json!("never");
    let never = client.request(
        "tools/call",
        json!({"name": "endless_never", "_meta": meta}),
    );
    let progress = client.next();
    assert_eq!(progress["params"]["message"], "working", "{progress}");
    client.notify("notifications/cancelled", json!({"requestId": never}));
    let heard = |client: &mut Client| {
        let quick = call(client, json!({"name": "heard"}));
        let done = task_until(client, &quick, |task| task["status"] == "completed");
        text(&done["result"]).to_owned()
    };
    while heard(&mut client) != "abort" {}
}

#[test]
fn a_cancelled_request_that_was_answered_with_a_task_ends_the_task() {
    let mut client = Client::silent(TOOLS, &["--task-after", "always"]);
    let cancelled = |looks: bool, client: &mut Client| {
        let params = json!({"name": "endless", "_meta": mcp_2026(tasks())});
        let id = client.request("tools/call", params);
        let begun = client.answer(id);
        if looks {
            task_until(client, &begun, |_| true);
        }
        client.notify("notifications/cancelled", json!({"requestId": id}));
        begun
    };
    let unseen = cancelled(false, &mut client);
    task_until(&mut client, &unseen, |task| task["status"] == "cancelled");
    // A client that has asked for the task must send `tasks/cancel`: the id may mean another
    // request.
    let seen = cancelled(true, &mut client);
    assert_eq!(
        task_until(&mut client, &seen, |_| true)["status"],
        "working"
    );
    cancel(&mut client, &seen);
}

#[test]
fn unreadable_settings_of_a_tool_are_problems_and_nothing_else() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let ran = sandbox.sh("haft --tool tools.ts doctor");
    for expected in [
        "`mcp.task` of `odd` is ignored: `often`",
        "`mcp.alwaysLoad` of `odd` is ignored: `1`",
        "`mcp.searchHint` of `odd` is ignored: it is an array",
        "`mcp` of `odder` is ignored: it is a string",
    ] {
        assert!(ran.output.contains(expected), "{expected}\n{}", ran.output);
    }
    assert_eq!(ran.code, 0, "{}", ran.output);
    for (written, said) in [
        (
            "mcp: {task_after: 5}",
            "`5` is not `always`, `never` or a duration",
        ),
        (
            "mcp: {tools: {'a[': {task: never}}}",
            "`a[` is not a pattern of tool names",
        ),
        ("mcp: {tools: {a: {tusk: never}}}", "unknown key `tusk`"),
        (
            "mcp: {structured: often}",
            "`often` is not one of declared, always, never",
        ),
        (
            "mcp: {tools: {a: {max_result_chars: 5}}}",
            "`5` is not a number of characters",
        ),
    ] {
        sandbox.write("home/.config/haft/config.yaml", written);
        let ran = sandbox.sh("haft --tool tools.ts list");
        assert_eq!(ran.code, 2, "{written}: {}", ran.output);
        assert!(ran.output.contains(said), "{written}: {}", ran.output);
    }
}
