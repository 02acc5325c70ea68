//! State directory of haft, and its folders.
//!
//! haft's own files decide what tools may do: permits, grants of trust, tokens, logins, the log of
//! calls, the copies of verified scripts. Their paths are private to this module, so that each use
//! passes its checks:
//! - A folder is made before it is used, for its user alone.
//! - A folder or file that is missing rights of its user, or that others can read, is set right. A
//!   program in a sandbox can change modes of the user's files, because Landlock does not cover that.
//!   [`set_reporter`] says so, once for each path.
//! - A record that others could have written, that belongs to another user, or that is a link, is an
//!   error. It is never treated as missing.
//!
//! The log is different in one point: its lines are chained by hashes, so that a change by another user
//! is found. Its modes are always set right, and it records that.

use std::collections::BTreeSet;
use std::fmt;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, OnceLock, PoisonError};

pub use crate::atomic_file::Durability;

use crate::atomic_file;
use crate::owners::{self, Exposed, FileAccess};
use crate::system;

/// Mode of a folder of the state.
const FOLDER_MODE: u32 = 0o700;
/// Mode of a file of the state.
const FILE_MODE: u32 = 0o600;
/// Bits of a mode that let others write.
const OTHERS_WRITE: u32 = 0o022;

/// State directory of a user. Its path is private: [`StateDir::folder`] leads to the records.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateDir {
    root: PathBuf,
}

/// Folders of the state directory with files that haft believes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StatePart {
    /// The log of calls.
    Audit,
    /// Counts of the calls that could not be logged.
    AuditGaps,
    /// Copies of verified scripts.
    Images,
    /// Locks. No program in a sandbox can open this folder.
    Locks,
    /// Logins at MCP servers.
    Logins,
    /// Trusted definitions of MCP servers.
    McpPins,
    /// Permits of tools.
    Permits,
    /// Trusted definitions of other hosts.
    RemotePins,
    /// Observed types of results.
    ResultTypes,
    /// Scripts of code mode that ran.
    Runs,
    /// Files of running servers, unless the system has a folder for them.
    Runtime,
    /// Grants of tests.
    TestTrust,
    /// Tokens for clients.
    Tokens,
    /// Grants of trust.
    Trust,
}

/// Folders of the state directory with files for the user, which decide nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserFolder {
    /// Drafts of tool files.
    Drafts,
    /// Log lines of tools.
    Logs,
    /// Long results.
    Outputs,
    /// Sessions of calls and of agents.
    Sessions,
}

/// Folder with files that haft believes. Its path is private.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct StateFolder {
    /// The uppermost folder that haft makes and checks.
    root: PathBuf,
    path: PathBuf,
    content: Content,
}

/// Kind of the files in a folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
enum Content {
    /// Believed as they are.
    #[default]
    Records,
    /// Chained by hashes.
    Log,
}

/// Use of a file that is opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileUse {
    /// It is read, and must exist.
    Read,
    /// It is read and overwritten.
    Update,
    /// It is read and appended to.
    Append,
}

/// Lock that is held until it is dropped.
#[derive(Debug)]
pub struct StateLock(#[expect(dead_code, reason = "held")] File);

/// Mode of a folder or file that was set right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModeRepair {
    path: PathBuf,
    found: u32,
    wanted: u32,
}

/// Reason for which a folder or file of the state is not believed.
#[derive(Debug, thiserror::Error)]
pub enum StateError {
    /// The system refused.
    #[error("cannot read it: {}", .0.to_string().to_lowercase())]
    Unreadable(#[from] io::Error),
    /// It is a folder, a pipe, or another thing that is not a file.
    #[error("cannot read it: not a file")]
    NotAFile,
    /// It has more bytes than the limit.
    #[error("it is too large")]
    TooLarge,
    /// It belongs to another user.
    #[error("it belongs to somebody else")]
    NotOurs,
    /// Others can write to it.
    #[error("others than you may write to it")]
    Open,
    /// It is a symbolic link.
    #[error("it is a symbolic link")]
    Link,
    /// Others can replace a folder above it.
    #[error("{0}")]
    Exposed(Exposed),
}

impl StateError {
    /// Returns what the user does about it: an imperative.
    pub fn remedy(&self) -> &'static str {
        match self {
            StateError::Open => "`chmod -R go-w` it, after a look at what it says",
            StateError::Exposed(_) => {
                "let its folders belong to you or root, writable for nobody else; or let \
                 HAFT_STATE_DIR name a safe one"
            }
            StateError::NotOurs => "look at what it says, and remove it or give it to your user",
            StateError::Link => "replace the link by what it leads to, after a look at it",
            StateError::Unreadable(_) | StateError::NotAFile | StateError::TooLarge => {
                "correct or remove it, after a look at it"
            }
        }
    }
}

impl From<StateError> for io::Error {
    fn from(error: StateError) -> io::Error {
        match error {
            StateError::Unreadable(error) => error,
            other => io::Error::other(other),
        }
    }
}

impl fmt::Display for ModeRepair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.path.file_name().unwrap_or_default();
        let name = name.to_string_lossy();
        let (found, wanted) = (self.found, self.wanted);
        write!(
            f,
            "the mode of `{name}` was {found:04o} instead of {wanted:04o}"
        )
    }
}

impl ModeRepair {
    /// Returns the path, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for StateDir {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.root.display().fmt(f)
    }
}

impl fmt::Display for StateFolder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

impl StatePart {
    fn relative(self) -> &'static str {
        match self {
            StatePart::Audit => "audit",
            StatePart::AuditGaps => "audit-gaps",
            StatePart::Images => "verified",
            StatePart::Locks => "locks",
            StatePart::Logins => "mcp/tokens",
            StatePart::McpPins => "trust/mcp",
            StatePart::Permits => "permits",
            StatePart::RemotePins => "trust/remote",
            StatePart::ResultTypes => "result-types",
            StatePart::Runs => "runs",
            StatePart::Runtime => "run",
            StatePart::TestTrust => "trust/tests",
            StatePart::Tokens => "tokens",
            StatePart::Trust => "trust",
        }
    }
}

impl UserFolder {
    fn relative(self) -> &'static str {
        match self {
            UserFolder::Drafts => "drafts",
            UserFolder::Logs => "logs",
            UserFolder::Outputs => "outputs",
            UserFolder::Sessions => "sessions",
        }
    }
}

impl StateDir {
    /// Returns the state directory at `root`, whether it exists or not.
    pub fn new(root: PathBuf) -> StateDir {
        StateDir { root }
    }

    /// Folder with files that haft believes.
    pub fn folder(&self, part: StatePart) -> StateFolder {
        StateFolder {
            root: self.root.clone(),
            path: self.root.join(part.relative()),
            content: match part {
                StatePart::Audit | StatePart::AuditGaps => Content::Log,
                _ => Content::Records,
            },
        }
    }

    /// Path of a folder with files for the user, whether it exists or not.
    pub fn user_folder(&self, folder: UserFolder) -> PathBuf {
        self.root.join(folder.relative())
    }

    /// Creates the file with the history of `haft repl` if it is missing, and returns its path.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn make_repl_history(&self) -> io::Result<PathBuf> {
        make_folder(&self.root)?;
        let path = self.root.join("repl-history");
        match system::create_new(&path, FILE_MODE) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            _ => Ok(path),
        }
    }

    /// Returns true if it is below the folder.
    pub fn is_below(&self, folder: &Path) -> bool {
        self.root.starts_with(folder)
    }

    /// Creates the directory if it is missing, and returns its real path, over which a sandbox puts an
    /// empty folder; `None` if there is none.
    #[cfg(target_os = "linux")]
    pub(crate) fn to_hide(&self) -> Option<PathBuf> {
        make_folder(&self.root).ok()?;
        self.root.canonicalize().ok()
    }
}

impl StateFolder {
    /// Folder of a cache, whether it exists or not. A cached file that is not believed is made
    /// again.
    pub fn of_cache(path: PathBuf) -> StateFolder {
        StateFolder {
            root: path.clone(),
            path,
            content: Content::Records,
        }
    }

    /// Folder at `path` for the files of running servers.
    pub fn of_runtime(path: PathBuf) -> StateFolder {
        StateFolder::of_cache(path)
    }

    /// Reads a file of at most `max_bytes` bytes; `None` if it is missing.
    ///
    /// # Errors
    /// If it is not believed.
    pub fn read(&self, name: &str, max_bytes: u64) -> Result<Option<Vec<u8>>, StateError> {
        let mut repairs = Vec::new();
        let file = self.open_existing(name, &mut repairs);
        report(&repairs);
        let Some(file) = file? else {
            return Ok(None);
        };
        let size = file.metadata()?.len();
        if size > max_bytes {
            return Err(StateError::TooLarge);
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default() + 1);
        file.take(max_bytes + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > max_bytes {
            return Err(StateError::TooLarge);
        }
        Ok(Some(bytes))
    }

    /// Returns true if it exists.
    ///
    /// # Errors
    /// If it is not believed.
    pub fn exists(&self) -> Result<bool, StateError> {
        self.checked(false)
    }

    /// Returns true if a file of that name exists.
    ///
    /// # Errors
    /// If the folder is not believed.
    pub fn has(&self, name: &str) -> Result<bool, StateError> {
        if !self.checked(false)? {
            return Ok(false);
        }
        Ok(look(&self.path.join(name))?.is_some())
    }

    /// Returns the time since the file was written; `None` if it is missing.
    pub fn age(&self, name: &str) -> Option<std::time::Duration> {
        let modified = self.path.join(name).symlink_metadata().ok()?.modified();
        modified.ok()?.elapsed().ok()
    }

    /// Time at which an entry of the folder was made or removed last.
    pub fn modified(&self) -> Option<std::time::SystemTime> {
        self.path.metadata().ok()?.modified().ok()
    }

    /// Writes a file in place of an earlier one.
    ///
    /// # Errors
    /// If the folder is not believed, or the file cannot be written.
    pub fn replace(&self, name: &str, bytes: &[u8], durability: Durability) -> io::Result<()> {
        self.checked(true)?;
        atomic_file::write_private(&self.path.join(name), bytes, durability)
    }

    /// Removes a file; returns false if it is missing.
    ///
    /// # Errors
    /// If it cannot be removed.
    pub fn remove(&self, name: &str) -> io::Result<bool> {
        // A file of a folder that is not believed may be removed all the same.
        let _ = self.checked(false);
        match fs::remove_file(self.path.join(name)) {
            Err(error) if is_missing(&error) => Ok(false),
            removed => removed.map(|()| true),
        }
    }

    /// Renames a file within the folder.
    ///
    /// # Errors
    /// If it cannot be renamed.
    pub fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    /// Names of its entries, sorted; none if it is missing.
    ///
    /// # Errors
    /// If the folder is not believed, or cannot be listed.
    pub fn names(&self) -> Result<Vec<String>, StateError> {
        if !self.checked(false)? {
            return Ok(Vec::new());
        }
        let mut names = Vec::new();
        for entry in fs::read_dir(&self.path)? {
            names.extend(entry?.file_name().into_string());
        }
        names.sort_unstable();
        Ok(names)
    }

    /// Opens a file, and notes in `repairs` the modes that it set right. A missing file is created,
    /// unless it is only read.
    ///
    /// # Errors
    /// If the folder or the file is not believed.
    pub fn open(
        &self,
        name: &str,
        file_use: FileUse,
        repairs: &mut Vec<ModeRepair>,
    ) -> Result<File, StateError> {
        let is_read = file_use == FileUse::Read;
        if is_read {
            let file = self.open_existing(name, repairs)?;
            return file.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound).into());
        }
        self.check(true, repairs)?;
        let mut options = File::options();
        options.read(true).create(true);
        if file_use == FileUse::Append {
            options.append(true);
        } else {
            options.write(true).truncate(false);
        }
        self.open_with(name, options, repairs)
    }

    /// Waits for the lock of that name, and creates its file if it is missing.
    ///
    /// # Errors
    /// If the folder or the file is not believed.
    pub fn lock(&self, name: &str) -> io::Result<StateLock> {
        let mut repairs = Vec::new();
        let lock = self.lock_noting(name, &mut repairs);
        report(&repairs);
        lock
    }

    /// Waits for the lock of that name, as [`StateFolder::lock`] does, and notes in `repairs` the modes
    /// that it set right.
    ///
    /// # Errors
    /// If the folder or the file is not believed.
    pub fn lock_noting(&self, name: &str, repairs: &mut Vec<ModeRepair>) -> io::Result<StateLock> {
        let file = self.open(name, FileUse::Update, repairs)?;
        file.lock()?;
        Ok(StateLock(file))
    }

    /// Checks the folder and what is in it, and sets modes right. Creates it if it is missing and
    /// `makes` is true; else returns false.
    ///
    /// # Errors
    /// If it is not believed.
    pub fn check(&self, makes: bool, repairs: &mut Vec<ModeRepair>) -> Result<bool, StateError> {
        let below = self.path.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let mut folder = self.root.clone();
        let mut parts = below.iter();
        loop {
            let is_root = folder == self.root;
            let found = match look(&folder)? {
                // The user may have put the whole directory elsewhere.
                Some(found) if found.is_symlink() && is_root => Some(folder.metadata()?),
                found => found,
            };
            match found {
                Some(found) => self.check_folder(&folder, is_root, &found, repairs)?,
                None if makes => make_folder(&folder)?,
                None => return Ok(false),
            }
            match parts.next() {
                Some(part) => folder.push(part),
                None => return Ok(true),
            }
        }
    }

    /// Checks that no other user can replace the folder or a folder above it.
    ///
    /// # Errors
    /// If another user can.
    pub fn check_owners(&self) -> Result<(), StateError> {
        owners::check(&self.path).map_err(StateError::Exposed)
    }

    /// Returns true if it lies inside of the folder, whose path is real.
    pub fn is_inside(&self, folder: &Path) -> bool {
        let real = self.path.canonicalize();
        real.as_deref().unwrap_or(&self.path).starts_with(folder)
    }

    /// Creates a folder that only its user can enter, or checks that an existing one is such a folder.
    /// Returns its path. Nothing is set right: another program may have opened it on purpose.
    ///
    /// # Errors
    /// If others can enter it, or it is a link.
    pub fn make_private(&self) -> io::Result<&Path> {
        make_folder(&self.path)?;
        self.check_private()
    }

    /// Checks that only its user can enter the folder. Returns its path.
    ///
    /// # Errors
    /// If it is missing, others can enter it, or it is a link.
    pub fn check_private(&self) -> io::Result<&Path> {
        let is_folder = self.path.symlink_metadata()?.is_dir();
        let access = FileAccess::of_link(&self.path)?;
        if is_folder && access.is_ours && !access.others_any {
            return Ok(&self.path);
        }
        Err(io::Error::other(format!(
            "`{self}` is not a folder that only its user can enter (mode 0700)"
        )))
    }

    /// Path of the folder, or of a file in it, for messages and for a watcher of changes.
    /// Everything else uses the other functions, which check what they use.
    pub fn path_for_messages(&self, name: &str) -> PathBuf {
        if name.is_empty() {
            self.path.clone()
        } else {
            self.path.join(name)
        }
    }

    /// Path of a folder in it, which is made and checked.
    pub(crate) fn make_subfolder(&self, name: &str) -> io::Result<PathBuf> {
        let subfolder = StateFolder {
            path: self.path.join(name),
            ..self.clone()
        };
        subfolder.checked(true)?;
        Ok(subfolder.path)
    }

    /// Checks the folder, and reports what was set right.
    fn checked(&self, makes: bool) -> Result<bool, StateError> {
        let mut repairs = Vec::new();
        let checked = self.check(makes, &mut repairs);
        report(&repairs);
        checked
    }

    fn check_folder(
        &self,
        folder: &Path,
        is_root: bool,
        found: &Metadata,
        repairs: &mut Vec<ModeRepair>,
    ) -> Result<(), StateError> {
        if found.is_symlink() {
            return Err(StateError::Link);
        }
        if !found.is_dir() {
            // The system's own error for a file in the place of a folder.
            folder.join(".").symlink_metadata()?;
            return Err(StateError::NotAFile);
        }
        check_owner(FileAccess::of(folder)?)?;
        let Some(mode) = system::mode_of(found) else {
            return Ok(());
        };
        if !is_root {
            return self.set_right(folder, mode, FOLDER_MODE, repairs);
        }
        // Others who can write there can remove a whole folder of records. A group may have no other
        // member.
        if mode & OTHERS_WRITE != 0 && self.content == Content::Records {
            owners::check(folder).map_err(StateError::Exposed)?;
        }
        // The user may let others read the directory.
        self.set_right(folder, mode, mode | FOLDER_MODE, repairs)
    }

    /// Sets a mode right, unless others could write and the content is believed.
    fn set_right(
        &self,
        path: &Path,
        found: u32,
        wanted: u32,
        repairs: &mut Vec<ModeRepair>,
    ) -> Result<(), StateError> {
        if found & !wanted & OTHERS_WRITE != 0 && self.content == Content::Records {
            return Err(StateError::Open);
        }
        if found != wanted {
            system::set_mode(path, wanted)?;
            repairs.push(ModeRepair {
                path: path.to_owned(),
                found,
                wanted,
            });
        }
        Ok(())
    }

    fn open_existing(
        &self,
        name: &str,
        repairs: &mut Vec<ModeRepair>,
    ) -> Result<Option<File>, StateError> {
        if !self.check(false, repairs)? {
            return Ok(None);
        }
        let mut options = File::options();
        options.read(true);
        match self.open_with(name, options, repairs) {
            Err(StateError::Unreadable(error)) if error.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            opened => opened.map(Some),
        }
    }

    fn open_with(
        &self,
        name: &str,
        options: OpenOptions,
        repairs: &mut Vec<ModeRepair>,
    ) -> Result<File, StateError> {
        let path = self.path.join(name);
        // Before it is opened: without rights of its user it cannot be, and opening some devices does
        // something.
        if let Some(found) = look(&path)? {
            if found.is_symlink() {
                return Err(StateError::Link);
            }
            if !found.is_file() {
                return Err(StateError::NotAFile);
            }
            check_owner(FileAccess::of_link(&path)?)?;
            if let Some(mode) = system::mode_of(&found) {
                self.set_right(&path, mode, FILE_MODE, repairs)?;
            }
        }
        let file = system::open_own(&path, options, FILE_MODE)?;
        // The name may mean another file by now.
        if !file.metadata()?.is_file() {
            return Err(StateError::NotAFile);
        }
        let access = FileAccess::of_file(&file)?;
        check_owner(access)?;
        if access.others_write {
            return Err(StateError::Open);
        }
        Ok(file)
    }
}

fn check_owner(access: FileAccess) -> Result<(), StateError> {
    if access.is_ours {
        Ok(())
    } else {
        Err(StateError::NotOurs)
    }
}

/// Returns what is at `path` without following a link; `None` if nothing is.
fn look(path: &Path) -> Result<Option<Metadata>, StateError> {
    match path.symlink_metadata() {
        Ok(found) => Ok(Some(found)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error.into()),
    }
}

fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Creates the folder for its user alone, and the folders above it with the usual permissions. An
/// existing folder stays as it is.
pub fn make_folder(folder: &Path) -> io::Result<()> {
    if let Some(parent) = folder.parent() {
        fs::create_dir_all(parent)?;
    }
    match system::create_private_folder(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Restricts a folder of the current user to that user. Earlier versions of haft created folders that
/// others can read.
pub fn restrict(folder: &Path) -> io::Result<()> {
    let access = FileAccess::of(folder)?;
    if access.is_ours && access.others_any {
        system::restrict(folder)
    } else {
        Ok(())
    }
}

/// Function that tells the user about a mode that was set right.
static REPORTER: OnceLock<fn(&ModeRepair)> = OnceLock::new();

/// Sets the function that tells the user about modes that were set right, once for each path. Only the
/// first call counts.
pub fn set_reporter(report: fn(&ModeRepair)) {
    // A second call comes from the same program.
    let _ = REPORTER.set(report);
}

/// Tells the user about modes that were set right.
pub fn report(repairs: &[ModeRepair]) {
    static TOLD: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    for repair in repairs {
        let is_news = {
            let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
            told.insert(repair.path.clone())
        };
        if is_news {
            tracing::warn!(path = %repair.path.display(), "{repair}; it was set right");
            if let Some(tell) = REPORTER.get() {
                tell(repair);
            }
        }
    }
}

#[cfg(all(test, unix))]
#[expect(
    clippy::disallowed_methods,
    reason = "tests change modes behind the module's back"
)]
mod tests {
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};

    use super::*;

    fn set_mode(path: &Path, mode: u32) {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("it is ours");
    }

    fn mode(path: &Path) -> u32 {
        path.metadata().expect("it is there").mode() & 0o7777
    }

    /// Makes a state directory with a permit, and a folder of it.
    fn permits() -> (tempfile::TempDir, StateFolder, PathBuf) {
        let scratch = tempfile::tempdir().expect("a folder");
        let state = StateDir::new(scratch.path().join("state"));
        let folder = state.folder(StatePart::Permits);
        folder
            .replace("a.json", b"text", Durability::Unsynced)
            .expect("it is written");
        let path = folder.path_for_messages("a.json");
        (scratch, folder, path)
    }

    #[test]
    fn missing_rights_and_rights_of_readers_are_set_right_at_each_use() {
        let (scratch, folder, path) = permits();
        let root = scratch.path().join("state");
        for wrong in [0o000, 0o200, 0o400, 0o644, 0o755] {
            set_mode(&path, wrong);
            assert_eq!(
                folder.read("a.json", 9).expect("it is ours").as_deref(),
                Some(&b"text"[..])
            );
            assert_eq!(mode(&path), 0o600, "{wrong:o}");
        }
        for wrong in [0o000, 0o500, 0o600, 0o755] {
            set_mode(path.parent().expect("it has one"), wrong);
            assert!(folder.has("a.json").expect("it is ours"), "{wrong:o}");
            assert_eq!(mode(path.parent().expect("it has one")), 0o700);
        }
        set_mode(&root, 0o000);
        assert!(folder.has("a.json").expect("it is ours"));
        assert_eq!(mode(&root), 0o700);
    }

    #[test]
    fn a_record_that_is_not_believed_is_an_error_and_not_missing() {
        let (_scratch, folder, path) = permits();
        let parent = path.parent().expect("it has one").to_owned();
        for (place, wrong) in [
            (&path, 0o602),
            (&path, 0o660),
            (&parent, 0o777),
            (&parent, 0o720),
        ] {
            let right = mode(place);
            set_mode(place, wrong);
            assert!(
                matches!(folder.read("a.json", 9), Err(StateError::Open)),
                "{wrong:o}"
            );
            set_mode(place, right);
        }
        assert!(matches!(
            folder.read("a.json", 3),
            Err(StateError::TooLarge)
        ));
        fs::rename(&path, parent.join("b.json")).expect("it is ours");
        symlink("b.json", &path).expect("it is free");
        assert!(matches!(folder.read("a.json", 9), Err(StateError::Link)));
        fs::remove_file(&path).expect("it is ours");
        fs::create_dir(&path).expect("it is free");
        assert!(matches!(
            folder.read("a.json", 9),
            Err(StateError::NotAFile)
        ));
        let aside = parent.with_file_name("aside");
        fs::rename(&parent, &aside).expect("it is ours");
        symlink(&aside, &parent).expect("it is free");
        assert!(matches!(folder.read("b.json", 9), Err(StateError::Link)));
        fs::remove_file(&parent).expect("it is ours");
        assert!(matches!(folder.read("b.json", 9), Ok(None)));
        fs::write(&parent, "").expect("it is free");
        assert!(folder.read("b.json", 9).is_err());
    }

    #[test]
    fn the_log_is_set_right_whatever_its_mode_is_and_the_repairs_are_noted() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = StateDir::new(scratch.path().join("state")).folder(StatePart::Audit);
        let mut repairs = Vec::new();
        drop(
            folder
                .open("log", FileUse::Append, &mut repairs)
                .expect("it is made"),
        );
        assert_eq!(repairs, []);
        let path = folder.path_for_messages("log");
        for wrong in [0o000, 0o666, 0o444] {
            set_mode(&path, wrong);
            set_mode(path.parent().expect("it has one"), 0o777);
            let mut repairs = Vec::new();
            drop(
                folder
                    .open("log", FileUse::Append, &mut repairs)
                    .expect("it is ours"),
            );
            let texts: Vec<String> = repairs.iter().map(ModeRepair::to_string).collect();
            let of_file = format!("the mode of `log` was {wrong:04o} instead of 0600");
            assert_eq!(
                texts,
                ["the mode of `audit` was 0777 instead of 0700", &of_file]
            );
        }
    }
}
