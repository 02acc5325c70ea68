//! File system of the loader of one isolate.
//!
//! For a project's isolate the manifests that determine an import must be those that were trusted.
//! A manifest in another place is ignored, and a changed one makes the import fail.

use std::borrow::Cow;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use sys_traits::impls::RealSys;
use sys_traits::{
    BaseEnvVar, BaseFsCanonicalize, BaseFsMetadata, BaseFsOpen, BaseFsRead, BaseFsReadDir,
    EnvCurrentDir, OpenOptions,
};

use crate::verify::Verifier;

/// The real disk, with verified manifests.
#[derive(Clone, Debug, Default)]
pub(crate) struct Sys {
    real: RealSys,
    pub(super) verifier: Option<Arc<Verifier>>,
}

impl Sys {
    /// Returns the disk for modules that `verifier` checks; `None` for the user's own modules.
    pub(crate) fn new(verifier: Option<Arc<Verifier>>) -> Sys {
        Sys {
            real: RealSys,
            verifier,
        }
    }
}

impl BaseFsRead for Sys {
    fn base_fs_read(&self, path: &Path) -> io::Result<Cow<'static, [u8]>> {
        let bytes = self.real.base_fs_read(path)?;
        match &self.verifier {
            Some(verifier) => match verifier.check_manifest(path, &bytes) {
                Ok(()) => Ok(bytes),
                Err(_) => Err(io::ErrorKind::NotFound.into()),
            },
            None => Ok(bytes),
        }
    }
}

impl BaseFsMetadata for Sys {
    type Metadata = <RealSys as BaseFsMetadata>::Metadata;

    fn base_fs_metadata(&self, path: &Path) -> io::Result<Self::Metadata> {
        self.real.base_fs_metadata(path)
    }

    fn base_fs_symlink_metadata(&self, path: &Path) -> io::Result<Self::Metadata> {
        self.real.base_fs_symlink_metadata(path)
    }
}

impl BaseFsCanonicalize for Sys {
    fn base_fs_canonicalize(&self, path: &Path) -> io::Result<PathBuf> {
        self.real.base_fs_canonicalize(path)
    }
}

impl BaseFsReadDir for Sys {
    type ReadDirEntry = <RealSys as BaseFsReadDir>::ReadDirEntry;

    fn base_fs_read_dir(
        &self,
        path: &Path,
    ) -> io::Result<Box<dyn Iterator<Item = io::Result<Self::ReadDirEntry>>>> {
        self.real.base_fs_read_dir(path)
    }
}

impl BaseFsOpen for Sys {
    type File = <RealSys as BaseFsOpen>::File;

    fn base_fs_open(&self, path: &Path, options: &OpenOptions) -> io::Result<Self::File> {
        self.real.base_fs_open(path, options)
    }
}

impl EnvCurrentDir for Sys {
    fn env_current_dir(&self) -> io::Result<PathBuf> {
        self.real.env_current_dir()
    }
}

impl BaseEnvVar for Sys {
    fn base_env_var_os(&self, key: &OsStr) -> Option<std::ffi::OsString> {
        self.real.base_env_var_os(key)
    }
}
