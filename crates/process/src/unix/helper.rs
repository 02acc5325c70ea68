//! Helper process of haft that answers requests in order through pipes, while the caller waits.
//!
//! It gets no variables of haft, no descriptors except its two pipes, and its own session. It ends when its
//! input ends. It is killed when it does not answer in time or when its handle is dropped.

use std::ffi::{CString, OsString};
use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStringExt;
use std::path::Path;
use std::time::{Duration, Instant};

use nix::spawn::{PosixSpawnFileActions, posix_spawn};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

use super::inherited::fresh_session;
use super::kernel::inherited_descriptors;

/// Limit of an answer's length in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Timeout of one answer. The process also has its own limit of processor time; this timeout
/// catches a helper that only waits.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Handle of a running helper.
pub struct Helper {
    pid: Pid,
    input: File,
    output: File,
}

impl Helper {
    /// Starts `program` with these arguments and variables. The first argument is the program's own
    /// name.
    ///
    /// # Errors
    /// If it cannot be started.
    pub fn start(
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> io::Result<Helper> {
        let c_string = |text: OsString| CString::new(text.into_vec()).map_err(io::Error::other);
        let program = c_string(program.as_os_str().to_owned())?;
        let arguments = arguments
            .iter()
            .map(|argument| c_string((*argument).into()));
        let arguments: Vec<CString> = arguments.collect::<io::Result<_>>()?;
        let (stdin, input) = io::pipe()?;
        let (output, stdout) = io::pipe()?;
        let null = File::options().write(true).open("/dev/null")?;
        let mut actions = PosixSpawnFileActions::init()?;
        actions.add_dup2(stdin.as_raw_fd(), 0)?;
        actions.add_dup2(stdout.as_raw_fd(), 1)?;
        actions.add_dup2(null.as_raw_fd(), 2)?;
        for descriptor in inherited_descriptors() {
            actions.add_close(*descriptor)?;
        }
        let variables = variables
            .iter()
            .map(|(name, value)| c_string(format!("{name}={value}").into()));
        let environment: Vec<CString> = variables.collect::<io::Result<_>>()?;
        let attributes = fresh_session()?;
        let pid = posix_spawn(
            program.as_c_str(),
            &actions,
            &attributes,
            &arguments,
            &environment,
        )?;
        let (input, output) = (OwnedFd::from(input), OwnedFd::from(output));
        for end in [&input, &output] {
            rustix::io::ioctl_fionbio(end, true)?;
        }
        Ok(Helper {
            pid: Pid::from_raw(pid.as_raw()).ok_or(io::ErrorKind::Other)?,
            input: input.into(),
            output: output.into(),
        })
    }

    /// Sends a request, prefixed by its length, and waits for an answer of the same form.
    ///
    /// # Errors
    /// If the process has ended or does not answer in time.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        let until = Instant::now() + ANSWER_TIMEOUT;
        let length = u32::try_from(request.len()).map_err(io::Error::other)?;
        self.send(&length.to_le_bytes(), until)?;
        self.send(request, until)?;
        let mut length = [0; 4];
        self.receive(&mut length, until)?;
        let length = u32::from_le_bytes(length) as usize;
        if length > MAX_ANSWER {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut answer = vec![0; length];
        self.receive(&mut answer, until)?;
        Ok(answer)
    }

    fn send(&mut self, mut bytes: &[u8], until: Instant) -> io::Result<()> {
        while !bytes.is_empty() {
            wait_for(&self.input, PollFlags::OUT, until)?;
            match self.input.write(bytes) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn receive(&mut self, bytes: &mut [u8], until: Instant) -> io::Result<()> {
        let mut filled = 0;
        while filled < bytes.len() {
            wait_for(&self.output, PollFlags::IN, until)?;
            match self.output.read(&mut bytes[filled..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(read) => filled += read,
                Err(error) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

fn is_passing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted
    )
}

fn wait_for(end: &File, what: PollFlags, until: Instant) -> io::Result<()> {
    let left = until.saturating_duration_since(Instant::now());
    if left.is_zero() {
        return Err(io::ErrorKind::TimedOut.into());
    }
    let left = Timespec::try_from(left).map_err(io::Error::other)?;
    match poll(&mut [PollFd::new(end, what)], Some(&left)) {
        Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // It has not been reaped yet, so the number still belongs to it.
        let _ = kill_process(self.pid, Signal::KILL);
        let options = WaitIdOptions::EXITED;
        let _ = rustix::io::retry_on_intr(|| waitid(WaitId::Pid(self.pid), options));
    }
}
