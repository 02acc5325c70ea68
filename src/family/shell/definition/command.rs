//! One thing to execute, in the words of the file: exactly one kind (spec cycod 19–25).

/// A command with `{references}` in its text.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Command {
    /// `bash:` one text for `bash -c`.
    Bash(String),
    /// `cmd:` for Windows' own shell.
    Cmd(String),
    /// `pwsh:` for PowerShell.
    Pwsh(String),
    /// `run:` a program and its arguments without a shell; split into words before references are
    /// filled.
    Run(String),
    /// `script:` with `shell:`; `None`: the platform's default shell.
    Script { text: String, shell: Option<String> },
    /// `commands:` one text per platform, for that platform's default shell.
    Commands(Commands),
}

/// `commands:` a text for each platform.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Commands {
    pub(crate) default: Option<String>,
    pub(crate) windows: Option<String>,
    pub(crate) linux: Option<String>,
    pub(crate) macos: Option<String>,
}

/// The systems that the format knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Platform {
    Windows,
    Linux,
    Macos,
}

impl Platform {
    /// Every platform by its name in files.
    pub(crate) const NAMES: [(&'static str, Platform); 3] = [
        ("windows", Platform::Windows),
        ("linux", Platform::Linux),
        ("macos", Platform::Macos),
    ];

    /// Returns the platform that haft runs on. Systems other than Windows and macOS use Linux's
    /// commands.
    pub(crate) const fn current() -> Platform {
        if cfg!(windows) {
            Platform::Windows
        } else if cfg!(target_os = "macos") {
            Platform::Macos
        } else {
            Platform::Linux
        }
    }

    /// Returns its name in files, which is also the value of `{OS}`.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Platform::Windows => "windows",
            Platform::Linux => "linux",
            Platform::Macos => "macos",
        }
    }
}

impl Commands {
    /// Returns the text for `platform`, or the default (spec cycod 24).
    pub(crate) fn on(&self, platform: Platform) -> Option<&str> {
        let own = match platform {
            Platform::Windows => &self.windows,
            Platform::Linux => &self.linux,
            Platform::Macos => &self.macos,
        };
        own.as_deref().or(self.default.as_deref())
    }

    /// Returns all texts that are set.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &str> {
        let all = [&self.default, &self.windows, &self.linux, &self.macos];
        all.into_iter().filter_map(|text| text.as_deref())
    }
}

impl Command {
    /// Returns the key of its kind in files.
    pub(crate) const fn key(&self) -> &'static str {
        match self {
            Command::Bash(_) => "bash",
            Command::Cmd(_) => "cmd",
            Command::Pwsh(_) => "pwsh",
            Command::Run(_) => "run",
            Command::Script { .. } => "script",
            Command::Commands(_) => "commands",
        }
    }

    /// Returns every text in it that `{references}` are filled into.
    pub(crate) fn texts(&self) -> Vec<&str> {
        match self {
            Command::Bash(text)
            | Command::Cmd(text)
            | Command::Pwsh(text)
            | Command::Run(text)
            | Command::Script { text, .. } => vec![text],
            Command::Commands(commands) => commands.texts().collect(),
        }
    }
}
