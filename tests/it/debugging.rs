//! Debuggers and profiles of JavaScript tools: the inspector's protocol as VS Code speaks it, the
//! clock of a paused call, and who may attach.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use crate::sandbox::Sandbox;

/// A tool in TypeScript. A debugger changes `text` at the breakpoint.
const TOOL: &str = r#"type Name = string;

interface Params {
  name: Name;
}

function greeting({ name }: Params): string {
  let text: string = `Hello, ${name}!`;
  text = text.trim();
  return text;
}

export default (pi: any) => ({
  name: "greet",
  label: "greet",
  description: "Greets",
  parameters: pi.zod.object({ name: pi.zod.string() }),
  execute: async (_id: string, params: Params) => ({
    content: [{ type: "text", text: greeting(params) }],
  }),
});
"#;

const BREAKPOINT: &str = "9";

/// A `haft` whose tools can be debugged.
struct Debugged {
    child: Child,
    stderr: BufReader<std::process::ChildStderr>,
    address: String,
}

impl Debugged {
    /// Starts `command`, and waits until debuggers can attach.
    fn start(command: &mut Command) -> Debugged {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("haft can be started");
        let mut stderr = BufReader::new(child.stderr.take().expect("it is piped"));
        let mut before = String::new();
        let address = loop {
            let mut line = String::new();
            let read = stderr.read_line(&mut line).expect("it is text");
            assert!(read > 0, "it ended before it listened:\n{before}");
            if let Some(address) = line.trim_end().strip_prefix("debuggers can attach at ") {
                break address.to_owned();
            }
            before.push_str(&line);
        };
        Debugged {
            child,
            stderr,
            address,
        }
    }

    /// Returns standard output, the rest of standard error, and the exit code.
    fn end(mut self) -> (String, String, Option<i32>) {
        let (mut output, mut errors) = (String::new(), String::new());
        let mut stdout = self.child.stdout.take().expect("it is piped");
        stdout.read_to_string(&mut output).expect("it is text");
        self.stderr.read_to_string(&mut errors).expect("it is text");
        let status = self.child.wait().expect("it is our child");
        (output, errors, status.code())
    }

    fn get(&self, head: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("it listens");
        write!(stream, "{head}\r\nConnection: close\r\n\r\n").expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it is text");
        answer
    }
}

/// Starts a debugger that stops at the breakpoint. It pauses there for `pause` milliseconds, or
/// stays for `leave`.
fn debugger(sandbox: &Sandbox, debugged: &Debugged, pause: &str) -> Command {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/debugger.mjs");
    let mut command = sandbox.command("node");
    command
        .args(["--no-warnings", "--experimental-websocket"])
        .arg(script)
        .arg(&debugged.address)
        .arg(sandbox.path().join("greet.ts"))
        .args([BREAKPOINT, pause]);
    command
}

/// Returns the command of a call whose tool waits for a debugger. Its time is shorter than the pause
/// of the debugger.
fn call(sandbox: &Sandbox, isolation: &str) -> Command {
    let mut command = sandbox.haft();
    command.env("HAFT_ISOLATION", isolation).args([
        "--tool",
        "greet.ts",
        "call",
        "greet",
        "--arg",
        "name=Ada",
        "--timeout=2s",
        "--inspect-brk=127.0.0.1:0",
    ]);
    command
}

fn stops_at_a_breakpoint(isolation: &str) {
    let sandbox = Sandbox::with_home();
    sandbox.write("greet.ts", TOOL);
    let debugged = Debugged::start(&mut call(&sandbox, isolation));
    let seen = debugger(&sandbox, &debugged, "3000").output();
    let seen = seen.expect("node can be started");
    assert_eq!(String::from_utf8_lossy(&seen.stderr), "");
    assert_eq!(
        String::from_utf8_lossy(&seen.stdout),
        "{\"titles\":[\"greet.ts\"],\"own\":true}\n\
         {\"broke\":true}\n\
         {\"function\":\"greeting\",\"line\":9,\"own\":true}\n\
         {\"global\":42,\"local\":\"Hello, Ada!\"}\n"
    );
    let (output, errors, code) = debugged.end();
    assert_eq!(errors, "`greet` waits for a debugger\n");
    assert_eq!((output.as_str(), code), ("changed\n", Some(0)));
}

#[test]
fn a_debugger_stops_a_call_whose_clock_stands_still() {
    stops_at_a_breakpoint("process");
}

#[test]
fn a_debugger_stops_a_call_in_a_sandbox() {
    stops_at_a_breakpoint("sandbox");
}

/// Starts a call that a debugger has paused for good. The debugger must be killed.
fn paused(sandbox: &Sandbox, isolation: &str) -> (Debugged, Child) {
    sandbox.write("greet.ts", TOOL);
    let debugged = Debugged::start(&mut call(sandbox, isolation));
    let mut node = debugger(sandbox, &debugged, "leave")
        .stdout(Stdio::piped())
        .spawn()
        .expect("node can be started");
    let lines = BufReader::new(node.stdout.take().expect("it is piped")).lines();
    let last = lines.map(|line| line.expect("it is text"));
    let stays = last.into_iter().find(|line| line == "{\"stays\":true}");
    assert!(stays.is_some(), "the debugger ended before the breakpoint");
    (debugged, node)
}

fn signal(debugged: &Debugged, signal: Signal) {
    let pid = i32::try_from(debugged.child.id()).expect("it is a process id");
    kill(Pid::from_raw(pid), signal).expect("it is our child");
}

#[test]
fn a_paused_call_goes_on_when_its_debugger_leaves() {
    for isolation in ["process", "sandbox"] {
        let sandbox = Sandbox::with_home();
        let (debugged, mut node) = paused(&sandbox, isolation);
        node.kill().expect("it is our child");
        node.wait().expect("it is our child");
        let (output, errors, code) = debugged.end();
        assert_eq!(errors, "`greet` waits for a debugger\n");
        assert_eq!((output.as_str(), code), ("Hello, Ada!\n", Some(0)));
    }
}

#[test]
fn ctrl_c_ends_a_paused_call() {
    for isolation in ["process", "sandbox"] {
        let sandbox = Sandbox::with_home();
        sandbox.write("home/.config/haft/config.yaml", "limits: {grace: 100ms}\n");
        let (debugged, mut node) = paused(&sandbox, isolation);
        signal(&debugged, Signal::SIGINT);
        let (_, errors, code) = debugged.end();
        node.kill().expect("it is our child");
        node.wait().expect("it is our child");
        assert_eq!(code, Some(130), "{errors}");
    }
}

#[test]
fn a_server_lists_an_isolate_with_its_modules_for_programs_of_the_machine_only() {
    let sandbox = Sandbox::with_home();
    sandbox.write("greet.ts", TOOL);
    sandbox.write("part.ts", &TOOL.replace("greet", "part"));
    let mut command = sandbox.haft();
    command.args([
        "--tool=greet.ts",
        "--tool=part.ts",
        "serve",
        "--listen=127.0.0.1:0",
        "--inspect=127.0.0.1:0",
    ]);
    let debugged = Debugged::start(&mut command);
    let mut loaded = String::new();
    let mut line = String::new();
    let mut stderr = debugged.stderr;
    while !loaded.contains("tools\n") {
        line.clear();
        assert!(stderr.read_line(&mut line).expect("it is text") > 0);
        loaded.push_str(&line);
    }
    let debugged = Debugged { stderr, ..debugged };
    let list = debugged.get("GET /json/list HTTP/1.1\r\nHost: localhost");
    let (_, body) = list.split_once("\r\n\r\n").expect("an HTTP response");
    let list: serde_json::Value = serde_json::from_str(body).expect("JSON");
    assert_eq!(list[0]["title"], "greet.ts, part.ts");
    let id = list[0]["id"].as_str().expect("a text");
    assert_eq!(
        list[0]["webSocketDebuggerUrl"],
        format!("ws://localhost/{id}")
    );
    let upgrade = "Connection: upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
                   Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
    for (head, status) in [
        ("GET /json HTTP/1.1\r\nHost: example.com".to_owned(), "400"),
        (
            "GET /json HTTP/1.1\r\nHost: localhost.example.com".to_owned(),
            "400",
        ),
        (
            "GET /json HTTP/1.1\r\nHost: localhost\r\nOrigin: https://example.com".to_owned(),
            "403",
        ),
        ("POST /json HTTP/1.1\r\nHost: localhost".to_owned(), "405"),
        ("GET / HTTP/1.1\r\nHost: localhost".to_owned(), "404"),
        (
            format!(
                "GET /{} HTTP/1.1\r\nHost: localhost\r\n{upgrade}",
                "0".repeat(36)
            ),
            "404",
        ),
        (
            format!(
                "GET /{id} HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n{upgrade}"
            ),
            "403",
        ),
    ] {
        let answer = debugged.get(&head);
        assert_eq!(answer.split(' ').nth(1), Some(status), "{head}");
    }
    signal(&debugged, Signal::SIGTERM);
    let (_, _, code) = debugged.end();
    assert_eq!(code, Some(0));
}

#[test]
fn nothing_listens_beyond_the_machine() {
    let sandbox = Sandbox::with_home();
    sandbox.write("greet.ts", TOOL);
    for address in ["0.0.0.0:9229", "192.0.2.1", "example.com:9229"] {
        let ran = sandbox.sh(&format!(
            "haft --tool greet.ts call greet --inspect={address}"
        ));
        assert_eq!(ran.code, 2, "{}", ran.output);
        let expected = "debuggers attach on this machine only: 127.0.0.1, [::1] or localhost";
        assert!(ran.output.contains(expected), "{}", ran.output);
    }
}

#[test]
fn a_profile_names_the_places_of_the_source() {
    for isolation in ["process", "sandbox"] {
        let sandbox = Sandbox::with_home();
        let busy = "  const until = performance.now() + 300;\n  while (performance.now() < until);\n  return text;";
        sandbox.write("greet.ts", &TOOL.replace("  return text;", busy));
        let line = format!(
            "HAFT_ISOLATION={isolation} haft --tool greet.ts call greet --arg name=Ada --profile"
        );
        let ran = sandbox.sh(&line);
        assert_eq!(
            (ran.output.as_str(), ran.code),
            ("Hello, Ada!\nprofile: greet.cpuprofile\n", 0)
        );
        let profile = std::fs::read_to_string(sandbox.path().join("greet.cpuprofile"));
        let profile: serde_json::Value =
            serde_json::from_str(&profile.expect("it was written")).expect("JSON");
        let nodes = profile["nodes"].as_array().expect("a list");
        let own = nodes
            .iter()
            .filter(|node| node["callFrame"]["functionName"] == "greeting")
            .collect::<Vec<_>>();
        assert!(!own.is_empty(), "it was not sampled");
        let mut busy_lines = 0;
        for node in own {
            // The function has the lines 7 to 13, and what takes time is in the tenth and the eleventh.
            // Other programs may interrupt it anywhere.
            assert_eq!(node["callFrame"]["lineNumber"], 6);
            let ticks = node["positionTicks"].as_array().expect("a list");
            let mut lines = ticks.iter().map(|tick| tick["line"].as_u64());
            assert!(
                lines.all(|line| line.is_some_and(|line| (7..=13).contains(&line))),
                "{ticks:?}"
            );
            busy_lines += ticks
                .iter()
                .filter(|tick| tick["line"] == 10 || tick["line"] == 11)
                .count();
        }
        assert!(busy_lines > 0, "the loop was not sampled");
        assert!(
            profile["samples"]
                .as_array()
                .is_some_and(|samples| samples.len() > 1)
        );
    }
}

#[test]
fn only_javascript_can_be_debugged() {
    let sandbox = Sandbox::with_home();
    sandbox.write(
        ".cycod/tools/hello.yaml",
        "name: hello\ndescription: Hello\nbash: echo hello\n",
    );
    let ran = sandbox.sh("haft --trust-project call hello --inspect");
    assert_eq!(
        (ran.output.as_str(), ran.code),
        (
            "error: `hello` is not a JavaScript tool, so it cannot be debugged\n",
            2
        )
    );
}
