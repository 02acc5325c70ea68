//! What to start, as plain data, and the two ways to start it.
//!
//! Nothing here decides on a default that a family must choose (its deadline, its environment);
//! the values of [`Spawn::new`] are those of `pi.exec`, but for late output. The order of the checks is the one that
//! callers see: a cancelled token first, then the data itself, then the program, then the folder.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::{Semaphore, mpsc};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::process::capture::Keep;
use crate::process::child::Child;
use crate::process::environment::Environment;
use crate::process::error::SpawnError;
use crate::process::finished::Finished;
use crate::process::order::Order;
use crate::process::rights::Rights;
use crate::process::running::Running;
use crate::process::starved::Starvation;
use crate::process::verified::Verified;

/// How many chunks a slow reader may be behind before its child has to wait.
const CHUNKS_IN_FLIGHT: usize = 16;

/// How often it is looked whether a program that has its turn still computes.
const TURN: Duration = Duration::from_millis(50);

/// A program to start. Take [`Spawn::new`] and change what differs:
/// `Spawn { deadline: Some(limit), ..Spawn::new("git", ["status"]) }`.
#[derive(Debug, Clone)]
pub struct Spawn {
    /// A name to look up in the child's own `PATH`, or a path (anything with a `/`).
    pub program: OsString,
    /// The arguments after the program's name.
    pub args: Vec<OsString>,
    /// The working directory; ours if `None`. A relative one starts at ours.
    pub cwd: Option<PathBuf>,
    /// What the child sees of the environment.
    pub env: Environment,
    /// Whether it may be started at all, and what it sees of what we have.
    pub rights: Rights,
    /// What the child reads.
    pub stdin: Stdin,
    /// How much of its standard output is kept. All of it is read.
    pub stdout: Keep,
    /// How much of its standard error is kept. All of it is read.
    pub stderr: Keep,
    /// The longest that the child may run, from its start.
    pub deadline: Option<Duration>,
    /// How much longer than its deadline the child may run at most, if it was kept from running for so
    /// long: it is given the time back that it waited for a processor.
    pub patience: Duration,
    /// After a cancel: the time between TERM and KILL. Zero kills at once.
    pub grace: Duration,
    /// After the deadline: the time between TERM and KILL. Zero kills at once.
    pub timeout_grace: Duration,
    /// Fires when nobody waits for the grace any more: what was asked to end is killed then. It asks
    /// for nothing by itself.
    pub hurry: Option<CancellationToken>,
    /// Neither a tool nor the user chose the program: one that another user can replace is passed over.
    pub chosen_by_haft: bool,
    /// The bytes that the program must have, which is then an absolute path; `None`: any.
    pub verified: Option<Verified>,
    /// What happens to the rest of the group when the program ends by itself.
    pub leftovers: Leftovers,
    /// How long what the program left behind may go on writing after its end: the call ends when
    /// no process holds its outputs any more, or after this time. 50 ms are always waited for.
    pub late_output: Duration,
    /// Limits that the system enforces.
    pub limits: Limits,
}

/// What a child reads from its standard input.
#[derive(Debug, Clone, Default)]
pub enum Stdin {
    /// Nothing: the end, at once.
    #[default]
    Empty,
    /// These bytes, then the end. A child that does not read them is no error.
    Bytes(Vec<u8>),
    /// Whatever [`Child::write`] gives it, for [`Spawn::start`]. [`Spawn::run`] has nothing to give.
    Open,
}

/// What happens to processes that a program left in its group when it ended by itself.
/// After a cancel or a deadline they are always killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Leftovers {
    /// They go on: the program put them in the background on purpose.
    #[default]
    Leave,
    /// They are killed.
    Kill,
}

/// Limits that the system enforces on the child and on what it starts.
///
/// They hold from the program's first instruction, since a shell sets them and then becomes the
/// program; that costs the start of a shell. A fence against accidents, not a jail: but for `memory`
/// each process has them for itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Limits {
    /// The most bytes of memory for the whole tree, where a control group can be made; elsewhere
    /// the most address space for each process.
    pub memory: Option<u64>,
    /// The most bytes of address space for each process, rounded down to whole KiB.
    pub address_space: Option<u64>,
    /// The most seconds of processor time for each process: SIGXCPU, and a second later KILL.
    pub cpu_seconds: Option<u64>,
}

impl Spawn {
    /// A child with our environment, an empty input, 10 MiB kept of each output, no deadline,
    /// one second between TERM and KILL on cancel, KILL at once on a deadline, and no wait for late output.
    pub fn new<A: Into<OsString>>(
        program: impl Into<OsString>,
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
            patience: Duration::ZERO,
            grace: Duration::from_secs(1),
            timeout_grace: Duration::ZERO,
            hurry: None,
            chosen_by_haft: false,
            verified: None,
            leftovers: Leftovers::Leave,
            late_output: Duration::ZERO,
            limits: Limits::default(),
        }
    }

    /// Refuses a program that may not be started, before anything is put in front of it. What else is
    /// wrong with it shows when it is started.
    ///
    /// # Errors
    /// If its rights do not allow it.
    pub fn check_rights(&self) -> Result<(), SpawnError> {
        match Order::new(self, None, None) {
            Err(refused @ SpawnError::NotPermitted { .. }) => Err(refused),
            _ => Ok(()),
        }
    }

    /// Starts the program and waits for its end. A token that is cancelled already starts nothing.
    ///
    /// # Errors
    /// Only if the program could not be started. How it ended is in the result.
    pub async fn run(self, cancel: &CancellationToken) -> Result<Finished, SpawnError> {
        if cancel.is_cancelled() {
            return Ok(Finished::never_started());
        }
        match Running::begin(self, None, cancel).await? {
            Some(running) => Ok(running.finish(cancel).await),
            None => Ok(Finished::never_started()),
        }
    }

    /// [`Spawn::run`] in its turn: the program is started when there is a place in `turns`, and keeps it
    /// for as long as it computes. Of programs that sleep any number may run.
    ///
    /// # Errors
    /// Only if the program could not be started.
    pub async fn run_in_turn(
        self,
        turns: &Semaphore,
        cancel: &CancellationToken,
    ) -> Result<Finished, SpawnError> {
        // Never closed.
        let mut turn = turns.acquire().await.ok();
        let Some(running) = Running::begin(self, None, cancel).await? else {
            return Ok(Finished::never_started());
        };
        let leader = running.leader.pid();
        let finished = running.finish(cancel);
        tokio::pin!(finished);
        loop {
            tokio::select! {
                finished = &mut finished => return Ok(finished),
                () = sleep(TURN), if turn.is_some() => {
                    turn = turn.take_if(|_| Starvation::of(leader).is_at_work());
                }
            }
        }
    }

    /// Starts the program and gives a handle to read its output while it runs. Dropping the handle
    /// kills the child and all below it.
    ///
    /// # Errors
    /// Only if the program could not be started.
    pub async fn start(self, cancel: &CancellationToken) -> Result<Child, SpawnError> {
        let stop = cancel.child_token();
        let (sender, chunks) = mpsc::channel(CHUNKS_IN_FLIGHT);
        let mut input = None;
        let begun = match stop.is_cancelled() {
            true => None,
            false => Running::begin(self, Some(sender), &stop).await?,
        };
        let task = match begun {
            None => tokio::spawn(async { Finished::never_started() }),
            Some(mut running) => {
                input = running.input.take();
                let stop = stop.clone();
                tokio::spawn(async move { running.finish(&stop).await })
            }
        };
        Ok(Child::new(chunks, stop, task, input))
    }
}
