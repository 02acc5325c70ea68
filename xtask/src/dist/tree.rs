//! The installation that packages wrap: programs, system tools, manual pages, completions, texts.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, empty, program};
use crate::command;
use crate::error::Result;
use crate::files;
use crate::install::layout::Layout;
use crate::install::{self, place};

/// Files of the checkout that every package has beside its programs.
pub const TEXTS: [&str; 4] = ["README.md", "LICENSE-APACHE", "LICENSE-MIT", "CHANGELOG.md"];

/// Returns the folder with the installation.
pub fn folder(context: &Context) -> PathBuf {
    context.out.join("work/tree")
}

/// Makes the installation.
pub fn lay_out(context: &Context) -> Result<()> {
    let prefix = empty(&folder(context))?;
    let layout = Layout::below(&prefix);
    let [haft, system_tools] = program::kept(&context.out);
    place::folders(&prefix, &layout.folders())?;
    install::lay_out(&haft, &system_tools, &layout)?;
    for name in TEXTS {
        let to = layout.notices().with_file_name(name);
        place::copy(&context.root.join(name), &to, place::DATA)?;
    }
    Ok(())
}

/// Copies a folder: each file is a hard link, because several copies of the program take much room.
/// A copy may replace files, but not change them.
pub fn copy(from: &Path, to: &Path) -> Result<()> {
    files::make_folder(to)?;
    let mut cp = Command::new("cp");
    cp.arg("-al").arg(from.join(".")).arg(to);
    command::output(&mut cp).map(drop)
}

/// Returns the files below a folder, relative to it and sorted.
pub fn files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut waiting = vec![folder.to_owned()];
    while let Some(next) = waiting.pop() {
        for path in files::entries(&next)? {
            if path.is_dir() && !path.is_symlink() {
                waiting.push(path);
            } else if let Ok(relative) = path.strip_prefix(folder) {
                found.push(relative.to_owned());
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Script in the place of a system tool, for formats that know no links: npm and wheels. The program
/// itself is beside the folder of the tools.
pub fn stub(tool: &str) -> String {
    format!(
        "#!/bin/sh\nexec \"${{0%/*}}/../{}\" {tool} \"$@\"\n",
        crate::system_tools::PROGRAM
    )
}

/// Puts the system tools below a prefix in that form.
pub fn put_stubs(context: &Context, prefix: &Path) -> Result<()> {
    let layout = Layout::below(prefix);
    let [_, system_tools] = program::kept(&context.out);
    let names = crate::system_tools::names(&system_tools)?;
    let program = prefix.join("libexec").join(crate::system_tools::PROGRAM);
    place::copy(&system_tools, &program, place::PROGRAM)?;
    for name in names {
        place::program_text(&stub(&name), &layout.system_tool(&name))?;
    }
    Ok(())
}
