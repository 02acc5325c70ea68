//! HTTP servers of several hosts that share one NATS server: tasks, suspended calls, and the queue over
//! REST.

use std::fs;

use serde_json::{Value, json};

use crate::callers::new_token;
use crate::mcp_client::{mcp_2026, text};
use crate::nats_server::Server;
use crate::sandbox::Sandbox;
use crate::served::{Reply, Served};

const TOOLS: &str = r#"
import { appendFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
const says = (text) => ({ content: [{ type: "text", text }] });
const tool = (name, execute, rest) =>
  ({ name, description: name, parameters: { type: "object" }, execute, ...rest });
export default (pi) => [
  tool("greet", async (_id, { name }) => says(`hello ${name}`),
    { parameters: { type: "object", properties: { name: { type: "string" } }, required: ["name"] } }),
  tool("name", async (_id, _args, _onUpdate, ctx) => {
    const first = await ctx.ui.input("First?");
    return says(`${first} ${await ctx.ui.input(`After ${first}?`)}`);
  }),
  tool("waits", async (_id, _args, onUpdate, _ctx, signal) => {
    onUpdate(says("working"));
    appendFileSync("MARKS", "started\n");
    const ended = new Promise((resolve) => signal.addEventListener("abort", () => resolve("aborted")));
    return says(await Promise.race([ended, readFile("PIPE", "utf8")]));
  }),
];
"#;

/// A `haft serve` that shares.
struct Host {
    served: Served,
    sandbox: Sandbox,
}

impl Host {
    fn start(server: &Server, name: &str, env: &[(&str, &str)]) -> Host {
        let sandbox = Sandbox::with_home();
        let pipe = sandbox.fifo("pipe").display().to_string();
        let marks = sandbox.path().join("marks").display().to_string();
        let tools = TOOLS.replace("PIPE", &pipe).replace("MARKS", &marks);
        sandbox.write("tools.ts", &tools);
        let mut command = sandbox.haft();
        command
            .args(["--tool=tools.ts", "serve", "--listen=127.0.0.1:0"])
            .env("HAFT_SERVE_NATS_URL", server.url().as_str())
            .env("HAFT_SERVE_NATS_NAME", name)
            .env("HAFT_SERVE_NATS_SHARE", "true")
            .envs(env.iter().copied());
        let served = Served::start(&mut command);
        while served.get("/api/ready").status != 200 {}
        Host { served, sandbox }
    }

    /// Sends a request of MCP 2026-07, and returns the message that answers it.
    fn mcp(&self, method: &str, name: &str, params: Value) -> Value {
        self.mcp_as("", method, name, params)
    }

    fn mcp_as(&self, header: &str, method: &str, name: &str, mut params: Value) -> Value {
        let tasks = json!({"elicitation": {}, "extensions": {"io.modelcontextprotocol/tasks": {}}});
        params["_meta"] = mcp_2026(tasks);
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nMcp-Protocol-Version: 2026-07-28\r\n\
             Mcp-Method: {method}\r\nMcp-Name: {name}\r\n{header}"
        );
        self.served.send(&head, &body.to_string()).json()
    }

    fn call(&self, name: &str, arguments: Value) -> Value {
        let params = json!({"name": name, "arguments": arguments});
        self.mcp("tools/call", name, params)["result"].take()
    }

    fn task(&self, id: &str) -> Value {
        self.mcp("tasks/get", id, json!({"taskId": id}))
    }

    /// Waits until a task has this state.
    fn task_is(&self, id: &str, status: &str) -> Value {
        loop {
            let mut answer = self.task(id);
            let task = answer["result"].take();
            assert!(task.is_object(), "{answer}");
            if task["status"] == status {
                return task;
            }
        }
    }

    fn answer(&self, id: &str, question: &str, value: &str) {
        let answers = json!({question: {"action": "accept", "content": {"answer": value}}});
        let params = json!({"taskId": id, "inputResponses": answers});
        let told = self.mcp("tasks/update", id, params);
        assert_eq!(told["result"], json!({"resultType": "complete"}), "{told}");
    }

    fn cancel(&self, id: &str) {
        let told = self.mcp("tasks/cancel", id, json!({"taskId": id}));
        assert_eq!(told["result"], json!({"resultType": "complete"}), "{told}");
    }

    /// Waits until one of the tools has begun a call.
    fn started(&self) {
        let file = self.sandbox.path().join("marks");
        while fs::read_to_string(&file).unwrap_or_default().is_empty() {}
    }

    fn kill(self) -> Sandbox {
        self.served.signal("KILL");
        self.sandbox
    }
}

/// Returns the header of an agent with a token of its own.
fn bearer(host: &Host) -> String {
    let token = new_token(
        &host.sandbox,
        "--tools '*' --tier exec --expires 8h --name agent",
    );
    format!("Authorization: Bearer {token}\r\n")
}

fn keeping() -> Server {
    Server::with("jetstream { store_dir: \"FOLDER/kept\" }")
}

/// Returns the one question of an answer or a task, with its key.
fn question(result: &Value) -> (String, String) {
    let requests = result["inputRequests"].as_object().expect("questions");
    let (key, request) = requests.iter().next().expect("a question");
    let message = request["params"]["message"].as_str().expect("a text");
    (key.clone(), message.to_owned())
}

fn id_of(created: &Value) -> String {
    assert_eq!(created["resultType"], "task", "{created}");
    created["taskId"].as_str().expect("an id").to_owned()
}

const ALWAYS: (&str, &str) = ("HAFT_MCP_TASK_AFTER", "always");

#[test]
fn a_task_from_the_start_is_a_queued_call_of_all_hosts() {
    let server = keeping();
    let (a, b) = (
        Host::start(&server, "a", &[ALWAYS]),
        Host::start(&server, "b", &[ALWAYS]),
    );
    let id = id_of(&a.call("greet", json!({"name": "Ada"})));
    assert_eq!(id.len(), 26, "{id}");
    let task = b.task_is(&id, "completed");
    assert_eq!(text(&task["result"]), "hello Ada");
    assert_eq!(task["ttlMs"], 7 * 24 * 3600 * 1000);
    let id = id_of(&b.call("greet", json!({"name": 1})));
    let task = a.task_is(&id, "completed");
    assert_eq!(task["result"]["isError"], true, "{task}");
    // Questions at one host, their answers at the other.
    let id = id_of(&a.call("name", json!({})));
    let (key, message) = question(&b.task_is(&id, "input_required"));
    assert_eq!(message, "[name] First?");
    b.answer(&id, &key, "one");
    let second = loop {
        let task = a.task_is(&id, "input_required");
        let (key, message) = question(&task);
        if message == "[name] After one?" {
            break key;
        }
    };
    assert_ne!(second, key);
    a.answer(&id, &second, "two");
    // An answer that comes late changes nothing.
    a.answer(&id, &second, "three");
    assert_eq!(text(&b.task_is(&id, "completed")["result"]), "one two");
    let id = id_of(&b.call("waits", json!({})));
    while a.task(&id)["result"]["statusMessage"] != "working" {}
    a.cancel(&id);
    b.task_is(&id, "cancelled");
    // What other hosts do not have stays in the memory of one host, and others ask it.
    let unknown = a.task("01ARZ3NDEKTSV4RRFFQ69G5FAV");
    assert_eq!(unknown["error"]["code"], -32602, "{unknown}");
    // Another client sees nothing of it.
    let header = bearer(&a);
    let hidden = a.mcp_as(&header, "tasks/get", &id, json!({"taskId": id}));
    assert_eq!(hidden["error"]["code"], -32602, "{hidden}");
    let head = format!("GET /api/queue/{id} HTTP/1.1\r\nHost: localhost\r\n{header}");
    assert_eq!(a.served.send(&head, "").status, 404);
    let head = format!("GET /api/queue HTTP/1.1\r\nHost: localhost\r\n{header}");
    assert_eq!(a.served.send(&head, "").json(), json!({"calls": []}));
    let all = b.served.get("/api/queue").json();
    assert_eq!(all["calls"].as_array().expect("a list").len(), 4, "{all}");
}

#[test]
fn a_killed_host_loses_no_task_that_it_took() {
    let server = keeping();
    let one = [ALWAYS, ("HAFT_SERVE_NATS_QUEUE", "1")];
    let a = Host::start(&server, "a", &one);
    let running = id_of(&a.call("waits", json!({})));
    a.started();
    // It waits behind the other.
    let waiting = id_of(&a.call("greet", json!({"name": "Ada"})));
    drop(a.kill());
    let b = Host::start(&server, "b", &one);
    assert_eq!(
        text(&b.task_is(&waiting, "completed")["result"]),
        "hello Ada"
    );
    let lost = b.task_is(&running, "failed");
    assert_eq!(
        lost["error"],
        json!({
            "code": -32603,
            "message": "host `a` was lost during the queued call of `waits`",
            "data": {"kind": "lost"},
        })
    );
}

#[test]
fn what_is_in_the_memory_of_a_host_is_reached_through_the_others() {
    // Without JetStream there is no queue.
    let server = Server::start();
    let soon = [("HAFT_MCP_TASK_AFTER", "1s")];
    let (a, b) = (
        Host::start(&server, "a", &soon),
        Host::start(&server, "b", &soon),
    );
    let asked = a.call("name", json!({"x": 1}));
    assert_eq!(asked["resultType"], "input_required", "{asked}");
    let resume = |host: &Host, asked: &Value, arguments: Value, value: &str| {
        let (key, _) = question(asked);
        let answers = json!({key: {"action": "accept", "content": {"answer": value}}});
        let params = json!({
            "name": "name",
            "arguments": arguments,
            "requestState": asked["requestState"],
            "inputResponses": answers,
        });
        host.mcp("tools/call", "name", params)
    };
    // Another host checks what the state is sealed for, as its own does.
    let other = resume(&b, &asked, json!({"x": 2}), "one");
    assert_eq!(other["error"]["code"], -32602, "{other}");
    let next = resume(&b, &asked, json!({"x": 1}), "one")["result"].take();
    let (_, message) = question(&next);
    assert_eq!(message, "[name] After one?");
    let used = resume(&b, &asked, json!({"x": 1}), "one");
    assert_eq!(used["error"]["code"], -32602, "{used}");
    let done = resume(&a, &next, json!({"x": 1}), "two");
    assert_eq!(text(&done["result"]), "one two", "{done}");
    // A call that became a task is read, cancelled and lost with its host.
    let task = id_of(&a.call("waits", json!({})));
    b.task_is(&task, "working");
    b.cancel(&task);
    b.task_is(&task, "cancelled");
    let header = bearer(&b);
    let hidden = b.mcp_as(&header, "tasks/get", &task, json!({"taskId": task}));
    assert_eq!(hidden["error"]["code"], -32602, "{hidden}");
    let suspended = a.call("name", json!({"x": 1}));
    assert_eq!(suspended["resultType"], "input_required", "{suspended}");
    drop(a.kill());
    let lost = resume(&b, &suspended, json!({"x": 1}), "one");
    assert_eq!(lost["result"]["isError"], true, "{lost}");
    assert_eq!(
        text(&lost["result"]),
        "the host that had the call is gone\nit is not known what the call has done"
    );
    let lost = b.task(&task);
    assert_eq!(
        (&lost["error"]["message"], &lost["error"]["data"]),
        (
            &json!("the host that had the call is gone"),
            &json!({"kind": "lost"})
        )
    );
    // Nothing is queued there.
    let none = b.served.get("/api/queue");
    assert_eq!(
        (none.status, none.json()["kind"].clone()),
        (503, json!("unavailable"))
    );
}

fn put(host: &Host, tool: &str, body: &Value) -> (Reply, String) {
    let path = format!("/api/tools/{tool}/call");
    let reply = host.served.post(&path, &body.to_string());
    assert_eq!(reply.status, 202, "{}", reply.body);
    let place = reply.header("location").expect("a place").to_owned();
    (reply, place)
}

#[test]
fn calls_are_queued_read_answered_and_cancelled_over_rest() {
    let server = keeping();
    let (a, b) = (
        Host::start(&server, "a", &[]),
        Host::start(&server, "b", &[]),
    );
    let body = json!({"queue": true, "arguments": {"name": "Ada"}});
    let (reply, place) = put(&a, "greet", &body);
    let queued = reply.json();
    let id = queued["id"].as_str().expect("an id");
    assert_eq!(place, format!("/api/queue/{id}"));
    assert_eq!(queued["caller"], "a");
    let ended = b.served.get(&format!("{place}?waitMs=60000")).json();
    assert_eq!(ended["status"], "completed", "{ended}");
    assert_eq!(ended["result"]["content"][0]["text"], "hello Ada");
    let prefers = "POST /api/tools/waits/call HTTP/1.1\r\nHost: localhost\r\n\
                   Content-Type: application/json\r\nPrefer: respond-async\r\n";
    let waits = a.served.send(prefers, "{}");
    assert_eq!(waits.status, 202, "{}", waits.body);
    let place = waits.header("location").expect("a place").to_owned();
    while b.served.get(&place).json()["message"] != "working" {}
    // Its host shows itself, and the queue.
    let runs_on = b.served.get(&place).json()["host"].clone();
    let runner = if runs_on == "a" { &a } else { &b };
    let shown = runner.served.get("/api/calls").json()["calls"][0].take();
    assert_eq!(
        (
            &shown["tool"],
            &shown["state"],
            &shown["host"],
            &shown["queue"]
        ),
        (
            &json!("waits"),
            &json!("running"),
            &runs_on,
            &json!("default")
        )
    );
    let asked = b.served.delete(&place);
    assert!([200, 202].contains(&asked.status), "{}", asked.body);
    let ended = a.served.get(&format!("{place}?waitMs=60000")).json();
    assert_eq!(
        (&ended["status"], &ended["result"]["stopped"]),
        (&json!("cancelled"), &json!("cancelled"))
    );
    assert_eq!(a.served.delete(&place).status, 200);
    // Questions wait in the queue only if the client answers them.
    let (_, place) = put(&a, "name", &json!({"queue": true}));
    let ended = a.served.get(&format!("{place}?waitMs=60000")).json();
    assert_eq!(ended["result"]["content"][0]["text"], "undefined undefined");
    let (_, place) = put(
        &a,
        "name",
        &json!({"queue": true, "answersQuestions": true}),
    );
    let mut events = b.served.events(
        &format!("GET {place} HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n"),
        "",
    );
    for (title, value) in [("First?", "one"), ("After one?", "two")] {
        let question = loop {
            let state = events.wait_for("state");
            let question = state.data["questions"][0].clone();
            if question["title"] == title {
                assert_eq!(state.data["status"], "input_required");
                break question;
            }
        };
        let answers = format!("{place}/answers");
        let wrong = json!({"question": question["question"], "value": 5});
        assert_eq!(b.served.post(&answers, &wrong.to_string()).status, 422);
        let right = json!({"question": question["question"], "value": value});
        let answered = b.served.post(&answers, &right.to_string());
        assert_eq!(answered.status, 200, "{}", answered.body);
    }
    assert_eq!(
        events.wait_for("result").data["content"][0]["text"],
        "one two"
    );
    // What cannot be queued says why.
    for (tool, body, status) in [
        ("nothing", json!({"queue": true}), 404),
        (
            "greet",
            json!({"queue": true, "arguments": {"name": 1}}),
            422,
        ),
        ("greet", json!({"queue": true, "callId": "mine"}), 409),
    ] {
        let path = format!("/api/tools/{tool}/call");
        let refused = a.served.post(&path, &body.to_string());
        assert_eq!(refused.status, status, "{}", refused.body);
    }
    assert_eq!(
        a.served.get("/api/queue/01ARZ3NDEKTSV4RRFFQ69G5FAV").status,
        404
    );
    assert_eq!(a.served.get(&format!("{place}?waitMs=3600001")).status, 400);
    let listed = b.served.get("/api/queue").json();
    assert_eq!(listed["calls"].as_array().expect("a list").len(), 4);
    // An agent's token sees its own calls, and answers no questions.
    let header = bearer(&a);
    let head = format!(
        "POST {place}/answers HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{header}"
    );
    assert_eq!(a.served.send(&head, r#"{"question": 1}"#).status, 403);
    let head = format!(
        "POST /api/tools/greet/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{header}"
    );
    let own = a.served.send(&head, &body.to_string());
    assert_eq!(own.status, 202, "{}", own.body);
    let own = own.json()["id"].clone();
    let head = format!("GET /api/queue HTTP/1.1\r\nHost: localhost\r\n{header}");
    let listed = a.served.send(&head, "").json();
    let ids: Vec<&Value> = listed["calls"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|call| &call["id"])
        .collect();
    assert_eq!(ids, [&own]);
}

#[test]
fn a_client_does_not_fill_the_queue_for_others() {
    let server = keeping();
    let one = ("HAFT_SERVE_NATS_QUEUE_PER_CLIENT", "1");
    let a = Host::start(&server, "a", &[ALWAYS, one]);
    let b = Host::start(&server, "b", &[ALWAYS, one]);
    let text_of_limit =
        "this client has 1 queued calls that have not ended, which is as many as it may have";
    let hint = "wait for one to end, or cancel one; `serve.nats.queue_per_client` of the hosts is \
                the limit";
    let (_, place) = put(&a, "waits", &json!({"queue": true}));
    let body = json!({"queue": true, "arguments": {"name": "Ada"}}).to_string();
    // At any host, over any surface.
    let refused = b.served.post("/api/tools/greet/call", &body);
    assert_eq!(refused.status, 429, "{}", refused.body);
    assert_eq!(refused.header("retry-after"), Some("1"));
    let problem = refused.json();
    assert_eq!(
        (&problem["kind"], &problem["detail"], &problem["hint"]),
        (&json!("limited"), &json!(text_of_limit), &json!(hint))
    );
    let refused = b.call("greet", json!({"name": "Ada"}));
    assert_eq!(refused["isError"], true, "{refused}");
    assert_eq!(text(&refused), format!("{text_of_limit}\n{hint}"));
    // Another client has room, and so has a command line.
    let head = format!(
        "POST /api/tools/waits/call HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{}",
        bearer(&a)
    );
    let own = a.served.send(&head, r#"{"queue": true}"#);
    assert_eq!(own.status, 202, "{}", own.body);
    assert_eq!(a.served.send(&head, r#"{"queue": true}"#).status, 429);
    let desk = Sandbox::with_home();
    desk.write(
        "home/.config/haft/config.yaml",
        &format!("remote: {}\n", server.url()),
    );
    let queued = desk.sh("haft call waits --queue --detach 2>&1");
    assert_eq!(queued.code, 0, "{}", queued.output);
    let refused = desk.sh("haft call waits --queue --detach 2>&1");
    assert_eq!(
        (refused.code, refused.output),
        (1, format!("error: {text_of_limit}\nhint: {hint}\n"))
    );
    // The end of a call makes room.
    a.served.delete(&place);
    let ended = b.served.get(&format!("{place}?waitMs=60000")).json();
    assert_eq!(ended["status"], "cancelled", "{ended}");
    while b.served.post("/api/tools/greet/call", &body).status != 202 {}
}

#[test]
fn a_server_without_a_queue_says_so() {
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOLS);
    let mut command = sandbox.haft();
    command.args(["--tool=tools.ts", "serve", "--listen=127.0.0.1:0"]);
    let served = Served::start(&mut command);
    let body = r#"{"queue": true, "arguments": {"name": "Ada"}}"#;
    for reply in [
        served.post("/api/tools/greet/call", body),
        served.get("/api/queue"),
        served.get("/api/queue/x"),
        served.delete("/api/queue/x"),
    ] {
        let problem = reply.json();
        assert_eq!(
            (reply.status, &problem["detail"], &problem["kind"]),
            (
                503,
                &json!("this server has no queue"),
                &json!("unavailable")
            )
        );
    }
    let lonely = sandbox.sh("HAFT_SERVE_NATS_SHARE=true haft serve --listen 127.0.0.1:0 2>&1");
    assert!(
        lonely
            .output
            .contains("error: the address of the NATS server is missing\n"),
        "{}",
        lonely.output
    );
    assert_eq!(lonely.code, 2);
}
