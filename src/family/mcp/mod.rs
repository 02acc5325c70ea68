//! Tools of MCP servers (issue 24; spec gateway).
//!
//! A candidate is a configuration file with servers. Their tools come from the cache of definitions;
//! only a server that was never connected is started for a list. Definitions are pinned: what differs
//! from what the user trusts is neither shown to models nor called. `haft-mcp` has the client.

mod runner;
mod servers;
mod survey;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures::future::join_all;

use super::http_tls;
use super::{LoadContext, Loaded};
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::ToolLog;
use haft_mcp::{Pool, Rules, ServerRules, Standing, TlsConfig, ToolDefinition, Unusable};
use haft_tool::{ClientHints, Problem, Runner, Source, Tool};
use runner::McpRunner;
use servers::{Configured, Prepared};

pub(crate) use haft_mcp::Server as UpstreamServer;
pub(crate) use servers::named_files;
pub(crate) use survey::{ServerState, survey};

/// The connections of one host.
pub(crate) struct Upstream {
    pool: Pool,
    log: Arc<dyn ToolLog>,
    tls: TlsConfig,
    /// Folders of what is known of servers and of what is trusted of them.
    folders: [PathBuf; 2],
}

impl Upstream {
    pub(crate) fn new(config: &Config, log: Arc<dyn ToolLog>) -> Upstream {
        Upstream {
            pool: Pool::new(&config.cache_dir),
            log,
            tls: Arc::new(http_tls::config),
            folders: [
                Pool::folder_in(&config.cache_dir),
                pins_folder(&config.state_dir),
            ],
        }
    }

    /// Returns a number that changes with what is known of servers, and with what is trusted of them,
    /// also if another process has changed it.
    pub(crate) fn version(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        self.pool.version().hash(&mut hasher);
        for folder in &self.folders {
            let modified = folder.metadata().and_then(|found| found.modified());
            modified.ok().hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Returns the folders whose changes are changes of tools.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        self.folders.to_vec()
    }

    /// Returns a counter that changes with what is known of servers.
    pub(crate) fn changes(&self) -> tokio::sync::watch::Receiver<u64> {
        self.pool.changes()
    }

    /// Stops all servers.
    pub(crate) async fn close(&self) {
        self.pool.close().await;
    }
}

/// Loads the tools of the servers in each file.
pub(super) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    // A server runs code of the project.
    if means.config.is_untrusted_listing {
        return all;
    }
    let mut prepared = Vec::new();
    let mut names = HashSet::new();
    for (place, candidate) in candidates.iter().enumerate() {
        let configured = match servers::read(means.config, candidate) {
            Ok(configured) => configured,
            Err(problem) => {
                all[place].problems.push(*problem);
                continue;
            }
        };
        for configured in configured {
            let name = configured.name.clone();
            if configured.is_off() {
                continue;
            }
            if !names.insert(name.clone()) {
                let text = format!("the MCP server `{name}` is not used: another has the name");
                let hint = "an earlier file has it; rename one of the two";
                let problem = Problem::warning(text).at(&candidate.path).hint(hint);
                all[place].problems.push(problem);
                continue;
            }
            match servers::prepare(means, candidate, configured) {
                Ok(server) => {
                    server.server.read_again();
                    prepared.push((place, server));
                }
                Err(problem) => all[place].problems.push(*problem),
            }
        }
    }
    let starts = prepared.iter().filter(|(_, server)| server.needs_start());
    join_all(starts.map(|(_, prepared)| prepared.server.connect())).await;
    let offered: Vec<Offered> = prepared
        .iter()
        .map(|(place, server)| offer(server, candidates[*place]))
        .collect();
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for (name, ..) in offered.iter().flat_map(|offered| &offered.tools) {
        *uses.entry(name).or_default() += 1;
    }
    for ((place, server), offered) in prepared.iter().zip(&offered) {
        let loaded = &mut all[*place];
        loaded.servers.push(server.server.clone());
        loaded.problems.extend(offered.problems.iter().cloned());
        for (name, definition, standing) in &offered.tools {
            let name = if uses.get(&**name).copied() > Some(1) {
                // Otherwise it would depend on the order of servers which tool the name means.
                format!("{}_{name}", server.name)
            } else {
                name.clone()
            };
            let (tool, problems) = tool(&name, definition, server, candidates[*place]);
            let runner = McpRunner::new(server, definition, tool.approval, standing.clone());
            loaded.problems.extend(problems);
            let runner: Arc<dyn Runner> = Arc::new(runner);
            loaded.tools.push((Arc::new(tool), runner));
        }
    }
    all
}

/// Current offer of a server.
struct Offered {
    /// The tools by their new names, as they are trusted.
    tools: Vec<(String, ToolDefinition, Standing)>,
    problems: Vec<Problem>,
}

/// Compares what the server offers with what is trusted of it.
fn offer(prepared: &Prepared, candidate: &Candidate) -> Offered {
    let mut offered = Offered {
        tools: Vec::new(),
        problems: Vec::new(),
    };
    let name = &prepared.name;
    let problem = |text: String| Problem::warning(text).at(&candidate.path);
    if let Some(failure) = prepared.server.failure() {
        let unusable = Unusable(name, failure);
        let problem = problem(unusable.to_string()).hint(unusable.hint());
        offered.problems.push(problem);
    }
    let Some(definitions) = prepared.server.definitions() else {
        return offered;
    };
    for fault in &definitions.faults {
        let text = format!("MCP server `{name}`: {fault}");
        offered.problems.push(problem(text));
    }
    let rules = ServerRules(&prepared.settings);
    let pins = match prepared.pins.of(&definitions, rules.offers_new_tools()) {
        Ok(pins) => pins,
        Err(why) => {
            let text = format!("what is trusted of the MCP server `{name}` cannot be used: {why}");
            let hint = format!("`haft trust mcp:{name}` shows its tools, and asks again");
            offered.problems.push(problem(text).hint(hint));
            return offered;
        }
    };
    let (mut held, mut changed) = (Vec::new(), Vec::new());
    for definition in &definitions.tools {
        if !rules.takes(&definition.name) {
            continue;
        }
        let standing = pins.standing(definition);
        match (&standing, pins.tool(&definition.name)) {
            (Standing::Trusted | Standing::Changed(_), Some(trusted)) => {
                if standing != Standing::Trusted {
                    changed.push(trusted.name.clone());
                }
                let name = rules.offered_name(&trusted.name);
                offered.tools.push((name, trusted.clone(), standing));
            }
            _ => held.push(definition.name.clone()),
        }
    }
    let hint = format!("`haft trust mcp:{name}` shows what is different, and asks");
    if !changed.is_empty() {
        let text = format!(
            "the MCP server `{name}` has changed tools that you trusted; they cannot be called: {}",
            listed(&changed)
        );
        offered.problems.push(problem(text).hint(&hint));
    }
    if !held.is_empty() {
        let text = format!(
            "the MCP server `{name}` has new tools, which are not offered: {}",
            listed(&held)
        );
        let info = Problem::info(text).at(&candidate.path);
        offered.problems.push(info.hint(&hint));
    }
    offered
}

fn listed(names: &[String]) -> String {
    let shown = names.iter().take(10);
    let shown = shown.map(|name| format!("`{}`", haft_tool::visible::name(name)));
    let mut shown: Vec<String> = shown.collect();
    if names.len() > 10 {
        shown.push(format!("{} more", names.len() - 10));
    }
    shown.join(", ")
}

/// Returns the tool of a definition, and what is wrong with its schema.
fn tool(
    name: &str,
    definition: &ToolDefinition,
    prepared: &Prepared,
    candidate: &Candidate,
) -> (Tool, Vec<Problem>) {
    let source = Source {
        plugin: Some(prepared.name.clone()),
        ..candidate.source.clone()
    };
    let description = definition.description.clone().unwrap_or_default();
    let meta = |key: &str| definition.meta.as_ref()?.get(key);
    let mut tool = Tool {
        label: definition.label().unwrap_or(name).to_owned(),
        output_schema: definition.output_schema.clone(),
        approval: ServerRules(&prepared.settings).tier(definition),
        hints: ClientHints {
            always_load: meta("anthropic/alwaysLoad").and_then(|hint| hint.as_bool()),
            search_hint: meta("anthropic/searchHint")
                .and_then(|hint| hint.as_str().map(str::to_owned)),
            ..ClientHints::default()
        },
        ..Tool::new(name, description, definition.input_schema.clone(), source)
    };
    let problems = tool.check_schema();
    (tool, problems)
}

/// Returns the folder of the trusted definitions.
fn pins_folder(state_dir: &Path) -> PathBuf {
    state_dir.join("trust/mcp")
}

/// Returns a line for each server in a file: its name, and what is started or contacted.
pub(crate) fn described(config: &Config, candidate: &Candidate) -> Vec<String> {
    let configured = servers::read(config, candidate).unwrap_or_default();
    let used = configured.iter().filter(|server| !server.is_off());
    let line = |server: &Configured| match &server.settings {
        Ok(settings) => format!("{}: {}", server.name, survey::shown(settings)),
        Err(why) => format!("{}: {why}", server.name),
    };
    used.map(line).collect()
}
