//! What a tool asks of the world outside, on record: to test it without the world.
//!
//! Vocabulary only; requests and answers are JSON text in the form of the op that they pass through.

/// A way out of a tool's isolate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// `pi.exec`.
    Exec,
    /// `fetch`.
    Fetch,
}

/// What is done with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Played {
    /// The world is asked, and [`Tape::keep`] hears what it said.
    World,
    /// This is the answer.
    Answer(String),
    /// There is none; the text says why.
    Nothing(String),
}

/// Stands between a tool and the world. Called on the tool's own thread: must not block.
pub trait Tape: Send + Sync {
    /// What to do with `request`.
    fn play(&self, reach: Reach, request: &str) -> Played;

    /// The world was asked, and this is what it said.
    fn keep(&self, reach: Reach, request: &str, answer: &str);
}
