//! Recording of one call: what its tool asked programs, servers and the user, with the answers.
//!
//! A recorded call runs like any other. Its recording becomes a test of the tool (`haft test`).

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{Answer, LogLevel, LogLine, LogListener, Prompt, ReplayChannel};

/// Limit of what one recording keeps, in bytes.
const MAX_BYTES: usize = 16 * 1024 * 1024;

/// Limit of the events of one recording.
const MAX_EVENTS: usize = 10_000;

/// Recorder of one call. All code that answers the call's tool writes to it.
#[derive(Debug, Default)]
pub struct CallRecording(Mutex<Recorded>);

/// Recorded parts of a call.
#[derive(Clone, Debug, Default)]
pub struct Recorded {
    /// Events in the order in which they happened.
    pub events: Vec<RecordedEvent>,
    /// The tool of an MCP server that was called.
    pub served: Option<ServedTool>,
    /// Set if something was left out because of the limit.
    pub is_cut: bool,
    bytes: usize,
}

/// A part of a recorded call.
#[derive(Clone, Debug)]
pub enum RecordedEvent {
    /// A program or a request of the tool, and its answer, both as JSON text.
    Exchange {
        /// The way to the outside.
        channel: ReplayChannel,
        /// The request in the form of its op.
        request: String,
        /// The answer in the form of its op.
        answer: String,
    },
    /// A question of the tool, and the user's answer.
    Question {
        /// The question.
        what: Prompt,
        /// The answer.
        answer: Answer,
    },
    /// Something that a test cannot repeat; the text says what the tool did.
    Unrepeatable(String),
    /// A request of an MCP server to the program of the user, and its answer.
    Forwarded {
        /// The method.
        method: String,
        /// The parameters.
        params: Value,
        /// The answer.
        answer: Value,
    },
    /// A partial result of an MCP server.
    Update(Box<RawValue>),
    /// A log line of an MCP server.
    Log(LogLevel, String),
}

/// A tool of an MCP server as it was when it was called.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ServedTool {
    /// The name of the server.
    pub server: String,
    /// The server's name for the tool.
    pub tool: String,
    /// The hash of the definition.
    pub digest: String,
}

/// A question whose answer is not known yet. It counts as dismissed until then.
pub struct OpenQuestion {
    recording: Arc<CallRecording>,
    index: usize,
}

impl CallRecording {
    /// Records an answer from outside, if it fits the limit.
    pub fn keep(&self, channel: ReplayChannel, request: &str, answer: &str) {
        let size = request.len() + answer.len();
        self.add(size, || RecordedEvent::Exchange {
            channel,
            request: request.to_owned(),
            answer: answer.to_owned(),
        });
    }

    /// Records a question. The result takes its answer.
    pub fn asks(self: &Arc<Self>, what: &Prompt) -> Option<OpenQuestion> {
        let index = self.add(what.title().len(), || RecordedEvent::Question {
            what: what.clone(),
            answer: Answer::Dismissed,
        })?;
        Some(OpenQuestion {
            recording: self.clone(),
            index,
        })
    }

    /// Records something that a test cannot repeat: `it …`.
    pub fn cannot_repeat(&self, what: &str) {
        self.add(what.len(), || RecordedEvent::Unrepeatable(what.to_owned()));
    }

    /// Records a request to the program of the user, and its answer.
    pub fn forwarded(&self, method: &str, params: Value, answer: Value) {
        let size = params.to_string().len() + answer.to_string().len();
        self.add(size, || RecordedEvent::Forwarded {
            method: method.to_owned(),
            params,
            answer,
        });
    }

    /// Records a partial result.
    pub fn updated(&self, partial: &RawValue) {
        let size = partial.get().len();
        self.add(size, || RecordedEvent::Update(partial.to_owned()));
    }

    /// Records the tool of an MCP server that is called.
    pub fn serves(&self, tool: ServedTool) {
        self.0.lock().served = Some(tool);
    }

    /// Returns a copy of the recording so far.
    pub fn recorded(&self) -> Recorded {
        self.0.lock().clone()
    }

    fn add(&self, size: usize, event: impl FnOnce() -> RecordedEvent) -> Option<usize> {
        let mut state = self.0.lock();
        if state.events.len() >= MAX_EVENTS || state.bytes + size > MAX_BYTES {
            state.is_cut = true;
            return None;
        }
        state.bytes += size;
        state.events.push(event());
        Some(state.events.len() - 1)
    }
}

impl OpenQuestion {
    /// Sets the answer.
    pub fn answered(self, given: &Answer) {
        let mut state = self.recording.0.lock();
        if let Some(RecordedEvent::Question { answer, .. }) = state.events.get_mut(self.index) {
            *answer = given.clone();
        }
    }
}

/// Records log lines, and passes them on.
#[derive(Debug)]
pub(crate) struct RecordedLog {
    pub(crate) recording: Arc<CallRecording>,
    pub(crate) listener: Option<Arc<dyn LogListener>>,
}

impl LogListener for RecordedLog {
    fn hear(&self, line: LogLine) {
        let (level, message) = (line.level, line.message.clone());
        self.recording
            .add(message.len(), || RecordedEvent::Log(level, message));
        if let Some(listener) = &self.listener {
            listener.hear(line);
        }
    }
}
