//! Where `pi.logger` and `console` of tools go: JSON lines in a file per process, never our streams.

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::engine::ToolLog;
use crate::tool::{LogLevel, json};

/// The log of the tools of one host. The file is made with its first line.
pub(super) struct LogFile {
    folder: PathBuf,
    file: Mutex<State>,
}

enum State {
    Unopened,
    Open(File),
    /// The folder cannot be written: lines go to tracing only.
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
        let path = self
            .folder
            .join(format!("tools.{}.log", std::process::id()));
        let opened = std::fs::create_dir_all(&self.folder)
            .and_then(|()| OpenOptions::new().create(true).append(true).open(&path));
        match opened {
            Ok(file) => State::Open(file),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot write the tools' log");
                State::Closed
            }
        }
    }
}

impl ToolLog for LogFile {
    fn log(&self, level: LogLevel, tool: &str, message: &str, context: &str) {
        let level = level_name(level);
        tracing::debug!(tool, level, "{message}");
        let mut state = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Unopened) {
            *state = self.open();
        }
        if let State::Open(file) = &mut *state {
            let mut line = line(level, tool, message, context).to_string();
            line.push('\n');
            // A full disk must not fail a call.
            let _ = file.write_all(line.as_bytes());
        }
    }
}

fn line(level: &str, tool: &str, message: &str, context: &str) -> Value {
    let mut members = Map::new();
    members.insert("timestamp".into(), json!(timestamp()));
    members.insert("level".into(), json!(level));
    members.insert("pid".into(), json!(std::process::id()));
    members.insert("message".into(), json!(message));
    if !tool.is_empty() {
        members.insert("tool".into(), json!(tool));
    }
    if let Ok(Value::Object(more)) = json::read(context) {
        for (key, value) in more {
            members.entry(key).or_insert(value);
        }
    }
    Value::Object(members)
}

fn level_name(level: LogLevel) -> &'static str {
    match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    }
}

/// Seconds since 1970 with milliseconds: sorts, and needs no calendar.
fn timestamp() -> f64 {
    let since = SystemTime::now()
        .duration_since(SystemTime::UNIX_EPOCH)
        .unwrap_or_default();
    (since.as_secs_f64() * 1000.0).round() / 1000.0
}
