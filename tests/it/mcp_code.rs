//! Code mode for MCP clients: what is listed, scripts, the search, questions, changes of tools.

use serde_json::{Value, json};

use crate::mcp_client::{Client, text};
use crate::sandbox::Sandbox;

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, description, execute, approval = "read") =>
  ({ name, description, approval, parameters: { type: "object", properties: { n: { type: "number" } } }, execute });

export default (pi) => [
  tool("git_log", "Reads the commits of the repository.", async (_id, { n }) => says(`${n} commits`)),
  tool("git_push", "Pushes the branch.", async () => says("pushed"), "exec"),
  tool("greet", "Greets someone. At once.", async () => says("hello")),
  ...Array.from({ length: 32 }, (_, n) => tool(`other_${n}`, "", async () => says("other"))),
];
"#;

fn names(client: &mut Client) -> Vec<String> {
    let list = client.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("a list");
    let names = tools.iter().filter_map(|tool| tool["name"].as_str());
    names.map(str::to_owned).collect()
}

fn client(flags: &[&str], capabilities: Value) -> Client {
    let mut client = Client::silent(TOOLS, flags);
    client.initialize(capabilities);
    client
}

fn run(client: &mut Client, code: &str) -> Value {
    client.call("run_code", json!({"code": code}))
}

#[test]
fn only_two_tools_are_listed_and_scripts_call_the_others() {
    let mut client = client(&["--code=only"], json!({}));
    let list = client.ask("tools/list", json!({}));
    let tools = list["result"]["tools"].as_array().expect("a list");
    assert_eq!(tools.len(), 2);
    let (run_code, search) = (&tools[0], &tools[1]);
    assert_eq!(run_code["name"], "run_code");
    assert_eq!(run_code["annotations"]["readOnlyHint"], false);
    assert_eq!(run_code["annotations"]["destructiveHint"], true);
    assert_eq!(run_code["_meta"]["anthropic/alwaysLoad"], true);
    let description = run_code["description"].as_str().expect("a text");
    assert!(description.contains("All 35 tools:"), "{description}");
    assert!(
        description.contains("tools.git_log(args?: {\n  n?: number;\n}): Promise<ToolResult>;"),
        "{description}"
    );
    assert_eq!(search["name"], "search_tools");
    assert_eq!(search["annotations"]["readOnlyHint"], true);

    let answer = run(&mut client, "(await tools.git_log({ n: 3 })).split(' ')[0]");
    assert_eq!(text(&answer), "3");
    let answer = run(&mut client, "await tools.gitlog()");
    assert_eq!(answer["isError"], true);
    assert!(
        text(&answer).starts_with("ToolError: there is no tool `gitlog`; the nearest are git_log")
    );
    // The tool by itself is refused, with the way to it.
    let direct = client.ask("tools/call", json!({"name": "git_log", "arguments": {}}));
    assert_eq!(
        direct["error"]["message"],
        "Unknown tool: git_log. It is called inside run_code: `await tools.git_log({…})`"
    );
    // No user can be asked, so what does more than read is refused.
    let answer = run(&mut client, "await tools.git_push()");
    assert!(text(&answer).contains("requires approval"), "{answer}");
}

#[test]
fn the_search_finds_tools_and_lists_groups() {
    let mut client = client(&["--code=only"], json!({}));
    let mut search = |arguments: Value| text(&client.call("search_tools", arguments)).to_owned();
    let found = search(json!({"query": "push a branch", "detail": "names"}));
    assert_eq!(found, "1 of 35 tools:\n\ngit_push: Pushes the branch");
    let found = search(json!({"query": "commit"}));
    assert_eq!(
        found,
        "1 of 35 tools:\n\n/** Reads the commits of the repository. */\n\
         tools.git_log(args?: {\n  n?: number;\n}): Promise<ToolResult>;"
    );
    assert!(
        search(json!({"query": "other", "limit": 2}))
            .starts_with("The best 2 of 32 tools that match:")
    );
    let near = search(json!({"query": "greeet"}));
    let begin = "No tool of 35 has a word of \"greeet\". The nearest names are greet";
    assert!(near.starts_with(begin), "{near}");
    let groups = search(json!({}));
    assert!(
        groups.starts_with("35 tools:\n\ngit (2): git_log, git_push\nother (32): other_0, "),
        "{groups}"
    );
    assert!(groups.ends_with("\nothers (1): greet"), "{groups}");
    assert!(search(json!({"limit": 0})).contains("limit: "));
}

#[test]
fn with_many_tools_auto_lists_the_direct_ones_and_with_few_all() {
    let mut many = client(&["--code"], json!({}));
    assert_eq!(names(&mut many), ["run_code", "search_tools"]);
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox.write(
        "home/.config/haft/config.yaml",
        "mcp: {code: auto, direct: ['git_*']}\n",
    );
    let mut direct = Client::within(sandbox, &[]);
    direct.initialize(json!({}));
    assert_eq!(
        names(&mut direct),
        ["git_log", "git_push", "run_code", "search_tools"]
    );
    let answer = direct.call("git_log", json!({"n": 1}));
    assert_eq!(text(&answer), "1 commits");
    let mut few = client(&["--code", "--include", "g*"], json!({}));
    assert_eq!(
        names(&mut few),
        ["git_log", "git_push", "greet", "run_code", "search_tools"]
    );
    // The selection holds for scripts, too.
    let answer = run(&mut few, "Object.keys(tools).join()");
    assert_eq!(text(&answer), "git_log,git_push,greet");
    let mut off = client(&[], json!({}));
    assert!(!names(&mut off).contains(&"run_code".to_owned()));
}

#[test]
fn the_client_is_asked_about_all_calls_that_wait() {
    let mut client = client(&["--code=only"], json!({"elicitation": {}}));
    let code = "(await Promise.all([tools.git_push({ n: 1 }), tools.git_push({ n: 2 })])).join()";
    let id = client.request(
        "tools/call",
        json!({"name": "run_code", "arguments": {"code": code}}),
    );
    let question = client.next();
    assert_eq!(question["method"], "elicitation/create", "{question}");
    let message = question["params"]["message"].as_str().expect("a text");
    assert!(
        message.contains("A script waits for the approval of 2 calls"),
        "{message}"
    );
    assert!(
        message.contains("git_push: 2 calls, tier exec"),
        "{message}"
    );
    let schema = &question["params"]["requestedSchema"]["properties"];
    let field = schema
        .as_object()
        .expect("fields")
        .keys()
        .next()
        .expect("one")
        .clone();
    client.reply(
        &question,
        json!({"action": "accept", "content": {field: "Approve for this run"}}),
    );
    let answer = client.answer(id);
    assert_eq!(text(&answer["result"]), "pushed,pushed");
}

#[test]
fn progress_names_the_newest_call() {
    let mut client = client(&["--code=only"], json!({}));
    let id = client.request(
        "tools/call",
        json!({
            "name": "run_code",
            "arguments": {"code": "await tools.greet()"},
            "_meta": {"progressToken": "p"},
        }),
    );
    let progress = client.next();
    assert_eq!(progress["method"], "notifications/progress");
    assert_eq!(progress["params"]["message"], "1 call, now: greet");
    assert_eq!(text(&client.answer(id)["result"]), "hello");
}
