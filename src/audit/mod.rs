//! The log of calls: who called which tool, under which rights, and how that ended.
//!
//! One folder for each user, `audit` in the state directory, which every haft process of the user appends to:
//! `audit.jsonl`, the files that it was rotated to, `head.json` and `lock`. Each line is a JSON object that holds
//! the BLAKE3 hash of the line before, over all files ([`chain`]). `head.json` repeats the number and the hash of
//! the last line, so that a cut-off end shows.
//!
//! A call hands over what is known of it and goes on; one thread of the process ([`writer`]) makes lines of it
//! and writes them in batches. A crash can lose the last [`writer::BATCH_WINDOW`] and nothing else: of a call
//! that runs longer a line tells that it started. What cannot be written never fails a call: it is counted, told
//! once, and noted in the log when that can be written again.

mod chain;
mod line;
mod read;
mod verify;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

pub(crate) use chain::check;
pub(crate) use line::Line;
pub use line::{
    Caller, Content, DecisionRecord, Digest, Event, Outcome as CallOutcome, RecordedCall,
};
pub(crate) use line::{digest_of_arguments, digest_of_outcome, outcome_of};
pub(crate) use read::{Reader, Tail};
pub(crate) use verify::{Finding, verify};
pub(crate) use writer::{Ending, OpenCall, Origin, Place, flush_all, set_reporter};

use crate::config::{Config, LoggedArguments};
use crate::tool::{CallTrace, Problem};
use writer::Writer;

/// The folder below the state directory.
const FOLDER: &str = "audit";

/// The folder of the log that `config` means, whether there is one or not.
pub(crate) fn folder(config: &Config) -> PathBuf {
    folder_in(&config.state_dir)
}

fn folder_in(state_dir: &Path) -> PathBuf {
    state_dir.join(FOLDER)
}

/// The log of calls. Cheap to clone; all logs of one folder in a process share one writer.
#[derive(Clone)]
pub struct AuditLog(Arc<Writer>);

impl AuditLog {
    /// The log in the state directory of `config`; `None` where the configuration turns it off, and where there
    /// is no home directory to keep it in. Nothing is opened before there is something to write.
    pub fn of(config: &Config) -> Option<AuditLog> {
        // As root it would even succeed, and be lost with the container.
        let is_homeless = config.state_dir.starts_with(&config.home) && !config.home.is_dir();
        (config.log.enabled && !is_homeless)
            .then(|| AuditLog(Writer::shared(&folder(config), &config.log)))
    }

    /// Writes one event, soon.
    pub fn record(&self, event: Event) {
        self.0.event(event);
    }

    /// Waits until everything so far is written, but no longer than `patience`; false if it is not.
    pub fn flush(&self, patience: Duration) -> bool {
        self.0.flush(patience)
    }

    /// The problem with the last attempt to write, if it failed.
    pub fn problem(&self) -> Option<Problem> {
        self.0.problem()
    }

    /// How arguments are kept.
    pub(crate) fn arguments(&self) -> LoggedArguments {
        self.0.settings().arguments
    }

    /// A call begins.
    pub(crate) fn begin(&self, origin: Origin, trace: Arc<CallTrace>) -> OpenCall {
        self.0.begin(origin, trace)
    }
}

/// Writes one event to the log that `config` means, if there is one, for a command that has no host.
pub(crate) fn record(config: &Config, event: Event) {
    if let Some(log) = AuditLog::of(config) {
        log.record(event);
    }
}
