//! Store of grants: one file for each project in the user's state directory.
//!
//! A store that another user could have written is not used, nor one inside of the project itself.
//! A grant that cannot be read counts as missing, and is reported.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use url::Url;

use crate::ProjectFile;
use crate::paths::is_missing;
use haft_process::owners::{self, Exposed, FileAccess};
use haft_process::private_files::{self, Durability};
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

/// Store of one user's grants.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
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

/// Reason why a grant cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("cannot read it: {0}")]
    Unreadable(String),
    #[error("it is not a trust file")]
    Broken,
    #[error("another version of haft made it, which recorded something else")]
    OtherVersion,
    #[error("it belongs to somebody else")]
    NotOurs,
    #[error("others than you may write to it")]
    Open,
    #[error("{0}")]
    Exposed(Exposed),
    #[error("it lies inside of the project that it is about")]
    InProject,
}

/// Writes a file of the state below `home`, and makes its folder.
pub(super) fn store(
    folder: &Path,
    home: &Path,
    path: &Path,
    content: &impl Serialize,
) -> io::Result<()> {
    if folder.starts_with(home) && !home.is_dir() {
        // Root could create it, but it would be lost with the container.
        return Err(io::Error::other("there is no home directory"));
    }
    private_files::make_folder(folder)?;
    private_files::replace(path, &serde_json::to_vec(content)?, Durability::Synced)
}

impl Store {
    /// Returns the store in a state directory.
    pub fn at(state_dir: &Path, home: &Path) -> Store {
        Store {
            folder: state_dir.join("trust"),
            home: home.to_owned(),
        }
    }

    /// Returns the store of the grants of tests.
    pub fn of_tests(state_dir: &Path, home: &Path) -> Store {
        Store {
            folder: state_dir.join("trust/tests"),
            home: home.to_owned(),
        }
    }

    /// Reads the grant of the project with this real path.
    pub fn read(&self, project: &Path) -> Result<Option<Grant>, StoreError> {
        let path = self.file_of(project);
        if !is_there(&path)? {
            return Ok(None);
        }
        check_folder(&self.folder, &self.home, project)?;
        let grant: Grant = read(&path, VERSION)?;
        if grant.project == text_of(project) {
            Ok(Some(grant))
        } else {
            Err(StoreError::Broken)
        }
    }

    /// Returns the problem of a grant that cannot be used.
    pub fn problem(&self, project: &Path, error: &StoreError) -> Problem {
        let path = self.file_of(project);
        let hint = match error {
            StoreError::InProject => "point XDG_STATE_HOME or HAFT_STATE_DIR somewhere else",
            StoreError::Exposed(_) => {
                "let its folders belong to you or root, writable for nobody else; or let \
                 HAFT_STATE_DIR name a safe one"
            }
            StoreError::Open => "`chmod -R go-w` it, after a look at what it says",
            StoreError::OtherVersion => "`haft trust` shows what would run, and asks again",
            _ => "`haft trust` writes it anew; remove it if that fails",
        };
        Problem::warning(format!("the stored trust is not used: {error}"))
            .at(path)
            .hint(hint)
    }

    /// Stores a grant in place of an earlier one.
    pub fn write(&self, project: &Path, grant: &impl Serialize) -> Result<(), Error> {
        let path = self.file_of(project);
        let failed = |error: io::Error| {
            let text = format!("cannot store the trust in {}: {error}", path.display());
            let hint = "XDG_STATE_HOME or HAFT_STATE_DIR name another place; --trust-project \
                        needs none";
            Error::new(ErrorKind::Internal, text).with_hint(hint)
        };
        store(&self.folder, &self.home, &path, grant).map_err(failed)
    }

    /// Removes the grants of a project and its tests; returns false if there were none.
    ///
    /// # Errors
    /// When a file cannot be removed.
    pub fn forget(&self, project: &Path) -> Result<bool, Error> {
        let path = self.file_of(project);
        let name = path.file_name().unwrap_or_default();
        let of_tests = self.folder.join("tests").join(name);
        let had_tests = remove(&of_tests)?;
        Ok(remove(&path)? || had_tests)
    }

    /// Returns every trusted project, by path, and the problems of unusable grants.
    pub fn projects(&self) -> (Vec<Project>, Vec<Problem>) {
        let (mut projects, mut problems) = (Vec::new(), Vec::new());
        let entries = match fs::read_dir(&self.folder) {
            Ok(entries) => entries,
            Err(error) if is_missing(&error) => return (projects, problems),
            Err(error) => {
                let text = format!("the stored trust cannot be listed: {error}");
                problems.push(Problem::error(text).at(&self.folder));
                return (projects, problems);
            }
        };
        let paths = entries.flatten().map(|entry| entry.path());
        for path in paths.filter(|path| path.extension().is_some_and(|end| end == "json")) {
            match read::<Grant>(&path, VERSION) {
                Ok(grant) => projects.push(Project {
                    path: grant.project.replace('\0', ""),
                    tools: grant.tools.len(),
                    trusted_at: grant.trusted_at,
                }),
                Err(error) => problems.push(
                    Problem::warning(format!("this trust is not used: {error}"))
                        .at(path)
                        .hint("remove the file"),
                ),
            }
        }
        projects.sort_by(|a, b| a.path.cmp(&b.path));
        problems.sort_by(|a, b| a.path.cmp(&b.path));
        (projects, problems)
    }

    pub fn file_of(&self, project: &Path) -> PathBuf {
        let hash = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
        self.folder.join(format!("{}.json", &hash[..32]))
    }
}

/// Removes a grant; returns false if there is none.
fn remove(path: &Path) -> Result<bool, Error> {
    match fs::remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => {
            let text = format!("cannot remove {}: {error}", path.display());
            Err(Error::new(ErrorKind::Internal, text).with_hint("remove it by hand"))
        }
    }
}

/// Checks that only the user can write to a folder of the state directory, and that it is outside
/// of the project.
pub(crate) fn check_folder(folder: &Path, home: &Path, project: &Path) -> Result<(), StoreError> {
    let real_folder = real(folder);
    if real_folder.starts_with(project) && !home.starts_with(project) {
        return Err(StoreError::InProject);
    }
    check(FileAccess::of(folder).map_err(unreadable)?)?;
    owners::check(folder).map_err(StoreError::Exposed)
}

pub(crate) fn is_there(path: &Path) -> Result<bool, StoreError> {
    match fs::symlink_metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if is_missing(&error) => Ok(false),
        Err(error) => Err(unreadable(error)),
    }
}

/// Reads a private JSON file with this `version`.
pub(crate) fn read<T: DeserializeOwned>(path: &Path, version: u32) -> Result<T, StoreError> {
    let found = fs::metadata(path).map_err(unreadable)?;
    if !found.is_file() {
        return Err(StoreError::Unreadable("not a file".into()));
    }
    let mut file = File::open(path).map_err(unreadable)?;
    // Checks the opened file itself, because the name may mean another file by now.
    check(FileAccess::of_file(&file).map_err(unreadable)?)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(unreadable)?;
    #[derive(Deserialize)]
    struct Versioned {
        version: u32,
    }
    let found: Versioned = serde_json::from_slice(&bytes).map_err(|_| StoreError::Broken)?;
    if found.version != version {
        return Err(StoreError::OtherVersion);
    }
    serde_json::from_slice(&bytes).map_err(|_| StoreError::Broken)
}

fn check(access: FileAccess) -> Result<(), StoreError> {
    if !access.is_ours {
        return Err(StoreError::NotOurs);
    }
    if access.others_write {
        return Err(StoreError::Open);
    }
    Ok(())
}

fn unreadable(error: io::Error) -> StoreError {
    StoreError::Unreadable(error.to_string().to_lowercase())
}

/// Returns true if the user trusts the project's configuration file with this text.
pub fn allows(file: &ProjectFile<'_>) -> bool {
    let store = Store::at(file.state_dir, file.home);
    // A store that cannot be read is reported when tools are judged.
    let grant = store.read(&real(file.project)).ok().flatten();
    grant.is_some_and(|grant| grant.config.as_deref() == Some(digest(file.text).as_str()))
}

/// Returns the hash of a text that is not in any graph.
pub fn digest(text: &str) -> String {
    blake3::hash(text.as_bytes()).to_hex().to_string()
}

/// Returns the real path of a directory, or the path itself if it cannot be resolved.
pub fn real(directory: &Path) -> PathBuf {
    directory
        .canonicalize()
        .unwrap_or_else(|_| directory.to_owned())
}

/// Returns a path as text. Different paths have different texts, even if they are not UTF-8.
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

/// Returns the path with this text.
pub fn path_of(text: &str) -> PathBuf {
    let url = text.strip_prefix('\0').and_then(|url| Url::parse(url).ok());
    let path = url.and_then(|url| url.to_file_path().ok());
    path.unwrap_or_else(|| PathBuf::from(text))
}
