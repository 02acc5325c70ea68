//! The first process of a tree: signalled as a group, reaped once.
//!
//! The hard thing: a process number is ours only until it is reaped. So the leader stays unreaped
//! until its call has ended; no signal of ours can ever meet a stranger's group. A leader that is
//! dropped before that is killed with its tree, and reaped on a thread of its own, since the
//! runtime may be gone by then.

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitIdStatus, kill_process_group, waitid,
};

use crate::process::finished::Exit;
use crate::process::strays::Strays;
use crate::process::{Leftovers, holders, owned};

pub(super) struct Leader {
    pid: Pid,
    /// If its tree is to go with it, even if it ends first: who is known to be outside of its group.
    doomed: Option<Strays>,
    pipes: Vec<u64>,
    reaped: bool,
}

impl Leader {
    /// `pipes` are the numbers of the pipes that its tree writes to.
    pub(super) fn new(pid: Pid, leftovers: Leftovers, pipes: Vec<u64>) -> Self {
        owned::leader_started(pid);
        Self {
            pid,
            doomed: (leftovers == Leftovers::Kill).then(Strays::default),
            pipes,
            reaped: false,
        }
    }

    pub(super) fn pid(&self) -> Pid {
        self.pid
    }

    /// Whether it has ended; it is not reaped by this.
    pub(super) fn has_ended(&self) -> bool {
        !matches!(self.peek(), Ok(None))
    }

    /// Sends a signal to everything that is still in its group.
    fn signal(&self, signal: Signal) {
        // If something else in this program reaped it, the number is no longer ours.
        if !self.reaped && self.peek() != Err(Errno::CHILD) {
            // The only failures left are "nobody there" and "changed its user": both final.
            let _ = kill_process_group(self.pid, signal);
        }
    }

    /// Asks its tree to end. From here on nothing of it may be left, whoever drops this and when.
    pub(super) fn ask_tree(&mut self) {
        let strays = Strays::of(self.pid, &Strays::default());
        // A stopped process (SIGSTOP, SIGTTIN) hears of TERM only when it goes on.
        for signal in [Signal::TERM, Signal::CONT] {
            strays.signal(signal);
            self.signal(signal);
        }
        self.doomed = Some(strays);
    }

    /// Kills everything that came of it and can be found, whether it has ended or not.
    pub(super) fn kill_tree(&mut self) {
        self.signal(Signal::STOP);
        let mut strays = self.doomed.take().unwrap_or_default();
        strays.freeze(|known| Strays::of(self.pid, known));
        strays.signal(Signal::KILL);
        self.signal(Signal::KILL);
        self.doomed = Some(strays);
    }

    /// Kills who holds its outputs, after [`Self::kill_tree`]. That asks every process of the
    /// machine, so it is for when someone does.
    pub(super) fn kill_holders(&self) {
        holders::kill(self.pid, &self.pipes);
    }

    /// How it ended; `None` while it runs, and if something else reaped it.
    pub(super) fn reap(&mut self) -> Option<Exit> {
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
            // It was killed.
            owned::leader_ended(pid);
            let reaper = std::thread::Builder::new().name("haft-reap".to_owned());
            if let Err(error) = reaper.spawn(move || wait(pid, WaitIdOptions::empty())) {
                tracing::warn!(%error, "no thread to reap a killed child");
            }
        }
    }
}

fn wait(pid: Pid, options: WaitIdOptions) -> Result<Option<WaitIdStatus>, Errno> {
    rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options | WaitIdOptions::EXITED))
}

fn exit_of(status: &WaitIdStatus) -> Option<Exit> {
    let code = status.exit_status().map(Exit::Code);
    code.or_else(|| status.terminating_signal().map(Exit::Signal))
}
