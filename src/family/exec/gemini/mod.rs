//! Gemini CLI's commands for tools: one prints the declarations of all tools, the other runs the tool
//! that its argument names (dialects 1.6).
//!
//! A project's settings and the files that its commands name run only as the user trusted them. The
//! commands of the user's own settings run in an empty folder until the user trusts the project.

mod declarations;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::program::{self, InputForm, ProgramCall, ProgramRunner};
use super::verified::Refused;
use super::{Confinement, LoadContext, Loaded, describe, spawn_error};
use crate::family::listing_folder::IN_EMPTY_FOLDER;
use crate::family::tool_command::settings_words;
use declarations::{Declaration, Declared};
use haft_config::{Config, paths};
use haft_discover::{Candidate, GeminiCommands};
use haft_process::{End, Finished, Leftovers, NotVerified, Spawn, SpawnError, project_files};
use haft_tool::schema::Schema;
use haft_tool::{Problem, Runner, TRUST_HINT, Tool};

/// Loads the tools of each settings file.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let mut all = Vec::new();
    for candidate in candidates {
        let loaded = load(means, candidate).await;
        all.push(loaded.unwrap_or_else(|problem| Loaded::failed(*problem)));
    }
    all
}

/// Returns the files of the project that the commands of its settings file name. They decide what
/// runs.
pub(crate) fn named_files(config: &Config, settings: &Path) -> Vec<PathBuf> {
    let commands = fs::read_to_string(settings).ok();
    let commands = commands.and_then(|text| GeminiCommands::of(&text));
    let all = commands.iter().flat_map(words_of);
    let files = all.flat_map(|words| {
        let words = settings_words(config, words);
        project_files(&config.cwd, &config.cwd, &words)
    });
    files.collect()
}

/// Returns the words of each command.
fn words_of(commands: &GeminiCommands) -> [Vec<String>; 2] {
    let discovery = shlex::split(&commands.discovery).unwrap_or_default();
    [discovery, commands.call.iter().cloned().collect()]
}

async fn load(means: &LoadContext<'_>, candidate: &Candidate) -> Result<Loaded, Box<Problem>> {
    let config = means.config;
    let problem = |text: String| Box::new(Problem::warning(text).at(&candidate.path));
    let refused = |why: &NotVerified| problem(why.to_string()).hint(TRUST_HINT);
    let bytes = fs::read(&candidate.resolved);
    let bytes =
        bytes.map_err(|error| problem(format!("cannot be read: {}", paths::plain(&error))))?;
    candidate.verify(&bytes)?;
    let commands = GeminiCommands::of(&String::from_utf8_lossy(&bytes));
    let commands =
        commands.ok_or_else(|| problem("it has no `tools.discoveryCommand`".to_owned()))?;
    let command = &commands.discovery;
    let words = shlex::split(command).unwrap_or_default();
    let (Some((program, arguments)), Some(call)) = (words.split_first(), &commands.call) else {
        let text = "`tools.discoveryCommand` is no command: a quotation mark is missing";
        return Err(problem(text.to_owned()));
    };
    if is_haft(program, arguments) {
        return Ok(Loaded::default());
    }
    check_own_commands(&commands, config, candidate)?;
    let confinement = means
        .sandboxes
        .of(config, candidate, &candidate.likely_name())?;
    let asked = spawn(words.clone(), None, config, &confinement);
    let asked = asked.map_err(|why| refused(&why))?;
    // The command may be a script that asks haft, which would run the command again.
    let mut disabled = config.disabled_providers.clone();
    disabled.push(candidate.source.provider.clone());
    let question = program::question(Spawn {
        env: asked
            .env
            .with("HAFT_DISABLED_PROVIDERS", disabled.join(",")),
        ..asked
    });
    let question = means.listing.command(candidate, question)?;
    let is_restricted = question.is_restricted;
    let answer = describe::ask_all(vec![question]).await.pop();
    let answer = answer.ok_or_else(|| problem("it was not asked".to_owned()))?;
    let is_late = |finished: &Finished| matches!(finished.end, End::TimedOut(_));
    let was_late = answer.as_ref().is_ok_and(is_late);
    if let Err(error) = &answer
        && let Some(problem) = Refused::of(candidate).problem(candidate, error)
    {
        return Err(Box::new(problem));
    }
    let has_failed = !matches!(&answer, Ok(finished) if matches!(finished.end, End::Exited(0)));
    let declared = understand(answer, Path::new(program)).map_err(|(why, hint)| {
        let why = if is_restricted && has_failed {
            format!("{why}; {IN_EMPTY_FOLDER}")
        } else {
            why
        };
        problem(format!("`{command}` gives no tools: {why}")).hint(hint)
    });
    let declared = match declared {
        Ok(declared) => declared,
        Err(problem) => {
            return Ok(Loaded {
                was_late,
                ..Loaded::failed(problem)
            });
        }
    };
    let mut loaded = Loaded::default();
    for declaration in declared {
        let unusable = |name: &str, why: String| {
            let problem = problem(format!("a tool of `{command}` cannot be used: {why}"));
            problem.about(name)
        };
        let made = match declaration {
            Ok(declaration) => tool(declaration, call, means, candidate)
                .map_err(|(name, why)| unusable(&name, why)),
            Err((name, why)) => Err(unusable(&name, why.to_string())),
        };
        match made {
            Ok(tool) => loaded.tools.push(tool),
            Err(problem) => loaded.problems.push(problem),
        }
    }
    Ok(loaded)
}

/// Returns true if the command is haft itself, which offers its tools to Gemini CLI.
fn is_haft(program: &str, arguments: &[String]) -> bool {
    let is_haft = Path::new(program)
        .file_stem()
        .is_some_and(|name| name == "haft");
    is_haft && arguments.iter().any(|argument| argument == "gemini")
}

/// Checks that no word of the user's own commands is a file of the project: they would run code of
/// whatever project this is. Files that a part of a word names, as in `sh -c './list'`, are found in a
/// trusted project only.
fn check_own_commands(
    commands: &GeminiCommands,
    config: &Config,
    candidate: &Candidate,
) -> Result<(), Box<Problem>> {
    if candidate.needs_trust() {
        return Ok(());
    }
    let mut words = words_of(commands).into_iter().flatten();
    let file = words.find_map(|word| {
        let path = paths::resolve(&config.cwd, Path::new(&word));
        (path.starts_with(&config.cwd) && path.is_file()).then_some(path)
    });
    let Some(file) = file else {
        return Ok(());
    };
    let text = format!("its commands run a file of the project: {}", file.display());
    let hint = "put these commands into `.gemini/settings.json` of the project";
    Err(Box::new(
        Problem::warning(text).at(&candidate.path).hint(hint),
    ))
}

fn understand(
    answer: Result<Finished, SpawnError>,
    program: &Path,
) -> Result<Vec<Declared>, (String, String)> {
    let finished = answer.map_err(|error| {
        let (why, hint) = spawn_error::explain(&error, program);
        (why, hint.into_owned())
    })?;
    declarations::read(&finished).map_err(|why| {
        let hint = "the command prints a JSON array of `{name, description, parametersJsonSchema}`";
        (why.to_string(), hint.to_owned())
    })
}

type Made = (Arc<Tool>, Arc<dyn Runner>);

fn tool(
    declaration: Declaration,
    call: &str,
    means: &LoadContext<'_>,
    candidate: &Candidate,
) -> Result<Made, (String, String)> {
    let Declaration {
        name,
        description,
        input_schema,
    } = declaration;
    let config = means.config;
    let failed = |why: String| (name.clone(), why);
    let schema = Schema::compile(&input_schema)
        .map_err(|why| failed(format!("invalid schema of the arguments: {why}")))?;
    let confinement = means.sandboxes.of(config, candidate, &name);
    let confinement = confinement.map_err(|problem| failed(problem.message.clone()))?;
    let words = vec![call.to_owned()];
    let spawn = spawn(words, Some(&name), config, &confinement);
    let spawn = spawn.map_err(|why| failed(why.to_string()))?;
    let call = ProgramCall {
        spawn,
        form: InputForm::Json,
        schema,
        listing: Some(means.listing.again()),
    };
    let runner = ProgramRunner::new(candidate, call, config, confinement);
    let tool = Tool::new(name, description, input_schema, candidate.source.clone());
    Ok((Arc::new(tool), Arc::new(runner)))
}

/// Prepares a process of one of the commands, with the name of a tool as its last argument.
fn spawn(
    words: Vec<String>,
    tool: Option<&str>,
    config: &Config,
    confinement: &Confinement,
) -> Result<Spawn, NotVerified> {
    let words = settings_words(config, words);
    let command = confinement.commands.command(&config.cwd, &words, [])?;
    Ok(confinement.confined(Spawn {
        cwd: Some(config.cwd.clone()),
        leftovers: Leftovers::Kill,
        ..command.spawn(tool)
    }))
}
