//! Loading of the files: reads each one, resolves their names together, returns the result of each
//! candidate.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::Arc;

use super::definition::Scope;
use super::offer::{self, Unavailable};
use super::read::read;
use super::resolve::{LoadedFile, ToolSet, winners};
use super::run;
use super::version::{self, Wanted};
use crate::family::rights::Confinement;
use crate::family::{LoadContext, Loaded};
use haft_config::{Config, paths};
use haft_discover::Candidate;
use haft_tool::Problem;

/// Limit of a file in bytes: a thousand times a long tool.
const MAX_FILE_BYTES: u64 = 4 << 20;

/// Loads all candidates; names are claimed in their order.
pub(crate) async fn load_all(means: &LoadContext<'_>, candidates: &[&Candidate]) -> Vec<Loaded> {
    let mut all: Vec<Loaded> = candidates.iter().map(|_| Loaded::default()).collect();
    let mut brought = Vec::new();
    let mut places = Vec::new();
    for (index, candidate) in candidates.iter().enumerate() {
        // Reading takes well under a millisecond; other tasks of this thread run in between.
        tokio::task::yield_now().await;
        let (definition, problems) = read_file(candidate);
        all[index].problems = problems;
        if let Some(definition) = definition {
            brought.push(LoadedFile {
                definition,
                path: candidate.path.clone(),
                scope: scope_of(candidate, means.config),
            });
            places.push(index);
        }
    }
    let (tool_set, problems) = ToolSet::fill(&brought);
    let tool_set = Arc::new(tool_set);
    let winners = winners(&brought);
    let confine = |(brought, place): (&LoadedFile, &usize)| {
        let name = &brought.definition.name;
        means.sandboxes.of(means.config, candidates[*place], name)
    };
    let confined: Vec<_> = brought.iter().zip(&places).map(confine).collect();
    let named = brought.iter().zip(&confined).enumerate();
    let named = named.filter(|(nth, _)| winners[*nth]);
    let confinements = named.filter_map(|(_, (brought, confinement))| {
        let name = brought.definition.name.clone();
        Some((name, confinement.as_ref().ok()?.clone()))
    });
    let confinements: Arc<BTreeMap<String, Confinement>> = Arc::new(confinements.collect());
    for (nth, (brought, problems)) in brought.iter().zip(problems).enumerate() {
        let loaded = &mut all[places[nth]];
        loaded.problems.extend(problems);
        let shelved = winners[nth].then(|| tool_set.get(&brought.definition.name));
        let Some(shelved) = shelved.flatten() else {
            continue;
        };
        let confinement = match &confined[nth] {
            Ok(confinement) => confinement.clone(),
            Err(problem) => {
                loaded.problems.push((**problem).clone());
                continue;
            }
        };
        loaded.problems.extend(version_problem(brought));
        let source = candidates[places[nth]].source.clone();
        let level = candidates[places[nth]].bounds_level();
        let unavailable = Unavailable::of(&shelved.definition);
        let tool = offer::tool(shelved, source, unavailable.as_ref());
        let runner = match unavailable {
            Some(unavailable) => Arc::new(unavailable),
            None => {
                let host_env = run::host_env(means, level, confinement, Arc::clone(&confinements));
                run::runner(shelved.clone(), tool_set.clone(), host_env)
            }
        };
        loaded.tools.push((Arc::new(tool), runner));
    }
    all
}

/// Returns the problem of a tool that needs a newer version, or whose version is invalid. A tool
/// for another platform is left out without a problem.
fn version_problem(brought: &LoadedFile) -> Option<Problem> {
    let wanted = brought.definition.min_host_version.as_deref()?;
    let problem = match version::wanted(wanted) {
        Wanted::Met => return None,
        Wanted::Newer => {
            let unavailable = Unavailable::of(&brought.definition)?;
            Problem::warning(unavailable.message).hint(unavailable.hint)
        }
        Wanted::Garbage => {
            Problem::warning(format!("`min-cycod-version` is not a version: {wanted}"))
                .hint("write three numbers, for example `1.2.0`")
        }
    };
    Some(problem.at(&brought.path).about(&brought.definition.name))
}

/// Returns the level that the tool belongs to. A tool that was named by its path is local: it comes
/// before all others.
fn scope_of(candidate: &Candidate, config: &Config) -> Scope {
    let roots = &config.roots;
    let folder = candidate.resolved.parent();
    if folder == Some(&roots.cycod_global) {
        Scope::Global
    } else if folder == Some(&roots.cycod_user) {
        Scope::User
    } else {
        Scope::Local
    }
}

fn read_file(candidate: &Candidate) -> (Option<super::definition::Definition>, Vec<Problem>) {
    let text = match text_at(&candidate.path, &candidate.resolved) {
        Ok(text) => text,
        Err(problem) => return (None, vec![*problem]),
    };
    if let Err(problem) = candidate.verify(text.as_bytes()) {
        return (None, vec![*problem]);
    }
    let read = read(&candidate.path, &text);
    let mut problems = read.problems;
    if let Some(definition) = &read.definition {
        for problem in &mut problems {
            problem.tool_name = Some(definition.name.clone());
        }
    }
    (read.definition, problems)
}

/// Returns the text of the file at `resolved`; problems refer to `path`.
pub(super) fn text_at(path: &Path, resolved: &Path) -> Result<String, Box<Problem>> {
    let refused =
        |message: String, hint: &str| Box::new(Problem::error(message).at(path).hint(hint));
    text_of(resolved).map_err(|unreadable| match unreadable {
        Unreadable::Io(error) => refused(
            format!("the file cannot be read: {}", paths::plain(&error)),
            "make it readable for this user, or remove it",
        ),
        Unreadable::NoFile => refused("not a regular file".to_owned(), "a tool is a text file"),
        Unreadable::TooLarge => refused(
            format!("the file is larger than {} MB", MAX_FILE_BYTES >> 20),
            "a tool's file is short; is this one of another kind?",
        ),
        Unreadable::NoText { line } => Box::new(
            refused("the file is not valid UTF-8".to_owned(), "save it as UTF-8").place(line, 1),
        ),
    })
}

/// Reason why a file has no text.
enum Unreadable {
    Io(io::Error),
    NoFile,
    TooLarge,
    NoText { line: u32 },
}

fn text_of(path: &Path) -> Result<String, Unreadable> {
    // A named pipe must not be opened, because that waits for its writer.
    let found = path.metadata().map_err(Unreadable::Io)?;
    if !found.is_file() {
        return Err(Unreadable::NoFile);
    }
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(Unreadable::Io)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Unreadable::TooLarge);
    }
    String::from_utf8(bytes).map_err(|error| {
        let before = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let breaks = before.iter().filter(|byte| **byte == b'\n').count();
        Unreadable::NoText {
            line: u32::try_from(breaks + 1).unwrap_or(u32::MAX),
        }
    })
}
