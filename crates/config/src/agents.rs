//! Paths of the settings of coding agents. The agents' own variables can move them.

use std::path::{Path, PathBuf};

use super::Env;

/// Paths of the user's settings of coding agents, and the program that agents start.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Agents {
    /// The running program, which agents are to start.
    pub program: PathBuf,
    /// The file in which Claude Code keeps the user's servers.
    pub claude_json: PathBuf,
    /// The folder of Claude Desktop's settings.
    pub claude_desktop: PathBuf,
    /// `~/.codex`, or `CODEX_HOME`.
    pub codex: PathBuf,
    /// `~/.cursor`.
    pub cursor: PathBuf,
    /// The folder of VS Code's user settings.
    pub vscode: PathBuf,
    /// `~/.config/opencode`.
    pub opencode: PathBuf,
    /// `~/.gemini`.
    pub gemini: PathBuf,
    /// `~/.pi/agent`.
    pub pi: PathBuf,
    /// `~/.omp/agent`.
    pub omp: PathBuf,
    /// `~/.copilot`, or `COPILOT_HOME`.
    pub copilot: PathBuf,
    /// `~/.config/goose`.
    pub goose: PathBuf,
    /// `~/.config/zed`.
    pub zed: PathBuf,
    /// `~/.config/kilo`.
    pub kilo: PathBuf,
    /// `~/.codeium/windsurf`.
    pub windsurf: PathBuf,
}

impl Agents {
    pub(super) fn locate(env: &Env, home: &Path, config_home: &Path) -> Agents {
        let claude = env.claude_config_dir.as_deref().unwrap_or(home);
        let absolute = |path: &Option<PathBuf>| path.clone().filter(|path| path.is_absolute());
        Agents {
            program: env.program.clone().unwrap_or_else(|| "haft".into()),
            claude_json: home.join(claude).join(".claude.json"),
            claude_desktop: if cfg!(target_os = "macos") {
                home.join("Library/Application Support/Claude")
            } else {
                config_home.join("Claude")
            },
            codex: absolute(&env.codex_home).unwrap_or_else(|| home.join(".codex")),
            cursor: home.join(".cursor"),
            vscode: config_home.join("Code/User"),
            opencode: config_home.join("opencode"),
            gemini: home.join(".gemini"),
            pi: home.join(".pi/agent"),
            omp: home.join(".omp/agent"),
            copilot: absolute(&env.copilot_home).unwrap_or_else(|| home.join(".copilot")),
            goose: config_home.join("goose"),
            zed: config_home.join("zed"),
            kilo: config_home.join("kilo"),
            windsurf: home.join(".codeium/windsurf"),
        }
    }
}
