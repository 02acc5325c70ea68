//! A `package.json` that lists a folder's packages.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};

use super::name;
use haft_config::paths;
use haft_tool::{Error, ErrorKind};

pub(super) const FILE: &str = "package.json";

/// The sections that list packages, those that are installed for users first.
const SECTIONS: [&str; 4] = [
    "dependencies",
    "optionalDependencies",
    "peerDependencies",
    DEV,
];
const DEV: &str = "devDependencies";

/// Version ranges that mean a folder: relative to the manifest, so npm must run beside it.
const LOCAL: [&str; 7] = ["file:", "link:", "portal:", "workspace:", ".", "/", "~/"];

/// A parsed manifest.
#[derive(Clone, Debug)]
pub(crate) struct Manifest {
    pub(super) path: PathBuf,
    pub(super) text: String,
    value: Map<String, Value>,
}

impl Manifest {
    /// Reads the manifest in `folder`; `None` if there is none.
    pub(super) fn read(folder: &Path) -> Result<Option<Manifest>, Error> {
        let path = folder.join(FILE);
        let refused = |what: String| {
            let hint = "correct the file; nothing is installed beside it until then";
            Error::new(ErrorKind::Load, what).with_hint(hint)
        };
        let text = paths::read_text(&path).map_err(|error| {
            let why = paths::plain(&error);
            refused(format!("cannot read `{}`: {why}", path.display()))
        })?;
        let Some(text) = text else {
            return Ok(None);
        };
        match serde_json::from_str(&text) {
            Ok(Value::Object(value)) => Ok(Some(Manifest { path, text, value })),
            Ok(_) => Err(refused(format!("`{}` is not an object", path.display()))),
            Err(error) => Err(refused(format!(
                "`{}` is not valid JSON: {error}",
                path.display()
            ))),
        }
    }

    /// Returns the version range that the manifest gives for the package.
    pub(super) fn range(&self, package: &str) -> Option<&str> {
        let mut sections = SECTIONS.iter();
        sections.find_map(|section| self.section(section)?.get(package)?.as_str())
    }

    /// True if only the developers of the tool get the package, as far as the manifest says.
    pub(super) fn is_for_developers(&self, package: &str) -> bool {
        let has = |section: &str| {
            self.section(section)
                .is_some_and(|it| it.contains_key(package))
        };
        has(DEV) && !SECTIONS[..3].iter().any(|section| has(section))
    }

    /// Returns the packages of `dependencies`.
    pub(super) fn dependencies(&self) -> impl Iterator<Item = &String> {
        let section = self.section(SECTIONS[0]);
        section.into_iter().flat_map(Map::keys)
    }

    /// True if it expects its host to provide an agent's package: npm must not install it.
    pub(super) fn expects_an_agent(&self) -> bool {
        let peers = self.section("peerDependencies");
        peers.is_some_and(|peers| peers.keys().any(|package| name::is_of_agent(package)))
    }

    /// Returns the module type that it states.
    pub(super) fn module_type(&self) -> Option<&str> {
        self.value.get("type")?.as_str()
    }

    /// Returns the part that refers to folders beside the manifest, if there is one.
    pub(super) fn local_part(&self) -> Option<String> {
        if self.value.contains_key("workspaces") {
            return Some("workspaces".to_owned());
        }
        let all = SECTIONS.iter().filter_map(|section| self.section(section));
        let mut ranges = all.flatten();
        ranges.find_map(|(package, range)| {
            let range = range.as_str()?;
            let is_local = LOCAL.iter().any(|prefix| range.starts_with(prefix));
            is_local.then(|| format!("{package}: {range}"))
        })
    }

    /// Returns the part that names a source other than a registry (a URL, a repository), if there
    /// is one.
    pub(super) fn remote_part(&self) -> Option<String> {
        let all = SECTIONS.iter().filter_map(|section| self.section(section));
        let mut ranges = all.flatten();
        ranges.find_map(|(package, range)| {
            let range = range.as_str()?;
            let is_remote = !range.starts_with("npm:") && range.contains([':', '/']);
            is_remote.then(|| format!("{package}: {range}"))
        })
    }

    fn section(&self, name: &str) -> Option<&Map<String, Value>> {
        self.value.get(name)?.as_object()
    }
}
