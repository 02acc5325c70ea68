//! What the routes of one server share, and what it tells by itself.

use std::sync::{Arc, Mutex, PoisonError};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::feed::Feed;
use super::history::History;
use super::ledger::Ledger;
use super::tools::Listing;
use crate::host::Host;
use crate::registry::Catalog;
use crate::surface::wire::ProblemView;

/// What the routes share.
pub(super) struct Shared {
    /// The tools.
    pub(super) host: Host,
    /// Fires when the server ends.
    pub(super) stop: CancellationToken,
    /// The list of tools as it was last sent.
    pub(super) listing: Listing,
    /// What happens.
    pub(super) feed: Arc<Feed>,
    /// The calls.
    pub(super) ledger: Arc<Ledger>,
    /// Those that the log knows.
    pub(super) history: Arc<History>,
    /// The problems as they were last told; `None` before the tools were looked for.
    told: Mutex<Option<String>>,
}

/// Which tools came, went or are not what they were.
#[derive(Serialize)]
struct ToolsChanged<'a> {
    generation: u64,
    added: &'a [String],
    removed: &'a [String],
    changed: &'a [String],
}

/// What is wrong with what was found, all of it.
#[derive(Serialize)]
struct Problems<'a> {
    problems: Vec<ProblemView<'a>>,
}

impl Shared {
    pub(super) fn new(host: Host, stop: CancellationToken) -> Shared {
        let feed = Arc::<Feed>::default();
        Shared {
            history: Arc::new(History::of(&host)),
            host,
            stop,
            listing: Listing::default(),
            ledger: Arc::new(Ledger::new(Arc::clone(&feed))),
            feed,
            told: Mutex::default(),
        }
    }

    /// Tells of every change of the catalog and of its problems until the server ends.
    pub(super) async fn tell_changes(self: Arc<Self>) {
        let mut changes = self.host.changes();
        let mut problem_changes = self.host.problem_changes();
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
                };
                if let Some(change) = change {
                    self.feed.publish(
                        "tools.changed",
                        &ToolsChanged {
                            generation: change.generation,
                            added: &change.added,
                            removed: &change.removed,
                            changed: &change.changed,
                        },
                    );
                }
                self.tell_problems(&*self.host.catalog().await);
            }
        };
        stop.run_until_cancelled(telling).await;
    }

    /// Tells what is wrong with what was found, if that is news.
    pub(super) fn tell_problems(&self, catalog: &Catalog) {
        let problems = catalog.problems.iter().map(ProblemView::from).collect();
        let problems = Problems { problems };
        let Ok(text) = serde_json::to_string(&problems) else {
            return;
        };
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = match &*told {
            None => !problems.problems.is_empty(),
            Some(told) => *told != text,
        };
        *told = Some(text);
        if is_news {
            self.feed.publish("problems", &problems);
        }
    }
}
