//! TypeScript and JavaScript modules: oh-my-pi's and pi's tools (spec omp).
//!
//! This module interprets the descriptions and errors of modules; the engine runs them.

mod drawing;
mod foreign_files;
mod frame;
mod hints;
mod hints_of_author;
mod log;
mod programs;
mod resolve;
mod runner;
mod worker_process;
mod workers;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::runtime::Handle;

use super::file_rights::{FileRights, GrantingStore, RightsReader};
use super::rights::Sandboxes;
use super::{LoadContext, Loaded};
use drawing::Renderers;
use haft_config::{Config, UserFolder};
use haft_discover::Candidate;
use haft_engine::{
    Engine, EngineOptions, LoadBatch, LoadFailure, LoadRequest, ProjectOptions, ToolLog, Verifier,
};
use haft_tool::json;
use haft_tool::{
    ApprovalRequirement, ArgumentOrder, CurrentSession, DefaultUser, Dialect, Isolation, Level,
    Problem, Replay, Source, Tier, Tool, ToolRights,
};
use runner::Instances;
use runner::JsRunner;
use workers::CodeReader;

use programs::programs;
pub(crate) use resolve::{RESOLVE, resolver, rival};
pub use worker_process::run_worker_process;

/// Environment of the modules of a host.
#[derive(Clone, Default)]
pub(crate) struct World {
    /// There will be calls after a tool's preview, so that it can be applied or discarded.
    pub(crate) supports_pending_actions: bool,
    /// Replays or records the tools' external I/O, in tests of tools.
    pub(crate) tape: Option<Arc<dyn Replay>>,
    /// Differences from the process's environment; `None` stands for a variable that is removed.
    pub(crate) env: BTreeMap<String, Option<String>>,
    /// The user for prompts of modules outside of calls.
    pub(crate) default_user: Arc<DefaultUser>,
    /// The conversation that calls belong to.
    pub(crate) session: Arc<CurrentSession>,
    /// Load files of the project that are not trusted yet, and record them.
    pub(crate) is_learning: bool,
    /// The program of worker processes; `None`: the running one.
    pub(crate) worker_program: Option<PathBuf>,
    /// The runtime of all callers, if there is one that outlives the host.
    pub(crate) runtime: Option<Handle>,
}

/// Returns the log of the tools of one host.
pub(crate) fn tool_log(config: &Config) -> Arc<dyn ToolLog> {
    Arc::new(log::LogFile::new(
        config.state_dir.user_folder(UserFolder::Logs),
    ))
}

/// Creates the engine for the modules of one host.
pub(crate) fn engine(
    config: &Config,
    world: World,
    sandboxes: &Arc<Sandboxes>,
    log: Arc<dyn ToolLog>,
) -> Engine {
    let of_project = config.limits_of(Level::Project);
    let cache = (config.use_cache && can_be_made(config)).then(|| config.cache_dir.clone());
    // A module that a debugger has paused loads as long as its user takes.
    let load_timeout = |limit| {
        if config.debugging.is_inspected {
            NO_LOAD_TIMEOUT
        } else {
            limit
        }
    };
    Engine::new(EngineOptions {
        cwd: config.cwd.clone(),
        heap_mb: config.limits.heap_mb,
        session_id: haft_engine::new_session_id(),
        grace: config.limits.grace,
        load_timeout: load_timeout(config.limits.load_timeout),
        rights: ToolRights {
            permissions: Arc::new(config.rights().permissions_of(Level::User)),
            isolation: Isolation::Process,
        },
        project: ProjectOptions {
            heap_mb: of_project.heap_mb,
            grace: of_project.grace,
            load_timeout: load_timeout(of_project.load_timeout),
        },
        unasked: config.approval.unasked_tier(),
        programs: programs(world.tape.clone(), config.limits.keep_detached),
        workers: workers::workers(config, world.worker_program, sandboxes, cache.clone()),
        runtime: world.runtime,
        keeps_detached: config.limits.keep_detached,
        permits: Some(Arc::new(GrantingStore::new(config))),
        granted: Arc::default(),
        log,
        supports_pending_actions: world.supports_pending_actions,
        tape: world.tape,
        env: world.env,
        default_user: world.default_user,
        session: world.session,
        auto_approve: config.approval.auto_approves(),
        verifier: (!config.trust_project).then(|| {
            if world.is_learning {
                Arc::new(Verifier::learning())
            } else {
                Arc::default()
            }
        }),
        cache,
        debugging: config.debugging.clone(),
    })
}

/// Load timeout of modules that can be debugged: there is none.
const NO_LOAD_TIMEOUT: Duration = Duration::from_secs(365 * 24 * 3600);

/// Returns true if the cache can be created. A missing home directory is not created, because the
/// cache would be lost with the container.
fn can_be_made(config: &Config) -> bool {
    !config.cache_dir.starts_with(&config.home) || config.home.is_dir()
}

/// Loads modules one after another: the globals that the first one sets are visible to the second
/// one.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let reader = RightsReader::new(means.config);
    let rights: Vec<Result<FileRights, Box<Problem>>> = candidates
        .iter()
        .map(|one| reader.of(one, &one.key))
        .collect();
    drop(reader);
    let refusals: Vec<_> = candidates.iter().map(|one| refusal(one)).collect();
    let asked = candidates.iter().zip(&refusals).zip(&rights);
    let asked = asked.filter(|((_, refusal), _)| refusal.is_none());
    let asked = asked.filter_map(|((one, _), rights)| Some((one, rights.as_ref().ok()?)));
    let mut code = CodeReader::new(means.config);
    let wanted: Vec<_> = asked
        .map(|(candidate, rights)| LoadRequest {
            path: &candidate.resolved,
            query: candidate.query.as_deref(),
            domain: candidate.trust_domain(),
            rights: rights.rights.clone(),
            code: (rights.rights.isolation == Isolation::Sandbox).then(|| code.of(candidate)),
        })
        .collect();
    let mut round = means.engine.round(&wanted).await;
    let mut all = Vec::with_capacity(candidates.len());
    for ((candidate, refusal), rights) in candidates.iter().zip(refusals).zip(rights) {
        all.push(match rights {
            Err(problem) => broken(*problem),
            Ok(rights) => {
                let mut loaded = match refusal {
                    Some(problem) => broken(problem),
                    None => load(&mut round, candidate, &rights, means).await,
                };
                loaded.problems.extend(rights.problems);
                loaded.rights = Some(rights.rights);
                loaded
            }
        });
    }
    round.finish().await;
    all
}

/// Loads the next module of the round. An error becomes a problem with oh-my-pi's text, the place
/// and the author's lines.
async fn load(
    round: &mut LoadBatch,
    candidate: &Candidate,
    rights: &FileRights,
    means: &LoadContext<'_>,
) -> Loaded {
    let config = means.config;
    let described = match round.load_next().await {
        Ok(described) => described,
        Err(failure) => return broken(explained(failure, candidate, rights, config)),
    };
    let is_remembered = described.is_remembered;
    match elements_of(&described.text) {
        Ok((elements, unserved, dialect)) => {
            let module = Some(described.module.clone());
            let mut loaded = take_tools(described, elements, candidate, rights, means);
            loaded
                .problems
                .extend(unserved.map(|info| info.at(&candidate.path)));
            Loaded {
                is_remembered,
                module,
                dialect,
                ..loaded
            }
        }
        Err(error) => {
            let text = format!("Failed to load tool: its description cannot be read: {error}");
            broken(Problem::error(text).at(&candidate.path))
        }
    }
}

fn broken(problem: Problem) -> Loaded {
    Loaded {
        problems: vec![problem],
        ..Loaded::default()
    }
}

/// Returns the problem of a candidate that cannot be a module at all.
fn refusal(candidate: &Candidate) -> Option<Problem> {
    let path = &candidate.resolved;
    let refused = |text: String| Problem::error(text).at(&candidate.path);
    if is_declarative(path) {
        return Some(
            refused(DECLARATIVE.into())
                .hint("name a .ts or .js module; .md and .json files only describe tools"),
        );
    }
    if let Some(language) = foreign_files::script_language(path) {
        return Some(refused(NO_DEFAULT.into()).hint(hints::for_script(&language)));
    }
    if !path.exists() {
        let text = format!(
            "Failed to load tool: Cannot find module '{}' imported from haft",
            path.display()
        );
        return Some(
            refused(text).hint("check the path; relative paths start at the working directory"),
        );
    }
    None
}

fn explained(
    failure: LoadFailure,
    candidate: &Candidate,
    rights: &FileRights,
    config: &Config,
) -> Problem {
    let path = &candidate.resolved;
    let refused = |text: String| Problem::error(text).at(&candidate.path);
    match failure {
        LoadFailure::Module(json) => {
            let failure: Failure = serde_json::from_str(&json).unwrap_or(Failure {
                error: json.clone(),
                stack: None,
            });
            // A refusal of the permissions has its own hint.
            let permissions = &rights.rights.permissions;
            let permissions = permissions.of_tier(config.approval.unasked_tier());
            let refusal = failure.error.strip_prefix(FAILED);
            let refusal = refusal.and_then(|text| permissions.parts_of_refusal(text));
            let (text, own) = match refusal {
                Some((text, hint)) => (format!("{FAILED}{text}"), Some(hint.to_owned())),
                None => (failure.error, None),
            };
            let hint = own.or_else(|| hints::hint_for(&text, candidate));
            let mut problem = refused(text);
            problem.hint = hint;
            frame::locate(problem, path, failure.stack.as_deref())
        }
        LoadFailure::Engine(text) => refused(format!("Failed to load tool: {text}")),
    }
}

/// Prefix of an error that a module threw.
const FAILED: &str = "Failed to load tool: ";

const DECLARATIVE: &str =
    "Declarative tool files (.md, .json) cannot be loaded as executable modules";

const NO_DEFAULT: &str = "Tool must export a default function";

fn is_declarative(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| extension == "md" || extension == "json")
}

type Read = (Vec<Element>, Option<Problem>, Option<Dialect>);

fn elements_of(described: &str) -> serde_json::Result<Read> {
    let description: Description<'_> = serde_json::from_str(described)?;
    let elements = description.tools.iter();
    let elements: serde_json::Result<Vec<_>> =
        elements.map(|text| Element::read(text.get())).collect();
    let unserved = unserved(&description.unserved);
    Ok((elements?, unserved, description.dialect))
}

/// Returns the information about what a module registers besides tools.
fn unserved(numbers: &BTreeMap<String, u32>) -> Option<Problem> {
    let counted = |(what, number): (&String, &u32)| match number {
        1 => format!("1 {what}"),
        _ => format!("{number} {what}s"),
    };
    let counted: Vec<String> = numbers.iter().map(counted).collect();
    if counted.is_empty() {
        return None;
    }
    let text = format!("registers what haft does not serve: {}", counted.join(", "));
    Some(
        Problem::info(text)
            .hint("haft serves the tools of a module; nothing else of it has an effect"),
    )
}

fn take_tools(
    module: haft_engine::Described,
    mut elements: Vec<Element>,
    candidate: &Candidate,
    rights: &FileRights,
    means: &LoadContext<'_>,
) -> Loaded {
    let mut loaded = Loaded::default();
    let approval = &means.config.approval;
    let bounds = Arc::new(means.sandboxes.bounds_of_module(rights));
    let unasked = approval.unasked_tier();
    let instances = Arc::new(Instances::new(module.module, module.text));
    for element in &mut elements {
        if let Element::Tool(described) = element {
            described.users_tier = approval.tiers.get(&described.name).copied();
        }
    }
    let is_read = |element: &Element| match element {
        Element::Tool(described) => described.known_tier() == Some(Tier::Read),
        Element::Refused(_) => true,
    };
    if elements.iter().all(is_read) && !instances.is_first(Tier::Read) {
        instances.first_is_never_called();
    }
    for element in elements {
        match element {
            Element::Tool(described) => {
                let runner = JsRunner::new(
                    instances.clone(),
                    unasked,
                    &described,
                    Renderers::new(&described, &candidate.path, &candidate.resolved),
                    Some(bounds.clone()),
                );
                runner.expect_call();
                loaded.problems.extend(described.misfits(&candidate.path));
                let is_checked_by_schema = described.checked_by_schema;
                let mut tool = described.into_tool(candidate.source.clone());
                if is_checked_by_schema {
                    loaded.problems.extend(tool.check_schema());
                }
                loaded.tools.push((Arc::new(tool), Arc::new(runner)));
            }
            Element::Refused(Refused { error, name }) => {
                let mut problem = Problem::error(error).at(&candidate.path);
                problem.tool_name = name;
                loaded.problems.push(problem);
            }
        }
    }
    loaded
}

/// Answer of `30_load.ts`.
#[derive(Deserialize)]
struct Description<'a> {
    #[serde(borrow)]
    tools: Vec<&'a RawValue>,
    /// Numbers of what the module registers besides tools, by kind in the singular.
    #[serde(default)]
    unserved: BTreeMap<String, u32>,
    dialect: Option<Dialect>,
}

/// One element of a factory's result.
enum Element {
    Refused(Refused),
    Tool(Box<Described>),
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    name: Option<String>,
}

impl Element {
    // Our own runtime writes this text, not a user, so bad input needs no good message.
    fn read(text: &str) -> serde_json::Result<Element> {
        match json::read(text) {
            Ok(described) => Ok(Element::Tool(described)),
            Err(_) => serde_json::from_str(text).map(Element::Refused),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Described {
    index: u32,
    name: String,
    label: Option<String>,
    description: String,
    input_schema: Value,
    /// Calls are validated by that schema, not by the library that made it.
    #[serde(default)]
    checked_by_schema: bool,
    /// `None` if it depends on the call.
    approval: Option<ApprovalRequirement>,
    /// The tier that the user's configuration sets for the tool.
    #[serde(skip)]
    users_tier: Option<Tier>,
    hidden: bool,
    strict: Option<bool>,
    /// The author gave a getter: read the description again before it is advertised.
    has_live_description: bool,
    #[serde(default)]
    renders_call: bool,
    #[serde(default)]
    renders_result: bool,
    /// `None` if it is that of oh-my-pi.
    argument_order: Option<ArgumentOrder>,
    /// Members that should be functions and are not: their names, and what they are.
    #[serde(default)]
    unusable: Vec<(String, String)>,
    output_schema: Option<Value>,
    /// Reason why the declared schema of the result cannot be used.
    no_output_schema: Option<String>,
    #[serde(default)]
    hints: hints_of_author::Written,
}

#[derive(Deserialize)]
struct Failure {
    error: String,
    stack: Option<String>,
}

impl Described {
    /// Returns a problem for each member that is never called because it is not a function.
    fn misfits(&self, path: &Path) -> Vec<Problem> {
        let misfit = |(member, what): &(String, String)| {
            let text = format!(
                "`{member}` of `{}` is {what}, and not a function",
                self.name
            );
            let hint = match member.as_str() {
                "renderCall" | "renderResult" => "haft draws it in its own way",
                _ => "it is never called",
            };
            Problem::warning(text).at(path).about(&self.name).hint(hint)
        };
        let mut misfits: Vec<Problem> = self.unusable.iter().map(misfit).collect();
        if let Some(why) = &self.no_output_schema {
            let text = format!("`outputSchema` of `{}` is ignored: {why}", self.name);
            let hint = "declare a zod, TypeBox or JSON Schema of an object, or remove it";
            let problem = Problem::warning(text).at(path).about(&self.name);
            misfits.push(problem.hint(hint));
        }
        for (text, hint) in self.hints.misfits(&self.name) {
            let problem = Problem::warning(text).at(path).about(&self.name);
            misfits.push(problem.hint(hint));
        }
        misfits
    }

    /// Returns the tier of every call, if it does not depend on the call.
    fn known_tier(&self) -> Option<Tier> {
        let said = self.approval.as_ref().map(|stance| stance.tier);
        self.users_tier.or(said)
    }

    fn into_tool(self, source: Source) -> Tool {
        // A tool whose tier is unknown beforehand may do anything (spec omp 10).
        let tier = self.known_tier().unwrap_or(Tier::Exec);
        Tool {
            label: self.label.unwrap_or_else(|| self.name.clone()),
            approval: tier,
            hidden: self.hidden,
            strict: self.strict,
            argument_order: Some(self.argument_order.unwrap_or(ArgumentOrder::Omp)),
            output_schema: self.output_schema,
            hints: self.hints.read(),
            ..Tool::new(self.name, self.description, self.input_schema, source)
        }
    }
}
