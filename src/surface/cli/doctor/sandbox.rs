//! The section of `haft doctor` about sandboxes: the mechanisms of the kernel, the profiles of the
//! tools, and what nothing enforces.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::registry::Catalog;
use haft_config::{Config, ToolPlace};
use haft_process::sandbox::{self, Layers};
use haft_render::style::Ink;
use haft_tool::{Family, Isolation, TerminalText, TrustDomain, terminal_text};

/// The section as data.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct View {
    /// The mechanisms of the kernel.
    kernel: String,
    required: bool,
    /// Number of processors that a worker uses with its programs, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    worker_cpus: Option<u32>,
    /// Number of processors that a program of another tool uses, if that is limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    program_cpus: Option<u32>,
    /// Profiles with their isolation, by the part of the tools that has them.
    profiles: Vec<ProfileView>,
    /// Restrictions that nothing enforces, with the tools that they concern.
    not_enforced: BTreeMap<String, Vec<String>>,
    /// Advice about the configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    note: Option<&'static str>,
}

#[derive(Serialize)]
struct ProfileView {
    tools: String,
    profile: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    isolation: Option<&'static str>,
}

/// Domains with their names in the configuration.
const DOMAINS: [(&str, TrustDomain); 3] = [
    ("user", TrustDomain::User),
    ("plugins", TrustDomain::Plugins),
    ("project", TrustDomain::Project),
];

const PROJECT_IS_HOME: &str = "the project is the home directory: a sandbox that grants the \
                               project grants all files of the user";

pub(super) fn view(catalog: &Catalog, config: &Config) -> View {
    // What a policy needs beyond them is listed with the tools that need it.
    let kernel = Layers {
        missing: Vec::new(),
        ..sandbox::available()
    };
    let mut profiles: Vec<ProfileView> = Vec::new();
    let mut grants_project = false;
    for (name, domain) in DOMAINS {
        let place = ToolPlace {
            domain,
            // No key of the configuration names this family.
            family: Family::Native,
            name: "",
        };
        let isolation = config.rights().rights_of(&place).isolation;
        grants_project |= isolation == Isolation::Sandbox;
        profiles.push(ProfileView {
            tools: name.to_owned(),
            profile: config.rights().profile_of(&place).source.name,
            isolation: Some(isolation.as_str()),
        });
    }
    let families = &config.sandbox.families;
    let families = [
        ("js", &families.js),
        ("exec", &families.exec),
        ("shell", &families.shell),
        ("plugin", &families.plugin),
    ];
    let families = families
        .into_iter()
        .filter_map(|(name, profile)| Some((name, profile.as_ref()?)));
    let tools = config.sandbox.tools.iter();
    let tools = tools.map(|(pattern, profile)| (pattern.as_str(), profile));
    profiles.extend(families.chain(tools).map(|(name, profile)| ProfileView {
        tools: name.to_owned(),
        profile: profile.clone(),
        isolation: None,
    }));
    let mut not_enforced: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for entry in &catalog.entries {
        for missing in entry.runner.bounds().iter().flat_map(|it| &it.missing) {
            let tools = not_enforced.entry(missing.clone()).or_default();
            tools.push(entry.tool.name.clone());
        }
    }
    View {
        kernel: kernel.to_string(),
        required: config.sandbox.required,
        worker_cpus: Some(config.limits.worker_cpus).filter(|cpus| *cpus < u32::MAX),
        program_cpus: Some(config.limits.program_cpus).filter(|cpus| *cpus < u32::MAX),
        profiles,
        not_enforced,
        note: (grants_project && config.cwd == config.home).then_some(PROJECT_IS_HOME),
    }
}

pub(super) fn page(view: &View, ink: Ink) -> TerminalText {
    let mut rows = vec![("kernel".to_owned(), view.kernel.clone())];
    for own in &view.profiles {
        let isolation = own.isolation.map(|level| format!(", isolation {level}"));
        let value = format!("profile `{}`{}", own.profile, isolation.unwrap_or_default());
        rows.push((own.tools.clone(), value));
    }
    if let Some(cpus) = view.worker_cpus {
        let value = format!("{cpus} for a worker with its programs (`limits.worker_cpus`)");
        rows.push(("cpus".to_owned(), value));
    }
    if let Some(cpus) = view.program_cpus {
        let value = format!("{cpus} for a program of other tools (`limits.program_cpus`)");
        rows.push(("cpus".to_owned(), value));
    }
    if view.required {
        rows.push(("required".to_owned(), "yes".to_owned()));
    }
    let mut page = terminal_text!("{}\n", ink.bold("sandbox"));
    for (name, value) in rows {
        page.push(&terminal_text!(
            "  {}  {value}\n",
            ink.dim(terminal_text!("{name:<8}"))
        ));
    }
    for (missing, tools) in &view.not_enforced {
        let line = format!("not enforced: {missing} ({})", tools.join(", "));
        page.push(&terminal_text!("  {}\n", ink.warning(line)));
    }
    if let Some(note) = view.note {
        page.push(&terminal_text!("  {}\n", ink.warning(note)));
    }
    page
}
