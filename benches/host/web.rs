//! Cost of one request to a server: the mean of many requests over kept-alive connections.
//!
//! `web list|call CONNECTIONS EXPECT PROGRAM ARGUMENT…` starts the program, which prints its
//! address on standard error. Both sides are measured with the same minimal client on one thread,
//! so the client's own cost is the same on both sides.

use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::time::{Duration, Instant};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::LocalSet;

/// V8 compiles in stages, on either side; after so many calls the last stage is done.
const WARM_UP: usize = 4_000;
const REQUESTS: usize = 20_000;

/// The server; killed when it is dropped.
struct Server {
    child: Child,
    address: String,
}

pub async fn run(words: &[&str]) -> Option<Duration> {
    let [
        kind @ ("list" | "call"),
        connections,
        expect,
        program,
        arguments @ ..,
    ] = words
    else {
        return None;
    };
    let connections: usize = connections.parse().expect("a number of connections");
    let server = Server::start(program, arguments);
    let request = request(kind, &server.address);
    let rounds = async {
        round(&server.address, &request, expect, connections, WARM_UP).await;
        let started = Instant::now();
        round(&server.address, &request, expect, connections, REQUESTS).await;
        started.elapsed()
    };
    let took = LocalSet::new().run_until(rounds).await;
    Some(took / u32::try_from(REQUESTS).expect("a small number"))
}

impl Server {
    #[expect(
        clippy::disallowed_methods,
        reason = "the servers are what is measured, and no tools"
    )]
    fn start(program: &str, arguments: &[&str]) -> Server {
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the server can be started");
        let mut lines = BufReader::new(child.stderr.take().expect("it is piped")).lines();
        let address = lines.by_ref().map_while(Result::ok).find_map(|line| {
            let url = line.strip_prefix("listening on http://")?;
            Some(url.to_owned())
        });
        // The remaining output is read, so that the server never waits for a reader.
        std::thread::spawn(move || lines.for_each(drop));
        Server {
            child,
            address: address.expect("it says where it listens"),
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn request(kind: &str, address: &str) -> Rc<str> {
    match kind {
        "list" => format!("GET /api/tools HTTP/1.1\r\nHost: {address}\r\n\r\n").into(),
        _ => {
            let body = r#"{"arguments":{"text":"hello"}}"#;
            format!(
                "POST /api/tools/echo/call HTTP/1.1\r\nHost: {address}\r\n\
                 Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
                body.len()
            )
            .into()
        }
    }
}

/// Sends `requests` requests, shared among the connections.
async fn round(
    address: &str,
    request: &Rc<str>,
    expect: &str,
    connections: usize,
    requests: usize,
) {
    let each = requests.div_ceil(connections);
    let clients = (0..connections).map(|_| {
        let (address, request) = (address.to_owned(), Rc::clone(request));
        let expect = expect.to_owned();
        tokio::task::spawn_local(client(address, request, expect, each))
    });
    for client in clients.collect::<Vec<_>>() {
        client.await.expect("every answer is the expected one");
    }
}

async fn client(address: String, request: Rc<str>, expect: String, requests: usize) {
    let mut stream = TcpStream::connect(&address).await.expect("it listens");
    stream.set_nodelay(true).expect("a socket");
    let mut bytes = vec![0; 1 << 18];
    for number in 0..requests {
        stream
            .write_all(request.as_bytes())
            .await
            .expect("it reads");
        let mut filled = 0;
        let answer = loop {
            let read = stream.read(&mut bytes[filled..]).await.expect("it answers");
            assert!(read > 0, "it hung up");
            filled += read;
            if let Some(whole) = whole(&bytes[..filled]) {
                break whole;
            }
        };
        assert_eq!(answer, filled, "one answer to one request");
        assert!(bytes.starts_with(b"HTTP/1.1 200 "), "not a success");
        if number == 0 || number + 1 == requests {
            let text = String::from_utf8_lossy(&bytes[..filled]);
            assert!(text.contains(&expect), "{text}");
        }
    }
}

/// Returns the length of the answer, once its head and its body are complete.
fn whole(bytes: &[u8]) -> Option<usize> {
    let head = bytes.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = std::str::from_utf8(&bytes[..head]).ok()?;
    let length: usize = text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    })?;
    (bytes.len() >= head + length).then_some(head + length)
}
