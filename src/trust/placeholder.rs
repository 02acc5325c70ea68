//! Placeholder of a tool that may not run: it is listed by its file's name, or as it describes itself
//! in a sandbox. Every call fails.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::HINT;
use super::grant::Change;
use super::judge::Doubt;
use crate::family::{Loaded, mcp};
use haft_config::Config;
use haft_discover::Candidate;
use haft_tool::{Call, CallCtx, Family, Outcome, Problem, Runner, Tool, visible};
use haft_tool::{Error, ErrorKind};

/// Limit of the changed files that a sentence names.
const MAX_NAMED_CHANGES: usize = 3;

/// Returns the problem of a file whose MCP servers may not run. Which tools they have is not known.
fn untrusted_servers(candidate: &Candidate, doubt: &Doubt, config: &Config) -> Loaded {
    let servers = mcp::described(config, candidate);
    let servers: Vec<_> = servers.iter().map(|server| visible::line(server)).collect();
    let why = match doubt {
        Doubt::New => "the project is not trusted".to_owned(),
        Doubt::Changed(changes) => format!("changed since you trusted it: {}", listed(changes)),
    };
    let mut text = format!("its MCP servers are not used ({why})");
    if !servers.is_empty() {
        text.push_str(&format!(": {}", servers.join("; ")));
    }
    let problem = Problem::warning(text).at(&candidate.path).hint(HINT);
    Loaded::failed(problem)
}

/// Returns placeholders with the reason of the refusal: for the `described` tools, or for one tool
/// as far as it is known without running.
pub(crate) fn untrusted(
    candidate: &Candidate,
    doubt: &Doubt,
    described: &Loaded,
    config: &Config,
) -> Loaded {
    if candidate.source.family == Family::Mcp {
        return untrusted_servers(candidate, doubt, config);
    }
    let likely_name = candidate.likely_name();
    let consequence = if described.tools.is_empty() {
        "it was not loaded"
    } else {
        "it cannot be called"
    };
    let (problem, refusal) = match doubt {
        Doubt::New => (
            format!("the project that brings this tool is not trusted, so {consequence}"),
            "comes from a project that is not trusted".to_owned(),
        ),
        Doubt::Changed(changes) => {
            let changed = format!("changed since you trusted it: {}", listed(changes));
            (format!("not loaded, because it {changed}"), changed)
        }
    };
    let placeholder = |tool: Tool| -> (Arc<Tool>, Arc<dyn Runner>) {
        let runner = Untrusted {
            refusal: format!("`{}` {refusal}", tool.name),
        };
        let tool = Tool {
            trusted: false,
            ..tool
        };
        (Arc::new(tool), Arc::new(runner))
    };
    let tools = described.tools.iter();
    let mut tools: Vec<_> = tools
        .map(|(tool, _)| placeholder(Tool::clone(tool)))
        .collect();
    if tools.is_empty() {
        let source = candidate.source.clone();
        tools.push(placeholder(Tool::new(&likely_name, "", json!({}), source)));
    }
    let about = match &tools[..] {
        [(tool, _)] => tool.name.clone(),
        _ => likely_name,
    };
    let problem = Problem::warning(problem)
        .at(&candidate.path)
        .about(&about)
        .hint(HINT);
    let not_described = described.problems.iter().map(|problem| Problem {
        message: format!("not described: {}", problem.message),
        ..Problem::info("").at(&candidate.path).about(&about)
    });
    Loaded {
        problems: [problem].into_iter().chain(not_described).collect(),
        tools,
        ..Loaded::default()
    }
}

fn listed(changes: &[Change]) -> String {
    let named = changes.iter().take(MAX_NAMED_CHANGES);
    let mut names: Vec<String> = named
        .map(|change| format!("{} ({})", change.path, change.how.as_str()))
        .collect();
    if changes.len() > MAX_NAMED_CHANGES {
        names.push(format!("{} more", changes.len() - MAX_NAMED_CHANGES));
    }
    names.join(", ")
}

struct Untrusted {
    refusal: String,
}

impl Untrusted {
    fn refuse(&self) -> Error {
        Error::new(ErrorKind::Untrusted, &self.refusal).with_hint(HINT)
    }
}

#[async_trait]
impl Runner for Untrusted {
    async fn check(&self, _call: &Call) -> Result<(), Error> {
        Err(self.refuse())
    }

    async fn run(&self, _call: Call, _ctx: CallCtx) -> Result<Outcome, Error> {
        Err(self.refuse())
    }
}
