//! Dialects of model providers: the tool names and JSON Schemas that each provider accepts.
//!
//! The functions here are pure: they do not depend on a tool's source or on the caller. A rewritten
//! schema accepts every value that the tool accepts. Rules that a dialect cannot express are put
//! into the description, and the tool still checks them when it is called.

mod all_of;
mod names;
mod node;
mod notes;
mod plain;
mod properties;
mod root;
mod rules;
mod upgrade;
mod wrapper;

use std::borrow::Cow;

use serde_json::{Map, Value};

use crate::Tool;
use crate::schema::{FaultKind, Schema, faults};
pub use names::Names;
use node::Rewriter;
pub use properties::PropertyNames;
use rules::{GEMINI, OPENAI, OPENAI_STRICT, Rules};

/// Receiver of tool definitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    Mcp,
    OpenAi,
    OpenAiStrict,
    Anthropic,
    Gemini,
    Bedrock,
}

/// A tool definition in the form that a provider accepts.
pub struct Offer {
    /// The entry for the provider's list of tools.
    pub definition: Value,
    /// Differences from the schema that the tool's author wrote.
    pub findings: Vec<Finding>,
}

/// A part of a tool definition that the provider would have refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The position in the schema, as a JSON pointer; empty for the whole schema.
    pub at: String,
    /// Description of the part that would be refused.
    pub text: String,
    /// The consequence for the definition.
    pub effect: Effect,
}

/// Consequence of a part that a provider refuses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It is expressed in another way.
    Rewritten,
    /// It is expressed in words, in the description.
    Told,
    /// The tool is offered without `strict`.
    NotStrict,
    /// The tool cannot be offered.
    Refused,
}

impl Provider {
    /// All providers.
    pub const ALL: [Provider; 6] = [
        Provider::Mcp,
        Provider::OpenAi,
        Provider::OpenAiStrict,
        Provider::Anthropic,
        Provider::Gemini,
        Provider::Bedrock,
    ];

    /// Returns the name that users type.
    pub fn name(self) -> &'static str {
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
    /// Returns the word for a line about a finding.
    pub fn as_str(self) -> &'static str {
        match self {
            Effect::Rewritten => "rewritten",
            Effect::Told => "told in words",
            Effect::NotStrict => "not strict",
            Effect::Refused => "refused",
        }
    }
}

/// Returns the tool's definition in the form that `provider` accepts.
///
/// # Errors
/// Returns the reason for which the provider accepts no form of the tool.
pub fn offer(tool: &Tool, names: &Names, provider: Provider) -> Result<Offer, Finding> {
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
    let definition = wrapper::around(tool, name, written, provider, strict);
    Ok(Offer {
        definition,
        findings,
    })
}

/// A tool for MCP clients. Most of them pass schemas on to their provider unchanged.
pub struct ForMcp {
    /// The schema of the arguments.
    pub schema: Value,
    /// The description, including the rules that the schema cannot express.
    pub description: String,
    /// The properties that have an alias in the schema.
    pub names: Option<PropertyNames>,
    /// Set if the schema differs from the one that the author wrote.
    pub is_rewritten: bool,
}

/// Returns the tool without the parts that every provider refuses: unions at the root, and
/// properties with an illegal name.
///
/// # Errors
/// Returns the reason for which the tool cannot be offered.
pub fn for_mcp(tool: &Tool) -> Result<ForMcp, Finding> {
    let (schema, names) = with_legal_names(&tool.input_schema, &rules::MCP);
    let mut offered = ForMcp {
        schema: schema.into_owned(),
        description: tool.description.clone(),
        is_rewritten: names.is_some(),
        names,
    };
    if let Some((plain, notes)) = without_root_union(&offered.schema) {
        offered.schema = Value::Object(plain);
        offered.description = wrapper::described(&tool.description, &notes);
        offered.is_rewritten = true;
    }
    Ok(offered)
}

/// Refuses a tool whose schema was found to be invalid when it was loaded.
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

/// Returns the schema with aliases for the properties that a provider refuses.
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

/// Rewrites a schema as one object if its root is a union or if it contains a pattern that not all
/// readers understand. Returns the object, and in words the rules that it cannot express. `None` if
/// neither is the case, or if the schema cannot be rewritten.
fn without_root_union(schema: &Value) -> Option<(Map<String, Value>, Vec<String>)> {
    let fields = schema.as_object()?;
    // OpenAI also refuses the last two at the root.
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
    /// Rules about the whole schema that it cannot express, in words.
    notes: Vec<String>,
    findings: Vec<Finding>,
}

fn written(schema: &Value, rules: &Rules) -> Result<Written, Finding> {
    let faults = faults(schema);
    // Such a pattern is put into the description, because the tool checks it with another regex
    // engine.
    let mut faults = faults.iter().filter(|it| it.kind != FaultKind::Pattern);
    if let Some(fault) = faults.next() {
        return Err(invalid(&format!("{}: {}", fault.place(), fault.text)));
    }
    Schema::compile_rest(schema).map_err(|error| invalid(&error))?;
    let mut rewriter = Rewriter::new(schema, rules);
    let schema = root::written(&mut rewriter)?;
    if rules.is_closed {
        node::check_limits(&mut rewriter, &schema);
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::walk;

    #[test]
    fn references_to_anchors_have_targets_in_a_dialect_without_anchors() {
        let schema = json!({
            "type": "object",
            "properties": {"tree": {"$ref": "#node"}},
            "required": ["tree"],
            "additionalProperties": false,
            "$defs": {
                "tree node": {
                    "$anchor": "node",
                    "type": "object",
                    "properties": {"next": {"$dynamicRef": "#node"}},
                    "additionalProperties": false,
                },
            },
        });
        let Ok(written) = written(&schema, &OPENAI_STRICT) else {
            panic!("the schema is refused");
        };
        let written = Value::Object(written.schema);
        assert_eq!(
            written["properties"]["tree"],
            json!({"$ref": "#/$defs/tree%20node"})
        );
        let nodes = walk::all(&written).filter_map(Value::as_object);
        let references: Vec<&str> = nodes.filter_map(walk::reference).collect();
        assert_eq!(references, ["#/$defs/tree%20node"; 2]);
        assert!(
            references
                .iter()
                .all(|it| walk::target(&written, it).is_some())
        );
    }
}
