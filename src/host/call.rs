//! Calls: finds the tool and runs it until the call has ended.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::call_future::{InlineCall, Running};
use super::recording::{self, Recording};
use super::{CancelHandle, Host, RunningCall, SHUT_DOWN, active_calls, spin_wait};
use crate::execute::{CallPolicy, execute};
use crate::family::exec::ikigai;
use crate::family::js::RESOLVE;
use crate::registry::{Catalog, Entry};
use haft_tool::{Call, CallTrace, Event, Level, Outcome, Stopped, Test, queue};
use haft_tool::{Error, ErrorKind};

impl Host {
    /// Starts a call. `timeout` overrides the configured one.
    pub fn call(&self, call: Call, timeout: Option<Duration>) -> RunningCall {
        self.start(call, timeout, None)
    }

    /// Makes a call of which only the outcome is used. It starts when it is first polled, and
    /// `stopper` ends it. `entry` is the tool, if the caller has found it.
    pub(crate) fn outcome_of(
        &self,
        call: Call,
        entry: Option<Arc<Entry>>,
        stopper: CancelHandle,
    ) -> InlineCall {
        let timeout = self.usual_timeout(entry.as_deref());
        let running = self.begin(call, timeout, entry, &stopper, queue::unheard());
        InlineCall::new(running, stopper, self.inner.call_spin.clone())
    }

    /// Starts `test`, one of the tests of `entry`, under the same rules as a call of it.
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

    /// Starts a call. `entry` is what runs, if it is not the tool of that name.
    fn start(
        &self,
        call: Call,
        timeout: Option<Duration>,
        entry: Option<Arc<Entry>>,
    ) -> RunningCall {
        let (events, heard) = queue::channel();
        let entry = entry.or_else(|| self.known_entry(&call.tool));
        let timeout = timeout.or_else(|| self.usual_timeout(entry.as_deref()));
        // A deadline must hold even if the call is not polled, and a search for tools takes time.
        let wants_task = timeout.is_some() || entry.is_none();
        let stopper = CancelHandle::new();
        let running = self.begin(call, timeout, entry, &stopper, events);
        RunningCall::start(
            running,
            heard,
            stopper,
            self.inner.call_spin.clone(),
            wants_task,
        )
    }

    /// Returns the configured timeout of calls of that tool.
    fn usual_timeout(&self, entry: Option<&Entry>) -> Option<Duration> {
        let config = &self.inner.config;
        match entry.map(|entry| entry.tool.source.level) {
            Some(Level::Project) => config.limits_of(Level::Project).call_timeout,
            Some(Level::User | Level::Host) | None => config.limits.call_timeout,
        }
    }

    /// Registers a call and returns its future, which is not polled yet.
    fn begin(
        &self,
        call: Call,
        timeout: Option<Duration>,
        entry: Option<Arc<Entry>>,
        stopper: &CancelHandle,
        events: queue::Sender<Event>,
    ) -> Running {
        let known = active_calls::ActiveCallGuard::new(self, &call.id, stopper);
        let runs = spin_wait::Running::begin(&self.inner.call_spin);
        let (host, stops) = (self.clone(), stopper.clone());
        let recording = self.record(&call);
        let running = async move {
            let (_known, _runs, _ending) = (known, runs, events.end_on_drop());
            let trace = recording.as_ref().map(|recording| recording.trace.clone());
            let running = host.run(call, entry, timeout, &stops, events, trace.clone());
            // Pinned first, so that wrapping it moves a pointer and not the whole future.
            let running = pin!(recording::traced(trace, running));
            // A panic of a call must not unwind into the embedding program.
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            let ended = ended.unwrap_or_else(|_| Err(defect()));
            // The reason is missing if the caller fired the token.
            let ended = match stops.cancellation().get() {
                Some(_) if host.inner.closing.is_cancelled() => by_shutdown(ended),
                _ => ended,
            };
            if let Some(recording) = recording {
                Recording::end(recording, &ended);
            }
            ended
        };
        Box::pin(running)
    }

    /// Finds the tool if necessary, and runs it. `stopper` ends it.
    async fn run(
        &self,
        call: Call,
        entry: Option<Arc<Entry>>,
        timeout: Option<Duration>,
        stopper: &CancelHandle,
        events: queue::Sender<Event>,
        trace: Option<Arc<CallTrace>>,
    ) -> Result<Outcome, Error> {
        // Boxed, because most calls do not need the room of this future.
        let entry = match entry {
            Some(entry) => Some(Ok(entry)),
            None => Box::pin(self.entry_unless(&call.tool, &stopper.token())).await,
        };
        let entry = match entry {
            // A host that has ended must not start calls, because it would not end them.
            Some(Ok(_)) if self.inner.closing.is_cancelled() => Some(Err(shut_down())),
            Some(Ok(entry)) => ready(entry, stopper).await.map(Ok),
            other => other,
        };
        let Some(entry) = entry else {
            events.finish(Event::Finished);
            let why = stopper.cancellation().get().copied();
            return Ok(Outcome::not_started(why.unwrap_or(Stopped::Cancelled)));
        };
        match entry {
            Ok(entry) => {
                if let Some(trace) = &trace {
                    trace.runs(&entry.tool, self.grant_of(&entry.tool));
                }
                let terms = CallPolicy {
                    trace,
                    timeout,
                    cancellation: stopper.cancellation().clone(),
                    policy: self
                        .options
                        .approval
                        .as_deref()
                        .unwrap_or(&self.inner.config.approval),
                    approver: self.options.approver.clone(),
                    ui: self
                        .options
                        .ui
                        .clone()
                        .or_else(|| self.inner.default_user.get()),
                    log: self.options.log.clone(),
                    spill: &self.inner.spill,
                    text_limit: self.options.text_limit,
                };
                execute(&entry.tool, &*entry.runner, call, terms, events).await
            }
            Err(error) if Box::pin(self.has_departed(&call.tool, &error)).await => {
                events.finish(Event::Finished);
                Ok(ikigai::no_longer_there())
            }
            Err(error) => {
                // The events may have no receiver.
                events.finish(Event::Rejected {
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

    /// Returns the tool of that name, if it is known without waiting.
    fn known_entry(&self, name: &str) -> Option<Arc<Entry>> {
        self.known_catalog()?.find(name).cloned()
    }

    /// Returns the tool of that name; `None` if the call is cancelled before the tool is known. The
    /// tools go on loading then, because the next call needs them.
    async fn entry_unless(
        &self,
        name: &str,
        cancel: &CancellationToken,
    ) -> Option<Result<Arc<Entry>, Error>> {
        let (host, tool) = (self.clone(), name.to_owned());
        let entry = tokio::spawn(async move {
            tokio::select! {
                biased;
                () = host.inner.closing.cancelled() => Err(shut_down()),
                entry = host.entry(&tool) => entry,
            }
        });
        tokio::select! {
            biased;
            () = cancel.cancelled() => None,
            entry = entry => Some(entry.unwrap_or_else(|_| Err(defect()))),
        }
    }

    pub(super) async fn entry(&self, name: &str) -> Result<Arc<Entry>, Error> {
        if self.inner.closing.is_cancelled() {
            return Err(shut_down());
        }
        let catalog = self.catalog_for_calls().await;
        if let Some(entry) = catalog.find(name) {
            return Ok(entry.clone());
        }
        if name == RESOLVE
            && self.inner.engine.offers_pending()
            && let Some(resolver) = self.resolver().await
        {
            return Ok(resolver);
        }
        Err(no_such_tool(name, &catalog))
    }
}

/// Returns the tool once it can be called; `None` if the call is cancelled before.
async fn ready(entry: Arc<Entry>, stopper: &CancelHandle) -> Option<Arc<Entry>> {
    let is_ready = match entry.runner.prepare_runner() {
        None => true,
        Some(prepare_runner) => tokio::select! {
            biased;
            () = stopper.cancellation().requested() => false,
            () = prepare_runner => true,
        },
    };
    is_ready.then_some(entry)
}

fn shut_down() -> Error {
    Error::new(ErrorKind::Stopped(Stopped::HostShutdown), SHUT_DOWN)
}

fn defect() -> Error {
    let text = "the call met a defect of haft, or of what the program gave it: it panicked";
    Error::new(ErrorKind::Internal, text)
}

/// Replaces the reason of a stopped call by the shutdown of the host.
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

fn no_such_tool(name: &str, catalog: &Catalog) -> Error {
    // The wording is oh-my-pi's (spec omp 7).
    let suggest = catalog.suggest(name);
    let suffix = match suggest.as_slice() {
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
