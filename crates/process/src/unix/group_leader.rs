//! The first process of a tree: signalled as a group, reaped once.
//!
//! A process number is reserved for its process only until that is reaped. So the leader stays
//! unreaped until its call has ended, and our signals cannot reach the group of another process. A
//! leader that is dropped earlier is killed with its tree. A separate thread reaps it, since the
//! runtime may have ended by then.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

use super::descendants::Strays;
use super::{owned, pipe_holders};
use crate::Leftovers;
use crate::finished::Exit;
use crate::sandbox::ReadySandbox;

pub(crate) struct Leader {
    pid: Pid,
    /// Set if the whole tree must end with the leader, even if the leader ends first. Contains the
    /// known processes outside of its group.
    doomed: Option<Strays>,
    pipes: Vec<u64>,
    reaped: bool,
    /// Its private temporary folder must live as long as the process.
    _sandbox: Option<ReadySandbox>,
}

impl Leader {
    /// `pipes` are the inodes of the pipes that the tree writes to.
    pub(crate) fn new(
        pid: Pid,
        leftovers: Leftovers,
        pipes: Vec<u64>,
        sandbox: Option<ReadySandbox>,
    ) -> Self {
        owned::leader_started(pid);
        Self {
            pid,
            doomed: (leftovers == Leftovers::Kill).then(Strays::default),
            pipes,
            reaped: false,
            _sandbox: sandbox,
        }
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    /// Returns true if the process has ended. Does not reap it.
    pub(crate) fn has_ended(&self) -> bool {
        !matches!(self.peek(), Ok(None))
    }

    /// Sends a signal to all processes of its group.
    fn signal(&self, signal: Signal) {
        // If other code in this program reaped the process, the number may belong to another
        // process.
        if !self.reaped && self.peek() != Err(Errno::CHILD) {
            // The remaining errors are "no such process" and "changed its user". Both are final.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Asks the tree to end with TERM. From now on the whole tree is killed when this is dropped.
    pub(crate) fn ask_tree(&mut self) {
        let strays = Strays::of(self.pid, &Strays::default());
        // A stopped process (SIGSTOP, SIGTTIN) receives TERM only after CONT.
        for signal in [Signal::TERM, Signal::CONT] {
            strays.signal(signal);
            self.signal(signal);
        }
        self.doomed = Some(strays);
    }

    /// Kills every process of the tree that can be found, even if the leader has ended.
    pub(crate) fn kill_tree(&mut self) {
        self.signal(Signal::STOP);
        let mut strays = self.doomed.take().unwrap_or_default();
        strays.freeze(|known| Strays::of(self.pid, known));
        strays.signal(Signal::KILL);
        self.signal(Signal::KILL);
        self.doomed = Some(strays);
    }

    /// Kills the processes that hold its outputs, after [`Self::kill_tree`]. This scans all
    /// processes of the machine, so it is only called if an output is still held.
    pub(crate) fn kill_holders(&self) {
        pipe_holders::kill(self.pid, &self.pipes);
    }

    /// Reaps the process and returns its exit status; `None` while it runs, or if other code reaped
    /// it.
    pub(crate) fn reap(&mut self) -> Option<Exit> {
        if self.has_ended() {
            owned::leader_ended(self.pid);
        }
        let status = wait(self.pid, WaitIdOptions::NOHANG);
        self.reaped = !matches!(status, Ok(None));
        exit_of(&status.ok()??)
    }

    fn peek(&self) -> Result<Option<()>, Errno> {
        let options = WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        wait(self.pid, options).map(|status| status.map(drop))
    }
}

impl Drop for Leader {
    fn drop(&mut self) {
        if self.reaped {
            return;
        }
        if self.doomed.is_some() || !self.has_ended() {
            self.kill_tree();
            self.kill_holders();
        }
        if self.reap().is_none() && !self.reaped {
            let pid = self.pid;
            // It was killed above.
            owned::leader_ended(pid);
            let reaper = std::thread::Builder::new().name("haft-reap".to_owned());
            if let Err(error) = reaper.spawn(move || {
                let _ = wait(pid, WaitIdOptions::empty());
            }) {
                tracing::warn!(%error, "no thread to reap a killed child");
            }
        }
    }
}

/// Waits for the end of a child. Does not reap it.
pub(crate) fn wait_for_end(pid: Pid) {
    let _ = wait(pid, WaitIdOptions::NOWAIT);
}

fn wait(pid: Pid, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options | WaitIdOptions::EXITED))
}

fn exit_of(status: &WaitIdStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}
