//! The key that decides which modules may share an isolate.

use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use url::Url;

use haft_tool::{Isolation, PermissionProfile, Tier, ToolRights, TrustDomain};

/// Modules share an isolate only if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IsolateKey {
    /// The party that the code belongs to.
    pub domain: TrustDomain,
    /// The permissions of the code in that isolate.
    pub permissions: Arc<PermissionProfile>,
    /// The separation of the isolate from haft's process.
    pub isolation: Isolation,
    /// The code that the sandbox lets the isolate read; `None` without a sandbox. Modules of
    /// different code have different sandboxes.
    pub code: Option<Arc<CodePaths>>,
}

/// Files and folders that belong to the code of modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CodePaths {
    /// The folder with the modules.
    pub folder: PathBuf,
    /// Real paths outside of that folder that were trusted as parts of the modules.
    pub trusted: Vec<PathBuf>,
}

impl IsolateKey {
    /// Returns the folder in which an isolate with this key keeps its compiled code. One in a
    /// sandbox has a folder for its key alone, because other isolates must not run what it writes.
    pub fn cache_in(&self, cache: &Path) -> PathBuf {
        if self.isolation < Isolation::Sandbox {
            return cache.to_owned();
        }
        let key = format!("{:?} {:?} {:?}", self.domain, self.permissions, self.code);
        let key = blake3::hash(key.as_bytes()).to_hex();
        cache.join("sandboxed").join(&key[..32])
    }

    /// Returns the module's key in the cache of descriptions. A file in two domains, or with other
    /// rights, may have another description.
    pub(super) fn name_of(&self, url: &Url) -> String {
        let rights = format!("{:?} {:?}", self.permissions, self.isolation);
        let rights = blake3::hash(rights.as_bytes()).to_hex();
        let domain = self.domain.label().unwrap_or("user");
        format!("{domain}-{}-{url}", &rights[..16])
    }
}

/// Hashes the domain only. Every call looks its isolate up, and a domain has few keys, so hashing
/// the lists of permissions costs more than it saves.
impl Hash for IsolateKey {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.domain.hash(state);
    }
}

impl IsolateKey {
    /// Returns the key of modules with these rights for calls of `tier`. `code` is the field of that
    /// name.
    pub(super) fn of_tier(
        domain: TrustDomain,
        rights: &ToolRights,
        code: Option<Arc<CodePaths>>,
        tier: Tier,
    ) -> IsolateKey {
        let permissions = match tier {
            Tier::Exec => rights.permissions.clone(),
            narrower => Arc::new(rights.permissions.of_tier(narrower)),
        };
        IsolateKey {
            domain,
            permissions,
            isolation: rights.isolation,
            code,
        }
    }
}
