//! Permissions that the user grants and refuses single tools and MCP servers, beside the trust in
//! projects.
//!
//! A permit is bound to the file of the tool or the server, and to its content. If the content changes, what it grants
//! does not count any more; what it refuses still counts. It is never stored in a project.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::grants::{RecordFolder, StoreError, path_of, real, text_of};
use haft_process::{GrantedPath, LinkBounds, PathRefusal, StateDir, StatePart, regular_files};
use haft_tool::error::{Error, ErrorKind};
use haft_tool::{Permission, PermissionKind, PermissionProfile, PermissionSource, Problem, Tier};

/// Version of the format.
const VERSION: u32 = 1;

/// Entries by kind. [`Permission::All`] stands for the whole kind.
pub type Entries = BTreeMap<PermissionKind, Permission>;

/// Subject of a permit: the tools of a file, or one MCP server of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PermitSubject {
    /// The real path of the file.
    file: PathBuf,
    server: Option<String>,
}

impl PermitSubject {
    /// Returns the subject of the tools of a file.
    pub fn of_file(file: &Path) -> PermitSubject {
        PermitSubject {
            file: real(file),
            server: None,
        }
    }

    /// Returns the subject of the MCP server that a file gives this name.
    pub fn of_server(file: &Path, server: &str) -> PermitSubject {
        PermitSubject {
            file: real(file),
            server: Some(server.to_owned()),
        }
    }

    /// Returns the real path of the file.
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// Returns the key of its record. No path has a zero byte.
    fn key(&self) -> PathBuf {
        let mut key = self.file.clone().into_os_string();
        if let Some(server) = &self.server {
            key.push("\0");
            key.push(server);
        }
        key.into()
    }
}

/// Accesses that the user grants and refuses one tool file, or one MCP server of a file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Permit {
    version: u32,
    /// The real path of the file, as [`text_of`] writes it.
    file: String,
    /// The name of the MCP server in the file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    server: Option<String>,
    /// The hash of the file (blake3, hex) for which `allow` counts.
    pub hash: String,
    /// Granted entries.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub allow: Entries,
    /// Refused entries. They override granted ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub deny: Entries,
    /// Tools of the file, by name, whose calls up to that tier run without a question. As `allow`,
    /// this counts for the hash.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub approved: BTreeMap<String, Tier>,
}

/// Store of one user's permits.
#[derive(Clone, Debug)]
pub struct Permits {
    records: RecordFolder,
    project: PathBuf,
}

impl Permit {
    /// Creates a permit without entries for the present content of a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn new(subject: &PermitSubject) -> Result<Permit, Error> {
        let file = &subject.file;
        let hash = hash_of(file).map_err(|error| {
            let text = format!("cannot read {}: {error}", file.display());
            Error::new(ErrorKind::Load, text)
        })?;
        Ok(Permit {
            version: VERSION,
            file: text_of(file),
            server: subject.server.clone(),
            hash,
            allow: Entries::new(),
            deny: Entries::new(),
            approved: BTreeMap::new(),
        })
    }

    fn subject(&self) -> PermitSubject {
        PermitSubject {
            file: path_of(&self.file),
            server: self.server.clone(),
        }
    }

    /// Returns true if the granted entries count: the file is the one that they were granted to.
    pub fn is_current(&self) -> bool {
        hash_of(&path_of(&self.file)).is_ok_and(|hash| hash == self.hash)
    }

    /// Returns a permit for the present content of its file, with what still counts of `before`.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn renewed(subject: &PermitSubject, before: Option<&Permit>) -> Result<Permit, Error> {
        let mut permit = Permit::new(subject)?;
        if let Some(before) = before {
            permit.deny.clone_from(&before.deny);
            if before.is_current() {
                permit.allow.clone_from(&before.allow);
                permit.approved.clone_from(&before.approved);
            }
        }
        Ok(permit)
    }

    /// Returns true if it has no entry.
    pub fn is_empty(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty() && self.approved.is_empty()
    }

    /// Grants an entry; `None` grants the whole kind. An equal refusal ends. A path is granted as the
    /// real path that it has now.
    ///
    /// # Errors
    /// If a link on the way to the path may not be followed.
    pub fn allow(
        &mut self,
        kind: PermissionKind,
        entry: Option<&str>,
        links: &LinkBounds,
    ) -> Result<(), PathRefusal> {
        let is_path = |entry: &&str| kind.has_paths() && !PermissionProfile::is_below_tmpdir(entry);
        let real = match entry.filter(is_path) {
            Some(entry) => Some(links.resolve(Path::new(entry))?),
            None => None,
        };
        // Another text of a path that is not UTF-8 would grant another path.
        let real = real.as_ref().map(|real| real.as_path().to_str());
        let real = real.map_or(entry, |real| real.or(entry));
        take(&mut self.deny, kind, entry);
        take(&mut self.deny, kind, real);
        put(&mut self.allow, kind, real);
        Ok(())
    }

    /// Grants a host with its port.
    pub fn allow_host(&mut self, host: &str) {
        put(&mut self.allow, PermissionKind::Net, Some(host));
    }

    /// Refuses an entry; `None` refuses the whole kind. An equal grant ends.
    pub fn deny(&mut self, kind: PermissionKind, entry: Option<&str>) {
        take(&mut self.allow, kind, entry);
        put(&mut self.deny, kind, entry);
    }

    /// Removes an entry from what is granted and refused; `None` removes all entries of the kind.
    /// Returns false if there was none.
    pub fn remove(&mut self, kind: PermissionKind, entry: Option<&str>) -> bool {
        let was_allowed = take(&mut self.allow, kind, entry);
        take(&mut self.deny, kind, entry) || was_allowed
    }

    /// Returns the permissions with the granted entries, if these count.
    #[must_use]
    pub fn widened(&self, granted: PermissionProfile) -> PermissionProfile {
        if self.allow.is_empty() || !self.is_current() {
            return granted;
        }
        let mut allowed = PermissionProfile::everything();
        for kind in PermissionKind::ALL {
            let entries = self.allow.get(&kind).cloned();
            let entries = entries.unwrap_or(Permission::None);
            allowed.set(kind, entries, PermissionSource::Permit);
        }
        // The entries were real paths when they were granted: a link was put there afterwards.
        allowed.resolve_paths(|entry| {
            if PermissionProfile::is_below_tmpdir(entry) {
                return Ok(entry.to_owned());
            }
            let granted = GrantedPath::without_links(Path::new(entry));
            granted.map_or_else(|refusal| Err(refusal.to_string()), |_| Ok(entry.to_owned()))
        });
        let mut widened = granted.widened(&allowed);
        let ffi = PermissionKind::Ffi;
        if self.allow.contains_key(&ffi) && !granted.sources.contains_key(&ffi) {
            // Nothing states it, so the default applies, which is `none`.
            widened.set(ffi, allowed.ffi, PermissionSource::Permit);
        }
        widened
    }

    /// Returns the permissions that the refused entries leave, for
    /// [`PermissionProfile::narrowed`].
    pub fn bounds(&self) -> PermissionProfile {
        let mut left = PermissionProfile::everything();
        for (kind, refused) in &self.deny {
            let deny = match refused {
                Permission::List(deny) => Permission::Except {
                    allow: None,
                    deny: deny.clone(),
                },
                _ => Permission::None,
            };
            left.set(*kind, deny, PermissionSource::Permit);
        }
        left
    }
}

fn put(entries: &mut Entries, kind: PermissionKind, entry: Option<&str>) {
    match (entry, entries.get_mut(&kind)) {
        (None, _) => {
            entries.insert(kind, Permission::All);
        }
        (Some(_), Some(Permission::All)) => {}
        (Some(entry), Some(Permission::List(list))) => {
            if !list.iter().any(|one| one == entry) {
                list.push(entry.to_owned());
            }
        }
        (Some(entry), _) => {
            entries.insert(kind, Permission::List(vec![entry.to_owned()]));
        }
    }
}

fn take(entries: &mut Entries, kind: PermissionKind, entry: Option<&str>) -> bool {
    let Some(entry) = entry else {
        return entries.remove(&kind).is_some();
    };
    let Some(Permission::List(list)) = entries.get_mut(&kind) else {
        return false;
    };
    let before = list.len();
    list.retain(|one| one != entry);
    let is_removed = list.len() < before;
    if list.is_empty() {
        entries.remove(&kind);
    }
    is_removed
}

fn hash_of(file: &Path) -> Result<String, String> {
    let hash = regular_files::hash(file).map_err(|error| error.to_string())?;
    Ok(hash.to_hex().to_string())
}

impl Permits {
    /// Returns the path of the permits in a state directory, for a watcher. It may not exist.
    #[expect(clippy::disallowed_methods, reason = "it is watched, not read")]
    pub fn watched_folder(state: &StateDir) -> PathBuf {
        state.folder(StatePart::Permits).path_for_messages("")
    }

    /// Returns the store in a state directory. Permits inside of `project` are not believed.
    pub fn at(state: &StateDir, home: &Path, project: &Path) -> Permits {
        Permits {
            records: RecordFolder::new(state, StatePart::Permits, home),
            project: real(project),
        }
    }

    /// Reads the permit of a tool file or a server.
    ///
    /// # Errors
    /// When there may be one, and it is not believed. What it refuses is unknown then, so the tool must
    /// not run.
    pub fn read(&self, subject: &PermitSubject) -> Result<Option<Permit>, StoreError> {
        // Most users have no permits, and resolving the links of every tool file takes longer.
        if !self.records.exists()? {
            return Ok(None);
        }
        let permit: Option<Permit> = (self.records).read(&subject.key(), VERSION, &self.project)?;
        match permit {
            Some(permit) if permit.subject() != *subject => Err(StoreError::Broken),
            permit => Ok(permit),
        }
    }

    /// Stores a permit in place of an earlier one. One without entries is removed.
    ///
    /// # Errors
    /// When the file cannot be written.
    pub fn write(&self, permit: &Permit) -> Result<(), Error> {
        let key = permit.subject().key();
        let failed = |error: io::Error| {
            let path = self.records.place_of(&key);
            let path = path.display();
            let text = format!("cannot store the permissions in {path}: {error}");
            let hint = "XDG_STATE_HOME or HAFT_STATE_DIR name another place";
            Error::new(ErrorKind::Internal, text).with_hint(hint)
        };
        if permit.is_empty() {
            return self.records.remove(&key).map(drop).map_err(failed);
        }
        self.records.write(&key, permit).map_err(failed)
    }

    /// Returns the problem of a permit that is not believed.
    pub fn problem(&self, subject: &PermitSubject, error: &StoreError) -> Problem {
        let hint = error.remedy("remove that file after a look at it, and use `haft permit` again");
        let text = format!("what you permitted and refused this tool cannot be read: {error}");
        Problem::error(text)
            .at(self.records.place_of(&subject.key()))
            .hint(hint)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn list(entries: &[&str]) -> Permission {
        Permission::List(entries.iter().map(|&entry| entry.to_owned()).collect())
    }

    #[cfg(unix)]
    #[test]
    fn a_permit_grants_what_a_link_led_to_when_it_was_granted() {
        use std::os::unix::fs::symlink;
        let scratch = tempfile::tempdir().expect("a folder");
        let root = scratch.path().canonicalize().expect("it exists");
        let (tool, data, link) = (root.join("tool.ts"), root.join("data"), root.join("p/link"));
        fs::write(&tool, "1").expect("a file");
        fs::create_dir_all(root.join("p/own")).expect("a folder");
        fs::create_dir_all(&data).expect("a folder");
        symlink(&data, &link).expect("a link");
        let text = |path: &Path| path.display().to_string();
        let mut permit = Permit::new(&PermitSubject::of_file(&tool)).expect("a file");
        let mut allow = |path: &Path, links: &LinkBounds| {
            permit.allow(PermissionKind::Read, Some(&text(path)), links)
        };
        let project = LinkBounds::new([root.join("p")]);
        allow(&link, &project).expect_err("the link leads out of the project");
        allow(&link, &LinkBounds::new([])).expect("it is the user's");
        allow(&root.join("p/own"), &project).expect("it has no links");
        let granted = || {
            let mut granted = PermissionProfile::everything();
            granted.read = Permission::None;
            permit.widened(granted)
        };
        let own = text(&root.join("p/own"));
        assert_eq!(granted().read, list(&[&text(&data), &own]));
        fs::remove_dir(root.join("p/own")).expect("it is ours");
        symlink("/", root.join("p/own")).expect("a link");
        let rights = granted();
        assert_eq!(rights.read, list(&[&text(&data)]));
        let problem = rights.left_out[0].problem();
        assert_eq!(
            problem.message,
            format!(
                "`read` access to `{own}` with what you granted this tool is not granted: `{own}` \
                 is a link"
            )
        );
    }

    #[test]
    fn a_permit_widens_the_profile_of_the_file_that_it_was_granted_to() {
        let scratch = tempfile::tempdir().expect("a folder");
        let folder = scratch.path();
        let tool = folder.join("tool.ts");
        fs::write(&tool, "1").expect("a file");
        let mut permit = Permit::new(&PermitSubject::of_file(&tool)).expect("a file");
        let links = LinkBounds::new([]);
        for (kind, entry) in [
            (PermissionKind::Read, Some("/work/data")),
            (PermissionKind::Net, None),
        ] {
            permit.allow(kind, entry, &links).expect("it has no links");
        }
        permit.deny(PermissionKind::Read, Some("/work/data/secret"));
        let mut granted = PermissionProfile::everything();
        granted.read = list(&["/tmp"]);
        granted.net = Permission::None;
        let rights = permit.widened(granted.clone()).narrowed(&permit.bounds());
        assert_eq!(rights.net, Permission::All);
        assert_eq!(
            rights.read,
            Permission::Except {
                allow: Some(vec!["/tmp".to_owned(), "/work/data".to_owned()]),
                deny: vec!["/work/data/secret".to_owned()],
            }
        );
        assert_eq!(rights.run, Permission::All);

        fs::write(&tool, "2").expect("a file");
        let rights = permit.widened(granted).narrowed(&permit.bounds());
        assert_eq!(rights.net, Permission::None, "another file was granted it");
        assert_eq!(rights.read.denied(), ["/work/data/secret"]);

        let store = Permits::at(
            &StateDir::new(folder.join("state")),
            Path::new("/nonexistent"),
            &folder.join("x"),
        );
        store.write(&permit).expect("a folder");
        assert_eq!(
            store.read(&PermitSubject::of_file(&tool)).ok().flatten(),
            Some(permit.clone())
        );
        assert!(permit.remove(PermissionKind::Net, None));
        assert!(!permit.remove(PermissionKind::Net, None));
        assert!(permit.remove(PermissionKind::Read, Some("/work/data")));
        assert!(permit.remove(PermissionKind::Read, Some("/work/data/secret")));
        store.write(&permit).expect("a folder");
        assert!(
            store
                .read(&PermitSubject::of_file(&tool))
                .is_ok_and(|permit| permit.is_none())
        );
    }
}
