//! A small HTTP server on the loopback interface that can misbehave.
//!
//! One thread per connection, one request per connection; it keeps the requests.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tokio::sync::watch;

/// A server; it listens until the test's process ends.
pub struct Server {
    address: SocketAddr,
    requests: watch::Sender<Vec<String>>,
}

/// A received request: the head in lower-case header names, then the body.
pub struct Request(String);

/// The reply of the server.
pub enum Answer {
    /// These bytes, and the end.
    Raw(String),
    /// Nothing at all, and the connection stays open.
    Silence,
    /// Headers, then a byte every 50 ms without end.
    Drip,
    /// Headers, then bytes as fast as the client reads them, without end.
    Endless,
}

impl Answer {
    pub fn raw(text: &str) -> Answer {
        Answer::Raw(text.into())
    }

    pub fn ok(body: &str) -> Answer {
        let length = body.len();
        Answer::Raw(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {length}\r\n\r\n{body}"
        ))
    }

    pub fn redirect(status: u16, location: &str) -> Answer {
        Answer::Raw(format!(
            "HTTP/1.1 {status} Elsewhere\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
        ))
    }
}

impl Request {
    /// The path of the request line.
    pub fn path(&self) -> &str {
        self.0.split(' ').nth(1).expect("a request line")
    }

    /// The value of the header of that name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.0.lines();
        lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
    }
}

impl Server {
    pub fn start(answer: impl Fn(&Request) -> Answer + Send + Sync + 'static) -> Server {
        let listener = TcpListener::bind("127.0.0.1:0").expect("the loopback interface");
        let address = listener.local_addr().expect("it is bound");
        let requests = watch::Sender::<Vec<String>>::default();
        let (answer, kept) = (Arc::new(answer), requests.clone());
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (answer, kept) = (answer.clone(), kept.clone());
                thread::spawn(move || {
                    let Some(request) = read(&stream) else {
                        return;
                    };
                    let answer = answer(&request);
                    kept.send_modify(|kept| kept.push(request.0));
                    // The other side may hang up at any time.
                    let _ = write(stream, answer);
                });
            }
        });
        Server { address, requests }
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.borrow().clone()
    }

    pub fn request_lines(&self) -> Vec<String> {
        let requests = self.requests();
        let lines = requests.iter().filter_map(|request| request.lines().next());
        lines.map(str::to_owned).collect()
    }

    pub async fn wait_for_request(&self) {
        let mut requests = self.requests.subscribe();
        let waited = requests.wait_for(|requests| !requests.is_empty()).await;
        waited.map(drop).expect("the server is here");
    }
}

fn read(stream: &TcpStream) -> Option<Request> {
    let mut reader = BufReader::new(stream);
    let (mut text, mut length) = (String::new(), 0);
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        let is_request_line = text.is_empty();
        match line.split_once(':') {
            Some((name, value)) if !is_request_line => {
                let name = name.to_ascii_lowercase();
                if name == "content-length" {
                    length = value.trim().parse().ok()?;
                }
                text.push_str(&format!("{name}:{value}"));
            }
            _ => text.push_str(&line),
        }
        if line == "\r\n" {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    text.push_str(&String::from_utf8_lossy(&body));
    Some(Request(text))
}

fn write(mut stream: TcpStream, answer: Answer) -> std::io::Result<()> {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
    match answer {
        Answer::Raw(text) => stream.write_all(text.as_bytes()),
        Answer::Silence => stream.read_to_end(&mut Vec::new()).map(drop),
        Answer::Drip => {
            stream.write_all(HEAD)?;
            loop {
                stream.write_all(b"1\r\nx\r\n")?;
                thread::sleep(Duration::from_millis(50));
            }
        }
        Answer::Endless => {
            stream.write_all(HEAD)?;
            let chunk = format!("10000\r\n{}\r\n", "x".repeat(0x10000));
            loop {
                stream.write_all(chunk.as_bytes())?;
            }
        }
    }
}
