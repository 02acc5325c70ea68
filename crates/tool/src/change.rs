//! Difference between two catalogs, as far as callers can see it.

use std::collections::HashMap;

use super::Tool;

/// A change of the catalog: the tools that were added, removed or changed. Names are in the order
/// of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogChange {
    /// Number of changes so far, including this one; 0 means no change yet. A caller that sees a
    /// gap has missed changes and should list the tools again.
    pub generation: u64,
    /// Names of the tools that are new.
    pub added: Vec<String>,
    /// Names of the tools that are gone.
    pub removed: Vec<String>,
    /// Names of the tools with a difference that a caller can see: text, schema, tier, source,
    /// trust.
    pub changed: Vec<String>,
}

impl CatalogChange {
    /// Returns the difference, or `None` if there is none. The caller sets the generation.
    pub fn between<'a>(
        before: impl Iterator<Item = &'a Tool>,
        after: impl Iterator<Item = &'a Tool>,
    ) -> Option<CatalogChange> {
        let before: Vec<_> = before.collect();
        let mut gone: HashMap<&str, &Tool> = before
            .iter()
            .map(|tool| (tool.name.as_str(), *tool))
            .collect();
        let mut change = CatalogChange::default();
        for tool in after {
            match gone.remove(tool.name.as_str()) {
                None => change.added.push(tool.name.clone()),
                Some(was) if was != tool => change.changed.push(tool.name.clone()),
                Some(_) => {}
            }
        }
        let removed = before.iter().map(|tool| tool.name.as_str());
        change.removed = removed
            .filter(|name| gone.contains_key(name))
            .map(str::to_owned)
            .collect();
        (!change.is_empty()).then_some(change)
    }

    /// Returns true if nothing is different.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}
