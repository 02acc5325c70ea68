//! Renders installed packages, or those to be installed, as a page for people and as JSON.
//!
//! Names of packages and files come from an untrusted source, so their control characters are not
//! printed.

use std::borrow::Cow;
use std::path::Path;

use serde::Serialize;

use crate::install::{Package, Resolved, Site, Skipped};
use crate::surface::wire;
use haft_config::paths;
use haft_render::style::Ink;
use haft_render::{problem, text, units};

/// Maximum number of indirect dependencies that are listed by name.
const MAX_NAMED: usize = 8;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Report<'a> {
    dry_run: bool,
    installs: Vec<InstallView<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct InstallView<'a> {
    directory: Cow<'a, str>,
    manager: &'static str,
    tools: Vec<&'a str>,
    packages: Vec<PackageView<'a>>,
    hosts: Vec<&'a str>,
    needs_trust: bool,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct PackageView<'a> {
    name: &'a str,
    version: &'a str,
    /// True if a tool imports the package or the manifest names it.
    direct: bool,
    /// True if the package has lifecycle scripts, which did not run.
    skipped_scripts: bool,
}

/// Returns the object that `--json` prints.
pub(super) fn report(resolved: &[Resolved], dry_run: bool) -> Report<'_> {
    let installs = resolved.iter().map(|one| InstallView {
        directory: wire::path(&one.site.directory),
        manager: "npm",
        tools: one.site.tools.iter().map(String::as_str).collect(),
        packages: one.packages.iter().map(package_view).collect(),
        hosts: one.hosts.iter().map(String::as_str).collect(),
        needs_trust: one.site.needs_trust,
    });
    Report {
        dry_run,
        installs: installs.collect(),
    }
}

fn package_view(package: &Package) -> PackageView<'_> {
    PackageView {
        name: &package.name,
        version: &package.version,
        direct: package.is_direct,
        skipped_scripts: package.has_scripts,
    }
}

/// Returns what would be installed, every line ended.
pub(super) fn plan(resolved: &[Resolved], home: &Path, ink: Ink) -> String {
    resolved
        .iter()
        .map(|one| plan_of_one(one, home, ink))
        .collect()
}

fn plan_of_one(resolved: &Resolved, home: &Path, ink: Ink) -> String {
    let site = &resolved.site;
    let folder = text::path(&site.directory, home);
    let mut page = format!("{}  for {}\n", ink.bold(folder), tools(site));
    let (direct, others): (Vec<&Package>, Vec<&Package>) = resolved
        .packages
        .iter()
        .partition(|package| package.is_direct);
    for package in &direct {
        let name = format!(
            "{} {}",
            text::name(&package.name),
            text::name(&package.version)
        );
        let why = match site.added.get(&package.name) {
            Some(files) => format!(
                "imported by {}",
                list(files.iter().map(|it| text::path(it, home)))
            ),
            None => "named in package.json".to_owned(),
        };
        page.push_str(&format!("  {name}  {}\n", ink.dim(why)));
    }
    if !others.is_empty() {
        let named = others.iter().take(MAX_NAMED);
        let mut names: Vec<String> = named
            .map(|package| {
                format!(
                    "{} {}",
                    text::name(&package.name),
                    text::name(&package.version)
                )
            })
            .collect();
        if others.len() > MAX_NAMED {
            names.push("…".to_owned());
        }
        let count = units::count(others.len(), "package");
        page.push_str(&format!(
            "  and {count} that these need: {}\n",
            names.join(", ")
        ));
    }
    if resolved.packages.is_empty() {
        page.push_str("  every package is there; npm puts them in order\n");
    }
    let hosts = list(resolved.hosts.iter().map(|host| text::name(host)));
    let writes = if resolved.makes_manifest {
        "a new package.json, package-lock.json, node_modules"
    } else {
        "package.json, package-lock.json, node_modules"
    };
    if !hosts.is_empty() {
        page.push_str(&format!("  from {hosts}\n"));
    }
    page.push_str(&format!("  writes {writes}\n"));
    page
}

/// Returns the names of the site's tools.
pub(super) fn tools(site: &Site) -> String {
    list(
        site.tools
            .iter()
            .map(|name| format!("`{}`", text::name(name))),
    )
}

/// Returns which scripts were not run, and how to run them.
pub(super) fn scripts(resolved: &Resolved, home: &Path, ink: Ink) -> String {
    let with_scripts = resolved
        .packages
        .iter()
        .filter(|package| package.has_scripts);
    let names: Vec<&str> = with_scripts.map(|package| package.name.as_str()).collect();
    if names.is_empty() {
        return String::new();
    }
    let unbuilt: Vec<&str> = resolved
        .unbuilt()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut note = format!("scripts were not run: {}\n", ticked(&names));
    if !unbuilt.is_empty() {
        note.push_str(&format!(
            "{}: {} cannot work before native code is built\n",
            ink.warning("warning"),
            ticked(&unbuilt)
        ));
    }
    let shown = text::path(&resolved.site.directory, home);
    let folder = if shown.starts_with('~') {
        shown
    } else {
        paths::quoted(&resolved.site.directory)
    };
    let hint = format!(
        "if you trust these packages, `npm rebuild --prefix {folder} {}` runs the scripts",
        names.join(" ")
    );
    note.push_str(&problem::hint_line(&hint, ink));
    note
}

/// Returns the line for an import that cannot be installed.
pub(super) fn skipped(skipped: &Skipped, home: &Path, ink: Ink) -> String {
    format!(
        "{}: `{}` is not installed: {}\n  {} {}\n",
        ink.warning("warning"),
        text::name(&skipped.specifier),
        skipped.reason,
        ink.dim("at"),
        text::path(&skipped.file, home)
    )
}

fn ticked(names: &[&str]) -> String {
    list(names.iter().map(|name| format!("`{}`", text::name(name))))
}

fn list(items: impl Iterator<Item = String>) -> String {
    items.collect::<Vec<_>>().join(", ")
}
