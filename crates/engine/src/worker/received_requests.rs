//! Registry of the requests that a worker process has received and not answered.
//!
//! It decides under one lock whether JavaScript has seen a request: only the others may be withdrawn
//! or sent to another worker.

use std::sync::{Arc, Mutex, MutexGuard};

use rustc_hash::{FxHashMap, FxHashSet};

use super::host_sender::HostSender;
use super::protocol::FromWorker;
use super::worker_report::WorkerReport;
use crate::lock;
use crate::messages::{Answer, Withdrawn};

pub(crate) struct ReceivedRequests {
    table: Mutex<RequestTable>,
    host: Arc<HostSender>,
    /// The report of the requests that JavaScript has seen, which haft's process reads.
    report: WorkerReport,
}

#[derive(Default)]
struct RequestTable {
    open: FxHashMap<u32, OpenRequest>,
    /// The last request that has arrived.
    last: u32,
    /// Requests that were withdrawn before they arrived.
    withdrawn: FxHashSet<u32>,
}

#[derive(Default)]
struct OpenRequest {
    /// Set if JavaScript has seen the request.
    is_taken: bool,
    /// Set if its tool runs.
    is_started: bool,
    /// Set if its tool must not start any more.
    is_withdrawn: bool,
    /// Set if its tool runs and haft's process was not notified yet.
    is_start_untold: bool,
}

impl ReceivedRequests {
    pub(crate) fn new(host: Arc<HostSender>, report: WorkerReport) -> ReceivedRequests {
        ReceivedRequests {
            table: Mutex::default(),
            host,
            report,
        }
    }

    fn table(&self) -> MutexGuard<'_, RequestTable> {
        // No code in this file can panic halfway through a change.
        lock(&self.table)
    }

    /// Registers a request that has arrived.
    pub(crate) fn expect(&self, id: u32) {
        let mut table = self.table();
        table.last = id;
        // haft's process knows that a withdrawn one is not answered.
        if !table.withdrawn.remove(&id) {
            table.open.insert(id, OpenRequest::default());
        }
    }

    /// Notes that JavaScript is about to see the request. Returns false if it was withdrawn.
    pub(crate) fn take(&self, id: u32) -> bool {
        self.report.set_taken(id);
        self.change_unless_withdrawn(id, |request| request.is_taken = true)
    }

    /// Returns true if the tool of a request may start, which means that its call was not
    /// withdrawn. The start is reported together with the next message, because a message wakes
    /// another process, and most tools end a moment later.
    pub(crate) fn start(&self, id: u32) -> bool {
        self.change_unless_withdrawn(id, |request| {
            request.is_started = true;
            request.is_start_untold = true;
        })
    }

    /// Changes a request, or answers it if it was withdrawn. Returns false if it does not go on.
    fn change_unless_withdrawn(&self, id: u32, change: impl FnOnce(&mut OpenRequest)) -> bool {
        let mut table = self.table();
        let Some(request) = table.open.get_mut(&id) else {
            return false;
        };
        if request.is_withdrawn {
            drop(table);
            self.answer(id, Answer::Withdrawn);
            return false;
        }
        change(request);
        true
    }

    /// Withdraws a request, so that its tool does not start if it has not started yet. The request
    /// may not have arrived yet.
    pub(crate) fn withdraw(&self, id: u32) -> Withdrawn {
        let mut table = self.table();
        if id > table.last {
            table.withdrawn.insert(id);
            return Withdrawn::Unseen;
        }
        match table.open.get_mut(&id) {
            Some(request) if !request.is_taken => {
                table.open.remove(&id);
                Withdrawn::Unseen
            }
            Some(request) if !request.is_started => {
                request.is_withdrawn = true;
                Withdrawn::BeforeStart
            }
            Some(_) | None => Withdrawn::TooLate,
        }
    }

    /// Reports that the tool of a request runs, if it does and that was not reported.
    pub(crate) fn tell_start(&self, id: u32) {
        let mut table = self.table();
        let is_untold = table
            .open
            .get_mut(&id)
            .is_some_and(|request| std::mem::take(&mut request.is_start_untold));
        if is_untold {
            // The lock is held, so that the answer cannot be sent first.
            self.host.send(&FromWorker::Started { id });
        }
    }

    /// Answers a request; does nothing if it was answered before.
    pub(crate) fn answer(&self, id: u32, answer: Answer) {
        let request = self.table().open.remove(&id);
        if let Some(request) = request {
            self.host.send(&FromWorker::Answer {
                id,
                has_started: request.is_started,
                answer,
            });
        }
    }

    /// Returns true if no request is open.
    pub(crate) fn is_idle(&self) -> bool {
        self.table().open.is_empty()
    }
}
