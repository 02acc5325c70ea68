//! Entry of a call in the call log that another surface of the same server keeps.

use serde_json::value::RawValue;

use super::request::Sender;
use crate::host::{Host, RunningCall};
use crate::surface::http::{CallObserver, ObservedCall};
use haft_tool::Error;
use haft_tool::{Call, Outcome};

/// A running call. Without a call log it only holds the permits of its sender.
pub(super) struct Entry {
    entered: Option<Box<dyn ObservedCall>>,
    /// Held until the call ends, since it contains the sender's permits.
    _sender: Option<Sender>,
}

impl Entry {
    /// Starts a call and logs its start.
    pub(super) fn start(
        host: &Host,
        call: Call,
        book: Option<&dyn CallObserver>,
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

    /// Logs the newest update.
    pub(super) fn update(&self, partial: &RawValue) {
        if let Some(entry) = &self.entered {
            entry.update(partial);
        }
    }

    /// Logs the end of the call.
    pub(super) fn end(&mut self, ended: &Result<Outcome, Error>) {
        if let Some(entry) = self.entered.take() {
            entry.end(ended);
        }
    }
}
