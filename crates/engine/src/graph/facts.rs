//! Hash of a graph's facts, and the check that they still hold.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::Graph;
use haft_process::regular_files;

/// Kind of the file at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// The path is missing, or closed to this user.
    Nothing,
    /// A file, or a link to one.
    File,
    /// A folder, or a link to one.
    Folder,
    /// A pipe, a socket or a device, which is never opened.
    Other,
}

impl Kind {
    pub(super) fn at(path: &Path) -> Kind {
        match std::fs::metadata(path) {
            Ok(found) if found.is_file() => Kind::File,
            Ok(found) if found.is_dir() => Kind::Folder,
            Ok(_) => Kind::Other,
            Err(_) => Kind::Nothing,
        }
    }
}

/// Checks if graphs still hold. Each path is checked once, and nothing is parsed.
///
/// It caches what it found, so it must not outlive one round of checking.
#[derive(Default)]
pub struct Checker {
    files: HashMap<PathBuf, Option<String>>,
    places: HashMap<PathBuf, Kind>,
    links: HashMap<PathBuf, Option<PathBuf>>,
    lone_links: HashMap<PathBuf, bool>,
}

impl Checker {
    /// Returns true if walking again would give the same graph.
    pub fn holds(&mut self, graph: &Graph) -> bool {
        let places = &mut self.places;
        let mut kind = |path: &Path| match places.get(path) {
            Some(kind) => *kind,
            None => *places.entry(path.to_owned()).or_insert(Kind::at(path)),
        };
        if graph.looked_at.iter().any(|(path, was)| kind(path) != *was) {
            return false;
        }
        let links = &mut self.links;
        let mut target = |path: &Path| match links.get(path) {
            Some(target) => target.clone(),
            None => {
                let target = std::fs::canonicalize(path).ok();
                links.insert(path.to_owned(), target.clone());
                target
            }
        };
        if graph
            .links
            .iter()
            .any(|(path, was)| target(path).as_ref() != Some(was))
        {
            return false;
        }
        // A link in place of a file, or of a folder above it, changes the meaning of relative
        // imports. That holds even where the link leads to the same bytes.
        let lone_links = &mut self.lone_links;
        let mut is_link = |path: &Path| match lone_links.get(path) {
            Some(is_link) => *is_link,
            None => {
                let found = std::fs::symlink_metadata(path);
                let is_link = found.is_ok_and(|found| found.is_symlink());
                lone_links.insert(path.to_owned(), is_link);
                is_link
            }
        };
        let mut is_moved = |path: &Path| {
            let folder = path.parent();
            is_link(path) || folder.is_some_and(|folder| target(folder).as_deref() != Some(folder))
        };
        if graph.modules.iter().any(|path| is_moved(path)) {
            return false;
        }
        let known = &mut self.files;
        let mut is_still = |path: &Path, was: Option<&String>| {
            let is = match known.get(path) {
                Some(is) => is,
                None => known.entry(path.to_owned()).or_insert(digest_of_file(path)),
            };
            is.as_ref() == was
        };
        let (files, assets) = (&graph.files, &graph.assets);
        files.iter().all(|(path, was)| is_still(path, Some(was)))
            && assets
                .iter()
                .all(|(path, was)| is_still(path, was.as_ref()))
    }
}

pub fn digest_of_file(path: &Path) -> Option<String> {
    let hash = regular_files::hash(path).ok()?;
    Some(hash.to_hex().to_string())
}

pub(super) fn digest(bytes: &[u8]) -> String {
    blake3::hash(bytes).to_hex().to_string()
}
