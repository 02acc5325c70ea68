//! History of lines: a private file that all repls share.

use std::io;
use std::path::{Path, PathBuf};

use reedline::{FileBackedHistory, History, SearchDirection, SearchQuery};

use haft_config::Config;

/// Maximum number of lines in the history.
const MAX_LINES: usize = 1000;

/// Returns the path of the file, and creates the file if need be. Arguments may be secret, so only
/// its owner can read it.
///
/// # Errors
/// If the file cannot be written.
pub(super) fn file(config: &Config) -> io::Result<PathBuf> {
    config.state_dir.make_repl_history()
}

/// Opens the history file; `None` makes the line editor keep its history in memory.
pub(super) fn open(file: Option<&Path>) -> Option<Box<dyn History>> {
    let history = FileBackedHistory::with_file(MAX_LINES, file?.to_owned());
    Some(Box::new(history.ok()?))
}

/// Returns the newest `count` lines with their numbers, oldest first.
pub(super) fn newest(file: &Path, count: usize) -> Vec<(usize, String)> {
    let Some(history) = open(Some(file)) else {
        return Vec::new();
    };
    let everything = SearchQuery::everything(SearchDirection::Forward, None);
    let lines = history.search(everything).unwrap_or_default();
    let lines = lines.into_iter().map(|line| line.command_line);
    let mut numbered: Vec<(usize, String)> = (1..).zip(lines).collect();
    numbered.split_off(numbered.len().saturating_sub(count))
}
