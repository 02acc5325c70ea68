//! Helper process of haft that answers requests in order through pipes, while the caller waits.
//!
//! It gets no variables of haft and no handles except its pipes. It ends when its input ends. It is killed
//! when it does not answer in time or when its handle is dropped.

use std::io::{self, Read, Write};
use std::os::windows::process::CommandExt;
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use windows_sys::Win32::System::Threading::{CREATE_NO_WINDOW, CREATE_SUSPENDED};

use super::Pid;
use super::job::Job;
use super::processes::{KILLED, resume};
use crate::Limits;

/// Limit of an answer's length in bytes.
const MAX_ANSWER: usize = 64 << 20;

/// Timeout of one answer.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// Handle of a running helper.
pub struct Helper {
    job: Job,
    requests: mpsc::Sender<Vec<u8>>,
    answers: mpsc::Receiver<io::Result<Vec<u8>>>,
}

impl Helper {
    /// Starts `program` with these arguments and variables. The first argument is the program's own
    /// name.
    ///
    /// # Errors
    /// If it cannot be started.
    #[expect(
        clippy::disallowed_methods,
        reason = "this is the module that starts programs"
    )]
    pub fn start(
        program: &Path,
        arguments: &[&str],
        variables: &[(&str, &str)],
    ) -> io::Result<Helper> {
        let job = Job::new(&Limits::default())?;
        let mut child = Command::new(program)
            .args(arguments.iter().skip(1))
            .env_clear()
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .creation_flags(CREATE_SUSPENDED | CREATE_NO_WINDOW)
            .spawn()?;
        if let Err(error) = job.add(&child).and_then(|()| resume(Pid(child.id()))) {
            // It may not be in the job.
            let _ = child.kill();
            return Err(error);
        }
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::ErrorKind::BrokenPipe.into());
        };
        let (requests, inbox) = mpsc::channel();
        let (outbox, answers) = mpsc::channel();
        thread::Builder::new()
            .name("haft-helper".to_owned())
            .spawn(move || serve(input, output, &inbox, &outbox))?;
        Ok(Helper {
            job,
            requests,
            answers,
        })
    }

    /// Sends a request, prefixed by its length, and waits for an answer of the same form.
    ///
    /// # Errors
    /// If the process has ended or does not answer in time.
    pub fn ask(&mut self, request: &[u8]) -> io::Result<Vec<u8>> {
        let gone = |_| io::Error::from(io::ErrorKind::BrokenPipe);
        self.requests.send(request.to_vec()).map_err(gone)?;
        match self.answers.recv_timeout(ANSWER_TIMEOUT) {
            Ok(answer) => answer,
            Err(mpsc::RecvTimeoutError::Timeout) => {
                // Its late answer would count for the next request.
                self.job.kill(KILLED);
                Err(io::ErrorKind::TimedOut.into())
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }
}

impl Drop for Helper {
    fn drop(&mut self) {
        // Ends the reads and writes of the thread.
        self.job.kill(KILLED);
    }
}

/// Main loop of the thread that talks to the helper.
fn serve(
    mut input: ChildStdin,
    mut output: ChildStdout,
    requests: &mpsc::Receiver<Vec<u8>>,
    answers: &mpsc::Sender<io::Result<Vec<u8>>>,
) {
    for request in requests {
        if answers
            .send(exchange(&mut input, &mut output, &request))
            .is_err()
        {
            break;
        }
    }
}

fn exchange(
    input: &mut ChildStdin,
    output: &mut ChildStdout,
    request: &[u8],
) -> io::Result<Vec<u8>> {
    let length = u32::try_from(request.len()).map_err(io::Error::other)?;
    input.write_all(&length.to_le_bytes())?;
    input.write_all(request)?;
    input.flush()?;
    let mut length = [0; 4];
    output.read_exact(&mut length)?;
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_ANSWER {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut answer = vec![0; length];
    output.read_exact(&mut answer)?;
    Ok(answer)
}
