//! The sandbox of Linux: Landlock and seccomp, and namespaces where they can be made.

mod capabilities;
mod connections;
mod denied;
mod files;
mod mounts;
mod namespace;
mod namespaces;
mod private_tmp;
mod start;
mod syscalls;

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use seccompiler::{BpfProgram, sock_filter};

use super::{Access, Layers, Net, SandboxError, SandboxPolicy};
use crate::GrantedPath;
use namespaces::Namespaces;
use private_tmp::PrivateTmp;
use syscalls::{Connect, Watches};

pub(crate) use namespaces::{Entrances, MAX_ENTRANCES};
pub(crate) use start::{enter_group, forbid_core_dumps, kill, run, set_limits};

/// Returns true if haft can connect for programs. Before Linux 5.19, which has the second version of
/// Landlock, signals interrupt a `connect` that is handed over, and the program repeats it.
fn hands_connections_over(landlock: u32) -> bool {
    landlock >= 2 && connections::is_available()
}

/// Returns the mechanisms of this kernel, and what it cannot enforce of the policy.
pub(super) fn layers(policy: &SandboxPolicy) -> Layers {
    let landlock = files::abi();
    let mut missing = files::missing(policy, landlock);
    if matches!(policy.net, Net::Ports(_)) && !hands_connections_over(landlock) {
        let text = if landlock < 4 {
            "ports of TCP connections (Linux 6.7)"
        } else {
            "addresses of TCP connections (`pidfd_getfd` is denied here)"
        };
        missing.push(text.to_owned());
    }
    missing.extend(policy.unenforced.iter().cloned());
    Layers {
        landlock,
        seccomp: syscalls::is_available(),
        namespaces: namespaces::kinds(policy),
        missing,
    }
}

/// Returns the kinds of namespaces that this system allows.
pub(super) fn available_namespaces() -> Vec<&'static str> {
    namespaces::available(true)
}

/// Sandbox with one policy, for any number of programs. Each program is in a domain of its own.
/// Clones share the private temporary folder, which is removed with the last one.
#[derive(Clone, Debug)]
pub struct Sandbox {
    base: Arc<Inner>,
    image: Option<Arc<ImageAccess>>,
}

/// Access to the copies of a verified script, which only its own programs read.
#[derive(Debug)]
struct ImageAccess {
    /// The inode of the folder: the rules name the folder itself, not its path.
    inode: u64,
    rules: OwnedFd,
    /// The mount namespace in which the folder is visible.
    mounts: Option<Arc<OwnedFd>>,
}

#[derive(Debug)]
struct Inner {
    policy: SandboxPolicy,
    layers: Layers,
    rules: OwnedFd,
    filter: BpfProgram,
    /// The filter and the ports of programs that haft connects for.
    handed_over: Option<(BpfProgram, Vec<u16>)>,
    namespaces: Option<Namespaces>,
    tmp: Option<PrivateTmp>,
    /// Made for the first program of each image: many scripts are listed and never run.
    images: Mutex<BTreeMap<GrantedPath, Arc<ImageAccess>>>,
}

impl Sandbox {
    /// Makes a sandbox. Nothing is restricted yet.
    ///
    /// # Errors
    /// If the kernel has no Landlock or no seccomp, or if the folder cannot be made. Restrictions
    /// that an older kernel lacks are not an error; [`Sandbox::layers`] lists them.
    pub fn new(policy: &SandboxPolicy) -> Result<Sandbox, SandboxError> {
        let mut layers = layers(policy);
        if layers.landlock == 0 {
            let text = "the kernel has no Landlock, or it is not enabled (`lsm=`)";
            return Err(SandboxError::Unavailable(text.to_owned()));
        }
        if !layers.seccomp {
            let text = "the kernel has no seccomp filters";
            return Err(SandboxError::Unavailable(text.to_owned()));
        }
        let tmp = policy.private_tmp.then(PrivateTmp::new).transpose();
        let tmp = tmp.map_err(SandboxError::Tmp)?;
        let own = tmp.as_ref().map(PrivateTmp::path);
        let namespaces = Namespaces::new(policy);
        let hides_state = namespaces.as_ref().is_some_and(Namespaces::hide_state);
        let watches = if hides_state || policy.hidden.is_empty() || policy.read == Access::All {
            Watches::Allowed
        } else {
            Watches::Absent
        };
        let handed_over = match &policy.net {
            Net::Ports(ports) if hands_connections_over(layers.landlock) => {
                let filter = syscalls::filter(policy, Connect::HandedOver, watches)?;
                Some((filter, ports.clone()))
            }
            _ => None,
        };
        layers.namespaces = namespaces
            .as_ref()
            .map(Namespaces::kinds)
            .unwrap_or_default();
        Ok(Sandbox {
            base: Arc::new(Inner {
                rules: files::rules(policy, own)?,
                filter: syscalls::filter(policy, Connect::Direct, watches)?,
                handed_over,
                namespaces,
                layers,
                tmp,
                policy: policy.clone(),
                images: Mutex::default(),
            }),
            image: None,
        })
    }

    /// Returns the same sandbox for programs that also read and start what is in `folder`. They share
    /// the private temporary folder with the others.
    ///
    /// # Errors
    /// If the kernel refuses.
    pub(crate) fn with_image(&self, folder: &GrantedPath) -> io::Result<Sandbox> {
        let inode = folder.as_path().metadata()?.ino();
        let mut images = self
            .base
            .images
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let known = images.get(folder).filter(|access| access.inode == inode);
        let image = match known {
            Some(access) => access.clone(),
            None => {
                let access = Arc::new(self.image_access(folder, inode)?);
                images.insert(folder.clone(), access.clone());
                access
            }
        };
        Ok(Sandbox {
            base: self.base.clone(),
            image: Some(image),
        })
    }

    fn image_access(&self, folder: &GrantedPath, inode: u64) -> io::Result<ImageAccess> {
        let mut policy = self.base.policy.clone();
        policy.needed.push(folder.clone());
        let rules = files::rules(&policy, self.base.tmp.as_ref().map(PrivateTmp::path));
        let namespaces = self.base.namespaces.as_ref();
        Ok(ImageAccess {
            inode,
            rules: rules.map_err(io::Error::other)?,
            mounts: namespaces.and_then(|it| it.with_image(&policy, folder)),
        })
    }

    /// Returns the mechanisms that are in force, and what is missing for this policy.
    pub fn layers(&self) -> &Layers {
        &self.base.layers
    }

    /// Returns the private temporary folder.
    pub fn tmp(&self) -> Option<&Path> {
        self.base.tmp.as_ref().map(|tmp| tmp.path().as_path())
    }

    /// Removes the private temporary folder before its sandbox, for a process that ends without
    /// dropping its values.
    pub fn remove_tmp(&self) {
        if let Some(tmp) = &self.base.tmp {
            tmp.remove();
        }
    }

    /// Restricts this process, which must have one thread only. Threads and processes that it
    /// starts later are restricted too.
    ///
    /// # Errors
    /// If there are other threads, or the kernel refuses. The process may be restricted partly
    /// then, so it should end.
    pub fn enter(&self) -> Result<(), SandboxError> {
        let threads = std::fs::read_dir("/proc/self/task").map(Iterator::count);
        if threads.unwrap_or_default() != 1 {
            return Err(SandboxError::Threads);
        }
        start::forbid_core_dumps();
        self.restriction(false)
            .apply(None)
            .map_err(|(step, errno)| SandboxError::Enter {
                step,
                source: errno.into(),
            })
    }

    /// Returns what restricts a process. `hands_over` is true if it has a channel for the
    /// descriptor of its connections.
    pub(crate) fn restriction(&self, hands_over: bool) -> Restriction<'_> {
        let access = self.image.as_ref();
        let namespaces = self.base.namespaces.as_ref();
        let handed_over = self.base.handed_over.as_ref().filter(|_| hands_over);
        Restriction {
            rules: access
                .map_or(&self.base.rules, |access| &access.rules)
                .as_fd(),
            filter: handed_over.map_or(&self.base.filter, |(filter, _)| filter),
            hands_over: handed_over.is_some(),
            entrances: namespaces
                .map(|namespaces| namespaces.entrances(access.and_then(|it| it.mounts.as_ref())))
                .unwrap_or_default(),
        }
    }
}

/// The rules, the filter and the namespaces of a sandbox, for one process.
pub(crate) struct Restriction<'a> {
    pub(crate) rules: BorrowedFd<'a>,
    pub(crate) filter: &'a [sock_filter],
    /// True if the filter hands connections over to haft.
    pub(crate) hands_over: bool,
    pub(crate) entrances: Entrances<'a>,
}

impl Restriction<'_> {
    /// Restricts the calling thread. It allocates nothing, since it also runs between a `vfork` and
    /// an `execve`. The descriptor for handed-over connections is sent to `channel`.
    pub(crate) fn apply(
        &self,
        channel: Option<BorrowedFd<'_>>,
    ) -> Result<(), (&'static str, Errno)> {
        // Read first, because a process has all capabilities of a user namespace that it enters.
        let kept = capabilities::kept().map_err(|errno| ("capabilities", errno))?;
        self.entrances
            .enter()
            .map_err(|errno| ("namespaces", errno))?;
        capabilities::set(kept).map_err(|errno| ("capabilities", errno))?;
        files::restrict(self.rules).map_err(|errno| ("Landlock", errno))?;
        let filtered = match channel {
            Some(channel) if self.hands_over => syscalls::restrict_with_listener(self.filter)
                .and_then(|listener| connections::send(channel, listener)),
            _ => syscalls::restrict(self.filter),
        };
        filtered.map_err(|errno| ("seccomp", errno))
    }
}
