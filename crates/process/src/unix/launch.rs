//! Starts one program with `posix_spawn`: no copy of our page tables, its own session.
//!
//! It does not wait and does not read outputs. Some steps must run between the start and the exec,
//! and no safe API offers that. So a folder other than ours is entered on a thread that has
//! unshared its working directory. A shell sets the limits and then becomes the program. The shell
//! also enters the folder on macOS, and if a container forbids to unshare it, as Docker's default
//! profile does.
//! Limits were once set from outside right after the start, but the child was faster.

use std::ffi::{CStr, CString, OsStr};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use nix::errno::Errno;
use nix::spawn::{PosixSpawnFileActions, posix_spawn};
use rustix::fs::Access;
use rustix::process::Pid;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::group_leader::Leader;
use super::inherited::fresh_session;
use super::kernel::{Errand, folder_thread, inherited_descriptors};
use crate::error::SpawnError;
use crate::exec_args::{Ends, Order, Refusal};
#[cfg(target_os = "linux")]
use crate::linux::on_processors;
#[cfg(target_os = "linux")]
use crate::sandbox;

#[cfg(not(target_os = "linux"))]
mod sandbox {
    use super::{Ends, Order, Pid, Refusal};
    use crate::sandbox::ReadySandbox;

    pub(super) fn run(_: &Order, _: &Ends, sandbox: &ReadySandbox) -> Result<Pid, Refusal> {
        match sandbox.0 {}
    }
}

#[cfg(not(target_os = "linux"))]
fn on_processors<T>(_: usize, _: impl FnOnce() -> T) -> std::io::Result<T> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The last pause before the start of a busy file fails. See [`launch`].
const LAST_BUSY_PAUSE: Duration = Duration::from_millis(32);

/// Starts the program. When this returns, the child's ends are closed on our side.
///
/// A file that was just written can be "busy": a child of another thread, between its start and its
/// exec, still holds the writer's descriptor. That takes only milliseconds, so the start is tried
/// again. Returns `None` if `cancel` fired before the start.
pub(crate) async fn launch(
    order: Order,
    ends: Ends,
    cancel: &CancellationToken,
) -> Result<Option<Leader>, SpawnError> {
    let job = Arc::new((order, ends));
    let mut pause = Duration::from_millis(1);
    loop {
        if cancel.is_cancelled() {
            return Ok(None);
        }
        let refusal = match attempt(&job, cancel).await {
            Ok(leader) => return Ok(leader),
            Err(refusal) => refusal,
        };
        if !matches!(refusal, Refusal::Exec(Errno::ETXTBSY)) || pause > LAST_BUSY_PAUSE {
            return Err(job.0.refused(refusal));
        }
        tokio::select! {
            () = cancel.cancelled() => {}
            () = tokio::time::sleep(pause) => {}
        }
        pause *= 2;
    }
}

/// Starts the program in our working directory and without limits, and does not try again.
pub(crate) fn start_at_once(order: &Order, ends: &Ends) -> Result<Leader, Refusal> {
    match &order.sandbox {
        Some(sandbox) => {
            let pid = limited(order, || sandbox::run(order, ends, sandbox))?;
            Ok(leader(pid, order, ends))
        }
        None => posix(order, &order.file, &order.arguments, ends, Held::Closed),
    }
}

async fn attempt(
    job: &Arc<(Order, Ends)>,
    cancel: &CancellationToken,
) -> Result<Option<Leader>, Refusal> {
    let (order, ends) = &**job;
    if order.sandbox.is_some() {
        return start_at_once(order, ends).map(Some);
    }
    let (limits, is_entered) = (order.limits, !order.entrances.is_empty());
    if limits.address_space.is_some() || limits.cpu_seconds.is_some() || is_entered {
        return through_shell(order, ends).map(Some);
    }
    if order.cwd.is_none() {
        return posix(order, &order.file, &order.arguments, ends, Held::Closed).map(Some);
    }
    let Some(thread) = folder_thread() else {
        return through_shell(order, ends).map(Some);
    };
    let (answer, answered) = oneshot::channel();
    let (job, cancel) = (Arc::clone(job), cancel.clone());
    let errand: Errand = Box::new(move || {
        let (order, ends) = &*job;
        // The token may have fired while the job was queued.
        let result = if cancel.is_cancelled() {
            Ok(None)
        } else {
            from_folder(order, ends).map(Some)
        };
        // Our copies of the child's ends are closed first. Otherwise the pipes would not end with
        // the child.
        drop(job);
        // If the caller is gone, the leader is dropped here, which kills it.
        drop(answer.send(result));
    });
    let gone = |_| Refusal::Exec(Errno::EAGAIN);
    thread.send(errand).map_err(gone)?;
    answered.await.map_err(|_| Refusal::Exec(Errno::EAGAIN))?
}

/// Enters the folder and starts the program. Runs on the thread with its own working directory.
fn from_folder(order: &Order, ends: &Ends) -> Result<Leader, Refusal> {
    let enter = |folder: &Path| {
        rustix::process::chdir(folder)
            .map_err(|errno| Refusal::Cwd(Errno::from_raw(errno.raw_os_error())))
    };
    enter(order.cwd.as_deref().unwrap_or(Path::new("/")))?;
    let started = posix(order, &order.file, &order.arguments, ends, Held::Closed);
    // A working directory inside the folder would keep its file system busy.
    enter(Path::new("/")).and(started)
}

/// Starts the program through a shell. Conditions that the system would refuse are checked first,
/// since the shell could only exit with 126. Only a file that is not executable code (ENOEXEC)
/// behaves differently: the shell runs it as a script.
fn through_shell(order: &Order, ends: &Ends) -> Result<Leader, Refusal> {
    let folder = order.cwd.as_deref().unwrap_or(Path::new("."));
    may_execute(&folder.join(".")).map_err(Refusal::Cwd)?;
    let file = folder.join(OsStr::from_bytes(order.file.to_bytes()));
    may_execute(&file).map_err(Refusal::Exec)?;
    if file.is_dir() {
        return Err(Refusal::Exec(Errno::EACCES));
    }
    let folder = folder.as_os_str().as_bytes();
    let c_string = |bytes: &[u8]| CString::new(bytes).expect("an order holds no NUL byte");
    let mut arguments = vec![
        c"sh".into(),
        c"-c".into(),
        c_string(shell_script(order).as_bytes()),
        c_string(folder),
        order.file.clone(),
    ];
    arguments.extend_from_slice(&order.arguments[1..]);
    // The shell still has to execute the file that the descriptor names.
    posix(order, c"/bin/sh", &arguments, ends, Held::Open)
}

/// Returns the script that enters the control groups, sets the limits, enters the folder `$0` and
/// executes the remaining arguments. A limit that cannot be set is already lower.
fn shell_script(order: &Order) -> String {
    let (mut script, limits) = (String::new(), order.limits);
    for entrance in &order.entrances {
        let path = entrance.display().to_string().replace('\'', r"'\''");
        script += &format!("echo 0 >'{path}' || exit 126; ");
    }
    if let Some(bytes) = limits.address_space {
        script += &format!("ulimit -v {} 2>&-; ", (bytes / 1024).max(1));
    }
    if let Some(seconds) = limits.cpu_seconds {
        let hard = seconds.saturating_add(1);
        script += &format!("ulimit -St {seconds} 2>&-; ulimit -Ht {hard} 2>&-; ");
    }
    script + "cd -- \"$0\" && exec \"$@\""
}

fn may_execute(path: &Path) -> Result<(), Errno> {
    rustix::fs::access(path, Access::EXEC_OK).map_err(|errno| Errno::from_raw(errno.raw_os_error()))
}

/// Fate of the descriptor that a verified program is started from.
#[derive(Clone, Copy)]
enum Held {
    /// It is closed by the start.
    Closed,
    /// The started program inherits it.
    Open,
}

fn posix(
    order: &Order,
    file: &CStr,
    arguments: &[CString],
    ends: &Ends,
    held: Held,
) -> Result<Leader, Refusal> {
    let spawn = || {
        let mut actions = streams(ends)?;
        let kept = match held {
            Held::Open => &order.held[..],
            Held::Closed => &[],
        };
        for descriptor in kept {
            // Duplicating a descriptor to its own number keeps it open in the child.
            actions.add_dup2(descriptor.as_raw_fd(), descriptor.as_raw_fd())?;
        }
        posix_spawn(
            file,
            &actions,
            &fresh_session()?,
            arguments,
            &order.environment,
        )
    };
    let pid = limited(order, || spawn().map_err(Refusal::Exec))?;
    let pid = Pid::from_raw(pid.as_raw()).expect("a started process has a number above zero");
    Ok(leader(pid, order, ends))
}

/// Starts a process with the limit of processors that its order has.
fn limited<T>(order: &Order, start: impl FnOnce() -> Result<T, Refusal>) -> Result<T, Refusal> {
    let Some(count) = order.limits.processors else {
        return start();
    };
    let refused = |error: std::io::Error| {
        Refusal::Exec(Errno::from_raw(
            error.raw_os_error().unwrap_or(Errno::ENOTSUP as i32),
        ))
    };
    on_processors(count, start).map_err(refused)?
}

/// Returns the handle of a started process.
pub(crate) fn leader(pid: Pid, order: &Order, ends: &Ends) -> Leader {
    let pipes = [&ends.stdout, &ends.stderr].into_iter();
    let pipes = pipes.filter_map(|end| Some(rustix::fs::fstat(end).ok()?.st_ino));
    let sandbox = order.sandbox.clone();
    Leader::new(pid, order.leftovers, pipes.collect(), sandbox)
}

/// File actions of a child: our pipe ends become its descriptors 0, 1 and 2; all others are closed.
fn streams(ends: &Ends) -> nix::Result<PosixSpawnFileActions> {
    let mut actions = PosixSpawnFileActions::init()?;
    actions.add_dup2(ends.stdin.as_raw_fd(), 0)?;
    actions.add_dup2(ends.stdout.as_raw_fd(), 1)?;
    actions.add_dup2(ends.stderr.as_raw_fd(), 2)?;
    for descriptor in inherited_descriptors() {
        actions.add_close(*descriptor)?;
    }
    Ok(actions)
}
