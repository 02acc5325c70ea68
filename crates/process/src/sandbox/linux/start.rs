//! Starts a program that restricts itself before its first instruction: `vfork`, steps in the
//! child, `execve`.
//!
//! `posix_spawn` works the same way, but cannot run these steps. The child shares our memory while
//! our thread waits for its `execve`, so the steps allocate nothing and take no lock.

use std::convert::Infallible;
use std::ffi::{CStr, CString, c_char};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, clone};
use nix::sys::signal::{SigSet, SigmaskHow};
use rustix::fs::{Mode, OFlags};
use rustix::io::FdFlags;
use rustix::process::{Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, waitid};

use super::{ReadySandbox, connections};
use crate::Limits;
use crate::exec_args::{Ends, Order, Refusal};
use crate::linux::inherited_descriptors;

/// Size of the stack on which the child runs its steps.
const STACK_BYTES: usize = 256 * 1024;

/// A number above the last signal.
const SIGNALS_END: libc::c_int = 65;

/// Flag of `close_range` that closes the descriptors at the `execve`.
const CLOSE_RANGE_CLOEXEC: libc::c_uint = 4;

/// Step of the child that can fail.
#[derive(Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Step {
    Prepare = 1,
    Cwd,
    Namespaces,
    Capabilities,
    Landlock,
    Seccomp,
    Exec,
}

type Failure = (Step, Errno);

/// Data that the child needs, in the system's types.
struct Plan<'a> {
    order: &'a Order,
    ends: &'a Ends,
    sandbox: &'a ReadySandbox,
    cwd: Option<CString>,
    entrances: Vec<CString>,
    arguments: Vec<*const c_char>,
    environment: Vec<*const c_char>,
    inherited: &'a [i32],
    /// The child's end of the channel on which it sends the descriptor for its connections.
    channel: Option<UnixStream>,
}

/// Starts the program of `order` in `sandbox`.
pub(crate) fn run(order: &Order, ends: &Ends, sandbox: &ReadySandbox) -> Result<Pid, Refusal> {
    let c_path = |path: &Path| {
        CString::new(path.as_os_str().as_bytes()).map_err(|_| Refusal::Exec(Errno::EINVAL))
    };
    let channel = sandbox.channel();
    let (ours, theirs) = channel.map_err(|_| Refusal::Exec(Errno::EMFILE))?.unzip();
    let plan = Plan {
        order,
        ends,
        sandbox,
        cwd: order.cwd.as_deref().map(c_path).transpose()?,
        entrances: order
            .entrances
            .iter()
            .map(|path| c_path(path))
            .collect::<Result<_, _>>()?,
        arguments: pointers(&order.arguments),
        environment: pointers(&order.environment),
        inherited: inherited_descriptors(),
        channel: theirs,
    };
    let failure = AtomicU64::new(0);
    // The steps change nothing of ours except `failure`.
    let started = vfork(CloneFlags::empty(), || {
        let Err((step, errno)) = steps(&plan);
        let code = u64::from((errno as i32).cast_unsigned());
        failure.store((step as u64) << 32 | code, Ordering::Relaxed);
        // The shell's code for a program that cannot be executed. Only our reaping sees it.
        126
    });
    let pid = started.map_err(Refusal::Exec)?;
    let failure = failure.into_inner();
    if failure == 0 {
        // Otherwise the end of the channel would never be seen.
        drop(plan);
        sandbox.connect_for(pid, ours)?;
        return Ok(pid);
    }
    // It has ended already.
    reap(pid);
    let errno = Errno::from_raw((failure & u64::from(u32::MAX)) as i32);
    Err(match failure >> 32 {
        step if step == Step::Cwd as u64 => Refusal::Cwd(errno),
        step if step == Step::Namespaces as u64 => Refusal::Sandbox("namespaces", errno),
        step if step == Step::Capabilities as u64 => Refusal::Sandbox("capabilities", errno),
        step if step == Step::Landlock as u64 => Refusal::Sandbox("Landlock", errno),
        step if step == Step::Seccomp as u64 => Refusal::Sandbox("seccomp", errno),
        _ => Refusal::Exec(errno),
    })
}

/// Starts a process that runs `steps` in our memory, while our thread waits for its `execve` or its
/// end. The result of `steps` is its exit code. They must allocate nothing, take no lock, never
/// unwind, and change only what the caller accounts for.
pub(super) fn vfork(further: CloneFlags, steps: impl Fn() -> isize) -> Result<Pid, Errno> {
    let mut stack = vec![0; STACK_BYTES];
    let mut handlers = SigSet::empty();
    // A handler that runs in the child would act on our memory.
    let all = SigSet::all();
    let set_mask = |set: &SigSet, old: Option<&mut SigSet>| {
        nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(set), old)
    };
    set_mask(&all, Some(&mut handlers))?;
    let flags = CloneFlags::CLONE_VM | CloneFlags::CLONE_VFORK | further;
    #[allow(
        unsafe_code,
        reason = "no safe crate runs steps in a child without `fork`"
    )]
    // SAFETY: the stack and everything that the closure refers to live until this call returns,
    // which is after the child's `execve` or end (CLONE_VFORK). The closure is as the caller
    // promises. Signals are blocked, so no handler runs in the child before their actions are
    // reset.
    let started = unsafe { clone(Box::new(&steps), &mut stack, flags, Some(libc::SIGCHLD)) };
    let restored = set_mask(&handlers, None);
    debug_assert!(restored.is_ok(), "a mask that was read can be set");
    let pid = started?;
    Ok(Pid::from_raw(pid.as_raw()).expect("a started process has a number above zero"))
}

impl ReadySandbox {
    /// Makes the channel on which a program sends the descriptor for its connections, if haft
    /// connects for it.
    pub(crate) fn channel(&self) -> io::Result<Option<(UnixStream, UnixStream)>> {
        let channel = self.base.handed_over.as_ref().map(|_| UnixStream::pair());
        channel.transpose()
    }

    /// Starts to connect for the program at the other end of the channel, or kills it.
    pub(crate) fn connect_for(&self, pid: Pid, channel: Option<UnixStream>) -> Result<(), Refusal> {
        let (Some((_, ports)), Some(channel)) = (&self.base.handed_over, channel) else {
            return Ok(());
        };
        let listener = connections::receive(&channel);
        let connects = listener.and_then(|it| connections::serve(it, ports.clone()));
        connects.map_err(|error| {
            tracing::debug!(%error, "a program without its network is killed");
            kill(pid);
            Refusal::Exec(Errno::EAGAIN)
        })
    }
}

/// Kills and reaps a process that cannot work.
pub(crate) fn kill(pid: Pid) {
    let _ = rustix::process::kill_process(pid, Signal::KILL);
    reap(pid);
}

pub(super) fn reap(pid: Pid) {
    let options = WaitIdOptions::EXITED;
    let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(pid), options));
}

fn pointers(texts: &[CString]) -> Vec<*const c_char> {
    let texts = texts.iter().map(|text| text.as_ptr());
    texts.chain([ptr::null()]).collect()
}

/// The steps of the child. They run in our memory.
fn steps(plan: &Plan<'_>) -> Result<Infallible, Failure> {
    let prepare = |error: rustix::io::Errno| (Step::Prepare, from_rustix(error));
    rustix::process::setsid().map_err(prepare)?;
    reset_signals();
    streams(plan).map_err(prepare)?;
    for entrance in &plan.entrances {
        enter_group(entrance).map_err(prepare)?;
    }
    set_limits(&plan.order.limits);
    forbid_core_dumps();
    if let Some(cwd) = &plan.cwd {
        rustix::process::chdir(cwd.as_c_str()).map_err(|error| (Step::Cwd, from_rustix(error)))?;
    }
    let channel = plan.channel.as_ref().map(UnixStream::as_fd);
    let restriction = plan.sandbox.restriction(channel.is_some());
    restriction.apply(channel).map_err(|(layer, errno)| {
        let step = match layer {
            "namespaces" => Step::Namespaces,
            "capabilities" => Step::Capabilities,
            "Landlock" => Step::Landlock,
            _ => Step::Seccomp,
        };
        (step, errno)
    })?;
    // The last step before `execve`: from here on a handler of ours could not run either, since
    // all signals have their default action.
    let _ =
        nix::sys::signal::pthread_sigmask(SigmaskHow::SIG_SETMASK, Some(&SigSet::empty()), None);
    #[allow(unsafe_code, reason = "the safe function of nix allocates")]
    // SAFETY: the file ends with NUL; both lists end with a null pointer, and their texts live in
    // the order.
    unsafe {
        libc::execve(
            plan.order.file.as_ptr(),
            plan.arguments.as_ptr(),
            plan.environment.as_ptr(),
        );
    }
    Err((Step::Exec, Errno::last()))
}

fn from_rustix(error: rustix::io::Errno) -> Errno {
    Errno::from_raw(error.raw_os_error())
}

/// Sets every signal to its default action, since an ignored signal stays ignored after `execve`.
fn reset_signals() {
    for signal in 1..SIGNALS_END {
        #[allow(unsafe_code, reason = "nix has no name for the signals above 31")]
        // SAFETY: the default action runs no code. The call fails for KILL, STOP, and the signals
        // of the C library, which never have another action after `execve`.
        unsafe {
            libc::signal(signal, libc::SIG_DFL);
        }
    }
}

/// Makes the child's ends of the pipes its descriptors 0 to 2. All others close at the `execve`.
fn streams(plan: &Plan<'_>) -> rustix::io::Result<()> {
    let ends = plan.ends;
    let put = |end: &OwnedFd, number: i32, dup2: fn(BorrowedFd<'_>) -> rustix::io::Result<()>| {
        if end.as_raw_fd() == number {
            rustix::io::fcntl_setfd(end, FdFlags::empty())
        } else {
            dup2(end.as_fd())
        }
    };
    put(&ends.stdin, 0, |end| rustix::stdio::dup2_stdin(end))?;
    put(&ends.stdout, 1, |end| rustix::stdio::dup2_stdout(end))?;
    put(&ends.stderr, 2, |end| rustix::stdio::dup2_stderr(end))?;
    #[allow(unsafe_code, reason = "no crate offers this call")]
    // SAFETY: the call takes numbers only. The descriptors stay open until the `execve`, and the
    // child has its own table of them.
    let closed = unsafe {
        let number = libc::SYS_close_range;
        libc::syscall(number, 3, libc::c_uint::MAX, CLOSE_RANGE_CLOEXEC)
    };
    if closed != 0 {
        // A filter of the container may not know the call.
        for descriptor in plan.inherited {
            #[allow(
                unsafe_code,
                reason = "a number from `/proc` is not an owned descriptor"
            )]
            // SAFETY: the number is not used for anything else in this process.
            unsafe {
                libc::close(*descriptor);
            }
        }
    }
    Ok(())
}

/// Enters a control group by writing to its file, which the child could not do later.
pub(crate) fn enter_group(entrance: &CStr) -> rustix::io::Result<()> {
    let flags = OFlags::WRONLY | OFlags::CLOEXEC;
    let file = rustix::fs::open(entrance, flags, Mode::empty())?;
    rustix::io::write(&file, b"0").map(drop)
}

/// Sets the limits. One that cannot be set is already lower.
pub(crate) fn set_limits(limits: &Limits) {
    let set = |resource, soft: u64, hard: u64| {
        let limit = Rlimit {
            current: Some(soft),
            maximum: Some(hard),
        };
        let _ = rustix::process::setrlimit(resource, limit);
    };
    if let Some(bytes) = limits.address_space {
        let bytes = (bytes / 1024).max(1) * 1024;
        set(Resource::As, bytes, bytes);
    }
    if let Some(seconds) = limits.cpu_seconds {
        set(Resource::Cpu, seconds, seconds.saturating_add(1));
    }
}

/// Sets the size of core dumps to zero. They would contain the memory of a tool, and are written
/// where the sandbox does not apply.
pub(crate) fn forbid_core_dumps() {
    let none = Rlimit {
        current: Some(0),
        maximum: Some(0),
    };
    let _ = rustix::process::setrlimit(Resource::Core, none);
}
