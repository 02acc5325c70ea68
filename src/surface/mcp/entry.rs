//! A call of ours in the book that another surface of the same server keeps.

use serde_json::value::RawValue;

use crate::error::Error;
use crate::host::{Host, RunningCall};
use crate::surface::http::{BookEntry, CallBook};
use crate::tool::{Call, Outcome};

/// Nothing where nobody keeps a book.
pub(super) struct Entry(Option<Box<dyn BookEntry>>);

impl Entry {
    /// Starts a call and enters it.
    pub(super) fn start(
        host: &Host,
        call: Call,
        book: Option<&dyn CallBook>,
    ) -> (RunningCall, Entry) {
        let Some(book) = book else {
            return (host.call(call, None), Entry(None));
        };
        let (id, tool) = (call.id.clone(), call.tool.clone());
        let running = host.call(call, None);
        let entry = book.begin(&id, &tool, running.cancel_token());
        (running, Entry(Some(entry)))
    }

    /// Notes the newest update.
    pub(super) fn update(&self, partial: &RawValue) {
        if let Some(entry) = &self.0 {
            entry.update(partial);
        }
    }

    /// Notes what it came to.
    pub(super) fn end(&mut self, ended: &Result<Outcome, Error>) {
        if let Some(entry) = self.0.take() {
            entry.end(ended);
        }
    }
}
