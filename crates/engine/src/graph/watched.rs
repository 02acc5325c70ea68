//! File system for resolution that records every access.
//!
//! Node's resolver uses it in place of the real disk. So the record is complete without a second
//! list of Node's rules, which could become outdated.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use sys_traits::impls::RealSys;
use sys_traits::{
    BaseFsCanonicalize, BaseFsMetadata, BaseFsOpen, BaseFsRead, BaseFsReadDir, OpenOptions,
};

use super::Graph;
use super::facts::Kind;
use crate::source::{MAX_SOURCE_BYTES, What};
use haft_process::regular_files::{self, Refused};

/// The real disk with a record of accesses.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched {
    real: RealSys,
    seen: Rc<RefCell<Seen>>,
}

#[derive(Debug, Default)]
struct Seen {
    files: BTreeMap<PathBuf, String>,
    looked_at: BTreeMap<PathBuf, Kind>,
    links: BTreeMap<PathBuf, PathBuf>,
}

impl Watched {
    /// Moves the record into the graph.
    pub(super) fn give(&self, graph: &mut Graph) {
        let mut seen = std::mem::take(&mut *self.seen.borrow_mut());
        // The kind of these paths is known from their bytes.
        seen.looked_at
            .retain(|path, _| !seen.files.contains_key(path));
        graph.files = seen.files;
        graph.looked_at = seen.looked_at;
        graph.links = seen.links;
    }

    /// Records the hash of a file that is not parsed. The error says why it has none; a missing
    /// file is not an error.
    pub(super) fn hash(&self, path: &Path) -> Result<(), What> {
        match regular_files::hash(path) {
            Ok(hash) => {
                self.note(path, &hash);
                Ok(())
            }
            Err(error) => {
                self.look(path);
                what_of(&error, What::TooLargeToHash).map_or(Ok(()), Err)
            }
        }
    }

    /// Reads a source. The error says why it is not read; it is `None` for a missing file.
    pub(super) fn read_source(&self, path: &Path) -> Result<Vec<u8>, Option<What>> {
        match self.read(path) {
            Err(Refused::TooLarge(_)) => {
                // The file may be loaded all the same.
                self.hash(path)?;
                Err(Some(What::TooLarge))
            }
            Err(error) => Err(what_of(&error, What::TooLarge)),
            Ok(bytes) => Ok(bytes),
        }
    }

    fn read(&self, path: &Path) -> Result<Vec<u8>, Refused> {
        let read = regular_files::read(path, MAX_SOURCE_BYTES);
        match &read {
            Ok(bytes) => self.note(path, &blake3::hash(bytes)),
            Err(_) => self.look(path),
        }
        read
    }

    fn note(&self, path: &Path, hash: &blake3::Hash) {
        let hash = hash.to_hex().to_string();
        self.seen.borrow_mut().files.insert(path.to_owned(), hash);
    }

    fn look(&self, path: &Path) {
        let mut seen = self.seen.borrow_mut();
        if !seen.looked_at.contains_key(path) {
            seen.looked_at.insert(path.to_owned(), Kind::at(path));
        }
    }
}

/// Returns the reason for which the file is not read; `None` if it is missing or not accessible.
fn what_of(error: &Refused, if_large: What) -> Option<What> {
    match error {
        Refused::NotRegular => Some(What::NotRegular),
        Refused::TooLarge(_) => Some(if_large),
        Refused::System(_) => None,
    }
}

impl BaseFsRead for Watched {
    fn base_fs_read(&self, path: &Path) -> io::Result<Cow<'static, [u8]>> {
        // A pipe named `package.json` would block this thread for ever.
        self.read(path)
            .map(Cow::Owned)
            .map_err(|error| match error {
                Refused::System(error) => error,
                Refused::NotRegular | Refused::TooLarge(_) => io::ErrorKind::NotFound.into(),
            })
    }
}

impl BaseFsMetadata for Watched {
    type Metadata = <RealSys as BaseFsMetadata>::Metadata;

    fn base_fs_metadata(&self, path: &Path) -> io::Result<Self::Metadata> {
        self.look(path);
        self.real.base_fs_metadata(path)
    }

    fn base_fs_symlink_metadata(&self, path: &Path) -> io::Result<Self::Metadata> {
        self.look(path);
        self.real.base_fs_symlink_metadata(path)
    }
}

impl BaseFsCanonicalize for Watched {
    fn base_fs_canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        let real = self.real.base_fs_canonicalize(path);
        match &real {
            Ok(target) if target != path => {
                let mut seen = self.seen.borrow_mut();
                seen.links.insert(path.to_owned(), target.clone());
            }
            _ => self.look(path),
        }
        real
    }
}

impl BaseFsReadDir for Watched {
    type ReadDirEntry = <RealSys as BaseFsReadDir>::ReadDirEntry;

    fn base_fs_read_dir(
        &self,
        path: &Path,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Self::ReadDirEntry>>>> {
        self.look(path);
        self.real.base_fs_read_dir(path)
    }
}

impl BaseFsOpen for Watched {
    type File = <RealSys as BaseFsOpen>::File;

    fn base_fs_open(&self, path: &Path, options: &OpenOptions) -> io::Result<Self::File> {
        self.look(path);
        self.real.base_fs_open(path, options)
    }
}
