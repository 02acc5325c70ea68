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
mod properties;
mod reference;
mod root;
mod rules;
mod strict;
mod words;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::tool::Tool;
use crate::tool::schema::{FaultKind, Schema, faults};
pub(crate) use names::Names;
use node::Rewriter;
pub(crate) use properties::PropertyNames;
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
    check(tool)?;
    let (schema, property_names) = with_legal_names(&tool.input_schema, rules);
    for (name, alias) in property_names.iter().flat_map(PropertyNames::aliases) {
        findings.push(Finding {
            at: String::new(),
            text: format!("the property `{name}` becomes `{alias}`"),
            effect: Effect::Rewritten,
        });
    }
    let mut written = written(&schema, rules)?;
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
        written = self::written(&schema, &OPENAI)?;
        strict = false;
    }
    findings.append(&mut written.findings);
    let definition = envelope::around(tool, name, written, provider, strict);
    Ok(Offer {
        definition,
        findings,
    })
}

/// A tool for MCP clients, most of which hand schemas on to providers as they are.
pub(crate) struct ForMcp {
    /// The schema of its arguments.
    pub(crate) schema: Value,
    /// Its description, with what that schema cannot say.
    pub(crate) description: String,
    /// The properties that have another name in that schema.
    pub(crate) names: Option<PropertyNames>,
    /// The schema is not as its author wrote it.
    pub(crate) is_rewritten: bool,
}

/// The tool without what no provider takes: no union at the root, no property of an illegal name.
///
/// # Errors
/// Why it cannot be offered at all.
pub(crate) fn for_mcp(tool: &Tool) -> Result<ForMcp, Finding> {
    let (schema, names) = with_legal_names(&tool.input_schema, &rules::MCP);
    let mut offered = ForMcp {
        schema: schema.into_owned(),
        description: tool.description.clone(),
        is_rewritten: names.is_some(),
        names,
    };
    if let Some((plain, notes)) = without_root_union(&offered.schema) {
        offered.schema = Value::Object(plain);
        offered.description = envelope::described(&tool.description, &notes);
        offered.is_rewritten = true;
    }
    Ok(offered)
}

/// Refuses what was found to be invalid when the tool was loaded.
fn check(tool: &Tool) -> Result<(), Finding> {
    match &tool.schema_problem {
        None => Ok(()),
        Some(problem) => Err(invalid(problem)),
    }
}

fn invalid(problem: &str) -> Finding {
    Finding {
        at: String::new(),
        text: format!("no valid JSON Schema: {problem}"),
        effect: Effect::Refused,
    }
}

/// The schema with aliases for the properties that a provider refuses.
fn with_legal_names<'a>(
    schema: &'a Value,
    rules: &Rules,
) -> (Cow<'a, Value>, Option<PropertyNames>) {
    let names = PropertyNames::of(schema);
    match names.and_then(|names| names.refused_by(rules.takes_property)) {
        Some(names) => (Cow::Owned(names.renamed()), Some(names)),
        None => (Cow::Borrowed(schema), None),
    }
}

/// A schema whose root is a union, or holds a pattern that not all readers understand, as one object
/// without these, and what it cannot say in words. `None`: it is neither, or cannot be said otherwise.
fn without_root_union(schema: &Value) -> Option<(Map<String, Value>, Vec<String>)> {
    let fields = schema.as_object()?;
    // The last two are what OpenAI refuses there besides.
    let mut unions = ["$ref", "allOf", "anyOf", "oneOf", "enum", "not"].iter();
    let is_union = unions.any(|key| fields.contains_key(*key));
    let has_odd_pattern = || {
        faults(schema)
            .iter()
            .any(|it| it.kind == FaultKind::Pattern)
    };
    if !is_union && !has_odd_pattern() {
        return None;
    }
    let written = written(schema, &rules::MCP_PLAIN).ok()?;
    let mut plain = written.schema;
    if let Some(version) = fields.get("$schema") {
        plain.shift_insert(0, "$schema".to_owned(), version.clone());
    }
    Some((plain, written.notes))
}

/// A schema in a dialect.
struct Written {
    schema: Map<String, Value>,
    /// What the schema cannot say as a whole.
    notes: Vec<String>,
    findings: Vec<Finding>,
}

fn written(schema: &Value, rules: &Rules) -> Result<Written, Finding> {
    let faults = faults(schema);
    // What the tool itself checks with another reader of patterns is said in words.
    let mut faults = faults.iter().filter(|it| it.kind != FaultKind::Pattern);
    if let Some(fault) = faults.next() {
        return Err(invalid(&format!("{}: {}", fault.place(), fault.text)));
    }
    Schema::compile_rest(schema).map_err(|error| invalid(&error))?;
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
