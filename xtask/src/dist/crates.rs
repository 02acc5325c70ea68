//! Packages for crates.io. Users build them without Node.js: the JavaScript is bundled here.
//!
//! The packages are made in a copy of the sources, in which `crates/engine/bundled` and `bundled` have
//! what the build scripts otherwise make with Node.js. The checkout never has these folders, so that
//! no build in it uses an old bundle.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, empty};
use crate::error::{During, Error, Result};
use crate::files;
use crate::{command, prerequisites, workspace};

/// Size limit of crates.io for one package.
const MAX_BYTES: u64 = 10 << 20;

const LICENCES: [&str; 2] = ["LICENSE-APACHE", "LICENSE-MIT"];

/// Folder below `work` that stays: the release runs `cargo publish` in it.
const SOURCES: &str = "crates-sources";

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    prerequisites::for_a_bundle()?;
    let stage = stage(context, SOURCES)?;
    bundle(context, &stage)?;
    copy_licences(&stage)?;
    let target = context.out.join("work/crates-target");
    let mut cargo = command::cargo(&stage);
    // `check` builds them. Without a repository there is nothing to be dirty, and no commit to record.
    cargo.args([
        "package",
        "--workspace",
        "--exclude",
        "xtask",
        "--no-verify",
        "--quiet",
    ]);
    command::run(cargo.arg("--target-dir").arg(&target))?;
    let folder = empty(&context.out.join("crates"))?;
    let mut made = Vec::new();
    for name in names(&stage)? {
        let file = format!("{name}-{}.crate", context.facts.version);
        let (from, to) = (target.join("package").join(&file), folder.join(&file));
        let bytes = fs::copy(&from, &to).during(|| format!("copy `{}`", from.display()))?;
        if bytes > MAX_BYTES {
            let text = format!("`{file}` has {bytes} bytes; crates.io takes {MAX_BYTES}");
            return Err(Error::unexpected(text));
        }
        made.push(to);
    }
    Ok(made)
}

/// Returns the names of the published packages.
pub fn names(root: &Path) -> Result<Vec<String>> {
    let metadata = workspace::metadata(root, &["--no-deps"])?;
    let packages = metadata["packages"].as_array().into_iter().flatten();
    let published = packages.filter(|package| package["publish"].is_null());
    let mut names: Vec<String> = published
        .filter_map(|package| Some(package["name"].as_str()?.to_owned()))
        .collect();
    names.sort();
    Ok(names)
}

/// Returns a fresh copy of the files that git knows.
pub fn stage(context: &Context, name: &str) -> Result<PathBuf> {
    let stage = context.work(name)?;
    let mut git = Command::new("git");
    git.current_dir(&context.root).args(["ls-files", "-z"]);
    for name in command::output(&mut git)?.split('\0') {
        let from = context.root.join(name);
        if name.is_empty() || !from.is_file() {
            continue;
        }
        files::copy(&from, &stage.join(name))?;
    }
    Ok(stage)
}

/// Bundles the JavaScript into the packages that embed it.
fn bundle(context: &Context, stage: &Path) -> Result<()> {
    let engine = stage.join("crates/engine/bundled");
    node(context, "js-runtime/build.mjs", &engine.join("packages"))?;
    node(
        context,
        "src/surface/page/web/build.mjs",
        &stage.join("bundled/page"),
    )?;
    for path in files::entries(&stage.join("js-runtime"))? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.ends_with(".ts") && name.starts_with(|c: char| c.is_ascii_digit()) {
            files::copy(&path, &engine.join("runtime").join(&*name))?;
        }
    }
    Ok(())
}

/// Copies the licences into each package; `include` of `haft` names them.
fn copy_licences(stage: &Path) -> Result<()> {
    for package in files::entries(&stage.join("crates"))? {
        for name in LICENCES {
            files::copy(&stage.join(name), &package.join(name))?;
        }
    }
    Ok(())
}

fn node(context: &Context, script: &str, out: &Path) -> Result<()> {
    let mut node = Command::new("node");
    node.current_dir(&context.root)
        .arg(script)
        .arg("--out")
        .arg(out);
    command::run(&mut node)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::links::normalized;

    /// Returns the paths in `include_str!("…")` and `include_bytes!("…")`.
    fn included(source: &str) -> impl Iterator<Item = &str> {
        let calls = source.split("include_").skip(1);
        let arguments = calls.filter_map(|call| {
            let (name, rest) = call.split_once("!(")?;
            let is_of_text = name == "str" || name == "bytes";
            rest.trim_start().strip_prefix('"').filter(|_| is_of_text)
        });
        arguments.filter_map(|argument| Some(argument.split_once('"')?.0))
    }

    #[test]
    fn paths_of_included_files_are_found() {
        let source = "include_str!(\n    \"../a.txt\"\n) include_bytes!(\"b\") include!(\"c\") include_str!(NAME)";
        assert_eq!(included(source).collect::<Vec<_>>(), ["../a.txt", "b"]);
        assert_eq!(
            normalized(Path::new("src/x/../../types/a.txt")),
            Path::new("types/a.txt")
        );
    }

    /// `include` of `Cargo.toml` lists the files outside `src`, and nothing but a build of the
    /// published package notices one that is missing.
    #[test]
    fn packages_have_the_files_that_their_code_includes() {
        let root = workspace::root();
        let metadata = workspace::metadata(&root, &["--no-deps"]).expect("the workspace is valid");
        let packages = metadata["packages"].as_array().expect("a list");
        let mut missing = Vec::new();
        for package in packages
            .iter()
            .filter(|package| package["publish"].is_null())
        {
            let text = |name: &str| package[name].as_str().expect("a text").to_owned();
            let mut cargo = command::cargo(&root);
            cargo.args(["package", "--list", "--allow-dirty", "--package"]);
            let list = command::output(cargo.arg(text("name"))).expect("cargo lists the files");
            let files: Vec<&Path> = list.lines().map(Path::new).collect();
            let manifest = text("manifest_path");
            let folder = Path::new(&manifest)
                .parent()
                .expect("a file is in a folder");
            for file in files
                .iter()
                .filter(|file| file.extension().is_some_and(|it| it == "rs"))
            {
                // The lists have files that cargo makes, too.
                let Ok(source) = fs::read_to_string(folder.join(file)) else {
                    continue;
                };
                let beside = file.parent().expect("a file is in a folder");
                let needed = included(&source).map(|path| normalized(&beside.join(path)));
                let needed = needed.filter(|path| !files.contains(&path.as_path()));
                missing
                    .extend(needed.map(|path| format!("{}: {}", file.display(), path.display())));
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }
}
