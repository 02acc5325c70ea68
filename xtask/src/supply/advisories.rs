//! Snapshot of the security advisories about crates, kept in the repository.
//!
//! The database is a git repository that machines without GitHub cannot reach. So
//! `xtask/advisories.jsonl` holds the facts that cargo-deny needs, one advisory a line, without the
//! texts. This module makes a database of it that cargo-deny accepts as fetched. `cargo xtask
//! advisories` makes the snapshot anew.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, SystemTime};

use clap::Args;
use serde_json::{Map, Value, json};

use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, workspace};

/// Address of the database.
const SOURCE: &str = "https://github.com/rustsec/advisory-db";
/// Folder in which cargo-deny 0.20 keeps it: its name and a hash of the address.
const FOLDER: &str = "advisory-db-3157b0e258782691";
const SNAPSHOT: &str = "xtask/advisories.jsonl";
/// Age from which a line says that the snapshot is old. It is not an error, because the date alone
/// must not fail a check.
const OLD: Duration = Duration::from_secs(60 * 24 * 3600);

/// Fields of an advisory that decide which crates it is about, and how severe it is.
const FIELDS: [&str; 6] = [
    "id",
    "package",
    "date",
    "informational",
    "withdrawn",
    "cvss",
];

/// Make the snapshot of the advisories about crates anew, from GitHub or from a clone.
#[derive(Args)]
pub struct Advisories {
    /// A clone of https://github.com/rustsec/advisory-db to read instead of fetching one
    #[arg(long, value_name = "DIR")]
    from: Option<PathBuf>,
}

impl Advisories {
    pub fn run(self) -> Result<()> {
        let root = workspace::root();
        let fetched = tempfile::tempdir().during(|| "make a temporary folder".to_owned())?;
        let database = match self.from {
            Some(given) => given,
            None => {
                let mut clone = Command::new("git");
                clone.args(["clone", "--quiet", "--depth", "1", SOURCE]);
                command::run(clone.arg(fetched.path()))?;
                fetched.path().to_owned()
            }
        };
        let git = |arguments: &[&str]| -> Result<String> {
            let mut git = Command::new("git");
            git.arg("-C").arg(&database).args(arguments);
            Ok(command::output(&mut git)?.trim().to_owned())
        };
        let snapshot = Snapshot {
            commit: git(&["rev-parse", "HEAD"])?,
            date: git(&["show", "-s", "--format=%cI", "HEAD"])?,
            advisories: read_database(&database.join("crates"))?,
        };
        let path = root.join(SNAPSHOT);
        fs::write(&path, snapshot.text()).during(|| format!("write `{}`", path.display()))?;
        eprintln!(
            "{}: {} advisories of {}",
            path.display(),
            snapshot.advisories.len(),
            snapshot.date
        );
        Ok(())
    }
}

/// Content of `xtask/advisories.jsonl`.
struct Snapshot {
    commit: String,
    /// The date of that commit.
    date: String,
    /// Sorted by their ids.
    advisories: Vec<Value>,
}

impl Snapshot {
    fn text(&self) -> String {
        let head = json!({"commit": self.commit, "date": self.date, "source": SOURCE});
        let lines = std::iter::once(&head).chain(&self.advisories);
        lines.map(|line| format!("{line}\n")).collect()
    }

    fn read(text: &str) -> Option<Snapshot> {
        let mut lines = text.lines().map(serde_json::from_str::<Value>);
        let head = lines.next()?.ok()?;
        Some(Snapshot {
            commit: head["commit"].as_str()?.to_owned(),
            date: head["date"].as_str()?.to_owned(),
            advisories: lines.collect::<serde_json::Result<_>>().ok()?,
        })
    }
}

/// Makes the database of the snapshot below `folder`, and reports an old snapshot.
pub fn make_database(root: &Path, folder: &Path) -> Result<()> {
    let path = root.join(SNAPSHOT);
    let text = files::read(&path)?;
    let snapshot = Snapshot::read(&text)
        .ok_or_else(|| Error::unexpected(format!("`{}` is not a snapshot", path.display())))?;
    tell_age(&snapshot.date);
    let database = folder.join(FOLDER);
    let stamp = database.join("haft-commit");
    if fs::read_to_string(&stamp).is_ok_and(|commit| commit == text) {
        return Ok(());
    }
    let doing = || format!("write below `{}`", database.display());
    if database.exists() {
        fs::remove_dir_all(&database).during(doing)?;
    }
    for advisory in &snapshot.advisories {
        let (package, id) = (
            &advisory["advisory"]["package"],
            &advisory["advisory"]["id"],
        );
        let (Some(package), Some(id)) = (package.as_str(), id.as_str()) else {
            return Err(Error::unexpected(format!(
                "`{}` has a broken line",
                path.display()
            )));
        };
        let folder = database.join("crates").join(package);
        fs::create_dir_all(&folder).during(doing)?;
        fs::write(folder.join(format!("{id}.md")), page(advisory, id)?).during(doing)?;
    }
    // cargo-deny reads the date from git.
    let git = |arguments: &[&str]| {
        let mut git = Command::new("git");
        git.arg("-C").arg(&database).args(arguments);
        git.env("GIT_COMMITTER_DATE", &snapshot.date);
        git.env("GIT_AUTHOR_DATE", &snapshot.date);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null");
        command::output(&mut git).map(drop)
    };
    git(&["init", "--quiet"])?;
    let who = ["-c", "user.name=haft", "-c", "user.email=haft@localhost"];
    let commit = [
        "commit",
        "--quiet",
        "--allow-empty",
        "--message",
        &snapshot.commit,
    ];
    git(&[&who[..], &commit[..]].concat())?;
    fs::write(&stamp, &text).during(doing)
}

/// Returns an advisory in the database's format. Its text may not be redistributed; its address
/// may.
fn page(advisory: &Value, id: &str) -> Result<String> {
    let broken = |error: toml::ser::Error| Error::unexpected(format!("{id}: {error}"));
    let front = toml::to_string(advisory).map_err(broken)?;
    Ok(format!(
        "```toml\n{front}```\n\n# {id}\n\nhttps://rustsec.org/advisories/{id}\n"
    ))
}

fn tell_age(date: &str) {
    // The day suffices: `2026-08-21T…`.
    let Some(since) = seconds_of(date) else {
        return;
    };
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let age = now
        .unwrap_or_default()
        .saturating_sub(Duration::from_secs(since));
    if age > OLD {
        let days = age.as_secs() / (24 * 3600);
        eprintln!(
            "warning: the advisories are {days} days old; `cargo xtask advisories` gets newer ones"
        );
    }
}

/// Returns the seconds from 1970 to the beginning of a day.
fn seconds_of(date: &str) -> Option<u64> {
    let mut parts = date
        .get(..10)?
        .split('-')
        .map(|part| part.parse::<u64>().ok());
    let (year, month, day) = (parts.next()??, parts.next()??, parts.next()??);
    // Years begin in March here, so that the leap day comes last.
    let (year, month) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days = 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1;
    Some((days - 719_468) * 24 * 3600)
}

/// Reads the advisories of a clone, sorted.
fn read_database(crates: &Path) -> Result<Vec<Value>> {
    let mut found = BTreeMap::new();
    for folder in files::entries(crates)? {
        for path in files::entries(&folder)? {
            let advisory = facts(&files::read(&path)?).ok_or_else(|| {
                Error::unexpected(format!("`{}` is not an advisory", path.display()))
            })?;
            found.insert(advisory["advisory"]["id"].to_string(), advisory);
        }
    }
    Ok(found.into_values().collect())
}

/// Returns the facts of one advisory.
fn facts(text: &str) -> Option<Value> {
    let front = text.strip_prefix("```toml\n")?.split("\n```").next()?;
    let table: Value = toml::from_str(front).ok()?;
    let keep = |from: &Value, names: &[&str]| -> Value {
        let kept = names
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), from.get(*name)?.clone())));
        Value::Object(kept.collect::<Map<_, _>>())
    };
    let mut facts = json!({
        "advisory": keep(&table["advisory"], &FIELDS),
        "versions": table.get("versions")?,
    });
    let affected = table
        .get("affected")
        .map(|affected| keep(affected, &["arch", "os"]));
    if let Some(affected) = affected.filter(|affected| *affected != json!({})) {
        facts["affected"] = affected;
    }
    facts.sort_all_objects();
    Some(facts)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ADVISORY: &str = "```toml\n[advisory]\nid = \"RUSTSEC-2024-0436\"\npackage = \"paste\"\n\
        date = \"2024-10-07\"\nurl = \"https://example.org\"\ninformational = \"unmaintained\"\n\n\
        [versions]\npatched = []\n\n[affected]\nos = [\"linux\"]\nfunctions = {}\n```\n\n# Title\n\nText\n";

    #[test]
    fn the_facts_of_an_advisory_are_kept_and_its_text_is_not() {
        let facts = facts(ADVISORY).expect("an advisory");
        let expected = json!({
            "advisory": {"id": "RUSTSEC-2024-0436", "package": "paste", "date": "2024-10-07", "informational": "unmaintained"},
            "versions": {"patched": []},
            "affected": {"os": ["linux"]},
        });
        assert_eq!(facts, expected);
        let page = page(&facts, "RUSTSEC-2024-0436").expect("it is TOML");
        assert_eq!(super::facts(&page), Some(expected));
        assert!(page.contains("\n# RUSTSEC-2024-0436\n"), "{page}");
    }

    #[test]
    fn the_snapshot_of_the_checkout_can_be_read() {
        let path = workspace::root().join(SNAPSHOT);
        let text = fs::read_to_string(path).expect("it is there");
        let snapshot = Snapshot::read(&text).expect("a snapshot");
        assert!(snapshot.advisories.len() > 1000);
        assert_eq!(snapshot.text(), text);
    }

    #[test]
    fn days_are_counted() {
        assert_eq!(seconds_of("1970-01-01T00:00:00Z"), Some(0));
        assert_eq!(seconds_of("2026-08-21T08:28:40+02:00"), Some(1_787_270_400));
    }
}
