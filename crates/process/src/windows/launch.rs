//! Starts one program: suspended, so that it is in its job before its first instruction.

use std::os::windows::process::CommandExt;
use std::process::{Child, Command, Stdio};

use tokio_util::sync::CancellationToken;
use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

use super::job::Job;
use super::leader::Leader;
use super::processes::{KILLED, resume};
use super::{Errno, Pid};
use crate::error::SpawnError;
use crate::exec_args::{Ends, Order, Refusal};

/// Starts the program. When this returns, the child's ends are closed on our side. Returns `None` if
/// `cancel` fired before the start.
pub(crate) async fn launch(
    order: Order,
    ends: Ends,
    cancel: &CancellationToken,
) -> Result<Option<Leader>, SpawnError> {
    if cancel.is_cancelled() {
        return Ok(None);
    }
    let started = start_at_once(&order, &ends);
    started.map(Some).map_err(|refusal| order.refused(refusal))
}

/// Starts the program, and does not try again.
pub(crate) fn start_at_once(order: &Order, ends: &Ends) -> Result<Leader, Refusal> {
    let system = |error: std::io::Error| match Errno::of(&error) {
        Errno::DIRECTORY => Refusal::Cwd(Errno::DIRECTORY),
        errno => Refusal::Exec(errno),
    };
    if order.limits.processors.is_some() {
        return Err(system(std::io::ErrorKind::Unsupported.into()));
    }
    let job = Job::new(&order.limits).map_err(system)?;
    let mut child = spawn(order, ends).map_err(system)?;
    let pid = Pid(child.id());
    if let Err(error) = job.add(&child).and_then(|()| resume(pid)) {
        job.kill(KILLED);
        // It may not be in the job.
        let _ = child.kill();
        return Err(system(error));
    }
    let held = order.held.iter().map(|held| held.try_clone());
    let held = held.collect::<Result<_, _>>().map_err(system)?;
    Ok(Leader::new(child, job, order.leftovers, held))
}

#[expect(
    clippy::disallowed_methods,
    reason = "this is the module that starts programs"
)]
fn spawn(order: &Order, ends: &Ends) -> std::io::Result<Child> {
    // The system would look for a relative path in our folder.
    let file = match &order.cwd {
        Some(cwd) => cwd.join(&order.file),
        None => order.file.clone().into(),
    };
    let mut command = Command::new(file);
    let variables = order.environment.iter();
    command
        .args(&order.arguments[1..])
        .env_clear()
        .envs(variables.map(|(name, value)| (name, value)))
        .stdin(Stdio::from(ends.stdin.try_clone()?))
        .stdout(Stdio::from(ends.stdout.try_clone()?))
        .stderr(Stdio::from(ends.stderr.try_clone()?))
        // Its own console, which is invisible: it cannot take ours.
        .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW);
    if let Some(cwd) = &order.cwd {
        command.current_dir(cwd);
    }
    command.spawn()
}
