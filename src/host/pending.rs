//! Actions that calls leave pending, and the tool that ends them.

use std::sync::Arc;

use super::Host;
use crate::family::js::{self, RESOLVE};
use crate::registry::{Catalog, Entry};

impl Host {
    /// What the newest action says of itself that waits to be applied or discarded with the tool
    /// `resolve`.
    pub fn newest_pending(&self) -> Option<String> {
        self.0.engine.newest_pending()
    }

    /// Says so where a tool has the name of the one that ends pending actions. Its author was
    /// first, so there will be no pending actions.
    pub(super) fn without_rival(&self, mut catalog: Catalog) -> Catalog {
        if let Some(rival) = catalog.find(RESOLVE) {
            self.0.engine.withhold_pending();
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

    /// The tool that ends pending actions.
    pub(super) async fn resolver(&self) -> Option<Arc<Entry>> {
        let engine = &self.0.engine;
        let made = self.0.resolver.get_or_try_init(async || {
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
