//! Placeholder of a tool that may not run: it is listed by its file's name, and every call fails.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use super::HINT;
use super::grant::Change;
use super::judge::Doubt;
use crate::family::Loaded;
use haft_discover::Candidate;
use haft_tool::{Call, CallCtx, Outcome, Problem, Runner, Tool};
use haft_tool::{Error, ErrorKind};

/// Limit of the changed files that a sentence names.
const MAX_NAMED_CHANGES: usize = 3;

/// Returns a placeholder with the reason of the refusal, as far as the tool is known without
/// running.
pub(crate) fn untrusted(candidate: &Candidate, doubt: &Doubt) -> Loaded {
    let name = candidate.likely_name();
    let tool = Tool {
        trusted: false,
        ..Tool::new(&name, "", json!({}), candidate.source.clone())
    };
    let (problem, refusal) = match doubt {
        Doubt::New => (
            "the project that brings this tool is not trusted, so it was not loaded".to_owned(),
            "comes from a project that is not trusted".to_owned(),
        ),
        Doubt::Changed(changes) => {
            let changed = format!("changed since you trusted it: {}", listed(changes));
            (format!("not loaded, because it {changed}"), changed)
        }
    };
    let problem = Problem::warning(problem)
        .at(&candidate.path)
        .about(&name)
        .hint(HINT);
    let runner = Untrusted {
        refusal: format!("`{name}` {refusal}"),
    };
    Loaded {
        tools: vec![(Arc::new(tool), Arc::new(runner))],
        problems: vec![problem],
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
