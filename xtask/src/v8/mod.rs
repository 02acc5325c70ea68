//! `cargo xtask v8`: ensures that this machine has the V8 library that the build links.
//!
//! The sources, in order: `RUSTY_V8_ARCHIVE`, cargo's cache, an offline bundle, the download, and a
//! build from the source in the `v8` crate. All but the last are checked against the pinned hashes;
//! a built archive is checked against the record of its build. The archive goes into cargo's cache,
//! where the `v8` crate's build script looks first; afterwards plain `cargo build` works.

mod archive;
mod choice;
mod download;
mod pins;
mod places;
mod source;
mod store;

use std::path::Path;

use clap::Args;

use crate::error::Result;
use crate::{command, files, workspace};
use archive::Archive;
use choice::ArchiveChoice;
use download::FetchError;
use pins::Pins;
use places::{Found, Places};
use source::{BuildExtent, SourceBuild};

/// Get the V8 library that the build links, and say where it came from.
#[derive(Args)]
pub struct V8 {
    /// Build it from the source that the `v8` crate carries, with package registries alone
    #[arg(long)]
    from_source: bool,

    /// Of the build, make only one object of each group of sources
    #[arg(long, requires = "from_source")]
    sample: bool,
}

impl V8 {
    pub fn run(self) -> Result<()> {
        if self.sample {
            let archive = Archive::needed(&workspace::root())?;
            return SourceBuild::new(&archive, BuildExtent::Sample)?.run(Path::new(""));
        }
        if self.from_source {
            return ensure_by(ArchiveChoice::Source);
        }
        ensure()
    }
}

/// Gets the archive from the first place that has it.
pub fn ensure() -> Result<()> {
    ensure_by(ArchiveChoice::of_environment()?)
}

fn ensure_by(choice: ArchiveChoice) -> Result<()> {
    let root = workspace::root();
    let archive = Archive::needed(&root)?;
    let pins = Pins::of_repository();
    let places = Places::of(&root, workspace::cargo_home()?, choice)?;
    let entry = archive.cache_entry(&places.cargo_home);
    // Without a choice, a right archive in the cache is kept, and a wrong one is an error.
    let is_replaceable = choice != ArchiveChoice::Any && entry.is_file();
    let earlier = is_replaceable.then(|| files::sha256(&entry)).transpose()?;
    let from = match places.find(&archive, &pins)? {
        Some(Found::Given(given)) => format!("RUSTY_V8_ARCHIVE, {given}"),
        Some(Found::Cached(entry)) => format!("cargo's cache, {}", entry.display()),
        Some(Found::Built(entry)) => format!("built from source, {}", entry.display()),
        Some(Found::Bundled(path)) => format!("the bundle, {}", path.display()),
        None => get(choice, &archive, &entry, &pins)?,
    };
    if let Some(earlier) = earlier
        && earlier != files::sha256(&entry)?
    {
        forget_linked(&root)?;
    }
    eprintln!("V8 {} for {}: {from}", archive.version, archive.target);
    Ok(())
}

/// Downloads or builds the archive into cargo's cache, and says which.
fn get(choice: ArchiveChoice, archive: &Archive, entry: &Path, pins: &Pins) -> Result<String> {
    if choice.downloads() {
        match download::fetch(archive, entry, pins) {
            Ok(()) => return Ok(format!("downloaded, kept as {}", entry.display())),
            // Another content than the pinned one never leads to another source.
            Err(FetchError::Unreachable(error)) if choice.builds() => eprintln!("warning: {error}"),
            Err(FetchError::Unreachable(error) | FetchError::Refused(error)) => return Err(error),
        }
    }
    let build = SourceBuild::new(archive, BuildExtent::Archive)?;
    source::confirm()?;
    build.run(entry)?;
    Ok(format!("built from source, kept as {}", entry.display()))
}

/// Removes what cargo has made of an archive that was replaced: the crate's build script would neither
/// notice that nor copy the archive again.
fn forget_linked(root: &Path) -> Result<()> {
    let target = workspace::target_dir(root)?;
    for profile in ["debug", "release"] {
        let copy = target.join(profile).join("gn_out");
        if !copy.exists() {
            continue;
        }
        eprintln!("the archive is another one: the {profile} build compiles the `v8` crate again");
        files::remove_folder(&copy)?;
        let name = match profile {
            "debug" => "dev",
            other => other,
        };
        let mut cargo = command::cargo(root);
        command::run(cargo.args(["clean", "--package", "v8", "--profile", name]))?;
    }
    Ok(())
}
