//! Rights of a tool's programs: which ones it may start, and which of our variables they see.
//!
//! The decision is the caller's ([`ProgramPolicy`]). The check runs where the file to execute is
//! known, so another `PATH` or a link with another name cannot evade it. A program that runs is not
//! restricted any further here.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::granted_path::MAX_LINKS;
use crate::lookup;

/// Decisions about the programs of a tool.
pub trait ProgramPolicy: Send + Sync {
    /// Returns true if the program may be started. `files` are its file in the real path of its
    /// folder, and then the files that this one is a link to, in order.
    fn may_start(&self, files: &[PathBuf]) -> bool;

    /// Returns true if no program may be started at all.
    fn starts_none(&self) -> bool;

    /// Returns true if every program may be started.
    fn starts_all(&self) -> bool;

    /// Returns true if programs see this variable of ours.
    fn shows_variable(&self, name: &OsStr) -> bool;

    /// Returns the refusal message of a program.
    fn refusal(&self, program: &str) -> String;
}

/// Rights of the programs that a tool starts. The default is unrestricted; it is used for haft's own
/// programs.
#[derive(Clone, Default)]
pub struct Rights {
    policy: Option<Arc<dyn ProgramPolicy>>,
    /// True for a program of haft's own that starts the tool's program, which was checked before.
    is_wrapper: bool,
}

impl fmt::Debug for Rights {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rights")
            .field("is_restricted", &self.policy.is_some())
            .field("is_wrapper", &self.is_wrapper)
            .finish()
    }
}

/// Prefixes of the variables that make the system's loader run other code in a program.
const LOADER_VARIABLES: [&str; 2] = ["LD_", "DYLD_"];

impl Rights {
    /// Creates the rights that the policy gives.
    pub fn new(policy: impl ProgramPolicy + 'static) -> Rights {
        Rights {
            policy: Some(Arc::new(policy)),
            is_wrapper: false,
        }
    }

    /// Returns the rights for a wrapper: a program of haft's own that starts the tool's program,
    /// which was checked before.
    #[must_use]
    pub fn of_wrapper(&self) -> Rights {
        Rights {
            policy: self.policy.clone(),
            is_wrapper: true,
        }
    }

    /// Returns the refusal message for `what` if no program may be started at all.
    pub fn refuse_all(&self, what: &str) -> Option<String> {
        let policy = self.of_programs()?;
        policy.starts_none().then(|| policy.refusal(what))
    }

    /// Returns an error if the program `name`, whose absolute path is `file`, may not be started.
    pub(super) fn check_program(&self, name: &str, file: &Path) -> Result<(), String> {
        match self.of_programs() {
            Some(policy) if !policy.may_start(&files_of(file)) => Err(policy.refusal(name)),
            _ => Ok(()),
        }
    }

    /// Returns an error for a variable of the system's loader whose value is not ours. It would run
    /// other code in an allowed program.
    pub(super) fn check_variable(
        &self,
        program: &str,
        name: &OsStr,
        is_ours: bool,
    ) -> Result<(), String> {
        let Some(policy) = self.of_programs() else {
            return Ok(());
        };
        let text = name.to_string_lossy().to_ascii_uppercase();
        let is_loaders = LOADER_VARIABLES.iter().any(|start| text.starts_with(start));
        if policy.starts_all() || !is_loaders || is_ours {
            return Ok(());
        }
        let program = format!("{program} with {}", name.to_string_lossy());
        Err(policy.refusal(&program))
    }

    /// Returns true if the program sees this variable of ours.
    pub(super) fn shows(&self, name: &OsStr) -> bool {
        let policy = self.policy.as_ref();
        policy.is_none_or(|policy| policy.shows_variable(name))
    }

    fn of_programs(&self) -> Option<&dyn ProgramPolicy> {
        self.policy.as_deref().filter(|_| !self.is_wrapper)
    }
}

/// Returns the files that a start of this one concerns: itself in the real path of its folder, and
/// the files that it is a link to, in order. A program may act by the name of the link, as in
/// busybox, so that the link is not the same as its target.
fn files_of(program: &Path) -> Vec<PathBuf> {
    let mut files = vec![in_real_folder(program)];
    while files.len() <= MAX_LINKS {
        let last = &files[files.len() - 1];
        let Ok(target) = std::fs::read_link(last) else {
            break;
        };
        let target = last.parent().unwrap_or(Path::new("/")).join(target);
        files.push(in_real_folder(&target));
    }
    files
}

/// Returns the files that a start of the named program concerns: its file in the real path of its
/// folder, and the files that this one is a link to, in order. Relative paths and relative folders of
/// `PATH` start at `folder`. Empty if there is no such program.
pub fn files_of_command(program: &str, path: Option<&OsStr>, folder: &Path) -> Vec<PathBuf> {
    let file = lookup::find(OsStr::new(program), path, folder);
    file.map_or_else(|_| Vec::new(), |file| files_of(&folder.join(file)))
}

/// Returns the files that an entry of a list names: of a name, the program on our `PATH`.
pub fn files_of_entry(entry: &str) -> Vec<PathBuf> {
    let path = crate::inherited("PATH").map(OsString::from);
    files_of_command(entry, path.as_deref(), Path::new("/"))
}

/// Returns the path without links in its folders. The last component is not followed, unless it is
/// `..`. Folders that do not exist stay as they are.
pub fn in_real_folder(file: &Path) -> PathBuf {
    if file.ends_with("..") {
        return file.canonicalize().unwrap_or_else(|_| file.to_owned());
    }
    let folders = file.ancestors().skip(1);
    let real = folders.into_iter().find_map(|folder| {
        let rest = file.strip_prefix(folder).ok()?;
        Some(folder.canonicalize().ok()?.join(rest))
    });
    real.unwrap_or_else(|| file.to_owned())
}
