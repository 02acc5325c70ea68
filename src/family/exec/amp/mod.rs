//! Amp's toolboxes: `TOOLBOX_ACTION=describe` says what a tool is, `execute` runs it (dialects 1.6).
//!
//! Tools get the whole environment, as in Amp: they find their credentials there.

mod description;

use std::sync::Arc;

use super::load::{self, Protocol};
use super::program::{self, ProgramCall, ProgramRunner};
use super::verified::Refused;
use super::{Confinement, LoadContext, Loaded, spawn_error};
use description::Description;
use haft_config::Config;
use haft_discover::Candidate;
use haft_process::{Environment, Finished, Leftovers, Spawn, SpawnError};
use haft_tool::schema::Schema;
use haft_tool::{Family, Problem, Tool};

/// Describes all of them at once and resolves name conflicts.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    load::load::<Amp>(means, candidates).await
}

struct Amp;

impl Protocol for Amp {
    type Described = (Description, Schema);

    fn question(candidate: &Candidate, config: &Config, confinement: &Confinement) -> Spawn {
        program::question(spawn(candidate, "describe", config, confinement))
    }

    fn understand(
        candidate: &Candidate,
        answer: Result<Finished, SpawnError>,
    ) -> Result<Self::Described, Problem> {
        let refused =
            |text: String, hint: &str| Problem::warning(text).at(&candidate.path).hint(hint);
        let finished = answer.map_err(|error| {
            if let Some(problem) = Refused::of(candidate).problem(candidate, &error) {
                return problem;
            }
            let (why, hint) = spawn_error::explain(&error, &candidate.resolved);
            refused(format!("the toolbox tool is not described: {why}"), &hint)
        })?;
        let hint = "`TOOLBOX_ACTION=describe TOOL` prints `name`, `description` and `inputSchema` as JSON, or \
                    lines like `name: TOOL`";
        let description = description::read(&finished)
            .map_err(|why| refused(format!("the toolbox tool is not described: {why}"), hint))?;
        let schema = Schema::compile(&description.input_schema).map_err(|why| {
            let text = format!("invalid schema of the arguments: {why}");
            refused(text, hint).about(&description.name)
        })?;
        Ok((description, schema))
    }

    fn rank(_candidate: &Candidate, _config: &Config) -> u8 {
        0
    }

    fn name((description, _): &Self::Described) -> &str {
        &description.name
    }

    fn take(
        candidate: &Candidate,
        (description, schema): Self::Described,
        means: &LoadContext<'_>,
    ) -> Loaded {
        let Description {
            name: label,
            description,
            input_schema,
            form,
        } = description;
        let name = format!("{}{label}", Family::Amp.prefix());
        let config = means.config;
        let confinement = match means.sandboxes.of(config, candidate, &name) {
            Ok(confinement) => confinement,
            Err(problem) => return Loaded::failed(*problem),
        };
        let tool = Tool {
            label,
            ..Tool::new(name, description, input_schema, candidate.source.clone())
        };
        let call = ProgramCall {
            spawn: spawn(candidate, "execute", config, &confinement),
            form,
            schema,
            listing: None,
        };
        let runner = ProgramRunner::new(candidate, call, config, confinement);
        Loaded {
            tools: vec![(Arc::new(tool), Arc::new(runner))],
            ..Loaded::default()
        }
    }
}

/// Prepares the process for both describing and running a tool.
fn spawn(candidate: &Candidate, action: &str, config: &Config, confinement: &Confinement) -> Spawn {
    let env = Environment::inherit()
        .with("TOOLBOX_ACTION", action)
        .with("AGENT", "amp");
    confinement.confined(Spawn {
        cwd: Some(config.cwd.clone()),
        env,
        leftovers: Leftovers::Kill,
        ..confinement.commands.executable(candidate).spawn([""; 0])
    })
}
