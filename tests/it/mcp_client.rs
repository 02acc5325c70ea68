//! A client on pipes that checks that every line is one message.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use serde_json::{Value, json};

use crate::sandbox::Sandbox;

/// Timeout that a machine under load never reaches.
pub const TEST_TIMEOUT: Duration = Duration::from_secs(90);

/// A `haft serve mcp` and its messages.
pub struct Client {
    pub child: Child,
    stdin: Option<ChildStdin>,
    stdout: Option<ChildStdout>,
    lines: Option<Receiver<Value>>,
    next_id: u64,
    pub sandbox: Sandbox,
}

/// Returns the `_meta` of every request of MCP 2026-07.
pub fn mcp_2026(capabilities: Value) -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": capabilities,
    })
}

impl Client {
    /// Starts a client that has sent nothing yet; `module` is the source of the tools.
    pub fn silent(module: &str, flags: &[&str]) -> Client {
        let sandbox = Sandbox::with_home();
        sandbox.write("tools.ts", module);
        Client::within(sandbox, flags)
    }

    /// Starts a client in an existing sandbox with a `tools.ts`.
    pub fn within(sandbox: Sandbox, flags: &[&str]) -> Client {
        Client::of(sandbox, &[&["serve", "mcp"], flags].concat())
    }

    /// Starts a client of any command that reads and writes lines.
    pub fn of(sandbox: Sandbox, command: &[&str]) -> Client {
        let child = sandbox
            .haft()
            .args(["--tool", "tools.ts"])
            .args(command)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("haft starts");
        Client::from_child(child, sandbox)
    }

    /// Creates the client of a program with piped streams.
    pub fn from_child(mut child: Child, sandbox: Sandbox) -> Client {
        Client {
            stdin: child.stdin.take(),
            stdout: child.stdout.take(),
            child,
            lines: None,
            next_id: 1,
            sandbox,
        }
    }

    /// Starts a client that is initialized with MCP 2025-11.
    pub fn old(module: &str, capabilities: Value) -> Client {
        let mut client = Client::silent(module, &[]);
        client.initialize(capabilities);
        client
    }

    /// Sends `initialize` of MCP 2025-11.
    pub fn initialize(&mut self, capabilities: Value) -> Value {
        self.initialize_as("test", capabilities)
    }

    /// Sends `initialize` under another client name.
    pub fn initialize_as(&mut self, name: &str, capabilities: Value) -> Value {
        let params = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": {"name": name, "version": "1"},
        });
        let answer = self.ask("initialize", params);
        self.notify("notifications/initialized", json!({}));
        answer
    }

    /// Starts to read the output.
    pub fn listen(&mut self) {
        let Some(stdout) = self.stdout.take() else {
            return;
        };
        let (sender, lines) = channel();
        thread::spawn(move || {
            for line in BufReader::new(stdout).lines() {
                let line = line.expect("UTF-8");
                let message: Value = serde_json::from_str(&line)
                    .unwrap_or_else(|error| panic!("not JSON: {error}: {line}"));
                assert_eq!(message["jsonrpc"], "2.0", "{line}");
                if sender.send(message).is_err() {
                    return;
                }
            }
        });
        self.lines = Some(lines);
    }

    /// Writes bytes and a line break.
    pub fn raw(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes).expect("haft reads");
        stdin.write_all(b"\n").expect("haft reads");
    }

    /// Writes bytes without a line break.
    pub fn part(&mut self, bytes: &[u8]) {
        let stdin = self.stdin.as_mut().expect("the input is open");
        stdin.write_all(bytes).expect("haft reads");
        stdin.flush().expect("haft reads");
    }

    /// Sends a request and returns its id.
    pub fn request(&mut self, method: &str, params: Value) -> u64 {
        let id = self.next_id;
        self.next_id += 1;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.raw(message.to_string().as_bytes());
        id
    }

    pub fn notify(&mut self, method: &str, params: Value) {
        let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
        self.raw(message.to_string().as_bytes());
    }

    /// Answers a request of haft.
    pub fn reply(&mut self, request: &Value, result: Value) {
        let message = json!({"jsonrpc": "2.0", "id": request["id"], "result": result});
        self.raw(message.to_string().as_bytes());
    }

    /// Returns the next message; `None` at the end of the output.
    pub fn next_if_any(&mut self) -> Option<Value> {
        self.listen();
        let lines = self.lines.as_ref().expect("it listens");
        match lines.recv_timeout(TEST_TIMEOUT) {
            Ok(message) => Some(message),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("haft says nothing"),
        }
    }

    /// Returns the next message.
    pub fn next(&mut self) -> Value {
        self.next_if_any().expect("haft says something")
    }

    /// Returns the answer to the request whose id is this text.
    pub fn named(&mut self, id: &str) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id {
                return message;
            }
        }
    }

    /// Returns the answer to a request, and skips the messages before it.
    pub fn answer(&mut self, id: u64) -> Value {
        loop {
            let message = self.next();
            if message["id"] == id && message.get("method").is_none() {
                return message;
            }
        }
    }

    /// Sends a request and returns its answer.
    pub fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    /// Starts a call.
    pub fn start(&mut self, name: &str, arguments: Value) -> u64 {
        let params =
            json!({"name": name, "arguments": arguments, "_meta": {"progressToken": name}});
        self.request("tools/call", params)
    }

    /// Calls a tool and returns the result.
    pub fn call(&mut self, name: &str, arguments: Value) -> Value {
        let id = self.start(name, arguments);
        self.answer(id)["result"].take()
    }

    /// Waits for the tool's next update and returns its text.
    pub fn update(&mut self) -> String {
        let message = self.next();
        assert_eq!(message["method"], "notifications/progress", "{message}");
        let text = message["params"]["message"].as_str();
        text.expect("an update with a text").to_owned()
    }

    /// Closes haft's input.
    pub fn hang_up(&mut self) {
        self.stdin = None;
    }

    /// Waits for the end of the program, which may take no longer than `most`.
    pub fn ends_within(&mut self, most: Duration) -> ExitStatus {
        let start = Instant::now();
        // `Child::wait` would close the input.
        let pid = Pid::from_child(&self.child);
        let held = pidfd_open(pid, PidfdFlags::empty()).expect("it is our child");
        let limit = Timespec::try_from(TEST_TIMEOUT).expect("it is short");
        let mut ended = [PollFd::new(&held, PollFlags::IN)];
        let count = poll(&mut ended, Some(&limit)).expect("poll works");
        assert_eq!(count, 1, "haft does not end");
        let took = start.elapsed();
        let status = self.child.try_wait().expect("it is our child");
        let status = status.expect("it has ended");
        assert!(took < most, "haft took {took:?} to end");
        status
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the text of a result.
pub fn text(result: &Value) -> &str {
    result["content"][0]["text"]
        .as_str()
        .unwrap_or_else(|| panic!("no text: {result}"))
}
