//! Namespaces of a sandbox, an extra beside Landlock and seccomp: programs see no System V and
//! POSIX objects of others, without a network none of the machine's interfaces and connections, and
//! nothing of haft's own state (`mounts`).
//!
//! They need root's rights, or a user namespace, which many containers and some distributions
//! forbid. So no guarantee depends on them. A user namespace maps the user's own number and group
//! only; files of other users belong to `nobody` there.
//!
//! A namespace is made once, by a process that lives for a moment, and entered by each program:
//! making one of the network takes half a millisecond.

use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::ptr;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns, unshare};
use rustix::process::{Pid, getegid, geteuid};

use super::mounts::MountNamespace;
use super::namespace::make;
use super::start::{kill, reap, vfork};
use super::{Net, SandboxPolicy, mounts};
use crate::GrantedPath;

/// Namespaces of one sandbox. All are there before a program is started: what its process would make
/// after the `vfork` were in its own table of descriptors, and its numbers in our memory.
#[derive(Debug)]
pub(super) struct Namespaces {
    /// The user namespace in which the others were made.
    user: Option<BorrowedFd<'static>>,
    ipc: OwnedFd,
    net: Option<BorrowedFd<'static>>,
    /// The one in which haft's state is hidden.
    mounts: Option<MountNamespace>,
}

/// The namespace in which a user without privileges may make others.
enum Maker {
    /// This process has the rights by itself.
    Itself,
    User(OwnedFd),
}

/// `None` if the system does not allow to make namespaces.
static MAKER: LazyLock<Option<Maker>> = LazyLock::new(|| {
    if make(None, CloneFlags::CLONE_NEWIPC, c"/proc/self/ns/ipc").is_ok() {
        return Some(Maker::Itself);
    }
    let made = user_namespace().and_then(|user| {
        // Some systems make it, but without rights in it.
        let user_ref = Some(user.as_fd());
        make(user_ref, CloneFlags::CLONE_NEWIPC, c"/proc/self/ns/ipc")?;
        Ok(user)
    });
    made.map(Maker::User)
        .inspect_err(|error| tracing::debug!(%error, "namespaces cannot be made"))
        .ok()
});

/// The network of all programs that have none: a loopback that is down.
static NO_NETWORK: LazyLock<Option<OwnedFd>> = LazyLock::new(|| {
    let user = MAKER.as_ref()?.user();
    make(user, CloneFlags::CLONE_NEWNET, c"/proc/self/ns/net").ok()
});

impl Maker {
    fn user(&self) -> Option<BorrowedFd<'_>> {
        match self {
            Maker::Itself => None,
            Maker::User(user) => Some(user.as_fd()),
        }
    }
}

/// Returns the kinds of namespaces that a sandbox with this policy has here.
pub(super) fn kinds(policy: &SandboxPolicy) -> Vec<&'static str> {
    // Who may use sockets of other programs shares memory with them, too: the X server's clients do.
    if policy.unix_sockets {
        return Vec::new();
    }
    available(policy.net == Net::None)
}

/// Returns the kinds of namespaces that this system allows; that of the network if `with_net`.
pub(super) fn available(with_net: bool) -> Vec<&'static str> {
    match &*MAKER {
        None => Vec::new(),
        Some(_) if with_net => vec!["ipc", "net"],
        Some(_) => vec!["ipc"],
    }
}

impl Namespaces {
    /// Makes the namespaces of a sandbox; `None` if the system or the policy does not allow them.
    pub(super) fn new(policy: &SandboxPolicy) -> Option<Namespaces> {
        let kinds = kinds(policy);
        if kinds.is_empty() {
            return None;
        }
        let user = MAKER.as_ref()?.user();
        let ipc = make(user, CloneFlags::CLONE_NEWIPC, c"/proc/self/ns/ipc");
        let ipc = ipc.inspect_err(|error| tracing::debug!(%error, "no namespace"));
        let net = if kinds.contains(&"net") {
            NO_NETWORK.as_ref().map(AsFd::as_fd)
        } else {
            None
        };
        Some(Namespaces {
            user,
            ipc: ipc.ok()?,
            net,
            mounts: mounts::namespace(policy, None, user),
        })
    }

    /// Returns true if haft's state is hidden.
    pub(super) fn hide_state(&self) -> bool {
        self.mounts.as_ref().is_some_and(|it| it.hides_state)
    }

    /// Returns the mount namespace of programs without an image.
    pub(super) fn mounts(&self) -> Option<&MountNamespace> {
        self.mounts.as_ref()
    }

    /// Returns the mount namespace in which `image` is visible besides what the policy grants; `None` if
    /// nothing is hidden.
    pub(super) fn with_image(
        &self,
        policy: &SandboxPolicy,
        image: &GrantedPath,
    ) -> Option<MountNamespace> {
        self.mounts.as_ref()?;
        mounts::namespace(policy, Some(image), self.user)
    }

    /// Returns the kinds that were made.
    pub(super) fn kinds(&self) -> Vec<&'static str> {
        if self.net.is_some() {
            vec!["ipc", "net"]
        } else {
            vec!["ipc"]
        }
    }

    /// Returns what a process enters, in this order. `mounts` replaces the mount namespace.
    pub(super) fn entrances<'a>(&'a self, mounts: Option<&'a MountNamespace>) -> Entrances<'a> {
        let mounts = mounts.or(self.mounts.as_ref());
        Entrances([
            self.user.map(|user| (CloneFlags::CLONE_NEWUSER, user)),
            Some((CloneFlags::CLONE_NEWIPC, self.ipc.as_fd())),
            self.net.map(|net| (CloneFlags::CLONE_NEWNET, net)),
            mounts.map(|mounts| (CloneFlags::CLONE_NEWNS, mounts.descriptor.as_fd())),
        ])
    }
}

/// Namespaces that a process enters, in this order.
#[derive(Clone, Copy, Default)]
pub(crate) struct Entrances<'a>([Option<(CloneFlags, BorrowedFd<'a>)>; MAX_ENTRANCES]);

/// The largest number of namespaces that a process enters.
pub(crate) const MAX_ENTRANCES: usize = 4;

impl<'a> Entrances<'a> {
    /// Returns the entrances with these flags and descriptors, as [`Entrances::iter`] has them.
    pub(crate) fn from_pairs(pairs: impl Iterator<Item = (i32, BorrowedFd<'a>)>) -> Entrances<'a> {
        let mut all = Entrances::default();
        for (place, (flag, descriptor)) in all.0.iter_mut().zip(pairs) {
            *place = Some((CloneFlags::from_bits_retain(flag), descriptor));
        }
        all
    }

    /// Returns the flag and the descriptor of each.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (i32, BorrowedFd<'a>)> {
        let all = self.0.into_iter().flatten();
        all.map(|(flag, descriptor)| (flag.bits(), descriptor))
    }

    /// Puts the calling thread into all of them. It allocates nothing.
    pub(super) fn enter(&self) -> Result<(), Errno> {
        let is_mounts = |flag: CloneFlags| flag == CloneFlags::CLONE_NEWNS;
        let mut folder = WorkingFolder([0; PATH_BYTES]);
        if self.0.iter().flatten().any(|(flag, _)| is_mounts(*flag)) {
            folder.read()?;
        }
        for (flag, descriptor) in self.0.iter().flatten() {
            setns(descriptor, *flag)?;
            if is_mounts(*flag) {
                // The working directory is the root now.
                folder.enter()?;
            }
        }
        Ok(())
    }
}

/// Size of the longest path, with its NUL.
const PATH_BYTES: usize = libc::PATH_MAX as usize;

/// Path of the working directory.
struct WorkingFolder([u8; PATH_BYTES]);

impl WorkingFolder {
    fn read(&mut self) -> Result<(), Errno> {
        #[allow(unsafe_code, reason = "the safe functions allocate")]
        // SAFETY: the kernel writes at most as many bytes as there are.
        let length = unsafe { libc::syscall(libc::SYS_getcwd, self.0.as_mut_ptr(), self.0.len()) };
        Errno::result(length).map(drop)
    }

    fn enter(&self) -> Result<(), Errno> {
        let path =
            std::ffi::CStr::from_bytes_until_nul(&self.0).map_err(|_| Errno::ENAMETOOLONG)?;
        // A directory that was removed has no path from the root.
        let path = if path.to_bytes().starts_with(b"/") {
            path
        } else {
            c"/"
        };
        rustix::process::chdir(path).map_err(|error| Errno::from_raw(error.raw_os_error()))
    }
}

/// Makes a user namespace in which our user has all rights. Its maps are written from outside by us,
/// because the files of a process that cannot be dumped, as haft is, belong to root. So the process
/// must be another program: a shell that says when it runs, and then waits for its input. Before that
/// its files may still belong to root.
fn user_namespace() -> io::Result<OwnedFd> {
    let (input, _held) = io::pipe()?;
    let (mut is_ready, output) = io::pipe()?;
    let arguments = [
        c"sh".as_ptr(),
        c"-c".as_ptr(),
        c"echo && read x".as_ptr(),
        ptr::null(),
    ];
    let no_variables = [ptr::null()];
    let failure = AtomicI32::new(0);
    let pid = vfork(CloneFlags::empty(), || {
        let steps = || -> Result<(), Errno> {
            let from_rustix = |error: rustix::io::Errno| Errno::from_raw(error.raw_os_error());
            unshare(CloneFlags::CLONE_NEWUSER)?;
            rustix::stdio::dup2_stdin(&input).map_err(from_rustix)?;
            rustix::stdio::dup2_stdout(&output).map_err(from_rustix)?;
            #[allow(unsafe_code, reason = "the safe function of nix allocates")]
            // SAFETY: all texts end with NUL, both lists with a null pointer.
            unsafe {
                libc::execve(
                    c"/bin/sh".as_ptr(),
                    arguments.as_ptr(),
                    no_variables.as_ptr(),
                );
            }
            Err(Errno::last())
        };
        if let Err(errno) = steps() {
            failure.store(errno as i32, Ordering::Relaxed);
        }
        126
    })?;
    let failure = failure.into_inner();
    if failure != 0 {
        reap(pid);
        return Err(io::Error::from_raw_os_error(failure));
    }
    drop(output);
    let made = is_ready.read_exact(&mut [0]).and_then(|()| map(pid));
    kill(pid);
    made
}

/// Maps our user and group in the user namespace of the process, and returns its descriptor.
fn map(pid: Pid) -> io::Result<OwnedFd> {
    let folder = PathBuf::from(format!("/proc/{}", pid.as_raw_pid()));
    let (user, group) = (geteuid().as_raw(), getegid().as_raw());
    fs::write(folder.join("setgroups"), "deny")?;
    fs::write(folder.join("uid_map"), format!("{user} {user} 1"))?;
    fs::write(folder.join("gid_map"), format!("{group} {group} 1"))?;
    Ok(fs::File::open(folder.join("ns/user"))?.into())
}
