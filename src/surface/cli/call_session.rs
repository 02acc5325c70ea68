//! Session of calls on the command line: opens and closes it, appends calls, notifies tools.

use std::path::PathBuf;
use std::sync::Arc;

use super::exit::Failure;
use crate::host::Host;
use crate::surface::terminal::say;
use crate::transcript::{SessionFile, new_id};
use haft_config::{Config, UserFolder};
use haft_render::style::Ink;
use haft_tool::{Call, Outcome, SessionEvent, terminal_text};
use haft_tool::{Error, ErrorKind};

/// A session to which calls are appended.
pub(super) struct CallSession(Arc<SessionFile>);

impl CallSession {
    /// Opens `name`, goes to its entry `from`, and notifies the tools that the session starts.
    pub(super) async fn open(
        name: &str,
        from: Option<&str>,
        host: &Host,
        ink: Ink,
    ) -> Result<CallSession, Failure> {
        let config = host.config();
        let file = SessionFile::open(place(name, config)?, &config.cwd)?;
        if let Some(entry) = from {
            file.branch(entry)?;
        }
        let session = CallSession::with(file, ink);
        session.attach(host);
        host.emit(&SessionEvent::Start).await;
        Ok(session)
    }

    /// Wraps a session file and warns about its unreadable lines.
    pub(super) fn with(file: SessionFile, ink: Ink) -> CallSession {
        let unreadable = file.unreadable();
        if unreadable > 0 {
            let path = file.path().display();
            let warning = ink.warning("warning");
            say(&terminal_text!(
                "{warning}: {unreadable} lines of {path} cannot be read and were skipped\n"
            ));
        }
        CallSession(Arc::new(file))
    }

    /// Returns the file of the session.
    pub(super) fn file(&self) -> &SessionFile {
        &self.0
    }

    /// Makes it the session that the host's tools see.
    pub(super) fn attach(&self, host: &Host) {
        host.set_session(Some(self.0.clone()));
    }

    /// Returns a call id that is unique in the session.
    pub(super) fn call_id(&self) -> String {
        format!("call-{}", new_id())
    }

    /// Appends the result of a call. A failure only causes a warning, since the result itself
    /// exists.
    pub(super) fn append(&self, call: &Call, outcome: &Outcome, ink: Ink) {
        if let Err(error) = self.0.append(call, outcome) {
            let path = self.0.path().display();
            let warning = ink.warning("warning");
            say(&terminal_text!(
                "{warning}: the call was not kept in {path}: {error}\n"
            ));
        }
    }

    /// Notifies the tools that the session ends.
    pub(super) async fn close(self, host: &Host) {
        host.emit(&SessionEvent::Shutdown).await;
    }
}

/// Returns the path of a session. A name with a slash or the ending `.jsonl` is a path; any other
/// name is one of haft's own sessions.
pub(super) fn place(name: &str, config: &Config) -> Result<PathBuf, Error> {
    if name.contains('/') || name.ends_with(".jsonl") {
        return Ok(config.cwd.join(name));
    }
    if name.is_empty() || name.starts_with('.') {
        let text = format!("`{name}` is not a name of a session");
        return Err(Error::new(ErrorKind::Usage, text)
            .with_hint("a name is a word; a file has a `/` in it, or ends with `.jsonl`"));
    }
    Ok(folder(config).join(format!("{name}.jsonl")))
}

/// Returns the folder of haft's own sessions.
pub(super) fn folder(config: &Config) -> PathBuf {
    config.state_dir.user_folder(UserFolder::Sessions)
}
