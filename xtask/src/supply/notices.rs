//! The notices of haft's dependencies: the packages, their licences, and the texts.
//!
//! They are made from the packages of cargo and npm on this machine, so they describe the very
//! versions that are built. They are installed beside the program and not kept in the repository.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::Value;

use crate::error::{During, Error, Result};
use crate::files;
use crate::workspace;

/// Notices of V8, whose crate has no files for them.
const V8: &str = include_str!("../../notices-v8.txt");

/// Prefixes of the names of licence files, in lower case.
const FILES: [&str; 6] = [
    "license",
    "licence",
    "copying",
    "notice",
    "unlicense",
    "copyright",
];

/// npm packages that only process haft's sources and are not in the program.
const TOOLS: [&str; 9] = [
    "@biomejs/",
    "@esbuild/",
    "@types/",
    "@typescript/",
    "axe-core",
    "esbuild",
    "playwright-core",
    "typescript",
    "undici-types",
];

/// Print the notices of all that is in the program.
#[derive(Args)]
pub struct Notices {}

impl Notices {
    pub fn run(self) -> Result<()> {
        print!("{}", text(&workspace::root())?);
        Ok(())
    }
}

/// A package, in a form that can be sorted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Package {
    name: String,
    version: String,
    licence: String,
    from: String,
}

/// The packages, grouped by their texts.
#[derive(Default)]
struct Texts {
    by_text: BTreeMap<String, BTreeSet<Package>>,
    /// Packages without a licence text.
    without: BTreeSet<Package>,
}

/// Returns the notices for the checkout at `root`.
pub fn text(root: &Path) -> Result<String> {
    let mut texts = Texts::default();
    for (package, folder) in crates(root)?.into_iter().chain(npm(root)?) {
        texts.add(package, &folder)?;
    }
    Ok(texts.page())
}

impl Texts {
    fn add(&mut self, package: Package, folder: &Path) -> Result<()> {
        let found = files(folder)?;
        if found.is_empty() {
            self.without.insert(package);
            return Ok(());
        }
        for text in found {
            self.by_text
                .entry(text)
                .or_default()
                .insert(package.clone());
        }
        Ok(())
    }

    fn page(self) -> String {
        let mut page = String::from(
            "Notices of third parties\n\nhaft is made of its own code (MIT or Apache-2.0) and of these packages.\n\n",
        );
        let rule = "=".repeat(80);
        let mut section = |text: &str| {
            // Writing to a string does not fail.
            let _ = write!(page, "{rule}\n\n{}\n\n", text.trim_end());
        };
        section(V8);
        if !self.without.is_empty() {
            let names: Vec<_> = self.without.iter().map(Package::line).collect();
            section(&format!(
                "Packages that come without a file with their licence\n\n{}",
                names.join("\n")
            ));
        }
        let mut groups: Vec<_> = self.by_text.into_iter().collect();
        // Texts that many packages share come first, then by the names of the packages.
        groups.sort_by(|(_, a), (_, b)| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        for (text, packages) in groups {
            let names: Vec<_> = packages.iter().map(Package::line).collect();
            section(&format!("{}\n\n{text}", names.join("\n")));
        }
        page
    }
}

impl Package {
    fn line(&self) -> String {
        let Package {
            name,
            version,
            licence,
            from,
        } = self;
        format!("  {name} {version}  {licence}  {from}")
            .trim_end()
            .to_owned()
    }
}

/// Returns the texts of the licence files in a folder, each once.
fn files(folder: &Path) -> Result<BTreeSet<String>> {
    let mut texts = BTreeSet::new();
    let entries = fs::read_dir(folder).during(|| format!("read `{}`", folder.display()))?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().to_lowercase();
        let is_it = FILES.iter().any(|start| name.starts_with(start));
        // A folder of this name, or a file that is not UTF-8, is skipped.
        if let (true, Ok(text)) = (is_it, fs::read_to_string(entry.path())) {
            let lines: Vec<_> = text.lines().map(str::trim_end).collect();
            texts.insert(lines.join("\n").trim_matches('\n').to_owned());
        }
    }
    Ok(texts)
}

/// Returns the crates in the program, with their folders.
fn crates(root: &Path) -> Result<Vec<(Package, PathBuf)>> {
    let metadata = workspace::metadata(root, &["--locked"])?;
    let broken = || Error::unexpected("`cargo metadata` names no packages");
    let packages = metadata["packages"].as_array().ok_or_else(broken)?;
    let nodes = metadata["resolve"]["nodes"].as_array().ok_or_else(broken)?;
    let by_id = |list: &'_ [Value]| -> HashMap<String, Value> {
        let named = list
            .iter()
            .filter_map(|one| Some((one["id"].as_str()?.to_owned(), one.clone())));
        named.collect()
    };
    let nodes = by_id(nodes);
    let own = packages.iter().find(|one| one["name"] == "haft");
    let own = own.and_then(|own| own["id"].as_str()).ok_or_else(broken)?;
    let mut reached = HashSet::from([own.to_owned()]);
    let mut waiting = vec![own.to_owned()];
    while let Some(id) = waiting.pop() {
        let dependencies = nodes.get(&id).and_then(|node| node["deps"].as_array());
        for dependency in dependencies.into_iter().flatten() {
            let kinds = dependency["dep_kinds"].as_array().into_iter().flatten();
            let is_built_in = kinds.into_iter().any(|kind| kind["kind"].is_null());
            if let (true, Some(id)) = (is_built_in, dependency["pkg"].as_str())
                && reached.insert(id.to_owned())
            {
                waiting.push(id.to_owned());
            }
        }
    }
    let others = packages.iter().filter(|one| {
        let id = one["id"].as_str().unwrap_or_default();
        id != own && reached.contains(id)
    });
    let others = others.filter_map(|one| {
        let folder = Path::new(one["manifest_path"].as_str()?)
            .parent()?
            .to_owned();
        Some((package(one, &one["repository"]), folder))
    });
    Ok(others.collect())
}

/// Returns name, version and licence of the npm packages whose code is in the program.
pub fn npm_packages(root: &Path) -> Result<Vec<[String; 3]>> {
    let packages = npm(root)?.into_iter();
    let named = packages.map(|(package, _)| [package.name, package.version, package.licence]);
    Ok(named.collect::<BTreeSet<_>>().into_iter().collect())
}

/// Returns the npm packages whose code is in the program, with their folders.
fn npm(root: &Path) -> Result<Vec<(Package, PathBuf)>> {
    let lock = files::read_json(&root.join("package-lock.json"))?;
    let mut found = Vec::new();
    for (path, locked) in lock["packages"].as_object().into_iter().flatten() {
        let name = path.rsplit("node_modules/").next().unwrap_or_default();
        let is_tool = TOOLS.iter().any(|tool| {
            if tool.ends_with('/') {
                name.starts_with(tool)
            } else {
                name == *tool
            }
        });
        let folder = root.join(path);
        if name.is_empty() || is_tool || locked["optional"] == true || !folder.is_dir() {
            continue;
        }
        let mut own = locked.clone();
        own["name"] = name.into();
        found.push((package(&own, &locked["resolved"]), folder));
    }
    Ok(found)
}

fn package(of: &Value, from: &Value) -> Package {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    Package {
        name: text(&of["name"]),
        version: text(&of["version"]),
        licence: text(&of["license"]),
        from: text(from),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_one_text_stand_together_and_those_without_are_named() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let package = |name: &str| Package {
            name: name.into(),
            version: "1.0.0".into(),
            licence: "MIT".into(),
            from: String::new(),
        };
        let mut texts = Texts::default();
        for (name, text) in [
            ("one", "Text  \n"),
            ("two", "\nText\n"),
            ("three", "Other\n"),
        ] {
            let own = folder.path().join(name);
            fs::create_dir(&own).expect("made");
            fs::write(own.join("LICENSE-MIT"), text).expect("written");
            fs::write(own.join("README.md"), "no licence").expect("written");
            texts.add(package(name), &own).expect("read");
        }
        let none = folder.path().join("none");
        fs::create_dir(&none).expect("made");
        texts.add(package("none"), &none).expect("read");
        let page = texts.page();
        assert!(
            page.contains("  one 1.0.0  MIT\n  two 1.0.0  MIT\n\nText\n"),
            "{page}"
        );
        assert!(page.contains("  three 1.0.0  MIT\n\nOther\n"), "{page}");
        assert!(
            page.contains("come without a file with their licence\n\n  none 1.0.0  MIT\n"),
            "{page}"
        );
        assert!(!page.contains("no licence"), "{page}");
    }

    #[test]
    fn what_is_in_the_program_is_named() {
        let page = text(&workspace::root()).expect("it can be made");
        for name in [
            "  deno_core ",
            "  zod ",
            "  axum ",
            "  V8 ",
            "  smartstring ",
        ] {
            assert!(page.contains(name), "{name}");
        }
        for name in ["  esbuild ", "  rstest ", "  typescript "] {
            assert!(!page.contains(name), "{name}");
        }
    }
}
