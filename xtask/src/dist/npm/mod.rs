//! npm packages: `haft`, and `@haft/SYSTEM-PROCESSOR` with the program for one platform.
//!
//! `haft` names the platforms as optional dependencies, of which npm installs the one that fits. Its
//! program is a script of Node.js that starts the platform's program (`launcher.js`). Where install
//! scripts run, `install.js` puts a hard link of that program into its place, so that Node.js does
//! not start at all. The TypeScript library of `sdk/typescript` is in the same package.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Map, Value, json};

use super::{Context, program, read, tree, write};
use crate::command;
use crate::error::{During, Error, Result};
use crate::install::place;

const LAUNCHER: &str = include_str!("launcher.js");
const INSTALL: &str = include_str!("install.js");

/// Folder of the TypeScript library.
const LIBRARY: &str = "sdk/typescript";

/// A platform that is released: the name of its package, and what npm compares.
struct Platform {
    target: &'static str,
    name: &'static str,
    os: &'static str,
    cpu: &'static str,
}

const PLATFORMS: [Platform; 5] = [
    Platform {
        target: "x86_64-unknown-linux-gnu",
        name: "@haft/linux-x64",
        os: "linux",
        cpu: "x64",
    },
    Platform {
        target: "aarch64-unknown-linux-gnu",
        name: "@haft/linux-arm64",
        os: "linux",
        cpu: "arm64",
    },
    Platform {
        target: "x86_64-apple-darwin",
        name: "@haft/darwin-x64",
        os: "darwin",
        cpu: "x64",
    },
    Platform {
        target: "aarch64-apple-darwin",
        name: "@haft/darwin-arm64",
        os: "darwin",
        cpu: "arm64",
    },
    Platform {
        target: "x86_64-pc-windows-msvc",
        name: "@haft/win32-x64",
        os: "win32",
        cpu: "x64",
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

/// Returns true if the package has the library.
pub fn has_library(context: &Context) -> bool {
    context.root.join(LIBRARY).join("package.json").is_file()
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
    fs::create_dir_all(folder.join("bin")).during(|| format!("make `{}`", folder.display()))?;
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
    write(&folder.join("package.json"), &format!("{manifest:#}\n"))
}

/// Makes the package `haft`: the library if the checkout has it, the launcher and the script.
fn lay_out_main(context: &Context, folder: &Path) -> Result<()> {
    let library = context.root.join(LIBRARY);
    let mut manifest = if library.join("package.json").is_file() {
        copy_library(&library, folder)?
    } else {
        eprintln!("`{LIBRARY}` is not in this checkout: the npm package has the program alone");
        Map::new()
    };
    let mut set = |name: &str, value: Value| {
        manifest.insert(name.to_owned(), value);
    };
    set("name", json!("haft"));
    set("version", json!(context.facts.version));
    set(
        "description",
        json!("Tool host for LLM agents: runs tools in any language"),
    );
    set("license", json!("MIT OR Apache-2.0"));
    let repository = super::formula::repository(context)?;
    set("repository", json!({"type": "git", "url": repository}));
    set("bin", json!({"haft": "bin/haft"}));
    set("scripts", json!({"postinstall": "node install.cjs"}));
    let platforms = PLATFORMS
        .iter()
        .map(|platform| (platform.name.to_owned(), json!(context.facts.version)));
    set("optionalDependencies", Value::Object(platforms.collect()));
    let mut packed: Vec<Value> = manifest
        .get("files")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    for own in [
        "bin",
        "install.cjs",
        "platform.cjs",
        "LICENSE-APACHE",
        "LICENSE-MIT",
    ] {
        if !packed.iter().any(|name| name == own) {
            packed.push(json!(own));
        }
    }
    manifest.insert("files".into(), Value::Array(packed));
    manifest.remove("devDependencies");
    manifest.remove("private");
    put_texts(context, folder)?;
    write(&folder.join("platform.cjs"), &platform_module())?;
    write(&folder.join("install.cjs"), INSTALL)?;
    fs::create_dir_all(folder.join("bin")).during(|| format!("make `{}`", folder.display()))?;
    place::program_text(LAUNCHER, &folder.join("bin/haft"))?;
    // Without this file, the launcher has no extension and would be read as the module type of the
    // library.
    write(
        &folder.join("bin/package.json"),
        "{\"type\": \"commonjs\"}\n",
    )?;
    let manifest = Value::Object(manifest);
    write(&folder.join("package.json"), &format!("{manifest:#}\n"))
}

/// Builds the library, copies what it publishes and returns its manifest.
fn copy_library(library: &Path, folder: &Path) -> Result<Map<String, Value>> {
    let path = library.join("package.json");
    let manifest: Value = serde_json::from_str(&read(&path)?)
        .map_err(|error| Error::unexpected(format!("`{}`: {error}", path.display())))?;
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
        let to = folder.join(name);
        let parent = to.parent().expect("a file is in a folder");
        fs::create_dir_all(parent)
            .and_then(|()| fs::copy(library.join(name), &to))
            .during(|| format!("copy `{name}` of the library"))?;
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

/// Returns the module that both scripts ask for the name of the platform's package.
fn platform_module() -> String {
    let names = PLATFORMS.iter().map(|platform| {
        (
            format!("{}-{}", platform.os, platform.cpu),
            json!(platform.name),
        )
    });
    let names = Value::Object(names.collect());
    format!(
        "// Packages with the program, by platform. Made by `cargo xtask dist`.\nmodule.exports = {names:#};\n"
    )
}

fn put_texts(context: &Context, folder: &Path) -> Result<()> {
    let texts = tree::folder(context).join("share/doc/haft");
    fs::create_dir_all(folder).during(|| format!("make `{}`", folder.display()))?;
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
