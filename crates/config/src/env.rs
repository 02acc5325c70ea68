//! The environment variables that haft reads, taken from the process once.
//!
//! A plain struct, so that tests and embedding hosts can pass another environment. Nothing is
//! interpreted here, and no other module of haft reads the process's variables.

#![expect(
    unsafe_code,
    reason = "a secret in the environment is overwritten in place"
)]

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::sync::OnceLock;

use haft_process::is_token;

/// Words by which the name of a variable shows that its value is secret.
const SECRET_WORDS: [&str; 8] = [
    "TOKEN",
    "SECRET",
    "PASSWORD",
    "PASSWD",
    "API_KEY",
    "APIKEY",
    "ACCESS_KEY",
    "CREDENTIAL",
];

/// The variable with the token of `haft serve`, without the prefix.
const SERVE_TOKEN: &str = "SERVE_TOKEN";

/// The value of `HAFT_SERVE_TOKEN`, once [`Env::take_tokens`] has removed it from the process.
static TAKEN_TOKEN: OnceLock<String> = OnceLock::new();

/// Variables by which terminals identify themselves.
const TERMINAL_VARIABLES: &[&str] = &[
    "COLORFGBG",
    "COLORTERM",
    "GHOSTTY_RESOURCES_DIR",
    "KITTY_WINDOW_ID",
    "KONSOLE_VERSION",
    "LC_TERMINAL",
    "STY",
    "TERM",
    "TERM_PROGRAM",
    "TMUX",
    "VTE_VERSION",
    "WEZTERM_EXECUTABLE",
    "WT_SESSION",
    "ZELLIJ",
];

/// Environment of a process. Empty variables count as unset.
#[derive(Clone, Debug, Default)]
pub struct Env {
    /// The directory that the process was started in; `None` if it is gone.
    pub current_dir: Option<PathBuf>,
    /// Path of the running program.
    pub program: Option<PathBuf>,
    /// The user's home: `HOME`, else what the system's user database says.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// `XDG_CACHE_HOME`.
    pub xdg_cache_home: Option<PathBuf>,
    /// `XDG_DATA_HOME`: moves oh-my-pi's plugins.
    pub xdg_data_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`: where files of running programs are.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `TMPDIR`: where temporary files go.
    pub tmpdir: Option<PathBuf>,
    /// `PI_CODING_AGENT_DIR`: moves `~/.omp/agent`.
    pub pi_coding_agent_dir: Option<PathBuf>,
    /// `PI_CONFIG_DIR`: another name for `.omp` in the home directory.
    pub pi_config_dir: Option<String>,
    /// `OMP_PROFILE`. Kept when empty: that selects the default profile.
    pub omp_profile: Option<String>,
    /// `PI_PROFILE`, used when `OMP_PROFILE` is unset.
    pub pi_profile: Option<String>,
    /// `CLAUDE_CONFIG_DIR`: moves `~/.claude`.
    pub claude_config_dir: Option<PathBuf>,
    /// `CODEX_HOME`: moves `~/.codex`.
    pub codex_home: Option<PathBuf>,
    /// `AMP_TOOLBOX`: folders with Amp's toolboxes, as `PATH` has them.
    pub amp_toolbox: Option<String>,
    /// `COPILOT_HOME`, the folder of the Copilot CLI's settings.
    pub copilot_home: Option<PathBuf>,
    /// `AYND_TEST_TOOLS_DIR`: moves aynd's plugin files.
    pub aynd_test_tools_dir: Option<PathBuf>,
    /// `VISUAL`, else `EDITOR`: the command line of the user's editor.
    pub editor: Option<String>,
    /// `BROWSER`: the command lines that open a page, with colons between them.
    pub browser: Option<String>,
    /// `TRACEPARENT`: the span of the program that started haft.
    pub traceparent: Option<String>,
    /// `TRACESTATE`, which belongs to it.
    pub tracestate: Option<String>,
    /// True if there is a graphical session: `WAYLAND_DISPLAY` or `DISPLAY`.
    pub has_display: bool,
    /// Variables that describe the terminal, by their names: `TERM`, `COLORTERM` and others.
    pub terminal: BTreeMap<&'static str, String>,
    /// Every `HAFT_*` variable by its name without the prefix.
    pub haft: BTreeMap<String, String>,
}

impl Env {
    /// Returns the value of a variable that sets a setting, by its full name.
    pub(super) fn variable(&self, name: &str) -> Option<String> {
        match name.strip_prefix("HAFT_") {
            Some(name) => self.haft.get(name).cloned(),
            None => {
                // The only variable of another program that sets one of our settings.
                let folder = self.aynd_test_tools_dir.as_ref();
                folder.map(|folder| folder.display().to_string())
            }
        }
    }

    /// Returns the values of this process's variables whose names show that they are secret.
    pub fn secrets_of_process() -> Vec<String> {
        let is_secret = |name: &str| {
            let name = name.to_ascii_uppercase();
            SECRET_WORDS.iter().any(|word| name.contains(word))
        };
        let all = std::env::vars_os();
        let all = all.filter_map(|(name, value)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        });
        all.filter(|(name, _)| is_secret(name))
            .map(|(_, value)| value)
            .collect()
    }

    /// Removes the tokens of haft (`HAFT_*TOKEN*`) from the environment of this process, and
    /// overwrites them in `/proc/self/environ`. Tools and the programs that they start could
    /// otherwise read them. [`Env::from_process`] still returns the token of `haft serve`. Must be
    /// called before a second thread exists.
    pub fn take_tokens() {
        let names: Vec<String> = std::env::vars_os()
            .filter_map(|(name, _)| name.into_string().ok())
            .filter(|name| is_token(OsStr::new(name)))
            .collect();
        for name in names {
            let value = std::env::vars_os().find(|(other, _)| *other == *name);
            let value = value.and_then(|(_, value)| value.into_string().ok());
            if let (Some("SERVE_TOKEN"), Some(value)) = (name.strip_prefix("HAFT_"), value)
                && !value.is_empty()
            {
                let _ = TAKEN_TOKEN.set(value);
            }
            overwrite(&name);
        }
    }

    /// Reads the environment of this process.
    #[expect(
        clippy::disallowed_methods,
        reason = "the one place that reads the environment"
    )]
    pub fn from_process() -> Env {
        let path = |name: &str| {
            std::env::var_os(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let text = |name: &str| std::env::var(name).ok();
        let haft = std::env::vars_os().filter_map(|(name, value)| {
            let name = name.to_str()?.strip_prefix("HAFT_")?.to_owned();
            let value = value.into_string().ok().filter(|value| !value.is_empty())?;
            Some((name, value))
        });
        let mut haft: BTreeMap<String, String> = haft.collect();
        if let Some(token) = TAKEN_TOKEN.get() {
            haft.insert(SERVE_TOKEN.to_owned(), token.clone());
        }
        Env {
            current_dir: std::env::current_dir().ok(),
            program: std::env::current_exe().ok(),
            home: path("HOME")
                .or_else(std::env::home_dir)
                .filter(|home| home.is_absolute()),
            xdg_config_home: path("XDG_CONFIG_HOME"),
            xdg_state_home: path("XDG_STATE_HOME"),
            xdg_cache_home: path("XDG_CACHE_HOME"),
            xdg_data_home: path("XDG_DATA_HOME"),
            xdg_runtime_dir: path("XDG_RUNTIME_DIR"),
            tmpdir: path("TMPDIR"),
            pi_coding_agent_dir: path("PI_CODING_AGENT_DIR"),
            pi_config_dir: text("PI_CONFIG_DIR").filter(|name| !name.is_empty()),
            omp_profile: text("OMP_PROFILE"),
            pi_profile: text("PI_PROFILE"),
            claude_config_dir: path("CLAUDE_CONFIG_DIR"),
            codex_home: path("CODEX_HOME"),
            amp_toolbox: text("AMP_TOOLBOX"),
            copilot_home: path("COPILOT_HOME"),
            aynd_test_tools_dir: path("AYND_TEST_TOOLS_DIR"),
            traceparent: text("TRACEPARENT"),
            tracestate: text("TRACESTATE"),
            editor: [text("VISUAL"), text("EDITOR")]
                .into_iter()
                .flatten()
                .find(|line| !line.trim().is_empty()),
            browser: text("BROWSER").filter(|line| !line.trim().is_empty()),
            has_display: path("WAYLAND_DISPLAY")
                .or_else(|| path("DISPLAY"))
                .is_some(),
            terminal: TERMINAL_VARIABLES
                .iter()
                .filter_map(|&name| Some((name, text(name).filter(|said| !said.is_empty())?)))
                .collect(),
            haft,
        }
    }
}

/// Overwrites the value of a variable in the process's initial environment, and removes the
/// variable.
fn overwrite(name: &str) {
    #[cfg(unix)]
    overwrite_value(name);
    // SAFETY: this is the only thread, so the environment cannot be read or changed meanwhile.
    unsafe {
        std::env::remove_var(name);
    }
}

/// Overwrites the value of a variable in the process's initial environment. Windows keeps no such
/// copy that other processes could read as a file.
#[cfg(unix)]
fn overwrite_value(name: &str) {
    let Ok(c_name) = std::ffi::CString::new(name) else {
        return;
    };
    // SAFETY: the pointer is null or that of a text which ends with a zero byte. The text is in
    // memory in which the kernel or the C library put the environment; both are writable. This is
    // the only thread, so the environment cannot be read or changed meanwhile.
    unsafe {
        let value = nix::libc::getenv(c_name.as_ptr());
        if !value.is_null() {
            std::ptr::write_bytes(value, 0, nix::libc::strlen(value));
        }
    }
}
