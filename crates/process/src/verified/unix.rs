//! Verification on Unix: opens and hashes the files of a program, finds the interpreter of a script,
//! and puts the paths of the copies into the words.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use rustix::fs::Access;

use super::image::{self, ImageCopies};
use super::interpreter_line::{Interpreter, InterpreterLine};
#[cfg(target_os = "linux")]
use super::linux as kernel;
#[cfg(target_os = "macos")]
use super::macos as kernel;
use super::{NotVerified, ProjectScope, ReadyProgram, VerifiedFile, VerifiedProgram, unreadable};
use crate::lookup::{self, Miss};
use crate::system::Descriptor;
use crate::{owners, regular_files};

/// Size limit of a script in bytes.
const MAX_SCRIPT_BYTES: u64 = 16 << 20;

/// Start of the program among the words of a command.
struct ProgramStart {
    /// The file to execute.
    file: PathBuf,
    /// The path of the program.
    path: PathBuf,
    /// The words in place of the program's own.
    words: Vec<OsString>,
    held: Option<Descriptor>,
}

/// Verifies a program. `search` is the child's `PATH`, `cwd` its working directory.
pub(super) fn prepare(
    program: &VerifiedProgram,
    search: Option<&OsStr>,
    cwd: &Path,
) -> Result<ReadyProgram, NotVerified> {
    let word = program.words.get(program.program);
    let entry = word.and_then(|word| word.files().next());
    let is_wrapped = program.program > 0;
    // The descriptor stands for the program, not for an argument that names the same file.
    let is_alone = program.uses(entry) == 1;
    let mut contents = Vec::new();
    let mut native = None;
    for file in program.files() {
        let mut open = regular_files::open(&file.path).map_err(unreadable)?;
        let is_entry = entry == Some(file);
        let is_script = is_script(&open)?;
        if is_entry {
            check_executable(&file.path)?;
        }
        if is_entry && !is_script && !is_wrapped && is_alone {
            native = Some(kernel::ready(program, file, open)?);
            continue;
        }
        let limit = if is_script {
            MAX_SCRIPT_BYTES
        } else {
            regular_files::MAX_HASHED_BYTES
        };
        let bytes = regular_files::read_open(&mut open, limit).map_err(unreadable)?;
        file.compare(&blake3::hash(&bytes))
            .map_err(|why| match why {
                NotVerified::Changed if !is_entry => NotVerified::FileChanged(file.path.clone()),
                why => why,
            })?;
        contents.push((file, bytes));
    }
    let interpreter = match entry.and_then(|entry| contents.iter().find(|(it, _)| *it == entry)) {
        Some((_, bytes)) if bytes.starts_with(b"#!") => {
            Some(find_interpreter(&program.scope, bytes, search)?)
        }
        _ => None,
    };
    let copies = match &contents[..] {
        [] => ImageCopies::default(),
        contents => image::copy(program, contents).map_err(NotVerified::Copy)?,
    };
    // A native program has no copy if its own descriptor is started.
    let path_of = |file: &VerifiedFile| copies.paths.get(file).unwrap_or(&file.path).clone();
    let start = match (entry, native, interpreter) {
        (Some(file), Some(native), _) => ProgramStart {
            file: native.file,
            path: file.path.clone(),
            words: vec![file.path.clone().into()],
            held: native.held,
        },
        (Some(file), None, Some(interpreter)) if !is_wrapped => ProgramStart {
            file: interpreter.file,
            path: file.path.clone(),
            words: [interpreter.words, vec![path_of(file).into()]].concat(),
            held: None,
        },
        // The wrapper starts the copy, whose interpreter was checked.
        (Some(file), ..) => ProgramStart {
            file: path_of(file),
            path: file.path.clone(),
            words: vec![path_of(file).into()],
            held: None,
        },
        (None, ..) => find_program(program, search, cwd)?,
    };
    let mut words = Vec::new();
    for (index, word) in program.words.iter().enumerate() {
        if index == program.program {
            words.extend(start.words.iter().cloned());
        } else {
            words.push(word.with_paths(path_of)?);
        }
    }
    let variables = program.variables.iter().map(|(name, value)| {
        let value = value.with_paths(path_of)?;
        Ok((name.clone(), value))
    });
    let variables = variables.collect::<Result<_, NotVerified>>()?;
    let (file, path) = if is_wrapped {
        let wrapper = find_machine_program(&program.scope, program.name(), search, cwd)?;
        (wrapper.clone(), wrapper)
    } else {
        (start.file, start.path)
    };
    Ok(ReadyProgram {
        file,
        path,
        words,
        variables,
        image: copies.folder,
        held: start.held.into_iter().collect(),
    })
}

fn check_executable(path: &Path) -> Result<(), NotVerified> {
    let allowed = rustix::fs::access(path, Access::EXEC_OK);
    allowed.map_err(|error| NotVerified::Unreadable(io::Error::from(error).to_string()))
}

fn is_script(file: &File) -> Result<bool, NotVerified> {
    let mut start = [0; 2];
    match file.read_at(&mut start, 0) {
        Ok(read) => Ok(&start[..read] == b"#!"),
        Err(error) => Err(NotVerified::Unreadable(error.to_string())),
    }
}

/// Finds a program that is not a file of the project.
fn find_program(
    program: &VerifiedProgram,
    search: Option<&OsStr>,
    cwd: &Path,
) -> Result<ProgramStart, NotVerified> {
    let word = program.words.get(program.program);
    let name = word.map_or(OsStr::new(""), |word| word.text());
    let started = |file: PathBuf, word: OsString| ProgramStart {
        path: file.clone(),
        file,
        words: vec![word],
        held: None,
    };
    if !program.finds_program {
        return Ok(started(name.into(), name.into()));
    }
    let file = find_machine_program(&program.scope, name, search, cwd)?;
    let word = match program.program {
        0 => name.to_owned(),
        // The wrapper would look for the name once more.
        _ => file.clone().into(),
    };
    Ok(started(file, word))
}

/// Finds a program of the machine.
fn find_machine_program(
    scope: &ProjectScope,
    name: &OsStr,
    search: Option<&OsStr>,
    cwd: &Path,
) -> Result<PathBuf, NotVerified> {
    let shown = || name.to_string_lossy().into_owned();
    let found = lookup::find(name, search, cwd).map_err(|miss| match miss {
        Miss::NotExecutable => NotVerified::ProgramNotExecutable(shown()),
        Miss::NotFound | Miss::Exposed(_) => NotVerified::ProgramMissing(shown()),
    })?;
    let path = cwd.join(&found);
    if !path.exists() {
        return Err(NotVerified::ProgramMissing(shown()));
    }
    let in_project = |place: PathBuf| NotVerified::ProgramInProject(shown(), place);
    let real = path.canonicalize();
    match real {
        // A link in the project may be changed, so its target is started.
        Ok(real) if scope.contains(&path) && !scope.contains(&real) => {
            scope.check_outside(&real).map_err(in_project)?;
            Ok(real)
        }
        _ => {
            scope.check_outside(&path).map_err(in_project)?;
            Ok(path)
        }
    }
}

/// Interpreter of a script, with the words before the script.
struct FoundInterpreter {
    file: PathBuf,
    words: Vec<OsString>,
}

/// Finds the interpreter of a script.
fn find_interpreter(
    scope: &ProjectScope,
    script: &[u8],
    search: Option<&OsStr>,
) -> Result<FoundInterpreter, NotVerified> {
    let line = InterpreterLine::parse(script).map_err(NotVerified::InterpreterUnknown)?;
    let text = || line.name().to_string_lossy().into_owned();
    let path = Path::new(line.name());
    let is_relative = |path: &str| !path.starts_with('/');
    let file = match &line.interpreter {
        Interpreter::Path(path) | Interpreter::Name(_, path) if is_relative(path) => {
            return Err(NotVerified::InterpreterRelative(path.clone()));
        }
        Interpreter::Name(name, _) if name.contains('/') && is_relative(name) => {
            return Err(NotVerified::InterpreterRelative(name.clone()));
        }
        Interpreter::Name(name, _) if !name.contains('/') => {
            // Resolves the program as `env` does, so that it can be checked.
            let found = lookup::find(OsStr::new(name), search, Path::new("/"));
            found.map_err(|_| NotVerified::InterpreterMissing(text()))?
        }
        Interpreter::Path(_) | Interpreter::Name(..) => path.to_owned(),
    };
    scope
        .check_outside(&file)
        .map_err(NotVerified::InterpreterInProject)?;
    if !file.exists() {
        return Err(NotVerified::InterpreterMissing(text()));
    }
    owners::check(&file).map_err(|exposed| NotVerified::InterpreterExposed(exposed.to_string()))?;
    let words = [line.name().to_owned()].into_iter();
    let options = line.options.iter().map(OsString::from);
    Ok(FoundInterpreter {
        file,
        words: words.chain(options).collect(),
    })
}
