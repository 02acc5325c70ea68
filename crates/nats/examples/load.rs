//! Load for hosts behind a NATS server, for the measurements in `benches/runs`. Each subject prints one
//! line of JSON, `watch` one for each call.
//!
//! ```text
//! load echo URL                             answers raw requests, in a queue group
//! load raw URL CALLS PARALLEL               raw requests of async-nats, the peer
//! load call URL TOOL ARGS CALLS PARALLEL    calls of a tool
//! load watch URL TOOL ARGS SECONDS PARALLEL calls one after another, with their times
//! load cancel URL TOOL CALLS                cancelled calls
//! load put URL TOOL CALLS PARALLEL          puts calls into the queue; `N` in ARGS is their number
//! load queued URL TOOL CALLS PARALLEL       queued calls, each with its result
//! load host URL NAME MILLISECONDS           a host whose tool `once` takes that time
//! load states URL                           the states of all queued calls
//! load replicas URL NUMBER                  keeps the queue on that number of servers
//! load limit URL NUMBER                     takes no more than that number of queued calls
//! load subjects URL NUMBER                  a client with that number of subscriptions
//! load slow URL MEGABYTES                   a client that does not read, and one that sends it that much
//! load relay LISTEN TARGET MILLISECONDS     passes connections on, each byte so much later
//! ```

#![allow(
    clippy::disallowed_macros,
    clippy::disallowed_methods,
    clippy::print_stderr,
    clippy::print_stdout,
    reason = "a program for measurements, with arguments of its own"
)]

use std::collections::BTreeMap;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_nats::jetstream;
use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::join_all;
use haft_nats::{
    Auth, Client, ConnectOptions, Fleet, FleetOptions, InboxPrefix, IncomingCall, OfferedTool,
    Provider, Queue, QueueCaller, QueueSettings, RemoteCall, Service, ServiceOptions, TlsFiles,
};
use haft_tool::{CallCtx, CallerScope, Cancellation, Outcome, Updates, queue};
use rustls::RootCertStore;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

type Failed = Box<dyn Error + Send + Sync>;

const TENANT: &str = "default";

/// Subject and group of raw requests.
const RAW: &str = "raw.echo";

#[tokio::main]
async fn main() -> Result<(), Failed> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["echo", url] => echo(url).await,
        ["raw", url, calls, parallel] => raw(url, calls.parse()?, parallel.parse()?).await,
        ["call", url, tool, arguments, calls, parallel] => {
            calls_of(url, tool, arguments, calls.parse()?, parallel.parse()?).await
        }
        ["watch", url, tool, arguments, seconds, parallel] => {
            watch(url, tool, arguments, seconds.parse()?, parallel.parse()?).await
        }
        ["cancel", url, tool, calls] => cancel(url, tool, calls.parse()?).await,
        ["put", url, tool, calls, parallel] => {
            put(url, tool, calls.parse()?, parallel.parse()?, false).await
        }
        ["queued", url, tool, calls, parallel] => {
            put(url, tool, calls.parse()?, parallel.parse()?, true).await
        }
        ["host", url, name, time] => host(url, name, time.parse()?).await,
        ["states", url] => states(url).await,
        ["replicas", url, number] => replicas(url, number.parse()?).await,
        ["limit", url, number] => limit(url, number.parse()?).await,
        ["subjects", url, number] => subjects(url, number.parse()?).await,
        ["slow", url, megabytes] => slow(url, megabytes.parse()?).await,
        ["relay", listen, target, delay] => {
            let delay = Duration::from_secs_f64(delay.parse::<f64>()? / 1000.0);
            relay(listen.parse()?, target.parse()?, delay).await
        }
        _ => Err("the arguments are at the beginning of `crates/nats/examples/load.rs`".into()),
    }
}

/// Tool with the hash of its definition, as a host says it to everyone.
struct Target {
    fleet: Arc<Fleet>,
    tool: String,
    digest: String,
}

fn connection(url: &str) -> Result<ConnectOptions, Failed> {
    Ok(ConnectOptions {
        servers: url.split(',').map(str::parse).collect::<Result<_, _>>()?,
        name: "load".to_owned(),
        auth: Auth::Address,
        tls: TlsFiles::default(),
        machine_roots: Arc::new(RootCertStore::empty),
    })
}

impl Target {
    async fn of(url: &str, tool: &str) -> Result<Target, Failed> {
        let fleet = Fleet::new(FleetOptions {
            connect: connection(url)?,
            tenant: TENANT.to_owned(),
            caller: "load".to_owned(),
            silence: Duration::from_secs(3),
            grace: Duration::from_secs(5),
        });
        let client = fleet.client().await?;
        let answer = client
            .library()
            .request("$SRV.INFO.haft-tools", Bytes::new());
        let info: Value = serde_json::from_slice(&answer.await?.payload)?;
        let endpoints = info["endpoints"].as_array().ok_or("it has no tools")?;
        let found = endpoints.iter().find(|one| one["metadata"]["tool"] == tool);
        let digest = found.and_then(|one| one["metadata"]["definition"].as_str());
        Ok(Target {
            tool: tool.to_owned(),
            digest: digest.ok_or("no host has the tool")?.to_owned(),
            fleet: Arc::new(fleet),
        })
    }

    /// Returns a call; `N` in the arguments is its number.
    fn call(&self, arguments: &str, number: usize) -> Result<RemoteCall<'_>, Failed> {
        let arguments = arguments.replace('N', &number.to_string());
        Ok(RemoteCall {
            tool: &self.tool,
            digest: &self.digest,
            arguments: RawValue::from_string(arguments)?,
            is_idempotent: true,
            timeout: None,
        })
    }

    async fn run(&self, arguments: &str, number: usize) -> Result<Outcome, Failed> {
        let call = self.call(arguments, number)?;
        Ok(self.fleet.call(call, &context()).await?)
    }
}

fn context() -> CallCtx {
    let updates = Updates::new(queue::unheard(), None);
    CallCtx::new(Cancellation::default(), updates)
}

/// Runs a job for each number below `calls`, so many at a time. Returns the times, and the number of jobs
/// that failed with one of the reasons.
async fn measure<F: Future<Output = Result<(), Failed>>>(
    calls: usize,
    parallel: usize,
    job: impl Fn(usize) -> F,
) -> Value {
    let next = AtomicUsize::new(0);
    let failures = parking_lot::Mutex::new(Vec::new());
    let started = Instant::now();
    let lanes = (0..parallel).map(|_| async {
        let mut times = Vec::new();
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= calls {
                return times;
            }
            let begun = Instant::now();
            match job(number).await {
                Ok(()) => times.push(begun.elapsed()),
                Err(why) => failures.lock().push(why.to_string()),
            }
        }
    });
    let mut times: Vec<Duration> = join_all(lanes).await.into_iter().flatten().collect();
    let took = started.elapsed().as_secs_f64();
    times.sort();
    let at = |share: f64| {
        let place = (times.len() as f64 * share) as usize;
        let time = times.get(place.min(times.len().saturating_sub(1)));
        time.map(|time| time.as_secs_f64() * 1000.0)
    };
    let failures = failures.into_inner();
    json!({
        "calls": times.len(), "parallel": parallel, "seconds": took,
        "per_second": times.len() as f64 / took,
        "p50_ms": at(0.5), "p99_ms": at(0.99), "max_ms": at(1.0),
        "failed": failures.len(), "why": failures.first(),
    })
}

async fn echo(url: &str) -> Result<(), Failed> {
    let client = Client::connect(connection(url)?).await?;
    let nats = client.library().clone();
    let mut requests = nats.queue_subscribe(RAW, RAW.to_owned()).await?;
    println!("{}", json!({"ready": true}));
    while let Some(request) = requests.next().await {
        if let Some(reply) = request.reply {
            nats.publish(reply, request.payload).await?;
        }
    }
    Ok(())
}

async fn raw(url: &str, calls: usize, parallel: usize) -> Result<(), Failed> {
    let client = Client::connect(connection(url)?).await?;
    let nats = client.library().clone();
    let payload = Bytes::from_static(br#"{"n": 1}"#);
    let one = |_| {
        let (nats, payload) = (nats.clone(), payload.clone());
        async move { Ok(nats.request(RAW, payload).await.map(drop)?) }
    };
    measure(calls.min(200), 1, one).await;
    println!("{}", measure(calls, parallel, one).await);
    Ok(())
}

async fn calls_of(
    url: &str,
    tool: &str,
    arguments: &str,
    calls: usize,
    parallel: usize,
) -> Result<(), Failed> {
    let target = Target::of(url, tool).await?;
    let bytes = AtomicUsize::new(0);
    let one = async |number| {
        let outcome = target.run(arguments, number).await?;
        bytes.fetch_max(outcome.text().len(), Ordering::Relaxed);
        if outcome.is_error {
            return Err(outcome.text().into());
        }
        Ok(())
    };
    // Loads the tool on each host.
    measure(parallel.min(calls), parallel, one).await;
    let mut measured = measure(calls, parallel, one).await;
    measured["bytes"] = bytes.into_inner().into();
    println!("{measured}");
    Ok(())
}

async fn watch(
    url: &str,
    tool: &str,
    arguments: &str,
    seconds: f64,
    parallel: usize,
) -> Result<(), Failed> {
    let target = Target::of(url, tool).await?;
    let started = Instant::now();
    let lanes = (0..parallel).map(|lane| {
        let target = &target;
        async move {
            let mut number = lane;
            while started.elapsed().as_secs_f64() < seconds {
                let since_1970 = haft_tool::since_1970().as_secs_f64();
                let begun = Instant::now();
                let ended = target.run(arguments, number).await;
                let ms = begun.elapsed().as_secs_f64() * 1000.0;
                let why = ended.err().map(|why| why.to_string());
                println!("{}", json!({"at": since_1970, "ms": ms, "why": why}));
                if why.is_some() {
                    // A refusal at once must not fill the output.
                    sleep(Duration::from_millis(20)).await;
                }
                number += parallel;
            }
        }
    });
    join_all(lanes).await;
    Ok(())
}

async fn cancel(url: &str, tool: &str, calls: usize) -> Result<(), Failed> {
    let target = Target::of(url, tool).await?;
    let mut times = Vec::new();
    for number in 0..calls {
        let ctx = context();
        let call = target.call("{}", number)?;
        let cancellation = ctx.cancellation().clone();
        let running = target.fleet.call(call, &ctx);
        let cancelling = async {
            // The host has begun it by then.
            sleep(Duration::from_millis(400)).await;
            cancellation.cancel();
            Instant::now()
        };
        let (ended, cancelled) = tokio::join!(
            async {
                let ended = running.await;
                (ended, Instant::now())
            },
            cancelling
        );
        let (outcome, at) = ended;
        outcome?;
        times.push((at - cancelled).as_secs_f64() * 1000.0);
    }
    times.sort_by(f64::total_cmp);
    let median = times.get(times.len() / 2);
    println!(
        "{}",
        json!({"calls": times.len(), "p50_ms": median, "max_ms": times.last()})
    );
    Ok(())
}

async fn opened(url: &str) -> Result<Queue, Failed> {
    let client = Client::connect(connection(url)?).await?;
    Ok(Queue::open(&client, TENANT, QueueSettings::default()).await?)
}

async fn put(
    url: &str,
    tool: &str,
    calls: usize,
    parallel: usize,
    waits: bool,
) -> Result<(), Failed> {
    let target = Target::of(url, tool).await?;
    let queue = opened(url).await?;
    let one = async |number| {
        let call = target.call(r#"{"n": N}"#, number)?;
        let scope = CallerScope::user();
        let caller = QueueCaller::new("load", &scope);
        let put = queue.put(&call, caller).await?;
        if waits {
            queue.wait(&put.id).await?;
        }
        Ok(())
    };
    println!("{}", measure(calls, parallel, one).await);
    Ok(())
}

/// A host with one tool, which returns its arguments.
struct LoadHost {
    time: Duration,
}

#[async_trait]
impl Provider for LoadHost {
    async fn tools(&self) -> Vec<OfferedTool> {
        vec![OfferedTool {
            name: "once".to_owned(),
            digest: "d1".to_owned(),
            definition: json!({"name": "once", "inputSchema": {"type": "object"}}),
            metadata: BTreeMap::new(),
        }]
    }

    async fn changed(&self) {
        std::future::pending().await
    }

    async fn call(&self, call: IncomingCall) -> Result<Outcome, haft_tool::Error> {
        sleep(self.time).await;
        Ok(Outcome::success(call.arguments.get(), self.time))
    }

    fn report(&self, problem: &str) {
        eprintln!("{problem}");
    }
}

async fn host(url: &str, name: &str, milliseconds: u64) -> Result<(), Failed> {
    let client = Client::connect(connection(url)?).await?;
    let queue = Queue::open(&client, TENANT, QueueSettings::default()).await?;
    let options = ServiceOptions {
        tenant: TENANT.to_owned(),
        name: name.to_owned(),
        version: "load".to_owned(),
        max_calls: 256,
        caller_silence: Duration::from_secs(10),
        inbox: InboxPrefix::default(),
        queue: Some((queue, 16)),
    };
    let time = Duration::from_millis(milliseconds);
    let _service = Service::start(&client, options, Arc::new(LoadHost { time })).await;
    println!("{}", json!({"ready": true}));
    std::future::pending().await
}

async fn states(url: &str) -> Result<(), Failed> {
    let mut counts = BTreeMap::<&str, usize>::new();
    let mut again = 0;
    for call in opened(url).await?.list().await? {
        *counts.entry(call.status.as_str()).or_default() += 1;
        again += usize::from(call.attempts > 1);
    }
    println!("{}", json!({"states": counts, "begun_again": again}));
    Ok(())
}

async fn replicas(url: &str, number: usize) -> Result<(), Failed> {
    opened(url).await?;
    let client = Client::connect(connection(url)?).await?;
    let context = jetstream::new(client.library().clone());
    for name in [
        "HAFT_CALLS_",
        "KV_HAFT_TASKS_",
        "KV_HAFT_PARTS_",
        "HAFT_QUOTAS_",
    ] {
        let stream = context.get_stream(format!("{name}{TENANT}")).await?;
        let mut config = stream.cached_info().config.clone();
        config.num_replicas = number;
        context.update_stream(config).await?;
    }
    println!("{}", json!({"replicas": number}));
    Ok(())
}

async fn limit(url: &str, number: i64) -> Result<(), Failed> {
    opened(url).await?;
    let client = Client::connect(connection(url)?).await?;
    let context = jetstream::new(client.library().clone());
    let stream = context.get_stream(format!("HAFT_CALLS_{TENANT}")).await?;
    let mut config = stream.cached_info().config.clone();
    config.max_messages = number;
    context.update_stream(config).await?;
    println!("{}", json!({"limit": number}));
    Ok(())
}

async fn subjects(url: &str, number: usize) -> Result<(), Failed> {
    let client = Client::connect(connection(url)?).await?;
    let nats = client.library().clone();
    let started = Instant::now();
    let mut kept = Vec::new();
    for at in 0..number {
        let subject = format!("haft.v1.call.load.tool_{at}.{at:064x}");
        kept.push(nats.queue_subscribe(subject, "haft".to_owned()).await?);
    }
    // An answer shows that the server has read them all.
    nats.flush().await?;
    let inbox = nats.new_inbox();
    let mut own = nats.subscribe(inbox.clone()).await?;
    nats.publish(inbox, Bytes::new()).await?;
    own.next().await;
    println!(
        "{}",
        json!({"subjects": kept.len(), "seconds": started.elapsed().as_secs_f64()})
    );
    let mut input = String::new();
    std::io::stdin().read_line(&mut input)?;
    Ok(())
}

async fn slow(url: &str, megabytes: usize) -> Result<(), Failed> {
    let address = url.trim_start_matches("nats://");
    // A client that never reads. The buffers of the system take some.
    let mut deaf = TcpStream::connect(address).await?;
    deaf.write_all(b"CONNECT {\"verbose\":false}\r\nSUB deaf 1\r\nPING\r\n")
        .await?;
    sleep(Duration::from_millis(200)).await;
    let client = Client::connect(connection(url)?).await?;
    let nats = client.library().clone();
    let payload = Bytes::from(vec![b'x'; 512 << 10]);
    let started = Instant::now();
    for _ in 0..2 * megabytes {
        nats.publish("deaf", payload.clone()).await?;
    }
    nats.flush().await?;
    let sent = started.elapsed().as_secs_f64();
    // The server closes its connection, at once or after its deadline for writing.
    let mut rest = vec![0; 1 << 20];
    let (mut received, mut is_closed) = (0, false);
    sleep(Duration::from_secs(12)).await;
    while let Ok(read) = tokio::time::timeout(Duration::from_secs(2), deaf.read(&mut rest)).await {
        match read {
            Ok(0) | Err(_) => {
                is_closed = true;
                break;
            }
            Ok(read) => received += read,
        }
    }
    println!(
        "{}",
        json!({"sent_mb": megabytes, "seconds": sent, "received": received, "closed": is_closed})
    );
    Ok(())
}

/// Passes connections on. Each byte arrives later by the delay, and none holds up the next, so that the
/// bandwidth stays.
async fn relay(listen: SocketAddr, target: SocketAddr, delay: Duration) -> Result<(), Failed> {
    let listener = TcpListener::bind(listen).await?;
    println!("{}", json!({"ready": true}));
    loop {
        let (inner, _) = listener.accept().await?;
        tokio::spawn(async move {
            let Ok(outer) = TcpStream::connect(target).await else {
                return;
            };
            // Otherwise small messages would wait for each other.
            let _ = (inner.set_nodelay(true), outer.set_nodelay(true));
            let (from_inner, to_inner) = inner.into_split();
            let (from_outer, to_outer) = outer.into_split();
            tokio::join!(
                pass(from_inner, to_outer, delay),
                pass(from_outer, to_inner, delay)
            );
        });
    }
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    delay: Duration,
) {
    // A bound would hold up bytes that are on the way.
    let (sender, mut queued) = mpsc::unbounded_channel::<(Instant, Bytes)>();
    let reading = async move {
        loop {
            let mut bytes = bytes::BytesMut::with_capacity(64 << 10);
            match from.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {
                    if sender
                        .send((Instant::now() + delay, bytes.freeze()))
                        .is_err()
                    {
                        return;
                    }
                }
            }
        }
    };
    let writing = async move {
        while let Some((due, bytes)) = queued.recv().await {
            sleep_until(due).await;
            if to.write_all(&bytes).await.is_err() {
                return;
            }
        }
        let _ = to.shutdown().await;
    };
    tokio::join!(reading, writing);
}
