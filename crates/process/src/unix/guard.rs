//! Kills our children when this process is killed (SIGKILL, or by the kernel when memory is short).
//!
//! `posix_spawn` cannot arrange a signal for that case: PR_SET_PDEATHSIG needs code in the child,
//! and follows the end of a thread. So a shell waits at a pipe whose other end we hold. When the
//! pipe closes, the shell kills the processes that a table in a file without a name lists. The shell is
//! started when a child has run for some milliseconds. Most calls end earlier, and only pay for the
//! entry of their child.
//!
//! Not covered: a child younger than that, and a process that left both its parent and its session.

use std::ffi::CStr;
use std::fmt::Write;
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use nix::spawn::{PosixSpawnFileActions, posix_spawn};
use rustix::process::{Pid, WaitId, WaitIdOptions, waitid};

use super::inherited::fresh_session;
use super::kernel::{GUARD_SCRIPT, inherited_descriptors, table};

/// Delay between the start of a child and the write of the table.
const WRITE_DELAY: Duration = Duration::from_millis(10);
/// Delay until the second write, for a child that started after its thread had announced it.
const LATER: Duration = Duration::from_millis(90);

static GUARD: LazyLock<Guard> = LazyLock::new(Guard::default);

#[derive(Default)]
struct Guard {
    state: Mutex<State>,
    woken: Condvar,
}

#[derive(Default)]
struct State {
    /// True if a child may have been started since the last write.
    is_woken: bool,
    has_thread: bool,
    shell: Option<Shell>,
    /// True if a shell could not be started.
    has_failed: bool,
}

/// The shell that waits for our end.
struct Shell {
    pid: Pid,
    table: File,
    /// The writing end of the pipe. The system closes it when this process ends for any reason.
    _held: OwnedFd,
}

/// Returns the processes that end with this process, with their start times.
type Children = fn() -> Vec<(Pid, u64)>;

/// Requests a write of the table soon, because a child is being started.
pub(super) fn wake(children: Children) {
    let mut state = GUARD.state();
    if state.has_failed || state.is_woken {
        return;
    }
    state.is_woken = true;
    if !state.has_thread {
        let started = thread::Builder::new()
            .name("haft-guard".to_owned())
            .spawn(move || GUARD.run(children));
        state.has_thread = started.is_ok();
    }
    drop(state);
    GUARD.woken.notify_one();
}

/// Writes the table now, if there is one.
pub(super) fn update(children: Children) {
    let state = GUARD.state();
    if let Some(shell) = &state.shell {
        shell.write(&children());
    }
}

impl Guard {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Main loop of the thread that writes the table.
    fn run(&self, children: Children) {
        loop {
            let is_idle = |state: &mut State| !state.is_woken;
            let woken = self.woken.wait_while(self.state(), is_idle);
            woken.unwrap_or_else(PoisonError::into_inner).is_woken = false;
            thread::sleep(WRITE_DELAY);
            self.look(children);
            let waited = self.woken.wait_timeout_while(self.state(), LATER, is_idle);
            let (state, waited) = waited.unwrap_or_else(PoisonError::into_inner);
            drop(state);
            if waited.timed_out() {
                self.look(children);
            }
        }
    }

    fn look(&self, children: Children) {
        // Lock order: this lock is always taken before the one of `owned`.
        let mut state = self.state();
        let children = children();
        if state.has_failed || (children.is_empty() && state.shell.is_none()) {
            return;
        }
        if state.shell.as_ref().is_none_or(Shell::has_ended) {
            match Shell::start() {
                Ok(shell) => state.shell = Some(shell),
                Err(error) => {
                    tracing::debug!(%error, "nothing ends our children if this program is killed");
                    state.has_failed = true;
                    return;
                }
            }
        }
        if let Some(shell) = &state.shell {
            shell.write(&children);
        }
    }
}

impl Shell {
    fn start() -> io::Result<Shell> {
        let table = table()?;
        let (reader, writer) = io::pipe()?;
        let null = File::options().write(true).open("/dev/null")?;
        let mut actions = PosixSpawnFileActions::init()?;
        actions.add_dup2(reader.as_raw_fd(), 0)?;
        actions.add_dup2(null.as_raw_fd(), 1)?;
        actions.add_dup2(null.as_raw_fd(), 2)?;
        for descriptor in inherited_descriptors() {
            actions.add_close(*descriptor)?;
        }
        // The last action: descriptor 3 may be one of those above.
        actions.add_dup2(table.as_raw_fd(), 3)?;
        let arguments = [c"sh", c"-c", GUARD_SCRIPT, c"haft-guard"];
        let environment: [&CStr; 0] = [];
        let attributes = fresh_session()?;
        let pid = posix_spawn(c"/bin/sh", &actions, &attributes, &arguments, &environment)?;
        Ok(Shell {
            pid: Pid::from_raw(pid.as_raw()).ok_or(io::ErrorKind::Other)?,
            table,
            _held: writer.into(),
        })
    }

    fn write(&self, children: &[(Pid, u64)]) {
        let mut text = String::new();
        for (pid, started) in children {
            // Writing to a String cannot fail.
            let _ = writeln!(text, "{} {started}", pid.as_raw_pid());
        }
        // Written before the file is truncated: lines left from before only name processes that
        // have ended.
        let written = self.table.write_all_at(text.as_bytes(), 0);
        if let Err(error) = written.and_then(|()| self.table.set_len(text.len() as u64)) {
            tracing::debug!(%error, "the table of our children cannot be written");
        }
    }

    fn has_ended(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        !matches!(waitid(WaitId::Pid(self.pid), options), Ok(None))
    }
}
