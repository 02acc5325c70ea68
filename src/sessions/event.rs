//! What happens in a session, in the words of its clients (spec aynd 75).

use serde_json::{Value, json};

/// One thing that happened.
#[derive(Clone, Debug)]
pub(crate) struct Happened {
    pub(crate) kind: Kind,
    /// What there is to say of it, ready to be sent.
    pub(crate) data: Value,
}

/// The sorts of events. A session ends with one `Completed`, and nothing comes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Message,
    ToolUse,
    ToolResult,
    Error,
    Completed,
}

impl Kind {
    /// The name of the event on the wire.
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

    /// Something went wrong. `is_fatal`: the session ends with it.
    pub(crate) fn error(message: impl Into<String>, is_fatal: bool) -> Happened {
        let message: String = message.into();
        Happened::new(Kind::Error, json!({"message": message, "fatal": is_fatal}))
    }
}
