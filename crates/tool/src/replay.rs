//! Record and replay of a tool's external requests, for tests without network and programs.
//!
//! Requests and answers are JSON text in the form of the op that they pass through.

/// Channel through which a tool reaches the outside of its isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReplayChannel {
    /// `pi.exec`.
    Exec,
    /// `fetch`.
    Fetch,
}

/// Decision about an external request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReplayAnswer {
    /// Perform the request. Its answer is passed to [`Replay::keep`].
    World,
    /// Return this recorded answer.
    Answer(String),
    /// Fail the request; the text is the reason.
    Nothing(String),
}

/// Interface between a tool and the outside. Called on the tool's own thread, so it must not block.
pub trait Replay: Send + Sync {
    /// Decides about `request`.
    fn play(&self, reach: ReplayChannel, request: &str) -> ReplayAnswer;

    /// Receives the answer of a request that was performed.
    fn keep(&self, reach: ReplayChannel, request: &str, answer: &str);
}
