//! A client of `haft serve mcp` with generated tools.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::error::{During, Error, Result};
use crate::files;

/// The tools of the tasks.
const TOOLS: &str = include_str!("tools.ts");

pub struct Client {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    _home: TempDir,
}

impl Client {
    /// Starts a server with `tools` tools.
    pub fn start(haft: &Path, tools: usize, flags: &[&str]) -> Result<Client> {
        let home = TempDir::new().during(|| "make a directory".into())?;
        files::write(&home.path().join("tools.ts"), TOOLS)?;
        let config = "code: {calls: 1000, calls_at_once: 100}\n";
        files::write(&home.path().join(".config/haft/config.yaml"), config)?;
        let mut child = Command::new(haft)
            .args(["--tool", "tools.ts", "serve", "mcp"])
            .args(flags)
            .current_dir(home.path())
            .env_clear()
            .env("HOME", home.path())
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("BENCH_TOOLS", tools.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .during(|| format!("start `{}`", haft.display()))?;
        let missing = || Error::unexpected("the server has no standard streams");
        let input = child.stdin.take().ok_or_else(missing)?;
        let output = BufReader::new(child.stdout.take().ok_or_else(missing)?);
        let mut client = Client {
            child,
            input,
            output,
            id: 0,
            _home: home,
        };
        client.ask(
            "initialize",
            &json!({
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "1"},
            }),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    /// Returns the whole list of tools.
    pub fn tools(&mut self) -> Result<Vec<Value>> {
        let mut tools = Vec::new();
        let mut params = json!({});
        loop {
            let page = self.ask("tools/list", &params)?;
            tools.extend(page["tools"].as_array().cloned().unwrap_or_default());
            match page["nextCursor"].as_str() {
                Some(cursor) => params = json!({"cursor": cursor}),
                None => return Ok(tools),
            }
        }
    }

    /// Calls a tool and returns the text of its result.
    pub fn call(&mut self, tool: &str, arguments: &Value) -> Result<String> {
        let result = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let blocks = result["content"].as_array().cloned().unwrap_or_default();
        let texts: Vec<&str> = blocks
            .iter()
            .filter_map(|block| block["text"].as_str())
            .collect();
        let text = texts.join("\n");
        if result["isError"] == true {
            return Err(Error::unexpected(format!("`{tool}` failed: {text}")));
        }
        Ok(text)
    }

    fn ask(&mut self, method: &str, params: &Value) -> Result<Value> {
        self.id += 1;
        let id = self.id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}))?;
        loop {
            let mut line = String::new();
            let read = self.output.read_line(&mut line);
            if read.during(|| "read from the server".into())? == 0 {
                return Err(Error::unexpected("the server has ended"));
            }
            let message: Value = serde_json::from_str(&line)
                .map_err(|error| Error::unexpected(format!("no JSON from the server: {error}")))?;
            if message["id"] == id {
                return match message.get("error") {
                    Some(error) => Err(Error::unexpected(format!("{method}: {error}"))),
                    None => Ok(message["result"].clone()),
                };
            }
        }
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        writeln!(self.input, "{message}").during(|| "write to the server".into())
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        // It ends at the end of its input, too; this is sooner.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
