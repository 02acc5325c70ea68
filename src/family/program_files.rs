//! Files that common programs read below the home directory: those on `PATH`, installed languages
//! with their packages, and git's configuration.
//!
//! A sandboxed program can read them as it can read `/usr`, except for credentials: some folders are
//! named by their parts (`.cargo/registry`, not `.cargo`), and [`CREDENTIALS`] are left out of all.

use std::cell::OnceCell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use haft_process::{GrantedPath, LinkBounds, inherited};

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

/// Files with credentials, and folders that contain nothing else, below the home directory; `*`
/// stands for one part of a path. They are never among the files that every program reads, whatever
/// folder above them is.
///
/// The list has each file in which a tool of [`INSTALLED`] keeps a token, a password or a private
/// key by its own documentation, and the usual ones of others, for a `PATH` that names a folder
/// above them. `docs/sandbox.md` says how it is kept.
const CREDENTIALS: [&str; 66] = [
    // Rust
    ".cargo/credentials",
    ".cargo/credentials.toml",
    // JavaScript
    ".asdf/installs/nodejs/*/etc/npmrc",
    ".bunfig.toml",
    ".config/pnpm/auth.ini",
    ".config/pnpm/rc",
    ".local/share/fnm/node-versions/*/installation/etc/npmrc",
    ".local/share/mise/installs/node/*/etc/npmrc",
    ".local/share/pnpm/nodejs/*/etc/npmrc",
    ".nodenv/versions/*/etc/npmrc",
    ".npm-global/etc/npmrc",
    ".npmrc",
    ".nvm/versions/node/*/etc/npmrc",
    ".volta/tools/image/node/*/etc/npmrc",
    ".yarnrc",
    ".yarnrc.yml",
    // Python
    ".conda/envs/*/.condarc",
    ".conda/envs/*/condarc.d",
    ".conda/envs/*/pip.conf",
    ".condarc",
    ".config/pip",
    ".config/pypoetry/auth.toml",
    ".local/share/pypoetry/auth.toml",
    ".local/share/uv/credentials",
    ".pip",
    ".pyenv/versions/*/pip.conf",
    ".pypirc",
    "anaconda3/.condarc",
    "anaconda3/condarc.d",
    "anaconda3/envs/*/pip.conf",
    "anaconda3/pip.conf",
    "miniconda3/.condarc",
    "miniconda3/condarc.d",
    "miniconda3/envs/*/pip.conf",
    "miniconda3/pip.conf",
    "miniforge3/.condarc",
    "miniforge3/condarc.d",
    "miniforge3/envs/*/pip.conf",
    "miniforge3/pip.conf",
    // Go: the addresses of private repositories are in the settings of its clones.
    "go/pkg/mod/cache/vcs",
    // Java
    ".gradle/gradle.properties",
    ".gradle/init.d",
    ".m2/settings-security.xml",
    ".m2/settings.xml",
    // Ruby
    ".bundle/config",
    ".gem/credentials",
    ".local/share/gem/credentials",
    // PHP
    ".composer/auth.json",
    ".config/composer/auth.json",
    // Others
    ".dotnet/corefx",
    ".hex/hex.config",
    ".julia/servers",
    ".nuget/NuGet/NuGet.Config",
    ".opam/plugins/opam-publish",
    // No language
    ".aws",
    ".azure",
    ".config/gcloud",
    ".config/gh",
    ".config/git/credentials",
    ".docker/config.json",
    ".git-credentials",
    ".gnupg",
    ".kube",
    ".local/share/keyrings",
    ".netrc",
    ".ssh",
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
        let credentials = self.credentials(&named);
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

    /// Returns the existing paths of [`CREDENTIALS`], also below the folders `named`.
    fn credentials(&self, named: &[(PathBuf, &str)]) -> Vec<PathBuf> {
        let mut found = Vec::new();
        for pattern in CREDENTIALS {
            find_paths(self.home, Path::new(pattern), &mut found);
            for (folder, of) in named {
                if let Ok(rest) = Path::new(pattern).strip_prefix(of) {
                    find_paths(folder, rest, &mut found);
                }
            }
        }
        // What a link leads to may lie in a readable folder, too.
        let real = found.iter().filter_map(|path| path.canonicalize().ok());
        let real: Vec<PathBuf> = real.collect();
        found.extend(real);
        found
    }
}

/// Adds the existing paths below `folder` that match `pattern`, in which `*` stands for one part.
fn find_paths(folder: &Path, pattern: &Path, found: &mut Vec<PathBuf>) {
    let parts: Vec<&OsStr> = pattern.iter().collect();
    let star = parts.iter().position(|part| *part == "*");
    let fixed: PathBuf = parts[..star.unwrap_or(parts.len())].iter().collect();
    let path = folder.join(fixed);
    let Some(star) = star else {
        if path.symlink_metadata().is_ok() {
            found.push(path);
        }
        return;
    };
    let rest: PathBuf = parts[star + 1..].iter().collect();
    for entry in std::fs::read_dir(path).into_iter().flatten().flatten() {
        find_paths(&entry.path(), &rest, found);
    }
}
