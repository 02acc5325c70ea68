//! One server: its start at the first call, its end when it is idle, its restart after a failure.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use futures::future::BoxFuture;
use parking_lot::Mutex;
use rmcp::service::Subscription;
use tokio::sync::{broadcast, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use crate::connection::{ListsFollowed, Start};
use crate::session::ResourceUpdates;
use crate::stdio::LineLog;
use crate::{Connection, Definitions, Endpoint, Failure, Record};
use haft_process::StateFolder;

/// Delay before the second start after a failure. It doubles with each further failure.
const FIRST_DELAY: Duration = Duration::from_secs(1);

/// Limit of that delay.
const MAX_DELAY: Duration = Duration::from_secs(60);

/// A server that ran for this time has not failed at its start.
const STABLE: Duration = Duration::from_secs(10);

/// Time for which further changes of a list are awaited.
const SETTLING: Duration = Duration::from_millis(100);

/// Limit of the time for a new list of tools after a change.
const REFRESH_TIMEOUT: Duration = Duration::from_secs(30);

/// Limit of the changes that wait for a slow reader. One that missed some is told of a change.
const MAX_WAITING_CHANGES: usize = 256;

/// Everything that decides how a server is reached.
pub struct ServerOptions {
    /// Its name in the configuration.
    pub name: String,
    /// Identity of the server, under which its definitions are kept.
    pub identity: String,
    /// Identity of the connection: servers with equal keys share one.
    pub key: String,
    /// Its place.
    pub endpoint: Endpoint,
    /// Its place for [`Server::list`], if that is another one: a start in an empty folder.
    pub listing: Option<Endpoint>,
    /// Limit of the time until it is ready.
    pub startup_timeout: Duration,
    /// Time without a call after which it is stopped.
    pub idle: Duration,
    /// Receiver of the lines that it prints to its standard error.
    pub log: Option<LineLog>,
}

/// The watched resources of one server.
pub(crate) struct Watches {
    pub(crate) updates: ResourceUpdates,
    pub(crate) by_uri: tokio::sync::Mutex<HashMap<String, Watched>>,
}

pub(crate) struct Watched {
    pub(crate) users: usize,
    pub(crate) connection: Weak<Connection>,
    /// Ends the subscription when it is dropped, with MCP 2026-07.
    pub(crate) _subscription: Option<Subscription>,
}

impl Default for Watches {
    fn default() -> Watches {
        Watches {
            updates: broadcast::channel(MAX_WAITING_CHANGES).0,
            by_uri: tokio::sync::Mutex::default(),
        }
    }
}

/// A server, whether it runs or not.
pub struct Server {
    options: ServerOptions,
    /// Folder of what is known of servers.
    cache: StateFolder,
    record: Mutex<Record>,
    state: tokio::sync::Mutex<State>,
    usage: Mutex<Instant>,
    calls: AtomicUsize,
    watches: Watches,
    /// Counts the changes of what is known of any server.
    changes: watch::Sender<u64>,
    closing: CancellationToken,
}

#[derive(Default)]
struct State {
    connection: Option<Arc<Connection>>,
    started: Option<Instant>,
    failures: u32,
    retry_at: Option<Instant>,
}

/// Guard of a call. The server is not idle while one exists.
pub struct InUse<'a>(&'a Server);

impl Drop for InUse<'_> {
    fn drop(&mut self) {
        self.0.end_use();
    }
}

impl Server {
    pub(crate) fn new(
        options: ServerOptions,
        cache: StateFolder,
        changes: watch::Sender<u64>,
        closing: CancellationToken,
    ) -> Server {
        Server {
            record: Mutex::new(Record::read(&cache, &options.identity)),
            options,
            cache,
            state: tokio::sync::Mutex::default(),
            usage: Mutex::new(Instant::now()),
            calls: AtomicUsize::new(0),
            watches: Watches::default(),
            changes,
            closing,
        }
    }

    /// Returns the name in the configuration.
    pub fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns what the server offered when it was last connected.
    pub fn definitions(&self) -> Option<Arc<Definitions>> {
        self.record.lock().definitions.clone()
    }

    /// Returns the failure of the last start, or the reason of an unexpected end.
    pub fn failure(&self) -> Option<Failure> {
        self.record.lock().failure.clone()
    }

    /// Reads again what another process has learned, unless this one has a connection.
    pub fn read_again(&self) {
        if !self.is_ready() {
            let stored = Record::read(&self.cache, &self.options.identity);
            // Without a file, what this process knows stays.
            if stored.definitions.is_some() || stored.failure.is_some() {
                *self.record.lock() = stored;
            }
        }
    }

    /// Returns true if the server runs and can be called at once.
    pub fn is_ready(&self) -> bool {
        let state = self.state.try_lock();
        state.is_ok_and(|state| state.connection.as_ref().is_some_and(|one| one.is_open()))
    }

    /// Begins a use of the server, which keeps it running.
    pub fn in_use(&self) -> InUse<'_> {
        self.begin_use();
        InUse(self)
    }

    pub(crate) fn begin_use(&self) {
        self.calls.fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn end_use(&self) {
        *self.usage.lock() = Instant::now();
        self.calls.fetch_sub(1, Ordering::Relaxed);
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.watches
    }

    /// Returns the connection; starts the server if it does not run. The start goes on if this
    /// future is dropped.
    ///
    /// # Errors
    /// If it cannot be started, or failed so recently that it is not tried again yet.
    pub async fn connect(self: &Arc<Server>) -> Result<Arc<Connection>, Failure> {
        if let Ok(state) = self.state.try_lock()
            && let Some(connection) = state.connection.as_ref().filter(|one| one.is_open())
        {
            return Ok(connection.clone());
        }
        let server = self.clone();
        let starting = tokio::spawn(async move { server.start(false).await });
        starting
            .await
            .unwrap_or_else(|_| Err(Failure::now("haft is shutting down", Vec::new())))
    }

    /// Learns what the server offers, if it does not run. A server with a place for that is stopped
    /// afterwards.
    pub async fn list(self: &Arc<Server>) {
        let Some(listing) = &self.options.listing else {
            // A failure is kept.
            let _ = self.connect().await;
            return;
        };
        let state = self.state.lock().await;
        if state.connection.is_some() || self.closing.is_cancelled() {
            return;
        }
        match self.start_at(listing, false).run().await {
            Ok((connection, _)) => {
                self.learn(connection.definitions());
                connection.close().await;
            }
            Err(failure) => self.fail(failure),
        }
    }

    /// Stops the server if it runs, and starts it again. It is asked for the newest protocol.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn reconnect(self: &Arc<Server>) -> Result<Arc<Connection>, Failure> {
        self.close().await;
        let mut state = self.state.lock().await;
        *state = State::default();
        drop(state);
        self.start(true).await
    }

    /// Stops the server if it runs, and waits for its end.
    pub async fn close(&self) {
        let connection = self.state.lock().await.connection.take();
        if let Some(connection) = connection {
            connection.close().await;
        }
    }

    async fn start(self: &Arc<Server>, is_probe: bool) -> Result<Arc<Connection>, Failure> {
        let mut state = self.state.lock().await;
        if let Some(connection) = state.connection.take() {
            if connection.is_open() {
                state.connection = Some(connection.clone());
                return Ok(connection);
            }
            let is_stable = state
                .started
                .is_some_and(|started| started.elapsed() > STABLE);
            if is_stable {
                state.failures = 0;
            } else {
                state.note_early_end();
            }
        }
        if self.closing.is_cancelled() {
            return Err(Failure::now("haft is shutting down", Vec::new()));
        }
        if let Some(wait) = state
            .retry_at
            .and_then(|at| at.checked_duration_since(Instant::now()))
        {
            let failure = self.failure();
            let mut failure = failure.unwrap_or_else(|| Failure::now("it ended", Vec::new()));
            let seconds = wait.as_secs() + 1;
            failure.message = format!("{} (the next try is in {seconds} s)", failure.message);
            return Err(failure);
        }
        match self.start_at(&self.options.endpoint, is_probe).run().await {
            Ok((connection, changes)) => {
                let connection = Arc::new(connection);
                state.connection = Some(connection.clone());
                state.started = Some(Instant::now());
                state.retry_at = None;
                *self.usage.lock() = Instant::now();
                self.learn(connection.definitions());
                tokio::spawn(watch_over(
                    Arc::downgrade(self),
                    connection.clone(),
                    changes,
                ));
                Ok(connection)
            }
            Err(failure) => {
                state.note_failure();
                self.fail(failure.clone());
                Err(failure)
            }
        }
    }

    /// Returns the start of the server at a place.
    fn start_at<'a>(&'a self, endpoint: &'a Endpoint, is_probe: bool) -> Start<'a> {
        let record = self.record.lock();
        let known = record.definitions.as_ref();
        Start {
            server: &self.options.name,
            endpoint,
            timeout: self.options.startup_timeout,
            is_legacy: !is_probe && known.is_some_and(|known| is_legacy(&known.protocol)),
            log: self.options.log.clone(),
            updates: self.watches.updates.clone(),
            stop: self.closing.child_token(),
        }
    }

    /// Stores what the server offers.
    fn learn(&self, definitions: Arc<Definitions>) {
        let mut record = self.record.lock();
        let new = Record {
            definitions: Some(definitions),
            failure: None,
            ..record.clone()
        };
        if *record == new {
            return;
        }
        *record = new;
        self.store(&record);
    }

    /// Stores a failure.
    fn fail(&self, failure: Failure) {
        tracing::warn!(
            server = self.options.name,
            "an MCP server failed: {failure}"
        );
        let mut record = self.record.lock();
        record.failure = Some(failure);
        self.store(&record);
    }

    fn store(&self, record: &Record) {
        if let Err(error) = record.write(&self.cache, &self.options.identity) {
            tracing::warn!(%error, "what an MCP server offers cannot be cached");
        }
        self.changes.send_modify(|changes| *changes += 1);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Ends the connection, which its own tasks keep alive.
        self.closing.cancel();
    }
}

impl State {
    /// Counts the end of a server that was ready. It is started again at once the first time, and
    /// with a delay if it ends again soon.
    fn note_early_end(&mut self) {
        if self.failures == 0 {
            self.failures = 1;
        } else {
            self.note_failure();
        }
    }

    /// Sets the time before which the server is not started again, after a start that failed.
    fn note_failure(&mut self) {
        let delay = FIRST_DELAY * 2_u32.saturating_pow(self.failures.min(10));
        self.failures += 1;
        self.retry_at = Some(Instant::now() + delay.min(MAX_DELAY));
    }
}

/// Returns true for a version of the protocol with `initialize`.
fn is_legacy(protocol: &str) -> bool {
    // Versions are dates.
    !protocol.is_empty() && protocol < "2026-07-28"
}

/// Follows a connection until its end: stops it when it is idle, and reads its list again when that
/// has changed.
async fn watch_over(server: Weak<Server>, connection: Arc<Connection>, mut changes: ListsFollowed) {
    if let Some(server) = server.upgrade() {
        server.renew_watches(&connection).await;
    }
    (&mut changes).await;
    let Some(mut list_changes) = Pin::new(&mut changes).take_output() else {
        return;
    };
    loop {
        let idle_at = match server.upgrade() {
            Some(server) => *server.usage.lock() + server.options.idle,
            None => return,
        };
        tokio::select! {
            biased;
            () = connection.ended() => break,
            () = list_changes.next() => {
                sleep(SETTLING).await;
                let definitions = timeout(REFRESH_TIMEOUT, connection.refresh()).await;
                let (Some(server), Ok(Ok(definitions))) = (server.upgrade(), definitions) else {
                    continue;
                };
                server.learn(definitions);
            }
            () = sleep_until(idle_at) => {
                let Some(server) = server.upgrade() else {
                    return;
                };
                let is_idle = server.calls.load(Ordering::Relaxed) == 0
                    && server.usage.lock().elapsed() >= server.options.idle;
                if is_idle {
                    tracing::debug!(server = server.options.name, "an idle MCP server is stopped");
                    return server.close().await;
                }
                if server.calls.load(Ordering::Relaxed) > 0 {
                    *server.usage.lock() = Instant::now();
                }
            }
        }
    }
    let Some(server) = server.upgrade() else {
        return;
    };
    if server.closing.is_cancelled() {
        return;
    }
    let is_ours = {
        let state = server.state.lock().await;
        let current = state.connection.as_ref();
        current.is_some_and(|current| Arc::ptr_eq(current, &connection))
    };
    // Otherwise it was closed on purpose.
    if is_ours {
        server.fail(connection.failure());
        let known = Arc::downgrade(&server);
        drop(server);
        start_again(known).await;
    }
}

/// Starts a server that ended again, with the usual delays, while its resources are watched. Boxed,
/// because the start follows its connection with [`watch_over`].
fn start_again(server: Weak<Server>) -> BoxFuture<'static, ()> {
    Box::pin(async move {
        loop {
            let Some(known) = server.upgrade() else {
                return;
            };
            if !known.is_watched().await {
                return;
            }
            let retry_at = known.state.lock().await.retry_at;
            drop(known);
            sleep_until(retry_at.unwrap_or_else(Instant::now)).await;
            let Some(server) = server.upgrade() else {
                return;
            };
            if server.closing.is_cancelled() || server.connect().await.is_ok() {
                return;
            }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_between_starts_grows_to_its_limit() {
        let mut state = State::default();
        let mut delays = Vec::new();
        for _ in 0..8 {
            let before = Instant::now();
            state.note_failure();
            let at = state.retry_at.expect("it is set");
            delays.push((at - before).as_secs_f64().round());
        }
        assert_eq!(delays, [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0, 60.0]);
    }

    #[test]
    fn a_server_that_was_ready_is_started_again_at_once_the_first_time() {
        let mut state = State::default();
        state.note_early_end();
        assert!(state.retry_at.is_none());
        state.note_early_end();
        assert!(state.retry_at.is_some());
    }

    #[test]
    fn the_protocol_decides_about_the_start() {
        assert!(is_legacy("2025-11-25"));
        assert!(!is_legacy("2026-07-28"));
        assert!(!is_legacy(""));
    }
}
