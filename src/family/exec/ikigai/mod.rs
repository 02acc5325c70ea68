//! ikigai's external tools: `TOOL --schema` says what it is, `TOOL` runs it (spec ikigai).
//!
//! A tool without a usable schema is not loaded, and one line in the log says so. Tools get our
//! whole environment, because they manage their credentials themselves. Their arguments are not
//! validated.

mod envelope;
mod parameters;
mod runner;
mod schema;

pub(crate) use runner::no_longer_there;

use std::sync::Arc;
use std::time::Duration;

use super::load::{self, Protocol};
use super::precedence::{self, Lost};
use super::verified::Refused;
use super::{Confinement, LoadContext, Loaded, spawn_error};
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{Finished, Keep, Leftovers, Spawn, SpawnError};
use haft_tool::{Level, Problem, Tier, Tool};
use runner::IkigaiRunner;
use schema::Described;

/// Timeout of `TOOL --schema`.
const DESCRIBING: Duration = Duration::from_secs(1);

/// Limit of a schema's length in bytes; a longer one is cut off and therefore not JSON.
const MAX_SCHEMA_BYTES: usize = 1 << 20;

/// Tiers of the tools that come with haft. Any other tool of such a name counts as [`Tier::Exec`].
const SYSTEM_TIERS: &[(&str, Tier)] = &[
    ("file_read", Tier::Read),
    ("glob", Tier::Read),
    ("grep", Tier::Read),
    ("file_write", Tier::Write),
    ("file_edit", Tier::Write),
    ("bash", Tier::Exec),
];

/// Returns the names of the tools that come with haft.
pub(crate) fn system_tool_names() -> impl Iterator<Item = &'static str> {
    SYSTEM_TIERS.iter().map(|(name, _)| *name)
}

/// Describes all of them at once and resolves name conflicts.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    load::load::<Ikigai>(means, candidates).await
}

struct Ikigai;

impl Protocol for Ikigai {
    type Described = Described;

    fn question(candidate: &Candidate, config: &Config, confinement: &Confinement) -> Spawn {
        Spawn {
            stdout: Keep::Head(MAX_SCHEMA_BYTES),
            stderr: Keep::Head(64 << 10),
            deadline: Some(DESCRIBING),
            ..spawn(candidate, Some("--schema"), config, confinement)
        }
    }

    fn understand(
        candidate: &Candidate,
        answer: Result<Finished, SpawnError>,
    ) -> Result<Self::Described, Problem> {
        let failed = |why: &str, hint: &str| schema_failed(candidate, why).hint(hint.to_owned());
        let finished = answer.map_err(|error| {
            if let Some(problem) = Refused::of(candidate).problem(candidate, &error) {
                return problem;
            }
            let (why, hint) = spawn_error::explain(&error, &candidate.resolved);
            failed(&format!("could not be started: {why}"), &hint)
        })?;
        if !finished.stderr.bytes.is_empty() {
            let stderr = finished.stderr.text();
            tracing::debug!(tool = file_name(candidate), stderr, "--schema");
        }
        schema::read(&finished).map_err(|why| {
            let mut problem = failed(&why.to_string(), why.hint());
            problem.message.push_str(&spawn_error::said(&finished));
            problem
        })
    }

    fn rank(candidate: &Candidate, config: &Config) -> u8 {
        // A tool that was installed for ikigai overrides one that comes with haft.
        u8::from(!comes_with_haft(candidate, config))
    }

    fn name(described: &Self::Described) -> &str {
        &described.name
    }

    fn passed_over(loser: &Candidate, name: &str, lost: &Lost<'_>) -> Problem {
        if lost.is_override {
            let problem = precedence::overridden(loser, lost.holder, name);
            tracing::debug!(tool = name, by = %lost.holder.path.display(), "overridden");
            return problem;
        }
        let why = format!("{} has the name {name}", lost.holder.path.display());
        schema_failed(loser, &why).hint("give one of the two another name")
    }

    fn take(candidate: &Candidate, described: Self::Described, means: &LoadContext<'_>) -> Loaded {
        let Described {
            name,
            description,
            input_schema,
            output_schema,
        } = described;
        let confinement = match means.sandboxes.of(means.config, candidate, &name) {
            Ok(confinement) => confinement,
            Err(problem) => return Loaded::failed(*problem),
        };
        let mut problems = Vec::new();
        if name != candidate.likely_name() {
            let file = file_name(candidate);
            let problem = Problem::warning(format!("tool '{file}' calls itself `{name}`"));
            let hint = "it is known by that name; a file of the same name is easier to find";
            problems.push(problem.at(&candidate.path).about(&name).hint(hint));
        }
        let config = means.config;
        let tier = tier(candidate, &name, config);
        let runner = IkigaiRunner::new(candidate, name.clone(), tier, config, confinement);
        let tool = Tool {
            output_schema: Some(output_schema),
            text_repeats_details: true,
            approval: tier,
            ..Tool::new(name, description, input_schema, candidate.source.clone())
        };
        Loaded {
            tools: vec![(Arc::new(tool), Arc::new(runner))],
            problems,
            ..Loaded::default()
        }
    }
}

/// Prepares the process for both describing and running a tool.
fn spawn(
    candidate: &Candidate,
    argument: Option<&str>,
    config: &Config,
    confinement: &Confinement,
) -> Spawn {
    confinement.confined(Spawn {
        cwd: Some(config.cwd.clone()),
        leftovers: leftovers(candidate, config),
        ..confinement.commands.executable(candidate).spawn(argument)
    })
}

/// Tool of the system directory that may leave processes behind: a server that a command starts in
/// the background serves the calls that follow.
const SHELL: &str = "bash";

/// Returns the policy for leftover processes: only the system's shell may leave some behind.
fn leftovers(candidate: &Candidate, config: &Config) -> Leftovers {
    if comes_with_haft(candidate, config) && candidate.likely_name() == SHELL {
        Leftovers::Leave
    } else {
        Leftovers::Kill
    }
}

/// Returns true if the candidate is in the folder of haft's own system tools.
fn comes_with_haft(candidate: &Candidate, config: &Config) -> bool {
    let folder = candidate.path.parent();
    candidate.source.level == Level::Host && folder == config.ikigai.system_dir.as_deref()
}

/// Returns the problem, and logs the line that the document asks for (ikigai 7).
fn schema_failed(candidate: &Candidate, why: &str) -> Problem {
    let line = format!("tool '{}' schema failed ({why})", file_name(candidate));
    tracing::debug!("Debug: {line}");
    Problem::warning(line).at(&candidate.path)
}

fn file_name(candidate: &Candidate) -> String {
    let name = candidate.path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}

fn tier(candidate: &Candidate, name: &str, config: &Config) -> Tier {
    let known = SYSTEM_TIERS.iter().find(|(known, _)| *known == name);
    match known {
        Some((_, tier)) if comes_with_haft(candidate, config) => *tier,
        _ => Tier::Exec,
    }
}
