//! Scope of a handle's calls, and the tools that exist within it.

use std::ops::Deref;
use std::sync::Arc;

use super::Host;
use crate::registry::Entry;
use haft_tool::{CallerScope, Test};

/// A tool that exists for the caller of one handle. A call runs nothing else.
///
/// Only [`Host::reach`] makes one, so each call asks the scope of its caller: also a call of a tool, a
/// call of a script, one from a queue, and one of another host.
#[derive(Clone)]
pub(crate) struct ReachableTool(Arc<Entry>);

impl Deref for ReachableTool {
    type Target = Entry;

    fn deref(&self) -> &Entry {
        &self.0
    }
}

impl ReachableTool {
    /// Returns the entry of the tool in its catalog.
    pub(super) fn entry(&self) -> &Arc<Entry> {
        &self.0
    }
}

impl Host {
    /// Returns a handle of the same host, whose calls and their parts have the limits of `scope`, too.
    pub(crate) fn within(&self, scope: &CallerScope) -> Host {
        let mut host = self.clone();
        if scope.is_user() && scope.is_unlimited() {
            return host;
        }
        host.options.scope = Arc::new(self.options.scope.narrowed(scope));
        let policy = host.approval_policy().clone();
        host.with_approval(policy)
    }

    /// Returns the scope of the handle's calls.
    pub(crate) fn scope(&self) -> &CallerScope {
        &self.options.scope
    }

    /// Returns the tool for a call; `None` if it does not exist for the caller of the handle.
    pub(crate) fn reach(&self, entry: &Arc<Entry>) -> Option<ReachableTool> {
        let is_allowed = self.options.scope.allows(&entry.tool);
        is_allowed.then(|| ReachableTool(entry.clone()))
    }

    /// Returns one of the tests of a tool as such a tool.
    pub(super) fn reach_test(&self, tool: &Entry, test: &Test) -> Option<ReachableTool> {
        self.reach(&Arc::new(Entry {
            tool: tool.tool.clone(),
            resolved_path: tool.resolved_path.clone(),
            runner: test.runner.clone(),
        }))
    }

    /// Returns the tool of the handle of that name. It is not in the catalog, and its own calls have the
    /// scope of the handle.
    pub(super) fn handle_tool(&self, name: &str) -> Option<ReachableTool> {
        let entry = self.options.tools.clone()?.find(self, name)?;
        Some(ReachableTool(entry))
    }
}
