//! The parts of haft's answers that reach a model: clients show structured content instead of text,
//! cut long texts, and put tools behind a search.

use std::path::Path;

use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};
use crate::sandbox::Sandbox;

const TOOLS: &str = r##"
const says = (text, details) => ({ content: [{ type: "text", text }], details });
const tool = (name, execute, rest) =>
  ({ name, description: `${name} something. And more.`, parameters: { type: "object" }, execute, ...rest });
const counted = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };

export default (pi) => [
  tool("plain", async (_id, { details }) => says("for the model", details)),
  tool("empty", async () => ({ content: [], details: { n: 1 } })),
  tool("declared", async (_id, { text = "text", details = { n: 1 } }) => says(text, details), { outputSchema: counted }),
  tool("loose", async () => { throw new Error("it broke"); }, { outputSchema: { type: "object" } }),
  tool("zod_output", async () => says("two", { n: 2 }), { outputSchema: pi.zod.object({ n: pi.zod.number() }) }),
  tool("bad_output", async () => says("two", { n: 2 }), { outputSchema: "number" }),
  tool("picture", async () => ({ content: [{ type: "image", data: "aGFmdA==", mimeType: "image/png" }], details: { n: 1 } }), { outputSchema: counted }),
  tool("long", async (_id, { size, what = "x", blocks = 1 }) =>
    ({ content: Array.from({ length: blocks }, () => ({ type: "text", text: what.repeat(size) })) })),
];
"##;

/// Returns the results of one call for a client of MCP 2025-11 and one of MCP 2026-07.
fn both(config: &str, flags: &[&str], name: &str, arguments: &Value) -> [Value; 2] {
    let within = || {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        sandbox.write("home/.config/haft/config.yaml", config);
        Client::within(sandbox, flags)
    };
    let mut old = within();
    old.initialize(json!({}));
    let params = json!({"name": name, "arguments": arguments});
    // A call without a progress token takes the fast path.
    let older = old.ask("tools/call", params.clone())["result"].take();
    assert_eq!(
        older.get("isError"),
        old.call(name, arguments.clone()).get("isError")
    );
    let mut new = within();
    let mut params = params;
    params["_meta"] = mcp_2026(json!({}));
    [older, new.ask("tools/call", params)["result"].take()]
}

fn listed(list: &Value, name: &str) -> Value {
    let tools = list["result"]["tools"].as_array().expect("a list");
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {list}")).clone()
}

#[test]
fn details_are_structured_content_only_where_a_schema_is_declared() {
    let details = json!({"rows": [1, 2]});
    for result in both("", &[], "plain", &json!({"details": details})) {
        assert_eq!(text(&result), "for the model");
        assert_eq!(result.get("structuredContent"), None, "{result}");
        assert_eq!(result["_meta"]["haft/details"], details);
    }
    // Empty content stays empty; the details are for the renderer only.
    for result in both("", &[], "empty", &json!({})) {
        assert_eq!(result["content"], json!([]));
        assert_eq!(result["_meta"]["haft/details"], json!({"n": 1}));
    }
    for name in ["declared", "zod_output"] {
        for result in both("", &[], name, &json!({})) {
            assert!(result["structuredContent"]["n"].is_number(), "{result}");
            assert_eq!(result.get("_meta"), None, "{result}");
        }
    }
    for result in both("", &[], "declared", &json!({"details": {"n": "many"}})) {
        assert_eq!(result["isError"], true);
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(result["_meta"]["haft/details"], json!({"n": "many"}));
    }
    // `{}` is valid for the schema, and would hide the message.
    for result in both("", &[], "loose", &json!({})) {
        assert_eq!(
            (text(&result), result.get("structuredContent")),
            ("it broke", None)
        );
    }
}

#[test]
fn the_user_decides_when_results_are_structured() {
    let details = json!({"rows": [1, 2]});
    let arguments = json!({"details": details});
    let config = "mcp: {structured: always}";
    for (config, flags) in [(config, [].as_slice()), ("", &["--structured", "always"])] {
        for result in both(config, flags, "plain", &arguments) {
            assert_eq!(result["structuredContent"], details);
        }
    }
    let [older, newer] = both(config, &[], "plain", &json!({"details": [1]}));
    assert_eq!(older["_meta"]["haft/details"], json!([1]));
    assert_eq!(newer["structuredContent"], json!([1]));
    // A flag overrides the file.
    for result in both(config, &["--structured", "never"], "declared", &json!({})) {
        assert_eq!(result.get("structuredContent"), None);
        assert_eq!(result["_meta"]["haft/details"], json!({"n": 1}));
    }
    let mut client = Client::silent(TOOLS, &["--structured", "never"]);
    let list = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
    assert_eq!(listed(&list, "declared").get("outputSchema"), None);
    let mut client = Client::silent(TOOLS, &[]);
    let list = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
    assert_eq!(
        listed(&list, "declared")["outputSchema"]["required"],
        json!(["n"])
    );
    assert_eq!(listed(&list, "bad_output").get("outputSchema"), None);
}

#[test]
fn doctor_and_the_log_name_what_a_schema_hides() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let warning = "`declared` declares an output schema: Claude Code, Codex and others show the model \
                   only the JSON of `details`";
    let doctor = |flags: &str| {
        sandbox
            .sh(&format!("{flags} haft --tool tools.ts doctor"))
            .output
    };
    let said = doctor("");
    assert!(said.contains(warning), "{said}");
    assert!(!said.contains("`plain` declares"), "{said}");
    assert!(
        said.contains("`outputSchema` of `bad_output` is ignored"),
        "{said}"
    );
    let said = doctor("HAFT_MCP_STRUCTURED=never");
    assert!(!said.contains(warning), "{said}");
    let said = doctor("HAFT_MCP_STRUCTURED=always");
    assert!(
        said.contains("`mcp.structured: always` hides text"),
        "{said}"
    );

    for (name, arguments, warnings) in [
        ("declared", json!({}), 1),
        ("picture", json!({}), 1),
        // The text is the same JSON.
        ("declared", json!({"text": "{\"n\": 1}"}), 0),
    ] {
        // The fast path, and the one of calls that may ask.
        for capabilities in [json!({}), json!({"elicitation": {}})] {
            let mut client = Client::old(TOOLS, capabilities);
            let mut warned = 0;
            for _ in 0..2 {
                let params = json!({"name": name, "arguments": arguments});
                let id = client.request("tools/call", params);
                let answer = loop {
                    let message = client.next();
                    if message["id"] == id {
                        break message;
                    }
                    assert_eq!(message["params"]["level"], "warning", "{message}");
                    let said = message["params"]["data"].as_str().expect("a text");
                    assert!(said.contains("hidden from"), "{said}");
                    warned += 1;
                };
                let structured = &answer["result"]["structuredContent"];
                assert_eq!(*structured, json!({"n": 1}), "{answer}");
            }
            assert_eq!(warned, warnings, "{name} {arguments}");
        }
    }
}

#[test]
fn instructions_say_what_the_tools_are_for_in_both_handshakes() {
    let module = r##"
const tool = (name, description) => ({ name, description, parameters: { type: "object" }, execute: async () => ({ content: [] }) });
export default () => [
  tool("git_log", "Shows the history of the repository, e.g. of a branch. And much more that nobody reads."),
  tool("git_status", "Shows what has changed\nin the \u001b[31mworking\u0007 tree"),
  tool("deploy", "Deploys the site! At once."),
  { ...tool("secret", "Not for models."), hidden: true },
];
"##;
    let expected = "Tools for: git, deploy.\n\
        3 tools of this project and its user; where one fits the task, prefer it to doing the same by hand.\n\n\
        git:\n\
        - git_log: Shows the history of the repository, e.g. of a branch\n\
        - git_status: Shows what has changed in the working tree\n\n\
        - deploy: Deploys the site";
    let mut client = Client::silent(module, &[]);
    let begun = client.initialize(json!({}));
    assert_eq!(begun["result"]["instructions"], expected);
    let mut client = Client::silent(module, &[]);
    let found = client.ask("server/discover", json!({"_meta": mcp_2026(json!({}))}));
    assert_eq!(found["result"]["instructions"], expected);
    // The instructions depend on the listed tools.
    let mut client = Client::silent(module, &["--include", "deploy"]);
    let begun = client.initialize(json!({}));
    let instructions = begun["result"]["instructions"].as_str().expect("a text");
    assert!(
        instructions.starts_with("Tools for: deploy.\n1 tool of"),
        "{instructions}"
    );
    let mut client = Client::silent(module, &["--include", "none"]);
    assert_eq!(
        client.initialize(json!({}))["result"].get("instructions"),
        None
    );
}

#[test]
fn instructions_have_at_most_2000_characters() {
    for (count, description) in [
        (30, "x".repeat(300)),
        (400, "Ein Wörtchen 🦀 mehr".repeat(9)),
    ] {
        let module = format!(
            "export default () => Array.from({{ length: {count} }}, (_, n) => ({{ name: `tool${{n}}_of_many`, \
             description: {description:?}, parameters: {{ type: 'object' }}, execute: async () => ({{ content: [] }}) }}));"
        );
        let mut client = Client::silent(&module, &[]);
        let begun = client.initialize(json!({}));
        let instructions = begun["result"]["instructions"].as_str().expect("a text");
        let length = instructions.encode_utf16().count();
        assert!((1000..=2000).contains(&length), "{length}: {instructions}");
        assert!(instructions.contains("tool0_of_many"), "{instructions}");
        let is_whole = instructions.contains("tool29_of_many") || instructions.ends_with(" more");
        assert!(is_whole, "{instructions}");
    }
    let configured = |config: &str| {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        sandbox.write("home/.config/haft/config.yaml", config);
        let doctor = sandbox.sh("haft --tool tools.ts doctor").output;
        let begun = Client::within(sandbox, &[]).initialize(json!({}));
        (begun["result"]["instructions"].clone(), doctor)
    };
    let (said, _) = configured("mcp: {instructions: \"Ask \\u001b[1mme\\u0007.\\nThen go.\"}");
    assert_eq!(said, "Ask me.\nThen go.");
    assert_eq!(configured("mcp: {instructions: ''}").0, Value::Null);
    let (said, doctor) = configured(&format!("mcp: {{instructions: '{}'}}", "word ".repeat(500)));
    let said = said.as_str().expect("a text");
    assert!(
        said.chars().count() <= 2000 && said.ends_with("word…"),
        "{said}"
    );
    assert!(
        doctor.contains("`mcp.instructions` has 2499 characters"),
        "{doctor}"
    );
}

#[test]
fn hints_for_clients_stand_in_the_list() {
    const LOAD: &str = "anthropic/alwaysLoad";
    const HINT: &str = "anthropic/searchHint";
    const SIZE: &str = "anthropic/maxResultSizeChars";
    let module = |count: usize| {
        format!(
            r##"
const tool = (name, rest) => ({{ name, description: name, parameters: {{ type: "object" }}, execute: async () => ({{ content: [] }}), ...rest }});
export default () => [
  tool("hinted", {{ mcp: {{ searchHint: "find\n\u001b[1mthings" }} }}),
  tool("essential", {{ loadMode: "essential" }}),
  tool("lazy", {{ mcp: {{ alwaysLoad: false }} }}),
  ...Array.from({{ length: {count} }}, (_, n) => tool(`more${{n}}`)),
];"##
        )
    };
    let meta = |count: usize, config: &str| {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", &module(count - 3));
        sandbox.write("home/.config/haft/config.yaml", config);
        let mut client = Client::within(sandbox, &[]);
        let new = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
        move |name: &str| listed(&new, name)["_meta"].clone()
    };
    let few = meta(10, "");
    assert_eq!(few("more0")[LOAD], true);
    assert_eq!(few("more0")[SIZE], 46 * 1024 + 2000);
    assert_eq!(few("hinted")[HINT], "find things");
    assert_eq!(few("lazy").get(LOAD), None);
    let many = meta(11, "");
    assert_eq!(many("more0").get(LOAD), None);
    assert_eq!(many("essential")[LOAD], true);
    let config = "mcp: {always_load: true, tools: {'more*': {always_load: false, max_result_chars: 90000}, \
                  more1: {search_hint: one}, hinted: {search_hint: other}}}\nlimits: {spill_kb: 100}";
    let configured = meta(11, config);
    assert_eq!(configured("more0").get(LOAD), None);
    assert_eq!(configured("more1")[HINT], "one");
    assert_eq!(configured("more1")[SIZE], 90_000);
    assert_eq!(configured("hinted")[HINT], "other");
    assert_eq!(configured("hinted")[LOAD], true);
    assert_eq!(configured("hinted")[SIZE], 100 * 1024 + 2000);
    assert_eq!(configured("lazy").get(LOAD), None);
    assert_eq!(meta(3, "limits: {spill_kb: 0}")("lazy")[SIZE], 500_000);

    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", "export default () => null;");
    sandbox.write(
        "home/.cycod/tools/clone.yaml",
        "name: clone\ndescription: Clones\nbash: 'true'\ntags: [git, read]\nmetadata: {tags: [vcs], search-keywords: [checkout]}\n",
    );
    let mut client = Client::within(sandbox, &[]);
    client.initialize(json!({}));
    let list = client.ask("tools/list", json!({}));
    assert_eq!(listed(&list, "clone")["_meta"][HINT], "checkout, vcs, git");
}

/// Returns the file that the notice in this line names.
fn file_of(line: &str) -> &str {
    let (_, rest) = line
        .split_once("Read ")
        .unwrap_or_else(|| panic!("no notice: {line}"));
    let (path, _) = rest
        .split_once(" for full output]")
        .expect("the notice's end");
    path
}

/// Checks that a result names the file of the whole text at both ends, and returns its size.
fn shortened(result: &Value, whole: &str) -> usize {
    assert_eq!(
        result["content"].as_array().map(Vec::len),
        Some(1),
        "one block"
    );
    let text = text(result);
    let mut lines = text.lines();
    let (first, last) = (
        lines.next().expect("a line"),
        lines.next_back().expect("a line"),
    );
    assert_eq!(first, last);
    let kept = std::fs::read_to_string(Path::new(file_of(first))).expect("the file");
    assert!(kept == whole, "the file holds the whole text");
    text.len()
}

#[test]
fn long_texts_are_shorter_than_what_clients_pass_on() {
    let long = |size: usize, what: &str, blocks: usize| json!({"size": size, "what": what, "blocks": blocks});
    let limit = 46 * 1024;
    let mut client = Client::old(TOOLS, json!({}));
    let whole = client.call("long", long(limit, "x", 1));
    assert_eq!(text(&whole).len(), limit);
    for (size, what, blocks) in [
        (limit + 1, "x", 1),
        (200_000, "x", 1),
        (30_000, "line\n", 1),
        // Three bytes for each character.
        (40_000, "€", 1),
        (30_000, "x", 2),
    ] {
        let result = client.call("long", long(size, what, blocks));
        let texts = vec![what.repeat(size); blocks];
        let remains = shortened(&result, &texts.join("\n"));
        assert!((limit / 2..=limit).contains(&remains), "{remains}");
    }
}

#[test]
fn codex_gets_what_it_does_not_cut() {
    let sandbox = |config: &str| {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", TOOLS);
        sandbox.write("home/.config/haft/config.yaml", config);
        sandbox
    };
    let arguments = || json!({"size": 60_000});
    let whole = "x".repeat(60_000);
    for capabilities in [json!({}), json!({"elicitation": {}})] {
        let mut client = Client::within(sandbox(""), &[]);
        client.initialize_as("codex-mcp-client", capabilities);
        // The fast path, and the one with progress.
        let params = json!({"name": "long", "arguments": arguments()});
        let plain = client.ask("tools/call", params)["result"].take();
        for result in [plain, client.call("long", arguments())] {
            let remains = shortened(&result, &whole);
            assert!((5_000..=10 * 1024).contains(&remains), "{remains}");
        }
    }
    let mut client = Client::within(sandbox(""), &[]);
    let mut meta = mcp_2026(json!({}));
    meta["io.modelcontextprotocol/clientInfo"]["name"] = json!("codex-mcp-client");
    let params = json!({"name": "long", "arguments": arguments(), "_meta": meta});
    let result = client.ask("tools/call", params)["result"].take();
    assert!(shortened(&result, &whole) <= 10 * 1024);

    // The user can set both limits, and "no limit" applies to Codex, too.
    for (config, sizes) in [
        ("limits: {spill_kb: 0}", 60_000..=60_000),
        ("mcp: {codex_spill_kb: 20}", 15_000..=20 * 1024),
        ("mcp: {codex_spill_kb: 0}", 30_000..=46 * 1024),
        ("limits: {spill_kb: 5}", 3_000..=5 * 1024),
    ] {
        let mut client = Client::within(sandbox(config), &[]);
        client.initialize_as("codex-mcp-client", json!({}));
        let length = text(&client.call("long", arguments())).len();
        assert!(sizes.contains(&length), "{config}: {length}");
    }
    // For one tool.
    let config = "mcp: {tools: {'l*g': {max_result_chars: 70000}}}";
    let mut client = Client::within(sandbox(config), &[]);
    client.initialize(json!({}));
    assert_eq!(text(&client.call("long", arguments())).len(), 60_000);
}

/// Clients show models the structured content of these tools, which equals the text.
#[test]
fn long_structured_results_are_shortened_like_their_text() {
    let schema = r#"{"name":"big","description":"Big","parameters":{},"returns":{"out":{"type":"string"},"n":{"type":"number"}}}"#;
    let body = r#"awk 'BEGIN { printf "{\"n\":7,\"out\":\""; for (i = 0; i < 20000; i++) printf "line %d\\n", i; printf "\"}" }'"#;
    let script = format!(
        "#!/bin/sh\nif [ \"$1\" = --schema ]; then\n  echo '{schema}'\nelse\n  {body}\nfi\n"
    );
    for (name, limit) in [("test", 46 * 1024), ("codex-mcp-client", 10 * 1024)] {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", "export default () => null;");
        sandbox.write("home/.ikigai/tools/big", &script);
        assert_eq!(sandbox.sh("chmod +x home/.ikigai/tools/big").code, 0);
        let mut client = Client::within(sandbox, &[]);
        client.initialize_as(name, json!({}));
        let result = client.call("big", json!({}));
        assert_eq!(result["isError"], false, "{result}");
        let structured = &result["structuredContent"];
        assert_eq!(structured["result"]["n"], 7);
        let length = structured.to_string().len();
        assert!((limit / 2..=limit).contains(&length), "{length}");
        let out = structured["result"]["out"].as_str().expect("a text");
        let (first, last) = (out.lines().next(), out.lines().next_back());
        assert_eq!(first, last);
        let kept = std::fs::read_to_string(file_of(first.expect("a line"))).expect("the file");
        let whole: Value = serde_json::from_str(&kept).expect("the envelope");
        assert_eq!(whole, result["_meta"]["haft/details"]);
        assert!(
            whole["result"]["out"]
                .as_str()
                .is_some_and(|out| out.len() > 150_000)
        );
    }
}
