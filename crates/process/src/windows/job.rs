//! Job objects: every process of a tree is in one, and none can leave it.

#![expect(unsafe_code, reason = "calls of the system")]

use std::io;
use std::os::windows::io::{AsHandle, AsRawHandle, OwnedHandle};
use std::ptr;

use windows_sys::Win32::System::JobObjects::{
    AssignProcessToJobObject, CreateJobObjectW, JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE,
    JOB_OBJECT_LIMIT_PROCESS_MEMORY, JOB_OBJECT_LIMIT_PROCESS_TIME,
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION, JobObjectExtendedLimitInformation,
    SetInformationJobObject, TerminateJobObject,
};

use super::processes::{owned, size_of};
use crate::Limits;

/// Units of a time limit in a second.
const UNITS_PER_SECOND: u64 = 10_000_000;

/// A job. Dropping it kills its processes, unless they were released.
#[derive(Debug)]
pub(super) struct Job(OwnedHandle);

impl Job {
    /// Makes a job whose processes have these limits.
    pub(super) fn new(limits: &Limits) -> io::Result<Job> {
        // SAFETY: a job without a name and with the usual access; its handle is ours.
        let job = Job(unsafe { owned(CreateJobObjectW(ptr::null(), ptr::null())) }?);
        let mut information = JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default();
        let basic = &mut information.BasicLimitInformation;
        basic.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
        if let Some(seconds) = limits.cpu_seconds {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_TIME;
            let units = seconds.saturating_mul(UNITS_PER_SECOND);
            basic.PerProcessUserTimeLimit = i64::try_from(units).unwrap_or(i64::MAX);
        }
        if let Some(bytes) = limits.address_space {
            basic.LimitFlags |= JOB_OBJECT_LIMIT_PROCESS_MEMORY;
            information.ProcessMemoryLimit = usize::try_from(bytes).unwrap_or(usize::MAX);
        }
        job.set(&information)?;
        Ok(job)
    }

    /// Adds a process, before its first instruction.
    pub(super) fn add(&self, process: &impl AsHandle) -> io::Result<()> {
        let process = process.as_handle().as_raw_handle();
        // SAFETY: both handles are open.
        succeeded(unsafe { AssignProcessToJobObject(self.0.as_raw_handle(), process) })
    }

    /// Kills all processes of the job.
    pub(super) fn kill(&self, code: u32) {
        // SAFETY: the handle is open.
        if let Err(error) = succeeded(unsafe { TerminateJobObject(self.0.as_raw_handle(), code) }) {
            tracing::warn!(%error, "a job cannot be ended");
        }
    }

    /// Lets the processes outlive the job.
    pub(super) fn release(&self) {
        if let Err(error) = self.set(&JOBOBJECT_EXTENDED_LIMIT_INFORMATION::default()) {
            tracing::debug!(%error, "processes in the background end with their call");
        }
    }

    fn set(&self, information: &JOBOBJECT_EXTENDED_LIMIT_INFORMATION) -> io::Result<()> {
        // SAFETY: this class takes this structure, of the size that is named.
        succeeded(unsafe {
            SetInformationJobObject(
                self.0.as_raw_handle(),
                JobObjectExtendedLimitInformation,
                ptr::from_ref(information).cast(),
                size_of::<JOBOBJECT_EXTENDED_LIMIT_INFORMATION>(),
            )
        })
    }
}

fn succeeded(result: i32) -> io::Result<()> {
    if result == 0 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}
