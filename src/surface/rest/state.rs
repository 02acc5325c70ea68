//! What the routes of one server share.

use tokio_util::sync::CancellationToken;

use super::tools::Listing;
use crate::host::Host;

/// What the routes share.
pub(super) struct Shared {
    /// The tools.
    pub(super) host: Host,
    /// Fires when the server ends.
    pub(super) stop: CancellationToken,
    /// The list of tools as it was last sent.
    pub(super) listing: Listing,
}

impl Shared {
    pub(super) fn new(host: Host, stop: CancellationToken) -> Shared {
        Shared {
            host,
            stop,
            listing: Listing::default(),
        }
    }
}
