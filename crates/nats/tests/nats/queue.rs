//! Calls that must not be lost, with a server that keeps them.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::jetstream;
use futures::{FutureExt, StreamExt};
use haft_nats::{
    Asked, Client, Fleet, Following, Queue, QueueCaller, QueueEntry, QueueEvent, QueueSettings,
    QueueStatus, QueuedCall, Quota, RemoteCall, Service,
};
use haft_tool::{
    CallerScope, Error, ErrorKind, Notification, Outcome, Prompt, Stopped, Tier, ToolNames,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::failures::HostProcess;
use crate::hosts::{Caller, DIGEST, Host, started};
use crate::server::{SOON, Server, options};

/// A server that keeps calls in files, which a kill does not damage.
fn keeping() -> Server {
    Server::with("jetstream { store_dir: \"FOLDER/kept\" }")
}

/// Times for hosts that are killed. They are long enough for a loaded machine.
fn times() -> QueueSettings {
    QueueSettings {
        ack_wait: Duration::from_secs(4),
        silence: Duration::from_secs(3),
        patience: SOON,
        ..QueueSettings::default()
    }
}

async fn queue(client: &Client) -> Queue {
    queue_with(client, times()).await
}

pub async fn queue_with(client: &Client, settings: QueueSettings) -> Queue {
    let queue = Queue::open(client, "default", settings).await;
    queue.expect("the server keeps calls")
}

/// Serves as this host, which takes that number of queued calls.
pub async fn serve_queue(host: &Arc<Host>, client: &Client, calls: usize) -> Service {
    serve_queue_with(host, client, calls, times()).await
}

pub async fn serve_queue_with(
    host: &Arc<Host>,
    client: &Client,
    calls: usize,
    settings: QueueSettings,
) -> Service {
    let queue = queue_with(client, settings).await;
    let options = |options: &mut haft_nats::ServiceOptions| options.queue = Some((queue, calls));
    host.serve_with(client, options).await
}

pub async fn put(queue: &Queue, tool: &str, arguments: &str) -> String {
    let scope = CallerScope::user();
    put_by(queue, tool, arguments, QueueCaller::new("desk", &scope)).await
}

/// Queues a call whose questions wait for an answer.
async fn put_asking(queue: &Queue, tool: &str) -> String {
    let scope = CallerScope::user();
    let caller = QueueCaller {
        has_user: true,
        ..QueueCaller::new("desk", &scope)
    };
    put_by(queue, tool, r#"{"n": 3}"#, caller).await
}

async fn put_by(queue: &Queue, tool: &str, arguments: &str, caller: QueueCaller<'_>) -> String {
    let call = RemoteCall {
        tool,
        digest: DIGEST,
        arguments: RawValue::from_string(arguments.to_owned()).expect("JSON"),
        is_idempotent: false,
        timeout: None,
    };
    let put = queue.put(&call, caller).await;
    put.expect("the server keeps it").id
}

async fn next(following: &mut Following) -> QueueEvent {
    let next = timeout(SOON, following.next()).await;
    next.expect("it goes on").expect("the server answers")
}

/// Waits for the one question of a call, and returns its number and what is asked.
async fn question(following: &mut Following) -> (u64, Prompt) {
    loop {
        if let QueueEvent::State(call) = next(following).await
            && let [question] = &call.questions[..]
        {
            assert_eq!(call.status, QueueStatus::InputRequired);
            match &question.asked {
                Asked::Prompt { prompt, .. } => return (question.id, prompt.clone()),
                Asked::Request { method, .. } => panic!("{method}"),
            }
        }
    }
}

pub async fn wait(queue: &Queue, id: &str) -> Result<Outcome, Error> {
    timeout(SOON, queue.wait(id)).await.expect("it ends")
}

async fn read(queue: &Queue, id: &str) -> QueueEntry {
    queue.read(id).await.expect("it is known")
}

pub async fn show(queue: &Queue, id: &str) -> QueuedCall {
    read(queue, id).await.call
}

async fn cancel(queue: &Queue, id: &str) -> QueuedCall {
    let cancelled = queue.cancel(&read(queue, id).await).await;
    cancelled.expect("it is known").call
}

async fn answer(queue: &Queue, id: &str, question: u64, value: Value) -> Result<(), Error> {
    let answered = queue.answer(&read(queue, id).await, question, value).await;
    answered.map(drop)
}

/// Waits until a host runs the call.
async fn working(queue: &Queue, id: &str) -> QueuedCall {
    loop {
        let call = show(queue, id).await;
        if call.status != QueueStatus::Queued {
            return call;
        }
        tokio::task::yield_now().await;
    }
}

/// Waits until no call is kept for hosts.
async fn emptied(client: &Client) {
    let stream = async_nats::jetstream::new(client.library().clone());
    let empty = async {
        let stream = stream.get_stream("HAFT_CALLS_default").await;
        let mut stream = stream.expect("it is there");
        while stream.info().await.expect("it is there").state.messages > 0 {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, empty).await.expect("all calls are taken out");
}

#[tokio::test]
async fn a_queued_call_waits_for_a_host_and_its_result_for_callers() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let id = put(&calls, "echo", r#"{"n": 1.0}"#).await;
    let call = show(&calls, &id).await;
    assert_eq!(call.status, QueueStatus::Queued);
    assert_eq!((call.tool.as_str(), call.caller.as_str()), ("echo", "desk"));
    assert_eq!((call.host, call.attempts), (None, 0));
    let host = Host::new("lab");
    let _service = serve_queue(&host, &server.client().await, 4).await;
    let outcome = wait(&calls, &id).await.expect("a result");
    assert_eq!(outcome.text(), r#"{"n": 1.0}"#);
    // Any caller has it, also later.
    let others = queue(&server.client().await).await;
    let outcome = wait(&others, &id).await.expect("a result");
    assert_eq!(outcome.text(), r#"{"n": 1.0}"#);
    let call = show(&others, &id).await;
    assert_eq!(call.status, QueueStatus::Completed);
    assert_eq!(call.host.expect("a host").name, "lab");
    let other = put(&others, "rich", "{}").await;
    let rich = wait(&calls, &other).await.expect("a result");
    assert_eq!(rich.display.as_deref(), Some("for people"));
    let listed = calls.list().await.expect("a server");
    let listed: Vec<_> = { listed.iter() }
        .map(|call| (call.id.clone(), call.status, call.attempts))
        .collect();
    assert_eq!(
        listed,
        [
            (id, QueueStatus::Completed, 1),
            (other, QueueStatus::Failed, 1)
        ]
    );
    emptied(&client).await;
    assert_eq!(host.count(), 2);
    let seen = host.last.lock().clone().expect("a call");
    assert_eq!((seen.caller.as_str(), seen.has_user), ("desk", false));
}

#[tokio::test]
async fn errors_of_queued_calls_name_the_host() {
    let server = keeping();
    let client = server.client().await;
    let _service = serve_queue(&Host::new("lab"), &client, 4).await;
    let calls = queue(&client).await;
    let id = put(&calls, "fail", "{}").await;
    let error = wait(&calls, &id).await.expect_err("it fails");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(error.message(), "host `lab`: the policy refuses it");
    assert_eq!(error.hint(), Some("on that host: ask the owner"));
    assert_eq!(show(&calls, &id).await.status, QueueStatus::Failed);
    for unknown in ["01ARZ3NDEKTSV4RRFFQ69G5FAV", "a.b", "*", "", "\u{1b}[31m"] {
        let error = calls.read(unknown).await.expect_err("it is unknown");
        assert_eq!(error.kind(), ErrorKind::Usage);
        assert!(!error.message().contains('\u{1b}'));
    }
}

#[tokio::test]
async fn queued_arguments_and_results_have_any_size() {
    for limit in ["", "max_payload: 16KB"] {
        let server = Server::with(&format!(
            "{limit}\njetstream {{ store_dir: \"FOLDER/kept\" }}"
        ));
        let client = server.client().await;
        let _service = serve_queue(&Host::new("one"), &client, 4).await;
        let calls = queue(&client).await;
        let id = put(&calls, "big", r#"{"n": 2000000}"#).await;
        let outcome = wait(&calls, &id).await.expect("a result");
        assert_eq!(outcome.text().len(), 2_000_000);
        for length in [3000, 9000, 300_000, 1_500_000] {
            let arguments = json!({"text": "ö".repeat(length / 2)}).to_string();
            let id = put(&calls, "echo", &arguments).await;
            let outcome = wait(&calls, &id).await.expect("a result");
            assert!(outcome.text() == arguments, "{length}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_call_is_not_begun() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let id = put(&calls, "echo", "{}").await;
    let waiting = {
        let (calls, id) = (calls.clone(), id.clone());
        tokio::spawn(async move { wait(&calls, &id).await })
    };
    let others = queue(&server.client().await).await;
    let cancelled = cancel(&others, &id).await;
    assert_eq!(cancelled.status, QueueStatus::Cancelled);
    let outcome = waiting.await.expect("it ends").expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!(
        outcome.text(),
        "The call of `echo` was cancelled before a host began it."
    );
    emptied(&client).await;
    let host = Host::new("one");
    let _service = serve_queue(&host, &client, 4).await;
    let next = put(&calls, "echo", "[2]").await;
    wait(&calls, &next).await.expect("a result");
    assert_eq!(host.count(), 1);
}

/// The requests for records that a server gets.
struct Reads {
    client: Client,
    requests: async_nats::Subscriber,
    marks: async_nats::Subscriber,
}

impl Reads {
    async fn of(server: &Server) -> Reads {
        let client = server.client().await;
        let library = client.library().clone();
        let subscribe = async |subject: &'static str| {
            let subscribed = library.subscribe(subject).await;
            subscribed.expect("it is allowed")
        };
        let requests = subscribe("$JS.API.STREAM.MSG.GET.KV_HAFT_TASKS_default").await;
        let marks = subscribe("test.mark").await;
        let mut reads = Reads {
            client,
            requests,
            marks,
        };
        assert_eq!(reads.count().await, 0);
        reads
    }

    /// Returns the number of requests since it was asked for last.
    async fn count(&mut self) -> usize {
        // The server has answered the earlier ones, and sends in order.
        let published = self.client.library().publish("test.mark", "".into()).await;
        published.expect("a connection");
        timeout(SOON, self.marks.next())
            .await
            .expect("it comes back");
        let mut count = 0;
        while let Some(Some(_)) = self.requests.next().now_or_never() {
            count += 1;
        }
        count
    }
}

#[tokio::test]
async fn a_record_is_read_once_for_what_is_done_with_its_call() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let mut reads = Reads::of(&server).await;
    let id = put(&calls, "echo", "[1]").await;
    assert_eq!(reads.count().await, 0);
    let seen = read(&calls, &id).await;
    assert!(calls.outcome(&seen).await.is_none());
    let mut following = calls.follow(&id).await;
    following.read().await.expect("it is known");
    assert_eq!(reads.count().await, 2);
    // Following goes on with what was read.
    let QueueEvent::State(state) = next(&mut following).await else {
        panic!("it has no end");
    };
    assert_eq!(*state, seen.call);
    let cancelled = calls.cancel(&seen).await.expect("it is known");
    assert_eq!(cancelled.call.status, QueueStatus::Cancelled);
    assert_eq!(reads.count().await, 0);
    let ended = timeout(SOON, following.ended()).await.expect("it ends");
    let ended = ended.expect("it is known");
    assert_eq!(reads.count().await, 1);
    let outcome = calls.outcome(&ended).await.expect("an end");
    assert_eq!(
        outcome.expect("an outcome").stopped,
        Some(Stopped::Cancelled)
    );
    assert_eq!(reads.count().await, 0);
    // What was read before the end changes nothing: the record is read again then.
    let late = calls.cancel(&seen).await.expect("it is known");
    assert_eq!(
        (late.call.status, late.call.updated),
        (QueueStatus::Cancelled, ended.call.updated)
    );
    assert_eq!(reads.count().await, 1);
}

#[tokio::test]
async fn the_first_of_two_answers_to_what_was_read_counts() {
    let server = keeping();
    let host = Host::new("one");
    let _service = serve_queue(&host, &server.client().await, 1).await;
    let calls = queue(&server.client().await).await;
    let id = put_asking(&calls, "ask").await;
    let mut following = calls.follow(&id).await;
    let (first, _) = question(&mut following).await;
    let seen = read(&calls, &id).await;
    let answered = calls.answer(&seen, first, json!(true)).await;
    let answered = answered.expect("it is open").call;
    assert_eq!(
        (answered.status, answered.questions.len()),
        (QueueStatus::Working, 0)
    );
    // The record has changed since it was read.
    let again = calls.answer(&seen, first, json!(false)).await;
    let again = again.expect_err("it is answered");
    assert_eq!(
        again.message(),
        format!("the call has no open question {first}")
    );
    let (second, _) = question(&mut following).await;
    let named = answer(&calls, &id, second, json!("Ada")).await;
    named.expect("it is open");
    let (third, _) = question(&mut following).await;
    let chosen = answer(&calls, &id, third, json!("two")).await;
    chosen.expect("it is open");
    question(&mut following).await;
    cancel(&calls, &id).await;
    let outcome = wait(&calls, &id).await.expect("a result");
    assert_eq!(outcome.text(), r#"[Yes, Text("Ada"), Text("two")]"#);
}

#[tokio::test]
async fn a_running_call_is_cancelled_by_any_caller() {
    let server = keeping();
    let host = Host::new("one");
    let _service = serve_queue(&host, &server.client().await, 4).await;
    let calls = queue(&server.client().await).await;
    let id = put(&calls, "hold", "{}").await;
    assert_eq!(working(&calls, &id).await.status, QueueStatus::Working);
    started(&host, 1).await;
    let others = queue(&server.client().await).await;
    let asked = cancel(&others, &id).await;
    assert_eq!(
        (asked.status, asked.is_cancelling),
        (QueueStatus::Working, true)
    );
    let outcome = wait(&calls, &id).await.expect("an outcome");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert_eq!(*host.stopped.borrow(), Some(Stopped::Cancelled));
    let ended = cancel(&others, &id).await;
    assert_eq!(
        (ended.status, ended.is_cancelling),
        (QueueStatus::Cancelled, false)
    );
}

#[tokio::test]
async fn a_host_runs_no_more_queued_calls_than_it_says() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let host = Host::new("one");
    let _service = serve_queue(&host, &client, 1).await;
    let first = put(&calls, "hold", "{}").await;
    working(&calls, &first).await;
    let second = put(&calls, "echo", "{}").await;
    let third = put(&calls, "hold", "{}").await;
    // Another host has room.
    let other = Host::new("other");
    other.offer(&["echo"]);
    let _other = serve_queue(&other, &client, 1).await;
    wait(&calls, &second).await.expect("a result");
    assert_eq!((host.count(), other.count()), (1, 1));
    assert_eq!(show(&calls, &third).await.status, QueueStatus::Queued);
    host.held.add_permits(2);
    wait(&calls, &first).await.expect("a result");
    wait(&calls, &third).await.expect("a result");
}

#[tokio::test]
async fn a_leaving_host_ends_its_queued_calls_and_leaves_the_others() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let leaving = Host::new("leaving");
    let service = serve_queue(&leaving, &server.client().await, 4).await;
    let held = put(&calls, "hold", "{}").await;
    working(&calls, &held).await;
    service.take_no_more().await;
    let left = put(&calls, "echo", "{}").await;
    leaving.held.add_permits(1);
    assert_eq!(
        wait(&calls, &held).await.expect("a result").text(),
        "leaving"
    );
    timeout(SOON, service.calls_ended())
        .await
        .expect("no call runs");
    assert_eq!(show(&calls, &left).await.status, QueueStatus::Queued);
    let staying = Host::new("staying");
    let _staying = serve_queue(&staying, &client, 4).await;
    wait(&calls, &left).await.expect("a result");
    assert_eq!((leaving.count(), staying.count()), (1, 1));
}

#[tokio::test]
async fn a_queued_call_of_a_killed_host_is_lost_and_never_made_again() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let mut victim = HostProcess::queued(&server, "victim", "hold");
    let id = put(&calls, "hold", "{}").await;
    let killing = tokio::task::spawn_blocking(move || {
        victim.wait_for("started");
        victim.kill();
    });
    killing.await.expect("it was killed");
    let spare = Host::new("spare");
    let _service = serve_queue(&spare, &client, 4).await;
    let error = wait(&calls, &id).await.expect_err("the host is gone");
    assert_eq!(error.kind(), ErrorKind::Lost);
    assert_eq!(
        error.message(),
        "host `victim` was lost during the queued call of `hold`"
    );
    assert_eq!(show(&calls, &id).await.status, QueueStatus::Lost);
    emptied(&client).await;
    assert_eq!(spare.count(), 0);
}

#[tokio::test]
async fn the_loss_of_a_call_is_noted_without_a_waiting_caller() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let mut victim = HostProcess::queued(&server, "victim", "hold");
    let id = put(&calls, "hold", "{}").await;
    let killing = tokio::task::spawn_blocking(move || {
        victim.wait_for("started");
        victim.kill();
    });
    killing.await.expect("it was killed");
    let spare = Host::new("spare");
    let _service = serve_queue(&spare, &client, 4).await;
    // The server gives the call to the other host, which notes the loss and takes it out.
    emptied(&client).await;
    assert_eq!(show(&calls, &id).await.status, QueueStatus::Lost);
    assert_eq!(spare.count(), 0);
}

#[tokio::test]
async fn an_idempotent_queued_call_of_a_killed_host_is_made_again() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let mut victim = HostProcess::queued(&server, "victim", "hold_again");
    let id = put(&calls, "hold_again", "{}").await;
    let killing = tokio::task::spawn_blocking(move || {
        victim.wait_for("started");
        victim.kill();
    });
    killing.await.expect("it was killed");
    let spare = Host::new("spare");
    spare.offer(&["hold_again"]);
    spare.held.add_permits(1);
    let _service = serve_queue(&spare, &client, 4).await;
    let outcome = wait(&calls, &id).await.expect("the other host");
    assert_eq!(outcome.text(), "spare");
    let call = show(&calls, &id).await;
    assert_eq!((call.status, call.attempts), (QueueStatus::Completed, 2));
}

#[tokio::test]
async fn queued_calls_and_results_survive_a_killed_server() {
    let mut server = keeping();
    let calls = queue(&server.client().await).await;
    let waiting = put(&calls, "echo", "[1]").await;
    let host = Host::new("one");
    host.offer(&["hold", "rich"]);
    let client = server.client().await;
    let _service = serve_queue(&host, &client, 4).await;
    let ended = put(&calls, "rich", "{}").await;
    wait(&calls, &ended).await.expect("a result");
    let running = put(&calls, "hold", "{}").await;
    started(&host, 2).await;
    server.kill();
    // It ends while there is no server.
    host.held.add_permits(1);
    let put_meanwhile = {
        let calls = calls.clone();
        tokio::spawn(async move { put(&calls, "rich", "{}").await })
    };
    server.restart();
    let outcome = wait(&calls, &running).await.expect("a result");
    assert_eq!(outcome.text(), "one");
    wait(&calls, &ended).await.expect("it is kept");
    let put_meanwhile = put_meanwhile.await.expect("it is put");
    wait(&calls, &put_meanwhile).await.expect("a result");
    assert_eq!(show(&calls, &waiting).await.status, QueueStatus::Queued);
    host.offer(&["echo"]);
    assert_eq!(
        wait(&calls, &waiting).await.expect("a result").text(),
        "[1]"
    );
    emptied(&client).await;
    assert_eq!(host.count(), 4);
}

#[tokio::test]
async fn no_call_is_missing_and_none_is_made_twice_when_hosts_and_the_server_are_killed() {
    const CALLS: usize = 150;
    let mut server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let notes = server.folder().join("notes");
    std::fs::write(&notes, "").expect("it is written");
    let arguments = json!({"notes": notes}).to_string();
    let mut ids = Vec::new();
    for _ in 0..CALLS {
        ids.push(put(&calls, "note", &arguments).await);
    }
    for name in ["first", "second"] {
        let mut victim = HostProcess::queued(&server, name, "note");
        let killing = tokio::task::spawn_blocking(move || {
            for _ in 0..20 {
                victim.wait_for("started");
            }
            victim.kill();
        });
        killing.await.expect("it was killed");
    }
    let _last = HostProcess::queued(&server, "last", "note");
    server.kill();
    server.restart();
    let mut counts: HashMap<QueueStatus, usize> = HashMap::new();
    let mut lost = Vec::new();
    for id in &ids {
        match wait(&calls, id).await {
            Ok(outcome) => assert_eq!(outcome.text(), *id),
            Err(error) => {
                assert_eq!(error.kind(), ErrorKind::Lost, "{error}");
                lost.push(id.clone());
            }
        }
        *counts.entry(show(&calls, id).await.status).or_default() += 1;
    }
    emptied(&client).await;
    let begun = std::fs::read_to_string(&notes).expect("it is there");
    let mut begun: Vec<&str> = begun.lines().collect();
    begun.sort_unstable();
    let count = begun.len();
    begun.dedup();
    assert_eq!(begun.len(), count, "a call was begun twice");
    // A host can be killed between the two.
    let not_begun = ids.iter().filter(|id| !begun.contains(&id.as_str()));
    assert!(not_begun.clone().all(|id| lost.contains(id)));
    assert_eq!(counts.values().sum::<usize>(), CALLS);
    assert!(lost.len() <= 2 * 8, "{counts:?}");
}

#[tokio::test]
async fn what_no_haft_has_queued_costs_only_itself() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let host = Host::new("one");
    let stream = jetstream::new(client.library().clone());
    let send = async |headers: &[(&str, &str)], payload: &'static str| {
        let mut fields = async_nats::HeaderMap::new();
        for (name, value) in headers {
            fields.append(*name, *value);
        }
        let subject = format!("haft.v1.q.default.echo.{DIGEST}");
        let sent = stream
            .publish_with_headers(subject, fields, payload.into())
            .await;
        sent.expect("it is sent").await.expect("it is kept");
    };
    send(&[], "{}").await;
    send(&[("Haft-Call", "a.b")], "{}").await;
    send(
        &[("Haft-Call", "strange"), ("Haft-Parts", "99999999999")],
        "",
    )
    .await;
    send(&[("Haft-Call", "broken")], "{").await;
    let id = put(&calls, "echo", "[1]").await;
    let _service = serve_queue(&host, &client, 4).await;
    assert_eq!(wait(&calls, &id).await.expect("a result").text(), "[1]");
    let error = wait(&calls, "strange").await.expect_err("no arguments");
    assert_eq!(
        error.message(),
        "host `one`: the arguments cannot be read: a part is missing: it is too old"
    );
    let error = wait(&calls, "broken").await.expect_err("no JSON");
    assert_eq!(error.kind(), ErrorKind::BadArguments);
    // A call that has ended is not begun again, however often it is queued.
    send(&[("Haft-Call", &id)], "[2]").await;
    emptied(&client).await;
    assert_eq!(wait(&calls, &id).await.expect("a result").text(), "[1]");
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn questions_of_a_queued_call_wait_in_its_record_for_any_caller() {
    let server = keeping();
    let host = Host::new("one");
    let _service = serve_queue(&host, &server.client().await, 1).await;
    let calls = queue(&server.client().await).await;
    let id = put_asking(&calls, "ask").await;
    let others = queue(&server.client().await).await;
    let mut following = others.follow(&id).await;
    let (first, prompt) = question(&mut following).await;
    assert!(matches!(prompt, Prompt::Confirm { title, .. } if title == "Sure?"));
    // Meanwhile another call has its place.
    let other = put(&calls, "echo", "[1]").await;
    assert_eq!(wait(&calls, &other).await.expect("a result").text(), "[1]");
    for (question, value, said) in [
        (first, json!("yes"), "the value does not answer question"),
        (first + 7, json!(true), "the call has no open question"),
    ] {
        let refused = answer(&others, &id, question, value).await;
        let refused = refused.expect_err("it answers nothing");
        assert_eq!(refused.kind(), ErrorKind::Usage);
        assert!(refused.message().starts_with(said), "{refused}");
    }
    answer(&others, &id, first, json!(true))
        .await
        .expect("it is open");
    let again = answer(&others, &id, first, json!(false)).await;
    assert_eq!(again.expect_err("it is answered").kind(), ErrorKind::Usage);
    let (second, prompt) = question(&mut following).await;
    assert!(matches!(prompt, Prompt::Input { title, .. } if title == "Name?"));
    answer(&calls, &id, second, json!("Ada"))
        .await
        .expect("it is open");
    let (third, _) = question(&mut following).await;
    answer(&others, &id, third, Value::Null)
        .await
        .expect("it is open");
    question(&mut following).await;
    let call = cancel(&calls, &id).await;
    assert_eq!(
        (call.status, call.is_cancelling),
        (QueueStatus::InputRequired, true)
    );
    let outcome = wait(&calls, &id).await.expect("a result");
    assert_eq!(outcome.text(), r#"[Yes, Text("Ada"), Dismissed]"#);
    assert!(show(&calls, &id).await.questions.is_empty());
}

#[tokio::test]
async fn requests_to_the_program_behind_the_user_wait_as_questions_do() {
    let server = keeping();
    let _service = serve_queue(&Host::new("one"), &server.client().await, 1).await;
    let calls = queue(&server.client().await).await;
    let id = put_asking(&calls, "forward").await;
    let mut following = calls.follow(&id).await;
    let (number, asked) = loop {
        if let QueueEvent::State(call) = next(&mut following).await
            && let [question] = &call.questions[..]
        {
            break (question.id, question.asked.clone());
        }
    };
    let expected = Asked::Request {
        method: "roots/list",
        key: None,
        params: json!({"x": 1}),
    };
    assert_eq!(asked, expected);
    answer(&calls, &id, number, json!({"roots": []}))
        .await
        .expect("it is open");
    // Requests of other methods have no answer.
    let outcome = wait(&calls, &id).await.expect("a result");
    assert_eq!(outcome.text(), r#"Some(Object {"roots": Array []}) None"#);
}

#[tokio::test]
async fn questions_without_a_user_are_dismissed() {
    let server = keeping();
    let client = server.client().await;
    let _service = serve_queue(&Host::new("one"), &client, 1).await;
    let calls = queue(&client).await;
    let id = put(&calls, "ask", "{}").await;
    let outcome = wait(&calls, &id).await.expect("a result");
    assert_eq!(
        outcome.text(),
        "[Dismissed, Dismissed, Dismissed, Dismissed]"
    );
}

#[tokio::test]
async fn a_waiting_caller_sees_the_progress_and_later_ones_the_last_message() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let id = put_asking(&calls, "updates").await;
    let mut following = calls.follow(&id).await;
    assert!(matches!(next(&mut following).await, QueueEvent::State(_)));
    let told = put_asking(&calls, "tell").await;
    let mut telling = calls.follow(&told).await;
    assert!(matches!(next(&mut telling).await, QueueEvent::State(_)));
    let logged = put_asking(&calls, "logs").await;
    let mut logging = calls.follow(&logged).await;
    assert!(matches!(next(&mut logging).await, QueueEvent::State(_)));
    let host = Host::new("one");
    let _service = serve_queue(&host, &server.client().await, 4).await;
    let (mut updates, mut lines, mut notes) = (Vec::new(), Vec::new(), Vec::new());
    for following in [&mut following, &mut telling, &mut logging] {
        loop {
            match next(following).await {
                QueueEvent::State(_) => {}
                QueueEvent::Update(update) => {
                    let update: Value = serde_json::from_str(update.get()).expect("JSON");
                    updates.push(update["content"][0]["text"].clone());
                }
                QueueEvent::Log(line) => lines.push(line.message),
                QueueEvent::Tell(Notification::Notify { message, .. }) => notes.push(message),
                QueueEvent::Tell(other) => panic!("{other:?}"),
                QueueEvent::Ended(ended) => break drop(ended.expect("a result")),
            }
        }
    }
    assert_eq!(updates, ["0", "1", "2"]);
    assert_eq!(lines, ["Debug", "Info", "Warn", "Error"]);
    assert_eq!(notes, ["almost"]);
    // A caller that comes later reads the last message of a call that runs.
    let held = put_asking(&calls, "says_and_holds").await;
    let said = async {
        while show(&calls, &held).await.message.as_deref() != Some("holding") {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, said).await.expect("it is kept");
    host.held.add_permits(1);
    wait(&calls, &held).await.expect("a result");
}

#[tokio::test]
async fn a_call_has_its_client_and_the_tier_that_it_allows() {
    let server = keeping();
    let client = server.client().await;
    let host = Host::new("one");
    let _service = serve_queue(&host, &client, 1).await;
    let calls = queue(&client).await;
    let names = ToolNames::new(vec!["echo".to_owned()]).expect("a name");
    let scope = CallerScope::of_client("token-1", names, Tier::Write);
    let caller = QueueCaller {
        owner: Some("token-1"),
        ..QueueCaller::new("desk", &scope)
    };
    let id = put_by(&calls, "echo", "{}", caller).await;
    wait(&calls, &id).await.expect("a result");
    assert_eq!(show(&calls, &id).await.owner.as_deref(), Some("token-1"));
    let seen = host.last.lock().clone().expect("a call");
    assert_eq!(
        (seen.scope.max_tier(), seen.has_user),
        (Some(Tier::Write), false)
    );
    assert!(seen.scope.allows_name("echo") && !seen.scope.allows_name("other"));
    let id = put(&calls, "echo", "{}").await;
    wait(&calls, &id).await.expect("a result");
    assert_eq!(show(&calls, &id).await.owner, None);
    let seen = host.last.lock().clone().expect("a call");
    assert!(seen.scope.is_unlimited());
}

/// Publishes a message whose headers no client can read, and waits until the server has it.
async fn publish_broken(server: &Server, headers: &[u8]) {
    let address = ("127.0.0.1", server.url().port().expect("a port"));
    let stream = TcpStream::connect(address).await.expect("a server");
    let mut stream = BufReader::new(stream);
    let subject = format!("haft.v1.q.default.echo.{DIGEST}");
    let (head, all) = (headers.len(), headers.len() + 2);
    let mut bytes = b"CONNECT {\"verbose\":false,\"pedantic\":false,\"headers\":true}\r\n".to_vec();
    bytes.extend(format!("HPUB {subject} {head} {all}\r\n").bytes());
    bytes.extend_from_slice(headers);
    bytes.extend_from_slice(b"{}\r\nPING\r\n");
    stream.write_all(&bytes).await.expect("the server reads");
    let mut line = String::new();
    while line != "PONG\r\n" {
        line.clear();
        let read = stream
            .read_line(&mut line)
            .await
            .expect("the server answers");
        assert!(read > 0 && !line.starts_with("-ERR"), "{line}");
    }
}

#[tokio::test]
async fn messages_with_broken_headers_are_dropped_and_the_others_go_on() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue(&client).await;
    let before = put(&calls, "echo", "[1]").await;
    for headers in [
        b"NATS/1.0\r\nHaft-Call: \xff\xfe\r\n\r\n".as_slice(),
        b"NATS/1.0\r\nno colon\r\n\r\n",
    ] {
        publish_broken(&server, headers).await;
    }
    let after = put(&calls, "echo", "[2]").await;
    let stream = jetstream::new(client.library().clone());
    let mut stream = stream
        .get_stream("HAFT_CALLS_default")
        .await
        .expect("it is there");
    assert_eq!(stream.info().await.expect("it is there").state.messages, 4);
    let _service = serve_queue(&Host::new("one"), &server.client().await, 1).await;
    for (id, text) in [(before, "[1]"), (after, "[2]")] {
        assert_eq!(wait(&calls, &id).await.expect("a result").text(), text);
    }
    emptied(&client).await;
}

/// A host and a caller with the permissions of docs/nats.md.
const RESTRICTED: &str = r#"
jetstream { store_dir: "FOLDER/kept" }
a_host = { allow_responses: { max: 1, expires: "1h" },
  publish: ["haft.v1.evt.default.>", "haft.v1.ctl.default.>", "haft.v1.news.default", "$JS.API.>",
    "$KV.HAFT_TASKS_default.>", "$KV.HAFT_PARTS_default.>", "$JS.ACK.HAFT_CALLS_default.>"],
  subscribe: ["haft.v1.call.default.>", "haft.v1.ctl.default.>", "haft.v1.list.default",
    "haft.v1.host.default.>", "haft.v1.peer.default.>", "$SRV.>", "_INBOX.>"] }
a_caller = { publish: ["haft.v1.ctl.default.>", "haft.v1.evt.default.>", "haft.v1.q.default.>",
    "$JS.API.>", "$KV.HAFT_TASKS_default.>", "$KV.HAFT_PARTS_default.>"],
  subscribe: ["haft.v1.evt.default.>", "_INBOX.>"] }
a_sharer = { publish: ["haft.v1.peer.default.>", "haft.v1.ctl.default.>"], subscribe: ["haft.v1.evt.default.>"] }
authorization { users: [
  { user: host, password: x, permissions: $a_host }
  { user: sharer, password: x, permissions: $a_sharer }
  { user: caller, password: x, permissions: $a_caller }
] }"#;

#[tokio::test]
async fn the_permissions_of_the_documents_suffice_for_queued_calls() {
    let server = Server::with(RESTRICTED);
    let client = async |user: &str| {
        let url = server.url_with("nats", &format!("{user}:x@"));
        Client::connect(options(url)).await.expect("it is accepted")
    };
    let calls = queue(&client("caller").await).await;
    let waiting = put(&calls, "echo", "[1]").await;
    let host = Host::new("one");
    host.is_shared.store(true, Ordering::SeqCst);
    let service = serve_queue(&host, &client("host").await, 4).await;
    assert_eq!(
        wait(&calls, &waiting).await.expect("a result").text(),
        "[1]"
    );
    let long = put(&calls, "big", r#"{"n": 2000000}"#).await;
    assert_eq!(
        wait(&calls, &long).await.expect("a result").text().len(),
        2_000_000
    );
    let asking = put_asking(&calls, "ask").await;
    let mut following = calls.follow(&asking).await;
    for value in [json!(true), Value::Null, Value::Null] {
        let (number, _) = question(&mut following).await;
        let answered = answer(&calls, &asking, number, value).await;
        answered.expect("it is open");
    }
    question(&mut following).await;
    cancel(&calls, &asking).await;
    let outcome = wait(&calls, &asking).await.expect("it ends");
    assert_eq!(outcome.text(), "[Yes, Dismissed, Dismissed]");
    assert_eq!(calls.list().await.expect("a server").len(), 3);
    emptied(&client("host").await).await;
    // What a host needs besides to forward a request to another one.
    let options = server.fleet().options().clone();
    let fleet = Fleet::over(&client("sharer").await, options);
    let asked = RawValue::from_string("1".to_owned()).expect("JSON");
    let id = &service.host().id;
    let answer = fleet.forward(id, asked, &Caller::new().ctx).await;
    assert_eq!(answer.expect("an answer").details["by"], "one");
    assert_eq!(host.problems.lock().len(), 0);
}

/// A server that answers the first requests for records as if there were none: as the leader of a cluster does
/// while a record is on its way to the other servers.
struct HidingServer {
    server: Server,
    requests: async_nats::Subscriber,
    client: Client,
}

impl HidingServer {
    async fn start() -> HidingServer {
        let server = Server::with(
            "jetstream { store_dir: \"FOLDER/kept\", domain: hub }
             mappings = { \"$JS.API.STREAM.MSG.GET.KV_HAFT_TASKS_default\": \"test.records\" }",
        );
        let client = server.client().await;
        let requests = client.library().subscribe("test.records").await;
        HidingServer {
            requests: requests.expect("it is allowed"),
            server,
            client,
        }
    }

    /// Answers requests, the first ones as if there were no record.
    async fn answer(mut self, hidden: usize) {
        let mut count = 0;
        while let Some(request) = self.requests.next().await {
            let reply = request.reply.expect("a subject for the answer");
            count += 1;
            let nats = self.client.library();
            let sent = if count <= hidden {
                let error =
                    json!({"code": 404, "err_code": 10037, "description": "no message found"});
                let kind = "io.nats.jetstream.api.v1.stream_msg_get_response";
                let answer = json!({"type": kind, "error": error}).to_string();
                nats.publish(reply, answer.into()).await
            } else {
                // The name of the same request that is not mapped.
                let subject = "$JS.hub.API.STREAM.MSG.GET.KV_HAFT_TASKS_default";
                nats.publish_with_reply(subject, reply, request.payload)
                    .await
            };
            sent.expect("a connection");
        }
    }
}

#[tokio::test]
async fn a_call_whose_record_is_not_shown_yet_is_begun_when_it_is() {
    for hidden in [1, 2, 3, 8] {
        let server = HidingServer::start().await;
        let clients = [server.server.client().await, server.server.client().await];
        let calls = queue(&clients[0]).await;
        // It is written, and the host's own write is refused.
        let id = put(&calls, "echo", "[1]").await;
        let host = Host::new("one");
        let _service = serve_queue(&host, &clients[1], 1).await;
        let waiting = async {
            started(&host, 1).await;
            assert_eq!(wait(&calls, &id).await.expect("a result").text(), "[1]");
            emptied(&clients[0]).await;
            show(&calls, &id).await
        };
        let call = tokio::select! {
            call = timeout(SOON, waiting) => call.expect("it is begun"),
            () = server.answer(hidden) => panic!("the server goes on"),
        };
        assert_eq!((call.status, call.attempts), (QueueStatus::Completed, 1));
        assert_eq!(host.count(), 1);
    }
}

/// Takes the message of a call out of the stream.
async fn remove_message(client: &Client, number: u64) {
    let context = jetstream::new(client.library().clone());
    let stream = context.get_stream("HAFT_CALLS_default").await;
    let removed = stream.expect("it is there").delete_message(number).await;
    assert!(removed.expect("it is there"));
}

#[tokio::test]
async fn a_call_that_has_lost_its_message_is_ended() {
    let server = keeping();
    let client = server.client().await;
    let settings = QueueSettings {
        sweep: Duration::from_secs(1),
        ..times()
    };
    let calls = queue_with(&client, settings).await;
    let waiting = put(&calls, "echo", "[1]").await;
    let missing = put(&calls, "echo", "[2]").await;
    let mut victim = HostProcess::queued(&server, "victim", "hold_again");
    let begun = put(&calls, "hold_again", "{}").await;
    let killing = tokio::task::spawn_blocking(move || {
        victim.wait_for("started");
        victim.kill();
    });
    killing.await.expect("it was killed");
    for number in [2, 3] {
        remove_message(&client, number).await;
    }
    counted(&client, 3).await;
    // It has other tools, so only the search for such calls concerns these.
    let host = Host::new("one");
    host.offer(&["rich"]);
    let _service = serve_queue_with(&host, &server.client().await, 1, settings).await;
    let error = wait(&calls, &missing).await.expect_err("it is not begun");
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.message(),
        "the server has no message of the queued call of `echo` any more"
    );
    assert_eq!(error.hint(), Some("no host has begun it; queue it again"));
    let error = wait(&calls, &begun).await.expect_err("its host is gone");
    assert_eq!(error.kind(), ErrorKind::Lost);
    let states = calls.list().await.expect("a server");
    let states: Vec<_> = states.iter().map(|call| call.status).collect();
    let expected = [QueueStatus::Queued, QueueStatus::Failed, QueueStatus::Lost];
    assert_eq!(states, expected);
    // They do not count any more.
    counted(&client, 1).await;
    // The others go on.
    host.offer(&["echo", "hold_again"]);
    assert_eq!(
        wait(&calls, &waiting).await.expect("a result").text(),
        "[1]"
    );
    assert_eq!(host.count(), 1);
}

#[tokio::test]
async fn a_message_that_comes_again_after_its_call_was_ended_is_not_run() {
    let server = keeping();
    let client = server.client().await;
    let settings = QueueSettings {
        sweep: Duration::from_secs(1),
        ..times()
    };
    let calls = queue_with(&client, settings).await;
    let id = put(&calls, "echo", "[1]").await;
    let context = jetstream::new(client.library().clone());
    let stream = context.get_stream("HAFT_CALLS_default").await;
    let stream = stream.expect("it is there");
    let message = stream.get_raw_message(1).await.expect("it is there");
    remove_message(&client, 1).await;
    let host = Host::new("one");
    host.offer(&["rich"]);
    let _service = serve_queue_with(&host, &server.client().await, 1, settings).await;
    wait(&calls, &id).await.expect_err("it is ended");
    let mut headers = message.headers;
    headers.insert("Nats-Msg-Id", "another");
    let again = context.publish_with_headers(message.subject, headers, message.payload);
    again.await.expect("it is sent").await.expect("it is kept");
    host.offer(&["echo"]);
    emptied(&client).await;
    assert_eq!(host.count(), 0);
    assert_eq!(show(&calls, &id).await.status, QueueStatus::Failed);
}

/// Settings that give each client that number of calls.
fn quota(calls: u32) -> QueueSettings {
    QueueSettings {
        quota: Quota::Calls(calls),
        ..times()
    }
}

/// Queues a call of a client.
async fn put_of(queue: &Queue, owner: Option<&str>, name: &str) -> Result<String, Error> {
    let call = RemoteCall {
        tool: "echo",
        digest: DIGEST,
        arguments: RawValue::from_string("[1]".to_owned()).expect("JSON"),
        is_idempotent: false,
        timeout: None,
    };
    let scope = CallerScope::user();
    let caller = QueueCaller {
        owner,
        ..QueueCaller::new(name, &scope)
    };
    queue.put(&call, caller).await.map(|put| put.id)
}

/// Waits until that number of calls is counted.
async fn counted(client: &Client, count: u64) {
    let context = jetstream::new(client.library().clone());
    let counted = async {
        let stream = context.get_stream("HAFT_QUOTAS_default").await;
        let mut stream = stream.expect("it is there");
        while stream.info().await.expect("it is there").state.messages != count {
            tokio::task::yield_now().await;
        }
    };
    timeout(SOON, counted).await.expect("the calls are counted");
}

#[tokio::test]
async fn a_client_has_at_most_its_quota_of_calls_that_have_not_ended() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue_with(&client, quota(2)).await;
    // The quota is that of the tenant, wherever a call is queued.
    let others = queue(&server.client().await).await;
    let of = async |owner| put_of(&others, Some(owner), "desk").await;
    let first = of("ada").await.expect("there is room");
    put_of(&calls, Some("ada"), "lab")
        .await
        .expect("there is room");
    let error = of("ada").await.expect_err("there is no room");
    assert_eq!(error.kind(), ErrorKind::Limited);
    assert_eq!(
        error.message(),
        "this client has 2 queued calls that have not ended, which is as many as it may have"
    );
    assert_eq!(
        error.hint(),
        Some(
            "wait for one to end, or cancel one; `serve.nats.queue_per_client` of the hosts is the limit"
        )
    );
    // Others are not concerned, and command lines of several machines are several clients.
    of("eve").await.expect("there is room");
    for name in ["desk", "desk", "ada", &"a long name ".repeat(20)] {
        put_of(&calls, None, name).await.expect("there is room");
    }
    put_of(&calls, None, "desk")
        .await
        .expect_err("there is no room");
    // What is refused is not queued.
    assert_eq!(calls.list().await.expect("a server").len(), 7);
    cancel(&calls, &first).await;
    of("ada").await.expect("one has ended");
    of("ada").await.expect_err("there is no room");
    let _service = serve_queue_with(&Host::new("one"), &client, 4, quota(2)).await;
    counted(&client, 0).await;
    of("ada").await.expect("all have ended");
}

#[tokio::test]
async fn calls_that_are_queued_at_the_same_time_do_not_exceed_the_quota() {
    let server = keeping();
    let one = queue_with(&server.client().await, quota(10)).await;
    let other = queue_with(&server.client().await, quota(10)).await;
    let puts = (0..60).map(|number| {
        let queue = if number % 2 == 0 { &one } else { &other };
        put_of(queue, Some("ada"), "desk")
    });
    let puts = futures::future::join_all(puts).await;
    let refused: Vec<_> = puts.iter().filter_map(|put| put.as_ref().err()).collect();
    assert_eq!(refused.len(), 50);
    assert!(
        refused
            .iter()
            .all(|error| error.kind() == ErrorKind::Limited)
    );
    assert_eq!(one.list().await.expect("a server").len(), 10);
}

#[tokio::test]
async fn calls_that_killed_processes_have_not_counted_out_do_not_count() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue_with(&client, quota(3)).await;
    let ended = put_of(&calls, Some("ada"), "desk")
        .await
        .expect("there is room");
    cancel(&calls, &ended).await;
    // As if the process that cancelled it had been killed then; the second one is no haft's.
    let context = jetstream::new(client.library().clone());
    for text in [&ended, "a b"] {
        let subject = "haft.v1.q.default.of-ada";
        let counted = context.publish(subject, text.to_owned().into()).await;
        counted.expect("a connection").await.expect("there is room");
    }
    let waits = put_of(&calls, Some("ada"), "desk")
        .await
        .expect("there is room");
    // It takes the place of those.
    put_of(&calls, Some("ada"), "desk")
        .await
        .expect("two have ended");
    put_of(&calls, Some("ada"), "desk")
        .await
        .expect("two have ended");
    put_of(&calls, Some("ada"), "desk")
        .await
        .expect_err("there is no room");
    assert_eq!(show(&calls, &waits).await.status, QueueStatus::Queued);
    // A call whose record is not written yet counts.
    let eve = "haft.v1.q.default.of-eve";
    for _ in 0..3 {
        let begun = context
            .publish(eve, "01ARZ3NDEKTSV4RRFFQ69G5FAV".into())
            .await;
        begun.expect("a connection").await.expect("there is room");
    }
    put_of(&calls, Some("eve"), "desk")
        .await
        .expect_err("there is no room");
}

#[tokio::test]
async fn the_host_that_starts_last_sets_the_quota() {
    let server = keeping();
    let client = server.client().await;
    let calls = queue_with(&client, quota(1)).await;
    put_of(&calls, Some("ada"), "desk")
        .await
        .expect("there is room");
    queue_with(&client, quota(2)).await;
    // A caller takes what there is.
    queue(&client).await;
    put_of(&calls, Some("ada"), "desk")
        .await
        .expect("there is room now");
    let error = put_of(&calls, Some("ada"), "desk").await;
    let error = error.expect_err("there is no room");
    assert!(
        error
            .message()
            .starts_with("this client has 2 queued calls"),
        "{error}"
    );
}

#[tokio::test]
async fn a_server_that_keeps_nothing_has_no_queue() {
    let server = Server::start();
    let client = server.client().await;
    let Err(error) = Queue::open(&client, "acme", times()).await else {
        panic!("it keeps calls");
    };
    assert_eq!(error.kind(), ErrorKind::Unavailable);
    assert_eq!(
        error.message(),
        "the queue of the tenant `acme` cannot be used: the server has no JetStream"
    );
}
