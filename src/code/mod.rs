//! Code mode: scripts that call the tools of a host.
//!
//! A script is TypeScript that runs in an isolate without files, network, environment or imports
//! ([`haft_engine::Script`]). Its global `tools` has a function for each tool. Each call of one is a
//! call of the host, with the script's call as its parent: validated, approved, logged and cancelled
//! like any other.
//!
//! Models get two tools, `run_code` and `search_tools`. They belong to a handle of the host
//! (`CodeMode::on`), not to its catalog, so a script cannot start a script. Programs use [`run`].

mod approval;
mod index;
mod learned;
mod record;
mod run;
mod search;
mod value;

use std::sync::Arc;

use parking_lot::Mutex;
use serde::Serialize;
use serde_json::{Value, json};

use crate::host::{HandleTools, Host, RunningCall};
use crate::registry::{Catalog, Entry};
use haft_config::CodeSettings;
use haft_tool::{Call, CallerScope, Family, Level, Source, Tier, Tool};
pub(crate) use index::Index;
pub(crate) use learned::Learned;
pub(crate) use record::Recorder;
use run::RunCode;
use search::SearchTools;
pub(crate) use value::undeclared;

pub(crate) use crate::registry::{RUN_CODE, SEARCH_TOOLS};

/// Longest own time that a caller may set, in milliseconds.
const MAX_TIMEOUT_MS: u64 = 600_000;
/// Size of the declarations that the description of `run_code` contains, in bytes: 2,000 tokens.
const MAX_DECLARATIONS: usize = 8_000;
/// Size of the list of names in that description, in bytes.
const MAX_NAMES: usize = 3_000;

/// Code mode for the callers that see the same tools.
pub(crate) struct CodeMode {
    scope: CallerScope,
    /// The tools of the last catalog.
    index: Mutex<Option<(Arc<Catalog>, Arc<Index>)>>,
}

/// A script and how it is run.
#[derive(Clone, Debug, Serialize)]
pub struct CodeRun {
    code: String,
    #[serde(skip_serializing_if = "Value::is_null")]
    args: Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    timeout_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_output_tokens: Option<u32>,
}

impl CodeRun {
    /// Creates a run of `code`, the body of an async function in TypeScript.
    pub fn new(code: impl Into<String>) -> CodeRun {
        CodeRun {
            code: code.into(),
            args: Value::Null,
            timeout_ms: None,
            max_output_tokens: None,
        }
    }

    /// Sets the global `args` of the script, an object.
    pub fn args(mut self, args: Value) -> CodeRun {
        self.args = args;
        self
    }

    /// Sets the time that the script itself may take in milliseconds, at most ten minutes.
    pub fn timeout_ms(mut self, timeout_ms: u64) -> CodeRun {
        self.timeout_ms = Some(timeout_ms);
        self
    }

    /// Sets the length of the result in tokens beyond which it goes to a file.
    pub fn max_output_tokens(mut self, max_output_tokens: u32) -> CodeRun {
        self.max_output_tokens = Some(max_output_tokens);
        self
    }

    /// Returns the call of `run_code` with a generated id.
    pub(crate) fn into_call(self) -> Call {
        let arguments = serde_json::to_value(&self).unwrap_or_default();
        Call::new(RUN_CODE, arguments)
    }
}

/// Starts a script that may call all tools of `host`. It is a call of the tool `run_code`, whose
/// outcome has the value of the script in `details.value`.
///
/// ```no_run,standalone_crate
#[doc = include_str!("../../tests/it/examples/code.rs")]
/// ```
pub fn run(host: &Host, run: CodeRun) -> RunningCall {
    CodeMode::with_all().on(host).call(run.into_call(), None)
}

impl CodeMode {
    /// Returns the code mode of callers with this scope.
    pub(crate) fn new(scope: CallerScope) -> Arc<CodeMode> {
        Arc::new(CodeMode {
            scope,
            index: Mutex::default(),
        })
    }

    /// Returns the code mode of callers that see all tools.
    pub(crate) fn with_all() -> Arc<CodeMode> {
        CodeMode::new(CallerScope::user())
    }

    /// Returns a handle of the host whose calls find `run_code` and `search_tools`. Scripts that they
    /// run have the scope of the handle and of the code mode.
    pub(crate) fn on(self: &Arc<Self>, host: &Host) -> Host {
        host.within(&self.scope).with_tools(self.clone())
    }

    /// Returns the tools that scripts see.
    pub(crate) fn index(&self, catalog: &Arc<Catalog>, host: &Host) -> Arc<Index> {
        let mut last = self.index.lock();
        if let Some((known, index)) = &*last
            && Arc::ptr_eq(known, catalog)
        {
            return index.clone();
        }
        let learned = Learned::of(host.config());
        let index = Arc::new(Index::of(catalog, &self.scope, learned));
        *last = Some((catalog.clone(), index.clone()));
        index
    }

    /// Returns `run_code` and `search_tools` as models see them. The description of the first one
    /// contains the declarations of all tools, or as many names as fit.
    pub(crate) fn tools(&self, catalog: &Arc<Catalog>, host: &Host) -> [Tool; 2] {
        // A model writes its first script after it has seen the list.
        host.expect_scripts();
        let index = self.index(catalog, host);
        [
            run_code(&offer(&index), &host.config().code),
            search_tools(),
        ]
    }
}

impl HandleTools for CodeMode {
    fn find(self: Arc<Self>, host: &Host, name: &str) -> Option<Arc<Entry>> {
        let (tool, runner): (_, Arc<dyn haft_tool::Runner>) = match name {
            RUN_CODE => (
                run_code("", &host.config().code),
                Arc::new(RunCode::new(self, host.without_tools())),
            ),
            SEARCH_TOOLS => (
                search_tools(),
                Arc::new(SearchTools::new(self, host.without_tools())),
            ),
            _ => return None,
        };
        let resolved_path = tool.source.path.clone();
        Some(Arc::new(Entry {
            tool: Arc::new(tool),
            resolved_path,
            runner,
        }))
    }
}

/// Returns the definition of `run_code`. `offer` is the text about the tools.
fn run_code(offer: &str, limits: &CodeSettings) -> Tool {
    let description = format!(
        "Runs TypeScript that calls tools. Use it for several calls, a loop, or a small part of a big \
         result; a single call is fine, too.\n\
         - `await tools.NAME({{…}})` calls a tool. These tools exist only inside `code`: there is no \
         tool of that name outside.\n\
         - The value of the last expression or of `return` is the result, and what \
         `console.log(x)`, `text(x)` or `image(block)` prints.\n\
         - Calls may run at once: `await Promise.all([…])`. A call that fails throws `ToolError` \
         {{tool, message, content}}; `tools.NAME.raw({{…}})` returns the whole result instead.\n\
         - There are no imports, files, network or environment: only `tools`, `args` and \
         `setTimeout`.{offer}"
    );
    let schema = json!({
        "type": "object",
        "properties": {
            "code": {
                "type": "string",
                "description": "The body of an async function, in TypeScript or JavaScript",
            },
            "args": {
                "type": "object",
                "description": "The global `args` of the code",
            },
            "timeout_ms": {
                "type": "integer",
                "minimum": 1,
                "maximum": MAX_TIMEOUT_MS,
                "description": format!(
                    "Time that the code itself may take in milliseconds, by default {}; waits for \
                     tools do not count",
                    limits.own_time.as_millis()
                ),
            },
            "max_output_tokens": {
                "type": "integer",
                "minimum": 100,
                "maximum": 1_000_000,
                "description": format!(
                    "Length of the result, by default {}; a file gets the whole of a longer one",
                    limits.output_tokens
                ),
            },
        },
        "required": ["code"],
        "additionalProperties": false,
    });
    let mut tool = Tool::new(RUN_CODE, description, schema, source());
    "Run code".clone_into(&mut tool.label);
    // The code can do nothing by itself. Each of its calls is approved by itself.
    tool.approval = Tier::Read;
    tool.hints.always_load = Some(true);
    tool
}

fn search_tools() -> Tool {
    let description = "Finds the tools that `run_code` can call, and their declarations. Without a \
                       query it lists the groups of tools.";
    let schema = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "description": "Words about the task, or a tool's name"},
            "limit": {
                "type": "integer",
                "minimum": 1,
                "maximum": search::MAX_LIMIT,
                "description": format!("Number of tools, by default {}", search::DEFAULT_LIMIT),
            },
            "detail": {
                "enum": ["names", "types"],
                "description": "`names`: names with a sentence; `types` (default): declarations",
            },
        },
        "additionalProperties": false,
    });
    let mut tool = Tool::new(SEARCH_TOOLS, description, schema, source());
    "Search tools".clone_into(&mut tool.label);
    tool.approval = Tier::Read;
    tool.hints.always_load = Some(true);
    tool
}

/// Returns the text about the tools in the description of `run_code`.
fn offer(index: &Index) -> String {
    let count = index.len();
    if count == 0 {
        return "\n\nThere are no tools.".to_owned();
    }
    let declarations = index.declarations();
    if declarations.len() <= MAX_DECLARATIONS {
        return format!("\n\nAll {count} tools:\n\n```ts\n{declarations}```");
    }
    let mut names = String::new();
    let mut shown = 0;
    for name in index.names() {
        if names.len() + name.len() + 2 > MAX_NAMES {
            break;
        }
        names.push_str(if shown == 0 { "" } else { ", " });
        names.push_str(name);
        shown += 1;
    }
    let rest = match count - shown {
        0 => format!("\n\nUse `{SEARCH_TOOLS}` for their declarations."),
        more => {
            format!(" and {more} more.\n\nUse `{SEARCH_TOOLS}` to find them, and for declarations.")
        }
    };
    format!("\n\n{count} tools: {names}{rest}")
}

fn source() -> Source {
    Source {
        family: Family::Native,
        provider: "code".to_owned(),
        provider_name: "Code mode".to_owned(),
        level: Level::Host,
        path: "code".into(),
        plugin: None,
    }
}
