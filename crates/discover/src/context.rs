//! Context of a scan: facts that several providers need, read once per scan.

use super::marketplace::MarketplaceRoot;
use super::plugins::Plugin;
use super::settings::OmpSettings;
use haft_config::Config;

pub(super) struct ScanContext<'a> {
    pub config: &'a Config,
    pub settings: OmpSettings,
    pub plugins: Vec<Plugin>,
    pub marketplace: Vec<MarketplaceRoot>,
}

impl ScanContext<'_> {
    /// Returns the setting that switches the provider off, if any.
    pub(super) fn switched_off(&self, id: &str) -> Option<String> {
        let only = self.config.only_providers.as_ref();
        if only.is_some_and(|only| only.iter().all(|wanted| wanted != id)) {
            return Some("the program that embeds haft".to_owned());
        }
        if self.config.disabled_providers.iter().any(|off| off == id) {
            return Some("`disabled_providers` of haft's configuration".to_owned());
        }
        let (_, file) = self
            .settings
            .disabled_providers
            .iter()
            .find(|(off, _)| off == id)?;
        Some(format!("`disabledProviders` in {}", file.display()))
    }
}
