//! `cargo xtask dist --check`: installs each package from its file, uses it, and removes it again.
//!
//! The places have neither Rust nor the checkout, and where possible no Node.js: a Debian system with
//! the essential packages only, an environment of Python, an empty npm project, a container.

mod crates;
mod npm;
mod oci;
mod root;
mod wheel;

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, Format, archive, deb, sbom, sums};
use crate::command;
use crate::error::{During, Error, Result};
use crate::files;

/// A tool of the user: a TypeScript module, so that V8, the transpiler and a host package run.
const TOOL: &str = r#"import { z } from "zod";
export default () => ({
  name: "greet",
  description: "Greets someone",
  parameters: z.object({ name: z.string() }),
  async execute(_id: string, { name }: { name: string }) {
    return { content: [{ type: "text", text: `Hello, ${name}!` }] };
  },
});
"#;

/// Checks the formats; every failure is printed, and the others are checked all the same.
pub fn run(context: &Context, formats: &[Format]) -> Result<()> {
    let mut failed = 0;
    for format in formats {
        match format.check(context) {
            Ok(done) => println!("{:<8} ok      {done}", format.name()),
            Err(error) => {
                failed += 1;
                println!("{:<8} FAILED", format.name());
                error.report();
            }
        }
    }
    if failed == 0 {
        return Ok(());
    }
    Err(Error::unexpected(format!(
        "{failed} of {} kinds of packages failed",
        formats.len()
    )))
}

impl Format {
    /// Checks the packages of this format and returns what was done.
    fn check(self, context: &Context) -> Result<String> {
        match self {
            Format::Archive => root::archive(context),
            Format::Deb => root::deb(context),
            Format::Npm => npm::check(context),
            Format::Wheel => wheel::check(context),
            Format::Oci => oci::check(context),
            Format::Crates => crates::check(context),
            Format::Sbom => check_sbom(context),
            Format::Formula => check_formula(context),
            Format::Sums => check_sums(context),
        }
    }
}

/// Returns an error if a package is missing.
fn exists(path: &Path) -> Result<()> {
    if path.is_file() {
        return Ok(());
    }
    Err(Error::Missing {
        what: format!("`{}` does not exist", path.display()),
        hint: "make the packages with `cargo xtask dist`".into(),
    })
}

/// Puts the example into a home directory.
fn put_tool(home: &Path) -> Result<()> {
    files::write(&home.join(".omp/agent/tools/greet.ts"), TOOL)
}

/// Uses haft: its version, a list, a call of a module and a call of a system tool. `start` makes the
/// command, `home` is the home directory as the program sees it.
fn exercise(context: &Context, home: &str, start: impl Fn(&[&str]) -> Command) -> Result<()> {
    let run = |words: &[&str]| command::output(&mut start(words));
    let version = format!("haft {}", context.facts.version);
    expect("--version", &run(&["--version"])?, |said| {
        said.trim() == version
    })?;
    expect("list", &run(&["list"])?, |said| said.contains("greet  "))?;
    let called = run(&["call", "greet", "--arg", "name=Ada"])?;
    expect("call greet", &called, |said| said.trim() == "Hello, Ada!")?;
    let file = format!("file_path={home}/.omp/agent/tools/greet.ts");
    let read = run(&["--system-tools", "call", "file_read", "--arg", &file])?;
    expect("call file_read", &read, |said| {
        said.contains("export default")
    })
}

fn expect(what: &str, said: &str, is_right: impl Fn(&str) -> bool) -> Result<()> {
    if is_right(said) {
        return Ok(());
    }
    Err(Error::unexpected(format!(
        "`haft {what}` printed something else: {said}"
    )))
}

/// Returns an error if the path is still there after the removal of a package.
fn is_gone(path: &Path) -> Result<()> {
    if path.symlink_metadata().is_err() {
        return Ok(());
    }
    Err(Error::unexpected(format!(
        "`{}` is left over after the package was removed",
        path.display()
    )))
}

fn check_sbom(context: &Context) -> Result<String> {
    let path = context.out.join(sbom::name(context));
    exists(&path)?;
    let bom = files::read_json(&path)?;
    let components = bom["components"].as_array().map_or(0, Vec::len);
    for name in ["deno_core", "v8", "tokio", "zod"] {
        let all = bom["components"].as_array().into_iter().flatten();
        if !all.into_iter().any(|component| component["name"] == name) {
            return Err(Error::unexpected(format!(
                "`{name}` is not in the bill of materials"
            )));
        }
    }
    Ok(format!(
        "CycloneDX {}, {components} components, V8 and npm packages among them",
        bom["specVersion"].as_str().unwrap_or_default()
    ))
}

/// Compares the formula with the archive. Homebrew itself cannot be had from a package registry.
fn check_formula(context: &Context) -> Result<String> {
    let path = context.out.join("haft.rb");
    exists(&path)?;
    let text = files::read(&path)?;
    let archive = context
        .out
        .join(format!("{}.tar.zst", archive::stem(context)));
    exists(&archive)?;
    if !text.contains(&files::sha256(&archive)?) {
        return Err(Error::unexpected(
            "the formula has another checksum than the archive",
        ));
    }
    let work = tempfile::tempdir().during(|| "make a folder".to_owned())?;
    root::unpack(&archive, work.path())?;
    let quoted = text.lines().filter(|line| line.contains(".install "));
    let mut files = 0;
    for pattern in quoted.filter_map(|line| line.split('"').nth(1)) {
        let below = work.path().join(pattern.trim_end_matches("/*"));
        if !below.exists() {
            return Err(Error::unexpected(format!("the archive has no `{pattern}`")));
        }
        files += 1;
    }
    let ruby = match command::on_path("ruby") {
        Some(ruby) => {
            command::output(Command::new(ruby).arg("-c").arg(&path))?;
            "its syntax is right"
        }
        None => "its syntax was not checked (`apt-get install ruby`)",
    };
    Ok(format!(
        "checksum and {files} paths agree with the archive; {ruby}; brew itself was not run"
    ))
}

fn check_sums(context: &Context) -> Result<String> {
    let path = context.out.join(sums::NAME);
    exists(&path)?;
    let text = files::read(&path)?;
    let mut listed = Vec::new();
    for line in text.lines() {
        let Some((sum, name)) = line.split_once("  ") else {
            return Err(Error::unexpected(format!("`{}`: {line}", path.display())));
        };
        if files::sha256(&context.out.join(name))? != sum {
            return Err(Error::unexpected(format!("`{name}` has another checksum")));
        }
        listed.push(name.to_owned());
    }
    let there = sums::names(&context.out)?;
    if listed != there {
        let missing: Vec<_> = there.iter().filter(|name| !listed.contains(name)).collect();
        return Err(Error::unexpected(format!("not in the list: {missing:?}")));
    }
    Ok(format!("{} files", listed.len()))
}

/// Returns the path of the Debian package.
fn deb_file(context: &Context) -> Result<PathBuf> {
    let path = context.out.join(deb::name(context));
    exists(&path)?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_missing_package_names_the_command() {
        let error = exists(Path::new("/nowhere/haft.deb")).expect_err("it is missing");
        assert!(matches!(error, Error::Missing { hint, .. } if hint.contains("cargo xtask dist")));
    }

    #[test]
    fn what_is_left_over_is_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("haft");
        is_gone(&path).expect("it was never there");
        fs::write(&path, "").expect("a folder of ours");
        is_gone(&path).expect_err("it is there");
    }
}
