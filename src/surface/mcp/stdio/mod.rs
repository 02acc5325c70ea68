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
use tokio_util::sync::CancellationToken;

use super::selection::Selection;
use super::server::Server;
use crate::host::Host;
use crate::surface::lines::input::Input;
use crate::surface::lines::writer::Writer;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use transport::Lines;

// Together below two seconds, the longest that a client waits for us to go. What was asked before
// the end of the input has had its time by then (see `transport`).
/// Calls that are asked to stop may take this long.
const ANSWERING: Duration = Duration::from_millis(500);
/// The host may take this long to end what is left.
const STOPPING: Duration = Duration::from_millis(300);
/// The client may take this long to read the last lines.
const WRITING: Duration = Duration::from_millis(150);

/// Serves until the client closes our input, stops reading, or a signal comes; gives the exit code.
pub(crate) async fn serve(host: Host, selection: Selection, out: File) -> io::Result<u8> {
    let input = Input::open(stdin::claim()?)?;
    let mut signals = Signals::take()?;
    let writer = Writer::start(out)?;
    let backlog = writer.clone();
    let closing = CancellationToken::new();
    let is_behind = move || backlog.is_behind();
    let server = Server::new(host.clone(), selection, is_behind, closing.clone(), None);
    let warming = tokio::spawn({
        // Tools are looked for while the client still introduces itself.
        let server = server.clone();
        async move {
            server.offer().await;
        }
    });
    let _watching = host.config().serve.watch.then(|| host.watch());
    let lines = Lines::new(input, writer.clone(), server.clone(), closing.clone());
    let talking = talk(server, lines);
    tokio::pin!(talking);
    let has_ended = tokio::select! {
        () = &mut talking => true,
        () = closing.cancelled() => false,
        () = writer.closed() => false,
        () = signals.next() => false,
    };
    closing.cancel();
    warming.abort();
    let ending = async {
        // Whoever is not done in time is not answered; the process ends.
        let _ = timeout(ANSWERING, async {
            tokio::join!(host.shutdown(), async {
                if !has_ended {
                    talking.await;
                }
            })
        })
        .await;
        let _ = timeout(STOPPING, host.kill()).await;
        let _ = timeout(WRITING, writer.finish()).await;
    };
    tokio::select! {
        () = ending => Ok(0),
        () = signals.next() => Ok(130),
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
