//! The calls of one server, as they are told beyond the surface that makes them.
//!
//! Where several surfaces share a server, one of them keeps the book (REST: `/api/calls`, `/api/events`);
//! the others enter their calls.

use std::sync::Arc;

use serde_json::value::RawValue;
use tokio_util::sync::CancellationToken;

use super::client::Client;
use crate::error::Error;
use crate::tool::Outcome;

/// Where calls are entered.
pub(crate) trait CallBook: Send + Sync {
    /// Enters a call that a client starts; `cancel` is for whoever reads the book and wants it to stop.
    fn begin(
        &self,
        client: &Arc<Client>,
        id: &str,
        tool: &str,
        cancel: CancellationToken,
    ) -> Box<dyn BookEntry>;
}

/// A call that runs. Dropped before its end, it counts as cancelled.
pub(crate) trait BookEntry: Send + Sync {
    /// Notes its newest update.
    fn update(&self, partial: &RawValue);

    /// Notes what it came to.
    fn end(self: Box<Self>, ended: &Result<Outcome, Error>);
}
