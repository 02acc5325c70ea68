//! Hosts, callers and servers that go away.

use std::future::poll_fn;
use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use haft_nats::{Client, Fleet};
use haft_tool::{ErrorKind, Event, Outcome, Stopped, since_1970};
use serde_json::json;
use serde_json::value::to_raw_value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::freshness::headers_of;
use crate::hosts::{Caller, Host, call, started};
use crate::queue::serve_queue;
use crate::server::{SOON, Server, options};

/// Variables of the process of [`host_process`].
const URL: &str = "HAFT_TEST_NATS_URL";
const NAME: &str = "HAFT_TEST_NATS_NAME";
/// The tool that it offers, if it takes queued calls.
const QUEUED: &str = "HAFT_TEST_NATS_QUEUED";

/// A host in a process of its own.
pub struct HostProcess {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl HostProcess {
    /// Starts it and waits until it serves.
    pub fn start(server: &Server, name: &str) -> HostProcess {
        HostProcess::with(server, name, "")
    }

    /// Starts one that offers this tool and takes its queued calls.
    pub fn queued(server: &Server, name: &str, tool: &str) -> HostProcess {
        HostProcess::with(server, name, tool)
    }

    fn with(server: &Server, name: &str, tool: &str) -> HostProcess {
        let test = std::env::current_exe().expect("a program");
        let mut child = Command::new(test)
            .args([
                "--exact",
                "failures::host_process",
                "--ignored",
                "--nocapture",
            ])
            .env(URL, server.url().as_str())
            .env(NAME, name)
            .env(QUEUED, tool)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let output = BufReader::new(child.stdout.take().expect("it is a pipe"));
        let mut host = HostProcess { child, output };
        host.wait_for("serving");
        host
    }

    /// Waits until it prints this line.
    pub fn wait_for(&mut self, expected: &str) {
        let mut line = String::new();
        while !line.ends_with(&format!("{expected}\n")) {
            line.clear();
            let count = self.output.read_line(&mut line).expect("it prints");
            assert_ne!(count, 0, "it ended before it printed {expected}");
        }
    }

    /// Lets it stand still, with its connection.
    pub fn suspend(&self) {
        self.signal(rustix::process::Signal::STOP);
    }

    /// Lets it go on.
    pub fn resume(&self) {
        self.signal(rustix::process::Signal::CONT);
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.child);
        rustix::process::kill_process(id, signal).expect("it runs");
    }

    /// Lets it end when all calls that it has got have ended, and checks how many it has begun.
    pub fn end_after(mut self, calls: usize) {
        drop(self.child.stdin.take());
        self.wait_for(&format!("ended after {calls} calls"));
    }

    /// Kills it, and returns the time.
    pub fn kill(&mut self) -> Instant {
        self.child.kill().expect("it runs");
        let killed = Instant::now();
        self.child.wait().expect("it is our child");
        killed
    }
}

impl Drop for HostProcess {
    fn drop(&mut self) {
        // It may have been killed.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The process of a host. Not a test by itself.
#[tokio::test]
async fn a_request_reaches_the_host_that_it_names_or_is_lost() {
    let server = Server::start();
    let client = server.client().await;
    let (one, other) = (Host::new("one"), Host::new("other"));
    for host in [&one, &other] {
        host.is_shared.store(true, Ordering::SeqCst);
    }
    let first = one.serve(&client).await;
    let second = other.serve(&client).await;
    let fleet = server.fleet();
    let asked = |text: &str| to_raw_value(&json!(text)).expect("JSON");
    for service in [&first, &second] {
        let mut caller = Caller::new();
        let request = asked(&"long ".repeat(400_000));
        let host = &service.host().id;
        let answer = fleet.forward(host, request, &caller.ctx).await;
        let answer = answer.expect("an answer").details;
        assert_eq!(answer["by"], service.host().name);
        assert_eq!(answer["asked"].as_str().map(str::len), Some(2_000_000));
        assert!(matches!(caller.events.recv().await, Some(Event::Update(_))));
    }
    // A host that leaves still answers about its calls.
    second.take_no_more().await;
    let host = second.host().id.clone();
    let answer = fleet.forward(&host, asked("x"), &Caller::new().ctx).await;
    assert_eq!(answer.expect("an answer").details["by"], "other");
    let caller = Caller::new();
    let holding = fleet.forward(&host, asked("hold"), &caller.ctx);
    caller.ctx.cancellation().cancel();
    holding.await.expect("it ends");
    assert_eq!(*other.stopped.borrow(), Some(Stopped::Cancelled));
    drop(second);
    let fleet = server.fleet_with(|options| options.silence = Duration::from_secs(3));
    for host in [host.as_str(), "01ARZ3NDEKTSV4RRFFQ69G5FAV", "*", "a.b", ""] {
        let gone = fleet.forward(host, asked("x"), &Caller::new().ctx).await;
        let gone = gone.expect_err("no host has it");
        assert_eq!(gone.kind(), ErrorKind::Lost, "{host}");
        assert_eq!(gone.message(), "the host that had the call is gone");
    }
}

#[tokio::test]
#[ignore = "a part of other tests"]
async fn host_process() {
    let url = std::env::var(URL).expect("another test starts it");
    let name = std::env::var(NAME).expect("another test starts it");
    let client = Client::connect(options(url.parse().expect("an address"))).await;
    let (host, client) = (Host::new(&name), client.expect("a server"));
    let tool = std::env::var(QUEUED).expect("another test starts it");
    let service = if tool.is_empty() {
        host.serve(&client).await
    } else {
        host.offer(&[&tool]);
        serve_queue(&host, &client, 8).await
    };
    println!("serving");
    // Ends with the other process, or when that wants it.
    let ending =
        tokio::task::spawn_blocking(|| std::io::copy(&mut std::io::stdin(), &mut std::io::sink()));
    let printing = async {
        for count in 1.. {
            started(&host, count).await;
            println!("started");
        }
    };
    tokio::select! {
        _ = ending => {}
        () = printing => {}
    }
    service.take_no_more().await;
    service.calls_ended().await;
    println!("ended after {} calls", host.count());
}

#[tokio::test]
async fn without_a_host_a_call_is_unavailable_at_once() {
    let server = Server::start();
    // It would wait for a minute for a sign of life.
    let fleet = server.fleet();
    let error = call(&fleet, "echo", "{}")
        .await
        .expect_err("nobody is there");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.message(),
        "`echo` is not available: no host offers it now"
    );
    // A host with another definition of the tool is none for it.
    let _service = Host::new("one").serve(&server.client().await).await;
    let other = Caller::new();
    let other = other
        .call_with(&fleet, "echo", "{}", |call| call.digest = "d2")
        .await;
    assert_eq!(other.expect_err("another").kind(), ErrorKind::Unavailable);
    call(&fleet, "echo", "{}").await.expect("the host is there");
}

#[tokio::test]
async fn the_call_of_a_killed_host_is_lost() {
    let server = Server::start();
    let mut victim = HostProcess::start(&server, "victim");
    let fleet = server.fleet_with(|options| options.silence = Duration::from_secs(3));
    let calling = tokio::spawn(async move { call(&fleet, "hold", "{}").await });
    let killed = tokio::task::spawn_blocking(move || {
        victim.wait_for("started");
        victim.kill()
    });
    let killed = killed.await.expect("it was killed");
    let error = calling
        .await
        .expect("it ends")
        .expect_err("the host is gone");
    let noticed = killed.elapsed();
    assert_eq!(error.kind(), ErrorKind::Lost);
    let text = error.message();
    assert!(
        text.ends_with("was lost during the call of `hold`: no sign of life for 3 s"),
        "{text}"
    );
    // The time is 3 s; the rest is for a loaded machine.
    assert!(noticed < Duration::from_secs(10), "{noticed:?}");
}

/// Makes a call that may be made twice, and returns it as soon as the only host holds it.
async fn held_by(mut host: HostProcess, fleet: &Arc<Fleet>) -> (HostProcess, JoinHandle<Outcome>) {
    let fleet = fleet.clone();
    let calling = tokio::spawn(async move {
        let caller = Caller::new();
        let call = caller.call_with(&fleet, "hold", "{}", |call| call.is_idempotent = true);
        call.await.expect("another host")
    });
    let waiting = tokio::task::spawn_blocking(move || {
        host.wait_for("started");
        host
    });
    (waiting.await.expect("it has the call"), calling)
}

#[tokio::test]
async fn an_idempotent_call_of_a_killed_host_is_made_elsewhere() {
    let server = Server::start();
    let fleet = Arc::new(server.fleet_with(|options| options.silence = Duration::from_secs(3)));
    let (mut victim, calling) = held_by(HostProcess::start(&server, "victim"), &fleet).await;
    let spare = Host::new("spare");
    spare.held.add_permits(1);
    let _service = spare.serve(&server.client().await).await;
    victim.kill();
    assert_eq!(calling.await.expect("it ends").text(), "spare");
}

#[tokio::test]
async fn after_a_host_stands_still_its_calls_go_to_those_that_answer() {
    let server = Server::start();
    let fleet = Arc::new(server.fleet_with(|options| options.silence = Duration::from_secs(3)));
    let (victim, calling) = held_by(HostProcess::start(&server, "victim"), &fleet).await;
    victim.suspend();
    let (spare, other) = (Host::new("spare"), Host::new("other"));
    other.offer(&["rich"]);
    spare.held.add_permits(1);
    let client = server.client().await;
    let service = spare.serve(&client).await;
    let _other = other.serve(&client).await;
    assert_eq!(calling.await.expect("it ends").text(), "spare");
    // The server would give half of them to the host that stands still.
    for n in 0..20 {
        let outcome = call(&fleet, "echo", "{}").await;
        outcome.unwrap_or_else(|error| panic!("call {n}: {error}"));
    }
    let (begun, holding) = (spare.count(), fleet.clone());
    let held = tokio::spawn(async move { call(&holding, "hold", "{}").await });
    started(&spare, begun + 1).await;
    service.take_no_more().await;
    spare.held.add_permits(1);
    held.await
        .expect("it ends")
        .expect("a host that leaves ends its calls");
    let error = call(&fleet, "echo", "{}")
        .await
        .expect_err("no other host has it");
    assert_eq!(error.kind(), ErrorKind::Lost);
}

#[tokio::test]
async fn a_host_that_panics_loses_its_call_at_once() {
    let server = Server::start();
    let host = Host::new("one");
    host.offer(&["echo", "unknown"]);
    let _service = host.serve(&server.client().await).await;
    // The silence is a minute.
    let fleet = server.fleet();
    let error = call(&fleet, "unknown", "{}").await.expect_err("it panics");
    assert_eq!(error.kind(), ErrorKind::Lost);
    call(&fleet, "echo", "{}")
        .await
        .expect("the service goes on");
}

/// For callers whose last message may come before the host listens.
pub fn short_silence(options: &mut haft_nats::ServiceOptions) {
    options.caller_silence = Duration::from_secs(1);
}

#[tokio::test]
async fn the_call_of_a_caller_that_is_gone_is_cancelled() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve_with(&server.client().await, short_silence).await;
    let fleet = Arc::new(server.fleet());
    let theirs = fleet.clone();
    let calling = tokio::spawn(async move { call(&theirs, "hold", "{}").await });
    started(&host, 1).await;
    calling.abort();
    let mut stopped = host.stopped.subscribe();
    let why = timeout(SOON, stopped.wait_for(Option::is_some))
        .await
        .expect("it is cancelled");
    assert_eq!(*why.expect("the host is there"), Some(Stopped::Cancelled));
}

#[tokio::test]
async fn the_call_of_a_caller_that_says_nothing_is_cancelled() {
    let server = Server::start();
    let host = Host::new("one");
    let client = server.client().await;
    let _service = host.serve_with(&client, short_silence).await;
    // A request of a caller that was killed before it could say anything else.
    let headers = headers_of(since_1970());
    client.publish("haft.v1.call.default.hold.d1", None, headers, "{}".into());
    let mut stopped = host.stopped.subscribe();
    let why = timeout(SOON, stopped.wait_for(Option::is_some))
        .await
        .expect("it is cancelled");
    assert_eq!(*why.expect("the host is there"), Some(Stopped::Cancelled));
}

#[tokio::test]
async fn calls_survive_the_restart_of_the_server() {
    let mut server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let fleet = Arc::new(server.fleet());
    let (holding, calling) = (fleet.clone(), fleet.clone());
    let held = tokio::spawn(async move { call(&holding, "hold", "{}").await });
    started(&host, 1).await;
    let mut caller = Caller::new();
    let events = &mut caller.events;
    let ctx = caller.ctx.clone();
    let updating = tokio::spawn(async move {
        let caller = Caller {
            ctx,
            ..Caller::new()
        };
        caller.call(&calling, "updates", r#"{"n": 20000}"#).await
    });
    for index in 0..20_000 {
        let event = poll_fn(|cx| events.poll_recv(cx)).await;
        let Some(Event::Update(update)) = event else {
            panic!("{event:?}");
        };
        assert!(
            update
                .get()
                .ends_with(&format!(r#""details":{{"index":{index}}}}}"#))
        );
        if index == 50 {
            server.kill();
            server.restart();
        }
    }
    let outcome = updating.await.expect("it ends").expect("a result");
    assert_eq!(outcome.text(), "done");
    host.held.add_permits(1);
    let outcome = held.await.expect("it ends").expect("a result");
    assert_eq!(outcome.text(), "one");
    assert_eq!(host.count(), 2);
}

#[tokio::test]
async fn without_a_connection_a_call_is_unavailable() {
    let mut server = Server::start();
    let fleet = server.fleet();
    call(&fleet, "echo", "{}")
        .await
        .expect_err("nobody is there");
    server.kill();
    let error = fleet.list().await.expect_err("there is no server");
    assert!(
        error
            .to_string()
            .starts_with("no connection with the NATS server: "),
        "{error}"
    );
    let error = call(&fleet, "echo", "{}")
        .await
        .expect_err("there is no server");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let text = error.message();
    assert!(
        text.contains("no connection with the NATS server"),
        "{text}"
    );
    server.restart();
    let error = call(&fleet, "echo", "{}")
        .await
        .expect_err("nobody is there");
    assert_eq!(
        error.message(),
        "`echo` is not available: no host offers it now"
    );
}

#[tokio::test]
async fn a_host_with_too_many_calls_leaves_them_to_others() {
    let server = Server::start();
    let (busy, free) = (Host::new("busy"), Host::new("free"));
    let one = |options: &mut haft_nats::ServiceOptions| options.max_calls = 1;
    let _busy = busy.serve_with(&server.client().await, one).await;
    let fleet = Arc::new(server.fleet());
    let holding = fleet.clone();
    let held = tokio::spawn(async move { call(&holding, "hold", "{}").await });
    started(&busy, 1).await;
    let error = call(&fleet, "echo", "{}").await.expect_err("it is busy");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.message(),
        "`echo` is not available: host `busy` refused it: it runs 1 calls already"
    );
    let _free = free.serve(&server.client().await).await;
    for _ in 0..10 {
        call(&fleet, "echo", "{}").await.expect("the other host");
    }
    assert_eq!((busy.count(), free.count()), (1, 10));
    busy.held.add_permits(1);
    held.await.expect("it ends").expect("a result");
}

#[tokio::test]
async fn a_draining_host_ends_its_calls_and_takes_no_others() {
    let server = Server::start();
    let (leaving, staying) = (Host::new("leaving"), Host::new("staying"));
    let leaves = leaving.serve(&server.client().await).await;
    let fleet = Arc::new(server.fleet());
    let holding = fleet.clone();
    let held = tokio::spawn(async move { call(&holding, "hold", "{}").await });
    started(&leaving, 1).await;
    leaves.take_no_more().await;
    let error = call(&fleet, "echo", "{}")
        .await
        .expect_err("nobody takes calls");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    let _stays = staying.serve(&server.client().await).await;
    call(&fleet, "echo", "{}").await.expect("the other host");
    leaving.held.add_permits(1);
    assert_eq!(
        held.await.expect("it ends").expect("a result").text(),
        "leaving"
    );
    timeout(SOON, leaves.calls_ended())
        .await
        .expect("no call runs");
}
