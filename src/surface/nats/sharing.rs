//! Sharing of the HTTP servers of several hosts by one NATS server: queued calls, and requests about
//! calls that another host has.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::value::RawValue;

use super::{NatsPlace, NatsSurface, definition};
use crate::host::{Host, machine_roots, no_such_tool};
use haft_config::ServeNats;
use haft_nats::{
    Auth, Client, ConnectOptions, Fleet, FleetOptions, InboxPrefix, IncomingCall, Queue,
    QueueCaller, QueueSettings, QueuedCall, Quota, RemoteCall, Service, ServiceOptions, TlsFiles,
    check_tenant, machine_name,
};
use haft_tool::{Call, CallCtx, CallerScope, Error, ErrorKind, Outcome};

/// A host of a tenant, as its HTTP server uses it.
pub(crate) struct Sharing {
    name: String,
    surface: Arc<NatsSurface>,
    service: Service,
    fleet: Fleet,
    /// The queue, or the reason for which there is none.
    queue: Result<Queue, String>,
}

/// Answers requests that other hosts forward.
#[async_trait]
pub(crate) trait PeerRequests: Send + Sync {
    /// Answers a request: the details of the outcome are the answer.
    async fn answer(&self, request: IncomingCall) -> Result<Outcome, Error>;
}

/// The client that queues a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct QueuedBy<'a> {
    /// Its id. Other clients do not see the call.
    pub(crate) owner: &'a str,
    /// True if it answers questions.
    pub(crate) answers: bool,
}

impl Sharing {
    /// Offers the tools of a host, as the settings say. `None` if they do not say so. `report` tells the
    /// user about problems.
    ///
    /// # Errors
    /// If the server cannot be reached.
    pub(crate) async fn of(
        host: &Host,
        selection: CallerScope,
        report: fn(&str),
    ) -> Result<Option<Arc<Sharing>>, Error> {
        let settings = &host.config().serve.nats;
        if !settings.share {
            return Ok(None);
        }
        let (client, name) = connect(settings).await?;
        let opened = open_queue(&client, settings, report).await;
        let queue = opened.clone().map(|(queue, _)| queue);
        let options = service_options(settings, &name, opened.ok())?;
        let fleet = FleetOptions {
            connect: options_of(settings, &name)?,
            tenant: settings.tenant.clone(),
            caller: name.clone(),
            silence: settings.caller_silence,
            grace: host.config().limits.grace,
        };
        let place = NatsPlace::of(settings, &name);
        let own = host.called_by(|caller| caller.surface = "nats".to_owned());
        let surface = NatsSurface::new(own, selection, place, report).shared();
        let surface = Arc::new(surface);
        let service = Service::start(&client, options, surface.clone()).await;
        Ok(Some(Arc::new(Sharing {
            name,
            surface,
            service,
            fleet: Fleet::over(&client, fleet),
            queue,
        })))
    }

    /// Returns the id of this host, which is new with each start.
    pub(crate) fn host_id(&self) -> &str {
        &self.service.host().id
    }

    /// Returns the queue.
    ///
    /// # Errors
    /// [`ErrorKind::Unavailable`] if there is none.
    pub(crate) fn queue(&self) -> Result<&Queue, Error> {
        self.queue.as_ref().map_err(|why| {
            let text = format!("this server has no queue: {why}");
            Error::new(ErrorKind::Unavailable, text)
        })
    }

    /// Queues a call of a tool of this host, which any host with the same definition may run. `None` if
    /// the tool is not offered to other hosts.
    ///
    /// # Errors
    /// If the server does not take it.
    pub(crate) async fn put(
        &self,
        host: &Host,
        call: &Call,
        timeout: Option<Duration>,
        by: QueuedBy<'_>,
    ) -> Result<Option<QueuedCall>, Error> {
        let catalog = host.catalog_for_calls().await;
        let Some(entry) = catalog.find(&call.tool) else {
            return Ok(None);
        };
        if host.reach(entry).is_none() {
            return Err(no_such_tool(&call.tool, &[]));
        }
        if !self.surface.offers(&entry.tool) {
            return Ok(None);
        }
        let offered = definition::offered(&entry.tool);
        let remote = RemoteCall {
            tool: &offered.name,
            digest: &offered.digest,
            arguments: call.arguments.clone(),
            is_idempotent: offered.is_idempotent(),
            timeout,
        };
        let caller = QueueCaller {
            name: &self.name,
            owner: Some(by.owner),
            has_user: by.answers,
            scope: host.scope(),
            span: host.caller_span(),
            trace: None,
        };
        self.queue()?.put(&remote, caller).await.map(Some)
    }

    /// Sends a request to the host that has a call. The details of the outcome are the answer.
    ///
    /// # Errors
    /// [`ErrorKind::Lost`] if it is gone.
    pub(crate) async fn forward(
        &self,
        host: &str,
        request: Box<RawValue>,
        ctx: &CallCtx,
    ) -> Result<Outcome, Error> {
        self.fleet.forward(host, request, ctx).await
    }

    /// Sets what answers the requests of other hosts.
    pub(crate) fn answer_with(&self, peers: Arc<dyn PeerRequests>) {
        // One server of a process answers.
        let _ = self.surface.peers.set(peers);
    }

    /// Takes no new calls of other hosts, and none from the queue.
    pub(crate) async fn take_no_more(&self) {
        self.service.take_no_more().await;
    }

    /// Waits until the calls of other hosts and of the queue have ended.
    pub(crate) async fn calls_ended(&self) {
        self.service.calls_ended().await;
    }
}

/// Connects with the server of the settings. Returns the name of this host, too.
///
/// # Errors
/// If the settings are not complete, or the server does not accept the host.
pub(crate) async fn connect(settings: &ServeNats) -> Result<(Client, String), Error> {
    check_tenant(&settings.tenant)?;
    let name = settings.name.clone().unwrap_or_else(machine_name);
    let client = Client::connect(options_of(settings, &name)?).await;
    let client = client.map_err(|error| {
        let text = format!("no connection with the NATS server: {error}");
        let hint = "start it, or correct the address, the credentials or the certificates";
        Error::new(ErrorKind::Unavailable, text).with_hint(hint)
    })?;
    Ok((client, name))
}

fn options_of(settings: &ServeNats, name: &str) -> Result<ConnectOptions, Error> {
    let urls = settings.url.as_ref().ok_or_else(|| {
        let text = "the address of the NATS server is missing";
        let hint = "--url nats://HOST:4222, or `serve.nats.url` in the configuration";
        Error::new(ErrorKind::Usage, text).with_hint(hint)
    })?;
    let auth = match (&settings.creds, &settings.nkey) {
        (Some(file), None) => Auth::CredsFile(file.clone()),
        (None, Some(file)) => Auth::NkeyFile(file.clone()),
        (None, None) => Auth::Address,
        (Some(_), Some(_)) => {
            let text = "`serve.nats` has `creds` and `nkey`";
            let hint = "leave one of them out";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
    };
    Ok(ConnectOptions {
        servers: urls.all().to_vec(),
        name: format!("haft host {name}"),
        auth,
        tls: TlsFiles {
            ca: settings.ca.clone(),
            certificate: settings.certificate.clone(),
            key: settings.key.clone(),
        },
        machine_roots: machine_roots(),
    })
}

/// Returns the options of the service of a host with that name.
///
/// # Errors
/// If the settings have a prefix of inboxes that is not one.
pub(crate) fn service_options(
    settings: &ServeNats,
    name: &str,
    queue: Option<(Queue, usize)>,
) -> Result<ServiceOptions, Error> {
    Ok(ServiceOptions {
        inbox: InboxPrefix::parse(&settings.inbox)?,
        queue,
        tenant: settings.tenant.clone(),
        name: name.to_owned(),
        version: env!("CARGO_PKG_VERSION").to_owned(),
        max_calls: usize::try_from(settings.calls).unwrap_or(usize::MAX),
        caller_silence: settings.caller_silence,
    })
}

/// Opens the queue whose calls are run too, with the number of them at the same time. `report` tells the
/// user if the server does not let this host use it; the host serves the other calls.
///
/// # Errors
/// The reason for which there is none.
pub(crate) async fn open_queue(
    client: &Client,
    settings: &ServeNats,
    report: fn(&str),
) -> Result<(Queue, usize), String> {
    let calls = usize::try_from(settings.queue).unwrap_or(usize::MAX);
    if calls == 0 || !client.keeps_calls() {
        return Err("`serve.nats.queue` is 0, or the server has no JetStream".to_owned());
    }
    let queue_settings = QueueSettings {
        quota: Quota::Calls(settings.queue_per_client),
        ..QueueSettings::default()
    };
    match Queue::open(client, &settings.tenant, queue_settings).await {
        Ok(queue) => Ok((queue, calls)),
        Err(error) => {
            let why = error.message();
            report(&format!("no queued calls are taken: {why}"));
            Err(why.to_owned())
        }
    }
}
