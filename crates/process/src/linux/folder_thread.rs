//! The thread that enters working directories for programs.

use std::sync::{LazyLock, mpsc};

use nix::sched::{CloneFlags, unshare};

/// Flags of `posix_spawn`: a session of its own. nix has no name for it; both C libraries know it.
pub(crate) const SPAWN_FLAGS: i32 = nix::libc::POSIX_SPAWN_SETSID as i32;

/// Work of the thread with its own working directory.
pub(crate) type Errand = Box<dyn FnOnce() + Send>;

/// Thread with its own working directory; `None` if the system forbids that.
static WANDERER: LazyLock<Option<mpsc::Sender<Errand>>> = LazyLock::new(|| {
    let (errands, inbox) = mpsc::channel::<Errand>();
    let (ready, is_ready) = mpsc::channel();
    std::thread::Builder::new()
        .name("haft-launch".to_owned())
        .spawn(move || {
            let unshared = unshare(CloneFlags::CLONE_FS);
            let refused = unshared.is_err();
            if ready.send(unshared).is_ok() && !refused {
                inbox.into_iter().for_each(|errand| errand());
            }
        })
        .ok()?;
    match is_ready.recv().ok()? {
        Ok(()) => Some(errands),
        Err(errno) => {
            tracing::debug!(%errno, "no thread with its own working directory: a shell enters it");
            None
        }
    }
});

/// Returns the channel of the thread with its own working directory, if it can be had.
pub(crate) fn folder_thread() -> Option<&'static mpsc::Sender<Errand>> {
    WANDERER.as_ref()
}
