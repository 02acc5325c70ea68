//! Programs of a trusted project: only the bytes that the user trusted are started.
//!
//! A [`VerifiedProgram`] is a command on behalf of a project: its program, its words, its variables,
//! and the files of the project among them with the hash of each. It is the only form in which a
//! [`crate::Spawn`] takes a file of a project. At the start each file is opened once and hashed. A
//! native program is started from the descriptor that was hashed; what an interpreter reads later
//! and by path gets a private copy of the hashed bytes ([`image`]).
//!
//! The backend of the system makes sure that the bytes which run are those that were hashed: by a
//! lease (Linux), by a private copy (macOS), or by handles that exclude writers (Windows).

#[cfg(unix)]
mod image;
#[cfg(unix)]
mod interpreter_line;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;
mod words;

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

#[cfg(unix)]
use unix::prepare;
#[cfg(windows)]
use windows::prepare;
use words::ProgramWord;
pub use words::{CommandWord, project_files};

#[cfg(unix)]
use crate::owners;
use crate::regular_files::Refused;
use crate::sandbox::Sandbox;
use crate::state_dir::{StateDir, StatePart};
use crate::system::Descriptor;
use crate::{GrantedPath, LinkBounds};

/// Folders of the kernel, in which a path means another file for each process.
#[cfg(unix)]
const KERNEL_FOLDERS: [&str; 2] = ["/proc", "/dev/fd"];

/// Program of a [`crate::Spawn`].
#[derive(Clone, Debug)]
pub enum SpawnProgram {
    /// A program that haft or the user chose.
    Chosen(ChosenProgram),
    /// A program of a trusted project.
    Verified(VerifiedProgram),
}

/// Name or path of a program that haft or the user chose: one of the machine, or the user's own.
/// Never a file of a project: its bytes are not compared with anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChosenProgram(OsString);

impl ChosenProgram {
    /// Program with this name or path. The caller states that no project brings it.
    pub fn not_of_project(program: impl Into<OsString>) -> ChosenProgram {
        ChosenProgram(program.into())
    }

    /// Returns the name or the path.
    pub fn as_os_str(&self) -> &OsStr {
        &self.0
    }
}

/// A name in haft's own code.
impl From<&'static str> for SpawnProgram {
    fn from(name: &'static str) -> SpawnProgram {
        SpawnProgram::Chosen(ChosenProgram(name.into()))
    }
}

impl From<ChosenProgram> for SpawnProgram {
    fn from(program: ChosenProgram) -> SpawnProgram {
        SpawnProgram::Chosen(program)
    }
}

impl From<VerifiedProgram> for SpawnProgram {
    fn from(program: VerifiedProgram) -> SpawnProgram {
        SpawnProgram::Verified(program)
    }
}

impl SpawnProgram {
    /// Returns the name or path of the program, for messages and rules.
    pub fn name(&self) -> &OsStr {
        match self {
            SpawnProgram::Chosen(program) => &program.0,
            SpawnProgram::Verified(program) => program.name(),
        }
    }

    /// Makes the folder for the private copies of its files, if it has files of a project.
    ///
    /// # Errors
    /// If it cannot be made, or is not believed.
    pub fn make_image(&self) -> io::Result<Option<GrantedPath>> {
        match self {
            SpawnProgram::Chosen(_) => Ok(None),
            SpawnProgram::Verified(program) => program.make_image(),
        }
    }

    /// Program as an argument of `wrapper`, a program of haft's own, after `args`, with
    /// the arguments that follow.
    pub(crate) fn behind(
        self,
        wrapper: &Wrapper,
        args: Vec<OsString>,
        own: Vec<OsString>,
    ) -> (SpawnProgram, Vec<OsString>) {
        match self {
            SpawnProgram::Chosen(program) => {
                let args = args.into_iter().chain([program.0]).chain(own);
                (wrapper.name.into(), args.collect())
            }
            SpawnProgram::Verified(mut program) => {
                let before = [OsString::from(wrapper.name)].into_iter().chain(args);
                let before: Vec<ProgramWord> = before.map(ProgramWord::data).collect();
                program.program += before.len();
                program.finds_program &= wrapper.finds_program;
                program.words.splice(0..0, before);
                (program.into(), own)
            }
        }
    }
}

/// Program of haft's own that starts a tool's program.
#[derive(Clone, Copy, Debug)]
pub struct Wrapper {
    /// Its name.
    pub name: &'static str,
    /// True if it finds the tool's program as haft does; false if it looks in another file system.
    pub finds_program: bool,
}

/// A trusted project, from which [`VerifiedProgram`]s are made.
#[derive(Clone, Copy)]
pub struct TrustedProject<'a> {
    /// Its real path.
    pub root: &'a Path,
    /// The path through which it was reached, if that is not its real path.
    pub alias: Option<&'a Path>,
    /// The state directory, which has the copies of its files.
    pub state: &'a StateDir,
    /// Hash that a file must have to become code; `None` if it was not trusted.
    pub digest: &'a dyn Fn(&Path) -> Option<blake3::Hash>,
}

/// Program that starts on behalf of a trusted project, with the files of the project that belong to
/// it and the hash that each must have.
#[derive(Clone, Debug)]
pub struct VerifiedProgram {
    scope: ProjectScope,
    /// The state directory, which has the copies of its files.
    state: StateDir,
    /// The program, and its first arguments.
    words: Vec<ProgramWord>,
    /// The index of the program; the words before it are a wrapper's.
    program: usize,
    /// True if the name of the program is looked up on this machine.
    finds_program: bool,
    variables: Vec<(OsString, ProgramWord)>,
}

/// Folders of a project.
#[derive(Clone, Debug)]
struct ProjectScope {
    root: PathBuf,
    alias: Option<PathBuf>,
    /// The folder that relative words start from.
    folder: PathBuf,
}

/// File of a project with the hash that it must have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct VerifiedFile {
    path: PathBuf,
    digest: [u8; blake3::OUT_LEN],
}

impl VerifiedProgram {
    /// File of the project as a program, which must have the hash `digest`.
    pub fn of_file(
        project: &TrustedProject<'_>,
        path: &Path,
        digest: blake3::Hash,
    ) -> VerifiedProgram {
        let file = VerifiedFile {
            path: path.to_owned(),
            digest: *digest.as_bytes(),
        };
        VerifiedProgram {
            scope: ProjectScope::of(project, project.root),
            state: project.state.clone(),
            words: vec![ProgramWord::file(file)],
            program: 0,
            finds_program: true,
            variables: Vec::new(),
        }
    }

    /// Program of a command of the project, which starts in `folder`. The first word is
    /// the program.
    ///
    /// # Errors
    /// If a word names a file of the project that was not trusted.
    pub fn of_command(
        project: &TrustedProject<'_>,
        folder: &Path,
        words: &[CommandWord],
    ) -> Result<VerifiedProgram, NotVerified> {
        let scope = ProjectScope::of(project, folder);
        let parsed = words.iter().enumerate();
        let words = parsed
            .map(|(index, word)| scope.parse(word, index == 0, project.digest))
            .collect::<Result<_, _>>()?;
        Ok(VerifiedProgram {
            scope,
            state: project.state.clone(),
            words,
            program: 0,
            finds_program: true,
            variables: Vec::new(),
        })
    }

    /// Adds a variable that the command sets.
    ///
    /// # Errors
    /// If its value names a file of the project that was not trusted.
    pub fn set_variable(
        &mut self,
        project: &TrustedProject<'_>,
        name: &str,
        value: &CommandWord,
    ) -> Result<(), NotVerified> {
        let value = self.scope.parse(value, false, project.digest)?;
        self.variables.push((name.into(), value));
        Ok(())
    }

    /// Returns the name or the path of the program, or of its wrapper.
    pub fn name(&self) -> &OsStr {
        self.words.first().map_or(OsStr::new(""), ProgramWord::text)
    }

    /// Makes the folder for the private copies of its files; `None` if it has no files.
    ///
    /// # Errors
    /// If it cannot be made, or is not believed.
    pub fn make_image(&self) -> io::Result<Option<GrantedPath>> {
        let files = self.files();
        if files.is_empty() {
            return Ok(None);
        }
        make_image(&self.state, &image_place(&files)).map(Some)
    }

    /// Returns its files, each once.
    fn files(&self) -> Vec<&VerifiedFile> {
        let variables = self.variables.iter().map(|(_, value)| value);
        let words = self.words.iter().chain(variables);
        let mut files: Vec<&VerifiedFile> = words.flat_map(ProgramWord::files).collect();
        files.sort();
        files.dedup();
        files
    }

    /// Number of words that name the file.
    #[cfg(unix)]
    fn uses(&self, file: Option<&VerifiedFile>) -> usize {
        let variables = self.variables.iter().map(|(_, value)| value);
        let files = self.words.iter().chain(variables);
        files
            .flat_map(ProgramWord::files)
            .filter(|it| Some(*it) == file)
            .count()
    }

    /// Checks again that no word names a file of the project besides its own files: one may have
    /// been put there meanwhile.
    fn check_words(&self) -> Result<(), NotVerified> {
        let variables = self.variables.iter().map(|(_, value)| value);
        for (index, word) in self.words.iter().chain(variables).enumerate() {
            self.scope
                .parse(&word.without_files(), index == self.program, &|_| None)?;
        }
        Ok(())
    }
}

impl ProjectScope {
    fn of(project: &TrustedProject<'_>, folder: &Path) -> ProjectScope {
        ProjectScope {
            root: project.root.to_owned(),
            alias: project.alias.map(Path::to_owned),
            folder: folder.to_owned(),
        }
    }

    /// Returns true if the path lies in the project. Links are not followed.
    fn contains(&self, path: &Path) -> bool {
        let alias = self.alias.as_ref();
        path.starts_with(&self.root) || alias.is_some_and(|alias| path.starts_with(alias))
    }

    /// Checks that neither a file nor any link on the way to it lies in the project, or in a folder
    /// whose content depends on the process. The error is the place.
    #[cfg(unix)]
    fn check_outside(&self, path: &Path) -> Result<(), PathBuf> {
        let mut places = owners::places(path).into_iter();
        let found = places.find(|place| {
            let mut of_kernel = KERNEL_FOLDERS.iter();
            self.contains(place) || of_kernel.any(|folder| place.starts_with(folder))
        });
        found.map_or(Ok(()), Err)
    }

    /// Path with the project's alias replaced by its real path.
    fn real<'a>(&self, path: &'a Path) -> Cow<'a, Path> {
        let alias = self.alias.as_ref();
        match alias.and_then(|alias| path.strip_prefix(alias).ok()) {
            Some(rest) => self.root.join(rest).into(),
            None => path.into(),
        }
    }
}

/// Makes the folder with the copies of all versions of some files, and returns its path, for the
/// sandbox of their programs: the rules of a sandbox name existing folders only. It stays when a
/// file changes.
fn make_image(state: &StateDir, place: &str) -> io::Result<GrantedPath> {
    let made = state.folder(StatePart::Images).make_subfolder(place)?;
    // Links above the state directory are the user's own.
    let resolved = LinkBounds::new([]).resolve(&made);
    resolved.map_err(io::Error::other)
}

/// Name of the folder with the copies of all versions of these files, and of its lock.
fn image_place(files: &[&VerifiedFile]) -> String {
    let paths = files.iter().map(|file| file.path.as_os_str());
    let paths: Vec<&[u8]> = paths.map(OsStr::as_encoded_bytes).collect();
    blake3::hash(&paths.join(&0)).to_hex()[..16].to_owned()
}

/// Reasons for which a program is not started.
#[derive(Debug, thiserror::Error)]
pub enum NotVerified {
    /// The file has other bytes than the trusted ones.
    #[error("it changed since you trusted it")]
    Changed,
    /// The file is being written.
    #[error("somebody is still writing it")]
    Busy,
    /// The file cannot be hashed.
    #[error("{0}")]
    Unreadable(String),
    /// The command names a file of the project that was not trusted.
    #[error("`{}` is not part of what was trusted", .0.display())]
    Unlisted(PathBuf),
    /// The command names a link in the project that leads to a file outside.
    #[error("`{}` is a link that leads out of the project", .0.display())]
    LeadsOut(PathBuf),
    /// The program is found in the project by its name.
    #[error("`{0}` is found in the project, as `{found}`, which was not trusted", found = .1.display())]
    ProgramInProject(String, PathBuf),
    /// The command names a file of the project that has other bytes than the trusted ones.
    #[error("`{}` changed since you trusted it", .0.display())]
    FileChanged(PathBuf),
    /// The program does not exist.
    #[error("`{0}` does not exist")]
    ProgramMissing(String),
    /// The program may not be executed.
    #[error("`{0}` may not be executed")]
    ProgramNotExecutable(String),
    /// The interpreter lies in the project, where it can change.
    #[error("its interpreter `{}` lies in the project, where it can change unnoticed", .0.display())]
    InterpreterInProject(PathBuf),
    /// Other users can replace the interpreter.
    #[error("its interpreter is not safe: {0}")]
    InterpreterExposed(String),
    /// The interpreter is a relative path.
    #[error("its interpreter `{0}` is not an absolute path")]
    InterpreterRelative(String),
    /// The interpreter does not exist.
    #[error("its interpreter `{0}` does not exist")]
    InterpreterMissing(String),
    /// The first line may start more than an interpreter with the script.
    #[error("haft does not know what its first line starts: `#!{0}`")]
    InterpreterUnknown(String),
    /// The copy of the script cannot be made.
    #[error("the verified copy of the script cannot be made: {0}")]
    Copy(io::Error),
}

/// A verified program, ready to start.
pub(super) struct ReadyProgram {
    /// The file to execute.
    pub(super) file: PathBuf,
    /// The path of the program, to which rules apply.
    pub(super) path: PathBuf,
    /// The words before the call's arguments: the program's name, and for an interpreter also the
    /// script.
    pub(super) words: Vec<OsString>,
    pub(super) variables: Vec<(OsString, OsString)>,
    /// The folder with the copies of its files.
    pub(super) image: Option<GrantedPath>,
    /// The descriptor that `file` names, and those that exclude writers.
    pub(super) held: Vec<Descriptor>,
}

/// A native program that is verified.
#[cfg(unix)]
struct NativeProgram {
    /// The file to execute.
    file: PathBuf,
    /// The descriptor that `file` names; `None` for a copy.
    held: Option<Descriptor>,
}

impl VerifiedFile {
    fn compare(&self, found: &blake3::Hash) -> Result<(), NotVerified> {
        if *found == self.digest {
            Ok(())
        } else {
            Err(NotVerified::Changed)
        }
    }
}

fn unreadable(error: Refused) -> NotVerified {
    NotVerified::Unreadable(error.to_string())
}

/// Verifies a program, and lets it see the copies of its files in its sandbox. `search` is the
/// child's `PATH`, `folder` its working directory.
pub(super) async fn verify(
    program: VerifiedProgram,
    search: Option<OsString>,
    folder: PathBuf,
    sandbox: Option<Sandbox>,
) -> Result<(ReadyProgram, Option<Sandbox>), NotVerified> {
    // A large file takes a while to hash.
    let verify = move || {
        program.check_words()?;
        let ready = prepare(&program, search.as_deref(), &folder)?;
        let sandbox = match (sandbox, &ready.image) {
            (Some(sandbox), Some(image)) => Some(sandbox.with_image(image)),
            (sandbox, _) => sandbox,
        };
        Ok((ready, sandbox))
    };
    let answer = tokio::task::spawn_blocking(verify).await;
    answer.unwrap_or_else(|error| Err(NotVerified::Unreadable(error.to_string())))
}
