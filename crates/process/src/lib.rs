//! Child processes. Only this module of haft starts programs.
//!
//! A [`Spawn`] is plain data: the program, its environment, the limits of its outputs, its
//! deadline. [`Spawn::run`] returns the [`Finished`] call. [`Spawn::start`] returns a [`Child`]
//! whose output arrives in chunks.
//!
//! The callers are `pi.exec` and the `Bun` shim, the executable families, the YAML and JSON shell
//! steps, and git. The host passes the engine a closure that takes a `Spawn`, because `engine` and
//! `process` never import each other. The callers interpret the exit status.
//!
//! Promises for every child:
//! - its own session, so it can neither take the terminal nor hang on a prompt;
//! - every signal at its default and none blocked;
//! - only the descriptors 0 to 2, and an input that ends;
//! - both outputs drained at once within a limit;
//! - one deadline and one cancel token that end the whole tree;
//! - it is reaped, even if its future is dropped.
//!
//! A grandchild that keeps the pipe open never delays the end of the call.
//!
//! What systems do differently is in a backend with the same functions on each: `unix` (sessions,
//! groups, signals, `posix_spawn`) with `linux` (`/proc`, pidfd, control groups; Linux 5.3 or newer)
//! or `macos` (kqueue, the calls of `libproc`), and `windows` (job objects). The backends of macOS and
//! Windows were compiled, but never run; `docs/systems.md` compares them. The following holds for
//! Linux.
//!
//! The whole tree is the program's group, the other groups of its session, the processes below any
//! of them in other sessions, and the processes that hold its outputs. Only a complete daemon
//! escapes a stop: its own session, no parent left, none of our pipes. Only a control group could
//! hold a daemon, and haft rarely has the right to make one (`memory` makes one where it can).
//! Adopting orphans (PR_SET_CHILD_SUBREAPER) would show that an orphan exists, but not whose it is.
//! An embedding program would also have to reap processes that it never started.
//!
//! If this process is killed, a guard process kills its children: a shell that waits for our end
//! (`unix::guard`). `unix::owned` lists the children that end with this process, and those that their tools
//! released.
//!
//! `tokio::process` is not used, because the standard library can make a session only by `fork`,
//! which copies the page tables of a process that holds V8. Measured on `true` from a parent of 150
//! MB: 4.9 ms with fork and setsid (`process-wrap`), 0.58 ms with tokio and no session, 0.56 ms
//! with this module.

pub mod atomic_file;
pub mod granted_path;
pub mod owners;
pub mod regular_files;
pub mod sandbox;
pub mod state_dir;

mod spawn;

mod capture;
mod child;
mod environment;
mod error;
mod exec_args;
mod finished;
mod lookup;
mod observe;
mod output;
mod pipeline;
mod rights;
mod run;
mod running;
mod verified;
mod worker;

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(not(target_os = "linux"))]
mod no_cell;
#[cfg(not(target_os = "linux"))]
mod no_zygote;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

/// The backend of this system. Its functions are the same on all systems.
#[cfg(unix)]
use unix as system;
#[cfg(windows)]
use windows as system;

#[cfg(target_os = "linux")]
pub use linux::{Forked, Zygote, receive_descriptors, send_descriptors, serve_zygote};
#[cfg(not(target_os = "linux"))]
pub use no_zygote::{Forked, Zygote, serve_zygote};

pub use capture::Keep;
pub use child::{Child, Chunk, Input, Stream};
pub use environment::is_token;
pub use environment::{Environment, inherited};
pub use error::{NulPlace, SpawnError};
pub use finished::{Captured, End, Exit, Finished};
pub use granted_path::{GrantedPath, LinkBounds, PathRefusal};
pub use lookup::{find_installed, find_safe, is_installed};
pub use observe::{StartObserver, observed};
pub use pipeline::run_pipeline;
pub use rights::{ProgramPolicy, Rights, files_of_command, files_of_entry, in_real_folder};
pub use spawn::{Leftovers, Limits, Spawn, Stdin};
pub use state_dir::{StateDir, StateError, StateFolder, StatePart, UserFolder};
pub use system::{
    Descriptor, Helper, Pid, can_limit_processors, can_limit_trees, harden, harden_worker,
    has_children, in_foreground, is_program, kill_all, kill_children_of_thread, release_child,
    thread_starts_program,
};
pub use verified::{
    ChosenProgram, CommandWord, NotVerified, SpawnProgram, TrustedProject, VerifiedProgram,
    Wrapper, project_files,
};
pub use worker::Worker;
