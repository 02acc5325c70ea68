//! The npm packages, in empty projects: with install scripts, and without them.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::super::{Context, npm};
use super::{exercise, exists, is_gone, put_tool};
use crate::command;
use crate::error::{During, Error, Result};
use crate::files;

/// First bytes of a program of Linux.
const ELF: &[u8] = b"\x7fELF";

/// Program of a user of the library.
const LIBRARY_CALL: &str = r#"
import("haft").then(async ({ haft }) => {
  const tools = await haft({ cwd: process.env.HOME });
  const result = await tools.call("greet", { name: "Ada" });
  await tools.close();
  if (result.text !== "Hello, Ada!") process.exitCode = 1;
});
"#;

/// A project with its own home directory and npm cache.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn new() -> Result<Project> {
        let making = || "make an npm project".to_owned();
        let folder = tempfile::tempdir().during(making)?;
        let project = Project { folder };
        files::write(
            &project.path("project/package.json"),
            "{\"private\": true}\n",
        )?;
        put_tool(&project.path("home"))?;
        Ok(project)
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn npm(&self, words: &[&str]) -> Command {
        let mut npm = Command::new("npm");
        npm.current_dir(self.path("project")).args(words);
        npm.args(["--offline", "--no-audit", "--no-fund", "--cache"]);
        npm.arg(self.path("cache"));
        npm
    }

    /// Makes a folder with these programs only.
    fn programs(&self, names: &[&str]) -> Result<PathBuf> {
        let folder = self.path("programs");
        files::make_folder(&folder)?;
        for name in names {
            let program = command::on_path(name)
                .ok_or_else(|| Error::unexpected(format!("there is no `{name}`")))?;
            symlink(program, folder.join(name)).during(|| format!("link `{name}`"))?;
        }
        Ok(folder)
    }

    fn haft(&self, path: &Path, words: &[&str]) -> Command {
        let mut haft = Command::new(self.path("project/node_modules/.bin/haft"));
        haft.args(words).current_dir(self.path("home")).env_clear();
        haft.env("PATH", path).env("HOME", self.path("home"));
        haft
    }
}

pub fn check(context: &Context) -> Result<String> {
    for file in npm::files(context)? {
        exists(&file)?;
    }
    let with = with_scripts(context)?;
    let without = without_scripts(context)?;
    Ok(format!("{with}; {without}"))
}

/// Installs with scripts: the program replaces the launcher, and Node.js is not needed any more.
fn with_scripts(context: &Context) -> Result<String> {
    let project = Project::new()?;
    install(context, &project, &["--foreground-scripts"])?;
    let program = project.path("project/node_modules/haft/bin/haft");
    let content = fs::read(&program).during(|| format!("read `{}`", program.display()))?;
    if context.facts.is_linux() && !content.starts_with(ELF) {
        return Err(Error::unexpected(format!(
            "the install script left the launcher at `{}`",
            program.display()
        )));
    }
    // `sh` for the stubs of the system tools.
    let path = project.programs(&["sh"])?;
    let home = project.path("home").display().to_string();
    exercise(context, &home, |words| project.haft(&path, words))?;
    remove(&project)?;
    Ok("npm install --offline: the program is linked, no Node.js runs; version, list, two calls; removed".into())
}

/// Installs without scripts: the launcher starts the program of the platform's package.
fn without_scripts(context: &Context) -> Result<String> {
    let project = Project::new()?;
    install(context, &project, &["--ignore-scripts"])?;
    let path = project.programs(&["sh", "node"])?;
    let home = project.path("home").display().to_string();
    exercise(context, &home, |words| project.haft(&path, words))?;
    let failed = project.haft(&path, &["call", "unknown"]).output();
    let code = failed.during(|| "start the launcher".into())?.status.code();
    if code != Some(3) {
        return Err(Error::unexpected(format!(
            "the launcher ended with {code:?} and not with the program's exit code 3"
        )));
    }
    command::output(
        Command::new("node")
            .current_dir(project.path("project"))
            .args(["-e", LIBRARY_CALL])
            .env("HOME", project.path("home")),
    )?;
    remove(&project)?;
    Ok("--ignore-scripts: the launcher works, the library calls a tool; removed".into())
}

fn install(context: &Context, project: &Project, options: &[&str]) -> Result<()> {
    let mut npm = project.npm(&["install"]);
    npm.args(options).args(npm::files(context)?);
    command::output(&mut npm).map(drop)
}

fn remove(project: &Project) -> Result<()> {
    let mut npm = project.npm(&["uninstall", "haft"]);
    let manifest = project.path("project/package.json");
    let text = files::read(&manifest)?;
    let platform = text.split('"').find(|word| word.starts_with("@haft/"));
    command::output(npm.args(platform))?;
    is_gone(&project.path("project/node_modules/.bin/haft"))?;
    is_gone(&project.path("project/node_modules/haft"))
}
