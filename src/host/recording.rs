//! Records calls in the log: their start, notes while they run, and their end.

use std::sync::{Arc, PoisonError};

use super::Host;
use crate::audit::{self, AuditLog, CallOutcome, Caller, Ending, OpenCall, Origin};
use crate::error::Error;
use crate::process::{self, StartObserver};
use crate::tool::{Call, CallTrace, Level, Outcome, Tool};

/// Log and caller of a handle's calls.
#[derive(Clone)]
pub(super) struct Recorder {
    log: AuditLog,
    caller: Arc<Caller>,
}

/// A recorded call. If it is dropped before its end, the log says that the host's end cancelled it.
pub(super) struct Recording {
    /// `None` once its end is written.
    open: Option<OpenCall>,
    pub(super) trace: Arc<CallTrace>,
}

impl Host {
    /// Returns a handle of the same host. Calls that start through it are recorded in `log` as
    /// calls of `caller`. Without this, calls are not recorded.
    pub fn with_audit(&self, log: &AuditLog, caller: Caller) -> Host {
        let mut host = self.clone();
        host.options.recorder = Some(Recorder {
            log: log.clone(),
            caller: Arc::new(caller),
        });
        host
    }

    /// Returns the host with its calls recorded in the configured log, if there is one.
    pub(crate) fn recorded(self, caller: Caller) -> Host {
        match AuditLog::of(self.config()) {
            Some(log) => self.with_audit(&log, caller),
            None => self,
        }
    }

    /// Returns a handle of the same host and the same log, after `change` was applied to its
    /// caller.
    pub(crate) fn called_by(&self, change: impl FnOnce(&mut Caller)) -> Host {
        let mut host = self.clone();
        if let Some(recorder) = &mut host.options.recorder {
            change(Arc::make_mut(&mut recorder.caller));
        }
        host
    }

    /// Stores the hash of the grant by which the project's tools were checked.
    pub(super) fn judged_by(&self, grant: Option<String>) {
        *self
            .inner
            .grant
            .lock()
            .unwrap_or_else(PoisonError::into_inner) = grant.map(Arc::from);
    }

    /// Returns the grant under which `tool` runs; `None` for a tool that needs none.
    pub(super) fn grant_of(&self, tool: &Tool) -> Option<Arc<str>> {
        if tool.source.level != Level::Project {
            return None;
        }
        if self.inner.config.trust_project {
            return Some("all tools of the project are trusted".into());
        }
        let grant = self.inner.grant.lock();
        grant.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the log of this handle, if it has one.
    pub(crate) fn audit_log(&self) -> Option<&AuditLog> {
        self.options.recorder.as_ref().map(|recorder| &recorder.log)
    }

    /// Starts to record a call, if this handle records calls.
    pub(super) fn record(&self, call: &Call) -> Option<Recording> {
        let Recorder { log, caller } = self.options.recorder.as_ref()?;
        let trace = Arc::<CallTrace>::default();
        let origin = Origin {
            call: call.id.clone(),
            tool: call.tool.clone(),
            caller: caller.clone(),
            place: self.inner.place.clone(),
            arguments: audit::digest_of_arguments(&call.arguments, log.arguments()),
        };
        Some(Recording {
            open: Some(log.begin(origin, trace.clone())),
            trace,
        })
    }
}

impl Recording {
    /// Records the outcome of the call.
    pub(super) fn end(mut self, ended: &Result<Outcome, Error>) {
        if let Some(open) = self.open.take() {
            let (outcome, reason) = audit::outcome_of(ended);
            open.end(Ending {
                outcome,
                reason,
                result: ended.as_ref().ok().map(audit::digest_of_outcome),
            });
        }
    }
}

impl Drop for Recording {
    fn drop(&mut self) {
        if let Some(open) = self.open.take() {
            open.end(Ending {
                outcome: CallOutcome::Cancelled,
                reason: Some("host-shutdown"),
                result: None,
            });
        }
    }
}

/// Notes the programs that a call starts in its trace.
struct TracedStarts(Arc<CallTrace>);

impl StartObserver for TracedStarts {
    fn starts(&self, program: &str) {
        self.0.starts(program);
    }
}

/// Runs a call. `trace` notes the programs that the call starts.
pub(super) async fn traced<T>(
    trace: Option<Arc<CallTrace>>,
    running: impl Future<Output = T>,
) -> T {
    match trace {
        Some(trace) => process::observed(Arc::new(TracedStarts(trace)), running).await,
        None => running.await,
    }
}
