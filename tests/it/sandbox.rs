//! Isolated environment of one run: empty home, clean environment, temporary directory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use haft::config::Env;
use haft::config::Isolation;
use haft::{Config, Flags, Host};
use tempfile::TempDir;

/// Time limit of one command in seconds; after it the command counts as hanging.
const LIMIT: &str = "120";

/// The profile of the tools of projects. The default has tests of its own: most tests are not about
/// a sandbox, and run in all three isolations.
const TOOLS_PROFILE: &str = "full";

/// The variable that names that profile.
const PROJECT_PROFILE: &str = "HAFT_SANDBOX_PROJECT";

/// A temporary directory with the environment that goes with it.
pub struct Sandbox {
    dir: TempDir,
    env: BTreeMap<&'static str, String>,
}

/// Returns the isolation of tools in this run of the tests, by the variable `HAFT_TEST_ISOLATION`.
fn isolation() -> Option<Isolation> {
    let name = std::env::var("HAFT_TEST_ISOLATION").ok()?;
    Some(Isolation::parse(&name).expect("`process` or `sandbox`"))
}

/// Returns true if this run of the tests has the modules in sandboxes.
pub fn has_sandboxes() -> bool {
    isolation() == Some(Isolation::Sandbox)
}

/// Resolves the configuration of a host in the process of the tests, with the isolation of this run.
pub fn resolve(flags: Flags, env: &Env) -> Result<Config, haft::Error> {
    let mut config = Config::resolve_with(flags, env)?;
    config.sandbox.project = Some(TOOLS_PROFILE.to_owned());
    if let Some(isolation) = isolation() {
        config.isolation = isolation;
    }
    Ok(config)
}

/// Output of a command on both streams, in order, and its exit code.
#[must_use]
pub struct Ran {
    pub output: String,
    pub code: i32,
}

impl Sandbox {
    /// Makes an empty sandbox.
    pub fn empty() -> Self {
        let dir = tempfile::Builder::new()
            .prefix("haft-it-")
            .tempdir()
            .expect("the temporary directory can be written");
        let home = dir.path().join("home");
        let env = BTreeMap::from([
            ("HOME", home.display().to_string()),
            ("PATH", search_path()),
            // The one place outside of the home directory and the project where tools may be.
            (
                "HAFT_CYCOD_GLOBAL_DIR",
                dir.path().join("cycod-global").display().to_string(),
            ),
            (PROJECT_PROFILE, TOOLS_PROFILE.into()),
            ("LANG", "C.UTF-8".into()),
            ("TERM", "dumb".into()),
            ("TZ", "UTC".into()),
            ("CASE", dir.path().display().to_string()),
            ("GIT_AUTHOR_NAME", "Ada".into()),
            ("GIT_AUTHOR_EMAIL", "ada@example.org".into()),
            ("GIT_COMMITTER_NAME", "Ada".into()),
            ("GIT_COMMITTER_EMAIL", "ada@example.org".into()),
            ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ]);
        let mut sandbox = Sandbox { dir, env };
        if let Some(isolation) = isolation() {
            sandbox
                .env
                .insert("HAFT_ISOLATION", isolation.as_str().into());
        }
        sandbox
    }

    /// Leaves the isolation to the configuration, in each run of the tests.
    pub fn isolation_is_configured(&mut self) {
        self.env.remove("HAFT_ISOLATION");
    }

    /// Gives the tools of the project the profile of the configuration, or the default.
    pub fn profile_of_the_project_is_configured(&mut self) {
        self.env.remove(PROJECT_PROFILE);
    }

    /// Makes an empty sandbox with a home directory.
    pub fn with_home() -> Self {
        let sandbox = Self::empty();
        fs::create_dir(sandbox.dir.path().join("home")).expect("a directory of ours");
        sandbox
    }

    /// Makes a sandbox with a copy of everything in `folder`; its `home/`, if any, is the home
    /// directory.
    pub fn with(folder: &Path) -> Self {
        let sandbox = Self::empty();
        copy(folder, sandbox.dir.path());
        fs::create_dir_all(sandbox.dir.path().join("home")).expect("a directory of ours");
        sandbox
    }

    /// Makes a host whose home and project are the sandbox. `change` may alter the default
    /// configuration.
    pub fn host(&self, change: impl FnOnce(&mut Config)) -> Host {
        let env = Env {
            current_dir: Some(self.path()),
            home: Some(self.path().join("home")),
            ..Env::default()
        };
        let mut config = resolve(Flags::default(), &env).expect("a configuration");
        change(&mut config);
        Host::new(config)
    }

    /// Sets a variable of the environment of all commands that follow.
    pub fn set(&mut self, name: &'static str, value: String) {
        self.env.insert(name, value);
    }

    /// Returns the directory, which is also the working directory.
    pub fn path(&self) -> PathBuf {
        self.dir.path().to_owned()
    }

    /// Writes a file, and the directories that it needs.
    pub fn write(&self, path: &str, text: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        let folder = path.parent().expect("a file is in a directory");
        fs::create_dir_all(folder).expect("a directory of ours");
        fs::write(&path, text).expect("a directory of ours");
        path
    }

    /// Copies a program into the sandbox. `cp` copies it: if this process did, a child that another
    /// test starts meanwhile could inherit the writable descriptor, and the copy would be busy.
    pub fn copy_program(&self, program: &str, name: &str) -> PathBuf {
        let copy = self.path().join(name);
        let copied = Command::new("cp").arg(program).arg(&copy).status();
        assert!(copied.expect("`cp` is on every machine").success());
        copy
    }

    /// Makes a named pipe: opening one end blocks until the other end is open too.
    pub fn fifo(&self, path: &str) -> PathBuf {
        let path = self.dir.path().join(path);
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("`mkfifo` is on every machine").success());
        path
    }

    /// Returns the command of a program with the sandbox's environment, for other uses than
    /// [`Self::sh`].
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(self.dir.path())
            .env_clear()
            .envs(&self.env);
        command
    }

    /// Returns the command of haft itself.
    pub fn haft(&self) -> Command {
        self.command(env!("CARGO_BIN_EXE_haft"))
    }

    /// Runs one line of shell; its output names the sandbox `$CASE`.
    pub fn sh(&self, line: &str) -> Ran {
        let outputs = tempfile::tempdir().expect("the temporary directory can be written");
        let path = outputs.path().join("output");
        let output = File::create(&path).expect("a file of ours");
        let status = Command::new("timeout")
            .args(["--kill-after=2", LIMIT, "sh", "-c", line])
            .current_dir(self.dir.path())
            .env_clear()
            .envs(&self.env)
            .stdin(Stdio::null())
            .stdout(output.try_clone().expect("a file can be shared"))
            .stderr(output)
            .status()
            .expect("`timeout` and `sh` are on every machine");
        let bytes = fs::read(&path).expect("a file of ours");
        let case = self.dir.path().display().to_string();
        Ran {
            output: String::from_utf8_lossy(&bytes).replace(&case, "$CASE"),
            code: status
                .code()
                .unwrap_or_else(|| 128 + status.signal().unwrap_or(0)),
        }
    }
}

/// haft's own directory first, then the cases' helpers, then the machine's programs.
pub fn search_path() -> String {
    let haft = Path::new(env!("CARGO_BIN_EXE_haft"));
    let helpers = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/specs/bin");
    format!(
        "{}:{}:{}",
        haft.parent()
            .expect("a program is in a directory")
            .display(),
        helpers.display(),
        std::env::var("PATH").unwrap_or_default()
    )
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory of ours");
    for entry in fs::read_dir(from).expect("a folder of the checkout") {
        let entry = entry.expect("a folder of the checkout");
        let (source, target) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().expect("a file of the checkout");
        if kind.is_dir() {
            copy(&source, &target);
        } else if kind.is_symlink() {
            let link = fs::read_link(&source).expect("a link of the checkout");
            std::os::unix::fs::symlink(link, &target).expect("a directory of ours");
        } else {
            fs::copy(&source, &target).expect("a directory of ours");
        }
    }
}
