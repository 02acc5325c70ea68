//! Folders of the git repository that a project is in, for git's sandbox.
//!
//! They may lie outside of the project: a project in a folder of its repository, a linked worktree, a
//! submodule, objects that are borrowed from another repository. Nothing that the project says is
//! believed alone: a folder elsewhere has to point back to it, or to be a folder of git by its
//! content.

use std::fs;
use std::path::{Path, PathBuf};

use haft_process::regular_files;

/// Limit of the size of git's small files.
const MAX_FILE_BYTES: u64 = 64 << 10;

/// Limit of the repositories that lend objects.
const MAX_LENDERS: usize = 8;

/// Folders that git reads besides the project.
pub(super) fn folders(project: &Path, home: &Path) -> Vec<PathBuf> {
    let Ok(project) = project.canonicalize() else {
        return Vec::new();
    };
    let found = project.ancestors().find_map(|root| {
        let git = root.join(".git");
        fs::symlink_metadata(&git)
            .ok()
            .map(|found| (root, git, found))
    });
    let Some((root, git, found)) = found else {
        return Vec::new();
    };
    let mut folders = Vec::new();
    // The repository of a whole home directory is read below the project only.
    if !home.starts_with(root) {
        folders.push(root.to_owned());
    }
    let git_dir = if found.is_file() {
        linked_dir(&git)
    } else {
        found.is_dir().then(|| git.clone())
    };
    let common = git_dir.map(|git_dir| {
        let common = common_dir(&git_dir);
        folders.push(git_dir);
        common
    });
    if let Some(common) = common {
        folders.extend(lenders(&common));
        folders.push(common);
    }
    folders.retain(|folder| !folder.starts_with(&project));
    folders
}

/// Folder that a `.git` file leads to, if it leads back to that file: that of a linked
/// worktree, or of a submodule.
fn linked_dir(git: &Path) -> Option<PathBuf> {
    let worktree = git.parent()?;
    let text = read(git)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    let git_dir = worktree.join(target).canonicalize().ok()?;
    let leads_back = |path: &Path| path.canonicalize().is_ok_and(|path| path == git);
    let by_worktree = read(&git_dir.join("gitdir"));
    let by_worktree = by_worktree.is_some_and(|text| leads_back(&git_dir.join(text.trim())));
    let by_submodule = || {
        let config = read(&git_dir.join("config")).unwrap_or_default();
        let mut values = config.lines().filter_map(|line| {
            let (key, value) = line.split_once('=')?;
            (key.trim() == "worktree").then(|| value.trim().to_owned())
        });
        values.any(|value| leads_back(&git_dir.join(value).join(".git")))
    };
    (by_worktree || by_submodule()).then_some(git_dir)
}

/// Folder of the repository that a worktree belongs to.
fn common_dir(git_dir: &Path) -> PathBuf {
    let common = read(&git_dir.join("commondir"));
    let common = common.and_then(|text| git_dir.join(text.trim()).canonicalize().ok());
    // A worktree lies in `worktrees` of its repository.
    let is_right = |common: &PathBuf| git_dir.starts_with(common.join("worktrees"));
    common
        .filter(is_right)
        .unwrap_or_else(|| git_dir.to_owned())
}

/// Folders of objects that a repository borrows.
fn lenders(common: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    let mut left = vec![common.join("objects")];
    while let Some(objects) = left.pop() {
        let alternates = read(&objects.join("info/alternates")).unwrap_or_default();
        for line in alternates.lines() {
            let Ok(lender) = objects.join(line).canonicalize() else {
                continue;
            };
            let is_objects = lender.ends_with("objects")
                && lender.join("../HEAD").is_file()
                && lender.join("pack").is_dir();
            if is_objects && !folders.contains(&lender) && folders.len() < MAX_LENDERS {
                left.push(lender.clone());
                folders.push(lender);
            }
        }
    }
    folders
}

fn read(path: &Path) -> Option<String> {
    let bytes = regular_files::read(path, MAX_FILE_BYTES).ok()?;
    String::from_utf8(bytes).ok()
}
