//! Tools of the catalog, made from definitions, and placeholders for those that cannot run here.

use async_trait::async_trait;

use super::definition::{Definition, Platform};
use super::resolve::ResolvedTool;
use super::schema::input_schema;
use super::version::{self, HOST, Wanted};
use haft_tool::{Call, CallCtx, ClientHints, Outcome, Runner, Source, Tool};
use haft_tool::{Error, ErrorKind};

/// Returns the tool for the catalog. A tool that cannot run here is hidden from models, but it can
/// be listed.
pub(super) fn tool(
    shelved: &ResolvedTool,
    source: Source,
    unavailable: Option<&Unavailable>,
) -> Tool {
    let definition = &shelved.definition;
    Tool {
        approval: shelved.risk.tier(),
        hidden: unavailable.is_some(),
        tags: definition.tags.clone(),
        uses: shelved.uses.clone(),
        hints: ClientHints {
            keywords: keywords(definition),
            ..ClientHints::default()
        },
        ..Tool::new(
            &definition.name,
            description(definition),
            input_schema(definition),
            source,
        )
    }
}

/// Returns the words of `metadata:` by which the tool can be found.
fn keywords(definition: &Definition) -> Vec<String> {
    let metadata = &definition.metadata;
    let words = metadata.search_keywords.iter().chain(&metadata.tags);
    words.cloned().collect()
}

fn description(definition: &Definition) -> String {
    let text = definition.description.trim_end();
    match &definition.deprecated_message {
        _ if !definition.deprecated => text.to_owned(),
        Some(message) => format!("[deprecated: {message}] {text}"),
        None => format!("[deprecated] {text}"),
    }
}

/// Runner of a tool that cannot run here: every call fails with the reason.
pub(super) struct Unavailable {
    pub(super) message: String,
    pub(super) hint: String,
}

impl Unavailable {
    /// Returns the reason why the tool cannot run on this machine with this haft; `None` if it can.
    pub(super) fn of(definition: &Definition) -> Option<Unavailable> {
        let name = &definition.name;
        let wanted = definition.min_host_version.as_deref();
        if let Some(wanted) = wanted.filter(|it| version::wanted(it) == Wanted::Newer) {
            return Some(Unavailable {
                message: format!(
                    "Tool '{name}' needs CYCOD {wanted}; haft stands for CYCOD {HOST}"
                ),
                hint: "use an older version of the tool, or lower `min-cycod-version`".to_owned(),
            });
        }
        if definition.runs_on(Platform::current()) {
            return None;
        }
        let platforms: Vec<&str> = definition
            .platforms
            .iter()
            .map(|own| own.as_str())
            .collect();
        Some(Unavailable {
            message: format!(
                "Tool '{name}' is not supported on platform {}; supported: {}",
                Platform::current().as_str(),
                platforms.join(", ")
            ),
            hint: "use it there, or add this platform to `platforms`".to_owned(),
        })
    }

    fn error(&self) -> Error {
        Error::new(ErrorKind::Load, &self.message).with_hint(&self.hint)
    }
}

#[async_trait]
impl Runner for Unavailable {
    async fn check(&self, _call: &Call) -> Result<(), Error> {
        Err(self.error())
    }

    async fn run(&self, _call: Call, _ctx: CallCtx) -> Result<Outcome, Error> {
        Err(self.error())
    }
}
