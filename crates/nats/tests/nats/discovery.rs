//! Lists of hosts and tools, and the discovery of NATS services.

use haft_nats::{Client, Headers};
use haft_tool::ErrorKind;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::hosts::{Host, call};
use crate::server::{SOON, Server};

/// Sends a request and returns the first answer.
async fn ask(client: &Client, subject: &str) -> Value {
    let inbox = format!("_INBOX.{}", subject.replace(['$', '.'], "-"));
    let mut answers = client.subscribe(inbox.clone()).await;
    client.publish(subject, Some(&inbox), Headers::default(), "".into());
    let answer = timeout(SOON, answers.next())
        .await
        .expect("an answer")
        .expect("a message");
    serde_json::from_slice(&answer.payload).expect("JSON")
}

#[tokio::test]
async fn a_list_has_each_offer_once() {
    let server = Server::start();
    let fleet = server.fleet();
    assert_eq!(fleet.list().await.expect("a server").offers, []);
    let hosts = [Host::new("b"), Host::new("a"), Host::new("c")];
    hosts[2].offer(&["other", "echo"]);
    let mut services = Vec::new();
    for host in &hosts {
        services.push(host.serve(&server.client().await).await);
    }
    let listing = fleet.list().await.expect("a server");
    assert_eq!(listing.faults, [""; 0]);
    let names = |offer: &haft_nats::HostOffer| -> Vec<String> {
        offer.hosts.iter().map(|host| host.name.clone()).collect()
    };
    let [common, other] = &listing.offers[..] else {
        panic!("{listing:?}");
    };
    assert_eq!(
        (names(common), common.tools.len()),
        (vec!["a".to_owned(), "b".to_owned()], 13)
    );
    assert_eq!(names(other), ["c"]);
    assert_eq!(
        other.tools,
        [
            json!({"name": "other", "inputSchema": {"type": "object"}}),
            json!({"name": "echo", "inputSchema": {"type": "object"}}),
        ]
    );
    assert_eq!(other.hosts[0].version, "1.2.3");
}

#[tokio::test]
async fn changes_are_announced_and_count_at_once() {
    let server = Server::start();
    let fleet = server.fleet();
    let mut news = fleet.news().await.expect("a server");
    fleet
        .client()
        .await
        .expect("a server")
        .flush("default")
        .await;
    let host = Host::new("one");
    let service = host.serve(&server.client().await).await;
    let mut next = async || {
        let news = timeout(SOON, news.next())
            .await
            .expect("news")
            .expect("a message");
        serde_json::from_slice::<Value>(&news.payload).expect("JSON")
    };
    assert_eq!(next().await["tools"], 13);
    host.offer(&["hold"]);
    assert_eq!(next().await["tools"], 1);
    let error = call(&fleet, "echo", "{}").await.expect_err("it is gone");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    service.take_no_more().await;
    let last = next().await;
    assert_eq!(
        (&last["tools"], &last["host"]["name"]),
        (&json!(0), &json!("one"))
    );
}

#[tokio::test]
async fn long_definitions_are_sent_whole() {
    let server = Server::with("max_payload: 16KB");
    let host = Host::new("one");
    let names: Vec<String> = (0..2000)
        .map(|index| format!("tool_{index}_{}", "x".repeat(90)))
        .collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    host.offer(&names);
    let client = server.client().await;
    let _service = host.serve(&client).await;
    let listing = server.fleet().list().await.expect("a server");
    assert_eq!(listing.offers[0].tools.len(), 2000);
    // What does not fit into one answer is left out.
    let info = ask(&client, "$SRV.INFO.haft-tools").await;
    let endpoints = info["endpoints"].as_array().expect("a list").len();
    assert!((10..100).contains(&endpoints), "{endpoints}");
}

#[tokio::test]
async fn services_are_discovered_as_nats_has_it() {
    let server = Server::start();
    let client = server.client().await;
    let host = Host::new("one");
    host.offer(&["echo", "a.b"]);
    let service = host.serve(&client).await;
    let id = &service.host().id;
    let base = json!({"name": "haft-tools", "id": id, "version": "1.2.3",
        "metadata": {"host": "one", "tenant": "default"}});
    let with = |more: Value| {
        let mut all = base.clone();
        let fields = all.as_object_mut().expect("an object");
        fields.extend(more.as_object().expect("an object").clone());
        all
    };
    for subject in [
        "$SRV.PING",
        "$SRV.PING.haft-tools",
        &format!("$SRV.PING.haft-tools.{id}"),
    ] {
        let ping = ask(&client, subject).await;
        assert_eq!(
            ping,
            with(json!({"type": "io.nats.micro.v1.ping_response"}))
        );
    }
    let endpoint = |name: &str, subject: &str, tool: &str| {
        json!({"name": name, "subject": subject, "queue_group": "haft",
            "metadata": {"definition": "d1", "tier": "exec", "tool": tool}})
    };
    let info = ask(&client, "$SRV.INFO.haft-tools").await;
    assert_eq!(
        info,
        with(json!({
            "type": "io.nats.micro.v1.info_response",
            "description": "Tools of a haft host",
            "endpoints": [
                endpoint("echo", "haft.v1.call.default.echo.d1", "echo"),
                endpoint("a_b", "haft.v1.call.default.a%2Eb.d1", "a.b"),
            ],
        }))
    );
    call(&server.fleet(), "echo", "{}").await.expect("a result");
    let stats = ask(&client, "$SRV.STATS").await;
    assert_eq!(stats["type"], "io.nats.micro.v1.stats_response");
    assert_eq!(stats["endpoints"][0]["num_requests"], 1);
    assert_eq!(stats["endpoints"][0]["num_errors"], 0);
    assert_eq!(stats["endpoints"][1]["num_requests"], 0);
    assert!(stats["endpoints"][0]["processing_time"].as_u64() > Some(0));
}

#[tokio::test]
async fn a_client_that_knows_nothing_of_haft_gets_the_result() {
    let server = Server::start();
    let client = server.client().await;
    let _service = Host::new("one").serve(&client).await;
    let mut answers = client.subscribe("_INBOX.x").await;
    let mut request = async |tool: &str, arguments: &'static str| {
        let subject = format!("haft.v1.call.default.{tool}.d1");
        client.publish(
            subject,
            Some("_INBOX.x"),
            Headers::default(),
            arguments.into(),
        );
        timeout(SOON, answers.next())
            .await
            .expect("an answer")
            .expect("a message")
    };
    let answer = request("echo", r#"{"a": 1}"#).await;
    assert_eq!(
        std::str::from_utf8(&answer.payload).expect("text"),
        r#"{"content":[{"type":"text","text":"{\"a\": 1}"}],"details":{},"isError":false}"#
    );
    let refused = request("fail", "").await;
    assert_eq!(refused.headers.get("Nats-Service-Error-Code"), Some("400"));
    assert_eq!(
        refused.headers.get("Nats-Service-Error"),
        Some("the policy refuses it")
    );
    let invalid = request("echo", "{").await;
    assert_eq!(invalid.headers.get("Nats-Service-Error-Code"), Some("400"));
    let long = request("big", r#"{"n": 2000000}"#).await;
    assert_eq!(long.headers.get("Nats-Service-Error-Code"), Some("413"));
}
