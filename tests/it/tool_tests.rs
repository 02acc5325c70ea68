//! `haft test`: the cases that need a server, a clock, or the examples.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::loopback::{Answer, Server};
use crate::sandbox::{Ran, Sandbox};

#[test]
fn the_tests_of_the_examples_pass() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("example-tools");
    let sandbox = Sandbox::with(&examples);
    let ran = sandbox.sh("haft --trust-project test js");
    assert_eq!(ran.code, 0, "{}", ran.output);
    let summary = ran.output.lines().last().expect("a summary");
    let passed = summary.strip_suffix(" passed, 0 failed");
    let passed: usize = passed
        .and_then(|number| number.parse().ok())
        .expect(summary);
    assert!(passed >= 18, "{}", ran.output);
}

const TOOL: &str = r#"
export default (pi) => ({
  name: "ask",
  description: "Asks a server and a program",
  parameters: pi.zod.object({ url: pi.zod.string(), body: pi.zod.string().optional() }),
  async execute(_id, { url, body }) {
    const headers = { authorization: "Bearer abcdef0123456789" };
    const response = await fetch(url, body === undefined ? { headers } : { method: "POST", body, headers });
    const { stdout } = await pi.exec("sh", ["-c", "printf '%s|%s' \"$PWD\" \"$MY_TOKEN\""]);
    return { content: [{ type: "text", text: `${response.status} ${await response.text()} ${stdout}` }], details: { cwd: pi.cwd } };
  },
});
"#;

/// Makes a sandbox with one test of `ask` for a server.
fn sandbox(url: &str) -> Sandbox {
    let sandbox = Sandbox::with_home();
    sandbox.write("ask.ts", TOOL);
    let test = json!({"tests": [{
        "name": "asks",
        "arguments": {"url": format!("{url}/x?api_key=sesame-open-1"), "body": "{\"password\": \"hunter22\"}"},
        "env": {"MY_TOKEN": "tok-of-the-test"},
        "expect": {"details": {"cwd": "$CWD"}},
    }]});
    sandbox.write("ask.tool-test.json", &test.to_string());
    sandbox
}

fn recording(sandbox: &Sandbox) -> String {
    let path = sandbox.path().join("__cassettes__/ask.tool-test.json.json");
    fs::read_to_string(path).expect("it was recorded")
}

fn passes(ran: &Ran) {
    assert_eq!(ran.code, 0, "{}", ran.output);
}

#[test]
fn a_recording_is_replayed_without_external_access() {
    let server =
        Server::start(|_| Answer::ok("{\"access_token\": \"geheim-123\", \"city\": \"Oslo\"}"));
    let sandbox = sandbox(&server.url(""));
    let ran = sandbox.sh("haft --trust-project test");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(ran.output.contains("fetch `POST http"), "{}", ran.output);
    assert!(
        ran.output.contains("hint: `haft test --record`"),
        "{}",
        ran.output
    );

    passes(&sandbox.sh("haft --trust-project test --record"));
    let asked = server.requests().len();
    let before = recording(&sandbox);
    // Programs cannot be found any more, and the server gets no request.
    let ran = sandbox.sh("PATH=$(dirname $(command -v haft)) haft --trust-project test");
    passes(&ran);
    assert_eq!(server.requests().len(), asked, "nobody asked the server");
    assert_eq!(recording(&sandbox), before);
    // Recording again changes nothing.
    passes(&sandbox.sh("haft --trust-project test --record"));
    let again: Value = serde_json::from_str(&recording(&sandbox)).expect("JSON");
    assert_eq!(again, serde_json::from_str::<Value>(&before).expect("JSON"));
}

#[test]
fn secrets_do_not_get_into_a_recording() {
    let server = Server::start(|_| {
        Answer::ok(
            "{\"access_token\": \"geheim-123\", \"city\": \"Oslo\", \"of\": \"sk-abcdefghijklmnop1234\"}",
        )
    });
    let sandbox = sandbox(&server.url(""));
    passes(&sandbox.sh("haft --trust-project test --record"));
    let text = recording(&sandbox);
    for secret in [
        "sesame-open-1",
        "hunter22",
        "abcdef0123456789",
        "geheim-123",
        "tok-of-the-test",
        "sk-abcdefghijklmnop1234",
    ] {
        assert!(!text.contains(secret), "{secret} is in {text}");
    }
    for kept in ["Oslo", "city", "api_key=***", "access_token", "$CWD"] {
        assert!(text.contains(kept), "{kept} is not in {text}");
    }
    passes(&sandbox.sh("haft --trust-project test"));
}

#[test]
fn a_replay_needs_the_same_headers_and_no_secret() {
    let server = Server::start(|_| Answer::ok("{}"));
    let sandbox = Sandbox::with_home();
    let module = r#"export default () => ({
      name: "asks", description: "", parameters: { type: "object" },
      async execute() {
        const { KEY, KIND } = process.env;
        const response = await fetch("URL", { headers: { Authorization: `Bearer ${KEY}`, Accept: KIND } });
        return { content: [{ type: "text", text: String(response.status) }] };
      },
    });"#;
    sandbox.write("asks.ts", &module.replace("URL", &server.url("/a")));
    let write = |key: &str, kind: &str, more: Value| {
        let mut test =
            json!({"name": "asks", "env": {"KEY": key, "KIND": kind}, "expect": {"text": "200"}});
        let more = more.as_object().expect("an object").clone();
        test.as_object_mut().expect("an object").extend(more);
        sandbox.write("asks.tool-test.json", &json!([test]).to_string());
    };
    write("first-key-1", "text/plain", json!({}));
    passes(&sandbox.sh("haft test asks.ts --record"));
    let recorded = fs::read_to_string(
        sandbox
            .path()
            .join("__cassettes__/asks.tool-test.json.json"),
    );
    let recorded: Value = serde_json::from_str(&recorded.expect("a recording")).expect("JSON");
    let headers = &recorded["tests"]["asks"][0]["fetch"]["headers"];
    assert_eq!(headers["authorization"], "***");
    assert_eq!(headers["accept"], "text/plain");

    write("another-key-2", "text/plain", json!({}));
    passes(&sandbox.sh("haft test asks.ts"));
    write("another-key-2", "text/html", json!({}));
    let ran = sandbox.sh("haft test asks.ts");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(ran.output.contains("fetch `GET http"), "{}", ran.output);

    // In the test itself they are given as the author likes to write them.
    let answer = |kind: &str| {
        let headers = json!({"Accept": kind, "Authorization": "Bearer of-mine"});
        json!({"fetch": [{"url": server.url("/a"), "requestHeaders": headers}]})
    };
    write("another-key-2", "text/html", answer("text/html"));
    passes(&sandbox.sh("haft test asks.ts"));
    write("another-key-2", "text/html", answer("text/plain"));
    assert_eq!(sandbox.sh("haft test asks.ts").code, 1);
}

#[test]
fn a_test_that_hangs_ends() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "hangs.ts",
        "export default () => ({ name: 'hangs', description: '', parameters: { type: 'object' }, \
         execute: (_id, { how }) => { if (how === 'loop') for (;;); return new Promise(() => {}); } });",
    );
    sandbox.write(
        "hangs.tool-test.json",
        r#"[{"name": "waits", "arguments": {"how": "wait"}, "timeoutMs": 100},
            {"name": "loops", "arguments": {"how": "loop"}, "timeoutMs": 100},
            {"name": "is to", "arguments": {"how": "loop"}, "timeoutMs": 100, "expect": {"stopped": "deadline"}}]"#,
    );
    sandbox.write("loads.ts", "await new Promise(() => {});");
    sandbox.write("loads.tool-test.json", r#"[{"name": "never loads"}]"#);
    sandbox.write("script.ts", "export default () => [];");
    sandbox.write("script.tool-test.ts", "for (;;);");
    let started = Instant::now();
    let ran = sandbox.sh("haft --trust-project test --timeout 500ms");
    assert_eq!(ran.code, 1, "{}", ran.output);
    assert!(
        started.elapsed() < Duration::from_secs(60),
        "{}",
        ran.output
    );
    assert!(
        ran.output.ends_with("1 passed, 4 failed\n"),
        "{}",
        ran.output
    );
    assert!(
        ran.output.contains("it did not end in time"),
        "{}",
        ran.output
    );
}

#[test]
fn the_network_and_programs_are_closed_in_tests_of_tools() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        "around.ts",
        "import { execFileSync } from 'node:child_process'; import { connect } from 'node:net';\n\
         export default () => ({ name: 'around', description: '', parameters: { type: 'object' }, async execute(_id, { how }) {\n\
         if (how === 'run') return { content: [{ type: 'text', text: execFileSync('echo', ['ran']).toString() }] };\n\
         await new Promise((done, failed) => connect(9, '127.0.0.1', done).on('error', failed)); } });",
    );
    let test = |name: &str| json!({"name": name, "arguments": {"how": name}, "expect": {"isError": true, "text": {"matches": "access|Command failed"}}});
    sandbox.write(
        "around.tool-test.json",
        &json!([test("run"), test("net")]).to_string(),
    );
    passes(&sandbox.sh("haft --trust-project test"));
    sandbox.write(
        "around.tool-test.json",
        r#"[{"name": "run", "live": true, "arguments": {"how": "run"}, "expect": {"text": {"contains": "ran"}}}]"#,
    );
    passes(&sandbox.sh("haft --trust-project test"));
}

#[test]
fn a_report_is_what_build_servers_read() {
    let sandbox = Sandbox::with_home();
    sandbox.write("echo.ts", ECHO);
    sandbox.write(
        "echo.tool-test.json",
        r##"[{"name": "fine", "arguments": {"text": "a"}, "expect": {"text": "a"}},
            {"name": "<odd> & \"#1\"", "arguments": {"text": "b"}, "expect": {"text": "c"}},
            {"name": "later", "skip": "not yet"}]"##,
    );
    let ran = sandbox.sh("haft --trust-project test --format junit --output report.xml");
    assert_eq!(
        (ran.code, ran.output.as_str()),
        (1, "1 passed, 1 failed, 1 skipped\n")
    );
    let report = fs::read_to_string(sandbox.path().join("report.xml")).expect("a report");
    for part in [
        r#"<testsuites name="haft test" tests="3" skipped="1" failures="1" errors="0">"#,
        r#"<testsuite name="echo.tool-test.json" tests="3" skipped="1" errors="0" failures="1">"#,
        r#"name="&lt;odd&gt; &amp; &quot;#1&quot;" classname="echo.tool-test.json""#,
        r#"<failure message="the text differs:">"#,
        "- c\n+ b",
        r#"<skipped message="not yet"/>"#,
    ] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
}

const ECHO: &str = "export default (pi) => ({ name: 'echo', description: '', \
    parameters: pi.zod.object({ text: pi.zod.string() }), \
    execute: async (_id, { text }) => ({ content: [{ type: 'text', text }] }) });";

#[test]
fn the_schema_for_editors_is_what_test_files_are_read_by() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let schema = haft::formats::tool_test_schema();
    let text = serde_json::to_string_pretty(&schema).expect("it is JSON") + "\n";
    let file = root.join("types/tool-test.schema.json");
    if std::env::var_os("HAFT_BLESS").is_some() {
        fs::write(&file, &text).expect("the checkout can be written");
    }
    assert_eq!(fs::read_to_string(&file).unwrap_or_default(), text);

    // Every test file of the checkout is valid, except those with intended mistakes.
    let checker = jsonschema::validator_for(&schema).expect("it is a schema");
    let folders = [root.join("example-tools"), root.join("tests/specs/testing")];
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|folder| test_files(folder))
        .collect();
    files.retain(|file| !file.to_string_lossy().contains("mistake"));
    assert!(!files.is_empty());
    for file in files {
        let text = fs::read_to_string(&file).expect("it is there");
        let Ok(value) = serde_json::from_str(&text) else {
            continue;
        };
        let wrong = checker.iter_errors(&value).map(|error| error.to_string());
        assert_eq!(wrong.collect::<Vec<_>>(), Vec::<String>::new(), "{file:?}");
    }
    for mistaken in [
        json!({"tests": [{"nmae": "x"}]}),
        json!([{"name": "x", "expect": {"txt": "y"}}]),
        json!([{"name": "x", "expect": {"text": {"contains": 1}}}]),
        json!([{"name": "x", "fetch": [{"uri": "y"}]}]),
    ] {
        assert!(!checker.is_valid(&mistaken), "{mistaken}");
    }
}

fn test_files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder of the checkout");
    let paths = entries.map(|entry| entry.expect("it can be read").path());
    let (folders, files): (Vec<_>, Vec<_>) = paths.partition(|path| path.is_dir());
    let inner = folders.iter().flat_map(|folder| test_files(folder));
    let files = files
        .iter()
        .filter(|file| file.to_string_lossy().ends_with(".tool-test.json"));
    files.cloned().chain(inner).collect()
}
