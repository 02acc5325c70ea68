//! A `Spawn` converted to the system's types: the resolved file, strings without NUL bytes, the
//! list of variables.
//!
//! Nothing is started here. Every check that needs no process is made here, so a call with invalid
//! data never creates one.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::environment::Resolved;
use crate::error::{NulPlace, SpawnError};
use crate::lookup::{self, Miss};
use crate::sandbox::{ReadySandbox, Sandbox};
use crate::system::{self, Cell, Descriptor, Errno, Text, Variable};
use crate::verified::{NotVerified, ReadyProgram, SpawnProgram};
use crate::{Leftovers, Limits, Spawn};

/// Variables that name the folder for temporary files.
const TMP_VARIABLES: [&str; 3] = ["TMPDIR", "TMP", "TEMP"];

/// Arguments of the system call that starts a program.
pub(super) struct Order {
    /// The program as the caller wrote it, for messages.
    program: String,
    pub(super) file: Text,
    /// The arguments, the program's name first.
    pub(super) arguments: Vec<Text>,
    pub(super) environment: Vec<Variable>,
    /// The working directory as an absolute path; `None` if it is ours.
    pub(super) cwd: Option<PathBuf>,
    pub(super) limits: Limits,
    /// The files through which the process enters its control groups.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows has no control groups"))]
    pub(super) entrances: Vec<PathBuf>,
    pub(super) leftovers: Leftovers,
    pub(super) sandbox: Option<ReadySandbox>,
    /// The descriptor that `file` names, and those that keep others from changing files.
    pub(super) held: Vec<Descriptor>,
}

/// The child's ends of its three streams.
pub(super) struct Ends {
    pub(super) stdin: Descriptor,
    pub(super) stdout: Descriptor,
    pub(super) stderr: Descriptor,
}

/// The step that the system refused, with the error.
pub(super) enum Refusal {
    Cwd(Errno),
    /// The named layer of the sandbox.
    #[cfg_attr(
        not(target_os = "linux"),
        expect(dead_code, reason = "only Linux has a sandbox")
    )]
    Sandbox(&'static str, Errno),
    Exec(Errno),
}

impl Order {
    /// Builds the arguments. `cell` is the control groups with the limits, if there are some.
    /// `ready` is the program, if it had to be verified.
    pub(super) fn new(
        spawn: &Spawn,
        cell: Option<&Cell>,
        ready: Option<ReadyProgram>,
    ) -> Result<Self, SpawnError> {
        let program = spawn.shown_program();
        let words = match (&spawn.program, &ready) {
            (_, Some(ready)) => ready.words.clone(),
            (SpawnProgram::Chosen(name), None) => vec![name.as_os_str().to_owned()],
            (SpawnProgram::Verified(_), None) => {
                let why = "a program of a project cannot be started in this way".to_owned();
                return Err(SpawnError::NotVerified {
                    program: program.into(),
                    source: NotVerified::Unreadable(why),
                });
            }
        };
        let words = words.into_iter();
        let mut arguments = words
            .map(|word| text(word, || NulPlace::Program))
            .collect::<Result<Vec<_>, _>>()?;
        for (index, argument) in spawn.args.iter().enumerate() {
            arguments.push(text(argument.clone(), || NulPlace::Argument(index))?);
        }

        let ours = std::env::current_dir().unwrap_or_default();
        let wanted = spawn.cwd.as_ref().map(|cwd| ours.join(cwd));
        let cwd = wanted.filter(|cwd| *cwd != ours);
        if let Some(cwd) = &cwd {
            text(cwd.clone().into_os_string(), || NulPlace::Cwd)?;
        }

        let mut limits = spawn.limits;
        if !cell.is_some_and(Cell::limits_memory) && !spawn.is_memory_measured() {
            limits.address_space = [limits.address_space, limits.memory]
                .into_iter()
                .flatten()
                .min();
        }
        let mut variables = spawn.variables();
        if let Some(tmp) = spawn.sandbox.as_ref().and_then(Sandbox::tmp) {
            variables.set_all(&TMP_VARIABLES, tmp.as_os_str());
        }
        let folder = cwd.as_deref().unwrap_or(&ours);
        let (file, path, held) = match ready {
            // A verified program may run from a descriptor. The rules apply to the path that it was
            // opened by.
            Some(ready) => {
                variables.extend(ready.variables);
                (ready.file, ready.path, ready.held)
            }
            None => {
                let file = find(&program, spawn.program.name(), spawn, &variables, folder)?;
                let path = folder.join(&file);
                (file, path, Vec::new())
            }
        };
        check_rights(spawn, &program, &folder.join(path), &variables)?;
        let sandbox = spawn.sandbox.as_ref().map(Sandbox::ready).transpose();
        Ok(Self {
            program,
            file: text(file.into_os_string(), || NulPlace::Program)?,
            arguments,
            environment: environment(variables)?,
            cwd,
            limits,
            entrances: cell.map(Cell::entrances).unwrap_or_default(),
            leftovers: spawn.leftovers,
            sandbox: sandbox.map_err(|source| SpawnError::SandboxNotMade {
                program: spawn.shown_program(),
                source,
            })?,
            held,
        })
    }

    pub(super) fn refused(&self, refusal: Refusal) -> SpawnError {
        let program = self.program.clone();
        match (refusal, &self.cwd) {
            (Refusal::Sandbox(layer, errno), _) => SpawnError::Sandbox {
                program,
                layer,
                source: errno.into(),
            },
            (Refusal::Exec(Errno::EACCES), _) if self.is_refused_by_sandbox() => {
                SpawnError::Sandboxed { program }
            }
            (Refusal::Cwd(errno), Some(cwd)) => SpawnError::Cwd {
                program,
                cwd: cwd.clone(),
                source: errno.into(),
            },
            (Refusal::Exec(Errno::EACCES), _) => SpawnError::PermissionDenied { program },
            (Refusal::Exec(errno) | Refusal::Cwd(errno), _) => SpawnError::System {
                program,
                source: errno.into(),
            },
        }
    }
}

impl Order {
    /// Returns true if the file could be executed outside of the sandbox.
    fn is_refused_by_sandbox(&self) -> bool {
        let folder = self.cwd.as_deref().unwrap_or(Path::new("."));
        let file = folder.join(system::as_os_str(&self.file));
        self.sandbox.is_some() && system::may_execute(&file).is_ok() && file.is_file()
    }
}

/// Returns an error if the permissions forbid the program or a variable of it.
pub(super) fn check_rights(
    spawn: &Spawn,
    program: &str,
    path: &Path,
    variables: &Resolved,
) -> Result<(), SpawnError> {
    let refused = |text| SpawnError::NotPermitted {
        program: program.to_owned(),
        text,
    };
    let rights = &spawn.rights;
    rights.check_program(program, path).map_err(refused)?;
    for (name, is_ours) in variables.names() {
        let checked = rights.check_variable(program, name, is_ours);
        checked.map_err(refused)?;
    }
    Ok(())
}

/// Finds the file of a program.
pub(super) fn find(
    program: &str,
    name: &OsStr,
    spawn: &Spawn,
    variables: &Resolved,
    cwd: &Path,
) -> Result<PathBuf, SpawnError> {
    let path = spawn.search_path(variables);
    let found = if spawn.chosen_by_haft {
        lookup::safe(name, path.as_deref())
    } else {
        lookup::find(name, path.as_deref(), cwd)
    };
    found.map_err(|miss| {
        let program = program.to_owned();
        match miss {
            Miss::NotFound => SpawnError::NotFound { program },
            Miss::NotExecutable => SpawnError::PermissionDenied { program },
            Miss::Exposed(why) => SpawnError::Exposed { program, why },
        }
    })
}

fn environment(variables: Resolved) -> Result<Vec<Variable>, SpawnError> {
    variables
        .into_pairs()
        .map(|(name, value)| {
            let place = NulPlace::Variable(name.to_string_lossy().into_owned());
            system::variable(name, value).ok_or(SpawnError::Nul { place })
        })
        .collect()
}

fn text(text: OsString, place: impl Fn() -> NulPlace) -> Result<Text, SpawnError> {
    system::text(text).ok_or_else(|| SpawnError::Nul { place: place() })
}
