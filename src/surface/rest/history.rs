//! Calls from the audit log that servers in this directory made, including earlier servers.

use std::collections::{HashSet, VecDeque};
use std::io;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::audit::{Event, Line, LogFolder, Reader, RecordedCall, Tail};
use crate::host::Host;

/// Limit of the remembered calls.
pub(super) const MAX_CALLS: usize = 1000;

/// Surfaces whose calls `/api/calls` lists.
const SURFACES: [&str; 4] = ["http", "rest", "mcp-http", "rpc"];

/// A call in the audit log.
pub(super) struct Recorded {
    /// The entry of the log.
    pub(super) call: RecordedCall,
    /// True if it was made in this process, so the log of the host may have more data.
    pub(super) is_ours: bool,
}

/// The calls in the audit log.
pub(super) struct History {
    /// Folder of the log; `None` if calls are not recorded.
    folder: Option<LogFolder>,
    cwd: String,
    state: Mutex<State>,
}

/// Token name, if the call was made with one, and call id.
type Key = (Option<String>, String);

#[derive(Default)]
struct State {
    /// Reads new lines; `None` before the first read.
    tail: Option<Tail>,
    /// Sorted from oldest to newest.
    calls: VecDeque<Arc<Recorded>>,
    /// Calls that a client has deleted.
    forgotten: HashSet<Key>,
}

impl History {
    pub(super) fn of(host: &Host) -> History {
        let config = host.config();
        History {
            folder: host.audit_log().map(|_| LogFolder::of(config)),
            cwd: config.cwd.to_string_lossy().into_owned(),
            state: Mutex::default(),
        }
    }

    /// Returns the ended calls, newest first. Unreadable lines are skipped.
    pub(super) async fn calls(self: &Arc<Self>) -> Vec<Arc<Recorded>> {
        let history = Arc::clone(self);
        let read = tokio::task::spawn_blocking(move || history.read()).await;
        match read {
            Ok(Ok(calls)) => calls,
            Ok(Err(error)) => {
                tracing::warn!(%error, "the log of calls cannot be read");
                Vec::new()
            }
            Err(_) => Vec::new(),
        }
    }

    /// Hides the calls with this id that were made with `token`. `None` hides the user's own calls,
    /// and the known calls of other clients with this id.
    pub(super) fn forget(&self, id: &str, token: Option<String>) {
        let mut state = self.state.lock();
        let State {
            calls, forgotten, ..
        } = &mut *state;
        let is_user = token.is_none();
        forgotten.insert((token.clone(), id.to_owned()));
        calls.retain(|one| {
            let goes = one.call.call == id && (is_user || one.call.caller.token == token);
            if goes {
                forgotten.insert(key(&one.call));
            }
            !goes
        });
    }

    fn read(&self) -> io::Result<Vec<Arc<Recorded>>> {
        let Some(folder) = &self.folder else {
            return Ok(Vec::new());
        };
        let mut state = self.state.lock();
        let lines = match &mut state.tail {
            Some(tail) => tail.new_lines()?,
            None => {
                let (mut newest, mut lines) = (0, Vec::new());
                Reader::of(folder).newest_first(|text, line| {
                    newest = newest.max(line.n);
                    if self.is_meant(&line) {
                        lines.push((text.to_owned(), line));
                    }
                    lines.len() < MAX_CALLS
                })?;
                lines.reverse();
                state.tail = Some(Tail::after(folder, newest));
                lines
            }
        };
        for (_, line) in lines {
            if let (true, Event::Call(call)) = (self.is_meant(&line), line.event)
                && !state.forgotten.contains(&key(&call))
            {
                let is_ours = line.pid == std::process::id();
                let call = *call;
                state.calls.push_back(Arc::new(Recorded { call, is_ours }));
            }
        }
        let excess = state.calls.len().saturating_sub(MAX_CALLS);
        state.calls.drain(..excess);
        Ok(state.calls.iter().rev().cloned().collect())
    }

    fn is_meant(&self, line: &Line) -> bool {
        let Event::Call(call) = &line.event else {
            return false;
        };
        call.cwd == self.cwd && SURFACES.contains(&call.caller.surface.as_str())
    }
}

fn key(call: &RecordedCall) -> Key {
    (call.caller.token.clone(), call.call.clone())
}
