//! This process: its protection, and a state that it inherited.

#![expect(unsafe_code, reason = "nix and rustix have no names for these calls")]

use std::mem::MaybeUninit;
use std::ptr;

use nix::libc;

/// Keeps debuggers away from this process. Afterwards it cannot be traced, and its memory
/// cannot be read by other processes of the user.
pub fn harden() {
    // SAFETY: this request uses none of the other arguments.
    let denied = unsafe { libc::ptrace(libc::PT_DENY_ATTACH, 0, ptr::null_mut(), 0) };
    if denied != 0 {
        tracing::debug!("other processes of the user can look into this one");
    }
}

/// Returns true if SIGCHLD is ignored, so that the system reaps our children itself.
pub(crate) fn ignores_children() -> bool {
    let mut action = MaybeUninit::<libc::sigaction>::zeroed();
    // SAFETY: nothing is set. The call fills the structure, and zeros are a valid one.
    let action = unsafe {
        libc::sigaction(libc::SIGCHLD, ptr::null(), action.as_mut_ptr());
        action.assume_init()
    };
    action.sa_sigaction == libc::SIG_IGN
}
