//! The client that sends a request, and its limits: the user, or the bearer of a token that the
//! user created.
//!
//! Calls, tasks, sessions and events belong to the client that started them, and are hidden from
//! other clients. The user, who has the server's own token, sees all of them.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::problem_response::ProblemResponse;
use crate::credentials::{Capability, TokenStore, id_of};
use crate::host::Host;
use haft_config::Serve;
use haft_tool::CallerScope;

/// Limit of the MCP sessions of all bearers of one token.
const MAX_SESSIONS: usize = 64;
/// Limit of the running calls of one token.
const MAX_CALLS: usize = 256;
/// Limit of the open event streams of one token.
const MAX_STREAMS: usize = 16;
/// Divisor of the memory for bodies that gives the share of one token.
const BODY_MEMORY_SHARE: usize = 4;
/// Interval of the checks for revoked tokens. The next check ends the requests of their bearers.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

/// A client. Requests with the same token belong to the same client.
pub(crate) struct Client {
    scope: CallerScope,
    /// The capability of its token; `None` for the user.
    capability: Option<Capability>,
    /// Fires when the token has expired or was revoked.
    ended: CancellationToken,
    max_sessions: usize,
    calls: Counted,
    streams: Counted,
    bytes: Arc<Semaphore>,
}

/// A limited resource of a client.
struct Counted {
    free: Arc<Semaphore>,
    most: usize,
}

/// Permit for one unit of a limited resource, held until it is dropped.
pub(crate) struct Permit(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

/// Registry of the clients of one server.
pub(super) struct Clients {
    user: Arc<Client>,
    /// Hash of the server's own token, compared in constant time.
    token: Option<blake3::Hash>,
    store: TokenStore,
    bodies: usize,
    /// Clients with a valid token of the store that have sent a request.
    others: Mutex<HashMap<String, Arc<Client>>>,
}

impl Client {
    fn user(serve: &Serve) -> Client {
        let connections = serve.connections as usize;
        Client {
            scope: CallerScope::user(),
            capability: None,
            ended: CancellationToken::new(),
            max_sessions: serve.mcp_sessions as usize,
            calls: Counted::new(connections),
            // The other connections are reserved for requests that end.
            streams: Counted::new((connections / 2).max(MAX_STREAMS)),
            bytes: Arc::new(Semaphore::new(bodies_of(serve))),
        }
    }

    fn bearer(capability: Capability, bodies: usize) -> Client {
        Client {
            scope: capability.scope(),
            capability: Some(capability),
            ended: CancellationToken::new(),
            max_sessions: MAX_SESSIONS,
            calls: Counted::new(MAX_CALLS),
            streams: Counted::new(MAX_STREAMS),
            bytes: Arc::new(Semaphore::new(bodies)),
        }
    }

    /// Returns the id that distinguishes it from other clients.
    pub(crate) fn id(&self) -> &str {
        self.scope.id()
    }

    /// Returns true for the user, who may do everything.
    pub(crate) fn is_user(&self) -> bool {
        self.scope.is_user()
    }

    /// Returns the tools that exist for it, and the calls that it may see.
    pub(crate) fn scope(&self) -> &CallerScope {
        &self.scope
    }

    /// Refuses a client that is not the user. `what` is the thing that a token may not do.
    ///
    /// # Errors
    /// If the client has a token of limited rights.
    pub(crate) fn require_user(&self, what: &str) -> Result<(), ProblemResponse> {
        if self.is_user() {
            return Ok(());
        }
        let text = format!("this token may call tools, not {what}");
        Err(ProblemResponse::forbidden(text).hint("the server's own token may"))
    }

    /// Returns true if it may start agents.
    pub(crate) fn allows_sessions(&self) -> bool {
        self.capability.as_ref().is_none_or(|it| it.sessions)
    }

    /// Returns the name of its token for the call log; `None` for the user.
    pub(crate) fn token_name(&self) -> Option<String> {
        let capability = self.capability.as_ref()?;
        // The name alone is ambiguous: another token may get it later.
        Some(if capability.name == capability.id {
            capability.id.clone()
        } else {
            format!("{} ({})", capability.name, capability.id)
        })
    }

    /// Returns the host for its calls. A call above its tier is refused, regardless of the policy.
    pub(crate) fn host(&self, host: &Host) -> Host {
        let host = host.owned_by(self.id()).within(&self.scope);
        match &self.capability {
            None => host,
            Some(_) => host.called_by(|caller| caller.token = self.token_name()),
        }
    }

    /// Fires when its token is not valid any more.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// Returns the limit of its sessions under MCP up to 2025-11.
    pub(crate) fn max_sessions(&self) -> usize {
        self.max_sessions
    }

    /// Returns a permit for one more call.
    ///
    /// # Errors
    /// 429 if too many calls run.
    pub(crate) fn begin_call(&self) -> Result<Permit, ProblemResponse> {
        self.calls.take("calls run", "wait for one to end")
    }

    /// Returns a permit for one more event stream.
    ///
    /// # Errors
    /// 429 if too many streams are open.
    pub(crate) fn begin_stream(&self) -> Result<Permit, ProblemResponse> {
        self.streams
            .take("streams of events are open", "close one of them")
    }

    /// Returns the semaphore that counts the bytes of its bodies.
    pub(super) fn bytes(&self) -> &Arc<Semaphore> {
        &self.bytes
    }
}

impl Counted {
    fn new(most: usize) -> Counted {
        Counted {
            free: Arc::new(Semaphore::new(most)),
            most,
        }
    }

    fn take(&self, what: &str, hint: &str) -> Result<Permit, ProblemResponse> {
        match Arc::clone(&self.free).try_acquire_owned() {
            Ok(permit) => Ok(Permit(permit)),
            Err(_) => {
                let most = self.most;
                let text = format!("{most} {what} for this token, which is as many as it may have");
                Err(too_many(text, hint))
            }
        }
    }
}

/// The error for a client that exceeds a limit.
pub(crate) fn too_many(text: impl Into<String>, hint: &str) -> ProblemResponse {
    ProblemResponse::new(StatusCode::TOO_MANY_REQUESTS, text)
        .hint(hint)
        .header(RETRY_AFTER, HeaderValue::from_static("1"))
}

/// Limit of the bytes of all bodies that a server holds at once.
pub(super) fn bodies_of(serve: &Serve) -> usize {
    (serve.bodies_mb as usize) << 20
}

impl Clients {
    /// Creates the clients of a server that recognizes the user by `token`. Without `token`,
    /// requests without a token count as the user's.
    pub(super) fn new(serve: &Serve, token: Option<&str>, store: TokenStore) -> Clients {
        let largest = (serve.body_mb as usize) << 20;
        Clients {
            user: Arc::new(Client::user(serve)),
            token: token.map(|token| blake3::hash(token.as_bytes())),
            store,
            bodies: (bodies_of(serve) / BODY_MEMORY_SHARE).max(largest),
            others: Mutex::default(),
        }
    }

    /// Returns the client that sends a request with these headers.
    ///
    /// # Errors
    /// 401 for an unknown client.
    pub(super) fn identify(
        self: &Arc<Self>,
        headers: &HeaderMap,
    ) -> Result<Arc<Client>, ProblemResponse> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let given = match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                let text = "there is more than one Authorization header";
                return Err(ProblemResponse::bad_request(text));
            }
            (given, _) => given,
        };
        let is_open = self.token.is_none();
        let Some(given) = given else {
            return if is_open {
                Ok(Arc::clone(&self.user))
            } else {
                Err(ProblemResponse::unauthorized("this server wants a token").hint(
                "send it as `Authorization: Bearer TOKEN`; `haft serve` says at its start where \
                 it is, `haft token new` makes one",
            ))
            };
        };
        let bytes = given.as_bytes();
        let (scheme, rest) = bytes.split_at_checked("Bearer ".len()).unwrap_or_default();
        let is_bearer = scheme.eq_ignore_ascii_case(b"bearer ");
        let token = rest.trim_ascii();
        if is_bearer && self.token == Some(blake3::hash(token)) {
            return Ok(Arc::clone(&self.user));
        }
        let text = std::str::from_utf8(token).ok().filter(|_| is_bearer);
        if let Some(capability) = text.and_then(|text| self.store.find(text)) {
            return Ok(self.bearer(capability));
        }
        if is_open && text.and_then(id_of).is_none() {
            Ok(Arc::clone(&self.user))
        } else {
            Err(ProblemResponse::unauthorized(
                "the token is wrong, has expired or was revoked",
            ))
        }
    }

    fn bearer(self: &Arc<Self>, capability: Capability) -> Arc<Client> {
        let mut others = self.others.lock();
        if let Some(known) = others.get(&capability.id) {
            return Arc::clone(known);
        }
        let client = Arc::new(Client::bearer(capability, self.bodies));
        others.insert(client.id().to_owned(), Arc::clone(&client));
        tokio::spawn(Arc::clone(self).watch(Arc::clone(&client)));
        client
    }

    /// Ends the client when its token is not valid any more.
    async fn watch(self: Arc<Self>, client: Arc<Client>) {
        loop {
            let left = client.capability.as_ref().and_then(Capability::time_left);
            sleep(left.map_or(REVOCATION_INTERVAL, |left| left.min(REVOCATION_INTERVAL))).await;
            if !self.store.is_valid(client.id()) {
                break;
            }
        }
        self.others.lock().remove(client.id());
        client.ended.cancel();
    }
}
