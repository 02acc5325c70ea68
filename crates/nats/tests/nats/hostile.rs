//! Bytes that no haft sends. They cost only themselves.

use std::io::{BufRead, BufReader, Write};
use std::time::Duration;

use haft_nats::{Client, Headers, Message};
use haft_tool::{ErrorKind, Outcome};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::hosts::{Caller, DIGEST, Host, call, started};
use crate::server::{SOON, Server};

/// Payloads that are no frames, and frames with wrong bodies.
fn payloads() -> Vec<Vec<u8>> {
    let mut all: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"\x00\xff\xfe".to_vec(),
        b"{".to_vec(),
        b"null".to_vec(),
        b"[]".to_vec(),
        b"{}".to_vec(),
        vec![b'['; 200_000],
        b"x".repeat(300_000),
        (0..=255).cycle().take(5000).collect(),
    ];
    let kinds = [
        "accepted",
        "refused",
        "update",
        "log",
        "ask",
        "withdraw",
        "tell",
        "forward",
        "answer",
        "cancel",
        "forwarded",
        "arguments",
        "other",
        "\u{1b}[2J",
    ];
    let bodies = [
        json!(null),
        json!(-1),
        json!(1e300),
        json!("\u{0}"),
        json!([]),
        json!({}),
        json!({"id": -1, "prompt": {"kind": "select", "title": "", "options": []}}),
        json!({"id": 7, "value": [[]]}),
        json!({"why": "nothing", "kill": "yes"}),
        json!({"content": 1}),
    ];
    for kind in kinds {
        for body in &bodies {
            all.push(json!({"kind": kind, "body": body}).to_string().into_bytes());
        }
    }
    all
}

/// Headers that no haft sends.
fn headers() -> Vec<Headers> {
    let none = Headers::default;
    vec![
        none(),
        none().with("Haft-Call", "a.b").with("Haft-Key", "*"),
        none().with("Haft-Call", ">").with("Haft-Key", "k"),
        none().with("Haft-Call", "").with("Haft-Key", ""),
        none()
            .with("Haft-Call", "x".repeat(1000))
            .with("Haft-Key", "k"),
        none()
            .with("Haft-Seq", "-1")
            .with("Haft-Ack", "99999999999999999999"),
        none()
            .with("Haft-Seq", "0")
            .with("Haft-Ack", "18446744073709551615"),
        none()
            .with("Haft-Key", "wrong")
            .with("Haft-Seq", "0")
            .with("Haft-Ack", "7"),
        none().with("Haft-Key", "wrong").with("Haft-Bye", "1"),
        none()
            .with("Haft-Timeout", "18446744073709551615")
            .with("Haft-User", "\u{ff}"),
        none()
            .with("traceparent", "00-zz")
            .with("tracestate", "\u{1}"),
    ]
}

/// Sends all of it to these subjects.
async fn shout(client: &Client, subjects: &[&str]) {
    for payload in payloads() {
        for headers in headers() {
            for subject in subjects {
                let (payload, headers) = (payload.clone(), headers.clone());
                client.publish(*subject, Some("_INBOX.noise"), headers, payload.into());
            }
        }
        assert!(client.flush("default").await);
    }
}

#[tokio::test]
async fn noise_on_all_subjects_changes_nothing() {
    let server = Server::start();
    let noise = server.client().await;
    let mut spy = noise.subscribe("haft.v1.call.>").await;
    let host = Host::new("one");
    host.offer(&["hold", "echo"]);
    let service = host.serve(&server.client().await).await;
    let fleet = std::sync::Arc::new(server.fleet());
    let holding = fleet.clone();
    let held =
        tokio::spawn(async move { Caller::with_person().call(&holding, "hold", "{}").await });
    started(&host, 1).await;
    let request = spy.next().await.expect("the call");
    drop(spy);
    let id = request.headers.get("Haft-Call").expect("an id").to_owned();
    shout(
        &noise,
        &[
            &format!("haft.v1.evt.default.{id}"),
            &format!("haft.v1.ctl.default.{id}"),
            &format!("haft.v1.host.default.{}", service.host().id),
            "haft.v1.list.default",
            "haft.v1.news.default",
            "$SRV.PING",
            "$SRV.INFO.haft-tools",
            "$SRV.STATS",
        ],
    )
    .await;
    shout(&noise, &["haft.v1.call.default.echo.d1"]).await;
    let listing = fleet.list().await.expect("a server");
    assert_eq!(listing.offers.len(), 1, "{listing:?}");
    assert_eq!(
        call(&fleet, "echo", "[2]").await.expect("a result").text(),
        "[2]"
    );
    host.held.add_permits(1);
    let outcome = timeout(SOON, held)
        .await
        .expect("it ends")
        .expect("it ends");
    assert_eq!(outcome.expect("a result").text(), "one");
    assert_eq!(*host.problems.lock(), [""; 0]);
}

/// Publishes a message whose headers are not those of NATS, as no client library does.
fn publish_broken(server: &Server, subject: &str) {
    let host = server.url();
    let address = (
        host.host_str().expect("a host"),
        host.port().expect("a port"),
    );
    let mut stream = std::net::TcpStream::connect(address).expect("a server");
    let (headers, payload) = ("NATS/1.0\r\nno colon\r\n\r\n", "{}");
    let message = format!(
        "CONNECT {{\"verbose\":false,\"headers\":true}}\r\n\
         HPUB {subject} {} {}\r\n{headers}{payload}\r\nPING\r\n",
        headers.len(),
        headers.len() + payload.len()
    );
    stream.write_all(message.as_bytes()).expect("it is sent");
    let mut answer = BufReader::new(stream).lines().map_while(Result::ok);
    assert!(answer.any(|line| line == "PONG"), "the server takes it");
}

#[tokio::test]
async fn headers_that_are_none_cost_a_connection_and_no_call() {
    let server = Server::start();
    let watching = server.client().await;
    let mut spy = watching.subscribe("haft.v1.call.default.hold.d1").await;
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let fleet = std::sync::Arc::new(server.fleet());
    let holding = fleet.clone();
    let held = tokio::spawn(async move { call(&holding, "hold", "{}").await });
    started(&host, 1).await;
    let request = spy.next().await.expect("the call");
    let id = request.headers.get("Haft-Call").expect("an id");
    for subject in [
        format!("haft.v1.evt.default.{id}"),
        format!("haft.v1.ctl.default.{id}"),
        "haft.v1.list.default".to_owned(),
        "haft.v1.call.default.echo.d1".to_owned(),
    ] {
        publish_broken(&server, &subject);
    }
    host.held.add_permits(1);
    let outcome = timeout(SOON, held)
        .await
        .expect("it ends")
        .expect("it ends");
    assert_eq!(outcome.expect("a result").text(), "one");
    assert_eq!(host.count(), 1);
}

/// A host that is written here, frame by frame.
struct Impostor {
    client: Client,
    calls: haft_nats::Subscription,
}

impl Impostor {
    async fn of(server: &Server) -> Impostor {
        let client = server.client().await;
        let calls = client
            .subscribe(format!("haft.v1.call.default.echo.{DIGEST}"))
            .await;
        assert!(client.flush("default").await);
        Impostor { client, calls }
    }

    async fn next(&mut self) -> Message {
        timeout(SOON, self.calls.next())
            .await
            .expect("a call")
            .expect("a message")
    }

    /// Sends frames as the host of a call.
    fn answer(&self, call: &Message, frames: &[Value]) {
        for (index, frame) in frames.iter().enumerate() {
            self.send(call, index, frame.to_string().into_bytes());
        }
    }

    fn send(&self, call: &Message, index: usize, bytes: Vec<u8>) {
        let key = call.headers.get("Haft-Key").expect("a key").to_owned();
        let headers = Headers::default()
            .with("Haft-Key", key)
            .with("Haft-Seq", index.to_string())
            .with("Haft-Ack", "0");
        let id = call.headers.get("Haft-Call").expect("an id");
        let events = format!("haft.v1.evt.default.{id}");
        self.client.publish(events, None, headers, bytes.into());
    }
}

fn result(text: &str) -> Value {
    let host = json!({"id": "x", "name": "impostor", "version": "1"});
    let content = [json!({"type": "text", "text": text})];
    json!({"kind": "result", "body": {"host": host, "content": content, "details": null}})
}

async fn answered(
    server: &Server,
    frames: Vec<Vec<u8>>,
) -> (Result<Outcome, haft_tool::Error>, Caller) {
    let mut host = Impostor::of(server).await;
    let fleet = server.fleet_with(|options| options.silence = Duration::from_secs(5));
    let caller = Caller::with_person();
    let answering = async {
        let call = host.next().await;
        for (index, frame) in frames.into_iter().enumerate() {
            host.send(&call, index, frame);
        }
        assert!(host.client.flush("default").await);
    };
    let (outcome, ()) = tokio::join!(caller.call(&fleet, "echo", "{}"), answering);
    (outcome, caller)
}

#[tokio::test]
async fn frames_that_cannot_be_read_are_passed_over() {
    let server = Server::start();
    let mut frames = payloads();
    // The message of an empty payload is still one of the link.
    frames.push(result("the end").to_string().into_bytes());
    let (outcome, caller) = answered(&server, frames).await;
    assert_eq!(outcome.expect("a result").text(), "the end");
    assert_eq!(caller.events.waiting(), 0);
}

#[tokio::test]
async fn a_host_cannot_open_questions_without_end() {
    let server = Server::start();
    let ask = |id: u64| {
        let prompt = json!({"kind": "editor", "title": "It stays open", "prefill": null});
        json!({"kind": "ask", "body": {"id": id, "prompt": prompt}})
            .to_string()
            .into_bytes()
    };
    let mut frames: Vec<Vec<u8>> = (0..200).map(ask).collect();
    frames.push(result("the end").to_string().into_bytes());
    let (outcome, caller) = answered(&server, frames).await;
    assert_eq!(outcome.expect("a result").text(), "the end");
    let asked = caller.person.asked.lock().len();
    assert!(asked <= haft_tool::MAX_QUESTIONS, "{asked}");
}

#[tokio::test]
async fn results_without_their_parts_are_lost() {
    let server = Server::start();
    let broken = [
        json!({"kind": "result"}),
        json!({"kind": "result", "body": {"content": []}}),
        json!({"kind": "error", "body": {"host": {}, "kind": "denied", "message": "x"}}),
    ];
    for frame in broken {
        let (outcome, _) = answered(&server, vec![frame.to_string().into_bytes()]).await;
        assert_eq!(outcome.expect_err("no result").kind(), ErrorKind::Lost);
    }
    let definitions = json!({"kind": "definitions", "body":
        {"host": {"id": "x", "name": "impostor", "version": "1"}, "tools": []}});
    let (outcome, _) = answered(&server, vec![definitions.to_string().into_bytes()]).await;
    let error = outcome.expect_err("no result");
    assert_eq!(
        error.message(),
        "host `impostor` answered a call with definitions"
    );
}

#[tokio::test]
async fn names_of_hosts_cannot_reorder_messages() {
    let server = Server::start();
    let host = json!({"id": "x", "name": format!("a\u{202e}b\u{1b}[31m{}", "x".repeat(9000)), "version": "1"});
    let frame = json!({"kind": "error", "body": {"host": host, "kind": "usage", "message": "no"}});
    let (outcome, _) = answered(&server, vec![frame.to_string().into_bytes()]).await;
    let error = outcome.expect_err("an error");
    assert!(!error.message().contains(['\u{202e}', '\u{1b}']), "{error}");
    assert!(error.message().len() < 200, "{error}");
}

#[tokio::test]
async fn the_order_of_messages_does_not_matter() {
    let server = Server::start();
    let mut host = Impostor::of(&server).await;
    let fleet = server.fleet();
    let caller = Caller::new();
    let update = |text: &str| {
        json!({"kind": "update", "body": {"content": [{"type": "text", "text": text}]}})
            .to_string()
            .into_bytes()
    };
    let answering = async {
        let call = host.next().await;
        // Twice, too early, again.
        host.send(&call, 0, update("one"));
        host.send(&call, 0, update("again"));
        host.send(&call, 2, result("the end").to_string().into_bytes());
        host.send(&call, 1, update("two"));
        host.answer(&call, &[json!(1), json!(2), result("the end")]);
        assert!(host.client.flush("default").await);
    };
    let (outcome, ()) = tokio::join!(caller.call(&fleet, "echo", "{}"), answering);
    assert_eq!(outcome.expect("a result").text(), "the end");
    assert_eq!(caller.events.waiting(), 2);
}
