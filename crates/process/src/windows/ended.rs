//! Notice of the end of a process.

#![expect(unsafe_code, reason = "calls of the system")]

use std::ffi::c_void;
use std::io;
use std::os::windows::io::{AsRawHandle, OwnedHandle};
use std::ptr;
use std::sync::Arc;

use tokio::sync::Notify;
use windows_sys::Win32::Foundation::{HANDLE, INVALID_HANDLE_VALUE};
use windows_sys::Win32::System::Threading::{
    INFINITE, PROCESS_SYNCHRONIZE, RegisterWaitForSingleObject, UnregisterWaitEx,
    WT_EXECUTEINWAITTHREAD, WT_EXECUTEONLYONCE, WaitForSingleObject,
};

use super::Pid;
use super::processes::open;

/// Registered wait for the end of a process.
pub(crate) struct Ended {
    notify: Arc<Notify>,
    /// The handle of the wait, as a number: a pointer could not change its thread.
    wait: usize,
    /// Must stay open as long as the wait.
    _process: OwnedHandle,
}

impl Ended {
    /// Registers a wait for the end of a process that is not reaped yet.
    pub(crate) fn of(process: Pid) -> io::Result<Ended> {
        let process = open(process, PROCESS_SYNCHRONIZE)?;
        let notify = Arc::new(Notify::new());
        let mut wait: HANDLE = ptr::null_mut();
        // SAFETY: both handles are open until `drop` has removed the wait, and so is the context.
        let registered = unsafe {
            RegisterWaitForSingleObject(
                &raw mut wait,
                process.as_raw_handle(),
                Some(on_end),
                Arc::as_ptr(&notify).cast(),
                INFINITE,
                WT_EXECUTEINWAITTHREAD | WT_EXECUTEONLYONCE,
            )
        };
        if registered == 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(Ended {
            notify,
            wait: wait.expose_provenance(),
            _process: process,
        })
    }

    /// Waits for the end. Dropping this future loses nothing.
    pub(crate) async fn wait(&self) {
        self.notify.notified().await;
    }
}

impl Drop for Ended {
    fn drop(&mut self) {
        let wait = ptr::with_exposed_provenance_mut(self.wait);
        // SAFETY: the wait was registered by `of`. With this event the call returns when no callback
        // runs any more, so the context can be dropped.
        unsafe {
            UnregisterWaitEx(wait, INVALID_HANDLE_VALUE);
        }
    }
}

/// Callback of the wait.
unsafe extern "system" fn on_end(context: *mut c_void, _timed_out: bool) {
    // SAFETY: the context is the `Notify` of an `Ended` that is not dropped yet.
    let notify = unsafe { &*context.cast::<Notify>() };
    notify.notify_one();
}

/// Waits for the end of a child that is not reaped yet. Blocks.
pub(crate) fn wait_for_end(pid: Pid) {
    if let Ok(process) = open(pid, PROCESS_SYNCHRONIZE) {
        // SAFETY: the handle is open.
        unsafe {
            WaitForSingleObject(process.as_raw_handle(), INFINITE);
        }
    }
}
