//! Plan of an installation: one folder with the exact versions of its packages resolved.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Map, Value, json};
use url::Url;

use super::manifest::Manifest;
use super::name;
use super::npm::{Choice, Npm};
use super::stage::{self, Stage};
use super::survey::Site;
use haft_config::paths;
use haft_tool::{Error, ErrorKind};

/// A folder whose packages are resolved but not installed yet.
pub(crate) struct Resolved {
    pub(crate) site: Site,
    /// The packages that are new or get another version.
    pub(crate) packages: Vec<Package>,
    /// The hosts that the packages come from.
    pub(crate) hosts: BTreeSet<String>,
    /// Set if the folder has no `package.json` yet.
    pub(crate) makes_manifest: bool,
    stage: Stage,
    choice: Choice,
}

/// A package with its exact version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Package {
    pub(crate) name: String,
    pub(crate) version: String,
    /// Set if a tool imports it or the manifest names it; other packages are needed by packages.
    pub(crate) is_direct: bool,
    /// Set if it has lifecycle scripts, which are not run.
    pub(crate) has_scripts: bool,
    /// Its path below the folder.
    pub(crate) place: String,
}

impl Resolved {
    /// Resolves the versions with the registry. Nothing is installed, and only the staging folder
    /// changes, which is removed with the result.
    ///
    /// # Errors
    /// When haft must not install there, or npm cannot resolve it.
    pub(crate) async fn of(site: Site, npm: &Npm) -> Result<Resolved, Error> {
        let added: Vec<String> = site.added.keys().cloned().collect();
        let manifest = site.manifest.as_ref();
        stage::check(&site)?;
        // The `.npmrc` is used only in the user's own folders.
        let reads_npmrc = !site.needs_trust;
        let stage = Stage::begin(&site.directory, reads_npmrc)?;
        let text = match manifest {
            Some(manifest) => manifest.text.clone(),
            None => new_manifest(&site.directory),
        };
        stage.write_manifest(&text)?;
        let is_for_developers =
            |package: &String| manifest.is_some_and(|it| it.is_for_developers(package));
        let mut choice = Choice {
            leaves_out_dev: !site.declared.iter().any(is_for_developers),
            leaves_out_peers: manifest.is_some_and(Manifest::expects_an_agent),
        };
        npm.resolve(&stage.work, &added, choice).await?;
        let mut locked = Locked::read(&stage)?;
        if locked.has_agent_as_peer() && !choice.leaves_out_peers {
            // These packages expect haft as their host; npm must not install another agent for
            // them.
            choice.leaves_out_peers = true;
            stage.reset(reads_npmrc, &text)?;
            npm.resolve(&stage.work, &added, choice).await?;
            locked = Locked::read(&stage)?;
        }
        let makes_manifest = manifest.is_none();
        Ok(Resolved {
            packages: locked.packages(&site, choice),
            hosts: locked.hosts(),
            site,
            makes_manifest,
            stage,
            choice,
        })
    }

    /// Installs the packages, all or none.
    ///
    /// # Errors
    /// When npm or the disk refuses; then nothing was changed.
    pub(crate) async fn install(&self, npm: &Npm) -> Result<(), Error> {
        npm.install(&self.stage.work, self.choice).await?;
        self.stage.put_in_place()
    }

    /// Returns the packages that cannot work before their scripts have built native code.
    pub(crate) fn unbuilt(&self) -> Vec<&Package> {
        let is_native = |package: &&Package| {
            let folder = self.site.directory.join(&package.place);
            package.has_scripts && folder.join("binding.gyp").is_file()
        };
        self.packages.iter().filter(is_native).collect()
    }
}

/// A lock file that npm has written.
struct Locked(Map<String, Value>);

impl Locked {
    fn read(stage: &Stage) -> Result<Locked, Error> {
        let text = stage.lock_text()?;
        let lock: Option<Value> = serde_json::from_str(&text).ok();
        let packages = lock.and_then(|mut lock| Some(lock.get_mut("packages")?.take()));
        match packages {
            Some(Value::Object(packages)) => Ok(Locked(packages)),
            _ => {
                let text = "npm wrote a package-lock.json that haft cannot read";
                let hint = "haft needs npm 7 or newer: `npm --version`";
                Err(Error::new(ErrorKind::Load, text).with_hint(hint))
            }
        }
    }

    /// Returns the paths of packages with their entries, without the folder itself.
    fn entries(&self) -> impl Iterator<Item = (&String, &Value)> {
        self.0.iter().filter(|(place, _)| !place.is_empty())
    }

    fn has_agent_as_peer(&self) -> bool {
        self.entries()
            .any(|(place, entry)| is(entry, "peer") && name::is_of_agent(name_at(place)))
    }

    /// Returns the packages that npm will install and that are not there in this version.
    fn packages(&self, site: &Site, choice: Choice) -> Vec<Package> {
        let package = |place: &String| {
            let name = name_at(place).to_owned();
            let entry = &self.0[place];
            let version = entry.get("version").and_then(Value::as_str);
            let is_at_the_top = *place == format!("node_modules/{name}");
            Package {
                is_direct: is_at_the_top && site.names(&name),
                version: version.unwrap_or_default().to_owned(),
                has_scripts: is(entry, "hasInstallScript"),
                place: place.clone(),
                name,
            }
        };
        let mut packages: Vec<Package> = self.needed(choice).iter().map(package).collect();
        packages.retain(|package| {
            let there = Installed::read(&site.directory.join(&package.place));
            there.as_ref().map(|it| it.version.as_str()) != Some(&package.version)
        });
        packages.sort_by(|a, b| (!a.is_direct, &a.place).cmp(&(!b.is_direct, &b.place)));
        packages
    }

    /// Returns the paths of the packages that this machine needs. The lock file also has those for
    /// all other machines.
    fn needed(&self, choice: Choice) -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut queue = vec![String::new()];
        while let Some(place) = queue.pop() {
            let Some(entry) = self.0.get(&place) else {
                continue;
            };
            let with_dev = place.is_empty() && !choice.leaves_out_dev;
            let sections = [
                ("dependencies", true),
                ("optionalDependencies", true),
                ("peerDependencies", !choice.leaves_out_peers),
                ("devDependencies", with_dev),
            ];
            let counted = sections.iter().filter(|(_, counts)| *counts);
            let names = counted.filter_map(|(section, _)| entry.get(section)?.as_object());
            for name in names.flat_map(Map::keys) {
                let dependency = self.resolve(&place, name);
                let dependency = dependency.filter(|place| fits(&self.0[place.as_str()]));
                queue.extend(dependency.filter(|place| found.insert(place.clone())));
            }
        }
        found
    }

    /// Returns the path of the package that `name` means at `place`, as Node resolves it.
    fn resolve(&self, place: &str, name: &str) -> Option<String> {
        let mut base = place;
        loop {
            let candidate = if base.is_empty() {
                format!("node_modules/{name}")
            } else {
                format!("{base}/node_modules/{name}")
            };
            if self.0.contains_key(&candidate) {
                return Some(candidate);
            }
            if base.is_empty() {
                return None;
            }
            base = base.rfind("/node_modules/").map_or("", |at| &base[..at]);
        }
    }

    fn hosts(&self) -> BTreeSet<String> {
        let resolved = self
            .entries()
            .filter_map(|(_, entry)| entry.get("resolved")?.as_str());
        let urls = resolved.filter_map(|text| Url::parse(text).ok());
        urls.filter_map(|url| {
            let host = url.host_str()?;
            Some(match url.port() {
                Some(port) => format!("{host}:{port}"),
                None => host.to_owned(),
            })
        })
        .collect()
    }
}

/// A package that is already installed.
struct Installed {
    name: String,
    version: String,
}

impl Installed {
    fn read(folder: &Path) -> Option<Installed> {
        let text = paths::read_text(&folder.join(super::manifest::FILE)).ok()??;
        let value: Value = serde_json::from_str(&text).ok()?;
        let field = |name: &str| Some(value.get(name)?.as_str()?.to_owned());
        Some(Installed {
            name: field("name")?,
            version: field("version")?,
        })
    }
}

/// `node_modules/a/node_modules/@b/c` → `@b/c`.
fn name_at(place: &str) -> &str {
    match place.rsplit_once("node_modules/") {
        Some((_, name)) => name,
        None => place,
    }
}

fn is(entry: &Value, flag: &str) -> bool {
    entry.get(flag).and_then(Value::as_bool) == Some(true)
}

/// Returns false for an optional package for another operating system or processor.
fn fits(entry: &Value) -> bool {
    if !is(entry, "optional") {
        return true;
    }
    let cpu = match std::env::consts::ARCH {
        "x86_64" => "x64",
        "aarch64" => "arm64",
        other => other,
    };
    let names = |field: &str| {
        let list = entry.get(field).and_then(Value::as_array);
        list.map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let allows = |list: Option<Vec<&str>>, own: &str| match list {
        Some(list) if list.iter().any(|name| !name.starts_with('!')) => list.contains(&own),
        Some(list) => !list.iter().any(|name| name.strip_prefix('!') == Some(own)),
        None => true,
    };
    let libc = if cfg!(target_env = "musl") {
        "musl"
    } else {
        "glibc"
    };
    allows(names("os"), std::env::consts::OS)
        && allows(names("cpu"), cpu)
        && allows(names("libc"), libc)
}

/// Returns a manifest for a folder without one. It keeps the present module type and the packages
/// that are already installed.
fn new_manifest(directory: &Path) -> String {
    let mut manifest = Map::from_iter([("private".to_owned(), json!(true))]);
    let above = directory.ancestors().skip(1);
    let suggest = above
        .filter_map(|folder| Manifest::read(folder).ok().flatten())
        .next();
    if let Some(kind) = suggest.as_ref().and_then(Manifest::module_type) {
        manifest.insert("type".to_owned(), json!(kind));
    }
    let there = installed(directory);
    if !there.is_empty() {
        manifest.insert("dependencies".to_owned(), Value::Object(there));
    }
    let mut text = serde_json::to_string_pretty(&manifest).unwrap_or_default();
    text.push('\n');
    text
}

/// Returns the packages in `node_modules`, with their exact versions.
fn installed(directory: &Path) -> Map<String, Value> {
    let modules = directory.join("node_modules");
    let names = |folder: &Path| -> Vec<String> {
        let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
        let names = entries.filter_map(|entry| entry.file_name().into_string().ok());
        names.filter(|name| !name.starts_with('.')).collect()
    };
    let mut found = Map::new();
    for name in names(&modules) {
        let packages = if name.starts_with('@') {
            names(&modules.join(&name))
                .into_iter()
                .map(|it| format!("{name}/{it}"))
                .collect()
        } else {
            vec![name]
        };
        for package in packages {
            let there = Installed::read(&modules.join(&package));
            if let Some(there) =
                there.filter(|it| it.name == package && name::is_package_name(&package))
            {
                found.insert(package, json!(there.version));
            }
        }
    }
    found
}
