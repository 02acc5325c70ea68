//! Files that common programs read below the home directory: those on `PATH`, installed languages
//! with their packages, and git's configuration.
//!
//! A sandboxed program can read them as it can read `/usr`. None of them holds credentials, which
//! is why some folders are named by their parts (`.cargo/registry`, not `.cargo`).

use std::path::{Path, PathBuf};

use haft_process::inherited;

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

/// Variables that name other places for these folders.
const PLACES: [&str; 13] = [
    "ASDF_DATA_DIR",
    "BUN_INSTALL",
    "GOMODCACHE",
    "GOROOT",
    "JAVA_HOME",
    "MISE_DATA_DIR",
    "NVM_DIR",
    "PNPM_HOME",
    "PYENV_ROOT",
    "RUSTUP_HOME",
    "SDKMAN_DIR",
    "VIRTUAL_ENV",
    "VOLTA_HOME",
];

/// Returns the existing files and folders that programs of the user with that home directory read.
pub(super) fn of_user(home: &Path) -> Vec<PathBuf> {
    let path = inherited("PATH").unwrap_or_default();
    let on_path = std::env::split_paths(&path);
    let named = PLACES.into_iter().filter_map(inherited).map(PathBuf::from);
    // A variable that names the home directory, or a folder that contains it, grants nothing.
    let is_plain = |folder: &PathBuf| folder.is_absolute() && !home.starts_with(folder);
    let below_home = GIT_FILES.into_iter().chain(INSTALLED);
    let below_home = below_home.map(|name| home.join(name));
    let system = PathBuf::from("/etc/gitconfig");
    let files = on_path.chain(named).filter(is_plain);
    let files = files.chain(below_home).chain([system]);
    files.filter(|file| file.exists()).collect()
}
