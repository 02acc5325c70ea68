//! Files that common programs read: those on `PATH` with the installations that they belong to,
//! installed languages with their packages in the home directory, and git's configuration.
//!
//! A program `PREFIX/bin/NAME` reads its libraries in `PREFIX/lib` and the like, wherever `PREFIX` is:
//! a cache of tools in CI, Homebrew, conda, `/opt`. A folder on `PATH` may hold links to programs of
//! other installations, as a virtual environment does.
//!
//! A sandboxed program can read them as it can read `/usr`, except for credentials: some folders are
//! named by their parts (`.cargo/registry`, not `.cargo`), and those of [`credential_files`] are left
//! out of all.

use std::cell::OnceCell;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use haft_process::{GrantedPath, LinkBounds, inherited, sandbox};

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

/// Folders of an installation besides that of its programs.
const KIN: [&str; 4] = ["lib", "lib64", "libexec", "share"];

/// Installation of which programs read more.
struct InstallationKind {
    /// A file or folder by which it is known.
    mark: &'static str,
    /// Files and folders that programs read; an empty name is all of it.
    files: &'static [&'static str],
    /// The folders of the home directory in which it usually is, for the credentials in it.
    usual: &'static [&'static str],
}

const INSTALLATIONS: [InstallationKind; 7] = [
    InstallationKind {
        mark: "conda-meta",
        files: &[""],
        usual: &["miniconda3"],
    },
    InstallationKind {
        mark: "pyvenv.cfg",
        files: &[""],
        usual: &[".conda/envs/*"],
    },
    // Managers of versions.
    InstallationKind {
        mark: "shims",
        files: &[""],
        usual: &[".asdf", ".local/share/mise", ".nodenv", ".pyenv"],
    },
    // Homebrew. Services keep their data in `var`, and their settings in `etc`.
    InstallationKind {
        mark: "Cellar",
        files: &["Cellar", "opt", "etc/ca-certificates", "etc/openssl@3"],
        usual: &[],
    },
    // Go
    InstallationKind {
        mark: "pkg/tool",
        files: &[""],
        usual: &[],
    },
    // Java
    InstallationKind {
        mark: "conf/security",
        files: &["conf"],
        usual: &[],
    },
    InstallationKind {
        mark: "jre/lib",
        files: &["jre"],
        usual: &[],
    },
];

/// Folders of packages that are read as a whole: every program there may use any of them.
const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// Limit of the entries of one folder on `PATH` that are looked at.
const MAX_ENTRIES: usize = 4096;

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
        let mut named: Vec<(PathBuf, &str)> = named.collect();
        let below_home = GIT_FILES.into_iter().chain(INSTALLED);
        let below_home = below_home.map(|name| self.home.join(name));
        let bounds = OnceCell::new();
        let searched: Vec<PathBuf> = on_path.collect();
        let absolute = searched.iter().filter(|folder| folder.is_absolute());
        let folders = absolute.flat_map(|folder| self.folders_of_programs(folder, &bounds));
        let programs: BTreeSet<PathBuf> = folders.collect();
        let mut installed = Vec::new();
        for folder in &programs {
            installed.extend(self.files_of(folder, &mut named));
        }
        let files = installed.into_iter().chain(searched.iter().cloned());
        let files = files
            .chain(named.iter().map(|(folder, _)| folder.clone()))
            .chain(below_home)
            .chain([PathBuf::from("/etc/gitconfig")]);
        let credentials = credential_files::find(self.home, &named);
        let resolved = files.filter_map(|file| self.resolve(&file, &bounds));
        let granted: BTreeSet<GrantedPath> = resolved.collect();
        granted
            .into_iter()
            .flat_map(|file| file.without(&credentials))
            .collect()
    }

    /// Finds the folders with the programs of a folder on `PATH`, some of which may be links.
    fn folders_of_programs(&self, folder: &Path, bounds: &OnceCell<LinkBounds>) -> Vec<PathBuf> {
        let Some(real) = self.resolve(folder, bounds) else {
            return Vec::new();
        };
        if sandbox::is_system_file(real.as_path()) {
            return Vec::new();
        }
        let entries = std::fs::read_dir(real.as_path()).into_iter().flatten();
        let first = entries.take(MAX_ENTRIES).flatten();
        let links = first.filter(|entry| entry.file_type().is_ok_and(|it| it.is_symlink()));
        let targets = links.filter_map(|link| self.resolve(&link.path(), bounds));
        let folders = targets.filter_map(|it| it.as_path().parent().map(Path::to_owned));
        let linked = folders.filter(|folder| !sandbox::is_system_file(folder));
        linked.chain([real.as_path().to_owned()]).collect()
    }

    /// Finds the files of the installation whose programs are in `folder`, a real path. Adds the
    /// places of its credentials to `named`.
    fn files_of(&self, folder: &Path, named: &mut Vec<(PathBuf, &str)>) -> Vec<PathBuf> {
        if let Some(store) = STORES.iter().find(|store| folder.starts_with(store)) {
            return vec![PathBuf::from(store)];
        }
        let name = folder.file_name().unwrap_or_default();
        let Some(prefix) = folder.parent().filter(|_| name == "bin" || name == "shims") else {
            return vec![folder.to_owned()];
        };
        // What contains the home directory, or the user's own data, is no installation.
        if self.home.starts_with(prefix) || prefix == self.home.join(".local") {
            return vec![folder.to_owned()];
        }
        let kin = KIN.iter().map(|name| prefix.join(name));
        let mut files: Vec<PathBuf> = kin.chain([folder.to_owned()]).collect();
        for kind in &INSTALLATIONS {
            if prefix.join(kind.mark).exists() {
                files.extend(kind.files.iter().map(|name| prefix.join(name)));
                named.extend(kind.usual.iter().map(|usual| (prefix.to_owned(), *usual)));
            }
        }
        files
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
