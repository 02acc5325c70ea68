//! Configuration files with MCP servers: haft's own, `.mcp.json` of the project, and those of other
//! programs that the user imports.
//!
//! A file is one candidate with all of its servers. Its family reads it and connects to them.

use std::path::PathBuf;

use super::collector::Collector;
use super::context::ScanContext;
use super::{Provider, Verdict};
use haft_config::{Config, McpImport, PROJECT_FILE, paths};
use haft_tool::{Family, Level};

pub(super) const PROVIDER: Provider = Provider {
    id: "mcp",
    name: "MCP servers",
    family: Family::Mcp,
    places: |config| vec![config.config_file.clone(), config.cwd.join(PROJECT_FILE)],
    find: find_own,
};

pub(super) const PROJECT_PROVIDER: Provider = Provider {
    id: "mcp-project",
    name: ".mcp.json",
    family: Family::Mcp,
    places: |config| vec![project_file(config)],
    find: find_project,
};

pub(super) const IMPORT_PROVIDER: Provider = Provider {
    id: "mcp-import",
    name: "imported MCP servers",
    family: Family::Mcp,
    places: |config| files(config).into_iter().map(|(_, path)| path).collect(),
    find: find_imported,
};

/// Returns the files in which another program keeps the user's MCP servers. Of several, the first one
/// that exists counts.
pub fn imported_files(config: &Config, import: McpImport) -> Vec<PathBuf> {
    let agents = &config.agents;
    match import {
        McpImport::Project => vec![project_file(config)],
        McpImport::ClaudeCode => vec![agents.claude_json.clone()],
        McpImport::ClaudeDesktop => {
            vec![agents.claude_desktop.join("claude_desktop_config.json")]
        }
        McpImport::Cursor => vec![agents.cursor.join("mcp.json")],
        McpImport::VsCode => vec![agents.vscode.join("mcp.json")],
        McpImport::Codex => vec![agents.codex.join("config.toml")],
        McpImport::Opencode => ["opencode.json", "opencode.jsonc"]
            .map(|name| agents.opencode.join(name))
            .to_vec(),
    }
}

fn project_file(config: &Config) -> PathBuf {
    config.cwd.join(".mcp.json")
}

/// Returns the files of the user that the configuration imports.
fn files(config: &Config) -> Vec<(McpImport, PathBuf)> {
    let imports = config.mcp.import.iter().copied();
    let others = imports.filter(|import| *import != McpImport::Project);
    let files = others.flat_map(|import| {
        let files = imported_files(config, import);
        files.into_iter().map(move |file| (import, file))
    });
    files.collect()
}

fn find_own(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    if !config.mcp.servers.is_empty() {
        let path = config.config_file.clone();
        collector.listed(path, "mcp".to_owned(), Level::User);
    }
    if !config.mcp.project_servers.is_empty() {
        let path = config.cwd.join(PROJECT_FILE);
        let resolved = paths::resolve(&config.cwd, &path);
        collector.named_by_project(path, (resolved, None), "mcp_project".to_owned());
    }
}

fn find_project(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    let config = context.config;
    let path = project_file(config);
    if !config.mcp.import.contains(&McpImport::Project) {
        let by = "`mcp.import` of haft's configuration".to_owned();
        return collector.note(path, Verdict::Disabled { by });
    }
    if path.is_file() {
        collector.listed(path, "mcp_json".to_owned(), Level::Project);
    } else {
        collector.note(path, Verdict::Missing);
    }
}

fn find_imported(context: &ScanContext<'_>, collector: &mut Collector<'_>) {
    for (import, path) in files(context.config) {
        if path.is_file() {
            collector.listed(path, import.as_str().to_owned(), Level::User);
        } else {
            collector.note(path, Verdict::Missing);
        }
    }
}
