//! A file in memory that a worker process writes and that outlives it.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

/// Offset at which the worker's standard error begins.
const TEXT: u64 = 64;

/// Limit of the text that is read.
const MAX_TEXT: usize = 4096;

/// The last request that JavaScript has seen, and what the process wrote to its standard error. V8
/// writes there before it aborts the process.
pub(crate) struct WorkerReport(File);

impl WorkerReport {
    /// Makes the file. The second descriptor is for the worker.
    pub(super) fn new() -> io::Result<(WorkerReport, OwnedFd)> {
        let flags = rustix::fs::MemfdFlags::CLOEXEC;
        let file = rustix::fs::memfd_create("haft-worker", flags)?;
        let of_worker = file.try_clone()?;
        // The position is that of the worker's standard error too.
        rustix::fs::seek(&file, rustix::fs::SeekFrom::Start(TEXT))?;
        Ok((WorkerReport(file.into()), of_worker))
    }

    /// Returns the report that is the standard error of this process.
    pub(super) fn of_this_process() -> io::Result<WorkerReport> {
        use std::os::fd::AsFd;
        let own = io::stderr().as_fd().try_clone_to_owned()?;
        Ok(WorkerReport(own.into()))
    }

    /// Notes the request that JavaScript is about to see.
    pub(crate) fn set_taken(&self, request: u32) {
        // Without it, requests of a killed worker are repeated or not repeated by mistake; no
        // answer is wrong.
        let _ = self.0.write_all_at(&request.to_le_bytes(), 0);
    }

    /// Returns the last request that JavaScript has seen; 0 before the first.
    pub(crate) fn taken(&self) -> u32 {
        let mut bytes = [0; 4];
        match self.0.read_exact_at(&mut bytes, 0) {
            Ok(()) => u32::from_le_bytes(bytes),
            Err(_) => 0,
        }
    }

    /// Returns the beginning of what the process wrote to its standard error.
    pub(super) fn text(&self) -> String {
        let mut bytes = vec![0; MAX_TEXT];
        let length = self.0.read_at(&mut bytes, TEXT).unwrap_or_default();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }
}
