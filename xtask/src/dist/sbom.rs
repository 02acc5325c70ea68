//! `haft-VERSION-TARGET.cdx.json`: the software bill of materials in CycloneDX: crates, npm packages
//! and V8. Each target has other crates.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::{Context, archive, crates};
use crate::cargo_tools::CYCLONEDX;
use crate::command;
use crate::error::{Error, Result};
use crate::files;
use crate::supply::notices;

/// Returns the name of the file.
pub fn name(context: &Context) -> String {
    format!("{}.cdx.json", archive::stem(context))
}

pub fn make(context: &Context) -> Result<Vec<PathBuf>> {
    let folder = CYCLONEDX.folder()?;
    // It writes a file beside each manifest, so it works on a copy of the sources.
    let stage = crates::stage(context, "sbom")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let mut cargo = command::cargo(&stage);
    cargo.env("PATH", format!("{}:{path}", folder.display()));
    cargo.env("SOURCE_DATE_EPOCH", context.epoch.to_string());
    cargo.args(["cyclonedx", "--format", "json", "--spec-version", "1.5"]);
    cargo.args([
        "--target",
        &context.facts.target,
        "--override-filename",
        "bom",
    ]);
    cargo.args(["--no-build-deps", "--quiet"]);
    command::run(&mut cargo)?;
    let made = stage.join("bom.json");
    let mut bom = files::read_json(&made)?;
    // A random number for each run: without it the file depends on the sources alone.
    if let Some(bom) = bom.as_object_mut() {
        bom.remove("serialNumber");
    }
    let text = strip_paths(&bom.to_string(), &stage.display().to_string());
    let mut bom: Value = serde_json::from_str(&text)
        .map_err(|error| Error::unexpected(format!("the bill of materials: {error}")))?;
    let components = bom["components"]
        .as_array_mut()
        .ok_or_else(|| Error::unexpected("the bill of materials has no components"))?;
    components.extend(npm(context)?);
    let file = context.out.join(name(context));
    files::write(&file, &format!("{bom:#}\n"))?;
    Ok(vec![file])
}

/// Removes the path of the copy from the references of our own packages.
fn strip_paths(text: &str, stage: &str) -> String {
    text.replace(&format!("path+file://{stage}"), "haft:")
        .replace(&format!("file://{stage}"), ".")
}

/// Returns the npm packages whose code is in the program.
fn npm(context: &Context) -> Result<Vec<Value>> {
    let packages = notices::npm_packages(&context.root)?.into_iter();
    let component = |[name, version, licence]: [String; 3]| {
        let purl = format!("pkg:npm/{}@{version}", name.replace('@', "%40"));
        json!({
            "type": "library",
            "bom-ref": purl,
            "name": name,
            "version": version,
            "purl": purl,
            "licenses": [{"expression": licence}],
        })
    };
    Ok(packages.map(component).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_of_the_build_is_not_published() {
        let text =
            r#""path+file:///tmp/a/crates/tool#0.1.0" "pkg:cargo/x?download_url=file:///tmp/a/.""#;
        assert_eq!(
            strip_paths(text, "/tmp/a"),
            r#""haft:/crates/tool#0.1.0" "pkg:cargo/x?download_url=./.""#
        );
    }
}
