//! Session that stores the repl's calls, and the switch to another session.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;

use crate::surface::cli::call_session::{CallSession, folder, place};
use crate::transcript::{SessionFile, id_of, new_id};
use haft_config::Config;
use haft_render::style::Ink;
use haft_render::table::{self, Column, Fit};
use haft_render::{text, units};
use haft_tool::{Error, ErrorKind, TerminalText, terminal_text};
use haft_tool::{SessionEvent, SessionProvider, did_you_mean, since_1970};

/// Maximum number of characters of a result if the line length is unlimited.
const RESULT: usize = 60;

const COLUMNS: [Column; 4] = [
    Column::new("", Fit::Whole),
    Column::new("ENTRY", Fit::Whole),
    Column::new("TOOL", Fit::Whole),
    Column::new("RESULT", Fit::KeepStart(16)),
];

/// An entry as the table shows it.
struct Row {
    id: String,
    what: TerminalText,
    text: TerminalText,
}

/// Current session of the repl.
pub(super) struct Conversation {
    pub(super) kept: CallSession,
}

impl Conversation {
    /// Opens the session `name` at its entry `from`. Without a name, it creates one that is written
    /// with its first call.
    pub(super) fn open(
        name: Option<&str>,
        from: Option<&str>,
        config: &Config,
        ink: Ink,
    ) -> Result<Conversation, Error> {
        let file = match name {
            Some(name) => SessionFile::open(place(name, config)?, &config.cwd)?,
            None => SessionFile::later(place(&new_name(), config)?, &config.cwd),
        };
        if let Some(entry) = from {
            file.branch(entry)?;
        }
        Ok(Conversation {
            kept: CallSession::with(file, ink),
        })
    }

    /// Switches to the session with that name, file or id. Returns the event for the tools.
    pub(super) fn switch(
        &mut self,
        to: &str,
        config: &Config,
        ink: Ink,
    ) -> Result<SessionEvent, Error> {
        let path = find(to, config)?;
        let file = SessionFile::open(path, &config.cwd)?;
        Ok(self.replace(file, ink))
    }

    /// Begins another session.
    pub(super) fn begin(
        &mut self,
        name: Option<&str>,
        config: &Config,
        ink: Ink,
    ) -> Result<SessionEvent, Error> {
        let fresh = new_name();
        let path = place(name.unwrap_or(&fresh), config)?;
        if path.exists() {
            let name = name.unwrap_or(&fresh);
            let error = Error::new(ErrorKind::Usage, format!("the session `{name}` is there"));
            return Err(error.with_hint(format!("`/session switch {name}` goes on with it")));
        }
        Ok(self.replace(SessionFile::later(path, &config.cwd), ink))
    }

    fn replace(&mut self, file: SessionFile, ink: Ink) -> SessionEvent {
        let previous = self.kept.file().path().to_owned();
        self.kept = CallSession::with(file, ink);
        SessionEvent::Switch {
            previous_session_file: Some(previous),
        }
    }

    /// Continues from an earlier entry, whose id may be abbreviated.
    pub(super) fn branch(&self, entry: &str) -> Result<SessionEvent, Error> {
        let file = self.kept.file();
        let view = file.view();
        let ids = view.entries.iter().filter_map(|json| id(json.get()));
        let mut meant: Vec<String> = ids.filter(|id| id.starts_with(entry)).collect();
        if let Some(exact) = meant.iter().position(|id| id == entry) {
            meant = vec![meant.swap_remove(exact)];
        }
        let error = match meant.as_slice() {
            [one] if !entry.is_empty() => {
                file.branch(one)?;
                return Ok(SessionEvent::Branch {
                    previous_session_file: Some(file.path().to_owned()),
                });
            }
            [] => format!("the session has no entry `{entry}`"),
            _ => format!("`{entry}` may be each of `{}`", meant.join("`, `")),
        };
        Err(Error::new(ErrorKind::Usage, error).with_hint("`/session` lists the entries"))
    }

    /// Returns the ids of results with a description each, for completion.
    pub(super) fn entries(&self) -> Vec<(String, String)> {
        let rows = self.rows().into_iter().rev();
        rows.map(|row| {
            (
                row.id,
                format!("{}: {}", row.what.as_str(), row.text.as_str()),
            )
        })
        .collect()
    }

    /// Renders the session's name, its path and its entries.
    pub(super) fn page(&self, home: &Path, width: Option<usize>, ink: Ink) -> TerminalText {
        let file = self.kept.file();
        let view = file.view();
        let name = file.path().file_stem().unwrap_or_default();
        let mut page = terminal_text!("{}\n", ink.bold(name.to_string_lossy()));
        page.push(&terminal_text!(
            "{}  {}\n",
            ink.dim("file"),
            text::path(file.path(), home)
        ));
        let rows = self.rows();
        if rows.is_empty() {
            page.push_literal("nothing is kept in it yet\n");
            return page;
        }
        let branch: Vec<String> = view
            .branch
            .iter()
            .filter_map(|json| id(json.get()))
            .collect();
        let cells = |row: Row| {
            let mark = match branch.last() == Some(&row.id) {
                true => ">",
                false if branch.contains(&row.id) => "*",
                false => "",
            };
            let said = match width {
                Some(_) => row.text,
                None => row.text.keep_start(RESULT),
            };
            vec![
                mark.into(),
                TerminalText::from_value(&row.id),
                row.what,
                said,
            ]
        };
        let rows: Vec<_> = rows.into_iter().map(cells).collect();
        page.push_literal("\n");
        page.push(&table::render(&COLUMNS, &rows, width, ink));
        page
    }

    /// Returns the entries for people: results and messages.
    fn rows(&self) -> Vec<Row> {
        let view = self.kept.file().view();
        view.entries
            .iter()
            .filter_map(|json| row(json.get()))
            .collect()
    }
}

/// Returns the names of haft's own sessions, the most recently used first.
pub(super) fn names(folder: &Path) -> Vec<String> {
    let mut found: Vec<(SystemTime, String)> = session_files(folder)
        .into_iter()
        .filter_map(|path| {
            let used = path.metadata().and_then(|about| about.modified());
            let name = path.file_stem()?.to_str()?.to_owned();
            Some((used.unwrap_or(UNIX_EPOCH), name))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, name)| name).collect()
}

fn session_files(folder: &Path) -> Vec<PathBuf> {
    let entries: io::Result<Vec<PathBuf>> =
        fs::read_dir(folder).and_then(|entries| entries.map(|entry| Ok(entry?.path())).collect());
    let mut paths = entries.unwrap_or_default();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
    paths
}

/// Returns the file of an existing session.
fn find(name: &str, config: &Config) -> Result<PathBuf, Error> {
    let path = place(name, config)?;
    if path.exists() {
        return Ok(path);
    }
    let folder = folder(config);
    let is_it = |path: &PathBuf| id_of(path).as_deref() == Some(name);
    if let Some(path) = session_files(&folder).into_iter().find(is_it) {
        return Ok(path);
    }
    let error = Error::new(ErrorKind::Usage, format!("there is no session `{name}`"));
    let names = names(&folder);
    let known = names.iter().map(String::as_str);
    let otherwise = format!("`/session new {name}` begins it; `/session list` lists them");
    Err(error.with_hint(did_you_mean(name, known, otherwise)))
}

/// Returns a unique name.
fn new_name() -> String {
    let today = units::date(since_1970().as_secs());
    format!("repl-{today}-{}", new_id())
}

fn id(json: &str) -> Option<String> {
    let entry: Value = serde_json::from_str(json).ok()?;
    Some(entry.get("id")?.as_str()?.to_owned())
}

/// Returns the table row of an entry. A call is skipped, since its result says the same.
fn row(json: &str) -> Option<Row> {
    let entry: Value = serde_json::from_str(json).ok()?;
    let message = entry.get("message")?;
    let content = &message["content"];
    let blocks = content.as_array().map(Vec::as_slice).unwrap_or_default();
    if blocks.iter().any(|block| block["type"] == "toolCall") {
        return None;
    }
    let first = blocks.iter().find_map(|block| block["text"].as_str());
    let said = content.as_str().or(first).unwrap_or_default();
    let what = message["toolName"].as_str().or(message["role"].as_str())?;
    Some(Row {
        id: entry.get("id")?.as_str()?.to_owned(),
        what: text::first_line(what),
        text: text::first_line(&said.lines().map(str::trim).collect::<Vec<_>>().join(" ")),
    })
}
