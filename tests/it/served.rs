//! `haft serve` as a program of its own, and a minimal client for it.
//!
//! The client writes requests byte by byte as the test gives them, and reads events line by line.
//! It sends the token that the server made at its start, unless the test authenticates in another
//! way.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use serde_json::Value;

/// Time without a byte after which a server counts as hanging.
const LIMIT: Duration = Duration::from_secs(120);

/// A running server. Killed when it is dropped.
pub struct Served {
    child: Child,
    pub address: SocketAddr,
    /// The token that the server made; `None` if it made none.
    pub token: Option<String>,
    /// The server's message about its token.
    pub about_token: String,
}

/// An answer; the names of its headers are in lower case.
#[derive(Debug)]
pub struct Reply {
    pub status: u16,
    pub head: String,
    pub body: String,
}

/// A keep-alive connection.
pub struct Kept(BufReader<TcpStream>, String);

/// A stream of events.
pub struct Events {
    stream: BufReader<TcpStream>,
    /// Comments keep a silent stream alive, so that reading never times out by itself.
    until: Instant,
}

/// One event.
#[derive(Debug)]
pub struct Event {
    pub name: String,
    pub id: Option<String>,
    pub data: Value,
}

impl Served {
    /// Starts `command`, a `haft serve` that takes a free port, and waits until it listens.
    pub fn start(command: &mut Command) -> Served {
        let mut child = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("haft can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped"));
        let (mut line, mut before) = (String::new(), String::new());
        let address = loop {
            line.clear();
            let read = lines.read_line(&mut line).expect("it is text");
            assert!(read > 0, "it ended before it listened:\n{before}");
            if let Some(url) = line.trim_end().strip_prefix("listening on http://") {
                break url.parse().expect("an address");
            }
            before.push_str(&line);
        };
        line.clear();
        lines.read_line(&mut line).expect("it is text");
        let path = line.strip_prefix("the token is in ");
        let path = path.and_then(|rest| rest.split_once(';'));
        let token = path.map(|(path, _)| fs::read_to_string(path).expect("a private file of ours"));
        // The remaining output is read, so that the server never waits for a reader.
        thread::spawn(move || lines.lines().for_each(drop));
        Served {
            child,
            address,
            token,
            about_token: line,
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    pub fn get(&self, path: &str) -> Reply {
        self.send(&format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n"), "")
    }

    /// Posts a JSON body to `path`.
    pub fn post(&self, path: &str, body: &str) -> Reply {
        self.send(
            &format!(
                "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            ),
            body,
        )
    }

    pub fn delete(&self, path: &str) -> Reply {
        self.send(
            &format!("DELETE {path} HTTP/1.1\r\nHost: localhost\r\n"),
            "",
        )
    }

    /// Sends `head` (complete lines, without the empty one) and `body`, and reads the answer.
    pub fn send(&self, head: &str, body: &str) -> Reply {
        let stream = self.begin(head, body);
        Reply::read(stream)
    }

    /// Returns the header with the server's token, unless `head` already authenticates.
    pub fn authorization(&self, head: &str) -> String {
        let says_who = head.to_ascii_lowercase().contains("\r\nauthorization:");
        match &self.token {
            Some(token) if !says_who => format!("Authorization: Bearer {token}\r\n"),
            _ => String::new(),
        }
    }

    /// Sends a request and leaves its answer to the caller.
    pub fn begin(&self, head: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let who = self.authorization(head);
        let request = format!("{head}{who}{length}Connection: close\r\n\r\n{body}");
        stream.write_all(request.as_bytes()).expect("it reads");
        stream
    }

    /// Opens a connection for many sequential calls.
    pub fn begin_keeping(&self) -> Kept {
        let stream = TcpStream::connect(self.address).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        Kept(BufReader::new(stream), self.authorization(""))
    }

    /// Requests events with HTTP/1.0, so that they come without chunks.
    pub fn events(&self, head: &str, body: &str) -> Events {
        let head = head.replace("HTTP/1.1", "HTTP/1.0");
        let mut reader = BufReader::new(self.begin(&head, body));
        let mut status = String::new();
        reader.read_line(&mut status).expect("an answer");
        assert!(status.contains(" 20"), "{status}");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            reader.read_line(&mut line).expect("a head");
        }
        Events {
            stream: reader,
            until: Instant::now() + LIMIT,
        }
    }

    /// Subscribes to the server's events; the first event confirms the subscription.
    pub fn listen(&self, last_id: Option<&str>) -> Events {
        let last = last_id.map_or(String::new(), |id| format!("Last-Event-ID: {id}\r\n"));
        self.events(
            &format!("GET /api/events HTTP/1.1\r\nHost: localhost\r\n{last}"),
            "",
        )
    }

    pub fn signal(&self, name: &str) {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.pid().to_string()])
            .status();
        assert!(sent.expect("`kill` is on every machine").success());
    }

    /// Waits for its end; returns the exit code.
    pub fn wait(&mut self) -> Option<i32> {
        self.child.wait().expect("it is our child").code()
    }
}

impl Kept {
    /// Posts JSON, expects success, and returns the JSON of the answer.
    pub fn post(&mut self, path: &str, body: &Value) -> Value {
        let body = body.to_string();
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             {}Content-Length: {}\r\n\r\n{body}",
            self.1,
            body.len()
        );
        let stream = self.0.get_mut();
        stream.write_all(request.as_bytes()).expect("it reads");
        let (mut line, mut length, mut status) = (String::new(), 0, String::new());
        while line != "\r\n" {
            line.clear();
            assert!(
                self.0.read_line(&mut line).expect("an answer") > 0,
                "it hung up"
            );
            if status.is_empty() {
                status.clone_from(&line);
            }
            if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                length = value.trim().parse().expect("a number");
            }
        }
        let mut body = vec![0; length];
        self.0.read_exact(&mut body).expect("a body");
        let body = String::from_utf8(body).expect("it is text");
        assert!(status.contains(" 200 "), "{status}{body}");
        serde_json::from_str(&body).expect("it is JSON")
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Reply {
    pub fn read(mut stream: TcpStream) -> Reply {
        let mut bytes = Vec::new();
        // A server that refuses a body may close the connection before all of it was sent.
        let _ = stream.read_to_end(&mut bytes);
        let text = String::from_utf8_lossy(&bytes);
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let mut lines = head.lines();
        let first = lines.next().unwrap_or_default();
        let status = first.split(' ').nth(1).and_then(|code| code.parse().ok());
        let head = lines.map(|line| match line.split_once(':') {
            Some((name, value)) => format!("{}:{value}\n", name.to_ascii_lowercase()),
            None => format!("{line}\n"),
        });
        Reply {
            status: status.unwrap_or_else(|| panic!("no answer: {text:?}")),
            head: head.collect(),
            body: body.to_owned(),
        }
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

impl Events {
    /// Returns the next event, or `None` at the end of the stream.
    pub fn next(&mut self) -> Option<Event> {
        let (mut name, mut id, mut data) = (String::new(), None, String::new());
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line).ok()? == 0 {
                return None;
            }
            assert!(Instant::now() < self.until, "nothing happens");
            match line.trim_end().split_once(": ") {
                Some(("event", text)) => name = text.to_owned(),
                Some(("id", text)) => id = Some(text.to_owned()),
                Some(("data", text)) => data.push_str(text),
                _ if line == "\n" && !name.is_empty() => break,
                _ => {}
            }
        }
        let data = serde_json::from_str(&data).unwrap_or_else(|error| panic!("{error}: {data}"));
        Some(Event { name, id, data })
    }

    /// Returns the next event of that name, and skips those before it.
    pub fn wait_for(&mut self, name: &str) -> Event {
        loop {
            let event = self.next();
            let event = event.unwrap_or_else(|| panic!("no `{name}` came"));
            if event.name == name {
                return event;
            }
        }
    }
}
