//! A sandbox whose configuration names MCP servers, and the processes that they leave.
//!
//! The servers of `tests/mcp_servers` are copied into the sandbox, so that their paths are `$CASE` in
//! the output of commands.

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use serde_json::{Value, json};

use crate::mcp_client::Client;
use crate::sandbox::Sandbox;

/// Variable of every server, and so of its children, by which they are found.
const MARK: &str = "UPSTREAM_MARK";

/// Servers behind haft.
pub struct Upstream {
    pub sandbox: Sandbox,
    servers: String,
}

impl Upstream {
    /// Makes a sandbox with no servers yet.
    pub fn new() -> Upstream {
        let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_servers");
        Upstream {
            sandbox: Sandbox::with(&servers),
            servers: String::new(),
        }
    }

    /// Adds a server on standard input and output. `settings` are lines of its configuration, as are
    /// those of the other methods.
    pub fn program(mut self, name: &str, command: &[&str], settings: &[&str]) -> Upstream {
        let mark = self.sandbox.path().display().to_string();
        let (program, arguments) = command.split_first().expect("a program");
        let own = [
            format!("command: {}", json!(program)),
            format!("args: {}", json!(arguments)),
            format!("env: {{{MARK}: {}, TOKEN: s3cret-value}}", json!(mark)),
        ];
        self.add(name, &own, settings);
        self
    }

    /// Adds a server of ours: the script and its arguments.
    pub fn node(self, name: &str, script: &[&str], settings: &[&str]) -> Upstream {
        let path = self.sandbox.path().join(script[0]).display().to_string();
        let command = [&["node", &path], &script[1..]].concat();
        self.program(name, &command, settings)
    }

    /// Adds a server over HTTP.
    pub fn url(mut self, name: &str, url: &str, settings: &[&str]) -> Upstream {
        self.add(name, &[format!("url: {}", json!(url))], settings);
        self
    }

    fn add(&mut self, name: &str, own: &[String], settings: &[&str]) {
        let own = own.iter().map(String::as_str);
        self.servers.push_str(&format!("    {name}:\n"));
        for line in own.chain(settings.iter().copied()) {
            self.servers.push_str(&format!("      {line}\n"));
        }
        let config = format!("mcp:\n  servers:\n{}", self.servers);
        self.sandbox.write("home/.config/haft/config.yaml", &config);
    }

    /// Runs a command, which must succeed, and returns its output.
    pub fn succeeds(&self, line: &str) -> String {
        let ran = self.sandbox.sh(line);
        assert_eq!(ran.code, 0, "{line}\n{}", ran.output);
        ran.output
    }

    /// Connects each server once, so that its tools are known and trusted.
    pub fn connected(self, names: &[&str]) -> Upstream {
        for name in names {
            self.succeeds(&format!("haft mcp test {name}"));
        }
        self
    }

    /// Starts `haft serve mcp` with a client that has sent nothing yet.
    pub fn silent_client(self) -> Client {
        let child = self
            .sandbox
            .haft()
            .args(["serve", "mcp"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("haft starts");
        Client::from_child(child, self.sandbox)
    }

    /// Starts `haft serve mcp` with an initialized client of MCP 2025-11.
    pub fn client(self, capabilities: Value) -> Client {
        let mut client = self.silent_client();
        client.initialize(capabilities);
        client
    }
}

/// Returns the processes of the sandbox's servers and of their children that still run, with their
/// command lines.
pub fn processes(sandbox: &Sandbox) -> Vec<String> {
    let mark = format!("{MARK}={}", sandbox.path().display());
    let folders = fs::read_dir("/proc").expect("`/proc` is there");
    let marked = folders.flatten().filter(|folder| {
        // A process that has ended meanwhile, or that is not ours, has no variables for us.
        let variables = fs::read(folder.path().join("environ")).unwrap_or_default();
        variables
            .split(|byte| *byte == 0)
            .any(|variable| variable == mark.as_bytes())
    });
    let shown = marked.map(|folder| {
        let line = fs::read(folder.path().join("cmdline")).unwrap_or_default();
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        format!("{} {line}", folder.file_name().display())
    });
    shown.collect()
}

/// Returns the most memory that a process had so far, in MB.
pub fn peak_megabytes(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("it runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let kilobytes: u64 = kilobytes
        .and_then(|number| number.parse().ok())
        .expect("a number of kB");
    kilobytes >> 10
}

/// A server over HTTP, which ends with this handle.
pub struct HttpServer {
    child: Child,
    /// First line of its output.
    pub url: String,
    /// The lines after the first one.
    lines: std::sync::mpsc::Receiver<String>,
}

impl HttpServer {
    /// Starts a server of ours: the script and its arguments.
    pub fn start(script: &[&str]) -> HttpServer {
        let servers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/mcp_servers");
        let mut child = Command::new("node")
            .arg(servers.join(script[0]))
            .args(&script[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("node is on every machine");
        let mut output = BufReader::new(child.stdout.take().expect("it is piped"));
        let mut url = String::new();
        output.read_line(&mut url).expect("it is text");
        let (sender, lines) = std::sync::mpsc::channel();
        thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let _ = sender.send(line);
            }
        });
        HttpServer {
            child,
            url: url.trim().to_owned(),
            lines,
        }
    }

    /// Returns the lines that it has printed so far, besides its URL.
    pub fn printed(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
