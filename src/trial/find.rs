//! Which files hold tests, and which module each is about.

use std::path::{Path, PathBuf};

use super::definition;
use crate::tool::Problem;

/// What the name of a test file ends with.
const SUFFIX: &str = ".tool-test.";

/// Languages in which tests can be written, besides JSON.
const SCRIPTS: &[&str] = &["ts", "js", "mts", "mjs"];

/// What the module beside a test may end with, the most likely first.
const MODULES: &[&str] = &["ts", "js", "mjs", "cjs", "mts", "cts", "tsx", "yaml"];

/// Folders that hold other people's files.
const SKIPPED: &[&str] = &["node_modules", "target", "__cassettes__"];

/// Folders whose names start with a dot and hold tools all the same.
const DOTTED: &[&str] = &[".omp", ".claude", ".codex", ".cycod", ".kodelet"];

/// A file with tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestFile {
    pub(crate) path: PathBuf,
    /// It is a module, to be run to learn what it says.
    pub(crate) is_script: bool,
    /// The user named it, or the module that it is about.
    pub(crate) is_named: bool,
}

impl TestFile {
    /// The file, if its name says that it holds tests.
    fn of(path: &Path) -> Option<TestFile> {
        let name = path.file_name()?.to_str()?;
        let (stem, extension) = name.split_once(SUFFIX)?;
        let is_script = SCRIPTS.contains(&extension);
        let is_test = !stem.is_empty() && (is_script || extension == "json");
        is_test.then(|| TestFile {
            path: path.to_owned(),
            is_script,
            is_named: false,
        })
    }

    /// The files that running its tests would load, as far as that can be told without running it.
    pub(crate) fn loads(&self) -> Vec<PathBuf> {
        let text = match self.is_script {
            true => None,
            false => std::fs::read_to_string(&self.path).ok(),
        };
        let definition = text.and_then(|text| definition::read(&text, false).ok());
        let named = definition.and_then(|definition| definition.module);
        let module = module_of(&self.path, named.as_deref()).ok();
        [Some(self.path.clone()), module]
            .into_iter()
            .flatten()
            .collect()
    }

    fn named(self) -> TestFile {
        TestFile {
            is_named: true,
            ..self
        }
    }
}

/// The test files that `asked` names: files themselves, folders with all below them, modules with the
/// tests beside them. Nothing asked is all below `cwd`. Reads folders; opens nothing.
pub(crate) fn find(asked: &[PathBuf], cwd: &Path) -> Result<Vec<TestFile>, Problem> {
    let everything = [cwd.to_owned()];
    let asked = if asked.is_empty() {
        &everything[..]
    } else {
        asked
    };
    let mut found = Vec::new();
    for path in asked {
        let path = cwd.join(path);
        let problem = |text: &str| Problem::error(text).at(&path);
        let about = std::fs::metadata(&path).map_err(|error| problem(&error.to_string()))?;
        if about.is_dir() {
            walk(&path, &mut found);
        } else if let Some(file) = TestFile::of(&path) {
            found.push(file.named());
        } else {
            let beside = beside(&path);
            if beside.is_empty() {
                let name = path.file_stem().unwrap_or_default().to_string_lossy();
                return Err(problem("there are no tests beside it").hint(format!(
                    "write {name}{SUFFIX}json or {name}{SUFFIX}ts: docs/testing.md"
                )));
            }
            found.extend(beside.into_iter().map(TestFile::named));
        }
    }
    found.sort();
    found.dedup_by(|later, first| {
        let is_same = later.path == first.path;
        first.is_named |= is_same && later.is_named;
        is_same
    });
    Ok(found)
}

fn walk(folder: &Path, found: &mut Vec<TestFile>) {
    // A folder that cannot be read holds nothing for us.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are not followed: they could lead around in a circle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if !is_folder {
            found.extend(TestFile::of(&path));
        } else if DOTTED.contains(&&*name) || !(name.starts_with('.') || SKIPPED.contains(&&*name))
        {
            walk(&path, found);
        }
    }
}

fn beside(module: &Path) -> Vec<TestFile> {
    let (Some(folder), Some(stem)) = (module.parent(), module.file_stem()) else {
        return Vec::new();
    };
    let extensions = SCRIPTS.iter().chain(&["json"]);
    let paths = extensions.map(|extension| {
        let name = format!("{}{SUFFIX}{extension}", stem.to_string_lossy());
        folder.join(name)
    });
    let existing = paths.filter(|path| path.is_file());
    existing.filter_map(|path| TestFile::of(&path)).collect()
}

/// The module that the tests in `file` are about: the one that it names, or the one of its name.
pub(super) fn module_of(file: &Path, named: Option<&str>) -> Result<PathBuf, String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if let Some(named) = named {
        let module = folder.join(named);
        return match module.exists() {
            true => Ok(module),
            false => Err(format!("`module`: there is no {}", module.display())),
        };
    }
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let stem = name.split_once(SUFFIX).map_or(&*name, |(stem, _)| stem);
    let candidates = MODULES.iter().map(|it| folder.join(format!("{stem}.{it}")));
    let same_name = candidates.chain([folder.join(stem)]);
    same_name
        .into_iter()
        .find(|path| path.exists())
        .ok_or_else(|| {
            format!("there is no module `{stem}.ts` beside it; `module` names another one")
        })
}
