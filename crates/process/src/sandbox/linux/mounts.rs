//! Mount namespace of a sandbox.
//!
//! haft's own state is hidden in it: an empty folder lies over its directory, and what the policy
//! grants below it is the only thing there. Landlock covers neither modes nor `inotify`. A path that
//! does not exist in the namespace has none of them.
//!
//! Programs that may write temporary files have shared memory and terminals of their own: Python's
//! `multiprocessing` needs `/dev/shm`, and `script` needs `/dev/pts`. Those of the system belong to
//! other programs of the user.

use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::libc;
use nix::sched::{CloneFlags, setns};

use super::namespace::make_with;
use super::{Access, SandboxPolicy};
use crate::GrantedPath;

/// Flag of `open_tree` that copies the mount (open_tree(2)).
const OPEN_TREE_CLONE: libc::c_uint = 1;
/// Flag of `move_mount` for a descriptor instead of a path (move_mount(2)).
const MOVE_MOUNT_F_EMPTY_PATH: libc::c_uint = 4;
/// Attribute of a mount (mount_setattr(2)).
const MOUNT_ATTR_RDONLY: u64 = 1;

/// Limit of the granted paths that stay visible.
const MAX_KEPT: usize = 16;

/// Flags of the empty folder.
const EMPTY_FLAGS: libc::c_ulong = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;

/// Mount namespace of the programs of a sandbox.
#[derive(Debug)]
pub(super) struct MountNamespace {
    pub(super) descriptor: OwnedFd,
    pub(super) hides_state: bool,
    /// Folders of the namespace that only its programs see. The sandbox lets them write there.
    pub(super) private: Vec<OwnedFd>,
}

/// Paths that are hidden, and those below them that stay.
#[derive(Clone, Debug, PartialEq, Eq)]
struct MountPlan {
    hidden: Vec<CString>,
    kept: Vec<KeptPath>,
    has_devices: bool,
}

/// File system that each sandbox has an empty one of.
struct PrivateDevice {
    path: &'static CStr,
    kind: &'static CStr,
    options: &'static CStr,
}

const DEVICES: [PrivateDevice; 2] = [
    PrivateDevice {
        path: c"/dev/shm",
        kind: c"tmpfs",
        options: c"mode=1777,size=256m",
    },
    PrivateDevice {
        path: c"/dev/pts",
        kind: c"devpts",
        options: c"newinstance,mode=620,ptmxmode=666",
    },
];

/// Path below a hidden folder that stays visible.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeptPath {
    path: CString,
    /// The folders above it that are made anew, and it itself if it is a folder.
    folders: Vec<CString>,
    is_folder: bool,
    is_writable: bool,
}

/// Layout of `struct mount_attr`.
#[repr(C)]
struct MountAttributes {
    set: u64,
    clear: u64,
    propagation: u64,
    user_namespace: u64,
}

/// Returns the mount namespace of programs with this policy, which also read `image`. It is made in the
/// user namespace `user` if that is given. `None` if it has no use, or the system does not allow it.
pub(super) fn namespace(
    policy: &SandboxPolicy,
    image: Option<&GrantedPath>,
    user: Option<BorrowedFd<'_>>,
) -> Option<MountNamespace> {
    let made = MountPlan::of(policy, image)?.make(user);
    made.inspect_err(|error| tracing::debug!(%error, "haft's state is not hidden"))
        .ok()
}

impl MountPlan {
    fn of(policy: &SandboxPolicy, image: Option<&GrantedPath>) -> Option<MountPlan> {
        let hidden: Vec<PathBuf> = policy.hidden.iter().filter_map(|it| it.to_hide()).collect();
        let c_path = |path: &Path| CString::new(path.as_os_str().as_bytes()).ok();
        let mut kept = Vec::new();
        let keep = |path: &GrantedPath, is_writable: bool| {
            let path = path.as_path();
            let root = hidden
                .iter()
                .find(|root| path.starts_with(root) && path != **root)?;
            let is_folder = path.metadata().ok()?.is_dir();
            let above = path.ancestors().skip(usize::from(!is_folder));
            let mut folders: Vec<CString> = above
                .take_while(|folder| folder != root)
                .filter_map(c_path)
                .collect();
            folders.reverse();
            Some(KeptPath {
                path: c_path(path)?,
                folders,
                is_folder,
                is_writable,
            })
        };
        for (access, is_writable) in [
            (&policy.write, true),
            (&policy.read, false),
            (&policy.execute, false),
        ] {
            if let Access::Paths(paths) = access {
                let paths = paths.iter();
                kept.extend(paths.filter_map(|path| keep(path, is_writable)));
            }
        }
        let needed = policy.needed.iter().chain(image);
        kept.extend(needed.filter_map(|path| keep(path, false)));
        let has_devices = policy.private_tmp;
        if hidden.is_empty() && !has_devices || kept.len() > MAX_KEPT {
            return None;
        }
        Some(MountPlan {
            hidden: hidden.iter().filter_map(|path| c_path(path)).collect(),
            kept,
            has_devices,
        })
    }

    /// Makes the namespace.
    fn make(&self, user: Option<BorrowedFd<'_>>) -> io::Result<MountNamespace> {
        let path = c"/proc/self/ns/mnt";
        let kind = CloneFlags::CLONE_NEWNS;
        let devices = [const { AtomicI32::new(-1) }; DEVICES.len()];
        let mount = || self.mount(&devices);
        let descriptor = make_with(user, kind, path, mount, has_our_root);
        let descriptors = devices.into_iter().map(AtomicI32::into_inner);
        let opened = descriptors.filter(|descriptor| *descriptor >= 0);
        #[allow(unsafe_code, reason = "the descriptors come from another process")]
        // SAFETY: they were opened in our table just now, and nothing else knows them.
        let owned = opened.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) });
        // Collected first, so that they are closed if there is no namespace.
        let private = owned.collect();
        Ok(MountNamespace {
            descriptor: descriptor?,
            hides_state: !self.hidden.is_empty(),
            private,
        })
    }

    /// Hides and keeps the paths, in a process of the new namespace. Sets `devices` to the descriptors of
    /// the private file systems. It allocates nothing.
    fn mount(&self, devices: &[AtomicI32; DEVICES.len()]) -> Result<(), Errno> {
        // Mounts of the system still arrive here, and ours do not leave.
        mount(None, c"/", None, libc::MS_REC | libc::MS_SLAVE, None)?;
        let mut trees = [-1; MAX_KEPT];
        for (tree, kept) in trees.iter_mut().zip(&self.kept) {
            *tree = copy_mount(&kept.path)?;
        }
        for hidden in &self.hidden {
            let options = Some(c"mode=0755,size=64k,nr_inodes=64");
            mount(Some(c"none"), hidden, Some(c"tmpfs"), EMPTY_FLAGS, options)?;
        }
        for (tree, kept) in trees.iter().zip(&self.kept) {
            kept.attach(*tree)?;
        }
        for hidden in &self.hidden {
            let flags = EMPTY_FLAGS | libc::MS_REMOUNT | libc::MS_BIND | libc::MS_RDONLY;
            mount(None, hidden, None, flags, None)?;
        }
        if self.has_devices {
            for (place, device) in devices.iter().zip(&DEVICES) {
                // A system without the folder, or that does not allow it, has no such device.
                if let Ok(descriptor) = device.mount() {
                    place.store(descriptor, Ordering::Relaxed);
                }
            }
        }
        Ok(())
    }
}

impl PrivateDevice {
    /// Mounts the file system, and returns a descriptor of its folder.
    fn mount(&self) -> Result<libc::c_int, Errno> {
        let flags = libc::MS_NOSUID | libc::MS_NOEXEC;
        mount(
            Some(c"none"),
            self.path,
            Some(self.kind),
            flags,
            Some(self.options),
        )?;
        let flags = libc::O_PATH | libc::O_DIRECTORY | libc::O_CLOEXEC;
        #[allow(unsafe_code, reason = "the safe functions allocate")]
        // SAFETY: the path ends with NUL.
        Errno::result(unsafe { libc::open(self.path.as_ptr(), flags) })
    }
}

/// Checks that a process which enters the namespace has the root directory that we have: in a `chroot`
/// it would have another one.
fn has_our_root(made: BorrowedFd<'_>) -> Result<(), Errno> {
    let root = || {
        let found = rustix::fs::stat("/").map_err(|error| Errno::from_raw(error.raw_os_error()))?;
        Ok::<_, Errno>((found.st_dev, found.st_ino))
    };
    let before = root()?;
    setns(made, CloneFlags::CLONE_NEWNS)?;
    if root()? == before {
        Ok(())
    } else {
        Err(Errno::ENOTSUP)
    }
}

impl KeptPath {
    fn attach(&self, tree: libc::c_int) -> Result<(), Errno> {
        for folder in &self.folders {
            #[allow(unsafe_code, reason = "the safe functions allocate")]
            // SAFETY: the path ends with NUL.
            let made = unsafe { libc::mkdir(folder.as_ptr(), 0o755) };
            match Errno::result(made) {
                Ok(_) | Err(Errno::EEXIST) => {}
                Err(error) => return Err(error),
            }
        }
        if !self.is_folder {
            #[allow(unsafe_code, reason = "the safe functions allocate")]
            // SAFETY: the path ends with NUL, and the descriptor is closed once.
            unsafe {
                let flags = libc::O_CREAT | libc::O_CLOEXEC | libc::O_WRONLY;
                let file = Errno::result(libc::open(self.path.as_ptr(), flags, 0o600))?;
                libc::close(file);
            }
        }
        #[allow(unsafe_code, reason = "no crate offers these calls without allocating")]
        // SAFETY: the descriptor is that of `open_tree`, and is closed once. The path and the empty text
        // end with NUL, and the kernel reads the attributes only.
        unsafe {
            if !self.is_writable {
                let attributes = MountAttributes {
                    set: MOUNT_ATTR_RDONLY,
                    clear: 0,
                    propagation: 0,
                    user_namespace: 0,
                };
                Errno::result(libc::syscall(
                    libc::SYS_mount_setattr,
                    tree,
                    c"".as_ptr(),
                    libc::AT_EMPTY_PATH,
                    &raw const attributes,
                    size_of::<MountAttributes>(),
                ))?;
            }
            Errno::result(libc::syscall(
                libc::SYS_move_mount,
                tree,
                c"".as_ptr(),
                libc::AT_FDCWD,
                self.path.as_ptr(),
                MOVE_MOUNT_F_EMPTY_PATH,
            ))?;
            libc::close(tree);
        }
        Ok(())
    }
}

/// Descriptor of a copy of the mount at `path`.
fn copy_mount(path: &CStr) -> Result<libc::c_int, Errno> {
    #[allow(unsafe_code, reason = "no crate offers this call without allocating")]
    // SAFETY: the path ends with NUL.
    let tree = unsafe {
        let flags = OPEN_TREE_CLONE | libc::O_CLOEXEC.cast_unsigned();
        libc::syscall(libc::SYS_open_tree, libc::AT_FDCWD, path.as_ptr(), flags)
    };
    Errno::result(tree).and_then(|tree| libc::c_int::try_from(tree).map_err(|_| Errno::EBADF))
}

fn mount(
    source: Option<&CStr>,
    target: &CStr,
    kind: Option<&CStr>,
    flags: libc::c_ulong,
    options: Option<&CStr>,
) -> Result<(), Errno> {
    let pointer = |text: Option<&CStr>| text.map_or(ptr::null(), CStr::as_ptr);
    #[allow(unsafe_code, reason = "the function of nix allocates")]
    // SAFETY: all texts end with NUL or are null.
    let mounted = unsafe {
        libc::mount(
            pointer(source),
            target.as_ptr(),
            pointer(kind),
            flags,
            pointer(options).cast(),
        )
    };
    Errno::result(mounted).map(drop)
}
