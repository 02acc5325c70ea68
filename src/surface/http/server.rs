//! Accept loop of a server, and its shutdown: stop accepting, finish running requests, close the
//! rest.

use std::convert::Infallible;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::http::header::CONTENT_TYPE;
use axum::http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as _, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tower::Service;

use super::connections::{Connection, Connections, Phase, Standing, Ticket};
use super::descriptors;
use super::held::held;
use super::listen::Listening;
use super::problem_response::ProblemResponse;
use super::socket::Socket;
use super::sse;
use super::stream::Stream;

/// Timeout for the head of a request.
const HEAD: Duration = Duration::from_secs(30);
/// Size limit of the head of a request in bytes.
const MAX_HEAD: usize = 64 << 10;
/// Pause after the system has run out of descriptors.
const EXHAUSTED: Duration = Duration::from_millis(200);
/// Timeout for sending an error to a client that cannot be served.
const REFUSING: Duration = Duration::from_secs(1);
/// Media type of error responses.
const PROBLEM: &str = "application/problem+json";
/// Limit of the clients that are sent such an error at the same time. Others are disconnected at
/// once.
const MAX_REFUSED: usize = 64;

/// Serves up to `connections` clients at once until `stop` fires. Then running requests have
/// `shutdown_timeout` to be answered.
pub(crate) async fn serve(
    listening: Listening,
    router: Router,
    connections: u32,
    stop: CancellationToken,
    shutdown_timeout: Duration,
) {
    let open = Connections::new(descriptors::make_room(connections));
    let refused = Arc::new(Semaphore::new(MAX_REFUSED));
    let mut running = JoinSet::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = running.join_next(), if !running.is_empty() => {}
            accepted = listening.accept() => match accepted {
                Ok(stream) if !stream.is_admitted() => {
                    if let Ok(place) = Arc::clone(&refused).try_acquire_owned() {
                        running.spawn(refuse(stream, Refusal::OtherUser, place));
                    }
                }
                Ok(stream) => match open.admit() {
                    Some(ticket) => {
                        running.spawn(connection(stream, router.clone(), ticket, stop.clone()));
                    }
                    None => if let Ok(place) = Arc::clone(&refused).try_acquire_owned() {
                        running.spawn(refuse(stream, Refusal::Full, place));
                    },
                },
                Err(error) if is_of_one_connection(&error) => {}
                Err(error) => {
                    let is_evicted = open.evict();
                    tracing::warn!(%error, is_evicted, "no connection can be taken");
                    sleep(EXHAUSTED).await;
                }
            },
        }
    }
    drop(listening);
    let all = async { while running.join_next().await.is_some() {} };
    // A client that does not read its response is disconnected.
    let _ = timeout(shutdown_timeout, all).await;
}

async fn connection(stream: Stream, router: Router, ticket: Ticket, stop: CancellationToken) {
    stream.send_at_once();
    let peer = stream.peer();
    let state = &ticket.connection;
    let service = service_fn(|mut request: Request<Incoming>| {
        request.extensions_mut().insert(peer.clone());
        let answer = answer(router.clone(), request, Arc::clone(state));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let socket = Socket::new(stream, Arc::clone(state));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(MAX_HEAD)
        .serve_connection(TokioIo::new(socket), service);
    tokio::pin!(connection);
    tokio::select! {
        // A client that disconnects is not an error.
        _ = &mut connection => return,
        () = state.evicted() => return,
        () = stop.cancelled() => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// Answers one request and records the phases of its connection.
async fn answer(
    mut router: Router,
    request: Request<Incoming>,
    connection: Arc<Connection>,
) -> Response<Body> {
    let is_get = request.method() == Method::GET;
    let has_body = !request.body().is_end_stream();
    connection.turn(if has_body {
        Phase::Receiving
    } else {
        Phase::Answering
    });
    let request = request.map(|body| {
        Body::new(Received {
            body,
            connection: Arc::clone(&connection),
        })
    });
    let response = router.call(request).await;
    let response = response.unwrap_or_else(|never| match never {});
    let kind = response.headers().get(CONTENT_TYPE);
    let is_stream =
        kind.is_some_and(|kind| kind.as_bytes().starts_with(sse::MEDIA_TYPE.as_bytes()));
    let is_marked = response.extensions().get::<Standing>().is_some();
    connection.turn(if is_marked || (is_get && is_stream) {
        Phase::Standing
    } else {
        Phase::Answering
    });
    held(response, Sending(connection))
}

/// Body of a request. It records when it is complete.
struct Received {
    body: Incoming,
    connection: Arc<Connection>,
}

/// Guard of a response that is being sent. Dropped after the response was sent or abandoned.
struct Sending(Arc<Connection>);

impl hyper::body::Body for Received {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, hyper::Error>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if matches!(polled, Poll::Ready(None)) || self.body.is_end_stream() {
            self.connection.turn(Phase::Answering);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl Drop for Sending {
    fn drop(&mut self) {
        self.0.turn(Phase::Waiting);
    }
}

/// Reason for which a client is not served.
#[derive(Clone, Copy)]
enum Refusal {
    /// Every permitted connection is answering a request.
    Full,
    /// The client is another user than ours.
    OtherUser,
}

impl Refusal {
    /// Returns the response to a request that begins like this. The health check is answered even
    /// if all connections are in use.
    fn answer(self, head: &[u8]) -> String {
        let is_liveness = head.starts_with(b"GET /api/health ");
        let (status, more, kind, body) = match self {
            Refusal::Full if is_liveness => {
                let body = r#"{"status":"ok"}"#.to_owned();
                ("200 OK", "", "application/json", body)
            }
            Refusal::Full => {
                let problem_response = ProblemResponse::new(
                    StatusCode::SERVICE_UNAVAILABLE,
                    "all connections are in use by calls that run",
                );
                let problem_response = problem_response
                    .hint("try again; serve.connections of the configuration is the limit");
                let status = "503 Service Unavailable";
                (
                    status,
                    "retry-after: 1\r\n",
                    PROBLEM,
                    problem_response.json(),
                )
            }
            Refusal::OtherUser => {
                let problem_response = ProblemResponse::forbidden(
                    "this socket is for the user that the server runs as",
                );
                ("403 Forbidden", "", PROBLEM, problem_response.json())
            }
        };
        // Written by hand, because the rest of the request is not read.
        format!(
            "HTTP/1.1 {status}\r\nconnection: close\r\n{more}content-type: {kind}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        )
    }
}

/// Sends a client the error that it cannot be served.
async fn refuse(mut stream: Stream, why: Refusal, _place: OwnedSemaphorePermit) {
    let _ = timeout(REFUSING, async {
        let mut head = [0; 64];
        // The error is sent even if the client sends no request.
        let read = timeout(REFUSING / 4, stream.read(&mut head)).await;
        let length = read.unwrap_or(Ok(0))?;
        let text = why.answer(&head[..length]);
        stream.write_all(text.as_bytes()).await?;
        stream.shutdown().await?;
        // The system discards written data if a socket with unread input is closed.
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    })
    .await;
}

/// Returns true if the client disconnected before it was accepted.
fn is_of_one_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionRefused
            | io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
    )
}
