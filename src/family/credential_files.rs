//! Files with credentials: what no sandbox makes readable with the folder around it, and what no note
//! of haft names.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet};

/// Files with credentials, and folders that contain nothing else. A path starts at the home
/// directory, and `*` stands for one part of it. An entry with `**/` is a name in any folder, in
/// which `*` stands for any text. It is for notes only: not every folder is searched for it.
///
/// The paths are those where each installer of `INSTALLED`, and each package manager of its language,
/// keeps a token, a password or a private key by its own documentation, and the usual ones of
/// others, for a `PATH` that names a folder above them. `docs/sandbox.md` says how it is kept.
const CREDENTIALS: [&str; 85] = [
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
    // In any folder
    "**/*.jks",
    "**/*.kdbx",
    "**/*.key",
    "**/*.p12",
    "**/*.pem",
    "**/*token*",
    "**/.docker",
    "**/.env",
    "**/.password-store",
    "**/.pgpass",
    "**/.vault-token",
    "**/credentials",
    "**/credentials.json",
    "**/credentials.toml",
    "**/gcloud",
    "**/gh",
    "**/keyrings",
    "**/shadow",
    "**/sudoers",
];

/// Returns the existing paths of the list below the home directory, also where a folder of `named`
/// stands for one below it, and what links among them lead to.
pub(super) fn find(home: &Path, named: &[(PathBuf, &str)]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for pattern in CREDENTIALS.iter().filter(|it| !it.starts_with("**/")) {
        find_paths(home, Path::new(pattern), &mut found);
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

/// Returns true if a path is one of the list, or lies below one, in whatever home directory.
pub(super) fn contains(path: &Path) -> bool {
    static MATCHERS: LazyLock<GlobSet> = LazyLock::new(|| {
        let patterns = CREDENTIALS.iter().map(|it| it.trim_start_matches("**/"));
        let globs = patterns.map(|pattern| {
            let pattern = format!("**/{pattern}");
            let mut glob = GlobBuilder::new(&pattern);
            glob.literal_separator(true).case_insensitive(true).build()
        });
        let set = globs.collect::<Result<Vec<_>, _>>();
        set.and_then(GlobSet::new)
            .expect("the patterns of the list are valid")
    });
    path.ancestors().any(|path| MATCHERS.is_match(path))
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
