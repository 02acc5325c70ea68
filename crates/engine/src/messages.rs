//! Requests to an isolate and their answers.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A request or an order to an isolate.
#[derive(Debug, Serialize, Deserialize)]
pub enum Ask {
    /// Compile these files, which are loaded soon. Replaces the files that were announced before.
    Announce { files: Vec<PathBuf> },
    /// Import a module and run its factory.
    Load { id: u32, module: u32, url: String },
    /// Call a tool.
    Invoke {
        id: u32,
        module: u32,
        tool: u32,
        call_id: String,
        arguments: String,
        /// The span of the call, as a `traceparent`, if the spans of tools are sent.
        span: Option<String>,
        /// Set if the answers from outside are recorded.
        is_recorded: bool,
    },
    /// Check arguments and report the approval that the call requires; it waits for `Start` or
    /// `Forget`. If the call was approved in another isolate, only the arguments are reported.
    Prepare {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
        is_approved: bool,
    },
    /// Start the call that the request `prepared` prepared.
    Start {
        id: u32,
        prepared: u32,
        call_id: String,
        /// Like that of `Invoke`.
        span: Option<String>,
        /// Like that of `Invoke`.
        is_recorded: bool,
    },
    /// Drop the prepared call.
    Forget { prepared: u32 },
    /// Check arguments.
    Check {
        id: u32,
        module: u32,
        tool: u32,
        arguments: String,
    },
    /// Read a tool's description again.
    Describe { id: u32, module: u32, tool: u32 },
    /// Render a call or a result; `request` is the JSON of `js-runtime/35_render.ts`.
    Render {
        id: u32,
        module: u32,
        tool: u32,
        request: String,
    },
    /// Fire the AbortSignal of a call.
    Cancel { id: u32, reason: String },
    /// Send a session event to every `onSession`, or to those of some modules.
    Session {
        id: u32,
        event: String,
        modules: Option<Vec<u32>>,
    },
    /// Call the handlers of `process.on('exit')`.
    Exit { id: u32 },
    /// Stop the profiler and return its profile; an empty text if there is none.
    Profile { id: u32 },
}

impl Ask {
    /// Returns the number of a request; orders have none.
    pub(super) fn id(&self) -> Option<u32> {
        match self {
            Ask::Load { id, .. }
            | Ask::Invoke { id, .. }
            | Ask::Prepare { id, .. }
            | Ask::Start { id, .. }
            | Ask::Check { id, .. }
            | Ask::Describe { id, .. }
            | Ask::Render { id, .. }
            | Ask::Session { id, .. }
            | Ask::Exit { id }
            | Ask::Profile { id } => Some(*id),
            Ask::Announce { .. } | Ask::Cancel { .. } | Ask::Forget { .. } => None,
        }
    }
}

/// The last answer to a request.
#[derive(Debug, Serialize, Deserialize)]
pub enum Answer {
    /// JSON text.
    Done(String),
    /// The arguments are invalid; the text says why.
    Refused(String),
    /// The request failed; the text is a sentence or JSON.
    Failed(String),
    /// The isolate ended before the request did.
    Lost(Lost),
    /// The isolate ran out of memory while this request alone ran in it.
    OutOfMemory(Lost),
    /// The isolate ended before JavaScript saw the request.
    NotStarted,
    /// The call was cancelled before its tool started.
    Withdrawn,
}

/// Reason for which an isolate ended before it answered a request.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lost(pub String);

/// Reason for which an isolate must end now.
#[derive(Clone, Debug)]
pub(super) struct Termination {
    pub(super) why: String,
    /// Set if the isolate ran out of memory. A request that ran alone then caused it.
    pub(super) is_out_of_memory: bool,
}

impl Termination {
    /// Returns a termination for another reason than memory.
    pub(super) fn because(why: impl Into<String>) -> Termination {
        Termination {
            why: why.into(),
            is_out_of_memory: false,
        }
    }

    /// Returns a termination for lack of memory.
    pub(super) fn out_of_memory(why: String) -> Termination {
        Termination {
            why,
            is_out_of_memory: true,
        }
    }
}

/// Result of withdrawing a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Withdrawn {
    /// JavaScript will never see the request.
    Unseen,
    /// JavaScript checks the arguments; the tool will not start afterwards.
    BeforeStart,
    /// The tool runs, or has ended.
    TooLate,
}
