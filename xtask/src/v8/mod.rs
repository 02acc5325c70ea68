//! `cargo xtask v8`: ensures that this machine has the V8 library that the build links.
//!
//! The sources, in order: `RUSTY_V8_ARCHIVE`, cargo's cache, an offline bundle, the download, a
//! build from source. All but the last are checked against the pinned hashes. The last three put
//! the archive into cargo's cache, where the `v8` crate's build script looks first; afterwards
//! plain `cargo build` works.

mod archive;
mod download;
mod pins;
mod places;
mod source;
mod store;

use clap::Args;

use crate::error::Result;
use crate::workspace;
use archive::Archive;
use download::Download;
use pins::Pins;
use places::{Found, Places};

/// Get the V8 library that the build links, and say where it came from.
#[derive(Args)]
pub struct V8 {
    /// Build it from the `v8` crate's own source, even where it could be had otherwise.
    #[arg(long)]
    from_source: bool,
}

impl V8 {
    pub fn run(self) -> Result<()> {
        if self.from_source {
            let root = workspace::root();
            let archive = Archive::needed(&root)?;
            let entry = source::build(&archive, &root, &workspace::cargo_home()?)?;
            pins::note_built_here(&entry)?;
            tell(
                &archive,
                &format!("built from source, kept as {}", entry.display()),
            );
            return Ok(());
        }
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
            match download::fetch(&archive, &entry, &pins)? {
                Download::Done => format!("downloaded, kept as {}", entry.display()),
                Download::Unreachable(why) => {
                    eprintln!("the V8 archive cannot be downloaded: {why}");
                    eprintln!("  it would come from {}", archive.url());
                    source::build(&archive, &root, &places.cargo_home)?;
                    pins::note_built_here(&entry)?;
                    format!("built from source, kept as {}", entry.display())
                }
            }
        }
    };
    tell(&archive, &from);
    Ok(())
}

fn tell(archive: &Archive, from: &str) {
    eprintln!("V8 {} for {}: {from}", archive.version, archive.target);
}
