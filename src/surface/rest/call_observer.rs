//! Call log for the other surfaces of the same server: their calls appear in `/api/calls` and
//! `/api/events` like those of REST.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::call_log::{CallLog, Running};
use crate::surface::http::{CallObserver, Client, ObservedCall};
use haft_tool::{Error, ErrorKind};
use haft_tool::{Outcome, Stopped};

/// The ledger behind the interface for other surfaces.
pub(super) struct Book(pub(super) Arc<CallLog>);

struct Entry {
    call_log: Arc<CallLog>,
    /// The call; `None` after its end was logged.
    running: Option<Arc<Running>>,
}

impl CallObserver for Book {
    fn begin(
        &self,
        client: &Arc<Client>,
        id: &str,
        tool: &str,
        cancel: CancellationToken,
    ) -> Box<dyn ObservedCall> {
        let enter = |id| self.0.enter(client, id, tool, |_| cancel.clone());
        // Another client of this server may have chosen the same id.
        let running = enter(Some(id.to_owned())).or_else(|_| enter(None)).ok();
        Box::new(Entry {
            call_log: Arc::clone(&self.0),
            running,
        })
    }
}

impl ObservedCall for Entry {
    fn update(&self, partial: &RawValue) {
        if let Some(running) = &self.running {
            running.update(partial);
        }
    }

    fn end(mut self: Box<Self>, ended: &Result<Outcome, Error>) {
        self.note(ended);
    }
}

impl Entry {
    fn note(&mut self, ended: &Result<Outcome, Error>) {
        if let Some(running) = self.running.take() {
            // The caller builds its own response.
            let _ = self.call_log.end(&running, ended);
        }
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let why = ErrorKind::Stopped(Stopped::Cancelled);
        self.note(&Err(Error::new(why, "nobody waits for it any more")));
    }
}
