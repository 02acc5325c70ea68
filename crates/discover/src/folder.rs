//! Reads one tools folder: its modules, its sub-folders with an index, and the rest.
//!
//! One pass over the names uses the file types of the directory itself, so only links cost another
//! system call. Pipes and sockets are never opened. Sub-folders are read one level deep, so a loop
//! of links cannot be followed.

use std::ffi::OsString;
use std::fs::{self, FileType};
use std::io;
use std::path::{Path, PathBuf};

use super::collector::{Collector, refuse};
use super::gitignore::Rules;
use super::names;
use super::names::{INDEXES, Name, Rank, judge};
use haft_config::{Config, paths};
use haft_tool::{Level, Problem};

/// Sub-folder mode: sub-folders with an index module are tools, or not.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SubFolders {
    Count,
    /// They are not, and an index module in one is reported.
    DoNotCount,
    /// They are not looked at.
    AreIgnored,
}

/// Modules of a tools folder, in their order of precedence.
pub(super) struct Folder {
    level: Level,
    files: Vec<Module>,
    indexes: Vec<Module>,
}

struct Module {
    rank: Rank,
    name: String,
    path: PathBuf,
    key: String,
}

impl Folder {
    /// Reads `folder`; `None` if it is missing or cannot be read.
    pub(super) fn read(
        folder: &Path,
        level: Level,
        sub_folders: SubFolders,
        config: &Config,
        collector: &mut Collector<'_>,
    ) -> Option<Folder> {
        let entries = collector.entries(folder)?;
        let mut found = Folder {
            level,
            files: Vec::new(),
            indexes: Vec::new(),
        };
        let mut directories = Vec::new();
        for entry in entries {
            let name = entry.file_name();
            match entry.file_type() {
                Ok(kind) => found.sort_in(folder, name, kind, &mut directories, collector),
                Err(error) => {
                    refuse(folder, &error, collector);
                    break;
                }
            }
        }
        found
            .files
            .sort_by(|a, b| (a.rank, &a.name).cmp(&(b.rank, &b.name)));
        found.drop_hidden(folder, config, collector);
        directories.sort();
        if sub_folders == SubFolders::AreIgnored {
            return Some(found);
        }
        for name in directories {
            found.look_into(folder, name, sub_folders, collector);
        }
        Some(found)
    }

    /// Collects the modules that are directly in the folder.
    pub(super) fn take_files(&mut self, collector: &mut Collector<'_>) {
        for module in std::mem::take(&mut self.files) {
            collector.found(module.path, &module.key, self.level);
        }
    }

    /// Collects the modules that are directly in the folder. They compete by their paths only, because
    /// the names of their tools do not depend on the names of the files alone.
    pub(super) fn list_files(&mut self, collector: &mut Collector<'_>) {
        for module in std::mem::take(&mut self.files) {
            collector.listed(module.path, module.key, self.level);
        }
    }

    /// Collects the index modules of sub-folders.
    pub(super) fn take_indexes(&mut self, collector: &mut Collector<'_>) {
        for module in std::mem::take(&mut self.indexes) {
            collector.found(module.path, &module.key, self.level);
        }
    }

    fn sort_in(
        &mut self,
        folder: &Path,
        name: OsString,
        kind: FileType,
        directories: &mut Vec<String>,
        collector: &mut Collector<'_>,
    ) {
        let name = match name.into_string() {
            Ok(name) => name,
            Err(name) => return refuse_name(&folder.join(name), collector),
        };
        let judged = judge(&name);
        let path = folder.join(&name);
        let kind = if !kind.is_symlink() {
            kind
        } else {
            match fs::metadata(&path) {
                Ok(target) => target.file_type(),
                Err(error) => {
                    if judged != Name::Hidden {
                        dangling(
                            &path,
                            &error,
                            matches!(judged, Name::Module { .. }),
                            collector,
                        );
                    }
                    return;
                }
            }
        };
        if kind.is_dir() {
            if !name.starts_with('.') {
                directories.push(name);
            }
            return;
        }
        match judged {
            Name::Hidden => {}
            Name::Foreign(reason) => collector.ignored(path, reason),
            Name::Module { key, rank } if kind.is_file() => {
                let key = key.to_owned();
                self.files.push(Module {
                    rank,
                    name,
                    path,
                    key,
                });
            }
            Name::Module { .. } => collector.ignored(path, not_regular(kind)),
        }
    }

    /// Removes the files that ignore files hide. Ignore files never hide sub-folders here.
    fn drop_hidden(&mut self, folder: &Path, config: &Config, collector: &mut Collector<'_>) {
        if self.files.is_empty() {
            return;
        }
        let rules = Rules::of(folder, config);
        rules
            .looked_at
            .iter()
            .for_each(|file| collector.reads(file));
        for file in &rules.too_long {
            let message = "the ignore file has more than 5,000 lines or 1 MiB, so it hides nothing";
            let problem = Problem::warning(message).at(file);
            collector.problem(problem.hint("shorten it"));
        }
        self.files.retain(|module| match rules.hides(&module.name) {
            Some(reason) => {
                collector.ignored(&module.path, reason);
                false
            }
            None => true,
        });
    }

    fn look_into(
        &mut self,
        folder: &Path,
        name: String,
        sub_folders: SubFolders,
        collector: &mut Collector<'_>,
    ) {
        let directory = folder.join(&name);
        collector.lists(&directory);
        let mut first: Option<&'static str> = None;
        for index in INDEXES {
            let path = directory.join(index);
            let kind = match fs::metadata(&path) {
                Ok(found) => found.file_type(),
                Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                    return refuse(&directory, &error, collector);
                }
                Err(_) => continue,
            };
            match first {
                _ if !kind.is_file() => collector.ignored(path, not_regular(kind)),
                _ if sub_folders == SubFolders::DoNotCount => {
                    let reason = "only files of this folder count, not sub-folders: move the tool \
                                  to .omp/tools, or name it with --tool";
                    collector.ignored(path, reason);
                }
                Some(first) => {
                    collector.ignored(
                        path,
                        format!("{first} beside it is the module of this folder"),
                    );
                }
                None => {
                    first = Some(index);
                    let (rank, key) = (Rank::Common, name.clone());
                    self.indexes.push(Module {
                        rank,
                        name: name.clone(),
                        path,
                        key,
                    });
                }
            }
        }
        // `node_modules` holds imports of tools, not tools.
        let holds_packages = name == "node_modules";
        if first.is_none() && sub_folders == SubFolders::Count && !holds_packages {
            let reason = "no index.ts in it (nor .js, .mjs, .cjs, .mts, .cts, .tsx): a sub-folder \
                          is a tool by its index module only";
            collector.ignored(directory, reason);
        }
    }
}

/// Collects the files of a folder whose sub-folders are not tools.
pub(super) fn take_flat(
    folder: &Path,
    level: Level,
    config: &Config,
    collector: &mut Collector<'_>,
) {
    let read = Folder::read(folder, level, SubFolders::DoNotCount, config, collector);
    if let Some(mut folder) = read {
        folder.take_files(collector);
    }
}

/// Returns the index module of a folder that a plugin manifest names.
pub(super) fn manifest_index(directory: &Path) -> Option<PathBuf> {
    let mut indexes = names::MANIFEST_INDEXES
        .iter()
        .map(|name| directory.join(name));
    indexes.find(|path| path.is_file())
}

/// Returns the message for a pipe, a socket, a device or a folder in the place of a file.
pub(super) fn not_regular(kind: FileType) -> String {
    let what = if kind.is_dir() {
        "a folder"
    } else {
        special_file(kind)
    };
    format!(
        "{what}, not a regular file: it is never opened; rename it if it only looks like a module"
    )
}

#[cfg(unix)]
fn special_file(kind: FileType) -> &'static str {
    use std::os::unix::fs::FileTypeExt;
    match kind {
        _ if kind.is_fifo() => "a named pipe",
        _ if kind.is_socket() => "a socket",
        _ => "a device",
    }
}

#[cfg(not(unix))]
fn special_file(_kind: FileType) -> &'static str {
    "a device"
}

fn refuse_name(path: &Path, collector: &mut Collector<'_>) {
    let message = "the file name is not valid UTF-8";
    collector.ignored(path, format!("{message}: rename it"));
    let looks_like_module = path
        .extension()
        .and_then(|e| e.to_str())
        .is_some_and(|extension| matches!(judge(&format!("x.{extension}")), Name::Module { .. }));
    if looks_like_module {
        collector.problem(
            Problem::warning(message)
                .at(path)
                .hint("rename the file to load it"),
        );
    }
}

fn dangling(path: &Path, error: &io::Error, is_module: bool, collector: &mut Collector<'_>) {
    let message = match error.kind() {
        io::ErrorKind::NotFound => "the link leads nowhere".to_owned(),
        _ => format!("the link cannot be followed: {}", paths::plain(error)),
    };
    collector.ignored(path, format!("{message}: point it to a file, or remove it"));
    if is_module {
        collector.problem(
            Problem::warning(message)
                .at(path)
                .hint("point it to a file, or remove it"),
        );
    }
}
