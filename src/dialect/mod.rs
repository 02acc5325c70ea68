//! What model providers take: names and JSON Schemas in the dialect of each.
//!
//! Text in, text out. Nothing here knows where a tool comes from or who asks; surfaces offer what
//! comes out of it. A rewritten schema accepts everything that the tool accepts. What a provider's
//! dialect cannot say is told in words instead, and the tool still checks it when it is called.

mod all_of;
mod envelope;
mod modern;
mod names;
mod node;
mod plain;
mod reference;
mod root;
mod rules;
mod strict;
mod words;

use serde_json::{Map, Value};

use crate::tool::Tool;
use crate::tool::schema::Schema;
pub(crate) use names::Names;
use node::Rewriter;
use rules::{GEMINI, OPENAI, OPENAI_STRICT, Rules};

/// Who is given tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Provider {
    Mcp,
    OpenAi,
    OpenAiStrict,
    Anthropic,
    Gemini,
    Bedrock,
}

/// A tool as a provider takes it.
pub(crate) struct Offer {
    /// What goes into the provider's list of tools.
    pub(crate) definition: Value,
    /// What is not as the tool's author wrote it.
    pub(crate) findings: Vec<Finding>,
}

/// Something that a provider would have refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// Where in the schema, as a JSON pointer; empty for all of it.
    pub(crate) at: String,
    /// What would be refused.
    pub(crate) text: String,
    /// What becomes of it.
    pub(crate) effect: Effect,
}

/// What becomes of something that a provider refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Effect {
    /// It is said in another way.
    Rewritten,
    /// It is said in words, in the description.
    Told,
    /// The tool is offered without `strict`.
    NotStrict,
    /// The tool cannot be offered.
    Refused,
}

impl Provider {
    /// Every provider.
    pub(crate) const ALL: [Provider; 6] = [
        Provider::Mcp,
        Provider::OpenAi,
        Provider::OpenAiStrict,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Bedrock,
    ];

    /// The name that people type.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Provider::Mcp => "mcp",
            Provider::OpenAi => "openai",
            Provider::OpenAiStrict => "openai-strict",
            Provider::Anthropic => "anthropic",
            Provider::Gemini => "gemini",
            Provider::Bedrock => "bedrock",
        }
    }

    fn rules(self) -> &'static Rules {
        match self {
            Provider::Mcp => &rules::MCP,
            Provider::OpenAi => &OPENAI,
            Provider::OpenAiStrict => &OPENAI_STRICT,
            Provider::Anthropic => &rules::ANTHROPIC,
            Provider::Gemini => &GEMINI,
            Provider::Bedrock => &rules::BEDROCK,
        }
    }
}

impl Effect {
    /// For a line about a finding.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Effect::Rewritten => "rewritten",
            Effect::Told => "told in words",
            Effect::NotStrict => "not strict",
            Effect::Refused => "refused",
        }
    }
}

/// The tool as `provider` takes it.
///
/// # Errors
/// Why it cannot be offered there at all.
pub(crate) fn offer(tool: &Tool, names: &Names, provider: Provider) -> Result<Offer, Finding> {
    let name = names.offered(&tool.name);
    let mut findings = Vec::new();
    if name != tool.name {
        findings.push(Finding {
            at: String::new(),
            text: format!("the name `{}` becomes `{name}`", tool.name),
            effect: Effect::Rewritten,
        });
    }
    let is_strict = provider == Provider::OpenAiStrict && tool.strict != Some(false);
    let rules = match provider {
        Provider::OpenAiStrict if !is_strict => &OPENAI,
        provider => provider.rules(),
    };
    let mut written = written(&tool.input_schema, rules)?;
    let mut strict = is_strict;
    if written
        .findings
        .iter()
        .any(|it| it.effect == Effect::NotStrict)
    {
        findings.extend(
            written
                .findings
                .extract_if(.., |it| it.effect == Effect::NotStrict),
        );
        written = self::written(&tool.input_schema, &OPENAI)?;
        strict = false;
    }
    findings.append(&mut written.findings);
    let definition = envelope::around(tool, name, written, provider, strict);
    Ok(Offer {
        definition,
        findings,
    })
}

/// The schema of the tool's arguments as one object where it is a union of several, and the tool's
/// description with what such a schema cannot say. No provider takes a union at the root. `None`: there
/// is none, or it cannot be said otherwise.
pub(crate) fn without_root_union(tool: &Tool) -> Option<(Map<String, Value>, String)> {
    let schema = tool.input_schema.as_object()?;
    let mut unions = ["$ref", "allOf", "anyOf", "oneOf"].iter();
    unions.find(|key| schema.contains_key(**key))?;
    let written = written(&tool.input_schema, &rules::MCP_PLAIN).ok()?;
    let mut plain = written.schema;
    if let Some(version) = schema.get("$schema") {
        plain.shift_insert(0, "$schema".to_owned(), version.clone());
    }
    let description = envelope::described(&tool.description, &written.notes);
    Some((plain, description))
}

/// A schema in a dialect.
struct Written {
    schema: Map<String, Value>,
    /// What the schema cannot say as a whole.
    notes: Vec<String>,
    findings: Vec<Finding>,
}

fn written(schema: &Value, rules: &Rules) -> Result<Written, Finding> {
    let refused = |text: String| Finding {
        at: String::new(),
        text,
        effect: Effect::Refused,
    };
    Schema::compile(schema).map_err(|error| refused(format!("no valid JSON Schema: {error}")))?;
    let mut rewriter = Rewriter::new(schema, rules);
    let schema = root::written(&mut rewriter)?;
    if rules.is_closed {
        strict::check_limits(&mut rewriter, &schema);
    }
    if let Some(worst) = rewriter
        .findings
        .iter()
        .find(|it| it.effect == Effect::Refused)
    {
        return Err(worst.clone());
    }
    Ok(Written {
        schema,
        notes: rewriter.notes,
        findings: rewriter.findings,
    })
}
