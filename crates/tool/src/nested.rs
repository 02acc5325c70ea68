//! Calls of other tools as parts of a running call.

use std::fmt::Debug;

use serde_json::value::RawValue;

use super::{Cancellation, Event, queue};

/// Starts calls of tools as parts of one running call.
pub trait NestedCalls: Debug + Send + Sync {
    /// Starts a call of `tool`. The last event is [`Event::Finished`]. The call is cancelled by
    /// `cancellation`, and with the call that it is a part of.
    fn call(
        &self,
        tool: &str,
        arguments: Box<RawValue>,
        cancellation: Cancellation,
    ) -> queue::Receiver<Event>;
}
