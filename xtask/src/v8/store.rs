//! Writes files into cargo's cache atomically.
//!
//! Several builds may read it at once, so a file is written beside its place and renamed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use tempfile::Builder;

use crate::error::{During, Result};

pub fn copy(from: &Path, to: &Path) -> Result<()> {
    write(to, |file| {
        io::copy(&mut File::open(from)?, file)?;
        Ok(())
    })
}

/// Lets `fill` write the file, then renames it to `to`.
pub fn write(to: &Path, fill: impl FnOnce(&mut File) -> io::Result<()>) -> Result<()> {
    let doing = || format!("write `{}`", to.display());
    let folder = to.parent().expect("a cache entry lies in a folder");
    fs::create_dir_all(folder).during(doing)?;
    // A temporary file's own permissions would lock other users out.
    let create = |path: &Path| File::create_new(path);
    let part = Builder::new().prefix(".part-").make_in(folder, create);
    let mut part = part.during(doing)?;
    fill(part.as_file_mut()).during(doing)?;
    part.as_file_mut().flush().during(doing)?;
    part.persist(to)
        .map_err(|error| error.error)
        .during(doing)?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_cannot_be_filled_is_not_there() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let entry = folder.path().join("cache/entry");
        let ended = write(&entry, |file| {
            file.write_all(b"half")?;
            Err(io::Error::other("the line broke"))
        });
        assert!(ended.is_err());
        assert_eq!(
            fs::read_dir(folder.path().join("cache"))
                .expect("made")
                .count(),
            0
        );
    }
}
