//! Permissions of a tool's programs: which ones it may start, and which of our variables they see.
//!
//! The check runs where the file to execute is known, so another `PATH` or a link with another name
//! cannot evade it. A program that runs is not restricted any further here.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::lookup;

/// Permissions of the programs that a tool starts. The default is unrestricted; it is used for
/// haft's own programs.
#[derive(Debug, Clone, Default)]
pub struct Rights(Option<Arc<Bounds>>);

/// Allowed names, and names that are denied even if allowed.
#[derive(Debug, Clone, Default)]
pub struct Names {
    /// The allowed names; `None`: all.
    pub allow: Option<Vec<String>>,
    /// The denied names. They take precedence.
    pub deny: Vec<String>,
}

struct Bounds {
    programs: Option<Vec<PathBuf>>,
    no_programs: Vec<String>,
    variables: Names,
    refusal: Arc<Refusal>,
}

/// Builds the refusal message of a program from its name.
type Refusal = dyn Fn(&str) -> String + Send + Sync;

impl fmt::Debug for Bounds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bounds")
            .field("programs", &self.programs)
            .field("no_programs", &self.no_programs)
            .field("variables", &self.variables)
            .finish_non_exhaustive()
    }
}

/// Prefixes of the variables that make the system's loader run other code in a program.
const LOADER_VARIABLES: [&str; 2] = ["LD_", "DYLD_"];

impl Rights {
    /// Creates the permissions. `programs` are names, which are looked up in our `PATH` now, or
    /// paths. `variables` are names of inherited variables; a `*` at the end matches any text.
    /// `refusal` builds the refusal message of a program.
    pub fn new(
        programs: &Names,
        variables: Names,
        refusal: impl Fn(&str) -> String + Send + Sync + 'static,
    ) -> Rights {
        let is_free = programs.allow.is_none() && programs.deny.is_empty();
        if is_free && variables.allow.is_none() && variables.deny.is_empty() {
            return Rights::default();
        }
        let found = |list: &Vec<String>| list.iter().filter_map(|name| file_of(name)).collect();
        Rights(Some(Arc::new(Bounds {
            programs: programs.allow.as_ref().map(found),
            no_programs: programs.deny.clone(),
            variables,
            refusal: Arc::new(refusal),
        })))
    }

    /// Returns the permissions for a wrapper: a program of haft's own that starts the tool's
    /// program, which was checked before.
    #[must_use]
    pub fn of_wrapper(&self) -> Rights {
        let Some(bounds) = &self.0 else {
            return Rights::default();
        };
        Rights(Some(Arc::new(Bounds {
            programs: None,
            no_programs: Vec::new(),
            variables: bounds.variables.clone(),
            refusal: bounds.refusal.clone(),
        })))
    }

    /// Returns the refusal message for `what` if no program may be started at all.
    pub fn refuse_all(&self, what: &str) -> Option<String> {
        let bounds = self.0.as_ref()?;
        let is_none = bounds.programs.as_ref().is_some_and(Vec::is_empty);
        is_none.then(|| (bounds.refusal)(what))
    }

    /// Returns an error if the program `name`, whose absolute path is `file`, may not be started.
    pub(super) fn check_program(&self, name: &str, file: &Path) -> Result<(), String> {
        let Some(bounds) = &self.0 else {
            return Ok(());
        };
        let file = comparable(file);
        let is_allowed = (bounds.programs.as_ref()).is_none_or(|list| list.contains(&file));
        let is_denied = |entry: &String| {
            if entry.contains('/') {
                file.starts_with(comparable(Path::new(entry)))
            } else {
                file.file_name() == Some(OsStr::new(entry))
            }
        };
        if is_allowed && !bounds.no_programs.iter().any(is_denied) {
            return Ok(());
        }
        Err((bounds.refusal)(name))
    }

    /// Returns an error for a variable of the system's loader whose value is not ours. It would run
    /// other code in an allowed program.
    pub(super) fn check_variable(
        &self,
        program: &str,
        name: &OsStr,
        is_ours: bool,
    ) -> Result<(), String> {
        let Some(bounds) = &self.0 else {
            return Ok(());
        };
        let is_bounded = bounds.programs.is_some() || !bounds.no_programs.is_empty();
        let text = name.to_string_lossy().to_ascii_uppercase();
        let is_loaders = LOADER_VARIABLES.iter().any(|start| text.starts_with(start));
        if !is_bounded || !is_loaders || is_ours {
            return Ok(());
        }
        let program = format!("{program} with {}", name.to_string_lossy());
        Err((bounds.refusal)(&program))
    }

    /// Returns true if the program sees this variable of ours.
    pub(super) fn shows(&self, name: &OsStr) -> bool {
        let Some(bounds) = &self.0 else {
            return true;
        };
        let Names { allow, deny } = &bounds.variables;
        let matches = |entry: &String| match entry.strip_suffix('*') {
            Some(start) => name.as_encoded_bytes().starts_with(start.as_bytes()),
            None => name == OsStr::new(entry),
        };
        allow.as_ref().is_none_or(|list| list.iter().any(matches)) && !deny.iter().any(matches)
    }
}

fn file_of(name: &str) -> Option<PathBuf> {
    let path = crate::inherited("PATH").map(OsString::from);
    let file = lookup::find(OsStr::new(name), path.as_deref(), Path::new("/")).ok()?;
    Some(comparable(&file))
}

/// Returns the file's name in the canonical path of its folder. A link to a program is not
/// followed, because the behaviour of a program may depend on its name, as in busybox.
fn comparable(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default();
    match file.parent().and_then(|folder| folder.canonicalize().ok()) {
        Some(folder) => folder.join(name),
        None => file.to_owned(),
    }
}
