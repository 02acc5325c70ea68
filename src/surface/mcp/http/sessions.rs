//! Sessions of clients up to MCP 2025-11-25: bounded in number, and ended when unused.
//!
//! rmcp keeps a session until its client ends it, and most clients never do. A session is in use
//! while one of its calls runs or one of its streams is open. If there are too many, the least used
//! one ends. Its client gets 404 and starts a new session, as the protocol says.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::http::{HeaderMap, HeaderName};
use futures::{Stream, StreamExt};
use parking_lot::Mutex;
use rmcp::RoleServer;
use rmcp::model::{
    ClientJsonRpcMessage, ClientNotification, JsonRpcMessage, RequestId, ServerJsonRpcMessage,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::streamable_http_server::SessionManager;
use rmcp::transport::streamable_http_server::session::local::{
    LocalSessionManager, LocalSessionManagerError, LocalSessionWorker, SessionConfig, SessionError,
};
use rmcp::transport::streamable_http_server::session::{ServerSseMessage, SessionId};
use rmcp::transport::{Transport, WorkerTransport};
use tokio::time::sleep;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::surface::http::Client;

const SESSION_ID: HeaderName = HeaderName::from_static("mcp-session-id");
/// Longest interval between two searches for unused sessions.
const SWEEP_INTERVAL: Duration = Duration::from_secs(60);

/// Reason for which a request cannot be served in a session. rmcp answers both as server errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refused {
    /// A call runs in every session that the server allows.
    Full,
    /// A call runs in each of this many sessions, which is the limit of the client.
    TooMany(usize),
    /// The session does not exist any more.
    Gone,
}

/// Data that the layers around rmcp share while rmcp handles a request.
pub(super) struct Notes {
    client: Arc<Client>,
    refused: Cell<Option<Refused>>,
    /// Fires when the connection that is being made ends.
    ended: RefCell<Option<CancellationToken>>,
}

tokio::task_local! {
    static NOTES: Notes;
}

/// Handles a request. Returns the response, and the reason for the refusal if a session caused it.
pub(super) async fn noting<T>(
    client: Arc<Client>,
    handled: impl Future<Output = T>,
) -> (T, Option<Refused>) {
    let notes = Notes {
        client,
        refused: Cell::default(),
        ended: RefCell::default(),
    };
    NOTES
        .scope(notes, async {
            let answer = handled.await;
            (answer, NOTES.with(|notes| notes.refused.get()))
        })
        .await
}

/// Registers a token that fires when the connection that is being made ends.
pub(super) fn expect_end(ended: CancellationToken) {
    // Outside of a request no session is being made.
    let _ = NOTES.try_with(|notes| notes.ended.replace(Some(ended)));
}

fn refuse(why: Refused) {
    let _ = NOTES.try_with(|notes| notes.refused.set(Some(why)));
}

/// Error of an operation on a session.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    #[error("a call runs in each of the sessions")]
    Full,
    #[error("a call runs in each of the sessions of the client")]
    TooMany(usize),
    #[error("a session without a client")]
    Nameless,
    #[error(transparent)]
    Local(#[from] LocalSessionManagerError),
}

/// Registry of all sessions of clients up to MCP 2025-11.
pub(super) struct Sessions {
    local: LocalSessionManager,
    open: Mutex<HashMap<SessionId, Arc<Session>>>,
    limit: usize,
    idle: Duration,
}

/// Owner and usage of a session.
struct Session {
    /// The only client that may use the session, since it contains that client's messages. Not even
    /// the user may use it.
    client: Arc<Client>,
    usage: Mutex<Usage>,
}

struct Usage {
    /// The requests without a response.
    running: HashSet<RequestId>,
    /// Number of open streams: responses that are being read, and streams of notifications.
    streams: usize,
    /// Time of the last message or of the last end of a stream.
    last: Instant,
    /// True if its client has sent more than `initialize`.
    has_begun: bool,
}

/// A response that is being read.
struct OpenStream(Arc<Session>);

/// Transport that observes the messages of a session to record its usage.
pub(super) struct Watched {
    inner: WorkerTransport<LocalSessionWorker>,
    session: Arc<Session>,
    _ended: Option<DropGuard>,
}

impl Sessions {
    /// Creates a manager of at most `limit` sessions. Each ends after being unused for `idle`.
    pub(super) fn new(limit: usize, idle: Duration) -> Sessions {
        let mut config = SessionConfig::default();
        // The setting of rmcp would also end a session whose call sends nothing.
        config.keep_alive = None;
        let mut local = LocalSessionManager::default();
        local.session_config = config;
        Sessions {
            local,
            open: Mutex::default(),
            limit,
            idle,
        }
    }

    /// Ends sessions that are unused for too long, until `stop` fires.
    pub(super) async fn collector(self: Arc<Self>, stop: CancellationToken) {
        let interval = (self.idle / 4).min(SWEEP_INTERVAL);
        while stop.run_until_cancelled(sleep(interval)).await.is_some() {
            for id in self.take_idle() {
                tracing::debug!(session = %id, "unused for too long");
                self.end(&id).await;
            }
        }
    }

    fn take_idle(&self) -> Vec<SessionId> {
        let mut open = self.open.lock();
        let idle = open.iter().filter(|(_, session)| {
            let usage = session.usage.lock();
            let is_unused = !usage.is_in_use() && usage.last.elapsed() >= self.idle;
            is_unused || session.client.ended().is_cancelled()
        });
        let idle: Vec<SessionId> = idle.map(|(id, _)| Arc::clone(id)).collect();
        for id in &idle {
            open.remove(id);
        }
        idle
    }

    /// Adds a session. Returns the session that has to end for it, if any.
    fn add(&self, id: &SessionId, session: &Arc<Session>) -> Result<Option<SessionId>, Error> {
        let mut open = self.open.lock();
        let mut spared = None;
        let client = &session.client;
        let is_own = |other: &Arc<Session>| other.client.id() == client.id();
        let own = open.values().filter(|other| is_own(other)).count();
        let has_all_own = own >= client.max_sessions();
        if has_all_own || open.len() >= self.limit {
            let ranked = open.iter();
            let ranked = ranked.filter(|(_, other)| !has_all_own || is_own(other));
            let ranked = ranked.filter_map(|(id, other)| {
                // A client's own sessions end before those of other clients.
                Some(((!is_own(other), other.usage.lock().rank()?), id))
            });
            let first = ranked.min_by_key(|(rank, _)| *rank);
            let full = if has_all_own && own < self.limit {
                Error::TooMany(own)
            } else {
                Error::Full
            };
            let id = first.map(|(_, id)| Arc::clone(id)).ok_or(full)?;
            open.remove(&id);
            spared = Some(id);
        }
        open.insert(Arc::clone(id), Arc::clone(session));
        Ok(spared)
    }

    async fn end(&self, id: &SessionId) {
        if let Err(error) = self.local.close_session(id).await {
            tracing::debug!(session = %id, %error, "it had ended");
        }
    }

    /// Returns the session and records that it is being used.
    fn used(&self, id: &SessionId) -> Option<Arc<Session>> {
        let session = self.open.lock().get(id).cloned()?;
        session.usage.lock().note(|usage| usage.has_begun = true);
        Some(session)
    }

    /// Returns true if the request names a session of another client.
    pub(super) fn is_of_another(&self, headers: &HeaderMap, client: &Client) -> bool {
        let named = headers.get_all(SESSION_ID).iter();
        let mut named = named.filter_map(|id| id.to_str().ok());
        let open = self.open.lock();
        named.any(|id| {
            let session = open.get(id);
            session.is_some_and(|session| session.client.id() != client.id())
        })
    }
}

impl Session {
    fn new(client: Arc<Client>) -> Arc<Session> {
        let usage = Usage {
            running: HashSet::new(),
            streams: 0,
            last: Instant::now(),
            has_begun: false,
        };
        Arc::new(Session {
            client,
            usage: Mutex::new(usage),
        })
    }
}

impl Usage {
    fn is_in_use(&self) -> bool {
        !self.running.is_empty() || self.streams > 0
    }

    /// Rank among the sessions that may end for a new one: the smallest ends first, `None` never
    /// ends. An idle stream does not keep a session from ending.
    fn rank(&self) -> Option<(bool, bool, Instant)> {
        let is_spared = self.running.is_empty();
        is_spared.then_some((self.streams > 0, self.has_begun, self.last))
    }

    fn note(&mut self, what: impl FnOnce(&mut Usage)) {
        what(self);
        self.last = Instant::now();
    }
}

impl OpenStream {
    fn of(session: Option<Arc<Session>>) -> Option<OpenStream> {
        let session = session?;
        session.usage.lock().note(|usage| usage.streams += 1);
        Some(OpenStream(session))
    }

    /// Wraps a stream, so that it counts as open until it is dropped.
    fn hold(
        session: Option<Arc<Session>>,
        stream: impl Stream<Item = ServerSseMessage> + Send + Sync + 'static,
    ) -> impl Stream<Item = ServerSseMessage> + Send + Sync + 'static {
        let open = OpenStream::of(session);
        stream.map(move |message| {
            let _ = &open;
            message
        })
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.usage.lock().note(|usage| usage.streams -= 1);
    }
}

/// Converts an error of rmcp, and records it if it means that the session has ended.
fn noted(error: LocalSessionManagerError) -> Error {
    if matches!(
        error,
        LocalSessionManagerError::SessionNotFound(_)
            | LocalSessionManagerError::SessionError(SessionError::SessionServiceTerminated)
    ) {
        refuse(Refused::Gone);
    }
    error.into()
}

impl SessionManager for Sessions {
    type Error = Error;
    type Transport = Watched;

    async fn create_session(&self) -> Result<(SessionId, Watched), Error> {
        let client = NOTES.try_with(|notes| Arc::clone(&notes.client));
        let client = client.map_err(|_| Error::Nameless)?;
        let (id, inner) = self.local.create_session().await?;
        let session = Session::new(client);
        let ended = NOTES.try_with(|notes| notes.ended.take()).ok().flatten();
        match self.add(&id, &session) {
            Ok(Some(spared)) => {
                tracing::debug!(session = %spared, "ended for a new one");
                self.end(&spared).await;
            }
            Ok(None) => {}
            Err(error) => {
                refuse(match error {
                    Error::TooMany(most) => Refused::TooMany(most),
                    _ => Refused::Full,
                });
                self.end(&id).await;
                return Err(error);
            }
        }
        let watched = Watched {
            inner,
            session,
            _ended: ended.map(CancellationToken::drop_guard),
        };
        Ok((id, watched))
    }

    async fn initialize_session(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<ServerJsonRpcMessage, Error> {
        let initialized = self.local.initialize_session(id, message).await;
        initialized.map_err(noted)
    }

    async fn has_session(&self, id: &SessionId) -> Result<bool, Error> {
        Ok(self.local.has_session(id).await?)
    }

    async fn close_session(&self, id: &SessionId) -> Result<(), Error> {
        self.open.lock().remove(id);
        Ok(self.local.close_session(id).await?)
    }

    async fn create_stream(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let session = self.used(id);
        let stream = self.local.create_stream(id, message).await.map_err(noted)?;
        Ok(OpenStream::hold(session, stream))
    }

    async fn accept_message(
        &self,
        id: &SessionId,
        message: ClientJsonRpcMessage,
    ) -> Result<(), Error> {
        self.used(id);
        self.local.accept_message(id, message).await.map_err(noted)
    }

    async fn create_standalone_stream(
        &self,
        id: &SessionId,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let session = self.used(id);
        let stream = self.local.create_standalone_stream(id).await;
        Ok(OpenStream::hold(session, stream.map_err(noted)?))
    }

    async fn resume(
        &self,
        id: &SessionId,
        last_event_id: String,
    ) -> Result<impl Stream<Item = ServerSseMessage> + Send + Sync + 'static, Error> {
        let session = self.used(id);
        // rmcp answers a stream that cannot be resumed with an empty one.
        let stream = self.local.resume(id, last_event_id).await?;
        Ok(OpenStream::hold(session, stream))
    }
}

impl Transport<RoleServer> for Watched {
    type Error = <WorkerTransport<LocalSessionWorker> as Transport<RoleServer>>::Error;

    fn send(
        &mut self,
        item: TxJsonRpcMessage<RoleServer>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        let answered = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => None,
        };
        if let Some(id) = answered {
            self.session.usage.lock().note(|usage| {
                usage.running.remove(id);
            });
        }
        self.inner.send(item)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleServer>> {
        let ended = self.session.client.ended().clone();
        let received = ended.run_until_cancelled(self.inner.receive());
        let message = received.await.flatten()?;
        let mut usage = self.session.usage.lock();
        match &message {
            JsonRpcMessage::Request(request) => {
                usage.note(|usage| {
                    usage.running.insert(request.id.clone());
                });
            }
            JsonRpcMessage::Notification(notification) => {
                // A cancelled request gets no response.
                if let ClientNotification::CancelledNotification(cancelled) =
                    &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    usage.note(|usage| {
                        usage.running.remove(id);
                    });
                }
            }
            JsonRpcMessage::Response(_) | JsonRpcMessage::Error(_) => {}
        }
        drop(usage);
        Some(message)
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.inner.close().await
    }
}
