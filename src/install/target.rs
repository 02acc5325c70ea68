//! Selects module tools: by name, by file, by folder, or all of them.

use std::path::{Path, PathBuf};

use haft_config::{Config, paths};
use haft_discover::Candidate;
use haft_tool::{Error, ErrorKind};
use haft_tool::{Family, did_you_mean};

/// Id of the provider of paths that are given by name.
const GIVEN: &str = "config";

/// A module tool, or a folder that only has a manifest.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its name in listings.
    pub(super) name: String,
    /// The module, or the folder if it has no module.
    pub(super) entry: PathBuf,
    /// The tool's own folder, in which its packages are installed.
    pub(super) folder: PathBuf,
    /// The folder of several tools that contains the tool's own folder.
    pub(super) shared: Option<PathBuf>,
    /// Set if the tool belongs to a project, so that it runs only if the user trusts the project.
    pub(super) needs_trust: bool,
}

/// Returns the tools that `words` mean; without words every module tool.
pub(super) fn find(config: &Config, words: &[String]) -> Result<Vec<Target>, Error> {
    let mut known = haft_discover::scan_as(config, config.trust_project).candidates;
    let others: Vec<String> = known
        .iter()
        .filter(|one| one.source.family != Family::Js)
        .map(Candidate::likely_name)
        .collect();
    known.retain(|candidate| candidate.source.family == Family::Js);
    if words.is_empty() {
        return Ok(known.iter().map(Target::of).collect());
    }
    let mut found: Vec<Target> = Vec::new();
    for word in words {
        let more = match by_name(&known, word) {
            named if !named.is_empty() => named,
            _ => match by_path(config, &known, word)? {
                Some(targets) => targets,
                None => return Err(unknown(word, &known, &others)),
            },
        };
        for target in more {
            if !found.iter().any(|one| one.entry == target.entry) {
                found.push(target);
            }
        }
    }
    Ok(found)
}

impl Target {
    fn of(candidate: &Candidate) -> Target {
        let entry = candidate.resolved.clone();
        let parent = entry.parent().unwrap_or(Path::new("/")).to_owned();
        let is_folder = entry.is_dir();
        let is_index = entry.file_stem().is_some_and(|stem| stem == "index");
        let shared = (is_index && candidate.source.provider != GIVEN)
            .then(|| parent.parent().map(Path::to_owned))
            .flatten();
        Target {
            name: if candidate.source.provider == GIVEN {
                paths::quoted(&candidate.path)
            } else {
                candidate.key.clone()
            },
            folder: if is_folder { entry.clone() } else { parent },
            shared,
            needs_trust: candidate.needs_trust(),
            entry,
        }
    }
}

fn by_name(known: &[Candidate], word: &str) -> Vec<Target> {
    let named = known.iter().filter(|candidate| candidate.key == word);
    named.map(Target::of).collect()
}

/// Returns the tools at a path; `None` if the path does not exist and the word has no `/`.
fn by_path(config: &Config, known: &[Candidate], word: &str) -> Result<Option<Vec<Target>>, Error> {
    let Some(given) = haft_discover::given(config, &[word.to_owned()])
        .candidates
        .pop()
    else {
        return Ok(None);
    };
    let path = &given.resolved;
    if !path.exists() {
        return if word.contains('/') {
            Err(nothing_at(path))
        } else {
            Ok(None)
        };
    }
    if given.source.family != Family::Js {
        let text = format!("`{word}` is not a module, so it imports no packages");
        return Err(Error::new(ErrorKind::Usage, text));
    }
    if !path.is_dir() {
        let is_same = |candidate: &&Candidate| candidate.resolved == *path;
        let found = known.iter().find(is_same).unwrap_or(&given);
        return Ok(Some(vec![Target::of(found)]));
    }
    let below = known.iter().filter(|one| one.resolved.starts_with(path));
    let below: Vec<Target> = below.map(Target::of).collect();
    let is_package = is_module(path) || path.join(super::manifest::FILE).is_file();
    match (below.is_empty(), is_package) {
        (false, _) => Ok(Some(below)),
        (true, true) => Ok(Some(vec![Target::of(&given)])),
        (true, false) => {
            let text = format!("there is no tool in `{}`", path.display());
            let hint = "name a tool, its file, or a folder with an index.ts or a package.json";
            Err(Error::new(ErrorKind::Usage, text).with_hint(hint))
        }
    }
}

/// Returns true for a folder that can be imported.
fn is_module(folder: &Path) -> bool {
    !haft_engine::graph::untrusted_module_graph(folder)
        .files
        .is_empty()
}

fn nothing_at(path: &Path) -> Error {
    let text = format!("there is nothing at `{}`", path.display());
    let hint = "check the path; relative paths start at the working directory";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

fn unknown(word: &str, known: &[Candidate], others: &[String]) -> Error {
    if others.iter().any(|name| name == word) {
        let text = format!("`{word}` is not a module, so it imports no packages");
        return Error::new(ErrorKind::Usage, text);
    }
    let keys = known.iter().map(|candidate| candidate.key.as_str());
    let otherwise =
        "name a tool, not a package: `haft install` adds the packages that the tool imports";
    let hint = did_you_mean(word, keys, otherwise);
    Error::new(ErrorKind::NoSuchTool, format!("there is no tool `{word}`")).with_hint(hint)
}
