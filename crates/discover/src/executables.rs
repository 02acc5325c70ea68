//! Reads one directory of executables: accepts those that may be asked for a description, and
//! reports why the others may not.
//!
//! Nothing is opened or started, so a pipe cannot block the scan. Sub-directories are not read. A
//! link is judged by its target. A link in a project's directory must not lead out of it: otherwise
//! the project could choose which of the user's other programs runs.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::Verdict;
use super::collector::Collector;
use super::folder::not_regular;
use haft_process::is_program;
use haft_process::owners::{self, Exposed, FileAccess};
use haft_tool::{Level, Problem};

/// Collects the executables of `directory`, in the order of their names. `is_off` returns the
/// setting that switches a file of that name off.
pub(super) fn take(
    directory: &Path,
    level: Level,
    is_off: impl Fn(&OsStr) -> Option<&'static str>,
    collector: &mut Collector<'_>,
) {
    // These run when tools are listed. A project's executables are bound to the trusted bytes
    // instead.
    if level != Level::Project
        && directory.exists()
        && let Err(exposed) = owners::check(directory)
    {
        let message = format!("no program of this folder is started: {exposed}");
        collector.ignored(directory, message.clone());
        let hint =
            "let the folder and those above it belong to you or root, writable for nobody else";
        return collector.problem(Problem::warning(message).at(directory).hint(hint));
    }
    let Some(entries) = collector.entries(directory) else {
        return;
    };
    let mut paths: Vec<PathBuf> = entries.iter().map(fs::DirEntry::path).collect();
    paths.sort();
    for path in paths {
        if let Some(by) = path.file_name().and_then(&is_off) {
            leave(&path, by, collector);
            continue;
        }
        let checked = match level {
            // `warn_if_open` below warns about a file of the user's own.
            Level::User | Level::Project => Ok(()),
            Level::Host => owners::check(&path),
        };
        let looked = look(&path, directory, level);
        match looked.and_then(|()| {
            let hint = "let it belong to you or root, writable for nobody else";
            let exposed = |exposed: Exposed| Passed::Over(exposed.to_string(), hint);
            checked.map_err(exposed)
        }) {
            Ok(()) => {
                warn_if_open(&path, collector);
                let key = key(&path);
                collector.executable(path, key, level);
            }
            Err(Passed::Quietly(reason)) => collector.ignored(path, reason),
            Err(Passed::Over(reason, hint)) => {
                let problem = Problem::warning(format!("passed over: {reason}"));
                collector.problem(problem.at(&path).hint(hint));
                collector.ignored(path, reason);
            }
        }
    }
}

/// Notes a known file that is switched off.
pub(super) fn leave(path: &Path, by: &str, collector: &mut Collector<'_>) {
    collector.note(path, Verdict::Disabled { by: by.to_owned() });
}

/// Reason why an entry of the directory is not taken.
enum Passed {
    /// The entry is not meant as a tool, so nothing is warned about.
    Quietly(String),
    /// The entry is meant as a tool, so there is a warning; the second text is its hint.
    Over(String, &'static str),
}

/// Message for a file that the system would not start.
const NOT_EXECUTABLE: &str = if cfg!(windows) {
    "not executable: name it `.exe`, `.cmd` or `.bat` if it is a tool"
} else {
    "not executable: `chmod +x` it if it is a tool"
};

fn look(path: &Path, directory: &Path, level: Level) -> Result<(), Passed> {
    let own = fs::symlink_metadata(path).map_err(|error| unreadable(&error))?;
    let is_link = own.is_symlink();
    let found = if is_link {
        fs::metadata(path).map_err(|error| unreadable(&error))?
    } else {
        own
    };
    if found.is_dir() {
        let reason = "a folder: only files of this folder count, not what lies deeper";
        return Err(Passed::Quietly(reason.to_owned()));
    }
    if !found.is_file() {
        return Err(Passed::Quietly(not_regular(found.file_type())));
    }
    if !is_program(path, &found) {
        return Err(Passed::Quietly(NOT_EXECUTABLE.to_owned()));
    }
    if is_link && level == Level::Project && leads_out(path, directory) {
        return Err(Passed::Over(
            "the link leads out of the project's tool directory".to_owned(),
            "copy the program into the directory, or put the link into your own one",
        ));
    }
    Ok(())
}

fn unreadable(error: &io::Error) -> Passed {
    match error.kind() {
        io::ErrorKind::NotFound => Passed::Over(
            "the link leads nowhere".to_owned(),
            "point it to a file, or remove it",
        ),
        _ => Passed::Over(
            format!(
                "it cannot be looked at: {}",
                haft_config::paths::plain(error)
            ),
            "make it readable for this user, or remove it",
        ),
    }
}

/// Returns true if the link leads out of the directory, or cannot be followed to its end.
fn leads_out(path: &Path, directory: &Path) -> bool {
    let real = |path: &Path| path.canonicalize().ok();
    match (real(path), real(directory)) {
        (Some(target), Some(directory)) => !target.starts_with(directory),
        _ => true,
    }
}

fn warn_if_open(path: &Path, collector: &mut Collector<'_>) {
    if !FileAccess::of(path).is_ok_and(|access| access.all_write) {
        return;
    }
    let problem = Problem::warning("anybody on this machine may change this program");
    collector.problem(problem.at(path).hint("`chmod o-w` it, after a look at it"));
}

/// Returns the key of the file: its name without the extension.
fn key(path: &Path) -> String {
    let stem: PathBuf = path.file_stem().map(PathBuf::from).unwrap_or_default();
    stem.to_string_lossy().into_owned()
}
