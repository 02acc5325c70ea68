//! `bash`: runs a command, and answers with its exit code and the output of both streams, in order.
//!
//! This is the one file outside `process` that starts a program, because this is another program
//! than haft, without its runtime. Both streams are one pipe, which keeps the command's own order.
//! We lead the process group that the command runs in, so a signal to our group reaches all of it.
//! When we are asked to end, we end the group. A background process of the command continues and
//! delays nothing.

use std::ffi::CString;
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::spawn::{PosixSpawnAttr, PosixSpawnFileActions, PosixSpawnFlags, posix_spawnp};
use nix::sys::signal::{SigSet, Signal as Wanted};
use nix::sys::signalfd::{SfdFlags, SignalFd};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, WaitOptions, WaitStatus};
use serde_json::{Value, json};

use super::kept::Kept;
use super::params::{Params, Wrong};
use super::stop::{Stop, plain};
use super::tool::Tool;

/// Time limit for remaining output after the end of the command. A program in `>(…)` may still be
/// writing, while a server in the background holds the pipe for ever.
const LAST_WORDS: Duration = Duration::from_millis(100);

/// Grace period between SIGTERM and SIGKILL.
const GRACE: Duration = Duration::from_secs(1);

/// Exit code of shells for a program that could not be started.
const NOT_STARTED: i32 = 127;

pub const TOOL: Tool = Tool {
    file: "bash",
    description: "Run a command with bash and get its output and exit code",
    parameters: || {
        json!({
            "command": {"type": "string", "description": "The command; standard input is empty"},
        })
    },
    required: &["command"],
    returns: || {
        json!({
            "output": {"type": "string", "description": "Standard output and standard error in the order of writing, without the last line break"},
            "exit_code": {"type": "integer", "description": "The exit code; 128 + N after signal N"},
        })
    },
    run,
};

fn run(params: &Params) -> Result<Value, Stop> {
    let command = CString::new(params.text("command")?).map_err(|_| Wrong::Field {
        name: "command",
        wanted: "a string without NUL",
    })?;
    let (output, exit_code) = match finish(&command) {
        Ok(Ended { output, status }) => (output, exit_code(status)),
        Err(error) => (
            format!("bash could not be run: {}", plain(&error)),
            NOT_STARTED,
        ),
    };
    let output = output.strip_suffix('\n').unwrap_or(&output);
    Ok(json!({"output": output, "exit_code": exit_code}))
}

struct Ended {
    output: String,
    status: WaitStatus,
}

fn exit_code(status: WaitStatus) -> i32 {
    let by_signal = status.terminating_signal().map(|signal| 128 + signal);
    status.exit_status().or(by_signal).unwrap_or(NOT_STARTED)
}

fn finish(command: &CString) -> io::Result<Ended> {
    if rustix::process::getpgrp() != rustix::process::getpid() {
        rustix::process::setpgid(None, None)?;
    }
    let told_to_end = ends_of_ours()?;
    let (mut output, end) = io::pipe()?;
    rustix::io::ioctl_fionbio(&output, true)?;
    let bash = start(command, &end)?;
    // The pipe ends when every writer has closed it, so our own end must be closed.
    drop(end);
    let ended = rustix::process::pidfd_open(bash, PidfdFlags::empty())?;

    let mut kept = Kept::default();
    let mut is_open = true;
    loop {
        let mut events = [
            PollFd::new(&ended, PollFlags::IN),
            PollFd::new(&told_to_end, PollFlags::IN),
            PollFd::new(&output, PollFlags::IN),
        ];
        let watched = if is_open { 3 } else { 2 };
        wait(&mut events[..watched], None)?;
        let [has_ended, is_told, has_output] = events.map(|event| !event.revents().is_empty());
        if is_told {
            end_the_group(&ended);
        }
        if has_output && watched == 3 {
            is_open = read_what_is_there(&mut output, &mut kept)?;
        }
        // The loop must not wait for an empty pipe: a background process may fill it for ever.
        if has_ended {
            break;
        }
    }
    if is_open {
        last_words(&mut output, &mut kept)?;
    }
    let status = rustix::process::waitpid(Some(bash), WaitOptions::empty())?;
    let (_, status) = status.ok_or_else(|| io::Error::other("it ended and left no status"))?;
    Ok(Ended {
        output: kept.into_text(),
        status,
    })
}

/// Redirects the termination signals to a descriptor, so that they do not end us at once.
fn ends_of_ours() -> nix::Result<SignalFd> {
    let signals: SigSet = [Wanted::SIGTERM, Wanted::SIGINT, Wanted::SIGHUP]
        .into_iter()
        .collect();
    signals.thread_block()?;
    SignalFd::with_flags(&signals, SfdFlags::SFD_CLOEXEC)
}

fn start(command: &CString, output: &impl AsRawFd) -> io::Result<Pid> {
    let nothing = File::open("/dev/null")?;
    let mut streams = PosixSpawnFileActions::init()?;
    streams.add_dup2(nothing.as_raw_fd(), 0)?;
    streams.add_dup2(output.as_raw_fd(), 1)?;
    streams.add_dup2(output.as_raw_fd(), 2)?;
    // Rust ignores SIGPIPE and we block other signals; the command must not inherit that.
    let mut signals = PosixSpawnAttr::init()?;
    signals.set_flags(
        PosixSpawnFlags::POSIX_SPAWN_SETSIGDEF | PosixSpawnFlags::POSIX_SPAWN_SETSIGMASK,
    )?;
    signals.set_sigdefault(&SigSet::all())?;
    signals.set_sigmask(&SigSet::empty())?;
    let arguments = [c"bash", c"-c", command.as_c_str()];
    let started = posix_spawnp(c"bash", &streams, &signals, &arguments, &environment());
    let pid = started?;
    Pid::from_raw(pid.as_raw()).ok_or_else(|| Errno::ESRCH.into())
}

fn environment() -> Vec<CString> {
    let lines = std::env::vars_os().map(|(name, value)| {
        let mut line = name.into_vec();
        line.push(b'=');
        line.extend(value.into_vec());
        line
    });
    // The environment comes from the system, so no line holds a NUL byte.
    lines.filter_map(|line| CString::new(line).ok()).collect()
}

/// Reads what is available now. Returns false at the end of the output.
fn read_what_is_there(output: &mut impl Read, kept: &mut Kept) -> io::Result<bool> {
    let mut buffer = [0; 16 << 10];
    match output.read(&mut buffer) {
        Ok(0) => Ok(false),
        Ok(length) => {
            kept.push(&buffer[..length]);
            Ok(true)
        }
        Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
        Err(error) => Err(error),
    }
}

fn last_words(output: &mut (impl Read + std::os::fd::AsFd), kept: &mut Kept) -> io::Result<()> {
    let until = Instant::now() + LAST_WORDS;
    loop {
        let left = until.saturating_duration_since(Instant::now());
        let mut events = [PollFd::new(&*output, PollFlags::IN)];
        let is_ready = wait(&mut events, Some(left))?;
        if !is_ready || left.is_zero() || !read_what_is_there(output, kept)? {
            return Ok(());
        }
    }
}

/// Sends SIGTERM to the whole group, waits for the command, then kills the group including
/// ourselves.
fn end_the_group(command: &impl std::os::fd::AsFd) {
    let group = rustix::process::getpgrp();
    let _ = rustix::process::kill_process_group(group, Signal::TERM);
    drop(wait(
        &mut [PollFd::new(command, PollFlags::IN)],
        Some(GRACE),
    ));
    let _ = rustix::process::kill_process_group(group, Signal::KILL);
}

/// Waits for an event; returns false after the time limit.
fn wait(events: &mut [PollFd<'_>], limit: Option<Duration>) -> io::Result<bool> {
    let limit = limit.and_then(|limit| Timespec::try_from(limit).ok());
    loop {
        match poll(events, limit.as_ref()) {
            Err(rustix::io::Errno::INTR) => {}
            ended => return Ok(ended? > 0),
        }
    }
}
