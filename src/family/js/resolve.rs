//! The tool `resolve`, with which a model applies or discards what a tool has previewed
//! (spec omp 5.8, "what we decide" 7).
//!
//! It is a tool of our own runtime and runs like any other. In addition, it reports actions that
//! were lost with their isolate.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::drawing::Renderers;
use super::runner::Instances;
use super::runner::JsRunner;
use super::{Element, elements_of};
use haft_engine::Engine;
use haft_tool::Error;
use haft_tool::{
    Approval, Call, CallCtx, Family, Level, Outcome, Problem, Runner, Source, Tier, Tool,
};

/// Name of the tool.
pub(crate) const RESOLVE: &str = "resolve";

/// Path of the tool, which no file can have.
const PLACE: &str = "haft:resolve";

/// Returns the tool and its runner; `None` if no isolate can be created.
pub(crate) async fn resolver(engine: &Engine) -> Option<(Tool, Arc<dyn Runner>)> {
    let (module, described) = engine.load_resolver().await.ok()?;
    let (elements, ..) = elements_of(&described).ok()?;
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
            None,
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

/// Returns the problem of another tool that already has the name.
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
        // Looking for the newest living isolate removes the dead ones.
        self.engine.has_pending();
        match self.engine.take_lost_pending() {
            Some(lost) => Ok(Outcome::failure(lost, Duration::ZERO)),
            None => self.inner.run(call, ctx).await,
        }
    }

    fn has_thread(&self) -> bool {
        self.inner.has_thread()
    }

    fn approval(&self) -> Approval<'_> {
        self.inner.approval()
    }
}
