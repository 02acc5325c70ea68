//! Plans the build: `gn` from PyPI turns the tree's build files into ninja's.
//!
//! GN expects the compiler and the runtime library in one folder with Chromium's layout. Debian's
//! layout differs, so a folder of links provides it; the system's own folders stay unchanged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::recipe;
use crate::command;
use crate::error::{During, Result};

/// Plans the build of `tree` in `out`. Running it again changes nothing that ninja would see.
pub fn generate(tree: &Path, out: &Path) -> Result<()> {
    let gn = gn(&tree.join("tools-gn"))?;
    let clang = clang(&tree.join("tools-clang"))?;
    command::output(
        Command::new(gn)
            .current_dir(tree)
            .arg("--root=.")
            .arg("--script-executable=python3")
            .arg("gen")
            .arg(out)
            .arg(format!(
                "--args={}",
                recipe::gn_args(&clang.to_string_lossy())
            )),
    )?;
    Ok(())
}

/// Installs `gn` into a virtual environment of its own, once.
fn gn(environment: &Path) -> Result<PathBuf> {
    let program = environment.join("bin/gn");
    if !program.is_file() {
        let python = environment.join("bin/python");
        command::run(
            Command::new("python3")
                .args(["-m", "venv", "--clear"])
                .arg(environment),
        )?;
        command::run(
            Command::new(python)
                .args([
                    "-m",
                    "pip",
                    "install",
                    "--quiet",
                    "--disable-pip-version-check",
                ])
                .arg(recipe::GN),
        )?;
    }
    Ok(program)
}

/// Makes a folder of links that shows Debian's clang in the layout that GN expects.
fn clang(view: &Path) -> Result<PathBuf> {
    let system = recipe::llvm();
    let resources = format!("lib/clang/{}", recipe::LLVM);
    link(Path::new(&system).join("bin"), view.join("bin"))?;
    for part in ["include", "share"] {
        let path = format!("{resources}/{part}");
        link(Path::new(&system).join(&path), view.join(&path))?;
    }
    let runtime = format!("{resources}/lib/{}/libclang_rt.builtins.a", recipe::TARGET);
    link(PathBuf::from(recipe::builtins()), view.join(runtime))?;
    Ok(view.to_path_buf())
}

fn link(target: PathBuf, at: PathBuf) -> Result<()> {
    if at.is_symlink() {
        return Ok(());
    }
    let doing = || format!("link `{}`", at.display());
    fs::create_dir_all(at.parent().expect("inside the view")).during(doing)?;
    symlink(target, &at).during(doing)
}
