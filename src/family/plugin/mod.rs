//! JSON plugin files: aynd's tools (spec aynd 1-60).
//!
//! A file declares tools, and three handlers run them: a command without a shell, an HTTP request,
//! a file of a folder. Loading a file executes nothing. Names are claimed in the order of the
//! files, so that the result is always the same.

mod args;
mod definition;
mod file;
mod file_read;
mod http;
mod json;
mod limits;
mod runner;
mod shell;
mod template;
mod text;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::{LoadContext, Loaded, read_within};
use definition::{Definition, Entry, Handler};
use file::PluginFile;
use haft_config::{Config, paths};
use haft_discover::Candidate;
use haft_tool::{Problem, Severity, Source, Tool};
use json::Fault;
use runner::PluginRunner;

/// Folders that relative paths start from.
struct Ground {
    project: PathBuf,
    home: PathBuf,
}

/// Outcome of a handler.
enum Ended {
    Succeeded(String),
    Failed(String),
    /// The call was cancelled or out of time.
    Stopped(String),
}

impl Ground {
    fn of(config: &Config) -> Ground {
        Ground {
            project: config.cwd.clone(),
            home: config.home.clone(),
        }
    }

    fn folder(&self, given: &str) -> PathBuf {
        read_within::folder(given, &self.project, &self.home)
    }
}

/// Loads files; `built_in` names belong to tools that are not from plugins.
pub(super) async fn load_all(
    means: &LoadContext<'_>,
    candidates: &[&Candidate],
    built_in: &[&str],
) -> Vec<Loaded> {
    let ground = Ground::of(means.config);
    let mut names = Names {
        built_in,
        taken: HashMap::new(),
    };
    let load = |candidate: &&Candidate| load(means, candidate, &ground, &mut names);
    candidates.iter().map(load).collect()
}

/// Returns the files of the project that the commands of a plugin file start. They belong to what the
/// user trusts.
pub(crate) fn named_files(config: &Config, candidate: &Candidate) -> Vec<PathBuf> {
    let text = paths::read_text(&candidate.resolved).ok().flatten();
    let file = text.and_then(|text| file::read(&text, &Ground::of(config)).ok());
    let entries = file.into_iter().flat_map(|file| file.entries);
    let definitions = entries.filter_map(|entry| entry.definition);
    let files = definitions.flat_map(|definition| match definition.handler {
        Handler::Shell(shell) => shell.named_files(&config.cwd),
        Handler::Http(_) | Handler::FileRead(_) => Vec::new(),
    });
    files.collect()
}

fn load(
    means: &LoadContext<'_>,
    candidate: &Candidate,
    ground: &Ground,
    names: &mut Names<'_>,
) -> Loaded {
    let mut loaded = Loaded::default();
    let path = &candidate.path;
    let text = match paths::read_text(&candidate.resolved) {
        Ok(Some(text)) => text,
        Ok(None) => return unreadable(path, "it does not exist"),
        Err(error) => return unreadable(path, &paths::plain(&error)),
    };
    // The text does not have the byte order mark that the file may have.
    let verified = candidate.verify(text.as_bytes());
    let verified = verified.or_else(|_| candidate.verify(format!("\u{feff}{text}").as_bytes()));
    if let Err(problem) = verified {
        loaded.problems.push(*problem);
        return loaded;
    }
    let file = match file::read(&text, ground) {
        Ok(file) => file,
        Err(faults) => {
            let problems = faults.into_iter().map(|fault| problem(fault, path, None));
            loaded.problems.extend(problems);
            return loaded;
        }
    };
    let PluginFile {
        name,
        entries,
        warnings,
    } = file;
    let warnings = warnings.into_iter().map(|fault| warning(fault, path, None));
    loaded.problems.extend(warnings);
    for entry in entries {
        take(means, entry, &name, candidate, names, &mut loaded);
    }
    loaded
}

fn take(
    means: &LoadContext<'_>,
    entry: Entry,
    plugin: &str,
    candidate: &Candidate,
    names: &mut Names<'_>,
    loaded: &mut Loaded,
) {
    let path = &candidate.path;
    let about = entry.name.as_deref();
    for fault in entry.faults {
        loaded.problems.push(problem(fault, path, about));
    }
    for fault in entry.warnings {
        loaded.problems.push(warning(fault, path, about));
    }
    let Some(definition) = entry.definition else {
        return;
    };
    match names.claim(&definition.name, path) {
        Ok(()) => {
            let confinement = means
                .sandboxes
                .of(means.config, candidate, &definition.name);
            let confinement = match confinement {
                Ok(confinement) => confinement,
                Err(problem) => return loaded.problems.push(*problem),
            };
            let source = Source {
                plugin: Some(plugin.to_owned()),
                ..candidate.source.clone()
            };
            let tool = tool(&definition, source);
            let runner = PluginRunner::new(definition, confinement);
            loaded.tools.push((Arc::new(tool), Arc::new(runner)));
        }
        Err((message, hint)) => {
            let fault = Fault {
                place: entry.name_place,
                message,
                hint: Some(hint),
            };
            loaded.problems.push(problem(fault, path, about));
        }
    }
}

fn tool(definition: &Definition, source: Source) -> Tool {
    Tool {
        approval: definition.handler.tier(),
        ..Tool::new(
            &definition.name,
            &definition.description,
            definition.input_schema.clone(),
            source,
        )
    }
}

/// Registry of the tools' names.
struct Names<'a> {
    built_in: &'a [&'a str],
    taken: HashMap<String, PathBuf>,
}

impl Names<'_> {
    /// Registers a name, or returns the conflict and a hint.
    fn claim(&mut self, name: &str, path: &Path) -> Result<(), (String, String)> {
        if self.built_in.contains(&name) {
            return Err((
                format!("Plugin tool \"{name}\" conflicts with built-in tool of the same name"),
                "give the plugin's tool another name".to_owned(),
            ));
        }
        if let Some(first) = self.taken.get(name) {
            return Err((
                format!("Duplicate plugin tool name: {name}"),
                format!("{} has the name; rename one of the two", first.display()),
            ));
        }
        self.taken.insert(name.to_owned(), path.to_owned());
        Ok(())
    }
}

fn problem(fault: Fault, path: &Path, tool: Option<&str>) -> Problem {
    let (line, column) = fault.place;
    Problem {
        tool_name: tool.map(str::to_owned),
        hint: fault.hint,
        ..Problem::error(fault.message).at(path).place(line, column)
    }
}

fn warning(fault: Fault, path: &Path, tool: Option<&str>) -> Problem {
    Problem {
        severity: Severity::Warning,
        ..problem(fault, path, tool)
    }
}

fn unreadable(path: &Path, why: &str) -> Loaded {
    let problem = Problem::error(format!("Failed to read file: {why}"))
        .at(path)
        .hint("make it a readable JSON file, or remove it");
    Loaded {
        tools: Vec::new(),
        problems: vec![problem],
        ..Loaded::default()
    }
}
