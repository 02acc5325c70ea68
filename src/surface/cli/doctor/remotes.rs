//! The other hosts of the configuration, and how many of their tools are in the catalog.

use haft_config::{Config, DEFAULT_TENANT};
use haft_render::style::Ink;
use haft_render::units;
use haft_tool::{Family, TerminalText, terminal_text};
use serde::Serialize;

use crate::registry::Catalog;

/// One entry of `remote`.
#[derive(Serialize)]
pub(super) struct View {
    name: String,
    /// The addresses, without what is secret in them.
    url: String,
    tenant: String,
    /// Number of its tools in the catalog.
    tools: usize,
}

pub(super) fn views(catalog: &Catalog, config: &Config) -> Vec<View> {
    let remotes = config.remote.iter();
    let used = remotes.filter(|(_, remote)| remote.enabled != Some(false));
    let view = |(name, remote): (&String, &haft_config::Remote)| {
        let of_remote = catalog.tools().filter(|tool| {
            let source = &tool.source;
            source.family == Family::Remote && source.plugin.as_ref() == Some(name)
        });
        let tenant = remote.tenant.as_deref().unwrap_or(DEFAULT_TENANT);
        View {
            name: name.clone(),
            url: remote
                .url
                .as_ref()
                .map(ToString::to_string)
                .unwrap_or_default(),
            tenant: tenant.to_owned(),
            tools: of_remote.count(),
        }
    };
    used.map(view).collect()
}

/// Returns a line for each; nothing if there are none.
pub(super) fn page(views: &[View], ink: Ink) -> TerminalText {
    if views.is_empty() {
        return TerminalText::new();
    }
    let mut page = terminal_text!("{}\n", ink.bold("remote"));
    for view in views {
        let tools = units::count(view.tools, "tool");
        let View {
            name, url, tenant, ..
        } = view;
        page.push(&terminal_text!(
            "  {name}  {url}, tenant {tenant}: {tools}\n"
        ));
    }
    page.push_literal("\n");
    page
}
