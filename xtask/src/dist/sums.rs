//! `SHA256SUMS` of all packages in the folder, in the format of `sha256sum`.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::{Context, write};
use crate::error::{During, Result};

/// Name of the list.
pub const NAME: &str = "SHA256SUMS";

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    let mut lines = Vec::new();
    for name in names(&context.out)? {
        lines.push(format!("{}  {name}\n", sum(&context.out.join(&name))?));
    }
    let made = context.out.join(NAME);
    write(&made, &lines.concat())?;
    Ok(vec![made])
}

/// Returns the names of the packages in the folder.
pub fn names(folder: &Path) -> Result<Vec<String>> {
    let reading = || format!("read `{}`", folder.display());
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).during(reading)? {
        let entry = entry.during(reading)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.path().is_file() && name != NAME {
            names.push(name);
        }
    }
    names.sort();
    Ok(names)
}

/// Returns the SHA-256 of a file in hexadecimal.
pub fn sum(path: &Path) -> Result<String> {
    let reading = || format!("read `{}`", path.display());
    let mut hasher = Sha256::new();
    io::copy(&mut File::open(path).during(reading)?, &mut hasher).during(reading)?;
    Ok(format!("{:x}", hasher.finalize()))
}
