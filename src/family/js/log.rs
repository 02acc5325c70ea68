//! Log of `pi.logger` and `console` of tools: JSON lines in a file per process, never our streams.
//!
//! Only the user may read the file: tools log the data that they work on. A full file becomes
//! `….log.1`, and that one `….log.2`, so that the size of the logs is bounded.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use rustix::fs::OFlags;
use serde_json::{Map, Value, json};

use haft_engine::ToolLog;
use haft_process::state_dir;
use haft_tool::{LogLevel, TrustDomain, json, since_1970};

/// Log of the tools of one host. The file is created with its first line.
pub(super) struct LogFile {
    folder: PathBuf,
    file: Mutex<State>,
}

/// Size limit of a file; then a new one is begun.
const MAX_FILE_BYTES: u64 = 10 << 20;

/// Number of full files that are kept besides the current one.
const FULL_FILES: u32 = 2;

/// Limit of a line; longer ones are cut.
const MAX_LINE_BYTES: usize = 64 << 10;

enum State {
    Unopened,
    Open {
        file: File,
        written: u64,
    },
    /// The folder is not writable: lines go to tracing only.
    Closed,
}

impl LogFile {
    pub(super) fn new(folder: PathBuf) -> Self {
        LogFile {
            folder,
            file: Mutex::new(State::Unopened),
        }
    }

    fn open(&self) -> State {
        let path = self.path();
        match self.try_open(&path) {
            Ok(state) => state,
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot write the tools' log");
                State::Closed
            }
        }
    }

    fn try_open(&self, path: &Path) -> io::Result<State> {
        state_dir::make_folder(&self.folder)?;
        state_dir::restrict(&self.folder)?;
        let file = OpenOptions::new()
            .create(true)
            .append(true)
            .mode(0o600)
            // Refuses a link or a pipe in its place: haft did not create it.
            .custom_flags(
                OFlags::NOFOLLOW
                    .union(OFlags::NONBLOCK)
                    .bits()
                    .cast_signed(),
            )
            .open(path)?;
        let found = file.metadata()?;
        if !found.is_file() {
            return Err(io::Error::other("it is not a file"));
        }
        Ok(State::Open {
            written: found.len(),
            file,
        })
    }

    fn path(&self) -> PathBuf {
        self.folder
            .join(format!("tools.{}.log", std::process::id()))
    }

    /// Begins a new file and removes the oldest full one.
    fn rotate(&self) -> State {
        let path = self.path();
        let full = |number: u32| path.with_extension(format!("log.{number}"));
        for number in (1..FULL_FILES).rev() {
            // A missing file needs no renaming.
            let _ = fs::rename(full(number), full(number + 1));
        }
        match fs::rename(&path, full(1)) {
            Ok(()) => self.open(),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "the tools' log is full");
                State::Closed
            }
        }
    }
}

impl ToolLog for LogFile {
    fn log(&self, domain: TrustDomain, level: LogLevel, tool: &str, message: &str, context: &str) {
        let level = level.as_str();
        tracing::debug!(tool, level, "{message}");
        let mut state = self.file.lock();
        if matches!(*state, State::Unopened) {
            *state = self.open();
        }
        if matches!(*state, State::Open { written, .. } if written >= MAX_FILE_BYTES) {
            *state = self.rotate();
        }
        if let State::Open { file, written } = &mut *state {
            let mut line = line(domain, level, tool, message, context);
            line.push('\n');
            *written += line.len() as u64;
            // A full disk must not fail a call.
            let _ = file.write_all(line.as_bytes());
        }
    }
}

fn line(domain: TrustDomain, level: &str, tool: &str, message: &str, context: &str) -> String {
    let is_short = message.len() + context.len() < MAX_LINE_BYTES;
    let (message, context) = if is_short {
        (message, context)
    } else {
        (excerpt(message), "")
    };
    let mut members = Map::new();
    members.insert("timestamp".into(), json!(timestamp()));
    members.insert("level".into(), json!(level));
    members.insert("pid".into(), json!(std::process::id()));
    members.insert("message".into(), json!(message));
    if !tool.is_empty() {
        members.insert("tool".into(), json!(tool));
    }
    // The tool chooses `tool` itself; the host sets `domain` by the module that runs.
    if let Some(label) = domain.label() {
        members.insert("domain".into(), json!(label));
    }
    if !is_short {
        members.insert("cut".into(), json!(true));
    }
    if let Ok(Value::Object(more)) = json::read(context) {
        for (key, value) in more {
            members.entry(key).or_insert(value);
        }
    }
    Value::Object(members).to_string()
}

fn excerpt(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_LINE_BYTES)]
}

/// Returns seconds since 1970 with milliseconds: sortable, and independent of calendars.
fn timestamp() -> f64 {
    (since_1970().as_secs_f64() * 1000.0).round() / 1000.0
}
