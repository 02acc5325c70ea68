//! The server under test: haft over HTTP on a free port, ended when the handle is dropped.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;

use crate::error::{During, Error, Result};

pub struct Server {
    child: Child,
    address: String,
}

impl Server {
    pub fn start(haft: &Path, tools: &Path, home: &Path) -> Result<Server> {
        let doing = || format!("start `{}`", haft.display());
        let mut child = Command::new(haft)
            .arg("--tool")
            .arg(tools)
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
