//! Tools that a project brings and that the user has not trusted: listed, never run.

use std::sync::Arc;

use async_trait::async_trait;
use serde_json::json;

use crate::discover::Candidate;
use crate::error::{Error, ErrorKind};
use crate::family::Loaded;
use crate::tool::{Call, CallCtx, Outcome, Problem, Runner, Tier, Tool};

/// Stands for a candidate of which no line may run: known by its file's name only.
pub(crate) fn untrusted(candidate: &Candidate) -> Loaded {
    let tool = Tool {
        name: candidate.key.clone(),
        label: candidate.key.clone(),
        description: String::new(),
        input_schema: json!({}),
        output_schema: None,
        approval: Tier::Exec,
        hidden: false,
        strict: None,
        trusted: false,
        source: candidate.source.clone(),
    };
    let runner = Untrusted {
        name: candidate.key.clone(),
    };
    let problem =
        Problem::warning("the project that brings this tool is not trusted, so it was not loaded")
            .at(&candidate.path)
            .about(&candidate.key)
            .hint(HINT);
    Loaded {
        tools: vec![(tool, Arc::new(runner))],
        problems: vec![problem],
    }
}

const HINT: &str = "read the file, then run haft with --trust-project";

struct Untrusted {
    name: String,
}

impl Untrusted {
    fn refusal(&self) -> Error {
        let text = format!("`{}` comes from a project that is not trusted", self.name);
        Error::new(ErrorKind::Untrusted, text).with_hint(HINT)
    }
}

#[async_trait]
impl Runner for Untrusted {
    async fn check(&self, _call: &Call) -> Result<(), Error> {
        Err(self.refusal())
    }

    async fn run(&self, _call: Call, _ctx: CallCtx) -> Result<Outcome, Error> {
        Err(self.refusal())
    }
}
