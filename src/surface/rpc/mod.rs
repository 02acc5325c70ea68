//! JSON-RPC 2.0 over standard input and output, for hosts in other languages and for tests.
//!
//! One loop reads the lines in order and starts their requests. Slow work runs concurrently, so
//! that a long call never delays a list. One thread reads and one writes: a peer that stops reading
//! blocks neither the calls nor their cancellation. `docs/rpc.md` is the specification.

mod message;
mod payload;
mod rpc_error;

mod approval;
mod attached;
mod calls;
mod initialize;
mod load_response;
mod notifications;
mod outgoing;
mod program;
mod render;
mod service;
mod ui;

use std::fs::File;
use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::surface::json_rpc::{self, Message, Messages};
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::stdio::input::{Input, Line, MAX_LINE_BYTES};
use crate::surface::stdio::writer::Writer;
pub(crate) use attached::Descriptor;
use haft_config::Flags;
use message::Response;
use rpc_error::RpcError;
use service::{Service, Work};

/// Time for running calls to finish after the end of our input, while the peer still reads.
const FINISHING: Duration = Duration::from_secs(5);
// A peer that requested the end waits at most two seconds for it. The following times together are
// shorter.
/// Time for requests to be answered after the end was requested.
const ANSWERING: Duration = Duration::from_millis(1000);
/// Time for tools that handled the start of the session to handle its end.
const FAREWELL: Duration = Duration::from_millis(250);
/// Time for the host to stop the rest.
const STOPPING: Duration = Duration::from_millis(300);
/// Time to answer requests that ended together with the host.
const LATE: Duration = Duration::from_millis(100);
/// Time for the peer to read the last lines.
const WRITING: Duration = Duration::from_millis(200);

/// Serves the peer and returns the exit code. Ends when the peer has closed our input and all its
/// requests are answered, requests `shutdown` or stops reading, or on a signal. `watches`: changed
/// files are reloaded, and the peer is notified.
pub(crate) async fn serve(flags: Flags, watches: bool, out: File) -> io::Result<u8> {
    let mut lines = Input::open(stdin::claim()?)?;
    let mut signals = Signals::take()?;
    let writer = Writer::start(out)?;
    let mut service = Service::new(flags, watches, writer.clone());
    let mut tasks = JoinSet::new();
    let mut finishing = None;
    while !service.is_ending() && (finishing.is_none() || !tasks.is_empty()) {
        let time_is_up = async {
            match finishing {
                Some(until) => tokio::time::sleep_until(until).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            line = lines.next(), if finishing.is_none() => match line {
                Some(line) => take(line, &mut service, &mut tasks, &writer),
                // The peer sends no more requests, but may still read responses.
                None => {
                    service.no_more_replies();
                    finishing = Some(Instant::now() + FINISHING);
                }
            },
            Some(_) = tasks.join_next() => {}
            () = time_is_up => break,
            () = writer.closed() => break,
            () = signals.next() => break,
        }
    }
    tokio::select! {
        () = wind_down(service, tasks, &writer) => Ok(0),
        () = signals.next() => Ok(130),
    }
}

/// Starts the requests of one line.
fn take(line: Line, service: &mut Service, tasks: &mut JoinSet<()>, writer: &Writer) {
    let refuse = |error| writer.send(&Response::new(None, Err(error)));
    let text = match line {
        Line::Text(text) => text,
        Line::NotUtf8 => return refuse(RpcError::parse("the message is not UTF-8")),
        Line::TooLong { head } => {
            let why = format!(
                "the message is longer than {} MB and was skipped",
                MAX_LINE_BYTES >> 20
            );
            service.refuse_reply(&head, &why);
            return refuse(RpcError::invalid_request(why));
        }
    };
    match json_rpc::split(&text) {
        Ok(Messages::Blank) => {}
        Ok(Messages::Single(text)) => match begin(text, service) {
            Begun::Silent => {}
            Begun::Answered(response) => writer.send(&response),
            Begun::Running(running) => {
                let writer = writer.clone();
                tasks.spawn(async move {
                    if let Some(response) = running.finish().await {
                        writer.send(&response);
                    }
                });
            }
        },
        Ok(Messages::Batch(items)) => {
            let begun = items.into_iter().map(|item| begin(item.get(), service));
            let begun: Vec<_> = begun.collect();
            tasks.spawn(answer_batch(begun, writer.clone()));
        }
        Err(fault) => writer.send(&Response::to_fault(fault)),
    }
}

/// A started request.
enum Begun {
    /// No response is sent.
    Silent,
    Answered(Response),
    Running(Running),
}

struct Running {
    id: Option<json_rpc::Id>,
    work: service::Later,
}

impl Running {
    /// Returns the response; `None` for a notification.
    async fn finish(self) -> Option<Response> {
        let answer = service::guarded(self.work).await;
        self.id.map(|id| Response::new(Some(id), answer))
    }
}

fn begin(text: &str, service: &mut Service) -> Begun {
    let request = match json_rpc::parse(text) {
        Ok(Message::Request(request)) => request,
        Ok(Message::Reply(reply)) => {
            service.take_reply(reply);
            return Begun::Silent;
        }
        Err(fault) => {
            service.refuse_reply(text, &fault.text);
            return Begun::Answered(Response::to_fault(fault));
        }
    };
    let id = request.id.clone();
    match (service.begin(request), id) {
        (Work::Later(work), id) => Begun::Running(Running { id, work }),
        (Work::Done(answer), Some(id)) => Begun::Answered(Response::new(Some(id), answer)),
        // The response to `shutdown` is sent at the end of the program.
        (Work::Done(_) | Work::AtTheEnd, _) => Begun::Silent,
    }
}

/// Answers a batch with one array when its last request is done. Its requests run concurrently.
async fn answer_batch(begun: Vec<Begun>, writer: Writer) {
    let responses = futures::future::join_all(begun.into_iter().map(|begun| async {
        match begun {
            Begun::Silent => None,
            Begun::Answered(response) => Some(response),
            Begun::Running(running) => running.finish().await,
        }
    }));
    let responses: Vec<_> = responses.await.into_iter().flatten().collect();
    if !responses.is_empty() {
        writer.send(&responses);
    }
}

async fn answered(tasks: &mut JoinSet<()>) {
    while tasks.join_next().await.is_some() {}
}

/// Answers `shutdown`, if the peer has requested it.
fn shutdown_reply(service: &mut Service, writer: &Writer) {
    if let Some(id) = service.shutdown_id() {
        writer.send(&Response::new(Some(id), Ok(payload::null())));
    }
}

/// Cancels the calls, waits for pending responses, stops the host, and answers `shutdown`.
async fn wind_down(mut service: Service, mut tasks: JoinSet<()>, writer: &Writer) {
    if let Some(host) = service.host_if_any() {
        host.abort_all();
    }
    let _ = timeout(ANSWERING, answered(&mut tasks)).await;
    if let Some(host) = service.host_if_any() {
        let ending = host.shutdown_within(Duration::ZERO, FAREWELL);
        let _ = timeout(FAREWELL + STOPPING, ending).await;
        // Requests that were still running have ended with the host.
        let _ = timeout(LATE, answered(&mut tasks)).await;
    }
    tasks.abort_all();
    shutdown_reply(&mut service, writer);
    let _ = timeout(WRITING, writer.finish()).await;
}
