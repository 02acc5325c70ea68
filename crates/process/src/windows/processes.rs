//! Processes of the machine.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::mem;
use std::os::windows::io::{AsRawHandle, FromRawHandle, OwnedHandle};

use windows_sys::Win32::Foundation::{FILETIME, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Diagnostics::ToolHelp::{
    CreateToolhelp32Snapshot, PROCESSENTRY32W, Process32FirstW, Process32NextW, TH32CS_SNAPPROCESS,
    TH32CS_SNAPTHREAD, THREADENTRY32, Thread32First, Thread32Next,
};
use windows_sys::Win32::System::ProcessStatus::{
    K32GetProcessMemoryInfo, PROCESS_MEMORY_COUNTERS_EX,
};
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, OpenThread, PROCESS_ACCESS_RIGHTS,
    PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_TERMINATE, ResumeThread, THREAD_SUSPEND_RESUME,
    TerminateProcess,
};

use super::Pid;

/// Limit of the processes visited on a walk.
const MAX_VISITED: usize = 4096;

/// Opens a process.
pub(super) fn open(pid: Pid, rights: PROCESS_ACCESS_RIGHTS) -> io::Result<OwnedHandle> {
    // SAFETY: the call takes numbers only, and the handle that it returns is ours.
    unsafe { owned(OpenProcess(rights, 0, pid.0)) }
}

/// Takes a handle that a call returned; null or -1 is an error.
///
/// # Safety
/// A valid handle is ours alone.
pub(crate) unsafe fn owned(handle: *mut std::ffi::c_void) -> io::Result<OwnedHandle> {
    if handle.is_null() || handle == INVALID_HANDLE_VALUE {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the caller says that it is ours.
    Ok(unsafe { OwnedHandle::from_raw_handle(handle) })
}

/// Exit code of a process that haft killed: that of a shell for KILL.
pub(super) const KILLED: u32 = 137;

/// Start time of a process.
pub(crate) struct Stat {
    /// Start time in units of 100 ns since 1601.
    pub(crate) started: u64,
}

impl Stat {
    pub(crate) fn of(process: Pid) -> Option<Self> {
        let process = open(process, PROCESS_QUERY_LIMITED_INFORMATION).ok()?;
        let mut times = [FILETIME::default(); 4];
        let [created, exited, kernel, user] = &mut times;
        // SAFETY: the handle is open, and each time has its place.
        let found =
            unsafe { GetProcessTimes(process.as_raw_handle(), created, exited, kernel, user) };
        let started = u64::from(created.dwHighDateTime) << 32 | u64::from(created.dwLowDateTime);
        (found != 0).then_some(Self { started })
    }
}

/// Returns the children of a process.
pub(crate) fn children_of(parent: Pid) -> Vec<Pid> {
    let Some(since) = Stat::of(parent).map(|stat| stat.started) else {
        return Vec::new();
    };
    let Ok(snapshot) = snapshot(TH32CS_SNAPPROCESS) else {
        return Vec::new();
    };
    let mut entry = PROCESSENTRY32W {
        dwSize: size_of::<PROCESSENTRY32W>(),
        ..Default::default()
    };
    let mut children = Vec::new();
    // SAFETY: the entry has the size that it names.
    let mut more = unsafe { Process32FirstW(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        let child = Pid(entry.th32ProcessID);
        // The number of an ended parent is reused: a child is not older than its parent.
        if entry.th32ParentProcessID == parent.0
            && child != parent
            && Stat::of(child).is_some_and(|stat| stat.started >= since)
        {
            children.push(child);
        }
        // SAFETY: as above.
        more = unsafe { Process32NextW(snapshot.as_raw_handle(), &raw mut entry) };
    }
    children
}

/// Starts the only thread of a process that was created suspended.
pub(super) fn resume(pid: Pid) -> io::Result<()> {
    let snapshot = snapshot(TH32CS_SNAPTHREAD)?;
    let mut entry = THREADENTRY32 {
        dwSize: size_of::<THREADENTRY32>(),
        ..Default::default()
    };
    // SAFETY: the entry has the size that it names.
    let mut more = unsafe { Thread32First(snapshot.as_raw_handle(), &raw mut entry) };
    while more != 0 {
        if entry.th32OwnerProcessID == pid.0 {
            // SAFETY: the call takes numbers only, and the handle that it returns is ours.
            let thread =
                unsafe { owned(OpenThread(THREAD_SUSPEND_RESUME, 0, entry.th32ThreadID)) }?;
            // SAFETY: the handle is open.
            return match unsafe { ResumeThread(thread.as_raw_handle()) } {
                u32::MAX => Err(io::Error::last_os_error()),
                _ => Ok(()),
            };
        }
        // SAFETY: as above.
        more = unsafe { Thread32Next(snapshot.as_raw_handle(), &raw mut entry) };
    }
    Err(io::ErrorKind::NotFound.into())
}

fn snapshot(what: u32) -> io::Result<OwnedHandle> {
    // SAFETY: the call takes numbers only, and the handle that it returns is ours.
    unsafe { owned(CreateToolhelp32Snapshot(what, 0)) }
}

/// Returns the private memory of a process.
pub(crate) fn private_bytes(pid: Pid) -> u64 {
    let Ok(process) = open(pid, PROCESS_QUERY_LIMITED_INFORMATION) else {
        return 0;
    };
    let mut counters = PROCESS_MEMORY_COUNTERS_EX::default();
    let size = size_of::<PROCESS_MEMORY_COUNTERS_EX>();
    // SAFETY: the call fills either of the two structures, by the size that is named.
    let found = unsafe {
        let counters = (&raw mut counters).cast();
        K32GetProcessMemoryInfo(process.as_raw_handle(), counters, size)
    };
    if found == 0 {
        return 0;
    }
    counters.PrivateUsage as u64
}

/// Kills a process and all processes below it.
pub(crate) fn kill_tree(root: Pid) {
    let mut waiting = vec![root];
    for _ in 0..MAX_VISITED {
        let Some(pid) = waiting.pop() else {
            break;
        };
        waiting.extend(children_of(pid));
        if let Ok(process) = open(pid, PROCESS_TERMINATE) {
            // SAFETY: the handle is open. An error means that the process has ended already.
            unsafe {
                TerminateProcess(process.as_raw_handle(), KILLED);
            }
        }
    }
}

/// Returns the size of a structure as the system wants it.
pub(crate) fn size_of<T>() -> u32 {
    u32::try_from(mem::size_of::<T>()).expect("a structure of the system is small")
}
