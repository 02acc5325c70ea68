//! Description of the tools of an untrusted project, if the user allows it: their files are loaded
//! in a sandbox in which they can read the project and do nothing else, and are ended at once.

use std::sync::Arc;
use std::time::Duration;

use super::Host;
use crate::family::js::{self, World};
use crate::family::rights::Sandboxes;
use crate::family::{self, Connections, ListingFolder, LoadContext, Loaded};
use crate::trust::Doubted;
use haft_tool::Problem;

/// Limit of the time in which all tools of a project describe themselves.
const TIMEOUT: Duration = Duration::from_secs(15);

impl Host {
    /// Adds what the tools say about themselves, if `sandbox.list_untrusted` is set.
    pub(super) async fn describe_untrusted(&self, doubted: &mut [Doubted]) {
        let config = self.config_for_rights();
        if !config.sandbox.list_untrusted || doubted.is_empty() {
            return;
        }
        let config = config.for_untrusted_listing();
        let sandboxes = Arc::new(Sandboxes::new(&config));
        let log = js::tool_log(&config);
        let connections = Connections::new(&config, log.clone());
        let engine = js::engine(&config, World::default(), &sandboxes, log);
        let candidates: Vec<_> = doubted.iter().map(|one| one.candidate.clone()).collect();
        let context = LoadContext {
            config: &config,
            engine: &engine,
            sandboxes: &sandboxes,
            listing: ListingFolder::of(&config),
        };
        let loading = family::load(&context, &connections, &candidates);
        let loaded = tokio::time::timeout(TIMEOUT, loading).await;
        engine.shutdown().await;
        sandboxes.close();
        match loaded {
            Ok(loaded) => {
                for (one, loaded) in doubted.iter_mut().zip(loaded) {
                    one.described = loaded;
                }
            }
            Err(_) => {
                let late = Problem::info(format!("its project took more than {TIMEOUT:?}"));
                for one in doubted {
                    one.described = Loaded {
                        problems: vec![late.clone()],
                        ..Loaded::default()
                    };
                }
            }
        }
    }
}
