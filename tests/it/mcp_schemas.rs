//! Schemas as MCP clients get them: names that models accept, no union at the root, nothing
//! invalid.

use std::process::Command;

use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};
use crate::sandbox::Sandbox;

/// Properties with illegal names at several depths, two of which would get the same alias.
const TOOLS: &str = r##"
const says = (text) => ({ content: [{ type: "text", text }] });
const parameters = {
  type: "object",
  properties: {
    "ids[]": { type: "array", items: { $ref: "#/$defs/item" }, minItems: 1 },
    "ids()": { type: "string" },
    plain: { type: "integer" },
    "@map": { type: "object", additionalProperties: { type: "object", properties: { "a b": { type: "number" } } } },
    first: { $ref: "#/properties/ids[]/items" },
  },
  required: ["ids[]", "plain"],
  dependentRequired: { "ids()": ["@map"] },
  $defs: {
    item: {
      type: "object",
      properties: { "@id": { type: "string" }, next: { $ref: "#/$defs/item" } },
      required: ["@id"],
      examples: [{ "@id": "x" }],
    },
  },
};
const tool = (name, execute, rest) => ({ name, description: name, parameters, execute, ...rest });

export default (pi) => [
  tool("echo", async (_id, args) => says(JSON.stringify(args))),
  tool("asks", async (_id, args, _onUpdate, ctx) => says(`${await ctx.ui.input("Sure?")} ${JSON.stringify(args)}`)),
  tool("either", async (_id, args) => says(JSON.stringify(args)), {
    parameters: pi.zod.discriminatedUnion("kind", [
      pi.zod.object({ kind: pi.zod.literal("a"), "x[]": pi.zod.array(pi.zod.number()) }),
      pi.zod.object({ kind: pi.zod.literal("b"), y: pi.zod.string() }),
    ]),
  }),
  tool("zod", async (_id, args) => says(JSON.stringify(args)), {
    parameters: pi.zod.object({ "@list": pi.zod.array(pi.zod.object({ "n/m": pi.zod.number() })) }),
  }),
];
"##;

/// The aliases of `ids()`, which comes first in the order of names, and of `ids[]`.
const ALIASES: (&str, &str) = ("ids_", "ids_0d9dbca8");

fn arguments() -> Value {
    json!({
        ALIASES.1: [{"_id": "a", "next": {"_id": "b"}}],
        "plain": 1,
        "_map": {"ids_": {"a_b": 1.0}},
        "ids_": "text",
    })
}

/// The arguments as the tool gets them. The map's key `ids_` is not a property, so it is not
/// renamed.
const REAL: &str = r#"{"ids[]":[{"@id":"a","next":{"@id":"b"}}],"plain":1,"@map":{"ids_":{"a b":1}},"ids()":"text"}"#;

fn named<'a>(list: &'a Value, name: &str) -> &'a Value {
    let tools = list["result"]["tools"].as_array().expect("a list");
    let found = tools.iter().find(|tool| tool["name"] == name);
    found.unwrap_or_else(|| panic!("no {name}: {list}"))
}

/// Every key below `properties`, at any depth.
fn property_names(schema: &Value, names: &mut Vec<String>) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                names.extend(properties.keys().cloned());
            }
            fields.values().for_each(|one| property_names(one, names));
        }
        Value::Array(items) => items.iter().for_each(|one| property_names(one, names)),
        _ => {}
    }
}

fn lists() -> [Value; 2] {
    let mut client = Client::silent(TOOLS, &[]);
    let new = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
    let mut client = Client::old(TOOLS, json!({}));
    [new, client.ask("tools/list", json!({}))]
}

#[test]
fn properties_have_names_that_models_take() {
    for list in lists() {
        for name in ["echo", "either", "zod"] {
            let mut names = Vec::new();
            property_names(&named(&list, name)["inputSchema"], &mut names);
            assert!(!names.is_empty());
            for property in names {
                let is_allowed = |c: char| c.is_ascii_alphanumeric() || "_.-".contains(c);
                assert!(property.chars().all(is_allowed), "{name}: {property}");
            }
        }
        let echo = named(&list, "echo");
        let schema = &echo["inputSchema"];
        assert_eq!(schema["required"], json!([ALIASES.1, "plain"]));
        assert_eq!(schema["dependentRequired"], json!({"ids_": ["_map"]}));
        assert_eq!(schema["$defs"]["item"]["required"], json!(["_id"]));
        assert_eq!(schema["$defs"]["item"]["examples"], json!([{"_id": "x"}]));
        let reference = format!("#/properties/{}/items", ALIASES.1);
        assert_eq!(schema["properties"]["first"]["$ref"], reference);
        // The whole schema, for clients that want it.
        let whole = &echo["_meta"]["haft/inputSchema"];
        assert_eq!(whole["required"], json!(["ids[]", "plain"]));
    }
}

#[test]
fn a_union_at_the_root_is_one_object_in_both_protocol_versions() {
    for list in lists() {
        let either = named(&list, "either");
        let schema = &either["inputSchema"];
        assert_eq!(schema["type"], "object");
        for union in ["$ref", "anyOf", "oneOf", "allOf"] {
            assert_eq!(schema[union], Value::Null, "{schema}");
        }
        assert_eq!(schema["properties"]["kind"]["enum"], json!(["a", "b"]));
        let description = either["description"].as_str().expect("a text");
        assert!(description.contains("(kind = \"a\", x_)"), "{description}");
        assert!(either["_meta"]["haft/inputSchema"]["oneOf"].is_array());
    }
}

#[test]
fn the_tool_gets_its_own_names_back() {
    // With forms the call may ask; without them haft only waits for the outcome.
    for capabilities in [json!({}), json!({"elicitation": {}})] {
        let mut client = Client::old(TOOLS, capabilities);
        assert_eq!(text(&client.call("echo", arguments())), REAL);
        let result = client.call("either", json!({"kind": "a", "x_": [1, 2.5]}));
        assert_eq!(text(&result), r#"{"kind":"a","x[]":[1,2.5]}"#);
        // The real names are accepted as well.
        let real: Value = serde_json::from_str(REAL).expect("JSON");
        assert_eq!(text(&client.call("echo", real)), REAL);
    }
    let mut client = Client::silent(TOOLS, &[]);
    let tasks = json!({"extensions": {"io.modelcontextprotocol/tasks": {}}});
    for capabilities in [json!({}), tasks] {
        let params =
            json!({"name": "echo", "arguments": arguments(), "_meta": mcp_2026(capabilities)});
        let answer = client.ask("tools/call", params);
        assert_eq!(text(&answer["result"]), REAL, "{answer}");
    }
}

#[test]
fn a_call_that_is_resumed_has_its_own_names() {
    let mut client = Client::silent(TOOLS, &[]);
    let meta = mcp_2026(json!({"elicitation": {}}));
    let mut params = json!({"name": "asks", "arguments": arguments(), "_meta": meta});
    let first = client.ask("tools/call", params.clone());
    let result = &first["result"];
    assert_eq!(result["resultType"], "input_required", "{first}");
    let requests = result["inputRequests"].as_object().expect("questions");
    let key = requests.keys().next().expect("a question");
    params["requestState"] = result["requestState"].clone();
    params["inputResponses"] = json!({key: {"action": "accept", "content": {"answer": "yes"}}});
    let done = client.ask("tools/call", params);
    assert_eq!(text(&done["result"]), format!("yes {REAL}"), "{done}");
}

#[test]
fn refusals_name_what_the_model_knows() {
    let mut client = Client::old(TOOLS, json!({}));
    let refused = client.call(
        "echo",
        json!({ALIASES.1: [{"next": {"_id": 7}}], "ids_": "text"}),
    );
    assert_eq!(refused["isError"], true);
    let alias = ALIASES.1;
    assert_eq!(
        text(&refused),
        format!(
            r#"Validation failed for tool "echo":
  - _map: is required
  - plain: is required
  - {alias}/0/_id: is required
  - {alias}/0/next/_id: must be a string (was 7)

Received arguments:
{{
  "{alias}": [
    {{
      "next": {{
        "_id": 7
      }}
    }}
  ],
  "ids_": "text"
}}"#
        )
    );
    // zod has its own messages, and a name may contain the characters of paths.
    let refused = client.call("zod", json!({"_list": [{"n_m": "x"}]}));
    let said = text(&refused);
    assert!(said.contains("  - _list/0/n_m: Invalid input"), "{said}");
    assert!(said.contains(r#""n_m": "x""#), "{said}");
}

/// An executable gets the text that the client wrote, except for the names.
#[test]
fn order_and_digits_survive_the_names() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let path = sandbox.write(
        "home/.kodelet/tools/verbatim",
        "#!/bin/sh\nif [ \"$1\" = description ]; then\n  echo '{\"name\":\"verbatim\",\"description\":\"v\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"$n\":{\"type\":\"number\"}}}}'\nelse\n  cat\nfi\n",
    );
    let made = Command::new("chmod").arg("+x").arg(path).status();
    assert!(made.expect("`chmod` is on every machine").success());
    let mut client = Client::within(sandbox, &[]);
    client.initialize(json!({}));
    let call = |arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{{"name":"custom_tool_verbatim","arguments":{arguments}}}}}"#
        )
    };
    client.raw(call(r#"{"z":1.0,"_n":123456789012345678901234567890,"m":1e3}"#).as_bytes());
    let answer = client.named("x");
    assert_eq!(
        text(&answer["result"]),
        "<result>\n{\"z\":1.0,\"$n\":123456789012345678901234567890,\"m\":1e3}\n</result>"
    );
    // Kodelet's refusals are results, with the text in two places.
    client.raw(call(r#"{"_n":"x"}"#).as_bytes());
    let answer = client.named("x");
    let said = answer["result"].to_string();
    assert!(said.contains("  - _n: must be a number"), "{said}");
    assert!(said.contains("_n") && !said.contains("$n"), "{said}");
}

/// One invalid schema would make a client reject its whole list.
#[test]
fn an_invalid_tool_is_listed_in_no_protocol_version() {
    let module = r##"
const tool = (name, properties, rest) => ({
  name, description: name, parameters: { type: "object", properties, ...rest },
  execute: async () => ({ content: [{ type: "text", text: "ran" }] }),
});
export default (pi) => [
  tool("fine", { a: { type: "string", pattern: "^(?<year>\\d{4})$" } }),
  tool("pattern", { a: { type: "string", pattern: "(" } }),
  tool("nowhere", { a: { $ref: "#/$defs/none" } }),
  tool("web", { a: { $ref: "https://example.com/schema.json" } }),
  tool("required", { s: {} }, { required: "s" }),
  tool("enumeration", { a: { enum: "x" } }),
  tool("items", { a: { type: "array", items: "string" } }),
  tool("length", { a: { type: "string", minLength: "x" } }),
  // zod checks it itself, with the engine that the pattern was written for.
  { ...tool("zod", {}), parameters: pi.zod.object({ a: pi.zod.string().regex(/^[\p{L}--[a-z]]$/v) }) },
];
"##;
    let mut client = Client::silent(module, &[]);
    let new = client.ask("tools/list", json!({"_meta": mcp_2026(json!({}))}));
    let mut client = Client::old(module, json!({}));
    let old = client.ask("tools/list", json!({}));
    for list in [&new, &old] {
        let tools = list["result"]["tools"].as_array().expect("a list");
        let names: Vec<&Value> = tools.iter().map(|tool| &tool["name"]).collect();
        assert_eq!(names, ["fine", "zod"]);
        let odd = &named(list, "zod")["inputSchema"]["properties"]["a"];
        assert_eq!(
            odd["description"], r"(pattern: ^[\p{L}--[a-z]]$)",
            "what not every reader understands is said in words: {odd}"
        );
    }
    // Calls that do not use a part that cannot be checked are accepted.
    for name in ["pattern", "nowhere", "web", "required", "enumeration"] {
        let ran = client
            .sandbox
            .sh(&format!("haft --tool tools.ts call {name} '{{}}'"));
        assert!(ran.output.ends_with("ran\n"), "{name}: {}", ran.output);
    }
}
