//! Session files of haft itself: one file of JSON lines each. The command line uses them, and so do
//! embedders that keep no history.
//!
//! Files are only ever appended to, one line at a time. So nothing is lost when two programs have a
//! file open, or when one of them dies. Lines that cannot be parsed are kept and skipped.

mod entry;

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use entry::Entry;
pub(crate) use entry::new_id;
use haft_tool::{Call, Outcome, SessionProvider, SessionView, Timestamp, json};
use haft_tool::{Error, ErrorKind};

/// A session that is stored in a file of JSON lines.
pub struct SessionFile {
    path: PathBuf,
    cwd: PathBuf,
    state: Mutex<State>,
}

struct State {
    id: String,
    entries: Vec<Entry>,
    /// Id of the entry that the next one will follow.
    leaf: Option<String>,
    view: Arc<SessionView>,
    /// Number of lines that could not be parsed.
    unreadable: usize,
    /// True if the last line of the file lacks its line break.
    is_torn: bool,
    /// The header line, as long as the file does not exist.
    header: Option<String>,
}

/// The version of the format, which is that of oh-my-pi's sessions.
const VERSION: u32 = 3;

impl SessionFile {
    /// Opens the session in the file `path`, or creates it there. `cwd` is the directory of a new
    /// session.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] for a file that cannot be read or written, or that is something else.
    pub fn open(path: impl Into<PathBuf>, cwd: &Path) -> Result<SessionFile, Error> {
        let path = path.into();
        let text = match fs::read(&path) {
            Ok(bytes) => Some(String::from_utf8_lossy(&bytes).into_owned()),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(trouble("cannot be read", &path, &error)),
        };
        let mut state = match text.filter(|text| !text.trim().is_empty()) {
            Some(text) => read(&text, &path)?,
            None => {
                let mut state = State::new(cwd);
                let begun = begin(&path, &mut state);
                begun.map_err(|error| trouble("cannot be written", &path, &error))?;
                state
            }
        };
        state.leaf = state.entries.last().map(|entry| entry.id.clone());
        let session = SessionFile {
            path,
            cwd: cwd.to_owned(),
            state: Mutex::new(state),
        };
        session.look_again(&mut session.state.lock());
        Ok(session)
    }

    /// Returns a session in the file `path` that is created by the first append.
    pub fn later(path: impl Into<PathBuf>, cwd: &Path) -> SessionFile {
        let session = SessionFile {
            path: path.into(),
            cwd: cwd.to_owned(),
            state: Mutex::new(State::new(cwd)),
        };
        session.look_again(&mut session.state.lock());
        session
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the number of lines that could not be parsed.
    pub fn unreadable(&self) -> usize {
        self.state.lock().unreadable
    }

    /// Continues from the entry `id`: the next appended entry becomes its child. The other entries
    /// stay.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if the entry does not exist.
    pub fn branch(&self, id: &str) -> Result<(), Error> {
        let mut state = self.state.lock();
        let Some(entry) = state.entries.iter().find(|entry| entry.id == id) else {
            let text = format!("the session {} has no entry `{id}`", self.path.display());
            return Err(Error::new(ErrorKind::Usage, text).with_hint(
                "the `id` of a line of the file, as `haft call --session` writes them",
            ));
        };
        state.leaf = Some(entry.id.clone());
        self.look_again(&mut state);
        Ok(())
    }

    /// Appends a call and its result in the form that agents use: the model's message and the
    /// tool's result. Returns the id of the result's entry.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn append(&self, call: &Call, outcome: &Outcome) -> io::Result<String> {
        let now = entry::millis();
        // JSON allows texts (lone surrogates, for example) that serde_json rejects.
        let arguments: Value = json::read(call.arguments.get()).unwrap_or_default();
        let asked = json!({
            "role": "assistant",
            "content": [{ "type": "toolCall", "id": call.id, "name": call.tool, "arguments": arguments }],
            "stopReason": "toolUse",
            "timestamp": now,
        });
        let result = json!({
            "role": "toolResult",
            "toolCallId": call.id,
            "toolName": call.tool,
            "content": outcome.content,
            "details": outcome.details,
            "isError": outcome.is_error,
            "timestamp": now,
        });
        let mut state = self.state.lock();
        let asked = Entry::message(state.leaf.as_deref(), &asked)?;
        let result = Entry::message(Some(&asked.id), &result)?;
        let mut lines = String::new();
        if std::mem::take(&mut state.is_torn) {
            lines.push('\n');
        }
        for entry in [&asked, &result] {
            lines.push_str(entry.json.get());
            lines.push('\n');
        }
        begin(&self.path, &mut state)?;
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        file.write_all(lines.as_bytes())?;
        let id = result.id.clone();
        state.entries.extend([asked, result]);
        state.leaf = Some(id.clone());
        self.look_again(&mut state);
        Ok(id)
    }

    /// Rebuilds the view from the current entries.
    fn look_again(&self, state: &mut State) {
        state.view = Arc::new(SessionView {
            id: state.id.clone(),
            file: Some(self.path.clone()),
            cwd: Some(self.cwd.clone()),
            entries: state
                .entries
                .iter()
                .map(|entry| entry.json.clone())
                .collect(),
            branch: branch_to(&state.entries, state.leaf.as_deref()),
            ..SessionView::default()
        });
    }
}

impl SessionProvider for SessionFile {
    fn view(&self) -> Arc<SessionView> {
        self.state.lock().view.clone()
    }
}

/// Returns the id of the session in the file `path`, or `None` if it does not contain one.
pub(crate) fn id_of(path: &Path) -> Option<String> {
    let mut line = String::new();
    BufReader::new(File::open(path).ok()?)
        .read_line(&mut line)
        .ok()?;
    entry::header(&line)
}

/// Returns the entries from the first one to `leaf`.
fn branch_to(entries: &[Entry], leaf: Option<&str>) -> Vec<Arc<RawValue>> {
    let mut branch = Vec::new();
    let mut wanted = leaf;
    // Parents come before their children, so one pass backwards is enough and cannot loop.
    for entry in entries.iter().rev() {
        if wanted == Some(entry.id.as_str()) {
            branch.push(entry.json.clone());
            wanted = entry.parent.as_deref();
        }
    }
    branch.reverse();
    branch
}

impl State {
    /// Returns the state of a session that has not begun.
    fn new(cwd: &Path) -> State {
        let id = new_id();
        let header = json!({
            "type": "session",
            "version": VERSION,
            "id": id,
            "timestamp": Timestamp::now().precise(),
            "cwd": cwd.to_string_lossy(),
        });
        State {
            id,
            entries: Vec::new(),
            leaf: None,
            view: Arc::default(),
            unreadable: 0,
            is_torn: false,
            header: Some(format!("{header}\n")),
        }
    }
}

/// Writes the header unless it is written already.
fn begin(path: &Path, state: &mut State) -> io::Result<()> {
    let Some(header) = &state.header else {
        return Ok(());
    };
    if let Some(folder) = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
    {
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)?;
    }
    // Results of tools may be secret, so only the owner can read the file.
    let mut file: File = OpenOptions::new()
        .append(true)
        .create(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(header.as_bytes())?;
    state.header = None;
    Ok(())
}

fn read(text: &str, path: &Path) -> Result<State, Error> {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let header = lines.next().and_then(entry::header);
    let Some(id) = header else {
        let text = format!("{} is not a session", path.display());
        return Err(Error::new(ErrorKind::Usage, text)
            .with_hint("its first line must be {\"type\":\"session\",\"id\":…}"));
    };
    let mut unreadable = 0;
    let mut entries: Vec<Entry> = Vec::new();
    for line in lines {
        let before = entries.last().map(|entry| entry.id.as_str());
        match Entry::read(line, before) {
            Some(entry) => entries.push(entry),
            None => unreadable += 1,
        }
    }
    Ok(State {
        id,
        entries,
        leaf: None,
        view: Arc::default(),
        unreadable,
        is_torn: !text.ends_with('\n'),
        header: None,
    })
}

fn trouble(what: &str, path: &Path, error: &io::Error) -> Error {
    let text = format!("the session {} {what}: {error}", path.display());
    Error::new(ErrorKind::Usage, text)
}
