//! Finds test files and the module that each of them tests.

use std::path::{Path, PathBuf};

use super::definition;
use haft_tool::Problem;

/// Middle part of the name of a test file, before its extension.
const SUFFIX: &str = ".tool-test.";

/// Extensions of test files that are scripts. The other test files are JSON.
const SCRIPTS: &[&str] = &["ts", "js", "mts", "mjs"];

/// Extensions of a module beside a test, the most likely first.
const MODULES: &[&str] = &["ts", "js", "mjs", "cjs", "mts", "cts", "tsx", "yaml"];

/// Folders that are not searched: dependencies, build output and recordings.
const SKIPPED: &[&str] = &["node_modules", "target", "__cassettes__"];

/// Hidden folders that are searched, since they hold tools.
const DOTTED: &[&str] = &[".omp", ".claude", ".codex", ".cycod", ".kodelet"];

/// A file with tests.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TestFile {
    pub(crate) path: PathBuf,
    /// True if the file is a module, which must run to export its tests.
    pub(crate) is_script: bool,
    /// True if the user named the file or its module.
    pub(crate) is_named: bool,
}

impl TestFile {
    /// Returns the file if its name is that of a test file.
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

    /// Returns the files that its tests would load, as far as they are known without running it.
    pub(crate) fn loads(&self) -> Vec<PathBuf> {
        let text = if self.is_script {
            None
        } else {
            std::fs::read_to_string(&self.path).ok()
        };
        let definition = text.and_then(|text| definition::read(&text, false).ok());
        if definition
            .as_ref()
            .is_some_and(|definition| definition.server.is_some())
        {
            return vec![self.path.clone()];
        }
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

/// Returns the test files that `asked` names: files themselves, folders with all below them,
/// modules with the tests beside them. An empty `asked` means everything below `cwd`. Reads folders
/// but opens no file.
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
    // A folder that cannot be read is treated as empty.
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        // Links are not followed, since they may form a cycle.
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

/// Returns the name of the file with tests in JSON of the module `stem`.
pub(super) fn json_name(stem: &str) -> String {
    format!("{stem}{SUFFIX}json")
}

/// Returns true if the name of `path` is that of a file with tests in JSON.
pub(super) fn is_json_test(path: &Path) -> bool {
    TestFile::of(path).is_some_and(|file| !file.is_script)
}

/// Returns the module that the tests in `file` are about: the named one, or the one with the same
/// stem.
pub(super) fn module_of(file: &Path, named: Option<&str>) -> Result<PathBuf, String> {
    let folder = file.parent().unwrap_or(Path::new("/"));
    if let Some(named) = named {
        let module = folder.join(named);
        return if module.exists() {
            Ok(module)
        } else {
            Err(format!("`module`: there is no {}", module.display()))
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
