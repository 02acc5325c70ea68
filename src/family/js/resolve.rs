//! The tool `resolve`, with which a model applies or discards what a tool has previewed
//! (spec omp 5.8, "what we decide" 7).
//!
//! It is a tool of our own runtime and runs like any other. What it adds is the truth about actions
//! that were lost with their isolate.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::drawing::Renderers;
use super::instances::Instances;
use super::runner::JsRunner;
use super::{Element, elements_of};
use crate::engine::Engine;
use crate::error::Error;
use crate::tool::{
    Approval, Call, CallCtx, Family, Level, Outcome, Problem, Runner, Source, Tier, Tool,
};

/// Its name.
pub(crate) const RESOLVE: &str = "resolve";

/// No file is named like this.
const PLACE: &str = "haft:resolve";

/// The tool and what runs it; nothing where no isolate can be had.
pub(crate) async fn resolver(engine: &Engine) -> Option<(Tool, Arc<dyn Runner>)> {
    let (module, described) = engine.load_resolver().await.ok()?;
    let elements = elements_of(&described).ok()?;
    let Some(Element::Tool(described)) = elements.into_iter().next() else {
        return None;
    };
    let place = Path::new(PLACE);
    let runner = Resolver {
        inner: JsRunner::new(
            Arc::new(Instances::only(module)),
            Tier::Exec,
            &described,
            Renderers::new(&described, place, place),
        ),
        engine: engine.clone(),
    };
    let source = Source {
        family: Family::Native,
        provider: "haft".into(),
        provider_name: "haft".into(),
        level: Level::Host,
        path: place.to_owned(),
        plugin: None,
    };
    Some((described.into_tool(source), Arc::new(runner)))
}

/// A tool of that name was there first.
pub(crate) fn rival(tool: &Tool) -> Problem {
    let path = &tool.source.path;
    Problem::warning(format!(
        "`{RESOLVE}` is also the name of the tool with which previews are applied or discarded; \
         tools that call pi.pushPendingAction will fail"
    ))
    .at(path)
    .about(&tool.name)
    .hint(format!(
        "to have both, put `rename: {{\"{}#{RESOLVE}\": \"a_new_name\"}}` into the configuration",
        path.display()
    ))
}

struct Resolver {
    inner: JsRunner,
    engine: Engine,
}

#[async_trait]
impl Runner for Resolver {
    async fn check(&self, call: &Call) -> Result<(), Error> {
        self.inner.check(call).await
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        // Dead isolates are noticed by looking for the newest living one.
        self.engine.has_pending();
        match self.engine.take_lost_pending() {
            Some(lost) => Ok(Outcome::failure(lost, Duration::ZERO)),
            None => self.inner.run(call, ctx).await,
        }
    }

    fn approval(&self) -> Approval<'_> {
        self.inner.approval()
    }
}
