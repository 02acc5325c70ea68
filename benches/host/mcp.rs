//! Cost of one call to an MCP server on pipes, for any server. The driver must cost less than what
//! it measures, so it reads and writes without a library.
//!
//! `mcp COUNT IN_FLIGHT TOOL COMMAND…`: calls this tool of the server, which returns its `text`.

use std::fmt::Write as _;
use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}"#;
const READY: &str = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;

struct Client {
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    tool: String,
    next: usize,
}

pub fn run(words: &[&str]) -> Option<Duration> {
    let &[count, in_flight, tool, program, ref arguments @ ..] = words else {
        return None;
    };
    let count = count.parse().expect("a number of calls");
    let in_flight = in_flight.parse().expect("a number of calls");
    let took = measure(count, in_flight, tool, program, arguments);
    Some(took.unwrap_or_else(|error| panic!("`{program}` does not serve: {error}")))
}

#[expect(
    clippy::disallowed_methods,
    reason = "what is measured is a process of its own, whoever wrote it"
)]
fn measure(
    count: u32,
    in_flight: u32,
    tool: &str,
    program: &str,
    arguments: &[&str],
) -> io::Result<Duration> {
    let mut server = Command::new(program)
        .args(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let mut client = Client {
        to: server.stdin.take().expect("it is a pipe"),
        from: BufReader::with_capacity(1 << 16, server.stdout.take().expect("it is a pipe")),
        tool: tool.to_owned(),
        next: 1,
    };
    writeln!(client.to, "{HELLO}")?;
    client.answer(r#""protocolVersion""#)?;
    writeln!(client.to, "{READY}")?;
    client.calls(count / 5, in_flight)?;
    let began = Instant::now();
    client.calls(count, in_flight)?;
    let took = began.elapsed() / count;
    drop(client);
    server.wait()?;
    Ok(took)
}

impl Client {
    fn calls(&mut self, count: u32, in_flight: u32) -> io::Result<()> {
        let (mut sent, mut answered) = (0, 0);
        let mut asked = String::new();
        while answered < count {
            while sent < count && sent - answered < in_flight {
                let Client { next: id, tool, .. } = &*self;
                let _ = writeln!(
                    asked,
                    r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{{"text":"hello"}}}}}}"#
                );
                self.next += 1;
                sent += 1;
            }
            self.to.write_all(asked.as_bytes())?;
            asked.clear();
            // Messages that arrived together are read together, as every client does it.
            loop {
                self.answer(r#""text":"hello""#)?;
                answered += 1;
                if !self.from.buffer().contains(&b'\n') {
                    break;
                }
            }
        }
        Ok(())
    }

    fn answer(&mut self, expect: &str) -> io::Result<()> {
        let mut line = String::new();
        self.from.read_line(&mut line)?;
        if line.contains(expect) {
            Ok(())
        } else {
            Err(io::Error::other(format!("it answered {line:?}")))
        }
    }
}
