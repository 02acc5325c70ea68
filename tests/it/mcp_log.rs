//! Log messages that tools write during a call: their callers get them as `notifications/message`.

use serde_json::{Value, json};

use crate::mcp_client::{Client, mcp_2026, text};

const TOOLS: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
let logged;

export default (pi) => {
  pi.logger.error("while it loads");
  return [
    tool("levels", async () => {
      pi.logger.debug("d");
      console.debug("cd");
      pi.logger.info("i", { step: 1 });
      console.log("cl %s", "x");
      pi.logger.warn("w");
      console.warn("cw");
      await null;
      console.error("ce", { a: 1 });
      pi.logger.error("e", { error: "no" });
      return says("logged");
    }),
    tool("late", async () => {
      setTimeout(() => { pi.logger.error("after the end"); logged(); }, 0);
      return says("ended");
    }),
    tool("wait", (_id, _args, onUpdate) => new Promise((resolve) => {
      logged = () => resolve(says("it logged"));
      onUpdate(says("waiting"));
    })),
    tool("long", async () => { pi.logger.error("é".repeat(20000)); return says("long"); }),
    tool("asks", async (_id, _args, onUpdate, ctx) => {
      ctx.ui.notify("look", "warning");
      onUpdate(says("asking"));
      console.error("before");
      const name = await ctx.ui.input("Name?");
      console.error("after");
      return says(String(name));
    }),
  ];
};
"#;

/// The log messages until the answer to `id`, as level, logger and data; and the result.
fn heard(client: &mut Client, id: u64) -> (Vec<Value>, Value) {
    let mut lines = Vec::new();
    loop {
        let mut message = client.next();
        if message["id"] == id {
            return (lines, message["result"].take());
        }
        if message["method"] == "notifications/message" {
            let params = &message["params"];
            lines.push(json!([params["level"], params["logger"], params["data"]]));
        }
    }
}

fn levels() -> [Value; 8] {
    [
        json!(["debug", "levels", "d"]),
        json!(["debug", "levels", "cd"]),
        json!(["info", "levels", {"message": "i", "context": {"step": 1}}]),
        json!(["info", "levels", "cl x"]),
        json!(["warning", "levels", "w"]),
        json!(["warning", "levels", "cw"]),
        json!(["error", "levels", "ce { a: 1 }"]),
        json!(["error", "levels", {"message": "e", "context": {"error": "no"}}]),
    ]
}

#[test]
fn a_client_of_mcp_2025_gets_the_log_level_that_it_sets() {
    let mut client = Client::silent(TOOLS, &[]);
    let introduced = client.initialize(json!({}));
    assert_eq!(
        introduced["result"]["capabilities"]["logging"],
        json!({}),
        "{introduced}"
    );
    let call = json!({"name": "levels", "arguments": {}});
    // A client that sets no level gets warnings and errors, with and without progress.
    for with_progress in [false, true] {
        let mut call = call.clone();
        if with_progress {
            call["_meta"] = json!({"progressToken": "p"});
        }
        let id = client.request("tools/call", call);
        let (lines, result) = heard(&mut client, id);
        assert_eq!(lines, levels()[4..]);
        assert_eq!(text(&result), "logged");
    }
    for (level, first) in [
        ("debug", 0),
        ("info", 2),
        ("notice", 4),
        ("error", 6),
        ("critical", 8),
    ] {
        client.ask("logging/setLevel", json!({"level": level}));
        let id = client.request("tools/call", call.clone());
        assert_eq!(heard(&mut client, id).0, levels()[first..], "{level}");
    }
    let refused = client.ask("logging/setLevel", json!({"level": "loud"}));
    assert_eq!(refused["error"]["code"], -32602, "{refused}");
}

#[test]
fn a_newer_client_says_with_each_request_what_it_wants() {
    let mut client = Client::silent(TOOLS, &[]);
    let mut ask = |level: Option<&str>| {
        let mut meta = mcp_2026(json!({}));
        if let Some(level) = level {
            meta["io.modelcontextprotocol/logLevel"] = level.into();
        }
        let params = json!({"name": "levels", "arguments": {}, "_meta": meta});
        let id = client.request("tools/call", params);
        heard(&mut client, id).0
    };
    assert_eq!(ask(None), [] as [Value; 0]);
    assert_eq!(ask(Some("info")), levels()[2..]);
    assert_eq!(ask(Some("emergency")), [] as [Value; 0]);
    assert_eq!(ask(Some("debug")), levels());
}

#[test]
fn log_lines_outside_of_a_call_are_not_sent() {
    let mut client = Client::old(TOOLS, json!({}));
    // The module loads with the first call, and logs something after the last one has ended.
    let wait = client.start("wait", json!({}));
    assert_eq!(client.update(), "waiting");
    let late = client.start("late", json!({}));
    let mut messages = Vec::new();
    while messages.len() < 2 {
        messages.push(client.next());
    }
    let ids: Vec<u64> = messages.iter().filter_map(|it| it["id"].as_u64()).collect();
    assert!(ids.contains(&wait) && ids.contains(&late), "{messages:?}");
}

#[test]
fn a_very_long_line_is_cut() {
    let mut client = Client::old(TOOLS, json!({}));
    let id = client.start("long", json!({}));
    let (lines, _) = heard(&mut client, id);
    let line = lines[0][2].as_str().expect("a text");
    assert_eq!(line, "é".repeat(8192) + "…");
}

#[test]
fn notifications_go_the_same_way_and_wait_for_no_answer() {
    let mut client = Client::old(TOOLS, json!({"elicitation": {"form": {}}}));
    let id = client.start("asks", json!({}));
    let mut seen = Vec::new();
    loop {
        let message = client.next();
        match message["method"].as_str() {
            Some("elicitation/create") => {
                seen.push("question".to_owned());
                client.reply(
                    &message,
                    json!({"action": "accept", "content": {"answer": "Ada"}}),
                );
            }
            Some("notifications/message") => {
                let data = message["params"]["data"].as_str().expect("a text");
                seen.push(data.to_owned());
            }
            Some(_) => {}
            None => {
                assert_eq!(message["id"], id);
                assert_eq!(text(&message["result"]), "Ada");
                break;
            }
        }
    }
    seen.sort();
    assert_eq!(seen, ["after", "before", "look", "question"]);
}

#[test]
fn a_suspended_call_sends_its_log_lines_when_it_is_resumed() {
    let mut client = Client::silent(TOOLS, &[]);
    let mut meta = mcp_2026(json!({"elicitation": {"form": {}}}));
    meta["io.modelcontextprotocol/logLevel"] = "warning".into();
    let params = json!({"name": "asks", "arguments": {}, "_meta": meta});
    let id = client.request("tools/call", params.clone());
    let (lines, asked) = heard(&mut client, id);
    assert_eq!(
        lines,
        [
            json!(["warning", "asks", "look"]),
            json!(["error", "asks", "before"])
        ]
    );
    let mut again = params;
    again["requestState"] = asked["requestState"].clone();
    again["inputResponses"] =
        json!({"question-1": {"action": "accept", "content": {"answer": "Ada"}}});
    let id = client.request("tools/call", again);
    let (lines, result) = heard(&mut client, id);
    assert_eq!(lines, [json!(["error", "asks", "after"])]);
    assert_eq!(text(&result), "Ada");
}
