//! Links of a project that lead out of its repository.
//!
//! A tool gets nothing through them, but the user should know of them before trusting the project.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

/// Limit of the entries that are looked at. Folders near the root come first.
const MAX_ENTRIES: usize = 50_000;

/// Limit of the links that are returned.
const MAX_FOUND_LINKS: usize = 20;

/// Folders that every tool can read. Installed packages and virtual environments link to programs
/// there.
const SYSTEM: [&str; 6] = ["/usr", "/bin", "/lib", "/lib64", "/sbin", "/nix/store"];

/// A link of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutwardLink {
    /// The link.
    pub path: PathBuf,
    /// The real path that it leads to, or its text if there is none.
    pub target: PathBuf,
}

/// Links of a project that lead out of its repository.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutwardLinks {
    /// The links, those near the root first.
    pub links: Vec<OutwardLink>,
    /// False if the project has more entries or more links than are looked at.
    pub is_complete: bool,
}

impl OutwardLinks {
    /// Finds the links below `project` that lead out of `repository`. Both are real paths.
    pub(super) fn find(project: &Path, repository: &Path) -> OutwardLinks {
        let mut links = Vec::new();
        let mut folders = VecDeque::from([project.to_owned()]);
        let mut entries = 0;
        while let Some(folder) = folders.pop_front() {
            let Ok(found) = std::fs::read_dir(&folder) else {
                continue;
            };
            let mut found: Vec<_> = found.flatten().collect();
            found.sort_by_key(std::fs::DirEntry::file_name);
            for entry in found {
                entries += 1;
                if entries > MAX_ENTRIES || links.len() >= MAX_FOUND_LINKS {
                    return OutwardLinks {
                        links,
                        is_complete: false,
                    };
                }
                let (path, kind) = (entry.path(), entry.file_type());
                match kind {
                    Ok(kind) if kind.is_dir() && entry.file_name() != ".git" => {
                        folders.push_back(path);
                    }
                    Ok(kind) if kind.is_symlink() => {
                        links.extend(outward(path, repository));
                    }
                    _ => {}
                }
            }
        }
        OutwardLinks {
            links,
            is_complete: true,
        }
    }
}

fn outward(path: PathBuf, repository: &Path) -> Option<OutwardLink> {
    let target = match path.canonicalize() {
        Ok(target) => target,
        // What it leads to may be made later.
        Err(_) => {
            let written = std::fs::read_link(&path).ok()?;
            haft_config::paths::resolve(path.parent()?, &written)
        }
    };
    let is_known = SYSTEM.iter().any(|folder| target.starts_with(folder));
    (!target.starts_with(repository) && !is_known).then_some(OutwardLink { path, target })
}
