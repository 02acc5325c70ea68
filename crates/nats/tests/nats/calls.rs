//! Parts of a call: result, error, updates, logs, questions, cancellation.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use haft_tool::{Answer, ErrorKind, Event, Prompt, Stopped, TraceContext};
use serde_json::json;
use tokio::time::timeout;

use crate::hosts::{Caller, Host, call, started};
use crate::server::{SOON, Server};

#[tokio::test]
async fn arguments_and_results_arrive_as_they_were_written() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let fleet = server.fleet();
    let arguments = r#"{"n": 1.0, "big": 123456789012345678901234567890, "ü": "\u0000"}"#;
    let outcome = call(&fleet, "echo", arguments).await.expect("a result");
    assert_eq!(outcome.text(), arguments);
    let rich = call(&fleet, "rich", "{}").await.expect("a result");
    assert_eq!(
        serde_json::to_string(&rich.content).expect("JSON"),
        r#"[{"type":"text","text":"über\n"},{"type":"image","data":"AAAA","mimeType":"image/png"}]"#
    );
    assert_eq!(rich.details.to_string(), r#"{"b":1.0,"a":[null]}"#);
    assert!(rich.is_error && rich.useless);
    assert_eq!(rich.display.as_deref(), Some("for people"));
    assert_eq!(rich.duration, Duration::from_nanos(1));
}

#[tokio::test]
async fn errors_have_their_kind_and_name_the_host() {
    let server = Server::start();
    let _service = Host::new("lab").serve(&server.client().await).await;
    let fleet = server.fleet();
    let error = call(&fleet, "fail", "{}").await.expect_err("it fails");
    assert_eq!(error.kind(), ErrorKind::Denied);
    assert_eq!(error.message(), "host `lab`: the policy refuses it");
    assert_eq!(error.hint(), Some("on that host: ask the owner"));
    let error = call(&fleet, "refuse", "{}").await.expect_err("it fails");
    assert_eq!(error.kind(), ErrorKind::Stopped(Stopped::Deadline));
    // The arguments need not be an object for this layer; the host decides.
    let outcome = call(&fleet, "echo", "[1]").await.expect("a result");
    assert_eq!(outcome.text(), "[1]");
}

#[tokio::test]
async fn updates_come_in_their_order() {
    let server = Server::start();
    let _service = Host::new("one").serve(&server.client().await).await;
    let mut caller = Caller::new();
    let outcome = caller
        .call(&server.fleet(), "updates", r#"{"n": 1000}"#)
        .await;
    assert_eq!(outcome.expect("a result").text(), "done");
    for index in 0..1000 {
        let event = poll_fn(|cx| caller.events.poll_recv(cx)).await;
        let Some(Event::Update(update)) = event else {
            panic!("{event:?}");
        };
        let expected = json!({"content": [{"type": "text", "text": index.to_string()}],
            "details": {"index": index}});
        assert_eq!(update.get(), expected.to_string());
    }
    assert_eq!(caller.events.waiting(), 0);
}

#[tokio::test]
async fn log_lines_are_those_of_the_called_tool() {
    let server = Server::start();
    let _service = Host::new("one").serve(&server.client().await).await;
    let caller = Caller::with_person();
    caller
        .call(&server.fleet(), "logs", "{}")
        .await
        .expect("a result");
    let lines = caller.person.lines.lock();
    let lines: Vec<String> = { lines.iter() }
        .map(|line| {
            let context = line.context.as_ref().expect("a context");
            format!("{:?} {} {} {context}", line.level, line.tool, line.message)
        })
        .collect();
    assert_eq!(
        lines,
        [
            r#"Debug logs Debug {"k":1}"#,
            r#"Info logs Info {"k":1}"#,
            r#"Warn logs Warn {"k":1}"#,
            r#"Error logs Error {"k":1}"#,
        ]
    );
}

#[tokio::test]
async fn questions_reach_the_person_and_are_withdrawn() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let caller = Caller::with_person();
    let outcome = caller
        .call(&server.fleet(), "ask", "{}")
        .await
        .expect("a result");
    let answers = [
        Answer::Yes,
        Answer::Text("Ada".to_owned()),
        Answer::Text("two".to_owned()),
    ];
    assert_eq!(outcome.text(), format!("{answers:?}"));
    timeout(SOON, caller.person.withdrawn.notified())
        .await
        .expect("it is withdrawn");
    let asked = caller.person.asked.lock();
    assert_eq!(asked.len(), 4);
    assert_eq!(
        asked[1],
        Prompt::Input {
            title: "Name?".to_owned(),
            placeholder: None
        }
    );
    let seen = host.last.lock().clone().expect("a call");
    assert!(seen.has_user);
}

#[tokio::test]
async fn without_a_person_questions_have_no_answer() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let outcome = call(&server.fleet(), "ask", "{}").await.expect("a result");
    assert_eq!(
        outcome.text(),
        "[Dismissed, Dismissed, Dismissed, Dismissed]"
    );
    let outcome = call(&server.fleet(), "forward", "{}")
        .await
        .expect("a result");
    assert_eq!(outcome.text(), "None None");
}

#[tokio::test]
async fn notifications_and_requests_of_mcp_servers_reach_the_interface() {
    let server = Server::start();
    let _service = Host::new("one").serve(&server.client().await).await;
    let fleet = server.fleet();
    let caller = Caller::with_person();
    caller.call(&fleet, "tell", "{}").await.expect("a result");
    let told = format!("{:?}", caller.person.told.lock());
    assert_eq!(told, "[Notify { message: \"almost\", level: Warning }]");
    let outcome = caller
        .call(&fleet, "forward", "{}")
        .await
        .expect("a result");
    let value = json!({"method": "roots/list", "params": {"x": 1}});
    // Of other methods the interface hears nothing.
    assert_eq!(outcome.text(), format!("{:?} None", Some(value)));
}

#[tokio::test]
async fn a_host_learns_the_caller_the_time_and_the_trace() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    let fleet = server.fleet_with(|options| options.caller = "desk\u{202e}top".to_owned());
    let mut caller = Caller::new();
    let parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    caller.ctx.span = TraceContext::parse(parent, None);
    let outcome = caller.call_with(&fleet, "echo", "{}", |call| {
        call.timeout = Some(Duration::from_millis(1500));
    });
    outcome.await.expect("a result");
    let seen = host.last.lock().clone().expect("a call");
    assert_eq!(seen.caller, "desk\\u{202e}top");
    assert_eq!(seen.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(seen.trace.as_deref(), Some(parent));
    assert!(!seen.has_user);
}

#[tokio::test]
async fn a_cancelled_call_ends_at_its_host_with_the_reason() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    for why in [Stopped::Cancelled, Stopped::Deadline, Stopped::HostShutdown] {
        let before = host.count();
        let caller = Caller::new();
        let cancellation = caller.ctx.cancellation().clone();
        let fleet = server.fleet();
        let calling = caller.call(&fleet, "hold", "{}");
        let cancelling = async {
            started(&host, before + 1).await;
            cancellation.request(why);
        };
        let (outcome, ()) = tokio::join!(calling, cancelling);
        assert_eq!(outcome.expect("a result").stopped, Some(why));
        assert_eq!(*host.stopped.borrow(), Some(why));
    }
}

#[tokio::test]
async fn a_call_that_does_not_end_is_left_behind_and_killed() {
    let server = Server::start();
    let host = Host::new("one");
    let _service = host.serve(&server.client().await).await;
    // Time enough for the host to listen, so that the second request, the kill, reaches it.
    let fleet = server.fleet_with(|options| options.grace = Duration::from_millis(300));
    let caller = Caller::new();
    let cancelling = async {
        started(&host, 1).await;
        caller.ctx.cancellation().cancel();
    };
    let (outcome, ()) = tokio::join!(caller.call(&fleet, "deaf", "{}"), cancelling);
    let outcome = outcome.expect("a result");
    assert_eq!(outcome.stopped, Some(Stopped::Cancelled));
    assert!(
        outcome.text().contains("it did not end by itself"),
        "{}",
        outcome.text()
    );
    let mut stopped = host.stopped.subscribe();
    let stopped = timeout(SOON, stopped.wait_for(Option::is_some)).await;
    stopped.expect("it is stopped").expect("the host is there");
}

#[tokio::test]
async fn results_and_arguments_have_any_size() {
    for limit in ["", "max_payload: 16KB"] {
        let server = Server::with(limit);
        let _service = Host::new("one").serve(&server.client().await).await;
        let fleet = server.fleet();
        let outcome = call(&fleet, "big", r#"{"n": 10000000}"#)
            .await
            .expect("a result");
        let text = outcome.text();
        assert_eq!(text.len(), 10_000_000);
        assert!(text.chars().all(|c| c == 'ä'));
        for length in [7000, 8000, 9000, 16_000, 255_000, 270_000, 3_000_000] {
            let arguments = json!({"text": "ö".repeat(length / 2)}).to_string();
            let outcome = call(&fleet, "echo", &arguments).await.expect("a result");
            assert!(outcome.text() == arguments, "{length}");
        }
    }
}

#[tokio::test]
async fn many_calls_run_at_the_same_time() {
    let server = Server::start();
    let hosts = [Host::new("one"), Host::new("two")];
    let mut services = Vec::new();
    for host in &hosts {
        let options = |options: &mut haft_nats::ServiceOptions| options.max_calls = 1000;
        services.push(host.serve_with(&server.client().await, options).await);
    }
    let fleet = Arc::new(server.fleet());
    let calls = (0..500).map(|index| {
        let fleet = fleet.clone();
        tokio::spawn(async move {
            let arguments = json!({"index": index}).to_string();
            let outcome = call(&fleet, "echo", &arguments).await.expect("a result");
            assert_eq!(outcome.text(), arguments);
        })
    });
    for call in calls.collect::<Vec<_>>() {
        call.await.expect("it is answered");
    }
    let counts = hosts.map(|host| host.count());
    assert_eq!(counts.iter().sum::<usize>(), 500);
    assert!(counts.iter().all(|count| *count > 100), "{counts:?}");
}
