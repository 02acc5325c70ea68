//! The hosts behind one entry of `remote`: what they offer, and the connection with them.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::family::pinned::PinStore;
use haft_config::{Config, DEFAULT_TENANT, McpServer, Remote};
use haft_mcp::{Definitions, Failure, Pins, Record, Standing};
use haft_nats::{
    Auth, ConnectOptions, DEFAULT_SILENCE, Fleet, FleetLog, FleetOptions, HistoryNews,
    HistoryQuestion, HostInfo, Listing, MachineRoots, Queue, QueueCaller, QueueSettings,
    RemoteCall, TlsFiles, Unavailable, check_tenant, machine_name,
};
use haft_process::StateFolder;
use haft_process::atomic_file::Durability;
use haft_tool::{CallCtx, Error, ErrorKind, Outcome, since_1970};
use serde_json::json;

/// Time beyond the host's own grace period for a cancelled call to end.
const GRACE_MARGIN: Duration = Duration::from_secs(1);

/// Age up to which what is known is used without asking the hosts again.
const FRESH: Duration = Duration::from_secs(60);

/// Limit of the time for which a list waits for the hosts.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// Time for which further news are awaited.
const SETTLING: Duration = Duration::from_millis(100);

/// Delay before the hosts are followed again after a failure.
const FOLLOW_AGAIN: Duration = Duration::from_secs(5);

/// Time for which a host that was seen is missed, and the time after which that is noted again.
const MISSED: Duration = Duration::from_secs(24 * 3600);
const NOTED_AGAIN: Duration = Duration::from_secs(60);

/// Limits of the file with the hosts that were seen.
const MAX_SEEN: usize = 1024;
const MAX_SEEN_BYTES: u64 = 1 << 20;

/// Options of the connection with the hosts.
pub(super) struct RemoteOptions {
    /// Identity of the connection.
    pub(super) key: String,
    name: String,
    url: Option<url::Url>,
    fleet: FleetOptions,
    rules: McpServer,
    timeout: Option<Duration>,
}

/// List of what hosts offer, as it was made at one time.
struct HostListing {
    begun: Instant,
    result: Result<(), Failure>,
}

/// The hosts behind one entry.
pub(crate) struct RemoteHosts {
    options: RemoteOptions,
    fleet: Fleet,
    /// The queue of the hosts, if it was used.
    queue: tokio::sync::Mutex<Option<Queue>>,
    pins: PinStore,
    cache: StateFolder,
    /// Name of the files of what is known of these hosts.
    identity: String,
    record: Mutex<Record>,
    changes: watch::Sender<u64>,
    closing: CancellationToken,
    is_followed: Mutex<bool>,
    /// The last list. One is made at a time.
    listing: tokio::sync::Mutex<Option<HostListing>>,
    /// Folder of the hosts that were seen, outside of the folders whose changes are changes of tools.
    seen: StateFolder,
}

/// Reads an entry of the configuration.
pub(super) fn remote_of(
    config: &Config,
    name: &str,
    remote: &Remote,
    machine_roots: MachineRoots,
) -> Result<RemoteOptions, String> {
    let urls = remote.url.clone().ok_or("it has no `url`")?;
    let tenant = remote.tenant.clone();
    let tenant = tenant.unwrap_or_else(|| DEFAULT_TENANT.to_owned());
    check_tenant(&tenant).map_err(|error| error.message().to_owned())?;
    let auth = match (&remote.creds, &remote.nkey) {
        (Some(file), None) => Auth::CredsFile(file.clone()),
        (None, Some(file)) => Auth::NkeyFile(file.clone()),
        (None, None) => Auth::Address,
        (Some(_), Some(_)) => return Err("it has `creds` and `nkey`".to_owned()),
    };
    let tls = TlsFiles {
        ca: remote.ca.clone(),
        certificate: remote.certificate.clone(),
        key: remote.key.clone(),
    };
    let caller = machine_name();
    let silence = remote.silence.unwrap_or(DEFAULT_SILENCE);
    let identity = format!(
        "{:?} {urls} {tenant} {auth:?} {tls:?} {silence:?}",
        urls.all()
    );
    let identity = blake3::hash(identity.as_bytes()).to_hex();
    Ok(RemoteOptions {
        key: format!("{name} {identity}"),
        name: name.to_owned(),
        url: urls.all().first().cloned(),
        fleet: FleetOptions {
            connect: ConnectOptions {
                servers: urls.all().to_vec(),
                name: format!("haft on {caller}"),
                auth,
                tls,
                machine_roots,
            },
            tenant,
            caller,
            silence,
            grace: config.limits.grace + GRACE_MARGIN,
        },
        rules: McpServer {
            include: remote.include.clone(),
            exclude: remote.exclude.clone(),
            rename: remote.rename.clone(),
            prefix: remote.prefix.clone(),
            approval: remote.approval.clone(),
            trusted: remote.trusted,
            new_tools: remote.new_tools,
            ..McpServer::default()
        },
        timeout: remote.timeout,
    })
}

impl RemoteHosts {
    pub(super) fn new(
        options: RemoteOptions,
        [cache, pins]: &[StateFolder; 2],
        seen: StateFolder,
        changes: watch::Sender<u64>,
    ) -> Arc<RemoteHosts> {
        // New credentials are not a new remote: what is trusted stays.
        let shown = options.url.as_ref().map(|url| {
            let (host, port) = (url.host_str(), url.port());
            format!("{host:?} {port:?}")
        });
        let place = format!("{} {shown:?} {}", options.name, options.fleet.tenant);
        let place = blake3::hash(place.as_bytes()).to_hex();
        let identity = &place[..32];
        Arc::new(RemoteHosts {
            pins: PinStore::new(pins.clone(), identity, &options.name),
            record: Mutex::new(Record::read(cache, identity)),
            seen,
            cache: cache.clone(),
            identity: identity.to_owned(),
            fleet: Fleet::new(options.fleet.clone()),
            queue: tokio::sync::Mutex::default(),
            options,
            changes,
            closing: CancellationToken::new(),
            is_followed: Mutex::new(false),
            listing: tokio::sync::Mutex::default(),
        })
    }

    /// Returns the name in the configuration.
    pub(crate) fn name(&self) -> &str {
        &self.options.name
    }

    /// Returns the user's rules for the tools.
    pub(super) fn rules(&self) -> &McpServer {
        &self.options.rules
    }

    pub(super) fn pins(&self) -> &PinStore {
        &self.pins
    }

    pub(super) fn fleet(&self) -> &Fleet {
        &self.fleet
    }

    /// Returns the address, for the record of a call.
    pub(super) fn url(&self) -> Option<&url::Url> {
        self.options.url.as_ref()
    }

    pub(super) fn timeout(&self) -> Option<Duration> {
        self.options.timeout
    }

    /// Returns what the hosts offered when they were last asked.
    pub(crate) fn definitions(&self) -> Option<Arc<Definitions>> {
        self.record.lock().definitions.clone()
    }

    /// Returns the failure of the last time.
    pub(crate) fn failure(&self) -> Option<Failure> {
        self.record.lock().failure.clone()
    }

    /// Returns what differs from the trusted definitions.
    pub(crate) fn changes(&self) -> BTreeMap<String, Standing> {
        let (Some(definitions), Ok(Some(pins))) = (self.definitions(), self.pins.read()) else {
            return BTreeMap::new();
        };
        Pins::changes(&pins, &definitions)
    }

    /// Trusts what the hosts offer now.
    pub(crate) fn trust(&self) -> std::io::Result<()> {
        match self.definitions() {
            Some(definitions) => self.pins.replace(&definitions),
            None => self.pins.forget(),
        }
    }

    /// Returns the queue of the hosts, which is opened once.
    ///
    /// # Errors
    /// If the server cannot be reached, or keeps no calls.
    pub(crate) async fn queue(&self) -> Result<Queue, Error> {
        let mut queue = self.queue.lock().await;
        if let Some(queue) = &*queue {
            return Ok(queue.clone());
        }
        let client = self.fleet.client().await.map_err(Unavailable::from)?;
        let tenant = &self.fleet.options().tenant;
        let opened = Queue::open(&client, tenant, QueueSettings::default()).await?;
        Ok(queue.insert(opened).clone())
    }

    /// Puts a call into the queue of the hosts.
    pub(super) async fn put(&self, call: &RemoteCall<'_>, ctx: &CallCtx) -> Result<Outcome, Error> {
        let begun = Instant::now();
        let queue = self.queue().await?;
        let caller = QueueCaller {
            name: &self.options.fleet.caller,
            owner: None,
            has_user: true,
            scope: &ctx.scope,
            span: ctx.span.as_ref(),
            trace: ctx.trace.as_deref(),
        };
        let put = queue.put(call, caller).await;
        if let Err(error) = &put
            && error.kind() == ErrorKind::Unavailable
        {
            // What the server kept may have been removed, and is made anew then.
            *self.queue.lock().await = None;
        }
        let id = put?.id;
        if let Some(trace) = &ctx.trace {
            trace.put_into(&self.options.fleet.tenant);
        }
        let details = json!({"queued": {"id": id, "remote": self.name()}});
        Ok(Outcome {
            details,
            ..Outcome::success(format!("queued as {id}"), begun.elapsed())
        })
    }

    /// Asks the hosts for their logs of calls. Also returns the names of hosts that did not answer: those
    /// that are there, and those that were seen not long ago.
    ///
    /// # Errors
    /// If the server cannot be reached, or does not let this client read the logs.
    pub(crate) async fn history(
        &self,
        question: &HistoryQuestion,
    ) -> Result<(FleetLog, Vec<String>), Error> {
        let found = self.fleet.history(question).await?;
        let answered = found.logs.iter().map(|log| &log.host);
        let seen = self.note_seen(answered.chain(&found.silent));
        let mut silent: Vec<String> = { found.silent.iter() }
            .map(|host| host.name.clone())
            .collect();
        let is_known = |name: &String| found.logs.iter().any(|log| log.host.name == *name);
        silent.extend(seen.into_keys().filter(|name| !is_known(name)));
        silent.sort();
        silent.dedup();
        Ok((found, silent))
    }

    /// Follows what the hosts add to their logs of calls.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub(crate) async fn follow_history(&self) -> Result<HistoryNews, Error> {
        Ok(self.fleet.follow_history().await?)
    }

    /// Notes that hosts are there, for those who miss them later. Returns the hosts that were seen not long
    /// ago, with the times in seconds.
    fn note_seen<'a>(&self, hosts: impl Iterator<Item = &'a HostInfo>) -> BTreeMap<String, u64> {
        let file = format!("{}.json", self.identity);
        let known = self.seen.read(&file, MAX_SEEN_BYTES);
        let known = known.ok().flatten().unwrap_or_default();
        let known: BTreeMap<String, u64> = serde_json::from_slice(&known).unwrap_or_default();
        let now = since_1970().as_secs();
        let mut seen = known.clone();
        seen.retain(|_, at| *at + MISSED.as_secs() > now);
        let mut is_news = seen.len() != known.len();
        for host in hosts.take(MAX_SEEN) {
            let at = seen.entry(host.name.clone()).or_default();
            is_news |= *at + NOTED_AGAIN.as_secs() < now;
            *at = now;
        }
        if is_news {
            let bytes = serde_json::to_vec(&seen).map_err(std::io::Error::from);
            let written =
                bytes.and_then(|bytes| self.seen.replace(&file, &bytes, Durability::Unsynced));
            if let Err(error) = written {
                tracing::warn!(%error, "it cannot be noted which hosts were seen");
            }
        }
        seen
    }

    /// Ends the connection.
    pub(super) async fn close(&self) {
        self.closing.cancel();
        *self.queue.lock().await = None;
        self.fleet.close().await;
    }

    /// Learns what the hosts offer, unless that is known well enough; then follows their changes.
    pub(super) async fn look(self: &Arc<RemoteHosts>) {
        let is_followed = *self.is_followed.lock();
        if !is_followed {
            let stored = Record::read(&self.cache, &self.identity);
            if stored.definitions.is_some() || stored.failure.is_some() {
                *self.record.lock() = stored;
            }
            let age = Record::age(&self.cache, &self.identity);
            if age.is_none_or(|age| age > FRESH) {
                // A failure is in the record.
                let _ = self.list().await;
            }
        }
        self.follow();
    }

    /// Asks the hosts what they offer, and keeps it.
    ///
    /// # Errors
    /// If they cannot be asked.
    pub(crate) async fn list(&self) -> Result<(), Failure> {
        self.list_since(Instant::now()).await
    }

    /// As [`list`](RemoteHosts::list), but a list that was begun after that time is enough. So one list serves
    /// all that wait for it.
    pub(super) async fn list_since(&self, time: Instant) -> Result<(), Failure> {
        let mut last = self.listing.lock().await;
        if let Some(last) = last.as_ref().filter(|last| last.begun >= time) {
            return last.result.clone();
        }
        let begun = Instant::now();
        let result = self.make_list().await;
        let listing = last.insert(HostListing { begun, result });
        listing.result.clone()
    }

    async fn make_list(&self) -> Result<(), Failure> {
        let listed = match timeout(LIST_TIMEOUT, self.fleet.list()).await {
            Ok(Ok(listing)) if listing.offers.is_empty() => Err(match listing.faults.first() {
                Some(fault) => fault.clone(),
                None => format!("no host serves the tenant `{}`", self.options.fleet.tenant),
            }),
            Ok(listed) => listed.map_err(|error| error.to_string()),
            Err(_) => Err(format!("no answer in {} s", LIST_TIMEOUT.as_secs())),
        };
        let (record, result) = match listed {
            Ok(listing) => {
                self.note_seen(listing.offers.iter().flat_map(|offer| &offer.hosts));
                (
                    Record::new(Some(Arc::new(self.definitions_of(listing))), None),
                    Ok(()),
                )
            }
            Err(message) => {
                let failure = Failure::now(message, Vec::new());
                // What was offered before is still known.
                let record = Record::new(self.definitions(), Some(failure.clone()));
                (record, Err(failure))
            }
        };
        self.keep(record);
        result
    }

    /// Returns each tool once. If hosts define it in different ways, the trusted definition counts, or
    /// else the first.
    fn definitions_of(&self, listing: Listing) -> Definitions {
        let pins = self.pins.read().ok().flatten().unwrap_or_default();
        let mut merged = Definitions::of([]);
        // The tools of a host that could not be asked are those of the last time.
        let is_complete = listing.faults.is_empty();
        merged.faults = listing.faults;
        let mut differing = Vec::new();
        for offer in listing.offers {
            let names: Vec<&str> = offer.hosts.iter().map(|host| host.name.as_str()).collect();
            let by = haft_tool::visible::line(&names.join(", ")).into_owned();
            let offered = Definitions::of(offer.tools);
            let faults = offered.faults.into_iter().take(10);
            merged
                .faults
                .extend(faults.map(|fault| format!("host `{by}`: {fault}")));
            for tool in offered.tools {
                let known = merged
                    .tools
                    .iter_mut()
                    .find(|known| known.name == tool.name);
                match known {
                    None => merged.tools.push(tool),
                    Some(known) if known.digest() == tool.digest() => {}
                    Some(known) => {
                        differing.push(tool.name.clone());
                        if pins.standing(&tool) == Standing::Trusted {
                            *known = tool;
                        }
                    }
                }
            }
        }
        if !is_complete && let Some(before) = self.definitions() {
            let tools = before.tools.iter();
            let missing = tools.filter(|tool| merged.tool(&tool.name).is_none());
            let missing: Vec<_> = missing.cloned().collect();
            merged.tools.extend(missing);
        }
        differing.sort();
        differing.dedup();
        for name in differing.iter().take(10) {
            let name = haft_tool::visible::name(name);
            let text =
                format!("hosts define `{name}` in different ways; calls reach those with one");
            merged.faults.push(text);
        }
        merged
    }

    fn keep(&self, record: Record) {
        let is_news = {
            let mut known = self.record.lock();
            let text = |record: &Record| record.failure.as_ref().map(|found| found.message.clone());
            let is_news = known.definitions != record.definitions || text(&known) != text(&record);
            *known = record.clone();
            is_news
        };
        // Also without news: the age counts.
        if let Err(error) = record.write(&self.cache, &self.identity) {
            tracing::warn!(%error, "what other hosts offer cannot be cached");
        }
        if is_news {
            self.changes.send_modify(|changes| *changes += 1);
        }
    }

    /// Follows the changes of the hosts' offers, in a task of its own.
    fn follow(self: &Arc<RemoteHosts>) {
        if std::mem::replace(&mut *self.is_followed.lock(), true) {
            return;
        }
        let (hosts, closing) = (Arc::downgrade(self), self.closing.clone());
        tokio::spawn(async move {
            tokio::select! {
                () = follow_news(&hosts) => {}
                () = closing.cancelled() => {}
            }
        });
    }
}

/// Lists the hosts again when one of them says that something has changed, until they are not used any more.
async fn follow_news(used: &Weak<RemoteHosts>) {
    while let Some(hosts) = used.upgrade() {
        let news = hosts.fleet.news().await;
        // What has changed before. A failure is in the record.
        let _ = hosts.list().await;
        drop(hosts);
        let Ok(mut news) = news else {
            sleep(FOLLOW_AGAIN).await;
            continue;
        };
        // A host that was killed says nothing.
        while let Ok(Some(_)) | Err(_) = timeout(FRESH, news.next()).await {
            sleep(SETTLING).await;
            while news.is_waiting() {
                news.next().await;
            }
            let Some(hosts) = used.upgrade() else {
                return;
            };
            let _ = hosts.list().await;
        }
    }
}

impl Drop for RemoteHosts {
    fn drop(&mut self) {
        self.closing.cancel();
    }
}
