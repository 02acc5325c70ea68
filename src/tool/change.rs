//! What is different between two catalogs, as far as callers can see.

use std::collections::HashMap;

use super::Tool;

/// A change of the catalog: which tools came, went, or are not what callers were told. Names are in
/// the order of the catalog.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CatalogChange {
    /// How many changes there were so far, this one with them; 0 stands for none. Whoever sees a
    /// gap has missed some, and lists the tools again.
    pub generation: u64,
    /// The tools that were not there before.
    pub added: Vec<String>,
    /// The tools that are not there any more.
    pub removed: Vec<String>,
    /// The tools of which something is different that a caller can see: text, schema, tier, where
    /// it comes from, whether it is trusted.
    pub changed: Vec<String>,
}

impl CatalogChange {
    /// What is different; `None` if nothing is. The generation is for the caller to fill in.
    pub(crate) fn between<'a>(
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

    /// True where nothing is different.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }
}
