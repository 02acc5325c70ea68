//! Reads and writes of files, with errors that name the file.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::{During, Error, Result};

pub fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(|| format!("read `{}`", path.display()))
}

pub fn read_json(path: &Path) -> Result<Value> {
    serde_json::from_str(&read(path)?)
        .map_err(|error| Error::unexpected(format!("`{}` is not JSON: {error}", path.display())))
}

/// Writes a text, and makes its folder if needed.
pub fn write(path: &Path, text: &str) -> Result<()> {
    make_folder(path.parent().expect("a file is in a folder"))?;
    fs::write(path, text).during(|| format!("write `{}`", path.display()))
}

/// Makes a folder and the folders above it.
pub fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).during(|| format!("make `{}`", folder.display()))
}

/// Removes a folder with what is in it.
pub fn remove_folder(folder: &Path) -> Result<()> {
    fs::remove_dir_all(folder).during(|| format!("remove `{}`", folder.display()))
}

/// Copies a file, and makes the folder of the copy if needed.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    make_folder(to.parent().expect("a file is in a folder"))?;
    fs::copy(from, to)
        .map(drop)
        .during(|| format!("copy `{}`", from.display()))
}

/// Returns the paths of a folder's entries, sorted.
pub fn entries(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        let paths = entries.map(|entry| entry.map(|entry| entry.path()));
        paths.collect::<io::Result<Vec<PathBuf>>>()
    });
    let mut entries = entries.during(|| format!("read `{}`", folder.display()))?;
    entries.sort();
    Ok(entries)
}

/// Returns the SHA-256 of a file in hexadecimal.
pub fn sha256(path: &Path) -> Result<String> {
    let mut hash = Sha256::new();
    File::open(path)
        .and_then(|mut file| io::copy(&mut file, &mut hash))
        .during(|| format!("read `{}`", path.display()))?;
    Ok(format!("{:x}", hash.finalize()))
}
