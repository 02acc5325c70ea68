//! `cargo xtask v8`: ensures that this machine has the V8 library that the build links.
//!
//! The sources, in order: `RUSTY_V8_ARCHIVE`, cargo's cache, an offline bundle, the download. All are
//! checked against the pinned hashes. The last two put the archive into cargo's cache, where the `v8`
//! crate's build script looks first; afterwards plain `cargo build` works.

mod archive;
mod download;
mod pins;
mod places;
mod store;

use clap::Args;

use crate::error::Result;
use crate::workspace;
use archive::Archive;
use pins::Pins;
use places::{Found, Places};

/// Get the V8 library that the build links, and say where it came from.
#[derive(Args)]
pub struct V8 {}

impl V8 {
    pub fn run(self) -> Result<()> {
        ensure()
    }
}

/// Gets the archive from the first place that has it.
pub fn ensure() -> Result<()> {
    let root = workspace::root();
    let archive = Archive::needed(&root)?;
    let pins = Pins::of_repository();
    let places = Places::of(&root, workspace::cargo_home()?);
    let from = match places.find(&archive, &pins)? {
        Some(Found::Given(given)) => format!("RUSTY_V8_ARCHIVE, {given}"),
        Some(Found::Cached(entry)) => format!("cargo's cache, {}", entry.display()),
        Some(Found::Bundled(path)) => format!("the bundle, {}", path.display()),
        None => {
            let entry = archive.cache_entry(&places.cargo_home);
            download::fetch(&archive, &entry, &pins)?;
            format!("downloaded, kept as {}", entry.display())
        }
    };
    eprintln!("V8 {} for {}: {from}", archive.version, archive.target);
    Ok(())
}
