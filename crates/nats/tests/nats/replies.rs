//! A caller that names other subjects for answers than its own.

use std::collections::BTreeMap;

use async_nats::jetstream;
use futures::FutureExt;
use haft_nats::{Client, Headers, InboxPrefix, ServiceOptions};
use tokio::time::timeout;

use crate::hosts::{DIGEST, Host};
use crate::queue::{put, queue_with, serve_queue_with};
use crate::server::{SOON, Server, options};

/// A host and a caller with the permissions of docs/nats.md, the host with those for queued calls and for readers
/// of logs, and a client that may do everything.
const PERMISSIONS: &str = r#"
jetstream { store_dir: "FOLDER/kept" }
a_host = { allow_responses: { max: 1, expires: "1h" },
  publish: ["haft.v1.evt.default.>", "haft.v1.ctl.default.>", "haft.v1.news.default", "$JS.API.>",
    "$KV.HAFT_TASKS_default.>", "$KV.HAFT_PARTS_default.>", "$JS.ACK.HAFT_CALLS_default.>",
    "haft.v1.log.default.to.>", "haft.v1.log.default.news"],
  subscribe: ["haft.v1.call.default.>", "haft.v1.ctl.default.>", "haft.v1.list.default",
    "haft.v1.host.default.>", "haft.v1.log.default.ask.>", "$SRV.>", "_INBOX.>"] }
a_caller = { publish: ["haft.v1.call.default.>", "haft.v1.ctl.default.>", "haft.v1.list.default",
    "haft.v1.host.default.>"],
  subscribe: ["haft.v1.evt.default.>", "haft.v1.news.default"] }
a_reader = { publish: ["haft.v1.log.default.ask.>", "haft.v1.list.default"],
  subscribe: ["haft.v1.log.default.to.>", "haft.v1.log.default.news", "haft.v1.evt.default.>"] }
authorization { users: [
  { user: host, password: x, permissions: $a_host }
  { user: caller, password: x, permissions: $a_caller }
  { user: reader, password: x, permissions: $a_reader }
  { user: all, password: x }
] }"#;

/// Subjects to which a host may publish, and its callers and readers may not, and others that are no inboxes.
const ELSEWHERE: [&str; 13] = [
    "$JS.API.STREAM.DELETE.KV_HAFT_TASKS_default",
    "$JS.API.STREAM.PURGE.HAFT_CALLS_default",
    "$JS.API.STREAM.DELETE.HAFT_QUOTAS_other",
    "$KV.HAFT_TASKS_default.01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "$SRV.PING",
    "haft.v1.news.default",
    "haft.v1.news.other",
    "haft.v1.evt.other.01ARZ3NDEKTSV4RRFFQ69G5FAV",
    "haft.v1.evt.default.a.b",
    "haft.v1.log.default.news",
    "haft.v1.q.default.echo.d1",
    "_INBOXES.a",
    "elsewhere",
];

async fn client(server: &Server, user: &str) -> Client {
    let url = server.url_with("nats", &format!("{user}:x@"));
    Client::connect(options(url)).await.expect("it is accepted")
}

/// Waits until a service has refused that number of requests.
async fn refused(service: &haft_nats::Service, count: usize) {
    let refused = async {
        while service.refused_replies() < count as u64 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, refused).await.expect("the host reads them");
}

/// Returns the numbers of messages of all streams.
async fn kept(client: &Client) -> BTreeMap<String, u64> {
    use futures::TryStreamExt;
    let context = jetstream::new(client.library().clone());
    let streams: Vec<_> = context.streams().try_collect().await.expect("a server");
    let counts = streams.into_iter();
    let counts = counts.map(|info| (info.config.name, info.state.messages));
    // Hosts give signs of life.
    counts.filter(|(name, _)| !name.contains("PARTS")).collect()
}

#[tokio::test]
async fn a_caller_cannot_make_a_host_publish_elsewhere() {
    let server = Server::with(PERMISSIONS);
    let all = client(&server, "all").await;
    let settings = haft_nats::QueueSettings::default();
    let calls = queue_with(&all, settings).await;
    // No host has its tool, so it stays in the stream.
    put(&calls, "waits", "{}").await;
    let host = Host::new("one");
    host.offer(&["echo"]);
    let connection = client(&server, "host").await;
    let service = serve_queue_with(&host, &connection, 1, settings).await;
    let before = kept(&all).await;
    let mut spies = Vec::new();
    for subject in ELSEWHERE {
        spies.push(all.subscribe(subject).await);
    }
    assert!(all.flush("default").await);
    let (caller, reader) = (
        client(&server, "caller").await,
        client(&server, "reader").await,
    );
    let call = format!("haft.v1.call.default.echo.{DIGEST}");
    let to_host = format!("haft.v1.call.default.echo.{DIGEST}.{}", service.host().id);
    let question = r#"{"limit": 5}"#;
    let requests = [
        (&caller, call.as_str(), "[]"),
        (&caller, &call, "{"),
        (&caller, &to_host, ""),
        (&caller, "haft.v1.list.default", ""),
        (&reader, "haft.v1.log.default.ask.all", question),
        (&all, "$SRV.PING", ""),
        (&all, "$SRV.INFO.haft-tools", ""),
        (&all, "$SRV.STATS", ""),
    ];
    for (client, subject, payload) in requests {
        for reply in ELSEWHERE {
            client.publish(subject, Some(reply), Headers::default(), payload.into());
        }
    }
    refused(&service, requests.len() * ELSEWHERE.len()).await;
    // What is answered comes after what is not.
    assert!(connection.flush("default").await && all.flush("default").await);
    for (subject, mut spy) in ELSEWHERE.iter().zip(spies) {
        let mut next = spy.next().now_or_never().flatten();
        // The requests themselves are on one of the subjects.
        while *subject == "$SRV.PING" && next.is_some() {
            next = spy.next().now_or_never().flatten();
        }
        assert!(next.is_none(), "{next:?}");
    }
    assert_eq!(kept(&all).await, before);
    assert_eq!(host.count(), 0);
}

#[tokio::test]
async fn the_permissions_of_the_documents_suffice_for_answers() {
    let server = Server::with(PERMISSIONS);
    let host = Host::new("one");
    host.offer(&["echo"]);
    let service = host.serve(&client(&server, "host").await).await;
    let all = client(&server, "all").await;
    let caller = client(&server, "caller").await;
    let mut events = caller.subscribe("haft.v1.evt.default.me").await;
    let call = format!("haft.v1.call.default.echo.{DIGEST}");
    // A caller has no inboxes, and any other client has.
    let own = Some("haft.v1.evt.default.me");
    caller.publish(call.as_str(), own, Headers::default(), "[1]".into());
    let answer = timeout(SOON, events.next()).await.expect("an answer");
    let answer = String::from_utf8(answer.expect("a message").payload.to_vec());
    assert!(answer.expect("a text").contains(r#""text":"[1]""#));
    for number in 0..3 {
        let payload = format!("[{number}]");
        let answer = all.library().request(call.clone(), payload.clone().into());
        let answer = timeout(SOON, answer).await.expect("an answer");
        let answer = String::from_utf8(answer.expect("an answer").payload.to_vec());
        assert!(
            answer
                .expect("a text")
                .contains(&format!(r#""text":"{payload}""#))
        );
    }
    for subject in ["$SRV.PING", "$SRV.INFO.haft-tools", "haft.v1.list.default"] {
        let answer = all.library().request(subject, "".into());
        let answer = timeout(SOON, answer).await.expect("an answer");
        assert!(answer.expect("an answer").status.is_none(), "{subject}");
    }
    assert_eq!((service.refused_replies(), host.count()), (0, 4));
    assert_eq!(*host.problems.lock(), [""; 0]);
}

#[tokio::test]
async fn inboxes_have_the_prefix_of_the_settings() {
    let server = Server::start();
    let host = Host::new("one");
    let set_inbox = |options: &mut ServiceOptions| {
        options.inbox = InboxPrefix::parse("_INBOX_acme").expect("it is one");
    };
    let service = host.serve_with(&server.client().await, set_inbox).await;
    let client = server.client().await;
    let mut inbox = client.subscribe("_INBOX_acme.a").await;
    let call = format!("haft.v1.call.default.echo.{DIGEST}");
    for reply in ["_INBOX.a", "_INBOX_acme.a"] {
        client.publish(call.as_str(), Some(reply), Headers::default(), "[1]".into());
    }
    let answer = timeout(SOON, inbox.next()).await.expect("an answer");
    answer.expect("a message");
    refused(&service, 1).await;
    assert_eq!(host.count(), 1);
}
