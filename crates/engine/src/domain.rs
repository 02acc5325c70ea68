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
    /// The permissions of its tools, of which `permissions` are those of a tier.
    pub granted: Arc<PermissionProfile>,
    /// Hash of `granted`, if they are not those of the domain.
    variant: Option<Arc<str>>,
}

impl IsolateKey {
    /// Returns the module's key in the cache of descriptions. A file in two domains, or with other
    /// permissions than its domain, is two modules, which may have different descriptions.
    pub(super) fn name_of(&self, url: &Url) -> String {
        let words = [self.domain.label(), self.variant.as_deref()];
        let words = words.into_iter().flatten();
        words.chain([url.as_str()]).collect::<Vec<_>>().join(" ")
    }

    /// Returns the key of the same modules for calls with the rights of `tier`.
    pub(super) fn of_tier(&self, tier: Tier) -> IsolateKey {
        IsolateKey {
            variant: self.variant.clone(),
            ..IsolateKey::new(self.domain, self.granted.clone(), tier)
        }
    }

    fn new(domain: TrustDomain, granted: Arc<PermissionProfile>, tier: Tier) -> IsolateKey {
        let permissions = match tier {
            Tier::Exec => granted.clone(),
            narrower => Arc::new(granted.of_tier(narrower)),
        };
        IsolateKey {
            domain,
            permissions,
            granted,
            variant: None,
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
    /// Returns the key of modules of `domain` with the permissions of that domain, for code that
    /// runs before any approval.
    pub fn isolate_key(&self, domain: TrustDomain) -> IsolateKey {
        self.isolate_key_of_tier(domain, self.inner.options.unasked)
    }

    /// Returns the key of modules of `domain` with these permissions, for code that runs before
    /// any approval.
    pub fn isolate_key_with(
        &self,
        domain: TrustDomain,
        granted: PermissionProfile,
    ) -> IsolateKey {
        if granted == **self.granted(domain) {
            return self.isolate_key(domain);
        }
        let hash = blake3::hash(format!("{granted:?}").as_bytes()).to_hex();
        IsolateKey {
            variant: Some(hash[..16].into()),
            ..IsolateKey::new(domain, Arc::new(granted), self.inner.options.unasked)
        }
    }

    /// Returns the key of modules of `domain` for calls with the rights of `tier`.
    pub(super) fn isolate_key_of_tier(&self, domain: TrustDomain, tier: Tier) -> IsolateKey {
        IsolateKey::new(domain, self.granted(domain).clone(), tier)
    }

    fn granted(&self, domain: TrustDomain) -> &Arc<PermissionProfile> {
        let options = &self.inner.options;
        match domain {
            TrustDomain::Project => &options.project.permissions,
            TrustDomain::User | TrustDomain::Plugins => &options.permissions,
        }
    }
}
