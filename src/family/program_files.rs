//! Files that common programs read below the home directory: those on `PATH`, installed languages
//! with their packages, and git's configuration.
//!
//! A sandboxed program can read them as it can read `/usr`, except for credentials: some folders are
//! named by their parts (`.cargo/registry`, not `.cargo`), and those of [`credential_files`] are left
//! out of all.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};

use haft_process::{GrantedPath, LinkBounds, inherited};

use super::credential_files;

/// Files of git's configuration. git ends with an error if one of them is there and cannot be read.
const GIT_FILES: [&str; 4] = [
    ".gitconfig",
    ".config/git/config",
    ".config/git/ignore",
    ".config/git/attributes",
];

/// Folders in which installers of languages and packages keep what they have installed. Their
/// programs on `PATH` are often links or scripts that lead there.
const INSTALLED: [&str; 43] = [
    // Rust
    ".rustup",
    ".cargo/bin",
    ".cargo/git",
    ".cargo/registry",
    ".cargo/config.toml",
    // JavaScript
    ".bun/bin",
    ".bun/install",
    ".deno/bin",
    ".local/share/fnm",
    ".local/share/pnpm",
    ".nodenv",
    ".npm-global",
    ".nvm",
    ".volta",
    // Python
    ".conda/envs",
    ".local/lib",
    ".local/pipx",
    ".local/share/pipx",
    ".local/share/uv",
    ".pyenv",
    "anaconda3",
    "miniconda3",
    "miniforge3",
    // Go
    "go/bin",
    "go/pkg",
    "sdk",
    // Java
    ".gradle/caches",
    ".gradle/wrapper",
    ".jenv",
    ".m2/repository",
    ".sdkman",
    // Ruby
    ".local/share/gem",
    ".rbenv",
    ".rvm",
    // Others
    ".asdf",
    ".dotnet",
    ".ghcup",
    ".julia",
    ".juliaup",
    ".local/share/mise",
    ".local/state/nix",
    ".nix-profile",
    ".opam",
];

/// Variables that name other places for these folders, with the folder that they stand for.
const PLACES: [(&str, &str); 13] = [
    ("ASDF_DATA_DIR", ".asdf"),
    ("BUN_INSTALL", ".bun"),
    ("GOMODCACHE", "go/pkg/mod"),
    ("GOROOT", "go"),
    ("JAVA_HOME", ".sdkman/candidates/java/current"),
    ("MISE_DATA_DIR", ".local/share/mise"),
    ("NVM_DIR", ".nvm"),
    ("PNPM_HOME", ".local/share/pnpm"),
    ("PYENV_ROOT", ".pyenv"),
    ("RUSTUP_HOME", ".rustup"),
    ("SDKMAN_DIR", ".sdkman"),
    ("VIRTUAL_ENV", ".conda/envs/*"),
    ("VOLTA_HOME", ".volta"),
];

/// Files of the user that every program may read.
pub(super) struct ProgramFiles<'a> {
    /// The real path of the home directory.
    pub(super) home: &'a Path,
    /// Bounds of the links that lead to them.
    pub(super) links: &'a LinkBounds,
    /// Returns the projects that the user trusts. Their tools may write to them, so that their links
    /// may not lead out of them either.
    pub(super) projects: &'a dyn Fn() -> Vec<PathBuf>,
}

impl ProgramFiles<'_> {
    /// Returns the existing files and folders, without credentials.
    pub(super) fn find(&self) -> Vec<GrantedPath> {
        let path = inherited("PATH").unwrap_or_default();
        let on_path = std::env::split_paths(&path);
        let named = PLACES.into_iter();
        let named =
            named.filter_map(|(variable, of)| Some((PathBuf::from(inherited(variable)?), of)));
        let named: Vec<(PathBuf, &str)> = named.collect();
        let below_home = GIT_FILES.into_iter().chain(INSTALLED);
        let below_home = below_home.map(|name| self.home.join(name));
        let files = on_path.chain(named.iter().map(|(folder, _)| folder.clone()));
        let files = files
            .chain(below_home)
            .chain([PathBuf::from("/etc/gitconfig")]);
        let credentials = credential_files::find(self.home, &named);
        let bounds = OnceCell::new();
        let granted = files.filter_map(|file| self.resolve(&file, &bounds));
        granted
            .flat_map(|file| file.without(&credentials))
            .collect()
    }

    /// Returns the real path of an existing file or folder. The home directory, and a folder that
    /// contains it, grants nothing.
    fn resolve(&self, file: &Path, bounds: &OnceCell<LinkBounds>) -> Option<GrantedPath> {
        let mut granted = self.links.resolve(file).ok()?;
        if granted.as_path() != file {
            // Most paths have no links, and need not know the projects.
            let with_projects = || {
                let mut bounds = self.links.clone();
                let projects = (self.projects)().into_iter();
                let projects = projects.filter(|project| !self.home.starts_with(project));
                projects.for_each(|project| bounds.add(&project));
                bounds
            };
            granted = bounds.get_or_init(with_projects).resolve(file).ok()?;
        }
        let real = granted.as_path();
        (real.exists() && !self.home.starts_with(real)).then_some(granted)
    }
}
