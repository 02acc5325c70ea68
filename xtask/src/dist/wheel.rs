//! `haft_tools-VERSION-py3-none-PLATFORM.whl`: the program as a script of Python's environment, and
//! the Python library of `sdk/python`.

use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Context, program, tree};
use crate::command;
use crate::error::{Error, Result};
use crate::files;
use crate::install::place;

/// Writes the folder as a wheel: a zip archive with a list of its files.
const PACK: &str = include_str!("wheel.py");

/// Folder of the Python library: its package and its manifest.
const LIBRARY: &str = "sdk/python";

/// Name on PyPI; `haft` belongs to another project.
const NAME: &str = "haft_tools";

/// Returns the name of the wheel.
pub fn name(context: &Context) -> Result<String> {
    Ok(format!(
        "{NAME}-{}-{}.whl",
        context.facts.version,
        tag(context)?
    ))
}

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    if command::on_path("python3").is_none() {
        return Err(Error::Missing {
            what: "there is no `python3`, which packs the wheel".into(),
            hint: "run `apt-get install python3`, or leave the format out with --only".into(),
        });
    }
    let work = context.work("wheel")?;
    let version = &context.facts.version;
    let data = work.join(format!("{NAME}-{version}.data"));
    let [haft, _] = program::kept(&context.out);
    place::copy(&haft, &data.join("scripts/haft"), place::PROGRAM)?;
    // pip puts these below the environment's prefix, where haft looks for its system tools.
    tree::put_stubs(context, &data.join("data"))?;
    for shared in [
        "share/man",
        "share/bash-completion",
        "share/zsh",
        "share/fish",
    ] {
        let from = tree::folder(context).join(shared);
        tree::copy(&from, &data.join("data").join(shared))?;
    }
    let library = context.root.join(LIBRARY);
    copy_sources(&library.join("src/haft"), &work.join("haft"))?;
    let info = work.join(format!("{NAME}-{version}.dist-info"));
    files::write(&info.join("METADATA"), &metadata(context, &library)?)?;
    files::write(
        &info.join("WHEEL"),
        &format!(
            "Wheel-Version: 1.0\nGenerator: cargo xtask dist\nRoot-Is-Purelib: false\nTag: {}\n",
            tag(context)?
        ),
    )?;
    let texts = tree::folder(context).join("share/doc/haft");
    for name in ["LICENSE-APACHE", "LICENSE-MIT", "THIRD_PARTY_NOTICES.txt"] {
        let licence = info.join("licenses").join(name);
        place::copy(&texts.join(name), &licence, place::DATA)?;
    }
    let made = context.out.join(name(context)?);
    let mut python = Command::new("python3");
    python.args(["-c", PACK]).arg(&work).arg(&made);
    python.arg(context.epoch.to_string());
    python.arg(if context.quick { "1" } else { "9" });
    command::output(&mut python)?;
    Ok(vec![made])
}

/// Returns the tag of the platforms that the wheel is for.
fn tag(context: &Context) -> Result<String> {
    let facts = &context.facts;
    let processor = facts.processor();
    let platform = match facts.glibc {
        Some((major, minor)) => format!("manylinux_{major}_{minor}_{processor}"),
        None if facts.is_macos() && processor == "aarch64" => "macosx_11_0_arm64".to_owned(),
        None if facts.is_macos() => "macosx_10_12_x86_64".to_owned(),
        None if !facts.is_linux() => "win_amd64".to_owned(),
        None => {
            return Err(Error::unexpected(
                "the program needs no known version of glibc",
            ));
        }
    };
    Ok(format!("py3-none-{platform}"))
}

/// Returns the metadata: that of the library's manifest, and its README, which PyPI shows.
fn metadata(context: &Context, library: &Path) -> Result<String> {
    let path = library.join("pyproject.toml");
    let broken = |what: &str| Error::unexpected(format!("`{}`: {what}", path.display()));
    let manifest: toml::Table = files::read(&path)?
        .parse()
        .map_err(|error: toml::de::Error| broken(&error.to_string()))?;
    let project = manifest["project"].as_table();
    let project = project.ok_or_else(|| broken("there is no `[project]`"))?;
    let text = |name: &str| {
        let value = project.get(name).and_then(toml::Value::as_str);
        value.ok_or_else(|| broken(&format!("`[project]` has no `{name}`")))
    };
    let list = |name: &str| {
        let values = project.get(name).and_then(toml::Value::as_array);
        values
            .into_iter()
            .flatten()
            .filter_map(toml::Value::as_str)
            .collect::<Vec<_>>()
    };
    let classifiers: String = list("classifiers")
        .iter()
        .map(|classifier| format!("Classifier: {classifier}\n"))
        .collect();
    Ok(format!(
        "Metadata-Version: 2.4\nName: {}\nVersion: {}\nSummary: {}\nKeywords: {}\n{classifiers}\
         License-Expression: MIT OR Apache-2.0\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\n\
         License-File: THIRD_PARTY_NOTICES.txt\nProject-URL: Repository, {}\n\
         Requires-Python: {}\nDescription-Content-Type: text/markdown\n\n{}",
        text("name")?,
        context.facts.version,
        text("description")?,
        list("keywords").join(","),
        super::formula::repository(context)?,
        text("requires-python")?,
        files::read(&library.join("README.md"))?,
    ))
}

/// Copies Python's sources and leaves out what Python compiled.
fn copy_sources(from: &Path, to: &Path) -> Result<()> {
    for file in tree::files(from)? {
        let is_compiled = file.iter().any(|part| part == "__pycache__");
        if is_compiled {
            continue;
        }
        place::copy(&from.join(&file), &to.join(&file), place::DATA)?;
    }
    Ok(())
}
