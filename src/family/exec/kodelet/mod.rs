//! Kodelet's custom tools: `TOOL description` says what it is, `TOOL run` runs it (spec kodelet).
//!
//! Tools see only an allowed part of the environment, also for `description`: dropping a file into
//! a directory must not give it our secrets.

mod description;
mod result;
mod runner;

use std::sync::Arc;
use std::time::Duration;

use super::load::{self, Protocol};
use super::verified::Refused;
use super::{Confinement, LoadContext, Loaded, spawn_error};
use description::Description;
use haft_config::{Config, CustomTools};
use haft_discover::Candidate;
use haft_process::{Environment, Finished, Keep, Leftovers, Limits, Spawn, SpawnError};
use haft_tool::schema::Schema;
use haft_tool::{Family, PermissionKind, Problem, Tool, permit_command};
use runner::KodeletRunner;

/// Timeout of `TOOL description`.
const DESCRIBING: Duration = Duration::from_secs(5);

/// Limit of a description's length in bytes; a longer one is cut off and therefore not JSON.
const MAX_DESCRIPTION_LEN: usize = 1 << 20;

/// Describes all of them at once and resolves name conflicts.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    load::load::<Kodelet>(means, candidates).await
}

struct Kodelet;

impl Protocol for Kodelet {
    type Described = (Description, Schema);

    fn question(candidate: &Candidate, config: &Config, confinement: &Confinement) -> Spawn {
        Spawn {
            stdout: Keep::Head(MAX_DESCRIPTION_LEN),
            stderr: Keep::Head(64 << 10),
            deadline: Some(DESCRIBING),
            ..spawn(candidate, "description", config, confinement)
        }
    }

    fn understand(
        candidate: &Candidate,
        answer: Result<Finished, SpawnError>,
    ) -> Result<Self::Described, Problem> {
        let refused =
            |text: String, hint: &str| Problem::error(text).at(&candidate.path).hint(hint);
        let finished = answer.map_err(|error| {
            if let Some(problem) = Refused::of(candidate).problem(candidate, &error) {
                return problem;
            }
            let (why, hint) = spawn_error::explain(&error, &candidate.resolved);
            refused(format!("{}: {why}", description::FAILED), &hint)
        })?;
        let description = description::read(&finished, DESCRIBING)
            .map_err(|why| refused(why.to_string(), why.hint()))?;
        let schema = Schema::compile(&description.input_schema).map_err(|why| {
            let hint = "`input_schema` is a JSON Schema of `type: object`";
            refused(format!("invalid input_schema: {why}"), hint).about(&description.name)
        })?;
        Ok((description, schema))
    }

    fn rank(candidate: &Candidate, config: &Config) -> u8 {
        // The directory of today's Kodelet is nearer; the older one may hold copies from there.
        let newer = config.custom_tools.dot_local_dir.as_deref();
        u8::from(newer.is_some() && candidate.path.parent() == newer)
    }

    fn name((description, _): &Self::Described) -> &str {
        &description.name
    }

    fn take(
        candidate: &Candidate,
        (description, schema): Self::Described,
        means: &LoadContext<'_>,
    ) -> Loaded {
        let name = format!("{}{}", Family::Kodelet.prefix(), description.name);
        let confinement = match means.sandboxes.of(means.config, candidate, &name) {
            Ok(confinement) => confinement,
            Err(problem) => return Loaded::failed(*problem),
        };
        let problems = withheld_variables(candidate, &name, means, &confinement);
        let tool = Tool {
            label: description.name.clone(),
            ..Tool::new(
                name,
                description.description,
                description.input_schema,
                candidate.source.clone(),
            )
        };
        let runner = KodeletRunner::new(
            candidate,
            description.name,
            schema,
            means.config,
            confinement,
        );
        Loaded {
            tools: vec![(Arc::new(tool), Arc::new(runner))],
            problems: problems.into_iter().collect(),
            ..Loaded::default()
        }
    }
}

/// Prepares the process for both describing and running a tool.
fn spawn(
    candidate: &Candidate,
    command: &str,
    config: &Config,
    confinement: &Confinement,
) -> Spawn {
    let tools: CustomTools = config.custom_tools_of(candidate.bounds_level());
    confinement.confined(Spawn {
        cwd: Some(config.cwd.clone()),
        env: Environment::allow(&tools.env_whitelist),
        limits: Limits {
            address_space: tools.max_memory_size,
            ..Limits::default()
        },
        leftovers: Leftovers::Kill,
        ..confinement.commands.executable(candidate).spawn([command])
    })
}

/// Returns the problem that variables of `env_whitelist` are not passed to a tool, because its profile
/// does not grant them.
fn withheld_variables(
    candidate: &Candidate,
    name: &str,
    means: &LoadContext<'_>,
    confinement: &Confinement,
) -> Option<Problem> {
    // The listing of an untrusted project grants none on purpose.
    let names =
        (!means.config.is_untrusted_listing).then_some(&means.config.custom_tools.env_whitelist)?;
    let withheld: Vec<&str> = names
        .iter()
        .filter(|name| haft_process::inherited(name).is_some())
        .filter(|name| !confinement.permissions.grants(PermissionKind::Env, name))
        .map(String::as_str)
        .collect();
    let first = withheld.first()?;
    let profile = &confinement.bounds.profile.name;
    let text = format!(
        "of `custom_tools.env_whitelist` it does not get {}: the profile `{profile}` does not grant it",
        withheld.join(", ")
    );
    let problem = Problem::warning(text).at(&candidate.path).about(name);
    Some(problem.hint(permit_command(PermissionKind::Env, first)))
}
