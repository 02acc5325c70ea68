//! The folder that a tool's packages belong in.
//!
//! A `package.json` at or below the tool's own folders is the tool's. One at or above the working
//! directory or the home directory belongs to the project or to the user: it is never changed
//! unless the user names its folder.

use std::path::{Path, PathBuf};

use super::manifest::{FILE, Manifest};
use super::target::Target;
use haft_config::{Config, paths};
use haft_tool::{Error, ErrorKind};

/// Decides where packages go.
pub(super) struct Places {
    /// The working directory with all folders above it.
    project: Vec<PathBuf>,
    home: PathBuf,
    /// The folder that the user named.
    into: Option<PathBuf>,
}

impl Places {
    pub(super) fn new(config: &Config, into: Option<&Path>) -> Result<Places, Error> {
        let into = into.map(|folder| paths::resolve(&config.cwd, folder));
        if let Some(folder) = into.as_ref().filter(|folder| !folder.is_dir()) {
            let text = format!("`{}` is not a folder", folder.display());
            let hint = "`--into` names a folder at or above the tool";
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        let project = real(&config.cwd);
        Ok(Places {
            project: project.ancestors().map(Path::to_owned).collect(),
            home: real(&config.home),
            into,
        })
    }

    /// Returns the folder whose manifest governs the tool, if there is one.
    pub(super) fn governing(&self, target: &Target) -> Option<PathBuf> {
        match &self.into {
            Some(folder) => folder.join(FILE).is_file().then(|| folder.clone()),
            None => self.nearest_manifest(&target.folder, target),
        }
    }

    /// Returns the folder in which `package` must be, so that `file` of the tool can import it.
    pub(super) fn of(&self, file: &Path, package: &str, target: &Target) -> Result<PathBuf, Error> {
        if let Some(folder) = &self.into {
            let is_above = file.starts_with(folder) || real(file).starts_with(real(folder));
            return if is_above {
                Ok(folder.clone())
            } else {
                Err(out_of_reach(folder, file))
            };
        }
        let from = file.parent().unwrap_or(Path::new("/"));
        if let Some(folder) = self.nearest_manifest(from, target) {
            return self.checked(folder, target);
        }
        let is_own = from.starts_with(&target.folder);
        if let Some(manifest) = self.manifest_of_project(from)? {
            let folder = manifest.path.parent().unwrap_or(Path::new("/"));
            if manifest.range(package).is_some() || !is_own {
                return Err(of_the_project(&manifest.path, folder, package, target));
            }
        }
        let folder = if is_own {
            target.folder.clone()
        } else {
            from.to_owned()
        };
        self.checked(folder, target)
    }

    fn nearest_manifest(&self, from: &Path, target: &Target) -> Option<PathBuf> {
        for folder in from.ancestors() {
            let is_tools = folder == target.folder || target.shared.as_deref() == Some(folder);
            let place = real(folder);
            let is_foreign = self.project.contains(&place) && !is_tools;
            if is_foreign || self.is_general(&place) || folder.ends_with("node_modules") {
                return None;
            }
            if folder.join(FILE).is_file() {
                return Some(folder.to_owned());
            }
        }
        None
    }

    /// True for the home directory and the root: folders that hold more than tools.
    fn is_general(&self, place: &Path) -> bool {
        *place == *self.home || place.parent().is_none()
    }

    /// The nearest manifest above that is the project's.
    fn manifest_of_project(&self, from: &Path) -> Result<Option<Manifest>, Error> {
        let above = from.ancestors().map(real);
        let mut of_project =
            above.filter(|place| self.project.contains(place) && !self.is_general(place));
        match of_project.find(|place| place.join(FILE).is_file()) {
            Some(folder) => Manifest::read(&folder),
            None => Ok(None),
        }
    }

    fn checked(&self, folder: PathBuf, target: &Target) -> Result<PathBuf, Error> {
        let place = real(&folder);
        if self.is_general(&place) {
            let text = format!(
                "the packages of `{}` would go into `{}`, which holds more than tools",
                target.name,
                folder.display()
            );
            let hint = format!(
                "move the tool into a folder of its own, or allow it with `--into {}`",
                paths::quoted(&folder)
            );
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        // The working directory comes first. Links must not lead an untrusted project out of it.
        let is_outside = self
            .project
            .first()
            .is_some_and(|it| !place.starts_with(it));
        if target.needs_trust && is_outside {
            let text = format!(
                "the packages of `{}` would go into `{}`, outside of the project",
                target.name,
                place.display()
            );
            let hint = format!("allow it with `--into {}`", paths::quoted(&folder));
            return Err(Error::new(ErrorKind::Usage, text).with_hint(hint));
        }
        Ok(folder)
    }
}

fn out_of_reach(folder: &Path, file: &Path) -> Error {
    let text = format!(
        "packages in `{}` cannot be imported by `{}`",
        folder.display(),
        file.display()
    );
    let hint = "`--into` names a folder at or above the file that imports them";
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

fn of_the_project(manifest: &Path, folder: &Path, package: &str, target: &Target) -> Error {
    let text = format!(
        "`{}` imports `{package}`, which belongs to the project's `{}`",
        target.name,
        manifest.display()
    );
    let hint = format!(
        "run `npm install` there, or `haft install {} --into {}`",
        target.name,
        paths::quoted(folder)
    );
    Error::new(ErrorKind::Usage, text).with_hint(hint)
}

fn real(path: &Path) -> PathBuf {
    path.canonicalize().unwrap_or_else(|_| path.to_owned())
}
