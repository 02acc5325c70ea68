//! The instances of one module, by the rights that its calls have.
//!
//! A module lives in one isolate for each set of rights that is needed: where nobody is asked about
//! calls of its tier, or where somebody said yes, that is one. A call with fewer rights runs in an
//! instance of its own, since permissions belong to an isolate and not to a call.

use std::sync::OnceLock;

use crate::engine::Module;
use crate::tool::Tier;

/// All instances of a module; each is loaded when it is first called.
pub(super) struct Instances {
    /// The one that was asked what the module offers.
    first: Module,
    /// What it said; `None` for a module that has one instance whatever the rights are.
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

    /// Of a module that has no other instance.
    pub(super) fn only(first: Module) -> Instances {
        Instances {
            first,
            described: None,
            others: Default::default(),
        }
    }

    /// The instance for calls with the rights of `tier`.
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

    /// No call runs in the first instance.
    pub(super) fn first_is_never_called(&self) {
        self.first.is_never_called();
    }

    /// Whether calls of that tier run in the first instance.
    pub(super) fn is_first(&self, tier: Tier) -> bool {
        self.described.is_none() || self.first.is_of_tier(tier)
    }
}
