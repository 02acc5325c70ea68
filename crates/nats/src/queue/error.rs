//! Failures of the steps that read and write the queue's records, messages and parts.

use std::error::Error;

/// Failure of a step of the queue.
#[derive(Debug, thiserror::Error)]
pub(super) enum QueueError {
    #[error("the server has no JetStream")]
    NoJetStream,
    #[error("it is too long")]
    TooLong,
    #[error("a part is missing: it is too old")]
    PartMissing,
    #[error("the server's time cannot be read")]
    NoClock,
    /// A record that is to be made is there already, and is not one of this version.
    #[error("{0}")]
    RecordUnreadable(String),
    #[error("the server neither takes nor shows its record")]
    RecordHidden,
    #[error("the server neither takes a change of its record nor shows another one")]
    ChangeHidden,
    #[error("the server did not show its record")]
    RecordNotShown,
    /// A record or a frame that this host has made is not JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// An operation that the server has refused or not answered.
    #[error(transparent)]
    Server(Box<dyn Error + Send + Sync>),
}

impl QueueError {
    /// Returns the failure of an operation of the server.
    pub(super) fn of_server(error: impl Error + Send + Sync + 'static) -> QueueError {
        QueueError::Server(Box::new(error))
    }
}
