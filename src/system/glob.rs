//! `glob`: finds the files and folders whose paths match a pattern.
//!
//! `*` and `?` stop at `/`, `**` does not; `[a-z]` and `{a,b}` work. A pattern without any of these
//! is looked up as it is, even if it is hidden. A part that starts with a dot includes hidden
//! files. Folders are shown with a `/` at the end.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use serde_json::{Value, json};

use super::lines::Lines;
use super::params::Params;
use super::stop::{Failure, Stop};
use super::tool::Tool;
use super::walk;

pub const TOOL: Tool = Tool {
    file: "glob",
    description: "Find files and folders by a pattern; hidden and git-ignored ones only if the pattern names them",
    parameters: || {
        json!({
            "pattern": {"type": "string", "description": "Glob pattern, for example `*.txt` or `src/**/*.rs`"},
            "path": {"type": "string", "description": "Directory to search in (default: the current one)"},
        })
    },
    required: &["pattern"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "The paths, one a line, sorted; folders end with `/`"},
            "count": {"type": "integer", "description": "How many paths match"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let pattern = params.text("pattern")?;
    let root = walk::root(params.optional_text("path")?);
    if pattern.is_empty() {
        return Err(Failure::new("INVALID_PATTERN", "Invalid glob pattern: it is empty").into());
    }
    let mut found = Lines::default();
    let (below, wild) = split(pattern);
    let root = if below.as_os_str().is_empty() {
        root
    } else {
        root.join(below)
    };
    if wild.is_empty() {
        look_up(&root, pattern.ends_with('/'), &mut found);
    } else {
        let matcher = matcher(wild)?;
        if let Err(error) = std::fs::read_dir(&root) {
            return Err(Failure::opening(&walk::shown(&root), &error).into());
        }
        search(&root, wild, &matcher, &mut found);
    }
    let count = found.count();
    Ok(json!({"output": found.into_text(), "count": count}))
}

/// Splits a pattern into the folders at its beginning and the rest from its first wildcard on.
fn split(pattern: &str) -> (&Path, &str) {
    let is_wild = |part: &str| part.contains(['*', '?', '[', '{', '\\']);
    let mut start = 0;
    for part in pattern.split_inclusive('/') {
        if is_wild(part) {
            break;
        }
        start += part.len();
    }
    let (plain, wild) = pattern.split_at(start);
    (Path::new(plain), wild)
}

fn matcher(wild: &str) -> Result<GlobMatcher, Failure> {
    let built = GlobBuilder::new(wild.trim_end_matches('/'))
        .literal_separator(true)
        .backslash_escape(true)
        .build();
    match built {
        Ok(glob) => Ok(glob.compile_matcher()),
        Err(error) => {
            let message = format!("Invalid glob pattern: {error}");
            Err(Failure::new("INVALID_PATTERN", message))
        }
    }
}

/// Looks up a path without wildcards.
fn look_up(path: &Path, only_folder: bool, found: &mut Lines) {
    let Ok(here) = path.symlink_metadata() else {
        return;
    };
    let is_folder = here.is_dir() || (only_folder && path.is_dir());
    if is_folder || !only_folder {
        found.push(&line(
            path.components().collect::<PathBuf>().as_path(),
            is_folder,
        ));
    }
}

fn search(root: &Path, wild: &str, matcher: &GlobMatcher, found: &mut Lines) {
    let names_git = wild.contains(".git");
    let mut builder = walk::below(root);
    builder
        .hidden(!names_hidden(wild))
        .max_depth(depth(wild))
        .filter_entry(move |entry| names_git || entry.file_name() != ".git");
    for entry in walk::entries(&builder) {
        let is_folder = entry.file_type().is_some_and(|kind| kind.is_dir());
        let below = entry.path().strip_prefix(root).unwrap_or(entry.path());
        if (is_folder || !wild.ends_with('/')) && matcher.is_match(below) {
            found.push(&line(entry.path(), is_folder));
        }
    }
}

/// Returns true if a part of the pattern starts with a dot, as hidden files do.
fn names_hidden(wild: &str) -> bool {
    wild.split(['/', '{', ','])
        .any(|part| part.starts_with('.') || part.starts_with("\\."))
}

/// Returns the depth of the search; `None` if it is unlimited. Braces may hold a `/`, and `**` any
/// number of them.
fn depth(wild: &str) -> Option<usize> {
    let parts = wild.trim_end_matches('/').split('/').count();
    (!wild.contains("**") && !wild.contains('{')).then_some(parts)
}

fn line(path: &Path, is_folder: bool) -> String {
    let mut shown = walk::shown(path);
    if is_folder && !shown.ends_with('/') {
        shown.push('/');
    }
    shown
}
