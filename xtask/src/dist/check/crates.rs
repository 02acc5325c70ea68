//! The packages for crates.io: built in an empty folder, on a machine whose Node.js fails.

use std::path::Path;
use std::process::Command;

use super::super::{Context, crates};
use super::{exists, put_tool};
use crate::command;
use crate::error::{Error, Result};
use crate::files;
use crate::install::place;
use crate::v8;

/// In the place of Node.js and npm: a build that starts them fails.
const NO_NODE: &str = "#!/bin/sh\necho \"$0 was started\" >&2\nexit 97\n";

pub fn check(context: &Context) -> Result<String> {
    v8::ensure()?;
    let work = context.work("crates-check")?;
    let version = &context.facts.version;
    let names = crates::names(&context.root)?;
    let mut patches = String::from("[patch.crates-io]\n");
    for name in &names {
        let file = context
            .out
            .join("crates")
            .join(format!("{name}-{version}.crate"));
        exists(&file)?;
        let mut tar = Command::new("tar");
        tar.args(["--extract", "--gzip", "--file"]).arg(&file);
        command::output(tar.arg("--directory").arg(&work))?;
        if name != "haft" {
            patches.push_str(&format!("{name} = {{ path = \"../{name}-{version}\" }}\n"));
        }
    }
    let package = work.join(format!("haft-{version}"));
    // The other packages are not on crates.io until they are published together.
    files::write(&package.join(".cargo/config.toml"), &patches)?;
    let programs = work.join("programs");
    for name in ["node", "npm"] {
        place::program_text(NO_NODE, &programs.join(name))?;
    }
    let path = std::env::var("PATH").unwrap_or_default();
    let mut cargo = command::cargo(&package);
    cargo.env("PATH", format!("{}:{path}", programs.display()));
    // The environment of `cargo xtask` names the checkout.
    cargo.env_remove("CARGO_MANIFEST_DIR");
    // The dependencies are the same as those of the checkout, and built already.
    let target = crate::workspace::target_dir(&context.root)?;
    cargo.arg("build").arg("--target-dir").arg(&target);
    command::run(&mut cargo)?;
    let built = target.join("debug/haft");
    let home = work.join("home");
    put_tool(&home)?;
    let called = call(&built, &home)?;
    if called.trim() != "Hello, Ada!" {
        return Err(Error::unexpected(format!(
            "the built program printed {called}"
        )));
    }
    Ok(format!(
        "{} packages; haft builds from them in an empty folder without Node.js and npm, and calls a tool",
        names.len()
    ))
}

fn call(haft: &Path, home: &Path) -> Result<String> {
    let mut call = Command::new(haft);
    call.args(["call", "greet", "--arg", "name=Ada"]);
    call.current_dir(home).env("HOME", home);
    command::output(&mut call)
}
