//! Files of a trusted project that may become code, with the digest that each must have.
//!
//! The list is made from the user's grant. It is checked wherever bytes become code: in the module
//! loader, and immediately before a program starts. The user's own code has no such list.

use std::borrow::Cow;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::{Family, PermissionRequest};

/// Digests of the files of one trusted project. This type reads no files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct VerifiedFiles {
    /// The project's real path.
    pub project: PathBuf,
    /// The path through which the project was reached, if that is not its real path.
    pub alias: Option<PathBuf>,
    /// Files that modules of the project may import, by path.
    pub modules: HashMap<PathBuf, blake3::Hash>,
    /// Files of the project that commands may start, by path.
    pub programs: HashMap<PathBuf, blake3::Hash>,
    /// The profile that the user chose for the tools; `None` if it is the configured one.
    pub profile: Option<String>,
    /// The project's tool files as they were trusted, by path.
    pub entries: HashMap<PathBuf, VerifiedEntry>,
    /// Permission of modules to compile text to code (`eval`, `new Function`, `node:vm`).
    pub code_from_text: CodeFromData,
    /// Permission of modules to compile WebAssembly from bytes that are not a trusted file.
    pub code_from_bytes: CodeFromData,
}

/// Permission to turn data into code.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum CodeFromData {
    /// Never: the trust page did not state that modules do it.
    #[default]
    Never,
    /// Until a file of the project that may have changed is opened. From then on, the data could
    /// come from that file. The trust page stated that modules do it.
    UntilFilesAreRead,
    /// Always: the user allowed it explicitly.
    Always,
}

/// A tool file of the project as it was trusted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VerifiedEntry {
    /// The family of the tool.
    pub family: Family,
    /// The id of the provider that found the file.
    pub provider: String,
    /// The digest of the file, or of the link's target.
    pub digest: blake3::Hash,
    /// The permissions that it asked for when it was trusted.
    pub requests: Vec<PermissionRequest>,
}

/// Reason for which bytes must not become code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverified {
    /// The file is not among the trusted files.
    Unlisted,
    /// The file's bytes differ from the trusted ones.
    Changed,
}

impl VerifiedFiles {
    /// Checks the digest of a file that a module imports.
    ///
    /// # Errors
    /// Returns the reason for which the file must not be loaded.
    pub fn check_module(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        compare(self.modules.get(self.real(path).as_ref()), digest)
    }

    /// Returns true if the list of modules contains the path. The digest is not checked.
    pub fn lists(&self, path: &Path) -> bool {
        self.modules.contains_key(self.real(path).as_ref())
    }

    /// Returns true if any module may import bytes with this digest.
    pub fn has_digest(&self, digest: &blake3::Hash) -> bool {
        self.modules.values().any(|trusted| trusted == digest)
    }

    /// Returns true if the file belongs to the project. `path` must be a real path.
    pub fn is_of_project(&self, path: &Path) -> bool {
        path.starts_with(&self.project)
    }

    /// Returns the tool file at `path`, which is the path of a candidate.
    pub fn entry(&self, path: &Path) -> Option<&VerifiedEntry> {
        self.entries.get(self.real(path).as_ref())
    }

    /// Checks the digest of the tool file at `path`, which is the path of a candidate.
    ///
    /// # Errors
    /// Returns the reason for which the file may not run.
    pub fn check_entry(&self, path: &Path, digest: &blake3::Hash) -> Result<(), Unverified> {
        compare(self.entry(path).map(|entry| &entry.digest), digest)
    }

    /// Returns the digest that a file must have which a command of a tool starts, if it was trusted.
    pub fn program_digest(&self, path: &Path) -> Option<blake3::Hash> {
        let path = self.real(path);
        let entry = self.entries.get(path.as_ref());
        let entry = entry.map(|entry| entry.digest);
        self.programs.get(path.as_ref()).copied().or(entry)
    }

    /// Returns the path with the project's alias replaced by its real path.
    fn real<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let alias = self.alias.as_ref();
        match alias.and_then(|alias| path.strip_prefix(alias).ok()) {
            Some(rest) => self.project.join(rest).into(),
            None => path.into(),
        }
    }
}

fn compare(trusted: Option<&blake3::Hash>, found: &blake3::Hash) -> Result<(), Unverified> {
    match trusted {
        None => Err(Unverified::Unlisted),
        Some(trusted) if trusted != found => Err(Unverified::Changed),
        Some(_) => Ok(()),
    }
}

impl Unverified {
    /// Returns the refusal as a sentence about the file, with the user's options.
    pub fn refusal(self, path: &Path) -> String {
        let path = path.display();
        match self {
            Unverified::Unlisted => format!(
                "`{path}` is not part of what was trusted: `haft trust` shows what would run, \
                 and `haft call --learn` adds the files that a tool finds only while it runs"
            ),
            Unverified::Changed => format!(
                "`{path}` changed since it was trusted: `haft trust` shows what would run, and asks"
            ),
        }
    }
}
