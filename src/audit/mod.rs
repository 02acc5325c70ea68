//! The log of calls: who called which tool, under which rights, and how that ended.
//!
//! Each user has one folder, `audit` in the state directory. All haft processes of the user append
//! to it. It holds `audit.jsonl`, the rotated files, `head.json` and `lock`. Each line is a JSON
//! object with the BLAKE3 hash of the line before, over all files (`chain`). `head.json` repeats
//! the number and the hash of the last line, so that a truncated log is detected.
//!
//! A call queues its data and goes on. One thread of the process (`writer`) formats the lines and
//! writes them in batches. A crash loses at most the last `writer::BATCH_WINDOW`, because a call
//! that runs longer has a line for its start. A failed write never fails a call. Lost lines are
//! counted and reported once, and noted in the log when it can be written again (`folder`). A mode that
//! was changed is set right, and noted.

mod chain;
mod filter;
mod folder;
mod line;
mod read;
mod verify;
mod writer;

use std::sync::Arc;
use std::time::Duration;

pub(crate) use chain::check;
pub(crate) use filter::{Ended, Filter, FilterTexts, pattern, trace_id};
pub(crate) use folder::{LogFolder, is_process_running};
pub(crate) use line::Line;
pub use line::{
    Caller, Content, DecisionRecord, Digest, Event, Outcome as CallOutcome, RecordedCall,
};
pub(crate) use line::{digest_of_arguments, digest_of_outcome, outcome_of};
pub(crate) use read::{Reader, Tail};
pub(crate) use verify::{Finding, verify};
pub(crate) use writer::{
    Ending, OpenCall, Origin, Place, ServedCall, flush_all, set_reporter, write_now,
};

use haft_config::{Config, LoggedArguments};
use haft_tool::{CallTrace, Problem};
use writer::Writer;

/// The log of calls. Cheap to clone. All logs of one folder in a process share one writer, if their
/// settings are the same.
#[derive(Clone)]
pub struct AuditLog(Arc<Writer>);

impl AuditLog {
    /// Returns the log in the state directory of `config`; `None` if the configuration turns it
    /// off, or if the home directory that would contain it is missing. Files are opened with the
    /// first event.
    pub fn of(config: &Config) -> Option<AuditLog> {
        // As root this would even create the home directory, and the log would be lost with the
        // container.
        let is_homeless = config.state_dir.is_below(&config.home) && !config.home.is_dir();
        (config.log.enabled && !is_homeless)
            .then(|| AuditLog(Writer::shared(&LogFolder::of(config), &config.log)))
    }

    /// Queues one event for writing.
    pub fn record(&self, event: Event) {
        self.0.event(event);
    }

    /// Waits until all events so far are written, at most `timeout`. Returns false if they are
    /// not.
    pub fn flush(&self, timeout: Duration) -> bool {
        self.0.flush(timeout)
    }

    /// Returns the problem with the last attempt to write, if it failed.
    pub fn problem(&self) -> Option<Problem> {
        self.0.problem()
    }

    /// Returns the form in which arguments are recorded.
    pub(crate) fn arguments(&self) -> LoggedArguments {
        self.0.settings().arguments
    }

    /// Records the start of a call.
    pub(crate) fn begin(&self, origin: Origin, trace: Arc<CallTrace>) -> OpenCall {
        self.0.begin(origin, trace)
    }
}

/// Records one event in the log of `config`, if there is one. For commands without a host.
pub(crate) fn record(config: &Config, event: Event) {
    if let Some(log) = AuditLog::of(config) {
        log.record(event);
    }
}
