//! Who sends a request: the user, or the bearer of a token that the user made; and how much it may do at once.
//!
//! What a client started belongs to it: calls, tasks, sessions and events of another one do not exist for
//! it. The user, who has the server's own token, sees all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::http::header::{AUTHORIZATION, RETRY_AFTER};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::fault::Fault;
use crate::config::Serve;
use crate::credentials::{Capability, TokenStore, id_of};
use crate::host::Host;
use crate::tool::{Tier, Tool};

/// The id of the user, which no token has.
const USER: &str = "user";
/// Sessions of MCP clients that the bearers of one token may have.
const MAX_SESSIONS: usize = 64;
/// Calls that may run for one token.
const MAX_CALLS: usize = 256;
/// Streams of events that may be open for one token.
const MAX_STREAMS: usize = 16;
/// The part of all bodies in memory that may be one token's.
const SHARE_OF_BODIES: usize = 4;
/// How soon a revoked token ends what its bearers still have.
const REVOCATION_INTERVAL: Duration = Duration::from_secs(1);

/// A client. Requests with the same token are of the same client.
pub(crate) struct Client {
    id: String,
    /// `None`: the user.
    capability: Option<Capability>,
    /// Fires when the token has expired or was revoked.
    ended: CancellationToken,
    max_sessions: usize,
    calls: Counted,
    streams: Counted,
    bytes: Arc<Semaphore>,
}

/// Something of which a client may have only so many.
struct Counted {
    free: Arc<Semaphore>,
    most: usize,
}

/// One of them, until it is dropped.
pub(crate) struct Permit(#[expect(dead_code, reason = "held")] OwnedSemaphorePermit);

/// The clients of one server.
pub(super) struct Clients {
    user: Arc<Client>,
    /// The server's own token, compared by its hash in constant time.
    token: Option<blake3::Hash>,
    store: TokenStore,
    bodies: usize,
    /// Those with a token of the store that have come and whose token is valid.
    others: Mutex<HashMap<String, Arc<Client>>>,
}

impl Client {
    fn user(serve: &Serve) -> Client {
        let connections = serve.connections as usize;
        Client {
            id: USER.to_owned(),
            capability: None,
            ended: CancellationToken::new(),
            max_sessions: serve.mcp_sessions as usize,
            calls: Counted::new(connections),
            // The other half is for requests that end.
            streams: Counted::new((connections / 2).max(MAX_STREAMS)),
            bytes: Arc::new(Semaphore::new(bodies_of(serve))),
        }
    }

    fn bearer(capability: Capability, bodies: usize) -> Client {
        Client {
            id: capability.id.clone(),
            capability: Some(capability),
            ended: CancellationToken::new(),
            max_sessions: MAX_SESSIONS,
            calls: Counted::new(MAX_CALLS),
            streams: Counted::new(MAX_STREAMS),
            bytes: Arc::new(Semaphore::new(bodies)),
        }
    }

    /// What tells it from other clients.
    pub(crate) fn id(&self) -> &str {
        &self.id
    }

    /// Whether it is the user, who may do everything.
    pub(crate) fn is_user(&self) -> bool {
        self.capability.is_none()
    }

    /// Whether it may know of what the client `owner` started.
    pub(crate) fn may_see(&self, owner: &str) -> bool {
        self.is_user() || self.id == owner
    }

    /// Whether it may see and call the tool.
    pub(crate) fn allows(&self, tool: &Tool) -> bool {
        self.capability.as_ref().is_none_or(|it| it.allows(tool))
    }

    /// Whether the name is one of a tool that it may know, whatever that tool does.
    pub(crate) fn allows_name(&self, name: &str) -> bool {
        let capability = self.capability.as_ref();
        capability.is_none_or(|it| it.tools.match_name(name))
    }

    /// Whether it may start agents.
    pub(crate) fn allows_sessions(&self) -> bool {
        self.capability.as_ref().is_none_or(|it| it.sessions)
    }

    /// The most harm that its calls may do; `None`: any.
    pub(crate) fn max_tier(&self) -> Option<Tier> {
        let tier = self.capability.as_ref()?.tier;
        (tier < Tier::Exec).then_some(tier)
    }

    /// What the log of calls names its token; `None`: it is the user.
    pub(crate) fn token_name(&self) -> Option<String> {
        let capability = self.capability.as_ref()?;
        // A name may be used again for another token.
        Some(match capability.name == capability.id {
            true => capability.id.clone(),
            false => format!("{} ({})", capability.name, capability.id),
        })
    }

    /// The host for its calls: a call above its tier is refused, whatever else the policy says.
    pub(crate) fn host(&self, host: &Host) -> Host {
        let host = match &self.capability {
            None => host.clone(),
            Some(_) => host.called_by(|caller| caller.token = self.token_name()),
        };
        match self.max_tier() {
            None => host,
            Some(tier) => {
                let mut policy = host.config().approval.clone();
                policy.max_tier = Some(tier);
                host.with_approval(policy)
            }
        }
    }

    /// Fires when its token is not valid any more.
    pub(crate) fn ended(&self) -> &CancellationToken {
        &self.ended
    }

    /// The sessions of the older protocol that it may have.
    pub(crate) fn max_sessions(&self) -> usize {
        self.max_sessions
    }

    /// A place for one more call.
    ///
    /// # Errors
    /// 429 where there is none.
    pub(crate) fn begin_call(&self) -> Result<Permit, Fault> {
        self.calls.take("calls run", "wait for one to end")
    }

    /// A place for one more stream of events.
    ///
    /// # Errors
    /// 429 where there is none.
    pub(crate) fn begin_stream(&self) -> Result<Permit, Fault> {
        self.streams
            .take("streams of events are open", "close one of them")
    }

    /// What counts the bytes of its bodies.
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

    fn take(&self, what: &str, hint: &str) -> Result<Permit, Fault> {
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

/// The refusal of a client that has or does too much at once.
pub(crate) fn too_many(text: impl Into<String>, hint: &str) -> Fault {
    Fault::new(StatusCode::TOO_MANY_REQUESTS, text)
        .hint(hint)
        .header(RETRY_AFTER, HeaderValue::from_static("1"))
}

/// All bytes of bodies that a server holds at once.
pub(super) fn bodies_of(serve: &Serve) -> usize {
    (serve.bodies_mb as usize) << 20
}

impl Clients {
    /// The clients of a server that knows the user by `token`, or takes for the user whoever shows none.
    pub(super) fn new(serve: &Serve, token: Option<&str>, store: TokenStore) -> Clients {
        let largest = (serve.body_mb as usize) << 20;
        Clients {
            user: Arc::new(Client::user(serve)),
            token: token.map(|token| blake3::hash(token.as_bytes())),
            store,
            bodies: (bodies_of(serve) / SHARE_OF_BODIES).max(largest),
            others: Mutex::default(),
        }
    }

    /// Who sends a request with these headers.
    ///
    /// # Errors
    /// 401 for whoever is not known.
    pub(super) fn identify(self: &Arc<Self>, headers: &HeaderMap) -> Result<Arc<Client>, Fault> {
        let mut given = headers.get_all(AUTHORIZATION).iter();
        let given = match (given.next(), given.next()) {
            (Some(_), Some(_)) => {
                let text = "there is more than one Authorization header";
                return Err(Fault::bad_request(text));
            }
            (given, _) => given,
        };
        let is_open = self.token.is_none();
        let Some(given) = given else {
            return match is_open {
                true => Ok(Arc::clone(&self.user)),
                false => Err(Fault::unauthorized("this server wants a token").hint(
                    "send it as `Authorization: Bearer TOKEN`; `haft serve` says at its start where \
                     it is, `haft token new` makes one",
                )),
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
        match is_open && text.and_then(id_of).is_none() {
            // A page may still know the token of the server that was here before.
            true => Ok(Arc::clone(&self.user)),
            false => Err(Fault::unauthorized(
                "the token is wrong, has expired or was revoked",
            )),
        }
    }

    fn bearer(self: &Arc<Self>, capability: Capability) -> Arc<Client> {
        let mut others = self.others();
        if let Some(known) = others.get(&capability.id) {
            return Arc::clone(known);
        }
        let client = Arc::new(Client::bearer(capability, self.bodies));
        others.insert(client.id.clone(), Arc::clone(&client));
        tokio::spawn(Arc::clone(self).watch(Arc::clone(&client)));
        client
    }

    /// Ends what a client has when its token is not valid any more.
    async fn watch(self: Arc<Self>, client: Arc<Client>) {
        loop {
            let left = client.capability.as_ref().and_then(Capability::time_left);
            sleep(left.map_or(REVOCATION_INTERVAL, |left| left.min(REVOCATION_INTERVAL))).await;
            if !self.store.is_valid(&client.id) {
                break;
            }
        }
        self.others().remove(&client.id);
        client.ended.cancel();
    }

    fn others(&self) -> MutexGuard<'_, HashMap<String, Arc<Client>>> {
        self.others.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
