//! Recordings on disk: one file beside each test file, with the recorded answers of each test.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::replay::Recorded;

/// Name of the recordings' folder, which is beside the test file.
const FOLDER: &str = "__cassettes__";

/// Version of the format. It increases when older programs cannot read the files any more.
const VERSION: u32 = 1;

/// Recordings of a test file.
pub(super) struct Cassettes {
    path: PathBuf,
    tests: BTreeMap<String, Vec<Recorded>>,
    is_changed: bool,
}

#[derive(Deserialize, Serialize)]
struct Written {
    version: u32,
    tests: BTreeMap<String, Vec<Recorded>>,
}

impl Cassettes {
    /// Opens the recordings of the test file. A missing file is not an error.
    pub(super) fn open(test_file: &Path) -> Result<Cassettes, String> {
        let folder = test_file.parent().unwrap_or(Path::new("/")).join(FOLDER);
        let mut name = test_file.file_name().unwrap_or_default().to_owned();
        name.push(".json");
        let path = folder.join(name);
        let broken = |why: String| format!("the recording {}: {why}", path.display());
        let tests = match fs::read_to_string(&path) {
            Ok(text) => {
                let written: Written =
                    serde_json::from_str(&text).map_err(|error| broken(error.to_string()))?;
                if written.version != VERSION {
                    return Err(broken(format!("version {} is not known", written.version)));
                }
                written.tests
            }
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(broken(error.to_string())),
        };
        Ok(Cassettes {
            path,
            tests,
            is_changed: false,
        })
    }

    /// Returns the recorded answers of a test.
    pub(super) fn of(&self, test: &str) -> Vec<Recorded> {
        self.tests.get(test).cloned().unwrap_or_default()
    }

    /// Returns the names of the tests with recordings.
    pub(super) fn names(&self) -> impl Iterator<Item = String> {
        self.tests.keys().cloned()
    }

    /// Replaces the recorded answers of a test.
    pub(super) fn replace(&mut self, test: &str, recorded: Vec<Recorded>) {
        if self.of(test) == recorded {
            return;
        }
        self.is_changed = true;
        if recorded.is_empty() {
            self.tests.remove(test)
        } else {
            self.tests.insert(test.to_owned(), recorded)
        };
    }

    /// Writes the recordings if they have changed, and returns the file in that case.
    pub(super) fn save(&mut self) -> Result<Option<&Path>, String> {
        if !std::mem::take(&mut self.is_changed) {
            return Ok(None);
        }
        let written = Written {
            version: VERSION,
            tests: self.tests.clone(),
        };
        let mut text = serde_json::to_string_pretty(&written).map_err(|error| error.to_string())?;
        text.push('\n');
        let folder = self.path.parent().unwrap_or(Path::new("/"));
        let saved = fs::create_dir_all(folder).and_then(|()| fs::write(&self.path, text));
        match saved {
            Ok(()) => Ok(Some(&self.path)),
            Err(error) => Err(format!(
                "{} cannot be written: {error}",
                self.path.display()
            )),
        }
    }
}
