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
use haft_tool::{TerminalText, terminal_text};

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
pub(super) fn plan(resolved: &[Resolved], home: &Path, ink: Ink) -> TerminalText {
    resolved
        .iter()
        .map(|one| plan_of_one(one, home, ink))
        .collect()
}

fn plan_of_one(resolved: &Resolved, home: &Path, ink: Ink) -> TerminalText {
    let site = &resolved.site;
    let folder = text::path(&site.directory, home);
    let mut page = terminal_text!("{}  for {}\n", ink.bold(folder), tools(site));
    let (direct, others): (Vec<&Package>, Vec<&Package>) = resolved
        .packages
        .iter()
        .partition(|package| package.is_direct);
    for package in &direct {
        let name = terminal_text!("{} {}", package.name, package.version);
        let why = match site.added.get(&package.name) {
            Some(files) => terminal_text!(
                "imported by {}",
                list(files.iter().map(|it| text::path(it, home)))
            ),
            None => "named in package.json".into(),
        };
        page.push(&terminal_text!("  {name}  {}\n", ink.dim(why)));
    }
    if !others.is_empty() {
        let named = others.iter().take(MAX_NAMED);
        let mut names: Vec<TerminalText> = named
            .map(|package| terminal_text!("{} {}", package.name, package.version))
            .collect();
        if others.len() > MAX_NAMED {
            names.push("…".into());
        }
        let count = units::count(others.len(), "package");
        page.push(&terminal_text!(
            "  and {count} that these need: {}\n",
            TerminalText::join(&names, ", ")
        ));
    }
    if resolved.packages.is_empty() {
        page.push_literal("  every package is there; npm puts them in order\n");
    }
    let hosts = list(resolved.hosts.iter().map(TerminalText::from_value));
    let writes = if resolved.makes_manifest {
        "a new package.json, package-lock.json, node_modules"
    } else {
        "package.json, package-lock.json, node_modules"
    };
    if !hosts.is_empty() {
        page.push(&terminal_text!("  from {hosts}\n"));
    }
    page.push(&terminal_text!("  writes {writes}\n"));
    page
}

/// Returns the names of the site's tools.
pub(super) fn tools(site: &Site) -> TerminalText {
    list(site.tools.iter().map(|name| terminal_text!("`{name}`")))
}

/// Returns which scripts were not run, and how to run them.
pub(super) fn scripts(resolved: &Resolved, home: &Path, ink: Ink) -> TerminalText {
    let with_scripts = resolved
        .packages
        .iter()
        .filter(|package| package.has_scripts);
    let names: Vec<&str> = with_scripts.map(|package| package.name.as_str()).collect();
    if names.is_empty() {
        return TerminalText::new();
    }
    let unbuilt: Vec<&str> = resolved
        .unbuilt()
        .iter()
        .map(|it| it.name.as_str())
        .collect();
    let mut note = terminal_text!("scripts were not run: {}\n", ticked(&names));
    if !unbuilt.is_empty() {
        note.push(&terminal_text!(
            "{}: {} cannot work before native code is built\n",
            ink.warning("warning"),
            ticked(&unbuilt)
        ));
    }
    let shown = text::path(&resolved.site.directory, home);
    let folder = if shown.starts_with('~') {
        shown.into_string()
    } else {
        paths::quoted(&resolved.site.directory)
    };
    let hint = format!(
        "if you trust these packages, `npm rebuild --prefix {folder} {}` runs the scripts",
        names.join(" ")
    );
    note.push(&problem::hint_line(&hint, ink));
    note
}

/// Returns the line for an import that cannot be installed.
pub(super) fn skipped(skipped: &Skipped, home: &Path, ink: Ink) -> TerminalText {
    terminal_text!(
        "{}: `{}` is not installed: {}\n  {} {}\n",
        ink.warning("warning"),
        skipped.specifier,
        skipped.reason,
        ink.dim("at"),
        text::path(&skipped.file, home)
    )
}

fn ticked(names: &[&str]) -> TerminalText {
    list(names.iter().map(|name| terminal_text!("`{name}`")))
}

fn list(items: impl Iterator<Item = TerminalText>) -> TerminalText {
    TerminalText::join(&items.collect::<Vec<_>>(), ", ")
}
