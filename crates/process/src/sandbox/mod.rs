//! Sandbox of a program and of everything that it starts, enforced by the kernel.
//!
//! Only Linux has it; on other systems [`Sandbox::new`] fails and [`Layers::missing`] says why. Two
//! mechanisms are needed, and both work for every user, in containers, and without user
//! namespaces. Landlock restricts files, TCP ports, signals and access to other processes. A
//! seccomp filter denies system calls that Landlock does not cover. Neither can be undone by the
//! program, and both are inherited by its children. Namespaces are an extra where the system allows
//! them (`linux/namespaces.rs`).
//!
//! # Guarantees
//! - A file is read, written or executed only if the policy allows its real path, and
//!   [`DeniedPaths`] does not contain it. That holds for every system call, for links, and for paths
//!   below `/proc/PID`.
//! - A process outside of the sandbox is not traced, signalled, or changed (priority, limits).
//!   Its memory, its variables and its descriptors are not readable.
//! - Each started program has a domain of its own. Two programs of one [`Sandbox`] cannot trace or
//!   signal each other either.
//! - The network is limited as [`Net`] says. `AF_UNIX` sockets cannot be created unless
//!   [`SandboxPolicy::unix_sockets`] allows it; pairs of stream sockets
//!   (`socketpair`) always work.
//! - New mounts, namespaces, kernel modules, `io_uring`, BPF programs, keyrings and other parts of
//!   the kernel that programs rarely need are not accessible. The calls fail with EPERM, or ENOSYS
//!   where programs have a fallback. No program is killed for a denied call.
//! - The child has no descriptor of ours except its three streams, and writes no core dump.
//!
//! # Not covered
//! - Names and arguments of other processes: `/proc` is readable with
//!   [`SandboxPolicy::with_system_files`], since most runtimes read `/proc/self`, and Landlock
//!   cannot name "the own process". `/proc/PID/environ`, `mem`, `fd`, `root`, `maps` and `cwd` of
//!   other processes are closed.
//! - Metadata: `stat` and `inotify` work for every path that is not
//!   [hidden](SandboxPolicy::hidden). Mode, owner, times and attributes of the user's own files can be
//!   changed, unless the policy has no writable path at all; Landlock does not cover these calls, and
//!   seccomp cannot see paths.
//! - Sockets by path (`docker.sock`, an SSH agent, D-Bus), if `unix_sockets` is true. Landlock
//!   restricts them only since ABI 9 (Linux 7.1). The mitigation is the default, `false`.
//! - The address of a connection with [`Net::Ports`], for a process that enters a sandbox by
//!   itself ([`Sandbox::enter`]), and where a container or Yama forbids `pidfd_getfd`: Landlock
//!   restricts the port only. Otherwise haft connects for the program (`connections`).
//! - Code that an allowed interpreter or the dynamic loader reads from an allowed file. `execute`
//!   decides about `execve` only, and the loader itself, which every program needs, can start any
//!   readable program.
//! - System V and POSIX message queues, and System V semaphores and shared memory, without
//!   namespaces ([`Layers::namespaces`]). POSIX semaphores and shared memory are files of
//!   `/dev/shm`, and terminals of `/dev/pts`: a sandbox with a private temporary folder has its own
//!   where namespaces can be made, and else none.
//! - The lists of connections and sockets in `/proc/net`, without namespaces or with a network.
//! - Amounts: memory, processor time and processes have the limits of [`crate::Limits`].
//!
//! Root keeps the capabilities that are about files, users and the network only.
//! `no_new_privs` is set, so `sudo` and other setuid programs have no effect inside. A sandbox that
//! needs mounts or namespaces (`bwrap`, Chrome's) does not work inside.
//!
//! # How a program enters its sandbox
//! Landlock's scope of signals and `ptrace` treats processes of the same domain as friends. If a
//! thread of haft entered the domain and started the program from there, `kill TID` of the program
//! would end all of haft: the signal is checked against the thread and delivered to the process. So
//! no thread of haft is ever in the domain. The child restricts itself, between a `vfork` and its
//! `execve` (`start`). That also makes a shell for limits and a thread for the working directory
//! unnecessary.
//!
//! # Cost
//! Measured with `true` on Linux 6.18 with two cores, minimum and median of 200 starts in turn
//! (`examples/sandbox_cost.rs`): 0.88 ms and 1.18 ms without, 1.10 ms and 1.51 ms with a sandbox.
//! Three quarters of the difference is the check of the filter by the kernel. To enter namespaces
//! adds 0.02 ms, without root's rights 0.07 ms (minimum). A new [`Sandbox`] takes 1 to 2 ms, once for
//! each policy; the first one with namespaces takes 1 to 3 ms more.

#[cfg(target_os = "linux")]
mod linux;
pub mod proxy;
mod tree_limits;
#[cfg(not(target_os = "linux"))]
mod unavailable;

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::state_dir::StateDir;
use crate::{GrantedPath, LinkBounds};

#[cfg(target_os = "linux")]
use linux::{available_namespaces, layers};
#[cfg(not(target_os = "linux"))]
use unavailable::{available_namespaces, layers};

#[cfg(target_os = "linux")]
pub(crate) use linux::{
    Entrances, MAX_ENTRANCES, Restriction, enter_group, forbid_core_dumps, kill, run, set_limits,
};
#[cfg(target_os = "linux")]
pub use linux::{ReadySandbox, Sandbox};
pub(crate) use tree_limits::watch_session;
pub use tree_limits::{
    ExceededLimit, TreeLimits, empty_folder, process_memory_exceeded, tree_exceeded, tree_memory,
    watch_memory,
};
#[cfg(not(target_os = "linux"))]
pub use unavailable::{ReadySandbox, Sandbox};

/// Permissions of the programs in a sandbox. The default allows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct SandboxPolicy {
    /// Files that may be read, and folders that may be listed.
    pub read: Access,
    /// Files that may be written, and folders in which entries may be made and removed. They may
    /// also be read.
    pub write: Access,
    /// Files that `execve` may start, and programs may read. The dynamic loader of a program and
    /// the interpreter of a script need this right too. With [`Access::All`], a file must be
    /// readable to be executed.
    pub execute: Access,
    /// The network.
    pub net: Net,
    /// True if `AF_UNIX` sockets may be created. Then every socket by path that the user can
    /// connect to is reachable, on a kernel before Linux 7.1. Not used with [`Net::Ports`], where
    /// they stay denied.
    pub unix_sockets: bool,
    /// True if programs get an empty folder of their own as `TMPDIR`, which is removed with the
    /// [`Sandbox`].
    pub private_tmp: bool,
    /// A folder of haft itself that the program may write to. It is not one of the user's files, so
    /// a policy without writable files stays one: mode and times of files cannot be changed.
    pub own_folder: Option<GrantedPath>,
    /// Paths that are refused, although the lists above cover them.
    pub denied: DeniedPaths,
    /// Files and folders that may be read, and executed if `execute` covers them, even where a
    /// denied path contains them: without them no program runs, or not the program at hand. A denied
    /// path within one of them counts.
    pub needed: Vec<GrantedPath>,
    /// Directories of haft's own state. Where mount namespaces can be made, an empty folder lies over
    /// each of them, so that nothing there has its mode changed or is watched. What the policy grants
    /// below them stays visible. Elsewhere programs have no `inotify`.
    pub hidden: Vec<StateDir>,
    /// Parts of the caller's own policy that the kernel cannot enforce. They are reported in
    /// [`Layers::missing`].
    pub unenforced: Vec<String>,
}

/// Paths that a permission covers.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Access {
    /// Every path.
    All,
    /// These files, and everything below these folders. Missing paths are skipped, and those in
    /// which a link stands by now.
    Paths(Vec<GrantedPath>),
}

/// Real paths that are refused with everything below them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct DeniedPaths {
    /// Paths that are not read.
    pub read: Vec<PathBuf>,
    /// Paths that are not written.
    pub write: Vec<PathBuf>,
    /// Files that are not executed. They are not read either, because the dynamic loader starts
    /// every program that can be read.
    pub execute: Vec<PathBuf>,
}

/// Network permission.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Net {
    /// IPv4 and IPv6 with every protocol.
    All,
    /// No network.
    #[default]
    None,
    /// TCP connections to these ports of this machine. No other protocol, and no listening.
    Ports(Vec<u16>),
}

impl Default for Access {
    fn default() -> Self {
        Access::Paths(Vec::new())
    }
}

impl Access {
    /// Adds paths; [`Access::All`] covers them already.
    pub fn extend(&mut self, paths: impl IntoIterator<Item = GrantedPath>) {
        if let Access::Paths(list) = self {
            for path in paths {
                if !list.contains(&path) {
                    list.push(path);
                }
            }
        }
    }

    /// Returns true if the real path is one of these, or below one.
    pub fn covers(&self, real: &Path) -> bool {
        match self {
            Access::All => true,
            Access::Paths(list) => list.iter().any(|path| path.contains(real)),
        }
    }
}

/// Folders and files that programs need to start and to work at all.
const SYSTEM_READ: &[&str] = &[
    "/usr",
    "/lib",
    "/lib32",
    "/lib64",
    "/libx32",
    "/bin",
    "/sbin",
    "/nix/store",
    "/etc/alpine-release",
    "/etc/alternatives",
    "/etc/arch-release",
    "/etc/bash.bashrc",
    "/etc/ca-certificates",
    "/etc/ca-certificates.conf",
    "/etc/centos-release",
    "/etc/crypto-policies",
    "/etc/debian_version",
    "/etc/fedora-release",
    "/etc/fonts",
    "/etc/gai.conf",
    "/etc/group",
    "/etc/host.conf",
    "/etc/hosts",
    "/etc/inputrc",
    "/etc/ld.so.cache",
    "/etc/ld.so.conf",
    "/etc/ld.so.conf.d",
    "/etc/locale.alias",
    "/etc/localtime",
    "/etc/lsb-release",
    "/etc/mime.types",
    "/etc/nsswitch.conf",
    "/etc/os-release",
    "/etc/passwd",
    "/etc/perl",
    "/etc/pki/ca-trust",
    "/etc/pki/tls",
    "/etc/profile",
    "/etc/profile.d",
    "/etc/protocols",
    "/etc/redhat-release",
    "/etc/resolv.conf",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
    "/etc/system-release",
    "/etc/terminfo",
    "/etc/timezone",
    "/dev/random",
    "/dev/urandom",
    "/proc",
    "/sys/devices/system/cpu",
];

/// Devices that programs write to.
const SYSTEM_WRITE: &[&str] = &["/dev/null", "/dev/zero", "/dev/full"];

/// Folders with the dynamic loaders of the system. A file `ld-*` there is needed to execute any
/// program that is linked dynamically.
const LOADER_FOLDERS: &[&str] = &[
    "/lib",
    "/lib64",
    "/lib/x86_64-linux-gnu",
    "/lib/aarch64-linux-gnu",
    "/usr/lib",
    "/usr/lib64",
];

/// Files besides those of [`LOADER_FOLDERS`] without which no program starts, and harmless devices.
const NEEDED_FILES: &[&str] = &["/etc/ld.so.cache", "/dev/random", "/dev/urandom"];

/// Real paths of the files that every program needs.
struct SystemFiles {
    read: Vec<GrantedPath>,
    write: Vec<GrantedPath>,
    loaders: Vec<GrantedPath>,
    needed: Vec<GrantedPath>,
}

static SYSTEM_FILES: LazyLock<SystemFiles> = LazyLock::new(|| {
    // Links of the system are its administrator's: `/bin`, `/etc/localtime`, `/etc/resolv.conf`.
    let links = LinkBounds::new([]);
    let resolve = |path: PathBuf| links.resolve(&path).ok();
    let all = |paths: &[&str]| {
        paths
            .iter()
            .map(PathBuf::from)
            .filter_map(resolve)
            .collect()
    };
    let loaders = LOADER_FOLDERS.iter().flat_map(|folder| {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        entries.filter_map(|entry| {
            let name = entry.file_name().into_encoded_bytes();
            let is_loader = name.starts_with(b"ld-") && !entry.path().is_dir();
            is_loader.then(|| entry.path())
        })
    });
    SystemFiles {
        read: all(SYSTEM_READ),
        write: all(SYSTEM_WRITE),
        needed: all(&[LOADER_FOLDERS, NEEDED_FILES, SYSTEM_WRITE].concat()),
        loaders: loaders.filter_map(resolve).collect(),
    }
});

/// Checks if every program may read the real path.
pub fn is_system_file(real: &Path) -> bool {
    SYSTEM_FILES.read.iter().any(|path| path.contains(real))
}

impl SandboxPolicy {
    /// Returns the mechanisms of this kernel, and what it cannot enforce of this policy.
    pub fn layers(&self) -> Layers {
        layers(self)
    }

    /// Adds what every program needs: the system's programs and libraries and a few files of
    /// `/etc` for reading, harmless devices, `/proc`, and the dynamic loaders for execution.
    #[must_use]
    pub fn with_system_files(mut self) -> Self {
        let files = &*SYSTEM_FILES;
        self.read.extend(files.read.iter().cloned());
        // They are opened for both, so writing alone is not enough.
        self.read.extend(files.write.iter().cloned());
        self.write.extend(files.write.iter().cloned());
        self.execute.extend(files.loaders.iter().cloned());
        self.needed.extend(files.needed.iter().cloned());
        self
    }

    /// Checks if the lists grant to read the real path. What is listed for writing may be read;
    /// that everything may be written grants no reading.
    pub fn grants_reading(&self, real: &Path) -> bool {
        let is_listed = matches!(&self.write, Access::Paths(_)) && self.write.covers(real);
        is_listed || self.read.covers(real)
    }

    /// Returns true if a program may read the real path.
    pub fn may_read(&self, real: &Path) -> bool {
        let is_needed = self.needed.iter().any(|path| path.contains(real));
        let denied = &self.denied;
        self.grants_reading(real)
            && (is_needed || !is_below(real, &denied.read) && !is_below(real, &denied.execute))
    }

    /// Returns true if a program may write the real path.
    pub fn may_write(&self, real: &Path) -> bool {
        self.write.covers(real) && !is_below(real, &self.denied.write)
    }

    /// Returns true if a program may execute the real path.
    pub fn may_execute(&self, real: &Path) -> bool {
        self.execute.covers(real) && !is_below(real, &self.denied.execute)
    }
}

fn paths_of(denied: &[PathBuf]) -> String {
    let denied = denied.iter().map(|path| format!("`{}`", path.display()));
    denied.collect::<Vec<_>>().join(", ")
}

fn is_below(real: &Path, denied: &[PathBuf]) -> bool {
    denied.iter().any(|denied| real.starts_with(denied))
}

/// Mechanisms of the kernel that a sandbox uses, for messages: `landlock abi 7, seccomp`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layers {
    /// Version of Landlock's interface; 0 if the kernel does not have it.
    pub landlock: u32,
    /// True if seccomp filters are available.
    pub seccomp: bool,
    /// Namespaces of the programs: `ipc`, `net`. They are an extra where the system allows them.
    pub namespaces: Vec<&'static str>,
    /// Restrictions that this kernel cannot enforce.
    pub missing: Vec<String>,
}

impl Layers {
    /// Returns true if sandboxes can be made.
    pub fn are_available(&self) -> bool {
        self.landlock > 0 && self.seccomp
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.landlock {
            0 => f.write_str("no landlock")?,
            abi => write!(f, "landlock abi {abi}")?,
        }
        f.write_str(if self.seccomp {
            ", seccomp"
        } else {
            ", no seccomp"
        })?;
        if !self.namespaces.is_empty() {
            write!(f, ", namespaces {}", self.namespaces.join(" "))?;
        }
        for missing in &self.missing {
            write!(f, ", not enforced: {missing}")?;
        }
        Ok(())
    }
}

/// Error of a sandbox that cannot be made or entered.
#[derive(Debug, thiserror::Error)]
pub enum SandboxError {
    /// The kernel lacks a mechanism.
    #[error("this system has no sandbox: {0}")]
    Unavailable(String),
    /// The rules of the policy cannot be made.
    #[error("the sandbox's rules cannot be made: {0}")]
    Rules(String),
    /// These denied paths cannot be cut out of what is granted.
    #[error(
        "the kernel cannot cut what is denied ({}) out of what is granted: the folders around it \
         have too many entries", paths_of(.0)
    )]
    Denied(Vec<PathBuf>),
    /// The private temporary folder cannot be made.
    #[error("the sandbox's temporary folder cannot be made: {0}")]
    Tmp(#[source] io::Error),
    /// The process has other threads already, which would stay unrestricted.
    #[error("the sandbox must be entered before other threads are started")]
    Threads,
    /// The kernel refused a step of entering the sandbox.
    #[error("the sandbox cannot be entered ({step}): {source}")]
    Enter {
        /// The step.
        step: &'static str,
        /// The kernel's error.
        source: io::Error,
    },
}

/// Returns the mechanisms of this kernel. `missing` lists what no policy can restrict here.
pub fn available() -> Layers {
    static AVAILABLE: LazyLock<Layers> = LazyLock::new(|| {
        let strict = SandboxPolicy {
            net: Net::Ports(Vec::new()),
            unix_sockets: true,
            ..SandboxPolicy::default()
        };
        Layers {
            namespaces: available_namespaces(),
            ..layers(&strict)
        }
    });
    AVAILABLE.clone()
}

/// Restricts this process, which must have one thread only. The result holds the private temporary
/// folder, so it must live as long as the process.
///
/// # Errors
/// As [`Sandbox::new`] and [`Sandbox::enter`].
pub fn restrict_current_process(policy: &SandboxPolicy) -> Result<Sandbox, SandboxError> {
    let sandbox = Sandbox::new(policy)?;
    sandbox.enter()?;
    Ok(sandbox)
}
