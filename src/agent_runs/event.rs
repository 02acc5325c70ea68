//! Events of a session, as its clients receive them (spec aynd 75).

use std::sync::Arc;

use serde_json::{Value, json};

use crate::event_log::EventLog;

/// Maximum number of kept events of a session.
const MAX_EVENTS: usize = 10_000;
/// Maximum size of its kept events in bytes.
const MAX_BYTES: usize = 16 << 20;

/// The events of one session. A slow reader never delays the agent.
pub(crate) type SessionLog = EventLog<Arc<Happened>>;

/// One event of a session.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub(crate) kind: Kind,
    /// Payload of the event, ready to be sent.
    pub(crate) data: Value,
}

/// Kinds of events. A session ends with one `Completed`, which is its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, strum::IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub(crate) enum Kind {
    Message,
    ToolUse,
    ToolResult,
    Error,
    Completed,
}

impl Kind {
    /// Returns the name of the event on the wire.
    pub(crate) fn as_str(self) -> &'static str {
        self.into()
    }
}

impl Happened {
    pub(crate) fn new(kind: Kind, data: Value) -> Happened {
        Happened { kind, data }
    }

    /// Creates an error event. `is_fatal` means that the session ends with it.
    pub(crate) fn error(message: impl Into<String>, is_fatal: bool) -> Happened {
        let message: String = message.into();
        Happened::new(Kind::Error, json!({"message": message, "fatal": is_fatal}))
    }
}

impl SessionLog {
    /// Creates the log of a session that starts.
    pub(super) fn start() -> SessionLog {
        EventLog::new(MAX_EVENTS, MAX_BYTES)
    }

    /// Adds an event.
    pub(super) fn push(&self, event: Happened) {
        let size = size_of(&event.data);
        self.add(|_| (Arc::new(event), size));
    }
}

/// Estimates the size of a value in bytes.
fn size_of(value: &Value) -> usize {
    match value {
        Value::String(text) => text.len() + 32,
        Value::Array(list) => 32 + list.iter().map(size_of).sum::<usize>(),
        Value::Object(object) => {
            let sizes = object.iter().map(|(key, one)| key.len() + size_of(one));
            32 + sizes.sum::<usize>()
        }
        _ => 32,
    }
}
