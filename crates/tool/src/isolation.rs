//! Separation of a tool from haft's own process, and the rights of a tool that a caller resolved.

use std::sync::Arc;

use super::{PermissionProfile, ProfileSource};

/// Separation of a tool from haft's own process. A later level is stricter.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    Hash,
    PartialOrd,
    Ord,
    strum::Display,
    strum::EnumString,
    strum::IntoStaticStr,
)]
#[strum(serialize_all = "lowercase")]
pub enum Isolation {
    /// Modules run in a worker process, and programs in their own: both with the rights of the
    /// user.
    #[default]
    Process,
    /// Modules run in a worker process, and the kernel enforces the permissions on the worker and
    /// on every program.
    Sandbox,
}

impl Isolation {
    /// All levels, the weakest first.
    pub const ALL: [Isolation; 2] = [Isolation::Process, Isolation::Sandbox];

    /// Returns the name in configuration files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Returns the level with that name.
    ///
    /// # Errors
    /// If there is none; a fragment of a sentence that says what to write instead.
    pub fn parse(name: &str) -> Result<Isolation, String> {
        name.trim().parse().map_err(|_| match name.trim() {
            "none" => "`none` was removed: every module runs in a worker process now; write \
                       `process`, the default"
                .to_owned(),
            other => format!("`{other}` is neither process nor sandbox"),
        })
    }
}

/// Rights of a tool with their origin and their enforcement, for people and for the log of calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolBounds {
    /// The rights.
    pub rights: ToolRights,
    /// The profile that they come from.
    pub profile: ProfileSource,
    /// The mechanisms of the kernel that enforce them: `landlock abi 7, seccomp, namespaces ipc net`. `None` without a
    /// sandbox.
    pub layers: Option<String>,
    /// Restrictions that nothing enforces here, as fragments for people.
    pub missing: Vec<String>,
}

impl ToolBounds {
    /// Returns the isolation with the name of the profile and the mechanisms, in one line.
    pub fn summary(&self) -> String {
        let mut text = format!("{}, profile `{}`", self.rights.isolation, self.profile.name);
        if let Some(layers) = &self.layers {
            text.push_str(&format!(", {layers}"));
        }
        for missing in &self.missing {
            text.push_str(&format!(", not enforced: {missing}"));
        }
        text
    }
}

/// Rights of a tool: what it may access, and how far it is separated from haft.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ToolRights {
    /// The permissions.
    pub permissions: Arc<PermissionProfile>,
    /// The separation.
    pub isolation: Isolation,
}

impl ToolRights {
    /// Returns true if a tool with the rights `other` can do nothing that a tool with these rights
    /// cannot do. False where that cannot be told from the entries alone.
    pub fn contain(&self, other: &ToolRights) -> bool {
        self.isolation <= other.isolation && self.permissions.contains(&other.permissions)
    }

    /// Returns true if nothing is refused to the tool.
    pub fn are_complete(&self) -> bool {
        self.isolation == Isolation::Process
            && self.permissions.contains(&PermissionProfile::default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Permission;

    fn rights(isolation: Isolation, read: Permission) -> ToolRights {
        let permissions = PermissionProfile {
            read,
            ..PermissionProfile::default()
        };
        ToolRights {
            permissions: Arc::new(permissions),
            isolation,
        }
    }

    fn list(entries: &[&str]) -> Permission {
        Permission::List(entries.iter().map(|entry| (*entry).to_owned()).collect())
    }

    #[test]
    fn rights_contain_others_only_if_every_entry_is_granted() {
        let own = rights(Isolation::Sandbox, list(&["/p", "/data"]));
        for (isolation, read, is_contained) in [
            (Isolation::Sandbox, list(&["/p/src"]), true),
            (Isolation::Sandbox, list(&["/p", "/data/x"]), true),
            (Isolation::Sandbox, Permission::None, true),
            // A weaker separation, a further folder, and everything.
            (Isolation::Process, list(&["/p"]), false),
            (Isolation::Sandbox, list(&["/p", "/etc"]), false),
            (Isolation::Sandbox, Permission::All, false),
        ] {
            let other = rights(isolation, read);
            assert_eq!(own.contain(&other), is_contained, "{other:?}");
        }
        let except = |deny: &[&str]| Permission::Except {
            allow: Some(vec!["/p".to_owned()]),
            deny: deny.iter().map(|entry| (*entry).to_owned()).collect(),
        };
        // What is refused may be within what the other one grants.
        let bounded = rights(Isolation::Process, except(&["/p/secret"]));
        assert!(!bounded.contain(&rights(Isolation::Process, list(&["/p"]))));
        assert!(bounded.contain(&bounded.clone()));
        assert!(!own.are_complete() && !bounded.are_complete());
        assert!(rights(Isolation::Process, Permission::All).are_complete());
        assert!(!rights(Isolation::Sandbox, Permission::All).are_complete());
    }
}
