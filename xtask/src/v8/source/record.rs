//! The record of an archive that was built here: its hash, and what it was made of.
//!
//! No table can pin such an archive, because the machine's own clang compiles it. So its hash is
//! written beside it when it has passed its test, and is checked at each later use.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::files;

#[derive(Serialize, Deserialize, Debug, PartialEq)]
pub struct BuildRecord {
    /// SHA-256 of the archive beside the record.
    pub sha256: String,
    /// SHA-256 of the crate file with the source: the checksum in Cargo.lock.
    pub crate_sha256: String,
    /// SHA-256 of ICU's data, which the crate leaves out.
    pub icu_data_sha256: String,
    pub differences: Vec<String>,
    pub gn_arguments: Vec<String>,
    pub clang: String,
    pub gn: String,
    pub ninja: String,
}

impl BuildRecord {
    /// Returns the record of the archive at `archive`, if it has one.
    pub fn read(archive: &Path) -> Result<Option<Self>> {
        let path = record_path(archive);
        if !path.exists() {
            return Ok(None);
        }
        serde_json::from_str(&files::read(&path)?)
            .map(Some)
            .map_err(|error| Error::Missing {
                what: format!("`{}` is not a record of a build: {error}", path.display()),
                hint: "remove it and the archive beside it, then run `cargo xtask v8`".into(),
            })
    }

    pub fn write(&self, archive: &Path) -> Result<()> {
        let text = serde_json::to_string_pretty(self).expect("a record is JSON");
        files::write(&record_path(archive), &format!("{text}\n"))
    }

    /// Checks the archive at `archive`, whose SHA-256 is `actual`.
    ///
    /// # Errors
    /// If it is another one than was built, or was built from another source.
    pub fn check(&self, archive: &Path, actual: &str, crate_sha256: &str) -> Result<()> {
        let (shown, problem) = (
            archive.display(),
            if actual != self.sha256 {
                format!("its SHA-256 is {actual}, and {} was built", self.sha256)
            } else if crate_sha256 != self.crate_sha256 {
                "it was built from another version of the source".to_owned()
            } else {
                return Ok(());
            },
        );
        Err(Error::Missing {
            what: format!("`{shown}` is not the V8 archive that was built from source: {problem}"),
            hint: format!(
                "remove it and `{}`, then run `cargo xtask v8`",
                record_path(archive).display()
            ),
        })
    }
}

fn record_path(archive: &Path) -> PathBuf {
    let mut path = archive.as_os_str().to_owned();
    path.push(".source.json");
    PathBuf::from(path)
}

#[cfg(test)]
pub mod tests {
    use std::fs;

    use super::*;

    pub fn record(sha256: &str, crate_sha256: &str) -> BuildRecord {
        BuildRecord {
            sha256: sha256.into(),
            crate_sha256: crate_sha256.into(),
            icu_data_sha256: "c".into(),
            differences: vec!["a step".into()],
            gn_arguments: vec!["is_debug=false".into()],
            clang: "clang version 22.1.8".into(),
            gn: "2540".into(),
            ninja: "1.13.2".into(),
        }
    }

    #[test]
    fn a_record_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let archive = folder.path().join("archive.gz");
        assert_eq!(BuildRecord::read(&archive).expect("none"), None);
        record("a", "b").write(&archive).expect("written");
        let read = BuildRecord::read(&archive).expect("read");
        assert_eq!(read, Some(record("a", "b")));
        fs::write(record_path(&archive), "{}").expect("damaged");
        assert!(BuildRecord::read(&archive).is_err());
    }

    #[test]
    fn another_archive_and_another_source_are_refused() {
        let archive = Path::new("/cache/archive.gz");
        record("a", "b").check(archive, "a", "b").expect("as built");
        for (actual, source, part) in [
            ("x", "b", "its SHA-256 is x"),
            ("a", "x", "another version"),
        ] {
            let error = record("a", "b").check(archive, actual, source);
            let text = error.expect_err("another").to_string();
            assert!(text.contains(part), "{text}");
        }
    }
}
