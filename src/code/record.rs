//! Records of runs: the script of each one, and the kinds of the results that it got.
//!
//! `haft new --from-run` makes a tool of a recorded script, and `haft types --learn` types of the
//! results. The results themselves are not recorded. The files are the user's alone.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use haft_config::Config;
use haft_tool::types::Observations;
use haft_tool::{Error, ErrorKind, since_1970};

/// Number of runs that are kept.
const MAX_RUNS: usize = 200;
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
    folder: PathBuf,
}

impl Recorder {
    pub(crate) fn new(config: &Config) -> Recorder {
        Recorder {
            folder: config.state_dir.join("runs"),
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
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&self.folder)?;
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(self.path(&run.id))?;
        file.write_all(&serde_json::to_vec(run)?)?;
        let ids = self.ids();
        for old in ids.iter().skip(MAX_RUNS) {
            // Another process may remove the same file.
            let _ = fs::remove_file(self.path(old));
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
        let text = fs::read_to_string(self.path(id)).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Returns the ids, the newest first.
    fn ids(&self) -> Vec<String> {
        let files = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        let ids = files.filter_map(|file| {
            let name = file.file_name().into_string().ok()?;
            Some(name.strip_suffix(".json")?.to_owned())
        });
        let mut ids: Vec<String> = ids.collect();
        ids.sort_unstable_by(|a, b| b.cmp(a));
        ids
    }

    fn path(&self, id: &str) -> PathBuf {
        self.folder.join(format!("{id}.json"))
    }
}
