//! Description of a program to start.
//!
//! No default is chosen here that a family must choose (its deadline, its environment). The values
//! of [`Spawn::new`] are those of `pi.exec`, except for late output.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::capture::Keep;
use crate::environment::{Environment, Resolved, inherited};
use crate::rights::Rights;
use crate::sandbox::{Sandbox, TreeLimits};
use crate::system;
use crate::verified::{SpawnProgram, Wrapper};

/// Program to start. Use [`Spawn::new`] and change the fields that differ: `Spawn { deadline:
/// Some(limit), ..Spawn::new("git", ["status"]) }`.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// A name to look up in the child's own `PATH`, or a path (anything with a `/`). A file of a
    /// project is a verified program.
    pub program: SpawnProgram,
    /// The arguments after the program's name, and after the words of a verified program.
    pub args: Vec<OsString>,
    /// The working directory; ours if `None`. A relative path starts at ours.
    pub cwd: Option<PathBuf>,
    /// The environment variables of the child.
    pub env: Environment,
    /// Permissions: the programs that may be started, and the variables of ours that they see.
    pub rights: Rights,
    /// The child's standard input.
    pub stdin: Stdin,
    /// Limit of the kept bytes of its standard output. All of it is read.
    pub stdout: Keep,
    /// Limit of the kept bytes of its standard error. All of it is read.
    pub stderr: Keep,
    /// Limit of the child's run time, counted from its start.
    pub deadline: Option<Duration>,
    /// Limit of the time that is added to the deadline. The child gets back the time for which it
    /// waited for a processor.
    pub start_delay_allowance: Duration,
    /// Time between TERM and KILL after a cancel. Zero kills at once.
    pub grace: Duration,
    /// Time between TERM and KILL after the deadline. Zero kills at once.
    pub timeout_grace: Duration,
    /// Ends the grace period early: when it fires, a tree that was asked to end is killed. It does
    /// not start a stop by itself.
    pub force_token: Option<CancellationToken>,
    /// True if neither a tool nor the user chose the program. Programs that another user can
    /// replace are skipped then.
    pub chosen_by_haft: bool,
    /// The sandbox that the program starts in; `None`: it has the rights of the user.
    pub sandbox: Option<Sandbox>,
    /// Treatment of the rest of the group when the program ends by itself.
    pub leftovers: Leftovers,
    /// Time for which processes left behind may go on writing after the program's end. The call
    /// ends when no process holds its outputs, or after this time. At least 50 ms are always
    /// waited.
    pub late_output: Duration,
    /// Limits of its tree and of each process of it.
    pub limits: Limits,
}

/// Standard input of a child.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// Empty input.
    #[default]
    Empty,
    /// These bytes, then the end. A child that does not read them is not an error.
    Bytes(Vec<u8>),
    /// Input through [`Child::write`], for [`Spawn::start`]. With [`Spawn::run`] it stays empty.
    Open,
}

/// Treatment of processes that a program left in its group when it ended by itself. After a cancel
/// or a deadline they are always killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftovers {
    /// They continue: the program put them in the background on purpose.
    #[default]
    Leave,
    /// They are killed.
    Kill,
}

/// Limits of the child and of what it starts.
///
/// The address space, the processor time and the open files are limits of each process, which hold
/// from its first instruction on (open files: from its first moments). The others are limits of the
/// whole tree. What the system does not enforce is measured, and the tree is killed: the limit can
/// be exceeded for a moment ([`TreeLimits`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Limit of the memory of the whole tree in bytes, if a control group can be made. Otherwise
    /// the limit of the address space of each process, or in a sandbox the limit of the tree's
    /// memory by measuring.
    pub memory: Option<u64>,
    /// Limit of the address space of each process in bytes, rounded down to whole KiB.
    pub address_space: Option<u64>,
    /// Limit of the processor time of each process in seconds: SIGXCPU, and a second later KILL.
    pub cpu_seconds: Option<u64>,
    /// Limit of the processors that the whole tree uses at a time. Only Linux has it; elsewhere a
    /// program with this limit does not start. A program outside of a sandbox can change it for
    /// itself.
    pub processors: Option<usize>,
    /// Limit of the memory of the whole tree in bytes, by measuring on every system.
    pub tree_memory: Option<u64>,
    /// Limit of the processes of the whole tree, by measuring.
    pub processes: Option<usize>,
    /// Limit of the private temporary folder of its sandbox in bytes on the disk, by measuring.
    pub temporary_bytes: Option<u64>,
    /// Limit of the open files of each process. Only Linux has it.
    pub open_files: Option<u64>,
}

/// Limit of the processes of a tree whose starter sets none.
const DEFAULT_PROCESSES: usize = 1024;

impl Default for Limits {
    /// Limits the number of processes only, so that no start is without that limit by oversight.
    fn default() -> Limits {
        Limits {
            memory: None,
            address_space: None,
            cpu_seconds: None,
            processors: None,
            tree_memory: None,
            processes: Some(DEFAULT_PROCESSES),
            temporary_bytes: None,
            open_files: None,
        }
    }
}

impl Limits {
    /// Returns these limits, with those of `own` for what a family limits by itself.
    #[must_use]
    pub fn with_own(self, own: Limits) -> Limits {
        Limits {
            memory: own.memory,
            address_space: own.address_space,
            cpu_seconds: own.cpu_seconds,
            ..self
        }
    }

    /// Smaller of both limits of the tree and of the open files.
    #[must_use]
    pub fn narrowed(self, other: Limits) -> Limits {
        fn least<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
            one.into_iter().chain(other).min()
        }
        Limits {
            processors: least(self.processors, other.processors),
            tree_memory: least(self.tree_memory, other.tree_memory),
            processes: least(self.processes, other.processes),
            temporary_bytes: least(self.temporary_bytes, other.temporary_bytes),
            open_files: least(self.open_files, other.open_files),
            ..self
        }
    }

    /// Limits that are measured. `memory` is that of the tree, if nothing else enforces
    /// it.
    pub(super) fn measured(&self, memory: Option<u64>) -> TreeLimits {
        TreeLimits {
            memory: memory.into_iter().chain(self.tree_memory).min(),
            processes: self.processes,
            temporary_bytes: self.temporary_bytes,
        }
    }
}

impl Spawn {
    /// Describes a child with our environment, an empty input, 10 MiB kept of each output, no
    /// deadline, one second between TERM and KILL on cancel, KILL at once on a deadline, and no
    /// wait for late output.
    pub fn new<A: Into<OsString>>(
        program: impl Into<SpawnProgram>,
        args: impl IntoIterator<Item = A>,
    ) -> Self {
        Self {
            program: program.into(),
            args: args.into_iter().map(Into::into).collect(),
            cwd: None,
            env: Environment::inherit(),
            rights: Rights::default(),
            stdin: Stdin::Empty,
            stdout: Keep::default(),
            stderr: Keep::default(),
            deadline: None,
            start_delay_allowance: Duration::ZERO,
            grace: Duration::from_secs(1),
            timeout_grace: Duration::ZERO,
            force_token: None,
            chosen_by_haft: false,
            sandbox: None,
            leftovers: Leftovers::Leave,
            late_output: Duration::ZERO,
            limits: Limits::default(),
        }
    }

    /// Program as an argument of `wrapper`, after `args`.
    #[must_use]
    pub fn behind(self, wrapper: &Wrapper, args: &[&str]) -> Spawn {
        let args = args.iter().map(Into::into).collect();
        let (program, args) = self.program.behind(wrapper, args, self.args);
        Spawn {
            program,
            args,
            ..self
        }
    }

    /// Returns the working directory as an absolute path.
    pub(super) fn folder(&self) -> PathBuf {
        let ours = std::env::current_dir().unwrap_or_default();
        match &self.cwd {
            Some(cwd) => ours.join(cwd),
            None => ours,
        }
    }

    /// Folders in which the program's name is looked up. Our `PATH` finds the program
    /// even if the child may not see that variable.
    pub(super) fn search_path(&self, variables: &Resolved) -> Option<OsString> {
        let own = variables.path().map(OsStr::to_owned);
        let is_hidden = !self.rights.shows(OsStr::new("PATH"));
        own.or_else(|| inherited("PATH").filter(|_| is_hidden).map(OsString::from))
    }

    /// Returns the name or path of the program, for messages.
    pub(super) fn shown_program(&self) -> String {
        self.program.name().to_string_lossy().into_owned()
    }

    /// Returns true if a limit of memory that no control group enforces is enforced by measuring.
    pub(super) fn is_memory_measured(&self) -> bool {
        self.sandbox.is_some() || system::MEASURES_MEMORY
    }

    /// Variables of the child.
    pub(super) fn variables(&self) -> Resolved {
        self.env.resolve(|name| self.rights.shows(name))
    }
}
