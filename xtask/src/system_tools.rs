//! `cargo xtask system-tools`: the system tools where a development build of haft looks for them.
//!
//! They are symbolic links to the one program beside haft, so the next `cargo build` renews all of
//! them. Only the program itself knows its tools.

use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;

use crate::error::{During, Result};
use crate::files;
use crate::{command, programs};

/// Name of the one program that contains all system tools.
pub const PROGRAM: &str = "haft-system-tools";

/// Build haft and put its system tools beside it, into target/debug/libexec/haft.
#[derive(Args)]
pub struct SystemTools {
    /// Do so for the release build
    #[arg(long)]
    release: bool,
}

impl SystemTools {
    pub fn run(self) -> Result<()> {
        for link in lay_out(&programs::build(self.release)?)? {
            println!("{}", link.display());
        }
        Ok(())
    }
}

/// Returns the file names of the tools in this program.
pub fn names(program: &Path) -> Result<Vec<String>> {
    let names = command::output(Command::new(program).arg("--names"))?;
    Ok(names.lines().map(str::to_owned).collect())
}

fn lay_out(built: &Path) -> Result<Vec<PathBuf>> {
    let folder = built.join("libexec/haft");
    files::make_folder(&folder)?;
    let mut links = Vec::new();
    for name in names(&built.join(PROGRAM))? {
        let link = folder.join(name);
        let target = Path::new("../..").join(PROGRAM);
        match symlink(&target, &link) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => made.during(|| format!("make the link `{}`", link.display()))?,
        }
        links.push(link);
    }
    Ok(links)
}
