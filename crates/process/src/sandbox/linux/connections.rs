//! Connections of programs that may reach some ports of this machine only.
//!
//! Landlock checks the port of a connection and not its address, so a program could reach the same
//! port of any machine. So the filter hands every `connect` of such a program to a thread of haft.
//! The thread reads the address once, checks it, and connects the program's own socket with its
//! copy. The program cannot change the address in between, and never connects by itself.

use std::fs::{self, File};
use std::io;
use std::mem;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::sync::LazyLock;

use nix::errno::Errno;
use nix::libc;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, pidfd_getfd, pidfd_open};

/// Size of the largest address that the kernel accepts.
const MAX_ADDRESS: usize = 128;

/// Size of the buffer for one descriptor in a message.
const CONTROL_BYTES: usize = 32;

/// Returns true if the thread can get a socket of a program. The filter of a container or
/// the Yama module may deny it.
pub(super) fn is_available() -> bool {
    static FOUND: LazyLock<bool> = LazyLock::new(|| {
        // From 2 on, Yama denies it to users without privileges, except for the own process.
        let scope = fs::read_to_string("/proc/sys/kernel/yama/ptrace_scope").unwrap_or_default();
        if scope.trim().parse::<u32>().is_ok_and(|scope| scope >= 2) {
            return false;
        }
        let Ok((reader, _writer)) = io::pipe() else {
            return false;
        };
        let own = pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        let flags = PidfdGetfdFlags::empty();
        own.is_ok_and(|own| pidfd_getfd(own, reader.as_raw_fd(), flags).is_ok())
    });
    *FOUND
}

/// Buffer of a control message, aligned for its header.
#[repr(C, align(8))]
struct Control([u8; CONTROL_BYTES]);

/// Calls `with` with a message of one byte and room for one descriptor.
fn with_message<T>(with: impl FnOnce(&mut libc::msghdr) -> T) -> T {
    let mut byte = [0u8];
    let mut part = libc::iovec {
        iov_base: byte.as_mut_ptr().cast(),
        iov_len: byte.len(),
    };
    let mut control = Control([0; CONTROL_BYTES]);
    #[allow(
        unsafe_code,
        reason = "the structure has private padding on some systems"
    )]
    // SAFETY: all of its fields may be zero.
    let mut message: libc::msghdr = unsafe { mem::zeroed() };
    message.msg_iov = &raw mut part;
    message.msg_iovlen = 1;
    message.msg_control = control.0.as_mut_ptr().cast();
    message.msg_controllen = CONTROL_BYTES as _;
    with(&mut message)
}

/// Sends a descriptor. It allocates nothing, since it runs between `vfork` and `execve`.
pub(super) fn send(channel: BorrowedFd<'_>, descriptor: RawFd) -> Result<(), Errno> {
    #[allow(unsafe_code, reason = "the standard library cannot send descriptors")]
    // SAFETY: the message has room for a header and one descriptor, and lives during the call.
    let sent = with_message(|message| unsafe {
        let size = size_of::<RawFd>() as libc::c_uint;
        message.msg_controllen = libc::CMSG_SPACE(size) as _;
        let header = libc::CMSG_FIRSTHDR(message);
        (*header).cmsg_level = libc::SOL_SOCKET;
        (*header).cmsg_type = libc::SCM_RIGHTS;
        (*header).cmsg_len = libc::CMSG_LEN(size) as _;
        libc::CMSG_DATA(header)
            .cast::<RawFd>()
            .write_unaligned(descriptor);
        libc::sendmsg(channel.as_raw_fd(), message, 0)
    });
    Errno::result(sent).map(drop)
}

/// Receives the descriptor that was sent.
pub(super) fn receive(channel: &UnixStream) -> io::Result<OwnedFd> {
    #[allow(
        unsafe_code,
        reason = "the standard library cannot receive descriptors"
    )]
    // SAFETY: the message has room for a header and one descriptor, and lives during the call. The
    // kernel made the descriptor for us.
    with_message(|message| unsafe {
        Errno::result(libc::recvmsg(
            channel.as_raw_fd(),
            message,
            libc::MSG_CMSG_CLOEXEC,
        ))?;
        let header = libc::CMSG_FIRSTHDR(message);
        if header.is_null() || (*header).cmsg_type != libc::SCM_RIGHTS {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let descriptor = libc::CMSG_DATA(header).cast::<RawFd>().read_unaligned();
        Ok(OwnedFd::from_raw_fd(descriptor))
    })
}

/// Starts the thread that connects for a program and for everything that it starts. The thread ends
/// with the last of these processes.
pub(super) fn serve(listener: OwnedFd, ports: Vec<u16>) -> io::Result<()> {
    let thread = std::thread::Builder::new().name("haft-connect".to_owned());
    let served = thread.spawn(move || while serve_one(&listener, &ports).is_ok() {});
    served.map(drop)
}

/// Waits for a `connect` and answers it. An error means that no process is left.
fn serve_one(listener: &OwnedFd, ports: &[u16]) -> Result<(), Errno> {
    let mut waiting = [PollFd::new(listener, PollFlags::IN)];
    match poll(&mut waiting, None) {
        Ok(_) | Err(rustix::io::Errno::INTR) => {}
        Err(error) => return Err(Errno::from_raw(error.raw_os_error())),
    }
    let events = waiting[0].revents();
    if !events.contains(PollFlags::IN) {
        let is_over = events.intersects(PollFlags::HUP | PollFlags::ERR);
        return if is_over { Err(Errno::ENOENT) } else { Ok(()) };
    }
    #[allow(unsafe_code, reason = "no crate offers these calls")]
    // SAFETY: all fields may be zero, and the kernel asks for that. The structure is the one of
    // this request.
    let request = unsafe {
        let mut request: libc::seccomp_notif = mem::zeroed();
        let command = libc::SECCOMP_IOCTL_NOTIF_RECV;
        let received = libc::ioctl(listener.as_raw_fd(), command, &raw mut request);
        match Errno::result(received) {
            Ok(_) => request,
            // Its process was killed meanwhile.
            Err(Errno::ENOENT | Errno::EINTR) => return Ok(()),
            Err(error) => return Err(error),
        }
    };
    let errno = connect(listener, &request, ports).err();
    #[allow(unsafe_code, reason = "no crate offers these calls")]
    // SAFETY: the structure is the one of this request. An error means that its process has ended.
    unsafe {
        let mut response: libc::seccomp_notif_resp = mem::zeroed();
        response.id = request.id;
        response.error = errno.map_or(0, |errno| -(errno as i32));
        let command = libc::SECCOMP_IOCTL_NOTIF_SEND;
        libc::ioctl(listener.as_raw_fd(), command, &raw mut response);
    }
    Ok(())
}

/// Connects the socket of a request, if its address is allowed.
fn connect(listener: &OwnedFd, request: &libc::seccomp_notif, ports: &[u16]) -> Result<(), Errno> {
    let [socket, address, length, ..] = request.data.args;
    let from_rustix = |error: rustix::io::Errno| Errno::from_raw(error.raw_os_error());
    let from_io = |error: io::Error| error.raw_os_error().map_or(Errno::EFAULT, Errno::from_raw);
    // The kernel uses 32 bits of these arguments.
    let (socket, length) = (socket as RawFd, length as u32 as usize);
    if length > MAX_ADDRESS {
        return Err(Errno::EINVAL);
    }
    let mut bytes = [0u8; MAX_ADDRESS];
    let memory = File::open(format!("/proc/{}/mem", request.pid)).map_err(from_io)?;
    let read = memory.read_exact_at(&mut bytes[..length], address);
    read.map_err(from_io)?;
    let process = pidfd_open(leader_of(request.pid)?, PidfdFlags::empty()).map_err(from_rustix)?;
    let flags = PidfdGetfdFlags::empty();
    let socket = pidfd_getfd(process, socket, flags).map_err(from_rustix)?;
    // The number of an ended process could belong to another one by now.
    #[allow(unsafe_code, reason = "no crate offers these calls")]
    // SAFETY: the kernel reads the number behind the pointer.
    let is_waiting = unsafe {
        let command = libc::SECCOMP_IOCTL_NOTIF_ID_VALID;
        libc::ioctl(listener.as_raw_fd(), command, &raw const request.id) == 0
    };
    if !is_waiting {
        return Err(Errno::ESRCH);
    }
    check(&bytes[..length], ports)?;
    #[allow(
        unsafe_code,
        reason = "the address is of a family that only the kernel knows"
    )]
    // SAFETY: the kernel reads `length` bytes of our copy.
    let connected = unsafe {
        let length = length as libc::socklen_t;
        libc::connect(socket.as_fd().as_raw_fd(), bytes.as_ptr().cast(), length)
    };
    Errno::result(connected).map(drop)
}

/// Returns the process of a thread.
fn leader_of(thread: u32) -> Result<Pid, Errno> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).unwrap_or_default();
    let leader = status.lines().find_map(|line| line.strip_prefix("Tgid:"));
    let leader = leader.and_then(|leader| Pid::from_raw(leader.trim().parse().ok()?));
    leader.ok_or(Errno::ESRCH)
}

/// Returns EACCES, as Landlock does, unless the address is a port of the list on this machine.
fn check(address: &[u8], ports: &[u16]) -> Result<(), Errno> {
    use std::net::{Ipv4Addr, Ipv6Addr};
    let family = address.first_chunk().copied().map(u16::from_ne_bytes);
    let port = address
        .get(2..4)
        .and_then(|bytes| bytes.first_chunk().copied());
    let port = port.map(u16::from_be_bytes);
    let is_local = match family.map(i32::from) {
        // The end of a connection.
        Some(libc::AF_UNSPEC) => return Ok(()),
        Some(libc::AF_INET) => {
            let bytes = address.get(4..8).and_then(|bytes| bytes.first_chunk::<4>());
            bytes.is_some_and(|bytes| Ipv4Addr::from(*bytes).is_loopback())
        }
        Some(libc::AF_INET6) => {
            let bytes = address
                .get(8..24)
                .and_then(|bytes| bytes.first_chunk::<16>());
            bytes.is_some_and(|bytes| {
                let address = Ipv6Addr::from(*bytes);
                let mapped = address.to_ipv4_mapped();
                address.is_loopback() || mapped.is_some_and(|address| address.is_loopback())
            })
        }
        _ => false,
    };
    if is_local && port.is_some_and(|port| ports.contains(&port)) {
        Ok(())
    } else {
        Err(Errno::EACCES)
    }
}
