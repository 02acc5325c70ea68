//! The unpacked source of V8: what the `v8` crate carries, with our differences and additions.
//!
//! The crate file is held against the checksum in `Cargo.lock`. The tree is compared with it, byte
//! by byte, at each use, so that neither an interruption nor an edit changes what is built. A file
//! that is right already keeps its time, so that ninja does not build it again.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

use flate2::read::GzDecoder;
use tar::Archive;

use super::differences::SourceDifference;
use crate::error::{During, Error, Result};
use crate::files;

/// A source tree that is written from a crate file.
pub struct SourceTree<'a> {
    pub folder: &'a Path,
    expected: HashSet<PathBuf>,
    /// Number of the files that were missing.
    pub added: usize,
    /// Paths of the files that were there with other bytes.
    pub restored: Vec<PathBuf>,
}

/// Checks a crate file against the checksum of `Cargo.lock`.
pub fn check_crate(path: &Path, checksum: &str) -> Result<()> {
    let actual = files::sha256(path)?;
    if actual == checksum {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!(
            "`{}` is not the crate that Cargo.lock names: its SHA-256 is {actual}",
            path.display()
        ),
        hint: format!("remove it, and run `cargo fetch`; Cargo.lock expects {checksum}"),
    })
}

impl<'a> SourceTree<'a> {
    pub fn new(folder: &'a Path) -> Self {
        Self {
            folder,
            expected: HashSet::new(),
            added: 0,
            restored: Vec::new(),
        }
    }

    /// Writes what the crate file at `path` has, with the differences.
    ///
    /// # Errors
    /// If the file is damaged, or a difference does not find its place.
    pub fn unpack(&mut self, path: &Path, differences: &[&SourceDifference]) -> Result<()> {
        let doing = || format!("unpack `{}`", path.display());
        let file = File::open(path).during(doing)?;
        let mut archive = Archive::new(GzDecoder::new(io::BufReader::new(file)));
        let mut applied = 0;
        for entry in archive.entries().during(doing)? {
            let mut entry = entry.during(doing)?;
            if !entry.header().entry_type().is_file() {
                continue;
            }
            let entry_path = entry.path().during(doing)?.into_owned();
            // The first component is the name and version of the crate.
            let name: PathBuf = entry_path.components().skip(1).collect();
            let is_inside = name
                .components()
                .all(|part| matches!(part, Component::Normal(_)));
            if !is_inside {
                return Err(Error::unexpected(format!(
                    "`{}` has the path `{}`",
                    path.display(),
                    entry_path.display()
                )));
            }
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).during(doing)?;
            for difference in differences
                .iter()
                .filter(|step| Path::new(step.file) == name)
            {
                let text = String::from_utf8(bytes)
                    .map_err(|_| Error::unexpected(format!("`{}` is not text", name.display())))?;
                bytes = difference.apply(&text)?.into_bytes();
                applied += 1;
            }
            self.write(&name, &bytes)?;
        }
        if applied == differences.len() {
            return Ok(());
        }
        Err(Error::unexpected(format!(
            "{applied} of {} steps have found their file in `{}`",
            differences.len(),
            path.display()
        )))
    }

    /// Writes a file unless it has these bytes already.
    pub fn write(&mut self, name: &Path, bytes: &[u8]) -> Result<()> {
        let path = self.folder.join(name);
        self.expected.insert(path.clone());
        match fs::read(&path) {
            Ok(present) if present == bytes => return Ok(()),
            Ok(_) => self.restored.push(name.to_owned()),
            Err(_) => self.added += 1,
        }
        files::make_folder(path.parent().expect("a file is in a folder"))?;
        fs::write(&path, bytes).during(|| format!("write `{}`", path.display()))
    }

    /// Removes the files that neither the crate nor we have put there.
    pub fn remove_others(&self) -> Result<()> {
        self.remove_others_in(self.folder)
    }

    fn remove_others_in(&self, folder: &Path) -> Result<()> {
        for path in files::entries(folder)? {
            let doing = || format!("remove `{}`", path.display());
            let metadata = path.symlink_metadata().during(doing)?;
            if metadata.is_dir() {
                self.remove_others_in(&path)?;
            } else if !self.expected.contains(&path) {
                fs::remove_file(&path).during(doing)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::super::differences::DIFFERENCES;
    use super::*;

    /// Makes a crate file with these files.
    fn crate_file(folder: &Path, entries: &[(&str, &str)]) -> PathBuf {
        let path = folder.join("v8-1.0.0.crate");
        let encoder = GzEncoder::new(File::create(&path).expect("made"), Compression::fast());
        let mut archive = tar::Builder::new(encoder);
        for (name, text) in entries {
            let mut header = tar::Header::new_gnu();
            header.set_size(text.len() as u64);
            header.set_mode(0o644);
            let bytes = header.as_old_mut();
            let name = format!("v8-1.0.0/{name}");
            bytes.name[..name.len()].copy_from_slice(name.as_bytes());
            header.set_cksum();
            archive.append(&header, text.as_bytes()).expect("added");
        }
        archive
            .into_inner()
            .and_then(GzEncoder::finish)
            .expect("written");
        path
    }

    #[test]
    fn a_changed_removed_or_additional_file_is_put_right() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let source = folder.path().join("src");
        let path = crate_file(folder.path(), &[("a.h", "one\n"), ("b/c.h", "two\n")]);
        let unpack = || {
            let mut tree = SourceTree::new(&source);
            tree.unpack(&path, &[]).expect("unpacked");
            tree.remove_others().expect("removed");
            (tree.added, tree.restored)
        };
        assert_eq!(unpack(), (2, vec![]));
        assert_eq!(unpack(), (0, vec![]));
        fs::write(source.join("a.h"), "0ne\n").expect("changed");
        fs::remove_file(source.join("b/c.h")).expect("removed");
        fs::write(source.join("b/d.h"), "").expect("added");
        assert_eq!(unpack(), (1, vec![PathBuf::from("a.h")]));
        assert_eq!(
            fs::read_to_string(source.join("a.h")).expect("there"),
            "one\n"
        );
        assert!(!source.join("b/d.h").exists());
    }

    #[test]
    fn a_crate_with_another_byte_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = crate_file(folder.path(), &[("a.h", "one\n")]);
        let checksum = files::sha256(&path).expect("read");
        check_crate(&path, &checksum).expect("it is the one");
        let mut bytes = fs::read(&path).expect("read");
        bytes[20] ^= 1;
        fs::write(&path, bytes).expect("written");
        let error = check_crate(&path, &checksum)
            .expect_err("changed")
            .to_string();
        assert!(
            error.contains("is not the crate that Cargo.lock names"),
            "{error}"
        );
    }

    #[test]
    fn a_path_that_leads_out_is_refused() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = crate_file(folder.path(), &[("../../out.h", "one\n")]);
        let source = folder.path().join("src");
        assert!(SourceTree::new(&source).unpack(&path, &[]).is_err());
        assert!(!folder.path().join("out.h").exists());
    }

    #[test]
    fn a_step_without_its_file_is_an_error() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = crate_file(folder.path(), &[("a.h", "one\n")]);
        let source = folder.path().join("src");
        let steps = [&DIFFERENCES[0]];
        let error = SourceTree::new(&source)
            .unpack(&path, &steps)
            .expect_err("missing");
        assert!(error.to_string().starts_with("0 of 1 steps"), "{error}");
    }
}
