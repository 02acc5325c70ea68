//! One client on standard input and output.

mod answers;
mod direct;
mod plain;
mod transport;

use std::fs::File;
use std::io;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::time::timeout;

use super::selection::Selection;
use super::server::Server;
use crate::host::Host;
use crate::surface::lines::input::Input;
use crate::surface::lines::writer::Writer;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use transport::{Lines, Phases, STOPPING};

// Together below two seconds, the longest that a client waits for us to go: what was asked has had its
// time to end and to be stopped (see `transport`), tools hear of the end, the host ends what is left.
/// Tools that heard of the session's start may take this long to deal with its end.
const FAREWELL: Duration = Duration::from_millis(250);
/// The host may take this long to end what is left.
const KILLING: Duration = Duration::from_millis(200);
/// The client may take this long to read the last lines.
const WRITING: Duration = Duration::from_millis(150);

/// What a second signal ends with.
const INTERRUPTED: u8 = 130;

/// Serves until the client closes our input, stops reading, or a signal comes; gives the exit code.
pub(crate) async fn serve(host: Host, selection: Selection, out: File) -> io::Result<u8> {
    let input = Input::open(stdin::claim()?)?;
    let mut signals = Signals::take()?;
    let writer = Writer::start(out)?;
    let backlog = writer.clone();
    let phases = Phases::default();
    let is_behind = move || backlog.is_behind();
    let closing = phases.closing.clone();
    let server = Server::new(host.clone(), selection, is_behind, closing, None);
    let warming = tokio::spawn({
        // Tools are looked for while the client still introduces itself.
        let server = server.clone();
        async move {
            server.offer().await;
        }
    });
    let _watching = host.config().serve.watch.then(|| host.watch());
    let lines = Lines::new(input, writer.clone(), server.clone(), phases.clone());
    let talking = talk(server, lines);
    tokio::pin!(talking);
    let has_ended = loop {
        tokio::select! {
            () = &mut talking => break true,
            () = phases.stopping.cancelled() => break false,
            // Answers are not read any more.
            () = writer.closed() => break false,
            () = signals.next() => match signals.heard() {
                1 => phases.closing.cancel(),
                _ => return Ok(INTERRUPTED),
            },
        }
    };
    phases.closing.cancel();
    phases.stopping.cancel();
    warming.abort();
    let ending = async {
        let answering = async {
            // Requests that are not done in time are refused by `transport`.
            if !has_ended {
                let _ = timeout(STOPPING + WRITING, &mut talking).await;
            }
        };
        let all = async { tokio::join!(host.shutdown_within(STOPPING, FAREWELL), answering) };
        // What hangs in the system is left to the end of the program.
        let _ = timeout(STOPPING + FAREWELL + KILLING, all).await;
        let _ = timeout(WRITING, writer.finish()).await;
    };
    tokio::select! {
        () = ending => Ok(0),
        () = second(&mut signals) => Ok(INTERRUPTED),
    }
}

/// Waits for the signal that waits for nothing.
async fn second(signals: &mut Signals) {
    loop {
        signals.next().await;
        if signals.heard() > 1 {
            return;
        }
    }
}

/// Answers the client until it ends.
async fn talk(server: Server, lines: Lines) {
    match server.serve(lines).await {
        // A client that says nothing at all is no error of ours.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => tracing::warn!(%error, "the client did not begin"),
        Ok(running) => {
            let _ = running.waiting().await;
        }
    }
}
