//! The key that decides which modules may share an isolate.

use std::hash::{Hash, Hasher};
use std::sync::Arc;

use url::Url;

use super::Engine;
use haft_tool::{PermissionProfile, Tier, TrustDomain};

/// Modules share an isolate only if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolateKey {
    /// The party that the code belongs to.
    pub domain: TrustDomain,
    /// The permissions of the code in that isolate.
    pub permissions: Arc<PermissionProfile>,
}

impl IsolateKey {
    /// Returns the module's key in the cache of descriptions. A file in two domains is two modules,
    /// which may have different descriptions.
    pub(super) fn name_of(&self, url: &Url) -> String {
        match self.domain.label() {
            Some(domain) => format!("{domain} {url}"),
            None => url.to_string(),
        }
    }
}

/// Hashes the domain only. Every call looks its isolate up, and a domain has few keys, so hashing
/// the lists of permissions costs more than it saves.
impl Hash for IsolateKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.domain.hash(state);
    }
}

impl Engine {
    /// Returns the key of modules of `domain` for code that runs before any approval.
    pub fn isolate_key(&self, domain: TrustDomain) -> IsolateKey {
        self.isolate_key_of_tier(domain, self.inner.options.unasked)
    }

    /// Returns the key of modules of `domain` for calls with the rights of `tier`.
    pub(super) fn isolate_key_of_tier(&self, domain: TrustDomain, tier: Tier) -> IsolateKey {
        let options = &self.inner.options;
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
