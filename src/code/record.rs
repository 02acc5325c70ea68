//! Records of runs: the script of each one, and the kinds of the results that it got.
//!
//! `haft new --from-run` makes a tool of a recorded script, and `haft types --learn` types of the
//! results. The results themselves are not recorded. The files are the user's alone.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use haft_config::{Config, Durability, StateFolder, StatePart};
use haft_tool::types::Observations;
use haft_tool::{Error, ErrorKind, since_1970};

/// Number of runs that are kept.
const MAX_RUNS: usize = 200;
/// Limit of the bytes of a record.
const MAX_RUN_BYTES: u64 = 64 << 20;
/// Number of random digits of an id.
const ID_DIGITS: usize = 4;

/// A recorded run.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct RecordedRun {
    pub(crate) id: String,
    /// The project's directory.
    pub(crate) cwd: PathBuf,
    pub(crate) code: String,
    /// The global `args` of the script.
    pub(crate) args: Value,
    /// True if the script has ended without an error.
    pub(crate) ok: bool,
    /// True if all tools that it called only read.
    pub(crate) only_reads: bool,
    /// The tools that it called, in the order of their first calls.
    pub(crate) tools: Vec<String>,
    /// The kinds of the results, for tools that declare no type.
    pub(crate) results: BTreeMap<String, Observations>,
}

/// Writes and reads the records.
pub(crate) struct Recorder {
    folder: StateFolder,
}

impl Recorder {
    pub(crate) fn new(config: &Config) -> Recorder {
        Recorder {
            folder: config.state_dir.folder(StatePart::Runs),
        }
    }

    /// Returns a new id: the time in microseconds, so that later ids are greater, and random digits.
    pub(super) fn next_id() -> String {
        let now = since_1970();
        let seed = format!("{now:?}{}", std::process::id());
        let hash = blake3::hash(seed.as_bytes()).to_hex();
        let (seconds, micros) = (now.as_secs(), now.subsec_micros());
        format!("{seconds:x}{micros:05x}-{}", &hash[..ID_DIGITS])
    }

    /// Writes a record, and removes the oldest ones.
    pub(super) fn write(&self, run: &RecordedRun) -> io::Result<()> {
        let bytes = serde_json::to_vec(run)?;
        let name = file_name(&run.id);
        self.folder.replace(&name, &bytes, Durability::Unsynced)?;
        let ids = self.ids();
        for old in ids.iter().skip(MAX_RUNS) {
            // Another process may remove the same file.
            let _ = self.folder.remove(&file_name(old));
        }
        Ok(())
    }

    /// Returns the run with this id, or the beginning of it; `last` is the newest one.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`] if there is none, or several.
    pub(crate) fn read(&self, id: &str) -> Result<RecordedRun, Error> {
        let ids = self.ids();
        let hint = "`haft run` prints the id of each run, and `last` is the newest";
        let usage = |text: String| Error::new(ErrorKind::Usage, text).with_hint(hint);
        let mut meant = ids
            .iter()
            .filter(|known| id == "last" || known.starts_with(id));
        let first = meant
            .next()
            .filter(|_| !id.is_empty())
            .ok_or_else(|| usage(format!("there is no run `{id}`")))?;
        if id != "last" && first != id && meant.next().is_some() {
            return Err(usage(format!("`{id}` is the beginning of several runs")));
        }
        self.load(first)
            .ok_or_else(|| usage(format!("the record of the run `{first}` cannot be read")))
    }

    /// Returns the readable runs in this directory.
    pub(crate) fn of_project(&self, cwd: &Path) -> Vec<RecordedRun> {
        let runs = self.ids().into_iter().filter_map(|id| self.load(&id));
        runs.filter(|run| run.cwd == cwd).collect()
    }

    fn load(&self, id: &str) -> Option<RecordedRun> {
        let bytes = self.folder.read(&file_name(id), MAX_RUN_BYTES).ok()??;
        serde_json::from_slice(&bytes).ok()
    }

    /// Returns the ids, the newest first.
    fn ids(&self) -> Vec<String> {
        let names = self.folder.names().unwrap_or_default();
        let ids = names
            .iter()
            .rev()
            .filter_map(|name| name.strip_suffix(".json"));
        ids.map(str::to_owned).collect()
    }
}

/// Returns the name of the file of a run.
fn file_name(id: &str) -> String {
    format!("{id}.json")
}
