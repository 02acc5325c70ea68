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

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use nix::errno::Errno;
use seccompiler::{BpfProgram, sock_filter};

use super::{Access, Layers, Net, SandboxError, SandboxPolicy};
use crate::GrantedPath;
use files::FileRules;
use mounts::MountNamespace;
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
///
/// The kernel's rules name files and not paths, and a path may lead to another file later: a folder
/// is made again, a file is replaced. So only a [`ReadySandbox`] restricts, and it is made for each
/// program.
#[derive(Clone, Debug)]
pub struct Sandbox {
    base: Arc<Inner>,
    /// The folder with the copies of a verified script, which only its own programs read.
    image: Option<GrantedPath>,
}

/// Sandbox whose rules are those of the files that the paths of its policy name now.
#[derive(Clone, Debug)]
pub struct ReadySandbox {
    base: Arc<Inner>,
    access: Arc<FileAccess>,
}

/// Access of programs to files.
#[derive(Debug)]
struct FileAccess {
    rules: FileRules,
    /// The mount namespace in which the image of the program is visible.
    mounts: Option<MountNamespace>,
}

#[derive(Debug)]
struct Inner {
    policy: SandboxPolicy,
    layers: Layers,
    filter: BpfProgram,
    /// The filter and the ports of programs that haft connects for.
    handed_over: Option<(BpfProgram, Vec<u16>)>,
    namespaces: Option<Namespaces>,
    tmp: Option<PrivateTmp>,
    /// The newest access of programs by their image. It is made for the first program: many scripts
    /// are listed and never run.
    access: Mutex<BTreeMap<Option<GrantedPath>, Arc<FileAccess>>>,
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
        let sandbox = Sandbox {
            base: Arc::new(Inner {
                filter: syscalls::filter(policy, Connect::Direct, watches)?,
                handed_over,
                namespaces,
                layers,
                tmp,
                policy: policy.clone(),
                access: Mutex::default(),
            }),
            image: None,
        };
        sandbox.ready()?;
        Ok(sandbox)
    }

    /// Returns the same sandbox for programs that also read and start what is in `folder`. They share
    /// the private temporary folder with the others.
    pub(crate) fn with_image(&self, folder: &GrantedPath) -> Sandbox {
        Sandbox {
            base: self.base.clone(),
            image: Some(folder.clone()),
        }
    }

    /// Makes the sandbox with rules for the files that its paths name now. Makes its temporary folder
    /// again if it was removed.
    ///
    /// # Errors
    /// If the rules or the folder cannot be made.
    pub(crate) fn ready(&self) -> Result<ReadySandbox, SandboxError> {
        let base = &self.base;
        if let Some(tmp) = &base.tmp {
            tmp.restore().map_err(SandboxError::Tmp)?;
        }
        let mut known = base.access.lock().unwrap_or_else(PoisonError::into_inner);
        let newest = known.get(&self.image);
        let access = match newest.filter(|access| access.rules.are_current()) {
            Some(access) => access.clone(),
            None => {
                let access = Arc::new(self.file_access()?);
                known.insert(self.image.clone(), access.clone());
                access
            }
        };
        Ok(ReadySandbox {
            base: base.clone(),
            access,
        })
    }

    fn file_access(&self) -> Result<FileAccess, SandboxError> {
        let mut policy = Cow::Borrowed(&self.base.policy);
        let namespaces = self.base.namespaces.as_ref();
        let mut mounts = None;
        if let Some(image) = &self.image {
            policy.to_mut().needed.push(image.clone());
            mounts = namespaces.and_then(|it| it.with_image(&policy, image));
        }
        let tmp = self.base.tmp.as_ref().map(PrivateTmp::path);
        let entered = mounts.as_ref().or_else(|| namespaces?.mounts());
        let private = entered.map(|it| &it.private[..]).unwrap_or_default();
        let rules = FileRules::new(&policy, tmp, private)?;
        Ok(FileAccess { rules, mounts })
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
        let ready = self.ready()?;
        start::forbid_core_dumps();
        ready
            .restriction(false)
            .apply(None)
            .map_err(|(step, errno)| SandboxError::Enter {
                step,
                source: errno.into(),
            })
    }
}

impl ReadySandbox {
    /// Returns false if a path of the policy leads to another file by now, so that a process with
    /// these rules lacks access to it.
    pub fn is_current(&self) -> bool {
        self.access.rules.are_current()
    }

    /// Returns what restricts a process. `hands_over` is true if it has a channel for the
    /// descriptor of its connections.
    pub(crate) fn restriction(&self, hands_over: bool) -> Restriction<'_> {
        let namespaces = self.base.namespaces.as_ref();
        let handed_over = self.base.handed_over.as_ref().filter(|_| hands_over);
        Restriction {
            rules: self.access.rules.descriptor(),
            filter: handed_over.map_or(&self.base.filter, |(filter, _)| filter),
            hands_over: handed_over.is_some(),
            entrances: namespaces
                .map(|namespaces| namespaces.entrances(self.access.mounts.as_ref()))
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
