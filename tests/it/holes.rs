//! Attacks by a tool and its children on the host's process: its private output, its threads, its
//! descriptors.
//!
//! `haft rpc` runs as a program over real pipes. The tool tries every way that it has to each
//! descriptor of the process. Anything that it manages to write shows in the output, which must
//! hold the answers and nothing else.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::Sandbox;

const TOOLS: &str = include_str!("holes_tools.js");

/// Timeout that a machine under load never reaches.
const TEST_TIMEOUT: Duration = Duration::from_secs(120);

/// The answers of `haft rpc` to these calls, each of which is sent when the one before it is answered. Panics on
/// any other line.
fn answers(sandbox: &Sandbox, command: &mut Command, calls: &[(&str, Value)]) -> Vec<Value> {
    sandbox.write("tools.js", TOOLS);
    // Files of the kernel need every permission, so the tests grant all of them.
    sandbox.write(
        "home/.config/haft/config.yaml",
        "permissions:\n  ffi: all\n",
    );
    let mut child = command
        .args(["--tool", "tools.js", "rpc"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("haft starts");
    let mut stdin = child.stdin.take().expect("it is piped");
    let stdout = BufReader::new(child.stdout.take().expect("it is piped"));
    let (sender, lines) = channel();
    thread::spawn(move || {
        for line in stdout.lines() {
            let line = line.expect("UTF-8");
            // The test may have failed meanwhile.
            let _ = sender.send(line);
        }
    });
    let mut ask = |id: usize, method: &str, params: Value| {
        let request = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        writeln!(stdin, "{request}").expect("it reads");
        let line = lines.recv_timeout(TEST_TIMEOUT).expect("it answers");
        let answer: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("{line}"));
        assert_eq!(answer["id"], id, "not an answer of the host: {line}");
        assert!(!line.contains("FORGED"), "{line}");
        answer
    };
    ask(
        0,
        "initialize",
        json!({"limits": {"callTimeoutMs": 100_000}}),
    );
    let call = |(at, (tool, arguments)): (usize, &(&str, Value))| {
        let params = json!({"name": tool, "callId": at.to_string(), "arguments": arguments});
        ask(at + 1, "tools/call", params)
    };
    let answers = calls.iter().enumerate().map(call).collect();
    drop(stdin);
    let more: Vec<String> = lines.iter().collect();
    assert_eq!(more, Vec::<String>::new());
    assert!(child.wait().expect("it ends").success());
    answers
}

fn said(answer: &Value) -> &str {
    let text = &answer["result"]["content"][0]["text"];
    text.as_str().unwrap_or_else(|| panic!("{answer}"))
}

/// S7: no path, number or child leads into the private output.
#[test]
fn nothing_but_answers_is_in_the_output() {
    let sandbox = Sandbox::with_home();
    let calls = [
        ("write_by_path", json!({})),
        ("write_by_number", json!({})),
        ("write_by_child", json!({})),
        ("good", json!({})),
    ];
    let answers = answers(&sandbox, &mut sandbox.haft(), &calls);
    for answer in &answers[..3] {
        let tried: Value = serde_json::from_str(said(answer)).expect("JSON");
        assert!(
            tried["pipes"].as_u64() > Some(0),
            "it saw no pipe to try: {tried}"
        );
        assert_eq!(tried["written"], json!([]), "{tried}");
    }
    assert_eq!(said(&answers[3]), "still here");
}

/// The same for a user who is not root.
#[test]
fn nothing_but_answers_is_in_the_output_of_a_user() {
    if !rustix::process::geteuid().is_root() {
        return; // The test above has shown it.
    }
    let sandbox = Sandbox::with_home();
    sandbox.write("tools.js", TOOLS);
    let chowned = Command::new("chown")
        .args(["-R", "65534:65534"])
        .arg(sandbox.path())
        .status();
    assert!(chowned.expect("`chown` is on every machine").success());
    // Only root may be able to read the original program's folder.
    let copy = sandbox.copy_program(env!("CARGO_BIN_EXE_haft"), "haft-copy");
    let mut command = sandbox.command(&copy.display().to_string());
    command.uid(65534).gid(65534);
    let answers = answers(
        &sandbox,
        &mut command,
        &[("write_by_child", json!({})), ("good", json!({}))],
    );
    let tried: Value = serde_json::from_str(said(&answers[0])).expect("JSON");
    assert!(tried["pipes"].as_u64() > Some(0), "{tried}");
    assert_eq!(tried["written"], json!([]), "{tried}");
}

/// S7: the id of a thread means its process, and procfs cannot be written.
#[test]
fn threads_and_procfs_are_the_host_s() {
    let sandbox = Sandbox::with_home();
    let calls = [
        ("kill_threads", json!({})),
        ("procfs", json!({})),
        ("close_all", json!({})),
        ("good", json!({})),
    ];
    let answers = answers(&sandbox, &mut sandbox.haft(), &calls);
    assert_eq!(said(&answers[0]), "refused");
    assert_eq!(said(&answers[1]), "[]");
    assert_eq!(said(&answers[3]), "still here");
}

/// Ordinary use of files, descriptors and children keeps working.
#[test]
fn honest_use_works() {
    let sandbox = Sandbox::with_home();
    let answers = answers(&sandbox, &mut sandbox.haft(), &[("honest", json!({}))]);
    let done: Value =
        serde_json::from_str(said(&answers[0])).unwrap_or_else(|_| panic!("{answers:?}"));
    assert_eq!(
        done,
        json!({
            "spawn": "out\n", "fork": "from fd\n", "sync": "sync\n", "chain": "one\n", "inherit": 0,
            "copied": "text", "status": true, "stdin": "", "socket": "hello", "port": "message",
            "blob": "bytes", "url": "bytes", "sql": 3, "cloned": 4,
        })
    );
}

/// S11: a tool that opens as many descriptors as it can leaves enough for the others.
#[test]
fn descriptors_of_one_tool_do_not_starve_the_others() {
    let sandbox = Sandbox::with_home();
    let mut command = sandbox.command("sh");
    let program = env!("CARGO_BIN_EXE_haft");
    command.args([
        "-c",
        &format!("ulimit -n 1024; exec {program} \"$@\""),
        "haft",
    ]);
    let calls = [("open_all", json!({})), ("exec", json!({}))];
    let answers = answers(&sandbox, &mut command, &calls);
    assert!(
        said(&answers[0]).contains("which is the limit; close some"),
        "{answers:?}"
    );
    assert_eq!(said(&answers[1]), "started");
}
