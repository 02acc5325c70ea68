//! A tool as every surface sees it, and its source.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientHints, Problem, Source, schema};

/// One callable tool with the data that a model or a person needs to call it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name, unique in a catalog.
    pub name: String,
    /// A title for people; the name if the author gave none.
    pub label: String,
    /// Description for the model. May be empty.
    pub description: String,
    /// The JSON Schema (2020-12) of the arguments.
    pub input_schema: Value,
    /// Reason for which that schema is invalid. A tool with an invalid schema is not offered to
    /// models.
    pub schema_problem: Option<String>,
    /// The JSON Schema of the structured result, if the author gave one.
    pub output_schema: Option<Value>,
    /// Tier of harm that a call may do. It decides whether the user is asked.
    pub approval: Tier,
    /// Set if a call may be made twice without further harm, as far as the user believes its author. Calls
    /// of tools of the tier `read` may be in any case.
    pub is_idempotent: bool,
    /// Set if the tool is registered but kept out of lists for models.
    pub hidden: bool,
    /// The author's choice for strict provider schemas: `Some(false)` opts out.
    pub strict: Option<bool>,
    /// False while the project that contains the tool is not trusted by the user.
    pub trusted: bool,
    /// Tags that the author gave the tool; the user can approve or refuse tools by tag. Empty for
    /// systems without tags.
    pub tags: Vec<String>,
    /// The other tools that its calls run, directly or indirectly. A rule of the user against one
    /// of them holds for this tool too.
    pub uses: Vec<ToolRef>,
    /// Order of the arguments of a module's `execute`; `None` for all other tools.
    pub argument_order: Option<ArgumentOrder>,
    /// The author's hints for clients.
    pub hints: ClientHints,
    /// Set if the text of the results is the JSON of `details`. A client that shows a model only
    /// one of the two then hides nothing.
    pub text_repeats_details: bool,
    /// The source of the tool.
    pub source: Source,
}

impl Tool {
    /// Creates a tool with defaults for the rest: the label is the name, the tier is `exec`, and
    /// models see it.
    pub fn new(
        name: impl Into<String>,
        description: impl Into<String>,
        input_schema: Value,
        source: Source,
    ) -> Tool {
        let name = name.into();
        Tool {
            label: name.clone(),
            name,
            description: description.into(),
            input_schema,
            schema_problem: None,
            output_schema: None,
            // The effects are unknown (spec omp 10).
            approval: Tier::Exec,
            is_idempotent: false,
            hidden: false,
            strict: None,
            trusted: true,
            tags: Vec::new(),
            uses: Vec::new(),
            argument_order: None,
            hints: ClientHints::default(),
            text_repeats_details: false,
            source,
        }
    }
}

impl Tool {
    /// Checks the schema of the arguments. The first fault is stored in the tool; all faults are
    /// returned as problems of its file.
    pub fn check_schema(&mut self) -> Vec<Problem> {
        let found = schema::problems(&self.input_schema);
        self.schema_problem = found.first().map(|(why, _)| why.clone());
        let problem = |(why, then): &(String, &str)| {
            let text = format!("the schema of `{}` is invalid at {why}; {then}", self.name);
            Problem::warning(text)
                .at(&self.source.path)
                .about(&self.name)
                .hint("correct it; until then models are not offered the tool")
        };
        found.iter().map(problem).collect()
    }
}

/// A tool that another tool runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ToolRef {
    /// The tool's name.
    pub name: String,
    /// The tool's tags.
    pub tags: Vec<String>,
}

/// Order of the arguments of a module's `execute`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentOrder {
    /// The order of oh-my-pi: `(id, params, onUpdate, ctx, signal)`.
    Omp,
    /// The order of early pi and of pi's extensions: `(id, params, signal, onUpdate, ctx)`.
    Pi,
}

impl ArgumentOrder {
    /// Returns the parameter list in this order.
    pub fn parameters(self) -> &'static str {
        match self {
            ArgumentOrder::Omp => "(id, params, onUpdate, ctx, signal)",
            ArgumentOrder::Pi => "(id, params, signal, onUpdate, ctx)",
        }
    }
}

/// Interface of another program that a module was written for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dialect {
    /// Its name for people.
    pub name: String,
    /// Reason for the dialect, as a clause.
    pub because: String,
}

/// Tier of harm that a call may do. The variants are ordered: `Read < Write < Exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::EnumString, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum Tier {
    /// Reads and changes nothing.
    Read,
    /// Changes files or remote state.
    Write,
    /// Runs programs or has any other effect. The default of a tool that declares no tier.
    Exec,
}

impl Tier {
    /// Returns the tier's name as tools and configuration write it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
