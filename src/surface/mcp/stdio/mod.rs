//! MCP over standard input and output, for one client.

mod fast_path;
mod transport;

use std::fs::File;
use std::io;
use std::time::Duration;

use rmcp::ServiceExt;
use rmcp::service::ServerInitializeError;
use tokio::time::timeout;

use super::server::Server;
use crate::host::Host;
use crate::surface::signals::Signals;
use crate::surface::stdin;
use crate::surface::stdio::input::Input;
use crate::surface::stdio::writer::Writer;
use haft_tool::CallerScope;
use transport::{Lines, Phases, STOPPING};

// A client waits at most two seconds for the server to exit. All phases together are shorter:
// requests finish or are stopped (see `transport`), tools handle the end, the host kills the rest.
/// Time for tools that handled the start of the session to handle its end.
const FAREWELL: Duration = Duration::from_millis(250);
/// Time for the host to kill the rest.
const KILLING: Duration = Duration::from_millis(200);
/// Time for the client to read the last lines.
const WRITING: Duration = Duration::from_millis(150);

/// Exit code after a second signal.
const INTERRUPTED: u8 = 130;

/// Serves until the client closes our input, stops reading, or a signal arrives. Returns the exit
/// code.
pub(crate) async fn serve(host: Host, selection: CallerScope, out: File) -> io::Result<u8> {
    let input = Input::open(stdin::claim()?)?;
    let mut signals = Signals::take()?;
    let writer = Writer::start(out)?;
    let backlog = writer.clone();
    let phases = Phases::default();
    let is_behind = move || backlog.is_behind();
    let closing = phases.closing.clone();
    let server = Server::new(host.within(&selection), is_behind, closing, None);
    let warming = tokio::spawn({
        // Tools are loaded while the client still sends its handshake.
        let server = server.clone();
        async move {
            server.tool_list().await;
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
            // The client does not read responses any more.
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
            // `transport` sends errors for requests that do not end in time.
            if !has_ended {
                let _ = timeout(STOPPING + WRITING, &mut talking).await;
            }
        };
        let all = async { tokio::join!(host.shutdown_within(STOPPING, FAREWELL), answering) };
        // A process that hangs in the kernel is left to the end of the program.
        let _ = timeout(STOPPING + FAREWELL + KILLING, all).await;
        let _ = timeout(WRITING, writer.finish()).await;
    };
    tokio::select! {
        () = ending => Ok(0),
        () = second(&mut signals) => Ok(INTERRUPTED),
    }
}

/// Waits for the second signal, which ends the program at once.
async fn second(signals: &mut Signals) {
    loop {
        signals.next().await;
        if signals.heard() > 1 {
            return;
        }
    }
}

/// Answers the client until the conversation ends.
async fn talk(server: Server, lines: Lines) {
    match server.serve(lines).await {
        // A client that closes without a message is not an error.
        Err(ServerInitializeError::ConnectionClosed(_)) => {}
        Err(error) => tracing::warn!(%error, "the client did not begin"),
        Ok(running) => {
            let _ = running.waiting().await;
        }
    }
}
