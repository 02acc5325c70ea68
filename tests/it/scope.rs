//! The tools that exist for a caller, however it reaches them: directly, by a tool that calls tools, by a
//! script, from a queue, or at another host; for each surface and each way to limit a caller.

use serde_json::{Value, json};

use crate::callers::{Bearer, new_token};
use crate::mcp_client::Client;
use crate::nats::Host;
use crate::nats_server::Server;
use crate::sandbox::Sandbox;
use crate::served::Served;

/// An extension of pi: `relay` calls what it is told to call, `few` is there for all, `sec` is not.
const TOOLS: &str = r#"
import { Type } from "typebox";
export default (pi) => {
  const says = (text) => ({ content: [{ type: "text", text }] });
  const tool = (name, parameters, execute) => pi.registerTool({
    name, label: name, description: name, parameters, annotations: { readOnlyHint: true }, execute,
  });
  tool("relay", Type.Object({ path: Type.Array(Type.String()) }), async (_id, { path: [next, ...rest] }, _signal, _update, ctx) => {
    try {
      return says((await ctx.executeTool(next, { path: rest })).content[0].text);
    } catch (error) {
      return says(`refused: ${error.message}`);
    }
  });
  for (const name of ["few", "sec"])
    tool(name, Type.Object({ path: Type.Optional(Type.Array(Type.String())) }), async () => says(`${name} ran`));
};
"#;

/// Limits every surface to `relay` and `few`.
const CONFIG: &str = "toolsets: {some: [relay, few]}\n";

/// Paths of calls, and the end of each.
const WAYS: [(&[&str], &str); 5] = [
    (&["few"], "few ran"),
    (&["sec"], "refused: Tool sec not found"),
    (&["relay", "few"], "few ran"),
    (&["relay", "sec"], "refused: Tool sec not found"),
    (&["relay", "relay", "sec"], "refused: Tool sec not found"),
];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    sandbox.write("home/.config/haft/config.yaml", CONFIG);
    sandbox
}

/// Returns a script that makes a call of `relay`, and one of `sec` itself.
fn script(path: &[&str]) -> String {
    let path = json!(path);
    format!(
        "const text = (result) => result.content ? result.content[0].text : result;\n\
         let own; try {{ own = text(await tools.sec({{}})); }} catch (error) {{ own = `no tool`; }}\n\
         return own + ', ' + text(await tools.relay({{path: {path}}}));"
    )
}

fn serve(sandbox: &Sandbox, more: &[&str], env: &[(&str, &str)]) -> Served {
    let mut command = sandbox.haft();
    command.args(["--tool", "tools.ts", "serve", "--listen", "127.0.0.1:0"]);
    let served = Served::start(command.args(more).envs(env.iter().copied()));
    while served.get("/api/ready").status != 200 {}
    served
}

#[test]
fn a_token_reaches_no_other_tool_over_rest_and_mcp() {
    let sandbox = sandbox();
    let served = serve(&sandbox, &[], &[]);
    let client = Bearer::new(&served, &sandbox, "--tools relay,few --tier read");
    for (path, end) in WAYS {
        let called = client.call("relay", json!({"path": path}));
        assert!(called.body.contains(end), "{path:?}: {called:?}");
        let params = json!({"name": "relay", "arguments": {"path": path}});
        let called = client.mcp("tools/call", params);
        assert!(called.body.contains(end), "{path:?}: {called:?}");
        let ran = client.post("/api/run", &json!({"code": script(path)}));
        let both = format!("no tool, {end}");
        assert!(ran.body.contains(&both), "{path:?}: {ran:?}");
    }
    assert_eq!(client.call("sec", json!({})).status, 404);
    // A token without limits still does.
    let all = Bearer::new(&served, &sandbox, "--tools '*' --tier read");
    let called = all.call("relay", json!({"path": ["relay", "sec"]}));
    assert!(called.body.contains("sec ran"), "{called:?}");
}

#[test]
fn a_tier_reaches_no_tool_above_it() {
    let sandbox = Sandbox::with_home();
    let tools = TOOLS.replace(
        "annotations: { readOnlyHint: true }",
        "annotations: { readOnlyHint: name !== \"sec\" }",
    );
    sandbox.write("tools.ts", &tools);
    let served = serve(&sandbox, &[], &[]);
    let client = Bearer::new(&served, &sandbox, "--tools '*' --tier read");
    for path in [&["sec"][..], &["relay", "sec"]] {
        let called = client.call("relay", json!({"path": path}));
        assert!(called.body.contains("Tool sec not found"), "{called:?}");
    }
}

#[test]
fn a_toolset_reaches_no_other_tool_over_mcp_on_pipes() {
    for flags in [
        &["--toolset", "some"][..],
        &["--include", "relay", "--include", "few"],
        &["--exclude", "sec"],
    ] {
        let mut client = Client::within(sandbox(), &[flags, &["--code"]].concat());
        client.initialize(json!({}));
        for (path, end) in WAYS {
            let call = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
            let called = client.ask("tools/call", call("relay", json!({"path": path})));
            assert!(called.to_string().contains(end), "{path:?}: {called}");
            let run = call("run_code", json!({"code": script(path)}));
            let ran = client.ask("tools/call", run).to_string();
            assert!(ran.contains(&format!("no tool, {end}")), "{path:?}: {ran}");
        }
        let unknown = client.ask("tools/call", json!({"name": "sec", "arguments": {}}));
        assert!(unknown.to_string().contains("Unknown tool"), "{unknown}");
    }
}

#[test]
fn a_toolset_reaches_no_other_tool_over_json_rpc() {
    let sandbox = sandbox();
    for (path, end) in WAYS {
        let requests = [
            json!({"id": 1, "method": "initialize", "params": {"toolsets": ["some"], "tools": ["tools.ts"]}}),
            json!({"id": 2, "method": "tools/call", "params": {"name": "relay", "arguments": {"path": path}}}),
            json!({"id": 3, "method": "tools/call", "params": {"name": "sec", "arguments": {}}}),
            json!({"id": 4, "method": "code/run", "params": {"code": script(path)}}),
        ];
        let lines = requests.map(|mut request| {
            request["jsonrpc"] = json!("2.0");
            format!("{request}\n")
        });
        sandbox.write("requests", &lines.concat());
        let ran = sandbox.sh("haft --tool tools.ts rpc < requests").output;
        assert!(!ran.contains("sec ran"), "{ran}");
        assert!(ran.contains(end), "{path:?}: {ran}");
        assert!(ran.contains(&format!("no tool, {end}")), "{path:?}: {ran}");
    }
}

#[test]
fn a_script_of_the_command_line_reaches_its_toolset_only() {
    let sandbox = sandbox();
    for (path, end) in WAYS {
        sandbox.write("script.ts", &script(path));
        let ran = sandbox.sh("haft --tool tools.ts run --toolset some script.ts");
        assert!(
            ran.output.contains(&format!("no tool, {end}")),
            "{}",
            ran.output
        );
    }
}

#[test]
fn a_queued_call_has_the_scope_of_its_token_at_each_host() {
    let server = Server::with("jetstream { store_dir: \"FOLDER/kept\" }");
    let url = server.url();
    let sandboxes = [sandbox(), sandbox()];
    let start = |sandbox: &Sandbox, name: &str| {
        let env = [
            ("HAFT_SERVE_NATS_URL", url.as_str()),
            ("HAFT_SERVE_NATS_NAME", name),
            ("HAFT_SERVE_NATS_SHARE", "true"),
        ];
        serve(sandbox, &[], &env)
    };
    // Either host may take the call.
    let (served, _other) = (start(&sandboxes[0], "a"), start(&sandboxes[1], "b"));
    let client = Bearer::new(&served, &sandboxes[0], "--tools relay,few --tier read");
    for (path, end) in WAYS {
        let head = client.head("POST", "/api/tools/relay/call") + "Prefer: respond-async\r\n";
        let body = json!({"arguments": {"path": path}}).to_string();
        let put = served.send(&head, &body);
        assert_eq!(put.status, 202, "{put:?}");
        let place = put.header("location").expect("a place").to_owned();
        let result = loop {
            let read = client.get(&place);
            assert_eq!(read.status, 200, "{read:?}");
            if read.json()["status"] == "completed" {
                break read;
            }
        };
        assert!(result.body.contains(end), "{path:?}: {result:?}");
    }
    let hidden = client.head("POST", "/api/tools/sec/call") + "Prefer: respond-async\r\n";
    assert_eq!(served.send(&hidden, "{}").status, 404);
}

#[test]
fn a_caller_of_other_hosts_takes_its_scope_along() {
    let server = Server::start();
    let url = server.url();
    let _host = Host::serving(sandbox(), &server, "there", |_| {});
    let here = Sandbox::with_home();
    let config = format!("{CONFIG}remote: {{gpu: {{url: {url}, prefix: gpu_}}}}\n");
    here.write("home/.config/haft/config.yaml", &config);
    here.write("tools.ts", TOOLS);
    while !here
        .sh("haft refresh; haft list")
        .output
        .contains("gpu_sec")
    {}
    let served = serve(&here, &[], &[]);
    // The caller knows the tools of the other host with a prefix.
    let client = Bearer(
        &served,
        new_token(&here, "--tools gpu_relay,gpu_few,relay --tier exec"),
    );
    for (path, end) in WAYS {
        let called = client.call("gpu_relay", json!({"path": path}));
        assert!(called.body.contains(end), "{path:?}: {called:?}");
    }
    let called = client.call("relay", json!({"path": ["gpu_sec"]}));
    assert!(called.body.contains("Tool gpu_sec not found"), "{called:?}");
}

#[test]
fn a_host_that_offers_some_tools_runs_no_others_for_callers() {
    let server = Server::start();
    let url = server.url();
    let _host = Host::serving(sandbox(), &server, "there", |command| {
        command.args(["--toolset", "some"]);
    });
    let here = Sandbox::with_home();
    here.write(
        "home/.config/haft/config.yaml",
        &format!("remote: {{gpu: {{url: {url}}}}}\n"),
    );
    for (path, end) in WAYS {
        let path = json!({"path": path});
        let called = here.sh(&format!("haft call relay '{path}' --yolo"));
        assert!(called.output.contains(end), "{path}: {}", called.output);
    }
}
