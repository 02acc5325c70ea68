//! `haft doctor`: lists every problem, every file that was examined, and the paths that haft uses.
//!
//! Unlike `haft list` it also explains why a file is not a tool.

mod clients;
mod project;
mod remotes;
mod sandbox;
mod servers;

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::context::CommandContext;
use super::exit::{FAILURE, Failure, SUCCESS};
use super::mcp::{ServerView, view};
use super::schema;
use crate::audit;
use crate::host::Host;
use crate::registry::Catalog;
use crate::surface::mcp;
use crate::surface::wire::{self, ProblemView};
use haft_config::Config;
use haft_discover::{LookedAt, Verdict};
use haft_render::style::Ink;
use haft_render::{problem, text, units};
use haft_tool::provider_schema::{Names, Provider, offer};
use haft_tool::{Dialect, Problem, Severity, TerminalText, Tool, terminal_text, visible};

/// Check everything: problems, every file looked at, where things are
#[derive(clap::Args)]
#[command(after_help = "\
Examples:
  haft doctor
  haft --tool ./broken.ts doctor
  haft doctor --json | jq '.files[] | select(.verdict != \"candidate\")'
  haft doctor --clients              which MCP client drops, cuts or hides what of which tool
  haft doctor --project              what the project's tools lack in their sandboxes

The exit code is 1 if there is a problem of severity error.")]
pub(super) struct Args {
    /// Print the report as one JSON object
    #[arg(long)]
    pub(super) json: bool,
    /// Say what MCP clients (Claude Code, Codex, Gemini CLI, …) do with each tool
    #[arg(long)]
    pub(super) clients: bool,
    /// Load the tools of the trusted project in their sandboxes, say what they lack, and offer to grant
    /// it
    #[arg(long, conflicts_with = "clients")]
    pub(super) project: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Report<'a> {
    ok: bool,
    tools: usize,
    problems: Vec<ProblemView<'a>>,
    files: Vec<FileView<'a>>,
    version: &'static str,
    engine: String,
    platform: String,
    cwd: Cow<'a, str>,
    config_file: String,
    state_dir: Cow<'a, str>,
    cache_dir: Cow<'a, str>,
    sandbox: sandbox::View,
    mcp_servers: Vec<ServerView>,
    /// Other hosts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    remotes: Vec<remotes::View>,
    #[serde(skip_serializing_if = "Option::is_none")]
    clients: Option<&'a [clients::Finding]>,
}

#[derive(Serialize)]
struct FileView<'a> {
    path: Cow<'a, str>,
    provider: &'a str,
    verdict: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<Cow<'a, str>>,
    /// True if the description came from the cache and the file was not run.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    remembered: bool,
    /// The interface that the module was written for, unless it is oh-my-pi's.
    #[serde(skip_serializing_if = "Option::is_none")]
    dialect: Option<&'a Dialect>,
}

impl Args {
    pub(super) async fn run(&self, session: &mut CommandContext<'_>) -> Result<u8, Failure> {
        if self.project {
            return project::run(self.json, session).await;
        }
        let catalog = session.catalog().await?;
        let mut catalog = with_what_providers_say(&catalog, session.host.config());
        if session.host.audit_log().is_some() {
            let folder = audit::LogFolder::of(session.host.config());
            catalog.problems.extend(audit::check(&folder));
        }
        let worst = catalog.problems.iter().map(|p| p.severity).max();
        let ok = worst < Some(Severity::Error);
        let config = session.host.config();
        let clients = self.clients.then(|| clients::findings(&catalog, config));
        let servers = session.host.mcp_servers().await?;
        let servers: Vec<ServerView> = servers.iter().map(view).collect();
        if self.json {
            let report = Report {
                clients: clients.as_deref(),
                mcp_servers: servers,
                ..report(&catalog, config, ok)
            };
            session.out.json(&report)?;
        } else if let Some(clients) = &clients {
            let page = clients::page(clients, session.out.ink());
            session.out.print(&page)?;
        } else {
            let page = page(&catalog, &servers, session.host.config(), session.out.ink());
            session.out.print(&page)?;
        }
        Ok(if ok { SUCCESS } else { FAILURE })
    }
}

/// Returns the catalog with additional problems: names and schemas that model providers refuse.
fn with_what_providers_say(catalog: &Catalog, config: &Config) -> Catalog {
    let mut catalog = catalog.clone();
    let names = Names::of(catalog.tools().map(|tool| tool.name.as_str()));
    let told = names.aliases().map(|(name, alias)| {
        let text = format!("model providers refuse the name `{}`", visible::name(name));
        Problem::info(text)
            .about(name)
            .hint(format!("it is offered to them as `{alias}`"))
    });
    let mut told: Vec<Problem> = told.collect();
    told.extend(schema::offered(&catalog).filter_map(|tool| refused(tool, &names)));
    catalog.problems.extend(told);
    let left_out = mcp::problems(&catalog, config);
    catalog.problems.extend(left_out);
    catalog
}

/// Returns a problem that names the providers that refuse the tool, and the reason. A schema that
/// is only rewritten is not a problem.
fn refused(tool: &Tool, names: &Names) -> Option<Problem> {
    let mut whom: Vec<&str> = Vec::new();
    let mut why = None;
    for provider in Provider::ALL {
        if let Err(finding) = offer(tool, names, provider) {
            whom.push(provider.name());
            why.get_or_insert(finding.text);
        }
    }
    let text = format!("it cannot be offered to {}: {}", whom.join(", "), why?);
    let problem = Problem::warning(text)
        .at(&tool.source.path)
        .about(&tool.name);
    Some(problem.hint("`haft schema --check` shows what each provider would refuse"))
}

fn report<'a>(catalog: &'a Catalog, config: &'a Config, ok: bool) -> Report<'a> {
    Report {
        ok,
        tools: catalog.entries.len(),
        problems: catalog.problems.iter().map(ProblemView::from).collect(),
        files: catalog
            .looked_at
            .iter()
            .map(|file| file_view(file, catalog))
            .collect(),
        version: env!("CARGO_PKG_VERSION"),
        engine: Host::engine_version(),
        platform: platform(),
        cwd: wire::path(&config.cwd),
        config_file: wire::path(&config_file(config)).into_owned(),
        state_dir: config.state_dir.to_string().into(),
        cache_dir: wire::path(&config.cache_dir),
        sandbox: sandbox::view(catalog, config),
        mcp_servers: Vec::new(),
        remotes: remotes::views(catalog, config),
        clients: None,
    }
}

fn file_view<'a>(file: &'a LookedAt, catalog: &'a Catalog) -> FileView<'a> {
    let (verdict, because) = match &file.verdict {
        Verdict::Candidate => ("candidate", None),
        Verdict::Shadowed { by } => ("shadowed", Some(wire::path(by))),
        Verdict::Duplicate { of } => ("duplicate", Some(wire::path(of))),
        Verdict::Ignored { reason } => ("ignored", Some(Cow::from(reason))),
        Verdict::Disabled { by } => ("disabled", Some(Cow::from(by))),
        Verdict::Missing => ("missing", None),
    };
    FileView {
        path: wire::path(&file.path),
        provider: &file.provider,
        verdict,
        because,
        remembered: catalog.remembered.contains(&file.path),
        dialect: catalog.dialects.get(&file.path),
    }
}

fn page(catalog: &Catalog, servers: &[ServerView], config: &Config, ink: Ink) -> TerminalText {
    let mut page = TerminalText::new();
    for entry in &catalog.problems {
        page.push(&problem::problem(entry, &config.home, ink));
        page.push_literal("\n");
    }
    page.push(&files(catalog, &config.home, ink));
    page.push(&servers::page(servers, &config.home, ink));
    let places = [
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("engine", TerminalText::from_value(&Host::engine_version())),
        ("platform", TerminalText::from_value(&platform())),
        ("cwd", text::path(&config.cwd, &config.home)),
        ("config", text::path(&config_file(config), &config.home)),
        (
            "state",
            text::path(Path::new(&config.state_dir.to_string()), &config.home),
        ),
        ("cache", text::path(&config.cache_dir, &config.home)),
    ];
    page.push(&terminal_text!("{}\n", ink.bold("haft")));
    for (name, place) in places {
        page.push(&terminal_text!(
            "  {}  {place}\n",
            ink.dim(terminal_text!("{name:<8}"))
        ));
    }
    page.push_literal("\n");
    page.push(&sandbox::page(&sandbox::view(catalog, config), ink));
    page.push_literal("\n");
    page.push(&remotes::page(&remotes::views(catalog, config), ink));
    page.push(&summary(catalog, ink));
    page
}

/// Lists the files by discovery provider, in the order in which the providers first occur.
fn files(catalog: &Catalog, home: &Path, ink: Ink) -> TerminalText {
    let looked_at = &catalog.looked_at;
    let mut providers: Vec<&str> = Vec::new();
    for file in looked_at {
        if !providers.contains(&file.provider.as_str()) {
            providers.push(&file.provider);
        }
    }
    let mut page = TerminalText::new();
    for provider in providers {
        page.push(&terminal_text!("{}\n", ink.bold(provider)));
        for file in looked_at.iter().filter(|file| file.provider == provider) {
            let path = text::path(&file.path, home);
            page.push(&terminal_text!(
                "  {path}  {}\n",
                verdict(file, catalog, home, ink)
            ));
        }
        page.push_literal("\n");
    }
    page
}

fn verdict(file: &LookedAt, catalog: &Catalog, home: &Path, ink: Ink) -> TerminalText {
    let words = match &file.verdict {
        Verdict::Candidate => {
            let mut words = TerminalText::from_literal("looks like a tool");
            if catalog.remembered.contains(&file.path) {
                words.push_literal(", as remembered");
            }
            if let Some(Dialect { name, because }) = catalog.dialects.get(&file.path) {
                words.push(&terminal_text!(" ({name}: {because})"));
            }
            return ink.good(words).to_text();
        }
        Verdict::Missing => return ink.error("missing").to_text(),
        Verdict::Shadowed { by } => terminal_text!("shadowed by {}", text::path(by, home)),
        Verdict::Duplicate { of } => terminal_text!("the same file as {}", text::path(of, home)),
        Verdict::Ignored { reason } => terminal_text!("ignored: {reason}"),
        Verdict::Disabled { by } => terminal_text!("disabled by {by}"),
    };
    ink.warning(words).to_text()
}

fn summary(catalog: &Catalog, ink: Ink) -> TerminalText {
    let count = |severity| {
        let same = catalog.problems.iter().filter(|p| p.severity == severity);
        same.count()
    };
    let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
    let tools = units::count(catalog.entries.len(), "tool");
    let errors_text = units::count(errors, "error");
    let warnings_text = units::count(warnings, "warning");
    let verdict = match (errors, warnings) {
        (0, 0) => ink.good("all is well"),
        (0, _) => ink.warning("usable"),
        _ => ink.error("not well"),
    };
    terminal_text!("{verdict}: {tools}, {errors_text}, {warnings_text}\n")
}

/// Returns the path of the user's configuration file, which may not exist.
fn config_file(config: &Config) -> PathBuf {
    config.roots.config_home.join("haft/config.yaml")
}

fn platform() -> String {
    format!("{} {}", std::env::consts::OS, std::env::consts::ARCH)
}
