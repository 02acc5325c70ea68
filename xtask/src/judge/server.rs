//! The servers under test: haft over HTTP on a free port, ended when the handle is dropped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::command;
use crate::error::{During, Error, Result};
use crate::files;

pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    /// Serves the tools of a module.
    pub fn of_tools(haft: &Path, tools: &Path, home: &Path) -> Result<Server> {
        let mut command = Command::new(haft);
        command.arg("--tool").arg(tools);
        Server::start(command, home)
    }

    /// Serves on what an MCP server in JavaScript has, and nothing else.
    pub fn of_upstream(haft: &Path, upstream: &Path, home: &Path) -> Result<Server> {
        let config = home.join(".config/haft/config.yaml");
        // The suite calls every tool, and there is no user to approve a call.
        let text = format!(
            "mcp:\n  servers:\n    suite:\n      command: node\n      args: [{:?}]\n      \
             approval: {{\"*\": read}}\n      new_tools: offer\n",
            upstream.display().to_string()
        );
        files::write(&config, &text)?;
        let mut connect = Command::new(haft);
        connect.args(["mcp", "test", "suite"]);
        command::run(connect.env("HOME", home).current_dir(home))?;
        Server::start(Command::new(haft), home)
    }

    fn start(mut command: Command, home: &Path) -> Result<Server> {
        let shown = command::display(&command);
        let doing = || format!("start `{shown}`");
        let mut child = command
            .args(["serve", "mcp", "--http", "127.0.0.1:0", "--no-token"])
            .env("HOME", home)
            .current_dir(home)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .during(doing)?;
        let stderr = child.stderr.take();
        let mut lines = BufReader::new(stderr.ok_or_else(|| Error::unexpected("no stderr"))?);
        loop {
            let mut line = String::new();
            if lines.read_line(&mut line).during(doing)? == 0 {
                return Err(Error::unexpected("haft ended before it listened"));
            }
            eprint!("{line}");
            if let Some(address) = line.strip_prefix("listening on ") {
                let address = address.trim().to_owned();
                thread::spawn(move || std::io::copy(&mut lines, &mut std::io::sink()));
                return Ok(Server { child, address });
            }
        }
    }

    pub fn url(&self) -> String {
        format!("{}/mcp", self.address.trim_end_matches('/'))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
