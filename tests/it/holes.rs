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

/// S7: no path or child of a tool leads into the private output, for root and for other users. What
/// is written into the connection of the worker is not an answer, either.
#[test]
fn nothing_but_answers_is_in_the_output() {
    let sandbox = Sandbox::with_home();
    check_output(&sandbox, &mut sandbox.haft());
    if !rustix::process::geteuid().is_root() {
        return;
    }
    let sandbox = Sandbox::with_home();
    let chowned = Command::new("chown")
        .args(["-R", "65534:65534"])
        .arg(sandbox.path())
        .status();
    assert!(chowned.expect("`chown` is on every machine").success());
    // Only root may be able to read the original program's folder.
    let copy = sandbox.copy_program(env!("CARGO_BIN_EXE_haft"), "haft-copy");
    let mut command = sandbox.command(&copy.display().to_string());
    command.uid(65534).gid(65534);
    check_output(&sandbox, &mut command);
}

fn check_output(sandbox: &Sandbox, command: &mut Command) {
    let calls = [
        ("write_by_path", json!({})),
        ("write_by_child", json!({})),
        ("kill_threads", json!({})),
        ("preopen", json!({})),
        ("write_by_number", json!({})),
        ("good", json!({})),
        ("close_all", json!({})),
        ("good", json!({})),
    ];
    let answers = answers(sandbox, command, &calls);
    assert_eq!(said(&answers[0]), "[]");
    assert_eq!(said(&answers[1]), "[]");
    assert_eq!(said(&answers[2]), "refused");
    assert_eq!(said(&answers[3]), "[]");
    let lost = answers[4].to_string();
    assert!(lost.contains("`write_by_number`"), "{lost}");
    assert_eq!(said(&answers[5]), "still here");
    assert_eq!(said(&answers[7]), "still here");
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

/// S11: a tool that opens as many descriptors as it can leaves haft its own.
#[test]
fn descriptors_of_one_tool_do_not_starve_the_host() {
    let sandbox = Sandbox::with_home();
    let mut command = sandbox.command("sh");
    let program = env!("CARGO_BIN_EXE_haft");
    command.args([
        "-c",
        &format!("ulimit -n 1024; exec {program} \"$@\""),
        "haft",
    ]);
    sandbox.write(
        "home/.cycod/tools/said.yaml",
        "name: said\ndescription: Says it\nbash: echo started\ntags: [read]\n",
    );
    let calls = [
        ("open_all", json!({})),
        ("good", json!({})),
        ("said", json!({})),
    ];
    let answers = answers(&sandbox, &mut command, &calls);
    assert_eq!(
        said(&answers[0]),
        "EMFILE: too many open files, open '/dev/null'"
    );
    assert_eq!(said(&answers[1]), "still here");
    assert_eq!(said(&answers[2]), "started\n");
}
