//! Processes that are forked from a prepared one, the *zygote*, and not executed.
//!
//! A process that needs long until it is ready is started once. It prepares itself with one thread,
//! and then forks for each start: the new process has everything that was prepared, and shares its
//! memory until one of them writes to it. The new process is a child of haft (`CLONE_PARENT`), so
//! haft signals and reaps it like any other. It enters its control group, limits and sandbox before
//! it returns to its caller, which is before it reads anything that a tool has written.
//!
//! The zygote runs nothing of a tool and is not in a sandbox. All processes that it forks have the
//! same addresses of code and data.

use std::ffi::{CStr, CString, OsStr};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use nix::errno::Errno;
use nix::libc;
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::net::sockopt::{Timeout, set_socket_timeout};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, recv, send, socketpair,
};
use rustix::process::Pid;
use serde::{Deserialize, Serialize};

use super::descriptors::{MAX_DESCRIPTORS, receive_descriptors, send_descriptors};
use crate::exec_args::{Ends, Order, Refusal};
use crate::sandbox::{self, Entrances, ReadySandbox, Restriction};
use crate::unix::{Leader, leader, start_at_once};
use crate::{Limits, Spawn, SpawnError, Worker};

/// Time in which a zygote has to answer. It includes its own start.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(5);

// The request, three streams, the state, and the rules, the namespaces and the channel of a sandbox.
const _: () = assert!(7 + sandbox::MAX_ENTRANCES <= MAX_DESCRIPTORS);

/// Name that lists of processes show. It only helps people.
const ZYGOTE_NAME: &CStr = c"haft-zygote";

/// Exit code of a process that could not be restricted. Only its reaping sees it.
const NOT_STARTED: i32 = 126;

/// A process of haft that is forked for each start of a worker. Dropping it ends it; the workers
/// stay.
pub struct Zygote {
    socket: Mutex<OwnedFd>,
    is_broken: AtomicBool,
    process: Worker,
}

/// Steps that the new process takes for itself. Descriptors are sent beside it.
#[derive(Serialize, Deserialize)]
struct Request {
    /// `NAME=value`.
    environment: Vec<Vec<u8>>,
    /// The files through which the process enters its control groups.
    entrances: Vec<Vec<u8>>,
    address_space: Option<u64>,
    cpu_seconds: Option<u64>,
    sandbox: Option<Filter>,
}

/// The seccomp filter of a sandbox.
#[derive(Serialize, Deserialize)]
struct Filter {
    instructions: Vec<(u16, u8, u8, u32)>,
    /// True if connections are handed over to haft.
    hands_over: bool,
    /// The flags of the namespaces whose descriptors are sent.
    namespaces: Vec<i32>,
}

/// Step of a new process that failed, with the number of the error.
#[derive(Clone, Copy, Serialize, Deserialize)]
struct Failure {
    step: FailedStep,
    errno: i32,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum FailedStep {
    Prepare,
    Namespaces,
    Capabilities,
    Landlock,
    Seccomp,
}

impl Failure {
    fn refusal(self) -> Refusal {
        let errno = Errno::from_raw(self.errno);
        match self.step {
            FailedStep::Prepare => Refusal::Exec(errno),
            FailedStep::Namespaces => Refusal::Sandbox("namespaces", errno),
            FailedStep::Capabilities => Refusal::Sandbox("capabilities", errno),
            FailedStep::Landlock => Refusal::Sandbox("Landlock", errno),
            FailedStep::Seccomp => Refusal::Sandbox("seccomp", errno),
        }
    }
}

impl Zygote {
    /// Starts a program that calls [`serve_zygote`] when it is prepared.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(spawn: &Spawn) -> Result<Zygote, SpawnError> {
        let failed = |source: io::Error| SpawnError::System {
            program: spawn.shown_program(),
            source,
        };
        let null = || std::fs::File::options().write(true).open("/dev/null");
        let streams = || -> io::Result<_> {
            let flags = SocketFlags::CLOEXEC;
            let kind = SocketType::SEQPACKET;
            let (ours, theirs) = socketpair(AddressFamily::UNIX, kind, flags, None)?;
            set_socket_timeout(&ours, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
            Ok((ours, [theirs, null()?.into(), null()?.into()]))
        };
        let (ours, theirs) = streams().map_err(failed)?;
        Ok(Zygote {
            socket: Mutex::new(ours),
            is_broken: AtomicBool::new(false),
            process: Worker::start(spawn, theirs)?,
        })
    }

    /// Ends the process. Blocks.
    pub fn end(&self) {
        self.is_broken.store(true, Ordering::Relaxed);
        self.process.kill();
        self.process.wait();
    }

    /// Returns true if it has ended or has not answered.
    pub fn is_broken(&self) -> bool {
        self.is_broken.load(Ordering::Relaxed)
    }

    /// Forks a worker, or starts the program if that fails.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start_worker(&self, spawn: &Spawn, streams: [OwnedFd; 3]) -> Result<Worker, SpawnError> {
        let start = |order: &Order, ends: &Ends| {
            self.fork(order, ends).unwrap_or_else(|error| {
                tracing::debug!(%error, "a zygote does not answer");
                start_at_once(order, ends)
            })
        };
        Worker::started_by(start, spawn, streams)
    }

    /// Forks a process. Blocks until the process is in its sandbox.
    ///
    /// # Errors
    /// The outer one if the zygote itself fails; the inner one if the process cannot be restricted.
    fn fork(&self, order: &Order, ends: &Ends) -> io::Result<Result<Leader, Refusal>> {
        let forked = self.try_fork(order, ends);
        if forked.is_err() {
            self.is_broken.store(true, Ordering::Relaxed);
        }
        Ok(forked?.map(|pid| leader(pid, order, ends)))
    }

    fn try_fork(&self, order: &Order, ends: &Ends) -> io::Result<Result<Pid, Refusal>> {
        let channel = order
            .sandbox
            .as_ref()
            .map(ReadySandbox::channel)
            .transpose()?;
        let (ours, theirs) = channel.flatten().unzip();
        let restriction = order.sandbox.as_ref();
        let restriction = restriction.map(|sandbox| sandbox.restriction(theirs.is_some()));
        let body = postcard::to_stdvec(&request(order, restriction.as_ref()))
            .map_err(|error| io::Error::other(error.to_string()))?;
        let memory = memfd_create("haft-start", MemfdFlags::CLOEXEC)?;
        rustix::io::write(&memory, &body)?;
        let (state, their_state) = socketpair(
            AddressFamily::UNIX,
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        set_socket_timeout(&state, Timeout::Recv, Some(ANSWER_TIMEOUT))?;
        let streams = [&ends.stdin, &ends.stdout, &ends.stderr].map(AsFd::as_fd);
        let descriptors = [memory.as_fd()].into_iter().chain(streams);
        let descriptors = descriptors.chain([their_state.as_fd()]);
        let descriptors = descriptors.chain(restriction.as_ref().map(|it| it.rules));
        let entrances = restriction.iter().flat_map(|it| it.entrances.iter());
        let descriptors = descriptors.chain(entrances.map(|(_, descriptor)| descriptor));
        let descriptors = descriptors.chain(theirs.as_ref().map(AsFd::as_fd));
        let descriptors: Vec<_> = descriptors.collect();

        let answer = {
            let socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
            send_descriptors(&socket, &descriptors, SendFlags::empty())?;
            let mut answer = [0; 4];
            if recv(&*socket, &mut answer, RecvFlags::empty())?.0 != answer.len() {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            i32::from_ne_bytes(answer)
        };
        drop((their_state, theirs));
        let Some(pid) = Pid::from_raw(answer).filter(|_| answer > 0) else {
            return Err(io::Error::from_raw_os_error(-answer));
        };
        let mut failure = [0; 16];
        let (length, _) = recv(&state, &mut failure, RecvFlags::empty())?;
        let refused = match postcard::from_bytes::<Option<Failure>>(&failure[..length]) {
            Ok(None) => {
                let connects = order.sandbox.as_ref();
                let connects = connects.map_or(Ok(()), |it| it.connect_for(pid, ours));
                return Ok(connects.map(|()| pid));
            }
            Ok(Some(failure)) => failure.refusal(),
            Err(_) => Refusal::Exec(Errno::ECHILD),
        };
        sandbox::kill(pid);
        Ok(Err(refused))
    }
}

fn request(order: &Order, restriction: Option<&Restriction<'_>>) -> Request {
    let variables = order.environment.iter();
    Request {
        environment: variables.map(|pair| pair.to_bytes().to_vec()).collect(),
        entrances: order
            .entrances
            .iter()
            .map(|path| path.as_os_str().as_bytes().to_vec())
            .collect(),
        address_space: order.limits.address_space,
        cpu_seconds: order.limits.cpu_seconds,
        sandbox: restriction.map(|it| Filter {
            instructions: it
                .filter
                .iter()
                .map(|one| (one.code, one.jt, one.jf, one.k))
                .collect(),
            hands_over: it.hands_over,
            namespaces: it.entrances.iter().map(|(flag, _)| flag).collect(),
        }),
    }
}

/// State of a process in which [`serve_zygote`] has returned.
pub enum Forked {
    /// This is a new process.
    Worker,
    /// haft has ended.
    End,
}

/// Forks this process whenever haft asks for it on descriptor 0. Returns in each new process, whose
/// streams are then those that haft has sent.
///
/// # Errors
/// If this process has several threads, or its memory cannot be inherited.
pub fn serve_zygote() -> io::Result<Forked> {
    if std::fs::read_dir("/proc/self/task")?.count() != 1 {
        return Err(io::Error::other("a process with threads cannot be forked"));
    }
    let thread = thread_id_address()?;
    let socket = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    drop(null);
    inherit_memory()?;
    use_one_arena();
    let _ = rustix::thread::set_name(ZYGOTE_NAME);
    loop {
        let Some(descriptors) = receive_descriptors(&socket)? else {
            return Ok(Forked::End);
        };
        let answer = match fork(thread) {
            Ok(0) => {
                drop(socket);
                enter(descriptors);
                return Ok(Forked::Worker);
            }
            Ok(pid) => pid,
            Err(errno) => -(errno as i32),
        };
        drop(descriptors);
        send(&socket, &answer.to_ne_bytes(), SendFlags::NOSIGNAL)?;
    }
}

/// Lets all threads of the new processes use the memory pool of the first one. Those of others would
/// be private memory of each process, and these threads allocate little.
fn use_one_arena() {
    #[cfg(target_env = "gnu")]
    #[allow(unsafe_code, reason = "no safe crate offers this call")]
    // SAFETY: the call takes numbers only, and this is the only thread.
    unsafe {
        libc::mallopt(libc::M_ARENA_MAX, 1);
    }
}

/// Lets new processes inherit all memory. V8 excludes its own from forks, because most programs
/// that fork only start another program.
fn inherit_memory() -> io::Result<()> {
    let mappings = std::fs::read_to_string("/proc/self/smaps")?;
    let mut range = None;
    for line in mappings.lines() {
        if let Some(flags) = line.strip_prefix("VmFlags:") {
            let is_excluded = flags.split_ascii_whitespace().any(|flag| flag == "dc");
            if let Some((start, end)) = range.take().filter(|_| is_excluded) {
                inherit(start, end)?;
            }
        } else if let Some(found) = range_of(line) {
            range = Some(found);
        }
    }
    Ok(())
}

/// Parses the first line of a mapping: `7f00-7fff r--p …`.
fn range_of(line: &str) -> Option<(usize, usize)> {
    let (start, end) = line.split_once(' ')?.0.split_once('-')?;
    let number = |text| usize::from_str_radix(text, 16).ok();
    Some((number(start)?, number(end)?))
}

fn inherit(start: usize, end: usize) -> io::Result<()> {
    let address = std::ptr::without_provenance_mut(start);
    #[allow(unsafe_code, reason = "no safe crate offers this call")]
    // SAFETY: the advice changes nothing in this process.
    let result = unsafe { libc::madvise(address, end - start, libc::MADV_DOFORK) };
    Errno::result(result).map(drop)?;
    Ok(())
}

/// Returns the address at which the C library keeps the number of this thread. A forked process has
/// to write its own there.
fn thread_id_address() -> io::Result<libc::c_long> {
    if cfg!(not(target_env = "gnu")) {
        // Other libraries use the address for a lock.
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut address: libc::c_long = 0;
    #[allow(unsafe_code, reason = "no safe crate offers this call")]
    // SAFETY: the kernel writes the address to the variable, which has its size.
    let result = unsafe { libc::prctl(libc::PR_GET_TID_ADDRESS, &raw mut address) };
    Errno::result(result)?;
    Ok(address)
}

/// Forks this process as a child of its own parent. Returns 0 in the new process.
///
/// The `fork` of the C library cannot do that. What it does beyond the system call is for locks,
/// which nothing holds in a process with one thread, and for handlers that no code here has
/// registered.
fn fork(thread: libc::c_long) -> Result<i32, Errno> {
    let flags =
        libc::CLONE_PARENT | libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID | libc::SIGCHLD;
    let (fourth, fifth) = if cfg!(target_arch = "x86_64") {
        (thread, 0)
    } else {
        (0, thread)
    };
    #[allow(unsafe_code, reason = "no safe crate offers this call")]
    // SAFETY: this is the only thread, so the copy is complete. The kernel writes the number of the
    // new process to the place where the C library expects it.
    let result = unsafe {
        let (flags, none): (libc::c_long, libc::c_long) = (flags.into(), 0);
        libc::syscall(libc::SYS_clone, flags, none, none, fourth, fifth)
    };
    let pid = Errno::result(result)?;
    Ok(i32::try_from(pid).unwrap_or_default())
}

/// Makes the new process what haft asked for, or ends it.
fn enter(descriptors: Vec<OwnedFd>) {
    let mut descriptors = descriptors.into_iter();
    let mut next = || descriptors.next();
    let (Some(request), Some(stdin), Some(stdout), Some(stderr), Some(state)) =
        (next(), next(), next(), next(), next())
    else {
        leave();
    };
    let done = prepare(&request, [stdin, stdout, stderr]).and_then(|filter| match filter {
        None => Ok(()),
        Some(filter) => restrict(&filter, descriptors),
    });
    let failure = postcard::to_stdvec(&done.err()).unwrap_or_default();
    let sent = send(&state, &failure, SendFlags::NOSIGNAL);
    if done.is_err() || sent.is_err() {
        leave();
    }
}

#[allow(
    clippy::disallowed_methods,
    reason = "nothing may run in a process that is not restricted"
)]
fn leave() -> ! {
    std::process::exit(NOT_STARTED)
}

/// Takes the steps before the sandbox. Returns the filter of the sandbox.
fn prepare(request: &OwnedFd, streams: [OwnedFd; 3]) -> Result<Option<Filter>, Failure> {
    let failed = |errno: rustix::io::Errno| Failure {
        step: FailedStep::Prepare,
        errno: errno.raw_os_error(),
    };
    let request = read_request(request).map_err(failed)?;
    rustix::process::setsid().map_err(failed)?;
    let [stdin, stdout, stderr] = streams;
    rustix::stdio::dup2_stdin(&stdin).map_err(failed)?;
    rustix::stdio::dup2_stdout(&stdout).map_err(failed)?;
    rustix::stdio::dup2_stderr(&stderr).map_err(failed)?;
    for entrance in request.entrances {
        let path = CString::new(entrance).unwrap_or_default();
        sandbox::enter_group(&path).map_err(failed)?;
    }
    sandbox::set_limits(&Limits {
        address_space: request.address_space,
        cpu_seconds: request.cpu_seconds,
        ..Limits::default()
    });
    set_environment(&request.environment);
    Ok(request.sandbox)
}

fn read_request(memory: &OwnedFd) -> rustix::io::Result<Request> {
    let size = rustix::fs::fstat(memory)?.st_size;
    let mut bytes = vec![0; usize::try_from(size).unwrap_or_default()];
    let length = rustix::io::pread(memory, &mut bytes, 0)?;
    postcard::from_bytes(&bytes[..length]).map_err(|_| rustix::io::Errno::BADMSG)
}

/// Replaces the variables of this process.
fn set_environment(pairs: &[Vec<u8>]) {
    let ours: Vec<_> = std::env::vars_os().map(|(name, _)| name).collect();
    #[allow(unsafe_code, reason = "the standard library considers it unsafe")]
    // SAFETY: this process has one thread.
    unsafe {
        for name in ours {
            std::env::remove_var(name);
        }
        for pair in pairs {
            let mut parts = pair.splitn(2, |byte| *byte == b'=');
            if let (Some(name), Some(value)) = (parts.next(), parts.next())
                && !name.is_empty()
            {
                std::env::set_var(OsStr::from_bytes(name), OsStr::from_bytes(value));
            }
        }
    }
}

/// Puts this process into its sandbox, whose descriptors are left.
fn restrict(
    filter: &Filter,
    mut descriptors: impl Iterator<Item = OwnedFd>,
) -> Result<(), Failure> {
    let rules = descriptors.next();
    let namespaces = descriptors.by_ref().take(filter.namespaces.len());
    let namespaces: Vec<_> = namespaces.collect();
    let channel = descriptors.next();
    let instructions = filter.instructions.iter();
    let filter_code: Vec<_> = instructions
        .map(|&(code, jt, jf, k)| seccompiler::sock_filter { code, jt, jf, k })
        .collect();
    let Some(rules) = rules else {
        let errno = Errno::EBADF as i32;
        return Err(Failure {
            step: FailedStep::Landlock,
            errno,
        });
    };
    sandbox::forbid_core_dumps();
    let flags = filter.namespaces.iter().copied();
    let restriction = Restriction {
        rules: rules.as_fd(),
        entrances: Entrances::from_pairs(flags.zip(namespaces.iter().map(AsFd::as_fd))),
        filter: &filter_code,
        hands_over: filter.hands_over,
    };
    restriction
        .apply(channel.as_ref().map(AsFd::as_fd))
        .map_err(|(layer, errno)| Failure {
            step: match layer {
                "namespaces" => FailedStep::Namespaces,
                "capabilities" => FailedStep::Capabilities,
                "Landlock" => FailedStep::Landlock,
                _ => FailedStep::Seccomp,
            },
            errno: errno as i32,
        })
}
