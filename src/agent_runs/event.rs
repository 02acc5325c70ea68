//! Events of a session, as its clients receive them (spec aynd 75).

use serde_json::{Value, json};

/// One event of a session.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub(crate) kind: Kind,
    /// Payload of the event, ready to be sent.
    pub(crate) data: Value,
}

/// Kinds of events. A session ends with one `Completed`, which is its last event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
        match self {
            Kind::Message => "message",
            Kind::ToolUse => "tool_use",
            Kind::ToolResult => "tool_result",
            Kind::Error => "error",
            Kind::Completed => "completed",
        }
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
