//! Parses text of untrusted projects in a process of its own.
//!
//! Parsers of this size have inputs that overflow their stack or take all memory, whatever limits
//! are checked before. So `haft __reader` parses such text: a process without haft's variables and
//! descriptors, with limits of memory and of processor time that the kernel enforces. If it
//! crashes, the file counts as unreadable.
//!
//! A request is a kind, the path and the text of a file; the answer is the file's imports, as JSON.
//! A program that serves no such process parses the text itself, with tighter limits.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::missing;
use crate::source::{Imports, What, requests, text_of};
use haft_tool::PermissionRequest;

/// Limit of the memory that the process may map.
const MAX_MEMORY: u64 = 1 << 30;
/// Limit of the processor time for one file.
const MAX_CPU_SECONDS: u64 = 10;
/// Stack of the process for recursive code; part of its memory.
const STACK: usize = 384 << 20;
/// Size limit of a request and of an answer.
const MAX_FRAME: usize = 64 << 20;
/// Number of crashes after which no further file is given to a reader.
const MAX_CRASHES: u32 = 3;

/// Size limit of a file that is parsed without a reader.
const MAX_BYTES_IN_PROCESS: usize = 2 << 20;

/// A process that answers requests in turn.
pub trait Reader {
    /// Sends a request and waits for the answer; `None` if the process has ended or was killed.
    fn ask(&mut self, request: &[u8]) -> Option<Vec<u8>>;
}

/// Function that starts a reader; `None` if it cannot be started.
pub type StartReader = Box<dyn Fn() -> Option<Box<dyn Reader>> + Send + Sync>;

static START: OnceLock<StartReader> = OnceLock::new();

/// Sets the function that starts readers in this process; only the first call counts.
pub fn set_reader(start: StartReader) {
    // A second function would do the same.
    let _ = START.set(start);
}

/// Kind of a request about a file.
#[derive(Clone, Copy)]
enum Question {
    /// All imports of the file.
    Imports,
    /// The imports that are left in the compiled file; the reader reads the file itself.
    AtRunTime,
    /// The permissions that a YAML tool asks for.
    Declaration,
}

/// Client of reader processes, which are started when they are first needed.
#[derive(Default)]
pub(super) struct Apart {
    reader: Option<Box<dyn Reader>>,
    crashes: u32,
}

impl Apart {
    /// Returns the imports of the file with this text.
    pub(super) fn imports(&mut self, path: &Path, bytes: &[u8]) -> Imports {
        if START.get().is_none() {
            return if bytes.len() > MAX_BYTES_IN_PROCESS {
                Imports::unreadable(What::TooCostly)
            } else {
                Imports::of(path, text_of(bytes.to_vec()))
            };
        }
        let answer = self.ask(Question::Imports, path, bytes);
        answer.unwrap_or_else(|| Imports::unreadable(What::TooCostly))
    }

    /// Returns the imports of the compiled file; `None` if it cannot be compiled.
    pub(super) fn imports_at_run_time(&mut self, path: &Path) -> Option<Imports> {
        match START.get() {
            None => missing::imports_at_run_time(path),
            Some(_) => self.ask::<Option<Imports>>(Question::AtRunTime, path, &[])?,
        }
    }

    /// Returns the permissions that the YAML tool with this text asks for.
    pub(super) fn requests_of_declaration(
        &mut self,
        path: &Path,
        bytes: &[u8],
    ) -> Option<PermissionRequest> {
        match START.get() {
            None if bytes.len() > MAX_BYTES_IN_PROCESS => None,
            None => requests::of_declaration(path, &text_of(bytes.to_vec())),
            Some(_) => self.ask::<Option<PermissionRequest>>(Question::Declaration, path, bytes)?,
        }
    }

    fn ask<A: serde::de::DeserializeOwned>(
        &mut self,
        question: Question,
        path: &Path,
        text: &[u8],
    ) -> Option<A> {
        if self.crashes >= MAX_CRASHES {
            return None;
        }
        if self.reader.is_none() {
            self.reader = START.get()?();
        }
        let answer = self.reader.as_mut()?.ask(&request(question, path, text));
        let Some(answer) = answer else {
            tracing::debug!(path = %path.display(), "the reader ended while it parsed the file");
            self.reader = None;
            self.crashes += 1;
            return None;
        };
        serde_json::from_slice(&answer).ok()
    }
}

fn request(question: Question, path: &Path, text: &[u8]) -> Vec<u8> {
    let path = path.as_os_str().as_encoded_bytes();
    let length = u32::try_from(path.len()).unwrap_or(u32::MAX);
    let mut request = vec![question as u8];
    request.extend(length.to_le_bytes());
    request.extend(path);
    request.extend(text);
    request
}

/// Runs `haft __reader`: answers requests from standard input on standard output until input ends.
///
/// # Errors
/// When a limit cannot be set, or a stream fails.
#[allow(
    clippy::disallowed_methods,
    reason = "in the reader process, standard output carries frames"
)]
pub fn serve_reader() -> io::Result<()> {
    limit(Resource::As, MAX_MEMORY)?;
    limit(Resource::Core, 0)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nproc, 0)?;
    // Without memory a message cannot be written, and no process would read it.
    std::panic::set_hook(Box::new(|_| std::process::abort()));
    stacker::grow(STACK, || {
        let (mut input, mut output) = (io::stdin().lock(), io::stdout().lock());
        while let Some(request) = read_frame(&mut input)? {
            allow_cpu_time()?;
            let answer = answer(&request).ok_or(io::ErrorKind::InvalidData)?;
            let length = u32::try_from(answer.len()).map_err(io::Error::other)?;
            output.write_all(&length.to_le_bytes())?;
            output.write_all(&answer)?;
            output.flush()?;
        }
        Ok(())
    })
}

fn limit(resource: Resource, value: u64) -> io::Result<()> {
    let before = getrlimit(resource).maximum.unwrap_or(u64::MAX);
    let value = Some(value.min(before));
    setrlimit(
        resource,
        Rlimit {
            current: value,
            maximum: value,
        },
    )?;
    Ok(())
}

/// Extends the limit of processor time by the time for one file.
fn allow_cpu_time() -> io::Result<()> {
    // Nanoseconds that the process's only thread has run.
    let times = std::fs::read_to_string("/proc/self/schedstat").unwrap_or_default();
    let used = times.split_whitespace().next();
    let used: u64 = used.and_then(|used| used.parse().ok()).unwrap_or_default();
    let used = used / 1_000_000_000;
    let maximum = getrlimit(Resource::Cpu).maximum;
    let current = used + MAX_CPU_SECONDS;
    let current = Some(maximum.map_or(current, |maximum| current.min(maximum)));
    setrlimit(Resource::Cpu, Rlimit { current, maximum })?;
    Ok(())
}

fn read_frame(input: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut length = [0; 4];
    match input.read_exact(&mut length) {
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(None),
        read => read?,
    }
    let length = u32::from_le_bytes(length) as usize;
    if length > MAX_FRAME {
        return Err(io::ErrorKind::InvalidData.into());
    }
    let mut frame = vec![0; length];
    input.read_exact(&mut frame)?;
    Ok(Some(frame))
}

fn answer(request: &[u8]) -> Option<Vec<u8>> {
    let (kind, rest) = request.split_first()?;
    let (length, rest) = rest.split_at_checked(4)?;
    let length = u32::from_le_bytes(length.try_into().ok()?) as usize;
    let (path, text) = rest.split_at_checked(length)?;
    let path = path_of(path);
    match *kind {
        kind if kind == Question::Imports as u8 => {
            let imports = Imports::of(&path, text_of(text.to_vec()));
            serde_json::to_vec(&imports).ok()
        }
        kind if kind == Question::Declaration as u8 => {
            let text = text_of(text.to_vec());
            serde_json::to_vec(&requests::of_declaration(&path, &text)).ok()
        }
        _ => serde_json::to_vec(&missing::imports_at_run_time(&path)).ok(),
    }
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    std::ffi::OsStr::from_bytes(bytes).into()
}
