//! Walks a folder as ripgrep does, for `glob` and `grep`, in a fixed order.
//!
//! Hidden files, `.git` and what `.gitignore`, `.ignore` and git's own exclude files name are passed
//! over, below the folder that was asked for and never that folder itself. Links are
//! seen, not followed. What may not be read is passed over too.

use std::path::{Path, PathBuf};

use ignore::{DirEntry, WalkBuilder};

/// The folder to search: what was asked for, else where we are.
pub fn root(path: Option<&str>) -> PathBuf {
    PathBuf::from(path.unwrap_or("."))
}

/// A walk below `root`, to be narrowed further.
pub fn below(root: &Path) -> WalkBuilder {
    let mut builder = WalkBuilder::new(root);
    builder.sort_by_file_name(std::ffi::OsStr::cmp);
    builder
}

/// Everything that the walk meets below its root.
pub fn entries(builder: &WalkBuilder) -> impl Iterator<Item = DirEntry> {
    let met = builder.build().filter_map(Result::ok);
    met.filter(|entry| entry.depth() > 0)
}

/// The path as the model is told it: below `.` without the `./`. What is not UTF-8 becomes U+FFFD.
pub fn shown(path: &Path) -> String {
    let path = path.strip_prefix(".").unwrap_or(path);
    path.to_string_lossy().into_owned()
}
