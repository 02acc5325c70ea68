//! The key that decides which modules may share an isolate.

use std::sync::Arc;

use super::{Access, Engine};
use crate::tool::TrustDomain;

/// Modules share an isolate only if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IsolateKey {
    /// The party that the code belongs to.
    pub domain: TrustDomain,
    /// What Web and Node APIs may touch there.
    pub access: Arc<Access>,
}

impl Engine {
    /// The key of modules of `domain` with the host's permissions.
    pub fn isolate_key(&self, domain: TrustDomain) -> IsolateKey {
        IsolateKey {
            domain,
            access: self.0.options.access.clone(),
        }
    }
}
