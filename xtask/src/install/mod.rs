//! `cargo xtask install`: haft with its system tools, completions and manual pages, below a prefix.
//!
//! `layout` names the files, `place` writes them. Nothing is removed; the printed list shows which
//! files to remove for an uninstallation. Installing over an older haft is safe while it runs,
//! since every file is replaced whole.

pub mod layout;
pub mod place;

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::error::{During, Error, Result};
use crate::files;
use crate::supply::notices;
use crate::{command, programs, system_tools, workspace};
use layout::Layout;

/// Build haft and install it: the program, the system tools, completions, manual pages, notices of third parties.
#[derive(Args)]
#[command(after_help = "\
Examples:
  cargo xtask install --prefix ~/.local
  cargo build --release && sudo cargo xtask install --prefix /usr/local --from target/release")]
pub struct Install {
    /// Prefix of the installation: PREFIX/bin, PREFIX/libexec/haft, PREFIX/share
    #[arg(long)]
    prefix: PathBuf,

    /// Install a development build: quick to make, slow to run
    #[arg(long)]
    debug: bool,

    /// Build nothing: install the programs from this directory
    #[arg(long, value_name = "DIR", conflicts_with = "debug")]
    from: Option<PathBuf>,
}

impl Install {
    pub fn run(self) -> Result<()> {
        let prefix = absolute(&self.prefix)?;
        let layout = Layout::below(&prefix);
        // Checked before the build, which takes minutes.
        place::folders(&prefix, &layout.folders())?;
        let built = match &self.from {
            Some(directory) => absolute(directory)?,
            None => programs::build(!self.debug)?,
        };
        let haft = program(&built, "haft")?;
        let system_tools = program(&built, system_tools::PROGRAM)?;

        let installed = lay_out(&haft, &system_tools, &layout)?;
        for path in installed {
            println!("{}", path.display());
        }
        say_what_is_next(&layout);
        Ok(())
    }
}

/// Puts the programs and everything that belongs to them below a prefix; returns the files.
pub fn lay_out(haft: &Path, system_tools: &Path, layout: &Layout) -> Result<Vec<PathBuf>> {
    let mut installed = vec![layout.program()];
    place::copy(haft, &layout.program(), place::PROGRAM)?;
    // Hard links, one file under six names. A symbolic link would be resolved by programs that
    // ask for their real path, and the program recognises its tool by the name.
    let mut first: Option<PathBuf> = None;
    for name in system_tools::names(system_tools)? {
        let tool = layout.system_tool(&name);
        match &first {
            None => place::copy(system_tools, &tool, place::PROGRAM)?,
            Some(first) => place::same(first, &tool)?,
        }
        first.get_or_insert_with(|| tool.clone());
        installed.push(tool);
    }
    for (shell, path) in layout.completions() {
        let script = command::output(Command::new(haft).args(["completions", shell]))?;
        place::text(&script, &path)?;
        installed.push(path);
    }
    installed.extend(manual(haft, layout)?);
    place::text(&notices::text(&workspace::root())?, &layout.notices())?;
    installed.push(layout.notices());
    Ok(installed)
}

fn absolute(path: &Path) -> Result<PathBuf> {
    std::path::absolute(path).during(|| format!("find `{}`", path.display()))
}

fn program(directory: &Path, name: &str) -> Result<PathBuf> {
    let path = directory.join(name);
    if path.is_file() {
        return Ok(path);
    }
    Err(Error::Missing {
        what: format!("`{}` does not exist", path.display()),
        hint: "leave out --from, or build first with `cargo build --release`".into(),
    })
}

fn manual(haft: &Path, layout: &Layout) -> Result<Vec<PathBuf>> {
    let making = || "make the manual pages".to_owned();
    let pages = tempfile::tempdir().during(making)?;
    command::output(Command::new(haft).arg("manual").arg(pages.path()))?;
    let mut installed = Vec::new();
    for page in files::entries(pages.path())? {
        let path = layout.manual_page(page.file_name().unwrap_or_default());
        place::copy(&page, &path, place::DATA)?;
        installed.push(path);
    }
    Ok(installed)
}

fn say_what_is_next(layout: &Layout) {
    let bin = layout.program();
    let bin = bin.parent().expect("a program is in a directory");
    let path = env::var_os("PATH").unwrap_or_default();
    if !env::split_paths(&path).any(|entry| entry == bin) {
        eprintln!("hint: put {} into your PATH", bin.display());
    }
    eprintln!("hint: `haft --system-tools list` shows the system tools; they are off otherwise");
}

#[cfg(test)]
mod tests;
