//! A call: its tool is found, and it runs to its end, whatever that is.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::{Host, RunningCall, SHUT_DOWN, abort, pace};
use crate::error::{Error, ErrorKind};
use crate::execute::{Terms, execute};
use crate::family::exec::ikigai;
use crate::family::js::RESOLVE;
use crate::registry::{Catalog, Entry};
use crate::tool::{Call, Event, Outcome, Stopped, Test, queue};

impl Host {
    /// Starts a call. `timeout` overrides the configured one.
    pub fn call(&self, call: Call, timeout: Option<Duration>) -> RunningCall {
        self.start(call, timeout, None)
    }

    /// Starts one of the tests that `entry` brings, under the same rules as a call of it.
    pub fn test(&self, entry: &Entry, test: &Test) -> RunningCall {
        let runs = Entry {
            tool: entry.tool.clone(),
            resolved_path: entry.resolved_path.clone(),
            runner: test.runner.clone(),
        };
        let call = Call {
            id: test.name.clone(),
            tool: entry.tool.name.clone(),
            arguments: RawValue::NULL.to_owned(),
        };
        self.start(call, None, Some(Arc::new(runs)))
    }

    /// `entry`: what runs, where it is not the tool of that name.
    fn start(
        &self,
        call: Call,
        timeout: Option<Duration>,
        entry: Option<Arc<Entry>>,
    ) -> RunningCall {
        let (sender, events) = queue::channel();
        let (cancel, token) = (CancellationToken::new(), self.0.closing.child_token());
        let timeout = timeout.or(self.0.config.limits.call_timeout);
        // A deadline must hold even if nobody looks, and looking for tools takes its time.
        let wants_task = timeout.is_some() || !self.is_scanned();
        let (host, asked) = (self.clone(), cancel.clone());
        let known = abort::Known::new(self, &call.id, &cancel);
        let (pace, runs) = (self.0.pace.clone(), pace::Running::begin(&self.0.pace));
        let running = async move {
            let (_known, _runs) = (known, runs);
            // Pinned first: what wraps it then moves a pointer, and not all that a call holds.
            let running = pin!(host.run(call, entry, timeout, token.clone(), sender));
            // Nothing that a call does unwinds into the program around us.
            let running = AssertUnwindSafe(running).catch_unwind();
            let running = running.map(|ended| ended.unwrap_or_else(|_| Err(defect())));
            tokio::pin!(running);
            let ended = tokio::select! {
                biased;
                ended = &mut running => ended,
                () = asked.cancelled() => {
                    token.cancel();
                    running.await
                }
            };
            if host.0.closing.is_cancelled() && !asked.is_cancelled() {
                by_shutdown(ended)
            } else {
                ended
            }
        };
        RunningCall::start(Box::pin(running), events, cancel, pace, wants_task)
    }

    /// Finds the tool and runs it; `token` ends it.
    async fn run(
        &self,
        call: Call,
        entry: Option<Arc<Entry>>,
        timeout: Option<Duration>,
        token: CancellationToken,
        sender: queue::Sender<Event>,
    ) -> Result<Outcome, Error> {
        let _running = self.0.calls.read().await;
        let entry = match entry {
            Some(entry) => Ok(entry),
            None => tokio::select! {
                biased;
                entry = self.entry(&call.tool) => entry,
                () = token.cancelled() => Err(cancelled_while_loading(&call.tool)),
            },
        };
        let entry = match entry {
            Ok(entry) => tokio::select! {
                biased;
                () = entry.runner.ready() => Ok(entry),
                () = token.cancelled() => Err(cancelled_while_loading(&call.tool)),
            },
            error => error,
        };
        match entry {
            Ok(entry) => {
                let terms = Terms {
                    timeout,
                    cancel: token,
                    policy: self
                        .1
                        .approval
                        .as_deref()
                        .unwrap_or(&self.0.config.approval),
                    approver: self.1.approver.clone(),
                    ui: self.1.ui.clone().or_else(|| self.0.default_user.get()),
                    log: self.1.log.clone(),
                    spill: &self.0.spill,
                };
                execute(&entry.tool, &*entry.runner, call, terms, sender).await
            }
            Err(error) if Box::pin(self.has_departed(&call.tool, &error)).await => {
                sender.send(Event::Finished);
                Ok(ikigai::no_longer_there())
            }
            Err(error) => {
                // Nobody has to listen.
                sender.send(Event::Rejected {
                    text: error.message().to_owned(),
                });
                Err(error)
            }
        }
    }

    /// Checks a call's arguments without running anything.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`] or [`ErrorKind::BadArguments`] with every problem in the text.
    pub async fn validate(&self, call: &Call) -> Result<(), Error> {
        self.entry(&call.tool).await?.runner.check(call).await
    }

    pub(super) async fn entry(&self, name: &str) -> Result<Arc<Entry>, Error> {
        if self.0.closing.is_cancelled() {
            return Err(Error::new(
                ErrorKind::Stopped(Stopped::HostShutdown),
                SHUT_DOWN,
            ));
        }
        let catalog = self.catalog_for_calls().await;
        if let Some(entry) = catalog.find(name) {
            return Ok(entry.clone());
        }
        if name == RESOLVE
            && self.0.engine.offers_pending()
            && let Some(resolver) = Box::pin(self.resolver()).await
        {
            return Ok(resolver);
        }
        Err(no_such_tool(name, &catalog))
    }
}

fn defect() -> Error {
    let text = "the call met a defect of haft, or of what the program gave it: it panicked";
    Error::new(ErrorKind::Internal, text)
}

/// What a call came to that was not cancelled for itself.
fn by_shutdown(mut ended: Result<Outcome, Error>) -> Result<Outcome, Error> {
    match &mut ended {
        Ok(outcome) => {
            let stopped = &mut outcome.stopped;
            *stopped = stopped.map(|why| why.max(Stopped::HostShutdown));
            ended
        }
        Err(error) if error.kind() == ErrorKind::Stopped(Stopped::Cancelled) => Err(Error::new(
            ErrorKind::Stopped(Stopped::HostShutdown),
            error.message(),
        )),
        Err(_) => ended,
    }
}

fn cancelled_while_loading(name: &str) -> Error {
    let text = format!("the call of `{name}` was cancelled while the tools were loading");
    Error::new(ErrorKind::Stopped(Stopped::Cancelled), text)
}

fn no_such_tool(name: &str, catalog: &Catalog) -> Error {
    // The words are the original's (spec omp 7).
    let nearest = catalog.nearest(name);
    let suffix = match nearest.as_slice() {
        [] => String::new(),
        [one] => format!(". Did you mean {one}?"),
        several => format!(". Closest available: {}", several.join(", ")),
    };
    let error = Error::new(
        ErrorKind::NoSuchTool,
        format!("Tool {name} not found{suffix}"),
    );
    if catalog.entries.is_empty() {
        error.with_hint("no tools were found; `haft doctor` shows where haft looked")
    } else {
        error
    }
}
