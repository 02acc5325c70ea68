//! Directories of oh-my-pi, Claude and Codex. Their own variables can move them.
//!
//! The rules are theirs: a profile overrides `PI_CODING_AGENT_DIR`, and `XDG_DATA_HOME` counts only
//! if its `omp` folder exists already.

use std::path::{Path, PathBuf};

use super::{Env, paths};

/// Directories of the systems whose tools haft runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots {
    /// The name of oh-my-pi's folder, `.omp` unless `PI_CONFIG_DIR` says otherwise.
    pub omp_name: String,
    /// `~/.omp/agent`: the user's tools and settings.
    pub omp_agent: PathBuf,
    /// `~/.omp/plugins`: what the user installed with `omp plugin`.
    pub omp_plugins: PathBuf,
    /// `~/.claude`.
    pub claude: PathBuf,
    /// `~/.codex`.
    pub codex: PathBuf,
    /// `~/.cycod/tools`: the user's YAML shell tools.
    pub cycod_user: PathBuf,
    /// The YAML shell tools for all users of the machine.
    pub cycod_global: PathBuf,
    /// `~/.config`: where git keeps its global ignore file.
    pub config_home: PathBuf,
    /// `~/.cache`: where opencode installs plugins.
    pub cache_home: PathBuf,
    /// The folders of `AMP_TOOLBOX`.
    pub amp_toolbox: Vec<PathBuf>,
    /// A profile name that oh-my-pi does not allow; the default profile is used instead.
    pub refused_profile: Option<String>,
}

impl Roots {
    pub(super) fn locate(env: &Env, home: &Path, cwd: &Path, config_home: PathBuf) -> Roots {
        let omp_name = env
            .pi_config_dir
            .clone()
            .unwrap_or_else(|| ".omp".to_owned());
        let base = paths::join(home, &omp_name);
        let started_in = env.current_dir.as_deref().unwrap_or(cwd);
        let (profile, refused_profile) = profile(env);

        let omp_root = match &profile {
            Some(name) => base.join("profiles").join(name),
            None => base,
        };
        let moved = match profile {
            None => env.pi_coding_agent_dir.as_ref(),
            Some(_) => None,
        };
        let omp_agent = match moved {
            Some(path) => paths::resolve(started_in, path),
            None => omp_root.join("agent"),
        };
        let data = if omp_agent == omp_root.join("agent") {
            existing_data_root(env, profile.as_deref())
        } else {
            None
        };
        let claude = match trimmed(env.claude_config_dir.as_deref()) {
            Some(path) => paths::resolve(started_in, &path),
            None => home.join(".claude"),
        };
        Roots {
            omp_plugins: data.unwrap_or(omp_root).join("plugins"),
            omp_name,
            omp_agent,
            claude,
            codex: home.join(".codex"),
            cycod_user: home.join(".cycod/tools"),
            cycod_global: PathBuf::new(),
            config_home,
            cache_home: super::base_directory(&env.xdg_cache_home, home, ".cache"),
            amp_toolbox: split(env.amp_toolbox.as_deref()),
            refused_profile,
        }
    }
}

/// Returns the folders of a list as `PATH` has it.
fn split(list: Option<&str>) -> Vec<PathBuf> {
    let folders = std::env::split_paths(list.unwrap_or_default());
    folders
        .filter(|path| !path.as_os_str().is_empty())
        .collect()
}

/// Returns the active profile, and the given name if it is not a valid profile name.
fn profile(env: &Env) -> (Option<String>, Option<String>) {
    let Some(given) = env.omp_profile.as_ref().or(env.pi_profile.as_ref()) else {
        return (None, None);
    };
    match given.trim() {
        "" | "default" => (None, None),
        name if is_profile_name(name) => (Some(name.to_owned()), None),
        _ => (None, Some(given.clone())),
    }
}

/// Returns true for a lower-case file name that is safe on every system. The name becomes part of a
/// path, so this check also makes `OMP_PROFILE=../..` harmless.
fn is_profile_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let stem = name.split('.').next().unwrap_or(name);
    let is_device = matches!(stem, "con" | "prn" | "aux" | "nul")
        || (stem.len() == 4
            && (stem.starts_with("com") || stem.starts_with("lpt"))
            && stem.ends_with(|c: char| c.is_ascii_digit()));
    name.len() <= 64
        && name.starts_with(plain)
        && name
            .chars()
            .all(|c| plain(c) || matches!(c, '.' | '_' | '-'))
        && !name.ends_with('.')
        && !is_device
}

fn existing_data_root(env: &Env, profile: Option<&str>) -> Option<PathBuf> {
    let app = env.xdg_data_home.as_ref()?.join("omp");
    let root = match profile {
        Some(name) => app.join("profiles").join(name),
        None => app,
    };
    (root.is_absolute() && root.exists()).then_some(root)
}

fn trimmed(path: Option<&Path>) -> Option<PathBuf> {
    let path = path?;
    match path.to_str().map(str::trim) {
        Some("") => None,
        Some(text) => Some(text.into()),
        None => Some(path.to_owned()),
    }
}
