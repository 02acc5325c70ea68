//! The key that decides which modules may share an isolate.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use super::{Access, Engine};
use crate::tool::TrustDomain;

/// Modules share an isolate only if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolateKey {
    /// The party that the code belongs to.
    pub domain: TrustDomain,
    /// What Web and Node APIs may touch there.
    pub access: Arc<Access>,
}

/// Every call looks its isolate up. A domain has few keys, so that hashing the lists of permissions costs
/// more than it saves.
impl Hash for IsolateKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.domain.hash(state);
    }
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
