//! Collects the findings of the providers: claims keys, drops duplicates, records a verdict for
//! each.
//!
//! Keys and paths are two different claims. A file whose key is taken is shadowed; a path that was
//! already found is a duplicate. Paths that are named one by one (manifests, the command line)
//! compete by path only, so a shadowed file can still be loaded by its path.

use std::collections::{HashMap, HashSet};
use std::fs::{self, DirEntry};
use std::io;
use std::path::{Path, PathBuf};

use super::shadowed::ShadowedFiles;
use super::{Candidate, LookedAt, Provider, Scan, Verdict};
use haft_config::{Config, paths};
use haft_tool::{Level, Problem, Source};

/// Limit of the elements of a list in a settings file or a manifest.
const MAX_LIST: usize = 1000;

/// Limit of the entries of a folder with tools.
const MAX_ENTRIES: usize = 20_000;

pub(super) struct Collector<'a> {
    config: &'a Config,
    provider: &'static Provider,
    /// `tool:<key>` → the setting that switches it off.
    off: HashMap<String, String>,
    off_paths: HashSet<PathBuf>,
    keys: HashMap<String, usize>,
    seen: HashMap<(PathBuf, Option<String>), usize>,
    shadows: Vec<Shadow>,
    scan: Scan,
}

/// A shadowed file, reported at the end, because a later manifest may still name it.
struct Shadow {
    looked_at: usize,
    spare: ShadowedFiles,
}

impl<'a> Collector<'a> {
    /// Creates an empty collection, whose findings are those of `provider`.
    pub(super) fn new(config: &'a Config, provider: &'static Provider) -> Self {
        Collector {
            config,
            provider,
            off: HashMap::new(),
            off_paths: HashSet::new(),
            keys: HashMap::new(),
            seen: HashMap::new(),
            shadows: Vec::new(),
            scan: Scan::default(),
        }
    }

    /// Sets the provider of all following findings.
    pub(super) fn set_provider(&mut self, provider: &'static Provider) {
        self.provider = provider;
    }

    /// Switches off the files of this extension id (`tool:<key>`).
    pub(super) fn disable(&mut self, id: String, by: String) {
        self.off.entry(id).or_insert(by);
    }

    pub(super) fn problem(&mut self, problem: Problem) {
        self.scan.problems.push(problem);
    }

    /// Returns the first [`MAX_LIST`] elements of the list `name` in the file at `path`. Reports a
    /// problem if there are more.
    pub(super) fn bounded<T>(&mut self, mut list: Vec<T>, name: &str, path: &Path) -> Vec<T> {
        if list.len() > MAX_LIST {
            let message = format!(
                "`{name}` has {} elements, and only the first {MAX_LIST} count",
                list.len()
            );
            let problem = Problem::warning(message).at(path);
            self.problem(problem.hint("shorten the list"));
            list.truncate(MAX_LIST);
        }
        list
    }

    /// Returns the entries of `folder`; `None` if it cannot be listed. More than [`MAX_ENTRIES`]
    /// entries are a problem, and `None` too.
    pub(super) fn entries(&mut self, folder: &Path) -> Option<Vec<DirEntry>> {
        self.lists(folder);
        let entries = fs::read_dir(folder).and_then(|entries| {
            let entries = entries.take(MAX_ENTRIES + 1);
            entries.collect::<io::Result<Vec<_>>>()
        });
        match entries {
            Ok(entries) if entries.len() > MAX_ENTRIES => {
                let message = format!(
                    "the folder has more than {MAX_ENTRIES} entries, so none of them counts"
                );
                self.ignored(folder, message.clone());
                let hint = "move what is not a tool to another folder";
                self.problem(Problem::warning(message).at(folder).hint(hint));
                None
            }
            Ok(entries) => Some(entries),
            Err(error) => {
                refuse(folder, &error, self);
                None
            }
        }
    }

    /// Records that the entries of `folder` decide the result.
    pub(super) fn lists(&mut self, folder: &Path) {
        self.scan.places.folders.insert(folder.to_owned());
    }

    /// Records that the file or folder at `path` decides the result.
    pub(super) fn reads(&mut self, path: impl Into<PathBuf>) {
        self.scan.places.files.insert(path.into());
    }

    pub(super) fn note(&mut self, path: impl Into<PathBuf>, verdict: Verdict) {
        let path = path.into();
        self.reads(&path);
        self.scan.looked_at.push(LookedAt {
            path,
            provider: self.provider.id.to_owned(),
            verdict,
        });
    }

    pub(super) fn ignored(&mut self, path: impl Into<PathBuf>, reason: impl Into<String>) {
        self.note(
            path,
            Verdict::Ignored {
                reason: reason.into(),
            },
        );
    }

    /// Records that a plugin of the project replaced one of the user's.
    pub(super) fn replaces(&mut self) {
        self.scan.has_replaced = true;
    }

    /// Handles a path that is found again, at `level`. If the user brings the file as well, it is
    /// the user's: a project cannot take a file away from its user by naming it first.
    fn found_again(&mut self, first: usize, level: Level) {
        let (id, name) = (self.provider.id, self.provider.name);
        let candidate = &mut self.scan.candidates[first];
        if candidate.needs_trust() && level != Level::Project {
            candidate.source.level = level;
            candidate.source.provider = id.to_owned();
            candidate.source.provider_name = name.to_owned();
            candidate.named_by_project = false;
        }
    }

    /// Adds a file that was found in a folder: it competes by its key.
    pub(super) fn found(&mut self, path: PathBuf, key: &str, level: Level) {
        let resolved = paths::resolve(&self.config.cwd, &path);
        if let Some(by) = self.off.get(&format!("tool:{key}")) {
            let by = by.clone();
            self.off_paths.insert(resolved);
            return self.note(path, Verdict::Disabled { by });
        }
        let seen = (resolved, None);
        if let Some(&first) = self.seen.get(&seen) {
            self.found_again(first, level);
            let of = self.scan.candidates[first].path.clone();
            return self.note(path, Verdict::Duplicate { of });
        }
        if let Some(first) = self.keys.get(key) {
            let shadow = self.shadow(*first, path.clone(), seen, key, level);
            let by = self.scan.candidates[*first].path.clone();
            self.shadows.push(shadow);
            return self.note(path, Verdict::Shadowed { by });
        }
        self.keys.insert(key.to_owned(), self.scan.candidates.len());
        self.accept(path, seen, key.to_owned(), level);
    }

    /// Adds a file that a manifest names: it competes by its path only.
    pub(super) fn listed(&mut self, path: PathBuf, key: String, level: Level) {
        let resolved = paths::resolve(&self.config.cwd, &path);
        if self.off_paths.contains(&resolved) {
            return;
        }
        self.named(path, (resolved, None), key, level);
    }

    /// Does the same for a module whose address gets a query, unless the file is a candidate already.
    pub(super) fn listed_as(&mut self, query: &str, path: PathBuf, key: String, level: Level) {
        let plain = (paths::resolve(&self.config.cwd, &path), None);
        if self.off_paths.contains(&plain.0) {
            return;
        }
        let seen = if self.seen.contains_key(&plain) {
            plain
        } else {
            (plain.0, Some(query.to_owned()))
        };
        self.named(path, seen, key, level);
    }

    /// Adds an executable that describes itself: it competes by its path, since its file's name
    /// says nothing about its tools.
    pub(super) fn executable(&mut self, path: PathBuf, key: String, level: Level) {
        if let Some(by) = self.off.get(&format!("tool:{key}")) {
            let by = by.clone();
            return self.note(path, Verdict::Disabled { by });
        }
        let resolved = paths::resolve(&self.config.cwd, &path);
        self.named(path, (resolved, None), key, level);
    }

    /// Adds a path that the project's own configuration names.
    pub(super) fn named_by_project(
        &mut self,
        path: PathBuf,
        seen: (PathBuf, Option<String>),
        key: String,
    ) {
        let known = self.scan.candidates.len();
        self.named(path, seen, key, Level::Project);
        if let Some(added) = self.scan.candidates.get_mut(known) {
            added.named_by_project = true;
        }
    }

    /// Adds a path that is given by name.
    pub(super) fn named(
        &mut self,
        path: PathBuf,
        seen: (PathBuf, Option<String>),
        key: String,
        level: Level,
    ) {
        match self.seen.get(&seen) {
            Some(&first) => {
                self.found_again(first, level);
                let of = self.scan.candidates[first].path.clone();
                self.note(path, Verdict::Duplicate { of });
            }
            None => self.accept(path, seen, key, level),
        }
    }

    fn accept(
        &mut self,
        path: PathBuf,
        seen: (PathBuf, Option<String>),
        key: String,
        level: Level,
    ) {
        self.note(path.clone(), Verdict::Candidate);
        let candidate = self.candidate(path, seen.clone(), key, level);
        self.scan.candidates.push(candidate);
        self.seen.insert(seen, self.scan.candidates.len() - 1);
    }

    fn candidate(
        &self,
        path: PathBuf,
        (resolved, query): (PathBuf, Option<String>),
        key: String,
        level: Level,
    ) -> Candidate {
        let family = self.provider.family_of(&resolved);
        Candidate {
            resolved,
            query,
            key,
            source: Source {
                family,
                provider: self.provider.id.to_owned(),
                provider_name: self.provider.name.to_owned(),
                level,
                path: path.clone(),
                plugin: None,
            },
            path,
            named_by_project: false,
            verified: None,
        }
    }

    fn shadow(
        &self,
        first: usize,
        path: PathBuf,
        seen: (PathBuf, Option<String>),
        key: &str,
        level: Level,
    ) -> Shadow {
        let by = &self.scan.candidates[first];
        let message = format!(
            "{} is not loaded: {} comes first with the same file key `{key}`",
            path.display(),
            by.path.display(),
        );
        // oh-my-pi is customised by a project's file that replaces the user's, or the other way
        // round. Any other conflict is most likely an accident.
        let is_override = by.source.provider == self.provider.id && by.source.level != level;
        let problem = if is_override {
            Problem::info(message)
        } else {
            Problem::warning(message)
        };
        let hint = format!(
            "rename one of the two files, or load this one as well with --tool {}",
            paths::quoted(&path)
        );
        Shadow {
            looked_at: self.scan.looked_at.len(),
            spare: ShadowedFiles {
                problem: problem.at(&path).hint(hint),
                of: by.path.clone(),
                candidate: self.candidate(path, seen, key.to_owned(), level),
            },
        }
    }

    pub(super) fn finish(mut self) -> Scan {
        let mut superseded = HashSet::new();
        for shadow in self.shadows {
            let resolved = shadow.spare.candidate.resolved.clone();
            if self.seen.contains_key(&(resolved, None)) {
                superseded.insert(shadow.looked_at);
            } else {
                self.scan.problems.push(shadow.spare.problem.clone());
                self.scan.spares.push(shadow.spare);
            }
        }
        if !superseded.is_empty() {
            let mut index = 0;
            self.scan.looked_at.retain(|_| {
                index += 1;
                !superseded.contains(&(index - 1))
            });
        }
        self.scan
    }
}

/// Reports a folder that cannot be read. One that does not exist is only noted.
pub(super) fn refuse(folder: &Path, error: &io::Error, collector: &mut Collector<'_>) {
    if error.kind() == io::ErrorKind::NotFound {
        return collector.note(folder, Verdict::Missing);
    }
    let (message, hint) = match error.kind() {
        io::ErrorKind::NotADirectory => (
            "not a folder".to_owned(),
            "tools belong into a folder of this name; move the file away",
        ),
        _ => {
            let message = format!("the folder cannot be read: {}", paths::plain(error));
            (
                message,
                "make it readable for this user; its tools are missing until then",
            )
        }
    };
    collector.ignored(folder, message.clone());
    collector.problem(Problem::warning(message).at(folder).hint(hint));
}
