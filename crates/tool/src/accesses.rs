//! Recorded accesses of a tool, and the entries of a permission list that cover them.
//!
//! Only `haft permit --record` records accesses, of one tool file in a process. The recorder is
//! global, because the runtime reports accesses without the call that caused them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use url::Url;

use super::PermissionKind;

/// Limit of the recorded accesses of each kind.
const MAX_ACCESSES: usize = 10_000;

/// Number of entries below one folder from which the folder itself is proposed.
const MANY: usize = 8;

/// Accesses by kind: absolute paths, hosts, names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Accesses(BTreeMap<PermissionKind, BTreeSet<String>>);

/// Folders below which paths are folded.
#[derive(Clone, Copy, Debug)]
pub struct Roots<'a> {
    /// The project's directory.
    pub project: &'a Path,
    /// The user's home directory.
    pub home: &'a Path,
    /// The folder for temporary files.
    pub temp: &'a Path,
}

/// Entries that cover recorded accesses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// The entries by kind.
    pub entries: BTreeMap<PermissionKind, Vec<String>>,
    /// Accesses that only an entry with far more in it would cover.
    pub too_wide: BTreeSet<(PermissionKind, String)>,
}

static RECORDED: Mutex<Option<Accesses>> = Mutex::new(None);

/// Begins to record accesses in this process.
pub fn begin_recording() {
    *recorded() = Some(Accesses::default());
}

/// Records an access, if accesses are recorded.
pub fn record(kind: PermissionKind, what: &str) {
    if let Some(accesses) = &mut *recorded() {
        accesses.add(kind, what);
    }
}

/// Ends the recording, and returns what was recorded.
pub fn end_recording() -> Accesses {
    recorded().take().unwrap_or_default()
}

fn recorded() -> MutexGuard<'static, Option<Accesses>> {
    RECORDED.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Accesses {
    /// Adds an access, in the words of the runtime.
    pub fn add(&mut self, kind: PermissionKind, what: &str) {
        let what = match kind {
            PermissionKind::Read | PermissionKind::Write | PermissionKind::Ffi => {
                let path = std::path::absolute(what).unwrap_or_else(|_| what.into());
                path.display().to_string()
            }
            PermissionKind::Net => host_of(what),
            // The runtime reports `null` where all variables, or all facts, are listed.
            _ if what == "null" => return,
            PermissionKind::Env
            | PermissionKind::Run
            | PermissionKind::Sys
            | PermissionKind::Import => what.to_owned(),
        };
        let known = self.0.entry(kind).or_default();
        if !what.is_empty() && known.len() < MAX_ACCESSES {
            known.insert(what);
        }
    }

    /// Returns true if nothing was recorded.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns entries that cover the accesses that `is_granted` does not grant already. Paths are
    /// folded to folders below the roots; `is_folder` says what is a folder on the disk.
    pub fn proposal(
        &self,
        roots: Roots<'_>,
        is_folder: impl Fn(&Path) -> bool,
        is_granted: impl Fn(PermissionKind, &str) -> bool,
    ) -> Proposal {
        let mut proposal = Proposal::default();
        for (kind, accesses) in &self.0 {
            let missing = accesses.iter().filter(|what| !is_granted(*kind, what));
            let mut entries = match kind {
                PermissionKind::Read | PermissionKind::Write => {
                    let (wide, paths): (Vec<&Path>, Vec<&Path>) = missing
                        .map(Path::new)
                        .partition(|path| roots.are_below(path));
                    let wide = wide.into_iter().map(|path| (*kind, shown(path)));
                    proposal.too_wide.extend(wide);
                    roots.folded(&paths, &is_folder)
                }
                _ => missing.cloned().collect(),
            };
            // A file may be refused by name below a folder that is granted.
            entries.retain(|entry| !is_granted(*kind, entry));
            if !entries.is_empty() {
                proposal.entries.insert(*kind, entries);
            }
        }
        proposal
    }
}

impl<'a> Roots<'a> {
    /// Returns the innermost root that contains the path.
    fn of(&self, path: &Path) -> Option<&'a Path> {
        let roots = [self.project, self.temp, self.home].into_iter();
        let holding = roots.filter(|root| path.starts_with(root));
        holding.max_by_key(|root| root.components().count())
    }

    /// Returns true if the path contains a root, so that an entry for it grants far too much. The
    /// project itself and the folder for temporary files may be granted.
    fn are_below(&self, path: &Path) -> bool {
        let roots = [self.project, self.temp];
        self.home.starts_with(path)
            || roots
                .iter()
                .any(|root| root.starts_with(path) && *root != path)
            || path.parent().is_none()
    }

    fn folded(&self, paths: &[&Path], is_folder: &impl Fn(&Path) -> bool) -> Vec<String> {
        let mut entries: BTreeSet<PathBuf> = BTreeSet::new();
        for path in paths {
            let folder = match path.parent() {
                Some(parent) if !is_folder(path) => parent,
                _ => path,
            };
            // A file directly in a root, or in a folder of the system such as /etc, stays a file.
            let is_kept = self.are_below(folder)
                || self.of(folder) == Some(folder)
                || folder.components().count() <= 2;
            entries.insert(if is_kept { path } else { folder }.to_path_buf());
        }
        for root in [self.project, self.temp, self.home] {
            let inside: Vec<PathBuf> = entries
                .iter()
                .filter(|entry| self.of(entry) == Some(root))
                .cloned()
                .collect();
            if without_nested(&inside).len() <= MANY {
                continue;
            }
            for entry in inside {
                let first = entry.strip_prefix(root).ok().and_then(|rest| {
                    let first = rest.components().next()?;
                    Some(root.join(first))
                });
                entries.remove(&entry);
                entries.insert(first.unwrap_or(entry));
            }
            let count = entries.iter().filter(|one| self.of(one) == Some(root));
            if count.count() > MANY && root != self.home {
                entries.retain(|entry| self.of(entry) != Some(root));
                entries.insert(root.to_owned());
            }
        }
        let entries: Vec<PathBuf> = entries.into_iter().collect();
        let kept = without_nested(&entries);
        kept.into_iter().map(shown).collect()
    }
}

/// Returns the paths that are not below another one. They are sorted, so that a folder precedes
/// what is in it.
fn without_nested(sorted: &[PathBuf]) -> Vec<&Path> {
    let mut kept: Vec<&Path> = Vec::new();
    for path in sorted {
        if !kept.iter().any(|folder| path.starts_with(folder)) {
            kept.push(path);
        }
    }
    kept
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}

/// Returns the host of a target, which is a URL or a host, with the port if there is one.
fn host_of(target: &str) -> String {
    match Url::parse(target) {
        Ok(url) if url.has_host() => {
            let host = url.host_str().unwrap_or_default();
            match url.port_or_known_default() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            }
        }
        _ => target.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proposal(kind: PermissionKind, accesses: &[&str]) -> Proposal {
        let mut recorded = Accesses::default();
        for access in accesses {
            recorded.add(kind, access);
        }
        let is_folder = |path: &Path| path.extension().is_none() && !path.ends_with("hostname");
        let roots = Roots {
            project: Path::new("/home/ada/work"),
            home: Path::new("/home/ada"),
            temp: Path::new("/tmp"),
        };
        recorded.proposal(roots, is_folder, |_, what| {
            what == "/home/ada/work/known.txt"
        })
    }

    fn entries(kind: PermissionKind, accesses: &[&str]) -> Vec<String> {
        proposal(kind, accesses)
            .entries
            .remove(&kind)
            .unwrap_or_default()
    }

    #[test]
    fn paths_are_folded_to_folders() {
        let read = PermissionKind::Read;
        assert_eq!(
            entries(
                read,
                &[
                    "/home/ada/work/known.txt",
                    "/home/ada/work/package.json",
                    "/home/ada/work/src/a.ts",
                    "/home/ada/work/src/lib/b.ts",
                    "/home/ada/.config/tool/settings.json",
                    "/home/ada/.gitconfig.d",
                    "/etc/hostname",
                    "/etc/ssl/certs/ca.pem",
                ]
            ),
            [
                "/etc/hostname",
                "/etc/ssl/certs",
                "/home/ada/.config/tool",
                "/home/ada/.gitconfig.d",
                "/home/ada/work/package.json",
                "/home/ada/work/src",
            ]
        );
    }

    #[test]
    fn many_folders_become_one() {
        let many: Vec<String> = (0..9)
            .map(|n| format!("/home/ada/work/src/{n}/a.ts"))
            .collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(
            entries(PermissionKind::Write, &many),
            ["/home/ada/work/src"]
        );
        let wide: Vec<String> = (0..9).map(|n| format!("/tmp/{n}/a.ts")).collect();
        let wide: Vec<&str> = wide.iter().map(String::as_str).collect();
        assert_eq!(entries(PermissionKind::Write, &wide), ["/tmp"]);
        let home: Vec<String> = (0..9).map(|n| format!("/home/ada/{n}/a.ts")).collect();
        let home: Vec<&str> = home.iter().map(String::as_str).collect();
        assert_eq!(
            entries(PermissionKind::Read, &home).len(),
            9,
            "the home directory is never proposed"
        );
    }

    #[test]
    fn what_would_grant_too_much_is_not_proposed() {
        let found = proposal(
            PermissionKind::Read,
            &["/", "/home", "/home/ada", "/home/ada/work"],
        );
        let too_wide: Vec<&str> = found
            .too_wide
            .iter()
            .map(|(_, path)| path.as_str())
            .collect();
        assert_eq!(too_wide, ["/", "/home", "/home/ada"]);
        let read = &found.entries[&PermissionKind::Read];
        assert_eq!(read, &["/home/ada/work"]);
    }

    #[test]
    fn hosts_and_names_stay_as_they_are() {
        assert_eq!(
            entries(
                PermissionKind::Net,
                &[
                    "https://example.com/secret?q=1",
                    "127.0.0.1:80",
                    "example.com:443"
                ]
            ),
            ["127.0.0.1:80", "example.com:443"]
        );
        assert_eq!(entries(PermissionKind::Env, &["HOME", "null"]), ["HOME"]);
    }
}
