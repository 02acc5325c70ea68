//! Logs of calls of hosts, as readers elsewhere get them.

use std::sync::mpsc;
use std::thread;

use haft_nats::{Client, FleetOptions, Headers, HistoryQuestion, HostLog};
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::hosts::Host;
use crate::server::{SOON, Server};

/// A question for that number of entries.
fn newest(limit: usize) -> HistoryQuestion {
    HistoryQuestion {
        limit,
        ..HistoryQuestion::default()
    }
}

/// Makes a log of that number of lines, of which each has its number.
fn fill(host: &Host, lines: usize, length: usize) {
    let line = |n: usize| json!({"line": n, "text": "x".repeat(length)});
    *host.log.lock() = (0..lines).map(line).collect();
}

fn numbers(log: &HostLog) -> Vec<u64> {
    let line = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    let lines = log.entries.iter().map(|entry| line(entry.line.get()));
    lines
        .map(|line| line["line"].as_u64().expect("a number"))
        .collect()
}

#[tokio::test]
async fn logs_come_in_pages_newest_first() {
    let server = Server::start();
    let (small, large) = (Host::new("small"), Host::new("large"));
    fill(&small, 3, 1);
    // More than one page by number, and pages that are full before.
    fill(&large, 2500, 2000);
    let _services = [
        small.serve(&server.client().await).await,
        large.serve(&server.client().await).await,
    ];
    let fleet = server.fleet();
    let found = fleet.history(&newest(0)).await.expect("it is allowed");
    assert!(found.silent.is_empty());
    let [of_large, of_small] = &found.logs[..] else {
        panic!("{:?}", found.logs.len());
    };
    assert_eq!(
        (&*of_large.host.name, &*of_small.host.name),
        ("large", "small")
    );
    assert_eq!(numbers(of_large), (0..2500).rev().collect::<Vec<u64>>());
    assert_eq!(numbers(of_small), [2, 1, 0]);
    assert_eq!((&of_large.problem, &of_small.problem), (&None, &None));
    let found = fleet.history(&newest(2)).await.expect("it is allowed");
    let all: Vec<Vec<u64>> = found.logs.iter().map(numbers).collect();
    assert_eq!(all, [vec![2499, 2498], vec![2, 1]]);
}

#[tokio::test]
async fn a_line_that_no_message_has_room_for_is_left_out() {
    let server = Server::start();
    let host = Host::new("one");
    *host.log.lock() = vec![
        json!({"line": 0}),
        json!({"line": 1, "text": "x".repeat(2 << 20)}),
        json!({"line": 2}),
    ];
    let _service = host.serve(&server.client().await).await;
    let found = server.fleet().history(&newest(0)).await;
    assert_eq!(numbers(&found.expect("it is allowed").logs[0]), [2, 0]);
}

#[tokio::test]
async fn a_host_that_hangs_is_named() {
    let server = Server::start();
    let (well, stuck) = (Host::new("well"), Host::new("stuck"));
    fill(&well, 1, 1);
    let _services = [
        well.serve(&server.client().await).await,
        stuck.serve(&server.client().await).await,
    ];
    // A thread, because a lock must not be held while others wait for something.
    let (release, released) = mpsc::channel::<()>();
    let (hold, is_held) = oneshot::channel();
    let log = stuck.log.clone();
    let holding = thread::spawn(move || {
        let _held = log.lock();
        hold.send(()).expect("the test waits");
        // An error is the end of the test.
        let _ = released.recv();
    });
    is_held.await.expect("it is held");
    let found = server.fleet().history(&newest(5)).await.expect("a server");
    drop(release);
    holding.join().expect("it ends");
    let names = |hosts: Vec<String>| hosts.join(" ");
    assert_eq!(
        names(found.logs.iter().map(|log| log.host.name.clone()).collect()),
        "well"
    );
    assert_eq!(
        names(found.silent.iter().map(|host| host.name.clone()).collect()),
        "stuck"
    );
}

#[tokio::test]
async fn no_host_is_an_empty_history() {
    let server = Server::start();
    let found = server.fleet().history(&newest(5)).await.expect("a server");
    assert!(found.logs.is_empty() && found.silent.is_empty());
}

#[tokio::test]
async fn what_is_added_comes_after_the_history_without_a_gap() {
    let server = Server::start();
    let host = Host::new("one");
    fill(&host, 2, 1);
    let _service = host.serve(&server.client().await).await;
    let fleet = server.fleet();
    let mut news = fleet.follow_history().await.expect("a server");
    let question = HistoryQuestion {
        follow: true,
        ..newest(1)
    };
    let found = fleet.history(&question).await.expect("it is allowed");
    assert_eq!(numbers(&found.logs[0]), [1]);
    fill(&host, 5, 1);
    let added = timeout(SOON, news.next()).await.expect("news");
    let added = added.expect("it is allowed");
    assert_eq!(added.host.name, "one");
    assert_eq!(
        added
            .entries
            .iter()
            .map(|entry| entry.n)
            .collect::<Vec<_>>(),
        [2, 3, 4]
    );
    // No more than a number at once.
    fill(&host, 3005, 1);
    let (mut seen, mut missed) = (Vec::new(), 0);
    while seen.last() != Some(&3004) {
        let added = timeout(SOON, news.next()).await.expect("news");
        let added = added.expect("it is allowed");
        missed += added.missed;
        seen.extend(added.entries.iter().map(|entry| entry.n));
    }
    assert_eq!((missed, seen.len()), (2000, 1000));
}

/// Readers of logs, other callers, and hosts.
const READERS: &str = r#"
authorization { users: [
  { user: reader, password: x, permissions: {
    publish: ["haft.v1.list.default", "haft.v1.log.default.ask.>"],
    subscribe: ["haft.v1.evt.default.>", "haft.v1.log.default.to.>", "haft.v1.log.default.news"] } }
  { user: caller, password: x, permissions: {
    publish: ["haft.v1.call.default.>", "haft.v1.ctl.default.>", "haft.v1.list.default", "haft.v1.host.default.>"],
    subscribe: ["haft.v1.evt.default.>", "haft.v1.news.default"] } }
  { user: host, password: x, permissions: {
    publish: ["haft.v1.evt.default.>", "haft.v1.news.default", "haft.v1.log.default.to.>", "haft.v1.log.default.news"],
    subscribe: ["haft.v1.call.default.>", "haft.v1.ctl.default.>", "haft.v1.list.default",
      "haft.v1.host.default.>", "haft.v1.log.default.ask.>", "$SRV.>"] } }
] }"#;

#[tokio::test]
async fn the_servers_permissions_decide_who_reads_logs() {
    let server = Server::with(READERS);
    let with = |user: &str| {
        let mut options = server.options();
        options.servers = vec![server.url_with("nats", &format!("{user}:x@"))];
        options
    };
    let host = Host::new("one");
    fill(&host, 2, 1);
    let client = Client::connect(with("host")).await.expect("it is accepted");
    let _service = host.serve(&client).await;
    let fleet = |user: &str| {
        let connect = with(user);
        server.fleet_with(move |options: &mut FleetOptions| options.connect = connect)
    };
    let found = fleet("reader").history(&newest(0)).await;
    assert_eq!(numbers(&found.expect("it is allowed").logs[0]), [1, 0]);
    let mut news = fleet("reader").follow_history().await.expect("a server");
    let question = HistoryQuestion {
        follow: true,
        ..newest(1)
    };
    fleet("reader")
        .history(&question)
        .await
        .expect("it is allowed");
    fill(&host, 3, 1);
    let added = timeout(SOON, news.next()).await.expect("news");
    assert_eq!(added.expect("it is allowed").entries.len(), 1);
    let refused = "the NATS server does not let this client read the logs of the tenant `default`";
    let error = fleet("caller")
        .history(&newest(0))
        .await
        .expect_err("it is refused");
    assert_eq!(error.to_string(), refused);
    let mut news = fleet("caller").follow_history().await.expect("a server");
    let error = timeout(SOON, news.next()).await.expect("news");
    assert_eq!(error.expect_err("it is refused").to_string(), refused);
    assert_eq!(host.problems.lock()[..], [""; 0]);
}

#[tokio::test]
async fn answers_go_to_readers_only() {
    let server = Server::start();
    let host = Host::new("one");
    fill(&host, 1, 1);
    let _service = host.serve(&server.client().await).await;
    let client = server.client().await;
    let ask = |reply: &str| {
        let question = json!({"limit": 1}).to_string();
        let subject = "haft.v1.log.default.ask.all";
        client.publish(subject, Some(reply), Headers::default(), question.into());
    };
    // A host may publish more than a reader; it must not do it for one.
    let others = [
        "haft.v1.evt.default.X",
        "haft.v1.log.other.to.X",
        "haft.v1.log.default.to.X.Y",
        "_INBOX.X",
    ];
    let mut silent = Vec::new();
    for subject in others {
        silent.push(client.subscribe(subject).await);
        ask(subject);
    }
    let mut answers = client.subscribe("haft.v1.log.default.to.X").await;
    ask("haft.v1.log.default.to.X");
    timeout(SOON, answers.next()).await.expect("an answer");
    assert!(silent.iter_mut().all(|silent| !silent.is_waiting()));
}
