//! Processes of the machine, as the calls of `libproc` show them, and their ends by kqueue.

#![expect(
    unsafe_code,
    reason = "the calls fill memory that the caller gives them, and rustix cannot know the lifetimes \
              of the descriptors in an event"
)]

use std::ffi::{c_int, c_void};
use std::io;
use std::mem::{self, MaybeUninit};
use std::os::fd::OwnedFd;
use std::ptr;

use nix::libc;
use rustix::event::kqueue::{
    Event, EventFilter, EventFlags, ProcessEvents, UserDefinedFlags, UserFlags, kevent, kqueue,
};
use rustix::io::{Errno, FdFlags, fcntl_setfd};
use rustix::process::{Pid, Signal, kill_process};

/// Places for processes that start between the count and the list.
const SPARE_PLACES: usize = 64;

/// `PROC_PIDFDPIPEINFO` of `sys/proc_info.h`, which `libc` has no name for.
const PROC_PIDFDPIPEINFO: c_int = 6;

/// A process with its start time, which is compared before each signal.
pub(crate) struct Held {
    pid: Pid,
    started: u64,
}

impl Held {
    /// Looks at a process; `None` if it has ended.
    pub(crate) fn open(pid: Pid) -> Option<Held> {
        let started = Stat::of(pid)?.started;
        Some(Held { pid, started })
    }

    pub(crate) fn pid(&self) -> Pid {
        self.pid
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let is_same = Stat::of(self.pid).is_some_and(|stat| stat.started == self.started);
        if is_same {
            // An error means that the process has ended already.
            let _ = kill_process(self.pid, signal);
        }
    }
}

/// Returns a queue that becomes readable when the process ends.
pub(crate) fn end_descriptor(process: Pid) -> io::Result<OwnedFd> {
    let queue = kqueue()?;
    fcntl_setfd(&queue, FdFlags::CLOEXEC)?;
    let add = |filter| {
        let event = Event::new(filter, EventFlags::ADD, ptr::null_mut());
        let none: &mut [Event] = &mut [];
        // SAFETY: the event names no descriptor.
        unsafe { kevent(&queue, &[event], none, None) }.map(drop)
    };
    let added = add(EventFilter::Proc {
        pid: process,
        flags: ProcessEvents::EXIT,
    });
    if added == Err(Errno::SRCH) {
        // It has ended already, and is not reaped. This event is there at once.
        add(EventFilter::User {
            ident: 0,
            flags: UserFlags::TRIGGER,
            user_flags: UserDefinedFlags::new(0),
        })?;
    } else {
        added?;
    }
    Ok(queue)
}

/// Returns every process that is visible to us.
pub(crate) fn everyone() -> impl Iterator<Item = Pid> {
    // SAFETY: `list` gives a buffer of the size that it names, or none to count.
    let pids = list(|buffer, size| unsafe { libc::proc_listallpids(buffer, size) });
    pids.into_iter()
}

/// Returns the children of a process.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let parent = parent.as_raw_pid();
    // SAFETY: as above.
    list(|buffer, size| unsafe { libc::proc_listchildpids(parent, buffer, size) })
}

/// Returns the children that a thread of this process started: the system does not record it.
pub(crate) fn children_of_thread(_thread_id: i32) -> Vec<Pid> {
    Vec::new()
}

/// Calls a function that fills a buffer with process numbers. It returns their count, and an upper
/// limit of it without a buffer.
fn list(fill: impl Fn(*mut c_void, c_int) -> c_int) -> Vec<Pid> {
    let count = usize::try_from(fill(ptr::null_mut(), 0)).unwrap_or_default();
    let mut pids = vec![0 as libc::pid_t; count + SPARE_PLACES];
    let Ok(size) = c_int::try_from(mem::size_of_val(pids.as_slice())) else {
        return Vec::new();
    };
    let count = usize::try_from(fill(pids.as_mut_ptr().cast(), size)).unwrap_or_default();
    pids.truncate(count);
    pids.into_iter().filter_map(Pid::from_raw).collect()
}

/// Parent and start time of a process.
pub(crate) struct Stat {
    pub(crate) parent: Pid,
    /// Start time in microseconds since 1970.
    pub(crate) started: u64,
}

impl Stat {
    pub(crate) fn of(process: Pid) -> Option<Self> {
        // SAFETY: this flavor fills this structure of numbers.
        let found: libc::proc_bsdinfo = unsafe { info(process, libc::PROC_PIDTBSDINFO) }?;
        Some(Self {
            parent: Pid::from_raw(found.pbi_ppid.cast_signed())?,
            started: found.pbi_start_tvsec * 1_000_000 + found.pbi_start_tvusec,
        })
    }
}

/// Returns true if a thread of the process runs.
pub(crate) fn is_running(process: Pid) -> bool {
    // SAFETY: this flavor fills this structure of numbers.
    let found: Option<libc::proc_taskinfo> = unsafe { info(process, libc::PROC_PIDTASKINFO) };
    found.is_some_and(|found| found.pti_numrunning > 0)
}

/// Asks for a structure about a process; `None` if the process has ended or is not ours.
///
/// # Safety
/// `T` is the structure of this flavor, and consists of numbers.
unsafe fn info<T>(process: Pid, flavor: c_int) -> Option<T> {
    let mut found = MaybeUninit::<T>::zeroed();
    let size = c_int::try_from(mem::size_of::<T>()).ok()?;
    // SAFETY: the buffer has the size that is named.
    let filled = unsafe {
        let buffer = found.as_mut_ptr().cast();
        libc::proc_pidinfo(process.as_raw_pid(), flavor, 0, buffer, size)
    };
    // SAFETY: all of it was filled with numbers.
    (filled == size).then(|| unsafe { found.assume_init() })
}

/// Returns the memory of a process that counts for its limit (footprint).
pub(crate) fn private_bytes(pid: Pid) -> u64 {
    let mut usage = MaybeUninit::<libc::rusage_info_v0>::zeroed();
    // SAFETY: this flavor fills this structure of numbers, and zeros are a valid one.
    unsafe {
        let buffer = usage.as_mut_ptr().cast();
        match libc::proc_pid_rusage(pid.as_raw_pid(), libc::RUSAGE_INFO_V0, buffer) {
            0 => usage.assume_init().ri_phys_footprint,
            _ => 0,
        }
    }
}

/// `pipe_fdinfo` of `sys/proc_info.h`, which `libc` has no name for.
#[repr(C)]
struct PipeFdInfo {
    /// `proc_fileinfo`: flags, status, offset, type, guard flags.
    _file: [u64; 3],
    _stat: libc::vinfo_stat,
    /// The inode of this end.
    handle: u64,
    _peer_handle: u64,
    _status: c_int,
    _reserved: c_int,
}

/// Returns true if the process holds one of the pipe ends with these inodes.
pub(crate) fn holds_pipe(process: Pid, inodes: &[u64]) -> bool {
    let pid = process.as_raw_pid();
    descriptors(pid).iter().any(|descriptor| {
        let is_pipe = descriptor.proc_fdtype == libc::PROX_FDTYPE_PIPE.cast_unsigned();
        is_pipe && pipe_inode(pid, descriptor.proc_fd).is_some_and(|inode| inodes.contains(&inode))
    })
}

fn descriptors(pid: c_int) -> Vec<libc::proc_fdinfo> {
    let entry = mem::size_of::<libc::proc_fdinfo>();
    let fill = |buffer: *mut c_void, size: c_int| {
        // SAFETY: the buffer has the size that is named, or there is none and the size is returned.
        let filled = unsafe { libc::proc_pidinfo(pid, libc::PROC_PIDLISTFDS, 0, buffer, size) };
        usize::try_from(filled).unwrap_or_default() / entry
    };
    let count = fill(ptr::null_mut(), 0) + SPARE_PLACES;
    let mut found = Vec::with_capacity(count);
    let Ok(size) = c_int::try_from(count * entry) else {
        return found;
    };
    let count = fill(found.as_mut_ptr().cast(), size);
    // SAFETY: so many entries were filled, and no more than there is room for.
    unsafe { found.set_len(count.min(found.capacity())) };
    found
}

fn pipe_inode(pid: c_int, descriptor: c_int) -> Option<u64> {
    let mut found = MaybeUninit::<PipeFdInfo>::zeroed();
    let size = c_int::try_from(mem::size_of::<PipeFdInfo>()).ok()?;
    // SAFETY: the buffer has the size that is named.
    let filled = unsafe {
        let buffer = found.as_mut_ptr().cast();
        libc::proc_pidfdinfo(pid, descriptor, PROC_PIDFDPIPEINFO, buffer, size)
    };
    // SAFETY: all of it was filled with numbers.
    (filled == size).then(|| unsafe { found.assume_init() }.handle)
}
