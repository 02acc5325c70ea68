//! Runner of one tool of one module, and parser of its results.

use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use async_trait::async_trait;
use futures::FutureExt;
use futures::future::BoxFuture;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::Described;
use super::drawing::Renderers;
use haft_engine::{Ended, Lost, Module, ModuleCall};
use haft_tool::{
    Approval, ApprovalRequirement, ArgumentOrder, Block, Call, CallCtx, Error, ErrorKind, Outcome,
    Problem, RawRender, RenderOptions, RenderTarget, Runner, Stopped, Tier, ToolBounds, json,
};

/// Runs the tool at `index` of `module`.
pub(super) struct JsRunner {
    module: Arc<Instances>,
    /// The highest tier of calls that need no approval.
    unasked: Tier,
    /// The tier of every call, where that is known beforehand.
    tier: Option<Tier>,
    index: u32,
    name: String,
    has_live_description: bool,
    /// True if the context of its calls has `executeTool`.
    makes_calls: bool,
    /// Approval requirement of every call; `None` if that depends on the call.
    stance: Option<ApprovalRequirement>,
    renderers: Renderers,
    bounds: Option<Arc<ToolBounds>>,
}

impl JsRunner {
    /// Creates the runner; `unasked` is the highest tier of calls that need no approval.
    pub(super) fn new(
        module: Arc<Instances>,
        unasked: Tier,
        described: &Described,
        renderers: Renderers,
        bounds: Option<Arc<ToolBounds>>,
    ) -> Self {
        JsRunner {
            module,
            unasked,
            tier: described.known_tier(),
            index: described.index,
            name: described.name.clone(),
            has_live_description: described.has_live_description,
            makes_calls: described.argument_order == Some(ArgumentOrder::Pi),
            stance: described.approval.clone(),
            renderers,
            bounds,
        }
    }

    /// Returns the tier of rights for a call that may run with those of `tier`. A tool that is
    /// always of the tier `read` never gets more.
    fn bounded(&self, tier: Tier) -> Tier {
        match self.tier {
            Some(Tier::Read) => Tier::Read,
            Some(Tier::Write | Tier::Exec) | None => tier,
        }
    }

    /// Returns the instance for rendering, for descriptions and for checks before the approval.
    fn looked_at(&self) -> &Module {
        self.module.of(self.bounded(self.unasked))
    }

    /// Lets a worker process be started for the next call, if it will need one.
    pub(super) fn expect_call(&self) {
        self.module.first.expect_call(self.bounded(self.unasked));
    }

    fn lost(&self, Lost(why): Lost) -> Error {
        Error::new(
            ErrorKind::IsolateLost,
            format!("the call of `{}` was lost: {why}", self.name),
        )
        .with_hint("call it again: its module is loaded afresh")
    }

    fn changed(&self, how: &str) -> Error {
        let text = format!(
            "`{}` was not called, because it changed after it was listed: {how}",
            self.name
        );
        Error::new(ErrorKind::Load, text).with_hint("start haft again to see what it offers now")
    }
}

#[async_trait]
impl Runner for JsRunner {
    fn bounds(&self) -> Option<Arc<ToolBounds>> {
        self.bounds.clone()
    }

    fn makes_calls(&self) -> bool {
        self.makes_calls
    }

    fn has_thread(&self) -> bool {
        true
    }

    fn prepare_runner(&self) -> Option<BoxFuture<'_, ()>> {
        // The module is not loaded with more rights before the user has approved a call.
        let module = self.looked_at();
        (!module.was_loaded()).then(|| module.ready().boxed())
    }

    async fn check(&self, call: &Call) -> Result<(), Error> {
        match self.looked_at().check(self.index, &call.arguments).await {
            Ended::Result(..) => Ok(()),
            Ended::Refused(text) => Err(Error::new(ErrorKind::BadArguments, text)),
            Ended::Lost(lost) | Ended::OutOfMemory(lost) => Err(self.lost(lost)),
            Ended::Changed(how) => Err(self.changed(&how)),
            Ended::Denied(error) => Err(error),
            Ended::NotStarted(why) | Ended::Killed(why) => Err(Error::new(
                ErrorKind::Stopped(why),
                format!("checking the arguments of `{}` was stopped", self.name),
            )),
        }
    }

    fn approval(&self) -> Approval<'_> {
        match &self.stance {
            Some(stance) => Approval::Fixed(stance),
            None => Approval::PerCall,
        }
    }

    async fn current_description(&self) -> Option<String> {
        if !self.has_live_description {
            return None;
        }
        self.looked_at().description(self.index).await
    }

    async fn render(
        &self,
        scene: RenderTarget<'_>,
        look: &RenderOptions,
    ) -> Result<Option<RawRender>, Problem> {
        self.renderers
            .draw(self.looked_at(), self.index, scene, look)
            .await
    }

    async fn run(&self, call: Call, ctx: CallCtx) -> Result<Outcome, Error> {
        let started = Instant::now();
        let with_rights = |tier| self.module.of(self.bounded(tier)).clone();
        let of_module = ModuleCall {
            index: self.index,
            call_id: &call.id,
            arguments: &call.arguments,
            ctx: &ctx,
        };
        let ended = Module::invoke(of_module, &with_rights).await;
        let duration = started.elapsed().saturating_sub(ctx.waited());
        match ended {
            Ended::Result(text, stopped) => Ok(read_result(&text, duration, stopped)),
            Ended::Refused(text) => Err(Error::new(ErrorKind::BadArguments, text)),
            Ended::Denied(error) => Err(error),
            Ended::NotStarted(why) => Ok(Outcome::not_started(why)),
            Ended::Killed(why) => Ok(Outcome::left_behind(&self.name, why, duration)),
            Ended::OutOfMemory(Lost(how)) => {
                let why = Stopped::Discarded;
                Ok(Outcome::killed(&self.name, why, &how, duration))
            }
            Ended::Changed(how) => Err(self.changed(&how)),
            Ended::Lost(lost) => Err(self.lost(lost)),
        }
    }
}

/// Result as `25_result.ts` writes it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Written<B> {
    content: Vec<B>,
    #[serde(default)]
    details: Value,
    #[serde(default)]
    is_error: bool,
    #[serde(default)]
    useless: bool,
}

/// Block of nearly all results: with it serde need not buffer until it knows the type.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Text<'a> {
    r#type: &'a str,
    text: String,
}

impl Written<Block> {
    fn read(text: &str) -> serde_json::Result<Self> {
        match serde_json::from_str::<Written<Text<'_>>>(text) {
            Ok(texts) if texts.content.iter().all(|block| block.r#type == "text") => {
                let blocks = texts.content.into_iter();
                Ok(Written {
                    content: blocks.map(|Text { text, .. }| Block::text(text)).collect(),
                    details: texts.details,
                    is_error: texts.is_error,
                    useless: texts.useless,
                })
            }
            _ => json::read(text),
        }
    }
}

fn read_result(text: &str, duration: Duration, stopped: Option<Stopped>) -> Outcome {
    let written = match Written::read(text) {
        Ok(written) => written,
        // The JSON is always valid, since the runtime writes it; only its content can be wrong.
        Err(error) => {
            return Outcome {
                stopped,
                ..Outcome::failure(
                    format!("Tool returned an invalid result: it cannot be read: {error}"),
                    duration,
                )
            };
        }
    };
    let details = match written.details {
        Value::Null => Value::Object(Map::new()),
        details => details,
    };
    Outcome {
        content: written.content,
        details,
        is_error: written.is_error,
        useless: written.useless,
        duration,
        stopped,
        display: None,
        kept_in: None,
        server_error: None,
    }
}

/// All instances of a module; each is loaded when it is first called.
pub(super) struct Instances {
    /// The instance that was loaded for the description.
    first: Module,
    /// The description; `None` for a module that has one instance for all rights.
    described: Option<String>,
    others: [OnceLock<Module>; 3],
}

impl Instances {
    pub(super) fn new(first: Module, described: String) -> Instances {
        Instances {
            described: Some(described),
            ..Instances::only(first)
        }
    }

    /// Returns the instances of a module that has no other one.
    pub(super) fn only(first: Module) -> Instances {
        Instances {
            first,
            described: None,
            others: Default::default(),
        }
    }

    /// Returns the instance for calls with the rights of `tier`.
    pub(super) fn of(&self, tier: Tier) -> &Module {
        let Some(described) = &self.described else {
            return &self.first;
        };
        let place = match tier {
            Tier::Read => 0,
            Tier::Write => 1,
            Tier::Exec => 2,
        };
        self.others[place].get_or_init(|| self.first.of_tier(tier, described))
    }

    /// Marks the first instance as one that no call uses.
    pub(super) fn first_is_never_called(&self) {
        self.first.is_never_called();
    }

    /// Returns true if calls of that tier run in the first instance.
    pub(super) fn is_first(&self, tier: Tier) -> bool {
        self.described.is_none() || self.first.is_of_tier(tier)
    }
}
