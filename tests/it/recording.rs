//! Recorded calls: `haft call --record`, `record` of REST and JSON-RPC, and the tests that they
//! become.

use std::fs;
use std::thread;

use serde_json::{Value, json};

use crate::callers::Bearer;
use crate::loopback::{Answer, Server};
use crate::mcp_client::Client;
use crate::mcp_upstream::Upstream;
use crate::sandbox::Sandbox;
use crate::served::{Reply, Served};

/// Asks a server and a program, and the user if there is one.
const TOOL: &str = r#"
const says = (text) => ({ content: [{ type: "text", text }] });
export default (pi) => ({
  name: "ask",
  description: "Asks a server and a program",
  parameters: pi.zod.object({ url: pi.zod.string(), token: pi.zod.string().optional() }),
  async execute(_id, { url, token }, _onUpdate, ctx) {
    const headers = { authorization: `Bearer ${token}` };
    const response = await fetch(url, { method: "POST", body: "question", headers });
    const { stdout } = await pi.exec("sh", ["-c", "printf '%s' \"$PWD\""]);
    const name = ctx.hasUI ? await ctx.ui.input("Name?") : "nobody";
    return says(`${response.status} ${await response.text()} ${stdout} ${name}`);
  },
});
"#;

const PROGRAM: &str = r#"#!/bin/sh
[ "$1" = description ] && echo '{"name": "touches", "description": "Touches", "input_schema": {"type": "object"}}' && exit
touch touched
"#;

/// A project with the tool, and the server that it asks.
fn project() -> (Sandbox, Server) {
    let server = Server::start(|_| Answer::ok("an answer"));
    let sandbox = Sandbox::with_home();
    sandbox.write("ask.ts", TOOL);
    (sandbox, server)
}

fn succeeds(sandbox: &Sandbox, line: &str) -> String {
    let ran = sandbox.sh(line);
    assert_eq!(ran.code, 0, "{line}\n{}", ran.output);
    ran.output
}

fn read(sandbox: &Sandbox, path: &str) -> Value {
    let text = fs::read_to_string(sandbox.path().join(path));
    serde_json::from_str(&text.expect(path)).expect(path)
}

fn names(sandbox: &Sandbox, path: &str) -> Vec<String> {
    let file = read(sandbox, path);
    let tests = file["tests"].as_array().expect("a list").iter();
    tests
        .map(|test| test["name"].as_str().expect("a name").to_owned())
        .collect()
}

/// Runs tests without programs and without the network.
const TEST: &str = "PATH=$(dirname $(command -v haft)) haft --trust-project test";

#[test]
fn a_call_is_recorded_alike_in_every_isolation_and_replayed_without_the_world() {
    let (sandbox, server) = project();
    let url = server.url("/x?api_key=sesame-open-1");
    let mut cassettes = Vec::new();
    let isolations = ["process", "sandbox"];
    for isolation in isolations {
        let file = format!("{isolation}.tool-test.json");
        let said = succeeds(
            &sandbox,
            &format!(
                "HAFT_ISOLATION={isolation} haft --tool ask.ts call ask --arg url='{url}' \
                 --arg token=tok-of-the-call --record={file} --test-name asks"
            ),
        );
        let about = format!("test `asks` with 2 recorded answers: {file}\n");
        assert!(said.ends_with(&about), "{said}");
        let test = read(&sandbox, &file);
        assert_eq!(test["module"], "./ask.ts");
        let expected = json!([{
            "name": "asks",
            "tool": "ask",
            "arguments": {"url": server.url("/x?api_key=***"), "token": "***"},
            "expect": {"text": "200 an answer $CWD nobody"},
        }]);
        assert_eq!(test["tests"], expected, "{isolation}");
        let cassette = read(&sandbox, &format!("__cassettes__/{file}.json"));
        for secret in ["sesame-open-1", "tok-of-the-call"] {
            assert!(!cassette.to_string().contains(secret), "{cassette}");
        }
        cassettes.push(cassette);
    }
    let recorded = &cassettes[0]["tests"]["asks"];
    assert_eq!(recorded[0]["fetch"]["headers"]["authorization"], "***");
    assert_eq!(recorded[0]["fetch"]["body"], "question");
    assert_eq!(recorded[0]["answer"]["response"]["body"], "an answer");
    assert_eq!(recorded[1]["exec"]["command"], "sh");
    assert_eq!(recorded[1]["answer"]["stdout"], "$CWD");
    assert_eq!(cassettes[1], cassettes[0], "{}", isolations[1]);
    // The same as `haft test --record` writes.
    fs::remove_dir_all(sandbox.path().join("__cassettes__")).expect("it is there");
    let saved = "process.tool-test.json";
    let mut test = read(&sandbox, saved);
    test["tests"][0]["arguments"] = json!({"url": url, "token": "tok-of-the-call"});
    sandbox.write(saved, &test.to_string());
    succeeds(
        &sandbox,
        &format!("haft --trust-project test --record {saved}"),
    );
    let again = read(&sandbox, &format!("__cassettes__/{saved}.json"));
    assert_eq!(again["tests"]["asks"][0]["fetch"], recorded[0]["fetch"]);
    assert_eq!(again["tests"]["asks"][1], recorded[1]);

    let asked = server.requests().len();
    assert_eq!(asked, isolations.len() + 1);
    succeeds(&sandbox, &format!("{TEST} {saved}"));
    assert_eq!(server.requests().len(), asked, "nobody asked the server");
}

#[test]
fn a_saved_test_is_found_and_replaces_nothing() {
    let (sandbox, server) = project();
    let before = "{\n  \"tests\": [\n    { \"name\": \"mine\",  \"skip\": \"not now\" }\n  ]\n}\n";
    sandbox.write("ask.tool-test.json", before);
    let call = format!("haft --tool ask.ts call ask --arg url={}", server.url("/"));
    succeeds(&sandbox, &format!("{call} --record"));
    succeeds(&sandbox, &format!("{call} --record"));
    let text = fs::read_to_string(sandbox.path().join("ask.tool-test.json")).expect("a file");
    let start = before
        .strip_suffix("\n  ]\n}\n")
        .expect("the end of the list");
    assert!(text.starts_with(start), "{text}");
    let found = names(&sandbox, "ask.tool-test.json");
    assert_eq!(found[0], "mine");
    assert!(found[1].starts_with("ask {\"url\":"), "{found:?}");
    assert_eq!(found[2], format!("{} (2)", found[1]));
    let summary = succeeds(&sandbox, TEST);
    assert!(
        summary.ends_with("2 passed, 0 failed, 1 skipped\n"),
        "{summary}"
    );

    // Files in other forms get it, too.
    for (file, tests, expected) in [
        ("empty", "[]", vec!["new"]),
        ("line", r#"[{"name":"old","skip":"x"}]"#, vec!["old", "new"]),
    ] {
        let file = format!("{file}.tool-test.json");
        let text = format!(r#"{{"module":"./ask.ts","tests":{tests}}}"#);
        sandbox.write(&file, &text);
        succeeds(&sandbox, &format!("{call} --record={file} --test-name new"));
        assert_eq!(names(&sandbox, &file), expected);
        assert_eq!(read(&sandbox, &file)["module"], "./ask.ts");
    }
    let asked = server.requests().len();

    // What cannot be saved is not called.
    let refused = [
        (
            "--record --test-name mine",
            "a test of the name `mine` is there already",
        ),
        ("--record=test.json", "is no test file"),
        ("--record=other.tool-test.json", "about another tool"),
    ];
    sandbox.write("other.ts", TOOL);
    sandbox.write("other.tool-test.json", "[]");
    for (flags, reason) in refused {
        let ran = sandbox.sh(&format!("{call} {flags}"));
        assert_eq!(ran.code, 2, "{flags}: {}", ran.output);
        assert!(ran.output.contains(reason), "{flags}: {}", ran.output);
    }
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn a_call_of_another_family_is_not_made_and_what_a_test_lacks_is_said() {
    let (sandbox, _server) = project();
    let program = sandbox.write("home/.kodelet/tools/touches", PROGRAM);
    succeeds(&sandbox, &format!("chmod +x {}", program.display()));
    let ran = sandbox.sh("haft call touches --record");
    assert_eq!(ran.code, 2, "{}", ran.output);
    assert!(ran.output.contains("cannot be recorded"), "{}", ran.output);
    assert!(!sandbox.path().join("touched").exists());

    let module = r#"
      import { execFileSync } from "node:child_process";
      export default () => ({ name: "node", description: "", parameters: { type: "object" },
        async execute() {
          const text = execFileSync("sh", ["-c", "echo by itself"]).toString();
          return { content: [{ type: "text", text }] };
        } });"#;
    sandbox.write("node.ts", module);
    let said = succeeds(&sandbox, "haft --tool node.ts call node --record");
    let note = "note: it may have reached `sh` in another way than `pi.exec` and `fetch`";
    assert!(said.contains(note), "{said}");
    assert!(said.contains("without recorded answers"), "{said}");
}

fn serve(sandbox: &Sandbox) -> Served {
    let mut command = sandbox.haft();
    Served::start(command.args(["--tool", "ask.ts", "serve", "--listen", "127.0.0.1:0"]))
}

/// Makes a recorded call of REST whose question is answered.
fn recorded_call(served: &Served, tool: &str, id: &str, arguments: &Value, answer: &str) -> Reply {
    let mut events = served.listen(None);
    events.wait_for("ready");
    let body = json!({
        "callId": id, "arguments": arguments, "record": true, "answersQuestions": true,
    });
    thread::scope(|scope| {
        let call =
            scope.spawn(|| served.post(&format!("/api/tools/{tool}/call"), &body.to_string()));
        let asked = events.wait_for("question.asked").data;
        let path = format!("/api/questions/{}", asked["id"].as_str().expect("an id"));
        let value = json!({"value": answer}).to_string();
        assert_eq!(served.post(&path, &value).status, 200);
        call.join().expect("the call is answered")
    })
}

#[test]
fn rest_records_a_call_with_the_answers_of_its_user() {
    let (sandbox, server) = project();
    let served = serve(&sandbox);
    let arguments = json!({"url": server.url("/")});
    let reply = recorded_call(&served, "ask", "one", &arguments, "Ada");
    assert_eq!(reply.status, 200, "{reply:?}");
    let test = served.get("/api/calls/one/test").json();
    let path = sandbox.path().join("ask.tool-test.json");
    assert_eq!(test["path"], path.display().to_string());
    assert_eq!(test["test"]["ui"], json!(["Ada"]));
    assert_eq!(test["test"]["expect"]["text"], "200 an answer $CWD Ada");
    assert_eq!(test["cassette"].as_array().map(Vec::len), Some(2));
    assert_eq!(test["notes"], json!([]));
    assert!(!path.exists(), "nothing is written before it is wanted");

    let save = |body: &str| served.post("/api/calls/one/test", body);
    let saved = save(r#"{"name": "asks Ada"}"#);
    assert_eq!(
        (saved.status, &saved.json()["name"]),
        (201, &json!("asks Ada"))
    );
    let taken = save(r#"{"name": "asks Ada"}"#);
    assert_eq!(taken.status, 409, "{taken:?}");
    assert_eq!(save("{}").json()["name"], test["name"]);
    assert_eq!(names(&sandbox, "ask.tool-test.json").len(), 2);
    let summary = succeeds(&sandbox, TEST);
    assert!(summary.ends_with("2 passed, 0 failed\n"), "{summary}");

    // A call that was not recorded, a tool that is not there, a program with fewer rights.
    let body = json!({"callId": "two", "arguments": arguments}).to_string();
    assert_eq!(served.post("/api/tools/ask/call", &body).status, 200);
    assert_eq!(served.get("/api/calls/two/test").status, 404);
    let unknown = served.post("/api/tools/nobody/call", r#"{"record": true}"#);
    assert_eq!(unknown.status, 404, "{unknown:?}");
    let other = Bearer::new(&served, &sandbox, "--tools ask --tier exec");
    let asked = server.requests().len();
    let refused = other.post(
        "/api/tools/ask/call",
        &json!({"arguments": arguments, "record": true}),
    );
    assert_eq!(refused.status, 403, "{refused:?}");
    assert_eq!(other.get("/api/calls/one/test").status, 403);
    assert_eq!(server.requests().len(), asked);
}

#[test]
fn json_rpc_returns_the_test_and_saves_it_if_that_is_wanted() {
    let server = Server::start(|_| Answer::ok("an answer"));
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.ts", TOOL);
    let mut client = Client::of(sandbox, &["rpc"]);
    let call = |record: Value| {
        let arguments = json!({"url": server.url("/")});
        json!({"name": "ask", "arguments": arguments, "ui": false, "record": record})
    };
    let answer = client.ask("tools/call", call(json!({})))["result"].clone();
    assert_eq!(
        answer["content"][0]["text"].as_str().map(|it| &it[..13]),
        Some("200 an answer")
    );
    let recorded = &answer["recorded"];
    assert_eq!(recorded["isSaved"], false);
    assert_eq!(
        recorded["test"]["expect"]["text"],
        "200 an answer $CWD nobody"
    );
    assert_eq!(recorded["cassette"].as_array().map(Vec::len), Some(2));
    let path = recorded["path"].as_str().expect("a path").to_owned();
    assert!(path.ends_with("/tools.tool-test.json"), "{path}");
    assert!(fs::metadata(&path).is_err());
    let saved = client.ask("tools/call", call(json!({"save": true, "name": "asks"})));
    assert_eq!(saved["result"]["recorded"]["isSaved"], true);
    let again = client.ask("tools/call", call(json!({"save": true, "name": "asks"})));
    let problem = "a test of the name `asks` is there already";
    assert_eq!(again["error"]["message"], problem, "{again}");
    assert_eq!(server.requests().len(), 2, "it is refused before the call");
    assert!(
        fs::read_to_string(&path)
            .expect("it is saved")
            .contains("\"asks\"")
    );
}

#[test]
fn a_test_of_an_mcp_server_replays_its_answers_without_it() {
    let free = r#"approval: {"*": read}"#;
    let upstream = Upstream::new().node("plain", &["plain.mjs"], &[free]);
    let sandbox = upstream.connected(&["plain"]).sandbox;
    sandbox.write("ask.ts", TOOL);
    succeeds(
        &sandbox,
        "haft call steps --arg count=2 --record --test-name steps",
    );
    succeeds(
        &sandbox,
        "haft call log --arg level=warning --arg text=careful --record --test-name log",
    );
    succeeds(&sandbox, "haft call image --record --test-name image");
    let served = serve(&sandbox);
    let reply = recorded_call(&served, "ask_name", "one", &json!({}), "Ada");
    assert_eq!(
        reply.json()["content"][0]["text"],
        "accept Ada",
        "{reply:?}"
    );
    let saved = served.post("/api/calls/one/test", r#"{"name": "name"}"#);
    assert_eq!(saved.status, 201, "{saved:?}");
    drop(served);

    let file = "plain.tool-test.json";
    let test = read(&sandbox, file);
    assert_eq!(test["server"], "plain");
    assert_eq!(names(&sandbox, file), ["steps", "log", "image", "name"]);
    assert_eq!(test["tests"][3]["ui"], json!(["Ada"]));
    let cassette = "__cassettes__/plain.tool-test.json.json";
    let recorded = read(&sandbox, cassette)["tests"].clone();
    let steps = &recorded["steps"][0]["answer"]["steps"];
    assert_eq!(steps[0]["update"]["content"][0]["text"], "step 1");
    assert_eq!(steps[1]["update"]["content"][0]["text"], "step 2");
    let logged = recorded["log"][0]["answer"]["steps"][0]["log"].to_string();
    assert!(
        logged.contains("warn") && logged.contains("careful"),
        "{logged}"
    );
    assert_eq!(
        recorded["name"][0]["answer"]["steps"][0]["question"]["answer"],
        "Ada"
    );
    let image = &recorded["image"][0]["answer"]["result"]["content"][0];
    assert_eq!(image["mimeType"], "image/png");

    // Updates can be expected, and the server is not started.
    let mut stricter = test.clone();
    stricter["tests"][0]["expect"]["updates"] = json!(["step 1", "step 2"]);
    sandbox.write(file, &stricter.to_string());
    let script = sandbox.path().join("plain.mjs");
    let away = sandbox.path().join("away.mjs");
    fs::rename(&script, &away).expect("it is there");
    let summary = succeeds(&sandbox, TEST);
    assert!(summary.ends_with("4 passed, 0 failed\n"), "{summary}");

    // Other arguments, another answer of the user, another definition.
    let fails = |change: &dyn Fn(&mut Value), reason: &str| {
        let mut changed = test.clone();
        change(&mut changed);
        sandbox.write(file, &changed.to_string());
        let ran = sandbox.sh(TEST);
        assert_eq!(ran.code, 1, "{reason}: {}", ran.output);
        assert!(ran.output.contains(reason), "{reason}: {}", ran.output);
    };
    fails(
        &|test| test["tests"][0]["arguments"]["count"] = json!(3),
        "the call of `steps` with {\"count\":3} has no answer in this test",
    );
    fails(
        &|test| test["tests"][3]["ui"] = json!(["Eve"]),
        "was answered with \"Ada\" when the call was recorded, not \"Eve\"",
    );
    fails(
        &|test| test["tests"][0]["files"] = json!({"a": "b"}),
        "do not reach an MCP server",
    );
    sandbox.write(file, &test.to_string());
    let mut other = read(&sandbox, cassette);
    other["tests"]["steps"][0]["mcp"]["definition"] = json!("0123");
    sandbox.write(cassette, &other.to_string());
    let ran = sandbox.sh(TEST);
    let reason =
        "the definition of `steps` of the MCP server `plain` changed since the call was recorded";
    assert!(
        ran.code == 1 && ran.output.contains(reason),
        "{}",
        ran.output
    );

    // Recording again asks the server.
    fs::rename(&away, &script).expect("it is away");
    let ran = succeeds(
        &sandbox,
        "haft --trust-project test --record --filter steps",
    );
    assert!(ran.contains("recorded: __cassettes__"), "{ran}");
    let again = read(&sandbox, cassette);
    assert_eq!(again["tests"], recorded);
    succeeds(&sandbox, TEST);
}
