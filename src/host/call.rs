//! Calls: finds the tool and runs it until the call has ended.

use std::panic::AssertUnwindSafe;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use serde_json::value::RawValue;

use super::Host;
use super::call_log::{CallEntry, shut_down};
use super::nested::PartsOfCall;
use super::running_call::{CallFuture, InlineCall, RunningCall};
use crate::execute::{CallPolicy, execute};
use crate::family::approvals_of;
use crate::family::exec::ikigai;
use crate::family::js::RESOLVE;
use crate::registry::{Catalog, Entry};
use haft_engine::CallSpin;
use haft_process::StartObserver;
use haft_tool::{
    Call, CallTrace, Cancellation, Event, Family, Level, Outcome, Stopped, Test, Tool,
    TraceContext, queue,
};
use haft_tool::{Error, ErrorKind};

impl Host {
    /// Starts a call. `timeout` overrides the configured one.
    pub fn call(&self, call: Call, timeout: Option<Duration>) -> RunningCall {
        let cancellation = Cancellation::default();
        let entry = CallEntry::begin(self, &call, &cancellation);
        self.start(call, timeout, None, entry)
    }

    /// Starts a call like [`Host::call`], unless the same client runs a call with the same id.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if it does.
    pub(crate) fn call_with_free_id(
        &self,
        call: Call,
        timeout: Option<Duration>,
    ) -> Result<RunningCall, Error> {
        let cancellation = Cancellation::default();
        let entry = CallEntry::begin_if_free(self, &call, &cancellation)?;
        Ok(self.start(call, timeout, None, entry))
    }

    /// Makes a call of which only the outcome is used. It starts when it is first polled, and
    /// `cancellation` ends it. `tool` is the tool, if the caller has found it.
    pub(crate) fn outcome_of(
        &self,
        call: Call,
        tool: Option<Arc<Entry>>,
        cancellation: Cancellation,
    ) -> InlineCall {
        let entry = CallEntry::begin(self, &call, &cancellation);
        let call_spin = self.spin_for(tool.as_deref());
        let running = self.run_logged(call, None, tool, entry, queue::unheard());
        InlineCall::new(running, cancellation, call_spin)
    }

    /// Returns the spin-wait for a call of that tool. `None` for a tool whose answer comes through this
    /// thread's own event loop, which would stand still meanwhile.
    fn spin_for(&self, tool: Option<&Entry>) -> Option<Arc<CallSpin>> {
        let pays = tool.is_none_or(|tool| tool.runner.has_thread());
        pays.then(|| self.inner.call_spin.clone())
    }

    /// Starts `test`, one of the tests of `tool`, under the same rules as a call of it.
    pub fn test(&self, tool: &Entry, test: &Test) -> RunningCall {
        let runs = Entry {
            tool: tool.tool.clone(),
            resolved_path: tool.resolved_path.clone(),
            runner: test.runner.clone(),
        };
        let call = Call {
            id: test.name.clone(),
            tool: tool.tool.name.clone(),
            arguments: RawValue::NULL.to_owned(),
        };
        let entry = CallEntry::begin(self, &call, &Cancellation::default());
        self.start(call, None, Some(Arc::new(runs)), entry)
    }

    /// Starts a logged call. `tool` is what runs, if it is not the tool of that name.
    pub(super) fn start(
        &self,
        call: Call,
        timeout: Option<Duration>,
        tool: Option<Arc<Entry>>,
        entry: CallEntry,
    ) -> RunningCall {
        let (sender, events) = queue::channel();
        let tool = tool.or_else(|| self.known_entry(&call.tool));
        // A deadline must hold even if the call is not polled, and a search for tools takes time.
        let wants_task = match &tool {
            Some(tool) => timeout.or_else(|| self.usual_timeout(tool)).is_some(),
            None => true,
        };
        let record = entry.call.clone();
        let call_spin = self.spin_for(tool.as_deref());
        let running = self.run_logged(call, timeout, tool, entry, sender);
        RunningCall::start(running, events, record, call_spin, wants_task)
    }

    /// Returns the timeout that calls of that tool have without one of their own.
    fn usual_timeout(&self, tool: &Entry) -> Option<Duration> {
        if let Some(timeout) = tool.runner.timeout() {
            return Some(timeout);
        }
        let config = &self.inner.config;
        match tool.tool.source.level {
            Level::Project => config.limits_of(Level::Project).call_timeout,
            Level::User | Level::Host => config.limits.call_timeout,
        }
    }

    /// Returns the shorter one of the timeout that calls of that tool have and another one.
    pub(crate) fn timeout_within(&self, tool: &str, other: Option<Duration>) -> Option<Duration> {
        let tool = self.known_entry(tool);
        let usual = tool.and_then(|tool| self.usual_timeout(&tool));
        usual.into_iter().chain(other).min()
    }

    /// Returns the future of a logged call, which is not polled yet.
    fn run_logged(
        &self,
        call: Call,
        timeout: Option<Duration>,
        tool: Option<Arc<Entry>>,
        entry: CallEntry,
        events: queue::Sender<Event>,
    ) -> CallFuture {
        let spinning = self.inner.call_spin.begin();
        let host = self.clone();
        let running = async move {
            let (_spinning, _events) = (spinning, events.end_on_drop());
            let (record, trace) = (entry.call.clone(), entry.trace());
            let span = entry.span().or_else(|| host.caller_span()).cloned();
            let cancellation = record.cancellation();
            let marks = (trace.clone(), span.clone());
            let running = host.run(call, tool, timeout, cancellation, events, marks);
            // Pinned first, so that wrapping it moves a pointer and not the whole future.
            let running = pin!(traced(trace, span, running));
            // A panic of a call must not unwind into the embedding program.
            let ended = AssertUnwindSafe(running).catch_unwind().await;
            let mut ended = ended.unwrap_or_else(|_| Err(defect()));
            if cancellation.reason() == Some(Stopped::HostShutdown) {
                ended = by_shutdown(ended);
            }
            entry.end(&ended);
            ended
        };
        Box::pin(running)
    }

    /// Finds the tool if necessary, and runs it. `cancellation` ends it.
    async fn run(
        &self,
        call: Call,
        tool: Option<Arc<Entry>>,
        timeout: Option<Duration>,
        cancellation: &Cancellation,
        events: queue::Sender<Event>,
        (trace, span): (Option<Arc<CallTrace>>, Option<TraceContext>),
    ) -> Result<Outcome, Error> {
        // Boxed, because most calls do not need the room of this future.
        let tool = match tool {
            Some(tool) => Some(Ok(tool)),
            None => Box::pin(self.entry_unless(&call.tool, cancellation)).await,
        };
        let tool = match tool {
            // A host that has ended must not start calls, because it would not end them.
            Some(Ok(_)) if self.inner.closing.is_cancelled() => Some(Err(shut_down())),
            Some(Ok(_)) if self.refuses_new_calls() => Some(Err(drained())),
            Some(Ok(tool)) => ready(tool, cancellation).await.map(Ok),
            other => other,
        };
        let Some(tool) = tool else {
            let why = cancellation.reason();
            return Ok(Outcome::not_started(why.unwrap_or(Stopped::Cancelled)));
        };
        match tool {
            Ok(tool) if self.options.is_queueing && tool.tool.source.family != Family::Remote => {
                Err(not_queued(&call.tool))
            }
            Ok(tool) => {
                if let Some(trace) = &trace {
                    let bounds = tool.runner.bounds();
                    trace.runs(&tool.tool, self.grant_of(&tool.tool), bounds);
                }
                let terms = CallPolicy {
                    trace,
                    recording: self.options.recording.clone(),
                    span,
                    timeout: timeout.or_else(|| self.usual_timeout(&tool)),
                    cancellation: cancellation.clone(),
                    policy: self.approval_policy(),
                    approver: self.options.approver.clone(),
                    approvals: &|| {
                        let config = &self.inner.config;
                        approvals_of(config, &tool.resolved_path, &tool.tool.name)
                    },
                    ui: self.user_interface(),
                    mcp_client: self.options.mcp_client.clone(),
                    is_queued: self.options.is_queueing,
                    log: self.options.log.clone(),
                    nested: &|call, updates| {
                        let makes_calls = tool.runner.makes_calls();
                        makes_calls
                            .then(|| PartsOfCall::of(self, &call.id, &tool, cancellation, updates))
                            .flatten()
                    },
                    spill: &self.inner.spill,
                    text_limit: self.options.text_limit,
                };
                execute(&tool.tool, &*tool.runner, call, terms, events).await
            }
            Err(error) if Box::pin(self.has_departed(&call.tool, &error)).await => {
                Ok(ikigai::no_longer_there())
            }
            Err(error) => Err(error),
        }
    }

    /// Returns true if the host is draining, and the handle's calls are not parts of running ones.
    fn refuses_new_calls(&self) -> bool {
        self.inner.draining.is_cancelled() && self.options.origin.is_root()
    }

    /// Checks a call's arguments without running anything.
    ///
    /// # Errors
    /// [`ErrorKind::NoSuchTool`] or [`ErrorKind::BadArguments`] with every problem in the text.
    pub async fn validate(&self, call: &Call) -> Result<(), Error> {
        self.entry(&call.tool).await?.runner.check(call).await
    }

    /// Stores the hash of the grant by which the project's tools were checked.
    pub(super) fn judged_by(&self, grant: Option<String>) {
        *self.inner.grant.lock() = grant.map(Arc::from);
    }

    /// Returns the grant under which `tool` runs; `None` for a tool that needs none.
    fn grant_of(&self, tool: &Tool) -> Option<Arc<str>> {
        if tool.source.level != Level::Project {
            return None;
        }
        if self.inner.config.trust_project {
            return Some("all tools of the project are trusted".into());
        }
        self.inner.grant.lock().clone()
    }

    /// Returns the tool of that name, if it is known without waiting.
    pub(super) fn known_entry(&self, name: &str) -> Option<Arc<Entry>> {
        if let Some(own) = self.handle_tool(name) {
            return Some(own);
        }
        self.known_catalog()?.find(name).cloned()
    }

    /// Returns the tool of that name; `None` if the call is cancelled before the tool is known. The
    /// tools go on loading then, because the next call needs them.
    async fn entry_unless(
        &self,
        name: &str,
        cancellation: &Cancellation,
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
            () = cancellation.requested() => None,
            entry = entry => Some(entry.unwrap_or_else(|_| Err(defect()))),
        }
    }

    pub(super) async fn entry(&self, name: &str) -> Result<Arc<Entry>, Error> {
        if self.inner.closing.is_cancelled() {
            return Err(shut_down());
        }
        if let Some(own) = self.handle_tool(name) {
            return Ok(own);
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

fn not_queued(tool: &str) -> Error {
    let text = format!("calls of `{tool}` cannot be queued: it is not a tool of other hosts");
    let hint =
        "`remote` in the configuration names the NATS server of hosts that take queued calls";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

/// Notes the programs that a call starts in its trace, and gives them the span of the call.
struct TracedStarts {
    trace: Option<Arc<CallTrace>>,
    span: Option<TraceContext>,
}

impl StartObserver for TracedStarts {
    fn starts(&self, program: &str) {
        if let Some(trace) = &self.trace {
            trace.starts(program);
        }
    }

    fn variables(&self) -> Vec<(&'static str, String)> {
        let Some(span) = &self.span else {
            return Vec::new();
        };
        let state = span.state.as_ref();
        let state = state.map(|state| ("TRACESTATE", state.to_string()));
        let parent = ("TRACEPARENT", span.to_string());
        std::iter::once(parent).chain(state).collect()
    }
}

/// Runs a call. `trace` notes the programs that the call starts, and `span` is theirs, too.
async fn traced<T>(
    trace: Option<Arc<CallTrace>>,
    span: Option<TraceContext>,
    running: impl Future<Output = T>,
) -> T {
    if trace.is_none() && span.is_none() {
        return running.await;
    }
    let observer = Arc::new(TracedStarts { trace, span });
    haft_process::observed(observer, running).await
}

/// Returns the tool once it can be called; `None` if the call is cancelled before.
async fn ready(tool: Arc<Entry>, cancellation: &Cancellation) -> Option<Arc<Entry>> {
    let is_ready = match tool.runner.prepare_runner() {
        None => true,
        Some(prepare_runner) => tokio::select! {
            biased;
            () = cancellation.requested() => false,
            () = prepare_runner => true,
        },
    };
    is_ready.then_some(tool)
}

/// Returns the error for a call that came after the server began to end. It can be made elsewhere.
fn drained() -> Error {
    let text = "the server is ending and takes no new calls";
    Error::new(ErrorKind::Stopped(Stopped::HostShutdown), text)
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
