//! A server that drains: what it still takes, what it refuses, and when it ends.

use std::fs;

use serde_json::Value;

use crate::sandbox::Sandbox;
use crate::served::{Reply, Served};

/// A tool that ends when something was written to a pipe, and one that ends at once.
const TOOLS: &str = r#"
import { readFile } from "node:fs/promises";
const tool = (pi, name, execute) =>
  ({ name, label: name, description: name, parameters: pi.zod.object({}), execute });
const says = (text) => ({ content: [{ type: "text", text }] });
export default (pi) => [
  tool(pi, "waits", async () => says(await readFile("PIPE", "utf8"))),
  tool(pi, "ends", async () => says("ended")),
];
"#;

fn status(reply: &Reply) -> (u16, String) {
    let text = reply.json()["status"].as_str().map(str::to_owned);
    (reply.status, text.unwrap_or_default())
}

#[test]
fn a_draining_server_is_not_ready_finishes_what_runs_and_then_takes_no_calls() {
    let sandbox = Sandbox::with_home();
    let pipe = sandbox.fifo("pipe");
    let tools = TOOLS.replace("PIPE", &pipe.display().to_string());
    sandbox.write("tools.ts", &tools);
    let mut command = sandbox.haft();
    command.env("HAFT_SERVE_DRAIN", "10m");
    let arguments = ["--tool=tools.ts", "serve", "--listen=127.0.0.1:0"];
    let mut served = Served::start(command.args(arguments));
    let token = served.token.take();
    while status(&served.get("/api/ready")) != (200, "ready".to_owned()) {}
    let listed = served.get("/api/tools");
    assert_eq!(listed.status, 401, "readiness alone needs no token");
    served.token = token;
    let head = "POST /api/tools/waits/call HTTP/1.1\r\nHost: localhost\r\n\
                Content-Type: application/json\r\n";
    let waiting = served.begin(head, "{}");
    while served.get("/metrics").body.contains("haft_calls_active 0") {}
    served.signal("TERM");
    while served.get("/api/ready").status == 200 {}
    let ready = served.get("/api/ready");
    assert_eq!(status(&ready), (503, "draining".to_owned()));
    assert_eq!(status(&served.get("/api/health")), (200, "ok".to_owned()));
    // Balancers have time to notice, so the first calls still run.
    assert_eq!(served.post("/api/tools/ends/call", "{}").status, 200);
    let refused = loop {
        let reply = served.post("/api/tools/ends/call", "{}");
        if reply.status != 200 {
            break reply;
        }
    };
    assert_eq!(refused.status, 503);
    let detail = refused.json()["detail"].clone();
    assert_eq!(detail, "the server is ending and takes no new calls");
    fs::write(&pipe, "it finished").expect("the tool reads");
    let finished = Reply::read(waiting);
    assert_eq!(
        finished.json()["content"][0]["text"],
        Value::from("it finished")
    );
    assert_eq!(served.wait(), Some(0));
}
