//! Context of a scan: facts that several providers need, gathered once per scan.
//!
//! These are oh-my-pi's settings, the installed plugins and Claude's marketplace plugins. This
//! module only reads them; the providers decide.

use super::marketplace::{self, MarketplaceRoot};
use super::plugins::{self, Plugin};
use super::settings::OmpSettings;
use super::sweep::Sweep;
use super::{PROVIDERS, claude_plugins, manifests, omp_plugins};
use crate::config::Config;
use crate::tool::Problem;

pub(super) struct Ground<'a> {
    pub config: &'a Config,
    pub settings: OmpSettings,
    pub plugins: Vec<Plugin>,
    pub marketplace: Vec<MarketplaceRoot>,
}

impl<'a> Ground<'a> {
    pub(super) fn survey(
        config: &'a Config,
        project_decides: bool,
        sweep: &mut Sweep<'_>,
    ) -> Ground<'a> {
        if let Some(profile) = &config.roots.refused_profile {
            let message = format!("`{profile}` is not a profile name; the default profile is used");
            let hint =
                "set OMP_PROFILE to lower-case letters, digits, dots, dashes and underscores";
            sweep.problem(Problem::warning(message).hint(hint));
        }
        let settings = OmpSettings::read(config, project_decides, sweep);
        check_switches(config, sweep);
        for id in &config.disabled_extensions {
            sweep.switch_off(
                id.clone(),
                "`disabled_extensions` of haft's configuration".to_owned(),
            );
        }
        for (id, file) in &settings.disabled_extensions {
            sweep.switch_off(
                id.clone(),
                format!("`disabledExtensions` in {}", file.display()),
            );
        }
        let mut ground = Ground {
            config,
            settings,
            plugins: Vec::new(),
            marketplace: Vec::new(),
        };
        let anchor = plugins::project_anchor(config);
        sweep.reads(config.cwd.join(&config.roots.omp_name));
        let wanted = |ids: &[&str]| ids.iter().any(|id| ground.switched_off(id).is_none());
        let (plugins, roots) = (
            wanted(&[omp_plugins::PROVIDER.id, manifests::PROVIDER.id]),
            wanted(&[omp_plugins::PROVIDER.id, claude_plugins::PROVIDER.id]),
        );
        if roots {
            sweep.turn_to(&claude_plugins::PROVIDER);
            ground.marketplace =
                marketplace::roots(config, anchor.as_deref(), project_decides, sweep);
        }
        if plugins {
            sweep.turn_to(&manifests::PROVIDER);
            ground.plugins = plugins::enabled(config, anchor.as_deref(), project_decides, sweep);
        }
        ground
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
fn check_switches(config: &Config, sweep: &mut Sweep<'_>) {
    for off in &config.disabled_providers {
        if !PROVIDERS.iter().any(|provider| provider.id == off) {
            let ids: Vec<&str> = PROVIDERS.iter().map(|provider| provider.id).collect();
            let message = format!("`disabled_providers` names `{off}`, which is no provider");
            sweep.problem(Problem::warning(message).hint(format!("there are: {}", ids.join(", "))));
        }
    }
    for off in &config.disabled_extensions {
        if !off.starts_with("tool:") {
            let message = format!("`disabled_extensions` names `{off}`, which is no extension id");
            sweep.problem(Problem::warning(message).hint(format!("write `tool:{off}`")));
        }
    }
}
