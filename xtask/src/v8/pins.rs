//! Pinned V8 archives: those whose SHA-256 is in the repository.
//!
//! The archive is a static library of a hundred megabytes that becomes part of haft, and the `v8`
//! crate does not check it. `xtask/v8.sha256` is the table.

use std::env;
use std::path::Path;

use super::archive::Archive;
use crate::error::{Error, Result};
use crate::files;

/// The table of hashes.
const TABLE: &str = include_str!("../../v8.sha256");

/// The variable that accepts any archive.
const OVERRIDE: &str = "HAFT_V8_UNVERIFIED";

/// The hashes that are accepted.
pub struct Pins {
    table: String,
    is_overridden: bool,
}

impl Pins {
    /// Returns the pins of the repository.
    pub fn of_repository() -> Self {
        Self {
            table: TABLE.to_owned(),
            is_overridden: env::var_os(OVERRIDE).is_some_and(|on| on == "1"),
        }
    }

    /// Checks the file at `path`, which is the archive or is to become it.
    ///
    /// # Errors
    /// If its hash is not pinned, or another one is.
    pub fn check(&self, archive: &Archive, path: &Path) -> Result<()> {
        if self.is_overridden {
            eprintln!(
                "warning: {OVERRIDE}=1: `{}` is not verified",
                path.display()
            );
            return Ok(());
        }
        let actual = files::sha256(path)?;
        self.check_sum(archive, path, &actual)
    }

    /// Tells whether an archive with this SHA-256 is pinned.
    pub fn has(&self, archive: &Archive, actual: &str) -> bool {
        self.sums(archive).contains(&actual)
    }

    fn sums(&self, archive: &Archive) -> Vec<&str> {
        let name = format!("{}/{}", archive.version, archive.file_name());
        lines(&self.table)
            .filter(|(_, file)| *file == name)
            .map(|(sum, _)| sum)
            .collect()
    }

    fn check_sum(&self, archive: &Archive, path: &Path, actual: &str) -> Result<()> {
        let name = format!("{}/{}", archive.version, archive.file_name());
        let pinned = self.sums(archive);
        if pinned.contains(&actual) {
            return Ok(());
        }
        let shown = path.display();
        if pinned.is_empty() {
            return Err(Error::Missing {
                what: format!(
                    "there is no pinned hash for `{name}`, so `{shown}` cannot be verified; its SHA-256 is {actual}"
                ),
                hint: format!(
                    "add a line to xtask/v8.sha256 after comparing with the release, or set {OVERRIDE}=1"
                ),
            });
        }
        Err(Error::Missing {
            what: format!(
                "`{shown}` is not the V8 archive that is pinned: its SHA-256 is {actual}"
            ),
            hint: format!(
                "remove it and run `cargo xtask v8`; xtask/v8.sha256 expects {}",
                pinned.join(" or ")
            ),
        })
    }

    /// Refuses an address that the `v8` crate would download itself, without a check.
    pub fn check_address(&self, address: &str) -> Result<()> {
        if self.is_overridden {
            eprintln!("warning: {OVERRIDE}=1: {address} is not verified");
            return Ok(());
        }
        Err(Error::Missing {
            what: format!(
                "RUSTY_V8_ARCHIVE is `{address}`: what the `v8` crate downloads from there is not verified"
            ),
            hint: format!("download it and name the file, unset it, or set {OVERRIDE}=1"),
        })
    }
}

/// Returns the hashes of a list with their files.
pub fn lines(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| {
            let (sum, file) = line.split_once(char::is_whitespace)?;
            Some((sum, file.trim().trim_start_matches('*')))
        })
}

#[cfg(test)]
pub mod tests {
    use std::fs;

    use super::super::archive::tests::archive;
    use super::*;

    /// Pins for the archive of the tests: a file that says `hello`, and nothing else.
    pub fn hello() -> Pins {
        pins("5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03")
    }

    pub fn pins(sum: &str) -> Pins {
        let archive = archive();
        Pins {
            table: format!(
                "# a comment\n{sum}  {}/{}\n",
                archive.version,
                archive.file_name()
            ),
            is_overridden: false,
        }
    }

    fn file(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a temporary file");
        fs::write(file.path(), text).expect("written");
        file
    }

    #[test]
    fn the_pinned_archive_passes_and_another_does_not() {
        let (good, bad) = (file("hello\n"), file("HELLO\n"));
        hello().check(&archive(), good.path()).expect("pinned");
        let error = hello().check(&archive(), bad.path()).expect_err("another");
        assert!(
            error
                .to_string()
                .contains("is not the V8 archive that is pinned"),
            "{error}"
        );
    }

    #[test]
    fn an_archive_without_a_pin_is_an_error_that_says_so() {
        let mut pins = hello();
        pins.table = pins.table.replace("150.4.0", "150.5.0");
        let error = pins
            .check(&archive(), file("hello\n").path())
            .expect_err("no pin");
        assert!(
            error
                .to_string()
                .contains("there is no pinned hash for `150.4.0/"),
            "{error}"
        );
        pins.is_overridden = true;
        pins.check(&archive(), file("hello\n").path())
            .expect("overridden");
    }

    #[test]
    fn the_table_of_the_repository_is_whole() {
        let root = crate::workspace::root();
        let version = crate::workspace::locked_version(&root, "v8").expect("it is locked");
        let lines: Vec<_> = lines(TABLE).collect();
        assert!(lines.iter().all(|(sum, _)| sum.len() == 64));
        for target in ["x86_64", "aarch64"] {
            let start = format!("{version}/");
            let end = format!("{target}-unknown-linux-gnu.a.gz");
            let is_it = |(_, file): &(&str, &str)| file.starts_with(&start) && file.ends_with(&end);
            assert!(lines.iter().any(is_it), "no hash for {start}…{end}");
        }
    }
}
