//! Store of grants: one file for each project in the user's state directory.
//!
//! A store that another user could have written is not used, nor one inside of the project itself.
//! A grant that cannot be believed grants nothing, and is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::Url;

use crate::ProjectFile;
use haft_process::atomic_file::Durability;
use haft_process::{StateDir, StateError, StateFolder, StatePart};
use haft_tool::error::{Error, ErrorKind};
use haft_tool::{Family, PermissionRequest, Problem};

/// Version of the format. Grants of another version are not used. Version 1 had no families,
/// providers or rights.
pub const VERSION: u32 = 2;

/// Everything that the user trusts of one project. It is read as a whole everywhere, so that a
/// damaged grant counts for nothing.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// Version of the format.
    pub version: u32,
    /// The project's real path, as [`text_of`] writes it.
    pub project: String,
    /// Seconds since 1970.
    pub trusted_at: u64,
    /// The hash of its configuration file; `None` if there was none.
    pub config: Option<String>,
    /// The keys of that file with their values, to show what changed.
    #[serde(default)]
    pub config_keys: BTreeMap<String, String>,
    /// Hash of each settings file's decisions about plugins, features and providers.
    #[serde(default)]
    pub settings: BTreeMap<String, String>,
    /// The profile of permissions that the user chose for the project's tools; `None` if it is the
    /// configured one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<String>,
    /// The trusted tools, by their files.
    pub tools: BTreeMap<String, TrustedTool>,
    /// The hash of each file of the tools.
    pub files: BTreeMap<String, String>,
    /// Additional files and rights of the project's modules.
    #[serde(default)]
    pub learned: Learned,
    /// Facts about the module graphs, as JSON. If they still hold, nothing changed, and no file
    /// needs parsing. If they cannot be read, every file is parsed.
    #[serde(default)]
    pub facts: Option<Box<RawValue>>,
}

/// One trusted tool.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct TrustedTool {
    /// The family. The grant of a program does not hold for a module at the same path.
    pub family: Family,
    /// The id of the provider that found it.
    pub provider: String,
    /// All files in its module graph, or only the file itself if it is not a module.
    pub files: BTreeSet<String>,
    /// Rights besides its files.
    #[serde(default)]
    pub rights: Rights,
    /// The permissions that it asked for when it was trusted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub requests: Vec<PermissionRequest>,
}

/// Files and rights that cannot be found by reading the modules; the user has added them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Learned {
    /// Files that modules loaded while they ran, with their hashes.
    pub files: BTreeMap<String, String>,
    /// True if modules may make code of text and bytes at any time.
    pub code_from_data: bool,
}

/// Rights that were granted to a tool besides its files.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Rights {
    /// True if it may make code of text, as `eval` does.
    pub code_from_text: bool,
    /// True if it may make WebAssembly of bytes that are not a trusted file.
    pub code_from_bytes: bool,
}

/// Limit of the bytes of a record.
const MAX_RECORD_BYTES: u64 = 256 << 20;

/// Store of one user's grants.
#[derive(Clone, Debug)]
pub struct Store {
    records: RecordFolder,
    /// The grants of tests of the same projects.
    of_tests: RecordFolder,
}

/// Folder of the state directory with one JSON file for each path that it is about.
#[derive(Clone, Debug)]
pub(crate) struct RecordFolder {
    folder: StateFolder,
    /// True if the home directory that would contain it is missing.
    is_homeless: bool,
    home: PathBuf,
}

/// A trusted project, for lists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Project {
    /// Its real path.
    pub path: String,
    /// The number of trusted tools.
    pub tools: usize,
    /// The time of the grant, in seconds since 1970.
    pub trusted_at: u64,
}

/// Reason why a record cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error(transparent)]
    State(#[from] StateError),
    #[error("it is not a trust file")]
    Broken,
    #[error("another version of haft made it, which recorded something else")]
    OtherVersion,
    #[error("it lies inside of the project that it is about")]
    InProject,
}

impl StoreError {
    /// Returns what the user does about it; `else_do` if only a new record helps.
    pub(crate) fn remedy(&self, else_do: &'static str) -> &'static str {
        match self {
            StoreError::InProject => "point XDG_STATE_HOME or HAFT_STATE_DIR somewhere else",
            StoreError::State(error @ (StateError::Open | StateError::Exposed(_))) => {
                error.remedy()
            }
            _ => else_do,
        }
    }
}

impl RecordFolder {
    pub(crate) fn new(state: &StateDir, part: StatePart, home: &Path) -> RecordFolder {
        RecordFolder {
            folder: state.folder(part),
            is_homeless: state.is_below(home) && !home.is_dir(),
            home: home.to_owned(),
        }
    }

    /// Reads the record about `path` with this `version`; `None` if it is missing. Records inside of
    /// `project` do not count.
    pub(crate) fn read<T: DeserializeOwned>(
        &self,
        path: &Path,
        version: u32,
        project: &Path,
    ) -> Result<Option<T>, StoreError> {
        let name = name_of(path);
        if !self.folder.has(&name)? {
            return Ok(None);
        }
        if self.folder.is_inside(project) && !self.home.starts_with(project) {
            return Err(StoreError::InProject);
        }
        self.folder.check_owners()?;
        self.parse(&name, version)
    }

    /// Writes the record about `path`.
    pub(crate) fn write(&self, path: &Path, content: &impl Serialize) -> io::Result<()> {
        if self.is_homeless {
            // Root could create it, but it would be lost with the container.
            return Err(io::Error::other("there is no home directory"));
        }
        let bytes = serde_json::to_vec(content)?;
        self.folder
            .replace(&name_of(path), &bytes, Durability::Synced)
    }

    /// Removes the record about `path`; returns false if it is missing.
    pub(crate) fn remove(&self, path: &Path) -> io::Result<bool> {
        self.folder.remove(&name_of(path))
    }

    /// Returns true if the folder exists.
    pub(crate) fn exists(&self) -> Result<bool, StoreError> {
        Ok(self.folder.exists()?)
    }

    /// Path of the record about `path`, for messages.
    pub(crate) fn place_of(&self, path: &Path) -> PathBuf {
        place(&self.folder, &name_of(path))
    }

    fn parse<T: DeserializeOwned>(
        &self,
        name: &str,
        version: u32,
    ) -> Result<Option<T>, StoreError> {
        let Some(bytes) = self.folder.read(name, MAX_RECORD_BYTES)? else {
            return Ok(None);
        };
        #[derive(Deserialize)]
        struct Versioned {
            version: u32,
        }
        let found: Versioned = serde_json::from_slice(&bytes).map_err(|_| StoreError::Broken)?;
        if found.version != version {
            return Err(StoreError::OtherVersion);
        }
        let record = serde_json::from_slice(&bytes).map_err(|_| StoreError::Broken)?;
        Ok(Some(record))
    }
}

/// Path of a file of the state, for messages.
#[expect(clippy::disallowed_methods, reason = "the path is only shown")]
fn place(folder: &StateFolder, name: &str) -> PathBuf {
    folder.path_for_messages(name)
}

/// Name of the record about `path`.
fn name_of(path: &Path) -> String {
    let hash = blake3::hash(path.as_os_str().as_encoded_bytes()).to_hex();
    format!("{}.json", &hash[..32])
}

impl Store {
    /// Store in a state directory.
    pub fn at(state: &StateDir, home: &Path) -> Store {
        Store {
            records: RecordFolder::new(state, StatePart::Trust, home),
            of_tests: RecordFolder::new(state, StatePart::TestTrust, home),
        }
    }

    /// Store of the grants of tests.
    pub fn of_tests(state: &StateDir, home: &Path) -> Store {
        let of_tests = RecordFolder::new(state, StatePart::TestTrust, home);
        Store {
            records: of_tests.clone(),
            of_tests,
        }
    }

    /// Reads the grant of the project with this real path.
    ///
    /// # Errors
    /// When there is one that must not be used.
    pub fn read(&self, project: &Path) -> Result<Option<Grant>, StoreError> {
        let grant: Option<Grant> = self.records.read(project, VERSION, project)?;
        match grant {
            Some(grant) if grant.project != text_of(project) => Err(StoreError::Broken),
            grant => Ok(grant),
        }
    }

    /// Problem of a grant that cannot be used.
    pub fn problem(&self, project: &Path, error: &StoreError) -> Problem {
        let hint = error.remedy(match error {
            StoreError::OtherVersion => "`haft trust` shows what would run, and asks again",
            _ => "`haft trust` writes it anew; remove it if that fails",
        });
        Problem::warning(format!("the stored trust is not used: {error}"))
            .at(self.records.place_of(project))
            .hint(hint)
    }

    /// Stores a grant in place of an earlier one.
    pub fn write(&self, project: &Path, grant: &impl Serialize) -> Result<(), Error> {
        let failed = |error: io::Error| {
            let path = self.records.place_of(project);
            let text = format!("cannot store the trust in {}: {error}", path.display());
            let hint = "XDG_STATE_HOME or HAFT_STATE_DIR name another place; --trust-project \
                        needs none";
            Error::new(ErrorKind::Internal, text).with_hint(hint)
        };
        self.records.write(project, grant).map_err(failed)
    }

    /// Removes the grants of a project and its tests; returns false if there were none.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&self, project: &Path) -> Result<bool, Error> {
        let removed = |records: &RecordFolder| {
            records.remove(project).map_err(|error| {
                let path = records.place_of(project);
                let text = format!("cannot remove {}: {error}", path.display());
                Error::new(ErrorKind::Internal, text).with_hint("remove it by hand")
            })
        };
        let had_tests = removed(&self.of_tests)?;
        Ok(removed(&self.records)? || had_tests)
    }

    /// Returns every trusted project, by path, and the problems of unusable grants.
    pub fn projects(&self) -> (Vec<Project>, Vec<Problem>) {
        let (mut projects, mut problems) = (Vec::new(), Vec::new());
        let folder = &self.records.folder;
        let names = match folder.names() {
            Ok(names) => names,
            Err(error) => {
                let text = format!("the stored trust cannot be listed: {error}");
                problems.push(
                    Problem::error(text)
                        .at(place(folder, ""))
                        .hint(error.remedy()),
                );
                return (projects, problems);
            }
        };
        for name in names.iter().filter(|name| name.ends_with(".json")) {
            match self.records.parse::<Grant>(name, VERSION) {
                Ok(Some(grant)) => projects.push(Project {
                    path: grant.project.replace('\0', ""),
                    tools: grant.tools.len(),
                    trusted_at: grant.trusted_at,
                }),
                // Another process has removed it.
                Ok(None) => {}
                Err(error) => problems.push(
                    Problem::warning(format!("this trust is not used: {error}"))
                        .at(place(folder, name))
                        .hint(error.remedy("remove the file")),
                ),
            }
        }
        projects.sort_by(|a, b| a.path.cmp(&b.path));
        (projects, problems)
    }

    /// Path of the grant of a project, for messages and for a watcher.
    pub fn place_of(&self, project: &Path) -> PathBuf {
        self.records.place_of(project)
    }

    /// Hash of the file with the grant of a project; `None` if there is none.
    pub fn hash_of(&self, project: &Path) -> Option<blake3::Hash> {
        let name = name_of(project);
        let bytes = self.records.folder.read(&name, MAX_RECORD_BYTES).ok()??;
        Some(blake3::hash(&bytes))
    }
}

/// Returns true if the user trusts the project's configuration file with this text.
pub fn allows(file: &ProjectFile<'_>) -> bool {
    let store = Store::at(file.state, file.home);
    // A store that cannot be read is reported when tools are judged.
    let grant = store.read(&real(file.project)).ok().flatten();
    grant.is_some_and(|grant| grant.config.as_deref() == Some(digest(file.text).as_str()))
}

/// Hash of a text that is not in any graph.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Returns the real path of a directory, or the path itself if it cannot be resolved.
pub fn real(directory: &Path) -> PathBuf {
    directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned())
}

/// Path as text. Different paths have different texts, even if they are not UTF-8.
pub fn text_of(path: &Path) -> String {
    match path.to_str() {
        Some(text) => text.to_owned(),
        // A path cannot hold a zero byte, so the prefix is unambiguous.
        None => {
            let url = Url::from_file_path(path).map_or_else(|()| String::new(), String::from);
            format!("\0{url}")
        }
    }
}

/// Path with this text.
pub fn path_of(text: &str) -> PathBuf {
    let url = text.strip_prefix('\0').and_then(|url| Url::parse(url).ok());
    let path = url.and_then(|url| url.to_file_path().ok());
    path.unwrap_or_else(|| PathBuf::from(text))
}
