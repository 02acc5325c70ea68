//! Queued calls with a cluster of three servers, each of which has all of them.

use std::time::Duration;

use async_nats::jetstream;
use futures::StreamExt;
use haft_nats::{Client, ConnectOptions, QueueSettings, QueueStatus};
use tokio::time::timeout;

use crate::hosts::{Host, started};
use crate::queue::{put, queue_with, serve_queue_with, show, wait};
use crate::server::{SOON, Server, options};

/// Number of the calls.
const CALLS: usize = 60;

/// Number of the calls that one of two hosts has begun when a server is killed.
const BEGUN: usize = 5;

const STREAMS: [&str; 4] = [
    "HAFT_CALLS_default",
    "HAFT_QUOTAS_default",
    "KV_HAFT_TASKS_default",
    "KV_HAFT_PARTS_default",
];

/// Times of a tenant whose hosts live.
fn settings() -> QueueSettings {
    QueueSettings {
        // What was sent by the killed server comes again.
        ack_wait: Duration::from_secs(3),
        silence: SOON,
        patience: SOON,
        ..QueueSettings::default()
    }
}

async fn client(servers: &[Server]) -> Client {
    let all = ConnectOptions {
        servers: servers.iter().map(Server::url).collect(),
        ..options(servers[0].url())
    };
    Client::connect(all).await.expect("a server")
}

/// Returns the configuration and the cluster of a stream.
async fn stream(client: &Client, name: &str) -> jetstream::stream::Info {
    let context = jetstream::new(client.library().clone());
    loop {
        // There is no leader for a while.
        if let Ok(stream) = context.get_stream(name).await {
            return stream.cached_info().clone();
        }
    }
}

/// Gives each server all messages of the queue.
async fn replicate(client: &Client) {
    let context = jetstream::new(client.library().clone());
    for name in STREAMS {
        let mut config = stream(client, name).await.config;
        config.num_replicas = 3;
        while context.update_stream(config.clone()).await.is_err() {}
    }
    for name in STREAMS {
        loop {
            let info = stream(client, name).await;
            let cluster = info.cluster.expect("a cluster");
            let are_current = cluster.replicas.iter().all(|replica| replica.current);
            if cluster.leader.is_some() && cluster.replicas.len() == 2 && are_current {
                break;
            }
        }
    }
}

#[tokio::test]
async fn no_queued_call_is_lost_or_made_twice_when_a_server_of_three_is_killed() {
    let mut servers = Server::cluster(3);
    let caller = client(&servers).await;
    let calls = queue_with(&caller, settings()).await;
    replicate(&caller).await;
    let hosts = [Host::new("one"), Host::new("other")];
    let mut services = Vec::new();
    for host in &hosts {
        let client = client(&servers).await;
        services.push(serve_queue_with(host, &client, 4, settings()).await);
    }
    let leader = stream(&caller, "KV_HAFT_TASKS_default").await.cluster;
    let leader = leader.and_then(|cluster| cluster.leader).expect("a leader");
    let number: usize = leader[1..].parse().expect("the name of a server");
    let put_some = async |numbers: std::ops::Range<usize>| {
        let all = futures::stream::iter(numbers).map(|number| {
            let arguments = format!("[{number}]");
            let calls = &calls;
            async move {
                let id = put(calls, "echo", &arguments).await;
                // Its record is there, though not all servers have it yet.
                show(calls, &id).await;
                (id, arguments)
            }
        });
        all.buffer_unordered(8).collect::<Vec<_>>().await
    };
    let mut all = put_some(0..CALLS / 2).await;
    tokio::select! {
        () = started(&hosts[0], BEGUN) => {}
        () = started(&hosts[1], BEGUN) => {}
    }
    servers[number].kill();
    let others = timeout(SOON, put_some(CALLS / 2..CALLS)).await;
    all.extend(others.expect("another server leads then"));
    for (id, arguments) in &all {
        assert_eq!(&wait(&calls, id).await.expect("a result").text(), arguments);
    }
    let mut expected: Vec<_> = all
        .into_iter()
        .map(|(id, _)| (id, QueueStatus::Completed, 1))
        .collect();
    // In the order of their ids.
    expected.sort_by(|a, b| a.0.cmp(&b.0));
    let listed = calls.list().await.expect("two servers answer");
    let listed: Vec<_> = { listed.into_iter() }
        .map(|call| (call.id, call.status, call.attempts))
        .collect();
    assert_eq!(listed, expected);
    assert_eq!(hosts[0].count() + hosts[1].count(), CALLS);
}
