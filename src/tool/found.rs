//! A tool as every surface sees it, and where it came from.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{ClientHints, Problem, schema};

/// One callable tool: what a model or a person needs to know to call it.
#[derive(Clone, Debug, PartialEq)]
pub struct Tool {
    /// The name it is called by, unique in a catalog.
    pub name: String,
    /// A title for people; the name where the author gave none.
    pub label: String,
    /// What it does, for the model. May be empty.
    pub description: String,
    /// The JSON Schema (2020-12) of its arguments.
    pub input_schema: Value,
    /// What makes that schema an invalid one, so that no model can be offered the tool.
    pub schema_problem: Option<String>,
    /// The JSON Schema of its structured result, where the author gave one.
    pub output_schema: Option<Value>,
    /// How much harm a call may do; decides whether the user is asked.
    pub approval: Tier,
    /// Registered, but kept out of lists that go to a model.
    pub hidden: bool,
    /// What the author said about strict provider schemas: `Some(false)` opts out.
    pub strict: Option<bool>,
    /// False while the user has not trusted the project that brings it.
    pub trusted: bool,
    /// What its author filed it under, by which the user may approve or refuse it. Empty where its
    /// system knows no tags.
    pub tags: Vec<String>,
    /// The tools that its calls run besides itself, and those that these run. What the user says
    /// against one of them holds for it too.
    pub uses: Vec<Used>,
    /// The order in which `execute` of a module takes its arguments; `None` for all other tools.
    pub argument_order: Option<ArgumentOrder>,
    /// What its author wishes of clients.
    pub hints: ClientHints,
    /// The text of its results is the JSON of `details`, so a client that shows a model only one of
    /// the two hides nothing.
    pub text_repeats_details: bool,
    /// Where it came from.
    pub source: Source,
}

impl Tool {
    /// A tool of which no more is known: called as it is named, harmful until somebody says how
    /// much, and shown to models.
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
            // Nothing is known of what it does (spec omp 10).
            approval: Tier::Exec,
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
    /// Looks for what is wrong with the schema of the arguments. What is found stays with the tool, and
    /// is returned as problems of its file.
    pub(crate) fn check_schema(&mut self) -> Vec<Problem> {
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

/// A tool inside of another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used {
    /// Its name.
    pub name: String,
    /// Its tags.
    pub tags: Vec<String>,
}

/// The order of the arguments that `execute` of a module gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ArgumentOrder {
    /// That of oh-my-pi: `(id, params, onUpdate, ctx, signal)`.
    Omp,
    /// That of early pi and of pi's extensions: `(id, params, signal, onUpdate, ctx)`.
    Pi,
}

impl ArgumentOrder {
    /// The parameters in their order.
    pub fn parameters(self) -> &'static str {
        match self {
            ArgumentOrder::Omp => "(id, params, onUpdate, ctx, signal)",
            ArgumentOrder::Pi => "(id, params, signal, onUpdate, ctx)",
        }
    }
}

/// Where a tool came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Which of the tool systems it is written for.
    pub family: Family,
    /// The id of the provider that found it (`native`, `claude`, `config`, …).
    pub provider: String,
    /// The provider's name for people.
    pub provider_name: String,
    /// Whose it is.
    pub level: Level,
    /// The path as it was given or found.
    pub path: PathBuf,
    /// The collection of tools that it belongs to, where its file names one.
    pub plugin: Option<String>,
}

/// The systems whose tools haft runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Family {
    /// TypeScript and JavaScript modules (oh-my-pi, pi).
    Js,
    /// Executables that describe themselves, Kodelet's protocol.
    Kodelet,
    /// Executables that describe themselves, ikigai's protocol.
    Ikigai,
    /// YAML shell tools (CYCOD).
    Shell,
    /// JSON plugin files (aynd).
    Plugin,
    /// Tools built into haft or given by the program that embeds it.
    Native,
}

/// Whose a tool is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// From the user's own directories: trusted.
    User,
    /// Brought by the project in the working directory.
    Project,
    /// Given by the host program itself.
    Host,
}

/// How much harm a call may do. The order is meaning: `Read < Write < Exec`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Looks, changes nothing.
    Read,
    /// Changes files or remote state.
    Write,
    /// Runs programs or anything else; what a tool that says nothing gets.
    Exec,
}

impl Family {
    /// The family's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Family::Js => "js",
            Family::Kodelet => "kodelet",
            Family::Ikigai => "ikigai",
            Family::Shell => "shell",
            Family::Plugin => "plugin",
            Family::Native => "native",
        }
    }
}

impl Level {
    /// The level's name as surfaces print it.
    pub fn as_str(self) -> &'static str {
        match self {
            Level::User => "user",
            Level::Project => "project",
            Level::Host => "host",
        }
    }
}

impl Tier {
    /// The tier's name as tools and configuration write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Tier::Read => "read",
            Tier::Write => "write",
            Tier::Exec => "exec",
        }
    }
}
