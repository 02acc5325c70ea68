//! Gemini CLI's commands for tools: one prints the declarations of all tools, the other runs the tool
//! that its argument names (dialects 1.6).
//!
//! A project's settings and the files that its commands name run only as the user trusted them.

mod declarations;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::program::{self, InputForm, NamedFiles, ProgramCall, ProgramRunner};
use super::{Confinement, LoadContext, Loaded, describe, spawn_error};
use declarations::{Declaration, Declared};
use haft_config::{Config, paths};
use haft_discover::{Candidate, GeminiCommands};
use haft_process::{End, Finished, Leftovers, Spawn, SpawnError};
use haft_tool::schema::Schema;
use haft_tool::{Problem, Runner, Tool};

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
pub(crate) fn named_files(settings: &Path) -> Vec<PathBuf> {
    let commands = fs::read_to_string(settings).ok();
    let commands = commands.and_then(|text| GeminiCommands::of(&text));
    let project = settings.parent().and_then(Path::parent);
    match (commands, project) {
        (Some(commands), Some(project)) => files_below(&commands, project),
        _ => Vec::new(),
    }
}

/// Returns the files below `folder` that the commands name.
fn files_below(commands: &GeminiCommands, folder: &Path) -> Vec<PathBuf> {
    let words = shlex::split(&commands.discovery).unwrap_or_default();
    let words = words.into_iter().chain(commands.call.clone());
    let files =
        words.filter_map(|word| paths::resolve(folder, Path::new(&word)).canonicalize().ok());
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    files
        .filter(|file| file.is_file() && file.starts_with(&folder))
        .collect()
}

async fn load(means: &LoadContext<'_>, candidate: &Candidate) -> Result<Loaded, Box<Problem>> {
    let config = means.config;
    let problem = |text: String| Box::new(Problem::warning(text).at(&candidate.path));
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
    let files = named(&commands, config, candidate)?;
    let confinement = means
        .sandboxes
        .of(config, candidate, &candidate.likely_name())?;
    let asked = spawn(program, arguments, config, &confinement);
    // The command may be a script that asks haft, which would run the command again.
    let mut disabled = config.disabled_providers.clone();
    disabled.push(candidate.source.provider.clone());
    let question = program::question(Spawn {
        env: asked
            .env
            .with("HAFT_DISABLED_PROVIDERS", disabled.join(",")),
        ..asked
    });
    let answer = describe::ask_all(vec![question]).await.pop();
    let answer = answer.ok_or_else(|| problem("it was not asked".to_owned()))?;
    let is_late = |finished: &Finished| matches!(finished.end, End::TimedOut(_));
    let was_late = answer.as_ref().is_ok_and(is_late);
    let declared = understand(answer, Path::new(program))
        .map_err(|(why, hint)| problem(format!("`{command}` gives no tools: {why}")).hint(hint));
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
            Ok(declaration) => tool(declaration, call, &files, means, candidate)
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

/// Returns the files of the project that the commands name, if they are as the user trusted them.
fn named(
    commands: &GeminiCommands,
    config: &Config,
    candidate: &Candidate,
) -> Result<NamedFiles, Box<Problem>> {
    let problem = |text: String| Box::new(Problem::warning(text).at(&candidate.path));
    let files = files_below(commands, &config.cwd);
    if !candidate.needs_trust() {
        return match files.first() {
            // The user's own settings would run code of whatever project this is.
            Some(file) => {
                let text = format!("its commands run a file of the project: {}", file.display());
                let hint = "put these commands into `.gemini/settings.json` of the project";
                Err(Box::new(problem(text).hint(hint)))
            }
            None => Ok(NamedFiles::default()),
        };
    }
    let named = NamedFiles {
        files,
        verified: candidate.verified.clone(),
    };
    named.check().map_err(problem)?;
    Ok(named)
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
    files: &NamedFiles,
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
    let call = ProgramCall {
        spawn: spawn(call, std::slice::from_ref(&name), config, &confinement),
        form: InputForm::Json,
        schema,
        files: files.clone(),
    };
    let runner = ProgramRunner::new(candidate, call, config, confinement);
    let tool = Tool::new(name, description, input_schema, candidate.source.clone());
    Ok((Arc::new(tool), Arc::new(runner)))
}

/// Prepares a process of one of the commands. A program with a slash is a path in the project.
fn spawn(program: &str, arguments: &[String], config: &Config, confinement: &Confinement) -> Spawn {
    let program = if program.contains('/') {
        paths::resolve(&config.cwd, Path::new(program))
    } else {
        program.into()
    };
    confinement.confined(Spawn {
        cwd: Some(config.cwd.clone()),
        leftovers: Leftovers::Kill,
        ..Spawn::new(program, arguments)
    })
}
