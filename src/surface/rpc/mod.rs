//! JSON-RPC 2.0 over standard input and output, for hosts in other languages and for tests.
//!
//! One loop takes the lines in order and starts what they ask for; everything slow runs
//! beside it, so that a long call never holds up a list. One thread reads and one writes:
//! a peer that stops reading blocks neither the calls nor their cancellation.
//! `docs/rpc.md` is the contract.

mod fault;
mod message;
mod payload;

mod approval;
mod calls;
mod drawing;
mod initialize;
mod loaded;
mod questions;
mod service;
mod told;
mod ui;

use std::fs::File;
use std::io;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use crate::config::Flags;
use crate::surface::lines::input::{Input, LONGEST, Line};
use crate::surface::lines::writer::Writer;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use fault::Fault;
use message::{Item, Message, Response};
use service::{Service, Work};

/// Calls that run when our input ends may finish in this time, as long as somebody reads.
const FINISHING: Duration = Duration::from_secs(5);
// Together below two seconds, the longest that a peer waits for us to go once it told us to.
/// What was asked before the end may still be answered in this time.
const ANSWERING: Duration = Duration::from_millis(1000);
/// Tools that heard of the session's start may take this long to deal with its end.
const FAREWELL: Duration = Duration::from_millis(250);
/// The host may take this long to stop what is left.
const STOPPING: Duration = Duration::from_millis(300);
/// What ended with the host may take this long to be answered.
const LATE: Duration = Duration::from_millis(100);
/// The peer may take this long to read the last lines.
const WRITING: Duration = Duration::from_millis(200);

/// Serves until the peer closes our input and what it asked for is answered, asks for `shutdown`,
/// stops reading, or a signal comes; gives the exit code. `watches`: files that change are loaded
/// again, and the peer is told.
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
                // No more requests, but somebody may still read the answers.
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

/// Starts what one line asks for.
fn take(line: Line, service: &mut Service, tasks: &mut JoinSet<()>, writer: &Writer) {
    let message = match line {
        Line::Text(text) => message::parse(&text),
        Line::NotUtf8 => Message::Bad(Fault::parse("the message is not UTF-8")),
        Line::TooLong => Message::Bad(Fault::invalid_request(format!(
            "the message is longer than {} MB and was skipped",
            LONGEST >> 20
        ))),
    };
    match message {
        Message::Blank => {}
        Message::Bad(fault) => writer.send(&Response::new(None, Err(fault))),
        Message::Single(item) => match begin(item, service) {
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
        Message::Batch(items) => {
            let begun: Vec<_> = items.into_iter().map(|item| begin(item, service)).collect();
            tasks.spawn(answer_batch(begun, writer.clone()));
        }
    }
}

/// A request that has been started.
enum Begun {
    /// Nothing will be answered.
    Silent,
    Answered(Response),
    Running(Running),
}

struct Running {
    id: Option<message::Id>,
    work: service::Later,
}

impl Running {
    /// The response; `None` where none was asked for.
    async fn finish(self) -> Option<Response> {
        let answer = service::guarded(self.work).await;
        self.id.map(|id| Response::new(Some(id), answer))
    }
}

fn begin(item: Item, service: &mut Service) -> Begun {
    let request = match item {
        Item::Request(request) => request,
        Item::Reply(reply) => {
            service.take_reply(reply);
            return Begun::Silent;
        }
        Item::Bad(id, fault) => return Begun::Answered(Response::new(id, Err(fault))),
    };
    let id = request.id.clone();
    match (service.begin(request), id) {
        (Work::Later(work), id) => Begun::Running(Running { id, work }),
        (Work::Done(answer), Some(id)) => Begun::Answered(Response::new(Some(id), answer)),
        // The end of the program answers `shutdown`.
        (Work::Done(_) | Work::AtTheEnd, _) => Begun::Silent,
    }
}

/// Answers a batch in one array, when its last request is done; its requests run together.
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

/// Cancels the calls, lets what was asked be answered, stops the host, says good-bye.
async fn wind_down(mut service: Service, mut tasks: JoinSet<()>, writer: &Writer) {
    service.cancel_all();
    let _ = timeout(ANSWERING, answered(&mut tasks)).await;
    if let Some(host) = service.host_if_any() {
        let ending = host.shutdown_within(Duration::ZERO, FAREWELL);
        let _ = timeout(FAREWELL + STOPPING, ending).await;
        // What has not ended in time has ended with the host.
        let _ = timeout(LATE, answered(&mut tasks)).await;
    }
    tasks.abort_all();
    if let Some(id) = service.shutdown_id() {
        writer.send(&Response::new(Some(id), Ok(payload::null())));
    }
    let _ = timeout(WRITING, writer.finish()).await;
}
