//! Private copies of verified files for interpreters, which read them later and by path, in a folder
//! that only this user can write to.
//!
//! Scripts find neighbouring files by their own path (`dirname "$0"`, `BASH_SOURCE`, `__file__`,
//! `import "./x"`). So the copies stand in an image of their folders up to the project: the same
//! names, and a link to each neighbour.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::{ProjectScope, VerifiedFile, VerifiedProgram, image_place, make_image};
use crate::state_dir::StatePart;
use crate::{GrantedPath, regular_files};

/// The folder in which the image of a project begins.
const IMAGE: &str = "project";

const PRIVATE: u32 = 0o700;
const READ_ONLY: u32 = 0o500;

/// Limit of the neighbours of a script that are linked in one folder.
const MAX_NEIGHBOURS: usize = 2000;

/// Copies of the files of a program.
#[derive(Default)]
pub(super) struct ImageCopies {
    /// The folder of all versions of the files; `None` without files.
    pub(super) folder: Option<GrantedPath>,
    /// The path of each copy.
    pub(super) paths: BTreeMap<VerifiedFile, PathBuf>,
}

/// Copies files among links to their neighbours.
pub(super) fn copy(
    program: &VerifiedProgram,
    files: &[(&VerifiedFile, Vec<u8>)],
) -> io::Result<ImageCopies> {
    let (scope, state) = (&program.scope, &program.state);
    let all: Vec<&VerifiedFile> = files.iter().map(|(file, _)| *file).collect();
    let place = image_place(&all);
    let images = make_image(state, &place)?;
    // Other processes may make the same image at this moment. A program in a sandbox can lock what it
    // can read, so the lock is not in the image.
    let _lock = state.folder(StatePart::Locks).lock(&place)?;
    let version = version_of(&all);
    remove_others(images.as_path(), &version);
    let folder = images.as_path().join(version);
    make_private(&folder)?;
    let image = folder.join(IMAGE);
    let mut paths = BTreeMap::new();
    let mut folders: BTreeMap<PathBuf, BTreeSet<OsString>> = BTreeMap::new();
    for (file, _) in files {
        let inside = place_in_project(scope, &file.path)?;
        paths.insert((*file).clone(), image.join(&inside));
        for part in inside.ancestors() {
            if let (Some(parent), Some(name)) = (part.parent(), part.file_name()) {
                let own = folders.entry(parent.to_owned()).or_default();
                own.insert(name.to_owned());
            }
        }
    }
    // Otherwise the copy has no neighbours.
    let is_of_project = all.iter().all(|file| scope.contains(&file.path));
    // A folder comes before those in it.
    for (inside, own) in &folders {
        let (image, original) = (image.join(inside), scope.root.join(inside));
        make_private(&image)?;
        if is_of_project {
            link_neighbours(&original, &image, own)?;
        }
    }
    for (file, bytes) in files {
        put(&paths[*file], bytes, file)?;
    }
    for inside in folders.keys().rev() {
        let permissions = Permissions::from_mode(READ_ONLY);
        fs::set_permissions(image.join(inside), permissions)?;
    }
    Ok(ImageCopies {
        folder: Some(images),
        paths,
    })
}

/// Place of a file below the project; of a file outside of it, the name alone.
fn place_in_project(scope: &ProjectScope, path: &Path) -> io::Result<PathBuf> {
    // The path of the project is resolved already, so that of the file must be too.
    let folder = path.parent().unwrap_or(path).canonicalize()?;
    let name = path.file_name().unwrap_or(OsStr::new("script"));
    let inside = folder.strip_prefix(&scope.root);
    Ok(inside.map_or_else(|_| name.into(), |inside| inside.join(name)))
}

/// Name of the folder of this version of the files.
fn version_of(files: &[&VerifiedFile]) -> String {
    let digests: Vec<&[u8]> = files.iter().map(|file| &file.digest[..]).collect();
    blake3::hash(&digests.concat()).to_hex()[..32].to_owned()
}

/// Makes a folder that only this user can enter, in such a folder.
fn make_private(folder: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(PRIVATE).create(folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        Ok(()) => return Ok(()),
        Err(_) => {}
    }
    let found = folder.symlink_metadata()?;
    if !found.is_dir() || found.uid() != rustix::process::geteuid().as_raw() {
        let text = format!("`{}` is not a folder of this user", folder.display());
        return Err(io::Error::other(text));
    }
    // The script can change the mode of its own image. The right to write is removed again later.
    if found.mode() & 0o777 != READ_ONLY {
        fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    }
    Ok(())
}

/// Links the content of `original` into `image`, except what the image has itself.
///
/// The image is not writable, since files that a script writes beside itself would be lost there.
fn link_neighbours(original: &Path, image: &Path, own: &BTreeSet<OsString>) -> io::Result<()> {
    let names = |folder: &Path| -> io::Result<BTreeSet<OsString>> {
        let entries = fs::read_dir(folder)?.flatten();
        Ok(entries.map(|entry| entry.file_name()).collect())
    };
    let there = names(image)?;
    let mut missing = names(original)?;
    missing.retain(|name| !own.contains(name) && !there.contains(name));
    if missing.is_empty() && own.is_subset(&there) {
        return Ok(());
    }
    fs::set_permissions(image, Permissions::from_mode(PRIVATE))?;
    for name in missing.into_iter().take(MAX_NEIGHBOURS) {
        match symlink(original.join(&name), image.join(&name)) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

/// Writes the copy, unless the same bytes are there already.
fn put(place: &Path, bytes: &[u8], file: &VerifiedFile) -> io::Result<()> {
    let is_there = regular_files::hash(place).is_ok_and(|found| file.compare(&found).is_ok())
        && fs::symlink_metadata(place).is_ok_and(|found| found.is_file());
    if is_there {
        return Ok(());
    }
    let folder = place.parent().unwrap_or(place);
    fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    let mut fresh = tempfile::Builder::new()
        .permissions(Permissions::from_mode(READ_ONLY))
        .tempfile_in(folder)?;
    fresh.write_all(bytes)?;
    fresh.persist(place).map_err(|error| error.error)?;
    Ok(())
}

/// Removes the copies of other versions of the files.
fn remove_others(images: &Path, version: &str) {
    for entry in fs::read_dir(images).into_iter().flatten().flatten() {
        if entry.file_name() != version {
            // A copy that cannot be removed does no harm.
            let _ = remove(&entry.path());
        }
    }
}

/// Removes a folder whose folders may be read-only. Links are not followed.
fn remove(folder: &Path) -> io::Result<()> {
    fs::set_permissions(folder, Permissions::from_mode(PRIVATE))?;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            remove(&entry.path())?
        } else {
            fs::remove_file(entry.path())?
        }
    }
    fs::remove_dir(folder)
}
