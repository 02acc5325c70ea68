//! Trust domains: changes that one party's code makes in its isolate do not affect other parties.

use haft::{Call, Host};
use serde_json::Value;
use serde_json::value::RawValue;

use crate::sandbox::Sandbox;

/// `NAME_taint` changes everything that modules of one isolate share; `NAME_see` reports what it
/// finds.
const MODULE: &str = r#"
import { shared } from "SHARED";
const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
const tool = (name, execute) => ({ name, description: name, parameters: { type: "object" }, execute });
const heard = [];
export default (pi) => {
  pi.events.on("said", (by) => heard.push(by));
  return [
    tool("NAME_taint", async () => {
      const mark = "NAME";
      globalThis.marked = mark;
      globalThis[Symbol.for("marked")] = mark;
      globalThis.fetch = async () => new Response(mark);
      process.env.PATH = `/${mark}`;
      process.env.MARKED = mark;
      shared.mark = mark;
      pi.marked = mark;
      for (const change of [() => process.chdir("/"), () => process.umask(0), () => { process.title = mark; }]) {
        try { change(); } catch {}
      }
      pi.events.emit("said", mark);
      new BroadcastChannel("said").postMessage(mark);
      const url = URL.createObjectURL(new Blob([mark]));
      // Held until the isolate ends.
      navigator.locks.request("one", () => new Promise(() => {}));
      return says({ url });
    }),
    tool("NAME_see", async () => {
      const exec = await pi.exec("/bin/sh", ["-c", "echo $PATH:$MARKED"]);
      return says({
        seen: [
          globalThis.marked, globalThis[Symbol.for("marked")], process.env.MARKED, shared.mark, pi.marked,
          ...heard,
        ].filter((mark) => mark !== undefined),
        fetch: /explained|live/.test(fetch.toString()),
        path: process.env.PATH,
        exec: exec.stdout.trim(),
        locks: (await navigator.locks.query()).held.length,
        lock: await navigator.locks.request("one", { ifAvailable: true }, (lock) => lock !== null),
        title: process.title,
        cwd: process.cwd(),
      });
    }),
  ];
};
"#;

async fn text(host: &Host, tool: &str) -> Value {
    let call = Call {
        id: tool.to_owned(),
        tool: tool.to_owned(),
        arguments: RawValue::from_string("{}".into()).expect("JSON"),
    };
    let outcome = host.call(call, None).outcome().await.expect("it runs");
    assert!(!outcome.is_error, "{tool}: {}", outcome.text());
    serde_json::from_str(&outcome.text()).expect("the tool writes JSON")
}

/// The user's own tools, an installed plugin, a trusted project, and a second module of each.
fn world() -> Sandbox {
    let sandbox = Sandbox::with_home();
    let shared = sandbox.write("shared.js", "export const shared = {};\n");
    let module = |name: &str| {
        let text = MODULE.replace("NAME", name);
        text.replace("SHARED", &shared.display().to_string())
    };
    let plugin = "home/.omp/plugins/node_modules/third";
    sandbox.write(
        "home/.omp/plugins/package.json",
        r#"{"dependencies":{"third":"1.0.0"}}"#,
    );
    sandbox.write(
        &format!("{plugin}/package.json"),
        r#"{"name":"third","version":"1.0.0","omp":{}}"#,
    );
    for (folder, name) in [
        ("home/.omp/agent/tools", "user"),
        (".omp/tools", "project"),
        (&format!("{plugin}/tools"), "plugin"),
    ] {
        for suffix in ["", "2"] {
            let name = format!("{name}{suffix}");
            sandbox.write(&format!("{folder}/{name}.js"), &module(&name));
        }
    }
    sandbox
}

/// S12: changes of one party are visible to its own modules, and never to the two others.
#[tokio::test(flavor = "multi_thread")]
async fn parties_do_not_meet() {
    let parties = ["user", "project", "plugin"];
    for taints in parties {
        let sandbox = world();
        let host = sandbox.host(|config| config.trust_project = true);
        let mut before = Vec::new();
        for name in parties {
            before.push(text(&host, &format!("{name}2_see")).await);
        }
        text(&host, &format!("{taints}_taint")).await;
        for (name, before) in parties.iter().zip(before) {
            let after = text(&host, &format!("{name}2_see")).await;
            assert_eq!(before["seen"], serde_json::json!([]), "{name}");
            if *name == taints {
                let seen = after["seen"].as_array().expect("a list");
                assert!(
                    seen.len() >= 6,
                    "modules of {taints} share an isolate: {after}"
                );
                assert_ne!(after["exec"], before["exec"]);
            } else {
                assert_eq!(after, before, "{taints} reached {name}")
            }
        }
        host.kill().await;
    }
}

/// A tool of the project cannot act for a call of the user.
#[tokio::test(flavor = "multi_thread")]
async fn the_engine_s_core_is_out_of_reach() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        ".omp/tools/looks.js",
        r#"
const says = (value) => ({ content: [{ type: "text", text: JSON.stringify(value) }] });
export default () => ({ name: "looks", description: "looks", parameters: { type: "object" }, async execute() {
  const Deno = new Function("return Deno")();
  const found = [];
  const seen = new Set();
  // Everything that can be reached from the global objects.
  const waiting = [globalThis, Deno, process];
  while (waiting.length > 0) {
    const one = waiting.pop();
    if ((typeof one !== "object" && typeof one !== "function") || one === null || seen.has(one)) continue;
    seen.add(one);
    let keys = [];
    try { keys = Reflect.ownKeys(one); } catch {}
    for (const key of keys) {
      if (["setAsyncContext", "loadExtScript", "evalContext", "ops", "BrowserWindow"].includes(key)
        || String(key).startsWith("op_")) found.push(String(key));
      let value;
      try { value = one[key]; } catch {}
      waiting.push(value);
    }
    try { waiting.push(Object.getPrototypeOf(one)); } catch {}
  }
  return says({ found, many: seen.size > 2000 });
} });
"#,
    );
    let host = sandbox.host(|config| config.trust_project = true);
    let looked = text(&host, "looks").await;
    assert_eq!(looked, serde_json::json!({"found": [], "many": true}));
    host.kill().await;
}
