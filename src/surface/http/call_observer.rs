//! Lets one surface observe the calls that other surfaces of the same server run.
//!
//! If several surfaces share a server, one of them keeps the call log (REST: `/api/calls`,
//! `/api/events`). The others report their calls to it.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use haft_tool::Error;
use haft_tool::Outcome;

/// Log of calls.
pub(crate) trait CallObserver: Send + Sync {
    /// Logs a call that a client starts. Readers of the log can stop the call with `cancel`.
    fn begin(
        &self,
        client: &Arc<Client>,
        id: &str,
        tool: &str,
        cancel: CancellationToken,
    ) -> Box<dyn ObservedCall>;
}

/// Entry of a running call. If it is dropped before the end, the call counts as cancelled.
pub(crate) trait ObservedCall: Send + Sync {
    /// Logs the newest update.
    fn update(&self, partial: &RawValue);

    /// Logs the end of the call.
    fn end(self: Box<Self>, ended: &Result<Outcome, Error>);
}
