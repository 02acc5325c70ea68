//! Rights that the configuration grants now: a running host applies a changed `permissions`,
//! `profiles`, `sandbox` or `isolation` at its next refresh. Everything else in the configuration
//! counts from the start of the host.

use std::sync::Arc;

use super::Host;
use haft_config::Config;
use haft_tool::Problem;

/// The configuration of a host with the rights of tools as the files grant them.
pub(super) struct CurrentRights {
    config: Arc<Config>,
    /// True if the files differ in more than rights from those that the host was started with.
    needs_restart: bool,
    /// The reason why the files are not used as they are now.
    problem: Option<Problem>,
}

impl CurrentRights {
    pub(super) fn new(config: &Config) -> CurrentRights {
        CurrentRights {
            config: Arc::new(config.clone()),
            needs_restart: false,
            problem: None,
        }
    }
}

impl Host {
    /// Returns the configuration with the rights as they were at the last refresh.
    pub(super) fn config_for_rights(&self) -> Arc<Config> {
        self.inner.rights.read().config.clone()
    }

    /// Returns the problems of the configuration files since the last refresh.
    pub(super) fn problems_of_rights(&self) -> Option<Problem> {
        self.inner.rights.read().problem.clone()
    }

    /// Returns true if a setting that is not about rights has changed.
    pub(super) fn needs_restart(&self) -> bool {
        self.inner.rights.read().needs_restart
    }

    /// Reads the configuration files again. If they are invalid, the rights stay as they are.
    pub(super) async fn read_rights_again(&self) {
        let first = self.inner.config.clone();
        let read = tokio::task::spawn_blocking(move || {
            let now = first.resolve_again()?;
            Some(now.map(|now| {
                (
                    first.with_rights_of(&now),
                    first.differs_beyond_rights(&now),
                )
            }))
        });
        match read.await {
            Ok(Some(Ok((config, needs_restart)))) => {
                self.inner.sandboxes.require(config.sandbox.required);
                *self.inner.rights.write() = CurrentRights {
                    config: Arc::new(config),
                    needs_restart,
                    problem: None,
                };
            }
            Ok(Some(Err(error))) => {
                let text = format!("the changed configuration is not used: {}", error.message());
                let mut problem = Problem::error(text);
                if let Some(hint) = error.hint() {
                    problem = problem.hint(hint);
                }
                self.inner.rights.write().problem = Some(problem);
            }
            Ok(None) | Err(_) => {}
        }
    }
}
