//! Data for completion: the tools, the sessions and the entries.

use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;

use super::session;
use crate::registry::Catalog;
use haft_tool::Tool;

/// Data that the repl shares with its line editor, which runs on another thread.
#[derive(Default)]
pub(super) struct Known(Mutex<State>);

#[derive(Default)]
struct State {
    catalog: Arc<Catalog>,
    /// Folder of haft's own sessions.
    sessions: PathBuf,
    /// Entries of the session: their ids with a description each.
    entries: Vec<(String, String)>,
}

impl Known {
    pub(super) fn set_catalog(&self, catalog: Arc<Catalog>) {
        self.0.lock().catalog = catalog;
    }

    pub(super) fn set_session(&self, folder: PathBuf, entries: Vec<(String, String)>) {
        let mut state = self.0.lock();
        state.sessions = folder;
        state.entries = entries;
    }

    pub(super) fn tool(&self, name: &str) -> Option<Arc<Tool>> {
        let catalog = self.0.lock().catalog.clone();
        catalog.find(name).map(|entry| entry.tool.clone())
    }

    /// Returns the names and descriptions of the tools.
    pub(super) fn tools(&self) -> Vec<(String, String)> {
        let catalog = self.0.lock().catalog.clone();
        let tools = catalog.tools();
        tools
            .map(|tool| (tool.name.clone(), tool.description.clone()))
            .collect()
    }

    pub(super) fn sessions(&self) -> Vec<String> {
        let folder = self.0.lock().sessions.clone();
        session::names(&folder)
    }

    pub(super) fn entries(&self) -> Vec<(String, String)> {
        self.0.lock().entries.clone()
    }
}
