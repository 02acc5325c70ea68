//! Finds the packages that tools lack, by the folder they belong in. Files are only read and
//! compiled.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::manifest::Manifest;
use super::name::{self, Wanted};
use super::place::Places;
use super::target::{self, Target};
use haft_config::Config;
use haft_engine::graph::Grapher;
use haft_tool::Error;

/// Missing packages of tools.
#[derive(Default)]
pub(crate) struct Survey {
    /// The folders in which packages have to be installed.
    pub(crate) sites: Vec<Site>,
    /// Reasons why packages of some tools cannot be installed.
    pub(crate) refused: Vec<Error>,
    /// Imports that no installation can satisfy.
    pub(crate) skipped: Vec<Skipped>,
    /// Number of tools that were checked.
    pub(crate) tools: usize,
}

/// A folder in which packages have to be installed.
#[derive(Clone, Debug)]
pub(crate) struct Site {
    pub(crate) directory: PathBuf,
    /// The tools that need it, by name.
    pub(crate) tools: BTreeSet<String>,
    /// The packages that tools import and the manifest does not name, with the importing files.
    pub(crate) added: BTreeMap<String, BTreeSet<PathBuf>>,
    /// The packages that the manifest names and that are not installed.
    pub(crate) declared: BTreeSet<String>,
    /// Set if a project brings the tools, so that they run only if the user trusts it.
    pub(crate) needs_trust: bool,
    pub(super) manifest: Option<Manifest>,
}

/// An import that no installation can satisfy.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Skipped {
    pub(crate) specifier: String,
    /// The file that imports it.
    pub(crate) file: PathBuf,
    pub(crate) reason: &'static str,
}

impl Survey {
    /// Checks the tools that `words` mean, or all of them. Packages go into the folder `into` if
    /// the user names one.
    ///
    /// # Errors
    /// If a word does not mean a tool, or `into` is not a folder.
    pub(crate) fn of(
        config: &Config,
        words: &[String],
        into: Option<&Path>,
    ) -> Result<Survey, Error> {
        let targets = target::find(config, words)?;
        let mut surveyor = Surveyor {
            places: Places::new(config, into)?,
            sites: BTreeMap::new(),
            survey: Survey {
                tools: targets.len(),
                ..Survey::default()
            },
        };
        let grapher = Grapher::for_untrusted();
        for target in &targets {
            surveyor.look_at(target, &grapher);
        }
        let Surveyor {
            mut survey, sites, ..
        } = surveyor;
        survey.sites = sites.into_values().collect();
        survey.skipped.sort();
        survey.skipped.dedup();
        Ok(survey)
    }
}

impl Site {
    /// Returns true if a tool imports the package or the manifest names it.
    pub(super) fn names(&self, package: &str) -> bool {
        let manifest = self.manifest.as_ref();
        self.added.contains_key(package) || manifest.is_some_and(|it| it.range(package).is_some())
    }
}

struct Surveyor {
    places: Places,
    sites: BTreeMap<PathBuf, Site>,
    survey: Survey,
}

impl Surveyor {
    fn look_at(&mut self, target: &Target, grapher: &Grapher) {
        let missing = grapher.graph(&target.entry).missing_at_run_time(grapher);
        for (file, specifiers) in missing {
            for specifier in specifiers {
                self.look_at_import(target, &file, &specifier);
            }
        }
        if let Err(error) = self.look_at_manifest(target) {
            self.refuse(error);
        }
    }

    fn look_at_import(&mut self, target: &Target, file: &Path, specifier: &str) {
        let package = match name::wanted(specifier) {
            Wanted::Package(package) => package,
            Wanted::Own => return,
            Wanted::Refused(reason) => {
                return self.survey.skipped.push(Skipped {
                    specifier: specifier.to_owned(),
                    file: file.to_owned(),
                    reason,
                });
            }
        };
        let place = self.places.of(file, package, target);
        let site = place.and_then(|folder| self.site(&folder, target));
        match site {
            Ok(site) => {
                let is_declared = site
                    .manifest
                    .as_ref()
                    .is_some_and(|it| it.range(package).is_some());
                if is_declared {
                    site.declared.insert(package.to_owned());
                } else {
                    let files = site.added.entry(package.to_owned()).or_default();
                    files.insert(file.to_owned());
                }
            }
            Err(error) => self.refuse(error),
        }
    }

    /// Adds the packages that the governing manifest names: they may be imported by computed names,
    /// so they count although no import of them was seen.
    fn look_at_manifest(&mut self, target: &Target) -> Result<(), Error> {
        let Some(folder) = self.places.governing(target) else {
            return Ok(());
        };
        let Some(manifest) = Manifest::read(&folder)? else {
            return Ok(());
        };
        let absent: BTreeSet<String> = manifest
            .dependencies()
            .filter(|package| name::is_package_name(package))
            .filter(|package| !haft_engine::is_provided(package) && !is_installed(&folder, package))
            .cloned()
            .collect();
        if !absent.is_empty() {
            self.site(&folder, target)?.declared.extend(absent);
        }
        Ok(())
    }

    fn site(&mut self, folder: &Path, target: &Target) -> Result<&mut Site, Error> {
        if !self.sites.contains_key(folder) {
            let site = Site {
                directory: folder.to_owned(),
                tools: BTreeSet::new(),
                added: BTreeMap::new(),
                declared: BTreeSet::new(),
                needs_trust: false,
                manifest: Manifest::read(folder)?,
            };
            self.sites.insert(folder.to_owned(), site);
        }
        let site = self.sites.get_mut(folder).expect("it was inserted");
        site.tools.insert(target.name.clone());
        site.needs_trust |= target.needs_trust;
        Ok(site)
    }

    fn refuse(&mut self, error: Error) {
        let is_known = |one: &Error| one.message() == error.message();
        if !self.survey.refused.iter().any(is_known) {
            self.survey.refused.push(error);
        }
    }
}

/// Returns true if a module in `folder` finds the package.
fn is_installed(folder: &Path, package: &str) -> bool {
    folder
        .ancestors()
        .any(|folder| folder.join("node_modules").join(package).is_dir())
}
