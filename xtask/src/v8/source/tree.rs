//! The source tree of the build: a copy of the crate, with the recipe's edits and the ICU data.
//!
//! Cargo's own copy is never changed. A stamp marks a complete tree: an interrupted copy is made
//! again, and a complete one is kept so that ninja can continue.

use std::fs;
use std::path::Path;

use super::recipe::{self, Edit};
use crate::error::{During, Error, Result};
use crate::workspace;

/// Makes the tree at `tree` from the crate's source at `krate`, unless it exists already.
pub fn prepare(krate: &Path, tree: &Path) -> Result<()> {
    let stamp = tree.join("prepared");
    if fs::read_to_string(&stamp).is_ok_and(|text| text == recipe::REVISION) {
        return Ok(());
    }
    eprintln!("copying the source of the `v8` crate");
    if tree.exists() {
        fs::remove_dir_all(tree).during(|| format!("remove `{}`", tree.display()))?;
    }
    copy(krate, tree)?;
    for edit in recipe::EDITS {
        apply(edit, tree)?;
    }
    let (script, text) = recipe::CLUSTER_SCRIPT;
    put(&tree.join(script), text.as_bytes())?;
    put(
        &tree.join("third_party/icu/common/icudtl.dat"),
        &icu_data(tree)?,
    )?;
    put(&stamp, recipe::REVISION.as_bytes())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let doing = || format!("copy `{}` to `{}`", from.display(), to.display());
    fs::create_dir_all(to).during(doing)?;
    for entry in fs::read_dir(from).during(doing)? {
        let entry = entry.during(doing)?;
        let target = to.join(entry.file_name());
        if entry.file_type().during(doing)?.is_dir() {
            copy(&entry.path(), &target)?;
        } else {
            fs::copy(entry.path(), &target).during(doing)?;
        }
    }
    Ok(())
}

fn apply(edit: &Edit, tree: &Path) -> Result<()> {
    let path = tree.join(edit.file);
    let text = fs::read_to_string(&path).during(|| format!("read `{}`", path.display()))?;
    if !text.contains(edit.old) {
        return Err(Error::unexpected(format!(
            "`{}` does not have `{}`: the recipe in xtask is for another version of the `v8` crate",
            edit.file, edit.old
        )));
    }
    put(&path, text.replace(edit.old, edit.new).as_bytes())
}

fn put(path: &Path, content: &[u8]) -> Result<()> {
    let doing = || format!("write `{}`", path.display());
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).during(doing)?;
    }
    fs::write(path, content).during(doing)
}

/// Returns the data file of the crate's ICU version.
///
/// Cargo fetches the package, as the only dependency of a package made for that purpose. That
/// package is outside the tree, which requires a toolchain of its own.
fn icu_data(tree: &Path) -> Result<Vec<u8>> {
    let header = tree.join("third_party/icu/source/common/unicode/uvernum.h");
    let text = fs::read_to_string(&header).during(|| format!("read `{}`", header.display()))?;
    let major = icu_major(&text)
        .ok_or_else(|| Error::unexpected(format!("`{}` names no version", header.display())))?;
    let folder = tempfile::tempdir().during(|| "make a temporary folder".into())?;
    let package = folder.path();
    let manifest = format!(
        "[package]\nname = \"icu-data\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n{} = \"0.{major}\"\n",
        recipe::ICU_DATA
    );
    put(&package.join("Cargo.toml"), manifest.as_bytes())?;
    put(&package.join("src/lib.rs"), b"")?;
    let data = workspace::package_source(package, recipe::ICU_DATA)?.join("src/icudtl.dat");
    fs::read(&data).during(|| format!("read `{}`", data.display()))
}

fn icu_major(header: &str) -> Option<u32> {
    let line = header
        .lines()
        .find_map(|line| line.strip_prefix("#define U_ICU_VERSION_MAJOR_NUM"))?;
    line.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_icu_version_is_read_from_its_header() {
        let header = "/** The current ICU major version */\n#define U_ICU_VERSION_MAJOR_NUM 77\n";
        assert_eq!(icu_major(header), Some(77));
        assert_eq!(icu_major("#define U_ICU_VERSION_MINOR_NUM 1\n"), None);
    }

    #[test]
    fn an_edit_that_does_not_fit_is_an_error_that_names_the_file() {
        let tree = tempfile::tempdir().expect("a temporary folder");
        fs::write(tree.path().join("BUILD.gn"), "flags = [ \"-a\" ]\n").expect("written");
        let fits = Edit {
            file: "BUILD.gn",
            old: "\"-a\"",
            new: "",
        };
        apply(&fits, tree.path()).expect("fits");
        let text = fs::read_to_string(tree.path().join("BUILD.gn")).expect("there");
        assert_eq!(text, "flags = [  ]\n");
        let error = apply(&fits, tree.path()).expect_err("it is gone");
        assert!(error.to_string().contains("`BUILD.gn`"), "{error}");
    }

    #[test]
    fn a_copy_has_every_file_below() {
        let place = tempfile::tempdir().expect("a temporary folder");
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        fs::create_dir_all(from.join("a/b")).expect("made");
        fs::write(from.join("a/b/c"), "text").expect("written");
        copy(&from, &to).expect("copied");
        assert_eq!(fs::read_to_string(to.join("a/b/c")).expect("there"), "text");
    }
}
