//! A call of ours in the book that another surface of the same server keeps.

use serde_json::value::RawValue;

use super::request::Sender;
use crate::error::Error;
use crate::host::{Host, RunningCall};
use crate::surface::http::{BookEntry, CallBook};
use crate::tool::{Call, Outcome};

/// A call that runs: nothing but its sender's place where nobody keeps a book.
pub(super) struct Entry {
    entered: Option<Box<dyn BookEntry>>,
    /// What its sender holds as long as it runs.
    _sender: Option<Sender>,
}

impl Entry {
    /// Starts a call and enters it.
    pub(super) fn start(
        host: &Host,
        call: Call,
        book: Option<&dyn CallBook>,
        sender: Option<Sender>,
    ) -> (RunningCall, Entry) {
        let (id, tool) = (call.id.clone(), call.tool.clone());
        let running = host.call(call, None);
        let entered = book.zip(sender.as_ref());
        let entered = entered
            .map(|(book, sender)| book.begin(&sender.client, &id, &tool, running.cancel_token()));
        let entry = Entry {
            entered,
            _sender: sender,
        };
        (running, entry)
    }

    /// Notes the newest update.
    pub(super) fn update(&self, partial: &RawValue) {
        if let Some(entry) = &self.entered {
            entry.update(partial);
        }
    }

    /// Notes what it came to.
    pub(super) fn end(&mut self, ended: &Result<Outcome, Error>) {
        if let Some(entry) = self.entered.take() {
            entry.end(ended);
        }
    }
}
