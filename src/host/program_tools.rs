//! Tools of a program that is connected to the host. They come and go while the host runs.
//!
//! They follow the tools of the embedding program and precede all found ones, with the same rules
//! about names: a file with the name of such a tool becomes a problem.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::Host;
use super::load_state::Why;
use super::watcher::{Before, Reload};
use crate::family::custom::CustomTool;
use crate::registry::{Builder, Catalog};
use haft_tool::Problem;

/// The catalog that every other one begins with: the tools of the embedding program, then those of
/// the connected one.
#[derive(Clone, Default)]
pub(super) struct OwnTools {
    pub(super) catalog: Catalog,
    /// Number of changes so far.
    pub(super) version: u64,
}

/// Result of [`Host::set_program_tools`].
pub(crate) struct Registered {
    /// The names that the program gave the accepted tools.
    pub(crate) names: Vec<String>,
    /// The problems of the others.
    pub(crate) problems: Vec<Problem>,
}

impl Host {
    /// Replaces the tools of the connected program. `problems` are those of tools that could not
    /// be read. Catalogs that are built from now on contain the tools;
    /// [`Host::show_program_tools`] builds one.
    pub(crate) fn set_program_tools(
        &self,
        tools: Vec<CustomTool>,
        mut problems: Vec<Problem>,
    ) -> Registered {
        let config = &self.inner.config;
        let mut builder = Builder::new(
            self.inner.embedded_tools.clone(),
            &config.built_in_tool_names,
            &config.rename,
            &config.approval,
        );
        let mut names = Vec::with_capacity(tools.len());
        for tool in tools {
            let name = tool.name().to_owned();
            match tool.load(config.limits.grace) {
                Ok((candidate, loaded)) => {
                    let (entries, conflicts) = builder.add(&candidate, loaded);
                    names.extend((!entries.is_empty()).then_some(name));
                    problems.extend(conflicts);
                }
                Err(why) => problems.push(Problem::error(why).about(&name)),
            }
        }
        let mut catalog = builder.finish();
        let embedded = self.inner.embedded_tools.problems.iter();
        catalog.problems = embedded.chain(&problems).cloned().collect();
        let mut own = self.inner.own.lock();
        own.catalog = catalog;
        own.version += 1;
        drop(own);
        self.expect_no_program_tools();
        Registered { names, problems }
    }

    /// Builds the catalog with the current tools of the connected program. Returns the difference;
    /// `None` if there is none, or if no catalog was needed before.
    pub(crate) async fn show_program_tools(&self) -> Option<Reload> {
        let alone = self.inner.comparing.lock().await;
        {
            let _no_refresh = self.inner.refreshing.lock().await;
            let mut loaded = self.inner.loaded.lock().await;
            let own = self.inner.own.lock().version;
            if !loaded.is_scanned {
                let (catalog, version) = self.catalog_of_given(&loaded.given, &loaded.known);
                let catalog = Arc::new(catalog);
                loaded.catalog = catalog.clone();
                loaded.loaded_catalog = catalog;
                loaded.own_version = version;
                return None;
            }
            if loaded.own_version == own {
                return None;
            }
        }
        let before = Before::of(self, alone).await;
        self.look_again(Why::Files).await;
        before.until_now(self, Default::default()).await
    }

    /// Makes the first catalog wait for the tools of a program that is about to register them, for
    /// at most `timeout`. Must be called in a tokio runtime.
    pub(crate) fn expect_program_tools(&self, timeout: Duration) {
        let expected = CancellationToken::new();
        if self.inner.expected_tools.set(expected.clone()).is_ok() {
            tokio::spawn(async move {
                let in_time = expected.run_until_cancelled(tokio::time::sleep(timeout));
                if in_time.await.is_some() {
                    tracing::warn!(?timeout, "the program registered no tools in time");
                    expected.cancel();
                }
            });
        }
    }

    /// Ends the wait of [`Host::expect_program_tools`].
    pub(crate) fn expect_no_program_tools(&self) {
        if let Some(expected) = self.inner.expected_tools.get() {
            expected.cancel();
        }
    }

    /// Waits as [`Host::expect_program_tools`] says, or until the host ends.
    pub(super) async fn wait_for_program_tools(&self) {
        if let Some(expected) = self.inner.expected_tools.get() {
            tokio::select! {
                () = expected.cancelled() => {}
                () = self.inner.closing.cancelled() => {}
            }
        }
    }
}
