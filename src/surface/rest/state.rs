//! State that the routes of one server share, and the events that the server publishes by itself.

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::call_dto::Publisher;
use super::event_ring::Feeds;
use super::history::{History, Recorded};
use super::questions::Questions;
use super::recorded::RecordedTests;
use super::response::Listing;
use crate::code::CodeMode;
use crate::host::{CallRecord, Host};
use crate::registry::Catalog;
use crate::surface::http::Client;
use crate::surface::nats::Sharing;
use crate::surface::wire::ProblemView;
use haft_tool::CatalogChange;

/// State that the routes share.
pub(super) struct Shared {
    /// The tools.
    pub(super) host: Host,
    /// Fires when the server ends.
    pub(super) stop: CancellationToken,
    /// The list of tools as it was last sent.
    pub(super) listing: Listing,
    /// Code mode of the user, with all tools.
    pub(super) code: Arc<CodeMode>,
    /// The event feeds.
    pub(super) feeds: Arc<Feeds>,
    /// The open questions of calls.
    pub(super) questions: Arc<Questions>,
    /// The tests of recorded calls.
    pub(super) tests: Arc<RecordedTests>,
    /// The hosts that the server shares its calls with, if it does.
    pub(super) sharing: Option<Arc<Sharing>>,
    /// The calls in the audit log.
    pub(super) history: Arc<History>,
    /// The problems as they were last published; `None` before the first search for tools.
    told: Mutex<Option<String>>,
}

/// Added, removed and changed tools.
#[derive(Serialize)]
struct ToolsChanged<'a> {
    generation: u64,
    added: Vec<&'a str>,
    removed: Vec<&'a str>,
    changed: Vec<&'a str>,
}

impl<'a> ToolsChanged<'a> {
    /// Returns the part of a change that a client may see; `None` if that is empty.
    fn told(change: &'a CatalogChange, catalog: &Catalog, client: Option<&Client>) -> Option<Self> {
        let Some(client) = client else {
            let all = |names: &'a [String]| names.iter().map(String::as_str).collect();
            return Some(ToolsChanged {
                generation: change.generation,
                added: all(&change.added),
                removed: all(&change.removed),
                changed: all(&change.changed),
            });
        };
        let is_allowed = |name: &str| {
            let mut tools = catalog.tools();
            tools.any(|tool| tool.name == name && client.scope().allows(tool))
        };
        let allowed = |names: &'a [String]| -> Vec<&'a str> {
            let names = names.iter().map(String::as_str);
            names.filter(|name| is_allowed(name)).collect()
        };
        // The tier of a removed tool is unknown.
        let removed = change.removed.iter().map(String::as_str);
        let removed: Vec<_> = match client.scope().max_tier() {
            None => removed
                .filter(|name| client.scope().allows_name(name))
                .collect(),
            Some(_) => Vec::new(),
        };
        let (added, changed) = (allowed(&change.added), allowed(&change.changed));
        let is_told = !(added.is_empty() && removed.is_empty() && changed.is_empty());
        is_told.then_some(ToolsChanged {
            generation: change.generation,
            added,
            removed,
            changed,
        })
    }
}

/// A change of the rights of tools. `/api/catalog` has the new ones.
#[derive(Serialize)]
struct RightsChanged {}

/// All problems that were found.
#[derive(Serialize)]
struct Problems<'a> {
    problems: Vec<ProblemView<'a>>,
}

impl Shared {
    pub(super) fn new(
        host: Host,
        feeds: Arc<Feeds>,
        questions: Arc<Questions>,
        stop: CancellationToken,
        sharing: Option<Arc<Sharing>>,
    ) -> Shared {
        let publisher = Publisher(Arc::clone(&feeds));
        host.call_log().listen(publisher);
        Shared {
            history: Arc::new(History::of(&host)),
            host,
            stop,
            listing: Listing::default(),
            code: CodeMode::with_all(),
            questions,
            tests: Arc::default(),
            sharing,
            feeds,
            told: Mutex::default(),
        }
    }

    /// Returns the call with this id in the log of the host, if the client may see it.
    pub(super) fn logged(&self, client: &Client, id: &str) -> Option<Arc<CallRecord>> {
        let log = self.host.call_log();
        log.find(id, client.id(), |owner| client.scope().may_see(owner))
    }

    /// Returns the calls of the audit log that the client may see: for a token those that were made
    /// with it.
    pub(super) async fn history_for(&self, client: &Client) -> Vec<Arc<Recorded>> {
        let mut calls = self.history.calls().await;
        if let Some(token) = client.token_name() {
            calls.retain(|one| one.call.caller.token.as_ref() == Some(&token));
        }
        calls
    }

    /// Publishes every change of the catalog and of its problems until the server ends.
    pub(super) async fn tell_changes(self: Arc<Self>) {
        let mut changes = self.host.changes();
        let mut problem_changes = self.host.problem_changes();
        let mut rights_changes = self.host.rights_changes();
        let stop = self.stop.clone();
        let telling = async {
            self.tell_problems(&*self.host.catalog().await);
            loop {
                let change = tokio::select! {
                    biased;
                    changed = changes.changed() => match changed {
                        Ok(()) => Some(Arc::clone(&changes.borrow_and_update())),
                        Err(_) => return,
                    },
                    changed = problem_changes.changed() => match changed {
                        Ok(()) => None,
                        Err(_) => return,
                    },
                    changed = rights_changes.changed() => match changed {
                        Ok(()) => {
                            self.feeds.publish("rights.changed", &RightsChanged {});
                            continue;
                        }
                        Err(_) => return,
                    },
                };
                let catalog = self.host.catalog().await;
                if let Some(change) = change {
                    self.feeds.publish_to_each("tools.changed", |client| {
                        ToolsChanged::told(&change, &catalog, client)
                    });
                }
                self.tell_problems(&catalog);
            }
        };
        stop.run_until_cancelled(telling).await;
    }

    /// Publishes the problems if they have changed.
    pub(super) fn tell_problems(&self, catalog: &Catalog) {
        let problems = catalog.problems.iter().map(ProblemView::from).collect();
        let problems = Problems { problems };
        let Ok(text) = serde_json::to_string(&problems) else {
            return;
        };
        let mut told = self.told.lock();
        let is_news = match &*told {
            None => !problems.problems.is_empty(),
            Some(told) => *told != text,
        };
        *told = Some(text);
        if is_news {
            self.feeds.publish("problems", &problems);
        }
    }
}
