//! Serves the tools of a host to other hosts, over NATS.
//!
//! The host decides about rights, approval and limits, as for every other caller. Questions go to the
//! person at the calling host, if there is one.

mod definition;
mod history;
mod sharing;
mod user;

use std::future::pending;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use tokio::sync::{Mutex, watch};

use crate::audit::ServedCall;
use crate::host::Host;
use crate::surface::traces;
use haft_nats::{
    CallLink, HistoryFeed, HistoryPage, HistoryQuestion, IncomingCall, OfferedTool, Provider,
};
use haft_tool::{
    Call, CallerScope, CatalogChange, Error, ErrorKind, Event, LogLine, LogListener, Outcome, Tool,
};
pub(crate) use history::NatsPlace;
use history::SharedLog;
pub(crate) use sharing::{PeerRequests, QueuedBy, Sharing, connect, open_queue, service_options};
use user::{Once, RemoteUser};

/// A host as it serves others.
pub(crate) struct NatsSurface {
    /// Its scope is that of all callers.
    host: Host,
    /// Set if other hosts may forward requests.
    is_shared: bool,
    /// Answers these requests.
    peers: OnceLock<Arc<dyn PeerRequests>>,
    changes: Mutex<watch::Receiver<Arc<CatalogChange>>>,
    place: NatsPlace,
    log: SharedLog,
    report: fn(&str),
}

/// Sends the log lines of a call to its caller.
#[derive(Clone)]
struct LogSink(CallLink);

impl std::fmt::Debug for LogSink {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("LogSink")
    }
}

impl LogListener for LogSink {
    fn hear(&self, line: LogLine) {
        self.0.log(line);
    }
}

impl NatsSurface {
    /// Serves the selected tools of a host. `report` tells the user about problems.
    pub(crate) fn new(
        host: Host,
        selection: CallerScope,
        place: NatsPlace,
        report: fn(&str),
    ) -> NatsSurface {
        let address = place.address.clone();
        let host = host.called_by(|caller| caller.address = Some(address));
        let host = host.within(&selection.of_tenant(&place.tenant));
        NatsSurface {
            changes: Mutex::new(host.changes()),
            log: SharedLog::of(&host, &place),
            place,
            host,
            is_shared: false,
            peers: OnceLock::new(),
            report,
        }
    }

    /// Takes requests that other hosts forward, too.
    fn shared(mut self) -> NatsSurface {
        self.is_shared = true;
        self
    }

    /// Returns true if other hosts may call the tool. Tools of other hosts are left to them, because
    /// two hosts would pass a call back and forth.
    fn offers(&self, tool: &Tool) -> bool {
        let is_open = tool.trusted && !tool.hidden && tool.schema_problem.is_none();
        is_open && self.host.scope().allows(tool)
    }
}

#[async_trait]
impl Provider for NatsSurface {
    async fn tools(&self) -> Vec<OfferedTool> {
        let catalog = self.host.catalog().await;
        let tools = catalog.tools().filter(|tool| self.offers(tool));
        tools.map(definition::offered).collect()
    }

    async fn changed(&self) {
        if self.changes.lock().await.changed().await.is_err() {
            // The host has ended.
            pending().await
        }
    }

    async fn call(&self, call: IncomingCall) -> Result<Outcome, Error> {
        let catalog = self.host.catalog().await;
        let tool = catalog.find(&call.tool);
        if !tool.is_some_and(|entry| self.offers(&entry.tool)) {
            let text = format!("there is no tool `{}`", call.tool);
            return Err(Error::new(ErrorKind::NoSuchTool, text));
        }
        let link = call.link;
        let host = traces::below(self.host.within(&call.scope), call.trace)
            .called_by(|caller| caller.client = Some(call.caller))
            .serving(ServedCall {
                host: self.place.name.clone(),
                tenant: self.place.tenant.clone(),
                is_queued: call.is_queued,
                trace: call.log_trace,
            })
            .with_ui(Arc::new(RemoteUser(link.clone())))
            .with_log(Arc::new(LogSink(link.clone())))
            // The caller's host keeps long texts where its user can read them.
            .with_text_limit(0);
        let host = match host.approver() {
            Some(approver) => host.asking(Arc::new(Once(approver))),
            None => host,
        };
        let timeout = host.timeout_within(&call.tool, call.timeout);
        let mut running = host.call(
            Call {
                id: call.id,
                tool: call.tool,
                arguments: call.arguments,
            },
            timeout,
        );
        let (theirs, ours) = (call.cancellation, running.cancellation());
        let (mut is_cancelled, mut is_killed) = (false, false);
        loop {
            tokio::select! {
                biased;
                event = running.next_event() => match event {
                    Event::Started => {}
                    Event::Update(update) => link.update(update),
                    Event::Finished(ended) => return ended,
                },
                () = theirs.requested(), if !is_cancelled => {
                    is_cancelled = true;
                    if let Some(why) = theirs.reason() {
                        ours.request(why);
                    }
                }
                () = theirs.force_token().cancelled(), if !is_killed => {
                    is_killed = true;
                    ours.kill();
                }
            }
        }
    }

    fn takes_forwarded(&self) -> bool {
        self.is_shared
    }

    async fn forwarded(&self, request: IncomingCall) -> Result<Outcome, Error> {
        match self.peers.get() {
            Some(peers) => peers.answer(request).await,
            None => {
                let text = "this host has no calls of other hosts";
                Err(Error::new(ErrorKind::Usage, text))
            }
        }
    }

    fn report(&self, problem: &str) {
        (self.report)(problem);
    }

    fn history(&self, question: &HistoryQuestion) -> HistoryPage {
        self.log.page(question)
    }

    fn follow_history(&self) -> Option<HistoryFeed> {
        self.log.feed()
    }
}
