//! Attempts to leave a sandbox, one in each row of a table.
//!
//! This test program starts itself again inside of a sandbox, to make one attempt by a plain system
//! call. Each attempt is also made outside, where it must have another result. So a row fails if
//! the sandbox does not hold, and also if its attempt does not try what it says.

#![allow(
    unsafe_code,
    clippy::undocumented_unsafe_blocks,
    reason = "attempts are plain system calls, which no safe crate offers, with pointers to locals"
)]

use std::collections::BTreeMap;
use std::env;
use std::ffi::CString;
use std::fmt::Debug;
use std::fs::{self, File};
use std::io;
use std::mem;
use std::net::{Ipv4Addr, TcpListener, UdpSocket};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::os::unix::net::{SocketAddr, UnixListener};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::ptr;
use std::str::FromStr;

use haft_process::sandbox::{Access, Net, Sandbox, SandboxPolicy};
use haft_process::{Child, ChosenProgram, Spawn};
use nix::errno::Errno;
use nix::libc::{self, c_int, c_long, c_uint, c_void};
use tokio_util::sync::CancellationToken;

use crate::programs::{granted, lines, run, script, sh, start, stdout};

/// Environment variable with the name of the attempt that this program makes.
const ATTEMPT: &str = "HAFT_TEST_ATTEMPT";

/// Environment variable with the facts that attempts use, as lines `NAME VALUE`.
const FACTS: &str = "HAFT_TEST_FACTS";

type Tried = io::Result<()>;

/// One attempt.
struct Row {
    name: &'static str,
    policy: Policy,
    /// The error inside; `None`: it succeeds inside too.
    inside: Option<Errno>,
    /// The namespace that closes it. Without that namespace it succeeds inside too.
    namespace: Option<&'static str>,
    outside: Outside,
    attempt: fn(&Facts) -> Tried,
}

/// The sandbox of an attempt.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Policy {
    /// A writable folder, no network.
    Work,
    /// No writable folder.
    ReadOnly,
    /// Only this test program may be executed.
    OneProgram,
    /// TCP to one port.
    Port,
    /// Every network.
    Network,
    /// Unix sockets, no other network.
    UnixSockets,
    /// All files may be read, written and executed; every network.
    AllFiles,
}

/// The result outside.
#[derive(Clone, Copy)]
enum Outside {
    Succeeds,
    /// Another error than inside, which shows that the call arrived.
    Fails(Errno),
    /// Root succeeds; others are refused by the usual rules.
    ForRoot,
    /// Root gets this error.
    RootFails(Errno),
    /// Depends on the configuration of the kernel.
    Varies,
}

use Outside::{Fails, ForRoot, RootFails, Succeeds, Varies};
use Policy::{AllFiles, Network, OneProgram, Port, ReadOnly, UnixSockets, Work};

const fn row(
    name: &'static str,
    policy: Policy,
    inside: Errno,
    outside: Outside,
    attempt: fn(&Facts) -> Tried,
) -> Row {
    Row {
        name,
        policy,
        inside: Some(inside),
        namespace: None,
        outside,
        attempt,
    }
}

/// A row for what a namespace closes, where the system allows namespaces.
const fn elsewhere(
    name: &'static str,
    policy: Policy,
    namespace: &'static str,
    inside: Errno,
    attempt: fn(&Facts) -> Tried,
) -> Row {
    Row {
        name,
        policy,
        inside: Some(inside),
        namespace: Some(namespace),
        outside: Succeeds,
        attempt,
    }
}

/// A row for what works inside too: because the policy allows it, or because the sandbox does not
/// cover it (see the documentation of `sandbox`).
const fn works(
    name: &'static str,
    policy: Policy,
    outside: Outside,
    attempt: fn(&Facts) -> Tried,
) -> Row {
    Row {
        name,
        policy,
        inside: None,
        namespace: None,
        outside,
        attempt,
    }
}

const TABLE: &[Row] = &[
    // Files.
    row("open for reading", Work, Errno::EACCES, Succeeds, |facts| {
        File::open(facts.secret()).map(drop)
    }),
    row("open for writing", Work, Errno::EACCES, Succeeds, |facts| {
        File::options().append(true).open(facts.secret()).map(drop)
    }),
    row("openat2", Work, Errno::EACCES, Succeeds, |facts| {
        let path = c_path(&facts.secret());
        let how = [0u64; 3];
        call(|| unsafe {
            libc::syscall(
                libc::SYS_openat2,
                libc::AT_FDCWD,
                path.as_ptr(),
                &raw const how,
                24usize,
            )
        })
    }),
    row("creat", Work, Errno::EACCES, Succeeds, |facts| {
        let path = c_path(&facts.closed("new"));
        call(|| unsafe { libc::creat(path.as_ptr(), 0o600) }.into())
    }),
    row(
        "open with truncation",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_TRUNC);
            // Truncation without the right to write is not specified; Linux truncates.
            options.open(facts.path("READABLE")).map(drop)
        },
    ),
    row("truncate", Work, Errno::EACCES, Succeeds, |facts| {
        let path = c_path(&facts.secret());
        call(|| unsafe { libc::truncate(path.as_ptr(), 0) }.into())
    }),
    row("a link to a file", Work, Errno::EACCES, Succeeds, |facts| {
        let link = facts.work("symlink");
        symlink(facts.secret(), &link)?;
        File::open(link).map(drop)
    }),
    row(
        "a hard link to a file",
        Work,
        Errno::EXDEV,
        Succeeds,
        |facts| fs::hard_link(facts.secret(), facts.work("link")),
    ),
    row(
        "rename out of a folder",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| fs::rename(facts.secret(), facts.work("moved")),
    ),
    row(
        "rename into a folder",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            fs::write(facts.work("own"), "")?;
            fs::rename(facts.work("own"), facts.closed("moved"))
        },
    ),
    row(
        "exchange of two files",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            fs::write(facts.work("own"), "")?;
            let (one, two) = (c_path(&facts.work("own")), c_path(&facts.secret()));
            let here = libc::AT_FDCWD;
            call(|| unsafe {
                let flags = libc::RENAME_EXCHANGE;
                libc::renameat2(here, one.as_ptr(), here, two.as_ptr(), flags).into()
            })
        },
    ),
    row("unlink", Work, Errno::EACCES, Succeeds, |facts| {
        fs::remove_file(facts.secret())
    }),
    row("mkdir", Work, Errno::EACCES, Succeeds, |facts| {
        fs::create_dir(facts.closed("new"))
    }),
    row("rmdir", Work, Errno::EACCES, Succeeds, |facts| {
        fs::remove_dir(facts.closed("empty"))
    }),
    row("symlink", Work, Errno::EACCES, Succeeds, |facts| {
        symlink("/", facts.closed("new"))
    }),
    row("mknod of a pipe", Work, Errno::EACCES, Succeeds, |facts| {
        let path = c_path(&facts.closed("new"));
        call(|| unsafe { libc::mknod(path.as_ptr(), libc::S_IFIFO | 0o600, 0) }.into())
    }),
    row(
        "mknod of a device in a writable folder",
        Work,
        Errno::EACCES,
        ForRoot,
        |facts| {
            let path = c_path(&facts.work("zero"));
            let zero = libc::makedev(1, 5);
            call(|| unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o600, zero) }.into())
        },
    ),
    row(
        "mknod of a device with all files",
        AllFiles,
        Errno::EACCES,
        ForRoot,
        |facts| {
            let path = c_path(&facts.work("zero"));
            let zero = libc::makedev(1, 5);
            call(|| unsafe { libc::mknod(path.as_ptr(), libc::S_IFCHR | 0o600, zero) }.into())
        },
    ),
    row("list a folder", Work, Errno::EACCES, Succeeds, |facts| {
        fs::read_dir(facts.closed("")).map(drop)
    }),
    row("list the root", Work, Errno::EACCES, Succeeds, |_| {
        fs::read_dir("/").map(drop)
    }),
    row("a file of the system", Work, Errno::EACCES, ForRoot, |_| {
        File::open("/etc/shadow").map(drop)
    }),
    row(
        "write to a file of the system",
        Work,
        Errno::EACCES,
        ForRoot,
        |_| File::options().append(true).open("/etc/hosts").map(drop),
    ),
    row(
        "the terminal of another program",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| closed_or_hidden(File::options().read(true).open(facts.path("TERMINAL"))),
    ),
    row(
        "shared memory of the system",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| closed_or_hidden(File::open(facts.path("SHARED"))),
    ),
    row(
        "a new terminal without a folder of its own",
        ReadOnly,
        Errno::EACCES,
        Succeeds,
        |_| {
            File::options()
                .read(true)
                .write(true)
                .open("/dev/ptmx")
                .map(drop)
        },
    ),
    row(
        "a file by its handle",
        Work,
        Errno::EPERM,
        ForRoot,
        |facts| {
            let path = c_path(&facts.secret());
            let mut handle = [0u32; 34];
            handle[0] = 128;
            let mut mount = 0;
            call(|| unsafe {
                let number = libc::SYS_name_to_handle_at;
                let (handle, mount) = (&raw mut handle, &raw mut mount);
                libc::syscall(number, libc::AT_FDCWD, path.as_ptr(), handle, mount, 0)
            })?;
            let folder = File::open(facts.work(""))?;
            call(|| unsafe {
                let number = libc::SYS_open_by_handle_at;
                libc::syscall(number, folder.as_raw_fd(), &raw mut handle, libc::O_RDONLY)
            })
        },
    ),
    row(
        "a second open of a descriptor without rights",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let mut options = File::options();
            options.read(true).custom_flags(libc::O_PATH);
            let held = options.open(facts.secret())?;
            File::open(format!("/proc/self/fd/{}", held.as_raw_fd())).map(drop)
        },
    ),
    works("rename between folders", AllFiles, Succeeds, |facts| {
        fs::write(facts.work("own"), "")?;
        fs::rename(facts.work("own"), facts.closed("moved"))?;
        fs::hard_link(facts.secret(), facts.work("link"))
    }),
    works("watch a folder", Work, Succeeds, |facts| {
        let path = c_path(&facts.closed(""));
        call(|| unsafe {
            let watches = libc::inotify_init1(libc::IN_CLOEXEC);
            libc::inotify_add_watch(watches, path.as_ptr(), libc::IN_CREATE).into()
        })
    }),
    row(
        "the other sandbox's temporary folder",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| fs::read_dir(facts.path("OTHER_TMP")).map(drop),
    ),
    row(
        "the mode of a file",
        ReadOnly,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let path = c_path(&facts.secret());
            call(|| unsafe { libc::chmod(path.as_ptr(), 0o644) }.into())
        },
    ),
    row(
        "the mode of an open file",
        ReadOnly,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let file = File::open(facts.path("READABLE"))?;
            call(|| unsafe { libc::fchmod(file.as_raw_fd(), 0o644) }.into())
        },
    ),
    row(
        "the times of a file",
        ReadOnly,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let path = c_path(&facts.secret());
            call(|| unsafe {
                libc::utimensat(libc::AT_FDCWD, path.as_ptr(), ptr::null(), 0).into()
            })
        },
    ),
    row(
        "an attribute of a file",
        ReadOnly,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let path = c_path(&facts.secret());
            call(|| unsafe {
                let (name, value) = (c"user.haft".as_ptr(), ptr::null());
                libc::setxattr(path.as_ptr(), name, value, 0, 0).into()
            })
        },
    ),
    works(
        "the mode of a file, with a writable folder",
        Work,
        Succeeds,
        |facts| {
            let path = c_path(&facts.secret());
            call(|| unsafe { libc::chmod(path.as_ptr(), 0o644) }.into())
        },
    ),
    works("stat", Work, Succeeds, |facts| {
        fs::metadata(facts.secret()).map(drop)
    }),
    works("the own folder", Work, Succeeds, |facts| {
        fs::write(facts.work("own"), "text")?;
        fs::rename(facts.work("own"), facts.work("renamed"))?;
        fs::read(facts.work("renamed")).map(drop)
    }),
    // Programs.
    row(
        "execute another program",
        OneProgram,
        Errno::EACCES,
        Succeeds,
        |facts| Command::new(facts.path("PROGRAM")).status().map(drop),
    ),
    row(
        "execute a copy in the writable folder",
        OneProgram,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let copy = facts.work("copy");
            fs::copy(facts.path("PROGRAM"), &copy)?;
            Command::new(copy).status().map(drop)
        },
    ),
    row(
        "execveat of another program",
        OneProgram,
        Errno::EACCES,
        Succeeds,
        |facts| {
            // In a child, which would become the program.
            let path = c_path(&facts.path("PROGRAM"));
            let child = unsafe { libc::fork() };
            if child == 0 {
                let none = [ptr::null::<c_void>()];
                unsafe {
                    let (number, here) = (libc::SYS_execveat, libc::AT_FDCWD);
                    libc::syscall(
                        number,
                        here,
                        path.as_ptr(),
                        &raw const none,
                        &raw const none,
                        0,
                    );
                    libc::_exit(*libc::__errno_location());
                }
            }
            let mut status = 0;
            call(|| unsafe { libc::waitpid(child, &raw mut status, 0) }.into())?;
            match libc::WEXITSTATUS(status) {
                0 => Ok(()),
                errno => Err(io::Error::from_raw_os_error(errno)),
            }
        },
    ),
    // Every program needs the loader, so it must be executable itself.
    works(
        "another program by the loader",
        OneProgram,
        Succeeds,
        |_| {
            let maps = fs::read_to_string("/proc/self/maps")?;
            let loader = maps.split_whitespace().find(|word| {
                let name = word.rsplit('/').next().unwrap_or_default();
                word.starts_with('/') && name.starts_with("ld-")
            });
            let loader = loader.ok_or(io::ErrorKind::NotFound)?;
            let status = Command::new(loader).arg("/bin/true").status()?;
            status
                .success()
                .then_some(())
                .ok_or(io::ErrorKind::Other.into())
        },
    ),
    row(
        "an executable file in memory",
        OneProgram,
        Errno::EPERM,
        Succeeds,
        |_| call(|| unsafe { libc::memfd_create(c"code".as_ptr(), 0) }.into()),
    ),
    works("a file in memory", OneProgram, Succeeds, |_| {
        call(|| unsafe { libc::memfd_create(c"data".as_ptr(), 8) }.into())
    }),
    works("execute the allowed program", OneProgram, Succeeds, |_| {
        let status = Command::new(env::current_exe()?).arg("--list").output()?;
        status
            .status
            .success()
            .then_some(())
            .ok_or(io::ErrorKind::Other.into())
    }),
    // Other processes.
    row(
        "the parent's variables",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| fs::read(facts.proc("PARENT", "environ")).map(drop),
    ),
    row(
        "the parent's memory",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| File::open(facts.proc("PARENT", "mem")).map(drop),
    ),
    row(
        "the parent's memory, with all files",
        AllFiles,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let path = facts.proc("PARENT", "mem");
            File::options().read(true).write(true).open(path).map(drop)
        },
    ),
    row(
        "the memory of a thread of the parent",
        AllFiles,
        Errno::EACCES,
        Succeeds,
        |facts| each_thread(facts, |thread| File::open(thread.join("mem")).map(drop)),
    ),
    row(
        "the parent's map of memory",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| File::open(facts.proc("PARENT", "maps")).map(drop),
    ),
    row(
        "the parent's descriptors",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| fs::read_link(facts.proc("PARENT", "fd/0")).map(drop),
    ),
    row(
        "the parent's working directory",
        AllFiles,
        Errno::EACCES,
        Succeeds,
        |facts| fs::read_link(facts.proc("PARENT", "cwd")).map(drop),
    ),
    row(
        "a file below the parent's root",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let root = facts.proc("PARENT", "root").display().to_string();
            File::open(format!("{root}{}", facts.secret().display())).map(drop)
        },
    ),
    row(
        "a file below the own root",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| File::open(format!("/proc/self/root{}", facts.secret().display())).map(drop),
    ),
    row(
        "the parent's priority for lack of memory",
        Work,
        Errno::EACCES,
        Succeeds,
        |facts| {
            let path = facts.proc("PARENT", "oom_score_adj");
            File::options().write(true).open(path).map(drop)
        },
    ),
    row(
        "a signal to the parent",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| call(|| unsafe { libc::kill(facts.pid("PARENT"), libc::SIGURG) }.into()),
    ),
    row(
        "a signal to each thread of the parent",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            each_thread(facts, |thread| {
                let name = thread.file_name().and_then(|name| name.to_str());
                let thread = name.and_then(|name| name.parse().ok()).unwrap_or_default();
                call(|| unsafe { libc::kill(thread, libc::SIGURG) }.into())
            })
        },
    ),
    row(
        "tgkill of each thread of the parent",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let parent = facts.pid("PARENT");
            each_thread(facts, |thread| {
                let name = thread.file_name().and_then(|name| name.to_str());
                let thread: c_int = name.and_then(|name| name.parse().ok()).unwrap_or_default();
                call(|| unsafe { libc::syscall(libc::SYS_tgkill, parent, thread, libc::SIGURG) })
            })
        },
    ),
    row(
        "a signal to a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| call(|| unsafe { libc::kill(facts.pid("VICTIM"), libc::SIGURG) }.into()),
    ),
    row(
        "a signal to a group",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| call(|| unsafe { libc::kill(-facts.pid("VICTIM"), libc::SIGURG) }.into()),
    ),
    row(
        "a signal by pidfd",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let held = pidfd(facts.pid("VICTIM"))?;
            call(|| unsafe {
                let (number, none) = (libc::SYS_pidfd_send_signal, ptr::null::<c_void>());
                libc::syscall(number, held.as_raw_fd(), libc::SIGURG, none, 0)
            })
        },
    ),
    row(
        "a queued signal",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let value = libc::sigval {
                sival_ptr: ptr::null_mut(),
            };
            call(|| unsafe { libc::sigqueue(facts.pid("VICTIM"), libc::SIGURG, value) }.into())
        },
    ),
    row(
        "a signal to a program in the same sandbox",
        Work,
        Errno::EPERM,
        Succeeds,
        |facts| call(|| unsafe { libc::kill(facts.pid("SIBLING"), libc::SIGURG) }.into()),
    ),
    row("ptrace", AllFiles, Errno::EPERM, Succeeds, |facts| {
        let none = ptr::null_mut::<c_void>();
        call(|| unsafe { libc::ptrace(libc::PTRACE_SEIZE, facts.pid("VICTIM"), none, none) })
    }),
    row(
        "process_vm_readv",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let maps = fs::read_to_string(facts.proc("VICTIM", "maps")).unwrap_or_default();
            let start = maps.split('-').next().unwrap_or_default();
            let start = usize::from_str_radix(start, 16).unwrap_or(4096);
            let mut byte = 0u8;
            let local = libc::iovec {
                iov_base: (&raw mut byte).cast(),
                iov_len: 1,
            };
            let remote = libc::iovec {
                iov_base: start as *mut c_void,
                iov_len: 1,
            };
            call(|| unsafe {
                libc::process_vm_readv(facts.pid("VICTIM"), &local, 1, &remote, 1, 0) as c_long
            })
        },
    ),
    row(
        "a descriptor of a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let held = pidfd(facts.pid("VICTIM"))?;
            call(|| unsafe { libc::syscall(libc::SYS_pidfd_getfd, held.as_raw_fd(), 0, 0) })
        },
    ),
    row("kcmp", AllFiles, Errno::EPERM, Varies, |facts| {
        let (one, two) = (facts.pid("VICTIM"), facts.pid("PARENT"));
        call(|| unsafe { libc::syscall(libc::SYS_kcmp, one, two, 0, 0, 0) })
    }),
    row(
        "the limits of a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let limit = libc::rlimit {
                rlim_cur: 64,
                rlim_max: 64,
            };
            call(|| unsafe {
                let resource = libc::RLIMIT_NOFILE;
                libc::prlimit(facts.pid("VICTIM"), resource, &limit, ptr::null_mut()).into()
            })
        },
    ),
    row(
        "the priority of a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let victim = facts.pid("VICTIM").cast_unsigned();
            call(|| unsafe { libc::setpriority(libc::PRIO_PROCESS, victim, 19) }.into())
        },
    ),
    row(
        "the scheduling of a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let parameters = libc::sched_param { sched_priority: 0 };
            call(|| unsafe {
                libc::sched_setscheduler(facts.pid("VICTIM"), libc::SCHED_IDLE, &parameters).into()
            })
        },
    ),
    row(
        "the processors of a process",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |facts| {
            call(|| unsafe {
                let (mut set, size) = (mem::zeroed(), size_of::<libc::cpu_set_t>());
                libc::sched_getaffinity(0, size, &mut set);
                libc::sched_setaffinity(facts.pid("VICTIM"), size, &set).into()
            })
        },
    ),
    row(
        "the own processors",
        AllFiles,
        Errno::EPERM,
        Succeeds,
        |_| {
            call(|| unsafe {
                let (mut set, size) = (mem::zeroed(), size_of::<libc::cpu_set_t>());
                libc::sched_getaffinity(0, size, &mut set);
                libc::sched_setaffinity(0, size, &set).into()
            })
        },
    ),
    row(
        "an open descriptor of haft",
        Work,
        Errno::EBADF,
        Succeeds,
        |facts| {
            let number = facts.pid("DESCRIPTOR");
            call(|| unsafe { libc::fcntl(number, libc::F_GETFD) }.into())
        },
    ),
    works("the own descriptors and map", Work, Succeeds, |_| {
        fs::read_dir("/proc/self/fd")?.next().transpose()?;
        fs::read("/proc/self/maps").map(drop)
    }),
    works("a child of the own", Work, Succeeds, |_| {
        let mut child = Command::new("sleep").arg("600").spawn()?;
        child.kill()?;
        child.wait().map(drop)
    }),
    works("the name of another process", Work, Succeeds, |facts| {
        fs::read(facts.proc("PARENT", "cmdline")).map(drop)
    }),
    // Network.
    row("a unix socket", Work, Errno::EPERM, Succeeds, |_| {
        socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).map(drop)
    }),
    row("TCP", Work, Errno::EPERM, Succeeds, |_| tcp(0).map(drop)),
    row("TCP with version 6", Work, Errno::EPERM, Varies, |_| {
        socket(libc::AF_INET6, libc::SOCK_STREAM, 0).map(drop)
    }),
    row("UDP", Work, Errno::EPERM, Succeeds, |_| {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
    }),
    row("raw packets", Work, Errno::EPERM, ForRoot, |_| {
        socket(libc::AF_INET, libc::SOCK_RAW, libc::IPPROTO_ICMP).map(drop)
    }),
    row("netlink", Work, Errno::EPERM, Succeeds, |_| {
        netlink(libc::NETLINK_ROUTE)
    }),
    row("packets of the device", Work, Errno::EPERM, ForRoot, |_| {
        packet()
    }),
    row(
        "virtual machine sockets",
        Work,
        Errno::EPERM,
        Varies,
        |_| socket(libc::AF_VSOCK, libc::SOCK_STREAM, 0).map(drop),
    ),
    row(
        "cryptography of the kernel",
        Work,
        Errno::EPERM,
        Varies,
        |_| socket(libc::AF_ALG, libc::SOCK_SEQPACKET, 0).map(drop),
    ),
    works("a pair of sockets", Work, Succeeds, |_| {
        let mut pair = [0; 2];
        call(|| unsafe {
            libc::socketpair(libc::AF_UNIX, libc::SOCK_STREAM, 0, pair.as_mut_ptr()).into()
        })
    }),
    row(
        "a pair of sockets for datagrams",
        Work,
        Errno::EPERM,
        Succeeds,
        |_| {
            let mut pair = [0; 2];
            let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC;
            call(|| unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, pair.as_mut_ptr()).into() })
        },
    ),
    works("TCP to the allowed port", Port, Succeeds, |facts| {
        connect(facts, "PORT")
    }),
    row(
        "TCP to another port",
        Port,
        Errno::EACCES,
        Succeeds,
        |facts| connect(facts, "OTHER_PORT"),
    ),
    row(
        "TCP to the allowed port of another machine",
        Port,
        Errno::EACCES,
        Varies,
        |facts| {
            // An address for documentation (RFC 5737).
            let address = address([192, 0, 2, 1], facts.number("PORT"));
            connect_to(libc::SOCK_NONBLOCK, &address)
        },
    ),
    row(
        "TCP to the allowed port of any address",
        Port,
        Errno::EACCES,
        Succeeds,
        |facts| connect_to(0, &address([0; 4], facts.number("PORT"))),
    ),
    row(
        "an own filter that gets every connection",
        Port,
        Errno::EPERM,
        Succeeds,
        |_| {
            call(|| unsafe { libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) }.into())?;
            let mut allow = libc::sock_filter {
                code: 6,
                jt: 0,
                jf: 0,
                k: libc::SECCOMP_RET_ALLOW,
            };
            let program = libc::sock_fprog {
                len: 1,
                filter: &raw mut allow,
            };
            call(|| unsafe {
                let (number, operation) = (libc::SYS_seccomp, libc::SECCOMP_SET_MODE_FILTER);
                let flags = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER;
                libc::syscall(number, operation, flags, &raw const program)
            })
        },
    ),
    row(
        "TCP with data in the first packet",
        Port,
        Errno::EPERM,
        Varies,
        |facts| {
            let socket = tcp(0)?;
            let address = address([127, 0, 0, 1], facts.number("OTHER_PORT"));
            call(|| unsafe {
                let (data, length) = (b"x".as_ptr().cast(), size_of_val(&address) as c_uint);
                let address = (&raw const address).cast();
                let flags = libc::MSG_FASTOPEN;
                libc::sendto(socket.as_raw_fd(), data, 1, flags, address, length) as c_long
            })
        },
    ),
    row("multipath TCP", Port, Errno::EPERM, Varies, |_| {
        tcp(libc::IPPROTO_MPTCP).map(drop)
    }),
    row("UDP beside a port", Port, Errno::EPERM, Succeeds, |_| {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
    }),
    row(
        "UDP with flags in the type",
        Port,
        Errno::EPERM,
        Succeeds,
        |_| {
            let kind = libc::SOCK_DGRAM | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
            socket(libc::AF_INET, kind, 0).map(drop)
        },
    ),
    row("bind beside a port", Port, Errno::EACCES, Succeeds, |_| {
        TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
    }),
    row("listen without bind", Port, Errno::EPERM, Succeeds, |_| {
        let socket = tcp(0)?;
        call(|| unsafe { libc::listen(socket.as_raw_fd(), 1) }.into())
    }),
    row(
        "netlink beside a port",
        Port,
        Errno::EPERM,
        Succeeds,
        |_| netlink(libc::NETLINK_ROUTE),
    ),
    row(
        "unix sockets beside a port",
        Port,
        Errno::EPERM,
        Succeeds,
        |_| socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).map(drop),
    ),
    works("UDP with every network", Network, Succeeds, |_| {
        UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).map(drop)
    }),
    works("addresses with every network", Network, Succeeds, |_| {
        netlink(libc::NETLINK_ROUTE)
    }),
    row("audit by netlink", Network, Errno::EPERM, Varies, |_| {
        netlink(libc::NETLINK_AUDIT)
    }),
    row(
        "packets with every network",
        Network,
        Errno::EPERM,
        ForRoot,
        |_| packet(),
    ),
    row(
        "a unix socket with every network",
        Network,
        Errno::EPERM,
        Succeeds,
        |_| socket(libc::AF_UNIX, libc::SOCK_STREAM, 0).map(drop),
    ),
    row(
        "an abstract socket of the parent",
        UnixSockets,
        Errno::EPERM,
        Succeeds,
        |facts| {
            let name = facts.text("ABSTRACT");
            let address = SocketAddr::from_abstract_name(name.as_bytes())?;
            std::os::unix::net::UnixStream::connect_addr(&address).map(drop)
        },
    ),
    row("a socket by path", Work, Errno::EPERM, Succeeds, |facts| {
        std::os::unix::net::UnixStream::connect(facts.path("SOCKET")).map(drop)
    }),
    // Landlock restricts these since ABI 9 only, so `unix_sockets` opens all of them.
    works(
        "a socket by path, with unix sockets",
        UnixSockets,
        Succeeds,
        |facts| std::os::unix::net::UnixStream::connect(facts.path("SOCKET")).map(drop),
    ),
    // Objects and connections of others, which namespaces hide.
    elsewhere(
        "shared memory by its key",
        Work,
        "ipc",
        Errno::ENOENT,
        |facts| {
            let key = facts.number("KEY");
            call(|| unsafe { libc::shmget(key, 0, 0) }.into())
        },
    ),
    elsewhere(
        "shared memory by its number",
        Work,
        "ipc",
        Errno::EINVAL,
        |facts| {
            let memory = facts.number("MEMORY");
            let at = unsafe { libc::shmat(memory, ptr::null(), libc::SHM_RDONLY) };
            call(|| if at.addr() == usize::MAX { -1 } else { 0 })
        },
    ),
    elsewhere(
        "semaphores by their key",
        Work,
        "ipc",
        Errno::ENOENT,
        |facts| {
            let key = facts.number("KEY");
            call(|| unsafe { libc::semget(key, 0, 0) }.into())
        },
    ),
    elsewhere(
        "a queue of messages by its key",
        Work,
        "ipc",
        Errno::ENOENT,
        |facts| {
            let key = facts.number("KEY");
            call(|| unsafe { libc::msgget(key, 0) }.into())
        },
    ),
    elsewhere(
        "a queue of messages by its name",
        Work,
        "ipc",
        Errno::ENOENT,
        |facts| {
            let name = CString::new(format!("/{}", facts.text("ABSTRACT")))?;
            call(|| unsafe { libc::mq_open(name.as_ptr(), libc::O_RDONLY) }.into())
        },
    ),
    elsewhere(
        "the list of shared memory",
        Work,
        "ipc",
        Errno::ENOENT,
        |facts| lists("/proc/sysvipc/shm", facts.text("MEMORY")),
    ),
    elsewhere(
        "the list of unix sockets",
        Work,
        "net",
        Errno::ENOENT,
        |facts| lists("/proc/net/unix", &format!("@{}", facts.text("ABSTRACT"))),
    ),
    elsewhere(
        "the list of connections",
        Work,
        "net",
        Errno::ENOENT,
        |facts| {
            let port = format!("0100007F:{:04X}", facts.number::<u16>("PORT"));
            lists("/proc/net/tcp", &port)
        },
    ),
    works("shared memory of its own", Work, Succeeds, |_| {
        let flags = libc::IPC_CREAT | 0o600;
        let memory = unsafe { libc::shmget(libc::IPC_PRIVATE, 4096, flags) };
        call(|| memory.into())?;
        call(|| unsafe { libc::shmctl(memory, libc::IPC_RMID, ptr::null_mut()) }.into())
    }),
    // With unix sockets a program may share memory with the owners of these.
    works(
        "shared memory by its key, with unix sockets",
        UnixSockets,
        Succeeds,
        |facts| {
            let key = facts.number("KEY");
            call(|| unsafe { libc::shmget(key, 0, 0) }.into())
        },
    ),
    // The kernel.
    row("a user namespace", AllFiles, Errno::EPERM, Varies, |_| {
        call(|| unsafe { libc::unshare(libc::CLONE_NEWUSER) }.into())
    }),
    row(
        "a namespace of mounts",
        AllFiles,
        Errno::EPERM,
        ForRoot,
        |_| call(|| unsafe { libc::unshare(libc::CLONE_NEWNS) }.into()),
    ),
    row(
        "a child in a user namespace",
        AllFiles,
        Errno::EPERM,
        Varies,
        |_| {
            let flags = libc::CLONE_NEWUSER | libc::SIGCHLD;
            let child = unsafe { libc::syscall(libc::SYS_clone, flags, 0, 0, 0, 0) };
            if child == 0 {
                unsafe { libc::_exit(0) };
            }
            call(|| child)
        },
    ),
    row(
        "clone3",
        AllFiles,
        Errno::ENOSYS,
        Fails(Errno::EINVAL),
        |_| call(|| unsafe { libc::syscall(libc::SYS_clone3, ptr::null::<c_void>(), 0usize) }),
    ),
    row("setns", AllFiles, Errno::EPERM, Fails(Errno::EBADF), |_| {
        call(|| unsafe { libc::setns(-1, 0) }.into())
    }),
    row(
        "mount",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::ENODEV),
        |_| {
            let (root, kind) = (c"/".as_ptr(), c"missing".as_ptr());
            call(|| unsafe { libc::mount(root, root, kind, 0, ptr::null()) }.into())
        },
    ),
    row(
        "a new mount",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::ENODEV),
        |_| call(|| unsafe { libc::syscall(libc::SYS_fsopen, c"missing".as_ptr(), 0) }),
    ),
    row(
        "umount",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::ENOENT),
        |_| call(|| unsafe { libc::umount2(c"/missing".as_ptr(), 0) }.into()),
    ),
    row("chroot", AllFiles, Errno::EPERM, ForRoot, |_| {
        call(|| unsafe { libc::chroot(c"/".as_ptr()) }.into())
    }),
    row("keyctl", AllFiles, Errno::EPERM, Varies, |_| {
        call(|| unsafe { libc::syscall(libc::SYS_keyctl, 0, -3, 0) })
    }),
    row("add_key", AllFiles, Errno::EPERM, Varies, |_| {
        let (kind, name) = (c"user".as_ptr(), c"haft".as_ptr());
        call(|| unsafe { libc::syscall(libc::SYS_add_key, kind, name, name, 4usize, -1) })
    }),
    row(
        "bpf",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::EINVAL),
        |_| call(|| unsafe { libc::syscall(libc::SYS_bpf, -1, ptr::null::<c_void>(), 0) }),
    ),
    row(
        "perf_event_open",
        AllFiles,
        Errno::EPERM,
        Fails(Errno::EFAULT),
        |_| {
            let none = ptr::null::<c_void>();
            call(|| unsafe { libc::syscall(libc::SYS_perf_event_open, none, 0, -1, -1, 0) })
        },
    ),
    row("userfaultfd", AllFiles, Errno::EPERM, Succeeds, |_| {
        // Only for the faults of user code, which needs no privileges.
        call(|| unsafe { libc::syscall(libc::SYS_userfaultfd, 1) })
    }),
    row("io_uring", AllFiles, Errno::ENOSYS, Varies, |_| {
        call(|| unsafe { libc::syscall(libc::SYS_io_uring_setup, 0, ptr::null::<c_void>()) })
    }),
    row("fanotify", AllFiles, Errno::EPERM, Varies, |_| {
        call(|| unsafe { libc::syscall(libc::SYS_fanotify_init, 0x200, 0) })
    }),
    row("a kernel module", AllFiles, Errno::EPERM, Varies, |_| {
        call(|| unsafe {
            let (name, flags) = (c"missing".as_ptr(), libc::O_NONBLOCK);
            libc::syscall(libc::SYS_delete_module, name, flags)
        })
    }),
    row(
        "swap",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::ENOENT),
        |_| call(|| unsafe { libc::swapoff(c"/missing".as_ptr()) }.into()),
    ),
    row(
        "reboot",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::EINVAL),
        |_| call(|| unsafe { libc::syscall(libc::SYS_reboot, 0, 0, 0, 0) }),
    ),
    row(
        "the clock",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::EINVAL),
        |_| {
            let time = libc::timespec {
                tv_sec: -1,
                tv_nsec: -1,
            };
            call(|| unsafe {
                libc::syscall(
                    libc::SYS_clock_settime,
                    libc::CLOCK_REALTIME,
                    &raw const time,
                )
            })
        },
    ),
    row(
        "the name of the machine",
        AllFiles,
        Errno::EPERM,
        RootFails(Errno::EINVAL),
        |_| call(|| unsafe { libc::syscall(libc::SYS_sethostname, ptr::null::<c_void>(), -1) }),
    ),
    row(
        "input for a terminal",
        AllFiles,
        Errno::EPERM,
        Fails(Errno::ENOTTY),
        |_| call(|| unsafe { libc::ioctl(1, libc::TIOCSTI, c"x".as_ptr()) }.into()),
    ),
    row(
        "input for a terminal, with upper bits",
        AllFiles,
        Errno::EPERM,
        Fails(Errno::ENOTTY),
        |_| {
            let request = libc::TIOCSTI | 1 << 32;
            call(|| unsafe { libc::syscall(libc::SYS_ioctl, 1, request, c"x".as_ptr()) })
        },
    ),
    #[cfg(target_arch = "x86_64")]
    row(
        "system calls of 32 bits",
        AllFiles,
        Errno::ENOSYS,
        Varies,
        |_| {
            // The number of `getpid` there.
            let mut result = 20i64;
            unsafe { std::arch::asm!("int 0x80", inlateout("rax") result, options(nostack)) };
            let error = i32::try_from(-result).ok().filter(|error| *error > 0);
            error.map_or(Ok(()), |error| Err(io::Error::from_raw_os_error(error)))
        },
    ),
    #[cfg(target_arch = "x86_64")]
    row(
        "system calls with pointers of 32 bits",
        AllFiles,
        Errno::ENOSYS,
        Varies,
        |_| call(|| unsafe { libc::syscall(0x4000_0000 | libc::SYS_getpid) }),
    ),
];

/// Facts that the test tells to an attempt.
struct Facts(BTreeMap<String, String>);

/// A namespace hides what the rules close on a system without namespaces.
fn closed_or_hidden(opened: io::Result<File>) -> Tried {
    match opened {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Err(Errno::EACCES.into()),
        opened => opened.map(drop),
    }
}

impl Facts {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).map_or("", String::as_str)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.text(name).into()
    }

    fn pid(&self, name: &str) -> c_int {
        self.number(name)
    }

    fn number<N: FromStr<Err: Debug>>(&self, name: &str) -> N {
        self.text(name).parse().expect("a number")
    }

    fn closed(&self, name: &str) -> PathBuf {
        self.path("CLOSED").join(name)
    }

    fn secret(&self) -> PathBuf {
        self.closed("secret")
    }

    fn work(&self, name: &str) -> PathBuf {
        self.path("WORK").join(name)
    }

    fn proc(&self, process: &str, file: &str) -> PathBuf {
        Path::new("/proc").join(self.text(process)).join(file)
    }
}

fn call(call: impl FnOnce() -> c_long) -> Tried {
    if call() == -1 {
        Err(io::Error::last_os_error())
    } else {
        Ok(())
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("without NUL")
}

/// Makes an attempt with each thread of the parent. One success is enough.
fn each_thread(facts: &Facts, attempt: impl Fn(&Path) -> Tried) -> Tried {
    let mut result = Err(io::ErrorKind::NotFound.into());
    for thread in fs::read_dir(facts.proc("PARENT", "task"))? {
        match attempt(&thread?.path()) {
            Ok(()) => return Ok(()),
            // It may have ended.
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => {}
            Err(error) if error.raw_os_error() == Some(libc::ENOENT) => {}
            Err(error) => result = Err(error),
        }
    }
    result
}

fn pidfd(pid: c_int) -> io::Result<OwnedFd> {
    let number = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    call(|| number)?;
    Ok(unsafe { OwnedFd::from_raw_fd(c_int::try_from(number).expect("a descriptor")) })
}

fn socket(family: c_int, kind: c_int, protocol: c_int) -> io::Result<OwnedFd> {
    let number = unsafe { libc::socket(family, kind, protocol) };
    call(|| number.into())?;
    Ok(unsafe { OwnedFd::from_raw_fd(number) })
}

fn tcp(protocol: c_int) -> io::Result<OwnedFd> {
    socket(libc::AF_INET, libc::SOCK_STREAM, protocol)
}

/// Looks for a word in a list of the kernel.
fn lists(list: &str, word: &str) -> Tried {
    let text = fs::read_to_string(list)?;
    let mut words = text.split_whitespace();
    if words.any(|one| one == word) {
        Ok(())
    } else {
        Err(Errno::ENOENT.into())
    }
}

fn netlink(protocol: c_int) -> Tried {
    socket(libc::AF_NETLINK, libc::SOCK_RAW, protocol).map(drop)
}

fn packet() -> Tried {
    socket(libc::AF_PACKET, libc::SOCK_RAW, 0).map(drop)
}

fn address(host: [u8; 4], port: u16) -> libc::sockaddr_in {
    let mut address: libc::sockaddr_in = unsafe { mem::zeroed() };
    address.sin_family = libc::AF_INET as libc::sa_family_t;
    address.sin_port = port.to_be();
    address.sin_addr.s_addr = u32::from_ne_bytes(host);
    address
}

fn connect(facts: &Facts, port: &str) -> Tried {
    connect_to(0, &address([127, 0, 0, 1], facts.number(port)))
}

fn connect_to(flags: c_int, address: &libc::sockaddr_in) -> Tried {
    let socket = socket(libc::AF_INET, libc::SOCK_STREAM | flags, 0)?;
    call(|| unsafe {
        let length = size_of_val(address) as c_uint;
        libc::connect(socket.as_raw_fd(), ptr::from_ref(address).cast(), length).into()
    })
}

/// Makes the attempt that the environment names. Without one, nothing.
#[test]
fn attempt() {
    let Some(name) = env::var_os(ATTEMPT) else {
        return;
    };
    let row = TABLE.iter().find(|row| name == *row.name);
    let row = row.expect("the table has this attempt");
    let facts = env::var(FACTS).expect("the test sets it");
    let facts = facts.lines().filter_map(|line| {
        let (name, value) = line.split_once(' ')?;
        Some((name.to_owned(), value.to_owned()))
    });
    let tried = (row.attempt)(&Facts(facts.collect()));
    println!(
        "\nTRIED {}",
        tried.map_or_else(|error| error.raw_os_error().unwrap_or(-1), |()| 0)
    );
}

/// The place of the attempts: what they aim at.
struct Ground {
    folder: tempfile::TempDir,
    facts: BTreeMap<String, String>,
    sandboxes: BTreeMap<Policy, Sandbox>,
    held: Vec<Held>,
}

/// Resources that must live as long as the attempts.
#[expect(dead_code, reason = "it is only kept")]
enum Held {
    Process(Child),
    Listener(TcpListener),
    UnixListener(UnixListener),
    Descriptor(OwnedFd),
    Sandbox(Sandbox),
    Objects(Objects),
    Shared(tempfile::NamedTempFile),
}

/// Objects of the kernel that have a key or a name of their own. They outlive their process, so
/// they are removed.
struct Objects {
    memory: c_int,
    semaphores: c_int,
    messages: c_int,
    queue: CString,
}

impl Objects {
    /// Makes one of each kind. Returns their key too.
    fn new(name: &str) -> (c_int, Objects) {
        let key = c_int::try_from(std::process::id()).expect("a number of a process");
        let flags = libc::IPC_CREAT | libc::IPC_EXCL | 0o600;
        let queue = CString::new(format!("/{name}")).expect("it has no NUL");
        let opened = unsafe {
            let flags = libc::O_CREAT | libc::O_EXCL | libc::O_RDWR | libc::O_CLOEXEC;
            let mode: libc::mode_t = 0o600;
            libc::mq_open(queue.as_ptr(), flags, mode, ptr::null_mut::<c_void>())
        };
        let objects = Objects {
            memory: unsafe { libc::shmget(key, 4096, flags) },
            semaphores: unsafe { libc::semget(key, 1, flags) },
            messages: unsafe { libc::msgget(key, flags) },
            queue,
        };
        for made in [opened, objects.memory, objects.semaphores, objects.messages] {
            assert!(made >= 0, "{}", io::Error::last_os_error());
        }
        (key, objects)
    }
}

impl Drop for Objects {
    fn drop(&mut self) {
        unsafe {
            libc::shmctl(self.memory, libc::IPC_RMID, ptr::null_mut());
            libc::semctl(self.semaphores, 0, libc::IPC_RMID);
            libc::msgctl(self.messages, libc::IPC_RMID, ptr::null_mut());
            libc::mq_unlink(self.queue.as_ptr());
        }
    }
}

impl Ground {
    async fn new() -> Ground {
        let folder = tempfile::tempdir().expect("there is a temporary folder");
        let real = folder.path().canonicalize().expect("it is there");
        let mut ground = Ground {
            folder,
            facts: BTreeMap::new(),
            sandboxes: BTreeMap::new(),
            held: Vec::new(),
        };
        for (name, path) in [
            ("CLOSED", "closed"),
            ("WORK", "work"),
            ("READABLE", "readable"),
            ("PROGRAM", "program"),
            ("SOCKET", "closed/socket"),
        ] {
            ground.know(name, real.join(path).display());
        }
        script(&real, "program", "#!/bin/sh\n", 0o755);
        fs::create_dir(real.join("closed")).expect("it is new");
        let listener = UnixListener::bind(real.join("closed/socket")).expect("it is new");
        ground.held.push(Held::UnixListener(listener));
        let name = format!("haft-test-{}", std::process::id());
        let shared = tempfile::Builder::new().tempfile_in("/dev/shm");
        let shared = shared.expect("the system has shared memory");
        ground.know("SHARED", shared.path().display());
        ground.held.push(Held::Shared(shared));
        // Others take the low numbers, which a private folder has, too.
        for _ in 0..8 {
            let mut ends = [-1; 2];
            let [main, terminal] = &mut ends;
            let none = ptr::null_mut();
            let opened = unsafe { libc::openpty(main, terminal, none, ptr::null(), ptr::null()) };
            assert_eq!(opened, 0, "the system has terminals");
            let path = fs::read_link(format!("/proc/self/fd/{terminal}")).expect("it has a name");
            ground.know("TERMINAL", path.display());
            for end in ends {
                ground
                    .held
                    .push(Held::Descriptor(unsafe { OwnedFd::from_raw_fd(end) }));
            }
        }
        let address = SocketAddr::from_abstract_name(name.as_bytes()).expect("it is short");
        let listener = UnixListener::bind_addr(&address).expect("it is free");
        ground.held.push(Held::UnixListener(listener));
        let (key, objects) = Objects::new(&name);
        ground.know("KEY", key);
        ground.know("MEMORY", objects.memory);
        ground.held.push(Held::Objects(objects));
        ground.know("ABSTRACT", name);
        for name in ["PORT", "OTHER_PORT"] {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
            let port = listener.local_addr().expect("it is bound").port();
            ground.know(name, port);
            ground.held.push(Held::Listener(listener));
        }
        ground.know("PARENT", std::process::id());
        // Rules need the file that they are about.
        ground.prepare();
        for policy in [
            Work,
            ReadOnly,
            OneProgram,
            Port,
            Network,
            UnixSockets,
            AllFiles,
        ] {
            let sandbox = Sandbox::new(&ground.policy(policy)).expect("the kernel has it");
            ground.sandboxes.insert(policy, sandbox);
        }
        let other = Sandbox::new(&ground.policy(Work)).expect("the kernel has it");
        ground.know(
            "OTHER_TMP",
            other.tmp().expect("the policy asks for it").display(),
        );
        ground.held.push(Held::Sandbox(other));
        let sleep = || sh("echo $$; exec sleep 600", &[]);
        let sibling = Spawn {
            sandbox: ground.sandboxes.get(&Work).cloned(),
            ..sleep()
        };
        for (name, spawn) in [("VICTIM", sleep()), ("SIBLING", sibling)] {
            let mut child = start(spawn, &CancellationToken::new()).await;
            ground.know(name, &lines(&mut child, 1).await[0]);
            ground.held.push(Held::Process(child));
        }
        // A descriptor without CLOEXEC, as a C library could open one. haft looks for such
        // descriptors once, at its first start of a program.
        let (reader, _writer) = io::pipe().expect("a pipe");
        let leaked = unsafe { libc::dup(reader.as_raw_fd()) };
        ground.know("DESCRIPTOR", leaked);
        ground
            .held
            .push(Held::Descriptor(unsafe { OwnedFd::from_raw_fd(leaked) }));
        ground
    }

    fn know(&mut self, name: &str, value: impl ToString) {
        self.facts.insert(name.to_owned(), value.to_string());
    }

    fn path(&self, name: &str) -> PathBuf {
        self.facts[name].clone().into()
    }

    fn policy(&self, policy: Policy) -> SandboxPolicy {
        let this = env::current_exe().expect("Linux");
        let read = [this.clone(), self.path("READABLE"), self.path("PROGRAM")].map(granted);
        let mut strict = SandboxPolicy {
            read: Access::Paths(read.to_vec()),
            write: Access::Paths(vec![granted(self.path("WORK"))]),
            execute: Access::All,
            private_tmp: true,
            ..SandboxPolicy::default()
        };
        match policy {
            Work => {}
            ReadOnly => {
                strict.write = Access::default();
                strict.private_tmp = false;
            }
            OneProgram => strict.execute = Access::Paths(vec![granted(this)]),
            Port => strict.net = Net::Ports(vec![self.facts["PORT"].parse().expect("a port")]),
            Network => strict.net = Net::All,
            UnixSockets => strict.unix_sockets = true,
            AllFiles => {
                strict.read = Access::All;
                strict.write = Access::All;
                strict.net = Net::All;
            }
        }
        strict.with_system_files()
    }

    /// Makes the folders as they are before every attempt.
    fn prepare(&self) {
        let (closed, work) = (self.path("CLOSED"), self.path("WORK"));
        for entry in fs::read_dir(&closed).expect("it is there").flatten() {
            if entry.file_name() == "socket" {
                continue;
            }
            let path = entry.path();
            let removed = fs::remove_file(&path).or_else(|_| fs::remove_dir(&path));
            removed.expect("it is ours");
        }
        fs::write(closed.join("secret"), "secret\n").expect("it is ours");
        fs::create_dir(closed.join("empty")).expect("it is ours");
        fs::write(self.path("READABLE"), "text\n").expect("it is ours");
        // The folder itself stays, because the rules name it.
        fs::create_dir_all(&work).expect("it is ours");
        for entry in fs::read_dir(&work).expect("it is there").flatten() {
            fs::remove_file(entry.path()).expect("it is ours");
        }
    }

    /// Makes the attempt and returns its error; 0 for none.
    async fn attempt(&self, row: &Row, sandbox: Option<&Sandbox>) -> i32 {
        self.prepare();
        let this = env::current_exe().expect("Linux");
        let facts: String = (self.facts.iter())
            .map(|(name, value)| format!("{name} {value}\n"))
            .collect();
        let arguments = [
            "--exact",
            "attacks::attempt",
            "--nocapture",
            "--test-threads=1",
        ];
        let mut spawn = Spawn::new(ChosenProgram::not_of_project(this), arguments);
        spawn.env = spawn.env.with(ATTEMPT, row.name).with(FACTS, facts);
        spawn.sandbox = sandbox.cloned();
        let finished = run(spawn).await;
        let mut lines = stdout(&finished).lines();
        let tried = lines.find_map(|line| line.strip_prefix("TRIED "));
        let tried = tried.and_then(|errno| errno.parse().ok());
        tried.unwrap_or_else(|| panic!("`{}` did not end: {finished:?}", row.name))
    }
}

#[tokio::test]
async fn no_attempt_leaves_the_sandbox_and_each_is_one() {
    let ground = Ground::new().await;
    let is_root = rustix::process::geteuid().is_root();
    let mut wrong = Vec::new();
    for row in TABLE {
        ground.prepare();
        let inside = ground
            .attempt(row, Some(&ground.sandboxes[&row.policy]))
            .await;
        let namespaces = &ground.sandboxes[&row.policy].layers().namespaces;
        let is_closed = row.namespace.is_none_or(|it| namespaces.contains(&it));
        let expected = row.inside.filter(|_| is_closed);
        let expected = expected.map_or(0, |errno| errno as i32);
        if inside != expected {
            let (expected, inside) = (Errno::from_raw(expected), Errno::from_raw(inside));
            wrong.push(format!("{}: {inside:?} inside, not {expected:?}", row.name));
        }
        let outside = ground.attempt(row, None).await;
        let expected = match row.outside {
            Succeeds => 0,
            Fails(errno) => errno as i32,
            ForRoot if is_root => 0,
            RootFails(errno) if is_root => errno as i32,
            ForRoot | RootFails(_) | Varies => continue,
        };
        if outside != expected {
            let (expected, outside) = (Errno::from_raw(expected), Errno::from_raw(outside));
            wrong.push(format!(
                "{}: {outside:?} outside, not {expected:?}",
                row.name
            ));
        }
    }
    assert_eq!(wrong, [""; 0]);
    drop(ground.folder);
}

#[test]
fn no_attempt_of_an_unprivileged_user_leaves_the_sandbox() {
    as_nobody("attacks::no_attempt_leaves_the_sandbox_and_each_is_one");
}

/// Runs another test of this program as a user without privileges. A test without privileges has
/// nothing to add to that test.
pub fn as_nobody(test: &str) {
    const NOBODY: u32 = 65534;
    if !rustix::process::geteuid().is_root() {
        return;
    }
    // That user may not be able to reach the folder of this program.
    let folder = tempfile::tempdir().expect("there is a temporary folder");
    let copy = folder.path().join("process");
    // Copied by another process: a child that another test forks here while this process has the
    // copy open for writing would make its start fail with `ETXTBSY`.
    let copied = Command::new("cp")
        .arg(env::current_exe().expect("Linux"))
        .arg(&copy)
        .status();
    assert!(copied.expect("`cp` is installed").success());
    let tmp = folder.path().join("tmp");
    fs::create_dir(&tmp).expect("it is new");
    std::os::unix::fs::chown(&tmp, Some(NOBODY), Some(NOBODY)).expect("this is root");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(folder.path(), mode).expect("it is ours");
    let ended = Command::new(copy)
        .args(["--exact", test, "--nocapture"])
        .env("TMPDIR", tmp)
        .uid(NOBODY)
        .gid(NOBODY)
        .current_dir("/")
        .output()
        .expect("the copy starts");
    let said = String::from_utf8_lossy(&ended.stdout);
    let errors = String::from_utf8_lossy(&ended.stderr);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}{errors}"
    );
}
