//! Local places that may already hold an archive, in the order of their precedence.
//!
//! Nothing here downloads or builds: it searches, and checks what it found. A place that the user
//! named and that holds the wrong archive is an error, not a reason to search further.

use std::env;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::choice::ArchiveChoice;
use super::pins::{self, Pins};
use super::source::record::BuildRecord;
use super::store;
use crate::error::{Error, Result};
use crate::{files, workspace};

pub struct Places {
    /// `RUSTY_V8_ARCHIVE`: a file or an address that the `v8` crate takes as it is.
    pub given: Option<String>,
    pub cargo_home: PathBuf,
    /// `HAFT_V8_BUNDLE`: a folder with the archive and its `SHA256SUMS`.
    pub bundle: PathBuf,
    pub choice: ArchiveChoice,
    /// The SHA-256 of the crate whose source an archive may have been built from.
    pub crate_sha256: String,
}

#[derive(Debug, PartialEq)]
pub enum Found {
    Given(String),
    Cached(PathBuf),
    /// It was built from source and is in cargo's cache.
    Built(PathBuf),
    /// It was in the bundle and is in cargo's cache now.
    Bundled(PathBuf),
}

impl Places {
    pub fn of(root: &Path, cargo_home: PathBuf, choice: ArchiveChoice) -> Result<Self> {
        let bundle =
            env::var_os("HAFT_V8_BUNDLE").map_or_else(|| root.join("../shared/v8"), PathBuf::from);
        Ok(Self {
            given: env::var("RUSTY_V8_ARCHIVE").ok(),
            cargo_home,
            bundle,
            choice,
            crate_sha256: workspace::locked_checksum(root, "v8")?,
        })
    }

    pub fn find(&self, archive: &Archive, pins: &Pins) -> Result<Option<Found>> {
        if let Some(given) = &self.given {
            return check_given(given, archive, pins).map(Some);
        }
        let entry = archive.cache_entry(&self.cargo_home);
        if entry.is_file()
            && let Some(found) = self.check_cached(entry.clone(), archive, pins)?
        {
            return Ok(Some(found));
        }
        let bundled = self.bundle.join(archive.file_name());
        if self.choice.takes_bundle() && bundled.is_file() {
            check_sum(&bundled)?;
            pins.check(archive, &bundled)?;
            store::copy(&bundled, &entry)?;
            return Ok(Some(Found::Bundled(bundled)));
        }
        if self.choice == ArchiveChoice::Bundle {
            return Err(Error::Missing {
                what: format!("there is no V8 archive `{}`", bundled.display()),
                hint: "name the folder with the archive and its SHA256SUMS: HAFT_V8_BUNDLE".into(),
            });
        }
        Ok(None)
    }

    /// Checks an archive in cargo's cache by the pins, or else by the record of its build. One that is
    /// right, but is not what the user chose, is not found.
    fn check_cached(
        &self,
        entry: PathBuf,
        archive: &Archive,
        pins: &Pins,
    ) -> Result<Option<Found>> {
        let actual = files::sha256(&entry)?;
        if pins.has(archive, &actual) {
            let is_chosen = self.choice.takes_pinned();
            return Ok(is_chosen.then_some(Found::Cached(entry)));
        }
        match BuildRecord::read(&entry)? {
            Some(record) => {
                record.check(&entry, &actual, &self.crate_sha256)?;
                Ok(self.choice.builds().then_some(Found::Built(entry)))
            }
            None => {
                pins.check(archive, &entry)?;
                Ok(Some(Found::Cached(entry)))
            }
        }
    }
}

fn check_given(given: &str, archive: &Archive, pins: &Pins) -> Result<Found> {
    let address = given.starts_with("http:") || given.starts_with("https:");
    if !address && !Path::new(given).is_file() {
        return Err(Error::Missing {
            what: format!("RUSTY_V8_ARCHIVE is `{given}`, and there is no such file"),
            hint: "correct the path, or unset it to let `cargo xtask v8` find an archive".into(),
        });
    }
    if address {
        pins.check_address(given)?
    } else {
        pins.check(archive, Path::new(given))?
    }
    Ok(Found::Given(given.to_owned()))
}

/// Checks a bundled archive against the `SHA256SUMS` beside it.
fn check_sum(path: &Path) -> Result<()> {
    let list = path.with_file_name("SHA256SUMS");
    let text = files::read(&list)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let expected = expected_sum(&text, &name).ok_or_else(|| {
        Error::unexpected(format!("`{}` has no line for `{name}`", list.display()))
    })?;
    let actual = files::sha256(path)?;
    if actual != expected.to_ascii_lowercase() {
        return Err(Error::Missing {
            what: format!("`{}` is damaged: its SHA-256 is {actual}", path.display()),
            hint: format!("get the bundle again; `SHA256SUMS` expects {expected}"),
        });
    }
    Ok(())
}

fn expected_sum<'a>(list: &'a str, name: &str) -> Option<&'a str> {
    pins::lines(list).find_map(|(sum, file)| (file == name).then_some(sum))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::archive::tests::archive;
    use super::super::pins::tests::{hello, pins};
    use super::super::source::record::tests::record;
    use super::*;

    /// An empty cargo home and an empty bundle folder.
    struct Disk {
        places: Places,
        _guard: tempfile::TempDir,
    }

    fn disk() -> Disk {
        let guard = tempfile::tempdir().expect("a temporary folder");
        let places = Places {
            given: None,
            cargo_home: guard.path().join("cargo"),
            bundle: guard.path().join("bundle"),
            choice: ArchiveChoice::Any,
            crate_sha256: "the source".into(),
        };
        fs::create_dir(&places.bundle).expect("made");
        Disk {
            places,
            _guard: guard,
        }
    }

    fn put_bundle(places: &Places, sums: &str) -> PathBuf {
        let path = places.bundle.join(archive().file_name());
        fs::write(&path, "hello\n").expect("written");
        fs::write(places.bundle.join("SHA256SUMS"), sums).expect("written");
        path
    }

    fn good_sums() -> String {
        let hello = "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03";
        format!("{hello}  {}\n", archive().file_name())
    }

    #[test]
    fn an_empty_machine_has_none() {
        let disk = disk();
        assert_eq!(
            disk.places.find(&archive(), &hello()).expect("looked"),
            None
        );
    }

    #[test]
    fn the_bundle_goes_to_the_cache_and_is_found_there_from_then_on() {
        let disk = disk();
        let bundled = put_bundle(&disk.places, &good_sums());
        let first = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(first, Some(Found::Bundled(bundled)));
        let entry = archive().cache_entry(&disk.places.cargo_home);
        assert_eq!(fs::read_to_string(&entry).expect("copied"), "hello\n");
        let second = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(second, Some(Found::Cached(entry)));
    }

    #[test]
    fn a_damaged_bundle_is_refused_and_never_cached() {
        let disk = disk();
        put_bundle(&disk.places, &good_sums().replace("5891", "0000"));
        let error = disk.places.find(&archive(), &hello()).expect_err("damaged");
        assert!(error.to_string().contains("damaged"), "{error}");
        assert!(!archive().cache_entry(&disk.places.cargo_home).exists());
    }

    #[test]
    fn what_is_not_pinned_is_refused_wherever_it_is_found() {
        let disk = disk();
        // The list beside the bundle matches, but an attacker can change both.
        put_bundle(&disk.places, &good_sums());
        let other = pins(&"0".repeat(64));
        let error = disk.places.find(&archive(), &other).expect_err("another");
        assert!(
            error
                .to_string()
                .contains("is not the V8 archive that is pinned"),
            "{error}"
        );
        let entry = archive().cache_entry(&disk.places.cargo_home);
        assert!(!entry.exists());

        disk.places.find(&archive(), &hello()).expect("looked");
        fs::write(&entry, "changed\n").expect("written");
        let error = disk
            .places
            .find(&archive(), &hello())
            .expect_err("changed in the cache");
        assert!(
            error
                .to_string()
                .contains("is not the V8 archive that is pinned"),
            "{error}"
        );
    }

    #[test]
    fn an_address_that_the_crate_would_download_from_is_refused() {
        let mut disk = disk();
        disk.places.given = Some("https://mirror.example/librusty_v8.a.gz".into());
        let error = disk
            .places
            .find(&archive(), &hello())
            .expect_err("unverified");
        assert!(error.to_string().contains("is not verified"), "{error}");
    }

    #[test]
    fn a_bundle_without_its_sum_is_refused() {
        let disk = disk();
        put_bundle(&disk.places, "00  other.gz\n");
        let error = disk.places.find(&archive(), &hello()).expect_err("no sum");
        assert!(error.to_string().contains("has no line for"), "{error}");
    }

    #[test]
    fn the_given_archive_comes_before_all_others() {
        let mut disk = disk();
        let bundled = put_bundle(&disk.places, &good_sums());
        let given = bundled.display().to_string();
        disk.places.given = Some(given.clone());
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, Some(Found::Given(given)));
        assert!(!archive().cache_entry(&disk.places.cargo_home).exists());
    }

    #[test]
    fn a_given_archive_that_is_not_there_is_an_error() {
        let mut disk = disk();
        put_bundle(&disk.places, &good_sums());
        disk.places.given = Some("/nowhere/librusty_v8.a".into());
        let error = disk.places.find(&archive(), &hello()).expect_err("missing");
        assert!(error.to_string().contains("no such file"), "{error}");
    }

    /// Puts an archive into the cache as a build from source does, and returns its path.
    fn put_built(places: &Places, text: &str, source: &str) -> PathBuf {
        let entry = archive().cache_entry(&places.cargo_home);
        fs::create_dir_all(entry.parent().expect("a folder")).expect("made");
        fs::write(&entry, text).expect("written");
        let sum = files::sha256(&entry).expect("read");
        record(&sum, source).write(&entry).expect("recorded");
        entry
    }

    #[test]
    fn a_built_archive_is_found_by_its_record_until_it_or_the_source_changes() {
        let mut disk = disk();
        let entry = put_built(&disk.places, "built\n", "the source");
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, Some(Found::Built(entry.clone())));
        disk.places.crate_sha256 = "a newer source".into();
        let error = disk.places.find(&archive(), &hello()).expect_err("older");
        assert!(error.to_string().contains("another version"), "{error}");
        disk.places.crate_sha256 = "the source".into();
        fs::write(&entry, "bu1lt\n").expect("changed");
        let error = disk.places.find(&archive(), &hello()).expect_err("changed");
        assert!(error.to_string().contains("its SHA-256 is"), "{error}");
    }

    #[test]
    fn an_archive_that_was_not_chosen_is_not_found() {
        let mut disk = disk();
        put_built(&disk.places, "built\n", "the source");
        disk.places.choice = ArchiveChoice::Download;
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, None);
        let entry = put_built(&disk.places, "hello\n", "the source");
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, Some(Found::Cached(entry)), "it is pinned");
        disk.places.choice = ArchiveChoice::Source;
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, None);
        put_bundle(&disk.places, &good_sums());
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, None);
    }

    #[test]
    fn a_bundle_that_was_chosen_replaces_the_cache_or_is_missed() {
        let mut disk = disk();
        let entry = put_built(&disk.places, "built\n", "the source");
        disk.places.choice = ArchiveChoice::Bundle;
        let error = disk
            .places
            .find(&archive(), &hello())
            .expect_err("no bundle");
        assert!(
            error.to_string().contains("there is no V8 archive"),
            "{error}"
        );
        let bundled = put_bundle(&disk.places, &good_sums());
        let found = disk.places.find(&archive(), &hello()).expect("looked");
        assert_eq!(found, Some(Found::Bundled(bundled)));
        assert_eq!(fs::read_to_string(entry).expect("there"), "hello\n");
    }
}
