//! Trust domain of a tool: the party that its code belongs to.

/// The party whose code runs in an isolate. Code of different parties never shares one: JavaScript
/// globals, `process.env`, `pi.events` and package state do not cross the border.
///
/// Plugins are third-party code, so they are separated from the user's own tools. They share one
/// isolate with each other, as they share one process in oh-my-pi. One isolate for each would cost
/// about 20 MB of memory per plugin. Each host has its own isolates, so two projects never share
/// one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum TrustDomain {
    /// The user: their own folders, and every path that they or the embedding program name.
    #[default]
    User,
    /// The plugins that the user installed.
    Plugins,
    /// The project in the host's working directory.
    Project,
}

impl TrustDomain {
    /// Returns the name of the domain in logs; `None` for the user's own.
    pub fn label(self) -> Option<&'static str> {
        match self {
            TrustDomain::User => None,
            TrustDomain::Plugins => Some("plugins"),
            TrustDomain::Project => Some("project"),
        }
    }
}
