//! Names of the `v8` crate's prebuilt library: its file name, its download address, and its name in
//! cargo's cache.
//!
//! The rules are those of the crate's own build script. They hold for every cargo profile: a debug
//! build links the release archive too, unless `V8_FORCE_DEBUG` is set.

use std::env;
use std::path::{Path, PathBuf};

use crate::error::Result;
use crate::workspace;

const RELEASES: &str = "https://github.com/denoland/rusty_v8/releases/download";

/// The features of the `v8` crate that `deno_core` turns on and that change the library.
const FEATURES: &str = "_simdutf";

pub struct Archive {
    pub version: String,
    pub target: String,
    profile: &'static str,
    base: String,
}

impl Archive {
    /// Returns the archive that the checkout at `root` needs on this machine.
    pub fn needed(root: &Path) -> Result<Self> {
        let target = workspace::host_target()?;
        let debug = env::var("V8_FORCE_DEBUG").is_ok_and(|on| ["1", "true", "yes"].contains(&&*on));
        Ok(Self {
            version: workspace::locked_version(root, "v8")?,
            profile: if debug && !target.contains("windows") {
                "debug"
            } else {
                "release"
            },
            target,
            base: env::var("RUSTY_V8_MIRROR").unwrap_or_else(|_| RELEASES.to_owned()),
        })
    }

    pub fn file_name(&self) -> String {
        let Self {
            target, profile, ..
        } = self;
        if target.contains("windows") {
            format!("rusty_v8{FEATURES}_{profile}_{target}.lib.gz")
        } else {
            format!("librusty_v8{FEATURES}_{profile}_{target}.a.gz")
        }
    }

    /// Tells whether the library is one with V8's own checks.
    pub fn is_debug(&self) -> bool {
        self.profile == "debug"
    }

    pub fn url(&self) -> String {
        format!("{}/v{}/{}", self.base, self.version, self.file_name())
    }

    /// Returns the file that the crate's build script looks for before it downloads.
    pub fn cache_entry(&self, cargo_home: &Path) -> PathBuf {
        let escape = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
        cache(cargo_home).join(self.url().chars().map(escape).collect::<String>())
    }
}

/// Returns the folder of cargo's home in which the `v8` crate keeps downloads.
pub fn cache(cargo_home: &Path) -> PathBuf {
    cargo_home.join(".rusty_v8")
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn archive() -> Archive {
        archive_at(RELEASES)
    }

    pub fn archive_for(target: &str) -> Archive {
        Archive {
            target: target.into(),
            ..archive()
        }
    }

    pub fn archive_at(base: &str) -> Archive {
        Archive {
            version: "150.4.0".into(),
            target: "x86_64-unknown-linux-gnu".into(),
            profile: "release",
            base: base.into(),
        }
    }

    #[test]
    fn the_cache_entry_is_the_escaped_url() {
        assert_eq!(
            archive().cache_entry(Path::new("/home/ada/.cargo")),
            Path::new(
                "/home/ada/.cargo/.rusty_v8/https___github_com_denoland_rusty_v8_releases_download_\
                 v150_4_0_librusty_v8_simdutf_release_x86_64_unknown_linux_gnu_a_gz"
            )
        );
    }

    #[test]
    fn a_mirror_changes_the_url_and_windows_the_name() {
        let archive = Archive {
            base: "https://mirror.example".into(),
            ..archive_for("x86_64-pc-windows-msvc")
        };
        assert_eq!(
            archive.url(),
            "https://mirror.example/v150.4.0/rusty_v8_simdutf_release_x86_64-pc-windows-msvc.lib.gz"
        );
    }
}
