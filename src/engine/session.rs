//! What the host last said of its session, for isolates that start later.

use serde::Deserialize;
use serde_json::value::RawValue;

/// The parts of session events that last.
#[derive(Default, Deserialize)]
pub(super) struct Session {
    branch: Option<Box<RawValue>>,
    entries: Option<Box<RawValue>>,
}

impl Session {
    /// Takes over what the JSON of an event says.
    pub(super) fn note(&mut self, event: &str) {
        // What cannot be read is told to whoever sent it by the isolates that get it.
        let Ok(told) = serde_json::from_str::<Session>(event) else {
            return;
        };
        self.branch = told.branch.or(self.branch.take());
        self.entries = told.entries.or(self.entries.take());
    }

    /// The JSON of an event that tells a fresh isolate; nothing where there is nothing to tell.
    pub(super) fn retold(&self) -> Option<String> {
        let parts = [("branch", &self.branch), ("entries", &self.entries)];
        let parts = parts.into_iter().filter_map(|(name, part)| {
            let text = part.as_ref()?.get();
            Some(format!("\"{name}\":{text}"))
        });
        let parts: Vec<_> = parts.collect();
        (!parts.is_empty()).then(|| format!("{{{}}}", parts.join(",")))
    }
}
