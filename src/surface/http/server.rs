//! The loop that takes connections, and its end: nothing new, what runs is finished, then all is cut.

use std::convert::Infallible;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::http::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::listen::Listening;

/// So many connections at once; others wait until one is free.
const MOST_CONNECTIONS: usize = 1024;
/// The head of a request must come within this time.
const HEAD: Duration = Duration::from_secs(30);
/// How long to wait when the system has no descriptors left.
const EXHAUSTED: Duration = Duration::from_millis(200);

/// Serves until `stop`; then what runs has `patience` to be answered.
pub(crate) async fn serve(
    listening: Listening,
    router: Router,
    stop: CancellationToken,
    patience: Duration,
) {
    let slots = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let next = async {
            // Never closed, so there is always a slot some time.
            let slot = Arc::clone(&slots).acquire_owned().await;
            (listening.socket.accept().await, slot)
        };
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            (accepted, slot) = next => match accepted {
                Ok((stream, _)) => {
                    let connection = connection(stream, router.clone(), stop.clone());
                    connections.spawn(async move {
                        connection.await;
                        drop(slot);
                    });
                }
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    tracing::warn!(%error, "no connection can be taken");
                    sleep(EXHAUSTED).await;
                }
            },
        }
    }
    drop(listening);
    let all = async { while connections.join_next().await.is_some() {} };
    // Whoever does not read its answer is cut off.
    let _ = timeout(patience, all).await;
}

async fn connection(stream: TcpStream, router: Router, stop: CancellationToken) {
    // Small answers go out at once.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request: Request<Incoming>| {
        let mut router = router.clone();
        let answer = router.call(request.map(Body::new));
        async move { Ok::<_, Infallible>(answer.await.unwrap_or_else(|never| match never {})) }
    });
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    tokio::select! {
        // A client that goes away is no news.
        _ = &mut connection => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// The other side gave up before we came to it.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
