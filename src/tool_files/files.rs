//! Tool files in the folders of the three scopes, and the checks of a file against all others: those
//! that it uses, and the base of an alias.

use std::collections::{BTreeSet, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::tool_file::{Merged, ToolFile};
use crate::family::shell::definition::{Scope, Work};
use crate::family::shell::edit::{Opened, open_file, renamed};
use crate::family::shell::resolve::{LoadedFile, ResolvedTool, ToolSet};
use crate::family::shell::{input_schema, json_schema};
use haft_config::{Config, paths};
use haft_process::atomic_file::{Overwrite, write};
use haft_tool::{Error, ErrorKind, Problem};

/// Store of YAML tool files, with a folder for each scope.
pub(crate) struct ToolFileStore {
    cwd: PathBuf,
    folders: [(Scope, PathBuf); 3],
}

/// Error: a tool of that name does not exist.
pub(crate) struct Missing {
    pub(crate) name: String,
    /// `None` if all scopes were searched.
    pub(crate) scope: Option<Scope>,
}

impl ToolFileStore {
    pub(crate) fn new(config: &Config) -> ToolFileStore {
        ToolFileStore {
            cwd: config.cwd.clone(),
            folders: [
                (Scope::Local, config.cwd.join(".cycod/tools")),
                (Scope::User, config.roots.cycod_user.clone()),
                (Scope::Global, config.roots.cycod_global.clone()),
            ],
        }
    }

    /// Returns the folder of a scope, which may not exist yet.
    pub(crate) fn folder(&self, scope: Scope) -> &Path {
        let [local, user, global] = &self.folders;
        match scope {
            Scope::Local => &local.1,
            Scope::User => &user.1,
            Scope::Global => &global.1,
        }
    }

    /// Returns every file of a scope, or of all scopes, in the order in which they claim names.
    pub(crate) fn files(&self, scope: Option<Scope>) -> Vec<ToolFile> {
        let mut files = Vec::new();
        let mut names = HashSet::new();
        for (index, (own, folder)) in self.folders.iter().enumerate() {
            // In the home directory the project's folder is the user's own.
            let is_again = self.folders[index + 1..].iter().any(|(_, it)| it == folder);
            if is_again && scope != Some(*own) {
                continue;
            }
            for path in yaml_files(folder) {
                let opened = open_file(&path);
                let is_shadowed = opened.definition.is_some() && !names.insert(opened.name.clone());
                if scope.is_none_or(|scope| scope == *own) {
                    files.push(ToolFile {
                        scope: *own,
                        path,
                        opened,
                        is_shadowed,
                    });
                }
            }
        }
        files
    }

    /// Returns the first tool of that name. A file that is too broken to have a name is found by
    /// its file name.
    pub(crate) fn find(&self, name: &str, scope: Option<Scope>) -> Result<ToolFile, Missing> {
        let mut files = self.files(scope);
        let is_named = |file: &ToolFile| file.name() == name;
        let is_tool = |file: &ToolFile| is_named(file) && file.opened.definition.is_some();
        let by_stem = |file: &ToolFile| {
            file.opened.definition.is_none()
                && file.path.file_stem().is_some_and(|stem| stem == name)
        };
        let found = files
            .iter()
            .position(is_tool)
            .or_else(|| files.iter().position(is_named))
            .or_else(|| files.iter().position(by_stem));
        match found {
            Some(index) => Ok(files.swap_remove(index)),
            None => Err(Missing {
                name: name.to_owned(),
                scope,
            }),
        }
    }

    /// Writes a tool's file and returns its path. `text` must be the definition of that tool, and
    /// `name` must be safe as a file name.
    ///
    /// # Errors
    /// If the file exists and may not be replaced, or if it cannot be written.
    pub(crate) fn write(
        &self,
        name: &str,
        text: &str,
        scope: Scope,
        overwrite: Overwrite,
    ) -> Result<PathBuf, Error> {
        let folder = self.folder(scope);
        self.prepare(folder, scope)?;
        let existing = self.files(Some(scope));
        let existing = existing.into_iter().find(|file| file.name() == name);
        let taken = || {
            let text = format!("there is a tool '{name}' in {} scope", scope.as_str());
            Error::new(ErrorKind::Load, text).with_hint("`--override` replaces it")
        };
        let path = match existing {
            Some(_) if overwrite == Overwrite::No => return Err(taken()),
            Some(file) => file.path,
            None => folder.join(format!("{name}.yaml")),
        };
        // Without a `name` key the tool is named after its file. That name may be another one than
        // `name`.
        let is_same = path.file_stem().is_some_and(|stem| stem == name);
        let named = if is_same {
            None
        } else {
            renamed(&path, text, name)
        };
        match write(&path, named.as_deref().unwrap_or(text), overwrite) {
            Ok(()) => Ok(path),
            // Another process created the file meanwhile.
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(taken()),
            Err(error) => Err(refused("written", &path, &error)),
        }
    }

    /// Writes the schema of the format beside the folder of a scope, where the first line of a
    /// template points to. Editors use it for completion and checks.
    pub(crate) fn lay_schema(&self, scope: Scope) -> Result<(), Error> {
        let folder = self.folder(scope);
        self.prepare(folder, scope)?;
        let path = folder.with_file_name("tool.schema.json");
        let schema = format!("{:#}\n", json_schema());
        if fs::read_to_string(&path).is_ok_and(|old| old == schema) {
            return Ok(());
        }
        write(&path, &schema, Overwrite::Yes).map_err(|error| refused("written", &path, &error))
    }

    /// Replaces the text of an existing file.
    pub(crate) fn rewrite(&self, file: &ToolFile, text: &str) -> Result<(), Error> {
        self.prepare(self.folder(file.scope), file.scope)?;
        write(&file.path, text, Overwrite::Yes)
            .map_err(|error| refused("written", &file.path, &error))
    }

    /// Removes an existing file. For a link, only the link is removed.
    pub(crate) fn remove(&self, file: &ToolFile) -> Result<(), Error> {
        self.prepare(self.folder(file.scope), file.scope)?;
        fs::remove_file(&file.path).map_err(|error| refused("removed", &file.path, &error))
    }

    /// Creates the folder. The folder of a project must be inside the project. Otherwise a
    /// committed link would decide which folder haft writes to.
    fn prepare(&self, folder: &Path, scope: Scope) -> Result<(), Error> {
        fs::create_dir_all(folder).map_err(|error| refused("made", folder, &error))?;
        if scope != Scope::Local {
            return Ok(());
        }
        let real = |path: &Path| {
            fs::canonicalize(path).map_err(|error| refused("looked at", path, &error))
        };
        if real(folder)?.starts_with(real(&self.cwd)?) {
            return Ok(());
        }
        let text = format!("{} is a link that leaves the project", folder.display());
        Err(Error::new(ErrorKind::Load, text)
            .with_hint("replace it by a folder, or use `--scope user`"))
    }
}

fn refused(done: &str, path: &Path, error: &io::Error) -> Error {
    let text = format!(
        "{} cannot be {done}: {}",
        path.display(),
        paths::plain(error)
    );
    Error::new(ErrorKind::Load, text)
}

impl From<Missing> for Error {
    fn from(missing: Missing) -> Error {
        let name = &missing.name;
        let text = match missing.scope {
            None => format!("Tool '{name}' not found"),
            Some(scope) => format!("Tool '{name}' not found in {} scope", scope.as_str()),
        };
        Error::new(ErrorKind::Load, text).with_hint("`haft tool list` shows every YAML shell tool")
    }
}

/// Returns the YAML files by name, in the order of loading.
fn yaml_files(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let names: BTreeSet<_> = entries.flatten().map(|entry| entry.file_name()).collect();
    names
        .into_iter()
        .map(|name| folder.join(name))
        .filter(|path| path.extension().is_some_and(|it| it == "yaml") && path.is_file())
        .collect()
}

impl ToolFileStore {
    /// Resolves a tool together with all others. Returns the resolved tool if that succeeds, and
    /// the tool's problems. The tool counts as the first of its name in any scope.
    pub(crate) fn beside_others(
        &self,
        path: &Path,
        scope: Scope,
        opened: &Opened,
    ) -> (Option<Arc<ResolvedTool>>, Vec<Problem>) {
        let Some(definition) = &opened.definition else {
            return (None, Vec::new());
        };
        let mut brought = vec![LoadedFile {
            definition: definition.clone(),
            path: path.to_owned(),
            scope,
        }];
        for file in self.files(None) {
            let is_other = file.path != path && file.opened.name != definition.name;
            if let Some(definition) = file.opened.definition.filter(|_| is_other) {
                brought.push(LoadedFile {
                    definition,
                    path: file.path,
                    scope: file.scope,
                });
            }
        }
        let (shelf, problems) = ToolSet::fill(&brought);
        let own = problems.into_iter().next().unwrap_or_default();
        (shelf.get(&definition.name).cloned(), own)
    }

    /// Returns an alias merged with its base; `None` for every other file.
    pub(crate) fn merged(&self, file: &ToolFile) -> Option<Merged> {
        let definition = file.opened.definition.as_ref()?;
        if !matches!(definition.work, Work::Alias(_)) {
            return None;
        }
        self.beside_others(&file.path, file.scope, &file.opened)
            .0
            .map(Merged)
    }

    /// Returns the JSON Schema that a model sees; `None` if the file is not a valid tool.
    pub(crate) fn schema(&self, file: &ToolFile) -> Option<String> {
        let (shelved, _) = self.beside_others(&file.path, file.scope, &file.opened);
        Some(input_schema(&shelved?.definition).to_string())
    }

    /// Returns all problems of a file, sorted by position.
    pub(crate) fn problems(&self, file: &ToolFile) -> Vec<Problem> {
        let mut problems = file.opened.problems.clone();
        let (_, more) = self.beside_others(&file.path, file.scope, &file.opened);
        problems.extend(more);
        problems.sort_by_key(|problem| (problem.line, problem.column));
        problems
    }

    /// Reads the file again and returns its current state.
    pub(crate) fn again(&self, file: ToolFile) -> ToolFile {
        let opened = open_file(&file.path);
        ToolFile { opened, ..file }
    }
}
