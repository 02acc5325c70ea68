//! Calls in the log: what is known when one comes, what is noted while it runs, how it ends.

use std::sync::{Arc, PoisonError};

use super::Host;
use crate::audit::{self, AuditLog, CallOutcome, Caller, Ending, OpenCall, Origin};
use crate::error::Error;
use crate::process::{self, StartObserver};
use crate::tool::{Call, CallTrace, Level, Outcome, Tool};

/// Where the calls of a handle are recorded, and as whose.
#[derive(Clone)]
pub(super) struct Recorder {
    log: AuditLog,
    caller: Arc<Caller>,
}

/// A call in the log. Dropped before its end, it counts as cancelled by the end of the host.
pub(super) struct Recording {
    /// `None` once its end is written.
    open: Option<OpenCall>,
    pub(super) trace: Arc<CallTrace>,
}

impl Host {
    /// The same host; calls that are started through this handle are recorded in `log` as calls of `caller`.
    /// Without it nothing is recorded.
    pub fn with_audit(&self, log: &AuditLog, caller: Caller) -> Host {
        let mut host = self.clone();
        host.1.recorder = Some(Recorder {
            log: log.clone(),
            caller: Arc::new(caller),
        });
        host
    }

    /// The same host, whose calls are recorded where the configuration says.
    pub(crate) fn recorded(self, caller: Caller) -> Host {
        match AuditLog::of(self.config()) {
            Some(log) => self.with_audit(&log, caller),
            None => self,
        }
    }

    /// The same host; its calls are recorded where they are, with what `change` says of their caller.
    pub(crate) fn called_by(&self, change: impl FnOnce(&mut Caller)) -> Host {
        let mut host = self.clone();
        if let Some(recorder) = &mut host.1.recorder {
            change(Arc::make_mut(&mut recorder.caller));
        }
        host
    }

    /// Notes the hash of the grant by which the project's tools were judged.
    pub(super) fn judged_by(&self, grant: Option<String>) {
        *self.0.grant.lock().unwrap_or_else(PoisonError::into_inner) = grant.map(Arc::from);
    }

    /// The grant under which `tool` runs; none for a tool that needs none.
    pub(super) fn grant_of(&self, tool: &Tool) -> Option<Arc<str>> {
        if tool.source.level != Level::Project {
            return None;
        }
        if self.0.config.trust_project {
            return Some("all tools of the project are trusted".into());
        }
        let grant = self.0.grant.lock();
        grant.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The log of this handle, if it has one.
    pub(crate) fn audit_log(&self) -> Option<&AuditLog> {
        self.1.recorder.as_ref().map(|recorder| &recorder.log)
    }

    /// Begins to record a call, if this handle does.
    pub(super) fn record(&self, call: &Call) -> Option<Recording> {
        let Recorder { log, caller } = self.1.recorder.as_ref()?;
        let trace = Arc::<CallTrace>::default();
        let origin = Origin {
            call: call.id.clone(),
            tool: call.tool.clone(),
            caller: caller.clone(),
            place: self.0.place.clone(),
            arguments: audit::digest_of_arguments(&call.arguments, log.arguments()),
        };
        Some(Recording {
            open: Some(log.begin(origin, trace.clone())),
            trace,
        })
    }
}

impl Recording {
    /// Writes what the call came to.
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

impl StartObserver for CallTrace {
    fn starts(&self, program: &str) {
        CallTrace::starts(self, program);
    }
}

/// Runs a call; the programs that it starts by itself are noted in `trace`.
pub(super) async fn traced<T>(
    trace: Option<Arc<CallTrace>>,
    running: impl Future<Output = T>,
) -> T {
    match trace {
        Some(trace) => process::observed(trace, running).await,
        None => running.await,
    }
}
