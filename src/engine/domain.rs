//! The key that decides which modules may share an isolate.

use std::sync::Arc;

use super::Engine;
use crate::tool::{PermissionProfile, Tier, TrustDomain};

/// Modules share an isolate only if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct IsolateKey {
    /// The party that the code belongs to.
    pub domain: TrustDomain,
    /// What the code may touch there.
    pub permissions: Arc<PermissionProfile>,
}

impl Engine {
    /// The key of modules of `domain` for what runs before anybody was asked.
    pub fn isolate_key(&self, domain: TrustDomain) -> IsolateKey {
        self.isolate_key_of_tier(domain, self.0.options.unasked)
    }

    /// The key of modules of `domain` for calls with the rights of `tier`.
    pub(super) fn isolate_key_of_tier(&self, domain: TrustDomain, tier: Tier) -> IsolateKey {
        let options = &self.0.options;
        let permissions = match domain {
            TrustDomain::Project => &options.project.permissions,
            TrustDomain::User | TrustDomain::Plugins => &options.permissions,
        };
        let permissions = match tier {
            Tier::Exec => permissions.clone(),
            narrower => Arc::new(permissions.of_tier(narrower)),
        };
        IsolateKey {
            domain,
            permissions,
        }
    }
}
