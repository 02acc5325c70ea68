//! File layout below an installation prefix, following the Unix file hierarchy.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub struct Layout {
    bin: PathBuf,
    libexec: PathBuf,
    share: PathBuf,
}

const BASH: &str = "bash-completion/completions";
const ZSH: &str = "zsh/site-functions";
const FISH: &str = "fish/vendor_completions.d";
const MANUAL: &str = "man/man1";
const DOCUMENTS: &str = "doc/haft";

impl Layout {
    pub fn below(prefix: &Path) -> Self {
        Layout {
            bin: prefix.join("bin"),
            // `bin/haft` looks for its system tools there.
            libexec: prefix.join("libexec/haft"),
            share: prefix.join("share"),
        }
    }

    /// Returns every folder that receives a file.
    pub fn folders(&self) -> Vec<PathBuf> {
        let shared = [BASH, ZSH, FISH, MANUAL, DOCUMENTS].map(|folder| self.share.join(folder));
        [self.bin.clone(), self.libexec.clone()]
            .into_iter()
            .chain(shared)
            .collect()
    }

    pub fn program(&self) -> PathBuf {
        self.bin.join("haft")
    }

    pub fn system_tool(&self, name: &str) -> PathBuf {
        self.libexec.join(name)
    }

    /// Returns the completion file of each shell.
    pub fn completions(&self) -> [(&'static str, PathBuf); 3] {
        [
            ("bash", self.share.join(BASH).join("haft")),
            ("zsh", self.share.join(ZSH).join("_haft")),
            ("fish", self.share.join(FISH).join("haft.fish")),
        ]
    }

    pub fn notices(&self) -> PathBuf {
        self.share.join(DOCUMENTS).join("THIRD_PARTY_NOTICES.txt")
    }

    pub fn manual_page(&self, name: &OsStr) -> PathBuf {
        self.share.join(MANUAL).join(name)
    }
}
