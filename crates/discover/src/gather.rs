//! Reading of the facts that several providers need.

use super::collector::Collector;
use super::context::ScanContext;
use super::settings::OmpSettings;
use super::{PROVIDERS, claude_plugins, manifests, marketplace, omp_plugins, plugins};
use haft_config::Config;
use haft_tool::Problem;

/// Reads oh-my-pi's settings, the installed plugins and Claude's marketplace plugins. The providers
/// decide what they mean.
pub(super) fn gather<'a>(
    config: &'a Config,
    project_decides: bool,
    collector: &mut Collector<'_>,
) -> ScanContext<'a> {
    if let Some(profile) = &config.roots.refused_profile {
        let message = format!("`{profile}` is not a profile name; the default profile is used");
        let hint = "set OMP_PROFILE to lower-case letters, digits, dots, dashes and underscores";
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
        context.plugins = plugins::enabled(config, anchor.as_deref(), project_decides, collector);
    }
    context
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
