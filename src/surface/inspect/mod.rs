//! Server for debuggers: the HTTP interface of Node's inspector, which Chrome and VS Code know.
//!
//! `GET /json/list` has one target for each isolate. Each has an address for a WebSocket, whose
//! messages go to V8. Debuggers have no token. So the server listens on the machine itself only,
//! the path of each WebSocket is a random id, and web pages are refused.

mod address;
mod targets;

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use fastwebsockets::upgrade::{UpgradeFut, upgrade};
use fastwebsockets::{FragmentCollectorRead, Frame, OpCode, Payload, WebSocketError};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper::header::{CONTENT_TYPE, HOST, HeaderMap, HeaderName, HeaderValue, ORIGIN};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, StatusCode};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::host::{Inspector, InspectorSession};
pub(crate) use address::InspectAddress;
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};

/// A server for debuggers. It ends when it is dropped.
pub(crate) struct DebugServer {
    address: SocketAddr,
    _serving: JoinSet<()>,
}

impl DebugServer {
    /// Listens at `address`, and serves debuggers until it is dropped.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the address cannot be used.
    pub(crate) async fn start(
        address: InspectAddress,
        inspector: Arc<Inspector>,
    ) -> Result<DebugServer, Error> {
        let wanted = address.0;
        let cannot = |error: io::Error| cannot_listen(wanted, &error);
        let listener = TcpListener::bind(wanted).await.map_err(cannot)?;
        let address = listener.local_addr().map_err(cannot)?;
        let mut serving = JoinSet::new();
        serving.spawn(serve(listener, address, inspector));
        Ok(DebugServer {
            address,
            _serving: serving,
        })
    }

    /// Returns the message for the user.
    pub(crate) fn announcement(&self) -> TerminalText {
        terminal_text!("debuggers can attach at {}\n", self.address)
    }
}

fn cannot_listen(address: SocketAddr, error: &io::Error) -> Error {
    let text = format!("debuggers cannot attach at {address}: {error}");
    let hint = "`--inspect=127.0.0.1:0` takes a free port";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

/// Serves every connection in a task of its own, which ends with this one.
async fn serve(listener: TcpListener, address: SocketAddr, inspector: Arc<Inspector>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    connections.spawn(connection(stream, address, inspector.clone()));
                }
                Err(error) => tracing::debug!(%error, "a debugger was not accepted"),
            },
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
        }
    }
}

async fn connection(stream: TcpStream, address: SocketAddr, inspector: Arc<Inspector>) {
    // A debugger waits for each answer before it sends the next request.
    let _ = stream.set_nodelay(true);
    let (upgraded, mut sessions) = mpsc::unbounded_channel();
    let service = service_fn(|request: Request<Incoming>| {
        let answered = answer(request, address, &inspector);
        let answer = answered.unwrap_or_else(|status| {
            let reason = status.canonical_reason().unwrap_or_default();
            text(status, reason.to_owned(), "text/plain")
        });
        let response = match answer {
            Answer::Page(response) => response,
            Answer::Session(response, session) => {
                // The receiver is below.
                let _ = upgraded.send(session);
                response
            }
        };
        std::future::ready(Ok::<_, Infallible>(response))
    });
    let connection = http1::Builder::new()
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    // A debugger that disconnects is not an error.
    let _ = connection.await;
    if let Ok((session, upgrading)) = sessions.try_recv() {
        let ended = relay(session, upgrading).await;
        tracing::debug!(?ended, "a debugger has left");
    }
}

type Page = Response<Full<Bytes>>;

/// Answer to a request.
enum Answer {
    Page(Page),
    /// The connection becomes a WebSocket.
    Session(Page, (InspectorSession, UpgradeFut)),
}

fn answer(
    mut request: Request<Incoming>,
    address: SocketAddr,
    inspector: &Inspector,
) -> Result<Answer, StatusCode> {
    let host = host_of(request.headers(), address)?;
    if is_from_a_page(request.headers()) {
        return Err(StatusCode::FORBIDDEN);
    }
    if request.method() != Method::GET {
        return Err(StatusCode::METHOD_NOT_ALLOWED);
    }
    let json = "application/json; charset=UTF-8";
    match request.uri().path() {
        "/json" | "/json/list" => {
            let list = targets::list(&inspector.isolates(), &host);
            Ok(text(StatusCode::OK, list, json))
        }
        "/json/version" => Ok(text(StatusCode::OK, targets::version(), json)),
        path => {
            let id = path.trim_start_matches('/').to_owned();
            let (response, upgrading) = upgrade(&mut request).map_err(|_| StatusCode::NOT_FOUND)?;
            let session = inspector.connect(&id).ok_or(StatusCode::NOT_FOUND)?;
            let response = response.map(|_| Full::default());
            Ok(Answer::Session(response, (session, upgrading)))
        }
    }
}

fn text(status: StatusCode, text: String, kind: &'static str) -> Answer {
    let mut page = Response::new(Full::new(Bytes::from(text)));
    *page.status_mut() = status;
    let kind = HeaderValue::from_static(kind);
    page.headers_mut().insert(CONTENT_TYPE, kind);
    Answer::Page(page)
}

/// Returns the host by which the client knows the server, which a tunnel may change. Names other
/// than `localhost` are refused: a web page can make its own name lead here.
fn host_of(headers: &HeaderMap, address: SocketAddr) -> Result<String, StatusCode> {
    let Some(host) = single(headers, HOST)? else {
        return Ok(address.to_string());
    };
    if targets::is_host_of_the_machine(host) {
        Ok(host.to_owned())
    } else {
        Err(StatusCode::BAD_REQUEST)
    }
}

/// Returns true if the request comes from a web page. Browsers let pages connect to any WebSocket.
fn is_from_a_page(headers: &HeaderMap) -> bool {
    let origin = headers.get(ORIGIN).map(HeaderValue::as_bytes);
    origin.is_some_and(|origin| origin.starts_with(b"http") || origin == b"null")
}

fn single(headers: &HeaderMap, name: HeaderName) -> Result<Option<&str>, StatusCode> {
    let mut values = headers.get_all(name).iter();
    let value = values.next().map(HeaderValue::to_str);
    let value = value.transpose().map_err(|_| StatusCode::BAD_REQUEST)?;
    match values.next() {
        None => Ok(value),
        Some(_) => Err(StatusCode::BAD_REQUEST),
    }
}

/// Passes messages between a debugger and an isolate until one of them ends.
async fn relay(mut session: InspectorSession, upgrading: UpgradeFut) -> Result<(), WebSocketError> {
    let (reader, mut writer) = upgrading.await?.split(tokio::io::split);
    let mut reader = FragmentCollectorRead::new(reader);
    let (received, mut incoming) = mpsc::unbounded_channel();
    // Reading a frame must not be cancelled halfway, so it is a future of its own.
    let reading = async {
        loop {
            let mut reply = |frame: Frame<'_>| {
                let reply = Received::Reply(frame.opcode, frame.payload.to_vec());
                std::future::ready(received.send(reply))
            };
            let frame = reader.read_frame(&mut reply).await?;
            match frame.opcode {
                OpCode::Text => {
                    let text = String::from_utf8_lossy(&frame.payload).into_owned();
                    // The other future ends with this one.
                    let _ = received.send(Received::Message(text));
                }
                OpCode::Close => return Ok(()),
                _ => {}
            }
        }
    };
    let writing = async {
        loop {
            let frame = tokio::select! {
                message = session.next() => match message {
                    Some(message) => Frame::text(Payload::Owned(message.into_bytes())),
                    None => return writer.write_frame(Frame::close(GOING_AWAY, b"")).await,
                },
                Some(received) = incoming.recv() => match received {
                    Received::Message(text) => {
                        session.send(text);
                        continue;
                    }
                    Received::Reply(opcode, payload) => {
                        Frame::new(true, opcode, None, Payload::Owned(payload))
                    }
                },
            };
            writer.write_frame(frame).await?;
        }
    };
    tokio::select! {
        ended = reading => ended,
        ended = writing => ended,
    }
}

/// Frame of a debugger, or the answer that the protocol demands to one.
enum Received {
    Message(String),
    Reply(OpCode, Vec<u8>),
}

/// WebSocket code of an isolate that has ended.
const GOING_AWAY: u16 = 1001;
