//! The seccomp filter of a policy: system calls that Landlock does not cover.
//!
//! The filter sees numbers only, never the memory behind a pointer. Denied calls fail with EPERM.
//! Those for which programs have a fallback fail with ENOSYS.

use std::collections::BTreeMap;
use std::os::fd::RawFd;
use std::sync::LazyLock;

use nix::errno::Errno;
use nix::libc;
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch, sock_filter,
};

use super::{Access, Net, SandboxError, SandboxPolicy};
use crate::GrantedPath;

/// Calls without which programs work. Most of them need privileges; root has these.
const DENIED: &[libc::c_long] = &[
    // Other processes. Landlock denies most of it too.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_process_mrelease,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_migrate_pages,
    libc::SYS_move_pages,
    // The processors that haft lets the program use (`limits.worker_cpus`), and those of others.
    libc::SYS_sched_setaffinity,
    // Parts of the kernel with many faults.
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_fanotify_init,
    libc::SYS_lookup_dcookie,
    libc::SYS_nfsservctl,
    // Keys of the user's session.
    libc::SYS_keyctl,
    libc::SYS_add_key,
    libc::SYS_request_key,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    OPEN_TREE_ATTR,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_mount_setattr,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    // Files without their path.
    libc::SYS_open_by_handle_at,
    // The machine.
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_vhangup,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_iopl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_ioperm,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_uselib,
];

/// Calls that change mode, owner, times or attributes of a file.
const METADATA: &[libc::c_long] = &[
    libc::SYS_fchmod,
    libc::SYS_fchmodat,
    FCHMODAT2,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_utimensat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    SETXATTRAT,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    REMOVEXATTRAT,
    FILE_SETATTR,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_chown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lchown,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utime,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_utimes,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_futimesat,
];

/// Calls that do not exist as far as programs can tell. `clone3` has its flags in memory; every C
/// library falls back to `clone`.
const ABSENT: &[libc::c_long] = &[
    libc::SYS_clone3,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
];

/// Calls that start to watch files. Programs look again and again without them.
const INOTIFY: &[libc::c_long] = &[
    libc::SYS_inotify_init1,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_inotify_init,
];

// Numbers that `libc` does not have for each machine. They are the same on all machines.
const FCHMODAT2: libc::c_long = 452;
const SETXATTRAT: libc::c_long = 463;
const REMOVEXATTRAT: libc::c_long = 466;
const OPEN_TREE_ATTR: libc::c_long = 467;
const FILE_SETATTR: libc::c_long = 469;

/// Flags of `clone` and `unshare` that make a namespace.
const NAMESPACES: [libc::c_int; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// Flag of `unshare` that makes a namespace. `clone` uses this bit for its signal.
const CLONE_NEWTIME: u32 = 0x80;

/// Flag of `memfd_create` that makes the file not executable for ever (Linux 6.3).
const MFD_NOEXEC_SEAL: u32 = 8;

/// The bit of x86-64 calls with 32-bit pointers, which have numbers of their own.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const AUDIT_ARCH: u32 = 0xC000_003E;
#[cfg(target_arch = "aarch64")]
const AUDIT_ARCH: u32 = 0xC000_00B7;
#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
compile_error!("the numbers of system calls are known for x86-64 and ARM64 only");

/// Returns true if the kernel supports filters.
pub(super) fn is_available() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        let errno = SeccompAction::Errno(0);
        #[allow(unsafe_code, reason = "no crate offers this call")]
        // SAFETY: the kernel reads four bytes behind the pointer.
        let result = unsafe {
            let action = u32::from(errno) & libc::SECCOMP_RET_ACTION_FULL;
            let operation = libc::SECCOMP_GET_ACTION_AVAIL;
            libc::syscall(libc::SYS_seccomp, operation, 0u32, &raw const action)
        };
        result == 0
    });
    *FOUND
}

/// Puts the filter on the calling thread. It allocates nothing.
pub(super) fn restrict(filter: &[sock_filter]) -> Result<(), Errno> {
    install(filter, 0).map(drop)
}

/// Puts the filter on the calling thread, and returns the descriptor on which its handed-over calls
/// arrive. It allocates nothing.
pub(super) fn restrict_with_listener(filter: &[sock_filter]) -> Result<RawFd, Errno> {
    // With the second flag, signals do not interrupt a call that is being answered.
    let flags =
        libc::SECCOMP_FILTER_FLAG_NEW_LISTENER | libc::SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV;
    let listener = install(filter, flags)?;
    RawFd::try_from(listener).map_err(|_| Errno::EBADF)
}

fn install(filter: &[sock_filter], flags: libc::c_ulong) -> Result<libc::c_long, Errno> {
    let program = libc::sock_fprog {
        len: u16::try_from(filter.len()).map_err(|_| Errno::EINVAL)?,
        filter: filter.as_ptr().cast_mut().cast(),
    };
    #[allow(unsafe_code, reason = "crate `seccompiler` does not offer these flags")]
    // SAFETY: the kernel reads the program only. Its instructions have the layout of the kernel
    // (`repr(C)`).
    let result = unsafe {
        let operation = libc::SECCOMP_SET_MODE_FILTER;
        libc::syscall(libc::SYS_seccomp, operation, flags, &raw const program)
    };
    Errno::result(result)
}

/// Treatment of `connect`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Connect {
    /// The kernel executes it.
    Direct,
    /// It is handed over to haft (`connections`).
    HandedOver,
}

/// Treatment of `inotify`.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Watches {
    /// The kernel executes it.
    Allowed,
    /// It does not exist, because it would report the use of haft's own files.
    Absent,
}

/// Builds the filter of a policy.
pub(super) fn filter(
    policy: &SandboxPolicy,
    connect: Connect,
    watches: Watches,
) -> Result<BpfProgram, SandboxError> {
    let compiled = rules(policy).and_then(|rules| {
        let denied = SeccompAction::Errno(libc::EPERM.cast_unsigned());
        let filter = SeccompFilter::new(rules, SeccompAction::Allow, denied, target())?;
        BpfProgram::try_from(filter)
    });
    let compiled = compiled.map_err(|error| SandboxError::Rules(error.to_string()))?;
    let mut program = prologue(policy, connect, watches);
    program.extend(compiled);
    Ok(program)
}

fn target() -> TargetArch {
    if cfg!(target_arch = "x86_64") {
        TargetArch::x86_64
    } else {
        TargetArch::aarch64
    }
}

/// Instructions in front of the compiled filter, which has one error only, needs five instructions
/// for a call that is always denied, and would kill programs with foreign system calls.
fn prologue(policy: &SandboxPolicy, connect: Connect, watches: Watches) -> BpfProgram {
    // Offsets in `struct seccomp_data`.
    const NUMBER: u32 = 0;
    const ARCH: u32 = 4;
    let absent = u32::from(SeccompAction::Errno(libc::ENOSYS.cast_unsigned()));
    let denied = u32::from(SeccompAction::Errno(libc::EPERM.cast_unsigned()));
    let mut program = vec![
        instruction(LOAD_WORD, 0, 0, ARCH),
        instruction(JUMP_EQUAL, 1, 0, AUDIT_ARCH),
        instruction(RETURN, 0, 0, absent),
        instruction(LOAD_WORD, 0, 0, NUMBER),
    ];
    #[cfg(target_arch = "x86_64")]
    program.extend([
        instruction(JUMP_AT_LEAST, 0, 1, X32),
        instruction(RETURN, 0, 0, absent),
    ]);
    program.extend(answer(ABSENT, absent));
    program.extend(answer(DENIED, denied));
    if watches == Watches::Absent {
        program.extend(answer(INOTIFY, absent));
    }
    if is_without_writable_files(policy) {
        program.extend(answer(METADATA, denied));
    }
    if let Net::Ports(_) = policy.net {
        // Without `bind` a socket listens at a port that the kernel chooses.
        program.extend(answer(&[libc::SYS_listen], denied));
    }
    if connect == Connect::HandedOver {
        program.extend(answer(&[libc::SYS_connect], libc::SECCOMP_RET_USER_NOTIF));
    }
    program
}

// Operation codes of classic BPF (linux/bpf_common.h).
const LOAD_WORD: u16 = 0x20;
const JUMP: u16 = 0x05;
const JUMP_EQUAL: u16 = 0x15;
#[cfg(target_arch = "x86_64")]
const JUMP_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

/// `if_true` and `if_false` are the numbers of instructions to skip.
fn instruction(code: u16, if_true: u8, if_false: u8, k: u32) -> sock_filter {
    sock_filter {
        code,
        jt: if_true,
        jf: if_false,
        k,
    }
}

/// Returns instructions that end the filter with `action` for these calls. The number of the call
/// is loaded already.
fn answer(calls: &[libc::c_long], action: u32) -> BpfProgram {
    let mut program: BpfProgram = (calls.iter().rev().zip(1u8..))
        .map(|(call, to_return)| {
            let number = u32::try_from(*call).expect("numbers of calls are small");
            instruction(JUMP_EQUAL, to_return, 0, number)
        })
        .collect();
    program.reverse();
    program.push(instruction(JUMP, 0, 0, 1));
    program.push(instruction(RETURN, 0, 0, action));
    program
}

type Rules = BTreeMap<i64, Vec<SeccompRule>>;
type Compiled<T> = Result<T, seccompiler::BackendError>;

/// Returns the calls that are denied with some arguments. A call is denied if one of its rules
/// matches.
fn rules(policy: &SandboxPolicy) -> Compiled<Rules> {
    let mut rules = Rules::new();
    let mut deny = |number: libc::c_long, conditions: &[(u8, SeccompCmpOp, u32)]| -> Compiled<()> {
        let conditions = conditions.iter().map(|(index, operator, value)| {
            let (length, value) = (SeccompCmpArgLen::Dword, u64::from(*value));
            // The kernel reads these arguments as 32 bits, so the upper half must not count.
            SeccompCondition::new(*index, length, operator.clone(), value)
        });
        let rule = SeccompRule::new(conditions.collect::<Compiled<_>>()?)?;
        rules.entry(number).or_default().push(rule);
        Ok(())
    };
    let has = |bit: u32| SeccompCmpOp::MaskedEq(u64::from(bit));

    for flag in NAMESPACES.map(i32::cast_unsigned) {
        deny(libc::SYS_clone, &[(0, has(flag), flag)])?;
        deny(libc::SYS_unshare, &[(0, has(flag), flag)])?;
    }
    deny(libc::SYS_unshare, &[(0, has(CLONE_NEWTIME), CLONE_NEWTIME)])?;

    // Input for the terminal, which the user's shell would execute.
    for request in [libc::TIOCSTI, libc::TIOCLINUX, TIOCSETD] {
        let request = u32::try_from(request).expect("requests have 32 bits");
        deny(libc::SYS_ioctl, &[(1, SeccompCmpOp::Eq, request)])?;
    }

    // Limits and priority of another process; 0 is the own one.
    for number in [
        libc::SYS_prlimit64,
        libc::SYS_sched_setscheduler,
        libc::SYS_sched_setparam,
        libc::SYS_sched_setattr,
    ] {
        deny(number, &[(0, SeccompCmpOp::Ne, 0)])?;
    }
    for (number, process) in [(libc::SYS_setpriority, 0), (libc::SYS_ioprio_set, 1)] {
        deny(number, &[(0, SeccompCmpOp::Ne, process)])?;
        deny(number, &[(1, SeccompCmpOp::Ne, 0)])?;
    }

    if policy.execute != Access::All {
        // Landlock does not see files in memory, so they must not be executable.
        deny(libc::SYS_memfd_create, &[(1, has(MFD_NOEXEC_SEAL), 0)])?;
    }
    network(policy, deny)?;
    Ok(rules)
}

const TIOCSETD: libc::Ioctl = 0x5423;

fn is_without_writable_files(policy: &SandboxPolicy) -> bool {
    let Access::Paths(paths) = &policy.write else {
        return false;
    };
    // Devices of the system are never owned by the user, or have no content.
    let is_device = |path: &GrantedPath| path.as_path().starts_with("/dev");
    paths.iter().all(is_device) && !policy.private_tmp
}

fn network(
    policy: &SandboxPolicy,
    mut deny: impl FnMut(libc::c_long, &[(u8, SeccompCmpOp, u32)]) -> Compiled<()>,
) -> Compiled<()> {
    const UNIX: u32 = libc::AF_UNIX.cast_unsigned();
    const INET: [u32; 2] = [
        libc::AF_INET.cast_unsigned(),
        libc::AF_INET6.cast_unsigned(),
    ];
    const NETLINK: u32 = libc::AF_NETLINK.cast_unsigned();
    const MSG_FASTOPEN: u32 = libc::MSG_FASTOPEN.cast_unsigned();
    use SeccompCmpOp::{Eq, MaskedEq, Ne};

    let mut families = Vec::new();
    if policy.unix_sockets && !matches!(policy.net, Net::Ports(_)) {
        families.push(UNIX);
    }
    if policy.net != Net::None {
        families.extend(INET);
    }
    if policy.net == Net::All {
        families.push(NETLINK);
        // The C library reads the addresses of the machine. Other protocols of this family control
        // parts of the kernel.
        let route = libc::NETLINK_ROUTE.cast_unsigned();
        deny(libc::SYS_socket, &[(0, Eq, NETLINK), (2, Ne, route)])?;
    }
    // A rule without conditions is not possible, and no family has this number.
    families.push(u32::MAX);
    let others: Vec<_> = families.iter().map(|family| (0, Ne, *family)).collect();
    deny(libc::SYS_socket, &others)?;
    deny(libc::SYS_socketpair, &[(0, Ne, UNIX)])?;
    if !families.contains(&UNIX) {
        // A socket for datagrams could send to other sockets by their path, although it is one of a
        // pair. This bit is set in the types of datagrams, and not in those of connections.
        deny(libc::SYS_socketpair, &[(1, MaskedEq(2), 2)])?;
    }

    if let Net::Ports(_) = policy.net {
        for family in INET {
            // The type is 1 (a stream) in its four lowest bits; the others are flags.
            deny(libc::SYS_socket, &[(0, Eq, family), (1, MaskedEq(1), 0)])?;
            for bit in [2, 4, 8] {
                let is_set = MaskedEq(u64::from(bit));
                deny(libc::SYS_socket, &[(0, Eq, family), (1, is_set, bit)])?;
            }
            // Landlock does not check multipath TCP and SCTP.
            let tcp = libc::IPPROTO_TCP.cast_unsigned();
            let protocol = [(0, Eq, family), (2, Ne, 0), (2, Ne, tcp)];
            deny(libc::SYS_socket, &protocol)?;
        }
        // The newest listener gets a call that several filters hand over, and could let it pass.
        const LISTENER: u32 = libc::SECCOMP_FILTER_FLAG_NEW_LISTENER as u32;
        let is_set = MaskedEq(u64::from(LISTENER));
        deny(libc::SYS_seccomp, &[(1, is_set, LISTENER)])?;
        // Data in the first packet connects without a check by Landlock.
        for (number, flags) in [
            (libc::SYS_sendto, 3),
            (libc::SYS_sendmsg, 2),
            (libc::SYS_sendmmsg, 3),
        ] {
            let is_set = MaskedEq(u64::from(MSG_FASTOPEN));
            deny(number, &[(flags, is_set, MSG_FASTOPEN)])?;
        }
    }
    Ok(())
}
