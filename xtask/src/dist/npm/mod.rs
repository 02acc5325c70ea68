//! npm packages: `haft`, and `@haft/SYSTEM-PROCESSOR` with the program for one platform.
//!
//! `haft` is the TypeScript library of `sdk/typescript`. It names the platforms as optional
//! dependencies, of which npm installs the one that fits. Its program is the library's launcher, a
//! script of Node.js that starts the platform's program. Where install scripts run, `install.js` puts
//! a hard link of that program into its place, so that Node.js does not start at all.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::{Context, program, tree};
use crate::command;
use crate::error::{During, Error, Result};
use crate::files;
use crate::install::place;

const INSTALL: &str = include_str!("install.js");

/// Folder of the TypeScript library.
const LIBRARY: &str = "sdk/typescript";

/// The launcher in the library, and its name in the package: that of the program which replaces it.
const LAUNCHER: [&str; 2] = ["bin/haft.cjs", "bin/haft"];

/// A platform: the name of its package, and what npm compares.
struct Platform {
    target: &'static str,
    name: &'static str,
    os: &'static str,
    cpu: &'static str,
    /// True if releases have the package, so that `haft` may depend on it.
    released: bool,
}

const PLATFORMS: [Platform; 5] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        name: "@haft/linux-x64",
        os: "linux",
        cpu: "x64",
        released: true,
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        name: "@haft/linux-arm64",
        os: "linux",
        cpu: "arm64",
        released: true,
    },
    Platform {
        target: "x86_64-apple-darwin",
        name: "@haft/darwin-x64",
        os: "darwin",
        cpu: "x64",
        released: false,
    },
    Platform {
        target: "aarch64-apple-darwin",
        name: "@haft/darwin-arm64",
        os: "darwin",
        cpu: "arm64",
        released: false,
    },
    Platform {
        target: "x86_64-pc-windows-msvc",
        name: "@haft/win32-x64",
        os: "win32",
        cpu: "x64",
        released: false,
    },
];

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    if command::on_path("npm").is_none() {
        return Err(Error::Missing {
            what: "there is no `npm`, which packs the npm packages".into(),
            hint: "run `apt-get install nodejs npm`, or leave the format out with --only".into(),
        });
    }
    let work = context.work("npm")?;
    let platform = platform(context)?;
    let of_platform = work.join("platform");
    lay_out_platform(context, platform, &of_platform)?;
    let main = work.join("haft");
    lay_out_main(context, &main)?;
    [main, of_platform]
        .iter()
        .map(|folder| pack(context, folder))
        .collect()
}

/// Returns the files of the packages, that of the platform last.
pub fn files(context: &Context) -> Result<[PathBuf; 2]> {
    let version = &context.facts.version;
    let platform = platform(context)?.name.replace('@', "").replace('/', "-");
    Ok(["haft".to_owned(), platform].map(|name| context.out.join(format!("{name}-{version}.tgz"))))
}

fn platform(context: &Context) -> Result<&'static Platform> {
    let target = &context.facts.target;
    let found = PLATFORMS.iter().find(|platform| platform.target == target);
    found.ok_or_else(|| Error::unexpected(format!("npm has no package for `{target}`")))
}

fn lay_out_platform(context: &Context, platform: &Platform, folder: &Path) -> Result<()> {
    let [haft, _] = program::kept(&context.out);
    place::copy(&haft, &folder.join("bin/haft"), place::PROGRAM)?;
    tree::put_stubs(context, folder)?;
    put_texts(context, folder)?;
    let mut manifest = json!({
        "name": platform.name,
        "version": context.facts.version,
        "description": format!("The program of the package haft for {}", platform.target),
        "license": "MIT OR Apache-2.0",
        "repository": {"type": "git", "url": super::formula::repository(context)?},
        "os": [platform.os],
        "cpu": [platform.cpu],
        "preferUnplugged": true,
        "files": ["bin", "libexec", "THIRD_PARTY_NOTICES.txt", "LICENSE-APACHE", "LICENSE-MIT"],
    });
    if let Some((major, minor)) = context.facts.glibc {
        // npm then leaves the package out on systems with another C library.
        manifest["libc"] = json!(["glibc"]);
        manifest["description"] = json!(format!(
            "The program of the package haft for {}, glibc {major}.{minor} or newer",
            platform.target
        ));
    }
    files::write(&folder.join("package.json"), &format!("{manifest:#}\n"))
}

/// Makes the package `haft`: the library, its launcher and the script.
fn lay_out_main(context: &Context, folder: &Path) -> Result<()> {
    let mut manifest = copy_library(&context.root.join(LIBRARY), folder)?;
    let [from, to] = LAUNCHER.map(|name| folder.join(name));
    fs::rename(&from, &to).during(|| format!("rename `{}`", from.display()))?;
    fs::set_permissions(&to, Permissions::from_mode(place::PROGRAM))
        .during(|| format!("make `{}` a program", to.display()))?;
    files::write(&folder.join("install.cjs"), INSTALL)?;
    put_texts(context, folder)?;

    let mut packed = manifest["files"].as_array().cloned().unwrap_or_default();
    packed.push(json!("install.cjs"));
    let released = PLATFORMS.iter().filter(|platform| platform.released);
    let released =
        released.map(|platform| (platform.name.to_owned(), json!(context.facts.version)));
    let repository = super::formula::repository(context)?;
    for (name, value) in [
        ("version", json!(context.facts.version)),
        ("repository", json!({"type": "git", "url": repository})),
        ("mcpName", json!(mcp_name(context)?)),
        ("bin", json!({"haft": LAUNCHER[1]})),
        ("files", Value::Array(packed)),
        ("scripts", json!({"postinstall": "node install.cjs"})),
        ("optionalDependencies", Value::Object(released.collect())),
    ] {
        manifest.insert(name.to_owned(), value);
    }
    let manifest = Value::Object(manifest);
    files::write(&folder.join("package.json"), &format!("{manifest:#}\n"))
}

/// Builds the library, copies what it publishes and returns its manifest.
fn copy_library(library: &Path, folder: &Path) -> Result<Map<String, Value>> {
    let manifest = files::read_json(&library.join("package.json"))?;
    if manifest["scripts"]["build"].is_string() {
        let mut build = Command::new("npm");
        build
            .current_dir(library)
            .args(["run", "--silent", "build"]);
        command::run(&mut build)?;
    }
    // npm itself decides which files `files`, `main` and `exports` mean.
    let mut pack = Command::new("npm");
    pack.current_dir(library);
    pack.args(["pack", "--json", "--dry-run", "--ignore-scripts"]);
    let list: Value = serde_json::from_str(&command::output(&mut pack)?)
        .map_err(|error| Error::unexpected(format!("`npm pack` is not JSON: {error}")))?;
    for file in packed(&list).as_array().into_iter().flatten() {
        let Some(name) = file["path"].as_str() else {
            continue;
        };
        files::copy(&library.join(name), &folder.join(name))?;
    }
    Ok(manifest.as_object().cloned().unwrap_or_default())
}

/// Returns the list of files in the output of `npm pack --json`: npm 11 prints an array, newer
/// versions an object by the packages' names.
fn packed(list: &Value) -> &Value {
    let first = list
        .as_array()
        .and_then(|all| all.first())
        .or_else(|| list.as_object().and_then(|all| all.values().next()));
    first.map_or(&Value::Null, |one| &one["files"])
}

/// Returns the server's name in the MCP registry, which looks for it in `package.json`.
fn mcp_name(context: &Context) -> Result<String> {
    let path = context.root.join("server.json");
    let server = files::read_json(&path)?;
    let name = server["name"].as_str().map(str::to_owned);
    name.ok_or_else(|| Error::unexpected(format!("`{}` has no name", path.display())))
}

fn put_texts(context: &Context, folder: &Path) -> Result<()> {
    let texts = tree::folder(context).join("share/doc/haft");
    for name in [
        "README.md",
        "LICENSE-APACHE",
        "LICENSE-MIT",
        "THIRD_PARTY_NOTICES.txt",
    ] {
        let to = folder.join(name);
        // The library has a README of its own.
        if !to.is_file() {
            place::copy(&texts.join(name), &to, place::DATA)?;
        }
    }
    Ok(())
}

fn pack(context: &Context, folder: &Path) -> Result<PathBuf> {
    let mut npm = Command::new("npm");
    npm.current_dir(folder);
    npm.args(["pack", "--silent", "--ignore-scripts", "--pack-destination"]);
    let said = command::output(npm.arg(&context.out))?;
    let name = said.lines().last().unwrap_or_default();
    Ok(context.out.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_npm_pack_are_read() {
        let files = json!([{"path": "index.js"}]);
        assert_eq!(packed(&json!([{"name": "haft", "files": files}])), &files);
        assert_eq!(packed(&json!({"haft": {"files": files}})), &files);
        assert_eq!(packed(&json!([])), &Value::Null);
    }
}
