//! The instances of one module, by the rights that its calls have.
//!
//! A module has one isolate for each set of rights that its calls need. It is a single isolate as
//! long as calls of its tier need no approval, or the user approves them. A call with fewer rights
//! runs in an instance of its own, since permissions belong to an isolate and not to a call.

use std::sync::OnceLock;

use haft_engine::Module;
use haft_tool::Tier;

/// All instances of a module; each is loaded when it is first called.
pub(super) struct Instances {
    /// The instance that was loaded for the description.
    first: Module,
    /// The description; `None` for a module that has one instance for all rights.
    described: Option<String>,
    others: [OnceLock<Module>; 3],
}

impl Instances {
    pub(super) fn new(first: Module, described: String) -> Instances {
        Instances {
            described: Some(described),
            ..Instances::only(first)
        }
    }

    /// Returns the instances of a module that has no other one.
    pub(super) fn only(first: Module) -> Instances {
        Instances {
            first,
            described: None,
            others: Default::default(),
        }
    }

    /// Returns the instance for calls with the rights of `tier`.
    pub(super) fn of(&self, tier: Tier) -> &Module {
        let Some(described) = &self.described else {
            return &self.first;
        };
        let place = match tier {
            Tier::Read => 0,
            Tier::Write => 1,
            Tier::Exec => 2,
        };
        self.others[place].get_or_init(|| self.first.of_tier(tier, described))
    }

    /// Marks the first instance as one that no call uses.
    pub(super) fn first_is_never_called(&self) {
        self.first.is_never_called();
    }

    /// Returns true if calls of that tier run in the first instance.
    pub(super) fn is_first(&self, tier: Tier) -> bool {
        self.described.is_none() || self.first.is_of_tier(tier)
    }
}
