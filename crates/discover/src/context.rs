//! Context of a scan: facts that several providers need, gathered once per scan.
//!
//! These are oh-my-pi's settings, the installed plugins and Claude's marketplace plugins. This
//! module only reads them; the providers decide.

use super::collector::Collector;
use super::marketplace::{self, MarketplaceRoot};
use super::plugins::{self, Plugin};
use super::settings::OmpSettings;
use super::{PROVIDERS, claude_plugins, manifests, omp_plugins};
use haft_config::Config;
use haft_tool::Problem;

pub(super) struct ScanContext<'a> {
    pub config: &'a Config,
    pub settings: OmpSettings,
    pub plugins: Vec<Plugin>,
    pub marketplace: Vec<MarketplaceRoot>,
}

impl<'a> ScanContext<'a> {
    pub(super) fn gather(
        config: &'a Config,
        project_decides: bool,
        collector: &mut Collector<'_>,
    ) -> ScanContext<'a> {
        if let Some(profile) = &config.roots.refused_profile {
            let message = format!("`{profile}` is not a profile name; the default profile is used");
            let hint =
                "set OMP_PROFILE to lower-case letters, digits, dots, dashes and underscores";
            collector.problem(Problem::warning(message).hint(hint));
        }
        let settings = OmpSettings::read(config, project_decides, collector);
        check_switches(config, collector);
        for id in &config.disabled_extensions {
            collector.disable(
                id.clone(),
                "`disabled_extensions` of haft's configuration".to_owned(),
            );
        }
        for (id, file) in &settings.disabled_extensions {
            collector.disable(
                id.clone(),
                format!("`disabledExtensions` in {}", file.display()),
            );
        }
        let mut context = ScanContext {
            config,
            settings,
            plugins: Vec::new(),
            marketplace: Vec::new(),
        };
        let anchor = plugins::project_anchor(config);
        collector.reads(config.cwd.join(&config.roots.omp_name));
        let wanted = |ids: &[&str]| ids.iter().any(|id| context.switched_off(id).is_none());
        let (plugins, roots) = (
            wanted(&[omp_plugins::PROVIDER.id, manifests::PROVIDER.id]),
            wanted(&[omp_plugins::PROVIDER.id, claude_plugins::PROVIDER.id]),
        );
        if roots {
            collector.set_provider(&claude_plugins::PROVIDER);
            context.marketplace =
                marketplace::roots(config, anchor.as_deref(), project_decides, collector);
        }
        if plugins {
            collector.set_provider(&manifests::PROVIDER);
            context.plugins =
                plugins::enabled(config, anchor.as_deref(), project_decides, collector);
        }
        context
    }

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

/// Reports unknown provider ids and invalid extension ids in our own configuration's off switches.
fn check_switches(config: &Config, collector: &mut Collector<'_>) {
    for off in &config.disabled_providers {
        if !PROVIDERS.iter().any(|provider| provider.id == off) {
            let ids: Vec<&str> = PROVIDERS.iter().map(|provider| provider.id).collect();
            let message = format!("`disabled_providers` names `{off}`, which is not a provider");
            collector
                .problem(Problem::warning(message).hint(format!("there are: {}", ids.join(", "))));
        }
    }
    for off in &config.disabled_extensions {
        if !off.starts_with("tool:") {
            let message =
                format!("`disabled_extensions` names `{off}`, which is not an extension id");
            collector.problem(Problem::warning(message).hint(format!("write `tool:{off}`")));
        }
    }
}
