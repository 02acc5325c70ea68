//! Walks a folder as ripgrep does, for `glob` and `grep`, in a fixed order.
//!
//! Hidden files, `.git`, and the files that `.gitignore`, `.ignore` and git's own exclude files
//! name are skipped below the requested folder, but never that folder itself. Links are listed, not
//! followed. Unreadable entries are skipped too.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

/// Returns the folder to search: the requested one, or the working directory.
pub fn root(path: Option<&str>) -> PathBuf {
    PathBuf::from(path.unwrap_or("."))
}

/// Returns a walk below `root`, which the caller may narrow further.
pub fn below(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder.sort_by_file_name(std::ffi::OsStr::cmp);
    builder
}

/// Returns every entry below the root of the walk.
pub fn entries(builder: &WalkBuilder) -> impl Iterator<Item = DirEntry> {
    let met = builder.build().filter_map(Result::ok);
    met.filter(|entry| entry.depth() > 0)
}

/// Returns the path in the form that models see: below `.` without the `./`. Invalid UTF-8 becomes
/// U+FFFD.
pub fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_string_lossy().into_owned()
}
