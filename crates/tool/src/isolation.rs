//! Separation of a tool from haft's own process, and the rights of a tool that a caller resolved.

use std::fmt;
use std::sync::Arc;

use super::PermissionProfile;

/// Separation of a tool from haft's own process. A later level is stricter.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Isolation {
    /// Modules run in haft's process; programs run with the rights of the user.
    #[default]
    None,
    /// Modules run in a worker process; programs run as with [`Isolation::None`].
    Process,
    /// Modules run in a worker process, and the kernel enforces the permissions on the worker and
    /// on every program.
    Sandbox,
}

impl Isolation {
    /// All levels, the weakest first.
    pub const ALL: [Isolation; 3] = [Isolation::None, Isolation::Process, Isolation::Sandbox];

    /// Returns the name in configuration files.
    pub fn as_str(self) -> &'static str {
        match self {
            Isolation::None => "none",
            Isolation::Process => "process",
            Isolation::Sandbox => "sandbox",
        }
    }

    /// Returns the level with that name.
    pub fn from_name(name: &str) -> Option<Isolation> {
        Isolation::ALL
            .into_iter()
            .find(|level| level.as_str() == name)
    }
}

impl fmt::Display for Isolation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
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
