//! Pending actions of calls, and the tool that resolves them.

use std::sync::Arc;

use super::Host;
use crate::family::js::{self, RESOLVE};
use crate::registry::{Catalog, Entry};

impl Host {
    /// Returns the description of the newest action that waits to be applied or discarded with the
    /// tool `resolve`.
    pub fn newest_pending(&self) -> Option<String> {
        self.inner.engine.newest_pending()
    }

    /// Disables pending actions if a tool has the name of the one that resolves them, and adds a
    /// problem. The other tool keeps the name, because it was first.
    pub(super) fn without_rival(&self, mut catalog: Catalog) -> Catalog {
        if let Some(rival) = catalog.find(RESOLVE) {
            self.inner.engine.disable_pending_actions();
            let problem = js::rival(&rival.tool);
            if !catalog
                .problems
                .iter()
                .any(|known| known.message == problem.message)
            {
                catalog.problems.push(problem);
            }
        }
        catalog
    }

    /// Returns the tool that resolves pending actions.
    pub(super) async fn resolver(&self) -> Option<Arc<Entry>> {
        let engine = &self.inner.engine;
        let made = self.inner.resolver.get_or_try_init(async || {
            let (tool, runner) = js::resolver(engine).await.ok_or(())?;
            let resolved_path = tool.source.path.clone();
            Ok::<_, ()>(Arc::new(Entry {
                tool: Arc::new(tool),
                resolved_path,
                runner,
            }))
        });
        made.await.ok().cloned()
    }
}
