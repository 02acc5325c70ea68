//! Context and result of loading, which all families share.

use std::sync::Arc;

use super::listing_folder::ListingFolder;
use super::rights::Sandboxes;
use haft_config::Config;
use haft_discover::Candidate;
use haft_engine::{Engine, Module};
use haft_tool::{Dialect, Problem, Runner, Tool, ToolRights};

/// Client of an MCP server; none exists in a program without the feature `cli`.
#[cfg(feature = "cli")]
pub(crate) use haft_mcp::Server as UpstreamServer;
#[cfg(not(feature = "cli"))]
pub(crate) enum UpstreamServer {}

/// Result of loading one candidate: the tools that can be called, and the problems of the rest.
#[derive(Clone, Default)]
pub(crate) struct Loaded {
    pub(crate) tools: Vec<(Arc<Tool>, Arc<dyn Runner>)>,
    pub(crate) problems: Vec<Problem>,
    /// The tools come from the cache; the candidate was not asked.
    pub(crate) is_remembered: bool,
    /// The module that runs the tools, if there is one.
    pub(crate) module: Option<Module>,
    /// The candidate did not answer in time; another try may succeed.
    pub(crate) was_late: bool,
    /// The interface that the module was written for, unless it is oh-my-pi's.
    pub(crate) dialect: Option<Dialect>,
    /// MCP servers, for what they have besides tools.
    pub(crate) servers: Vec<Arc<UpstreamServer>>,
    /// The rights of the file when it was loaded.
    pub(crate) rights: Option<ToolRights>,
}

impl Loaded {
    /// Returns the result for a candidate that is not a tool because of this problem.
    pub(crate) fn failed(problem: Problem) -> Loaded {
        Loaded {
            problems: vec![problem],
            ..Loaded::default()
        }
    }
}

/// Returns the file of a trusted tool, relative to its project.
pub(super) fn shown_file(candidate: &Candidate) -> String {
    let project = candidate.verified.as_ref().map(|files| {
        let alias = files.alias.as_ref();
        [Some(&files.project), alias].into_iter().flatten()
    });
    let mut projects = project.into_iter().flatten();
    let inside = projects.find_map(|project| candidate.resolved.strip_prefix(project).ok());
    let shown = inside.unwrap_or(&candidate.resolved);
    shown.display().to_string()
}

/// Context for loading.
pub(crate) struct LoadContext<'a> {
    pub(crate) config: &'a Config,
    pub(crate) engine: &'a Engine,
    pub(crate) sandboxes: &'a Arc<Sandboxes>,
    /// The folder of commands that are started to learn which tools there are.
    pub(crate) listing: ListingFolder,
}
