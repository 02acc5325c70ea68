//! MCP servers behind haft that misbehave: a server costs its own tools only, and nothing is left of it.
//!
//! What each behaviour leads to on the command line is in `tests/mcp_servers/hostile`, one session for
//! each behaviour of `hostile.mjs`. The tests here need one haft for several calls.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use rstest::rstest;
use serde_json::{Value, json};

use crate::mcp_client::{Client, text};
use crate::mcp_upstream::{HttpServer, Upstream, peak_megabytes, processes};
use crate::sessions;

/// Memory that haft needs at most with a flood from a server, in MB. The largest flood that ends has
/// 200 MB, and JavaScript alone needs about 60.
const MEMORY: u64 = 200;

/// Error of a call for a line without end.
const TOO_LONG: &str = "the MCP server `hostile` ended: it printed a line of more than 32 MiB";

/// Error of a call after its timeout.
const TIME_IS_UP: &str = "The call of the MCP server `hostile` was stopped: its time was up.";

/// Settings of a server whose calls need no approval.
const FREE: &str = r#"approval: {"*": read}"#;

/// Makes haft with a hostile server and a plain one.
fn beside_plain(behaviour: &str, settings: &[&str]) -> Upstream {
    let upstream = Upstream::new();
    let state = upstream.sandbox.path().join("starts").display().to_string();
    let hostile = ["hostile.mjs", behaviour, &state];
    upstream
        .node("hostile", &hostile, settings)
        .node("plain", &["plain.mjs"], &[FREE, "include: [echo]"])
        .connected(&["plain"])
}

#[rstest]
fn hostile(#[files("tests/mcp_servers/hostile/*.txt")] session: PathBuf) {
    let behaviour = session.file_stem().expect("a name").to_string_lossy();
    let (head, _) = sessions::parse(&fs::read_to_string(&session).expect("a session is text"));
    let settings = head.iter().filter_map(|it| it.strip_prefix("# settings: "));
    let settings: Vec<&str> = settings.collect();
    let upstream = beside_plain(&behaviour, &settings);
    sessions::run_in(&upstream.sandbox, &session);
    assert_eq!(processes(&upstream.sandbox), [""; 0]);
}

#[test]
fn every_behaviour_has_a_test() {
    let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_servers");
    for (script, of_tests) in [
        ("hostile.mjs", IN_ONE_PROCESS.as_slice()),
        ("hostile_http.mjs", &[]),
    ] {
        let listed = Command::new("node").arg(servers.join(script)).output();
        let listed = listed.expect("node is on every machine").stdout;
        let listed = String::from_utf8(listed).expect("it is text");
        let name = |line: &str| line.split(':').next().unwrap_or_default().to_owned();
        let listed: BTreeSet<String> = listed.lines().map(name).collect();
        let folder = servers.join(script.trim_end_matches(".mjs"));
        let sessions = fs::read_dir(folder).expect("a folder of sessions");
        let name = |path: PathBuf| path.file_stem().map(|it| it.display().to_string());
        let mut tested: BTreeSet<String> = sessions
            .flatten()
            .filter_map(|it| name(it.path()))
            .collect();
        tested.extend(of_tests.iter().map(|it| (*it).to_owned()));
        assert_eq!(tested, listed, "{script}");
    }
}

/// Behaviours that show only while one haft runs.
const IN_ONE_PROCESS: [&str; 1] = ["swapped_ids"];

/// Calls `hello`, then `echo` of the plain server while `hello` runs. Returns the result of `hello`.
fn call_beside_echo(client: &mut Client) -> Value {
    let hello = client.start("hello", json!({}));
    let echo = client.start("echo", json!({"text": "still here"}));
    let (mut of_hello, mut of_echo) = (Value::Null, Value::Null);
    while of_hello.is_null() || of_echo.is_null() {
        let mut message = client.next();
        if message.get("method").is_some() {
            continue;
        }
        if message["id"] == hello {
            of_hello = message["result"].take();
        } else if message["id"] == echo {
            of_echo = message["result"].take();
        }
    }
    assert_eq!(text(&of_echo), "still here");
    of_hello
}

/// Returns the client of a running haft whose server has this behaviour.
fn client_of(behaviour: &str, settings: &[&str]) -> Client {
    let upstream = beside_plain(behaviour, settings).connected(&["hostile"]);
    upstream.client(json!({}))
}

#[rstest]
#[case::long_line("long_line", "60s", TOO_LONG)]
#[case::endless_line("endless_line", "60s", TOO_LONG)]
#[case::huge_result("huge_result", "60s", TOO_LONG)]
#[case::endless_notifications("endless_notifications", "3s", TIME_IS_UP)]
fn a_flood_costs_one_call(#[case] behaviour: &str, #[case] timeout: &str, #[case] expected: &str) {
    let mut client = client_of(behaviour, &[FREE, &format!("timeout: {timeout}")]);
    let result = call_beside_echo(&mut client);
    assert_eq!(result["isError"], true, "{result}");
    assert_eq!(text(&result), expected);
    let peak = peak_megabytes(client.child.id());
    assert!(peak < MEMORY, "{peak} MB");
}

#[rstest]
#[case::stderr_flood("stderr_flood")]
#[case::list_changes("list_changes")]
#[case::log_flood("log_flood")]
#[case::progress_flood("progress_flood")]
#[case::pings("pings")]
fn a_flood_costs_nothing(#[case] behaviour: &str) {
    let mut client = client_of(behaviour, &[FREE]);
    let result = call_beside_echo(&mut client);
    assert_eq!(text(&result), "hello is here");
    let peak = peak_megabytes(client.child.id());
    assert!(peak < MEMORY, "{peak} MB");
}

#[test]
fn a_server_that_died_is_started_again() {
    // It dies in its first call at every other start.
    let upstream = beside_plain("dies_in_call", &[FREE]).connected(&["hostile", "hostile"]);
    let mut client = upstream.client(json!({}));
    let results = [(); 3].map(|()| client.call("hello", json!({})));
    let dead =
        "the MCP server `hostile` ended: it ended with exit code 7; its last words: out of luck";
    let expected = [dead, "hello is here", "hello is here"];
    assert_eq!(results.each_ref().map(text), expected);
}

#[test]
fn a_server_that_always_dies_is_not_started_for_every_call() {
    let mut client = client_of("dies_always", &[FREE]);
    for _ in 0..20 {
        let result = client.call("hello", json!({}));
        assert_eq!(result["isError"], true, "{result}");
    }
    let starts = fs::read_to_string(client.sandbox.path().join("starts"));
    let starts = starts.expect("it counts its starts").len();
    assert!(starts < 10, "{starts} starts");
}

#[test]
fn each_call_gets_the_answer_with_its_id() {
    let mut client = client_of("swapped_ids", &[FREE]);
    let first = client.start("hello", json!({"text": "one"}));
    let second = client.start("hello", json!({"text": "two"}));
    let answers = [client.next(), client.next()];
    for (id, expected) in [(first, "one"), (second, "two")] {
        let answer = answers.iter().find(|it| it["id"] == id);
        let answer = answer.unwrap_or_else(|| panic!("no answer to {id}: {answers:?}"));
        assert_eq!(text(&answer["result"]), expected);
    }
}

#[test]
fn a_late_answer_is_not_the_answer_of_the_next_call() {
    let mut client = client_of("ignores_cancel", &[FREE, "timeout: 1s"]);
    let result = client.call("hello", json!({"n": 1}));
    assert_eq!(result["isError"], true, "{result}");
    for n in 2..5 {
        let result = client.call("hello", json!({"n": n}));
        assert_eq!(text(&result), format!("answer to {{\"n\":{n}}}"));
    }
}

#[test]
fn a_second_answer_is_not_the_answer_of_the_next_call() {
    let mut client = client_of("answers_twice", &[FREE]);
    for _ in 0..5 {
        assert_eq!(text(&client.call("hello", json!({}))), "first");
    }
}

#[test]
fn a_description_that_changes_while_the_server_runs_is_not_used() {
    let mut client = client_of("changes_while_running", &[FREE]);
    assert_eq!(text(&client.call("hello", json!({}))), "hello is here");
    // The change arrives some time after the first call; no call after it may succeed.
    let refused = (0..200).map(|_| client.call("hello", json!({})));
    let refused = refused
        .into_iter()
        .find(|result| result["isError"] == true)
        .expect("the change is noticed");
    assert!(
        text(&refused).contains("changed since you trusted it"),
        "{refused}"
    );
    let listed = client.ask("tools/list", json!({}));
    assert!(!listed.to_string().contains(".ssh"), "{listed}");
    assert_eq!(client.call("hello", json!({}))["isError"], true);
}

#[test]
fn a_server_that_asks_without_end_is_stopped() {
    let upstream = beside_plain("asks_forever", &[FREE, "timeout: 600s"]);
    let mut client = upstream
        .connected(&["hostile"])
        .client(json!({"elicitation": {"form": {}}}));
    let call = client.start("hello", json!({}));
    let mut asked = 0;
    let answer = loop {
        let message = client.next();
        if message["method"] == "elicitation/create" {
            asked += 1;
            assert!(asked < 1000, "the user is asked without end");
            client.reply(
                &message,
                json!({"action": "accept", "content": {"answer": "yes"}}),
            );
        } else if message["id"] == call {
            break message;
        }
    };
    assert_eq!(answer["result"]["isError"], true, "{answer}");
}

#[test]
fn a_model_that_was_not_offered_is_not_asked() {
    let mut client = client_of("samples_forever", &[FREE]);
    let result = client.call("hello", json!({}));
    assert_eq!(result["isError"], true);
    let said = text(&result);
    assert!(said.starts_with("0 answers, then: "), "{said}");
}

#[rstest]
#[case::ignores_end("ignores_end", "hello is here")]
#[case::grandchildren("grandchildren", "hello is here")]
#[case::silent_process("log_flood", "hello is here")]
fn no_process_is_left(#[case] behaviour: &str, #[case] expected: &str) {
    let mut client = client_of(behaviour, &[FREE]);
    assert_eq!(text(&client.call("hello", json!({}))), expected);
    assert!(!processes(&client.sandbox).is_empty());
    client.hang_up();
    client.ends_within(Duration::from_secs(10));
    assert_eq!(processes(&client.sandbox), [""; 0]);
}

#[test]
fn a_server_that_leaves_its_output_to_a_child_has_ended() {
    let mut client = client_of("leaves_child", &[FREE, "timeout: 60s"]);
    let result = client.call("hello", json!({}));
    assert_eq!(result["isError"], true, "{result}");
    assert!(text(&result).contains("leaving a child"), "{result}");
}

#[rstest]
fn hostile_http(#[files("tests/mcp_servers/hostile_http/*.txt")] session: PathBuf) {
    let behaviour = session.file_stem().expect("a name").to_string_lossy();
    let (head, _) = sessions::parse(&fs::read_to_string(&session).expect("a session is text"));
    let settings = head.iter().filter_map(|it| it.strip_prefix("# settings: "));
    let settings: Vec<&str> = settings.collect();
    let server = HttpServer::start(&["hostile_http.mjs", &behaviour]);
    let upstream = Upstream::new()
        .url("hostile", &server.url, &settings)
        .node("plain", &["plain.mjs"], &[FREE, "include: [echo]"])
        .connected(&["plain"]);
    sessions::run_in(&upstream.sandbox, &session);
    // The other origin gets nothing that was meant for this one.
    let other: Vec<String> = server.printed();
    assert!(!other.concat().contains("s3cret"), "{other:?}");
}

#[rstest]
#[case::endless_stream("endless_stream", "3s")]
#[case::long_event("long_event", "60s")]
#[case::huge_body("huge_body", "60s")]
#[case::gzip_bomb("gzip_bomb", "60s")]
fn a_flood_over_http_costs_one_call(#[case] behaviour: &str, #[case] timeout: &str) {
    let server = HttpServer::start(&["hostile_http.mjs", behaviour]);
    let timeout = format!("timeout: {timeout}");
    let mut client = Upstream::new()
        .url("hostile", &server.url, &[FREE, &timeout])
        .node("plain", &["plain.mjs"], &[FREE, "include: [echo]"])
        .connected(&["plain", "hostile"])
        .client(json!({}));
    let result = call_beside_echo(&mut client);
    assert_eq!(result["isError"], true, "{result}");
    let said = text(&result);
    assert!(said.contains("`hostile`") || said == TIME_IS_UP, "{said}");
    let peak = peak_megabytes(client.child.id());
    assert!(peak < MEMORY, "{peak} MB");
}
